"""The baseline as the training loop sees it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch

from twowiki.data.aliases import read_aliases
from twowiki.data.schema import Example
from twowiki.errors import DataError
from twowiki.models.configuration_baseline import TwoWikiBaselineConfig
from twowiki.models.modeling_baseline import TwoWikiBaselineForMultihopQA
from twowiki.models.processing_baseline import BaselineProcessor
from twowiki.models.tokenization_baseline import TwoWikiTokenizer
from twowiki.training import evaluation
from twowiki.training.data import Source, find_sources
from twowiki.training.extractive import ExtractiveTask
from twowiki.training.feature_store import Features, encode_cached
from twowiki.training.loop import make_optimizer
from twowiki.training.settings import BaselineArguments
from twowiki.training.task import EvaluationResult
from twowiki.training.vocabulary import (
    Counts,
    count_vocabulary,
    make_vocabulary,
    read_vectors,
    vector_matrix,
)


class BaselineTask(ExtractiveTask):
    """Trains `TwoWikiBaselineForMultihopQA` on encoded windows.

    Args:
        config: the run's settings.
    """

    prepared: Prepared

    def __init__(self, config: BaselineArguments) -> None:
        super().__init__(config)
        self.saved: Path | None = None

    def prepare(self, saved: Path | None) -> None:
        """Find the data, make the vocabulary (or take a saved model's) and encode."""
        self.saved = saved
        self.prepared = prepare(self.config, saved)

    def describe(self) -> list[str]:
        """Say how much was encoded, and what the encoding could not do."""
        prepared = self.prepared
        windows = f"{len(prepared.train)} training windows"
        return [*self.not_encoded(), f"{windows}, {len(prepared.validation)} validation windows,"]

    def build_model(self) -> Any:
        """Make the model from the seed, or load the saved one."""
        return build_model(self.prepared, self.config, self.saved)

    def count_weights(self, model: Any) -> int:
        """Count the weights beside the word vectors."""
        named = model.named_parameters()
        return sum(p.numel() for name, p in named if "word_embeddings" not in name)

    def make_optimizer(self, model: Any) -> Any:
        """Make the optimiser that the settings name."""
        return make_optimizer(model, self.config)

    def score(self, predicted: Mapping[Any, Any]) -> EvaluationResult:
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
        return EvaluationResult(scored.metrics, files)

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


class Prepared(NamedTuple):
    """Everything that training needs before the first step."""

    train: Features
    validation: Features
    validation_examples: list[Example]
    tokenizer: TwoWikiTokenizer
    model_config: TwoWikiBaselineConfig
    vectors: Any  # (V, D), or None
    sources: tuple[Source, Source]
    contents: tuple[str, str]


def prepare(config: BaselineArguments, saved: Path | None = None) -> Prepared:
    """Find the data, make the vocabulary (or take a saved model's) and encode.

    Args:
        config: the run.
        saved: folder of a model whose vocabulary and configuration are taken over.
    """
    train, validation = find_sources(config)
    validation_examples = list(validation.examples())
    if not validation_examples:
        raise DataError("holds no examples", file=validation.name, field="validation")
    vectors = None
    if saved is not None:
        model_config = TwoWikiBaselineConfig.from_pretrained(saved)
        tokenizer = TwoWikiTokenizer.from_pretrained(saved)
    else:
        settings = settings_of(config)
        counts = count_vocabulary(train.examples(), settings)
        if not counts.words:
            raise DataError("holds no examples", file=train.name, field="train")
        tokenizer, vectors, sizes = build_vocabulary(config, settings, counts)
        model_config = TwoWikiBaselineConfig(**{**own_fields(settings), **sizes})
    aliases = aliases_of(config.aliases_file)
    folder = config.cache_dir or str(Path(config.output_dir) / "features")
    contents = train.content(), validation.content()
    encoded = [
        encode_cached(
            source.examples(), BaselineProcessor(model_config, tokenizer, aliases), folder, content
        )
        for source, content in zip((train, validation), contents, strict=True)
    ]
    if not len(encoded[0]):
        raise DataError(
            f"no example can be trained on ({dict(encoded[0].counts)})", file=train.name
        )
    return Prepared(
        encoded[0],
        encoded[1],
        validation_examples,
        tokenizer,
        model_config,
        vectors,
        (train, validation),
        contents,
    )


def settings_of(config: BaselineArguments) -> TwoWikiBaselineConfig:
    """Make the model's configuration as far as it depends on no data."""
    options = {"dropout": config.dropout, **config.model_options}
    if config.settings == "reproduce":
        return TwoWikiBaselineConfig.reproduce(**options)
    return TwoWikiBaselineConfig(**options)


def own_fields(config: TwoWikiBaselineConfig) -> dict[str, Any]:
    """Give the fields that TwoWikiBaselineConfig adds to the library's configuration."""
    return {
        name: getattr(config, name)
        for name in TwoWikiBaselineConfig.__annotations__
        if hasattr(config, name)
    }


def build_vocabulary(
    config: BaselineArguments, settings: TwoWikiBaselineConfig, counts: Counts
) -> tuple[TwoWikiTokenizer, Any, dict[str, Any]]:
    """Make the tokenizer, the matrix of word vectors (or None), and the vocabulary's sizes."""
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


def build_model(
    prepared: Prepared, config: BaselineArguments, saved: Path | None = None
) -> TwoWikiBaselineForMultihopQA:
    """Make the model from the seed, or load a saved one."""
    if saved is not None:
        model: TwoWikiBaselineForMultihopQA = TwoWikiBaselineForMultihopQA.from_pretrained(
            saved, dtype=torch.float32
        )
        return model
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        model = TwoWikiBaselineForMultihopQA(prepared.model_config)
    if prepared.vectors is not None:
        with torch.no_grad():
            model.words.word_embeddings.weight.copy_(torch.from_numpy(prepared.vectors))
    return model


def aliases_of(path: str) -> dict[str, list[str]]:
    """Read other names by Wikidata id, all of them; none without a path."""
    if not path:
        return {}
    table = read_aliases(path)
    return {name: table.aliases_of(name) for name in table}
