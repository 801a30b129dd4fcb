"""A stage runs once per key, resumes where it may, and never looks finished when it is not."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from twowiki.errors import DataError
from twowiki.io.journal import Journal
from twowiki.io.stages import MANIFEST, fingerprint_of, key_of, run_stage


class Work:
    """Writes one file for each part, and fails before some part."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.fails_at, self.written = fails_at, 0

    def __call__(self, folder: Path) -> dict[str, Any]:
        done = Journal(folder / "parts.jsonl", {}, key="part")
        for part in ("a", "b", "c"):
            if part not in done.records:
                if self.written == self.fails_at:
                    raise KeyboardInterrupt
                (folder / part).write_text(part)
                done.add([{"part": part}])
                self.written += 1
        return {"parts": len(done.records)}


def test_finished_work_is_not_repeated(tmp_path: Path) -> None:
    folder, work = tmp_path / "stage", Work()
    assert run_stage(folder, "key", work, quiet=True) == {"parts": 3}
    assert run_stage(folder, "key", work, quiet=True) == {"parts": 3}
    assert work.written == 3
    assert json.loads((folder / MANIFEST).read_text())["key"] == "key"


def test_another_key_starts_over(tmp_path: Path) -> None:
    folder = tmp_path / "stage"
    run_stage(folder, "key", Work(), quiet=True)
    (folder / "left").write_text("x")
    again = Work()
    run_stage(folder, "other", again, quiet=True)
    assert again.written == 3
    assert not (folder / "left").exists()


@pytest.mark.parametrize(("keep_partial", "left"), [(True, 2), (False, 3)])
def test_a_stopped_stage_resumes_or_starts_over(
    keep_partial: bool, left: int, tmp_path: Path
) -> None:
    folder = tmp_path / "stage"
    with pytest.raises(KeyboardInterrupt):
        run_stage(folder, "key", Work(fails_at=1), keep_partial=keep_partial, quiet=True)
    assert folder.exists() == keep_partial
    rest = Work()
    assert run_stage(folder, "key", rest, keep_partial=keep_partial, quiet=True) == {"parts": 3}
    assert rest.written == left


def test_a_damaged_manifest_is_not_trusted(tmp_path: Path) -> None:
    folder = tmp_path / "stage"
    run_stage(folder, "key", Work(), quiet=True)
    (folder / MANIFEST).write_text('{"key": "key", "coun')
    again = Work()
    run_stage(folder, "key", again, quiet=True)
    assert again.written == 3


def test_others_wait_for_a_shared_stage(tmp_path: Path) -> None:
    calls: list[int] = []

    def slow(folder: Path) -> dict[str, Any]:
        calls.append(1)
        time.sleep(0.2)
        return {"calls": len(calls)}

    def run() -> None:
        results.append(run_stage(tmp_path / "stage", "key", slow, shared=True, quiet=True))

    results: list[dict[str, Any]] = []
    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [{"calls": 1}] * 3


def test_keys_and_fingerprints_depend_on_content(tmp_path: Path) -> None:
    assert key_of({"a": 1, "b": [2]}) == key_of({"b": [2], "a": 1}) != key_of({"a": 2, "b": [2]})
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("x")
    other.write_text("x")
    assert fingerprint_of(one) == fingerprint_of(other)
    other.write_text("y")
    assert fingerprint_of(one) != fingerprint_of(other)


def test_a_journal_of_other_work_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    Journal(path, {"seed": 1}, key="id").add([{"id": "a"}, {"id": "b"}])
    with open(path, "a", encoding="utf-8") as stream:
        stream.write('{"id": "half')
    assert list(Journal(path, {"seed": 1}, key="id").records) == ["a", "b"]
    with pytest.raises(DataError, match="seed was 1, and is 2"):
        Journal(path, {"seed": 2}, key="id")
    assert Journal(path, {"seed": 2}, key="id", restart=True).records == {}
