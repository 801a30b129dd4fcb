"""Rankings of paragraphs for each question, as retrievers write them, and with their texts.

In: JSON `{id: [title, ...]}` or `{id: {document: score}}`; JSON lines of an id and a list
(`paragraphs`, `titles`, `retrieved`, `ctxs`, FlashRAG's `output.retrieval_result`, ...), whose
entries are titles, titles with a score, texts whose first line is the title (HippoRAG), or objects
with a title, and perhaps a text, sentences and an id; or lines of document ids: a TREC run, or
question, document and rank (ColBERT). A corpus adds what a ranking lacks. Out: a `Ranking` by
question id, best first. Scores are ordered as `trec_eval` does: by score, then by id from z to a.
Other formats, and documents that are not in the corpus, are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from twowiki.data.schema import Example, Paragraph
from twowiki.errors import DataError
from twowiki.io.records import read_lines, read_records, read_values
from twowiki.metric.blame import Ranked
from twowiki.retrieval.corpus import Document
from twowiki.retrieval.paragraphs import ParagraphCorpus, document_of_record

_LIST_NAMES = (
    *("paragraphs", "titles", "ranked", "retrieved", "documents", "results", "hits"),
    *("retrieval_result", "ctxs", "docs", "retrieved_titles", "retrieved_docs", "passages"),
    *("retrieved_documents", "retrieved_passages", "contexts", "ranking", "ranked_list", "top_k"),
    *("search_results", "candidates"),
)
_HOLDERS = ("output", "retrieval", "document", "metadata")
_DOCUMENT_IDS = ("_id", "docid", "doc_id", "document_id", "corpus_id", "pid", "id")
_LINES_OF_IDS = re.compile(
    r"\S+[ \t]+\S+[ \t]+(?:\d+(?:[ \t]+[-\d.eE+]+)?|\S+[ \t]+\d+[ \t]+[-\d.eE+]+(?:[ \t].*)?)\s*"
)
_IDS = ("_id", "id", "qid", "query_id", "question_id")
_TABLE = re.compile(r"\.tsv$", re.IGNORECASE)
_LINES = re.compile(r"\.(?:jsonl|ndjson)(?:\.(?:gz|bz2|xz))?$", re.IGNORECASE)
_FORMAT = (
    'Write {"id": "...", "titles": ["best", "next", ...]} per line, {"ID": ["best", ...]}, or a '
    "TREC run together with --corpus"
)
_WRITE_CORPUS = "Write the corpus with `twowiki corpus`"
_NO_TEXT = "the ranking has no texts"


@dataclass(frozen=True)
class Ranking:
    """The ranked paragraphs of one question, best first.

    Attributes:
        documents: the documents; of some a file has no more than the title, or the id.
        complete: whether each has a text.
    """

    documents: tuple[Document, ...]
    complete: bool = False

    @property
    def titles(self) -> list[str]:
        """The titles, best first."""
        return [document.title for document in self.documents]

    @property
    def ids(self) -> list[str]:
        """The ids of the documents, best first; of entries that are one text this text."""
        return [document.id or document.title for document in self.documents]


def read_rankings(
    path: str | PathLike[str], corpus: str | PathLike[str] | None = None
) -> dict[str, Ranking]:
    """Read rankings.

    Args:
        path: the file.
        corpus: the corpus, with the titles and texts of document ids.

    Raises:
        DataError: another format, or a document that is not in the corpus.
    """
    try:
        if _LINES.search(str(path)):
            rankings = _of_records(record for _, record in read_records(path))
            return rankings if corpus is None else _completed(rankings, corpus, path)
        if _TABLE.search(str(path)) and _LINES_OF_IDS.fullmatch(
            "".join((lines := read_lines(path))[:1])
        ):
            values: Any = lines  # no table with a head
        else:
            values, _ = read_values(path, text_lines=True)
        if isinstance(values, Mapping):
            rankings = {name: _ranking(found, name) for name, found in values.items()}
        elif values and isinstance(values[0], str):
            rankings = _of_run(values)
        else:
            rankings = _of_records(values)
    except DataError as error:
        raise error.at(path) from None
    return rankings if corpus is None else _completed(rankings, corpus, path)


def with_retrieved(
    examples: Iterable[Example], rankings: Mapping[str, Ranking], paragraphs: int = 10
) -> Iterator[Example]:
    """Yield examples whose context is what was retrieved, instead of their own.

    Args:
        examples: the questions.
        rankings: by question id; with texts.
        paragraphs: the largest number of them.

    Raises:
        DataError: a question without a ranking, or a ranking without texts.
    """
    for example in examples:
        ranking = rankings.get(example.id)
        if ranking is None:
            remedy = "Retrieve for all questions: `twowiki retrieve INDEX QUESTIONS OUT`"
            raise DataError("the question has no ranking", record=example.id, remedy=remedy)
        if not ranking.complete:
            remedy = "Name the corpus with --corpus, or retrieve with `twowiki retrieve`"
            raise DataError(_NO_TEXT, record=example.id, remedy=remedy)
        yield example._replace(context=context_of(ranking.documents[:paragraphs]))


def context_of(documents: Iterable[Document]) -> tuple[Paragraph, ...]:
    """Return documents as a context: of two paragraphs with one title only the better one."""
    found: dict[str, Paragraph] = {}
    for document in documents:
        found.setdefault(document.title, document.paragraph)
    return tuple(found.values())


def _of_records(records: Iterable[Any]) -> dict[str, Ranking]:
    rankings = {}
    for number, record in enumerate(records):
        names = (record.get(key) for key in _IDS) if isinstance(record, Mapping) else ()
        name = next((one for one in names if one is not None), None)
        if not isinstance(name, str):
            raise DataError("a ranking without an id", record=f"number {number}", remedy=_FORMAT)
        rankings[name] = _ranking(_listed(record), name)
    return rankings


def _listed(record: Mapping[str, Any]) -> Any:
    """Return the list of a record, its own or that of an object in it."""
    inner = (record[key] for key in _HOLDERS if isinstance(record.get(key), Mapping))
    return next((one[key] for one in (record, *inner) for key in _LIST_NAMES if key in one), None)


def _ranking(found: Any, name: str) -> Ranking:
    if isinstance(found, Mapping) and all(type(one) in (int, float) for one in found.values()):
        return Ranking(_by_score({key: float(np.float32(one)) for key, one in found.items()}))
    found = _listed(found) if isinstance(found, Mapping) else found
    entries = found if isinstance(found, list) else [None]
    documents = [document for entry in entries if (document := _document(entry)) is not None]
    if len(documents) < len(entries):
        raise DataError("the ranking is not a list of titles", record=name, remedy=_FORMAT)
    return Ranking(tuple(documents), all(one.starts for one in documents))


def _document(entry: Any) -> Document | None:
    """Return the document of a ranking's entry; None if it is no title and has none."""
    if isinstance(entry, list) and len(entry) == 2 and type(entry[1]) in (int, float):
        entry = entry[0]  # with its score
    if isinstance(entry, str):
        is_text = "\n" in entry.strip()  # its first line is the title
        return document_of_record({"contents": entry}) if is_text else Document("", entry, "")
    if not isinstance(entry, Mapping):
        return None
    held = (entry[name] for name in _HOLDERS if isinstance(entry.get(name), Mapping))
    record = {name: value for one in (*held, entry) for name, value in one.items()}
    if isinstance(text := record.pop("page_content", None), str):
        record.setdefault("text", text)
    try:
        return document_of_record(record)
    except DataError:
        title = record.get("title")
        names = (record[name] for name in _DOCUMENT_IDS if record.get(name) is not None)
        name = next(names, None)
        if not isinstance(title, str) and not isinstance(name, str | int):
            return None
        return Document("" if name is None else str(name), title or "", "")


def _of_run(lines: Iterable[str]) -> dict[str, Ranking]:
    """Read lines of `query Q0 document rank score tag`, or of `query document rank [score]`.

    Scores are single floats, as there; without them the ranks count.
    """
    found: dict[str, dict[str, float]] = {}
    for number, line in enumerate(lines, 1):
        parts = line.split()
        if not parts:
            continue
        try:
            short = len(parts) in (3, 4)
            if short and not parts[2].isdigit():
                raise ValueError(parts[2])
            name, document = parts[0], parts[1 if short else 2]
            number_of = parts[4] if not short else parts[3] if len(parts) == 4 else f"-{parts[2]}"
            score = float(np.float32(number_of))
        except (IndexError, ValueError):
            raise DataError(f"line {number} is not a line of a TREC run", remedy=_FORMAT) from None
        ranked = found.setdefault(name, {})
        if document in ranked:
            raise DataError("a document is ranked twice", record=name, field=document)
        ranked[document] = score
    return {name: Ranking(_by_score(ranked)) for name, ranked in found.items()}


def _by_score(scores: Mapping[str, float]) -> tuple[Document, ...]:
    ordered = sorted(scores, key=lambda name: (scores[name], name), reverse=True)
    return tuple(Document(name, "", "") for name in ordered)


def _completed(
    rankings: Mapping[str, Ranking], corpus: str | PathLike[str], path: str | PathLike[str]
) -> dict[str, Ranking]:
    """Return rankings with the documents of a corpus, by id, or by title where there is none."""
    wanted = {one.id or one.title for ranking in rankings.values() for one in ranking.documents}
    known: dict[str, Document] = {}
    try:
        for document in ParagraphCorpus([corpus]):
            for key in {document.id, document.title} & wanted:
                known.setdefault(key, document)
    except DataError as error:
        if error.remedy and "corpus.jsonl" in error.remedy:
            raise DataError(
                error.problem, file=corpus, record=error.record, remedy=_WRITE_CORPUS
            ) from None
        raise
    return {name: _filled(ranking, known, name, path) for name, ranking in rankings.items()}


def _filled(
    ranking: Ranking, known: Mapping[str, Document], name: str, path: str | PathLike[str]
) -> Ranking:
    documents = []
    for one in ranking.documents:
        document = known.get(one.id or one.title)
        if document is None:
            problem, where = "a ranked document is not in the corpus", one.id or one.title
            raise DataError(problem, file=path, record=name, field=where)
        documents.append(document)
    return Ranking(tuple(documents), complete=True)


def _texts(one: Any) -> Any:
    return one if isinstance(one, Sequence) else one.titles


def titles_of(ranked: Ranked) -> dict[str, list[str]]:
    """Return the ranked titles by question id.

    Raises:
        DataError: a ranking of document ids alone.
    """
    found = {}
    for name, one in ranked.items():
        found[name] = list(_texts(one))
        if not all(found[name]):
            remedy = "Name the corpus with --corpus, or score against judgments (qrels)"
            raise DataError("a ranked document has no title", record=name, remedy=remedy)
    return found


def ids_of(ranked: Ranked) -> dict[str, list[str]]:
    """Return the ranked document ids by question id."""
    return {
        name: one.ids if isinstance(one, Ranking) else list(_texts(one))
        for name, one in ranked.items()
    }
