"""Gold labels as logits: decoded, they are the ceiling of an encoding.

In: encoded windows with labels. Out: the output of a model that is sure of every label, with all
logits equal where a label is ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from .configuration_baseline import TwoWikiBaselineConfig
from .configuration_encoder import TwoWikiEncoderConfig
from .features import Window
from .labels import POINTERS
from .outputs import TwoWikiOutput
from .processing_baseline import BaselineCollator
from .processing_encoder import EncoderCollator

SURE = 20.0


def baseline_oracle(windows: Sequence[Window], config: TwoWikiBaselineConfig) -> TwoWikiOutput:
    """Return the baseline's output that says what the labels say."""
    batch = BaselineCollator(config)(windows)
    relations = batch["relation_labels"].clamp(min=0)
    if config.triple_slots:
        relation_logits = _sure_of(relations, config.relation_count + 1)
    else:
        relation_logits = SURE * (2.0 * relations.clamp(max=1) - 1)
    return _oracle(batch, batch["context_mask"], relation_logits)


def encoder_oracle(windows: Sequence[Window], config: TwoWikiEncoderConfig) -> TwoWikiOutput:
    """Return the encoder's output that says what the labels say; an ignored relation is none."""
    batch = EncoderCollator(config)(windows)
    relations = batch["relation_labels"]
    relations = relations.where(relations >= 0, config.relation_count)
    return _oracle(batch, batch["span_mask"], _sure_of(relations, config.relation_count + 1))


def _oracle(batch: Mapping[str, Tensor], mask: Tensor, relation_logits: Tensor) -> TwoWikiOutput:
    output = TwoWikiOutput(
        start_logits=_pointed(batch["start_positions"].unsqueeze(1), mask)[..., 0],
        end_logits=_pointed(batch["end_positions"].unsqueeze(1), mask)[..., 0],
        answer_type_logits=_sure_of(batch["answer_type_labels"].clamp(min=0), 3),
        support_logits=SURE * (2.0 * (batch["support_labels"] == 1) - 1),
        relation_logits=relation_logits,
    )
    for name in POINTERS:
        output[f"{name}_logits"] = _pointed(batch[f"{name}_positions"], mask)
    return output


def _sure_of(labels: Tensor, classes: int) -> Tensor:
    return SURE * functional.one_hot(labels, classes).float()


def _pointed(positions: Tensor, mask: Tensor) -> Tensor:
    """Return logits that point at positions: (B, K) and (B, T) to (B, T, K)."""
    place = torch.arange(mask.shape[1]).view(1, -1, 1)
    logits = SURE * (place == positions.unsqueeze(1)).float()
    return logits.masked_fill(~mask.unsqueeze(-1), torch.finfo(torch.float32).min)
