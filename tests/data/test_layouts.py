"""Files of other tools are read as what they are: typed, told by keys, None for what lacks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import datasets
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import twowiki
from tests.made_up import write_array, write_lines
from twowiki.builder.formats import sft_record
from twowiki.data.layouts import is_gold_name, layout_of
from twowiki.data.schema import Fact, SubQuestion, Triple, gold_paragraphs, parse_record, to_row
from twowiki.data.splits import guess_config
from twowiki.data.statistics import compute_statistics
from twowiki.errors import DataError
from twowiki.llm.prompts import prompt_for

Record = dict[str, Any]
FLASHRAG: Record = {
    "id": "dev_0",
    "question": "Where was the mother of Tavik Orrel born?",
    "golden_answers": ["Brinmoor", "Brin Moor"],
    "metadata": {
        "type": "compositional",
        "supporting_facts": {"title": ["Tavik Orrel", "Dessa Orrel"], "sent_id": [0, 1]},
        "context": {
            "title": ["Tavik Orrel", "Dessa Orrel", "Brinmoor"],
            "content": [["Tavik is a son of Dessa."], ["A poet.", "Born in Brinmoor."], ["Town."]],
        },
        "evidences": [
            {"fact": "Tavik Orrel", "relation": "mother", "entity": "Dessa Orrel"},
            {"fact": "Dessa Orrel", "relation": "place of birth", "entity": "Brinmoor"},
        ],
    },
}
LONGBENCH: Record = {
    "input": "Where was the mother of Tavik Orrel born?",
    "context": "Passage 1:\nTavik Orrel\nTavik is a son of Dessa.\nHe sings.\n\n"
    "Passage 2:\nDessa Orrel\nA poet, born in Brinmoor.\n",
    "answers": ["Brinmoor"],
    "length": 41,
    "dataset": "2wikimqa",
    "language": "en",
    "all_classes": None,
    "_id": "4f2a",
}
IRCOT: Record = {
    "question_id": "q7",
    "question_text": "Where was the mother of Tavik Orrel born?",
    "answers_objects": [
        {"number": "", "date": {"day": "", "month": "", "year": ""}, "spans": ["Brinmoor"]}
    ],
    "contexts": [
        {"idx": 0, "title": "Brinmoor", "paragraph_text": "Town.", "is_supporting": False},
        {"idx": 1, "title": "Tavik Orrel", "paragraph_text": "A son.", "is_supporting": True},
        {"idx": 2, "title": "Dessa Orrel", "paragraph_text": "Born.", "is_supporting": True},
    ],
    "reasoning_steps": ["Tavik Orrel mother Dessa Orrel"],
}
MUSIQUE: Record = {
    "id": "2hop__1_2",
    "paragraphs": [
        {"idx": 0, "title": "Brinmoor", "paragraph_text": "Town.", "is_supporting": False},
        {"idx": 1, "title": "Brinmoor", "paragraph_text": "A river.", "is_supporting": True},
    ],
    "question": "When was the town of Tavik's mother founded?",
    "question_decomposition": [
        {"id": 1, "question": "Tavik >> mother", "answer": "Dessa", "paragraph_support_idx": 0},
        {"id": 2, "question": "#1 >> born", "answer": "Brinmoor", "paragraph_support_idx": 1},
        {"id": 3, "question": "When was #2 founded?", "answer": "1066", "paragraph_support_idx": 1},
    ],
    "answer": "1066",
    "answer_aliases": ["AD 1066"],
    "answerable": True,
}
HIPPORAG: Record = {
    "id": "sample/1.json",
    "question": "Which singer of Brinmoor is a poet?",
    "answer": ["Dessa Orrel", "Dessa"],
    "answerable": True,
    "paragraphs": [{"title": "Dessa Orrel", "text": "A poet.", "is_supporting": True, "idx": 0}],
}
ALL = {"FlashRAG": FLASHRAG, "LongBench": LONGBENCH, "IRCoT": IRCOT, "MuSiQue": MUSIQUE}


def test_flashrag_holds_what_its_metadata_holds() -> None:
    example = parse_record(FLASHRAG)
    assert example[:3] == ("dev_0", FLASHRAG["question"], "compositional")
    assert (example.answer, example.answer_aliases) == ("Brinmoor", ("Brin Moor",))
    assert example.supporting_facts == (Fact("Tavik Orrel", 0), Fact("Dessa Orrel", 1))
    assert example.evidences is not None
    assert example.evidences[1] == Triple("Dessa Orrel", "place of birth", "Brinmoor")
    assert example.context[1].sentences == ("A poet.", "Born in Brinmoor.")
    as_text = {**FLASHRAG, "metadata": json.dumps(FLASHRAG["metadata"])}
    assert parse_record(as_text) == example
    bare = parse_record({name: FLASHRAG[name] for name in ("id", "question", "golden_answers")})
    assert (bare.supporting_facts, bare.evidences, bare.context) == (None, None, ())


def test_longbench_has_passages_and_no_facts() -> None:
    example = parse_record(LONGBENCH)
    assert [title for title, _ in example.context] == ["Tavik Orrel", "Dessa Orrel"]
    assert example.context[0].sentences == ("Tavik is a son of Dessa.\nHe sings.",)
    assert example.answer == "Brinmoor"
    assert (example.id, example.type) == ("4f2a", None)
    assert (example.supporting_facts, example.evidences) == (None, None)


def test_marked_paragraphs_stay_marks_of_paragraphs() -> None:
    example = parse_record(IRCOT)
    assert example.supporting_facts is None
    assert example.supporting_paragraphs == (1, 2)
    found, absent = gold_paragraphs(example)
    assert [paragraph.title for paragraph in found] == ["Tavik Orrel", "Dessa Orrel"]
    assert absent == []
    same_titles = parse_record(MUSIQUE)
    assert [paragraph.sentences for paragraph in gold_paragraphs(same_titles)[0]] == [("A river.",)]
    assert parse_record(HIPPORAG).answer_aliases == ("Dessa",)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"number": "12", "date": {}, "spans": []}, "12"),
        ({"number": "", "date": {"day": "3", "month": "May", "year": "1907"}}, "3 May 1907"),
        ({"spans": ["Ada", "Bo"]}, "Ada, Bo"),
    ],
)
def test_ircots_forms_of_an_answer(answer: Record, text: str) -> None:
    assert parse_record({**IRCOT, "answers_objects": [answer]}).answer == text
    assert parse_record({**IRCOT, "answers_objects": []}).answer is None


def test_musiques_decomposition_is_its_sub_questions() -> None:
    example = parse_record(MUSIQUE)
    assert example.sub_questions == (
        SubQuestion(1, "Tavik >> mother", "Dessa"),
        SubQuestion(2, "Dessa >> born", "Brinmoor"),
        SubQuestion(3, "When was Brinmoor founded?", "1066"),
    )
    assert example.answer_aliases == ("AD 1066",)
    no = parse_record({**MUSIQUE, "answerable": False})
    assert (no.answer, no.answerable) == (None, False)


@pytest.mark.parametrize(
    "fields",
    [
        {"answer": None, "gold_ans": "Dessa Orrel"},
        {"answer": None, "reference": ["Dessa Orrel"]},
        {"answer": None, "obj": "Dessa Orrel", "possible_answers": '["Dessa Orrel"]'},
        {"paragraphs": None, "contexts": HIPPORAG["paragraphs"]},
        {"paragraphs": [{**HIPPORAG["paragraphs"][0], "is_supporting": 1}]},
        {"paragraphs": [{"title": "Dessa Orrel", "sentences": ["A poet."], "is_supporting": True}]},
    ],
)
def test_hipporags_samples_of_other_data_sets(fields: Record) -> None:
    example = parse_record({**HIPPORAG, "answer": "Dessa Orrel", **fields})
    assert (example.answer, example.answer_aliases) == ("Dessa Orrel", None)
    assert (example.supporting_paragraphs, example.context[0].sentences) == ((0,), ("A poet.",))


def test_a_record_without_an_id_is_named_by_its_own_fields() -> None:
    bare = {name: LONGBENCH[name] for name in ("input", "context", "answers")}
    with pytest.raises(DataError, match="no id.*LongBench's layout, has 'input', 'context'"):
        parse_record(bare)


def test_line_ends_and_hidden_gold_of_layouts() -> None:
    text = LONGBENCH["context"].replace("\n", "\r\n")
    assert parse_record({**LONGBENCH, "context": text}) == parse_record(LONGBENCH)
    assert parse_record({**FLASHRAG, "golden_answers": None}).answer is None


@pytest.mark.parametrize("name", ALL)
def test_every_door_reads_a_layout(name: str, tmp_path: Path) -> None:
    record = ALL[name]
    assert layout_of(record) == name
    example = parse_record(record)
    path = write_lines(tmp_path / "dev_x.jsonl", [record])
    array = write_array(tmp_path / "array" / "dev.json", [record])
    table = tmp_path / "dev.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([record]), table)
    for place in (path, array, array.parent, table):
        assert guess_config(place) == "multihop"
        assert list(twowiki.read_examples(place)) == [example]
    rows = twowiki.load_dataset(path, split="validation")
    assert rows.info.config_name == "multihop"
    assert rows[0] == to_row(example, "multihop")
    assert parse_record(rows[0], "multihop") == example
    assert twowiki.validate(path).counts.keys() <= {"hidden_gold", "duplicate_title"}
    assert compute_statistics([example]).to_dict()["types"]["total"]["examples"] == 1
    twowiki.export(path, tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "pretty_name: Multi-hop questions" in card
    assert "2WikiMultiHopQA, typed" not in card
    again = datasets.load_dataset(str(tmp_path / "out"), split="validation")
    assert again[0] == rows[0]
    assert list(twowiki.read_examples(tmp_path / "out", split="dev")) == [example]
    official = twowiki.to_official(example)
    assert parse_record(official, "multihop") == example
    if name in ("LongBench", "IRCoT"):
        assert official["supporting_facts"] is None


@given(
    st.sampled_from(sorted(ALL)),
    st.sampled_from(["", None, 3, [], [3], {}, {"a": 1}, "text", [None], [["x"]], True]),
    st.data(),
)
def test_odd_values_are_read_or_refused_by_name(name: str, odd: Any, data: st.DataObject) -> None:
    record = ALL[name]
    field = data.draw(st.sampled_from(sorted(record)))
    try:
        example = parse_record({**record, field: odd})
    except DataError:
        return  # no other error
    assert isinstance(example.id, str)
    assert example.answer is None or isinstance(example.answer, str)


def test_a_release_config_has_one_answer(tmp_path: Path) -> None:
    path = write_array(tmp_path / "dev.json", [FLASHRAG])
    with pytest.raises(DataError, match=r"dev_0.*2 right answers.*config 'multihop'"):
        twowiki.load_dataset("data_ids_april7", path)
    write_array(path, [{**FLASHRAG, "golden_answers": ["Brinmoor"]}])
    rows = twowiki.load_dataset("data_ids_april7", path, split="dev")
    assert rows[0]["answer"] == "Brinmoor"


def test_hotpotqa_is_told_by_its_records(tmp_path: Path, records: list[Record]) -> None:
    path = write_array(tmp_path / "dev.json", [{**records[0], "type": "bridge", "level": "hard"}])
    assert guess_config(path) == "hotpotqa"
    write_array(path, records)
    assert guess_config(path) == "data_ids_april7"


GOLD_NAMES = ("golden_answers", "gold_answer", "ground_truth", "gold", "label", "target",
              "answers", "goldAnswers", "Reference Answer", "possible_answers")  # fmt: skip


@pytest.mark.parametrize("name", GOLD_NAMES)
def test_gold_under_another_name_is_never_hidden_gold(
    name: str, tmp_path: Path, records: list[Record]
) -> None:
    assert is_gold_name(name)
    foreign = [{name: [record["answer"]], **record} for record in records]
    for record in foreign:
        del record["answer"]
    path = write_array(tmp_path / "dev.json", foreign)
    for door in (twowiki.load_dataset, lambda place: list(twowiki.read_examples(place))):
        with pytest.raises(DataError, match=f"{name}.*[Rr]ename the field to 'answer'") as caught:
            door(path)
        assert str(path) in str(caught.value)
        assert records[0]["_id"] in str(caught.value)
    found = twowiki.validate(path)
    assert found.counts["unreadable_record"] == len(records)
    assert "hidden_gold" not in found.counts
    with pytest.raises(DataError, match=f"{name}.*[Rr]ename the field to 'answer'"):
        twowiki.score({"answer": {}}, path)
    with pytest.raises(DataError, match=f"{name}.*[Rr]ename the field to 'answer'"):
        twowiki.score({"answer": {}}, foreign)


def test_facts_without_an_answer_are_no_hidden_gold(tmp_path: Path, records: list[Record]) -> None:
    bare = [{name: value for name, value in records[0].items() if name != "answer"}]
    path = write_array(tmp_path / "dev.json", bare)
    for gold in (path, bare):
        with pytest.raises(DataError, match=r"'answer': the field is missing.*Add the answer"):
            twowiki.score({"answer": {}}, gold)
    with pytest.raises(DataError, match="'answer': the field is missing"):
        twowiki.load_dataset(path)
    blank = {**bare[0], "answer": "", "label": "Brinmoor"}
    with pytest.raises(DataError, match="'label'.*'answer' is blank"):
        parse_record(blank)
    assert parse_record({**bare[0], "answer": "", "label": ""}).answer is None


@pytest.mark.parametrize("name", ALL)
def test_gold_of_another_tool_is_scored_by_its_parts(name: str, tmp_path: Path) -> None:
    record = ALL[name]
    example = parse_record(record)
    path = write_lines(tmp_path / "dev.jsonl", [record])
    table = tmp_path / "dev.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([record]), table)
    rows = twowiki.load_dataset(path, split="dev")
    doors = [
        path,
        table,
        [record],
        [example],
        rows,
        datasets.Dataset.from_list([record]),
        [rows[0]],
    ]
    right = (example.answer, *(example.answer_aliases or ()))
    for answer in right:
        predicted = {"answer": {example.id: answer}, "sp": {}, "evidence": {}}
        reports = [twowiki.score(predicted, gold) for gold in doors]
        assert {report.metrics["em"] for report in reports} == {100.0}
        for part, value in (("sp_em", example.supporting_facts), ("evi_em", example.evidences)):
            assert {report.metrics[part] is None for report in reports} == {value is None}
    wrong = twowiki.score({"answer": {example.id: "nowhere"}}, path)
    assert wrong.metrics["em"] == 0
    assert len({report.signature for report in reports}) == 1


def test_a_run_names_the_metric_that_its_data_lack(tmp_path: Path) -> None:
    from twowiki.training.data import source_of_file
    from twowiki.training.scored_parts import check_selection
    from twowiki.training.settings import BaselineArguments

    source = source_of_file(str(write_lines(tmp_path / "dev.jsonl", [LONGBENCH])), "validation")
    with pytest.raises(DataError, match="multihop does not have.*Use one of em, f1"):
        check_selection(BaselineArguments(), source)
    check_selection(BaselineArguments(metric_for_best_model="f1"), source)


def test_marked_paragraphs_are_the_gold_context() -> None:
    example = parse_record(IRCOT)
    text = prompt_for(example, "gold-context")
    assert "Title: Tavik Orrel" in text
    assert "Title: Brinmoor" not in text
    made = sft_record(example, "gold-context")
    assert isinstance(made, dict)
    assert json.loads(made["completion"]) == {"answer": "Brinmoor"}
    assert sft_record(parse_record(LONGBENCH), "gold-context") == "no_supporting_facts"


def test_gold_from_a_pipe(tmp_path: Path) -> None:
    import os
    import threading

    pipe = tmp_path / "gold"
    os.mkfifo(pipe)
    text = json.dumps(FLASHRAG) + "\n"
    writer = threading.Thread(target=lambda: pipe.write_text(text, encoding="utf-8"))
    writer.start()
    report = twowiki.score({"answer": {"dev_0": "Brin Moor"}, "sp": {}, "evidence": {}}, pipe)
    writer.join()
    assert report.metrics["em"] == 100
