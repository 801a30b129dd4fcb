"""Raw outputs of language models: what is read, in which form, and what is counted as unread."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.joint_files import FACTS, TRIPLES, gold, several, write, write_lines
from twowiki.cli.main import main
from twowiki.errors import DataError
from twowiki.llm.outputs import read_llm_outputs
from twowiki.llm.parsing import (
    BARE,
    CUT,
    HEADINGS,
    JSON,
    UNPARSED,
    parse_llm_output,
    parse_science_answer,
)
from twowiki.metric.score import score

REPLY = {"answer": "Brinmoor", "supporting_facts": FACTS, "evidences": TRIPLES}
WHOLE = [tuple(fact) for fact in FACTS], [tuple(triple) for triple in TRIPLES]
TEXT = json.dumps(REPLY)


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        json.dumps(REPLY, indent=2),
        f"```json\n{TEXT}\n```",
        f"```\n{TEXT}\n```\nI hope this helps!",
        f"Sure! Here is the answer:\n{TEXT}\nLet me know {{if}} you need more.",
        f'<think>Maybe {{"answer": "Oru"}}? No.</think>{TEXT}',
        f'First try: {{"answer": "Oru"}}. Better: {TEXT}',
        TEXT.replace("]]", "],]").replace('"Brinmoor",', '"Brinmoor" ,', 1),
        repr(REPLY),
        json.dumps({"Answer": "Brinmoor", "Supporting Facts": FACTS, "Evidence": TRIPLES}),
        json.dumps({"final_answer": " Brinmoor ", "sp": FACTS, "triples": TRIPLES, "note": 1}),
        json.dumps(
            {
                "answer": ["Brinmoor"],
                "supporting_sentences": [{"title": t, "sentence": str(n)} for t, n in FACTS],
                "evidence_triples": [{"head": s, "relation": r, "tail": o} for s, r, o in TRIPLES],
            }
        ),
        json.dumps(
            {
                "answer": "Brinmoor",
                "supporting_facts": ["Tavik Orrel, 0", "Dessa Orrel [1]"],
                "evidences": [
                    "(Tavik Orrel, mother, Dessa Orrel)",
                    "Dessa Orrel -> place of birth -> Brinmoor",
                ],
            }
        ),
    ],
)
def test_json_in_many_dresses(text: str) -> None:
    found = parse_llm_output(text)
    assert found.answer == "Brinmoor"
    assert (found.facts, found.triples) == WHOLE
    assert found.form == JSON


@pytest.mark.parametrize(
    "text",
    [
        "Answer: Brinmoor\nSupporting facts:\n- Tavik Orrel, 0\n- Dessa Orrel, 1\nEvidence:\n"
        "- (Tavik Orrel, mother, Dessa Orrel)\n- (Dessa Orrel, place of birth, Brinmoor)",
        "**Answer:** Brinmoor\n\n**Supporting facts:**\n1. Tavik Orrel (sentence 0)\n"
        "2. Dessa Orrel (sentence 1)\n\n**Evidence triples:**\n"
        "1. Tavik Orrel | mother | Dessa Orrel\n"
        "2. Dessa Orrel | place of birth | Brinmoor",
        "Let me think. The mother is Dessa.\n## Final answer: Brinmoor\n### Supporting sentences:\n"
        "* Tavik Orrel #0\n* Dessa Orrel: 1\n### Triples:\n"
        "* <Tavik Orrel; mother; Dessa Orrel>\n* Dessa Orrel → place of birth → Brinmoor",
        'Answer:\nBrinmoor\nSupporting facts: [["Tavik Orrel", 0], ["Dessa Orrel", 1]]\n'
        f"Evidences: {json.dumps(TRIPLES)}",
        "Answer: Oru\nNo, wait.\nAnswer: Brinmoor\nSp:\nTavik Orrel sentence 0\nDessa Orrel [1].\n"
        "Triples:\nTavik Orrel\tmother\tDessa Orrel\nDessa Orrel, place of birth, Brinmoor",
    ],
)
def test_headings(text: str) -> None:
    found = parse_llm_output(text)
    assert found.answer == "Brinmoor"
    assert (found.facts, found.triples) == WHOLE
    assert found.form == HEADINGS


@pytest.mark.parametrize(
    ("text", "answer", "form"),
    [
        ("Brinmoor", "Brinmoor", BARE),
        ('"Brinmoor."', "Brinmoor", BARE),
        ("**Brinmoor**", "Brinmoor", BARE),
        ("The answer is Brinmoor.", "Brinmoor", HEADINGS),
        (
            "Her mother was born there, so the final answer is: 5 March 1907.",
            "5 March 1907",
            HEADINGS,
        ),
        ("Answer: yes", "yes", HEADINGS),
        ('{"answer": true}', "yes", JSON),
        ('{"answer": false}', "no", JSON),
        ('{"answer": 1907}', "1907", JSON),
        ('{"answer": "Brinmoor", "supporting_facts": [["Tavik', "Brinmoor", CUT),
        ('{"answer": "say \\"Oru\\"", "evid', 'say "Oru"', CUT),
        ('{"answer": null}', None, JSON),
        ("", None, UNPARSED),
        ("   ", None, UNPARSED),
        ("I am sorry.\nI cannot answer that.", None, UNPARSED),
        ("word " * 40, None, UNPARSED),
        ("{not json at all}", None, UNPARSED),
        ("<think>Brinmoor, perhaps. But", None, UNPARSED),
        ("Oru? No.</think>\nBrinmoor", "Brinmoor", BARE),
    ],
)
def test_answers_alone(text: str, answer: str | None, form: str) -> None:
    found = parse_llm_output(text)
    assert (found.answer, found.form) == (answer, form)
    assert found.facts is None
    assert found.triples is None


@pytest.mark.parametrize("value", [None, 5, [], ["x"], {}, {"other": 1}])
def test_what_is_no_text_is_unparsed(value: Any) -> None:
    assert parse_llm_output(value).form == UNPARSED
    assert parse_llm_output(REPLY).answer == "Brinmoor"


@pytest.mark.parametrize(
    ("entry", "fact"),
    [
        ("Blade Runner 2049, 3", ("Blade Runner 2049", 3)),
        ("A Lantern (1951 film), 2", ("A Lantern (1951 film)", 2)),
        ("A Lantern (1951 film) [2]", ("A Lantern (1951 film)", 2)),
        ("Oru: sentence 12", ("Oru", 12)),
        ("['Oru', 1]", ("Oru", 1)),
        ("Oru, Lake of (sent. 4)", ("Oru, Lake of", 4)),
    ],
)
def test_facts_as_text(entry: str, fact: tuple[str, int]) -> None:
    found = parse_llm_output(json.dumps({"answer": "x", "supporting_facts": [entry]}))
    assert found.facts == [fact]


@pytest.mark.parametrize("entry", ["Blade Runner 2049", "Oru", "(1951)", 7, None, ["Oru"], {}, ""])
def test_facts_that_cannot_be_read_are_left_out(entry: Any) -> None:
    found = parse_llm_output(json.dumps({"answer": "x", "supporting_facts": [entry, ["A", 1]]}))
    assert found.facts == [("A", 1)]


def test_one_flat_fact_and_triple() -> None:
    text = json.dumps({"answer": "x", "supporting_facts": ["Oru", 0], "evidences": ["a", "b", "c"]})
    found = parse_llm_output(text)
    assert found.facts == [("Oru", 0)]
    assert found.triples == [("a", "b", "c")]


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_read_without_an_error(text: str) -> None:
    found = parse_llm_output(text)
    assert found.form == UNPARSED or found.is_marked or found.form == BARE
    assert found.answer is None or isinstance(found.answer, str)


@settings(max_examples=200, deadline=None)
@given(
    st.text(st.characters(exclude_categories=("Cs",)), max_size=30),
    st.lists(st.tuples(st.text(min_size=1, max_size=10), st.integers(0, 99)), max_size=3),
    st.lists(st.tuples(*[st.text(max_size=10)] * 3), max_size=3),
    st.sampled_from(["{}", "```json\n{}\n```", "So:\n{}\nDone."]),
)
def test_what_the_prompt_asks_for_comes_back(
    answer: str, facts: list[Any], triples: list[Any], frame: str
) -> None:
    reply = {"answer": answer, "supporting_facts": facts, "evidences": triples}
    found = parse_llm_output(frame.replace("{}", json.dumps(reply)))
    assert found.answer == answer.strip()
    assert found.facts == list(dict.fromkeys(facts))
    assert found.triples == list(dict.fromkeys(tuple(map(str.strip, one)) for one in triples))


@pytest.mark.parametrize(
    "text", ["{" * 50_000, '{"answer": ' * 20_000, "[" * 50_000, '"' * 50_000, "a, 1" * 50_000,
             "Supporting facts:\n" + "x " * 50_000, "Answer" + " " * 50_000 + ":",
             "<answer>" * 20_000, "\\boxed{" * 20_000, "Finish[" * 20_000, 'finish("' * 20_000,
             "the answer is " * 20_000, "answer=" * 20_000, "Triples:\n" + "a, " * 20_000,
             "<triple><subject>" * 20_000, "answer: x\nevidences:\n" + "- - a\n" * 20_000,
             '{"answer": "' + 'x" y' * 20_000, "<|channel|>" * 20_000]
)  # fmt: skip
def test_monstrous_texts_take_no_monstrous_time(text: str) -> None:
    start = time.process_time()
    parse_science_answer(text)
    assert time.process_time() - start < 5.0


# Files


def outputs(name: str = "output") -> list[dict[str, Any]]:
    golds, _ = several(4)
    texts = [TEXT, "Answer: Brinmoor", "I cannot answer.\nSorry.", "Brinmoor"]
    return [{"id": one["_id"], name: text} for one, text in zip(golds, texts, strict=True)]


def test_a_file_of_outputs_is_scored_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    golds, _ = several(4)
    files = [str(write_lines(tmp_path / "out.jsonl", outputs())),
             str(write(tmp_path / "dev.json", golds))]  # fmt: skip
    assert main(["score", "--from-llm", *files, "--json"]) == 0
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert report["metrics"]["em"] == 75.0
    assert report["metrics"]["joint_em"] == 25.0
    note = (
        "1 of 4 model outputs could not be parsed (first: q2); read as bare 1, headings 1, json 1"
    )
    assert note in err
    assert note in report["warnings"][0]
    assert report["data"]["predictions"]["name"] == files[0]


def test_two_models_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    golds, blocks = several(4)
    gold_file = str(write(tmp_path / "dev.json", golds))
    raw = str(write_lines(tmp_path / "a.jsonl", outputs()))
    for other in (write_lines(tmp_path / "b.jsonl", outputs()), write(tmp_path / "p.json", blocks)):
        assert main(["score", "--from-llm", raw, gold_file, "--compare", str(other), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)["comparison"]
        assert found["metrics"]["em"] == (75.0 if other.suffix == ".jsonl" else 50.0)
    assert main(["score", "--from-llm", raw, gold_file, "--compare", gold_file + "x"]) == 2


@pytest.mark.parametrize("name", ["output", "text", "response", "completion", "generated_text"])
def test_names_of_the_text(name: str) -> None:
    golds, _ = several(4)
    assert score(read_llm_outputs(outputs(name)), golds).metrics["em"] == 75.0


def test_files_of_batch_services(tmp_path: Path) -> None:
    nested = [
        {"custom_id": "q1", "response": {"body": {"choices": [{"message": {"content": TEXT}}]}}}
    ]
    listed = [{"id": "q1", "output": [{"generated_text": TEXT}]}]
    called = {"type": "tool_use", "name": "final_answer", "input": REPLY}
    messages = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Oru?"}]},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": TEXT}],
        },
    ]
    bodies: list[Any] = [
        {"body": {"output": messages}},
        {
            "message": {
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": "x"}, {"type": "text", "text": TEXT}],
            }
        },
        {"message": {"role": "assistant", "content": [called]}},
        {
            "candidates": [
                {
                    "content": {
                        "role": "model",
                        "parts": [{"text": "Oru?", "thought": True}, {"text": TEXT}],
                    }
                }
            ]
        },
        {"outputs": [{"text": TEXT}]},
        {"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": TEXT}]},
    ]
    for body in bodies:
        found = score(read_llm_outputs([{"custom_id": "q1", "result": body}]), [gold()]).metrics
        assert found["joint_em"] == 100.0, body
    parsed = [{"id": "q1", **REPLY}]
    for records in (nested, listed, parsed, [{"id": "q1", "output": REPLY}]):
        for form in (records, write(tmp_path / "a.json", records)):
            found = score(read_llm_outputs(form), [gold()]).metrics
            assert found["joint_em"] == 100.0


WRITTEN = "<think>Oru?</think><answer>Brinmoor</answer>"
FILES: dict[str, Any] = {
    "texts by id": {"q1": WRITTEN},
    "records by id": {"q1": {"response": WRITTEN, "tokens": 7}},
    "samples by id": {"q1": [WRITTEN, "Oru"]},
    "list under a name": {"samples": [{"id": "q1", "output": WRITTEN}], "model": "m"},
    "FlashRAG": [{"id": "q1", "golden_answers": ["x"], "output": {"prompt": "?", "pred": WRITTEN}}],
    "LongBench": [{"_id": "q1", "pred": WRITTEN, "answers": ["x"], "length": 3}],
    "lm-evaluation-harness": [
        {"doc_id": 0, "doc": {"_id": "q1"}, "target": "x", "resps": [[WRITTEN]]}
    ],
    "HippoRAG": [{"id": "q1", "gold_answers": ["x"], "solution": "Thought: x\nAnswer: Brinmoor"}],
    "batch service": [{"id": "batch_7", "custom_id": "q1", "response": {"body": {
        "choices": [{"message": {"content": WRITTEN}}]}}}],
    "ShareGPT": [{"id": "q1", "conversations": [{"from": "human", "value": "?"},
                                                {"from": "gpt", "value": WRITTEN}]}],
    "prompt and completion": [{"id": "q1", "messages": [{"role": "user", "content": "?"}],
                               "completion": WRITTEN}],
    "another name": [{"uid": "q1", "answer_generation": WRITTEN, "prompt_tokens": 3}],
    "answer with tags": [{"id": "q1", "answer": WRITTEN}],
    "request": [{"request_id": "q1", "outputs": [{"text": WRITTEN}]}],
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_files_of_other_tools(name: str, tmp_path: Path) -> None:
    found = read_llm_outputs(write(tmp_path / "out.json", FILES[name]))
    assert dict(found.answers) == {"q1": "Brinmoor"}


def test_a_number_is_an_id_and_predictions_are_no_outputs(tmp_path: Path) -> None:
    assert dict(read_llm_outputs([{"id": 7, "output": WRITTEN}]).answers) == {"7": "Brinmoor"}
    with pytest.raises(DataError, match="Leave --from-llm out"):
        read_llm_outputs(write(tmp_path / "p.json", {"answer": {"q1": "x"}, "sp": {}}))
    with pytest.raises(DataError, match="no id"):
        read_llm_outputs(write(tmp_path / "p.json", {"output": WRITTEN, "prompt": None}))


def test_the_last_output_of_an_id_counts() -> None:
    twice = [{"id": "q1", "output": "Oru"}, {"id": "q1", "output": TEXT}]
    report = score(read_llm_outputs(twice), [gold()])
    assert report.metrics["joint_em"] == 100.0
    assert any("1 repeated row ignored" in warning for warning in report.warnings)


@pytest.mark.parametrize(
    ("records", "words"),
    [
        ([{"output": "x"}], "no id"),
        ([{"id": 5.5, "output": "x"}], "number"),
        ([{"id": "q1"}], "no record has a model's text"),
        (["x"], "expected an object"),
    ],
)
def test_odd_files_are_named(tmp_path: Path, records: Any, words: str) -> None:
    path = write(tmp_path / "out.json", records)
    with pytest.raises(DataError, match=words) as caught:
        read_llm_outputs(path)
    assert str(path) in str(caught.value)
    assert '"output"' in str(caught.value)
