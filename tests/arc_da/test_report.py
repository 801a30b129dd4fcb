"""Scoring a system's file: the report, its groups and pitfalls, the paired test, the command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.arc_da_files import ARC, RELEASE, arc_da, read_lines, write_lines
from twowiki.arc_da.metric.comparison import compare_systems
from twowiki.arc_da.metric.report import (
    PITFALLS,
    ArcDaSettings,
    arc_da_signature,
    gold_hash,
    name_pitfalls,
    score_system,
    summarize_system,
    without_choice_golds,
)
from twowiki.arc_da.metric.scoring import AnswerScore, score_answer
from twowiki.arc_da.predictions import read_answers
from twowiki.arc_da.schema import Question
from twowiki.arc_da.sources import index_by_id, read_gold_questions, read_multiple_choice
from twowiki.errors import DataError
from twowiki.metric.significance import holm

DEV = RELEASE / "dev.jsonl"
IDS = ["ARCEZ_Marsh_1", "ARCEZ_Marsh_2", "ARCCH_Marsh_3"]
SAID = dict(zip(IDS, ["an invisible gas", "methane", "from liquid to solid"], strict=True))
QUICK = ArcDaSettings(resamples=200)


def predictions_file(path: Path, said: dict[str, str] | None = None) -> Path:
    given = SAID if said is None else said
    return write_lines(
        path, [{"question_id": name, "prediction": text} for name, text in given.items()]
    )


def questions(*golds: list[str]) -> dict[str, Question]:
    return {
        f"q{place}": Question(f"q{place}", "EASY-DEV", "What?", tuple(listed))
        for place, listed in enumerate(golds)
    }


def test_the_mean_is_plain_and_never_drawn() -> None:
    figures = [1, 0, 0.3333, 0.5714, 0, 0.2857, 1, 0.6667, 0, 0.1, 0.9]
    scores = {
        f"q{place}": AnswerScore({"f1": f, "rougeL": f}, {}) for place, f in enumerate(figures)
    }
    scored = score_system(questions(*[["x"]] * 11), {})._replace(scores=scores)
    for seed in range(4):
        report = summarize_system(scored, ArcDaSettings(resamples=50, seed=seed))
        assert report["f1"] / 100 == pytest.approx(0.441555, abs=5e-7)


def test_missing_answers_score_zero_and_are_listed() -> None:
    asked = questions(["heat"], ["ice"], [])
    scored = score_system(asked, {"q0": "heat", "q2": "anything"})
    report = summarize_system(scored, QUICK)
    assert (report["n"], report["f1"], report["rougeL"]) == (2, 50.0, 50.0)
    assert report["missing"] == ["q1"]
    assert report["excluded"]["no_gold"] == ["q2"]
    assert report["pitfalls"] == {}


def test_groups_without_questions_are_absent() -> None:
    gold = read_gold_questions(DEV)
    report = summarize_system(score_system(gold, SAID), QUICK)
    groups = report["by"]["difficulty"]
    assert list(groups) == ["easy", "challenge"]
    assert groups["challenge"]["f1"] == 100.0  # order does not count
    assert groups["challenge"]["rougeL"] == pytest.approx(50.0)
    assert groups["easy"]["f1"] == pytest.approx(100 * (2 / 3 + 1) / 2)  # 2 of 4, 2 of 2 words
    total = sum(group["n"] * group["f1"] for group in groups.values())
    assert report["f1"] == pytest.approx(total / 3)
    only = summarize_system(score_system({IDS[1]: gold[IDS[1]]}, SAID), QUICK)
    assert list(only["by"]["difficulty"]) == ["easy"]
    low, high = report["intervals"]["f1"]
    assert 0 <= low <= report["f1"] <= high <= 100


@pytest.mark.parametrize(
    ("said", "golds", "found"),
    [
        ("from solid to liquid", ["from liquid to solid"], ["order_only"]),
        ("from liquid to solid", ["from liquid to solid"], []),
        ("from solid to liquid", ["from liquid to solid", "from solid to liquid"], []),
        ("-5", ["5"], ["number_changed"]),
        ("3.5 kg", ["35 kg"], ["number_changed"]),
        ("1,000", ["1000"], []),
        ("vitamin A", ["vitamin"], ["letter_a_lost"]),
        ("base", ["a base"], []),
        ("\u592a\u9633", ["\u592a\u9633"], ["rouge_blind_gold", "rouge_blind_prediction",
                                            "non_ascii_gold"]),
        ("heat", ["cr\u00e8me", "heat"], ["non_ascii_gold"]),
        ("\u00b0", ["heat"], ["rouge_blind_prediction"]),
        ("the", ["heat"], ["empty_prediction"]),
        ("", ["The A"], ["empty_gold", "empty_prediction"]),
        ("heat; light", ["heat"], ["several_answers"]),
        ("heat;", ["heat"], []),
    ],
)  # fmt: skip
def test_pitfalls(said: str, golds: list[str], found: list[str]) -> None:
    assert list(name_pitfalls(said, golds, score_answer(said, golds))) == found
    assert set(found) <= set(PITFALLS)


def test_the_signature_names_what_moves_the_score() -> None:
    gold = read_gold_questions(DEV)
    line = arc_da_signature(score_system(gold, SAID, ["contains"]), "no_mc")
    for part in ("f1:squad", "rougeL:stem", "tokenizer:ascii", "golds:no_mc", "n:3",
                 "missing:0", "also:contains"):  # fmt: skip
        assert f"|{part}|" in line
    changed = {**gold, IDS[1]: gold[IDS[1]]._replace(answers=("marsh gas",))}
    assert gold_hash(gold.values()) != gold_hash(changed.values())
    assert gold_hash(gold.values()) == gold_hash(read_gold_questions(RELEASE, split="dev").values())


def test_the_original_option_can_be_taken_out_of_the_gold() -> None:
    arc = index_by_id(read_multiple_choice(ARC))
    left = without_choice_golds(read_gold_questions(DEV), arc)
    assert left[IDS[0]].answers == ("gas",)
    assert left[IDS[1]].answers == ()
    assert left[IDS[2]].answers == read_gold_questions(DEV)[IDS[2]].answers


def test_paired_test_and_holm() -> None:
    gold = questions(*[["heat"]] * 40)
    right = score_system(gold, dict.fromkeys(gold, "heat"))
    wrong = score_system(gold, {name: "heat" if name < "q2" else "cold" for name in gold})
    found = compare_systems(right, {"wrong": wrong, "same": right}, QUICK, rounds=500)
    assert found["wrong"]["f1"]["difference"] > 0
    assert found["wrong"]["f1"]["p"] < 0.01 <= found["same"]["f1"]["p"] == 1.0
    assert found["wrong"]["f1"]["p_holm"] == pytest.approx(2 * found["wrong"]["f1"]["p"])
    assert found["wrong"]["f1"]["interval"][0] > 0
    assert found["same"]["f1"]["detectable"] == 0.0
    other = score_system(questions(*[["cold"]] * 40), {})
    with pytest.raises(ValueError, match="other gold"):
        compare_systems(right, {"other": other}, QUICK)
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []


@pytest.mark.parametrize(
    "name", ["p.jsonl", "p.json", "map.json", "sp.json", "p.csv", "p.tsv", "p.txt"]
)
def test_every_shape_of_predictions(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    content = {
        "p.jsonl": "".join(json.dumps({"id": i, "answer": a}) + "\r\n" for i, a in SAID.items()),
        "p.json": json.dumps([{"question_id": i, "prediction": a} for i, a in SAID.items()]),
        "map.json": json.dumps(SAID),
        "sp.json": json.dumps({"answer": SAID, "sp": {}}),
        "p.csv": "question_id,prediction\n" + "".join(f'{i},"{a}"\n' for i, a in SAID.items()),
        "p.tsv": "id\tprediction\n" + "".join(f"{i}\t{a}\n" for i, a in SAID.items()),
        "p.txt": "\r\n".join(SAID.values()) + "\r\n",
    }[name]
    path.write_bytes(content.encode("utf-8-sig"))
    assert read_answers(path, IDS) == SAID


def test_null_is_empty_and_numbers_are_texts(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "p.jsonl", [
        {"id": IDS[0], "prediction": None}, {"id": IDS[1], "prediction": 3.5}])  # fmt: skip
    assert read_answers(path, IDS) == {IDS[0]: "", IDS[1]: "3.5"}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.jsonl", '{"id": "ARCEZ_Marsh_1", "prediction": ["a", "b"]}', "one text, found list"),
        ("p.jsonl", '{"id": "ARCEZ_Marsh_1", "text": "a"}', "no answer among the fields id, text"),
        ("p.jsonl", '{"prediction": "a"}', "no question id"),
        ("p.jsonl", '{"id": "x", "prediction": "a"}', "the gold does not have: x"),
        ("p.jsonl", '{"id": "q", "prediction": "a"}\n' * 2, "answered twice"),
        ("p.txt", "only one line\n", "1 lines for 3 questions"),
        ("p.json", '{"id": 3', "p.json"),
        ("p.csv", "a,b\n1,2\n", "no question id"),
        ("p.json", "not json", "not JSON"),
    ],
)  # fmt: skip
def test_bad_predictions_say_what_is_wrong(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message) as caught:
        read_answers(path, IDS)
    assert name in str(caught.value)


def test_score_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = predictions_file(tmp_path / "mine.jsonl")
    other = predictions_file(tmp_path / "other.jsonl", {IDS[0]: "gas", IDS[1]: "helium"})
    out, rows = tmp_path / "report.json", tmp_path / "rows.jsonl"
    assert arc_da("score", mine, RELEASE, "--split", "dev", "--versus", other, "--resamples", 100,
                  "--rounds", 100, "--also", "exact_match", "--out", out, "--rows", rows,
                  "--by", "difficulty", "question_word") == 0  # fmt: skip
    text = capsys.readouterr().out
    assert "challenge" in text
    assert "question_word=what" in text
    assert "order_only" in text
    report = json.loads(out.read_text())
    assert report["signature"] in text
    assert report["versus"][str(other)]["f1"]["difference"] > 0
    assert set(report["run"]["files"]) == {str(mine), str(other)}
    assert report["run"]["versions"]["twowiki"]
    assert [row["question_id"] for row in read_lines(rows)] == IDS
    assert read_lines(rows)[2]["pitfalls"] == ["order_only"]
    assert read_lines(rows)[0]["best_for_f1"] == "an invisible gas in the air"


def test_same_inputs_same_report(tmp_path: Path) -> None:
    mine = predictions_file(tmp_path / "mine.jsonl")
    outs = [tmp_path / "a.json", tmp_path / "b.json"]
    for out in outs:
        assert arc_da("score", mine, DEV, "--resamples", 50, "--out", out) == 0
    first, second = (out.read_bytes() for out in outs)
    assert first.replace(b"a.json", b"b.json") == second


def test_one_question_gives_valid_json(tmp_path: Path) -> None:
    mine = predictions_file(tmp_path / "mine.jsonl")
    subset, out = tmp_path / "ids.txt", tmp_path / "report.json"
    subset.write_text(IDS[1], encoding="utf-8")
    other = predictions_file(tmp_path / "b.jsonl")
    quick = ["--resamples", 20, "--rounds", 20, "--subset", subset]
    assert arc_da("score", mine, DEV, *quick, "--versus", other, "--out", out) == 0
    report = json.loads(out.read_text(), parse_constant=lambda name: pytest.fail(name))
    assert report["versus"][str(other)]["f1"]["detectable"] is None


def test_subset_and_its_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = predictions_file(tmp_path / "mine.jsonl")
    subset = tmp_path / "ids.txt"
    subset.write_text(IDS[1] + "\n", encoding="utf-8")
    assert arc_da("score", mine, DEV, "--subset", subset, "--resamples", 50) == 0
    assert "|n:1|" in capsys.readouterr().out
    subset.write_text("unknown\n", encoding="utf-8")
    assert arc_da("score", mine, DEV, "--subset", subset) == 2
    assert "does not have these ids: unknown" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--split", "dev", "--golds", "no_mc"], "needs ARC's files"),
        ([], "has several splits"),
        (["--split", "test"], "no question has a gold answer"),
        (["--split", "dev", "--confidence", "2"], "above 0 and below 1"),
        (["--split", "dev", "--resamples", "0"], "from 1 to"),
        (["--split", "dev", "--seed", "-1"], "from 0 to"),
        (["--split", "dev", "--versus", "nothing.jsonl"], "no such file"),
    ],
)
def test_score_says_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    mine = write_lines(tmp_path / "mine.jsonl", [{"id": "ARCEZ_Dune_1", "answer": "wind"}])
    if "test" not in arguments:
        mine = predictions_file(tmp_path / "mine.jsonl")
    assert arc_da("score", mine, RELEASE, *arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_no_mc_leaves_questions_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = predictions_file(tmp_path / "mine.jsonl")
    assert arc_da("score", mine, DEV, "--golds", "no_mc", "--arc", ARC, "--resamples", 50) == 0
    text = capsys.readouterr().out
    assert "golds:no_mc" in text
    assert "questions without gold answers, left out: 1" in text


def test_scoring_is_light(tmp_path: Path) -> None:
    mine = predictions_file(tmp_path / "mine.jsonl")
    code = (
        "import sys; from twowiki.cli.main import main; "
        f"main(['arc-da', 'score', {str(mine)!r}, {str(DEV)!r}, '--resamples', '10']); "
        "heavy = 'torch datasets evaluate transformers rouge_score'.split(); "
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
