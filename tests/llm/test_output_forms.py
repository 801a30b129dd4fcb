"""Right outputs in every form are read as right, real ones too; what nothing marks is not read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.joint_files import FACTS, TRIPLES, gold
from tests.llm.output_forms import ANSWER_ONLY, FULL, WRONG, answer_only
from twowiki.llm.outputs import read_llm_outputs
from twowiki.llm.parsing import UNPARSED, parse_llm_output, parse_science_answer
from twowiki.metric.score import score

SHARED = Path(os.environ.get("TWOWIKI_SHARED", "nowhere"))
DEV = SHARED / "data" / "two_wiki" / "dev250.json"
ODD_NAMES = gold(
    _id="odd",
    answer="24: Say \u201cFarewell\u201d",
    supporting_facts=[["(500) Days of Oru", 0], ["Area 51, Kent & Sons", 12], ["Oru: Part 2", 3]],
    evidences=[
        ["(500) Days of Oru", "director", "Tal \"Bo\" Orrel, Jr."],
        ["Tal \"Bo\" Orrel, Jr.", "date of birth", "5 March 1907"],
        ["Area 51, Kent & Sons", "country", "Veltria (state)"],
    ],
)  # fmt: skip


def outputs(form: str, golds: list[dict[str, Any]]) -> list[dict[str, str]]:
    return [
        {
            "id": one["_id"],
            "output": FULL[form](
                one["answer"],
                [(title, at) for title, at in one["supporting_facts"]],
                [(s, r, o) for s, r, o in one["evidences"]],
            ),
        }
        for one in golds
    ]


@pytest.mark.parametrize("form", FULL)
def test_a_right_output_of_any_form_scores_100(form: str) -> None:
    golds = [gold(), ODD_NAMES]
    report = score(read_llm_outputs(outputs(form, golds)), golds)
    wrong = [name for name in ("em", "sp_em", "evi_em", "joint_em") if report.metrics[name] != 100]
    assert wrong == [], [parse_llm_output(one["output"]) for one in outputs(form, golds)]


@pytest.mark.parametrize("form", FULL)
@pytest.mark.skipif(not DEV.is_file(), reason="TWOWIKI_SHARED is not set")
def test_real_outputs_of_any_form_score_100(form: str) -> None:
    golds = json.loads(DEV.read_text(encoding="utf-8"))
    said = outputs(form, golds)
    report = score(read_llm_outputs(said), golds)
    names = ("em", "sp_em", "evi_em", "joint_em")
    bad = [row["id"] for row in report.per_example() if any(row[name] != 100 for name in names)]
    first = [(one["output"], parse_llm_output(one["output"])) for one in said if one["id"] in bad]
    assert {name: report.metrics[name] for name in names} == dict.fromkeys(names, 100), first[:3]


@pytest.mark.parametrize("form", ANSWER_ONLY)
@pytest.mark.parametrize(
    "answer", ["Brinmoor", "yes", "5 March 1907", "St. Oru, Kent", "O'Ren (film)"]
)
def test_an_answer_alone_is_read_by_both_readers(form: str, answer: str) -> None:
    text = answer_only(form, answer)
    found = parse_llm_output(text)
    assert (found.answer, found.facts, found.triples) == (answer, None, None)
    assert found.unread == ()
    assert parse_science_answer(text) == answer


@pytest.mark.parametrize("form", ANSWER_ONLY)
@pytest.mark.skipif(not DEV.is_file(), reason="TWOWIKI_SHARED is not set")
def test_real_answers_are_read(form: str) -> None:
    golds = json.loads(DEV.read_text(encoding="utf-8"))
    said = [{"id": one["_id"], "output": answer_only(form, one["answer"])} for one in golds]
    report = score(read_llm_outputs(said), golds)
    bad = {row["id"] for row in report.per_example() if row["em"] != 100}
    assert [
        (one["output"], parse_llm_output(one["output"])) for one in said if one["id"] in bad
    ] == []


@pytest.mark.parametrize(
    "text",
    [
        f"<think>It must be {WRONG}.</think>",
        f"<think>The answer is {WRONG}.\nAnswer: {WRONG}\n<answer>{WRONG}</answer>",
        f"The mother of Tavik is Dessa. She lived in {WRONG} for years.\nThen she moved.",
        f"<search>{WRONG}</search>\n<information>Answer: {WRONG}</information>",
        f"<search>x</search><result><answer>{WRONG}</answer></result>",
        f"Thought: look\nAction: Search[{WRONG}]\nObservation: The answer is {WRONG}.",
        f'<tool_call>{{"name": "search", "arguments": {{"query": "{WRONG}"}}}}</tool_call>',
        f"<|channel|>analysis<|message|>The answer is {WRONG}.<|end|>",
        f"Intermediate answer: {WRONG}\nI need one more step to know it.",
        "<answer></answer>",
        "<answer> </answer>",
        "Somewhere. <answer>Oru</answer> No. <answer></answer>",
        "\\boxed{}",
        "Final Answer:",
        f"The final answer is not {WRONG}, and I cannot tell.\nSorry.",
        f'{{"thought": "{WRONG}", "answer": null}}',
        f"<output>She was born, as the first paragraph shows us, in {WRONG} or near it</output>",
        "The answer must be a place.\nShe lived in Oru.",
        f"The answer is either Oru or {WRONG}.\nI cannot tell.",
        f"### Response\nShe was born in {WRONG}.\nOr was she?",
        '"answer": "Zzy',
        '{"answer": "Zzy',
        f"Finish[]\nI thought of {WRONG} but no.",
    ],
)
def test_what_is_not_marked_is_not_taken(text: str) -> None:
    assert parse_llm_output(text).answer is None


@pytest.mark.parametrize(
    ("text", "facts", "triples"),
    [
        ('{"subject": "a", "predicate": "r", "object": "b"}', None, [("a", "r", "b")]),
        ('[["a", "r", "b"], ["c", "r", "d"]]', None, [("a", "r", "b"), ("c", "r", "d")]),
        ('[{"subject": "a", "relation": "r", "object": "b"}]', None, [("a", "r", "b")]),
        ('{"evidences": {"subject": "a", "predicate": "r", "object": "b"}}', None,
         [("a", "r", "b")]),
        ('{"evidence": [["Oru", 0], ["Tal", 1]]}', [("Oru", 0), ("Tal", 1)], None),
        ('{"supporting_facts": [["a", "r", "b"]]}', None, [("a", "r", "b")]),
        ('{"sources": ["Wikipedia"], "supporting_facts": [["Oru", 1]]}', [("Oru", 1)], None),
        ("Supporting facts:\n- Oru, 1\nSources:\n- Wikipedia, 2", [("Oru", 1)], None),
        ('{"evidences": [["a", "r", ["b", "c"]]]}', None, [("a", "r", "b"), ("a", "r", "c")]),
        ('{"evidences": ["a -> r -> b -> q -> c"]}', None, [("a", "r", "b"), ("b", "q", "c")]),
        ('{"evidences": ["mother(Tavik, Dessa)"]}', None, [("Tavik", "mother", "Dessa")]),
        ('{"evidences": ["subject: a, relation: r, object: b"]}', None, [("a", "r", "b")]),
        ('{"evidences": {"1": ["a", "r", "b"], "2": ["c", "r", "d"]}}', None,
         [("a", "r", "b"), ("c", "r", "d")]),
        ('{"evidences": [{"triple": ["a", "r", "b"]}]}', None, [("a", "r", "b")]),
        ('{"supporting_facts": [{"title": "Oru", "sentences": [0, 2]}]}', [("Oru", 0), ("Oru", 2)],
         None),
        ('{"supporting_facts": [["Oru", [0, 2]]]}', [("Oru", 0), ("Oru", 2)], None),
        ('{"supporting_facts": [["Oru", 0, "Oru is a lake."]]}', [("Oru", 0)], None),
        ('{"supporting_facts": [["Oru", "sentence 1"]]}', [("Oru", 1)], None),
        ('{"supporting_facts": [{"Oru": 1}, {"Tal": [0]}]}', [("Oru", 1), ("Tal", 0)], None),
        ('{"result": {"data": {"supporting_facts": [["Oru", 1]]}}}', [("Oru", 1)], None),
        ("Evidence:\n- subject: a\n  relation: r\n  object: b\n- subject: c\n  relation: r\n"
         "  object: d", None, [("a", "r", "b"), ("c", "r", "d")]),
    ],
)  # fmt: skip
def test_shapes_of_facts_and_triples(text: str, facts: Any, triples: Any) -> None:
    found = parse_llm_output(text)
    assert (found.facts, found.triples, found.unread) == (facts, triples, ())


@pytest.mark.parametrize(
    ("text", "unread"),
    [
        ('{"answer": "x", "supporting_facts": ["Oru", "Tal"]}', ("supporting_facts",)),
        ('{"answer": "x", "supporting_facts": [["Oru", 1], {}]}', ("supporting_facts",)),
        ('{"answer": "x", "evidences": [["a", "b"]]}', ("evidences",)),
        ('{"answer": "x", "evidences": 7}', ("evidences",)),
        ("<answer>x</answer>\nTriples:\n- something\n- other", ("evidences",)),
        ("Answer: see <ref>x</ref> here", ("markup",)),
        ('{"answer": "x", "supporting_facts": [], "evidences": []}', ()),
    ],
)
def test_what_cannot_be_read_is_named(text: str, unread: tuple[str, ...]) -> None:
    found = parse_llm_output(text)
    assert found.unread == unread
    if unread == ("evidences",):
        assert found.triples is None


def test_a_text_that_is_cut_keeps_what_is_complete() -> None:
    text = FULL["plain_json"](
        "Brinmoor", [(t, n) for t, n in FACTS], [(s, r, o) for s, r, o in TRIPLES]
    )
    lengths = []
    for end in range(len(text)):
        found = parse_llm_output(text[:end])
        assert found.answer in (None, "Brinmoor")
        assert (found.facts or []) == [tuple(fact) for fact in FACTS][: len(found.facts or [])]
        assert (found.triples or []) == [tuple(one) for one in TRIPLES][: len(found.triples or [])]
        lengths.append(
            (found.answer is not None) + len(found.facts or []) + len(found.triples or [])
        )
    assert lengths == sorted(lengths)
    assert set(lengths) == {0, 1, 2, 3, 4, 5}
    assert parse_llm_output(text[:40]).form != UNPARSED


CALLED = {"name": "final_answer", "arguments": '{"answer": "Brinmoor", "evidences": []}'}


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "assistant", "content": "<answer>Brinmoor</answer>"}],
        [{"role": "assistant", "content": f"Answer: {WRONG}"}, {"role": "user", "content": "Sure?"},
         {"role": "assistant", "content": [{"type": "text", "text": "Answer: Brinmoor"}]}],
        [{"role": "assistant", "content": "Answer: Brinmoor"},
         {"role": "tool", "content": f"Answer: {WRONG}"}],
        [{"role": "assistant", "content": None, "tool_calls": [{"function": CALLED}]}],
        {"role": "assistant", "content": "Answer: Brinmoor", "reasoning_content": WRONG},
    ],
)  # fmt: skip
def test_the_last_message_of_the_assistant_counts(messages: Any) -> None:
    assert parse_llm_output(messages).answer == "Brinmoor"
    assert parse_science_answer(messages) == "Brinmoor"
    listed = messages if isinstance(messages, list) else [messages]
    report = score(read_llm_outputs([{"id": "q1", "messages": listed}]), [gold()])
    assert report.metrics["em"] == 100.0


def test_what_is_unread_is_counted() -> None:
    texts = [
        '{"answer": "Brinmoor", "supporting_facts": ["Oru"]}',
        "Answer: <ref>Brinmoor</ref> </x>",
        '{"answer": "Brinmoor", "supporting_facts": [["Oru", 0], 5], "evidences": [["a", "b"]]}',
    ]
    records = [{"id": f"q{n}", "output": text} for n, text in enumerate(texts)]
    (note,) = read_llm_outputs(records).notes
    assert note.split("; ") == [
        "0 of 3 model outputs could not be parsed",
        "read as headings 1, json 2",
        "2 without supporting sentences, 3 without triples, 2 with supporting sentences that could "
        "not be read (first: q0), 1 with triples that could not be read (first: q2), 1 oddly read, "
        "with mark-up left in the answer (first: q1)",
    ]
