"""What each config is made of: how its files are found, its columns, and how its rows are read.

One table answers for every config, so that nothing else asks which config it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import datasets

from twowiki.arc_da.features import arc_da_features, question_tables
from twowiki.arc_da.sources import find_question_splits
from twowiki.data.arrow import check_datasets, list_of, tables
from twowiki.data.releases import CONFIG_VERSIONS
from twowiki.data.schema import CONFIGS, DEFAULT_CONFIG, HOTPOT_CONFIG, types_of
from twowiki.data.sources import read_examples
from twowiki.data.splits import find_splits
from twowiki.errors import DataError
from twowiki.io.records import Opener
from twowiki.worlds.dataset import WORLD_CONFIG

check_datasets()

_Place = str | PathLike[str]


class ConfigFormat(NamedTuple):
    """How the files of a config are found, typed and read.

    Attributes:
        find_files: a folder, zip or file -> the files of each split.
        features: the typed columns.
        read_tables: files, split, folder of ARC's files, opener -> Arrow tables.
        any_file: whether any file of a folder may be read (ARC's archives), not only data files.
    """

    find_files: Callable[[_Place], dict[str, list[str]]]
    features: Callable[[], datasets.Features]
    read_tables: Callable[[list[str], str, _Place | None, Opener], Iterator[Any]]
    any_file: bool = False


def _multihop_features(config: str) -> datasets.Features:
    text = datasets.Value("string")
    columns = {
        "id": text,
        "question": text,
        "type": datasets.ClassLabel(names=list(types_of(config))),
        "context": list_of({"title": text, "sentences": list_of(text)}),
        "supporting_facts": list_of({"title": text, "sent_id": datasets.Value("int32")}),
        "evidences": list_of({"subject": text, "relation": text, "object": text}),
        "evidences_id": list_of({"subject_id": text, "relation": text, "object_id": text}),
        "answer": text,
        "answer_id": text,
        "entity_ids": list_of(text),
    }
    if config == HOTPOT_CONFIG:
        columns["level"] = text
    return datasets.Features(columns)


def _multihop_tables(
    config: str, files: list[str], split: str, arc_dir: _Place | None, opener: Opener
) -> Iterator[Any]:
    return tables(read_examples(files, config, split, opener), config)


def _multihop(config: str, release: str) -> ConfigFormat:
    """Return the format of a config that has the columns of a release."""
    return ConfigFormat(
        lambda place: find_splits(place, config),
        partial(_multihop_features, release),
        partial(_multihop_tables, release),
    )


def _arc_da_tables(
    files: list[str], split: str, arc_dir: _Place | None, opener: Opener
) -> Iterator[Any]:
    return question_tables(files, arc_dir=arc_dir, opener=opener, split=split)


CONFIG_FORMATS = {
    **{config: _multihop(config, config) for config in CONFIGS},
    WORLD_CONFIG: _multihop(WORLD_CONFIG, DEFAULT_CONFIG),
    "arc_da": ConfigFormat(
        partial(find_question_splits, whole_zips=True),
        arc_da_features,
        _arc_da_tables,
        any_file=True,
    ),
}


def check_config(config: str) -> None:
    """Raise a `DataError` if there is no such config; the hint is for a path in its place."""
    if config not in CONFIG_VERSIONS:
        is_path = Path(config).expanduser().exists()
        hint = f"It is a path: give it as data_dir={config!r}. " if is_path else ""
        raise DataError(
            f"unknown config {config!r}", remedy=f"{hint}Known: {', '.join(CONFIG_VERSIONS)}"
        )


def features(config: str = DEFAULT_CONFIG) -> datasets.Features:
    """Return the typed columns of a config: lists of structs, the same for every split."""
    return CONFIG_FORMATS[config].features()


FEATURES = features(DEFAULT_CONFIG)
