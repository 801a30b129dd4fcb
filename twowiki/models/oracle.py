"""Gold labels as logits: decoded, they give the ceiling of an encoding."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from .configuration_baseline import TwoWikiBaselineConfig
from .configuration_encoder import TwoWikiEncoderConfig
from .features import Window
from .outputs import POINTERS, TwoWikiOutput
from .processing_baseline import BaselineCollator
from .processing_encoder import EncoderCollator

SURE = 20.0


def baseline_oracle(windows: Sequence[Window], config: TwoWikiBaselineConfig) -> TwoWikiOutput:
    """Give the output of a model that says what the labels say, and nothing where they are ignored.

    An ignored position leaves all of its logits level.
    """
    batch = BaselineCollator(config)(windows)
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


def encoder_oracle(windows: Sequence[Window], config: TwoWikiEncoderConfig) -> TwoWikiOutput:
    """Give the output of a model that says what the labels say, and nothing where they are ignored.

    An ignored position leaves all of its logits level.
    """
    batch = EncoderCollator(config)(windows)
    mask = batch["span_mask"]
    relations = batch["relation_labels"]
    classes = config.relation_count + 1
    known = relations.clamp(min=0) + (relations < 0) * config.relation_count
    output = TwoWikiOutput(
        start_logits=pointed(batch["start_positions"].unsqueeze(1), mask)[..., 0],
        end_logits=pointed(batch["end_positions"].unsqueeze(1), mask)[..., 0],
        answer_type_logits=SURE
        * functional.one_hot(batch["answer_type_labels"].clamp(min=0), 3).float(),
        support_logits=SURE * (2.0 * (batch["support_labels"] == 1) - 1),
        relation_logits=SURE * functional.one_hot(known, classes).float(),
    )
    for name in POINTERS:
        output[f"{name}_logits"] = pointed(batch[f"{name}_positions"], mask)
    return output
