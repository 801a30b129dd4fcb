"""Sentence corpora of any usual form as a stream of sentences, whatever their size.

In: text (one sentence per line), JSON lines, JSON arrays of {title, text}, Parquet, tables
(GenericsKB's too), compressed or in a zip, or a folder of these; ARC's corpus is found in its
release. Out: sentences with titles. Texts of documents are split into sentences. What is dropped
is counted by reason; records without a sentence or text are refused.
"""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from os import PathLike, fspath
from pathlib import Path
from typing import IO, Any, NamedTuple

from twowiki.arc_da.sentences import split_question_sentences
from twowiki.data.splits import files_below
from twowiki.errors import DataError
from twowiki.io.archives import is_zip
from twowiki.io.records import open_bytes, read_records
from twowiki.retrieval.analysis import plain_key

_LONGEST = 1000  # characters of a sentence that is kept: longer ones are tables and menus
_LONGEST_LINE = 1 << 20  # bytes of a line of text
SPLITTING = ("auto", "yes", "no")
# Fields that hold one sentence, then those that hold a text; the first that is there counts.
_SENTENCE_FIELDS = ("generic_sentence", "GENERIC SENTENCE", "sentence", "fact")
_TEXT_FIELDS = ("text", "contents", "content", "passage", "body")
_KNOWN_CORPORA = ("ARC_Corpus.txt", "GenericsKB-Best.tsv")
_PACKED = r"(?:\.(?:gz|bz2|xz))?$"
_TEXT, _TABLE = re.compile(rf"\.txt{_PACKED}", re.I), re.compile(rf"\.tsv{_PACKED}", re.I)
_RECORDS = re.compile(rf"\.(?:jsonl|json|ndjson|parquet|csv){_PACKED}", re.I)
_FORMS = (
    "Use text with one sentence per line (.txt), JSON lines or an array of objects with 'sentence' "
    "or 'text', Parquet or a table with such a column, a folder or a zip of these"
)


class Sentence(NamedTuple):
    """One sentence, and the title of the document that it comes from (empty if none)."""

    text: str
    title: str = ""

    @property
    def indexed(self) -> str:
        """What an index holds of it: the sentence."""
        return self.text

    @property
    def key(self) -> str:
        """What two spellings of it share."""
        return plain_key(self.text) or self.text


class SentenceCorpus:
    """The sentences of files, read one at a time; it can be iterated repeatedly.

    Args:
        sources: files, folders or zips, in this order.
        splitting: `auto` splits the texts of documents, not lines and not fields of one sentence.
        title_first: put a document's title before each of its sentences, for texts that say "it".

    Attributes:
        files: the files read, in order.
        settings: how they are read.
        dropped: what the last iteration dropped, counted by reason.
    """

    def __init__(
        self,
        sources: Iterable[str | PathLike[str]],
        *,
        splitting: str = "auto",
        title_first: bool = False,
    ) -> None:
        if splitting not in SPLITTING:
            raise DataError(f"is {splitting!r}", field="split", remedy="auto, yes or no")
        self.files = [name for source in sources for name in corpus_files(fspath(source))]
        self.splitting, self.title_first = splitting, title_first
        self.settings = {"unit": "sentence", "splitting": splitting, "title_first": title_first}
        self.dropped: Counter[str] = Counter()

    def __iter__(self) -> Iterator[Sentence]:
        self.dropped.clear()
        for name in self.files:
            for text, title in self._of_file(name):
                plain = " ".join(text.split())
                reason = _unusable(plain)
                if reason:
                    self.dropped[reason] += 1
                    continue
                named = " ".join(title.split())
                if self.title_first and named and not plain.startswith(named):
                    plain = f"{named}: {plain}"
                yield Sentence(plain, named)

    def _of_file(self, name: str) -> Iterator[tuple[str, str]]:
        base = member_name(name)
        if _TEXT.search(base):
            texts: Iterable[tuple[str, str, bool]] = (
                (line, "", False) for line in self._lines(name)
            )
        elif _TABLE.search(base):
            texts = (_of_record(row, name, number) for number, row in self._table(name))
        else:
            texts = (
                part
                for number, record in read_records(name)
                for part in _parts(record, name, number)
            )
        for text, title, document in texts:
            if self.splitting == "yes" or (self.splitting == "auto" and document):
                yield from ((sentence, title) for sentence in split_question_sentences(text))
            else:
                yield text, title

    def _lines(self, name: str) -> Iterator[str]:
        """Yield lines; bytes that are not UTF-8, as web text has, are replaced and counted."""
        with ExitStack() as stack:
            stream = _opened(name, stack)
            first = True
            while block := stream.readline(_LONGEST_LINE):
                if len(block) == _LONGEST_LINE and not block.endswith(b"\n"):
                    remedy = "Write one sentence per line"
                    raise DataError("a line is longer than a megabyte", file=name, remedy=remedy)
                text = block.removeprefix(b"\xef\xbb\xbf" if first else b"").decode(
                    "utf-8", "replace"
                )
                if "\ufffd" in text:
                    self.dropped["bytes that are not UTF-8 (replaced)"] += 1
                first = False
                yield text

    def _table(self, name: str) -> Iterator[tuple[int, dict[str, str]]]:
        """Yield the rows of a table with tabs; quotation marks in a cell belong to the sentence."""
        header: list[str] = []
        for number, line in enumerate(self._lines(name)):
            cells = [_unquoted(cell) for cell in line.rstrip("\r\n").split("\t")]
            if not header:
                header = cells
            elif any(cells):
                yield number, dict(zip(header, cells, strict=False))


def corpus_files(source: str) -> list[str]:
    """Return the files of a corpus in a file, folder or zip, in order of name.

    Of a folder with ARC's corpus or GenericsKB's best sentences only these are returned.

    Raises:
        DataError: there is no readable file.
    """
    if Path(source).is_file() and not is_zip(source):
        base = member_name(source)
        if any(pattern.search(base) for pattern in (_TEXT, _TABLE, _RECORDS)):
            return [source]
        raise DataError("is not a corpus by its name", file=source, remedy=_FORMS)
    names = files_below(source)
    for known in _KNOWN_CORPORA:
        found = [name for name in names if member_name(name).lower().startswith(known.lower())]
        if found:
            return [_locate(source, name) for name in found[:1]]
    readable = [
        name
        for name in names
        if any(pattern.search(member_name(name)) for pattern in (_TEXT, _TABLE, _RECORDS))
    ]
    if not readable:
        raise DataError("has no corpus", file=source, remedy=_FORMS)
    return [_locate(source, name) for name in readable]


def _locate(source: str, name: str) -> str:
    inside = Path(source).is_file()
    return f"zip://{name}::{source}" if inside else str(Path(source) / name)


def member_name(name: str) -> str:
    """Return the last part of a path, or of a zip's member."""
    return name.partition("::")[0].rpartition("/")[2]


def _opened(name: str, stack: ExitStack) -> IO[bytes]:
    try:
        return stack.enter_context(open_bytes(name))
    except FileNotFoundError:
        raise DataError("no such file", file=name, remedy="Check the path") from None
    except (OSError, zipfile.BadZipFile) as error:
        raise DataError(f"cannot be read ({error})", file=name) from None


def _unusable(text: str) -> str | None:
    if not text:
        return "empty"
    if len(text) > _LONGEST:
        return f"longer than {_LONGEST} characters"
    return None if any(map(str.isalpha, text)) else "no letter"


def _unquoted(cell: str) -> str:
    if len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in cell[1:-1].replace('""', ""):
        return cell[1:-1].replace('""', '"')
    return cell


def _parts(record: Any, name: str, number: int) -> Iterator[tuple[str, str, bool]]:
    """Yield the texts of a record: its list of sentences, or its one field."""
    if not isinstance(record, Mapping):
        raise DataError("must be an object", file=name, record=number, remedy=_FORMS)
    listed = record.get("sentences")
    if isinstance(listed, list) and all(isinstance(one, str) for one in listed):
        yield from ((text, _title(record), False) for text in listed)
        return
    yield _of_record(record, name, number)


def _of_record(record: Mapping[str, Any], name: str, number: int) -> tuple[str, str, bool]:
    inner = record.get("knowledge")  # GenericsKB with context nests its sentence
    if isinstance(inner, Mapping) and isinstance(inner.get("sentence"), str):
        return inner["sentence"], _title(record), False
    for document, fields in ((False, _SENTENCE_FIELDS), (True, _TEXT_FIELDS)):
        for field in fields:
            value = record.get(field)
            if isinstance(value, str):
                return value, _title(record), document
            if value is not None:
                raise DataError("must be text", file=name, record=number, field=field)
    found = ", ".join(map(repr, list(record)[:8])) or "no fields"
    raise DataError(f"no sentence or text among {found}", file=name, record=number, remedy=_FORMS)


def _title(record: Mapping[str, Any]) -> str:
    title = record.get("title")
    return title if isinstance(title, str) else ""
