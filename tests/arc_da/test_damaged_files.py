"""Files of people and programs: read as they were meant, or refused with the record's number."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.arc_da.small_conversion import said
from tests.arc_da_files import ARC, RELEASE, arc_da, read_lines, read_table, write_lines
from twowiki.arc_da.features import question_tables
from twowiki.arc_da.metric.lists import score_lists
from twowiki.arc_da.predictions import read_answers
from twowiki.arc_da.schema import parse_choices
from twowiki.errors import DataError
from twowiki.human.ratings import read_ratings
from twowiki.human.task_files import free_cell, to_csv
from twowiki.io.records import read_delimited as read_strict
from twowiki.io.records import read_records

IDS = ("a", "b", "c")


def written(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def predictions(path: Path, text: str) -> dict[str, str]:
    return read_answers(written(path, text), IDS)


# --- the strict reader


@pytest.mark.parametrize(
    ("text", "message", "record"),
    [
        ("question_id,prediction\na,x\nb,y,z\n", "has 3 cells, the header has 2", 2),
        ("question_id,prediction\na,x\nb\n", "has 1 cells, the header has 2", 2),
        ('question_id,prediction\na,"x\nb,y\nc,z\n', "quotation mark is not closed", 1),
        ('question_id,prediction\na,x\nb,"y\nc,"z\n', "from line 3 on", 2),
        ('question_id,prediction\na,"x"y\n', "quotation mark", 1),
        ("question_id,prediction,prediction\na,x,y\n", "two columns are named", None),
        ("question_id, prediction ,prediction\na,x,y\n", "two columns are named", None),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_rows_that_do_not_fit_are_refused(
    tmp_path: Path, text: str, message: str, record: int | None, ending: str
) -> None:
    text = text.replace(",", "\t") if ending == "tsv" else text
    with pytest.raises(DataError, match=message) as caught:
        predictions(tmp_path / f"p.{ending}", text)
    assert caught.value.record == (None if record is None else str(record))
    assert caught.value.file is not None
    assert caught.value.remedy


@pytest.mark.parametrize(
    "text",
    [
        "question_id;prediction\na;x, y\nb;z\n",
        "\ufeffquestion_id\tprediction\r\na\tx, y\r\nb\tz\r\n",
        "sep=;\nquestion_id;prediction\na;x, y\nb;z\n",
        ' question_id , prediction \na,"x, y"\nb,z\n',
        'question_id,prediction,,\na,"x, y",,\nb,z,,\n,,,\n\n',
        'question_id,prediction\ra,"x, y"\rb,z\r',
        ',question_id,prediction\n0,a,"x, y"\n1,b,z\n',
        'question_id,"prediction"\na,"x, y"\nb,z\n',
    ],
)
@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_tables_of_any_spreadsheet_are_read(tmp_path: Path, text: str, ending: str) -> None:
    assert predictions(tmp_path / f"p.{ending}", text) == {"a": "x, y", "b": "z"}


NAMES = st.lists(st.text("abc XY", min_size=1).filter(str.strip), min_size=2, max_size=4,
                 unique_by=str.strip)  # fmt: skip
CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8)


@given(NAMES, st.data(), st.sampled_from([",", ";", "\t"]), st.booleans())
def test_what_a_csv_writer_writes_comes_back(
    names: list[str], data: st.DataObject, separator: str, quote: bool
) -> None:
    row = st.lists(CELLS, min_size=len(names), max_size=len(names))
    rows = data.draw(st.lists(row.filter(lambda cells: any(map(str.strip, cells))), max_size=4))
    text = io.StringIO()
    quoting = csv.QUOTE_ALL if quote else csv.QUOTE_MINIMAL
    csv.writer(text, delimiter=separator, quoting=quoting).writerows([names, *rows])
    keys = [name.strip() for name in names]
    found = list(read_strict(io.StringIO(text.getvalue(), newline="")))
    assert found == [dict(zip(keys, cells, strict=True)) for cells in rows]


@given(st.lists(st.lists(CELLS, min_size=2, max_size=2).filter("".join), max_size=4))
def test_our_own_tables_come_back(rows: list[list[str]]) -> None:
    text = io.StringIO(to_csv([("one", "two"), *rows]), newline="")
    found = [[free_cell(cell) for cell in record.values()] for record in read_strict(text)]
    assert found == [row for row in rows if any(map(str.strip, row))]


def test_every_reader_of_tables_is_strict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work = tmp_path / "work"
    assert arc_da("filter", work, "--arc", ARC) == 0
    sheet = written(tmp_path / "s.csv", "question_id,question,answers,category,worker_id\n"
                    "ARCEZ_Kite_1,q,gravity, weight,single,ann\n")  # fmt: skip
    table = "system,question_id,rater,rating\ns,q,ann,agree,agree\n"
    outputs = "id,s,credit-s,t,credit-t\nq,x,1,y\n"
    for arguments in (
        ("import-answers", work, sheet),
        ("genie", written(tmp_path / "r.csv", table)),
        ("expert", written(tmp_path / "r.csv", table)),
        ("metric-agreement", written(tmp_path / "o.tsv", outputs.replace(",", "\t"))),
        ("mc-score", written(tmp_path / "p.csv", "id,prediction\nKite_1\n"), ARC),
    ):
        capsys.readouterr()
        assert arc_da(*arguments) == 2
        assert "record 1: the row (line 2) has" in capsys.readouterr().err


# --- texts and ids


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": "ice", "a": "fire"}', "answered twice"),
        ('{"answer": {"a": "ice", "a": "fire"}}', "answered twice"),
        ('{"a": NaN}', "the answer is nan"),
        ('{"a": -Infinity}', "the answer is -inf"),
        ('{"a": {"b": 1}}', "must be one text"),
        ('{"question_id": "a", "prediction": NaN}\n', "the answer is nan"),
        ('{"question_id": 5, "prediction": "x"}\n', "no question id"),
    ],
)
def test_answers_that_are_no_answers(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        predictions(tmp_path / "p.json", text)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("record", "field"),
    [
        (said("ARCEZ_Kite_1", "w", ["heat", None]), "answers"),
        (said("ARCEZ_Kite_1", "w", {"text": "heat"}), "answers"),
        (said("ARCEZ_Kite_1", "w", True), "answers"),
        (said("ARCEZ_Kite_1", "w", float("nan")), "answers"),
        ({"question_id": "ARCEZ_Kite_1", "worker_id": "w", "category": "single"}, "answers"),
        ({"question_id": None, "worker_id": "w", "answers": "heat"}, "question_id"),
        ({"question_id": 5, "worker_id": "w", "answers": "heat"}, "question_id"),
        ({"worker_id": "w", "answers": "heat"}, "question_id"),
        (said("ARCEZ_Kite_1", 1.5, "heat"), "worker_id"),
        (said("ARCEZ_Kite_1", ["w"], "heat"), "worker_id"),
        (said("ARCEZ_Kite_1", "w", "heat", category=["single", 5]), "category"),
    ],
)
def test_records_of_workers_that_are_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], record: dict[str, Any], field: str
) -> None:
    work = tmp_path / "work"
    assert arc_da("filter", work, "--arc", ARC) == 0
    path = write_lines(tmp_path / "a.jsonl", [said("ARCEZ_Kite_1", 7, "gravity"), record])
    assert arc_da("import-answers", work, path) == 2
    assert f"a.jsonl, record 2, field '{field}'" in capsys.readouterr().err
    assert not (work / "30_crowd.jsonl").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"system": 5}, {"question_id": None}, {"question_id": 5}, {"rater": 1.5}, {"rating": True},
        {"rating": float("nan")}, {"rating": "1e400"}, {"rater": True},
    ],
)  # fmt: skip
def test_ratings_that_are_none(tmp_path: Path, change: dict[str, Any]) -> None:
    one = {"system": "s", "question_id": "q", "rater": 3, "rating": "agree"}
    path = write_lines(tmp_path / "r.jsonl", [one, {**one, "question_id": "z", **change}])
    with pytest.raises(DataError, match="number 2"):
        read_ratings(str(path))


# --- damaged exports and the like: an error, never a traceback


@pytest.mark.parametrize(
    "content",
    [
        [{"data": {"question_id": "q"}, "annotations": [{"id": 1, "result": ["x"]}]}],
        [{"data": {"question_id": "q"}, "annotations": [{"id": 1, "result": "x"}]}],
        [{"data": {"question_id": "q"}, "annotations": [5]}],
        [{"data": {"question_id": "q"}, "annotations": 5}],
        [{"data": {"question_id": "q", "task": "t"}, "annotations": []}, 5],
        [{"data": 5, "annotations": []}],
        [{"WorkerId": "W", "Answer.taskAnswers": "[1]"}],
        [{"WorkerId": "W", "Answer.taskAnswers": "5"}],
        [{"WorkerId": "W", "Answer.taskAnswers": 5}],
        [{"WorkerId": "W", "AssignmentStatus": None}, 5],
        [{"WorkerId": 5, "Answer.answers_1": "x", "Input.question_id_1": "q"}],
        [{"WorkerId": "W", "Answer.answers_1": "x"}],
    ],
)
def test_damaged_exports_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: Any
) -> None:
    work = tmp_path / "work"
    assert arc_da("filter", work, "--arc", ARC) == 0
    path = written(tmp_path / "x.json", json.dumps(content))
    rating = tmp_path / "rating"
    export = ("rate-export", rating, RELEASE, "--split", "train", "--gold-system", "--tests", 0)
    assert arc_da(*export) == 0
    for arguments in (("import-answers", work, path), ("rate-import", rating, path)):
        capsys.readouterr()
        assert arc_da(*arguments) == 2
        assert "x.json" in capsys.readouterr().err


@pytest.mark.parametrize("raw", [{"label": 5, "text": 3}, {"label": ["A"]}, {"text": ["x"]}, {}])
def test_options_that_are_no_lists(raw: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="two lists"):
        parse_choices(raw, "q")


@pytest.mark.parametrize(
    ("said_", "golds"),
    [(["a"], [None]), (["a"], [5]), (["a"], ["a"]), (["a"], [[5]]), (["a"], [[None]]), ([5], [[]])],
)
def test_lists_that_are_none(said_: list[Any], golds: list[Any]) -> None:
    with pytest.raises(DataError, match="list of texts|not a text|not a list"):
        score_lists(said_, golds)


def test_one_id_twice_in_a_split_is_refused(tmp_path: Path) -> None:
    line = (RELEASE / "train.jsonl").read_text(encoding="utf-8").splitlines()[0] + "\n"
    one, two = written(tmp_path / "1.jsonl", line), written(tmp_path / "2.jsonl", line)
    with pytest.raises(DataError, match="the id comes twice .first in the same file"):
        list(question_tables([str(written(tmp_path / "3.jsonl", line + line))]))
    with pytest.raises(DataError, match=r"the id comes twice .first in .*1\.jsonl"):
        list(question_tables([str(one), str(two)]))


def test_bytes_that_are_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    work = tmp_path / "work"
    assert arc_da("filter", work, "--arc", ARC) == 0
    lines = [said("ARCEZ_Kite_1", worker, "gravity") for worker in "ab"]
    assert arc_da("import-answers", work, write_lines(tmp_path / "a.jsonl", lines)) == 0
    assert arc_da("screen", work, "--people", 2) == 0
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"the\n\xff\n")
    for arguments in (
        ("screen", work, "--stop-words", bad),
        ("screen", work, "--stop-words", tmp_path),
        ("release", work, "--allow-repeats", bad),
        ("release", work, "--allow-repeats", tmp_path / "none"),
        ("score", tmp_path / "a.jsonl", RELEASE, "--split", "train", "--subset", bad),
    ):
        capsys.readouterr()
        assert arc_da(*arguments) == 2
        assert str(arguments[-1]) in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_pipes_are_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    text = b"question_id,prediction\na,ice\n"
    writer = threading.Thread(target=pipe.write_bytes, args=(text,))
    writer.start()
    found = list(read_records(str(pipe)))
    writer.join()
    assert found == [(1, {"question_id": "a", "prediction": "ice"})]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_names_survive_any_terminal(tmp_path: Path, encoding: str) -> None:
    work = tmp_path / "work"
    assert arc_da("filter", work, "--arc", ARC) == 0
    sheet = "question_id,answers\nARCEZ_Kite_1,gr\u00e4vity \u91cd\n"
    path = written(tmp_path / "s.csv", sheet)
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": encoding,
                   "PYTHONCOERCECLOCALE": "0"}  # fmt: skip
    command = [sys.executable, "-m", "twowiki", "arc-da"]
    for arguments in (
        ["convert", "import-answers", work, path, "--worker", "zo\u00eb"],
        ["rate-export", tmp_path / "r", RELEASE, "--split", "train", "--tests", "0", "--system",
         f"\u91cd={written(tmp_path / 'p.jsonl', '')}", "--gold-system"],
    ):  # fmt: skip
        done = subprocess.run([*command, *map(str, arguments)], env=environment,
                              capture_output=True, check=False)  # fmt: skip
        assert b"Traceback" not in done.stderr
    (first,) = read_lines(work / "30_crowd.jsonl")
    assert arc_da("import-answers", work, path, "--worker", "zo\u00eb") == 0
    assert read_lines(work / "30_crowd.jsonl") == [first]  # the same person


# --- Mechanical Turk's table


def test_mechanical_turk_sees_what_was_written(tmp_path: Path) -> None:
    work = tmp_path / "work"
    arc = tmp_path / "ARC-Easy-Train.jsonl"
    stems = {"=1&2": "=SUM <b>is</b> what?", "-x": "-5 degrees is what?", "a<b": "What is moss?"}
    write_lines(arc, [
        {"id": name, "question": {"stem": stem, "choices": [
            {"label": "A", "text": "x1"}, {"label": "B", "text": "y1"}]}, "answerKey": "A"}
        for name, stem in stems.items()
    ])  # fmt: skip
    assert arc_da("filter", work, "--arc", arc) == 0
    assert arc_da("export-tasks", work, "--format", "mturk", "--people", 2) == 0
    (row,) = read_table(work / "20_tasks" / "mturk_input.csv")
    cells = [cell for cell in row.values() if cell]
    assert not [cell for cell in cells if cell[0] in "=+-@'" or "<" in cell]
    answers = {f"Input.{name}": cell for name, cell in row.items()}
    answers |= {f"Answer.answers_{place}": "moss" for place in (1, 2, 3)}
    path = tmp_path / "batch.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, ["WorkerId", *answers])
        writer.writeheader()
        writer.writerow({"WorkerId": "W", **answers})
    assert arc_da("import-answers", work, path) == 0
    records = read_lines(work / "30_crowd.jsonl")
    assert {record["question_id"] for record in records} == {f"ARCEZ_{name}" for name in stems}
    assert {record["status"] for record in records} == {"answered"}
