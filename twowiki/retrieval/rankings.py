"""Rankings of paragraphs, as retrievers write them: question id to titles, best first.

In: JSON `{id: [title, ...]}`, JSON lines `{"id", "titles"}`, or a TREC run of document ids with the
corpus that they belong to. An entry may be a title or an object with a `title`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from twowiki.errors import DataError
from twowiki.io.records import read_records, read_values

LIST_NAMES = ("titles", "ranked", "retrieved", "documents", "results", "hits")
FORMAT = (
    'Write {"id": "...", "titles": ["best", "next", ...]} a line, {"ID": ["best", ...]}, or a TREC '
    "run together with --corpus"
)


def read_rankings(
    path: str | PathLike[str], corpus: str | PathLike[str] | None = None
) -> dict[str, list[str]]:
    """Read rankings.

    Args:
        path: the file.
        corpus: corpus.jsonl, which gives the titles of a TREC run's document ids.

    Raises:
        DataError: another format, or a document that the corpus lacks.
    """
    place = Path(path)
    try:
        values, _ = read_values(place, text_lines=True)
        if isinstance(values, Mapping):
            return {name: _list(found, name) for name, found in values.items()}
        if values and isinstance(values[0], str):
            return _of_run(values, _titles(corpus, place))
        return _of_records(values)
    except DataError as error:
        raise error.at(place) from None


def _of_records(records: Iterable[Any]) -> dict[str, list[str]]:
    rankings = {}
    for number, record in enumerate(records):
        name = _id_of(record)
        if not isinstance(name, str):
            raise DataError("a ranking without an id", record=f"number {number}", remedy=FORMAT)
        found = next((record[key] for key in LIST_NAMES if key in record), None)
        rankings[name] = _list(found, name)
    return rankings


def _id_of(record: Any) -> Any:
    return record.get("_id", record.get("id")) if isinstance(record, Mapping) else None


def _list(found: Any, name: str) -> list[str]:
    entries = found if isinstance(found, list) else [None]
    named = [entry.get("title") if isinstance(entry, Mapping) else entry for entry in entries]
    titles = [title for title in named if isinstance(title, str)]
    if len(titles) < len(entries):
        raise DataError("the ranking is no list of titles", record=name, remedy=FORMAT)
    return titles


def _titles(corpus: str | PathLike[str] | None, path: Path) -> dict[str, str]:
    if corpus is None:
        raise DataError("a TREC run needs the corpus to know its titles", file=path, remedy=FORMAT)
    place = Path(corpus)
    if not place.is_file():
        raise DataError("no such file", file=corpus, remedy="Write it with `twowiki corpus`")
    titles = {}
    for number, record in read_records(place):
        name, title = _id_of(record), record.get("title") if isinstance(record, Mapping) else None
        if not isinstance(name, str) or not isinstance(title, str):
            raise DataError(
                "a document without _id or title",
                file=place,
                record=f"number {number}",
                remedy="Write the corpus with `twowiki corpus`",
            )
        titles[name] = title
    return titles


def _of_run(lines: Iterable[str], titles: Mapping[str, str]) -> dict[str, list[str]]:
    """Read `query Q0 document rank score tag` lines; the score decides, then the rank."""
    found: dict[str, list[tuple[float, int, str]]] = {}
    for number, line in enumerate(lines, 1):
        parts = line.split()
        if not parts:
            continue
        try:
            name, document, rank, score = parts[0], parts[2], int(parts[3]), float(parts[4])
        except (IndexError, ValueError):
            raise DataError(f"line {number} is no line of a TREC run", remedy=FORMAT) from None
        if document not in titles:
            raise DataError("the corpus lacks a ranked document", record=name, field=document)
        found.setdefault(name, []).append((-score, rank, titles[document]))
    return {name: [title for _, _, title in sorted(ranked)] for name, ranked in found.items()}
