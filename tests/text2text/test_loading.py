"""Models that users bring: every family, old layouts, adapters, and those that are not there."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.text_models import TEXTS, config, model_of, pairs, tokenizer
from twowiki.errors import DataError
from twowiki.text2text import loading
from twowiki.text2text.chat_format import Codec
from twowiki.text2text.generation import GenerationSettings, generate_texts
from twowiki.text2text.pairs import TextCollator, encode_pairs
from twowiki.training.adapters import add_adapters, save_merged


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda folder: folder / "none", "no such folder"),
        (lambda folder: folder, r"holds no model \(no config.json\)"),
        (lambda folder: folder / "file.txt", "is a file, not a model's folder"),
        (lambda folder: folder / "none.gguf", "no such file"),
        (lambda folder: folder / "broken", "cannot be loaded"),
        (lambda _: "nobody/has-this-model", "not a folder here, and as a repository cannot"),
        (lambda folder: folder / "extractive", "points at text .* without --task"),
        (lambda folder: folder / "listed", "is not a model configuration"),
    ],
)
def test_a_missing_model_is_one_sentence(
    tmp_path: Path, make: Any, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    (tmp_path / "file.txt").write_text("x", encoding="utf-8")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text("{}", encoding="utf-8")
    for name, text in (("extractive", '{"model_type": "twowiki_encoder"}'), ("listed", "[]")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=says) as raised:
        loading.load_text_model(str(make(tmp_path)), config())
    assert "Traceback" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_adapters_are_worked_in_when_saved_and_leave_the_model_alone(tmp_path: Path) -> None:
    peft = pytest.importorskip("peft")
    made = tokenizer()
    for name, kind in (("tiny-t5", "seq2seq"), ("tiny-causal", "causal")):
        adapted = model_of(name, made)
        add_adapters(adapted, config(lora_r=4, lora_alpha=8))
        trained = {n for n, p in adapted.named_parameters() if p.requires_grad}
        assert trained
        assert all("lora_" in one for one in trained)
        for parameter_name, parameter in adapted.named_parameters():
            if "lora_B" in parameter_name:
                torch.nn.init.normal_(parameter, std=0.2)
        adapted.eval()
        before = {n: p.clone() for n, p in adapted.state_dict().items()}
        save_merged(adapted, tmp_path / name)
        made.save_pretrained(tmp_path / name)
        assert all(torch.equal(before[n], p) for n, p in adapted.state_dict().items())
        loaded = loading.load_text_model(str(tmp_path / name), config()).eval()
        inputs: dict[str, Any] = {"input_ids": torch.tensor([[5, 6, 7]])}
        if kind == "seq2seq":
            inputs["decoder_input_ids"] = torch.tensor([[0, 5]])
        with torch.no_grad():
            torch.testing.assert_close(loaded(**inputs).logits, adapted(**inputs).logits)
        with warnings.catch_warnings():  # peft uses an older name of the library
            warnings.simplefilter("ignore", FutureWarning)
            plain = model_of(name, made)
            apart = peft.PeftModel.from_pretrained(plain, tmp_path / name / "adapter")
        with torch.no_grad():
            torch.testing.assert_close(apart(**inputs).logits, adapted(**inputs).logits)
    with pytest.raises(DataError, match="The layers are named"):
        add_adapters(model_of("tiny-t5", made), config(lora_r=2, target_modules=["nolayer"]))


def small(family: str, words: int) -> Any:
    """Make a small random model of a family that users bring."""
    import transformers

    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1,
             "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8,
             "vocab_size": words}  # fmt: skip
    torch.manual_seed(0)
    if family == "t5gemma":
        module = {**sizes, "sliding_window": 8, "query_pre_attn_scalar": 8}
        config: Any = transformers.T5GemmaConfig(encoder=module, decoder=module, vocab_size=words)
        config.decoder_start_token_id = 0
        return transformers.T5GemmaForConditionalGeneration(config)
    if family == "bart":
        counts = {"layers": 1, "attention_heads": 2, "ffn_dim": 32}
        layers = {
            f"{part}_{name}": n for part in ("encoder", "decoder") for name, n in counts.items()
        }
        marks = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 1}
        config = transformers.BartConfig(
            vocab_size=words, d_model=16, decoder_start_token_id=1, **marks, **layers
        )
        return transformers.BartForConditionalGeneration(config)
    if family == "gpt2":
        config = transformers.GPT2Config(vocab_size=words, n_embd=16, n_layer=1, n_head=2)
        return transformers.GPT2LMHeadModel(config)
    return transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**sizes))


@pytest.mark.parametrize(
    ("family", "kind"),
    [("t5gemma", "seq2seq"), ("bart", "seq2seq"), ("gpt2", "causal"), ("qwen3", "causal")],
)
def test_every_family_is_loaded_learns_and_speaks(tmp_path: Path, family: str, kind: str) -> None:
    made = tokenizer(ends=kind == "seq2seq")
    small(family, len(made)).save_pretrained(tmp_path / "model")
    made.save_pretrained(tmp_path / "model")
    source, options = str(tmp_path / "model"), config()
    assert loading.model_kind(loading.read_model_config(source, options)) == kind
    codec = Codec(loading.load_tokenizer(source, options), kind)
    model = loading.load_text_model(source, options, dropout=0.0)
    encoded = encode_pairs(pairs(), codec, tmp_path, "key", longest_target=9, what="x")
    batch = TextCollator(codec, training=True)(list(encoded))
    loss = model.train()(**batch, use_cache=False).loss
    loss.backward()
    assert torch.isfinite(loss)
    asked = TextCollator(codec, training=False)([encoded[0], encoded[2]])
    for beams in (1, 2):
        assert len(generate_texts(model.eval(), codec, asked, GenerationSettings(beams, 4))) == 2


def test_a_checkpoint_in_the_old_layout_is_loaded(tmp_path: Path) -> None:
    """UnifiedQA's repositories hold spiece.model and pytorch_model.bin, nothing newer."""
    import transformers

    sentencepiece = pytest.importorskip("sentencepiece")
    lines = tmp_path / "lines.txt"
    lines.write_text("\n".join(TEXTS[:2] * 50), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(lines), model_prefix=str(tmp_path / "old"), vocab_size=60, pad_id=0, eos_id=1,
        unk_id=2, bos_id=-1, hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "old.model").rename(folder / "spiece.model")
    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2}
    shape = transformers.T5Config(vocab_size=160, **sizes)
    model = transformers.T5ForConditionalGeneration(shape)
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    written = {**shape.to_dict(), "architectures": ["T5ForConditionalGeneration"]}
    written |= {"decoder_start_token_id": 0}
    (folder / "config.json").write_text(json.dumps(written), encoding="utf-8")
    codec = Codec(loading.load_tokenizer(str(folder), config()), "seq2seq")
    ids = codec.prompt_ids("What melts ice? \\n")
    assert ids[-1] == codec.end_ids[0] == 1
    assert codec.tokenizer.unk_token_id in ids  # the backslash is in no such vocabulary
    loaded = loading.load_text_model(str(folder), config())
    assert torch.equal(loaded.get_input_embeddings().weight, model.get_input_embeddings().weight)
