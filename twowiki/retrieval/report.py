"""Scores of rankings: means with intervals, by question type and by hop, all 0-100.

In: rankings, and the gold of questions, or relevance judgments. Out: a `RetrievalReport`: recall@k,
all_gold@k (all that is relevant is among the first k), MRR and nDCG@10, equal to `trec_eval`. A
question without a ranking scores 0. By hop: the pages that a question starts from, and those that
these lead to. Splits without gold are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from twowiki.data.hops import hops_of
from twowiki.data.schema import Example, gold_paragraphs
from twowiki.errors import DataError
from twowiki.metric.blame import Ranked
from twowiki.metric.report import Summary, make_signature, summarize, type_order
from twowiki.metric.results import UNTYPED
from twowiki.metric.tables import format_score, render_table
from twowiki.retrieval.corpus import Examples, typed_examples
from twowiki.retrieval.measures import all_gold_at_k, ndcg_at_k, recall_at_k, reciprocal_rank
from twowiki.retrieval.rankings import ids_of, titles_of

KS = (2, 5, 10)


@dataclass(frozen=True)
class RetrievalReport:
    """The scores of rankings.

    Attributes:
        summary: over all questions.
        types: by question type; empty without one.
        hops: of the pages of each hop, over the questions that have some; empty without triples.
        missing: the number of questions without a ranking.
        signature: all that can change the scores, in one line.
    """

    summary: Summary
    types: dict[str, Summary]
    hops: dict[int, Summary]
    missing: int
    signature: str

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {
            "metric": "twowiki_retrieval",
            "signature": self.signature,
            **self.summary.to_dict(),
            "missing": self.missing,
            "by_type": {name: one.to_dict() for name, one in self.types.items()},
            "by_hop": {str(hop): one.to_dict() for hop, one in self.hops.items()},
        }

    def render(self) -> str:
        """Return the tables as text; the intervals of types and hops are in `to_dict`."""
        names, ends = list(self.summary.metrics), self.summary.intervals or {}
        means = self.summary.metrics.items()
        rows = [[name, format_score(mean, ends.get(name))] for name, mean in means]
        blocks = [render_table([["n", str(self.summary.n)], *rows])]
        if len(self.types) > 1:
            rows = [["type", "n", *names], *(_row(name, one) for name, one in self.types.items())]
            blocks.append(render_table(rows))
        if self.hops:
            names = list(next(iter(self.hops.values())).metrics)
            rows = [_row(f"hop {hop}", one) for hop, one in self.hops.items()]
            blocks.append(render_table([["pages of", "n", *names], *rows]))
        if self.missing:
            blocks.append(f"questions without a ranking, which score 0: {self.missing}")
        return "\n\n".join([*blocks, self.signature])


def score_rankings(
    ranked: Ranked,
    gold: Examples,
    ks: Sequence[int] = KS,
    *,
    confidence: float | None = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> RetrievalReport:
    """Score rankings of titles against the pages that the supporting facts name.

    Args:
        ranked: question id to a ranking, or to titles, best first.
        gold: examples with supporting facts or paragraphs.
        ks: the cutoffs of recall and all_gold.
        confidence: of bootstrap intervals; None leaves them out.
        resamples: of the bootstrap.
        seed: of the same.

    Raises:
        DataError: no question has supporting facts.
    """
    titles = titles_of(ranked)
    groups = _Groups(ks, {"confidence": confidence, "resamples": resamples, "seed": seed})
    for example in typed_examples(gold):
        if pages := pages_by_hop(example):
            groups.add(example.id, titles.get(example.id), pages, example.type)
    return groups.report("titles")


def score_judged(
    ranked: Ranked,
    relevant: Mapping[str, Mapping[str, int]],
    ks: Sequence[int] = KS,
    *,
    confidence: float | None = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> RetrievalReport:
    """Score rankings of document ids against relevance judgments.

    Args:
        ranked: question id to a ranking, or to document ids, best first.
        relevant: question id to documents with their gains; gains of 0 are not relevant.
        ks: the cutoffs of recall and all_gold.
        confidence: of bootstrap intervals; None leaves them out.
        resamples: of the bootstrap.
        seed: of the same.

    Raises:
        DataError: nothing is judged relevant.
    """
    ids = ids_of(ranked)
    groups = _Groups(ks, {"confidence": confidence, "resamples": resamples, "seed": seed})
    for name, gains in relevant.items():
        if any(gain > 0 for gain in gains.values()):
            groups.add(name, ids.get(name), {0: gains}, None)
    return groups.report("documents")


class _Groups:
    """The rows of all questions, by type and by hop."""

    def __init__(self, ks: Sequence[int], options: dict[str, Any]) -> None:
        self.ks, self.options = list(dict.fromkeys(ks)), options
        cut = [f"{name}@{k}" for k in self.ks for name in ("recall", "all_gold")]
        self.names = [*cut, "mrr", "ndcg@10"]
        self.hop_names = [*(f"recall@{k}" for k in self.ks), "mrr"]
        self.rows: list[list[float]] = []
        self.types: dict[str, list[list[float]]] = {}
        self.hops: dict[int, list[list[float]]] = {}
        self.missing = 0

    def add(
        self,
        name: str,
        ranked: Sequence[str] | None,
        pages: Mapping[int, Mapping[str, int]],
        type: str | None,
    ) -> None:
        """Add a question; hop 0 is no hop."""
        self.missing += ranked is None
        found = ranked or ()
        gains = {key: gain for part in pages.values() for key, gain in part.items()}
        row = [
            measure(found, gains, k) for k in self.ks for measure in (recall_at_k, all_gold_at_k)
        ]
        row += [reciprocal_rank(found, gains), ndcg_at_k(found, gains)]
        self.rows.append([value / 100 for value in row])
        self.types.setdefault(type or UNTYPED, []).append(self.rows[-1])
        for hop, part in pages.items():
            own = [*(recall_at_k(found, part, k) for k in self.ks), reciprocal_rank(found, part)]
            if hop:
                self.hops.setdefault(hop, []).append([value / 100 for value in own])

    def report(self, unit: str) -> RetrievalReport:
        """Return the means."""
        if not self.rows:
            problem = "no question has supporting facts, or relevant documents"
            raise DataError(problem, remedy="Test splits hide them: use train or validation")
        ks = ",".join(map(str, self.ks))
        parts = (unit, f"k:{ks}", f"missing:{self.missing}", f"n:{len(self.rows)}")
        return RetrievalReport(
            summarize(self.rows, self.names, **self.options),
            {
                name: summarize(self.types[name], self.names, **self.options)
                for name in sorted(self.types, key=type_order)
            },
            {
                hop: summarize(rows, self.hop_names, **self.options)
                for hop, rows in sorted(self.hops.items())
            },
            self.missing,
            make_signature("twowiki_retrieval", *parts),
        )


def pages_by_hop(example: Example) -> dict[int, dict[str, int]]:
    """Return the gold titles by hop; all under 0 where there are no triples to tell."""
    if not example.triples:
        gold, dangling = gold_paragraphs(example)
        titles = dict.fromkeys([*(one.title for one in gold), *dangling], 1)
        return {0: titles} if titles else {}
    pages: dict[int, dict[str, int]] = {}
    hops = hops_of(example.facts, example.triples, example.type)
    for title, hop in hops.items():
        pages.setdefault(hop, {})[title] = 1
    return pages


def _row(name: str, summary: Summary) -> list[str]:
    return [name, str(summary.n), *map(format_score, summary.metrics.values())]
