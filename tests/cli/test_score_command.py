"""`twowiki score` as a user runs it: outputs, files, errors, and what it does not load."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.joint_files import LADY, several, write, write_lines
from twowiki.cli.main import main
from twowiki.metric.results import METRIC_NAMES

HEAVY = ("torch", "datasets", "evaluate", "transformers", "numpy", "pyarrow")


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    golds, blocks = several()
    return [
        str(write(tmp_path / "p.json", blocks)),
        str(write(tmp_path / "dev.json", golds)),
        str(write_lines(tmp_path / "a.json", LADY)),
    ]


def test_table_report_and_rows(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report, rows = tmp_path / "out" / "report.json", tmp_path / "rows.jsonl"
    options = ["--by-type", "--output", str(report), "--per-example", str(rows)]
    assert main(["score", *files, *options]) == 0
    out, err = capsys.readouterr()
    found = json.loads(report.read_text())
    assert out.splitlines()[-1] == found["signature"]
    assert "bridge_comparison" in out
    assert "warning" in err
    assert found["command"].startswith("twowiki score ")
    assert found["metrics"]["em"] == 50.0
    lines = [json.loads(line) for line in rows.read_text().splitlines()]
    assert [line["em"] for line in lines] == [100.0, 0.0] * 3
    assert set(METRIC_NAMES) <= set(lines[0])


def test_every_option_reaches_the_report(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ids.txt").write_text("q0\nq1\nq2\n")
    options = [
        "--version", "1.0", "--matching", "one_to_one", "--confidence", "0.9", "--resamples", "50",
        "--compare", files[0], "--rounds", "60", "--seed", "9", "--strict",
        "--subset", str(tmp_path / "ids.txt"),
        "--strip-titles", "--coerce-indices", "--unicode", "--contains", "--json",
        "--config", "data", "--split", "validation",
    ]  # fmt: skip
    assert main(["score", *files[:2], *options]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["version"], found["matching"]) == ("1.0", "one_to_one")
    assert found["bootstrap"] == {"confidence": 0.9, "resamples": 50}
    assert found["comparison"]["rounds"] == 60
    assert found["comparison"]["p_values"]["em"] == 1.0
    assert found["seed"] == 9
    assert found["subset"] == ["q0", "q1", "q2"]
    assert found["options"] == ["strict", "strip_titles", "coerce_indices", "unicode", "contains"]
    assert found["data"]["gold"]["config"] == "data"
    assert "contains" in found["metrics"]


def test_the_same_run_writes_the_same_bytes(files: list[str], tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    written = []
    for _ in range(2):
        assert main(["score", *files, "--confidence", "0.95", "--output", str(report)]) == 0
        written.append(report.read_bytes())
    assert written[0] == written[1]


@pytest.mark.parametrize(
    ("predictions", "words"),
    [
        ('[{"id": "q1", "answer": "Brinmoor"}]', ['"answer"', '"sp"', '"evidence"']),
        ("", ["empty"]),
        ('{"answer": {', ["truncated", "line 1"]),
    ],
)
def test_errors_are_one_line_and_exit_2(
    files: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    predictions: str,
    words: list[str],
) -> None:
    path = tmp_path / "bad.json"
    path.write_text(predictions)
    report = tmp_path / "report.json"
    assert main(["score", str(path), files[1], "--output", str(report)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert err.startswith(f"twowiki score: {path}")
    assert all(word in err for word in words)
    assert not report.exists()


@pytest.mark.parametrize("place", ["absent.json", "absent"])
def test_absent_files(files: list[str], capsys: pytest.CaptureFixture[str], place: str) -> None:
    assert main(["score", place, files[1]]) == 2
    assert main(["score", files[0], place]) == 2
    assert main(["score", *files[:2], place]) == 2
    assert capsys.readouterr().err.count("no such file") == 3


def loaded(arguments: list[str]) -> list[str]:
    code = (
        "import sys, io, contextlib\nfrom twowiki.cli.main import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        f"    main({arguments!r})\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found: list[str] = json.loads(out.stdout.replace("'", '"'))
    return found


def test_nothing_heavy_is_loaded(files: list[str]) -> None:
    assert loaded(["score", "--help"]) == []
    assert loaded(["score", *files, "--by-type"]) == []
    assert loaded(["score", *files, "--confidence", "0.95"]) == ["numpy"]


def test_it_reads_a_pipe(files: list[str]) -> None:
    text = Path(files[0]).read_text()
    out = subprocess.run(
        [sys.executable, "-m", "twowiki", "score", "/dev/stdin", *files[1:], "--json"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    report: Any = json.loads(out.stdout)
    assert report["metrics"]["em"] == 50.0
