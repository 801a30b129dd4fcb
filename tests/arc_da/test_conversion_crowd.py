"""A simulated crowd: fewer questions asked, and bad workers left out, both measured; other sets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.arc_da.small_conversion import give, said
from tests.arc_da_files import arc_da, read_lines, write_lines
from twowiki.arc_da.conversion.crowd import CrowdRecord
from twowiki.arc_da.conversion.screening import wanted_answers
from twowiki.arc_da.layouts import as_arc_record
from twowiki.arc_da.schema import parse_multiple_choice
from twowiki.arc_da.sources import read_multiple_choice

QUESTIONS, WORKERS, BAD = 60, 12, 3
FILLER = "moss clay rope glass tin salt wool bark resin ash loam silk".split()


def answer(rng: Random, number: int, worker: int) -> str:
    """A good worker is right seven times of ten; a bad one says whatever comes."""
    if worker >= BAD and rng.random() < 0.7:
        return rng.choice([f"thing{number}", f"a thing{number} there", f"thing{number} of all"])
    return f"{rng.choice(FILLER)}{rng.randrange(9)} {rng.choice(FILLER)}{rng.randrange(9)}"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crowd")
    records = [
        {"id": f"Q{n}", "question": {"stem": f"What holds kind{n} together?", "choices": [
            {"label": "A", "text": f"thing{n}"}, {"label": "B", "text": f"other{n}"}]},
         "answerKey": "A"}
        for n in range(QUESTIONS)
    ]  # fmt: skip
    return write_lines(folder / "ARC-Easy-Train.jsonl", records)


def begin(work: Path, source: Path) -> Path:
    assert arc_da("filter", work, "--arc", source) == 0
    (work / "worker.key").write_text("secret\n", encoding="utf-8")
    return work


def crowd_answers(work: Path, people: Sequence[int], seed: int = 0) -> list[dict[str, Any]]:
    """The answers of some workers to the questions of the last export, one each a worker."""
    rng = Random(seed)
    tasks = json.loads((work / "20_tasks" / "label_studio_tasks.json").read_text("utf-8"))
    records = []
    for task in tasks:
        name = task["data"]["question_id"]
        number = int(name.rpartition("Q")[2])
        for worker in rng.sample(list(people), task["meta"]["wanted"]):
            records.append(said(name, f"w{worker}", answer(rng, number, worker)))
    return records


def rounds(work: Path, *flags: object) -> int:
    """Ask until nothing is left to ask; return the number of answers that were paid for."""
    paid = 0
    for turn in range(6):
        assert arc_da("export-tasks", work, "--seed", turn, "--force", *flags) == 0
        records = crowd_answers(work, range(WORKERS), seed=turn)
        if not records:
            break
        paid += len(records)
        assert give(work, records, f"round{turn}.jsonl") == 0
    assert arc_da("screen", work) == 0
    return paid


def verdicts(work: Path) -> dict[str, str]:
    return {one["question_id"]: one["verdict"] for one in read_lines(work / "40_screened.jsonl")}


def test_asking_on_only_where_two_disagree_costs_less(tmp_path: Path, source: Path) -> None:
    full, active = (begin(tmp_path / name, source) for name in ("full", "active"))
    paid_full, paid_active = rounds(full), rounds(active, "--active", "yes")
    passed = [sum(v == "pass" for v in verdicts(work).values()) for work in (full, active)]
    assert paid_full == 5 * QUESTIONS
    assert (paid_active, passed) == (216, [55, 54])


def crowd(*texts: str) -> list[CrowdRecord]:
    return [
        CrowdRecord(
            question_id="q", worker=str(n), answers=[text], category=None, status="answered"
        )
        for n, text in enumerate(texts)
    ]


@pytest.mark.parametrize(
    ("texts", "full", "active"),
    [((), 5, 2), (("ice",), 4, 1), (("ice", "the ice"), 3, 0), (("ice", "fog"), 3, 1),
     (("ice", "fog", "ice"), 2, 0), (("a", "b", "c", "d", "e"), 0, 0)],
)  # fmt: skip
def test_how_many_more_are_asked(texts: tuple[str, ...], full: int, active: int) -> None:
    assert wanted_answers(crowd(*texts), 5, active=False) == full
    assert wanted_answers(crowd(*texts), 5, active=True) == active


def test_bad_workers_are_found_and_good_ones_are_not(
    tmp_path: Path, source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work = begin(tmp_path / "work", source)
    rounds(work)
    pseudonyms = {}
    for record in read_lines(work / "30_crowd.jsonl"):
        pseudonyms.setdefault(record["worker"], 0)
        pseudonyms[record["worker"]] += "thing" in record["raw"]
    bad = {name for name, right in pseudonyms.items() if right == 0}
    assert len(bad) == BAD
    capsys.readouterr()
    assert arc_da("screen", work, "--least-agreement", 0.4) == 0
    printed = capsys.readouterr().out
    found = {name for name in pseudonyms if f"worker {name} left out" in printed}
    assert found == bad
    for one in read_lines(work / "40_screened.jsonl"):
        assert not any(bad & set(merged["workers"]) for merged in one["answers"])
    assert arc_da("screen", work, "--least-agreement", 0) == 0
    assert "left out" not in capsys.readouterr().out


# --- other sets


SETS = {
    "openbookqa": {"id": "7-1", "question_stem": "The sun is", "answerKey": "B",
                   "choices": {"text": ["a rock", "a star"], "label": ["A", "B"]}},
    "openbookqa, as released": {"id": "7-1", "answerKey": "B", "question": {
        "stem": "The sun is", "choices": [
            {"text": "a rock", "label": "A"}, {"text": "a star", "label": "B"}]}},
    "qasc": {"id": "3X", "question": "The sun is", "fact1": "x", "answerKey": "B",
             "choices": {"text": ["a rock", "a star"], "label": ["A", "B"]}},
    "mmlu": {"question": "The sun is", "choices": ["a rock", "a star"], "answer": 1},
    "options by letter": {"id": "m", "question": "The sun is", "answer": "B",
                          "options": {"A": "a rock", "B": "a star"}},
    "answer by text": {"id": "m", "question": "The sun is", "answer": "a star",
                       "options": ["a rock", "a star"]},
    "options with letters": {"question": "The sun is", "answer": "B",
                             "choices": ["A. a rock", "B. a star"]},
    "columns": {"question": "The sun is", "A": "a rock", "B": "a star", "C": "", "answer": "B"},
    "medmcqa": {"id": "e", "question": "The sun is", "opa": "a rock", "opb": "a star", "cop": 1},
    "logiqa": {"query": "The sun is", "options": ["a rock", "a star"], "correct_option": 1},
    "a table": {"id": "7-1", "question_stem": "The sun is", "answerKey": "B",
                "choices": '{"text": ["a rock", "a star"], "label": ["A", "B"]}'},
    "sciq": {"question": "The sun is", "correct_answer": "a star", "distractor1": "a rock",
             "distractor2": "a cloud", "distractor3": "a lamp", "support": ""},
}  # fmt: skip


@pytest.mark.parametrize("name", SETS)
def test_a_question_of_another_set(name: str) -> None:
    question = parse_multiple_choice(SETS[name])
    assert question.stem == "The sun is"
    assert question.key_text == "a star"
    assert question.id
    assert as_arc_record(SETS[name]) == as_arc_record(json.loads(json.dumps(SETS[name])))


def test_right_options_of_sciq_are_at_all_places(tmp_path: Path) -> None:
    records = [{**SETS["sciq"], "question": f"Number {n}?"} for n in range(40)]
    found = read_multiple_choice(write_lines(tmp_path / "train.jsonl", records))
    assert {one.answer_key for one in found} == set("ABCD")
    assert len({one.id for one in found}) == 40


def test_another_set_goes_through_all_stages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_lines(tmp_path / "set" / "train.jsonl", [
        {"id": "7-1", "question_stem": "What does a plant need to grow?", "answerKey": "B",
         "choices": {"text": ["rock", "light"], "label": ["A", "B"]}}
    ]).parent  # fmt: skip
    work = tmp_path / "work"
    assert arc_da("filter", work, "--arc", data) == 2
    assert "--set-name" in capsys.readouterr().err
    assert arc_da("filter", work, "--arc", data, "--set-name", "OBQA") == 0
    assert give(work, [said("7-1", f"w{n}", "light") for n in range(2)]) == 0
    assert arc_da("screen", work, "--people", 2) == 0
    assert arc_da("review-export", work) == 0
    from tests.arc_da.small_conversion import edit, imported

    assert imported(work, edit(work, {"7-1": {"decision": "accept"}})) == 0
    assert arc_da("release", work) == 0
    (question,) = read_lines(work / "90_release" / "train.jsonl")
    assert (question["tag"], question["answers"]) == ("OBQA-TRAIN", ["light"])
