"""Examples a second of the baseline on a GPU: training and prediction, by precision and batch.

Both settings at the published size, on made-up batches of 24 contexts (634 to 1,199 tokens), and
at the largest batch that fits; in fp32, tf32 and bf16. Prints a Markdown table with the card's
name and the time that an epoch of the 167,454 training examples would take.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import torch
from bench_baseline import CHARACTERS, RELATIONS, WORDS, make_batch

from twowiki.models.configuration_baseline import TwoWikiBaselineConfig
from twowiki.models.convert_baseline import reference_inputs, reference_labels
from twowiki.models.modeling_baseline import TwoWikiBaselineForMultihopQA
from twowiki.training.loop import make_optimizer
from twowiki.training.settings import BaselineArguments

EPOCH = 167_454
PRECISIONS = ("fp32", "tf32", "bf16")
BATCHES = (24, 48, 96, 192, 384, 768)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=7.0, help="stop beginning new rows after")
    parser.add_argument("--device", default="cuda", help="cpu shows that the script runs")
    parser.add_argument("--quick", action="store_true", help="short contexts, small batches")
    given = parser.parse_args()
    deadline = time.monotonic() + 60 * given.minutes
    name = torch.cuda.get_device_name(0) if given.device == "cuda" else "CPU"
    print(f"{name}, torch {torch.__version__}\n")
    print("| settings | precision | batch | train ex/s | epoch | predict ex/s | peak GiB |")
    print("|---|---|---|---|---|---|---|")
    for settings in ("reproduce", "corrected"):
        for precision in PRECISIONS:
            for batch in (2, 4) if given.quick else BATCHES:
                if time.monotonic() > deadline:
                    print("\ntime is over: the rest was not run")
                    return
                try:
                    print(row(settings, precision, batch, given), flush=True)
                except torch.OutOfMemoryError:
                    print(f"| {settings} | {precision} | {batch} | does not fit | | | |")
                    torch.cuda.empty_cache()
                    break


def row(settings: str, precision: str, size: int, given: argparse.Namespace) -> str:
    """Measure one line of the table."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.manual_seed(0)
    config = configure(settings)
    model = TwoWikiBaselineForMultihopQA(config).to(given.device)
    lengths = torch.linspace(30, 60, size) if given.quick else torch.linspace(634, 1199, size)
    inputs, labels = inputs_of(config, lengths, given.device)
    optimizer = make_optimizer(model, BaselineArguments())
    cast = torch.autocast(given.device, dtype=torch.bfloat16, enabled=precision == "bf16")
    if given.device == "cuda":
        torch.cuda.reset_peak_memory_stats()

    def step() -> None:
        with cast:
            loss = model(**inputs, **labels).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    def predict() -> None:
        with torch.no_grad(), cast:
            model(**inputs)

    training = rate(step, size, given.device)
    model.eval()
    predicting = rate(predict, size, given.device)
    peak = torch.cuda.max_memory_allocated() / 2**30 if given.device == "cuda" else 0.0
    return (
        f"| {settings} | {precision} | {size} | {training:,.0f} | {EPOCH / training / 60:.1f} min "
        f"| {predicting:,.0f} | {peak:.1f} |"
    )


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


def rate(work: Callable[[], None], size: int, device: str) -> float:
    """Return examples per second, after a warm-up, over about three seconds."""
    for _ in range(2):
        work()
    wait(device)
    started, rounds = time.perf_counter(), 0
    while rounds < 3 or time.perf_counter() - started < 3.0:
        work()
        wait(device)
        rounds += 1
    return size * rounds / (time.perf_counter() - started)


def wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
