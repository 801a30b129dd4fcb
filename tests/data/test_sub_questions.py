"""Each hop is a question of its own, of which the answer is a triple's object."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import twowiki
from twowiki.data.relations import RELATIONS
from twowiki.data.schema import SubQuestion, Triple, parse_record
from twowiki.data.sub_questions import question_about

Record = dict[str, Any]
CHAINS = {
    "compositional": (
        [("Film X", "director", "Ada"), ("Ada", "place of birth", "Oru")],
        [(1, "Who is the director of Film X?", "Ada"), (2, "Where was Ada born?", "Oru")],
    ),
    "inference": (
        [("Ada", "father", "Bo"), ("Bo", "mother", "Cy")],
        [(1, "Who is the father of Ada?", "Bo"), (2, "Who is the mother of Bo?", "Cy")],
    ),
    "comparison": (
        [("Ada", "date of birth", "1907"), ("Bo", "date of birth", "1911")],
        [(1, "When was Ada born?", "1907"), (1, "When was Bo born?", "1911")],
    ),
    "bridge_comparison": (
        [("X", "director", "Ada"), ("Y", "director", "Bo"),
         ("Ada", "country of citizenship", "Veltria"), ("Bo", "country of citizenship", "Oru")],
        [(1, "Who is the director of X?", "Ada"), (1, "Who is the director of Y?", "Bo"),
         (2, "What nationality is Ada?", "Veltria"), (2, "What nationality is Bo?", "Oru")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", CHAINS)
def test_the_hops_of_each_type(kind: str, records: list[Record]) -> None:
    triples, expected = CHAINS[kind]
    record = {**records[0], "type": kind, "evidences": [list(triple) for triple in triples]}
    assert twowiki.sub_questions(record) == [SubQuestion(*one) for one in expected]
    example = parse_record(record)
    assert twowiki.sub_questions(example) == twowiki.sub_questions(record)


def test_every_relation_has_its_question() -> None:
    for relation in RELATIONS.values():
        question = question_about("Ada Orrel", relation)
        assert "Ada Orrel" in question
        assert question.endswith("?")
        assert question[0].isupper()
    assert question_about("Ada", "shoe size") == "What is the shoe size of Ada?"


def test_hidden_gold_has_none(records: list[Record]) -> None:
    bare = parse_record(records[0])._replace(evidences=None, answer=None)
    assert twowiki.sub_questions(bare) == []
    given = bare._replace(sub_questions=(SubQuestion(1, "Who?", "Ada"),))
    assert twowiki.sub_questions(given) == [SubQuestion(1, "Who?", "Ada")]


def test_each_triple_is_asked_about(records: list[Record]) -> None:
    for record in records:
        found = twowiki.sub_questions(record)
        assert len(found) == len(record["evidences"])
        assert [one.answer for one in found] == [Triple(*t).object for t in record["evidences"]]
        assert {one.hop for one in found} <= {1, 2}


def test_real_examples(shared: Path) -> None:
    for example in twowiki.read_examples(shared / "data/two_wiki/dev250.json"):
        found = twowiki.sub_questions(example)
        hops = [one.hop for one in found]
        if example.type in ("compositional", "inference"):
            assert hops == [1, 2], example.id
        elif example.type == "comparison":
            assert set(hops) == {1}, example.id
        else:
            assert hops[:2] == [1, 1], example.id
            assert set(hops[2:]) == {2}, example.id
