"""Gold labels as logits: decoded, they give the ceiling of an encoding."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from .collation import Collator
from .configuration import TwoWikiConfig
from .encoding import Window
from .modeling import TwoWikiOutput
from .pointers import POINTERS

SURE = 20.0


def oracle_output(windows: Sequence[Window], config: TwoWikiConfig) -> TwoWikiOutput:
    """Give the output of a model that says what the labels say, and nothing where they are ignored.

    An ignored position leaves all of its logits level.
    """
    batch = Collator(config)(windows)
    mask = batch["context_mask"]
    tokens = mask.shape[1]
    relations = batch["relation_labels"].clamp(min=0)
    if config.triple_slots:
        relation_logits = SURE * functional.one_hot(relations, config.relation_count + 1).float()
    else:
        relation_logits = SURE * (2.0 * relations.clamp(max=1) - 1)
    answer_types = batch["answer_type_labels"].clamp(min=0)
    output = TwoWikiOutput(
        start_logits=pointed(batch["start_positions"].unsqueeze(1), mask)[:, :tokens, 0],
        end_logits=pointed(batch["end_positions"].unsqueeze(1), mask)[:, :tokens, 0],
        answer_type_logits=SURE * functional.one_hot(answer_types, 3).float(),
        support_logits=SURE * (2.0 * (batch["support_labels"] == 1) - 1),
        relation_logits=relation_logits,
    )
    for name in POINTERS:
        output[f"{name}_logits"] = pointed(batch[f"{name}_positions"], mask)
    return output


def pointed(positions: Tensor, context_mask: Tensor) -> Tensor:
    """Give logits that point at positions: (B, K) and (B, T) to (B, T, K)."""
    place = torch.arange(context_mask.shape[1]).view(1, -1, 1)
    logits = SURE * (place == positions.unsqueeze(1)).float()
    return logits.masked_fill(~context_mask.unsqueeze(-1), torch.finfo(torch.float32).min)
