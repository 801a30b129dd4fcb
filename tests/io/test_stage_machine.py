"""The stage cache under any sequence of runs: failures, kills, other keys and changed files."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from twowiki.io.journal import Journal
from twowiki.io.stages import MANIFEST, run_stage

KEYS = st.sampled_from(["one", "two", "three"])
PARTS = ("a", "b", "c")
DAMAGE = ["", "{", "[]", '{"key": "one"}', '{"key": "one", "counts": 3}', "null"]


class Stopped(BaseException):
    """The work ends before its end, as by Ctrl-C or a kill."""


class Stages(RuleBasedStateMachine):
    """One folder; the model knows which key is finished and which parts a stopped run has left."""

    def __init__(self) -> None:
        super().__init__()
        self.base = Path(tempfile.mkdtemp())
        self.folder, self.beside = self.base / "stage", self.base / "notes.txt"
        self.beside.write_text("mine")
        self.finished: str | None = None
        self.partial: tuple[str, int] | None = None  # key, parts that are done

    @initialize(there=st.booleans())
    def a_folder_of_an_earlier_version(self, there: bool) -> None:
        if there:
            self.folder.mkdir()
            (self.folder / "old").write_text("x")

    def teardown(self) -> None:
        shutil.rmtree(self.base)

    def work(self, key: str, stop_after: int | None, done: list[str]) -> Any:
        def write(folder: Path) -> Mapping[str, Any]:
            assert not (folder / MANIFEST).exists()
            assert not (folder / "old").exists()
            journal = Journal(folder / "parts.jsonl", {}, key="part")
            try:
                for part in PARTS:
                    if part in journal.records:
                        continue
                    if stop_after is not None and len(journal.records) >= stop_after:
                        raise Stopped
                    (folder / part).write_text(key)
                    journal.add([{"part": part}])
                    done.append(part)
            finally:
                journal.close()
            return {"key": key, "parts": len(journal.records)}

        return write

    @rule(
        key=KEYS, keep=st.booleans(), shared=st.booleans(),
        stop_after=st.none() | st.integers(0, 3),
    )  # fmt: skip
    def a_run(self, key: str, keep: bool, shared: bool, stop_after: int | None) -> None:
        done: list[str] = []
        kept = self.partial[1] if keep and self.partial and self.partial[0] == key else 0
        options = {"keep_partial": keep, "shared": shared, "quiet": True}
        try:
            counts = run_stage(self.folder, key, self.work(key, stop_after, done), **options)
        except Stopped:
            assert self.finished != key
            self.finished = None
            left = max(kept, stop_after or 0)
            self.partial = (key, left) if keep else None
            assert len(done) == left - kept
            return
        assert counts == {"key": key, "parts": 3}
        assert len(done) == (0 if self.finished == key else 3 - kept)
        self.finished, self.partial = key, None

    @rule(key=KEYS, after=st.integers(0, 3))
    def a_kill(self, key: str, after: int) -> None:
        """Nothing runs after a kill, whatever `keep_partial` is."""
        if self.finished == key:
            return
        kept = self.partial[1] if self.partial and self.partial[0] == key else 0

        def work(folder: Path) -> Mapping[str, Any]:
            self.work(key, after, [])(folder)
            raise Stopped

        try:
            run_stage(self.folder, key, work, keep_partial=True, quiet=True)
        except Stopped:
            self.finished, self.partial = None, (key, max(kept, after))

    @rule(text=st.sampled_from(DAMAGE))
    def a_damaged_manifest(self, text: str) -> None:
        """A cut manifest is no finished stage; the work is done again."""
        if self.finished is not None:
            (self.folder / MANIFEST).write_text(text)
            self.finished = None

    @rule()
    def the_folder_is_removed(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.finished = self.partial = None

    @invariant()
    def only_finished_work_looks_finished(self) -> None:
        assert self.beside.read_text() == "mine"
        if self.finished is None:
            return
        manifest = json.loads((self.folder / MANIFEST).read_text())
        assert manifest["key"] == self.finished
        assert {(self.folder / part).read_text() for part in PARTS} == {self.finished}


Stages.TestCase.settings = settings(
    max_examples=40, stateful_step_count=12, deadline=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
test_a_stage_is_finished_once_per_key_whatever_happens = Stages.TestCase
