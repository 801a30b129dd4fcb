"""The encoder model as the training loop sees it."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import twowiki
from twowiki.modeling.encoder_collation import EncoderCollator
from twowiki.modeling.encoder_configuration import TwoWikiEncoderConfig
from twowiki.modeling.encoder_decoding import RecordScores, decode_record, score_records
from twowiki.modeling.encoder_oracle import encoder_oracle
from twowiki.modeling.encoding import Window
from twowiki.modeling.layout import lay_out
from twowiki.schema import Example, Prediction
from twowiki.training import evaluation
from twowiki.training.adapters import has_adapters, merged_weights
from twowiki.training.encoder_config import EncoderConfig
from twowiki.training.encoder_optimization import make_encoder_optimizer
from twowiki.training.encoder_setup import PreparedEncoder, prepare_encoder
from twowiki.training.extractive_task import ExtractiveTask
from twowiki.training.tasks import Outcome

DERIVED = ("chain_consistency", "derive_answers")  # what the decoder adds, each an option


class EncoderTask(ExtractiveTask):
    """Trains `TwoWikiForMultihopQA` on encoded examples.

    Args:
        config: the run's settings.
    """

    prepared: PreparedEncoder
    collator = EncoderCollator
    score_outputs = staticmethod(score_records)

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__(config)

    @property
    def model_config(self) -> TwoWikiEncoderConfig:
        """The model's configuration."""
        found: TwoWikiEncoderConfig = self.prepared.model.config
        return found

    def prepare(self, saved: Path | None) -> None:
        """Find the data, start from the backbone (or take a saved model) and encode."""
        self.prepared = prepare_encoder(self.config, saved)

    def describe(self) -> list[str]:
        """Say how much was encoded, and what the encoding could not do."""
        prepared = self.prepared
        count = f"{len(prepared.train)} training and {len(prepared.validation)} validation examples"
        name = self.model_config.backbone_name or self.model_config.backbone_config.model_type
        return [
            *self.not_encoded(),
            f"{count}, windows of {self.model_config.window_limit} tokens of {name},",
        ]

    def build_model(self) -> Any:
        """Give the model that was prepared."""
        return self.prepared.model

    def count_weights(self, model: Any) -> int:
        """Count all weights, adapters included."""
        return sum(parameter.numel() for parameter in model.parameters())

    def make_optimizer(self, model: Any) -> Any:
        """Make the optimiser, with a rate of its own for the heads."""
        return make_encoder_optimizer(model, self.config)

    def score(self, predicted: Mapping[Any, Any]) -> Outcome:
        """Decode and score with the joint metric; also without each thing that is derived."""
        examples = self.prepared.validation_examples
        predictions = decode(predicted.values(), examples, self.model_config)
        scored = evaluation.score_predictions(examples, predictions, self.config.aliases_file)
        without = {
            name: self.figures(
                decode(predicted.values(), examples, changed(self.model_config, {name: False}))
            )
            for name in DERIVED
            if getattr(self.model_config, name)
        }
        files = {
            "predictions.json": evaluation.to_official([e.id for e in examples], predictions),
            "scores.json": scored._asdict() | {"without": without},
        }
        return Outcome(scored.metrics, files)

    def figures(self, predictions: Sequence[Prediction]) -> dict[str, float]:
        """Score predictions for the validation examples: the means alone."""
        examples = self.prepared.validation_examples
        report = twowiki.score(
            {example.id: said for example, said in zip(examples, predictions, strict=True)},
            [evaluation.gold_record(example) for example in examples],
            self.config.aliases_file or None,
        )
        return dict(report.metrics)

    def save(self, model: Any, folder: Path) -> None:
        """Save weights (adapters merged), code, configuration and tokenizer."""
        state = merged_weights(model) if has_adapters(model) else None
        model.save_pretrained(folder, state_dict=state)
        self.prepared.tokenizer.save_pretrained(folder)

    def report(self) -> dict[str, Any]:
        """Give the data, the model's configuration and the ceiling of the encoding."""
        prepared, config = self.prepared, self.model_config
        examples = prepared.validation_examples[: self.config.ceiling_examples]
        windows = [w for w in prepared.validation if w.example < len(examples)]
        said = decode(oracle_scores(windows, config), examples, config)
        return self.scored_report(examples, said)


def decode(
    scores: Iterable[RecordScores], examples: Sequence[Example], config: TwoWikiEncoderConfig
) -> list[Prediction]:
    """Answer examples from their records, in the examples' order."""
    by_example = {score.example: score for score in scores}
    return [
        evaluation.to_prediction(
            decode_record(
                by_example.get(number),
                example.question,
                example.context,
                lay_out(example.context, config.layout).text,
                config,
            )
        )
        for number, example in enumerate(examples)
    ]


def oracle_scores(
    windows: Sequence[Window], config: TwoWikiEncoderConfig
) -> Iterator[RecordScores]:
    """Score what the labels say."""
    for first in range(0, len(windows), 16):
        part = windows[first : first + 16]
        yield from score_records(encoder_oracle(part, config), part, config)


def changed(config: TwoWikiEncoderConfig, options: Mapping[str, Any]) -> TwoWikiEncoderConfig:
    """Copy a configuration with other values of some options."""
    other = copy.copy(config)
    for name, value in options.items():
        setattr(other, name, value)
    return other
