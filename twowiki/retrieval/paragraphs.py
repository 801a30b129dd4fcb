"""Corpora of paragraphs as a stream of documents, whatever their size.

In: a folder in BEIR's layout or its corpus.jsonl, pages in the form of `para_with_hyperlink`,
lists of {title, text} as in HippoRAG or FlashRAG, or a data set, whose contexts are read. Out:
documents, in the order of the files. An id that a record has is kept; the others are a hash of
title and text. What is dropped is counted by reason; records of no such form are refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from twowiki.data.layouts import layout_of
from twowiki.data.schema import Paragraph, parse_record
from twowiki.data.splits import split_of
from twowiki.errors import DataError
from twowiki.io.records import read_records
from twowiki.models.text import bare_title, split_sentences
from twowiki.retrieval.corpora import corpus_files, member_name
from twowiki.retrieval.corpus import Document, document_of, id_of_document

BEIR_CORPUS = "corpus.jsonl"
_TEXTS = ("text", "contents", "content", "paragraph_text", "passage", "body")
_IDS = ("_id", "docid", "doc_id", "pid", "id")
_REMEDY = (
    "Use corpus.jsonl of {_id, title, text}, pages of {id, title, sentences}, lists of "
    "{title, text}, or a data set, whose contexts are the corpus"
)


class ParagraphCorpus:
    """The paragraphs of files, read one at a time; it can be iterated repeatedly.

    Args:
        sources: files, folders or zips, in this order; of a folder with corpus.jsonl only this.

    Attributes:
        files: the files read, in order.
        settings: how they are read.
        dropped: what the last iteration dropped, counted by reason.
    """

    def __init__(self, sources: Iterable[str | PathLike[str]]) -> None:
        self.files = [name for source in sources for name in _files_of(fspath(source))]
        self.settings = {"unit": "paragraph"}
        self.dropped: Counter[str] = Counter()

    def __iter__(self) -> Iterator[Document]:
        self.dropped.clear()
        for name in self.files:
            for number, record in read_records(name):
                for document in documents_of(record, name, number):
                    if document.text:
                        yield document
                    else:
                        self.dropped["empty"] += 1


def documents_of(record: Any, name: str, number: int) -> Iterator[Document]:
    """Yield the documents of a record: its own, or those of its context.

    Args:
        record: what was read.
        name: of the file.
        number: of the record.

    Raises:
        DataError: it has another form.
    """
    if not isinstance(record, Mapping):
        raise DataError("must be an object", file=name, record=number, remedy=_REMEDY)
    if is_question(record):
        try:
            yield from map(document_of, parse_record(record).context)
        except DataError as error:
            raise error.at(name) from None
        return
    try:
        yield document_of_record(record)
    except DataError as error:
        raise DataError(
            error.problem, file=name, record=number, field=error.field, remedy=_REMEDY
        ) from None


def is_question(record: Mapping[str, Any]) -> bool:
    """Return whether a record is a question with its context, of the release or another tool."""
    return ("context" in record and "question" in record) or layout_of(record) is not None


def document_of_record(record: Mapping[str, Any]) -> Document:
    """Return the document of one record of a corpus or of a ranking.

    Raises:
        DataError: it has no text, or one that is none.
    """
    title, sentences = record.get("title"), record.get("sentences")
    title = title if isinstance(title, str) else ""
    if isinstance(sentences, list) and all(isinstance(one, str) for one in sentences):
        document = document_of(Paragraph(title, tuple(sentences)))
        # pages have numbers of their own, so that one page has one id in every corpus
        return document._replace(id=_given_id(record, ("_id",)) or document.id)
    field = next((field for field in _TEXTS if record.get(field) is not None), None)
    if field is None:
        found = ", ".join(map(repr, list(record)[:8])) or "no fields"
        raise DataError(f"no text among {found}")
    text = record[field]
    if not isinstance(text, str):
        raise DataError("must be text", field=field)
    if not title and field == "contents":  # FlashRAG: the title is the first line
        first, _, rest = text.partition("\n")
        title, text = (first.strip().strip('"'), rest) if rest else ("", text)
    starts = _given_starts(record.get("metadata"), text)
    document = (
        Document("", title, text, starts)
        if starts
        else document_of(Paragraph(title, _sentences(title, text)))
    )
    return document._replace(
        id=_given_id(record, _IDS) or id_of_document(document.title, document.text)
    )


def _sentences(title: str, text: str) -> tuple[str, ...]:
    return tuple(split_sentences(text.strip(), [title, bare_title(title)] if title else []))


def _given_starts(metadata: Any, text: str) -> tuple[int, ...]:
    starts = metadata.get("sentence_starts") if isinstance(metadata, Mapping) else None
    if not isinstance(starts, Sequence) or not all(type(one) is int for one in starts):
        return ()
    inside = all(0 <= one <= len(text) for one in starts) and sorted(starts) == list(starts)
    return tuple(starts) if inside else ()


def _given_id(record: Mapping[str, Any], names: Sequence[str]) -> str:
    found = (record[name] for name in names if isinstance(record.get(name), str | int))
    return str(next(found, ""))


def _files_of(source: str) -> list[str]:
    corpus = Path(source) / BEIR_CORPUS
    if corpus.is_file():
        return [str(corpus)]
    names = corpus_files(source)
    return [name for name in names if split_of(member_name(name))] or names  # not its aliases
