"""A text-to-text model as the training loop sees it, whatever data set it answers.

A data set's task says what it is trained on (`train_pairs`), asked (`eval_pairs`) and how its
texts are scored; model, tokenizer, batches, generation and saving are here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch.utils.data import DataLoader

from twowiki.errors import DataError
from twowiki.text2text import loading as backbones
from twowiki.text2text.chat_format import Codec, read_format, write_format
from twowiki.text2text.generation import Decoding, generate, plain_model
from twowiki.text2text.pairs import (
    Encoded,
    EpochBatchSampler,
    Pair,
    TextCollator,
    encode_pairs,
    encoding_key,
    tokenizer_hash,
)
from twowiki.text2text.settings import TextArguments
from twowiki.training.adapters import add_adapters, checkpoint_activations, save_merged
from twowiki.training.loaders import BucketBatchSampler
from twowiki.training.loop import make_optimizer
from twowiki.training.task import EvaluationResult


class TextTask(ABC):
    """Trains an encoder-decoder or a language model to say an answer.

    Args:
        config: the run's settings.
    """

    codec: Codec
    train: Encoded
    validation: Encoded

    def __init__(self, config: TextArguments) -> None:
        self.settings = config
        self.start = config.model_name_or_path
        self.metrics: dict[str, float] = {}
        self.start_facts: dict[str, Any] = {}

    @abstractmethod
    def read_data(self) -> None:
        """Read what is trained on and evaluated."""

    @abstractmethod
    def identity(self) -> list[str]:
        """Give hashes of the data, in which a resumed run must agree."""

    @abstractmethod
    def texts(self) -> Iterable[str]:
        """Give texts that a random model's tokenizer is trained on."""

    @abstractmethod
    def train_pairs(self) -> Iterable[Pair]:
        """Give every pair that any epoch may train on; a question's pairs follow each other."""

    @abstractmethod
    def eval_pairs(self) -> Iterable[Pair]:
        """Give the questions that are evaluated; a pair's number is the key of its prediction."""

    @abstractmethod
    def format_of(self) -> dict[str, Any]:
        """Give the format that belongs to the trained model."""

    def fixed_format(self) -> dict[str, Any]:
        """Give the part of the format that a start trained here must share."""
        return self.format_of()

    @abstractmethod
    def score(self, predicted: Mapping[Any, Any]) -> EvaluationResult:
        """Score texts by the number of their pair."""

    @abstractmethod
    def describe(self) -> list[str]:
        """Say what was prepared, and what could not be, a line each."""

    @abstractmethod
    def data_report(self) -> dict[str, Any]:
        """Give what the report says of the data, and of what can be reached at all."""

    @abstractmethod
    def summary(self, scores: Mapping[str, Any], report: Mapping[str, Any]) -> str:
        """Write the end of a run for people."""

    def choose(self, epoch: int) -> list[int]:
        """Give the pairs of an epoch; by default all of them."""
        return list(range(len(self.train)))

    def prepare(self, saved: Path | None) -> None:
        """Read the data, load the tokenizer, encode.

        Args:
            saved: the folder of a model to go on from, instead of the settings' start.
        """
        config = self.settings
        if saved is not None:
            self.start = str(saved)
        self.read_data()
        self._check_format()
        tokenizer = backbones.load_tokenizer(
            self.start, config, self.texts(), config.tiny_vocabulary
        )
        kind = (
            backbones.kind_of(backbones.read_config(self.start, config))
            if self.start not in backbones.NAMES
            else backbones.SEQ2SEQ if self.start == "tiny-t5" else backbones.CAUSAL
        )  # fmt: skip
        self.codec = Codec(tokenizer, kind, config.chat)
        folder = Path(config.cache_dir or Path(config.output_dir) / "encoded")
        parts = [self.identity(), self.format_of(), kind, self.codec.uses_chat]
        parts += [tokenizer_hash(tokenizer), config.max_target_length]
        self.train, self.validation = (
            encode_pairs(
                pairs,
                self.codec,
                folder,
                encoding_key(name, *parts),
                longest_target=config.max_target_length,
                what=f"encoding {name}",
            )
            for name, pairs in (("train", self.train_pairs()), ("validation", self.eval_pairs()))
        )
        if not len(self.train):
            raise DataError("nothing to train on", field="data_dir")
        if not len(self.validation):
            raise DataError("nothing to evaluate on", field="data_dir")

    def build_model(self) -> Any:
        """Make the model from the seed, or load it; give it adapters if asked."""
        config = self.settings
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            if self.start in backbones.NAMES:
                model = backbones.build_tiny(
                    self.start,
                    self.codec.tokenizer,
                    width=config.tiny_width,
                    layers=config.tiny_layers,
                    dropout=config.dropout,
                )
            else:
                model = backbones.load_model(
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
        """Make the optimiser that the settings name."""
        return make_optimizer(model, self.settings)

    def make_loaders(self, batch_size: int) -> tuple[Any, Any]:
        """Make the loaders of training pairs and of questions, the longest questions first."""
        config = self.settings
        training = EpochBatchSampler(
            self.choose,
            self.train.lengths(),
            batch_size,
            seed=config.seed,
            bucket=config.train_sampling_strategy == "group_by_length",
        )
        asking = BucketBatchSampler(
            self.validation.source_lengths(),
            config.per_device_eval_batch_size,
            seed=config.seed,
            shuffle=False,
        )
        return self._loader(self.train, training, True), self._loader(
            self.validation, asking, False
        )

    def forward(self, model: Any, batch: Mapping[str, Any]) -> Any:
        """Run a training batch: teacher forcing."""
        inputs = {name: value for name, value in batch.items() if name != "numbers"}
        output = model(**inputs, use_cache=False)
        return SimpleNamespace(loss=output.loss, losses={})

    def predict(self, model: Any, loader: Any) -> Iterable[tuple[Any, Any]]:
        """Let the model speak on this process's share, by the pairs' numbers."""
        plain = plain_model(model)
        decoding = self.decoding
        for batch in loader:
            texts = generate(plain, self.codec, batch, decoding)
            yield from zip(batch["numbers"].tolist(), texts, strict=True)

    @property
    def decoding(self) -> Decoding:
        """How texts are found."""
        return Decoding(self.settings.num_beams, self.settings.max_new_tokens)

    def save(self, model: Any, folder: Path) -> None:
        """Save a folder that loads on its own: weights, tokenizer, format."""
        save_merged(model, folder)
        self.codec.tokenizer.save_pretrained(folder)
        record = {**self.format_of(), "chat": self.settings.chat, **self.decoding._asdict()}
        write_format(folder, record)

    def report(self) -> dict[str, Any]:
        """Give the data, the format, the start and the decoding."""
        return {
            "model": self.settings.model_name_or_path,
            "start": self.start_facts,
            "format": self.format_of(),
            "decoding": self.decoding._asdict(),
            "data": self.data_report(),
        }

    def _check_format(self) -> None:
        """Refuse to go on from a model that was trained with another format."""
        known = read_format(self.start) if self.start not in backbones.NAMES else None
        if known is None:
            return
        for name, value in self.fixed_format().items():
            if known.get(name, value) != value:
                problem = f"the model was trained with {name} = {known[name]!r}, not {value!r}"
                remedy = f"Give --{name} {known[name]}"
                raise DataError(problem, file=self.start, field=name, remedy=remedy)

    def _loader(self, encoded: Encoded, sampler: Any, training: bool) -> DataLoader[Any]:
        numbers: Any = range(len(encoded))
        # Its own generator: starting an epoch must not draw from the one that dropout uses.
        return DataLoader(
            numbers,
            batch_sampler=sampler,
            collate_fn=TextCollator(encoded, self.codec, training=training),
            generator=torch.Generator().manual_seed(self.settings.seed),
            num_workers=self.settings.dataloader_num_workers,
            persistent_workers=self.settings.dataloader_num_workers > 0,
            pin_memory=torch.cuda.is_available(),
        )
