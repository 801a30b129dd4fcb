"""Killed at any moment, a long command finishes when started again, equal to an unbroken run."""

from __future__ import annotations

import subprocess
from pathlib import Path
from random import Random

import pytest

from tests.hostile.long_commands import (
    ENVIRONMENT,
    LONG,
    ROOT,
    Served,
    curves,
    finish,
    kill_and_finish,
    kill_pushes,
    prepare,
    results,
)

SEED = 17
MINE = {"notes.txt": "mine"}
SLOW = ("predict", "predict text", "predict choices", "convert-baseline", "train baseline",
        "train encoder", "train text")  # fmt: skip


class Unbroken:
    """What commands write, and in how many seconds, where nobody kills them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.given = folder, prepare(folder / "given")
        self._runs: dict[str, tuple[float, dict[str, bytes]]] = {}

    def run(self, name: str) -> tuple[float, dict[str, bytes]]:
        if name not in self._runs:
            out = self.folder / name
            out.mkdir()
            seconds = finish(LONG[name].line(self.given, out))
            self._runs[name] = seconds, results(out, LONG[name].changing)
        return self._runs[name]


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Unbroken:
    return Unbroken(tmp_path_factory.mktemp("kills"))


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_a_killed_command_ends_equal_to_an_unbroken_run(
    name: str, unbroken: Unbroken, tmp_path: Path
) -> None:
    seconds, expected = unbroken.run(name)
    rng = Random(f"{SEED}:{name}")
    moments = [rng.uniform(0.4, 1) * seconds for _ in range(1 if name in SLOW else 2)]
    found, _ = kill_and_finish(name, unbroken.given, tmp_path / "out", moments, MINE)
    for file in MINE:
        found.pop(file)
    assert curves(tmp_path / "out") == curves(unbroken.folder / name)
    names = expected.keys() | found.keys()
    assert {one for one in names if expected.get(one) != found.get(one)} == set()


@pytest.mark.slow
def test_a_killed_push_sends_all_or_nothing(tmp_path: Path) -> None:
    rng = Random(SEED)
    with Served(tmp_path / "push") as served:
        kill_pushes(served, [rng.uniform(1, 5) for _ in range(2)])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["train baseline", "index", "predict"])
def test_two_processes_in_one_folder(name: str, unbroken: Unbroken, tmp_path: Path) -> None:
    line = LONG[name].line(unbroken.given, tmp_path)
    pair = [
        subprocess.Popen(
            line, env=ENVIRONMENT, cwd=ROOT, text=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )
        for _ in range(2)
    ]  # fmt: skip
    ends = [(process.communicate(timeout=300)[1], process.returncode) for process in pair]
    assert sorted(code for _, code in ends) in ([0, 2], [0, 0]), ends
    for error, code in ends:
        if code:
            assert "another process is working in this folder" in error
            assert "Traceback" not in error
    assert results(tmp_path, LONG[name].changing) == unbroken.run(name)[1]
