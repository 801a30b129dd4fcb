"""Workers' answers: tasks out, three tools' files back in, screening with its witness."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.arc_da_files import ARC, arc_da, read_lines, read_table, write_lines, write_table
from twowiki.arc_da.conversion.crowd import (
    CATEGORIES,
    CrowdRecord,
    WorkerAnswer,
    check_answer,
    parse_category,
    split_answers,
)
from twowiki.arc_da.conversion.filter import SourceChoice, SourceQuestion
from twowiki.arc_da.conversion.screening import (
    ScreenSettings,
    majority_category,
    merge_answers,
    screen_question,
)
from twowiki.human.task_files import (
    TaskResult,
    free_cell,
    guard_cell,
    read_annotations,
    read_template,
)
from twowiki.io.records import read_records

CHOICES = [SourceChoice("A", "the wind"), SourceChoice("B", "a stone")]
SOURCE = SourceQuestion("q", "q", "train", "EASY-TRAIN", "What cools a pond?", CHOICES, "A")
KEY = b"secret"
CONVERSION = "twowiki.arc_da.conversion"
CONFIGS = [read_template(CONVERSION, "answers.xml"), read_template(CONVERSION, "review.xml"),
           read_template("twowiki.human", "rating.xml")]  # fmt: skip


def record(text: str, category: str = "", **fields: Any) -> CrowdRecord:
    return check_answer(WorkerAnswer("q", "worker 1", text, category, **fields), SOURCE,
                        SOURCE.stem, KEY)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "category", "status", "reason", "answers"),
    [
        ("rain; cold, dry air ;", "several", "answered", None, ["rain", "cold, dry air"]),
        ("Rain; rain", "One clear answer", "answered", None, ["Rain"]),
        ("don't know", "dont_know", "dont_know", None, []),
        ("Don\u2019t know.", "", "dont_know", None, []),
        ("I DON'T KNOW!", "5", "dont_know", None, []),
        ("?", "nonsense", "nonsense", None, []),
        ("??", "", "nonsense", None, []),
        ("", "nonsense", "nonsense", None, []),
        ("rain; ?", "single", "answered", None, ["rain"]),
        ("rain", "nonsense", "conflict", "answered but ticked nonsense", []),
        ("?", "single", "conflict", "typed nonsense but ticked single", []),
        ("don't know", "many", "conflict", "typed dont_know but ticked many", []),
        ("", "single", "refused", "no_answer", []),
        ("rain", "lots", "refused", "unknown_category", []),
        ("a1; b1; c1; d1; e1; f1", "many", "refused", "too_many_answers", []),
        ("x" * 201, "single", "refused", "too_long", []),
        ("What cools a pond", "single", "refused", "repeats_question", []),
        ("the wind, a stone", "several", "refused", "options_pasted", []),
    ],
)
def test_what_a_submission_becomes(
    text: str, category: str, status: str, reason: str | None, answers: list[str]
) -> None:
    made = record(text, category)
    assert (made.status, made.reason, made.answers) == (status, reason, answers)
    assert made.raw == text


def test_flags_change_nothing() -> None:
    assert record("the wind", "single").flags == ["equals_right_option"]
    assert record("a stone").flags == ["no_category", "equals_wrong_option"]
    assert record("rain; ?", "single").flags == ["non_answers_dropped"]
    assert record("the wind", "single").status == "answered"


def test_workers_are_hidden_alike_and_unknown_questions_refused() -> None:
    first, second = record("rain"), record("hail")
    assert first.worker == second.worker != "worker 1"
    other = check_answer(WorkerAnswer("q", "worker 1", "rain", ""), SOURCE, "", b"other")
    assert other.worker != first.worker
    lost = check_answer(WorkerAnswer("z", "w", "rain", ""), None, "", KEY)
    assert (lost.status, lost.reason) == ("refused", "unknown_question")
    nobody = check_answer(WorkerAnswer("q", " ", "rain", ""), SOURCE, "", KEY)
    assert nobody.reason == "no_worker"


@given(st.text())
def test_any_text_becomes_a_record(text: str) -> None:
    made = record(text)
    assert made.status in ("answered", "dont_know", "nonsense", "refused")
    assert split_answers("; ".join(split_answers(text))) == split_answers(text)


def test_categories_by_code_label_and_number() -> None:
    for number, (code, label) in enumerate(CATEGORIES.items(), start=1):
        assert parse_category(code) == parse_category(label) == parse_category(str(number)) == code
    assert parse_category("") is None


# --- screening


def given_by(worker: str, *answers: str, category: str = "single") -> CrowdRecord:
    status = "answered" if answers else "dont_know"
    return CrowdRecord(question_id="q", worker=worker, answers=list(answers), status=status,
                       category=category)  # fmt: skip


@pytest.mark.parametrize(
    ("records", "verdict", "reason"),
    [
        ([given_by("a", "warm air"), given_by("b", "the air")], "pass", None),
        ([given_by("a", "warm air"), given_by("b", "the sea")], "pending", "no_shared_word"),
        ([given_by("a", "warm air", "cold air")], "pending", "too_few_workers"),
        ([given_by("a", "it is the"), given_by("b", "the is it")], "pending", "no_shared_word"),
        ([given_by(w, w + "x") for w in "abcde"], "fail", "no_shared_word"),
        ([given_by("a", "rain"), *(given_by(w) for w in "bcde")], "fail", "too_few_workers"),
        ([given_by("a", "\u91cd\u529b"), given_by("b", "\u91cd")], "pass", None),
        ([], "pending", "too_few_workers"),
    ],
)
def test_screening(records: list[CrowdRecord], verdict: str, reason: str | None) -> None:
    made = screen_question("q", records, ScreenSettings())
    assert (made.verdict, made.reason) == (verdict, reason)
    if verdict == "pass":
        assert made.witness is not None
        assert len(set(made.witness.workers)) == 2
        assert all(made.witness.word in answer.lower() for answer in made.witness.answers)


def test_screening_settings() -> None:
    records = [given_by("a", "evaporating"), given_by("b", "evaporation"), given_by("c", "rain")]
    assert screen_question("q", records, ScreenSettings()).verdict == "pending"
    assert screen_question("q", records, ScreenSettings(stemming=True)).verdict == "pass"
    three = ScreenSettings(min_sharing=3, stemming=True)
    assert screen_question("q", records, three).reason == "no_shared_word"
    stop = ScreenSettings(stop_words=("rain",))
    both = [given_by("a", "rain"), given_by("b", "rain")]
    assert screen_question("q", both, stop).reason == "no_shared_word"


def test_answers_are_merged_with_their_support() -> None:
    records = [given_by("a", "The sun.", "light"), given_by("b", "sun"), given_by("c", "sun")]
    first, second = merge_answers(records)
    assert (first.text, first.support, first.workers) == ("sun", 3, ["a", "b", "c"])
    assert (second.text, second.support) == ("light", 1)
    assert majority_category({"single": 2, "many": 1}) == "single"
    assert majority_category({"single": 1, "many": 1}) is None


@given(st.lists(st.sampled_from(["rain", "the rain", "warm rain", "hail", "sun", ""]), max_size=6))
def test_one_more_worker_never_turns_a_pass_into_a_fail(texts: list[str]) -> None:
    records = [given_by(f"w{i}", *([text] if text else [])) for i, text in enumerate(texts)]
    verdicts = [
        screen_question("q", records[:count], ScreenSettings()).verdict
        for count in range(len(records) + 1)
    ]
    passed = [verdict == "pass" for verdict in verdicts]
    assert passed == sorted(passed)


# --- tasks, and the files of three tools


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    assert arc_da("filter", folder, "--arc", ARC) == 0
    assert arc_da("export-tasks", folder, "--format", "label-studio", "csv", "mturk") == 0
    return folder


def test_tasks_are_for_kept_questions_alone(work: Path) -> None:
    kept = {r["question_id"] for r in read_lines(work / "10_filtered.jsonl") if r["kept"]}
    tasks = json.loads((work / "20_tasks" / "label_studio_tasks.json").read_text())
    assert {task["data"]["question_id"] for task in tasks} == kept
    assert "ARCEZ_Pond_2" not in kept
    sheets = [read_table(work / "20_tasks" / f"answers_{n}.csv") for n in range(1, 6)]
    assert all({row["question_id"] for row in sheet} == kept for sheet in sheets)
    rows = read_table(work / "20_tasks" / "mturk_input.csv")
    asked = [row[f"question_id_{n}"] for row in rows for n in range(1, 6)]
    assert {name for name in asked if name} == kept
    options = {c["text"] for r in read_lines(work / "00_source.jsonl") for c in r["choices"]}
    text = (work / "20_tasks" / "answers_1.csv").read_text()
    assert not [option for option in options if f",{option}," in text]


def test_set_ups_are_well_formed(work: Path) -> None:
    for config in CONFIGS:
        root = ElementTree.fromstring(config)
        names = {node.get("name") for node in root.iter() if node.get("name")}
        targets = {node.get("toName") for node in root.iter() if node.get("toName")}
        assert targets <= names
    described = json.loads((work / "20_tasks" / "label_studio_project.json").read_text())
    assert described["maximum_annotations"] == 5
    assert described["show_instruction"]
    labels = {
        c.get("value") for c in ElementTree.fromstring(described["label_config"]).iter("Choice")
    }
    assert labels == set(CATEGORIES.values())


@pytest.mark.slow
def test_label_studio_accepts_the_set_ups(work: Path) -> None:
    """Asks Label Studio's own library, where it is installed."""
    interface = pytest.importorskip("label_studio_sdk.label_interface")
    for config in CONFIGS:
        interface.LabelInterface(config).validate()
    described = json.loads((work / "20_tasks" / "label_studio_project.json").read_text())
    tasks = json.loads((work / "20_tasks" / "label_studio_tasks.json").read_text())
    made = interface.LabelInterface(described["label_config"])
    assert made.validate_task({"data": tasks[0]["data"]})


class Tags(HTMLParser):
    """Checks that tags close in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.sources: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("br", "input"):
            self.open.append(tag)
        self.sources += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_pages_are_whole_and_load_nothing(work: Path) -> None:
    for name in ("instructions.html", "mturk_design.html"):
        tags = Tags()
        text = (work / "20_tasks" / name).read_text(encoding="utf-8")
        tags.feed(text)
        assert not tags.open
        assert not tags.sources
    for place in range(1, 6):
        assert f"${{question_{place}}}" in text
        assert f'name="answers_{place}"' in text


def label_studio_export(work: Path, answers: dict[str, list[tuple[str, str, str]]]) -> list[Any]:
    """What Label Studio's export of kind JSON holds."""
    tasks = json.loads((work / "20_tasks" / "label_studio_tasks.json").read_text())
    exported = []
    for number, task in enumerate(tasks):
        annotations = [
            {
                "id": 100 * number + place,
                "completed_by": {"id": place, "email": who} if place % 2 else place,
                "was_cancelled": text == "cancelled",
                "lead_time": 4.5,
                "created_at": f"2026-01-0{place + 1}T00:00:00Z",
                "result": [
                    {"from_name": "answers", "to_name": "question", "type": "textarea",
                     "value": {"text": text.split("|")}},
                    {"from_name": "category", "to_name": "question", "type": "choices",
                     "value": {"choices": [label]}},
                ],
            }
            for place, (who, text, label) in enumerate(answers.get(task["data"]["question_id"], []))
        ]  # fmt: skip
        exported.append({"id": number, "data": task["data"], "annotations": annotations})
    return exported


def test_label_studio_comes_back(work: Path, tmp_path: Path) -> None:
    given = {
        "ARCEZ_Kite_1": [
            ("ann@x", "gravity|its weight", "One clear answer"),
            ("bo@x", "gravity", "One clear answer"),
            ("cy@x", "cancelled", "Very many answers"),
        ]
    }
    path = tmp_path / "export.json"
    path.write_text(json.dumps(label_studio_export(work, given)), encoding="utf-8")
    assert arc_da("import-answers", work, path) == 0
    records = read_lines(work / "30_crowd.jsonl")
    assert sorted(record["answers"] for record in records) == [
        ["gravity"], ["gravity", "its weight"]]  # fmt: skip
    assert {record["category"] for record in records} == {"single"}
    assert "ann@x" not in (work / "30_crowd.jsonl").read_text()


def annotations(path: Path) -> list[TaskResult]:
    return list(read_annotations(read_records(str(path)), str(path)))


def test_the_small_exports_say_the_same(tmp_path: Path) -> None:
    row = {"id": 1, "question_id": "q", "question": "?", "answers": "rain", "annotator": 3,
           "annotation_id": 9, "category": "Very many answers", "lead_time": 1.5}  # fmt: skip
    several = {**row, "answers": {"text": ["rain", "hail"]}, "category": {"choices": ["x"]}}
    path = tmp_path / "min.json"
    path.write_text(json.dumps([row, several]), encoding="utf-8")
    first, second = annotations(path)
    assert first.values["answers"] == ["rain"]
    assert second.values["answers"] == ["rain", "hail"]
    assert (first.person, first.assignment, first.seconds) == ("3", "9", 1.5)
    table = write_table(tmp_path / "min.csv", [{**row, "answers": '["rain", "hail"]'}])
    (third,) = annotations(table)
    assert third.values["answers"] == ["rain", "hail"]


def test_sheets_come_back(work: Path) -> None:
    for number, answers in ((1, "gravity; weight"), (2, "'-9.8 gravity")):
        path = work / "20_tasks" / f"answers_{number}.csv"
        rows = read_table(path)
        for row in rows:
            if row["question_id"] == "ARCEZ_Kite_1":
                row["answers"], row["category"] = answers, "1"
        write_table(path, rows)
        assert arc_da("import-answers", work, path, "--worker", f"person {number}") == 0
    records = read_lines(work / "30_crowd.jsonl")
    assert [r["answers"] for r in sorted(records, key=lambda r: r["raw"])] == [
        ["-9.8 gravity"], ["gravity", "weight"]]  # fmt: skip


def test_a_sheet_of_nobody_is_refused(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = work / "20_tasks" / "answers_1.csv"
    rows = read_table(path)
    rows[0]["answers"] = "rain"
    write_table(path, rows)
    assert arc_da("import-answers", work, path) == 2
    assert "no name is given" in capsys.readouterr().err
    assert not (work / "30_crowd.jsonl").exists()


def test_mechanical_turk_comes_back(work: Path, tmp_path: Path) -> None:
    classic = {
        "WorkerId": "W1", "AssignmentId": "A1", "AssignmentStatus": "Approved",
        "WorkTimeInSeconds": "61", "SubmitTime": "Mon Nov 30 10:00:00 PST 2026",
        "Input.question_id_1": "ARCEZ_Kite_1",
        "Input.question_1": "?", "Answer.answers_1": "gravity; weight",
        "Answer.category_1": "single",
        "Input.question_id_2": "", "Answer.answers_2": "", "Answer.category_2": "",
    }  # fmt: skip
    crowd_form = {
        **dict.fromkeys(classic, ""), "WorkerId": "W2", "Input.question_id_1": "ARCEZ_Kite_1",
        "Answer.taskAnswers": json.dumps(
            [{"answers_1": "gravity", "category_1": {"single": True, "many": False}}]
        ),
    }  # fmt: skip
    rejected = {**classic, "WorkerId": "W3", "AssignmentStatus": "Rejected"}
    rows = [{"Answer.taskAnswers": "", **row} for row in (classic, crowd_form, rejected)]
    path = write_table(tmp_path / "batch.csv", rows)
    assert arc_da("import-answers", work, path) == 0
    records = sorted(read_lines(work / "30_crowd.jsonl"), key=lambda r: r["raw"])
    assert [r["answers"] for r in records] == [["gravity"], ["gravity", "weight"]]
    assert {r["category"] for r in records} == {"single"}
    assert records[1]["seconds"] == 61.0


def test_importing_twice_changes_nothing_and_later_replaces(work: Path, tmp_path: Path) -> None:
    one = {"question_id": "ARCEZ_Kite_1", "worker_id": "w", "answers": ["gravity"],
           "category": "single", "submitted_at": "2026-01-02"}  # fmt: skip
    path = write_lines(tmp_path / "a.jsonl", [one])
    assert arc_da("import-answers", work, path) == 0
    first = (work / "30_crowd.jsonl").read_bytes()
    assert arc_da("import-answers", work, path) == 0
    assert (work / "30_crowd.jsonl").read_bytes() == first
    later = {**one, "answers": ["weight"], "submitted_at": "2026-01-03"}
    earlier = {**one, "answers": ["wind"], "submitted_at": "2026-01-01"}
    write_lines(path, [later, earlier])
    assert arc_da("import-answers", work, path) == 0
    (left,) = read_lines(work / "30_crowd.jsonl")
    assert left["answers"] == ["weight"]


def test_tasks_again_are_for_what_is_missing(work: Path, tmp_path: Path) -> None:
    lines = [{"question_id": "ARCEZ_Kite_1", "worker_id": w, "answers": "gravity"} for w in "abcde"]
    lines += [{"question_id": "ARCEZ_Marsh_2", "worker_id": w, "answers": "methane"} for w in "ab"]
    path = write_lines(tmp_path / "a.jsonl", lines)
    assert arc_da("import-answers", work, path) == 0
    assert arc_da("export-tasks", work) == 0
    tasks = json.loads((work / "20_tasks" / "label_studio_tasks.json").read_text())
    wanted = {task["data"]["question_id"]: task["meta"]["wanted"] for task in tasks}
    assert "ARCEZ_Kite_1" not in wanted
    assert wanted["ARCEZ_Marsh_2"] == 3
    fourth = {row["question_id"] for row in read_table(work / "20_tasks" / "answers_4.csv")}
    assert "ARCEZ_Marsh_2" not in fourth
    assert "Kite_1" not in (work / "20_tasks" / "mturk_input.csv").read_text()  # same formats
    assert arc_da("export-tasks", work, "--format", "csv") == 0
    assert not (work / "20_tasks" / "mturk_input.csv").exists()  # of the export before
    assert (work / "20_tasks" / "answers_1.csv").exists()


def test_filled_sheets_are_never_overwritten(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = work / "20_tasks" / "answers_1.csv"
    path.write_text(path.read_text() + "filled in\n", encoding="utf-8")
    (work / "20_tasks" / "notes.txt").write_text("mine", encoding="utf-8")
    assert arc_da("export-tasks", work) == 2
    assert "was edited since" in capsys.readouterr().err
    assert arc_da("export-tasks", work, "--force") == 0
    assert (work / "20_tasks" / "notes.txt").exists()


def test_same_seed_same_tasks(work: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    assert arc_da("filter", other, "--arc", ARC) == 0
    assert arc_da("export-tasks", other, "--format", "label-studio", "csv", "mturk") == 0
    for path in sorted((work / "20_tasks").iterdir()):
        assert path.read_bytes() == (other / "20_tasks" / path.name).read_bytes()
    assert arc_da("export-tasks", other, "--seed", 3) == 0
    first = json.loads((work / "20_tasks" / "label_studio_tasks.json").read_text())
    second = json.loads((other / "20_tasks" / "label_studio_tasks.json").read_text())
    assert first != second
    assert len(first) == len(second)


@pytest.mark.parametrize("content", ["", "[]", '{"a": 1}', "a,b\n1,2\n", "[1]"])
def test_files_of_no_known_kind(
    work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    path = tmp_path / "x.json"
    path.write_text(content, encoding="utf-8")
    assert arc_da("import-answers", work, path) == 2
    assert "x.json" in capsys.readouterr().err


@given(st.text(max_size=20))
def test_cells_are_guarded_and_freed(text: str) -> None:
    guarded = guard_cell(text)
    assert guarded[:1] not in ("=", "+", "-", "@")
    assert free_cell(guarded) == text
