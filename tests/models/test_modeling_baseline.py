"""The model: shapes, padding, batch order, losses, saving and loading, learning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModel, AutoModelForQuestionAnswering, AutoTokenizer

from tests.small_model import (
    GOLD_Q1,
    batch_of,
    examples,
    model_and_windows,
    reproduced,
    setting,
)
from twowiki.data.schema import Example, Paragraph, Triple
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


def test_padding_changes_nothing() -> None:
    model, windows = model_and_windows()
    alone, together = outputs(model, windows[:1]), outputs(model, windows)
    tokens, sentences = alone.start_logits.shape[1], alone.support_logits.shape[1]
    for name in ("start_logits", "end_logits", "subject_start_logits", "object_end_logits"):
        torch.testing.assert_close(alone[name], together[name][:1, :tokens], atol=1e-6, rtol=0)
    torch.testing.assert_close(
        alone.support_logits, together.support_logits[:1, :sentences], atol=1e-6, rtol=0
    )
    for name in ("answer_type_logits", "relation_logits"):
        torch.testing.assert_close(alone[name], together[name][:1], atol=1e-6, rtol=0)


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


def test_an_absent_answer_leaves_the_span_out_of_the_loss_and_nothing_else() -> None:
    model, (window,) = model_and_windows(given=[GOLD_Q1._replace(answer="Veltria")])
    losses = model(**batch_of(model, [window])).losses
    assert losses["span"] == 0
    assert losses["support"] > 0
    assert losses["object"] > 0


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


def test_loss_weights_are_in_the_saved_configuration_and_move_the_loss(tmp_path: Path) -> None:
    model, windows = model_and_windows(setting(evidence_weight=0.25))
    output = model(**batch_of(model, windows))
    parts = output.losses
    evidence = parts["relation"] + parts["subject"] + parts["object"]
    rest = parts["span"] + parts["answer_type"] + parts["support"]
    torch.testing.assert_close(output.loss, rest + 0.25 * evidence)
    model.save_pretrained(tmp_path)
    assert AutoConfig.from_pretrained(tmp_path).evidence_weight == 0.25


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


def test_a_missing_weight_is_initialised_and_no_other_is_touched(tmp_path: Path) -> None:
    model, _ = model_and_windows()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(0.5)
    model.save_pretrained(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    lost = [
        "encoder.gru.weight_hh_l0",
        "relations.queries",
        "self_attention.scale",
        "support_encoder.initial_state",
        "words.char_embeddings.weight",
        "start_head.weight",
    ]
    for name in lost:
        del weights[name]
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    again, info = TwoWikiBaselineForMultihopQA.from_pretrained(tmp_path, output_loading_info=True)
    assert set(info["missing_keys"]) == set(lost)
    for name, parameter in again.named_parameters():
        assert torch.isfinite(parameter).all(), name
        assert parameter.abs().max() < 2, name
        assert bool((parameter == 0.5).all()) is (name not in lost), name


def test_a_saved_model_loads_by_the_auto_classes_and_gives_equal_outputs(tmp_path: Path) -> None:
    model, windows = model_and_windows()
    before = outputs(model, windows)
    folder = tmp_path / "run 1.5-a"
    model.save_pretrained(folder)
    model.answer_tokenizer.save_pretrained(folder)
    for auto in (AutoModel, AutoModelForQuestionAnswering):
        again = auto.from_pretrained(folder, trust_remote_code=False)
        after = outputs(again, windows)
        for name in before:
            if isinstance(before[name], torch.Tensor):
                torch.testing.assert_close(after[name], before[name], atol=0, rtol=0)
    assert AutoConfig.from_pretrained(folder).relations == model.config.relations
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    assert tokenizer("Who?")["input_ids"]


def test_a_saved_folder_is_self_contained(tmp_path: Path) -> None:
    model, _ = model_and_windows()
    model.save_pretrained(tmp_path)
    code = {path.name for path in tmp_path.glob("*.py")}
    assert {
        "modeling_baseline.py",
        "configuration_baseline.py",
        "gru.py",
        "tokenization_baseline.py",
    } <= code
    for path in tmp_path.glob("*.py"):
        for line in path.read_text(encoding="utf-8").splitlines():
            assert not line.startswith(("from twowiki", "import twowiki")), path
            if line.startswith("from ."):
                assert f"{line.split()[1][1:]}.py" in code, (path, line)


def test_one_question_is_answered_without_a_data_set(tmp_path: Path) -> None:
    model, _ = model_and_windows()
    paragraphs = [(title, list(sentences)) for title, sentences in GOLD_Q1.context]
    said = model.predict(GOLD_Q1.question, paragraphs)
    assert isinstance(said["answer"], str)
    assert all(isinstance(t, str) and isinstance(n, int) for t, n in said["sp"])
    assert all(len(triple) == 3 for triple in said["evidence"])
    assert len(said["sentences"]) == 3
    for triple in said["triples"]:
        start, end = triple["subject_span"]
        assert said["text"][start:end].strip("\x02\x03 ") == triple["subject"]
    several = model.predict([GOLD_Q1.question] * 2, [paragraphs, paragraphs[:1]])
    assert several[0] == said
    assert len(several[1]["sentences"]) == 1
    texts = [(title, " ".join(s.strip() for s in sentences)) for title, sentences in paragraphs]
    assert len(model.predict(GOLD_Q1.question, texts)["sentences"]) == 3


def test_a_model_without_a_folder_says_that_it_needs_its_tokenizer() -> None:
    model, _ = model_and_windows()
    model.answer_tokenizer = None
    with pytest.raises(ValueError, match="tokenizer"):
        model.predict("Who?", [("A", ["b."])])


def test_using_a_name_makes_the_auto_classes_know_the_model() -> None:
    from transformers import CONFIG_MAPPING

    import twowiki.models

    assert twowiki.models.TwoWikiBaselineConfig is TwoWikiBaselineConfig
    assert CONFIG_MAPPING["twowiki_baseline"] is TwoWikiBaselineConfig
    with pytest.raises(AttributeError, match="nothing"):
        _ = twowiki.models.nothing


@pytest.mark.slow
def test_a_few_examples_are_learnt_by_heart() -> None:
    given: list[Example] = examples()[:4]
    model, windows = model_and_windows(setting(word_dim=24, hidden_size=24), given)
    optimizer = torch.optim.AdamW(model.parameters(), lr=8e-3)
    batch = batch_of(model, windows)
    first = None
    for _ in range(120):
        loss = model.train()(**batch).loss
        first = first or loss.item()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        optimizer.zero_grad()
    assert loss.item() < first / 20
    for example in given:
        said = model.predict(example.question, example.context)
        assert said["evidence"] == [tuple(triple) for triple in example.evidences]
        assert set(said["sp"]) == {tuple(fact) for fact in example.supporting_facts}
        assert said["answer"].casefold() == (example.answer or "").casefold()
