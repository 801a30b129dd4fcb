"""Give gold triples to slots at the least total cost, for a whole batch at once, exactly.

Triples are a set: which slot says which triple is free. The best of all K! ways is found over the
2 ** K sets of triples that the first slots may have taken, with a few tensor operations and no
copy to the processor.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from .configuration import IGNORED
from .pointers import POINTERS


def assign(costs: Tensor) -> Tensor:
    """Find the permutation of least total cost.

    Shape:
        costs: (B, K, K), of giving triple j to slot k. Output: (B, K), the triple of each slot.
    """
    batch, count, _ = costs.shape
    sets = torch.arange(2**count, device=costs.device)
    members = torch.arange(count, device=costs.device)
    inside = (sets.unsqueeze(1) >> members & 1).bool()  # (2^K, K)
    without = torch.where(inside, sets.unsqueeze(1) - (1 << members), 0)  # (2^K, K)
    finite = costs.nan_to_num(nan=1e30, posinf=1e30, neginf=-1e30)
    finite = finite.double().clamp(-1e30, 1e30)
    least = torch.full((batch, 2**count), torch.inf, dtype=torch.double, device=costs.device)
    least[:, 0] = 0.0
    chosen = []
    for slot in range(count):
        totals = least[:, without] + finite[:, slot].unsqueeze(1)  # (B, 2^K, K)
        least, last = totals.masked_fill(~inside, torch.inf).min(dim=-1)
        chosen.append(last)
    left = torch.full((batch, 1), 2**count - 1, device=costs.device)
    given = []
    for last in reversed(chosen):
        triple = last.gather(1, left)
        given.append(triple)
        left = left - (1 << triple)
    return torch.cat(given[::-1], dim=1)


@torch.no_grad()
def slot_costs(output: Any, labels: Mapping[str, Tensor]) -> Tensor:
    """Give minus the log probability that slot k says triple j: (B, K, K); ignored parts cost 0."""
    relations = labels["relation_labels"]
    costs = -pick(output.relation_logits.log_softmax(-1).transpose(1, 2), relations)
    for name in POINTERS:
        spread = output[f"{name}_logits"].log_softmax(dim=1)  # (B, T, K)
        costs = costs - pick(spread, labels[f"{name}_positions"])
    return costs


def pick(spread: Tensor, targets: Tensor) -> Tensor:
    """Take each slot's value at each target: (B, N, K) and (B, J) to (B, K, J); 0 if ignored."""
    places = targets.clamp(min=0).unsqueeze(-1).expand(-1, -1, spread.shape[-1])
    found = spread.gather(1, places).masked_fill((targets == IGNORED).unsqueeze(-1), 0.0)
    return found.transpose(1, 2)


def match_slots(output: Any, labels: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Reorder the triples' labels as the model's slots say them best."""
    order = assign(slot_costs(output, labels))
    names = ("relation_labels", *(f"{name}_positions" for name in POINTERS))
    return {**labels, **{name: labels[name].gather(1, order) for name in names}}
