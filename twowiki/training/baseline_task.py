"""The baseline as the training loop sees it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from twowiki.training import evaluation, setup
from twowiki.training.config import TrainConfig
from twowiki.training.extractive_task import ExtractiveTask
from twowiki.training.optimization import make_optimizer
from twowiki.training.tasks import Outcome


class BaselineTask(ExtractiveTask):
    """Trains `TwoWikiBaselineForMultihopQA` on encoded windows.

    Args:
        config: the run's settings.
    """

    prepared: setup.Prepared

    def __init__(self, config: TrainConfig) -> None:
        super().__init__(config)
        self.saved: Path | None = None

    def prepare(self, saved: Path | None) -> None:
        """Find the data, make the vocabulary (or take a saved model's) and encode."""
        self.saved = saved
        self.prepared = setup.prepare(self.config, saved)

    def describe(self) -> list[str]:
        """Say how much was encoded, and what the encoding could not do."""
        prepared = self.prepared
        windows = f"{len(prepared.train)} training windows"
        return [*self.not_encoded(), f"{windows}, {len(prepared.validation)} validation windows,"]

    def build_model(self) -> Any:
        """Make the model from the seed, or load the saved one."""
        return setup.build_model(self.prepared, self.config, self.saved)

    def count_weights(self, model: Any) -> int:
        """Count the weights beside the word vectors."""
        named = model.named_parameters()
        return sum(p.numel() for name, p in named if "word_embeddings" not in name)

    def make_optimizer(self, model: Any) -> Any:
        """Make the optimiser that the settings name."""
        return make_optimizer(model, self.config)

    def score(self, predicted: Mapping[Any, Any]) -> Outcome:
        """Join the windows into answers and score them with the joint metric."""
        examples = self.prepared.validation_examples
        answers = evaluation.answer_examples(predicted, examples, self.model_config)
        predictions = [evaluation.to_prediction(answer) for answer in answers]
        scored = evaluation.score_predictions(examples, predictions, self.config.aliases_file)
        ids = [example.id for example in examples]
        files = {
            "predictions.json": evaluation.to_official(ids, predictions),
            "scores.json": scored._asdict(),
        }
        return Outcome(scored.metrics, files)

    def save(self, model: Any, folder: Path) -> None:
        """Save weights, code, configuration and tokenizer."""
        model.save_pretrained(folder)
        self.prepared.tokenizer.save_pretrained(folder)

    def report(self) -> dict[str, Any]:
        """Give the data, the model's configuration and the ceiling of the encoding."""
        prepared = self.prepared
        examples = prepared.validation_examples[: self.config.ceiling_examples]
        said = evaluation.ceiling_predictions(prepared.validation, examples, self.model_config)
        return self.scored_report(examples, said)
