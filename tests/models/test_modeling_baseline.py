"""The model: shapes, padding, batch order, losses, saving and loading, learning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.small_model import (
    GOLD_Q1,
    batch_of,
    model_and_windows,
    reproduced,
    setting,
)
from twowiki.data.schema import Paragraph, Triple
from twowiki.models.auto import register_models
from twowiki.models.configuration_baseline import REPRODUCE, TwoWikiBaselineConfig
from twowiki.models.features import Window
from twowiki.models.modeling_baseline import TwoWikiBaselineForMultihopQA
from twowiki.models.outputs import TwoWikiOutput

# each correction switched off alone
OPTIONS: dict[str, Any] = {
    name: REPRODUCE[name]
    for name in (
        "layout",
        "match_features",
        "triple_slots",
        "token_evidence",
        "pointer_chain",
        "mask_padding",
        "teacher_forcing",
        "narrow_scale",
        "title_support",
        "ignore_missing",
        "loss_reduction",
        "freeze_word_vectors",
    )
}
register_models()
PARTS = {"span", "answer_type", "support", "relation", "subject", "object"}
LOWEST = torch.finfo(torch.float).min


def outputs(model: TwoWikiBaselineForMultihopQA, windows: list[Window]) -> TwoWikiOutput:
    with torch.no_grad():
        return model.eval()(**batch_of(model, windows))


def test_the_published_sizes_have_the_published_number_of_weights() -> None:
    names = [str(number) for number in range(38)]
    published = TwoWikiBaselineConfig.reproduce(vocab_size=9, char_vocab="x" * 72, relations=names)
    corrected = TwoWikiBaselineConfig(vocab_size=9, char_vocab="x" * 72, relations=names[2:])
    assert weights_of(published) == 1_793_888
    assert abs(weights_of(corrected) / 1_793_888 - 1) < 0.1


def weights_of(config: TwoWikiBaselineConfig) -> int:
    model = TwoWikiBaselineForMultihopQA(config)
    return sum(p.numel() for n, p in model.named_parameters() if "word_embeddings" not in n)


@pytest.mark.parametrize("option", [*OPTIONS, "none", "all"])
def test_every_option_alone_gives_all_outputs_and_finite_losses(option: str) -> None:
    config = setting(**({option: OPTIONS[option]} if option in OPTIONS else {}))
    if option == "all":
        config = reproduced()
    model, windows = model_and_windows(config)
    batch = batch_of(model, windows)
    output = model.train()(**batch)
    size, tokens = batch["input_ids"].shape
    slots = model.config.pointer_count
    assert output.start_logits.shape == output.end_logits.shape == (size, tokens)
    assert output.answer_type_logits.shape == (size, 3)
    assert output.support_logits.shape == batch["sentence_mask"].shape
    relations = model.config.relation_count
    expected = (size, slots, relations + 1) if model.config.triple_slots else (size, relations)
    assert output.relation_logits.shape == expected
    assert output.subject_start_logits.shape == (size, tokens, slots)
    assert (output.object_end_logits[~batch["context_mask"]] == LOWEST).all()
    assert set(output.losses) == PARTS
    output.loss.backward()
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            assert parameter.grad is not None, name
            assert torch.isfinite(parameter.grad).all(), name


def test_in_the_published_settings_padding_leaks() -> None:
    model, windows = model_and_windows(reproduced())
    windows = sorted(windows, key=lambda window: len(window.token_ids))
    alone, together = outputs(model, windows[:1]), outputs(model, [windows[0], windows[-1]])
    leaked = (alone.answer_type_logits - together.answer_type_logits[:1]).abs().max()
    assert leaked > 1e-6


@pytest.mark.parametrize("config", [setting(), reproduced()])
def test_batch_order_permutes_the_outputs(config: TwoWikiBaselineConfig) -> None:
    model, windows = model_and_windows(config)
    order = [3, 0, 2, 1]
    first = outputs(model, windows[:4])
    second = outputs(model, [windows[number] for number in order])
    for name in ("start_logits", "support_logits", "relation_logits", "object_start_logits"):
        torch.testing.assert_close(first[name][order], second[name], atol=1e-6, rtol=0)


@pytest.mark.parametrize("config", [setting(), reproduced(layout="marked")])
def test_an_example_with_nothing_in_it_has_a_finite_loss(config: TwoWikiBaselineConfig) -> None:
    from twowiki.models.processing_baseline import BaselineCollator, BaselineProcessor

    model, windows = model_and_windows(config)
    encoder = BaselineProcessor(model.config, model.answer_tokenizer)
    blank = GOLD_Q1._replace(question="", context=(Paragraph("", ()),), supporting_facts=())
    (window,) = encoder.encode(blank)
    hollow = window._replace(
        token_ids=window.token_ids[:0],
        token_starts=window.token_starts[:0],
        token_ends=window.token_ends[:0],
        matches=window.matches[:0],
        sentences=window.sentences[:0],
        support=window.support[:0],
    )
    output = model.train()(**BaselineCollator(model.config)([windows[0], hollow, window]))
    assert torch.isfinite(output.loss)
    output.loss.backward()
    assert all(
        torch.isfinite(parameter.grad).all()
        for parameter in model.parameters()
        if parameter.grad is not None
    )


def test_an_absent_object_gives_its_pointer_no_gradient_at_all() -> None:
    absent = (GOLD_Q1.evidences[0], Triple("Dessa Orrel", "place of birth", "Brinmoor-on-Oru"))
    model, (window,) = model_and_windows(given=[GOLD_Q1._replace(evidences=absent)])
    kept: dict[str, torch.Tensor] = {}

    def watch(_: Any, __: Any, output: TwoWikiOutput) -> None:
        for name in ("object_start_logits", "object_end_logits", "subject_start_logits"):
            kept[name] = output[name]
            output[name].retain_grad()

    model.register_forward_hook(watch)
    batch = batch_of(model, [window])
    labels = {name: batch[name] for name in batch if name.endswith(("_positions", "_labels"))}
    output = model(**{name: value for name, value in batch.items() if name not in labels})
    from twowiki.models.outputs import multihop_losses

    multihop_losses(output, labels, batch["sentence_mask"], model.config)["total"].backward()
    for name in ("object_start_logits", "object_end_logits"):
        assert (kept[name].grad[..., 1] == 0).all()
        assert (kept[name].grad[..., 0] != 0).any()
    assert (kept["subject_start_logits"].grad[..., 1] != 0).any()


@pytest.mark.parametrize("config", [setting(), reproduced()])
def test_half_precision_gives_finite_losses_near_the_full_ones(
    config: TwoWikiBaselineConfig,
) -> None:
    model, windows = model_and_windows(config)
    batch = batch_of(model.eval(), windows)
    full = model(**batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = model(**batch)
    half.loss.backward()
    torch.testing.assert_close(half.loss.float(), full.loss, rtol=0.05, atol=0.0)
    assert half.start_logits.dtype == torch.float
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


def test_evidence_pointers_see_tokens_only_when_corrected() -> None:
    for config, spread in ((setting(), True), (reproduced(), False)):
        model, windows = model_and_windows(config)
        batch = batch_of(model, windows[:1])
        seen: list[torch.Tensor] = []
        model.relation_attention.register_forward_hook(
            lambda module, given, _, seen=seen: seen.append(given[0])
        )
        with torch.no_grad():
            model.eval()(**batch)
        first, last = batch["sentence_starts"][0, 0], batch["sentence_ends"][0, 0]
        within = seen[0][0, first : last + 1]
        assert bool((within - within[:1]).abs().max() > 0) is spread


def test_gold_relations_are_forced_in_training_only() -> None:
    model, windows = model_and_windows()
    batch = batch_of(model, windows)
    forced = model.train()(**batch).subject_start_logits
    labels = batch["relation_labels"]
    batch["relation_labels"] = (labels + 1) % (model.config.relation_count + 1)
    assert (model.train()(**batch).subject_start_logits != forced).any()
    free = model.eval()(**batch).subject_start_logits
    batch["relation_labels"] = labels
    torch.testing.assert_close(model.eval()(**batch).subject_start_logits, free, atol=0, rtol=0)


@pytest.mark.parametrize("config", [setting(), reproduced()])
def test_every_weight_comes_back(config: TwoWikiBaselineConfig, tmp_path: Path) -> None:
    model, _ = model_and_windows(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(0.5)
    model.save_pretrained(tmp_path)
    again, info = TwoWikiBaselineForMultihopQA.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(info.values())
    for name, parameter in again.named_parameters():
        assert (parameter == 0.5).all(), name
    assert not list(again.buffers())


def test_using_a_name_makes_the_auto_classes_know_the_model() -> None:
    from transformers import CONFIG_MAPPING

    import twowiki.models

    assert twowiki.models.TwoWikiBaselineConfig is TwoWikiBaselineConfig
    assert CONFIG_MAPPING["twowiki_baseline"] is TwoWikiBaselineConfig
    with pytest.raises(AttributeError, match="nothing"):
        _ = twowiki.models.nothing
