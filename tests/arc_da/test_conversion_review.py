"""Expert review and release: the table, the log, replay, provenance, what was left out why."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.arc_da.small_conversion import ALONE, CROWD, begin, edit, imported
from tests.arc_da_files import ARC, arc_da, read_lines, read_table, write_lines, write_table
from twowiki.arc_da.conversion.release import check_repeats
from twowiki.arc_da.conversion.review import ReviewAnswer, ReviewState
from twowiki.arc_da.conversion.review_table import (
    EditedRow,
    edited_state,
    join_cell,
    propose_short,
    split_cell,
)
from twowiki.arc_da.conversion.workspace import STAGES, Workspace
from twowiki.arc_da.schema import Question
from twowiki.arc_da.sources import read_questions
from twowiki.errors import DataError


@pytest.fixture(scope="module")
def screened(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return begin(tmp_path_factory.mktemp("arc_da") / "work")


@pytest.fixture
def work(screened: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    shutil.copytree(screened, folder)
    return folder


FULL = {
    "ARCEZ_Pond_1": {"decision": "accept", "question": "Freezing is an example of what?",
                     "answers": "phase transition | change of state | melting backwards"},
    "ARCEZ_Pond_3": {"decision": "reject", "reason": "too_open"},
    "ARCEZ_Kite_1": {"decision": "accept"},
    "ARCEZ_Kite_2": {"decision": "accept"},
    "ARCCH_Glade_1": {"decision": "accept"},
    "ARCEZ_Marsh_1": {"decision": "accept", "short": "vapor gas"},
}  # fmt: skip


def test_the_table_shows_what_a_reviewer_needs(work: Path) -> None:
    rows = {row["question_id"]: row for row in read_table(work / "50_review" / "review.csv")}
    assert set(rows) == set(CROWD) - ALONE
    kite = rows["ARCEZ_Kite_1"]
    assert kite["options"] == "A* gravity | B paint | C string colour"
    assert kite["answers"] == "gravity | the wind"
    assert (
        kite["origins"]
        == "gravity (2 workers, mc_gold; also written: Gravity.) | the wind (1 worker)"
    )
    assert rows["ARCEZ_Pond_3"]["answers"] == "food | shelter"
    assert rows["ARCCH_Glade_1"]["answers"].endswith("| Both support the plant.")
    assert rows["ARCCH_Glade_1"]["origins"].endswith("Both support the plant. (mc_gold)")
    assert rows["ARCEZ_Pond_1"]["proposed_question"].endswith("is an example of what?")
    tasks = json.loads((work / "50_review" / "label_studio_tasks.json").read_text())
    filled = tasks[0]["predictions"][0]["result"]
    assert {entry["from_name"] for entry in filled} == {"question", "answers"}


def test_release_is_what_the_reviewer_decided(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert imported(work, edit(work, FULL)) == 0
    assert arc_da("release", work) == 0
    text = capsys.readouterr().out
    assert "released 5 of 10 questions" in text
    assert "too_open" in text
    questions = {q.question_id: q for q in read_questions(work / "90_release")}
    pond = questions["ARCEZ_Pond_1"]
    assert pond.question == "Freezing is an example of what?"
    assert pond.answers == ("phase transition", "change of state", "melting backwards")
    assert pond.tag == "EASY-TRAIN"
    assert "vapor gas" in questions["ARCEZ_Marsh_1"].answers
    assert "ARCEZ_Pond_3" not in questions
    made = {
        entry["question_id"]: entry
        for entry in read_lines(work / "90_release" / "provenance.jsonl")
    }
    origins = {entry["text"]: entry for entry in made["ARCEZ_Pond_1"]["answers"]}
    assert origins["melting backwards"]["origins"] == ["expert"]
    assert origins["change of state"]["origins"] == ["worker"]
    assert made["ARCEZ_Pond_1"]["reworded"]
    marsh = {entry["text"]: entry for entry in made["ARCEZ_Marsh_1"]["answers"]}
    assert marsh["vapor gas"]["short_of"] == "an invisible gas in the air"
    assert marsh["an invisible gas in the air"]["origins"] == ["worker", "mc_gold"]
    stages = json.loads((work / "90_release" / "stats.json").read_text())["stages"]
    assert stages["question_filter"]["removed"] == 3
    assert stages["question_filter"]["percent_of_source"] == 30.0
    assert stages["additional_filter"]["reasons"] == {"no_shared_word": 1}
    assert stages["review"]["reasons"] == {"too_open": 1}


def test_replaying_the_log_gives_the_same_bytes(work: Path, tmp_path: Path) -> None:
    assert imported(work, edit(work, FULL)) == 0
    assert arc_da("release", work) == 0
    again = begin(tmp_path / "again")
    shutil.copy(work / "60_decisions.jsonl", again / "60_decisions.jsonl")
    assert arc_da("release", again) == 0
    names = sorted(path.name for path in (work / "90_release").iterdir())
    assert names == ["README.md", "dev.jsonl", "provenance.jsonl", "stats.json", "train.jsonl"]
    for name in names:
        assert (again / "90_release" / name).read_bytes() == (
            work / "90_release" / name
        ).read_bytes()


def test_importing_a_table_twice_adds_nothing(work: Path) -> None:
    table = edit(work, FULL)
    assert imported(work, table) == 0
    first = (work / "60_decisions.jsonl").read_bytes()
    assert imported(work, table) == 0
    assert (work / "60_decisions.jsonl").read_bytes() == first


def test_review_goes_on_where_it_stopped(work: Path) -> None:
    half = {name: FULL[name] for name in list(FULL)[:3]}
    assert imported(work, edit(work, half)) == 0
    log = (work / "60_decisions.jsonl").read_bytes()
    assert arc_da("review-export", work) == 0
    left = {row["question_id"] for row in read_table(work / "50_review" / "review.csv")}
    assert left == set(CROWD) - ALONE - set(half)
    assert imported(work, edit(work, FULL)) == 0
    assert (work / "60_decisions.jsonl").read_bytes().startswith(log)
    assert arc_da("review-export", work) == 0
    assert read_table(work / "50_review" / "review.csv") == []


def test_the_journal_tells_who_when_and_what(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert imported(work, edit(work, FULL)) == 0
    assert "remove_answer" in capsys.readouterr().out
    decisions = read_lines(work / "60_decisions.jsonl")[1:]
    assert [decision["seq"] for decision in decisions] == list(range(1, len(FULL) + 1))
    assert {(one["reviewer"], one["date"]) for one in decisions} == {
        ("kim", "2026-01-31T12:00:00Z")}  # fmt: skip
    (pond,) = (one for one in decisions if one["question_id"] == "ARCEZ_Pond_1")
    assert (pond["decision"], pond["reason"]) == ("accept", None)
    assert pond["shown"]["question"] != pond["question"] == FULL["ARCEZ_Pond_1"]["question"]
    assert "a phase" in {answer["text"] for answer in pond["shown"]["answers"]}
    rows = read_table(work / "60_decisions.csv")
    assert [row["question_id"] for row in rows] == [one["question_id"] for one in decisions]
    assert arc_da("status", work, "--question", "ARCEZ_Pond_1") == 0
    text = capsys.readouterr().out
    for change in ("remove_answer 'a phase'", "add_answer 'melting backwards'",
                   "verify_answer 'change of state'", "accept"):  # fmt: skip
        assert f"kim: {change}" in text
    assert "kim: reword_question" in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"decision": "maybe"}, "must be accept or reject"),
        ({"decision": "reject"}, "needs a reason out of"),
        ({"decision": "reject", "reason": "boring"}, "needs a reason out of"),
        ({"decision": "accept", "answers": ""}, "no answer is left"),
        ({"decision": "accept", "question": " "}, "the question is empty"),
        ({"decision": "accept", "answers": "one two three four five six"}, "add a short version"),
        ({"decision": "accept", "short": "unrelated"}, "shortens none"),
        ({"answers": "gravity"}, "no decision is given"),
        ({"decision": "accept", "state": "0" * 12}, "made from other data"),
        ({"question_id": "ARCEZ_Pond_2", "decision": "accept"}, "not under review"),
    ],
)
def test_rows_that_cannot_be_carried_out_are_told(
    work: Path, capsys: pytest.CaptureFixture[str], change: dict[str, str], message: str
) -> None:
    table = edit(work, {"ARCEZ_Kite_1": change, "ARCEZ_Kite_2": FULL["ARCEZ_Kite_2"]})
    assert imported(work, table) == 1
    assert message in capsys.readouterr().err
    decided = {one["question_id"] for one in read_lines(work / "60_decisions.jsonl")[1:]}
    assert decided == {"ARCEZ_Kite_2"}  # the good row was carried out


def test_two_reviewers_do_not_undo_each_other(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kims = edit(work, {"ARCEZ_Kite_1": {"decision": "accept", "answers": "gravity"}})
    rows = read_table(kims)
    for row in rows:
        if row["question_id"] == "ARCEZ_Kite_1":
            row["answers"] = "the wind"
    lees = write_table(kims.with_name("lee.csv"), rows)
    assert imported(work, kims) == 0
    assert imported(work, lees, reviewer="lee") == 1
    assert "changed since by kim" in capsys.readouterr().err
    assert imported(work, kims, reviewer="lee") == 0  # the same decisions: nothing to do
    assert imported(work, lees, reviewer="kim") == 0  # one's own decision may be changed
    assert imported(work, kims, "--force", reviewer="lee") == 0


def test_label_studio_reviews_come_back(work: Path, tmp_path: Path) -> None:
    tasks = json.loads((work / "50_review" / "label_studio_tasks.json").read_text())
    task = next(t for t in tasks if t["data"]["question_id"] == "ARCEZ_Kite_1")

    def area(name: str, *texts: str) -> dict[str, Any]:
        return {"from_name": name, "to_name": "original", "type": "textarea",
                "value": {"text": list(texts)}}  # fmt: skip

    choice = {"from_name": "decision", "type": "choices", "value": {"choices": ["accept"]}}
    result = [area("question", "What pulls a kite down?"), area("answers", "gravity"), choice]
    export = [{"id": 1, "data": task["data"], "annotations": [
        {"id": 5, "completed_by": "lee", "result": result, "created_at": ""}]}]  # fmt: skip
    rejected = next(t for t in tasks if t["data"]["question_id"] == "ARCEZ_Kite_2")
    export.append({"id": 2, "data": rejected["data"], "annotations": [
        {"id": 6, "completed_by": "lee", "created_at": "",
         "result": [{"from_name": "decision", "type": "choices",
                     "value": {"choices": ["reject: needs_options"]}}]}]})  # fmt: skip
    path = tmp_path / "export.json"
    path.write_text(json.dumps(export), encoding="utf-8")
    assert arc_da("review-import", work, path) == 0
    decisions = read_lines(work / "60_decisions.jsonl")[1:]
    assert {decision["reviewer"] for decision in decisions} == {"lee"}
    rejected = [one["reason"] for one in decisions if one["decision"] == "reject"]
    assert rejected == ["needs_options"]
    assert arc_da("release", work) == 0
    (question,) = read_questions(work / "90_release")
    assert question.question == "What pulls a kite down?"


def test_a_damaged_journal_is_noticed(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert imported(work, edit(work, FULL)) == 0
    path = work / "60_decisions.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    half = {**json.loads(lines[1]), "decision": "burn"}
    (work / "manifest.json").unlink()
    for changed in (
        lines[1:],
        [lines[0], *lines[2:]],
        [*lines[:2], *lines[1:]],
        [*lines[:2], lines[2][:-5], *lines[3:]],
        [lines[0], json.dumps(half), *lines[2:]],
    ):
        path.write_text("\n".join(changed) + "\n", encoding="utf-8")
        assert arc_da("release", work) == 2
        assert "60_decisions.jsonl: line" in capsys.readouterr().err
    path.write_text("\n".join(lines)[:-5], encoding="utf-8")  # a process died as it wrote
    assert arc_da("release", work) == 0
    assert imported(work, edit(work, FULL)) == 0
    assert path.read_text(encoding="utf-8").splitlines() == lines


def test_answers_that_come_late_are_not_released_unseen(
    work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert imported(work, edit(work, FULL)) == 0
    late = {"question_id": "ARCEZ_Kite_1", "worker_id": "w9", "answers": "pure magic"}
    assert arc_da("import-answers", work, write_lines(tmp_path / "late.jsonl", [late])) == 0
    assert arc_da("status", work) == 0
    assert "stale: 30_crowd.jsonl changed since" in capsys.readouterr().out
    assert arc_da("screen", work, "--people", 3) == 0
    assert arc_da("release", work) == 0
    assert "answers that came after the review, left out: 1" in capsys.readouterr().out
    questions = {q.question_id: q for q in read_questions(work / "90_release")}
    assert questions["ARCEZ_Kite_1"].answers == ("gravity", "the wind")
    assert arc_da("review-export", work, "--force") == 0
    rows = read_table(work / "50_review" / "review.csv")
    assert [row["question_id"] for row in rows] == ["ARCEZ_Kite_1"]


def test_nothing_accepted_is_no_release(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert imported(work, edit(work, {})) == 0
    assert arc_da("release", work) == 2
    assert "no question is accepted" in capsys.readouterr().err


def test_one_text_in_two_splits_is_an_error() -> None:
    splits = {
        "train": [Question("a", "EASY-TRAIN", "What is moss?", ("a plant",))],
        "test": [Question("b", "EASY-TEST", "what is MOSS", ("a plant",))],
    }
    with pytest.raises(DataError, match=r"a \(train\) and b \(test\)"):
        check_repeats(splits, ())
    check_repeats(splits, ("a", "b"))
    check_repeats({"train": splits["train"] * 2}, ())


def test_every_stage_names_the_one_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for stage in ("export-tasks", "screen", "review-export", "release"):
        assert arc_da(stage, tmp_path / "empty") == 2
        assert "Make it with: twowiki arc-da convert filter" in capsys.readouterr().err
    assert arc_da("import-answers", tmp_path / "empty", "x.jsonl") == 2
    assert "twowiki arc-da convert filter" in capsys.readouterr().err
    assert arc_da("filter", tmp_path / "w", "--arc", ARC) == 0
    assert arc_da("screen", tmp_path / "w") == 2
    assert "twowiki arc-da convert import-answers" in capsys.readouterr().err
    assert arc_da("status", tmp_path / "none") == 2
    assert "twowiki arc-da convert filter" in capsys.readouterr().err


def test_a_stage_on_the_same_inputs_is_not_run_again(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (work / "10_filtered.jsonl").stat().st_mtime_ns
    assert arc_da("filter", work, "--arc", ARC) == 0
    assert "nothing has changed" in capsys.readouterr().out
    assert (work / "10_filtered.jsonl").stat().st_mtime_ns == before
    assert arc_da("filter", work, "--arc", ARC, "--rules", "paper_literal") == 0
    assert "nothing has changed" not in capsys.readouterr().out
    (work / "10_filtered.jsonl").unlink()
    assert arc_da("filter", work, "--arc", ARC, "--rules", "paper_literal") == 0
    assert (work / "10_filtered.jsonl").exists()


def test_status_shows_the_next_step(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert arc_da("status", work) == 0
    text = capsys.readouterr().out
    assert "next: twowiki arc-da convert export-tasks" in text
    assert set(Workspace(work).stage_states()) == set(STAGES)
    (work / "manifest.json").write_text("{", encoding="utf-8")
    assert arc_da("status", work) == 2
    assert "damaged" in capsys.readouterr().err


# --- the pieces


STATE = ReviewState("What?", (ReviewAnswer("gas", ("worker",), ("w1",)),
                              ReviewAnswer("steam", ("mc_gold",))))  # fmt: skip


TEXTS = st.lists(st.sampled_from(["gas", "steam", "vapour", "a | b", "c\\d", "fog"]), max_size=4)


@given(
    answers=TEXTS,
    question=st.sampled_from(["What?", "How?"]),
    decision=st.sampled_from(["accept", "reject"]),
    reason=st.sampled_from(["too_open", "invalid"]),
)
def test_a_row_leads_to_what_it_says(
    answers: list[str], question: str, decision: str, reason: str
) -> None:
    wanted = tuple(dict.fromkeys(answers))
    edited = EditedRow("q", question, wanted, (), decision, reason, "")
    if decision == "accept" and not wanted:
        with pytest.raises(ValueError, match="no answer is left"):
            edited_state(edited, STATE)
        return
    state = edited_state(edited, STATE)
    assert state.decision == decision
    assert state.is_settled
    if decision == "accept":
        assert state.question == question
        assert set(state.confirmed) == set(wanted)
    assert edited_state(edited, state) == state


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]))))
def test_cells_hold_any_texts(texts: list[str]) -> None:
    kept = list(dict.fromkeys(text for text in texts if text))
    assert split_cell(join_cell(texts)) == kept


def test_proposals_are_shared_words_of_long_answers() -> None:
    assert "gas" in propose_short(["an invisible gas in the air", "an invisible gas"])
    assert propose_short(["gas", "steam"]) == []
    assert propose_short(["the air is warmer than before", "warmer"]) == []
