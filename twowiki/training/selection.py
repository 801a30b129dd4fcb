"""Fit the selector of paragraphs to a run's questions, and say what it loses.

In: examples with their supporting facts. Out: the weights that a model's configuration keeps, and
how many gold paragraphs are among those that are kept.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import numpy

from twowiki.data.schema import Example
from twowiki.io.stages import key_of, run_stage
from twowiki.models import selection as choice
from twowiki.models.selection import (
    Hops,
    Numbers,
    Selection,
    probabilities,
    read_hops,
    second_hop,
    select_paragraphs,
)
from twowiki.training.data import Source
from twowiki.training.feature_store import code_of

FITTED_EXAMPLES = 5000  # more of them change nothing: there are 25 weights
PENALTY = 1e-3
_STEPS = 30
_LEAST_CHANGE = 1e-6


def fit_selector(examples: Iterable[Example], penalty: float = PENALTY) -> list[list[float]] | None:
    """Fit both hops to a sample of the examples that have gold; None where none has.

    Args:
        examples: whole examples.
        penalty: of the squared weights of features that are scaled to a spread of one, for each
            paragraph. The higher, the better weights carry over to texts of another kind.
    """
    read: list[tuple[Hops, Numbers]] = []
    for example in _sample(example for example in examples if example.facts and example.context):
        gold = numpy.array([title in gold_titles(example) for title, _ in example.context])
        read.append((read_hops(example.question, example.context), gold.astype(float)))
    if not read:
        return None
    labels = numpy.concatenate([gold for _, gold in read])
    named = numpy.concatenate([hops.named for hops, _ in read])
    first = _fit(named, labels * (named[:, 2] > 0), penalty)  # gold that the question names
    rows = [second_hop(hops, probabilities(hops.named, first)) for hops, _ in read]
    second = _fit(numpy.concatenate(rows), labels, penalty)
    return [[round(weight, 4) for weight in weights.tolist()] for weights in (first, second)]


def stored_selector(source: Source, content: str, folder: Path) -> list[list[float]] | None:
    """Return the weights for a split's examples; they are fitted once for a content.

    Args:
        source: the split, with its whole examples.
        content: a hash of its content.
        folder: the folder of all stored splits.
    """
    code = code_of((sys.modules[__name__], choice))
    key = key_of({"content": content, "code": code})

    def work(_: Path) -> dict[str, Any]:
        return {"weights": fit_selector(source.examples())}

    found = run_stage(folder / f"selector-{key}", key, work, shared=True, quiet=True)
    weights: list[list[float]] | None = found["weights"]
    return weights


def _sample(examples: Iterable[Example]) -> list[Example]:
    """Draw as many examples as are fitted, from anywhere in their order."""
    rest, draws = iter(examples), Random(0)
    kept = list(islice(rest, FITTED_EXAMPLES))
    for number, example in enumerate(rest, start=len(kept)):
        place = draws.randrange(number + 1)
        if place < len(kept):
            kept[place] = example
    return kept


def _fit(features: Numbers, labels: Numbers, penalty: float) -> Numbers:
    """Fit a logistic regression by Newton's steps: (N, F) and (N,) to (F + 1,), the bias last."""
    mean, spread = features.mean(axis=0), features.std(axis=0) + 1e-6
    scaled = (features - mean) / spread
    rows = numpy.column_stack([scaled, numpy.ones(len(scaled))])
    cost = numpy.diag([*[penalty * len(rows)] * features.shape[1], 1e-3])
    weights = numpy.zeros(rows.shape[1])
    for _ in range(_STEPS):
        predicted = probabilities(scaled, weights)
        curve = (rows.T * (predicted * (1 - predicted) + 1e-9)) @ rows + cost
        change = numpy.linalg.solve(curve, rows.T @ (predicted - labels) + cost @ weights)
        weights = weights - change
        if numpy.abs(change).max() < _LEAST_CHANGE:
            break
    plain = weights[:-1] / spread
    return numpy.append(plain, weights[-1] - plain @ mean)


def gold_titles(example: Example) -> set[str]:
    """Return the titles of the paragraphs that the supporting facts are in."""
    return {fact.title for fact in example.facts}


def measure_selection(examples: Iterable[Example], selection: Selection) -> dict[str, Any]:
    """Return what a selection keeps of examples: shares in percent.

    Args:
        examples: whole examples.
        selection: of the model's configuration.

    Returns:
        `recall` of gold paragraphs (mean over the examples), `all_gold` (examples that lose none),
        `exact` (nothing but gold is kept), `kept` paragraphs of an example, `examples`.
    """
    rows = [
        selection_row(example, select_paragraphs(example.question, example.context, selection))
        for example in examples
        if example.facts and example.context
    ]
    if not rows:
        return {"examples": 0}
    recall, whole, exact, kept = numpy.array(rows, float).mean(axis=0).tolist()
    shares = {"recall": recall, "all_gold": whole, "exact": exact}
    named = {name: round(100 * share, 2) for name, share in shares.items()}
    return {**named, "kept": round(kept, 2), "examples": len(rows)}


def selection_row(example: Example, kept: Sequence[int]) -> tuple[float, bool, bool, int]:
    """Return an example's recall, whether all gold is kept, and nothing else, and how many are."""
    gold = {place for place, page in enumerate(example.context) if page[0] in gold_titles(example)}
    found = gold & set(kept)
    return len(found) / max(1, len(gold)), found == gold, gold == set(kept), len(kept)
