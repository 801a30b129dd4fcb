"""Read a table of any spreadsheet (CSV or TSV) strictly.

In: text and the separator that the file's ending stands for. Out: one dict per row. The header
decides the separator, since European spreadsheets write `;`. Refused: rows that are longer or
shorter than the header, quotation marks that are not closed, and two columns of one name. Empty
rows, and empty cells beyond the header, are skipped.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from itertools import chain
from typing import TextIO

from twowiki.errors import DataError

SEPARATORS = (",", ";", "\t")
_SEPARATOR_LINE = re.compile(r"sep=(.)\s*")  # what some spreadsheets write into the first line
_REMEDY = "Write the table again with a spreadsheet or a CSV library; cells with signs are quoted"
csv.field_size_limit(1 << 24)


def read_delimited(text: TextIO, preferred: str = ",") -> Iterator[dict[str, str]]:
    """Read a table's rows.

    Args:
        text: opened with `newline=""`.
        preferred: the separator that counts where several cut the header alike.

    Raises:
        DataError: a row does not fit the header, a quotation mark is not closed, or two columns
            have one name; the row is named, counted from 1 below the header.
    """
    first = text.readline()
    separator = None
    if line_of := _SEPARATOR_LINE.fullmatch(first):
        separator, first = line_of[1], text.readline()
    separator = separator or _separator(first, preferred)
    rows = csv.reader(chain([first], text), delimiter=separator, strict=True)
    header: list[str] = []
    number, line = 0, 1
    try:
        for row in rows:
            if not header:
                header = _header(row)
            elif any(cell.strip() for cell in row):
                number += 1
                yield _record(header, row, number, line)
            line = rows.line_num + 1
    except csv.Error as error:
        problem = f"from line {line} on, a quotation mark is not closed or stands alone ({error})"
        raise DataError(problem, record=number + 1, remedy=_REMEDY) from None


def _separator(header: str, preferred: str) -> str:
    """Choose the separator that cuts the header into most cells."""
    order = dict.fromkeys((preferred, *SEPARATORS))
    unquoted = re.sub(r'"[^"]*"', "", header)
    return max(order, key=unquoted.count)


def _header(row: list[str]) -> list[str]:
    names = [name.strip() for name in row]
    while names and not names[-1]:
        names.pop()
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        problem = f"two columns are named {twice[0]!r}"
        raise DataError(problem, field=twice[0], remedy="Keep one of them")
    return names


def _record(header: list[str], row: list[str], number: int, line: int) -> dict[str, str]:
    cells = row[: len(header)]
    if len(cells) < len(header) or any(cell.strip() for cell in row[len(header) :]):
        problem = f"the row (line {line}) has {len(row)} cells, the header has {len(header)}"
        raise DataError(problem, record=number, remedy=_REMEDY)
    return {name: cell for name, cell in zip(header, cells, strict=True) if name}
