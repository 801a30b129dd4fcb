"""The encoder model: six backbones, padding, windows, batch order, saving, learning."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode
from transformers import (
    AttentionInterface,
    AutoConfig,
    AutoModel,
    AutoModelForQuestionAnswering,
    AutoTokenizer,
)

from tests.small_encoder import BACKBONES, OTHERS, model_and_records, settings
from tests.small_model import examples
from twowiki.data.schema import Example
from twowiki.models.auto import load_extractive_model, register_models
from twowiki.models.backbone import Windows, read_windows
from twowiki.models.configuration_encoder import VARIABLE_LENGTHS
from twowiki.models.features import Window
from twowiki.models.labels import POINTERS
from twowiki.models.modeling_encoder import (
    Pointers,
    TwoWikiEncoderForMultihopQA,
    read_sentences,
)
from twowiki.models.outputs import TwoWikiOutput, count_labels
from twowiki.models.processing_encoder import EncoderCollator, plan_example

register_models()
PARTS = {"span", "answer_type", "support", "relation", "subject", "object"}
LOWEST = torch.finfo(torch.float).min
OVER_TOKENS = ("start_logits", "end_logits", "subject_start_logits", "object_end_logits")
WHOLE = ("answer_type_logits", "relation_logits")
PACKED = ("bert", "roberta", "modernbert")


def batch_of(
    model: TwoWikiEncoderForMultihopQA, records: list[Window], **options: Any
) -> dict[str, Any]:
    return EncoderCollator(model.config, **options)(records)


def outputs(model: TwoWikiEncoderForMultihopQA, records: list[Window]) -> TwoWikiOutput:
    with torch.no_grad():
        found: TwoWikiOutput = model.eval()(**batch_of(model, records))
        return found


def near(one: torch.Tensor, other: torch.Tensor, tolerance: float = 2e-5) -> None:
    torch.testing.assert_close(one, other, atol=tolerance, rtol=0)


@pytest.mark.parametrize(
    ("kind", "windows"),
    [
        *((kind, {}) for kind in (*BACKBONES, *OTHERS)),
        *((kind, {"window_tokens": 96, "window_stride": 8}) for kind in BACKBONES),
    ],
)
def test_every_backbone_gives_all_outputs_and_gradients(kind: str, windows: Any) -> None:
    model, records = model_and_records(kind, examples()[:3], **windows)
    batch = batch_of(model, records)
    output = model.train()(**batch)
    size, tokens = batch["context_mask"].shape
    assert output.start_logits.shape == output.end_logits.shape == (size, tokens)
    assert output.answer_type_logits.shape == (size, 3)
    assert output.support_logits.shape == batch["sentence_mask"].shape
    assert output.relation_logits.shape == (size, 6, model.config.relation_count + 1)
    assert output.subject_start_logits.shape == (size, tokens, 6)
    assert (output.object_end_logits[~batch["span_mask"]] == LOWEST).all()
    assert set(output.losses) == PARTS
    output.loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name


@pytest.mark.parametrize("kind", BACKBONES)
def test_padding_and_batch_order_change_nothing(kind: str) -> None:
    model, records = model_and_records(kind, examples()[:4], window_tokens=128, window_stride=8)
    records.sort(key=lambda record: len(record.token_ids))
    alone, together = outputs(model, records[:1]), outputs(model, records)
    turned = outputs(model, records[::-1])
    tokens, sentences = alone.start_logits.shape[1], alone.support_logits.shape[1]
    for name in OVER_TOKENS:
        near(alone[name], together[name][:1, :tokens])
    near(alone.support_logits, together.support_logits[:1, :sentences])
    for name in WHOLE:
        near(alone[name], together[name][:1])
    for name in (*OVER_TOKENS, *WHOLE, "support_logits"):
        near(turned[name].flip(0), together[name])


@pytest.mark.parametrize("kind", ["bert", "deberta-v2"])
def test_the_state_of_a_token_is_that_of_its_own_window(kind: str) -> None:
    model, (record,) = model_and_records(kind, examples()[:1], window_tokens=128)
    batch = batch_of(model, [record])
    plan = plan_example(record, model.config)
    assert len(plan) > 1

    def states(given: dict[str, Any]) -> torch.Tensor:
        names = ("input_ids", "attention_mask", "question_window_mask", "token_type_ids")
        read = read_windows(model.backbone, Windows(*(given.get(name) for name in names)))
        return read[given["context_positions"][0]]

    with torch.no_grad():
        together = states(batch)
        for start, end in plan:
            piece = record._replace(
                token_ids=record.token_ids[start:end],
                matches=record.matches[start:end],
                sentences=record.sentences[:0],
                support=record.support[:0],
            )
            near(states(batch_of(model, [piece])), together[start:end])


@pytest.mark.parametrize("kind", PACKED)
def test_windows_without_padding_give_the_same(kind: str) -> None:
    options = {"window_tokens": 128, "window_stride": 8}
    padded, records = model_and_records(kind, examples()[:4], **options)
    config, _ = settings(kind, **options)
    config.backbone_config._attn_implementation = VARIABLE_LENGTHS
    packed = TwoWikiEncoderForMultihopQA(config)
    packed.load_state_dict(padded.state_dict())
    calls: list[int] = []
    packed.backbone.register_forward_pre_hook(
        lambda _, __, given: calls.append(given["position_ids"].shape[1]), with_kwargs=True
    )
    one, other = outputs(padded, records), outputs(packed, records)
    for name in (*OVER_TOKENS, *WHOLE, "support_logits"):
        near(one[name], other[name])
    real, flat = batch_of(padded, records)["attention_mask"], batch_of(packed, records)
    assert calls == [int(real.sum())] == [flat["input_ids"].numel()]
    assert int(real.sum()) < real.numel()
    with pytest.raises(ValueError, match="packed windows need twowiki_varlen or flash attention"):
        padded(**flat)


def blockwise(module: Any, query: Any, key: Any, value: Any, *_: Any, **given: Any) -> Any:
    """Packed attention in tensors alone, as the kernel on a GPU: what a trace can follow."""
    places = torch.arange(query.shape[2], device=query.device)
    window = torch.bucketize(places, given["cu_seq_lens_q"], right=True)
    mask = window.unsqueeze(0) == window.unsqueeze(1)
    states = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    return states.transpose(1, 2), None


@pytest.mark.slow
def test_a_step_waits_for_nothing_and_one_graph_serves_all_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(AttentionInterface._global_mapping, VARIABLE_LENGTHS, blockwise)
    config, _ = settings("modernbert", window_tokens=128, window_stride=8, dropout=0.0)
    _, records = model_and_records("modernbert", window_tokens=128, window_stride=8)
    config.backbone_config._attn_implementation = VARIABLE_LENGTHS
    model = TwoWikiEncoderForMultihopQA(config).train()
    graphs: list[Any] = []

    def compiled(graph: Any, _: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    def step(batch: dict[str, Any]) -> Any:
        return model(**batch, loss_counts=count_labels(batch, config)).loss

    torch._dynamo.reset()
    # a whole graph has no `.item()`, `.tolist()`, `nonzero()`: each would break it
    traced = torch.compile(step, backend=compiled, fullgraph=True, dynamic=True)
    for size in range(2, 10):
        batch = batch_of(model, records[:size])
        near(traced(batch), step(batch))
    assert len(graphs) == 1


def mapped_tokens(pointers: Pointers, slots: torch.Tensor, tokens: torch.Tensor) -> Any:
    """The scores by their definition: both sides are mapped, the tokens too."""
    count, width = len(pointers.names), slots.shape[-1]
    of_slots = pointers.slots(slots).chunk(count, -1)
    of_tokens = pointers.tokens(tokens).chunk(count, -1)
    pairs = zip(pointers.names, of_tokens, of_slots, strict=True)
    return {name: one @ other.transpose(1, 2) * width**-0.5 for name, one, other in pairs}


def test_mapped_slots_score_as_mapped_tokens_do() -> None:
    torch.manual_seed(0)
    pointers = Pointers(48, ("start", "end"))
    slots, tokens = torch.randn(3, 5, 48), torch.randn(3, 70, 48)
    torch.testing.assert_close(
        pointers(slots, tokens), mapped_tokens(pointers, slots, tokens), atol=1e-5, rtol=0
    )


def test_mapped_slots_are_a_hundredth_of_the_work() -> None:
    width, length = 768, 1_000  # a base model, and a context of average length
    work: Counter[str] = Counter()
    with torch.device("meta"):
        text = torch.randn(1, length, width)
        for count, names in ((8, POINTERS), (1, ("start", "end"))):
            pointers, slots = Pointers(width, tuple(names)), torch.randn(1, count, width)
            for score in (pointers, partial(mapped_tokens, pointers)):
                with FlopCounterMode(display=False) as counter:
                    score(slots, text)
                work["ours" if score is pointers else "tokens"] += counter.get_total_flops()
            work["both"] += 2 * count * len(names) * width * (width + length)  # slots, scores
    replaced = (work["tokens"] - work["both"]) / (work["ours"] - work["both"])
    assert 170 < replaced < 180  # the tokens' products, and those that stand for them
    assert 50 < work["tokens"] / work["ours"] < 60  # with all that both ways do


@pytest.mark.parametrize("kind", ["bert", "modernbert"])
def test_checkpointed_activations_give_the_same_gradients(kind: str) -> None:
    from twowiki.training.adapters import checkpoint_activations

    model, records = model_and_records(kind, examples()[:2])
    batch = batch_of(model, records)
    gradients = []
    for _ in range(2):
        model.zero_grad()
        torch.manual_seed(0)
        model.train()(**batch).loss.backward()
        gradients.append({n: p.grad.clone() for n, p in model.named_parameters()})
        checkpoint_activations(model.backbone)
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], gradient, msg=name)


@pytest.mark.parametrize("kind", BACKBONES)
def test_a_saved_model_loads_by_the_auto_classes_and_gives_equal_outputs(
    kind: str, tmp_path: Path
) -> None:
    model, records = model_and_records(kind, examples()[:2])
    before = outputs(model, records)
    folder = tmp_path / "run 1.5-a"
    model.save_pretrained(folder)
    model.answer_tokenizer.save_pretrained(folder)
    for auto in (AutoModel, AutoModelForQuestionAnswering):
        again, info = auto.from_pretrained(
            folder, trust_remote_code=False, output_loading_info=True
        )
        assert not any(info.values()), info
        after = outputs(again, records)
        for name in before:
            if isinstance(before[name], torch.Tensor):
                torch.testing.assert_close(after[name], before[name], atol=0, rtol=0)
    assert AutoConfig.from_pretrained(folder).relations == model.config.relations
    assert len(AutoTokenizer.from_pretrained(folder)) == len(model.answer_tokenizer)
    given = [(example.question, example.context) for example in examples()[:2]]
    loaded = load_extractive_model(folder)
    assert [loaded.predict(*one) for one in given] == [model.predict(*one) for one in given]


def test_a_sentence_is_its_marker_and_the_mean_of_its_own_tokens() -> None:
    # a title's marker and token, two sentences of one and two tokens, padding
    context = torch.tensor([[[9.0], [8.0], [100.0], [1.0], [200.0], [2.0], [4.0], [7.0]]])
    tokens = torch.tensor([[False, True, False, True, False, True, True, False]])
    starts, real = torch.tensor([[2, 4, 0]]), torch.tensor([[True, True, False]])
    found = read_sentences(context, tokens, starts, real)[0, :, 0]
    assert found[:2].tolist() == [101.0, 203.0]


@pytest.mark.parametrize("option", ["match_features", "input_matches"])
def test_marks_can_be_left_out(option: str) -> None:
    model, records = model_and_records("bert", examples()[:2])
    other, _ = model_and_records("bert", examples()[:2], **{option: False})
    left = {name.split(".")[0] for name in model.state_dict().keys() - other.state_dict().keys()}
    assert (
        left
        == {
            "match_features": {"match_embedding", "match_input"},
            "input_matches": {"match_input"},
        }[option]
    )
    shared = {name: model.state_dict()[name] for name in other.state_dict()}
    other.load_state_dict(shared)
    one, two = outputs(model, records), outputs(other, records)
    assert not torch.allclose(one.start_logits, two.start_logits, atol=1e-4)


def test_the_backbone_reads_the_marks_of_question_and_context() -> None:
    model, (record,) = model_and_records("bert", examples()[:1])
    batch = batch_of(model, [record])
    ids, marks = batch["input_ids"][0], batch["window_matches"][0]
    begin = len(model.config.prefix_ids)
    asked = slice(begin, begin + len(record.question_ids))
    assert marks[asked].tolist() == record.question_matches.tolist()
    assert record.question_matches.any()
    assert marks[batch["context_positions"][0]].tolist() == record.matches.tolist()
    assert int((marks > 0).sum()) == int((record.matches > 0).sum()) + int(
        (record.question_matches > 0).sum()
    )
    assert len(marks) == len(ids)


def fused_model(**options: Any) -> tuple[TwoWikiEncoderForMultihopQA, list[Window]]:
    model, records = model_and_records("bert", examples()[:4], window_tokens=330, **options)
    torch.manual_seed(1)
    for layer in model.fusion:  # as drawn, a fusion layer changes nothing
        torch.nn.init.normal_(layer.attention.output.weight, 0.0, 0.1)
        torch.nn.init.normal_(layer.feed.narrow.weight, 0.0, 0.1)
    return model, records


def test_only_examples_of_several_windows_are_fused() -> None:
    model, records = fused_model()
    several = [len(plan_example(record, model.config)) > 1 for record in records]
    assert {True, False} == set(several)
    before, _ = fused_model(fuse_single_windows=True)  # as saved before there was the choice
    without, _ = fused_model(fusion_layers=0)
    without.load_state_dict(model.state_dict(), strict=False)
    rows: list[int] = []
    model.fusion[0].register_forward_pre_hook(lambda _, given: rows.append(len(given[0])))
    found, fused, plain = (outputs(one, records) for one in (model, before, without))
    assert rows == [sum(several)]
    for number, is_fused in enumerate(several):
        for name in (*OVER_TOKENS, *WHOLE, "support_logits"):
            same, other = (fused, plain) if is_fused else (plain, fused)
            near(found[name][number], same[name][number], 1e-5)
        assert not torch.allclose(found.start_logits[number], other.start_logits[number])
    single = [record for record, is_fused in zip(records, several, strict=True) if not is_fused]
    model.train()(**batch_of(model, single)).loss.backward()
    assert rows == [sum(several)]
    assert all(not weight.grad.any() for weight in model.fusion.parameters())


def test_new_models_skip_fusion_and_folders_without_the_key_do_not(tmp_path: Path) -> None:
    backbone, (config, tokenizer) = tmp_path / "bert", settings("bert")
    AutoModel.from_config(config.backbone_config).save_pretrained(backbone)
    tokenizer.save_pretrained(backbone)
    new = TwoWikiEncoderForMultihopQA.from_backbone(str(backbone), relations=["director"])
    new.save_pretrained(tmp_path / "new")
    saved = json.loads((tmp_path / "new" / "config.json").read_text("utf-8"))
    assert saved.pop("fuse_single_windows") is False
    assert not AutoConfig.from_pretrained(tmp_path / "new").fuse_single_windows
    (tmp_path / "new" / "config.json").write_text(json.dumps(saved), encoding="utf-8")
    older = AutoConfig.from_pretrained(tmp_path / "new")
    assert older.fuse_single_windows
    batch = EncoderCollator(older)(model_and_records("bert", examples()[:2])[1])
    assert "fused_rows" not in batch


@pytest.mark.slow
def test_a_backbone_of_local_attention_learns_by_heart() -> None:
    given: list[Example] = examples()[:4]
    model, records = model_and_records("modernbert", given, window_tokens=256, dropout=0.0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    batch = batch_of(model, records)
    first = None
    for _ in range(150):
        loss = model.train()(**batch).loss
        first = first or loss.item()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    assert loss.item() < first / 20
    for example in given:
        said = model.predict(example.question, example.context)
        assert set(said["evidence"]) == {tuple(triple) for triple in example.evidences}
        assert set(said["sp"]) == {tuple(fact) for fact in example.supporting_facts}
        assert said["answer"].casefold() == (example.answer or "").casefold()
