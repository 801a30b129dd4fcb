"""Training of the baseline: its vocabulary and word vectors, and a new or a saved model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from twowiki.errors import DataError
from twowiki.models.configuration_baseline import TwoWikiBaselineConfig
from twowiki.models.features import MultihopProcessor
from twowiki.models.modeling_baseline import TwoWikiBaselineForMultihopQA
from twowiki.models.processing_baseline import BaselineCollator, BaselineProcessor
from twowiki.models.tokenization_baseline import TwoWikiTokenizer
from twowiki.training.data import Source
from twowiki.training.extractive import ExtractiveTask
from twowiki.training.loop import make_optimizer
from twowiki.training.settings import BaselineArguments
from twowiki.training.vocabulary import (
    Counts,
    make_vocabulary,
    read_vectors,
    stored_counts,
    vector_matrix,
)


class BaselineTask(ExtractiveTask):
    """Trains `TwoWikiBaselineForMultihopQA` on encoded windows.

    Args:
        config: the run's settings.
    """

    collator = BaselineCollator

    def __init__(self, config: BaselineArguments) -> None:
        super().__init__(config)
        self.saved: Path | None = None
        self.vectors: Any = None  # (V, D)

    def make_processor(
        self, train: Source, saved: Path | None, aliases: Mapping[str, Sequence[str]]
    ) -> MultihopProcessor:
        """Return the processor of a saved model, or one with the vocabulary of the data."""
        self.saved = saved
        if saved is not None:
            model_config = TwoWikiBaselineConfig.from_pretrained(saved)
            tokenizer = TwoWikiTokenizer.from_pretrained(saved)
            return BaselineProcessor(model_config, tokenizer, aliases)
        settings = _model_config(self.config)
        workers = self.config.preprocessing_num_workers
        counts = stored_counts(train, self.contents[0], settings, self.folder, workers)
        if not counts.words:
            raise DataError("has no examples", file=train.name, field="train")
        tokenizer, self.vectors, sizes = build_vocabulary(self.config, settings, counts)
        model_config = TwoWikiBaselineConfig(**{**own_fields(settings), **sizes})
        return BaselineProcessor(model_config, tokenizer, aliases)

    def describe(self) -> list[str]:
        """Return lines on what was encoded, and on the vocabulary."""
        words = f"vocabulary: {self.model_config.vocab_size:,} words"
        return [*super().describe(), f"settings: {self.config.settings}", words]

    def build_model(self) -> Any:
        """Make the model from the seed, or load the saved one."""
        cls = TwoWikiBaselineForMultihopQA
        if self.saved is not None:
            return cls.from_pretrained(self.saved, dtype=torch.float32)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.config.seed)
            model = cls(self.model_config)
        if self.vectors is not None:
            with torch.no_grad():
                model.words.word_embeddings.weight.copy_(torch.from_numpy(self.vectors))
        return model

    def count_weights(self, model: Any) -> int:
        """Count the weights beside the word vectors."""
        named = model.named_parameters()
        return sum(p.numel() for name, p in named if "word_embeddings" not in name)

    def make_optimizer(self, model: Any) -> Any:
        """Make the optimizer that the settings name."""
        return make_optimizer(model, self.config)


def _model_config(config: BaselineArguments) -> TwoWikiBaselineConfig:
    """Return the model's configuration as far as it depends on no data."""
    options = {"dropout": config.dropout, **config.model_options}
    if config.settings == "reproduce":
        return TwoWikiBaselineConfig.reproduce(**options)
    return TwoWikiBaselineConfig(**options)


def own_fields(config: TwoWikiBaselineConfig) -> dict[str, Any]:
    """Return the fields that TwoWikiBaselineConfig adds to the library's configuration."""
    return {
        name: getattr(config, name)
        for name in TwoWikiBaselineConfig.__annotations__
        if hasattr(config, name)
    }


def build_vocabulary(
    config: BaselineArguments, settings: TwoWikiBaselineConfig, counts: Counts
) -> tuple[TwoWikiTokenizer, Any, dict[str, Any]]:
    """Return the tokenizer, the matrix of word vectors (or None), and the vocabulary's sizes."""
    if not config.vectors:
        tokenizer, sizes = make_vocabulary(counts, settings, min_count=config.min_word_count)
        return tokenizer, None, sizes
    vectors = read_vectors(
        config.vectors, wanted=counts.words.__contains__, extra=config.extra_vectors
    )
    tokenizer, sizes = make_vocabulary(
        counts, settings, min_count=config.min_word_count, known=vectors
    )
    matrix = vector_matrix(tokenizer, vectors, config.seed)
    return tokenizer, matrix, {**sizes, "word_dim": matrix.shape[1]}
