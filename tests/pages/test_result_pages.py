"""Pages of rankings and of ARC-DA scores: the numbers of the commands, samples, the same house."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from tests.arc_da_files import ARC, RELEASE, arc_da, read_lines, write_lines
from tests.browser import Browser
from tests.joint_files import several, write
from tests.pages.test_pages import NASTY, read
from twowiki.arc_da.sources import read_multiple_choice
from twowiki.cli.main import main


def text_of(path: Path) -> str:
    return " ".join("".join(read(path.read_text(encoding="utf-8")).text).split())


@pytest.fixture(scope="module")
def retrieval(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of rankings: all pages found, one of two, and none."""
    folder = tmp_path_factory.mktemp("retrieval")
    write(folder / "gold.json", several(9)[0])
    found = [["Tavik Orrel", "Dessa Orrel"], ["Oru", "Tavik Orrel"], [NASTY[:-4], "x"]]
    write(folder / "ranked.json", {f"q{number}": found[number % 3] for number in range(8)})
    files = [str(folder / name) for name in ("ranked.json", "gold.json")]
    out = ["--page", str(folder / "page.html"), "--output", str(folder / "scores.json")]
    assert main(["retrieval", *files, "--k", "1", "2", *out, "--examples", "6"]) == 0
    return folder / "page.html"


@pytest.fixture(scope="module")
def science(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of science answers: right, partly right and wrong."""
    folder = tmp_path_factory.mktemp("science")
    gold = [
        {"question_id": f"ARCDA_{number}", "tag": "EASY", "question": f"What is {number}?",
         "answers": ["a green plant", "plants"]}
        for number in range(9)
    ]  # fmt: skip
    write_lines(folder / "dev.jsonl", gold)
    for name, answers in (("mine", ["plants", "green", "rock"]), ("other", ["rock"] * 3)):
        said = {f"ARCDA_{number}": answers[number % 3] for number in range(9)}
        write(folder / f"{name}.json", said)
    arguments = [str(folder / "mine.json"), str(folder / "dev.jsonl")]
    more = ["--versus", str(folder / "other.json"), "--resamples", "50", "--rounds", "50"]
    out = ["--page", str(folder / "page.html"), "--out", str(folder / "scores.json")]
    assert main(["arc-da", "score", *arguments, *more, *out]) == 0
    return folder / "page.html"


@pytest.fixture(scope="module")
def choices(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of questions that are right with their options and wrong without, and others."""
    folder = tmp_path_factory.mktemp("choices")
    right = {one.question_id: one.key_text for one in read_multiple_choice(ARC)}
    gold = read_lines(RELEASE / "train.jsonl")
    ids = [one["question_id"] for one in gold if one["question_id"] in right]
    mine = [{"id": name, "answer": right[name]} for name in ids]
    direct = [{"id": name, "answer": "xyzzy"} for name in ids]
    flags = ["--direct", write_lines(folder / "da.jsonl", direct), "--resamples", 10]
    gold_flags = ["--gold", RELEASE / "train.jsonl", "--page", folder / "page.html"]
    choice_file = write_lines(folder / "mc.jsonl", mine)
    assert arc_da("mc-score", choice_file, ARC, *flags, *gold_flags) == 0
    return folder / "page.html"


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of an audit with findings."""
    folder = tmp_path_factory.mktemp("audit")
    golds = several(9)[0]
    golds[1]["answer"] = "<b>Oru</b>"
    write(folder / "gold.json", golds)
    page = folder / "page.html"
    assert main(["audit", str(folder / "gold.json"), "--page", str(page)]) == 0
    return page


def test_rankings_have_their_scores_and_samples(retrieval: Path) -> None:
    text = text_of(retrieval)
    scores = json.loads(retrieval.with_name("scores.json").read_text(encoding="utf-8"))
    assert f"{scores['metrics']['recall@2']:.2f}" in text
    assert f"{scores['by_hop']['2']['metrics']['recall@1']:.2f}" in text
    assert "9 questions, 1 without a ranking" in text
    for band in ("All pages found", "Some pages found", "No page found"):
        assert f"{band} Among the first 2; 2 of 3 shown" in text
    assert "Tavik Orrel, hop 1: place 2" in text
    assert str(retrieval.parent) not in retrieval.read_text(encoding="utf-8")


def test_science_answers_have_their_scores_and_samples(science: Path) -> None:
    text = text_of(science)
    scores = json.loads(science.with_name("scores.json").read_text(encoding="utf-8"))
    assert f"{scores['f1']:.2f}" in text
    (versus,) = scores["versus"].values()
    assert f"{versus['f1']['difference']:+.2f}" in text
    for band in ("Right", "Partly right", "Wrong"):
        assert f"{band} 3 of 3 shown" in text
    assert str(science.parent) not in science.read_text(encoding="utf-8")


def test_they_fit_and_a_checker_finds_nothing(
    retrieval: Path, science: Path, choices: Path, audit: Path, tmp_path: Path
) -> None:
    with closing(Browser(tmp_path / "profile")) as browser:
        browser.check(*(page.as_uri() for page in (retrieval, science, choices, audit)))
