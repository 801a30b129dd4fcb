"""A raw record becomes an Example, a row, and itself again; what cannot be read is named."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twowiki.data.schema import (
    CONFIGS,
    TWO_WIKI_TYPES,
    Example,
    gold_paragraphs,
    has_gold,
    parse_record,
    to_official,
    to_row,
)
from twowiki.errors import DataError

text = st.text(max_size=12)
official_records = st.fixed_dictionaries(
    {
        "_id": st.text(min_size=1, max_size=12),
        "type": st.sampled_from(TWO_WIKI_TYPES),
        "question": text,
        "context": st.lists(st.tuples(text, st.lists(text, max_size=3)).map(list), max_size=3),
        "entity_ids": st.lists(st.from_regex(r"Q\d{1,3}", fullmatch=True), max_size=4).map(
            "_".join
        ),
        "supporting_facts": st.lists(st.tuples(text, st.integers(-1, 99)).map(list), max_size=3),
        "evidences": st.lists(st.tuples(text, text, text).map(list), max_size=3),
        "answer": text,
        "evidences_id": st.lists(st.tuples(text, text, text).map(list), max_size=3),
        "answer_id": st.none() | text,
    }
)


@given(official_records)
def test_any_official_record_comes_back(record: dict[str, Any]) -> None:
    example = parse_record(record)
    assert to_official(example) == record
    row = to_row(example)
    assert parse_record(row) == example
    assert to_official(row) == record


def test_made_up_records_come_back(records: list[dict[str, Any]]) -> None:
    back = [to_official(parse_record(record)) for record in records]
    assert back == records
    assert [list(record) for record in back] == [list(record) for record in records]


def test_the_config_fixes_the_keys(records: list[dict[str, Any]]) -> None:
    first = {k: v for k, v in records[0].items() if k not in ("answer_id", "evidences_id")}
    example = parse_record(first, "data")
    assert example.answer_id is None
    assert example.evidences_id == ()
    assert to_official(example, "data") == first


def test_hyphenated_type_is_written_with_the_underscore(records: list[dict[str, Any]]) -> None:
    record = {**records[6], "type": "bridge-comparison"}
    assert to_official(parse_record(record))["type"] == "bridge_comparison"


def test_hidden_gold_is_none_and_blank_again() -> None:
    raw = {"_id": "t1", "question": "?", "type": "inference", "context": [["A", ["s"]]]}
    example = parse_record(raw)
    assert (example.answer, example.evidences, example.supporting_facts) == (None, (), ())
    assert not example.has_gold
    blank = {**raw, "entity_ids": "Q1_Q2", "supporting_facts": [], "evidences": []}
    blank |= {"answer": "", "evidences_id": [], "answer_id": None}
    assert parse_record(blank).answer is None
    assert to_official(parse_record(blank)) == blank


def test_hotpotqa_records_come_back() -> None:
    record = {
        "_id": "h1",
        "answer": "a spirit",
        "question": "What is Lilu?",
        "supporting_facts": [["Lilu", 0]],
        "context": [["Lilu", ["Lilu is a spirit.", " So it is said."]]],
        "type": "bridge",
        "level": "easy",
    }
    example = parse_record(record, "hotpotqa")
    assert to_official(example) == record
    assert to_official(to_row(example, "hotpotqa")) == record
    hidden = {key: record[key] for key in ("_id", "question", "context")}
    assert to_official(parse_record(hidden, "hotpotqa"), "hotpotqa") == hidden


@pytest.mark.parametrize("layout", ["json", "structs", "columns", "content", "facts"])
def test_layouts_of_mirrors_give_the_same_example(
    layout: str, records: list[dict[str, Any]]
) -> None:
    for record in records:
        mirrored = dict(record)
        mirrored["id"] = mirrored.pop("_id")
        context = record["context"]
        evidences = record["evidences"]
        if layout == "json":
            for name in ("context", "supporting_facts", "evidences", "evidences_id"):
                mirrored[name] = json.dumps(record[name])
        elif layout == "structs":
            mirrored["context"] = [{"title": t, "sentences": s} for t, s in context]
        elif layout == "content":
            mirrored["context"] = [{"title": t, "content": s} for t, s in context]
        elif layout == "columns":
            mirrored["context"] = {
                "title": [t for t, _ in context],
                "sentences": [s for _, s in context],
            }
            mirrored["supporting_facts"] = {
                "title": [t for t, _ in record["supporting_facts"]],
                "sent_id": [n for _, n in record["supporting_facts"]],
            }
        else:
            mirrored["evidences"] = [
                dict(zip(("fact", "relation", "entity"), triple, strict=True))
                for triple in evidences
            ]
        assert parse_record(mirrored) == parse_record(record)


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"type": "riddle"}, "type", "comparison, inference"),
        ({"type": "bridge"}, "type", "hotpotqa"),
        ({"question": None}, "question", "'question'"),
        ({"question": 3}, "question", "a number"),
        ({"context": "[["}, "context", "not valid JSON"),
        ({"context": [["A", "text"]]}, "context", "paragraph 0"),
        ({"context": [["A", ["s", None]]]}, "context", "paragraph 0"),
        ({"context": {"title": ["A"], "sentences": []}}, "context", "one length"),
        ({"supporting_facts": [["A", "0"]]}, "supporting_facts", "fact 0"),
        ({"supporting_facts": [["A", True]]}, "supporting_facts", "fact 0"),
        ({"supporting_facts": [["A", 2**40]]}, "supporting_facts", "fact 0"),
        ({"evidences": [["a", "b"]]}, "evidences", "triple 0"),
        ({"evidences": [["a", "b", 3]]}, "evidences", "triple 0"),
        ({"evidences_id": [["a"]]}, "evidences_id", "triple 0"),
        ({"answer": 7}, "answer", "a number"),
        ({"entity_ids": 7}, "entity_ids", "joined"),
    ],
)
def test_a_wrong_field_is_named(
    change: dict[str, Any], field: str, words: str, records: list[dict[str, Any]]
) -> None:
    with pytest.raises(DataError) as caught:
        parse_record({**records[0], **change})
    assert caught.value.record == records[0]["_id"]
    assert caught.value.field == field
    assert words in str(caught.value)


def test_a_misspelt_field_is_named_with_its_right_name(records: list[dict[str, Any]]) -> None:
    for wrong, right in (("evidence", "evidences"), ("contexts", "context"), ("Answer", "answer")):
        record = {**records[0], wrong: records[0][right]}
        del record[right]
        with pytest.raises(DataError, match=f"{wrong}.*Rename the field to '{right}'"):
            parse_record(record)


def test_other_fields_of_a_mirror_are_passed_over(records: list[dict[str, Any]]) -> None:
    assert parse_record({**records[0], "sub_questions": [1, 2]}) == parse_record(records[0])


@pytest.mark.parametrize("raw", [None, 3, "text", [], {}, {"_id": ""}, {"_id": 7}, {"answer": {}}])
def test_what_is_no_record_is_refused(raw: Any) -> None:
    with pytest.raises(DataError):
        parse_record(raw)


def test_gold_paragraphs_are_found_by_their_exact_title() -> None:
    raw = {
        "_id": "q",
        "type": "inference",
        "question": "?",
        "context": [["Ed Halloran (film)", ["s"]], ["Oru", ["a", "b"]]],
        "supporting_facts": [["Ed Halloran", 0], ["Oru", 1], ["Oru", 0]],
        "answer": "x",
    }
    found, missing = gold_paragraphs(parse_record(raw))
    assert [paragraph.title for paragraph in found] == ["Oru"]
    assert missing == ["Ed Halloran"]
    assert gold_paragraphs(raw) == (found, missing)


def test_has_gold() -> None:
    assert has_gold([{"answer": None}, {"answer": "x"}])
    assert not has_gold([{"answer": None}])
    assert not has_gold([{"answers": []}])
    assert has_gold([{"answers": ["ice"]}])


def test_error_survives_pickling() -> None:
    import pickle

    error = DataError("wrong", file="f.json", record="q1", field="type", remedy="Mend it")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) == "f.json, record q1, field 'type': wrong. Mend it"


def test_every_config_has_types_and_keys() -> None:
    for config in CONFIGS:
        official = to_official(Example("1", "?", None, (), answer="x"), config)
        assert official["_id"] == "1"
