"""Prompts: what each form shows and hides, demonstrations, and the way back to a score."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.joint_files import gold, several, write
from twowiki.cli.main import main
from twowiki.data.schema import Example, parse_record
from twowiki.errors import DataError
from twowiki.llm.parsing import parse_llm_output
from twowiki.llm.prompts import (
    PROMPT_FORMS,
    gold_reply,
    instructions,
    messages_for,
    prompt_for,
)
from twowiki.llm.shots import draw_shots


def example(**fields: Any) -> Example:
    extra = [["Lake Oru", ["Lake Oru lies in Veltria."]]]
    return parse_record(gold(**{"context": [*gold()["context"], *extra], **fields}))


@pytest.mark.parametrize("form", PROMPT_FORMS)
def test_what_a_form_shows(form: str) -> None:
    text = prompt_for(example(), form)
    assert "Where was the mother of Tavik Orrel born?" in text
    assert "q1" not in text.replace("Question", "")
    assert ("She was born in Brinmoor." in text) == (form != "closed-book")
    assert ("Lake Oru lies" in text) == (form in ("full-context", "retrieved"))
    assert ("supporting_facts" in text) == (form != "closed-book")
    assert "place of birth" in text  # one of the relations to choose from
    if form != "closed-book":
        assert "Title: Dessa Orrel\n[0] Dessa Orrel was a painter.\n[1] She was born" in text


def test_the_answer_is_never_shown_outside_the_context() -> None:
    assert "Brinmoor" not in prompt_for(example(), "closed-book")
    chat = messages_for(example(), "closed-book")
    assert [message["role"] for message in chat] == ["system", "user"]
    assert chat[0]["content"] == instructions("closed-book")


def test_gold_context_needs_gold() -> None:
    with pytest.raises(DataError, match="record q1, field 'supporting_facts'"):
        prompt_for(example(supporting_facts=[]), "gold-context")
    with pytest.raises(DataError, match="closed-book, gold-context, full-context, retrieved"):
        instructions("open-book")


@pytest.mark.parametrize("form", PROMPT_FORMS)
def test_the_reply_that_is_asked_for_is_read_back(form: str) -> None:
    asked = example()
    found = parse_llm_output(gold_reply(asked, form))
    assert found.answer == "Brinmoor"
    assert found.triples == [tuple(triple) for triple in asked.evidences]
    facts = None if form == "closed-book" else [tuple(fact) for fact in asked.supporting_facts]
    assert found.facts == facts


def test_demonstrations() -> None:
    golds = [parse_record(record) for record in several(8)[0]]
    shots = draw_shots(golds, 4, seed=1).chosen
    assert shots == draw_shots(golds, 4, seed=1).chosen
    assert {shot.type for shot in shots} == {example.type for example in golds}
    chat = messages_for(example(), "full-context", shots)
    assert [message["role"] for message in chat] == ["system", *["user", "assistant"] * 4, "user"]
    assert chat[2]["content"] == gold_reply(shots[0], "full-context")
    with pytest.raises(DataError, match="99 demonstrations"):
        draw_shots(golds, 99, seed=1)


def test_the_command_and_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    golds, _ = several(4)
    path, out = write(tmp_path / "dev.json", golds), tmp_path / "prompts.jsonl"
    train = write(
        tmp_path / "train.json", [gold(_id=f"t{n}", question=f"Solved {n}?") for n in range(3)]
    )
    options = ["--shots", "2", "--shots-from", str(train), "--limit", "3"]
    assert main(["prompt", str(path), str(out), *options]) == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["id"] for line in lines] == ["q0", "q1", "q2"]
    assert all(len(line["messages"]) == 6 for line in lines)
    assert main(["prompt", str(path), str(out), "--plain", "--form", "closed-book"]) == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert set(lines[0]) == {"id", "prompt"}
    replies = tmp_path / "replies.jsonl"
    replies.write_text(
        "".join(
            json.dumps({"id": one["_id"], "output": gold_reply(parse_record(one), "full-context")})
            + "\n"
            for one in golds
        )
    )
    capsys.readouterr()
    assert main(["score", "--from-llm", str(replies), str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["joint_f1"] == 100.0
    assert main(["prompt", str(path), str(out), "--shots", "2"]) == 2
    assert "--shots-from" in capsys.readouterr().err


def test_a_question_is_never_shown_its_own_gold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dev = write(tmp_path / "dev.json", [gold(_id="q1", answer="SECRET")])
    out = str(tmp_path / "prompts.jsonl")
    options = ["--form", "closed-book", "--shots", "1", "--shots-from"]
    assert main(["prompt", str(dev), out, *options, str(dev)]) == 2
    assert "only 0 questions have gold and are not asked themselves (1 are)" in (
        capsys.readouterr().err
    )
    same = gold(_id="t1", answer="SECRET", question="  where WAS the mother of Tavik Orrel, born")
    other = gold(_id="t2", answer="Oru", question="Where is Oru?")
    train = write(tmp_path / "train.json", [same, other])
    for plain in ([], ["--plain"]):
        assert main(["prompt", str(dev), out, *options, str(train), *plain]) == 0
        said = capsys.readouterr().err
        assert "1 question left out of the demonstrations" in said
        assert "(first: t1)" in said
        text = Path(out).read_text("utf-8")
        assert "SECRET" not in text
        assert "Oru" in text


def test_what_is_asked_is_left_out_by_id_and_by_words() -> None:
    pool = [parse_record(gold(_id=f"t{n}", question=f"Solved {n}?")) for n in range(6)]
    asked = [pool[0]._replace(question="Other?"), pool[1]._replace(id="other", question="SOLVED 1")]
    shots = draw_shots(pool, 4, seed=0, asked_for=asked)
    assert shots.left_out == ["t0", "t1"]
    assert {shot.id for shot in shots.chosen} == {"t2", "t3", "t4", "t5"}
    assert draw_shots(pool, 2, seed=0).note is None
