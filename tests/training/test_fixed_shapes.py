"""The batches of a run have one shape, and their losses and predictions are what they were."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch

from tests.small_encoder import model_and_records
from tests.small_model import examples
from tests.training.runs import save_backbone
from twowiki.data.schema import to_official
from twowiki.errors import DataError
from twowiki.models.backbone import set_attention
from twowiki.models.configuration_encoder import VARIABLE_LENGTHS
from twowiki.models.processing_encoder import EncoderCollator
from twowiki.training.encoder import EncoderTask, start_model
from twowiki.training.epoch_plan import EpochPlan
from twowiki.training.fixed_shapes import FixedShapes, shape_of
from twowiki.training.loaders import StepLoader
from twowiki.training.settings import EncoderArguments


class Store(list[Any]):
    """Windows in memory, with the lengths that a store of them has."""

    def lengths(self, *names: str) -> list[int]:
        return [sum(getattr(window, name).size for name in names) for window in self]


def made(kind: str, **options: Any) -> tuple[Any, list[Any]]:
    """A model that packs, and records of one to all paragraphs of the examples."""
    given = [e._replace(context=e.context[:n]) for e in examples()[:8] for n in (1, 2, 4, 10)]
    model, records = model_and_records(kind, given, dropout=0.0, backbone_dropout=0.0, **options)
    set_attention(model, VARIABLE_LENGTHS)
    return model, records


def loader_of(model: Any, records: list[Any], size: int, count: int, parts: int = 1) -> StepLoader:
    items = Store(Random(5).choices(records, k=count))
    lengths = items.lengths("token_ids")
    plan = EpochPlan(lengths, size * parts, parts, seed=3, mixed=True)
    collate = FixedShapes.of(EncoderCollator(model.config), items, plan, model.config, epochs=2)
    return StepLoader(items, collate, plan)


def shapes(batch: Any) -> tuple[Any, ...]:
    return tuple(sorted((n, *v.shape) for n, v in batch.items() if n != "numbers"))


@pytest.mark.parametrize(("window", "parts", "count"), [(2048, 2, 1_000), (96, 1, 100)])
def test_a_thousand_batches_have_one_shape(window: int, parts: int, count: int) -> None:
    model, records = made("modernbert", window_tokens=window, window_stride=8)
    loader = loader_of(model, records, 8, 4 * count, parts)
    steps = [batches for epoch in (0, 1) for _, batches in loader.steps(epoch)]
    seen = Counter(shapes(batch) for batches in steps for batch in batches)
    assert seen.total() == count
    assert len(seen) == 1
    assert shapes(loader.collate(loader.largest())) in seen
    shape = loader.collate.collate.shape
    for batch in (batch for batches in steps for batch in batches):
        borders = batch["window_borders"]
        assert borders.diff().min() >= 0
        assert borders.diff().max() <= shape["longest"]
        assert borders[-1] == shape["row"]


@pytest.mark.parametrize("kind", ["modernbert", "bert", "deberta-v2"])
def test_what_fills_a_batch_up_moves_nothing(kind: str) -> None:
    model, records = made(kind, window_tokens=200, window_stride=8)
    loader = loader_of(model, records, 6, 48)
    fixed, several = loader.collate.collate, 0
    for _, batches in list(loader.steps(1))[:3]:
        given = [loader.collate.items[n] for n in batches[0].pop("numbers").tolist()]
        plain, found = fixed.collate(given), []
        assert shape_of(batches[0]) == fixed.shape != shape_of(plain)
        for batch in (batches[0], plain):
            model.zero_grad()
            output = model.train()(**batch)
            output.loss.backward()
            found.append((output, {n: p.grad for n, p in model.named_parameters()}))
        several += len(plain["fused_rows"])
        (filled, gradients), (expected, others) = found
        torch.testing.assert_close(filled.loss, expected.loss, atol=1e-5, rtol=0)
        for name, logits in expected.items():
            if name.endswith("_logits"):
                kept = filled[name][tuple(map(slice, logits.shape))]
                torch.testing.assert_close(kept, logits, atol=1e-5, rtol=0, msg=name)
        for name, gradient in others.items():
            torch.testing.assert_close(gradients[name], gradient, atol=1e-5, rtol=1e-4, msg=name)
    assert several
    few = given[: fixed.fewest - 1]  # as a batch is halved where memory runs out
    assert shapes(fixed(few)) == shapes(fixed.collate(few))


def test_a_run_that_is_compiled_has_batches_of_one_shape(tmp_path: Path) -> None:
    records = [to_official(example) for example in examples()[:10]]
    for name in ("train.json", "dev.json"):
        (tmp_path / name).write_text(json.dumps(records), encoding="utf-8")
    config = EncoderArguments(
        model_name_or_path=str(save_backbone(tmp_path / "bert")),
        data_dir=str(tmp_path),
        output_dir=str(tmp_path / "run"),
        attn_implementation=VARIABLE_LENGTHS,
        backbone_dropout=0.0,
        torch_compile=True,
        per_device_train_batch_size=2,
    )
    task = EncoderTask(config)
    task.prepare(None)
    loader, _ = task.make_loaders()
    steps = [batches for epoch in (0, 2) for _, batches in loader.steps(epoch)]
    assert len({shapes(batch) for batches in steps for batch in batches}) == 1
    assert sum(len(batch["numbers"]) for batches in steps for batch in batches) == 20
    for changes in ({"torch_compile": False}, {"fixed_shapes": False}):
        task.config = replace(config, **changes)
        assert not isinstance(task.make_loaders()[0].collate.collate, FixedShapes)


def test_windows_that_are_padded_have_no_budget(tmp_path: Path) -> None:
    config = EncoderArguments(
        model_name_or_path=str(save_backbone(tmp_path / "bert")), fixed_shapes=True
    )
    with pytest.raises(DataError, match="needs windows that are packed"):
        start_model(config, ["director"])
