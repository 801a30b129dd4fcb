"""The leaderboard: saved reports alone, sorted, those that cannot be compared refused by name."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from tests.browser import Browser
from tests.joint_files import several, write
from tests.pages.test_pages import read
from twowiki.cli.main import main


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two predictions with their reports, the worse one first; gold is gone."""
    golds, worse = several(12)
    better = {part: {**values, "q1": values["q0"]} for part, values in worse.items()}
    better["answer"].pop("q11")
    write(tmp_path / "gold.json", golds)
    for name, blocks in (("worse", worse), ("better", better)):
        files = [write(tmp_path / f"{name}.json", blocks), tmp_path / "gold.json"]
        score(tmp_path, name, *map(str, files), "--by-type", "--confidence", "0.95")
    return tmp_path


def score(folder: Path, name: str, *arguments: str) -> None:
    out = str(folder / f"{name}_report.json")
    assert main(["score", *arguments, "--resamples", "50", "--output", out]) == 0


def leaderboard(folder: Path, *names: str) -> int:
    reports = [str(folder / f"{name}_report.json") for name in names]
    return main(["leaderboard", *reports, str(folder / "page.html")])


def test_saved_reports_are_sorted_and_keep_their_scores(folder: Path) -> None:
    (folder / "gold.json").unlink()
    assert leaderboard(folder, "worse", "better") == 0
    page = (folder / "page.html").read_text(encoding="utf-8")
    text = " ".join("".join(read(page).text).split())
    assert text.index("1. better.json") < text.index("2. worse.json")
    for name in ("worse", "better"):
        report = json.loads((folder / f"{name}_report.json").read_text(encoding="utf-8"))
        assert f"{report['metrics']['joint_f1']:.2f}" in text
        low, high = report["by_type"]["comparison"]["intervals"]["joint_f1"]
        assert f"[{low:.1f}, {high:.1f}]" in text
    assert str(folder) not in page
    assert "missing:" not in text


@pytest.mark.parametrize(
    ("change", "message"),
    [("options", "matching:one_to_one"), ("gold", "gold:"), ("file", "joint metric")],
)
def test_reports_that_differ_are_refused_by_name(
    folder: Path, change: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(folder / "worse.json"), str(folder / "gold.json")]
    if change == "options":
        score(folder, "other", *files, "--matching", "one_to_one")
    elif change == "gold":
        golds = json.loads((folder / "gold.json").read_text(encoding="utf-8"))
        golds[0]["answer"] = "Oru"
        write(folder / "gold.json", golds)
        score(folder, "other", *files)
    else:
        write(folder / "other_report.json", {"metric": "arc_da"})
    assert leaderboard(folder, "better", "other") == 2
    told = capsys.readouterr().err
    assert "other_report.json" in told
    assert message in told
    assert not (folder / "page.html").exists()


def test_it_fits_and_a_checker_finds_nothing(folder: Path) -> None:
    assert leaderboard(folder, "worse", "better") == 0
    with closing(Browser(folder / "profile")) as browser:
        browser.check((folder / "page.html").as_uri())
