"""What holds for both models: outputs, padding, losses, saving and loading, answers, learning."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.small_model import GOLD_Q1, examples
from twowiki.data.schema import Triple

if TYPE_CHECKING:
    from tests.models.conftest import Family

PARTS = {"span", "answer_type", "support", "relation", "subject", "object"}
OVER_TOKENS = ("start_logits", "end_logits", "subject_start_logits", "object_end_logits")
WHOLE = ("answer_type_logits", "relation_logits")
HIDDEN = """
import json
from transformers import AutoModel, AutoTokenizer, pipeline
model = AutoModel.from_pretrained(".", trust_remote_code=True)
given = ["Who is the mother of Tavik Orrel?", {"Tavik Orrel": "He was born. To Dessa."}]
answer = model.predict(*given)
ask = pipeline("multihop-qa", model=".", trust_remote_code=True, device="cpu")
assert ask(*given) == answer
assert AutoTokenizer.from_pretrained(".", trust_remote_code=True)("Who?")["input_ids"]
print(json.dumps(answer))
model.save_pretrained("again")
"""


def near(one: Any, other: Any, tolerance: float = 2e-5) -> None:
    import torch

    torch.testing.assert_close(one, other, atol=tolerance, rtol=0)


def save(model: Any, folder: Path) -> Path:
    model.save_pretrained(folder)
    model.answer_tokenizer.save_pretrained(folder)
    return folder


def test_every_part_of_the_loss_reaches_every_weight(family: Family) -> None:
    model, windows = family.make()
    batch = family.batch(model, windows)
    output = model.train()(**batch)
    size, tokens = output.start_logits.shape
    assert output.end_logits.shape == (size, tokens)
    assert output.answer_type_logits.shape == (size, 3)
    assert output.support_logits.shape == batch["sentence_mask"].shape
    assert output.relation_logits.shape == (size, 6, model.config.relation_count + 1)
    assert output.subject_start_logits.shape == (size, tokens, 6)
    assert (output.object_end_logits[~batch["context_mask"]] < -1e38).all()
    assert set(output.losses) == PARTS
    output.loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


def test_padding_and_batch_order_change_nothing(family: Family) -> None:
    model, windows = family.make(examples()[:4])
    windows.sort(key=lambda window: len(window.token_ids))
    alone, together = family.outputs(model, windows[:1]), family.outputs(model, windows)
    turned = family.outputs(model, windows[::-1])
    tokens, sentences = alone.start_logits.shape[1], alone.support_logits.shape[1]
    for name in OVER_TOKENS:
        near(alone[name], together[name][:1, :tokens])
    near(alone.support_logits, together.support_logits[:1, :sentences])
    for name in WHOLE:
        near(alone[name], together[name][:1])
    for name in (*OVER_TOKENS, *WHOLE, "support_logits"):
        near(turned[name].flip(0), together[name])


def test_half_precision_gives_finite_losses_near_the_full_ones(family: Family) -> None:
    import torch

    model, windows = family.make(examples()[:3])
    batch = family.batch(model.eval(), windows)
    full = model(**batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = model(**batch)
    half.loss.backward()
    torch.testing.assert_close(half.loss.float(), full.loss, rtol=0.05, atol=0.0)
    assert half.start_logits.dtype == torch.float
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


def test_what_is_absent_is_left_out_of_the_loss_and_nothing_else(family: Family) -> None:
    absent = (GOLD_Q1.evidences[0], Triple("Dessa Orrel", "place of birth", "Brinmoor-on-Oru"))
    model, windows = family.make([GOLD_Q1._replace(answer="Veltria", evidences=absent)])
    batch = family.batch(model, windows)
    losses = model(**batch).losses
    assert losses["span"] == 0
    assert losses["support"] > 0
    assert losses["object"] > 0
    batch["object_start_positions"][:] = batch["object_end_positions"][:] = -100
    batch["support_labels"][:] = -100
    losses = model(**batch).losses
    assert losses["object"] == losses["support"] == 0
    assert losses["subject"] > 0


def test_empty_questions_and_hidden_gold_have_finite_gradients(family: Family) -> None:
    given = [GOLD_Q1, GOLD_Q1._replace(question=""), GOLD_Q1._replace(evidences=(), answer=None)]
    model, windows = family.make(given)
    output = model.train()(**family.batch(model, windows))
    assert output.loss.isfinite()
    output.loss.backward()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


def test_the_weights_of_the_losses_are_saved_and_used(family: Family, tmp_path: Path) -> None:
    from transformers import AutoConfig

    model, windows = family.make(examples()[:3], evidence_weight=0.25)
    output = model(**family.batch(model, windows))
    parts = output.losses
    evidence = parts["relation"] + parts["subject"] + parts["object"]
    near(output.loss, parts["span"] + parts["answer_type"] + parts["support"] + 0.25 * evidence)
    assert AutoConfig.from_pretrained(save(model, tmp_path)).evidence_weight == 0.25


def test_a_saved_model_loads_by_the_auto_classes_and_gives_equal_outputs(
    family: Family, tmp_path: Path
) -> None:
    import torch
    from transformers import AutoConfig, AutoModel, AutoModelForQuestionAnswering, AutoTokenizer

    from twowiki import load_model

    model, windows = family.make()
    before = family.outputs(model, windows)
    folder = save(model, tmp_path / "run 1.5-a")
    for auto in (AutoModel, AutoModelForQuestionAnswering):
        again, info = auto.from_pretrained(
            folder, trust_remote_code=False, output_loading_info=True
        )
        assert not any(info.values()), info
        after = family.outputs(again, windows)
        for name in before:
            if isinstance(before[name], torch.Tensor):
                torch.testing.assert_close(after[name], before[name], atol=0, rtol=0)
    assert AutoConfig.from_pretrained(folder).relations == model.config.relations
    assert AutoTokenizer.from_pretrained(folder, trust_remote_code=False)("Who?")["input_ids"]
    given = [(example.question, example.context) for example in examples()[:3]]
    loaded = load_model(folder)
    for one in given:  # the last bits of a score depend on where its numbers lie in memory
        assert rounded(loaded.predict(*one)) == rounded(model.predict(*one))


def test_every_weight_comes_back_and_a_missing_one_is_initialized_alone(
    family: Family, tmp_path: Path
) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    model, _ = family.make(examples()[:1])
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(0.5)
    model.save_pretrained(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    for lost in ((), family.lost):
        kept = {name: value for name, value in weights.items() if name not in lost}
        save_file(kept, tmp_path / "model.safetensors", metadata={"format": "pt"})
        again, info = type(model).from_pretrained(tmp_path, output_loading_info=True)
        assert set(info["missing_keys"]) == set(lost)
        for name, parameter in again.named_parameters():
            assert torch.isfinite(parameter).all(), name
            assert parameter.abs().max() < 3, name
            assert bool((parameter == 0.5).all()) is (name not in lost), name


def test_a_saved_folder_holds_all_code_that_it_needs(family: Family, tmp_path: Path) -> None:
    model, _ = family.make(examples()[:1])
    save(model, tmp_path)
    code = {path.name for path in tmp_path.glob("*.py")}
    assert len(code) <= family.files, sorted(code)
    assert f"modeling_{family.name}.py" in code
    assert ("gru.py" in code) is (family.name == "baseline")
    for path in tmp_path.glob("*.py"):
        for line in path.read_text(encoding="utf-8").splitlines():
            assert not line.strip().startswith(("from twowiki", "import twowiki")), path
            if line.strip().startswith("from ."):
                assert f"{line.split()[1][1:]}.py" in code, (path, line)
    saved = (tmp_path / "config.json").read_text(encoding="utf-8")
    assert str(tmp_path.parent) not in saved
    assert json.loads(saved)["auto_map"]["AutoModel"] == (
        f"modeling_{family.name}.{type(model).__name__}"
    )


def rounded(value: Any) -> Any:
    """Round the numbers in nested lists and dicts: another process may add in another order."""
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return round(value, 4) if isinstance(value, float) else value


@pytest.mark.slow
def test_a_folder_answers_where_this_package_is_hidden(family: Family, tmp_path: Path) -> None:
    model, _ = family.make(examples()[:1])
    folder = save(model, tmp_path / "model")
    hidden = tmp_path / "hidden" / "twowiki"  # instead of the package: its import fails
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise ImportError('hidden')")
    environment = os.environ | {
        "PYTHONPATH": str(hidden.parent),
        "HF_HOME": str(tmp_path / "home"),
        "HF_HUB_OFFLINE": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", HIDDEN],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    given = {"Tavik Orrel": "He was born. To Dessa."}
    expected = model.predict("Who is the mother of Tavik Orrel?", given)
    found = json.loads(done.stdout.splitlines()[-1])
    score = found.pop("answer_score")
    assert score == pytest.approx(expected.pop("answer_score"), abs=1e-5)
    assert rounded(found) == rounded(json.loads(json.dumps(expected)))
    assert (folder / "again" / f"modeling_{family.name}.py").is_file()


def test_an_answer_has_one_form(family: Family) -> None:
    model, _ = family.make(examples()[:1])
    paragraphs = [(title, list(sentences)) for title, sentences in GOLD_Q1.context]
    answer = model.predict(GOLD_Q1.question, paragraphs)
    assert set(answer) == {
        "answer", "answer_type", "answer_score", "sp", "evidence", "supporting_sentences",
        "sentences", "triples", "answer_span", "answer_place", "text",
    }  # fmt: skip
    assert isinstance(answer["answer"], str)
    assert all(isinstance(title, str) and sent_id >= 0 for title, sent_id in answer["sp"])
    assert [(s["title"], s["sent_id"]) for s in answer["sentences"]] == [
        ("Tavik Orrel", 0), ("Dessa Orrel", 0), ("Dessa Orrel", 1),
    ]  # fmt: skip
    for triple in answer["triples"]:
        start, end = triple["subject_span"]
        assert answer["text"][start:end].strip("\x02\x03 ") == triple["subject"]
        assert triple["relation"] in model.config.relations
    several = model.predict([GOLD_Q1.question] * 2, [paragraphs, paragraphs[:1]])
    for name in ("answer", "sp", "evidence", "text"):
        assert several[0][name] == answer[name]
    assert len(several[1]["sentences"]) == 1


def test_support_above_the_threshold_is_real_sentences_only(family: Family) -> None:
    model, _ = family.make([GOLD_Q1], support_threshold=-1.0)
    model.config.support_from_triples = False
    answer = model.predict(GOLD_Q1.question, GOLD_Q1.context)
    assert answer["sp"] == [("Tavik Orrel", 0), ("Dessa Orrel", 0), ("Dessa Orrel", 1)]


def test_questions_that_cannot_be_answered_get_nothing_or_a_reason(family: Family) -> None:
    model, _ = family.make(examples()[:1])
    hollow = GOLD_Q1._replace(context=())
    (answer,) = model.answer([hollow])
    assert (answer.answer, answer.evidences) == ("", [])
    with pytest.raises(ValueError, match="no text"):
        model.predict("Who?", [("", "")])
    model.answer_tokenizer = None
    with pytest.raises(ValueError, match="tokenizer"):
        model.predict("Who?", [("A", "b.")])


def test_a_very_long_context_is_read_whole(family: Family) -> None:
    model, _ = family.make(examples()[:1], window_tokens=64, window_stride=8)
    context = [
        (f"Title {n}", [f"Sentence {k} of number {n}. " * 6 for k in range(3)]) for n in range(30)
    ]
    assert len(model.predict("Which one?", context)["sentences"]) == 90


@pytest.mark.slow
def test_a_few_examples_are_learned_by_heart(family: Family) -> None:
    import torch

    given = examples()[:4]
    model, windows = family.make(given, **family.learnable)
    optimizer = torch.optim.AdamW(model.parameters(), lr=family.rate)
    batch = family.batch(model, windows)
    losses = []
    for _ in range(150):
        loss = model.train()(**batch).loss
        losses.append(loss.item())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    assert losses[-1] < losses[0] / 20
    for example in given:
        answer = model.predict(example.question, example.context)
        assert set(answer["evidence"]) == {tuple(triple) for triple in example.evidences}
        assert set(answer["sp"]) == {tuple(fact) for fact in example.supporting_facts}
        assert answer["answer"].casefold() == (example.answer or "").casefold()
