"""The encoder model: six backbones, padding, windows, batch order, saving, learning."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModel, AutoModelForQuestionAnswering, AutoTokenizer

from tests.small_encoder import BACKBONES, OTHERS, model_and_records, settings
from tests.small_model import GOLD_Q1, examples
from tests.small_model import model_and_windows as baseline_model
from twowiki.data.schema import Example, Paragraph, Triple
from twowiki.models.auto import load_model, register_models
from twowiki.models.backbone import VARIABLE_LENGTHS, read_windows
from twowiki.models.features import Window
from twowiki.models.modeling_encoder import TwoWikiEncoderForMultihopQA, read_sentences
from twowiki.models.outputs import TwoWikiOutput
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
        names = ("input_ids", "attention_mask", "token_type_ids", "question_window_mask")
        read = read_windows(model.backbone, *(given.get(name) for name in names))
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
    real = batch_of(padded, records)["attention_mask"]
    assert calls == [int(real.sum())]
    assert int(real.sum()) < real.numel()


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


def test_half_precision_gives_finite_losses_near_the_full_ones() -> None:
    model, records = model_and_records("bert", examples()[:3])
    batch = batch_of(model, records)
    full = model(**batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = model(**batch)
    half.loss.backward()
    torch.testing.assert_close(half.loss.float(), full.loss, rtol=0.05, atol=0.0)
    assert half.start_logits.dtype == torch.float
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


def test_an_absent_object_gives_its_pointer_no_gradient_at_all() -> None:
    absent = (GOLD_Q1.evidences[0], Triple("Dessa Orrel", "place of birth", "Brinmoor-on-Oru"))
    model, (record,) = model_and_records("bert", [GOLD_Q1._replace(evidences=absent)])
    batch = batch_of(model, [record])
    assert torch.isfinite(model(**batch).loss)
    batch["object_start_positions"][:] = batch["object_end_positions"][:] = -100
    output = model(**batch)
    assert output.losses["object"] == 0
    assert output.losses["subject"] > 0
    batch["support_labels"][:] = -100
    assert model(**batch).losses["support"] == 0


def test_a_batch_with_an_empty_question_has_finite_gradients() -> None:
    given = [GOLD_Q1, GOLD_Q1._replace(question=""), GOLD_Q1._replace(evidences=(), answer=None)]
    model, records = model_and_records("bert", given)
    output = model.train()(**batch_of(model, records))
    assert torch.isfinite(output.loss)
    output.loss.backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


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
    loaded = load_model(folder)
    assert [loaded.predict(*one) for one in given] == [model.predict(*one) for one in given]


def test_every_weight_comes_back_and_a_missing_one_is_initialised_alone(tmp_path: Path) -> None:
    model, _ = model_and_records("bert", examples()[:1])
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(0.5)
    model.save_pretrained(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    lost = ["slots.queries", "fusion.0.attention.query.weight", "norm.bias", "relation_head.weight"]
    for name in lost:
        del weights[name]
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    again, info = TwoWikiEncoderForMultihopQA.from_pretrained(tmp_path, output_loading_info=True)
    assert set(info["missing_keys"]) == set(lost)
    for name, parameter in again.named_parameters():
        assert torch.isfinite(parameter).all(), name
        assert bool((parameter == 0.5).all()) is (name not in lost), name


def test_a_saved_folder_is_self_contained(tmp_path: Path) -> None:
    model, _ = model_and_records("bert", examples()[:1])
    model.save_pretrained(tmp_path)
    code = {path.name for path in tmp_path.glob("*.py")}
    assert {"modeling_encoder.py", "configuration_encoder.py", "comparison_answers.py"} <= code
    for path in tmp_path.glob("*.py"):
        for line in path.read_text(encoding="utf-8").splitlines():
            assert not line.startswith(("from twowiki", "import twowiki")), path
            if line.startswith("from ."):
                assert f"{line.split()[1][1:]}.py" in code, (path, line)
    saved = (tmp_path / "config.json").read_text(encoding="utf-8")
    assert str(tmp_path.parent) not in saved
    assert (
        json.loads(saved)["auto_map"]["AutoModel"] == "modeling_encoder.TwoWikiEncoderForMultihopQA"
    )


STRANGER = """
import json, sys
from transformers import AutoModel, AutoTokenizer
assert not any(name.split(".")[0] == "twowiki" for name in sys.modules)
model = AutoModel.from_pretrained(".", trust_remote_code=True)
said = model.predict("Who is the mother of Tavik Orrel?", {"Tavik Orrel": "He was born. To Dessa."})
print(json.dumps([said["answer"], said["sp"], said["evidence"], said["text"]]))
model.save_pretrained("again")
"""


@pytest.mark.slow
def test_a_folder_answers_where_this_package_is_not(tmp_path: Path) -> None:
    model, _ = model_and_records("bert", examples()[:1])
    folder = tmp_path / "model"
    model.save_pretrained(folder)
    model.answer_tokenizer.save_pretrained(folder)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    environment |= {"HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "1"}
    hidden = tmp_path / "hidden"  # in place of the package: what is imported from it fails
    (hidden / "twowiki").mkdir(parents=True)
    (hidden / "twowiki" / "__init__.py").write_text("raise ImportError('not here')")
    environment["PYTHONPATH"] = str(hidden)
    done = subprocess.run(
        [sys.executable, "-c", STRANGER],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    context = {"Tavik Orrel": "He was born. To Dessa."}
    said = model.predict("Who is the mother of Tavik Orrel?", context)
    expected = [said["answer"], said["sp"], said["evidence"], said["text"]]
    assert json.loads(done.stdout.splitlines()[-1]) == json.loads(json.dumps(expected))
    assert (folder / "again" / "modeling_encoder.py").is_file()
    shutil.rmtree(folder)


def test_an_answer_has_the_form_of_the_baselines() -> None:
    model, _ = model_and_records("bert", examples()[:1])
    other, _ = baseline_model()
    mine = model.predict(GOLD_Q1.question, GOLD_Q1.context)
    theirs = other.predict(GOLD_Q1.question, GOLD_Q1.context)
    assert mine.keys() == theirs.keys()
    assert mine["text"] == theirs["text"]
    assert [(s["title"], s["sent_id"]) for s in mine["sentences"]] == [
        (s["title"], s["sent_id"]) for s in theirs["sentences"]
    ]
    for triple in mine["triples"]:
        start, end = triple["subject_span"]
        assert mine["text"][start:end] == triple["subject"]
        assert triple["relation"] in model.config.relations
    assert all(sent_id >= 0 for _, sent_id in mine["sp"])


def test_questions_that_cannot_be_answered_get_nothing_or_a_reason() -> None:
    model, _ = model_and_records("bert", examples()[:1])
    hollow = GOLD_Q1._replace(context=(Paragraph("", ("",)),))
    (said,) = model.answer([hollow])
    assert (said.answer, said.supporting_facts, said.evidences) == ("", [], [])
    with pytest.raises(ValueError, match="no text"):
        model.predict("Who?", [("", "")])
    model.answer_tokenizer = None
    with pytest.raises(ValueError, match="tokenizer"):
        model.predict("Who?", [("A", "b.")])


def test_a_very_long_context_is_read_whole() -> None:
    model, _ = model_and_records("bert", examples()[:1], window_tokens=64, window_stride=8)
    context = [(f"Title {n}", [f"Sentence {k} of number {n}. " * 6 for k in range(3)])
               for n in range(30)]  # fmt: skip
    said = model.predict("Which one?", context)
    assert len(said["sentences"]) == 90


def test_support_above_the_threshold_is_real_sentences_only() -> None:
    model, _ = model_and_records("bert", [GOLD_Q1], support_threshold=-1.0)
    said = model.predict(GOLD_Q1.question, GOLD_Q1.context)
    assert said["sp"] == [("Tavik Orrel", 0), ("Dessa Orrel", 0), ("Dessa Orrel", 1)]


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


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bert", "modernbert"])
def test_a_few_examples_are_learnt_by_heart(kind: str) -> None:
    given: list[Example] = examples()[:4]
    model, records = model_and_records(kind, given, window_tokens=256, dropout=0.0)
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
