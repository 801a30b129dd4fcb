"""The output of both models, with their loss and its parts.

Parts of the loss: span, answer type, support, relation, subject, object. Every part is finite, and
zero where all of its labels are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers.utils.generic import ModelOutput

from .labels import IGNORED, LABEL_NAMES, MultihopConfig


@dataclass
class TwoWikiOutput(ModelOutput):
    """The heads' outputs before softmax or sigmoid, and the loss with its parts.

    Shape:
        start_logits, end_logits: (B, T), the lowest number at padding. answer_type_logits:
        (B, 3): span, yes, no. support_logits: (B, S). relation_logits: (B, K, R + 1), the last
        class none, or (B, R) with one slot per relation. subject_/object_ start_/end_logits:
        (B, T, K).
    """

    loss: Tensor | None = None
    start_logits: Tensor | None = None
    end_logits: Tensor | None = None
    answer_type_logits: Tensor | None = None
    support_logits: Tensor | None = None
    relation_logits: Tensor | None = None
    subject_start_logits: Tensor | None = None
    subject_end_logits: Tensor | None = None
    object_start_logits: Tensor | None = None
    object_end_logits: Tensor | None = None
    losses: dict[str, Tensor] | None = None


def add_losses(
    output: TwoWikiOutput,
    labels: Sequence[Tensor | None],
    sentence_mask: Tensor,
    config: MultihopConfig,
    reorder: Callable[[Any, dict[str, Tensor]], dict[str, Tensor]] | None = None,
    loss_counts: Tensor | None = None,
) -> TwoWikiOutput:
    """Put the loss and its parts into an output, unless a label is missing.

    Args:
        output: the heads' outputs.
        labels: in the order of `LABEL_NAMES`.
        sentence_mask: real sentences, (B, S).
        config: the weights and the reduction of the losses.
        reorder: puts the labels of triples into the order that the output fits best.
        loss_counts: see `count_labels`; those of these labels by default.
    """
    known = {
        name: label for name, label in zip(LABEL_NAMES, labels, strict=True) if label is not None
    }
    if len(known) == len(LABEL_NAMES):
        known = known if reorder is None else reorder(output, known)
        output.losses = multihop_losses(output, known, sentence_mask, config, loss_counts)
        output.loss = output.losses.pop("total")
    return output


def count_labels(labels: Mapping[str, Tensor], config: MultihopConfig) -> Tensor:
    """Return what each part of the loss is divided by: (9,), in the order of `LABEL_NAMES`.

    These are the labels that are not ignored or, where a part is summed by example, the examples.
    The counts of several batches add up: divided by their sum, the batches' losses add up to the
    mean over all of their labels.
    """
    summed = set(LABEL_NAMES) - {"support_labels"} if config.loss_reduction == "sum" else set()
    if not config.triple_slots:
        summed.add("relation_labels")
    examples = torch.full_like(labels["answer_type_labels"], True).sum()
    counts = [
        examples if name in summed else (labels[name] != IGNORED).sum() for name in LABEL_NAMES
    ]
    return torch.stack(counts).float()


def multihop_losses(
    output: Any,
    labels: Mapping[str, Tensor],
    sentence_mask: Tensor,
    config: MultihopConfig,
    loss_counts: Tensor | None = None,
) -> dict[str, Tensor]:
    """Compare an output with the labels; `total` is the weighted sum of the other parts."""
    if loss_counts is None:
        loss_counts = count_labels(labels, config)
    counts = dict(zip(LABEL_NAMES, loss_counts.clamp(min=1), strict=True))

    def class_loss(logits: Tensor, name: str) -> Tensor:
        """Return the cross entropy over the last dimension of logits: (..., N) by (...)."""
        losses = functional.cross_entropy(
            logits.flatten(0, -2), labels[name].flatten(), ignore_index=IGNORED, reduction="none"
        )
        total: Tensor = losses.sum() / counts[name]
        return total

    def position_loss(name: str) -> Tensor:
        """Return the cross entropy over tokens: (B, T) by (B,), or (B, T, K) by (B, K)."""
        logits = output[f"{name}_logits"]
        return class_loss(
            logits if logits.dim() == 2 else logits.transpose(1, 2), f"{name}_positions"
        )

    def binary_loss(logits: Tensor, targets: Tensor, name: str) -> Tensor:
        """Return the binary cross entropy of the targets that are not ignored."""
        losses = functional.binary_cross_entropy_with_logits(
            logits, targets.clamp(min=0).to(logits.dtype), reduction="none"
        )
        total: Tensor = losses.masked_fill(targets == IGNORED, 0.0).sum() / counts[name]
        return total

    support = labels["support_labels"].masked_fill(~sentence_mask, IGNORED)
    relations, relation_labels = output.relation_logits, labels["relation_labels"]
    parts = {
        "span": position_loss("start") + position_loss("end"),
        "subject": position_loss("subject_start") + position_loss("subject_end"),
        "object": position_loss("object_start") + position_loss("object_end"),
        "answer_type": class_loss(output.answer_type_logits, "answer_type_labels"),
        "support": binary_loss(output.support_logits, support, "support_labels"),
        "relation": class_loss(relations, "relation_labels")
        if relations.dim() == 3
        else binary_loss(relations, relation_labels, "relation_labels"),
    }
    evidence = parts["relation"] + parts["subject"] + parts["object"]
    parts["total"] = (
        parts["span"]
        + config.answer_type_weight * parts["answer_type"]
        + config.support_weight * parts["support"]
        + config.evidence_weight * evidence
    )
    return parts


def mask_tokens(logits: Tensor, context_mask: Tensor) -> Tensor:
    """Set the logits of padding to the lowest number: (B, T, K) by (B, T), in single precision."""
    logits = logits.float()
    return logits.masked_fill(~context_mask.unsqueeze(-1), torch.finfo(logits.dtype).min)


def gather_states(states: Tensor, positions: Tensor, mask: Tensor) -> Tensor:
    """Take the state at each position, zero where the mask is False.

    Shape:
        states: (B, T, D); positions and mask: (B, S). Output: (B, S, D).
    """
    batch, steps, width = states.shape
    first = steps * torch.arange(batch, device=states.device).unsqueeze(1)
    rows = (positions.clamp(0, steps - 1) + first).flatten()
    taken = states.reshape(-1, width).index_select(0, rows).view(*positions.shape, width)
    return taken * mask.unsqueeze(-1).to(states.dtype)


def unpack_bits(matches: Tensor, count: int, dtype: torch.dtype) -> Tensor:
    """Spread the bits of lexical matches: (..., T) to (..., T, count)."""
    bits = torch.arange(count, device=matches.device)
    return (matches.unsqueeze(-1).long() >> bits & 1).to(dtype)
