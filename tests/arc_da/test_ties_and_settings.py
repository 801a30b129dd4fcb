"""Ties among metrics, gold without right options, and settings that are refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.arc_da_files import ARC, RELEASE, arc_da, read_lines, write_lines
from twowiki.arc_da.sources import read_gold_questions
from twowiki.errors import DataError
from twowiki.human.agreement import correlations
from twowiki.human.metric_agreement import JudgedAnswer, summarize_agreement
from twowiki.human.ratings import read_ratings

NOISE = 2.0**-52


# --- equal figures are ties, whatever the order of a sum


def test_noise_is_no_order() -> None:
    exact = np.array([0.3, 0.3, 0.3, 0.6, 0.1, 0.9])
    noisy = np.array([0.3, 0.1 + 0.2, 0.3 - NOISE, 0.6, 0.1, 0.9])
    people = [0.0, 0.5, 1.0, 0.5, 0.0, 1.0]
    assert len(set(noisy)) == len(noisy)
    first, second = correlations(list(noisy), people), correlations(list(exact), people)
    assert (first["spearman"], first["kendall"]) == (second["spearman"], second["kendall"])
    assert first["pearson"] == pytest.approx(second["pearson"], abs=1e-12)


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(-3, 3), st.integers(0, 2)), min_size=2),
)
def test_reports_do_not_see_noise(entries: list[tuple[int, int, int]]) -> None:
    def report(noise: float) -> dict[str, float]:
        judged = [
            JudgedAnswer(f"s{n % 2}", f"q{n}", human / 2, {"f1": value / 7 + noise * sign})
            for n, (value, sign, human) in enumerate(entries)
        ]
        found = summarize_agreement(judged, resamples=1)["figures"]
        names = ("spearman", "kendall", "auc")
        return {name: found["f1"][name] for name in names}

    assert json.dumps(report(NOISE)) == json.dumps(report(0.0))


# --- gold answers without the right option


def test_no_mc_with_other_questions_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gold = read_gold_questions(RELEASE, split="train")
    answers = [{"question_id": name, "prediction": "x"} for name in gold]
    path = write_lines(tmp_path / "p.jsonl", answers)
    other = write_lines(tmp_path / "ARC-Easy-Train.jsonl", [{
        "id": "elsewhere", "answerKey": "A", "question": {"stem": "What?", "choices": [
            {"label": "A", "text": "x"}, {"label": "B", "text": "y"}]}}])  # fmt: skip
    score = ("score", path, RELEASE, "--split", "train", "--resamples", 10, "--golds", "no_mc")
    assert arc_da(*score, "--arc", other) == 2
    assert "has none of these questions" in capsys.readouterr().err
    report = tmp_path / "r.json"
    assert arc_da(*score, "--arc", ARC, "--out", report) == 0
    found = json.loads(report.read_text(encoding="utf-8"))
    assert 0 < found["right_options_known"] <= found["n"]
    known = f"{found['right_options_known']} of {found['n']} questions"
    assert f"right options known, and no gold answers: {known}" in capsys.readouterr().out


# --- human scores


def test_two_answers_are_not_one_item(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = {"system": "s", "question_id": "q", "rater": "ann", "rating": "agree",
           "prediction_sha": "1" * 16}  # fmt: skip
    two = {**one, "rater": "bo", "prediction_sha": "2" * 16}
    path = write_lines(tmp_path / "r.jsonl", [one, two])
    for command in ("genie", "expert"):
        assert arc_da(command, path, "--resamples", 5) == 2
        err = capsys.readouterr().err
        assert f"{path}, record q" in err
        assert "two different answers of 's'" in err
    write_lines(path, [one, {**one, "prediction_sha": ""}])
    assert arc_da("genie", path) == 2
    err = capsys.readouterr().err
    assert str(path) in err
    assert "rated the answer of 's' twice. Keep one" in err
    write_lines(path, [{**one, "prediction_sha": ""}, {**two, "system": "t"}, two])
    assert len(read_ratings(str(path))) == 3
    write_lines(path, [{**one, "prediction_sha": ""}, two])
    assert len(read_ratings(str(path))) == 2


@pytest.mark.parametrize("option", ["--least", "--cut-off"])
@pytest.mark.parametrize("value", [5, -0.1, "nan"])
def test_shares_lie_between_nothing_and_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, value: object
) -> None:
    path = write_lines(tmp_path / "r.jsonl", [])
    assert arc_da("genie", path, f"{option}={value}") == 2
    assert "from 0 to 1" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--sample=-5", "--sample=0", "--tests=-5", "--people=0"])
def test_numbers_of_tasks_that_mean_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    out = tmp_path / "rating"
    assert arc_da("rate-export", out, RELEASE, "--split", "train", "--gold-system", option) == 2
    assert option.split("=")[0] in capsys.readouterr().err
    assert not out.exists()


def test_a_blind_set_gives_no_tasks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blind = write_lines(tmp_path / "test.jsonl", [
        {**record, "answers": []} for record in read_lines(RELEASE / "train.jsonl")])  # fmt: skip
    ids = [record["question_id"] for record in read_lines(blind)]
    path = write_lines(tmp_path / "p.jsonl", [{"question_id": n, "prediction": "x"} for n in ids])
    out = tmp_path / "rating"
    assert arc_da("rate-export", out, blind, "--system", f"s={path}") == 2
    assert "there is nothing to rate" in capsys.readouterr().err
    assert not out.exists()


def test_exporting_again_by_force_leaves_no_ratings_of_before(tmp_path: Path) -> None:
    out = tmp_path / "rating"
    export = ("rate-export", out, RELEASE, "--split", "train", "--tests", 0, "--gold-system")
    assert arc_da(*export) == 0
    task = read_lines(out / "key.jsonl")[0]["task"]
    sheet = write_lines(tmp_path / "a.jsonl", [{"task": task, "rating": "agree", "rater": "ann"}])
    assert arc_da("rate-import", out, sheet) == 0
    assert arc_da(*export) == 2
    assert (out / "ratings.jsonl").exists()
    assert arc_da(*export, "--force", "--seed", 3) == 0
    assert not (out / "ratings.jsonl").exists()


def test_errors_name_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read_ratings(str(write_lines(tmp_path / "r.jsonl", [])))
    assert caught.value.file
    assert caught.value.remedy
