"""A bidirectional GRU with a learned initial state over padded batches, equal to the packed one.

In: (B, T, D) inputs and a mask of real steps (a prefix of each row). Out: (B, T, 2H) states, the
forward direction first, zero at padding. On CUDA it is cuDNN's GRU over padded rows, each direction
by itself: its persistent kernels take no packed rows. On the CPU it is a function of its own: both
directions advance in one batched product per step, and the backward pass is written out, so that it
is linear in the length where the packed one is quadratic. Beside it the attention between two
sequences.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor, nn

_WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


class BiGRU(nn.Module):
    """One bidirectional GRU layer that starts from a learned state.

    Args:
        input_size: width D of the inputs.
        hidden_size: width H of each direction.
        dropout: probability of dropping an input channel of an example, at all its steps.
    """

    def __init__(self, input_size: int, hidden_size: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.hidden_size, self.dropout = hidden_size, dropout
        self.gru = nn.GRU(input_size, hidden_size, batch_first=True, bidirectional=True)
        self.initial_state = nn.Parameter(torch.zeros(2, 1, hidden_size))

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """Run both directions over the real steps of each row.

        Shape:
            inputs: (B, T, D); mask: (B, T), True for real steps. Output: (B, T, 2H).
        """
        inputs = locked_dropout(inputs, self.dropout, training=self.training)
        lengths = mask.sum(dim=1).clamp(min=1)
        with torch.autocast(inputs.device.type, enabled=False):  # long sums: full precision
            inputs = inputs.to(self.initial_state.dtype)
            run = self._padded if inputs.is_cuda else self._written_out
            states = run(inputs, lengths)
        return states * mask.unsqueeze(-1).to(states.dtype)

    def _padded(self, inputs: Tensor, lengths: Tensor) -> Tensor:
        """Run both directions forwards over whole rows: padding at the end reaches no real step."""
        initial = self.initial_state.expand(-1, inputs.shape[0], -1)
        reverse = reversing_index(lengths, inputs.shape[1]).unsqueeze(2)  # (B, T, 1)
        states = []
        for number, suffix in enumerate(("", "_reverse")):
            rows = inputs.gather(1, reverse.expand_as(inputs)) if number else inputs
            weights = [getattr(self.gru, f"{name}_l0{suffix}") for name in _WEIGHTS]
            start = initial[number : number + 1].contiguous()
            with warnings.catch_warnings():  # cuDNN copies weights that are not one block: few kB
                warnings.filterwarnings("ignore", "RNN module weights are not part")
                run, _ = torch.gru(rows, start, weights, True, 1, 0.0, self.training, False, True)
            states.append(run.gather(1, reverse.expand_as(run)) if number else run)
        return torch.cat(states, dim=-1)

    def _written_out(self, inputs: Tensor, lengths: Tensor) -> Tensor:
        reverse = reversing_index(lengths, inputs.shape[1]).t()  # (T, B)
        rows = inputs.transpose(0, 1)  # (T, B, D)
        states = _GRUSteps.apply(
            torch.stack([rows, reorder(rows, reverse)]),
            self._both("weight_ih"),
            self._both("bias_ih"),
            self._both("weight_hh"),
            self._both("bias_hh"),
            self.initial_state.expand(-1, inputs.shape[0], -1),
        )  # (2, T, B, H)
        both_states = torch.cat([states[0], reorder(states[1], reverse)], dim=-1)
        return both_states.transpose(0, 1)

    def _both(self, name: str) -> Tensor:
        """Stack the parameter of the forward and of the backward direction."""
        return torch.stack(
            [getattr(self.gru, f"{name}_l0"), getattr(self.gru, f"{name}_l0_reverse")]
        )


def locked_dropout(inputs: Tensor, probability: float, *, training: bool) -> Tensor:
    """Drop whole channels of an example: one mask shared by all of its steps.

    Shape:
        inputs and output: (B, T, D).
    """
    if not training or probability == 0.0:
        return inputs
    keep = torch.empty_like(inputs[:, :1]).bernoulli_(1 - probability) / (1 - probability)
    return inputs * keep


def reversing_index(lengths: Tensor, steps: int) -> Tensor:
    """Return the index that reverses the real steps of each row and leaves padding in place.

    Shape:
        lengths: (B,). Output: (B, T).
    """
    positions = torch.arange(steps, device=lengths.device).expand(lengths.shape[0], -1)
    last = lengths.unsqueeze(1) - 1
    return torch.where(positions <= last, last - positions, positions)


def reorder(values: Tensor, index: Tensor) -> Tensor:
    """Take steps in the order of an index: (T, B, D) by (T, B)."""
    batch = values.shape[1]
    rows = (index * batch + torch.arange(batch, device=index.device)).flatten()
    return values.reshape(-1, values.shape[-1]).index_select(0, rows).view_as(values)


class _GRUSteps(torch.autograd.Function):
    """The layer over time, both directions at once; gates are ordered r, z, n as in torch.

    Shape:
        inputs: (2, T, B, D); input_weight: (2, 3H, D); weight: (2, 3H, H); both biases: (2, 3H);
        initial: (2, B, H). Output: (2, T, B, H).
    """

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        input_weight: Tensor,
        input_bias: Tensor,
        weight: Tensor,
        bias: Tensor,
        initial: Tensor,
    ) -> Tensor:
        hidden = weight.shape[-1]
        keep = any(ctx.needs_input_grad)
        gates = torch.baddbmm(
            input_bias.unsqueeze(1), inputs.flatten(1, 2), input_weight.transpose(1, 2)
        ).view(*inputs.shape[:3], 3 * hidden)
        states = gates.new_empty(*inputs.shape[:3], hidden)
        recurrent = gates.new_empty(2, inputs.shape[2], 3 * hidden)
        recurrent_rz, recurrent_n = recurrent.split([2 * hidden, hidden], dim=-1)
        kept = torch.empty_like(states) if keep else states[:, :0]
        opened_at, news_at = (part.unbind(1) for part in gates.split([2 * hidden, hidden], -1))
        resets, updates, _ = (part.unbind(1) for part in gates.chunk(3, dim=-1))
        transposed, bias_row, state = (
            weight.transpose(1, 2).contiguous(),
            bias.unsqueeze(1),
            initial,
        )
        kept_at = kept.unbind(1)
        for step, state_at in enumerate(states.unbind(1)):  # gates become r, z, n in place
            torch.baddbmm(bias_row, state, transposed, out=recurrent)
            if keep:
                kept_at[step].copy_(recurrent_n)
            opened_at[step].add_(recurrent_rz).sigmoid_()
            new = news_at[step].addcmul_(resets[step], recurrent_n).tanh_()
            state = torch.lerp(new, state, updates[step], out=state_at)
        ctx.save_for_backward(inputs, input_weight, weight, initial, gates, states, kept)
        return states

    @staticmethod
    def backward(ctx: Any, grad_states: Tensor) -> tuple[Tensor | None, ...]:
        inputs, input_weight, weight, initial, gates, states, kept = ctx.saved_tensors
        _, steps, batch, hidden = states.shape
        sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
        tanh_backward = torch.ops.aten.tanh_backward.grad_input
        # per step the gradients of n's recurrent part, r, z, and n's input part, unactivated
        grads = states.new_empty(2, steps, batch, 4 * hidden)
        by_recurrent, by_input = grads[..., : 3 * hidden], grads[..., hidden:]
        grads_rn, grads_r, grads_z, grads_n = (part.unbind(1) for part in grads.chunk(4, dim=-1))
        grads_rz = grads[..., hidden : 3 * hidden].unbind(1)
        recurrent_at, grad_at = by_recurrent.unbind(1), grad_states.unbind(1)
        resets, updates, news = (part.unbind(1) for part in gates.chunk(3, dim=-1))
        opened, kept_at = gates[..., : 2 * hidden].unbind(1), kept.unbind(1)
        before = (initial, *states.unbind(1)[:-1])
        weight_r, weight_z, weight_n = weight.chunk(3, dim=1)
        weight_nrz = torch.cat([weight_n, weight_r, weight_z], dim=1)
        carried = torch.zeros_like(states[:, 0])
        for step in range(steps - 1, -1, -1):
            total = carried.add_(grad_at[step])
            passed = total * updates[step]
            tanh_backward(total - passed, news[step], grad_input=grads_n[step])
            torch.mul(grads_n[step], kept_at[step], out=grads_r[step])
            torch.mul(before[step] - news[step], total, out=grads_z[step])
            sigmoid_backward(grads_rz[step], opened[step], grad_input=grads_rz[step])
            torch.mul(grads_n[step], resets[step], out=grads_rn[step])
            carried = torch.baddbmm(passed, recurrent_at[step], weight_nrz)
        rows, input_rows = by_recurrent.flatten(1, 2), by_input.flatten(1, 2)
        earlier = torch.cat([initial.unsqueeze(1), states[:, :-1]], dim=1).flatten(1, 2)
        order = [1, 2, 0]  # n, r, z -> r, z, n
        grad_weight = torch.bmm(rows.transpose(1, 2), earlier)
        grad_weight = grad_weight.view(2, 3, hidden, hidden)[:, order].flatten(1, 2)
        grad_bias = rows.sum(dim=1).view(2, 3, hidden)[:, order].flatten(1)
        grad_input_weight = torch.bmm(input_rows.transpose(1, 2), inputs.flatten(1, 2))
        grad_inputs = torch.bmm(input_rows, input_weight).view_as(inputs)
        grad_input_bias = input_rows.sum(dim=1)
        return grad_inputs, grad_input_weight, grad_input_bias, grad_weight, grad_bias, carried


class BiAttention(nn.Module):
    """Attend from inputs to a memory, and from the memory to the inputs.

    Args:
        width: width D of both sequences.
        dropout: probability of dropping a channel of an example, in both sequences.
        mask_inputs: padding of the inputs takes no part in the memory-to-input attention.
        narrow_scale: start the scales at 1/sqrt(D), not in U(1/sqrt(D), 1).
    """

    def __init__(
        self, width: int, *, dropout: float, mask_inputs: bool, narrow_scale: bool
    ) -> None:
        super().__init__()
        self.dropout, self.mask_inputs, self.narrow_scale = dropout, mask_inputs, narrow_scale
        self.input_score = nn.Linear(width, 1, bias=False)
        self.memory_score = nn.Linear(width, 1, bias=False)
        self.scale = nn.Parameter(torch.empty(width))

    def forward(
        self, inputs: Tensor, memory: Tensor, memory_mask: Tensor, input_mask: Tensor
    ) -> Tensor:
        """Return each input, what it attends to, their product, and the summary's product.

        Shape:
            inputs: (B, T, D); memory: (B, K, D); masks: (B, K), (B, T). Output: (B, T, 4D).
        """
        inputs = locked_dropout(inputs, self.dropout, training=self.training)
        memory = locked_dropout(memory, self.dropout, training=self.training)
        scores = torch.bmm(inputs * self.scale, memory.transpose(1, 2))  # (B, T, K)
        scores = scores + self.memory_score(memory).transpose(1, 2)
        scores = scores.masked_fill(~memory_mask.unsqueeze(1), torch.finfo(scores.dtype).min)
        attended = torch.bmm(scores.softmax(dim=-1), memory)  # (B, T, D)
        # a score's part that depends on the input alone changes the maximum, not the softmax
        summary_scores = scores.amax(dim=-1) + self.input_score(inputs).squeeze(-1)  # (B, T)
        if self.mask_inputs:
            summary_scores = summary_scores.masked_fill(
                ~input_mask, torch.finfo(summary_scores.dtype).min
            )
        summary = torch.bmm(summary_scores.softmax(dim=-1).unsqueeze(1), inputs)  # (B, 1, D)
        return torch.cat([inputs, attended, inputs * attended, attended * summary], dim=-1)
