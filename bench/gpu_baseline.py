"""Examples a second of the baseline on a GPU: training and prediction, by precision and batch.

Both settings at the published size, on made-up batches of 24 contexts (634 to 1,199 tokens), and
at the largest batch that fits; in fp32, tf32 and bf16; beside them the published algorithm as its
authors run it, at their batch of 24. Prints a Markdown table with the card's name and the time that
an epoch of the 167,454 training examples would take.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from bench_baseline import CHARACTERS, RELATIONS, WORDS, make_batch
from gpu_report import Report, arguments, peak, rate, reset_peak
from reference_baseline import ReferenceBaseline, losses

from twowiki.models.configuration_baseline import TwoWikiBaselineConfig
from twowiki.models.convert_baseline import reference_inputs, reference_labels
from twowiki.models.modeling_baseline import TwoWikiBaselineForMultihopQA
from twowiki.training.loop import make_optimizer
from twowiki.training.settings import BaselineArguments

EPOCH = 167_454
AUTHORS = "published code"
ROWS = (
    ("corrected", "tf32"), (AUTHORS, "fp32"), ("reproduce", "tf32"), ("corrected", "bf16"),
    ("corrected", "fp32"), ("reproduce", "fp32"), ("reproduce", "bf16"),
)  # fmt: skip
Measured = tuple[torch.nn.Module, Callable[[], torch.Tensor], Callable[[], Any]]
BATCHES = (24, 48, 96, 192, 384, 768)


def main() -> int:
    given = arguments(__doc__, 6.5).parse_args()
    report = Report(given)
    columns = "settings | precision | batch | train ex/s | epoch | predict ex/s | peak GiB"
    report.head(columns, about="the published size")
    sizes = (2,) if given.quick else BATCHES
    for settings, precision in ROWS:
        for size in sizes[:1] if settings == AUTHORS else sizes:
            name = f"{settings} | {precision} | {size}"
            if not report.row(name, partial(row, settings, precision, size, given)):
                break
    return report.status


def row(settings: str, precision: str, size: int, given: argparse.Namespace) -> str:
    """Measure one row of the table."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.manual_seed(0)
    lengths = torch.linspace(30, 60, size) if given.quick else torch.linspace(634, 1199, size)
    model, loss, forward = (authors if settings == AUTHORS else ours)(settings, lengths, given)
    optimizer = make_optimizer(model, BaselineArguments())
    cast = torch.autocast(given.device, dtype=torch.bfloat16, enabled=precision == "bf16")
    reset_peak(given.device)

    def step() -> None:
        with cast:
            value = loss()
        value.backward()
        optimizer.step()
        optimizer.zero_grad()

    def predict() -> None:
        with torch.no_grad(), cast:
            forward()

    training = rate(step, size, given)
    model.eval()
    predicting = rate(predict, size, given)
    return (
        f"{training:,.0f} | {EPOCH / training / 60:.1f} min | {predicting:,.0f} "
        f"| {peak(given.device):.1f}"
    )


def ours(settings: str, lengths: torch.Tensor, given: argparse.Namespace) -> Measured:
    """Make a model of this package, and what computes its loss and its outputs."""
    config = configure(settings)
    model = TwoWikiBaselineForMultihopQA(config).to(given.device).train()
    inputs, labels = inputs_of(config, lengths, given.device)
    return model, lambda: model(**inputs, **labels).loss, lambda: model(**inputs)


def authors(_: str, lengths: torch.Tensor, given: argparse.Namespace) -> Measured:
    """Make the published algorithm, as the authors' code runs it."""
    model = ReferenceBaseline(WORDS, CHARACTERS, relations=RELATIONS).to(given.device)
    batch, labels = (
        {name: values.to(given.device) for name, values in part.items()}
        for part in make_batch(lengths)
    )
    return model, lambda: losses(model(batch), labels), lambda: model(batch)


def configure(settings: str) -> TwoWikiBaselineConfig:
    """Make the settings at the published size."""
    sizes: dict[str, Any] = {"vocab_size": WORDS, "char_vocab": "x" * (CHARACTERS - 2)}
    names = [str(number) for number in range(RELATIONS)]
    if settings == "reproduce":
        return TwoWikiBaselineConfig.reproduce(**sizes, relations=names)
    return TwoWikiBaselineConfig(**sizes, relations=names[2:])


def inputs_of(
    config: TwoWikiBaselineConfig, lengths: torch.Tensor, device: str
) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Make a batch with labels as a model of these settings takes it."""
    batch, given = make_batch(lengths)
    labels = reference_labels(given, {"relations": given["relations"]})
    if config.triple_slots:
        labels["relation_labels"] = labels["relation_labels"][:, : config.triple_slots]
        for name in list(labels):
            if name.startswith(("subject", "object")):
                labels[name] = labels[name][:, : config.triple_slots]
    inputs = reference_inputs(batch)
    return (
        {name: value.to(device) for name, value in inputs.items()},
        {name: value.to(device) for name, value in labels.items()},
    )


if __name__ == "__main__":
    sys.exit(main())
