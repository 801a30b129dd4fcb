"""Several processes: predictions are gathered, repeats dropped, and scored once; no locks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.joint_files import ROOT, gold, row_of, said, several, write
from twowiki.metric.score import score

pytestmark = pytest.mark.slow

RANK = """
import json, sys
from datetime import timedelta
import torch.distributed as dist
from twowiki import score
rank, folder = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2,
                        timeout=timedelta(seconds=60))
assert dist.get_world_size() == 2
rows = json.load(open(f"{folder}/rows.json"))
shard = rows[rank::2]
shard += rows[: 3 - len(shard)]  # the last batch is filled up with rows that were there before
gathered = [None, None]
dist.all_gather_object(gathered, shard)
if rank == 0:
    everything = [row for part in gathered for row in part]
    assert len(everything) == 6
    report = score(everything, f"{folder}/dev.json")
    json.dump(report.to_dict(), open(f"{folder}/report.json", "w"))
dist.barrier()
dist.destroy_process_group()
"""

JOB = """
import evaluate, sys
metric = evaluate.load(sys.argv[1])
print(metric.compute(predictions=[{said!r}], references=[{gold!r}])["joint_f1"])
"""


def run_together(commands: list[list[str]], **environment: str) -> list[str]:
    jobs = [
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        for command in commands
    ]
    results = [job.communicate(timeout=180) for job in jobs]
    assert [job.returncode for job in jobs] == [0] * len(jobs), results
    return [out.strip() for out, _ in results]


def test_two_processes_and_one_give_the_same_number(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    golds, blocks = several(5)
    rows = [
        row_of(
            said(blocks["answer"][name], blocks["sp"][name], blocks["evidence"][name], name), name
        )
        for name in blocks["answer"]
    ]
    write(tmp_path / "rows.json", rows)
    write(tmp_path / "dev.json", golds)
    (tmp_path / "rank.py").write_text(RANK)
    script = [sys.executable, str(tmp_path / "rank.py")]
    run_together(
        [[*script, "0", str(tmp_path)], [*script, "1", str(tmp_path)]], OMP_NUM_THREADS="1"
    )
    found = json.loads((tmp_path / "report.json").read_text())
    alone = score(rows, golds)
    assert found["metrics"] == alone.metrics
    assert found["signature"] == alone.signature
    assert "1 repeated row ignored" in found["warnings"][0]


def test_two_jobs_with_one_cache_both_finish(tmp_path: Path) -> None:
    pytest.importorskip("evaluate")
    (tmp_path / "job.py").write_text(JOB.format(said=row_of(said()), gold=gold()))
    command = [
        sys.executable, str(tmp_path / "job.py"), str(ROOT / "metrics" / "twowiki_joint"),
    ]  # fmt: skip
    home = {"HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1"}
    assert run_together([command, command], **home) == ["100.0", "100.0"]
