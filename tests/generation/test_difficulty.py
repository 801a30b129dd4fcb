"""Shortcut readers and the two-hop reader, on made-up examples."""

from __future__ import annotations

from typing import Any

import pytest

from twowiki.data.schema import Example, parse_record
from twowiki.generation.difficulty import two_hop_answer
from twowiki.generation.single_hop import (
    majority_answers,
    one_paragraph_answers,
    question_only_answers,
)


def made_up(number: int, question: str, answer: str, **changes: Any) -> Example:
    record = {
        "_id": f"id{number}", "type": "comparison", "question": question, "answer": answer,
        "context": [["A", ["A was born in 1950 in Oslo."]], ["B", ["B was born in 1940."]]],
        "supporting_facts": [["A", 0], ["B", 0]],
        "evidences": [["A", "date of birth", "1950"], ["B", "date of birth", "1940"]],
        "evidences_id": [],
    }  # fmt: skip
    return parse_record(record | changes)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who was born first, A or B?", "B"),
        ("Who was born later, A or B?", "A"),
        ("Who is younger, A or B?", "A"),
        ("Was A or B born first?", "B"),
        ("Are A and B of the same age?", "no"),
    ],
)
def test_two_hops_compares_as_the_question_asks(question: str, answer: str):
    assert two_hop_answer(made_up(0, question, answer)) == answer


@pytest.mark.parametrize(
    ("ids", "answer"),
    [([["Q1", "country", "Q20"], ["Q2", "country", "Q20"]], "yes"), ([], "no")],
)
def test_two_hops_compares_countries_by_id(ids: list[list[str]], answer: str):
    example = made_up(
        0,
        "Are A and B from the same country?",
        answer,
        context=[["A", ["A is Norwegian."]], ["B", ["B lies in Norway."]]],
        evidences=[["A", "country", "Norwegian"], ["B", "country", "Norway"]],
        evidences_id=ids,
    )
    assert two_hop_answer(example) == answer


def test_two_hops_orders_days():
    example = made_up(
        0,
        "Which film came out first, A or B?",
        "B",
        context=[["A", ["On March 2, 1950"]], ["B", ["On 1 March 1950"]]],
        evidences=[["A", "x", "March 2, 1950"], ["B", "x", "1 March 1950"]],
    )
    assert two_hop_answer(example) == "B"


def test_shortcuts_learn_from_other_folds_only():
    examples = [made_up(n, f"Are X{n} and Y{n} from the same country?", "yes") for n in range(40)]
    examples += [made_up(40 + n, f"Who was born first, X{n} or Y{n}?", f"X{n}") for n in range(40)]
    assert question_only_answers(examples) == ["yes"] * 40 + [f"X{n}" for n in range(40)]
    assert majority_answers(examples)[:40] == ["yes"] * 40
    assert len(one_paragraph_answers(examples)) == 80
    alone = [made_up(0, "Who is it?", "Somebody")]
    assert majority_answers(alone) == [""]  # nothing in the other folds
