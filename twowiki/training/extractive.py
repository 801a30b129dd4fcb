"""What the tasks of the models that point at text have in common: the baseline's, the encoder's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from twowiki.data.schema import Example, Prediction
from twowiki.models.decoding import score_windows
from twowiki.models.processing_baseline import BaselineCollator
from twowiki.training import evaluation, reports
from twowiki.training.feature_store import Features


class ExtractiveTask:
    """The data, loaders, forward pass and reports of a task over encoded windows.

    A task sets `collator` and `score_outputs`, and says how it prepares, builds and decodes.

    Args:
        config: the run's settings.
    """

    prepared: Any
    collator: Callable[..., Any] = BaselineCollator
    score_outputs: Callable[..., Iterable[Any]] = staticmethod(score_windows)

    def __init__(self, config: Any) -> None:
        self.config = config

    @property
    def model_config(self) -> Any:
        """The model's configuration."""
        return self.prepared.model_config

    def identity(self) -> list[str]:
        """Give the hashes of the training and the validation data."""
        return list(self.prepared.contents)

    def not_encoded(self) -> list[str]:
        """Say what the encoding could not do, a line a split and reason."""
        prepared = self.prepared
        return [
            line
            for name, features in (("train", prepared.train), ("validation", prepared.validation))
            for line in describe_counts(name, features)
        ]

    def make_loaders(self, batch_size: int) -> tuple[Any, Any]:
        """Make the loaders of training and of evaluation batches."""
        config, prepared = self.config, self.prepared
        train, validation = (
            evaluation.make_loader(
                features,
                features.lengths(),
                self.model_config,
                batch_size=size,
                seed=config.seed,
                training=training,
                bucket=config.train_sampling_strategy == "group_by_length",
                workers=config.dataloader_num_workers,
                collator=self.collator,
            )
            for features, size, training in (
                (prepared.train, batch_size, True),
                (prepared.validation, config.per_device_eval_batch_size, False),
            )
        )
        return train, validation

    def forward(self, model: Any, batch: Mapping[str, Any]) -> Any:
        """Run a training batch; its window numbers are of no use to the model."""
        return model(**{name: value for name, value in batch.items() if name != "window_numbers"})

    def predict(self, model: Any, loader: Any) -> Iterable[tuple[Any, Any]]:
        """Score this process's windows, by window number."""
        return evaluation.predict_windows(
            model, loader, self.prepared.validation, self.model_config, score=self.score_outputs
        ).items()

    def scored_report(
        self, examples: Sequence[Example], ceiling: Sequence[Prediction]
    ) -> dict[str, Any]:
        """Give the data, the model's configuration and the score of what the labels say."""
        scored = evaluation.score_predictions(examples, ceiling, self.config.aliases_file)
        return {
            "ceiling": scored._asdict() | {"examples": len(examples)},
            "data": data_report(self.prepared),
            "model_config": self.model_config.to_diff_dict(),
        }

    def summary(self, scores: Mapping[str, Any], report: Mapping[str, Any]) -> str:
        """Write the tables of the ceiling and of the best model, and what deriving is worth."""
        ceiling = report["ceiling"]
        best = Path(self.config.output_dir) / "best"
        derived = [
            f"without {name}: joint_f1 {figures['joint_f1']:.2f}, f1 {figures['f1']:.2f}, "
            f"evi_f1 {figures['evi_f1']:.2f}"
            for name, figures in scores.get("without", {}).items()
        ]
        return "\n".join(
            [
                f"\nceiling of the encoding ({ceiling['examples']} examples):",
                reports.render_by_type(ceiling["by_type"], ceiling["metrics"]),
                f"\nbest model, step {scores['step']}, {best}:",
                reports.render_by_type(scores["by_type"], scores["metrics"]),
                *derived,
                f"\n{reports.headline(scores['metrics'], scores['signature'])}",
            ]
        )


def describe_counts(name: str, features: Features) -> list[str]:
    """Say what an encoding could not do, a line a reason."""
    lines = []
    for reason, count in sorted(features.counts.items()):
        ids: Sequence[str] = features.concerned.get(reason, [])
        shown = ", ".join(ids[:3]) + (", ..." if len(ids) > 3 else "")
        lines.append(f"{name}: {reason.replace('_', ' ')}: {count} ({shown})")
    return lines


def data_report(prepared: Any) -> dict[str, Mapping[str, Any]]:
    """Say what a run was trained and evaluated on."""
    return {
        source.split: {
            "source": source.name,
            "config": source.config,
            "content": content,
            "windows": len(features),
            "not_encoded": features.counts,
        }
        for source, content, features in zip(
            prepared.sources, prepared.contents, (prepared.train, prepared.validation), strict=True
        )
    }
