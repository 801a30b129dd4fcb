"""What the tasks of the two models that point at text share: the baseline's and the encoder's.

In: a run's settings. The data is found and encoded, the batches are made, and windows become
answers and scores. A task adds how its model and its processor are made. Data without examples, or
of which none can be trained on, is refused.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from twowiki.data.aliases import read_aliases
from twowiki.data.schema import Example, Prediction
from twowiki.errors import DataError
from twowiki.models.features import MultihopProcessor
from twowiki.models.outputs import count_labels
from twowiki.training import evaluation, reports
from twowiki.training.adapters import save_merged
from twowiki.training.data import Source, announce_world, find_sources
from twowiki.training.encoding import encode_windows
from twowiki.training.feature_store import WindowStore
from twowiki.training.loaders import StepLoader, make_loaders
from twowiki.training.scored_parts import check_selection, present
from twowiki.training.task import EvaluationResult
from twowiki.training.window_scores import predict_windows


class ExtractiveTask(ABC):
    """Trains a model on encoded windows.

    Args:
        config: the run's settings.

    Attributes:
        sources: the training and the validation data, with their hashes in `contents`.
        examples: the validation examples.
        train, validation: the encoded windows.
        processor: what encoded them; it has the model's configuration and tokenizer.
    """

    collator: type[Any]
    sources: tuple[Source, Source]
    contents: tuple[str, str]
    examples: list[Example]
    train: WindowStore
    validation: WindowStore
    processor: MultihopProcessor

    def __init__(self, config: Any) -> None:
        self.config = config

    @abstractmethod
    def make_processor(
        self, train: Source, saved: Path | None, aliases: Mapping[str, Sequence[str]]
    ) -> MultihopProcessor:
        """Return the processor of a new model, or of a saved one."""

    @abstractmethod
    def build_model(self) -> Any:
        """Make the model from the seed, or load the saved one."""

    @property
    def model_config(self) -> Any:
        """The model's configuration."""
        return self.processor.config

    @property
    def folder(self) -> Path:
        """The folder of encoded examples, and of what was counted for them."""
        return Path(self.config.cache_dir or Path(self.config.output_dir) / "features")

    def prepare(self, saved: Path | None) -> None:
        """Find the data, make the processor, and encode both splits."""
        self.sources = train, validation = find_sources(self.config)
        check_selection(self.config, validation)
        self.examples = list(validation.examples())
        if not self.examples:
            raise DataError("has no examples", file=validation.name, field="validation")
        self.contents = train.content(self.folder), validation.content(self.folder)
        self.processor = self.make_processor(train, saved, aliases_of(self.config.aliases_file))
        try:
            self.train, self.validation = map(self._encoded, self.sources, self.contents)
        except ValueError as error:
            if not str(error).startswith("a window of"):
                raise
            remedy = "Raise window_tokens, or lower window_stride"
            raise DataError(str(error), field="window_tokens", remedy=remedy) from None
        if not len(self.train):
            problem = f"no example can be trained on ({dict(self.train.counts)})"
            raise DataError(problem, file=train.name)

    def _encoded(self, source: Source, content: str) -> WindowStore:
        workers = self.config.preprocessing_num_workers
        return encode_windows(source.examples(), self.processor, self.folder, content, workers)

    def identity(self) -> list[str]:
        """Return the hashes of the training and the validation data."""
        return list(self.contents)

    def announce(self) -> list[str]:
        """Return a line on the world that a run without data trains on."""
        return announce_world(self.config)

    def describe(self) -> list[str]:
        """Return lines on what was encoded, and on what could not be."""
        lines = []
        for source, windows in zip(self.sources, (self.train, self.validation), strict=True):
            questions = len(set(windows.column("example")))
            lines.append(
                f"{source.split}: {questions:,} questions ({len(windows):,} windows) "
                f"of {source.described}"
            )
            for reason, count in sorted(windows.counts.items()):
                ids = windows.concerned.get(reason, [])
                shown = ", ".join(ids[:3]) + (", ..." if len(ids) > 3 else "")
                lines.append(f"  {reason.replace('_', ' ')}: {count:,} ({shown})")
        return lines

    def make_loaders(self, rank: int = 0, processes: int = 1) -> tuple[StepLoader, Any]:
        """Make the loader of a process's training steps, and that of all evaluation batches."""
        train, evaluated = (
            (windows, self.collator(self.model_config, labels=labels), windows.lengths("token_ids"))
            for windows, labels in ((self.train, True), (self.validation, False))
        )
        return make_loaders(self.config, train, evaluated, rank=rank, processes=processes)

    def count_labels(self, batch: Mapping[str, Any]) -> Any:
        """Return the labels of each part of the loss."""
        return count_labels(batch, self.model_config)

    def forward(self, model: Any, batch: Mapping[str, Any], counts: Any) -> Any:
        """Run a training batch; the model has no use for its windows' numbers."""
        inputs = {name: value for name, value in batch.items() if name != "numbers"}
        return model(**inputs, loss_counts=counts)

    def predict(self, model: Any, loader: Any) -> Iterable[tuple[Any, Any]]:
        """Score this process's windows, by number."""
        workers = self.config.decoding_num_workers
        return predict_windows(model, loader, self.validation, self.model_config, workers).items()

    def score(self, predicted: Mapping[Any, Any]) -> EvaluationResult:
        """Join the windows into answers and score them with the joint metric."""
        predictions = self.decode(predicted)
        report = self.score_joint(predictions)
        ids = [example.id for example in self.examples]
        files = {
            "predictions.json": evaluation.official_predictions(ids, predictions),
            "scores.json": evaluation.score_record(report) | self.further_scores(predicted),
        }
        return EvaluationResult(present(report.metrics), files)

    def decode(self, predicted: Mapping[Any, Any], config: Any = None) -> list[Prediction]:
        """Join scored windows into answers, perhaps with another configuration."""
        return evaluation.decode_examples(
            predicted.values(), self.examples, config or self.model_config
        )

    def score_joint(self, predictions: Sequence[Prediction]) -> Any:
        """Score predictions of the first validation examples."""
        examples = self.examples[: len(predictions)]
        return evaluation.score_predictions(
            examples,
            predictions,
            self.config.aliases_file,
            config=self.sources[1].config,
            parts=self.config.score_parts,
        )

    def further_scores(self, predicted: Mapping[Any, Any]) -> dict[str, Any]:
        """Return what else is kept with the scores; nothing by default."""
        return {}

    def save(self, model: Any, folder: Path) -> None:
        """Save weights (with adapters added), code, configuration and tokenizer."""
        save_merged(model, folder)
        self.processor.tokenizer.save_pretrained(folder)

    def report(self) -> dict[str, Any]:
        """Return the data, the model's configuration and the ceiling of the encoding."""
        examples = self.examples[: self.config.ceiling_examples]
        ceiling = self.score_joint(
            evaluation.ceiling_predictions(self.validation, examples, self.model_config)
        )
        data = {
            source.split: {
                "source": source.name,
                "config": source.config,
                "content": content,
                "windows": len(windows),
                "not_encoded": windows.counts,
            }
            for source, content, windows in zip(
                self.sources, self.contents, (self.train, self.validation), strict=True
            )
        }
        return {
            "ceiling": evaluation.score_record(ceiling) | {"examples": len(examples)},
            "data": data,
            "model_config": self.model_config.to_diff_dict(),
        }

    def summary(self, scores: Mapping[str, Any], report: Mapping[str, Any]) -> str:
        """Return the tables of the ceiling and of the best model."""
        further = [
            f"without {name}: joint_f1 {metrics['joint_f1']:.2f}, f1 {metrics['f1']:.2f}, "
            f"evi_f1 {metrics['evi_f1']:.2f}"
            for name, metrics in scores.get("without", {}).items()
        ]
        output = self.config.output_dir
        return reports.joint_summary(scores, report["ceiling"], "encoding", output, further)


def aliases_of(path: str) -> dict[str, list[str]]:
    """Read other names by Wikidata id, all of them; none without a path."""
    if not path:
        return {}
    table = read_aliases(path)
    return {name: table.aliases_of(name) for name in table}
