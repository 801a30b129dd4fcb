"""Which slot says which triple: the best of all ways, and no other order matters."""

from __future__ import annotations

from itertools import permutations

import numpy
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from tests.small_encoder import model_and_records
from twowiki.models.modeling_encoder import assign
from twowiki.models.processing_encoder import EncoderCollator

TRIPLES = ("relation_labels", "subject_start", "subject_end", "object_start", "object_end")


@given(st.integers(1, 8), st.integers(1, 4), st.integers(0, 10_000))
def test_the_assignment_costs_as_little_as_any(count: int, batch: int, seed: int) -> None:
    costs = torch.from_numpy(numpy.random.default_rng(seed).normal(0, 5, (batch, count, count)))
    found = assign(costs)
    for row, order in zip(costs, found, strict=True):
        assert sorted(order.tolist()) == list(range(count))
        best = row.numpy()[linear_sum_assignment(row.numpy())].sum()
        total = row.gather(1, order.unsqueeze(1)).sum().item()
        assert abs(total - best) < 1e-9


def test_costs_that_are_no_numbers_still_give_a_permutation() -> None:
    costs = torch.tensor([[[torch.inf, torch.nan], [0.0, -torch.inf]]])
    assert sorted(assign(costs)[0].tolist()) == [0, 1]


def reordered(batch: dict[str, torch.Tensor], order: tuple[int, ...]) -> dict[str, torch.Tensor]:
    changed = dict(batch)
    for name in TRIPLES:
        key = name if name in batch else f"{name}_positions"
        changed[key] = batch[key][:, list(order)]
    return changed


def test_the_order_of_gold_triples_does_not_move_the_loss() -> None:
    model, records = model_and_records()
    batch = EncoderCollator(model.config)(records)
    loss = model(**batch).loss
    for order in list(permutations(range(6)))[1::171]:
        torch.testing.assert_close(model(**reordered(batch, order)).loss, loss)


def test_the_ordered_way_follows_the_order() -> None:
    model, records = model_and_records(assignment="ordered")
    batch = EncoderCollator(model.config)(records)
    other = model(**reordered(batch, (1, 0, 2, 3, 4, 5)))
    assert other.loss != model(**batch).loss
