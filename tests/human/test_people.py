"""People as one more system: tasks, answers read back, agreement, a row beside the models."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.data.test_audit import record
from twowiki import DataError, score
from twowiki.cli.main import main
from twowiki.data.schema import Fact, Prediction, Triple, parse_record
from twowiki.human.agreement import krippendorff_alpha
from twowiki.human.chain_agreement import chain_agreement
from twowiki.human.chain_tasks import chain_task_files, draw_questions, read_chain_answers
from twowiki.human.chain_tasks import read_chain_key as read_key
from twowiki.metric.people import read_people

RIGHT = (
    "Brinmoor",
    "1.1; 2.1",
    "Salt Choir | director | Tavik Orrel\nTavik Orrel | place of birth | Brinmoor",
)
HALF = ("Brinmoor", "1.1", "Salt Choir | director | Tavik Orrel")
WRONG = ("Oru", "3.1", "")


def golds() -> list[dict[str, Any]]:
    """Three questions; the type is in the last one's id."""
    return [
        record(_id=f"secret{n}", type=kind)
        for n, kind in enumerate(("inference", "compositional", "compositional"))
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "dev.json").write_text(json.dumps(golds()))
    assert main(["people", "export", str(tmp_path / "tasks"), str(tmp_path / "dev.json")]) == 0
    return tmp_path


def fill(folder: Path, person: str, *answers: tuple[str, str, str]) -> str:
    """Fill the sheet, as a person would; return its path."""
    with (folder / "tasks" / "tasks.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    for row, answer in zip(rows, answers, strict=True):
        row.update(zip(("answer", "sentences", "triples"), answer, strict=True), person=person)
    path = folder / f"{person}.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


def test_people_see_neither_gold_nor_id(folder: Path) -> None:
    tasks = folder / "tasks"
    assert len((tasks / "key.jsonl").read_text().splitlines()) == 3
    for name in ("tasks.csv", "label_studio_tasks.json", "label_studio_project.json"):
        text = (tasks / name).read_text(encoding="utf-8")
        assert "secret" not in text
        assert "compositional" not in text
    (task, *_) = json.loads((tasks / "label_studio_tasks.json").read_text())
    assert task["data"]["labels"][:2] == [{"value": "1.1"}, {"value": "2.1"}]
    assert "1.1  Salt Choir is a 1931 film" in task["data"]["paragraphs"]
    assert json.loads((tasks / "label_studio_project.json").read_text())["maximum_annotations"] == 3


def test_sheets_become_a_row_beside_the_system(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [
        fill(folder, "ann", RIGHT, RIGHT, RIGHT),
        fill(folder, "bob", WRONG, HALF, RIGHT),
        fill(folder, "cem", WRONG, WRONG, ("", "", "")),
    ]
    assert main(["people", "import", str(folder / "tasks"), *files]) == 0
    assert "8 answers of 3 people" in capsys.readouterr().out
    answers = folder / "tasks" / "people.jsonl"
    assert "ann" not in answers.read_text()
    predictions = {"answer": {one["_id"]: "Brinmoor" for one in golds()}, "sp": {}, "evidence": {}}
    (folder / "p.json").write_text(json.dumps(predictions))
    paths = [str(folder / name) for name in ("p.json", "dev.json")]
    report = score(*paths, people=answers, by_type=True)
    rows = {row.name: row.summary for row in report.people.rows}
    assert [row.n for row in rows.values()] == [3, 3, 3]
    assert rows["upper_bound"].metrics["joint_em"] == 100.0
    assert rows["average"].metrics["em"] == pytest.approx(100 * (1 / 3 + 2 / 3 + 1) / 3)
    assert rows["system"].metrics["em"] == 100.0
    assert report.to_dict()["people"]["people"] == 3
    assert set(report.people.types) == {"inference", "compositional"}
    assert main(["score", *paths, "--people", str(answers), "--by-type"]) == 0
    shown = capsys.readouterr().out
    assert "best person inference" in shown
    page = folder / "page.html"
    assert main(["report", *paths, str(page), "--people", str(answers)]) == 0
    assert "Beside people" in page.read_text(encoding="utf-8")


def test_a_second_import_adds_and_replaces(folder: Path) -> None:
    tasks, answers = str(folder / "tasks"), folder / "tasks" / "people.jsonl"
    assert main(["people", "import", tasks, fill(folder, "ann", WRONG, WRONG, WRONG)]) == 0
    assert main(["people", "import", tasks, fill(folder, "bob", RIGHT, RIGHT, RIGHT)]) == 0
    assert main(["people", "import", tasks, fill(folder, "ann", RIGHT, RIGHT, RIGHT)]) == 0
    found = read_people(answers)
    assert {len(given) for given in found.values()} == {2}
    assert {one.answer for given in found.values() for one in given.values()} == {"Brinmoor"}


def test_an_export_of_label_studio_is_read(folder: Path) -> None:
    tasks = json.loads((folder / "tasks" / "label_studio_tasks.json").read_text())
    result = [
        {"from_name": "answer", "value": {"text": ["Brinmoor"]}},
        {"from_name": "sentences", "value": {"choices": ["1.1", "2.1"]}},
        {"from_name": "triples", "value": {"text": ["Salt Choir | director | Tavik Orrel"]}},
    ]
    tasks[0]["annotations"] = [{"id": 1, "completed_by": 7, "result": result}]
    path = folder / "export.json"
    path.write_text(json.dumps([{**tasks[0]}]))
    (row,) = read_chain_answers(str(path), read_key(str(folder / "tasks" / "key.jsonl")))
    assert row["person"] == "7"
    assert row["supporting_facts"] == [["Salt Choir", 0], ["Tavik Orrel", 0]]
    assert row["evidences"] == [["Salt Choir", "director", "Tavik Orrel"]]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (("Oru", "9.1", ""), "'9.1' is no sentence of the task"),
        (("Oru", "1.2", ""), "'1.2' is no sentence of the task"),
        (("Oru", "first", ""), "is no sentence"),
        (("Oru", "1.1", "a | b"), "'a | b' is not a triple"),
        (("Oru", "1.1", "a | b | "), "is not a triple"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_task(
    answer: tuple[str, str, str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = fill(folder, "ann", answer, RIGHT, RIGHT)
    assert main(["people", "import", str(folder / "tasks"), path]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "record c" in error
    assert not (folder / "tasks" / "people.jsonl").exists()


def test_tasks_are_not_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = ["people", "export", str(folder / "tasks"), str(folder / "dev.json")]
    assert main(again) == 2
    assert "already has tasks" in capsys.readouterr().err
    assert main([*again, "--force"]) == 0


def test_the_draw_depends_on_the_seed_alone() -> None:
    examples = [parse_record(record(_id=f"q{n}")) for n in range(20)]
    drawn = draw_questions(examples, 5, 1)
    assert drawn == draw_questions(examples[::-1], 5, 1)
    assert drawn != draw_questions(examples, 5, 2)
    assert chain_task_files(drawn, people=1, seed=1) == chain_task_files(drawn, people=1, seed=1)
    with pytest.raises(DataError, match="no question has gold"):
        draw_questions([examples[0]._replace(answer=None)], 5, 1)


def test_agreement_is_by_type_and_by_pairs() -> None:
    one = Prediction("The Oru", (Fact("Oru", 0),), (Triple("a", "b", "c"),))
    same = Prediction("oru!", (Fact("oru", 0), Fact("Oru", 1)), ())
    other = Prediction("Brinmoor", (), ())
    found = chain_agreement(
        {"q1": {"ann": one, "bob": same}, "q2": {"ann": one, "bob": other}, "q3": {"ann": one}},
        {"q1": "inference", "q2": "comparison"},
    )
    assert (found["all"]["questions"], found["all"]["pairs"]) == (2, 2)
    assert found["inference"]["answer_equal"] == 100.0
    assert found["inference"]["sentences_f1"] == pytest.approx(200 / 3)
    assert found["comparison"]["answer_equal"] == 0.0
    ratings = [("q1", "a", 0.0), ("q1", "b", 0.0), ("q2", "a", 0.0), ("q2", "b", 1.0)]
    assert found["all"]["alpha"] == krippendorff_alpha(ratings, level="nominal")


def test_people_who_answered_other_questions_are_refused(folder: Path) -> None:
    path = folder / "people.jsonl"
    path.write_text(json.dumps({"person": "ann", "id": "other", "answer": "Oru"}) + "\n")
    with pytest.raises(DataError, match="answered none of the questions"):
        score({"answer": {}, "sp": {}, "evidence": {}}, folder / "dev.json", people=path)
    path.write_text(json.dumps({"id": "other", "answer": "Oru"}) + "\n")
    with pytest.raises(DataError, match="the person is missing"):
        read_people(path)
