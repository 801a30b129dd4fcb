"""ARC-DA and ARC as data: every layout in, the same record out, errors that name the place."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import twowiki
from tests.arc_da_files import ARC, DATA, RELEASE, arc_da, read_lines, write_lines
from twowiki.arc_da.features import arc_da_features, arrow_schema, question_tables
from twowiki.arc_da.schema import (
    Choice,
    Question,
    attach_choices,
    parse_multiple_choice,
    parse_question,
    question_to_official,
    question_to_row,
    split_options,
)
from twowiki.arc_da.sources import find_question_splits as find_files
from twowiki.arc_da.sources import (
    index_by_id,
    parse_file,
    read_gold_questions,
    read_multiple_choice,
    read_questions,
)
from twowiki.errors import DataError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)


def raw_choices(labels: str, key: Any) -> dict[str, Any]:
    choices = [{"text": f"text {label}", "label": label} for label in labels]
    return {"id": "Q1", "question": {"stem": "What?", "choices": choices}, "answerKey": key}


def test_records_come_back_as_they_were() -> None:
    for name in ("train", "dev"):
        records = read_lines(RELEASE / f"{name}.jsonl")
        assert [question_to_official(q) for q in read_questions(RELEASE, split=name)] == records


@given(
    identity=TEXT,
    question=TEXT,
    tag=st.none() | st.text(),
    answers=st.lists(st.text(st.characters(exclude_categories=["Cs"]))),
)
def test_any_record_comes_back(
    identity: str, question: str, tag: str | None, answers: list[str]
) -> None:
    raw = {"question_id": identity, "tag": tag, "question": question, "answers": answers}
    parsed = parse_question(raw)
    assert question_to_official(parsed) == raw
    assert parse_question(question_to_row(parsed)) == parsed


def test_difficulty_is_the_prefix_and_the_split_is_the_tags_end() -> None:
    question = Question("ARCCH_Glade_1", "EASY-TEST", "?")
    assert (question.difficulty, question.source_split) == ("challenge", "test")
    assert question.arc_id == "Glade_1"
    assert Question("x", "CHALLENGE-DEV", "?").difficulty == "challenge"
    assert Question("x", None, "?").difficulty is None
    assert Question("x", "odd", "?").source_split is None


@pytest.mark.parametrize(
    ("labels", "key", "text"),
    [
        ("1234", "3", "text 3"),
        ("ABCDE", "E", "text E"),
        ("ABC", "C", "text C"),
        ("ABCD", "2", "text B"),
        ("1234", "D", "text 4"),
        ("ABC", "", None),
        ("ABC", None, None),
    ],
)
def test_keys_are_looked_up_in_the_labels(labels: str, key: Any, text: str | None) -> None:
    parsed = parse_multiple_choice(raw_choices(labels, key))
    assert parsed.key_text == text
    assert len(parsed.choices) == len(labels)


@pytest.mark.parametrize("key", ["5", "E", "0", "AB"])
def test_a_key_that_names_no_option_is_an_error(key: str) -> None:
    with pytest.raises(DataError, match="none of the labels") as caught:
        parse_multiple_choice(raw_choices("ABCD", key))
    assert caught.value.record == "Q1"


def test_the_mirrors_layouts_say_the_same() -> None:
    ours = parse_multiple_choice(raw_choices("ABC", "B"))
    columns = {"text": [c.text for c in ours.choices], "label": [c.label for c in ours.choices]}
    mirror = {"id": "Q1", "question": "What?", "choices": columns, "answerKey": "B"}
    assert parse_multiple_choice(mirror) == ours
    pairs = {**mirror, "choices": [c._asdict() for c in ours.choices]}
    assert parse_multiple_choice(pairs) == ours
    table = {"questionID": "Q1", "AnswerKey": "B",
             "question": "What? (A) text A (B) text B (C) text C"}  # fmt: skip
    assert parse_multiple_choice(table) == ours


@pytest.mark.parametrize(
    ("text", "stem", "options"),
    [
        ("Ice is (A) cold. (B) hot.", "Ice is", [("A", "cold."), ("B", "hot.")]),
        ("Ice is A) cold B) hot", "Ice is", [("A", "cold"), ("B", "hot")]),
        ("Ice is A. cold B. hot C. dry", "Ice is", [("A", "cold"), ("B", "hot"), ("C", "dry")]),
        ("Ice is (1) cold (2) hot", "Ice is", [("1", "cold"), ("2", "hot")]),
        ("Ice is (G) a (H) b (J) c (K) d", "Ice is", list(zip("GHJK", "abcd", strict=True))),
        ("3.5 kg (A) falls (B) rises", "3.5 kg", [("A", "falls"), ("B", "rises")]),
        ("Vitamin (A) is good", "Vitamin (A) is good", []),
        ("No labels here.", "No labels here.", []),
        ("Start at (B) then (C) end", "Start at (B) then (C) end", []),
    ],
)  # fmt: skip
def test_options_in_a_text(text: str, stem: str, options: list[tuple[str, str]]) -> None:
    assert split_options(text) == (stem, options)


def test_the_options_are_joined_by_id() -> None:
    arc = index_by_id(read_multiple_choice(ARC))
    questions = {q.question_id: q for q in read_questions(RELEASE, arc=arc)}
    kite = questions["ARCEZ_Kite_2"]
    assert kite.choices[0] == Choice("1", "a ruler")
    assert (kite.answer_key, kite.key_text) == ("1", "a ruler")
    assert questions["ARCEZ_Pond_3"].key_text == "shelter"  # its key is written 1, labels A-D
    assert questions["ARCCH_Marsh_3"].choices == ()
    assert attach_choices(kite, {}) is kite


def test_arc_knows_difficulty_and_split_by_names() -> None:
    found = {q.question_id: (q.difficulty, q.split) for q in read_multiple_choice(ARC)}
    assert found["ARCEZ_Pond_1"] == ("easy", "train")
    assert found["ARCCH_Glade_1"] == ("challenge", "train")
    assert found["ARCEZ_Marsh_1"] == ("easy", "dev")
    assert read_multiple_choice(ARC / "ARC-Challenge-Train.jsonl")[0].id == "Glade_1"


def test_mirror_folder_and_tables(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {"text": ["ice", "steam"], "label": ["A", "B"]}
    row = {"id": "Q9", "question": "What?", "choices": columns, "answerKey": "B"}
    place = tmp_path / "ARC-Easy"
    place.mkdir()
    pq.write_table(pa.Table.from_pylist([row]), place / "validation-00000-of-00001.parquet")
    (tmp_path / "ARC-Challenge-Test.csv").write_text(
        'questionID,AnswerKey,question\nQ8,2,"What? (A) ice (B) steam"\n', encoding="utf-8"
    )
    (tmp_path / "ARC_Corpus.txt").write_text("a sentence\n", encoding="utf-8")
    found = {q.question_id: q for q in read_multiple_choice(tmp_path)}
    assert set(found) == {"ARCEZ_Q9", "ARCCH_Q8"}
    assert found["ARCEZ_Q9"].key_text == found["ARCCH_Q8"].key_text == "steam"
    assert (found["ARCEZ_Q9"].split, found["ARCCH_Q8"].split) == ("dev", "test")


def pack(folder: Path) -> dict[str, Path]:
    """The same dev file in every form that can be read."""
    text = (RELEASE / "dev.jsonl").read_bytes()
    records = [json.loads(line) for line in text.splitlines()]
    made = {
        "gz": (folder / "dev.jsonl.gz", gzip.compress(text)),
        "bz2": (folder / "dev.jsonl.bz2", bz2.compress(text)),
        "xz": (folder / "dev.jsonl.xz", lzma.compress(text)),
        "windows": (folder / "win.jsonl", b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n")),
        "array": (folder / "dev.json", json.dumps(records).encode()),
        "no ending": (folder / "blob", gzip.compress(text)),
    }
    for path, content in made.values():
        path.write_bytes(content)
    return {name: path for name, (path, _) in made.items()}


def test_every_form_of_a_file_reads_the_same(tmp_path: Path) -> None:
    plain = list(parse_file(str(RELEASE / "dev.jsonl")))
    for name, path in pack(tmp_path).items():
        assert list(parse_file(str(path))) == plain, name


def test_folder_parent_and_zip(tmp_path: Path) -> None:
    shutil.copytree(RELEASE, tmp_path / "ARC-DA-v1.1")
    shutil.make_archive(str(tmp_path / "zips" / "ARC-DA-v1.1"), "zip", tmp_path, "ARC-DA-v1.1")
    plain = list(read_questions(RELEASE))
    archive = tmp_path / "zips" / "ARC-DA-v1.1.zip"
    for source in (tmp_path / "ARC-DA-v1.1", tmp_path, archive, tmp_path / "zips"):
        assert list(read_questions(source)) == plain
        assert list(find_files(source)) == ["train", "validation", "test"]
    names = ("train", "validation", "test")
    assert find_files(archive, whole_zips=True) == {name: [str(archive)] for name in names}
    rows = [
        row for t in question_tables([str(archive)], split="validation") for row in t.to_pylist()
    ]
    assert [row["question_id"] for row in rows] == list(read_gold_questions(RELEASE, split="dev"))


def test_the_first_word_of_one_file_tells_its_split(tmp_path: Path) -> None:
    path = shutil.copy(RELEASE / "test.jsonl", tmp_path / "test_sample_100.jsonl")
    assert list(find_files(path)) == ["test"]


def test_what_lies_beside_is_left_alone(tmp_path: Path) -> None:
    shutil.copytree(RELEASE, tmp_path, dirs_exist_ok=True)
    for name in ("dev_predictions.jsonl", "test_sample_100.jsonl", ".dev.jsonl", "notes.json"):
        (tmp_path / name).write_text("{}\n", encoding="utf-8")
    assert find_files(tmp_path) == {
        "train": [str(tmp_path / "train.jsonl")],
        "validation": [str(tmp_path / "dev.jsonl")],
        "test": [str(tmp_path / "test.jsonl")],
    }
    (tmp_path / "validation.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(DataError, match="several files for the split"):
        find_files(tmp_path)


def test_an_unsafe_zip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ARC-DA-v1.1.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../dev.jsonl", "{}")
    with pytest.raises(DataError, match="unsafe zip"):
        find_files(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"question_id": "q", "question": "?", "answers": "one"}', "answers.*list of texts"),
        (b'{"question_id": "q", "question": "?", "answers": [1]}', "texts only, found int"),
        (b'{"question_id": "q", "question": "?", "answers": [null]}', "texts only"),
        (b'{"question": "?", "answers": []}', "question_id.*missing"),
        (b'{"question_id": "", "question": "?"}', "question_id"),
        (b'{"question_id": "q", "answers": []}', "question.*missing"),
        (b'{"question_id": "q", "question": " "}', "non-empty"),
        (b'{"question_id": "q", "question": "?", "tag": 3}', "tag"),
        (b'{"question_id": "q", "question": "?"', "truncated"),
        (b"[1, 2]", "must be a JSON object"),
        (b"question_id\n", "not JSON"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"<html>", "web page"),
        (b"\x1f\x8b\x08\x00broken", "dev.jsonl"),
        (b"", "empty"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "dev.jsonl"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        list(read_questions(path))
    assert str(path) in str(caught.value)


def test_missing_places_and_splits(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file or folder"):
        list(read_questions(tmp_path / "nothing"))
    with pytest.raises(DataError, match="no ARC-DA split found"):
        list(read_questions(tmp_path))
    with pytest.raises(DataError, match="no ARC questions found"):
        read_multiple_choice(tmp_path)
    write_lines(tmp_path / "train.jsonl", read_lines(RELEASE / "train.jsonl"))
    with pytest.raises(DataError, match="no split 'test'; it holds train"):
        list(read_questions(tmp_path, split="test"))


def test_an_id_that_comes_twice_is_an_error(tmp_path: Path) -> None:
    records = read_lines(RELEASE / "dev.jsonl")
    path = write_lines(tmp_path / "dev.jsonl", [*records, records[0]])
    with pytest.raises(DataError, match="duplicate id"):
        read_gold_questions(path)
    arc = read_lines(ARC / "ARC-Easy-Dev.jsonl")
    twice = write_lines(tmp_path / "ARC-Easy-Dev.jsonl", [*arc, arc[0]])
    with pytest.raises(DataError, match="duplicate id"):
        read_multiple_choice(twice)


def test_tables_have_the_typed_schema() -> None:
    assert arc_da_features().arrow_schema.remove_metadata() == arrow_schema()
    (table,) = question_tables([str(RELEASE / "train.jsonl")], arc_dir=ARC)
    assert table.schema == arrow_schema()
    first = table.to_pylist()[0]
    assert (first["difficulty"], first["source_split"], first["answer_key"]) == (0, "train", "A")
    (blind,) = question_tables([str(RELEASE / "test.jsonl")])
    assert blind.column("answers").to_pylist() == [[], []]
    assert blind.column("answer_key").to_pylist() == [None, None]
    assert not twowiki.data.has_gold(blind.to_pylist())
    assert twowiki.data.has_gold(table.to_pylist())


def test_hidden_labels_are_none() -> None:
    label = arc_da_features()["difficulty"]
    with pytest.raises(ValueError, match=r"-1"):
        label.int2str(-1)
    assert Question("x", None, "?").difficulty is None


@pytest.mark.slow
def test_load_stream_and_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    import datasets

    loaded = twowiki.load_dataset("arc_da", data_dir=RELEASE, arc_dir=ARC)
    assert {name: len(split) for name, split in loaded.items()} == {
        "train": 5, "validation": 3, "test": 2}  # fmt: skip
    assert loaded["train"].features == arc_da_features()
    rows = {row["question_id"]: row for row in loaded["train"]}
    assert rows["ARCEZ_Kite_2"]["choices"][0] == {"label": "1", "text": "a ruler"}
    streamed = datasets.load_dataset("twowiki", "arc_da", data_dir=str(RELEASE), streaming=True)
    assert [
        question_to_official(parse_question(row)) for row in streamed["validation"]
    ] == read_lines(RELEASE / "dev.jsonl")
    from twowiki.cli.main import main

    out = tmp_path / "out"
    assert main(["export", str(RELEASE), str(out), "--config", "arc_da"]) == 0
    exported = datasets.load_dataset(str(out), "arc_da")
    assert exported["train"].features == arc_da_features()
    assert list(read_questions(out, split="dev")) == list(read_questions(RELEASE, split="dev"))


def test_stats_prints_both_readings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    types = write_lines(
        tmp_path / "types.jsonl",
        [
            {"id": "Kite_1", "knowledge": ["physics"], "reasoning": ["multihop"]},
            {"id": "ARCEZ_Pond_1", "knowledge": "physics; water"},
        ],
    )
    out = tmp_path / "stats.json"
    assert arc_da("stats", RELEASE, "--arc", ARC, "--types", types, "--json", out) == 0
    text = capsys.readouterr().out
    assert "words per answer (mean over answers)" in text
    assert "words per answer (mean of per-question means)" in text
    train = json.loads(out.read_text())["splits"]["train"]
    assert (train["questions"], train["answers"]) == (5, 13)
    words = [[5, 2, 5, 2], [1, 1], [1], [2, 2, 2], [4, 3, 2]]
    assert train["words_per_answer"] == pytest.approx(sum(map(sum, words)) / 13)
    means = [sum(counts) / len(counts) for counts in words]
    assert train["words_per_answer_by_question"] == pytest.approx(sum(means) / 5)
    assert train["key_among_answers"] == 5
    assert json.loads(out.read_text())["types"]["ARC-DA"]["knowledge"] == {"physics": 2, "water": 1}
    assert json.loads(out.read_text())["splits"]["test"]["no_answer"] == 2


def test_stats_tells_repeats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = read_lines(RELEASE / "dev.jsonl")
    again = {**records[0], "question_id": "other", "question": records[0]["question"].upper()}
    write_lines(tmp_path / "train.jsonl", [again])
    write_lines(tmp_path / "dev.jsonl", [*records, records[1]])
    assert arc_da("stats", tmp_path) == 1
    assert "the same text twice: 1 within a split, 1 across splits; ids twice: 1" in (
        capsys.readouterr().out
    )


def test_data_folder_is_made_up() -> None:
    assert {path.name for path in DATA.iterdir()} == {"arc", "release"}
