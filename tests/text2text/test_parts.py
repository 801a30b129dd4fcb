"""Parts of text-to-text training: codecs, encoded files, epochs, generation, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.arc_da_files import write_lines
from tests.text_models import TEXTS, config, model_of, pairs, tokenizer
from twowiki.errors import DataError
from twowiki.io.journal import Journal
from twowiki.models.labels import IGNORED
from twowiki.text2text.arc_da import read_splits
from twowiki.text2text.chat_format import Codec, read_text_format
from twowiki.text2text.generation import GenerationSettings, generate_texts
from twowiki.text2text.pairs import Pair, TextCollator, encode_pairs
from twowiki.training.loaders import NumberedCollator


@pytest.mark.parametrize("text", [*TEXTS, "ÅΩ 水は\u200b \ttab", "a  b", ""])
def test_the_small_tokenizer_gives_every_text_back(text: str) -> None:
    codec = Codec(tokenizer(), "seq2seq")
    assert codec.decode(codec.prompt_ids(text)) == text.strip()
    assert codec.prompt_ids(text)[-1] == codec.end_ids[0]
    assert codec.target_ids(text)[-1] == codec.end_ids[0]


def test_marks_and_ignored_places_are_no_text() -> None:
    codec = Codec(tokenizer(), "seq2seq")
    pad, heat = codec.tokenizer.pad_token_id, codec.target_ids("heat")
    assert codec.decode([pad, *heat, pad, pad]) == "heat"
    assert codec.decode([*heat, *heat]) == "heat"  # nothing counts after the end
    assert codec.decode([IGNORED, *heat[:-1], IGNORED, IGNORED]) == "heat"
    assert codec.decode([]) == ""


def test_a_language_model_goes_on_where_the_prompt_ends() -> None:
    codec = Codec(tokenizer(), "causal")
    ids = codec.prompt_ids("What melts ice?")
    assert ids[-1] not in codec.end_ids
    assert codec.tokenizer.decode(ids) == "What melts ice?\n"
    assert not codec.uses_chat
    with pytest.raises(DataError, match="no chat template"):
        Codec(tokenizer(), "causal", "yes")


def test_a_chat_template_is_used_and_its_end_mark_learnt() -> None:
    codec = Codec(tokenizer(ends=False, chat=True), "causal")
    assert codec.uses_chat
    assert codec.prompt_text("Q?") == "<|user|>Q?<|end|>\n<|assistant|>"
    assert codec.tokenizer.convert_ids_to_tokens(codec.target_ids("heat"))[-1] == "<|end|>"
    assert codec.tokenizer.eos_token_id in codec.end_ids
    assert not Codec(codec.tokenizer, "causal", "no").uses_chat
    assert not Codec(codec.tokenizer, "seq2seq").uses_chat


def test_encoded_pairs_are_made_once_and_cut_targets_counted(tmp_path: Path) -> None:
    codec = Codec(tokenizer(), "seq2seq")
    made = encode_pairs(pairs(), codec, tmp_path, "key", longest_target=5, what="x")
    assert made.counts == {"context is cut": 1, "target is cut": 1}
    sources, targets = ([list(pair[name]) for pair in made] for name in ("source", "target"))
    assert sources[0] == sources[1] == codec.prompt_ids("What melts ice?")
    assert targets[0] == codec.target_ids("heat")
    assert len(targets[1]) == 5
    assert targets[1][-1] == codec.end_ids[0]
    assert targets[2] == codec.end_ids
    assert made.column("group") == [0, 0, 1]
    assert made.column("kind") == [pair.kind for pair in pairs()]
    assert made.lengths("source", "target")[2] == len(sources[2]) + 1
    again = encode_pairs(iter(()), codec, tmp_path, "key", longest_target=5, what="x")
    assert [list(pair["source"]) for pair in again] == sources
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["features-key"]


@pytest.mark.parametrize("kind", ["seq2seq", "causal"])
def test_labels_are_the_target_alone(tmp_path: Path, kind: str) -> None:
    codec = Codec(tokenizer(), kind)
    made = encode_pairs(pairs(), codec, tmp_path, "key", longest_target=50, what="x")
    batch = TextCollator(codec, training=True)([made[0], made[2]])
    for row, number in enumerate((0, 2)):
        learnt = [one for one in batch["labels"][row].tolist() if one != IGNORED]
        assert learnt == list(made[number]["target"])
        real = batch["input_ids"][row][batch["attention_mask"][row].bool()].tolist()
        expected = [*made[number]["source"], *(made[number]["target"] if kind == "causal" else [])]
        assert real == expected
    asked = NumberedCollator(made, TextCollator(codec, training=False))([0, 2])
    assert asked["numbers"].tolist() == [0, 2]
    assert "labels" not in asked
    side = 0 if kind == "causal" else -1
    assert asked["attention_mask"][1, side] == 0


@pytest.mark.parametrize(("name", "kind"), [("tiny-t5", "seq2seq"), ("tiny-causal", "causal")])
def test_padding_and_batches_change_no_text(
    tmp_path: Path, name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tokenizer()
    codec, model = Codec(made, kind), model_of(name, made)
    asked = [Pair(n, 0, text, "") for n, text in enumerate([*TEXTS, "one", "two things"])]
    encoded = encode_pairs(asked, codec, tmp_path, "key", longest_target=9, what="x")
    collate = NumberedCollator(encoded, TextCollator(codec, training=False))
    for decoding in (GenerationSettings(1, 6), GenerationSettings(3, 6)):
        together = generate_texts(model, codec, collate(range(5)), decoding)
        alone = [generate_texts(model, codec, collate([n]), decoding)[0] for n in range(5)]
        assert together == alone
        real, calls = model.generate, []

        def scarce(real: Any = real, calls: list[int] = calls, **inputs: Any) -> Any:
            calls.append(len(inputs["input_ids"]))
            if calls[-1] > 2:
                raise RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory")
            return real(**inputs)

        monkeypatch.setattr(model, "generate", scarce)
        assert generate_texts(model, codec, collate(range(5)), decoding) == together
        assert calls == [5, 2, 3, 1, 2]
        monkeypatch.undo()


def test_a_checkpoints_own_generation_settings_move_nothing(tmp_path: Path) -> None:
    made = tokenizer()
    codec, model = Codec(made, "seq2seq"), model_of("tiny-t5", made)
    batch = {"input_ids": torch.tensor([codec.prompt_ids("What melts ice?")])}
    batch["attention_mask"] = torch.ones_like(batch["input_ids"])
    plain = generate_texts(model, codec, batch, GenerationSettings(2, 6))
    for name, value in (
        ("repetition_penalty", 9.0), ("no_repeat_ngram_size", 1), ("min_length", 5),
        ("length_penalty", -3.0), ("temperature", 0.3), ("do_sample", True), ("max_length", 3),
    ):  # fmt: skip
        setattr(model.generation_config, name, value)
    assert generate_texts(model, codec, batch, GenerationSettings(2, 6)) == plain


def test_one_input_too_many_for_the_memory_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    made = tokenizer()
    model = model_of("tiny-t5", made)

    def scarce(**_: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(model, "generate", scarce)
    batch = {"input_ids": torch.ones(1, 7).long(), "attention_mask": torch.ones(1, 7).long()}
    with pytest.raises(DataError, match="an input of 7 tokens does not fit"):
        generate_texts(model, Codec(made, "seq2seq"), batch, GenerationSettings())
    monkeypatch.setattr(model, "generate", lambda **_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        generate_texts(model, Codec(made, "seq2seq"), batch, GenerationSettings())


@pytest.mark.parametrize("source", ["setting", "launcher"])
def test_t5_in_fp16_is_refused_unless_forced(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {"fp16": True} if source == "setting" else {}
    if source == "launcher":
        monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "fp16")
    with pytest.raises(DataError, match="t5 overflows.*Use bf16.*--force_fp16"):
        config(**given).check()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with pytest.warns(UserWarning, match="its losses become NaN"):
        config(force_fp16=True, **given).check()
    config(model_name_or_path="tiny-causal", **given).check()  # others may


def test_a_models_format_is_read_or_refused(tmp_path: Path) -> None:
    assert read_text_format(str(tmp_path)) is None
    (tmp_path / "text_format.json").write_text('{"task": "arc_da"}', encoding="utf-8")
    assert read_text_format(str(tmp_path)) == {"task": "arc_da"}
    (tmp_path / "text_format.json").write_text("[]", encoding="utf-8")
    with pytest.raises(DataError, match="is not a model's text format"):
        read_text_format(str(tmp_path))


def question(record: str, split: str = "TRAIN", answers: list[str] | None = None) -> dict[str, Any]:
    return {
        "question_id": record,
        "tag": f"EASY-{split}",
        "question": f"What is {record}?",
        "answers": ["gold"] if answers is None else answers,
    }


def test_what_a_science_run_reads(tmp_path: Path) -> None:
    train = write_lines(tmp_path / "train.jsonl", [question("a"), question("b", answers=[])])
    dev = write_lines(tmp_path / "dev.jsonl", [question("c", "DEV")])
    told = write_lines(
        tmp_path / "told.jsonl", [{"question_id": "a", "sentences": ["one", "two", "three"]}]
    )
    files = {"data_dir": "", "train_file": str(train), "validation_file": str(dev)}
    data = read_splits(config(**files, contexts=[str(told)]))
    assert [one.question_id for one in data.training.questions] == ["a"]
    assert data.training.context_of(data.training.questions[0], 2) == ["one", "two"]
    assert data.evaluated.context_of(data.evaluated.questions[0], 2) == []
    other = write_lines(tmp_path / "o.jsonl", [{"question_id": "z", "sentences": ["one"]}])
    with pytest.raises(DataError, match="have no sentences for these"):
        read_splits(
            config(
                data_dir="", train_file=str(train), validation_file=str(dev), contexts=[str(other)]
            )
        )
    optioned = write_lines(
        tmp_path / "q.jsonl",
        [{"question_id": "a", "query": "question_options", "sentences": ["one"]}],
    )
    with pytest.raises(DataError, match="reveal the answer"):
        read_splits(
            config(
                data_dir="",
                train_file=str(train),
                validation_file=str(dev),
                contexts=[str(optioned)],
            )
        )
    blind = write_lines(tmp_path / "blind.jsonl", [question("d", "DEV", [])])
    with pytest.raises(DataError, match="no validation question has a gold answer"):
        read_splits(config(**files | {"validation_file": str(blind)}))


def test_a_journal_goes_on_after_a_torn_line_and_refuses_other_work(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    journal = Journal(path, {"model": "m"}, key="id")
    journal.add([{"id": "a", "output": "é\u2028x"}, {"id": "b", "output": ""}])
    with path.open("ab") as stream:
        stream.write(b'{"id": "c", "outp')
    with pytest.raises(DataError, match="another process is writing it"):
        Journal(path, {"model": "m"}, key="id")
    journal.close()
    again = Journal(path, {"model": "m"}, key="id")
    assert list(again.records) == ["a", "b"]
    assert again.records["a"]["output"] == "é\u2028x"
    again.add([{"id": "c", "output": "3"}])
    assert [json.loads(line).get("id") for line in path.read_bytes().splitlines()] == [
        None, "a", "b", "c",
    ]  # fmt: skip
    again.close()
    with pytest.raises(DataError, match="model was 'm', and is 'n'"):
        Journal(path, {"model": "n"}, key="id")
    assert not Journal(path, {"model": "n"}, key="id", restart=True).records
    path.write_text("no journal\n", encoding="utf-8")
    with pytest.raises(DataError, match="it is not a journal"):
        Journal(path, {"model": "n"}, key="id", restart=True)
    assert path.read_text(encoding="utf-8") == "no journal\n"
