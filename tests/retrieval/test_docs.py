"""The page on retrieval: its commands run as they stand, and its lines are few."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.joint_files import ROOT
from twowiki.cli.main import main
from twowiki.metric.blame import STEPS

PAGE = (ROOT / "docs" / "retrieval.md").read_text(encoding="utf-8")
BLOCK = re.findall(r"^```\n(pip install .*?)^```", PAGE, re.M | re.S)[0]
PYTHON = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)


@pytest.mark.slow
def test_from_install_to_the_figures_of_a_fresh_world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    install, *commands = BLOCK.splitlines()
    assert install.startswith("pip install 'twowiki[")
    assert len(commands) < 10
    for command in commands:
        twowiki, *arguments = shlex.split(command, comments=True)
        assert twowiki == "twowiki"
        assert main(arguments) == 0, command
    text = capsys.readouterr().out
    assert text.count("ndcg@10") >= 5
    assert "hop 2" in text
    counts = json.loads(Path("bench/report.json").read_text())
    assert counts["questions_without"] == counts["dangling_titles"] == 0
    assert counts["documents"] > 500
    assert {path.stem for path in Path("bench/qrels").iterdir()} == {
        "train", "validation", "test",
    }  # fmt: skip
    assert main(["corpus", "bench/questions", "all", "--all", "--split", "test"]) == 0
    assert Path("all/corpus.jsonl").read_bytes() == Path("bench/corpus.jsonl").read_bytes()
    assert Path("all/qrels/test.tsv").read_bytes() == Path("bench/qrels/test.tsv").read_bytes()
    for block in PYTHON:
        exec(compile(block, "docs/retrieval.md", "exec"), {})
    assert "Who is the mother" in capsys.readouterr().out


@pytest.mark.slow
def test_the_figures_of_real_questions(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data = shared / "data/two_wiki"
    dev = str(data / "dev250.json")
    assert main(["index", dev, str(data / "corpus_6119.json"), "index"]) == 0
    rows = {}
    for hops in ("1", "2"):
        arguments = ["retrieve", "index", dev, f"{hops}.jsonl", "--hops", hops]
        assert main([*arguments, "--report", f"{hops}.json"]) == 0
        report = json.loads(Path(f"{hops}.json").read_text())
        means = [report["metrics"][name] for name in ("recall@10", "all_gold@10")]
        means += [report["by_hop"][hop]["metrics"]["recall@10"] for hop in ("1", "2")]
        rows[hops] = " | ".join(f"{mean:.2f}" for mean in means)
    assert f"| one query | {rows['1']} |" in PAGE
    assert f"| `--hops 2` | {rows['2']} |" in PAGE
    predictions = str(data / "dev250_predictions.json")
    flags = ["--rankings", "2.jsonl", "--output", "report.json"]
    assert main(["score", predictions, dev, *flags]) == 0
    blame = json.loads(Path("report.json").read_text())["blame"]
    for step in STEPS:
        assert re.search(rf"^{step.name} +{blame['percent'][step.key]:.2f} ", PAGE, re.M), step
