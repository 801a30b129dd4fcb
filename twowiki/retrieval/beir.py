"""A retrieval test set in BEIR's layout, written as a stream, and its judgments read.

In: the splits of a data set, and perhaps all pages of its world or encyclopedia. Out: corpus.jsonl,
queries.jsonl, contexts.jsonl and a table qrels/SPLIT.tsv for each split with gold. The corpus holds
the distinct paragraphs of the contexts, of which those that the supporting facts name are relevant;
or all pages, of which those with a gold title are. Two questions with one id are refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import IO, Any, NamedTuple

from twowiki.data.schema import Example, gold_paragraphs
from twowiki.errors import DataError
from twowiki.io.files import progress, replacing, write_json, write_text
from twowiki.io.records import read_lines
from twowiki.retrieval.corpus import Document, document_of, document_record
from twowiki.retrieval.paragraphs import BEIR_CORPUS

HEADER = ("query-id", "corpus-id", "score")
QRELS = "qrels"
FILES = (BEIR_CORPUS, "queries.jsonl", "contexts.jsonl", "report.json")
_FORM = "Write query-id, corpus-id and score with tabs between, or TREC's id 0 document gain"

Judged = dict[str, dict[str, int]]


class WrittenSet(NamedTuple):
    """What was written: counts, and the judgments of each split with gold."""

    report: dict[str, int]
    judged: dict[str, Judged]


def write_test_set(
    out: Path,
    splits: Mapping[str, Iterable[Example]],
    pages: Iterable[Document] | None = None,
) -> WrittenSet:
    """Write a test set into a folder.

    Args:
        out: the folder.
        splits: the questions of each split, in order; there may be none, with pages.
        pages: all pages, for a corpus of these; by default it is that of the contexts.

    Raises:
        DataError: two questions with one id, or no gold page is among the pages.
    """
    with ExitStack() as stack:
        streams = {name: stack.enter_context(replacing(out / name)) for name in FILES[:3]}
        writer = _Writer(streams, by_title=pages is not None)
        for split, examples in splits.items():
            for example in progress(examples, what=split):
                writer.add(split, example)
        for document in progress(pages or (), what="pages"):
            writer.add_page(document)
        made = writer.finish(splits)
    for split, judged in made.judged.items():
        write_text(out / QRELS / f"{split}.tsv", render_qrels(judged))
    write_json(out / "report.json", made.report)
    return made


class _Writer:
    """Writes a corpus and its queries; holds ids and gold titles, no texts."""

    def __init__(self, streams: Mapping[str, IO[str]], *, by_title: bool) -> None:
        self.streams, self.by_title = streams, by_title
        self.seen: set[str] = set()
        self.titles: set[int] = set()  # hashes
        self.several: set[int] = set()  # those of titles with several texts
        self.questions: set[str] = set()
        self.gold: dict[str, dict[str, list[str]]] = {}  # split -> question -> titles, or ids
        self.pages: dict[str, list[str]] = {}  # gold title -> ids of its pages
        self.counts = dict.fromkeys(("paragraphs", "empty_documents", "dangling_titles"), 0)

    def add(self, split: str, example: Example) -> None:
        """Write a question, and the paragraphs of its context that are new."""
        if example.id in self.questions:
            raise DataError("two questions have one id", record=example.id, field="_id")
        self.questions.add(example.id)
        gold, dangling = gold_paragraphs(example)
        titles = list(dict.fromkeys([*(one.title for one in gold), *dangling]))
        documents = [document_of(paragraph) for paragraph in example.context]
        self._write("queries.jsonl", {"_id": example.id, "text": example.question,
                                      "metadata": {"type": example.type}})  # fmt: skip
        if self.by_title:
            relevant = titles
            self.pages |= {title: self.pages.get(title, []) for title in titles}
        else:
            for document in documents:
                self._add_document(document)
            self.counts["paragraphs"] += len(documents)
            found = [document.id for document in documents]
            self._write("contexts.jsonl", {"_id": example.id, "documents": found})
            relevant = [document_of(paragraph).id for paragraph in gold]
            self.counts["dangling_titles"] += len(dangling)
        if titles:
            self.gold.setdefault(split, {})[example.id] = list(dict.fromkeys(relevant))

    def add_page(self, page: Document) -> None:
        """Write a page."""
        self.counts["paragraphs"] += 1
        if self._add_document(page) and page.title in self.pages:
            self.pages[page.title].append(page.id)

    def _add_document(self, document: Document) -> bool:
        if document.id in self.seen:
            return False
        self.seen.add(document.id)
        (self.several if hash(document.title) in self.titles else self.titles).add(
            hash(document.title)
        )
        self.counts["empty_documents"] += not document.text
        self._write(BEIR_CORPUS, document_record(document))
        return True

    def _write(self, name: str, record: Mapping[str, Any]) -> None:
        self.streams[name].write(json.dumps(record, ensure_ascii=False) + "\n")

    def finish(self, splits: Iterable[str]) -> WrittenSet:
        """Return the judgments and the counts."""
        judged = {
            split: {
                name: dict.fromkeys(self._ids(keys), 1) for name, keys in self.gold[split].items()
            }
            for split in splits
            if split in self.gold
        }
        if self.by_title:
            self.counts["dangling_titles"] = sum(not ids for ids in self.pages.values())
            if self.pages and not any(self.pages.values()):
                remedy = "Name the pages of the same world or encyclopedia"
                raise DataError("no page has the title of a supporting fact", remedy=remedy)
        report = {
            "questions": len(self.questions),
            "documents": len(self.seen),
            "titles": len(self.titles),
            "titles_with_several_texts": len(self.several),
            **self.counts,
            "judgments": sum(len(ids) for one in judged.values() for ids in one.values()),
            "questions_without": sum(not ids for one in judged.values() for ids in one.values()),
        }
        return WrittenSet(report, judged)

    def _ids(self, keys: Iterable[str]) -> Iterator[str]:
        return (one for key in keys for one in (self.pages[key] if self.by_title else (key,)))


def render_qrels(judged: Mapping[str, Mapping[str, int]], *, trec: bool = False) -> str:
    """Return judgments as BEIR's table with tabs, or in TREC's form."""
    triples = [(name, one, gain) for name, gains in judged.items() for one, gain in gains.items()]
    if trec:
        return "".join(f"{name} 0 {document} {gain}\n" for name, document, gain in triples)
    rows = (HEADER, *triples)
    return "".join("\t".join(map(str, row)) + "\n" for row in rows)


def find_qrels(source: str | PathLike[str], split: str | None = None) -> Path | None:
    """Return the judgments that a path names; None if it is a data set.

    Args:
        source: a table of judgments, or a folder in BEIR's layout.
        split: which of the folder's.

    Raises:
        DataError: the folder has several, or not this one.
    """
    path = Path(source)
    if path.suffix in (".tsv", ".qrels", ".trec"):
        return path
    tables = sorted((path / QRELS).glob("*.tsv"))
    if not tables:
        return None
    named = [table for table in tables if split in (None, table.stem)]
    if len(named) != 1:
        names = ", ".join(table.stem for table in tables)
        problem = f"has judgments of {names}" + (f", not of {split}" if split else "")
        raise DataError(problem, file=path, remedy="Name one of these with --split")
    return named[0]


def read_qrels(path: str | PathLike[str]) -> Judged:
    """Read judgments: BEIR's table, or TREC's lines.

    Raises:
        DataError: a line of another form.
    """
    judged: Judged = {}
    for number, line in enumerate(read_lines(path), 1):
        cells = line.split("\t") if "\t" in line else line.split()
        if not cells or (number == 1 and tuple(cells[:2]) == HEADER[:2]):
            continue
        try:
            name, *_, document, gain = cells
            if not 3 <= len(cells) <= 4:
                raise ValueError
            judged.setdefault(name, {})[document] = int(gain)
        except ValueError:
            raise DataError(f"line {number} is no judgment", file=path, remedy=_FORM) from None
    if not judged:
        raise DataError("has no judgments", file=path, remedy=_FORM)
    return judged
