"""The measures are those of trec_eval, to nine digits, whatever the ties."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from twowiki.errors import DataError
from twowiki.retrieval import all_gold_at_k, ndcg_at_k, read_rankings, recall_at_k, reciprocal_rank
from twowiki.retrieval.beir import read_qrels, render_qrels
from twowiki.retrieval.report import score_judged

DOCUMENTS = [f"d{number}" for number in range(12)]
# many ties, also of scores that differ only as doubles
SCORES = st.sampled_from([0.0, -1.5, 0.25, 3.0, 1.0, 1.0 + 1e-12, float(np.float32(0.1)), 0.1])
RUNS = st.dictionaries(st.sampled_from(DOCUMENTS), SCORES, min_size=1)
GAINS = st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(0, 3), min_size=1).filter(
    lambda gains: any(gains.values())
)


@given(st.lists(st.tuples(RUNS, GAINS), min_size=1, max_size=4))
def test_equal_to_trec_eval(questions: list[tuple[dict[str, float], dict[str, int]]]) -> None:
    run = {f"q{number}": scores for number, (scores, _) in enumerate(questions)}
    judged = {f"q{number}": gains for number, (_, gains) in enumerate(questions)}
    measures = {"recall.2,5,10", "recip_rank", "ndcg_cut.10"}
    expected = pytrec_eval.RelevanceEvaluator(judged, measures).evaluate(run)
    with tempfile.TemporaryDirectory() as folder:
        path, table = Path(folder) / "run.trec", Path(folder) / "qrels.tsv"
        path.write_text(
            "".join(
                f"{name} Q0 {document} {rank} {score!r} x\n"
                for name, scores in run.items()
                for rank, (document, score) in enumerate(scores.items(), 1)
            )
        )
        table.write_text(render_qrels(judged))
        ranked, read = read_rankings(path), read_qrels(table)
        path.with_suffix(".json").write_text(json.dumps(run))
        assert read_rankings(path.with_suffix(".json")) == ranked
    assert read == judged
    report = score_judged(ranked, read, confidence=None)
    names = {"recall@2": "recall_2", "recall@5": "recall_5", "recall@10": "recall_10",
             "mrr": "recip_rank", "ndcg@10": "ndcg_cut_10"}  # fmt: skip
    for ours, theirs in names.items():
        mean = sum(one[theirs] for one in expected.values()) / len(expected)
        assert report.summary.metrics[ours] == pytest.approx(100 * mean, abs=1e-9)
    for k in (2, 5, 10):
        whole = [one[f"recall_{k}"] == 1 for one in expected.values()]
        share = 100 * sum(whole) / len(whole)
        assert report.summary.metrics[f"all_gold@{k}"] == pytest.approx(share, abs=1e-9)


def test_a_title_that_is_ranked_twice_takes_two_places_and_counts_once() -> None:
    ranked, wanted = ["A", "A", "C", "B"], {"A", "B"}
    assert [recall_at_k(ranked, wanted, k) for k in (1, 2, 4)] == [50, 50, 100]
    assert [all_gold_at_k(ranked, wanted, k) for k in (2, 4)] == [0, 100]
    assert reciprocal_rank(["C", *ranked], wanted) == 50
    assert reciprocal_rank(["C"], wanted) == recall_at_k([], wanted, 5) == 0
    assert ndcg_at_k(["A", "B"], wanted) == 100
    assert ndcg_at_k(["A", "A"], wanted) == pytest.approx(100 / (1 + 1 / np.log2(3)))


@pytest.mark.parametrize(
    ("gold", "k", "problem"),
    [({"A"}, 0, "k is 0"), (set(), 2, "nothing is relevant"), ("A", 2, "one text"),
     ({"A": 0}, 2, "nothing is relevant")],
)  # fmt: skip
def test_what_cannot_be_measured_is_refused(gold: Any, k: int, problem: str) -> None:
    for measure in (recall_at_k, all_gold_at_k, ndcg_at_k):
        with pytest.raises(DataError, match=problem):
            measure(["A"], gold, k)


@pytest.mark.parametrize("text", ["", "query-id\tcorpus-id\tscore\n", "a b\n", "q 0 d many\n",
                                  "a b c d e\n"])  # fmt: skip
def test_tables_of_another_form_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "qrels.tsv"
    path.write_text(text)
    with pytest.raises(DataError, match="TREC"):
        read_qrels(path)
