"""The loss of the baseline and its parts: span, answer type, support, relation, subject, object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor
from torch.nn import functional

from .configuration import IGNORED, TwoWikiConfig


def baseline_losses(
    output: Any, labels: Mapping[str, Any], sentence_mask: Tensor, config: TwoWikiConfig
) -> dict[str, Tensor]:
    """Compare a `TwoWikiOutput` with the labels; `total` is the weighted sum of the other parts.

    Every part is finite, and zero where all of its labels are ignored.
    """
    parts: dict[str, Any] = {
        name: sum(
            _position_loss(output[f"{where}_logits"], labels[f"{where}_positions"], config)
            for where in places
        )
        for name, places in {
            "span": ("start", "end"),
            "subject": ("subject_start", "subject_end"),
            "object": ("object_start", "object_end"),
        }.items()
    }
    parts["answer_type"] = _class_loss(
        output.answer_type_logits, labels["answer_type_labels"], config
    )
    parts["support"] = _support_loss(
        output.support_logits, labels["support_labels"].masked_fill(~sentence_mask, IGNORED)
    )
    parts["relation"] = _relation_loss(output.relation_logits, labels["relation_labels"], config)
    evidence = parts["relation"] + parts["subject"] + parts["object"]
    parts["total"] = (
        parts["span"]
        + config.answer_type_weight * parts["answer_type"]
        + config.support_weight * parts["support"]
        + config.evidence_weight * evidence
    )
    return parts


def _reduce(losses: Tensor, labelled: Tensor, config: TwoWikiConfig) -> Tensor:
    """Average over the labelled targets, or (the published loss) sum and divide by the batch."""
    count = len(losses) if config.loss_reduction == "sum" else labelled.sum().clamp(min=1)
    return losses.sum() / count


def _class_loss(logits: Tensor, labels: Tensor, config: TwoWikiConfig) -> Tensor:
    """Cross entropy over the last dimension of logits: (..., N) by (...)."""
    losses = functional.cross_entropy(
        logits.flatten(0, -2), labels.flatten(), ignore_index=IGNORED, reduction="none"
    )
    return _reduce(losses.view(labels.shape), labels != IGNORED, config)


def _position_loss(logits: Tensor, positions: Tensor, config: TwoWikiConfig) -> Tensor:
    """Cross entropy over tokens: (B, T) by (B,), or (B, T, K) by (B, K)."""
    return _class_loss(logits if logits.dim() == 2 else logits.transpose(1, 2), positions, config)


def _support_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Binary cross entropy, averaged over the labelled sentences of the batch."""
    labelled = labels != IGNORED
    losses = functional.binary_cross_entropy_with_logits(
        logits, labels.clamp(min=0).to(logits.dtype), reduction="none"
    )
    return losses.masked_fill(~labelled, 0.0).sum() / labelled.sum().clamp(min=1)


def _relation_loss(logits: Tensor, labels: Tensor, config: TwoWikiConfig) -> Tensor:
    """Cross entropy of each slot's relation, or binary cross entropy of each relation's switch."""
    if logits.dim() == 3:
        return _class_loss(logits, labels, config)
    losses = functional.binary_cross_entropy_with_logits(
        logits, labels.clamp(min=0).to(logits.dtype), reduction="none"
    )
    return losses.masked_fill(labels == IGNORED, 0.0).sum() / len(logits)
