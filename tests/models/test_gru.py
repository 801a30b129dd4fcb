"""Our recurrence on the CPU equals torch's packed GRU, forwards and backwards."""

from __future__ import annotations

import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from twowiki.models.gru import BiGRU, locked_dropout, reversing_index

LENGTHS = torch.tensor([7, 1, 5, 7])


def layer(dtype: torch.dtype = torch.double) -> tuple[BiGRU, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    gru = BiGRU(5, 4).to(dtype)
    torch.nn.init.normal_(gru.initial_state)
    inputs = torch.randn(4, 7, 5, dtype=dtype, requires_grad=True)
    return gru, inputs, torch.arange(7) < LENGTHS.unsqueeze(1)


def packed(gru: BiGRU, inputs: torch.Tensor) -> torch.Tensor:
    start = gru.initial_state.expand(-1, 4, -1).contiguous()
    sequence = pack_padded_sequence(inputs, LENGTHS, batch_first=True, enforce_sorted=False)
    states, _ = gru.gru(sequence, start)
    return pad_packed_sequence(states, batch_first=True, total_length=7)[0]


def test_states_and_gradients_equal_the_packed_ones() -> None:
    gru, inputs, mask = layer()
    ours, theirs = gru(inputs, mask), packed(gru, inputs)
    torch.testing.assert_close(ours, theirs, atol=1e-12, rtol=0)
    weights = torch.randn_like(ours)
    variables = [inputs, *gru.parameters()]
    mine = torch.autograd.grad((ours * weights).sum(), variables)
    true = torch.autograd.grad((theirs * weights).sum(), variables)
    for one, other in zip(mine, true, strict=True):
        torch.testing.assert_close(one, other, atol=1e-12, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float, torch.double])
def test_what_runs_on_a_gpu_equals_the_packed_one(dtype: torch.dtype) -> None:
    gru, inputs, mask = layer(dtype)
    ours, theirs = gru._padded(inputs, LENGTHS) * mask.unsqueeze(2), packed(gru, inputs)
    torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=0)
    weights = torch.randn_like(ours)
    variables = [inputs, *gru.parameters()]
    mine = torch.autograd.grad((ours * weights).sum(), variables)
    true = torch.autograd.grad((theirs * weights).sum(), variables)
    for one, other in zip(mine, true, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5 if dtype == torch.float else 1e-12, rtol=0)


def test_gradients_equal_finite_differences() -> None:
    gru, inputs, mask = layer()
    short = inputs[:2, :3].detach().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: gru(x, mask[:2, :3]), (short,))


def test_without_gradients_the_states_are_the_same() -> None:
    gru, inputs, mask = layer(torch.float)
    with torch.no_grad():
        quiet = gru(inputs, mask)
    torch.testing.assert_close(quiet, gru(inputs, mask), atol=0, rtol=0)


def test_padding_and_its_length_change_nothing() -> None:
    gru, inputs, mask = layer()
    longer = torch.cat([inputs, torch.randn(4, 3, 5, dtype=torch.double)], dim=1)
    longer_mask = torch.cat([mask, torch.zeros(4, 3, dtype=torch.bool)], dim=1)
    torch.testing.assert_close(gru(longer, longer_mask)[:, :7], gru(inputs, mask), atol=0, rtol=0)
    assert not gru(longer, longer_mask)[:, 7:].any()


def test_a_row_without_steps_gives_zeros_and_finite_gradients() -> None:
    gru, inputs, mask = layer()
    mask = mask.clone()
    mask[1] = False
    states = gru(inputs, mask)
    assert not states[1].any()
    states.sum().backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in gru.parameters())


def test_reduced_precision_around_it_leaves_it_in_full_precision() -> None:
    gru, inputs, mask = layer(torch.float)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        states = gru(inputs.bfloat16(), mask)
    assert states.dtype == torch.float


def test_the_reversing_index_is_its_own_inverse() -> None:
    index = reversing_index(LENGTHS, 7)
    assert index.gather(1, index).tolist() == torch.arange(7).expand(4, -1).tolist()
    assert index[2].tolist() == [4, 3, 2, 1, 0, 5, 6]


@pytest.mark.parametrize("training", [True, False])
def test_dropout_drops_a_channel_at_all_steps(training: bool) -> None:
    torch.manual_seed(1)
    dropped = locked_dropout(torch.ones(3, 6, 50), 0.4, training=training)
    assert (dropped == dropped[:, :1]).all()
    assert bool((dropped == 0).any()) is training
    torch.testing.assert_close(dropped.unique()[-1], torch.tensor(1 / 0.6 if training else 1.0))
