"""Exports in other tools' formats: read back, they hold what was written; losses are counted."""

from __future__ import annotations

import csv
import json
import string
from pathlib import Path
from typing import Any

import datasets
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import twowiki
from tests.made_up import hidden, write_array, write_release
from twowiki.builder.formats import FORMATS, flashrag_record, rl_record, sft_record
from twowiki.cli.data import EXPORT_FORMATS
from twowiki.cli.main import main
from twowiki.data.arrow import to_table
from twowiki.data.schema import (
    Example,
    Fact,
    Paragraph,
    SubQuestion,
    Triple,
    parse_record,
    to_official,
    to_row,
)
from twowiki.data.squad import squad_row
from twowiki.errors import DataError
from twowiki.llm.parsing import parse_llm_output

Records = list[dict[str, Any]]
TEXT = st.text(string.ascii_letters + " .'-é", min_size=1, max_size=12)
NAME = TEXT.map(str.strip).filter(bool)
PARAGRAPHS = st.lists(
    st.builds(Paragraph, NAME, st.lists(TEXT, min_size=1, max_size=3).map(tuple)), max_size=4
).map(tuple)


def lists_of(values: Any) -> Any:
    return st.none() | st.lists(values, max_size=3).map(tuple)


EXAMPLES = st.builds(
    Example,
    id=NAME,
    question=NAME,
    type=st.sampled_from([None, "comparison", "inference", "compositional"]),
    context=PARAGRAPHS,
    supporting_facts=lists_of(st.builds(Fact, NAME, st.integers(0, 5))),
    evidences=lists_of(st.builds(Triple, NAME, NAME, NAME)),
    answer=NAME,
    answer_id=st.none() | st.just("Q7"),
    entity_ids=st.lists(st.sampled_from(["Q1", "Q2"]), max_size=2).map(tuple),
    level=st.none() | st.just("hard"),
    sub_questions=lists_of(st.builds(SubQuestion, st.integers(1, 4), NAME, NAME)),
    supporting_paragraphs=lists_of(st.integers(0, 9)),
    answerable=st.none() | st.booleans(),
    evidences_id=st.just(()),
    answer_aliases=st.none(),
)


def lines(path: Path) -> Records:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@settings(max_examples=40)
@given(EXAMPLES, st.lists(NAME, max_size=3))
def test_flashrag_read_back_is_what_was_written(example: Example, aliases: list[str]) -> None:
    others = tuple(name for name in dict.fromkeys(aliases) if name != example.answer)
    example = example._replace(answer_aliases=others or None)
    written = json.loads(json.dumps(flashrag_record(example)))
    assert parse_record(written, "multihop") == example


@settings(max_examples=40)
@given(st.lists(EXAMPLES, max_size=4))
def test_rows_tables_and_records_hold_the_same(examples: list[Example]) -> None:
    rows = [to_row(example, "multihop") for example in examples]
    assert to_table(examples, "multihop").to_pylist() == rows
    assert [parse_record(row, "multihop") for row in rows] == examples
    records = [json.loads(json.dumps(to_official(one, "multihop"))) for one in examples]
    assert [parse_record(record, "multihop") for record in records] == examples


@settings(max_examples=40)
@given(EXAMPLES, st.data())
def test_a_squad_answer_stands_at_its_start(example: Example, data: st.DataObject) -> None:
    sentences = [text for _, part in example.context for text in part if text.strip()]
    if sentences:
        words = data.draw(st.sampled_from(sentences)).split()
        example = example._replace(answer=data.draw(st.sampled_from(words)).upper())
    row, reason = squad_row(example)
    pairs = list(zip(row["answers"]["text"], row["answers"]["answer_start"], strict=True))
    assert bool(pairs) == (reason == "answered")
    for text, start in pairs:
        assert row["context"][start : start + len(text)] == text
        assert text.lower() == (example.answer or "").strip().lower()


def test_squad_looks_in_the_supporting_sentence_first(records: Records) -> None:
    example = Example(
        "q",
        "Where was she born?",
        "compositional",
        (
            Paragraph("Veltria", ("Oru is a town.", " Oru lies in Veltria.")),
            Paragraph("Dessa", ("Dessa sang at Oruvia.", "Born in Oru, she left.")),
        ),
        (Fact("Dessa", 1),),
        answer="Oru",
    )
    row, reason = squad_row(example)
    assert reason == "answered"
    (start,) = row["answers"]["answer_start"]
    assert row["context"][start - 8 : start + 4] == "Born in Oru,"
    assert row["context"].startswith("Veltria\nOru is a town. Oru lies in Veltria.\n\nDessa\nDessa")
    yes, lost = example._replace(answer="yes"), example._replace(answer="Lake Ven")
    blank = example._replace(answer=None)
    rows = twowiki.to_squad([example, yes, lost, blank])
    assert rows.counts == {"answered": 1, "yes_no": 1, "not_in_context": 1, "hidden_gold": 1}
    assert [len(one["answers"]["text"]) for one in rows] == [1, 0, 0, 0]
    kept = twowiki.to_squad([example, yes, lost, blank], version="1.1")
    assert [one["answers"]["text"] for one in kept] == [["Oru"], []]
    table = datasets.Dataset.from_list(twowiki.to_squad(records))
    assert table.column_names == ["id", "title", "context", "question", "answers"]
    with pytest.raises(DataError, match="version '3'"):
        twowiki.to_squad([], version="3")


def test_every_format_from_a_file_and_from_a_data_set(tmp_path: Path, records: Records) -> None:
    assert set(EXPORT_FORMATS) == {"parquet", *FORMATS}
    release = write_release(tmp_path / "release", records)
    unseen = [{**hidden(record), "_id": f"test {record['_id']}"} for record in records[:3]]
    write_array(release / "test.json", unseen)
    loaded = twowiki.load_dataset(release)
    for name in FORMATS:
        counts = twowiki.export(release, tmp_path / name, format=name)
        twowiki.export(loaded, tmp_path / f"{name}-rows", format=name)
        made = sorted(path for path in (tmp_path / name).rglob("*") if path.is_file())
        for path in made:
            again = tmp_path / f"{name}-rows" / path.relative_to(tmp_path / name)
            assert again.read_bytes() == path.read_bytes(), path
        assert counts["train"] >= 5
    assert twowiki.export(release, tmp_path / "sft", format="sft") == {
        "train": 5,
        "validation": 3,
        "test": 0,
    }
    report = json.loads((tmp_path / "sft" / "report.json").read_text(encoding="utf-8"))
    assert report["left_out"] == {"train": {}, "validation": {}, "test": {"hidden_gold": 3}}


def test_flashrag_files_are_read_as_they_were(tmp_path: Path, records: Records) -> None:
    path = write_array(tmp_path / "dev.json", records)
    twowiki.export(path, tmp_path / "out", format="flashrag")
    again = list(twowiki.read_examples(tmp_path / "out" / "dev.jsonl"))
    assert again == [parse_record(record) for record in records]
    assert [to_official(one, "data_ids_april7") for one in again] == records
    first = lines(tmp_path / "out" / "dev.jsonl")[0]
    assert list(first) == ["id", "question", "golden_answers", "metadata"]
    gold = {"answer": {record["_id"]: record["answer"] for record in records}}
    assert twowiki.score(gold, tmp_path / "out" / "dev.jsonl").metrics["em"] == 100


def test_squads_own_form(tmp_path: Path, records: Records) -> None:
    path = write_array(tmp_path / "dev.json", records)
    twowiki.export(path, tmp_path / "out", format="squad")
    found = json.loads((tmp_path / "out" / "dev.json").read_text(encoding="utf-8"))
    assert found["version"] == "v2.0"
    questions = [one["paragraphs"][0]["qas"][0] for one in found["data"]]
    assert [one["id"] for one in questions] == [record["_id"] for record in records]
    assert all(one["is_impossible"] == (not one["answers"]) for one in questions)
    assert any(one["answers"] for one in questions)


def test_beir_has_documents_for_its_judgments(tmp_path: Path, records: Records) -> None:
    path = write_array(tmp_path / "dev.json", records)
    twowiki.export(path, tmp_path / "out", format="beir")
    corpus = {one["_id"] for one in lines(tmp_path / "out" / "corpus.jsonl")}
    queries = {one["_id"] for one in lines(tmp_path / "out" / "queries.jsonl")}
    with open(tmp_path / "out" / "qrels" / "validation.tsv", encoding="utf-8") as stream:
        judged = list(csv.DictReader(stream, delimiter="\t"))
    assert judged
    assert {row["query-id"] for row in judged} <= queries
    assert {row["corpus-id"] for row in judged} <= corpus


def test_a_completion_is_read_as_its_gold(records: Records) -> None:
    for record in records:
        example = parse_record(record)
        made = sft_record(example, "full-context")
        assert isinstance(made, dict)
        assert record["_id"] not in made["prompt"]
        answer, facts, triples = parse_llm_output(made["completion"]).prediction
        assert answer == example.answer
        assert [tuple(fact) for fact in facts or ()] == list(example.facts)
        assert [tuple(triple) for triple in triples or ()] == list(example.triples)
        chat = FORMATS["sft-messages"](example, "full-context")
        assert isinstance(chat, dict)
        assert [one["role"] for one in chat["messages"]][-2:] == ["user", "assistant"]


def test_rewards_find_their_gold(records: Records) -> None:
    made = rl_record(parse_record(records[0]), "closed-book")
    assert isinstance(made, dict)
    assert made["prompt"][-1]["role"] == "user"
    assert made["answer"] == records[0]["answer"]
    assert [list(one.values()) for one in made["evidences"]] == records[0]["evidences"]
    assert made["reward_model"]["ground_truth"] == {"target": [records[0]["answer"]]}
    lacking = parse_record(records[0])._replace(supporting_facts=None)
    assert rl_record(lacking, "gold-context") == "no_supporting_facts"


@pytest.mark.parametrize("name", ["flashrag", "sft", "sft-messages", "rl", "sub-questions"])
def test_the_lines_are_typed_alike(name: str, tmp_path: Path, records: Records) -> None:
    path = write_array(tmp_path / "dev.json", records)
    twowiki.export(path, tmp_path / "out", format=name)
    lines_file = str(tmp_path / "out" / "dev.jsonl")
    rows = datasets.load_dataset(
        "json", data_files=lines_file, split="train", cache_dir=str(tmp_path / "cache")
    )
    assert len(rows) == len(lines(Path(lines_file)))
    assert "Json" not in repr(rows.features)


def test_a_folder_holds_one_format(tmp_path: Path, records: Records) -> None:
    path = write_array(tmp_path / "dev.json", records)
    twowiki.export(path, tmp_path / "out", format="rl")
    before = (tmp_path / "out" / "dev.jsonl").read_bytes()
    with pytest.raises(DataError, match="holds what `export rl` wrote"):
        twowiki.export(path, tmp_path / "out", format="sft")
    write_array(path, [hidden(record) for record in records])
    with pytest.raises(DataError, match="no record can be written.*hidden_gold"):
        twowiki.export(path, tmp_path / "out", format="rl")
    assert (tmp_path / "out" / "dev.jsonl").read_bytes() == before
    with pytest.raises(DataError, match="unknown format 'csv'.*flashrag"):
        twowiki.export(path, tmp_path / "out", format="csv")


def test_the_command_names_what_was_left_out(
    tmp_path: Path, records: Records, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_array(tmp_path / "dev.json", [*records[:3], hidden(records[3])])
    assert main(["export", str(path), str(tmp_path / "out"), "--format", "sft"]) == 0
    out = capsys.readouterr().out
    assert "validation: 3 records" in out
    assert "left out, hidden gold: 1" in out


@pytest.mark.parametrize("streaming", [False, True])
def test_a_data_set_becomes_parquet(tmp_path: Path, records: Records, streaming: bool) -> None:
    release = write_release(tmp_path / "release", records)
    twowiki.export(twowiki.load_dataset(release, streaming=streaming), tmp_path / "out")
    twowiki.export(release, tmp_path / "files")
    for folder in ("out", "files"):
        rows = datasets.load_dataset(str(tmp_path / folder), split="validation")
        assert [to_official(row) for row in rows] == records[5:]
    one = twowiki.load_dataset(release, split="validation[:2]", streaming=False)
    assert twowiki.export(one, tmp_path / "one") == {"validation": 2}
    assert twowiki.export(list(one), tmp_path / "rows") == {"train": 2}
    typed = {"dev": [parse_record(record) for record in records]}
    assert twowiki.export(typed, tmp_path / "typed") == {"validation": 8}
    with pytest.raises(DataError, match="splits are a, b"):
        twowiki.export({"a": [], "b": []}, tmp_path / "odd")
    with pytest.raises(DataError, match="neither a path nor a data set"):
        twowiki.export(3, tmp_path / "odd")


@pytest.mark.parametrize("name", EXPORT_FORMATS)
def test_every_format_by_the_command(
    name: str, tmp_path: Path, records: Records, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_array(tmp_path / "dev.json", records)
    assert main(["export", str(path), str(tmp_path / "out"), "--format", name]) == 0
    printed = capsys.readouterr().out
    assert "validation: " in printed
    assert "written to" in printed
