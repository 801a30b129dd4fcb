"""Training on 2WikiMultiHopQA as text: answer, supporting sentences and triples in one output."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from twowiki.data.schema import Example, Prediction
from twowiki.errors import DataError
from twowiki.metric.report import Report
from twowiki.text2text.pairs import Pair
from twowiki.text2text.settings import TwoWikiTextArguments
from twowiki.text2text.task import TextTask
from twowiki.text2text.two_wiki_format import (
    fit_example,
    parse_prediction,
    render_example,
    render_gold,
)
from twowiki.training import evaluation, reports
from twowiki.training.data import Source, announce_world, find_sources
from twowiki.training.scored_parts import check_selection, present
from twowiki.training.task import EvaluationResult


class TwoWikiTextTask(TextTask):
    """Trains on questions with their contexts, streamed from their source.

    Args:
        config: the run's settings.
    """

    sources: tuple[Source, Source]
    examples: list[Example]

    def __init__(self, config: TwoWikiTextArguments) -> None:
        super().__init__(config)
        self.config = config
        self.contents: list[str] = []

    def announce(self) -> list[str]:
        """Return a line on the world that a run without data trains on."""
        return announce_world(self.config)

    def read_data(self) -> None:
        """Find the data, and read the validation questions."""
        self.sources = find_sources(self.config)
        check_selection(self.config, self.sources[1])
        self.contents = [source.content(self.folder) for source in self.sources]
        self.examples = list(self.sources[1].examples())
        if not self.examples:
            raise DataError("has no examples", file=self.sources[1].name, field="validation")

    def identity(self) -> list[str]:
        """Return the hashes of the training and the validation data."""
        return self.contents

    def texts(self) -> Iterator[str]:
        """Yield the training questions with their contexts, and their targets."""
        for example in self.sources[0].examples():
            yield render_example(example)
            yield render_gold(example)

    def train_pairs(self) -> Iterator[Pair]:
        """Yield one pair per example with gold."""
        for group, example in enumerate(self.sources[0].examples()):
            if example.has_gold:
                source, notes = self._written(example)
                yield Pair(group, 0, source, render_gold(example), notes)

    def eval_pairs(self) -> Iterator[Pair]:
        """Yield each validation question with its context."""
        for group, example in enumerate(self.examples):
            source, notes = self._written(example)
            yield Pair(group, 0, source, "", notes)

    def format_of(self) -> dict[str, Any]:
        """Return the format that belongs to the trained model."""
        return {
            "task": "two_wiki",
            "preset": "numbered",
            "max_source_length": self.config.max_source_length,
        }

    def fixed_format(self) -> dict[str, Any]:
        """Return what a start must share; the length may grow."""
        return {"task": "two_wiki", "preset": "numbered"}

    def score(self, predicted: Mapping[Any, Any]) -> EvaluationResult:
        """Parse the texts and score them with the joint metric."""
        parsed = [
            parse_prediction(predicted[n], example) for n, example in enumerate(self.examples)
        ]
        predictions = [one.prediction for one in parsed]
        report = self._scored(self.examples, predictions)
        faults: Counter[str] = Counter()
        for one in parsed:
            faults.update(one.faults)
        ids = [example.id for example in self.examples]
        kept = evaluation.score_record(report) | {"faults": dict(sorted(faults.items()))}
        files = {
            "predictions.json": evaluation.official_predictions(ids, predictions),
            "outputs.json": {name: predicted[number] for number, name in enumerate(ids)},
            "scores.json": kept,
        }
        return EvaluationResult(present(report.metrics), files)

    def _scored(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Report:
        config, aliases = self.sources[1].config, self.config.aliases_file
        parts = self.config.score_parts
        return evaluation.score_predictions(
            examples, predictions, aliases, config=config, parts=parts
        )

    def describe(self) -> list[str]:
        """Return lines on what was encoded, and on what did not fit."""
        encoded = zip(self.sources, (self.train, self.validation), strict=True)
        counts = [
            f"{source.split}: {len(store):,} questions of {source.described}"
            for source, store in encoded
        ]
        return [*counts, *self.counted()]

    def data_report(self) -> dict[str, Any]:
        """Return the sources of the data, their hashes, and what did not fit."""
        encoded = {"train": self.train, "validation": self.validation}
        return {
            source.split: {
                "source": source.name,
                "config": source.config,
                "content": content,
                "questions": len(found),
                "notes": found.counts,
            }
            for source, content, found in zip(
                self.sources, self.contents, encoded.values(), strict=True
            )
        }

    def report(self) -> dict[str, Any]:
        """Add the ceiling: gold written as text and parsed again."""
        examples = self.examples[: self.config.ceiling_examples]
        gold = [parse_prediction(render_gold(example), example).prediction for example in examples]
        kept = evaluation.score_record(self._scored(examples, gold)) | {"examples": len(examples)}
        return {**super().report(), "ceiling": kept}

    def summary(self, scores: Mapping[str, Any], report: Mapping[str, Any]) -> str:
        """Return the tables of the ceiling and of the best model, and what was not parsed."""
        faults = [f"outputs: {reason}: {count}" for reason, count in scores["faults"].items()]
        output = self.config.output_dir
        return reports.joint_summary(scores, report["ceiling"], "text form", output, faults)

    def _written(self, example: Example) -> tuple[str, tuple[str, ...]]:
        fitted = fit_example(
            example, budget=self.config.max_source_length, measure=self.codec.measure
        )
        notes = ["question is longer than the longest input"] if fitted.too_long else []
        notes += ["context is cut"] if fitted.is_cut else []
        return fitted.text, tuple(notes)
