"""Reward functions: equal to the score, whatever the columns; no completion makes them raise."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import twowiki
from tests.joint_files import CONTEXT, FACTS, LADY, TRIPLES, gold, several, write_lines
from tests.llm.output_forms import FULL
from twowiki import rewards
from twowiki.data.aliases import read_aliases
from twowiki.data.schema import parse_record, to_row
from twowiki.errors import DataError
from twowiki.llm.parsing import parse_llm_output
from twowiki.metric.score import score

NAMES = ("answer", "support", "evidence", "joint", "format", "grounded")
RIGHT = json.dumps({"answer": "Brinmoor", "supporting_facts": FACTS, "evidences": TRIPLES})
HALF = json.dumps(
    {"answer": "in Brinmoor", "supporting_facts": FACTS[:1], "evidences": TRIPLES[:1]}
)
COLUMNS: dict[str, Any] = {
    "answer": "Brinmoor",
    "supporting_facts": FACTS,
    "evidences": TRIPLES,
    "context": CONTEXT,
}


def columns_for(count: int, **fields: Any) -> dict[str, list[Any]]:
    return {name: [value] * count for name, value in {**COLUMNS, **fields}.items()}


def rewarded(name: str, completions: list[Any], **fields: Any) -> list[float | None]:
    function: Callable[..., Any] = getattr(rewards, name)
    found = function(
        prompts=["?"] * len(completions),
        completions=completions,
        completion_ids=[[1]] * len(completions),
        trainer_state=None,
        **columns_for(len(completions), **fields),
    )
    assert len(found) == len(completions)
    return list(found)


def test_they_are_there_after_importing_the_package() -> None:
    assert twowiki.rewards.joint is rewards.joint
    assert [getattr(rewards, name).__name__ for name in NAMES] == list(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_right_and_empty_outputs(name: str) -> None:
    message = [{"role": "assistant", "content": f"<think>Oru?</think>{RIGHT}"}]
    assert rewarded(name, [RIGHT, message]) == [1.0, 1.0]
    assert rewarded(name, ["", None, [], [{"role": "assistant", "content": None}]]) == [0.0] * 4


def test_equal_to_the_score() -> None:
    golds, _ = several(4)
    outputs = [RIGHT, HALF, "<answer>Brinmoor</answer>", "I do not know."]
    predictions = {
        one["_id"]: parse_llm_output(text).prediction
        for one, text in zip(golds, outputs, strict=True)
    }
    rows = list(score(predictions, golds).per_example())
    names = {"answer": "", "support": "sp_", "evidence": "evi_", "joint": "joint_"}
    for measure in ("em", "f1", "prec", "recall"):
        for name, prefix in names.items():
            function = partial(getattr(rewards, name), measure=measure)
            found = function(completions=outputs, **columns_for(4))
            assert found == pytest.approx([row[prefix + measure] / 100 for row in rows])


def test_columns_in_any_form() -> None:
    row = to_row(parse_record(gold()))
    as_lists = {
        "title": [title for title, _ in FACTS],
        "sent_id": [position for _, position in FACTS],
    }
    for fields in (
        {name: row[name] for name in COLUMNS},
        {"supporting_facts": as_lists},
        {name: json.dumps(value) for name, value in COLUMNS.items() if name != "answer"},
    ):
        assert [rewarded(name, [RIGHT], **fields) for name in NAMES] == [[1.0]] * len(NAMES)


def test_other_names(tmp_path: Any) -> None:
    aliases = read_aliases(str(write_lines(tmp_path / "id_aliases.json", LADY))).aliases_of
    said = RIGHT.replace("Dessa Orrel", "Lady Dessa").replace("Brinmoor", "Lady Dessa")
    ids = [["Q9001", "mother", "Q9002"], ["Q9002", "place of birth", "Q9002"]]
    fields = columns_for(1, answer_id="Q9002", evidences_id=ids)
    assert rewards.answer([said], **fields) == [0.0]
    assert rewards.answer([said], aliases=aliases, **fields) == [1.0]
    assert rewards.evidence([said], aliases=aliases, **fields) == [1.0]
    listed = columns_for(1, answer_aliases=["Lady Dessa"])
    assert rewards.answer([said], **listed) == [1.0]


def test_rows_without_a_part_of_the_gold() -> None:
    assert rewarded("answer", [RIGHT], answer=None) == [None]
    assert rewarded("support", [RIGHT], supporting_facts=None) == [None]
    assert rewarded("evidence", [RIGHT], evidences=[]) == [None]
    assert rewarded("joint", [RIGHT, HALF], evidences=[]) == pytest.approx([1.0, 0.5])
    assert rewarded("joint", [RIGHT], evidences=None, supporting_facts=None) == [None]
    assert rewarded("format", ["<answer>x</answer>"], evidences=None, supporting_facts=None) == [
        1.0
    ]
    assert rewarded("grounded", [RIGHT], context=None) == [None]


def test_format_is_the_share_of_parts_that_can_be_read() -> None:
    bare, marked = "Brinmoor", "<answer>Brinmoor</answer>"
    lossy = '{"answer": "x", "supporting_facts": ["Oru"], "evidences": []}'
    assert rewarded("format", [bare, marked, RIGHT]) == pytest.approx([0, 1 / 3, 1])
    assert rewarded("format", [lossy]) == pytest.approx([2 / 3])
    wanted = partial(rewards.format, parts=["answer"])
    assert wanted([bare, marked], **columns_for(2)) == [0.0, 1.0]


def test_grounded_triples_stand_in_one_paragraph() -> None:
    other = json.dumps({"evidences": [TRIPLES[0], ["Tavik Orrel", "place of birth", "Brinmoor"]]})
    parts = json.dumps({"evidences": [["Tavik", "mother", "Orr"], ["", "r", "Oru"]]})
    assert rewarded("grounded", [other, parts, '{"evidences": []}']) == [0.5, 0.0, 0.0]


def test_a_missing_column_is_an_error() -> None:
    with pytest.raises(DataError, match="'evidences': the reward needs this column"):
        rewards.joint([RIGHT], answer=["Brinmoor"], supporting_facts=[FACTS])
    with pytest.raises(DataError, match="has 2 values for 1 completions"):
        rewards.answer([RIGHT], answer=["a", "b"])
    with pytest.raises(DataError, match="is 'rouge'. It is one of em, f1, prec, recall"):
        rewards.answer([RIGHT], answer=["a"], measure="rouge")


MESSAGES = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "role": st.sampled_from(["assistant", "user", "tool"]) | st.none(),
            "content": st.text(max_size=40) | st.none() | st.lists(st.text(max_size=5), max_size=2),
            "tool_calls": st.none() | st.lists(st.dictionaries(st.text(), st.text()), max_size=2),
        },
    ),
    max_size=3,
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.text(max_size=120) | st.none() | MESSAGES | st.integers()
        | st.sampled_from([RIGHT, HALF, RIGHT[:70], *(form("a", [("b", 1)], [("c", "d", "e")])
                                                      for form in FULL.values())]),
        max_size=5,
    )
)  # fmt: skip
def test_nothing_that_a_model_says_raises(completions: list[Any]) -> None:
    for name in NAMES:
        assert all(one is not None and 0.0 <= one <= 1.0 for one in rewarded(name, completions))


class Rubric:
    """Calls functions as a rubric of `verifiers` (0.1) does: by the names of their parameters."""

    def __init__(self, functions: list[Any]) -> None:
        self.functions = functions

    def score_group(self, states: list[dict[str, Any]]) -> list[float]:
        given = {
            "prompts": [state["prompt"] for state in states],
            "completions": [state["completion"] for state in states],
            "answers": [state.get("answer", "") for state in states],
            "states": states,
            "tasks": [None for _ in states],
            "infos": [state.get("info", {}) for state in states],
            "parser": object(),
        }
        total = [0.0] * len(states)
        for function in self.functions:
            parameters = inspect.signature(function).parameters
            assert "completions" in parameters, "not a function of a group"
            assert any(one.kind is one.VAR_KEYWORD for one in parameters.values())
            total = [a + float(b) for a, b in zip(total, function(**given), strict=True)]
        return total


@pytest.mark.parametrize("place", ["info", "input", "info as text"])
def test_a_rubric_takes_them(place: str) -> None:
    fields = {name: value for name, value in COLUMNS.items() if name != "answer"}
    placed = {
        "info": {"info": fields},
        "input": {"input": {**fields, "example_id": 1}},
        "info as text": {"info": json.dumps(fields)},
    }
    states = [
        {
            "prompt": [{"role": "user", "content": "?"}],
            "completion": [{"role": "assistant", "content": text}],
            "answer": "Brinmoor",
            **placed[place],
        }
        for text in (RIGHT, "I do not know.")
    ]
    rubric = Rubric([getattr(rewards, name) for name in NAMES])
    assert rubric.score_group(states) == [6.0, 0.0]
