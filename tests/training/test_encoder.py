"""Parts of training the encoder: adapters, learning rates, relations, the task on files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.small_encoder import model_and_records
from tests.small_model import examples
from tests.tiny_data import tiny_files
from tests.training.runs import run, save_backbone, weights
from twowiki.data.schema import to_official
from twowiki.errors import DataError
from twowiki.models.modeling_encoder import TwoWikiEncoderForMultihopQA
from twowiki.models.processing_encoder import EncoderCollator
from twowiki.training.adapters import add_adapters, has_adapters, merged_weights
from twowiki.training.encoder import (
    EncoderTask,
    add_relations,
    describe_attention,
    load_saved,
    make_encoder_optimizer,
    start_model,
)
from twowiki.training.settings import EncoderArguments


def test_adapters_change_only_themselves_and_merge_exactly() -> None:
    pytest.importorskip("peft")
    model, records = model_and_records("bert", examples()[:2])
    batch = EncoderCollator(model.config)(records)
    before = model(**batch).start_logits
    names = set(model.state_dict())
    add_adapters(model.backbone, EncoderArguments(lora_r=2, lora_alpha=4))
    assert has_adapters(model)
    torch.testing.assert_close(model(**batch).start_logits, before)  # they start as nothing
    trained = [n for n, p in model.named_parameters() if p.requires_grad and "backbone" in n]
    assert trained
    assert all("lora_" in name for name in trained)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_(0, 0.1)
    after = model(**batch).start_logits
    assert (after - before).abs().max() > 1e-3
    state = merged_weights(model)
    assert set(state) == names
    plain = TwoWikiEncoderForMultihopQA(model.config).eval()
    plain.load_state_dict(state)
    torch.testing.assert_close(plain(**batch).start_logits, after, atol=1e-5, rtol=0)
    other, _ = model_and_records("bert", examples()[:1])
    with pytest.raises(ValueError, match="nothing_like_it"):
        add_adapters(other.backbone, EncoderArguments(lora_r=2, target_modules=["nothing_like_it"]))


def test_rates_fall_with_depth_and_heads_have_their_own() -> None:
    model, _ = model_and_records("bert", examples()[:1])
    config = EncoderArguments(learning_rate=1e-4, head_learning_rate=1e-3, layer_decay=0.5)
    optimizer = make_encoder_optimizer(model, config)
    rate_of = {id(p): group["lr"] for group in optimizer.param_groups for p in group["params"]}
    rates = {name: rate_of[id(p)] for name, p in model.named_parameters()}
    assert len(rate_of) == len(list(model.parameters()))
    assert rates["relation_head.weight"] == pytest.approx(1e-3)
    assert rates["backbone.encoder.layer.1.output.dense.weight"] == pytest.approx(1e-4)
    assert rates["backbone.encoder.layer.0.output.dense.weight"] == pytest.approx(5e-5)
    assert rates["backbone.embeddings.word_embeddings.weight"] == pytest.approx(2.5e-5)


def test_relations_that_a_model_does_not_know_are_added_and_the_others_stay(
    tmp_path: Path,
) -> None:
    model, records = model_and_records("bert", examples()[:2])
    batch = EncoderCollator(model.config)(records)
    before, known = model(**batch).relation_logits, list(model.config.relations)
    add_relations(model, ["place of burial", "spouse of note"])
    after = model(**batch).relation_logits
    assert model.config.relations == [*known, "place of burial", "spouse of note"]
    torch.testing.assert_close(after[..., : len(known)], before[..., :-1])
    torch.testing.assert_close(after[..., -1], before[..., -1])
    model.save_pretrained(tmp_path)
    config = EncoderArguments(
        model_name_or_path=str(tmp_path), support_threshold=0.3, backbone_dropout=0.25
    )
    assert config.saved_model == str(tmp_path)
    again = load_saved(config, tmp_path, ["another", *known])
    assert again.config.relations[-1] == "another"
    assert again.config.support_threshold == 0.3
    assert again.backbone.encoder.layer[0].output.dropout.p == 0.25
    with pytest.raises(DataError, match="512 tokens"):
        load_saved(EncoderArguments(window_tokens=999), tmp_path, known)
    assert again.relation_head.out_features == len(known) + 4


def test_windows_are_packed_where_that_can_run_and_the_run_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    relations = ["director"]
    bert = str(save_backbone(tmp_path / "bert"))
    undropped = EncoderArguments(model_name_or_path=bert, backbone_dropout=0.0, bf16=True)
    plain = start_model(undropped, relations)  # no GPU here
    assert describe_attention(plain.config) == "attention: sdpa, padded windows"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.delenv("ACCELERATE_USE_CPU", raising=False)
    packed = start_model(undropped, relations)
    assert describe_attention(packed.config) == (
        "attention: twowiki_varlen, packed windows, no padding"
    )
    _, records = model_and_records("bert", examples()[:2])
    batch = EncoderCollator(packed.config, labels=False)(records)
    assert "attention_mask" not in batch
    one = packed.eval()(**batch).start_logits
    padded = EncoderCollator(plain.config, labels=False)(records)
    other = plain.eval()(**padded).start_logits
    torch.testing.assert_close(one, other, atol=2e-5, rtol=0)
    for changes in ({"bf16": False}, {"backbone_dropout": -1.0}, {"attn_implementation": "eager"}):
        assert not start_model(replace(undropped, **changes), relations).config.packs
    named = replace(undropped, backbone_dropout=-1.0, attn_implementation="twowiki_varlen")
    with pytest.raises(DataError, match=r"no dropout in attention.*0\.1.*backbone_dropout to 0"):
        start_model(named, relations)


@pytest.mark.slow
def test_a_compiled_model_trains_and_is_saved_as_any_other(tmp_path: Path) -> None:
    flags = ["--model_name_or_path", str(save_backbone(tmp_path / "bert")), "--max_steps", "2"]
    flags += ["--torch_compile", "--torch_compile_backend", "eager", *tiny_files(tmp_path, 8, 3)]
    done = run(tmp_path / "run", *flags, task="encoder")
    assert "attention: sdpa, padded windows" in done.stdout
    assert all("_orig_mod" not in name for name in weights(tmp_path / "run"))


def test_a_task_trains_on_files_and_loses_nothing(tmp_path: Path) -> None:
    records = [to_official(example) for example in examples()[:6]]
    for name in ("train.json", "dev.json"):
        (tmp_path / name).write_text(json.dumps(records), encoding="utf-8")
    config = EncoderArguments(
        model_name_or_path=str(save_backbone(tmp_path / "bert")),
        data_dir=str(tmp_path),
        output_dir=str(tmp_path / "run"),
        select_paragraphs=4,
    )
    assert not config.saved_model
    task = EncoderTask(config)
    task.prepare(None)
    assert len(task.train) == 6
    model = task.build_model().eval()
    _, loader = task.make_loaders()
    predicted = dict(task.predict(model, loader))
    assert sorted(predicted) == list(range(6))
    result = task.score(predicted)
    assert list(result.files["predictions.json"]["answer"]) == [r["_id"] for r in records]
    assert result.metrics["joint_f1"] < 50
    report = task.report()
    assert report["ceiling"]["metrics"]["joint_f1"] == 100.0
    assert report["selection"]["all_gold"] == 100.0
    assert 2 <= report["selection"]["kept"] <= 4
    task.save(model, tmp_path / "saved")
    again = TwoWikiEncoderForMultihopQA.from_pretrained(tmp_path / "saved")
    assert again.config.selector == task.model_config.selector is not None
    answers = [answer.answer for answer in again.answer(examples()[:6])]
    assert answers == list(result.files["predictions.json"]["answer"].values())
