"""Predict with a model over windows, on any number of processes, and score on the main one.

Each process scores its own batches; the scores of its windows are small records that are gathered
once, by number, and only the main process joins them into answers. The configuration of a model
decides how its outputs are decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from twowiki.data.schema import Example, Fact, Prediction, Triple
from twowiki.metric.predictions import to_official_file
from twowiki.metric.report import Report
from twowiki.metric.score import score_examples
from twowiki.metric.settings import ScoreSettings
from twowiki.models.configuration_encoder import TwoWikiEncoderConfig
from twowiki.models.decoding import MultihopAnswer, WindowScores, decode_windows, score_windows
from twowiki.models.decoding_encoder import decode_record, score_records
from twowiki.models.features import Window
from twowiki.models.oracle import baseline_oracle, encoder_oracle
from twowiki.training.scored_parts import present

Official = dict[str, dict[str, Any]]
CONFIDENCE = 0.95  # of the intervals beside every score
ORACLE_BATCH = 16


class Decoding(NamedTuple):
    """How the outputs of a kind of model become answers.

    Attributes:
        score: outputs and their windows to scores of the windows.
        decode: the scores of an example's windows to its answer.
        oracle: windows to the outputs of a model that knows their labels.
    """

    score: Callable[..., Sequence[WindowScores]]
    decode: Callable[..., MultihopAnswer]
    oracle: Callable[..., Any]


def decoding_of(config: Any) -> Decoding:
    """Return how a model of this configuration is decoded."""
    if config.model_type == TwoWikiEncoderConfig.model_type:
        return Decoding(score_records, decode_record, encoder_oracle)
    return Decoding(score_windows, decode_windows, baseline_oracle)


def decode_examples(
    scores: Iterable[WindowScores], examples: Sequence[Example], config: Any
) -> list[Prediction]:
    """Join the scores of windows into one prediction per example, in the examples' order."""
    decode = decoding_of(config).decode
    by_example: dict[int, list[WindowScores]] = {}
    for one in scores:
        by_example.setdefault(one.example, []).append(one)
    return [
        to_prediction(decode(by_example.get(number, []), example.question, example.context, config))
        for number, example in enumerate(examples)
    ]


def ceiling_predictions(
    windows: Sequence[Window], examples: Sequence[Example], config: Any
) -> list[Prediction]:
    """Decode the gold labels as if a model had predicted them: the best the encoding allows."""
    score, _, oracle = decoding_of(config)
    scored: list[WindowScores] = []
    for first in range(0, len(windows), ORACLE_BATCH):
        numbers = range(first, min(first + ORACLE_BATCH, len(windows)))
        part = [windows[number] for number in numbers]
        part = [window for window in part if window.example < len(examples)]
        if part:
            scored += score(oracle(part, config), part, config)
    return decode_examples(scored, examples, config)


def to_prediction(answer: MultihopAnswer) -> Prediction:
    """Return the parts of an answer that are scored."""
    return Prediction(
        answer.answer,
        tuple(Fact(title, sent_id) for title, sent_id in answer.supporting_facts),
        tuple(Triple(*triple[:3]) for triple in answer.evidences),
    )


def official_predictions(ids: Sequence[str], predictions: Sequence[Prediction]) -> Official:
    """Return predictions in the official file's form."""
    return to_official_file(dict(zip(ids, predictions, strict=True)))


def score_predictions(
    examples: Sequence[Example],
    predictions: Sequence[Prediction],
    aliases: str = "",
    *,
    config: str = "",
    parts: Sequence[str] = (),
) -> Report:
    """Return the joint metric's report, with intervals, of predictions in the examples' order.

    Args:
        examples: the questions with their gold.
        predictions: one for each.
        aliases: the alias file, empty for none.
        config: the data's config, which decides the parts of the gold; empty = as they show.
        parts: the parts to score; none = all.
    """
    by_id = {
        example.id: prediction for example, prediction in zip(examples, predictions, strict=True)
    }
    settings = ScoreSettings(
        by_type=True, confidence=CONFIDENCE, config=config or None, parts=list(parts)
    )
    return score_examples(by_id, examples, settings, aliases=aliases or None)


def score_record(report: Report) -> dict[str, Any]:
    """Return a report as a run keeps it; intervals are the ends of 95% bootstrap intervals."""
    return {
        "metrics": present(report.metrics),
        "by_type": {name: present(group.metrics) for name, group in report.types.items()},
        "signature": report.signature,
        "n": report.n,
        "counts": {name: group.n for name, group in report.types.items()},
        "intervals": _ends(report.intervals),
        "type_intervals": {name: _ends(group.intervals) for name, group in report.types.items()},
    }


def _ends(intervals: Mapping[str, tuple[float, float]] | None) -> dict[str, list[float]]:
    return {name: list(ends) for name, ends in (intervals or {}).items()}
