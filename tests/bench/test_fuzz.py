"""The fuzzing script runs for its time, counts, writes its figures, and repeats a trial."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FUZZ = [sys.executable, str(ROOT / "bench" / "fuzz.py")]
READERS = ["JSON reader", "dates", "scorer beside the authors' algorithm"]


@pytest.mark.slow
def test_readers_hold_for_a_while(tmp_path: Path) -> None:
    out = tmp_path / "fuzz.json"
    line = [*FUZZ, "--minutes", "0.1", "--seed", "3", "--out", str(out)]
    done = subprocess.run(
        [*line, "--areas", *READERS], capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip
    found = json.loads(out.read_text(encoding="utf-8"))["areas"]
    assert done.returncode == 0, found
    assert all(found[name]["trials"] >= 1 for name in READERS)
    assert "| dates | " in done.stdout


@pytest.mark.slow
def test_ctrl_c_leaves_the_figures(tmp_path: Path) -> None:
    out = tmp_path / "fuzz.json"
    line = [*FUZZ, "--minutes", "9", "--out", str(out), "--areas", "dates"]
    code = "import signal, sys, runpy; signal.signal(2, signal.default_int_handler); "
    code += "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    process = subprocess.Popen(
        [line[0], "-c", code, *line[1:]], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'bench'}:{ROOT}"},
    )  # fmt: skip
    for _ in range(1000):
        if out.exists():
            break
        time.sleep(0.1)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    table, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    trials = json.loads(out.read_text(encoding="utf-8"))["areas"]["dates"]["trials"]
    assert trials > 0
    assert f"| dates | {trials:,} | 0 | 0 | 0 | 0 |" in table
