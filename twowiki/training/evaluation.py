"""Predict with a model over windows, on any number of processes, and score on the main one.

Each process decodes its own batches to small records; the records are gathered once, repeated
windows are dropped by their number, and only the main process joins windows and scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch.utils.data import DataLoader

from twowiki.data.schema import Example, Fact, Prediction, Triple
from twowiki.models.configuration_baseline import TwoWikiBaselineConfig
from twowiki.models.decoding import MultihopAnswer, WindowScores, decode_windows, score_windows
from twowiki.models.features import Window
from twowiki.models.oracle import baseline_oracle
from twowiki.models.processing_baseline import BaselineCollator
from twowiki.training.loaders import BucketBatchSampler

Official = dict[str, dict[str, Any]]
CONFIDENCE = 0.95  # of the intervals beside every score


class NumberedCollator:
    """Collates windows together with their numbers.

    Args:
        features: the windows.
        config: the model's configuration.
        labels: whether the batches have the labels.
        collator: the class of the model's collator.
    """

    def __init__(
        self,
        features: Sequence[Window],
        config: Any,
        *,
        labels: bool,
        collator: Callable[..., Any] = BaselineCollator,
    ) -> None:
        self.features, self.collate = features, collator(config, labels=labels)

    def __call__(self, numbers: Sequence[int]) -> dict[str, torch.Tensor]:
        """Pad the windows of these numbers into a batch."""
        batch: dict[str, torch.Tensor] = self.collate([self.features[number] for number in numbers])
        return {"window_numbers": torch.tensor(numbers), **batch}


def make_loader(
    features: Sequence[Window],
    lengths: Sequence[int],
    config: Any,
    *,
    batch_size: int,
    seed: int,
    training: bool,
    bucket: bool = True,
    workers: int = 0,
    collator: Callable[..., Any] = BaselineCollator,
) -> DataLoader[Any]:
    """Make a loader of numbered batches.

    It has a generator of its own: otherwise starting an epoch would draw from the generator that
    dropout uses, and a resumed run would part from an unbroken one.
    """
    numbers: Any = range(len(features))
    return DataLoader(
        numbers,
        batch_sampler=BucketBatchSampler(
            lengths, batch_size, seed=seed, shuffle=training, bucket=bucket
        ),
        collate_fn=NumberedCollator(features, config, labels=training, collator=collator),
        generator=torch.Generator().manual_seed(seed),
        num_workers=workers,
        persistent_workers=workers > 0,
        pin_memory=torch.cuda.is_available(),
    )


@torch.no_grad()
def predict_windows(
    model: Any,
    loader: Any,
    features: Sequence[Window],
    config: Any,
    *,
    score: Callable[..., Iterable[Any]] = score_windows,
) -> dict[int, Any]:
    """Score this process's share of the windows, by window number; the model is in eval mode."""
    scored: dict[int, Any] = {}
    for batch in loader:
        numbers = batch.pop("window_numbers").tolist()
        output = model(**batch)
        windows = [features[number] for number in numbers]
        scored |= dict(zip(numbers, score(output, windows, config), strict=True))
    return scored


def answer_examples(
    scored: Mapping[int, WindowScores], examples: Sequence[Example], config: TwoWikiBaselineConfig
) -> list[MultihopAnswer]:
    """Join windows into one answer an example, in the examples' order."""
    by_example: dict[int, list[WindowScores]] = {}
    for scores in scored.values():
        by_example.setdefault(scores.example, []).append(scores)
    return [
        decode_windows(by_example.get(number, []), example.question, example.context, config)
        for number, example in enumerate(examples)
    ]


def to_prediction(answered: MultihopAnswer) -> Prediction:
    """Keep what is scored of an answer."""
    return Prediction(
        answered.answer,
        tuple(Fact(title, sent_id) for title, sent_id in answered.supporting_facts),
        tuple(Triple(*triple[:3]) for triple in answered.evidences),
    )


def to_official(ids: Sequence[str], predictions: Sequence[Prediction]) -> Official:
    """Write predictions in the official file's form."""
    pairs = list(zip(ids, predictions, strict=True))
    return {
        "answer": {one: said.answer for one, said in pairs},
        "sp": {one: [list(fact) for fact in said.supporting_facts or ()] for one, said in pairs},
        "evidence": {one: [list(triple) for triple in said.evidences or ()] for one, said in pairs},
    }


def ceiling_predictions(
    features: Sequence[Window], examples: Sequence[Example], config: TwoWikiBaselineConfig
) -> list[Prediction]:
    """Decode the gold labels as if a model had said them: the best that the encoding allows."""
    scored: dict[int, WindowScores] = {}
    for first in range(0, len(features), 32):
        windows = [features[i] for i in range(first, min(first + 32, len(features)))]
        windows = [window for window in windows if window.example < len(examples)]
        if windows:
            scores = score_windows(baseline_oracle(windows, config), windows, config)
            scored |= dict(enumerate(scores, start=first))
    return [to_prediction(answer) for answer in answer_examples(scored, examples, config)]


def gold_record(example: Example) -> dict[str, Any]:
    """Write what scoring needs of an example, in the official form, whatever its release."""
    return {
        "_id": example.id,
        "type": example.type,
        "answer": example.answer or "",
        "answer_id": example.answer_id,
        "supporting_facts": [list(fact) for fact in example.supporting_facts],
        "evidences": [list(triple) for triple in example.evidences],
        "evidences_id": [list(ids) for ids in example.evidences_id],
    }


class Scored(NamedTuple):
    """A report of the joint metric, as `twowiki score` gives it.

    `intervals` and `type_intervals` hold the ends of the means' 95% bootstrap intervals.
    """

    metrics: dict[str, float]
    by_type: dict[str, dict[str, float]]
    signature: str
    n: int
    counts: dict[str, int]
    intervals: dict[str, list[float]]
    type_intervals: dict[str, dict[str, list[float]]]


def score_predictions(
    examples: Sequence[Example], predictions: Sequence[Prediction], aliases: str = ""
) -> Scored:
    """Score predictions against the examples' gold."""
    import twowiki

    report = twowiki.score(
        {example.id: said for example, said in zip(examples, predictions, strict=True)},
        [gold_record(example) for example in examples],
        aliases or None,
        by_type=True,
        confidence=CONFIDENCE,
    )
    return Scored(
        report.metrics,
        {name: group.metrics for name, group in report.types.items()},
        report.signature,
        report.n,
        {name: group.n for name, group in report.types.items()},
        _ends(report.intervals),
        {name: _ends(group.intervals) for name, group in report.types.items()},
    )


def _ends(intervals: Mapping[str, tuple[float, float]] | None) -> dict[str, list[float]]:
    return {name: list(ends) for name, ends in (intervals or {}).items()}
