"""`twowiki predict --task ...`: any model is asked in words, every word kept, resumed, scored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.arc_da_files import read_lines, write_lines
from tests.tiny_data import tiny_examples
from twowiki.arc_da.schema import Question
from twowiki.cli.main import main
from twowiki.data.schema import to_official
from twowiki.errors import DataError
from twowiki.llm.parsing import parse_science_answer
from twowiki.llm.prompts import (
    ScienceQuestion,
    science_messages,
    science_prompt,
    shortest_answer,
)
from twowiki.llm.shots import draw_science_shots
from twowiki.text2text import prediction as asking
from twowiki.text2text.arc_da_format import Format
from twowiki.text2text.chat_format import Codec, write_text_format
from twowiki.text2text.loading import make_model, make_tokenizer
from twowiki.text2text.prompting import ArcDaPrompts, TwoWikiPrompts, shortened

TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
EXAMPLES = list(tiny_examples(6, seed=4))


def save_model(folder: Path, name: str, *, chat: bool = False, positions: int = 4096) -> Path:
    texts = ["What melts ice? heat", "Answer each science question"]
    made = make_tokenizer(texts, 300, ends=name == "tiny-t5")
    if chat:
        made.add_special_tokens({"additional_special_tokens": ["<|end|>", "<|assistant|>"]})
        made.chat_template = TEMPLATE
    torch.manual_seed(0)
    model = make_model(name, made, width=16, layers=1, dropout=-1)
    if name == "tiny-causal":
        model.config.max_position_embeddings = positions
    model.save_pretrained(folder)
    made.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def causal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("causal") / "model", "tiny-causal", chat=True)


@pytest.fixture(scope="module")
def seq2seq(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("t5") / "model", "tiny-t5")


@pytest.fixture
def dev(tmp_path: Path) -> Path:
    return write_lines(
        tmp_path / "dev.jsonl",
        [
            {"question_id": f"q{n}", "tag": "EASY-DEV", "question": f"What is number {n}?",
             "answers": ["heat"]}
            for n in range(5)
        ],
    )  # fmt: skip


@pytest.fixture
def train(tmp_path: Path) -> Path:
    return write_lines(
        tmp_path / "train.jsonl",
        [
            {"question_id": f"t{n}", "question": f"Solved {n}?", "answers": ["a long one", "sun"]}
            for n in range(4)
        ],
    )


def predict(model: Path, data: Path, out: Path, *flags: object, task: str = "arc_da") -> int:
    given = ["predict", "--model", str(model), "--task", task, "--max-new-tokens", "4"]
    return main([*given, *map(str, flags), str(data), str(out)])


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("heat", "heat"),
        ("Heat.\nBecause it is hot.", "Heat"),
        ("Answer: heat", "heat"),
        ("**Answer:** heat", "heat"),
        ("The answer is heat.", "heat"),
        ("The final answer is: heat", "heat"),
        ("<think>Is it ice?</think>\n\nheat", "heat"),
        ("<think>never ends", ""),
        ('"heat"', "heat"),
        ("heat Question: What next?", "heat"),
        ("answering machines", "answering machines"),
        ("", ""),
        ("3.5", "3.5"),
        ("\n\n  -  \nheat", "-"),
    ],
)
def test_the_short_answer_in_a_chatty_one(said: str, answer: str) -> None:
    assert parse_science_answer(said) == answer


def test_prompts_with_and_without_demonstrations() -> None:
    asked = ScienceQuestion("What  melts ice?", ("Heat does.",))
    shot = ScienceQuestion("Solved?", (), "sun")
    chat = science_messages(asked, [shot])
    assert [one["role"] for one in chat] == ["system", "user", "assistant", "user"]
    assert chat[2]["content"] == "sun"
    assert chat[3]["content"] == "Facts: Heat does.\nQuestion: What melts ice?"
    assert science_prompt(asked, [shot]).endswith(
        "Question: Solved?\nAnswer: sun\n\nFacts: Heat does.\nQuestion: What melts ice?\nAnswer:"
    )
    assert len(science_messages(asked)) == 2


def test_demonstrations_are_drawn_from_the_seed_and_show_a_short_answer() -> None:
    pool = [Question(f"t{n}", None, "Q?", ("a b", "c", "d")) for n in range(9)]
    assert (
        draw_science_shots(pool, 3, 1).chosen
        == draw_science_shots(pool, 3, 1).chosen
        != draw_science_shots(pool, 3, 2).chosen
    )
    assert shortest_answer(pool[0]) == "c"
    with pytest.raises(DataError, match="10 demonstrations requested, but only 9"):
        draw_science_shots([*pool, Question("t9", None, "Q?")], 10, 0)


def test_a_question_that_is_asked_is_no_demonstration(
    causal: Path, dev: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train = write_lines(
        tmp_path / "train.jsonl",
        [
            {"question_id": "t0", "question": "what IS number 3", "answers": ["SECRET"]},
            {"question_id": "q1", "question": "Another?", "answers": ["SECRET"]},
            {"question_id": "t1", "question": "Solved?", "answers": ["sun"]},
        ],
    )
    out = tmp_path / "said.json"
    assert predict(causal, dev, out, "--shots", 1, "--shots-from", train) == 0
    assert "2 questions left out of the demonstrations" in capsys.readouterr().err
    prompts = [one["prompt"] for one in read_lines(Path(f"{out}.outputs.jsonl"))[1:]]
    assert all("sun" in prompt and "SECRET" not in prompt for prompt in prompts)
    data = tmp_path / "dev.json"
    examples = [to_official(example) for example in tiny_examples(2)]
    data.write_text(json.dumps(examples), "utf-8")
    given = ["--shots", 1, "--shots-from", data]
    assert predict(causal, data, tmp_path / "two.json", *given, task="two_wiki") == 2
    assert "are not asked themselves" in capsys.readouterr().err


def test_a_language_model_is_asked_and_every_word_kept(
    causal: Path, dev: Path, train: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "said.json"
    assert predict(causal, dev, out, "--shots", 2, "--shots-from", train) == 0
    records = read_lines(Path(f"{out}.outputs.jsonl"))
    assert records[0]["run"]["style"] == "prompted"
    assert {one["id"] for one in records[1:]} == {f"q{n}" for n in range(5)}
    prompt = records[1]["prompt"]
    assert prompt.startswith("<|system|>Answer each science question")
    assert prompt.count("<|assistant|>sun<|end|>") == 2
    assert prompt.endswith("<|assistant|>")
    said = json.loads(out.read_text("utf-8"))
    assert list(said) == [f"q{n}" for n in range(5)]
    assert all(parse_science_answer(one["output"]) == said[one["id"]] for one in records[1:])
    printed = capsys.readouterr()
    assert "arc_da|f1:squad" in printed.out
    assert "5 predictions (prompted)" in printed.err
    lines = tmp_path / "said.jsonl"
    assert predict(causal, dev, lines, "--limit", 2, "--chat", "no") == 0
    assert [one["question_id"] for one in read_lines(lines)] == ["q1", "q3"]
    assert read_lines(Path(f"{lines}.outputs.jsonl"))[1]["prompt"].endswith("Answer:\n")


def test_a_run_that_was_cut_off_goes_on_with_the_same_bytes(
    causal: Path, dev: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    whole, broken = tmp_path / "whole.json", tmp_path / "broken.json"
    flags = ("--batch-size", 2)
    assert predict(causal, dev, whole, *flags) == 0
    real, calls = asking.generate_texts, [0]

    def generate_texts(*given: Any) -> list[str]:
        calls[0] += 1
        if calls[0] == 2:
            raise KeyboardInterrupt
        return real(*given)

    monkeypatch.setattr(asking, "generate_texts", generate_texts)
    assert predict(causal, dev, broken, *flags) == 130
    assert not broken.exists()
    kept = Path(f"{broken}.outputs.jsonl")
    assert len(read_lines(kept)) == 3
    with kept.open("a", encoding="utf-8") as stream:
        stream.write('{"id": "q1", "out')
    assert predict(causal, dev, broken, *flags, "--num-beams", 2) == 2
    assert "num_beams was 1, and is 2" in capsys.readouterr().err
    assert predict(causal, dev, broken, *flags) == 0
    assert calls[0] == 4
    assert broken.read_bytes() == whole.read_bytes()
    assert kept.read_bytes() == Path(f"{whole}.outputs.jsonl").read_bytes()
    assert predict(causal, dev, broken, *flags) == 0
    assert calls[0] == 4
    assert predict(causal, dev, broken, *flags, "--num-beams", 2, "--restart") == 0


def test_outputs_of_another_run_are_refused_before_the_model_is_loaded(
    seq2seq: Path, dev: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "said.json"
    assert predict(seq2seq, dev, out, "--limit", 2) == 0
    monkeypatch.setattr("twowiki.text2text.prediction.load_generator", None)
    assert predict(seq2seq, dev, out, "--limit", 2, "--num-beams", 2) == 2
    assert predict(seq2seq, dev, out, "--limit", 2, "--dtype", "bfloat16") == 2


def test_a_limit_draws_from_the_whole_file(seq2seq: Path, tmp_path: Path) -> None:
    rows = [{"question_id": f"q{n}", "question": "Why?", "answers": ["a"]} for n in range(40)]
    data = write_lines(tmp_path / "dev.jsonl", rows)
    drawn = []
    for seed in (0, 1):
        out = tmp_path / f"{seed}.json"
        assert predict(seq2seq, data, out, "--limit", 6, "--seed", seed) == 0
        drawn.append([int(name[1:]) for name in json.loads(out.read_text(encoding="utf-8"))])
    assert all(places == sorted(places) and len(places) == 6 for places in drawn)
    assert max(drawn[0]) > 10
    assert drawn[0] != drawn[1]


def test_sentences_come_into_the_prompt(seq2seq: Path, dev: Path, tmp_path: Path) -> None:
    told = write_lines(
        tmp_path / "told.jsonl", [{"question_id": "q1", "sentences": ["Heat does.", "Ice is."]}]
    )
    out = tmp_path / "said.json"
    assert predict(seq2seq, dev, out, "--contexts", told, "--sentences", 1) == 0
    records = {one["id"]: one for one in read_lines(Path(f"{out}.outputs.jsonl"))[1:]}
    assert "Facts: Heat does.\nQuestion: What is number 1?" in records["q1"]["prompt"]
    assert "Facts" not in records["q2"]["prompt"]
    optioned = write_lines(
        tmp_path / "o.jsonl", [{"question_id": "q1", "query": "question_options", "sentences": []}]
    )
    assert predict(seq2seq, dev, out, "--contexts", optioned) == 2
    others = write_lines(tmp_path / "z.jsonl", [{"question_id": "z", "sentences": ["Ice."]}])
    assert predict(seq2seq, dev, out, "--contexts", others) == 2


def test_multihop_questions_are_asked_for_json(causal: Path, tmp_path: Path) -> None:
    data = tmp_path / "dev.json"
    data.write_text(json.dumps([to_official(one) for one in EXAMPLES[:2]]), encoding="utf-8")
    out = tmp_path / "said.json"
    flags = ("--form", "gold-context", "--shots", 1, "--shots-from", tmp_path / "train.json")
    shots = [to_official(one) for one in EXAMPLES[2:]]
    (tmp_path / "train.json").write_text(json.dumps(shots), encoding="utf-8")
    assert predict(causal, data, out, *flags, task="two_wiki") == 0
    said = json.loads(out.read_text("utf-8"))
    assert set(said) == {"answer", "sp", "evidence"}
    assert list(said["answer"]) == [one.id for one in EXAMPLES[:2]]
    prompt = read_lines(Path(f"{out}.outputs.jsonl"))[1]["prompt"]
    assert "Reply with one JSON object" in prompt
    assert '"supporting_facts"' in prompt
    assert main(["score", str(out), str(data)]) == 0


def test_outputs_of_multihop_questions_become_official_predictions() -> None:
    example = EXAMPLES[0]
    gold = {
        "answer": example.answer,
        "supporting_facts": [list(fact) for fact in example.supporting_facts],
        "evidences": [list(triple) for triple in example.evidences],
    }
    prompted = TwoWikiPrompts([example], "full-context", trained=False)
    said = prompted.predictions({example.id: f"Sure! ```json\n{json.dumps(gold)}\n```"})
    official = to_official(example)
    assert said["answer"][example.id] == official["answer"]
    assert said["sp"][example.id] == official["supporting_facts"]
    assert said["evidence"][example.id] == official["evidences"]
    nothing = prompted.predictions(
        {example.id: "I do not know what you mean by that at all, no?" * 3}
    )
    assert nothing == {"answer": {example.id: ""}, "sp": {example.id: []},
                       "evidence": {example.id: []}}  # fmt: skip


def test_a_model_that_was_trained_here_is_asked_in_its_own_format(
    seq2seq: Path, dev: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from shutil import copytree

    model = Path(copytree(seq2seq, tmp_path / "model"))
    form = Format("macaw")
    write_text_format(model, {"task": "arc_da", **form._asdict(), "max_source_length": 60,
                         "max_new_tokens": 3, "num_beams": 2})  # fmt: skip
    out = tmp_path / "said.json"
    assert main(["predict", str(model), str(dev), str(out), "--task", "arc_da"]) == 0
    records = read_lines(Path(f"{out}.outputs.jsonl"))
    assert records[0]["run"]["num_beams"] == 2
    assert records[0]["run"]["budget"] == 60
    assert records[1]["prompt"].startswith("$answer$ ; $question$ = What is number")
    assert predict(model, dev, out, "--restart", task="two_wiki") == 2
    assert "was trained on arc_da, not on two_wiki" in capsys.readouterr().err
    assert predict(model, dev, out, "--shots", 1, "--shots-from", dev, "--restart") == 2
    assert "takes no demonstrations" in capsys.readouterr().err
    write_text_format(model, {"task": "two_wiki", "max_source_length": 4000})
    data = tmp_path / "dev.json"
    data.write_text(json.dumps([to_official(EXAMPLES[0])]), encoding="utf-8")
    assert predict(model, data, tmp_path / "two.json", task="two_wiki") == 0
    prompt = read_lines(tmp_path / "two.json.outputs.jsonl")[1]["prompt"]
    assert prompt.startswith("$question$ = ")


def test_long_prompts_lose_demonstrations_then_sentences(causal: Path) -> None:
    from transformers import AutoTokenizer

    codec = Codec(AutoTokenizer.from_pretrained(causal), "causal")
    question = Question("q", None, "What melts ice?", ("heat",))
    shots = [Question(f"t{n}", None, f"Solved question {n}?", ("sun",)) for n in range(3)]
    told = {"q": [f"Sentence number {n} about ice." for n in range(6)]}
    prompt_set = ArcDaPrompts([question], told, None, sentences=6, shots=shots)

    def fitted(budget: int) -> tuple[int, int, bool]:
        one = prompt_set.prompts(codec, budget)[0]
        assert one.too_long == (len(codec.prompt_ids(one.source)) > budget)
        return one.shots, one.sentences, one.too_long

    whole = len(codec.prompt_ids(prompt_set.prompts(codec, 10_000)[0].source))
    assert fitted(whole) == (3, 6, False)
    assert fitted(whole - 1) == (2, 6, False)
    shortest = [fitted(budget) for budget in range(20, whole, 10)]
    assert shortest[0] == (0, 0, True)
    assert (0, 3, False) in shortest
    assert shortest == sorted(shortest, key=lambda one: (one[0], one[1]))


def test_a_context_is_shortened_from_the_ends_of_paragraphs() -> None:
    example = EXAMPLES[0]
    total = sum(len(paragraph.sentences) for paragraph in example.context)
    assert shortened(example, total) == example
    half = shortened(example, total // 2)
    assert sum(len(paragraph.sentences) for paragraph in half.context) == total // 2
    for before, after in zip(example.context, half.context, strict=True):
        assert before.sentences[: len(after.sentences)] == after.sentences
    assert all(not paragraph.sentences for paragraph in shortened(example, 0).context)


def test_a_question_too_long_for_the_model_is_not_asked(
    dev: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = save_model(tmp_path / "model", "tiny-causal", positions=40)
    out = tmp_path / "said.json"
    assert predict(model, dev, out) == 0
    assert "too long for the model, not asked: 5" in capsys.readouterr().err
    assert set(json.loads(out.read_text("utf-8")).values()) == {""}
    assert predict(model, dev, out, "--max-new-tokens", 64, "--restart") == 2
    assert "no room for a prompt" in capsys.readouterr().err


def test_bad_calls_are_one_sentence(
    causal: Path, dev: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def says(text: str, *arguments: object) -> None:
        assert main(["predict", *map(str, arguments)]) == 2
        assert text in capsys.readouterr().err

    out = tmp_path / "o.json"
    task = ("--task", "arc_da")
    says("1 paths and no --model", dev, *task)
    says("3 paths and --model m", "--model", "m", dev, out, out, *task)
    says("--shots-from", "--model", causal, dev, out, *task, "--shots", 2)
    says("must be at least 1", "--model", causal, dev, out, *task, "--batch-size", 0)
    says("no such folder", "--model", tmp_path / "none", dev, out, *task)
    says("none.jsonl: no such file", "--model", "absent", tmp_path / "none.jsonl", out, *task)
    says("none.txt: no such file", "--model", "absent", dev, out, *task, "--contexts", "none.txt")
    mixed = ["predict", str(causal), "--task", "arc_da", str(dev), "--limit", "1", str(out)]
    assert main(mixed) == 0  # paths between flags
    capsys.readouterr()
    release = tmp_path / "release"
    for name in ("train", "dev"):
        write_lines(release / f"{name}.jsonl", read_lines(dev))
    says("Name one with --split", "--model", causal, release, out, *task)
    assert predict(causal, release, out, "--split", "dev", "--restart") == 0


def test_questions_without_gold_are_answered_and_not_scored(
    causal: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blind = write_lines(tmp_path / "test.jsonl", [{"question_id": "b", "question": "Why?"}])
    assert predict(causal, blind, tmp_path / "said.json") == 0
    assert "no gold answers" in capsys.readouterr().err
