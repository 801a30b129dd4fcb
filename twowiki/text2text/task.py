"""A text-to-text model as the training loop sees it, whatever data set it answers.

In: a run's settings, and from a data set's task the training pairs, the evaluated pairs and the
scores of texts. Out: model, tokenizer, batches, generated texts and saved folders. A start that
was trained with another format is refused.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from twowiki.errors import DataError
from twowiki.models.labels import IGNORED
from twowiki.text2text import chat_format, loading, pairs
from twowiki.text2text.chat_format import Codec, read_text_format, write_text_format
from twowiki.text2text.generation import GenerationSettings, generate_texts, plain_model
from twowiki.text2text.pairs import Pair, TextCollator, encode_pairs
from twowiki.text2text.settings import TextArguments
from twowiki.training.adapters import add_adapters, checkpoint_activations, save_merged
from twowiki.training.feature_store import FeatureStore, encoding_key
from twowiki.training.loaders import StepLoader, make_loaders
from twowiki.training.loop import make_optimizer
from twowiki.training.task import EvaluationResult


class TextTask(ABC):
    """Trains an encoder-decoder or a language model to write an answer.

    Args:
        config: the run's settings.
    """

    codec: Codec
    train: FeatureStore
    validation: FeatureStore

    def __init__(self, config: TextArguments) -> None:
        self.settings = config
        self.start = config.model_name_or_path
        self.start_facts: dict[str, Any] = {}

    @abstractmethod
    def read_data(self) -> None:
        """Read the training and the validation data."""

    @abstractmethod
    def identity(self) -> list[str]:
        """Return hashes of the data, in which a resumed run must agree."""

    @abstractmethod
    def texts(self) -> Iterable[str]:
        """Yield texts on which the tokenizer of a random model is trained."""

    @abstractmethod
    def train_pairs(self) -> Iterable[Pair]:
        """Yield every pair that any epoch may train on; a question's pairs follow each other."""

    @abstractmethod
    def eval_pairs(self) -> Iterable[Pair]:
        """Yield the evaluated questions; a pair's number is the key of its prediction."""

    @abstractmethod
    def format_of(self) -> dict[str, Any]:
        """Return the format that belongs to the trained model."""

    @abstractmethod
    def fixed_format(self) -> dict[str, Any]:
        """Return the part of the format that a start trained here must share."""

    @abstractmethod
    def score(self, predicted: Mapping[Any, Any]) -> EvaluationResult:
        """Score texts by the number of their pair."""

    def announce(self) -> list[str]:
        """Return lines on what a user should know before the data is prepared; none by default."""
        return []

    @abstractmethod
    def describe(self) -> list[str]:
        """Return lines on what was prepared, and on what could not be."""

    @abstractmethod
    def data_report(self) -> dict[str, Any]:
        """Return what the report has on the data."""

    @abstractmethod
    def summary(self, scores: Mapping[str, Any], report: Mapping[str, Any]) -> str:
        """Return the last lines that a run prints."""

    def choose(self, epoch: int) -> list[int]:
        """Return the pairs of an epoch; by default all of them."""
        return list(range(len(self.train)))

    def prepare(self, saved: Path | None) -> None:
        """Read the data, load the tokenizer, encode.

        Args:
            saved: the folder of a model to continue from, instead of the settings' start.
        """
        config = self.settings
        if saved is not None:
            self.start = str(saved)
        self.read_data()
        self._check_format()
        tokenizer = loading.load_tokenizer(self.start, config, self.texts(), config.tiny_vocabulary)
        self.codec = Codec(tokenizer, loading.kind_of_start(self.start, config), config.chat)
        self.train, self.validation = (
            self._encoded(name, found)
            for name, found in (("train", self.train_pairs()), ("validation", self.eval_pairs()))
        )
        for store, purpose in ((self.train, "train"), (self.validation, "evaluate")):
            if not len(store):
                raise DataError(f"nothing to {purpose} on", field="data_dir")

    @property
    def folder(self) -> Path:
        """The folder of encoded examples, and of the hashes of their files."""
        return Path(self.settings.cache_dir or Path(self.settings.output_dir) / "encoded")

    def _encoded(self, name: str, found: Iterable[Pair]) -> FeatureStore:
        config = self.settings
        key = encoding_key(
            self.codec.tokenizer,
            (chat_format, pairs),
            split=name,
            data=self.identity(),
            format=self.format_of(),
            kind=[self.codec.kind, self.codec.uses_chat],
            longest_target=config.max_target_length,
        )
        return encode_pairs(
            found, self.codec, self.folder, key,
            longest_target=config.max_target_length, what=f"encoding {name}",
            workers=config.preprocessing_num_workers,
        )  # fmt: skip

    def build_model(self) -> Any:
        """Make the model from the seed, or load it; add adapters where the run wants them."""
        config = self.settings
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            if self.start in loading.NAMES:
                model = loading.make_model(
                    self.start,
                    self.codec.tokenizer,
                    width=config.tiny_width,
                    layers=config.tiny_layers,
                    dropout=config.dropout,
                )
            else:
                model = loading.load_text_model(
                    self.start, config, dtype=config.dtype, dropout=config.dropout
                )
        self.start_facts = {
            "revision": config.revision or getattr(model.config, "_commit_hash", None),
            "model_type": model.config.model_type,
            "kind": self.codec.kind,
        }
        if config.lora_r:
            add_adapters(model, config)
        if config.gradient_checkpointing:
            checkpoint_activations(model)
        return model

    def count_weights(self, model: Any) -> int:
        """Count the weights that are trained."""
        return sum(one.numel() for one in model.parameters() if one.requires_grad)

    def make_optimizer(self, model: Any) -> Any:
        """Make the optimizer that the settings name."""
        return make_optimizer(model, self.settings)

    def make_loaders(self, rank: int = 0, processes: int = 1) -> tuple[StepLoader, Any]:
        """Make the loaders of a process's training steps, and of all questions, longest first."""
        train, validation = self.train, self.validation
        lengths = train.lengths("source", "target"), validation.lengths("source")
        collators = (TextCollator(self.codec, training=training) for training in (True, False))
        parts = zip((train, validation), collators, lengths, strict=True)
        return make_loaders(
            self.settings, *parts, rank=rank, processes=processes, choose=self.choose
        )

    def count_labels(self, batch: Mapping[str, Any]) -> torch.Tensor:
        """Return the number of tokens that the loss is the mean of: (1,)."""
        count: torch.Tensor = self._labels(batch).float().sum()
        return count.unsqueeze(0)

    def _labels(self, batch: Mapping[str, Any]) -> torch.Tensor:
        """Return which labels count; a language model predicts no first token."""
        known: torch.Tensor = batch["labels"] != IGNORED
        return known if self.codec.kind == loading.SEQ2SEQ else known[:, 1:]

    def forward(self, model: Any, batch: Mapping[str, Any], counts: torch.Tensor) -> Any:
        """Run a training batch with teacher forcing; the library's loss is the batch's own mean."""
        inputs = {name: value for name, value in batch.items() if name != "numbers"}
        output = model(**inputs, use_cache=False)
        share = self._labels(batch).sum() / counts[0].clamp(min=1)
        loss = torch.where(share > 0, output.loss, 0.0) * share
        return SimpleNamespace(loss=loss, losses={})

    def predict(self, model: Any, loader: Any) -> Iterable[tuple[Any, Any]]:
        """Yield the texts of this process's share, by the pairs' numbers."""
        plain = plain_model(model)
        for batch in loader:
            texts = generate_texts(plain, self.codec, batch, self.decoding)
            yield from zip(batch["numbers"].tolist(), texts, strict=True)

    @property
    def decoding(self) -> GenerationSettings:
        """How texts are generated."""
        return GenerationSettings(self.settings.num_beams, self.settings.max_new_tokens)

    def save(self, model: Any, folder: Path) -> None:
        """Save a folder that loads on its own: weights, tokenizer, format."""
        save_merged(model, folder)
        self.codec.tokenizer.save_pretrained(folder)
        record = {**self.format_of(), "chat": self.settings.chat, **self.decoding._asdict()}
        write_text_format(folder, record)

    def report(self) -> dict[str, Any]:
        """Return the data, the format, the start and the settings of generation."""
        return {
            "model": self.settings.model_name_or_path,
            "start": self.start_facts,
            "format": self.format_of(),
            "decoding": self.decoding._asdict(),
            "data": self.data_report(),
        }

    def counted(self) -> list[str]:
        """Return a line for each split and reason that was counted while encoding."""
        return [
            f"{name}: {reason}: {count}"
            for name, store in (("train", self.train), ("validation", self.validation))
            for reason, count in store.counts.items()
        ]

    def _check_format(self) -> None:
        """Raise where the start was trained with another format."""
        known = read_text_format(self.start) if self.start not in loading.NAMES else None
        if known is None:
            return
        for name, value in self.fixed_format().items():
            if known.get(name, value) != value:
                problem = f"the model was trained with {name} = {known[name]!r}, not {value!r}"
                remedy = f"Set --{name} {known[name]}"
                raise DataError(problem, file=self.start, field=name, remedy=remedy)
