"""Generated text on multiple choice: UnifiedQA's similarity, labels, credit, the command."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.arc_da_files import ARC, arc_da, read_lines, write_lines
from twowiki.arc_da.metric.multiple_choice import (
    closest_option,
    credit_answer,
    named_labels,
    robust_similarity,
    score_choices,
    unifiedqa_similarity,
)
from twowiki.arc_da.schema import Choice, MultipleChoice
from twowiki.arc_da.sources import read_multiple_choice
from twowiki.errors import DataError

QUESTION = MultipleChoice(
    "q",
    "?",
    (Choice("1", "a liquid"), Choice("2", "a warm gas"), Choice("3", "stone")),
    "2",
    "easy",
)


@pytest.mark.parametrize(
    ("option", "prediction", "similarity"),
    [
        ("Gravity", "gravity", 3.0),
        ("earth's crust", "earths crust", 2.0),
        ("x^2", "x\u20472", 2.0),
        ("gravity", "gravity.", 0.0),
        ("a warm gas", "warm gas", 2 / 3),
        ("warm warm gas", "warm gas", 2 / 3),
        ("stone", "the stone", 0.5),
        ("stone", "rock", 0.0),
        ("", "", 3.0),
    ],
)
def test_similarity_as_unifiedqa_measures_it(
    option: str, prediction: str, similarity: float
) -> None:
    assert unifiedqa_similarity(option, prediction) == pytest.approx(similarity)


@given(
    st.text(st.sampled_from("ab '\"{}^\\`<.\u2047 ")),
    st.text(st.sampled_from("ab '\"{}^\\`<.\u2047 ")),
)
def test_similarity_equals_its_description(option: str, prediction: str) -> None:
    first, second = option.lower().strip(), prediction.lower().strip()
    if first == second:
        expected = 3.0
    else:
        first, second = (
            re.sub(r"[{}^\\`\u2047<]", " ", re.sub("[\"']", "", text)) for text in (first, second)
        )
        words, others = first.split(" "), second.split(" ")
        share = len({*words} & {*others}) / max(len(words), len(others))
        expected = 2.0 if first == second else share if " " in first + second else 0.0
    assert unifiedqa_similarity(option, prediction) == expected


def test_ties_and_no_match_take_the_first_and_say_so() -> None:
    options = ["red stone", "blue stone", "ice"]
    assert closest_option("stone", options) == (0, 0.5)
    nothing = closest_option("zzz", options)
    assert nothing.position == 0
    assert nothing.similarity == 0
    assert closest_option("stone", options, method="robust", likelihoods=[1, 2, 0]).position == 1
    assert closest_option("Ice.", options, method="robust").position == 2
    assert robust_similarity("the", "a") == 0.0
    for bad in ({"method": "exact"}, {"likelihoods": [1.0]}):
        with pytest.raises(ValueError, match="unknown method|one likelihood"):
            closest_option("x", options, **bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="needs options"):
        closest_option("x", [])


@pytest.mark.parametrize(
    ("text", "labels", "named"),
    [
        ("B", "ABCD", ["B"]),
        ("(b)", "ABCD", ["B"]),
        ("B.", "ABCD", ["B"]),
        (" A ; C ", "ABCD", ["A", "C"]),
        ("2", "ABCD", ["B"]),
        ("B", "1234", ["2"]),
        ("3", "1234", ["3"]),
        ("E", "ABCD", []),
        ("5", "ABCD", []),
        ("gravity", "ABCD", []),
        ("A;gravity", "ABCD", []),
        ("", "ABCD", []),
    ],
)
def test_labels_in_a_text(text: str, labels: str, named: list[str]) -> None:
    assert named_labels(text, list(labels)) == named


@pytest.mark.parametrize(
    ("text", "method", "share", "label"),
    [
        ("warm gas", "unifiedqa", 1.0, "2"),
        ("stone", "unifiedqa", 0.0, "3"),
        ("zzz", "unifiedqa", 0.0, "1"),
        ("The warm gas!", "robust", 1.0, "2"),
        ("B", "label", 1.0, "2"),
        ("1;2", "label", 0.5, "1;2"),
        ("1;3", "label", 0.0, "1;3"),
        ("zzz", "label", 0.0, ""),
    ],
)
def test_credit(text: str, method: str, share: float, label: str) -> None:
    value, taken, nothing = credit_answer(text, QUESTION, method)
    assert (value, taken) == (share, label)
    assert nothing == (text == "zzz")
    with pytest.raises(DataError, match="hidden"):
        credit_answer(text, QUESTION._replace(answer_key=None), method)


def test_missing_answers_are_listed_and_groups_told() -> None:
    report = score_choices([QUESTION, QUESTION._replace(id="p", difficulty="challenge")],
                           {"ARCEZ_q": "a warm gas"}, resamples=50)  # fmt: skip
    assert report["accuracy"] == 50.0
    assert report["missing"] == ["ARCCH_p"]
    assert list(report["by"]["difficulty"]) == ["easy", "challenge"]
    assert "method:unifiedqa" in report["signature"]


def test_mc_score_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    questions = [q for q in read_multiple_choice(ARC) if q.split == "train"]
    lines = [{"id": q.id, "prediction": q.key_text} for q in questions[:-1]]
    path, out, rows = (tmp_path / name for name in ("p.jsonl", "out.json", "rows.jsonl"))
    write_lines(path, lines)
    assert arc_da("mc-score", path, ARC, "--part", "train", "--resamples", 50, "--out", out,
                  "--rows", rows) == 0  # fmt: skip
    report = json.loads(out.read_text())
    assert report["accuracy"] == pytest.approx(100 * 7 / 8)
    assert report["missing"] == [questions[-1].question_id]
    assert len(read_lines(rows)) == 8
    write_lines(path, [*lines, {"id": "nothing", "prediction": "x"}])
    assert arc_da("mc-score", path, ARC) == 2
    assert "does not have: nothing" in capsys.readouterr().err


def test_labels_on_the_real_questions(shared: Path) -> None:
    questions = read_multiple_choice(shared / "data" / "arc" / "ARC-Challenge-Dev.jsonl")
    right = {q.question_id: q.key_text or "" for q in questions}
    for method in ("unifiedqa", "robust"):
        report = score_choices(questions, right, method=method, resamples=20)
        assert report["accuracy"] > 99.5  # an option may stand twice
    keys = {q.question_id: f"({q.answer_key})" for q in questions}
    assert score_choices(questions, keys, method="label", resamples=20)["accuracy"] == 100.0
