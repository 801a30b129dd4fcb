"""What a run starts from: examples, vocabulary, configuration, encoded windows, model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from twowiki.aliases import read_aliases
from twowiki.errors import DataError
from twowiki.modeling.configuration import TwoWikiConfig
from twowiki.modeling.encoding import Encoder
from twowiki.modeling.modeling import TwoWikiBaselineForMultihopQA
from twowiki.modeling.tokenization import TwoWikiTokenizer
from twowiki.schema import Example
from twowiki.training.config import TrainConfig
from twowiki.training.data import Source, find_sources
from twowiki.training.features import Features, encode_cached
from twowiki.training.vocabulary import (
    Counts,
    count_vocabulary,
    make_vocabulary,
    read_vectors,
    vector_matrix,
)


class Prepared(NamedTuple):
    """Everything that training needs before the first step."""

    train: Features
    validation: Features
    validation_examples: list[Example]
    tokenizer: TwoWikiTokenizer
    model_config: TwoWikiConfig
    vectors: Any  # (V, D), or None
    sources: tuple[Source, Source]
    contents: tuple[str, str]


def prepare(config: TrainConfig, saved: Path | None = None) -> Prepared:
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
        model_config = TwoWikiConfig.from_pretrained(saved)
        tokenizer = TwoWikiTokenizer.from_pretrained(saved)
    else:
        settings = settings_of(config)
        counts = count_vocabulary(train.examples(), settings)
        if not counts.words:
            raise DataError("holds no examples", file=train.name, field="train")
        tokenizer, vectors, sizes = build_vocabulary(config, settings, counts)
        model_config = TwoWikiConfig(**{**own_fields(settings), **sizes})
    aliases = aliases_of(config.aliases_file)
    folder = config.cache_dir or str(Path(config.output_dir) / "features")
    contents = train.content(), validation.content()
    encoded = [
        encode_cached(source.examples(), Encoder(model_config, tokenizer, aliases), folder, content)
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


def settings_of(config: TrainConfig) -> TwoWikiConfig:
    """Make the model's configuration as far as it depends on no data."""
    options = {"dropout": config.dropout, **config.model_options}
    if config.settings == "reproduce":
        return TwoWikiConfig.reproduce(**options)
    return TwoWikiConfig(**options)


def own_fields(config: TwoWikiConfig) -> dict[str, Any]:
    """Give the fields that TwoWikiConfig adds to the library's configuration."""
    return {
        name: getattr(config, name)
        for name in TwoWikiConfig.__annotations__
        if hasattr(config, name)
    }


def build_vocabulary(
    config: TrainConfig, settings: TwoWikiConfig, counts: Counts
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
    prepared: Prepared, config: TrainConfig, saved: Path | None = None
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
    return {name: table.names_of(name) for name in table}


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
