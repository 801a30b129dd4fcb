"""The GPU benches run on a CPU, keep every row at once, and end with the right status."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"
sys.path.insert(0, str(BENCH))

from gpu_report import Report  # noqa: E402

NAMES = ("gpu_train", "gpu_encoder", "gpu_baseline", "gpu_arc_da")


def report_in(folder: Path, minutes: float = 1.0) -> Report:
    output = folder / "table.md"
    return Report(argparse.Namespace(device="cpu", output=output, minutes=minutes, quick=True))


def test_a_row_that_fails_is_kept_and_the_others_run(tmp_path: Path) -> None:
    report = report_in(tmp_path)
    report.head("what | figure", about="a test")
    assert report.row("one", lambda: "1.0")
    assert report.status == 0

    def older() -> str:
        raise TypeError("varlen_attn() got an unexpected keyword argument 'scale'")

    def large() -> str:
        import torch

        raise torch.OutOfMemoryError

    assert not report.row("two", older)
    assert not report.row("three", large)
    assert report.row("four", lambda: "4.0")
    assert report.status == 1
    lines = (tmp_path / "table.md").read_text(encoding="utf-8").splitlines()
    assert lines[2:] == [
        "| what | figure |", "|---|---|", "| one | 1.0 |",
        "| two | failed: TypeError: varlen_attn() got an unexpected keyword argument 'scale' |",
        "| three | does not fit |", "| four | 4.0 |",
    ]  # fmt: skip
    late = report_in(tmp_path, minutes=-1.0)
    assert not late.row("five", lambda: "5.0")
    assert late.status == 0


@pytest.mark.parametrize("name", [*NAMES, "gpu_all"])
def test_a_bench_that_dies_is_no_success(name: str, tmp_path: Path) -> None:
    command = ["sh", str(BENCH / f"{name}.sh"), str(tmp_path / "out")]
    done = subprocess.run(command, env={**os.environ, "PYTHON": "false"}, capture_output=True)
    assert done.returncode == 1


@pytest.mark.slow
def test_all_benches_run_on_a_cpu(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHON": sys.executable, "OMP_NUM_THREADS": "1"}
    command = ["sh", str(BENCH / "gpu_all.sh"), str(tmp_path), "--quick", "--device", "cpu"]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=2400, cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    written = {name: (tmp_path / f"{name}.md").read_text(encoding="utf-8") for name in NAMES}
    rows = {
        name: [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| ")][1:]
        for name, text in written.items()
    }
    assert rows["gpu_train"] == [
        "| encoder", "| plain Hugging Face loop", "| baseline", "| published baseline",
        "| encoder", "| baseline",
    ]  # fmt: skip
    assert rows["gpu_encoder"] == [
        "| bert", "| bert", "| modernbert", "| modernbert", "| deberta-v2",
    ]  # fmt: skip
    assert rows["gpu_baseline"].count("| published code") == 1
    assert len(rows["gpu_baseline"]) == 7
    assert [line.split()[1] for line in written["gpu_arc_da"].splitlines()[1:]] == [
        "precisions:", "training:", "biggest_step:", "padding:", "world:",
    ]  # fmt: skip
    for text in written.values():
        assert not any(word in text for word in ("fail", "FAIL", "no time left", "not fit"))
