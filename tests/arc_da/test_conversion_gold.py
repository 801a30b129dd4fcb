"""What the conversion takes for one answer, for no answer, and for the later answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from tests.arc_da.small_conversion import begin, edit, give, imported, said
from tests.arc_da_files import arc_da, read_lines, read_table, write_lines, write_table
from twowiki.arc_da.conversion.crowd import WorkerAnswer, check_answer
from twowiki.arc_da.conversion.filter import SourceChoice, SourceQuestion
from twowiki.arc_da.conversion.release import check_repeats
from twowiki.arc_da.metric.folding import answer_key, exact_marks
from twowiki.arc_da.metric.multiple_choice import closest_option
from twowiki.arc_da.metric.report import ArcDaSettings, score_system, summarize_system
from twowiki.arc_da.schema import Question
from twowiki.errors import DataError
from twowiki.human.ratings import Rating
from twowiki.human.tasks import merge_ratings
from twowiki.human.times import is_older, parse_time

PROTON = {
    "id": "Probe_1",
    "question": {
        "stem": "What is the charge of a proton?",
        "choices": [
            {"label": label, "text": text}
            for label, text in (("A", "+2"), ("B", "+1"), ("C", "-1"), ("D", "-2"))
        ],
    },
    "answerKey": "B",
}  # fmt: skip
TOLD_APART = [
    ("-1", "+1"), ("−1", "1"), ("1.28 millimeters", "128 millimeters"), ("rr", "Rr"), ("3-", "3+"),
    ("Na+", "Na-"), ("1/2", "12"), ("5-10", "510"), ("50%", "50"), ("x > 5", "x < 5"),
    ("3:1", "31"),
    ("5 mW", "5 MW"), ("CO", "Co"), ("RrYy plants", "rryy plants"), ("vitamin A", "vitamin"),
    ("+", "-"), ("0.5", ".05"), ("1,5 m", "15 m"), ("5'", '5"'),
]  # fmt: skip
THE_SAME = [
    ("Heat.", "the heat"), ("−1", "-1"), ("DNA", "dna"), ("1,000", "1000"),
    ("well-known", "wellknown"),
    ("- heat", "heat"), ("In water", "in water"), ("H2O", "h2o"), ("Gravity!", "gravity"),
    ("(the) Moon", "moon"), ("IN WATER", "in water"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), TOLD_APART)
def test_answers_that_mean_something_else_are_told_apart(one: str, other: str) -> None:
    assert answer_key(one) != answer_key(other)
    assert closest_option(one, [other, one], method="robust").position == 1


@pytest.mark.parametrize(("one", "other"), THE_SAME)
def test_wordings_of_one_answer_are_merged(one: str, other: str) -> None:
    assert answer_key(one) == answer_key(other)


@drawn(st.text(max_size=20))
def test_outer_space_and_a_last_stop_change_no_answer(text: str) -> None:
    plain = " ".join(text.split())
    assert answer_key(f" {plain} ") == answer_key(plain)


@drawn(st.integers(-(10**6), 10**6), st.integers(-(10**6), 10**6))
def test_two_integers_are_two_answers(one: int, other: int) -> None:
    assert (answer_key(f"{one} m") == answer_key(f"{other} m")) == (one == other)


@pytest.fixture
def proton(tmp_path: Path) -> Path:
    """A conversion of the question of the proton, kept by the filter."""
    arc = tmp_path / "ARC-Easy-Dev.jsonl"
    arc.write_text(json.dumps(PROTON) + "\n", encoding="utf-8")
    assert arc_da("filter", tmp_path / "work", "--arc", arc) == 0
    (name,) = [one["question_id"] for one in read_lines(tmp_path / "work" / "10_filtered.jsonl")]
    (tmp_path / "name").write_text(name, encoding="utf-8")
    return tmp_path / "work"


def proton_answers(work: Path, *texts: str, start: int = 0) -> str:
    name = (work.parent / "name").read_text(encoding="utf-8")
    lines = [said(name, f"w{start + n}", text) for n, text in enumerate(texts)]
    assert give(work, lines, f"in{start}.jsonl") == 0
    assert arc_da("screen", work, "--people", 3) == 0
    assert arc_da("review-export", work) == 0
    return name


def test_a_wrong_sign_is_never_the_right_option(proton: Path) -> None:
    name = proton_answers(proton, "-1", "-1", "+1")
    (row,) = read_table(proton / "50_review" / "review.csv")
    assert row["origins"].lstrip("'") == "-1 (2 workers) | +1 (1 worker, mc_gold)"
    assert "B* +1" in row["options"]
    assert imported(proton, edit(proton, {name: {"decision": "accept", "answers": "+1"}})) == 0
    assert arc_da("release", proton) == 0
    (question,) = read_lines(proton / "90_release" / "dev.jsonl")
    (provenance,) = read_lines(proton / "90_release" / "provenance.jsonl")
    assert question["answers"] == ["+1"]
    assert provenance["answers"][0]["support"] == 1
    assert provenance["answers"][0]["origins"] == ["worker", "mc_gold"]


def test_a_late_answer_of_another_sign_is_shown_to_the_reviewer(
    proton: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = proton_answers(proton, "-1", "-1", "zero -1")
    table = edit(proton, {name: {"decision": "accept", "answers": "+1"}})
    assert imported(proton, table) == 0
    proton_answers(proton, "+3", start=7)
    (row,) = read_table(proton / "50_review" / "review.csv")
    assert "+3" in row["answers"]
    assert "+1" in row["answers"]


def test_the_report_names_what_f1_does_not_see() -> None:
    questions = {"q": Question("q", "EASY-DEV", "What genotype?", ("Rr",))}
    report = summarize_system(score_system(questions, {"q": "rr"}), ArcDaSettings(resamples=10))
    assert report["f1"] == 100
    assert report["pitfalls"]["number_changed"]["ids"] == ["q"]
    assert exact_marks("rr") != exact_marks("Rr")


# --- what is no answer

SOURCE = SourceQuestion(
    "q", "q", "train", "EASY-TRAIN", "How many legs has a snake?",
    [SourceChoice("A", "none"), SourceChoice("B", "two")], "A",
)  # fmt: skip
NO_ANSWERS = (
    "dunno", "Dunno!", "no clue", "unknown", "n/a", "N/A", "unanswerable", "I'm not sure", "IDK",
    "I have no idea", "no idea what this means", "I don't know the answer", "I don\u2019t know",
    "unsure",
    "not sure about this one", "I really don't know", "cannot be answered", "can't answer this",
    "skip", "Honestly I don't know", "I really have no idea", "IDK what that is", "i forgot",
    "I don't have an answer", "no answer given", "cannot be determined", "not enough information",
    "it depends", "hard to say", "see above", "all of the above", "hmm", "no s\u00e9",
)  # fmt: skip


@pytest.mark.parametrize("text", NO_ANSWERS)
def test_no_answer_is_never_a_witness(text: str) -> None:
    made = check_answer(WorkerAnswer("q", "w", text, ""), SOURCE, SOURCE.stem, b"key")
    assert (made.status, made.answers) == ("dont_know", [])
    made = check_answer(WorkerAnswer("q", "w", f"two; {text}", ""), SOURCE, SOURCE.stem, b"key")
    assert (made.answers, made.flags[0]) == (["two"], "non_answers_dropped")


@pytest.mark.parametrize("text", ["none", "None."])
def test_an_option_of_the_question_is_an_answer(text: str) -> None:
    made = check_answer(WorkerAnswer("q", "w", text, ""), SOURCE, SOURCE.stem, b"key")
    assert made.status == "answered"


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [("\uff1f", "nonsense", None), ("-", "refused", "no_answer"), ("...", "refused", "no_answer")],
)
def test_signs_alone_are_no_answer(text: str, status: str, reason: str | None) -> None:
    made = check_answer(WorkerAnswer("q", "w", text, ""), SOURCE, SOURCE.stem, b"key")
    assert (made.status, made.reason) == (status, reason)


@pytest.mark.parametrize(
    "text",
    [
        "Na",
        "nothing happens",
        "no",
        "none of them move",
        "knowing",
        "nose",
        "all of the water",
        "more information is lost",
    ],
)
def test_words_that_begin_alike_are_answers(text: str) -> None:
    made = check_answer(WorkerAnswer("q", "w", text, ""), SOURCE, SOURCE.stem, b"key")
    assert made.answers == [text]


# --- which submission counts


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("Sun Nov 29 10:00:00 PST 2026", "2026-11-29T18:00:00.000000+00:00"),
        ("2026-11-29T20:00:00-05:00", "2026-11-30T01:00:00.000000+00:00"),
        ("2026-11-29T20:00:00Z", "2026-11-29T20:00:00.000000+00:00"),
        ("2026-11-29 20:00", "2026-11-29T20:00:00.000000+00:00"),
        ("", ""),
    ],
)
def test_times_are_compared_as_times(text: str, utc: str) -> None:
    assert parse_time(text) == utc


@pytest.mark.parametrize("text", ["Mon", "11/29/2026", "Sun Nov 29 10:00:00 IST 2026", "5"])
def test_a_time_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time"):
        parse_time(text)


def at(time: str) -> dict[str, str]:
    return {"submitted_at": time}


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        (at("Sun Nov 29 10:00:00 PST 2026"), at("Mon Nov 30 10:00:00 PST 2026"), 1),
        (at("2026-11-29T20:00:00-05:00"), at("2026-11-29T23:00:00+00:00"), 0),
        (at("2026-03-01"), {**at("2026-03-02"), "answers": "", "category": "many"}, 0),
        (at("2026-03-01"), {**at("2026-03-02"), "answers": "x" * 300}, 0),
        ({}, {}, 1),
    ],
)
def test_the_latest_submission_that_can_be_used_counts(
    tmp_path: Path, first: dict[str, Any], second: dict[str, Any], kept: int
) -> None:
    work = begin(tmp_path / "work")
    name, texts = "ARCEZ_Kite_1", ("its weight", "its mass")
    given = ({"answers": texts[0], **first}, {"answers": texts[1], **second})
    records = [said(name, "w9", **one) for one in given]
    for number, record in enumerate(records):
        assert give(work, [record], f"more{number}.jsonl") == 0
    made = read_lines(work / "30_crowd.jsonl")
    (one,) = [r for r in made if r["question_id"] == name and r["raw"] == texts[kept]]
    assert [other["raw"] for other in one["replaced"]] == [records[1 - kept]["answers"]]


def test_a_time_that_cannot_be_read_names_its_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work = begin(tmp_path / "work")
    before = (work / "30_crowd.jsonl").read_bytes()
    assert give(work, [said("ARCEZ_Kite_1", "w9", "x", submitted_at="Monday")], "bad.jsonl") == 2
    assert "bad.jsonl, record 1: 'Monday' is not a time" in capsys.readouterr().err
    assert (work / "30_crowd.jsonl").read_bytes() == before


def test_a_sheet_that_was_read_before_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work = begin(tmp_path / "work")
    sheets = [
        write_lines(tmp_path / f"v{n}.jsonl", [said("ARCEZ_Kite_1", "w9", text)])
        for n, text in enumerate(("its weight", "its mass"))
    ]
    for sheet in (*sheets, sheets[0]):
        assert arc_da("import-answers", work, sheet) == 0
    assert "read before" in capsys.readouterr().out
    (one,) = [r for r in read_lines(work / "30_crowd.jsonl") if r["raw"] == "its mass"]
    assert [other["raw"] for other in one["replaced"]] == ["its weight"]


def test_a_later_rating_counts_whatever_the_order_of_the_files() -> None:
    old = Rating("t5", "q", "s", "ann", 0.0, at="2026-11-29T23:00:00+00:00")
    new = Rating("t5", "q", "s", "ann", 1.0, at="2026-11-29T20:00:00-05:00")
    assert merge_ratings([old], [new]) == merge_ratings([new], [old]) == [new]
    assert is_older(old.at, new.at)
    untimed = old._replace(at="")
    assert merge_ratings([new], [untimed]) == [untimed]


# --- two reviewers, and repeats


def test_a_second_reviewer_hears_of_own_edits_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work = begin(tmp_path / "work")
    table = work / "50_review" / "review.csv"
    second = write_table(table.with_name("second.csv"), [
        {**row, "question": "Which?"} if row["question_id"] == "ARCEZ_Pond_3" else row
        for row in read_table(table)
    ])  # fmt: skip
    changes = {"ARCEZ_Kite_1": {"decision": "accept", "answers": "gravity", "question": "Why?"},
               "ARCEZ_Kite_2": {"decision": "reject", "reason": "invalid"}}  # fmt: skip
    assert imported(work, edit(work, changes)) == 0
    assert (
        "next: twowiki arc-da convert review-export" in capsys.readouterr().out
    )  # rows are undecided
    assert imported(work, second, reviewer="lee") == 1
    complaints = capsys.readouterr().err.splitlines()
    assert complaints == ["ARCEZ_Pond_3: edited, but no decision is given"]


def test_all_repeats_are_named_at_once() -> None:
    texts = ("Why?", "How?", "When?")
    splits = {
        split: [Question(f"{split}{n}", "T", text, ("a",)) for n, text in enumerate(texts)]
        for split in ("train", "test")
    }
    with pytest.raises(DataError, match=r"3 questions .*train0 .*test0 .*train2 .*test2"):
        check_repeats(splits, [])
    check_repeats(splits, [f"{split}{n}" for split in splits for n in range(3)])
