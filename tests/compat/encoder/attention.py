"""Attention between two sequences of states, as the HotpotQA and 2Wiki baselines have it."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .recurrence import locked_dropout


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
        """Give each input beside what it attends to, their product, and the summary's product.

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


def gather_states(states: Tensor, positions: Tensor, mask: Tensor) -> Tensor:
    """Take one state a position, zero where the mask is False.

    Shape:
        states: (B, T, D); positions and mask: (B, S). Output: (B, S, D).
    """
    batch, steps, width = states.shape
    first = steps * torch.arange(batch, device=states.device).unsqueeze(1)
    rows = (positions.clamp(0, steps - 1) + first).flatten()
    taken = states.reshape(-1, width).index_select(0, rows).view(*positions.shape, width)
    return taken * mask.unsqueeze(-1).to(states.dtype)


def masked_maximum(states: Tensor, mask: Tensor | None) -> Tensor:
    """Take the maximum over time; rows without a real step give zeros.

    Shape:
        states: (B, T, D); mask: (B, T), or None to let padding take part. Output: (B, D).
    """
    if mask is None:
        return states.amax(dim=1)
    lowest = torch.finfo(states.dtype).min
    highest = states.masked_fill(~mask.unsqueeze(-1), lowest).amax(dim=1)
    return torch.where(mask.any(dim=1, keepdim=True), highest, torch.zeros_like(highest))
