"""A conversion's folder under any sequence of stages, kills, new answers and edits of people."""

from __future__ import annotations

import functools
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.arc_da.small_conversion import CROWD, begin, edit, give, imported, said
from tests.arc_da.test_conversion_folder import Killed, die_after
from tests.arc_da_files import arc_da, read_lines, read_table
from twowiki.arc_da.conversion.workspace import Workspace

QUESTIONS = sorted(CROWD)
SHEET, RELEASED = "50_review/review.csv", "90_release/train.jsonl"
STAGES = ["export-tasks", "screen", "review-export", "release", "status"]
NAMES = ["notes.txt", "20_tasks/mine.csv", "50_review/mine.csv", "90_release/mine.md"]


@functools.cache
def screened() -> Path:
    """Return the folder of a conversion up to its screening, made once."""
    return begin(Path(tempfile.mkdtemp()) / "work")


class Conversion(RuleBasedStateMachine):
    """One folder; the model knows what people wrote, answered and decided."""

    def __init__(self) -> None:
        super().__init__()
        self.base = Path(tempfile.mkdtemp())
        self.work = self.base / "work"
        shutil.copytree(screened(), self.work)
        self.mine: dict[str, bytes] = {}
        self.answered = {(question, f"w{n}") for question in QUESTIONS for n in range(3)}
        self.decided: set[str] = set()
        self.count = 0

    def teardown(self) -> None:
        shutil.rmtree(self.base)

    def run(self, kill_after: int | None, command: Any) -> int | None:
        """Run a command, killed at a rename or to its end; return its exit code, None if killed."""
        with pytest.MonkeyPatch.context() as patch:
            if kill_after is not None:
                die_after(patch, kill_after)
            try:
                code = int(command())
            except Killed:
                return None
        assert code in (0, 1, 2)  # 1: some rows were not taken
        return code

    @rule(name=st.sampled_from(NAMES), text=st.binary(max_size=3))
    def a_person_writes(self, name: str, text: bytes) -> None:
        path = self.work / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text)
        self.mine[name] = text

    @rule(question=st.sampled_from(QUESTIONS))
    def a_person_edits_the_sheet(self, question: str) -> None:
        if (self.work / SHEET).is_file():
            edited = edit(self.work, {question: {"decision": "accept"}}, "review.csv")
            self.mine[SHEET] = edited.read_bytes()

    @precondition(lambda self: SHEET in self.mine)
    @rule()
    def a_person_moves_the_sheet_away(self) -> None:
        (self.work / SHEET).rename(self.base / f"moved{self.count}.csv")
        self.count += 1
        del self.mine[SHEET]

    @rule(stage=st.sampled_from(STAGES), kill_after=st.none() | st.integers(0, 6))
    def a_stage_runs(self, stage: str, kill_after: int | None) -> None:
        self.run(kill_after, lambda: arc_da(stage, self.work))

    @rule(question=st.sampled_from(QUESTIONS), kill_after=st.none() | st.integers(0, 3))
    def an_answer_comes(self, question: str, kill_after: int | None) -> None:
        self.count += 1
        worker = f"new{self.count}"
        lines = [said(question, worker, "gravity")]
        if self.run(kill_after, lambda: give(self.work, lines, f"in{self.count}.jsonl")) == 0:
            self.answered.add((question, worker))

    @rule(question=st.sampled_from(QUESTIONS), kill_after=st.none() | st.integers(0, 3))
    def a_decision_comes(self, question: str, kill_after: int | None) -> None:
        rows = read_table(self.work / SHEET) if (self.work / SHEET).is_file() else []
        if question not in {row["question_id"] for row in rows}:
            return
        self.count += 1
        decision = {question: {"decision": "accept"}}
        table = edit(self.work, decision, f"decided{self.count}.csv")
        if self.run(kill_after, lambda: imported(self.work, table)) == 0:
            self.decided.add(question)

    @invariant()
    def nothing_of_people_is_lost(self) -> None:
        for name, text in self.mine.items():
            assert (self.work / name).read_bytes() == text, name

    @rule()
    def all_is_there(self) -> None:
        """Check, once what a kill left is finished, that no answer and no decision is lost."""
        assert arc_da("status", self.work) == 0
        Workspace(self.work).manifest()
        crowd = read_lines(self.work / "30_crowd.jsonl")
        assert len(crowd) >= len(self.answered)
        if self.decided:
            found = {one.get("question_id") for one in read_lines(self.work / "60_decisions.jsonl")}
            assert self.decided <= found
        if (self.work / RELEASED).is_file():
            beside = read_lines(self.work / "90_release" / "provenance.jsonl")
            ids = [one["question_id"] for one in read_lines(self.work / RELEASED)]
            assert ids == [one["question_id"] for one in beside]


Conversion.TestCase.settings = settings(
    max_examples=25,
    stateful_step_count=15,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
test_nothing_of_people_is_lost_in_any_sequence = Conversion.TestCase
