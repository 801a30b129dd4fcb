"""Our outputs beside the published baseline's, on files of its weights, inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from twowiki.errors import DataError, require_file
from twowiki.modeling.configuration import TwoWikiConfig
from twowiki.modeling.conversion import convert_weights, model_of
from twowiki.modeling.decoding import best_spans
from twowiki.modeling.modeling import TwoWikiOutput

TOLERANCE = 1e-5
MASKED = -1e29  # the reference fills padding with about -1e30


class Difference(NamedTuple):
    """The largest difference of one output, and whether it is small enough."""

    name: str
    largest: float
    passed: bool


def check_file(path: str | Path) -> list[Difference]:
    """Compare our outputs with those in a file of the reference's weights, inputs and outputs."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    require_file(path, "Give a file of reference outputs (.safetensors)")
    try:
        stored = load_file(path)
    except SafetensorError as error:
        raise DataError(f"is no safetensors file: {error}", file=path) from error
    parts: dict[str, dict[str, Tensor]] = {}
    for name, value in stored.items():
        group, _, rest = name.partition(".")
        parts.setdefault(group, {})[rest] = value
    for group in ("weights", "input", "output"):
        if group not in parts:
            raise DataError(f"holds no {group}", file=path, remedy="Give reference outputs")
    model = model_of(convert_weights(parts["weights"], path))
    labels = parts.get("label", {})
    with torch.no_grad():
        output = model(
            **reference_inputs(parts["input"]), **reference_labels(labels, parts["input"])
        )
    found = reference_outputs(output, model.config)
    differences = [
        compare(name, found[name], expected)
        for name, expected in sorted(parts["output"].items())
        if name in found
    ]
    if output.losses is not None:
        losses = reference_losses(output, model.config)
        differences += [
            compare(f"loss.{name}", losses[name], expected)
            for name, expected in sorted(parts.get("loss", {}).items())
            if name in losses
        ]
    return differences


def reference_inputs(given: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Take the reference's inputs to ours; sentence bounds are half-open there."""
    bounds = given["sentence_bounds"]
    starts, ends = bounds[..., 0], bounds[..., 1]
    return {
        "input_ids": given["context_idxs"],
        "char_ids": given["context_char_idxs"],
        "context_mask": given["context_idxs"] > 0,
        "question_ids": given["ques_idxs"],
        "question_char_ids": given["ques_char_idxs"],
        "question_mask": given["ques_idxs"] > 0,
        "sentence_starts": starts,
        "sentence_ends": ends - 1,
        "sentence_mask": torch.ones_like(starts, dtype=torch.bool),
    }


def reference_labels(
    labels: Mapping[str, Tensor], given: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """Take the reference's targets to ours."""
    if not labels:
        return {}
    named = {
        f"{who}_{side}_positions": labels[f"{who}_{side}"]
        for who in ("subject", "object")
        for side in ("start", "end")
    }
    return named | {
        "start_positions": labels["start_positions"],
        "end_positions": labels["end_positions"],
        "answer_type_labels": labels["answer_type"],
        "support_labels": labels["support"],
        "relation_labels": given["relations"],
    }


def reference_outputs(output: TwoWikiOutput, config: TwoWikiConfig) -> dict[str, Tensor]:
    """Name our outputs as the reference's files do, spans and active relations included."""
    support = output.support_logits
    assert support is not None
    assert output.start_logits is not None
    assert output.end_logits is not None
    assert output.relation_logits is not None
    named = {
        "start_logits": output.start_logits,
        "end_logits": output.end_logits,
        "answer_type_logits": output.answer_type_logits,
        "support_logits": torch.stack([torch.zeros_like(support), support], dim=-1),
        "relation_logits": output.relation_logits,
        "active_relations": (output.relation_logits.sigmoid() >= 0.5).float(),
    }
    answer = best_spans(
        output.start_logits.unsqueeze(-1),
        output.end_logits.unsqueeze(-1),
        None,
        config.max_span_tokens,
    )
    named["answer_span"] = torch.stack(answer[:2], dim=-1)[:, 0]
    for who in ("subject", "object"):
        starts, ends = output[f"{who}_start_logits"], output[f"{who}_end_logits"]
        named[f"{who}_start_logits"], named[f"{who}_end_logits"] = starts, ends
        spans = best_spans(starts, ends, None, config.max_span_tokens)
        named[f"{who}_span"] = torch.stack(spans[:2], dim=-1)
    if output.losses is not None:
        named["relation_loss"] = output.losses["relation"]
    return {name: value for name, value in named.items() if value is not None}


def reference_losses(output: TwoWikiOutput, config: TwoWikiConfig) -> dict[str, Tensor]:
    """Name our losses as the reference's files do."""
    losses = output.losses
    assert losses is not None
    assert output.loss is not None
    return {
        "answer": losses["span"] + losses["answer_type"],
        "support": losses["support"],
        "relation": losses["relation"],
        "subject": losses["subject"],
        "object": losses["object"],
        "total": output.loss,
    }


def compare(name: str, ours: Tensor, theirs: Tensor) -> Difference:
    """Compare where the reference holds a real number; at padding both must be very low."""
    if not theirs.is_floating_point():
        largest = float((ours - theirs).abs().max()) if theirs.numel() else 0.0
        return Difference(name, largest, largest == 0)
    masked = theirs < MASKED
    largest = float((ours - theirs).masked_fill(masked, 0.0).abs().max())
    return Difference(name, largest, largest <= TOLERANCE and bool((ours[masked] < MASKED).all()))
