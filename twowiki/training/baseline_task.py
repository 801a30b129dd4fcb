"""The baseline as the training loop sees it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from twowiki.training import evaluation, reports, setup
from twowiki.training.config import TrainConfig
from twowiki.training.optimization import make_optimizer
from twowiki.training.tasks import Outcome


class BaselineTask:
    """Trains `TwoWikiBaselineForMultihopQA` on encoded windows.

    Args:
        config: the run's settings.
    """

    prepared: setup.Prepared

    def __init__(self, config: TrainConfig) -> None:
        self.config = config
        self.saved: Path | None = None

    def prepare(self, saved: Path | None) -> None:
        """Find the data, make the vocabulary (or take a saved model's) and encode."""
        self.saved = saved
        self.prepared = setup.prepare(self.config, saved)

    def identity(self) -> list[str]:
        """Give the hashes of the training and the validation data."""
        return list(self.prepared.contents)

    def describe(self) -> list[str]:
        """Say how much was encoded, and what the encoding could not do."""
        prepared = self.prepared
        lines = [
            line
            for name, features in (("train", prepared.train), ("validation", prepared.validation))
            for line in setup.describe_counts(name, features)
        ]
        windows = f"{len(prepared.train)} training windows"
        return [*lines, f"{windows}, {len(prepared.validation)} validation windows,"]

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

    def make_loaders(self, batch_size: int) -> tuple[Any, Any]:
        """Make the loaders of training and of evaluation windows."""
        config, prepared = self.config, self.prepared
        train, validation = (
            evaluation.make_loader(
                features,
                features.lengths(),
                prepared.model_config,
                batch_size=size,
                seed=config.seed,
                training=training,
                bucket=config.bucket,
                workers=config.workers,
            )
            for features, size, training in (
                (prepared.train, batch_size, True),
                (prepared.validation, config.eval_batch_size, False),
            )
        )
        return train, validation

    def forward(self, model: Any, batch: Mapping[str, Any]) -> Any:
        """Run a training batch; its window numbers are of no use to the model."""
        return model(**{name: value for name, value in batch.items() if name != "window_numbers"})

    def predict(self, model: Any, loader: Any) -> Iterable[tuple[Any, Any]]:
        """Score this process's windows, by window number."""
        prepared = self.prepared
        return evaluation.predict_windows(
            model, loader, prepared.validation, prepared.model_config
        ).items()

    def score(self, predicted: Mapping[Any, Any]) -> Outcome:
        """Join the windows into answers and score them with the joint metric."""
        examples = self.prepared.validation_examples
        answers = evaluation.answer_examples(predicted, examples, self.prepared.model_config)
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
        ceiling = evaluation.score_predictions(
            examples,
            evaluation.ceiling_predictions(prepared.validation, examples, prepared.model_config),
            self.config.aliases_file,
        )
        return {
            "ceiling": ceiling._asdict() | {"examples": len(examples)},
            "data": setup.data_report(prepared),
            "model_config": prepared.model_config.to_diff_dict(),
        }

    def summary(self, scores: Mapping[str, Any], report: Mapping[str, Any]) -> str:
        """Write the tables of the ceiling and of the best model, by type."""
        ceiling = report["ceiling"]
        best = Path(self.config.output_dir) / "best"
        return "\n".join(
            [
                f"\nceiling of the encoding ({ceiling['examples']} examples):",
                reports.render_by_type(ceiling["by_type"], ceiling["metrics"]),
                f"\nbest model, step {scores['step']}, {best}:",
                reports.render_by_type(scores["by_type"], scores["metrics"]),
                f"\n{reports.headline(scores['metrics'], scores['signature'])}",
            ]
        )
