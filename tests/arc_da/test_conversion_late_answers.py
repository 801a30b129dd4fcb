"""Answers that come late, corrections and other filters never break a review that was made."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.arc_da.small_conversion import begin, edit, give, imported, said
from tests.arc_da_files import ARC, arc_da, read_lines, read_table, write_table
from twowiki.arc_da.conversion.review import (
    Decision,
    ReviewAnswer,
    ReviewState,
    decisions_table,
    parse_decisions,
    replay_decisions,
)
from twowiki.arc_da.conversion.review_table import EditedRow, edited_state
from twowiki.arc_da.schema import Question
from twowiki.arc_da.sources import read_questions
from twowiki.io.records import read_records

KITE = "ARCEZ_Kite_1"
ACCEPTED = {KITE: {"decision": "accept", "answers": "gravity | the wind | its weight"},
            "ARCEZ_Kite_2": {"decision": "accept"}}  # fmt: skip


@pytest.fixture(scope="module")
def reviewed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = begin(tmp_path_factory.mktemp("arc_da") / "work")
    assert imported(folder, edit(folder, ACCEPTED)) == 0
    return folder


@pytest.fixture
def work(reviewed: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    shutil.copytree(reviewed, folder)
    return folder


def released(work: Path) -> dict[str, Question]:
    assert arc_da("release", work) == 0
    return {question.question_id: question for question in read_questions(work / "90_release")}


def decisions_on(work: Path, question: str) -> list[dict[str, Any]]:
    lines = read_lines(work / "60_decisions.jsonl")[1:]
    return [decision for decision in lines if decision["question_id"] == question]


def everything_runs(work: Path) -> None:
    for command in ("status", "review-export", "release"):
        assert arc_da(command, work) == 0
    assert imported(work, edit(work, {"ARCEZ_Pond_3": {"decision": "accept"}})) == 0


@pytest.mark.parametrize(
    ("late", "answers"),
    [
        (["Gravity.", "Gravity."], ("gravity", "the wind", "its weight")),  # another majority
        (["its weight"], ("gravity", "the wind", "its weight")),  # what the reviewer had added
        (["The WIND"], ("gravity", "the wind", "its weight")),
        (["magic"], ("gravity", "the wind", "its weight")),  # unseen, so not released
    ],
)
def test_late_answers_leave_a_decision_as_it_was(
    work: Path, late: list[str], answers: tuple[str, ...]
) -> None:
    assert give(work, [said(KITE, f"late{n}", text) for n, text in enumerate(late)]) == 0
    assert arc_da("screen", work, "--people", 3) == 0
    assert released(work)[KITE].answers == answers
    everything_runs(work)
    shown = {row["question_id"] for row in read_table(work / "50_review" / "review.csv")}
    assert (KITE in shown) == (late == ["magic"])


def test_late_workers_count_for_the_answers_they_gave(work: Path) -> None:
    assert give(work, [said(KITE, "late", "its weight; gravity")]) == 0
    assert arc_da("screen", work, "--people", 3) == 0
    released(work)
    origin = next(r for r in read_lines(work / "90_release" / "provenance.jsonl")
                  if r["question_id"] == KITE)  # fmt: skip
    support = {answer["text"]: answer["support"] for answer in origin["answers"]}
    assert support == {"gravity": 3, "the wind": 1, "its weight": 1}


def test_a_removed_answer_does_not_come_back(work: Path) -> None:
    assert imported(work, edit(work, {KITE: {"decision": "accept", "answers": "gravity"}})) == 0
    assert give(work, [said(KITE, "late", "The wind!")]) == 0
    assert arc_da("screen", work, "--people", 3) == 0
    assert released(work)[KITE].answers == ("gravity",)


@pytest.mark.parametrize("how", ["correction", "stricter"])
def test_what_no_longer_passes_is_set_aside_and_comes_back(
    work: Path, capsys: pytest.CaptureFixture[str], how: str
) -> None:
    more: tuple[object, ...] = ()
    if how == "correction":
        lines = [said("ARCEZ_Kite_2", f"w{n}", "don't know") for n in range(3)]
        assert give(work, lines) == 0
    else:
        more = ("--min-sharing", 3)
    assert arc_da("screen", work, "--people", 3, *more) == 0
    table = edit(work, {"ARCEZ_Kite_2": {"decision": "reject", "reason": "invalid"}})
    capsys.readouterr()
    assert imported(work, table) == 1
    assert "ARCEZ_Kite_2: this question is not under review" in capsys.readouterr().err
    assert arc_da("status", work) == 0
    assert "set aside: ARCEZ_Kite_2 does not pass the filters" in capsys.readouterr().out
    if how == "correction":
        assert set(released(work)) == {KITE}
        texts = ["a ruler", "tape measure", "a tape"]
        assert give(work, [said("ARCEZ_Kite_2", f"w{n}", t) for n, t in enumerate(texts)]) == 0
    assert arc_da("screen", work, "--people", 3) == 0
    assert set(released(work)) == {KITE, "ARCEZ_Kite_2"}


def test_another_filter_asks_for_another_screening(
    work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = tmp_path / "ARC-Easy-Train.jsonl"
    lines = (ARC / "ARC-Easy-Train.jsonl").read_text(encoding="utf-8").splitlines()
    few.write_text("\n".join(line for line in lines if "Kite_2" not in line), encoding="utf-8")
    assert arc_da("filter", work, "--arc", few) == 0
    assert arc_da("status", work) == 0
    for command in ("review-export", "release"):
        capsys.readouterr()
        assert arc_da(command, work) == 2
        assert "Run again: twowiki arc-da convert screen" in capsys.readouterr().err
    assert arc_da("screen", work) == 0
    everything_runs(work)
    assert "ARCEZ_Kite_2" not in released(work)
    assert arc_da("status", work, "--question", "ARCEZ_Kite_2") == 0
    assert "kim: saw" in capsys.readouterr().out


def test_a_row_of_before_does_not_remove_what_came_since(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = edit(work, {KITE: {"decision": "accept", "answers": "gravity"}}, "old.csv")
    again = edit(work, ACCEPTED, "again.csv")
    assert give(work, [said(KITE, "late", "magic")]) == 0
    assert arc_da("screen", work, "--people", 3) == 0
    assert imported(work, old) == 1
    assert "answers have come or changed since: export it again" in capsys.readouterr().err
    assert imported(work, again) == 0  # the same decisions as before: nothing to do
    assert len(decisions_on(work, KITE)) == 1
    assert arc_da("review-export", work) == 0
    seen = edit(work, {KITE: {"decision": "accept"}})
    assert imported(work, seen) == 0
    assert [d["shown"]["decision"] for d in decisions_on(work, KITE)] == [None, "accept"]
    assert "magic" in released(work)[KITE].answers


def test_decisions_are_read_back_from_their_table(work: Path, tmp_path: Path) -> None:
    reject = {"ARCEZ_Kite_2": {"decision": "reject", "reason": "invalid"}}
    assert arc_da("review-export", work, "--all") == 0
    assert imported(work, edit(work, reject)) == 0
    assert give(work, [said(KITE, "late", "magic")]) == 0
    assert arc_da("screen", work, "--people", 3) == 0
    assert set(released(work)) == {KITE}
    again = begin(tmp_path / "again")
    assert give(again, [said(KITE, "late", "magic")]) == 0
    assert arc_da("screen", again, "--people", 3) == 0
    table = work / "60_decisions.csv"
    for _ in range(2):  # the second time adds nothing
        assert arc_da("review-import", again, table) == 0
        journal = (again / "60_decisions.jsonl").read_bytes()
        assert journal == (work / "60_decisions.jsonl").read_bytes()
    assert table.read_bytes() == (again / "60_decisions.csv").read_bytes()
    released(again)
    for path in (work / "90_release").iterdir():
        assert path.read_bytes() == (again / "90_release" / path.name).read_bytes()


@pytest.mark.parametrize(
    "change", [{"decision": "maybe"}, {"answers": "gravity"}, {"shown": '{"question": 5}'}]
)
def test_a_damaged_table_of_decisions_is_refused(
    work: Path, capsys: pytest.CaptureFixture[str], change: dict[str, str]
) -> None:
    rows = read_table(work / "60_decisions.csv")
    before = (work / "60_decisions.jsonl").read_bytes()
    table = write_table(work / "mine.csv", [rows[0], {**rows[1], **change}])
    assert arc_da("review-import", work, table) == 2
    assert "mine.csv, record 2: is not a decision" in capsys.readouterr().err
    assert (work / "60_decisions.jsonl").read_bytes() == before


def test_one_question_twice_in_a_file_is_told(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert arc_da("review-export", work) == 0
    rows = read_table(work / "50_review" / "review.csv")
    one = {**rows[0], "decision": "accept", "short": "", "answers": "gas"}
    two = {**one, "decision": "reject", "reason": "invalid"}
    table = write_table(work / "twice.csv", [one, one, two])
    assert imported(work, table) == 1
    err = capsys.readouterr().err
    assert "the file has it twice: the row by kim was carried out" in err
    assert "other data" not in err
    tasks = json.loads((work / "50_review" / "label_studio_tasks.json").read_text("utf-8"))
    export = [
        {"data": tasks[1]["data"], "annotations": [
            {"id": n, "completed_by": who, "result": [
                {"from_name": "decision", "value": {"choices": [decision]}}]}
            for n, (who, decision) in enumerate(
                [("ann", "reject: invalid"), ("bo", "reject: too_open")])
        ]}
    ]  # fmt: skip
    path = work / "export.json"
    path.write_text(json.dumps(export), encoding="utf-8")
    assert arc_da("review-import", work, path) == 1
    assert "the row by ann was carried out" in capsys.readouterr().err


def test_a_review_of_nobody_is_refused(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = json.loads((work / "50_review" / "label_studio_tasks.json").read_text("utf-8"))
    result = [{"from_name": "decision", "value": {"choices": ["reject: invalid"]}}]
    path = work / "export.json"
    task = {"data": tasks[0]["data"], "annotations": [{"id": 1, "result": result}]}
    path.write_text(json.dumps([task]), encoding="utf-8")
    before = (work / "60_decisions.jsonl").read_bytes()
    assert arc_da("review-import", work, path) == 2
    assert "no name is given" in capsys.readouterr().err
    assert (work / "60_decisions.jsonl").read_bytes() == before


def test_no_state_looks_like_a_number(work: Path) -> None:
    states = [row["state"] for row in read_table(work / "50_review" / "review.csv")]
    assert states
    assert all(state[0] == "s" and len(state) == 13 for state in states)


TEXTS = ["gas", "Gas.", "steam", "the fog", "fog"]
ROWS = st.builds(
    EditedRow,
    st.just("q"),
    st.sampled_from(["What?", "How?"]),
    st.lists(st.sampled_from(TEXTS), max_size=3, unique=True).map(tuple),
    st.just(()),
    st.sampled_from(["accept", "reject", ""]),
    st.just("invalid"),
    st.just(""),
)


@settings(max_examples=60)
@given(st.lists(ROWS, max_size=6), st.lists(st.sampled_from(TEXTS), unique=True))
def test_no_answers_of_today_lock_the_review(rows: list[EditedRow], today: list[str]) -> None:
    gas = ReviewAnswer("gas", ("worker",), ("w1",))
    state = ReviewState("What?", (gas, ReviewAnswer("steam", ("mc_gold",))))
    decisions: list[Decision] = []
    for row in rows:
        try:
            after = edited_state(row, state)
        except ValueError:
            continue
        if after != state:
            decisions.append(decided(len(decisions) + 1, state, after))
            state = after
    now = ReviewState("What?", tuple(ReviewAnswer(t, ("worker",), ("w9",)) for t in today))
    found = replay_decisions({"q": now}, decisions)
    assert set(found.states) == {"q"}
    assert set(replay_decisions({}, decisions).aside) == ({"q"} if decisions else set())
    if decisions:
        assert found.decided["q"] == state
        assert set(state.confirmed) <= set(found.states["q"].confirmed)
        assert found.states["q"].texts[: len(state.texts)] == state.texts


def decided(seq: int, shown: ReviewState, after: ReviewState) -> Decision:
    verdict = "accept" if after.decision == "accept" else "reject"
    return Decision(seq=seq, question_id="q", decision=verdict, reviewer="kim", date="now",
                    reason=after.reason, question=after.question, answers=after.answers,
                    shown=shown)  # fmt: skip


def test_decisions_are_written_and_read(tmp_path: Path) -> None:
    answers = (ReviewAnswer("=a | b", ("worker",), ("w",), "b", True),)
    state = ReviewState("=Wh\u00e4t?", answers)
    one = decided(0, state, ReviewState("=H\u00f6w?", answers, "accept"))
    path = tmp_path / "decisions.csv"
    path.write_text(decisions_table([one]), encoding="utf-8")
    assert list(parse_decisions(read_records(str(path)), str(path))) == [one]
    more = (ReviewAnswer("=a | b", ("worker",), ("w", "x"), "b", True),)
    assert state.hash == ReviewState("=Wh\u00e4t?", more).hash
