"""Parity: every golden file, every figure, both versions; and known wrong scorers are caught."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.joint_files import load_script
from twowiki.metric import evidence, normalization, scoring
from twowiki.metric.report import Report
from twowiki.metric.results import ALL, EMPTY, NONE, score_counts
from twowiki.metric.score import score
from twowiki.metric.scoring import Scorer

GOLDEN = Path(__file__).parents[1] / "golden" / "joint_evaluator.jsonl"
CASES = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]
TOLERANCE = 1e-9


def disagrees(matching: str = "official", strict: bool = False) -> bool:
    """Whether any golden file differs in any figure."""
    return any(
        abs(found - value) > TOLERANCE
        for case in CASES
        for found, value in zip(
            score(
                case["prediction"],
                case["gold"],
                case["aliases"],
                version=case["version"],
                matching=matching,
                strict=strict,
            ).metrics.values(),
            case["expected"].values(),
            strict=True,
        )
    )


def test_all_files_are_there() -> None:
    assert len(CASES) == 416
    assert {case["version"] for case in CASES} == {"1.0", "1.1"}
    assert all(len(case["expected"]) == 16 for case in CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_every_figure_agrees(case: dict[str, Any]) -> None:
    before = copy.deepcopy(case)
    report = score(case["prediction"], case["gold"], case["aliases"], version=case["version"])
    assert report.metrics.keys() == case["expected"].keys()
    for key, value in case["expected"].items():
        assert report.metrics[key] == pytest.approx(value, abs=TOLERANCE), key
    assert case == before


def test_figures_are_equal_to_the_last_bit() -> None:
    for case in CASES:
        report = score(case["prediction"], case["gold"], case["aliases"], version=case["version"])
        assert report.metrics == case["expected"], case["case"]


def test_the_benchmark_reference_agrees_too() -> None:
    reference = load_script("bench/reference_evaluator.py")
    for case in copy.deepcopy(CASES):
        found = reference.evaluate(
            case["prediction"], case["gold"], case["aliases"], case["version"]
        )
        assert found == pytest.approx(case["expected"], abs=TOLERANCE), case["case"]


def test_one_to_one_never_exceeds_100_and_is_the_same_for_version_1_0() -> None:
    for case in CASES:
        arguments = (case["prediction"], case["gold"], case["aliases"])
        report = score(*arguments, version=case["version"], matching="one_to_one")
        assert max(max(result.metrics) for result in report.results) <= 1.0
        if case["version"] == "1.0":
            assert report.metrics == score(*arguments, version="1.0").metrics


# Known wrong scorers. Each takes monkeypatch and breaks one rule.
def empty_is_right(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(scoring, "EMPTY", ALL)
    patch.setattr(evidence, "EMPTY", ALL)


def recall_is_capped(patch: pytest.MonkeyPatch) -> None:
    def capped(found: int, said: int, true: int, *, exact: bool) -> Any:
        return score_counts(min(found, true), said, true, exact=exact)

    patch.setattr(evidence, "score_counts", capped)


def em_ignores_extra_triples(patch: pytest.MonkeyPatch) -> None:
    def lenient(matches: int, said: int, true: int) -> Any:
        return score_counts(matches, said, true, exact=matches >= true)

    patch.setattr(evidence, "_score_matches", lenient)


def best_name_as_a_whole(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(scoring, "_best", lambda one, other: max(one, other, key=lambda part: part[1]))


def facts_lowered_before_the_set(patch: pytest.MonkeyPatch) -> None:
    right = Scorer._facts
    patch.setattr(Scorer, "score_facts", Scorer._score_repeated_facts)
    patch.setattr(Scorer, "_facts", lambda self, facts: list(set(right(self, facts))))


def articles_dropped_in_triples(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(evidence, "normalize_name", normalization.normalize_answer)


def articles_kept_in_answers(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(scoring, "normalize_answer", normalization.normalize_name)


def no_rule_for_yes_and_no(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(scoring, "CLOSED_ANSWERS", frozenset())


def gold_duplicates_collapse(patch: pytest.MonkeyPatch) -> None:
    right = evidence.EvidenceScorer._gold_triples
    patch.setattr(
        evidence.EvidenceScorer,
        "_gold_triples",
        lambda self, gold: list(dict.fromkeys(right(self, gold))),
    )
    patch.setattr(evidence.EvidenceScorer, "_score_plain_case", lambda *_: None)


def joint_of_f1s(patch: pytest.MonkeyPatch) -> None:
    def product(answer: Any, support: Any, triples: Any) -> Any:
        return tuple(a * s * t for a, s, t in zip(answer, support, triples, strict=True))

    patch.setattr(scoring, "score_joint", product)


def titles_keep_their_case(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(scoring, "_title_form", lambda _: lambda title: title)


def punctuation_becomes_a_blank(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(normalization, "_PUNCTUATION", _Blanked())


class _Blanked:
    def sub(self, _: str, text: str) -> str:
        return "".join(letter if letter.isalnum() or letter == " " else " " for letter in text)


def demonyms_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("twowiki.data.aliases.AliasTable.aliases_of", lambda self, name: tuple(
        (self._entries.get(name) or {}).get("aliases", ())
    ))  # fmt: skip


def aliases_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("twowiki.data.aliases.AliasTable.aliases_of", lambda *_: ())


def triples_are_not_a_set(patch: pytest.MonkeyPatch) -> None:
    right = evidence.score_counts

    def repeated(found: int, said: int, true: int, *, exact: bool) -> Any:
        return right(found, said + 1 if said > 1 else said, true, exact=exact)

    patch.setattr(evidence, "score_counts", repeated)


def support_em_ignores_extra_facts(patch: pytest.MonkeyPatch) -> None:
    def lenient(found: int, said: int, true: int, *, exact: bool) -> Any:
        return score_counts(found, said, true, exact=found >= true)

    patch.setattr(scoring, "score_counts", lenient)


def text_indices_are_numbers(patch: pytest.MonkeyPatch) -> None:
    right = Scorer._facts
    patch.setattr(Scorer, "score_facts", Scorer._score_repeated_facts)

    def coerced(self: Any, facts: Any) -> Any:
        return [(title, int(index)) for title, index in right(self, facts)]

    patch.setattr(Scorer, "_facts", coerced)


def missing_is_left_out_of_n(patch: pytest.MonkeyPatch) -> None:
    def fewer(report: Report) -> Any:
        kept = [one for one in report.results if not one.missing] or report.results
        return {
            name: sum(one.metrics[place] for one in kept) / len(kept) * 100
            for place, name in enumerate(report.metric_names)
        }

    patch.setattr(Report, "metrics", property(fewer))


def empty_alias_matches_nothing(patch: pytest.MonkeyPatch) -> None:
    right = Scorer.score_answer

    def picky(self: Any, prediction: Any, gold: Any) -> Any:
        found = right(self, prediction, gold)
        return NONE if found == EMPTY else found

    patch.setattr(Scorer, "score_answer", picky)


MUTANTS: list[Callable[[pytest.MonkeyPatch], None]] = [
    empty_is_right, recall_is_capped, em_ignores_extra_triples, best_name_as_a_whole,
    facts_lowered_before_the_set, articles_dropped_in_triples, articles_kept_in_answers,
    no_rule_for_yes_and_no, gold_duplicates_collapse, joint_of_f1s, titles_keep_their_case,
    punctuation_becomes_a_blank, demonyms_are_forgotten, aliases_are_forgotten,
    triples_are_not_a_set, support_em_ignores_extra_facts, text_indices_are_numbers,
    missing_is_left_out_of_n, empty_alias_matches_nothing,
]  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_known_wrong_scorer_is_caught(
    mutant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)
    assert disagrees()


def test_the_variants_are_other_scorers() -> None:
    assert disagrees(matching="one_to_one")
    assert disagrees(strict=True)
    assert not disagrees()
