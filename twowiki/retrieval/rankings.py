"""Rankings of paragraphs, as retrievers write them, and their scores.

In: JSON `{id: [title, ...]}`, JSON lines `{"id", "titles"}` (an entry may be a title or an object
with a `title`), or a TREC run of document ids with the corpus that they belong to. Out: titles by
question id, best first, and their `title_recall@k` and `all_gold@k`. Another format, and a document
that is not in the corpus, are refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

from twowiki.errors import DataError
from twowiki.io.records import read_values
from twowiki.retrieval.corpus import Examples, typed_examples

_LIST_NAMES = ("titles", "ranked", "retrieved", "documents", "results", "hits")
_FORMAT = (
    'Write {"id": "...", "titles": ["best", "next", ...]} per line, {"ID": ["best", ...]}, or a '
    "TREC run together with --corpus"
)
_WRITE_CORPUS = "Write the corpus with `twowiki corpus`"


def read_rankings(
    path: str | PathLike[str], corpus: str | PathLike[str] | None = None
) -> dict[str, list[str]]:
    """Read rankings.

    Args:
        path: the file.
        corpus: corpus.jsonl, with the titles of a TREC run's document ids.

    Raises:
        DataError: another format, or a document that is not in the corpus.
    """
    try:
        values, _ = read_values(path, text_lines=True)
        if isinstance(values, Mapping):
            return {name: _title_list(found, name) for name, found in values.items()}
        if values and isinstance(values[0], str):
            return _of_run(values, _titles(corpus, path))
        return _of_records(values)
    except DataError as error:
        raise error.at(path) from None


def title_recall_at_k(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """Return the percentage of gold titles among the first k ranked ones (0-100).

    A title that is ranked twice takes two positions and counts once.
    """
    wanted = _wanted(gold, k)
    return 100.0 * len(wanted.intersection(ranked[:k])) / len(wanted)


def all_gold_at_k(ranked: Sequence[str], gold: Collection[str], k: int) -> int:
    """Return 1 if all gold titles are among the first k ranked ones, else 0."""
    return int(_wanted(gold, k).issubset(ranked[:k]))


def score_rankings(
    ranked: Mapping[str, Sequence[str]], gold: Examples, ks: Sequence[int] = (2, 5, 10)
) -> dict[str, Any]:
    """Return the means of both measures over all gold questions; an unranked question scores 0.

    Args:
        ranked: question id to titles, best first.
        gold: examples with supporting facts.
        ks: the cutoffs of the rankings.

    Returns:
        `title_recall@k` (0-100) and `all_gold@k` (share of questions, 0-1) for each k, `n`, and
        the number of questions that are `missing` in the rankings.
    """
    titles = {
        example.id: {fact.title for fact in example.supporting_facts}
        for example in typed_examples(gold)
    }
    titles = {name: wanted for name, wanted in titles.items() if wanted}
    if not titles:
        raise DataError("no question has supporting facts", remedy="Test splits hide them")
    pairs = [(ranked.get(name, ()), wanted) for name, wanted in titles.items()]
    metrics: dict[str, Any] = {}
    for k in ks:
        recalls = [title_recall_at_k(found, wanted, k) for found, wanted in pairs]
        complete = [all_gold_at_k(found, wanted, k) for found, wanted in pairs]
        metrics[f"title_recall@{k}"] = sum(recalls) / len(recalls)
        metrics[f"all_gold@{k}"] = sum(complete) / len(complete)
    metrics["n"] = len(titles)
    metrics["missing"] = sum(name not in ranked for name in titles)
    return metrics


def _wanted(gold: Collection[str], k: int) -> set[str]:
    if k < 1:
        raise DataError(f"k is {k}", remedy="Use at least 1")
    if isinstance(gold, str) or not gold:
        raise DataError("no gold titles to recall", remedy="Pass a set of titles")
    return set(gold)


def _of_records(records: Iterable[Any]) -> dict[str, list[str]]:
    rankings = {}
    for number, record in enumerate(records):
        name = _id_of(record)
        if not isinstance(name, str):
            raise DataError("a ranking without an id", record=f"number {number}", remedy=_FORMAT)
        found = next((record[key] for key in _LIST_NAMES if key in record), None)
        rankings[name] = _title_list(found, name)
    return rankings


def _id_of(record: Any) -> Any:
    return record.get("_id", record.get("id")) if isinstance(record, Mapping) else None


def _title_list(found: Any, name: str) -> list[str]:
    entries = found if isinstance(found, list) else [None]
    named = [entry.get("title") if isinstance(entry, Mapping) else entry for entry in entries]
    titles = [title for title in named if isinstance(title, str)]
    if len(titles) < len(entries):
        raise DataError("the ranking is not a list of titles", record=name, remedy=_FORMAT)
    return titles


def _titles(corpus: str | PathLike[str] | None, path: str | PathLike[str]) -> dict[str, str]:
    if corpus is None:
        raise DataError("a TREC run needs the corpus for its titles", file=path, remedy=_FORMAT)
    titles = {}
    records, _ = read_values(corpus, ids=("_id",), remedy=_WRITE_CORPUS)
    for number, record in enumerate([records] if isinstance(records, Mapping) else records):
        name, title = _id_of(record), record.get("title") if isinstance(record, Mapping) else None
        if not isinstance(name, str) or not isinstance(title, str):
            problem, where = "a document without _id or title", f"number {number}"
            raise DataError(problem, file=corpus, record=where, remedy=_WRITE_CORPUS)
        titles[name] = title
    return titles


def _of_run(lines: Iterable[str], titles: Mapping[str, str]) -> dict[str, list[str]]:
    """Read `query Q0 document rank score tag` lines, ordered by score, then by rank."""
    found: dict[str, list[tuple[float, int, str]]] = {}
    for number, line in enumerate(lines, 1):
        parts = line.split()
        if not parts:
            continue
        try:
            name, document, rank, score = parts[0], parts[2], int(parts[3]), float(parts[4])
        except (IndexError, ValueError):
            raise DataError(f"line {number} is not a line of a TREC run", remedy=_FORMAT) from None
        if document not in titles:
            raise DataError("a ranked document is not in the corpus", record=name, field=document)
        found.setdefault(name, []).append((-score, rank, titles[document]))
    return {name: [title for _, _, title in sorted(ranked)] for name, ranked in found.items()}
