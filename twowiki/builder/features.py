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
from twowiki.data.amendments import Amendments, read_amendments
from twowiki.data.arrow import check_datasets, list_of, tables
from twowiki.data.configs import (
    DEFAULT_CONFIG,
    HOTPOT_CONFIG,
    LAYOUT_CONFIG,
    MADE_CONFIGS,
    PAGES_CONFIG,
    QUESTION_CONFIGS,
    types_of,
)
from twowiki.data.pages import find_pages, page_features, page_tables
from twowiki.data.sources import read_examples
from twowiki.data.splits import find_splits
from twowiki.data.sub_questions import with_sub_questions
from twowiki.errors import DataError
from twowiki.io.records import Opener
from twowiki.worlds.corpus import CORPUS_CONFIG, CORPUS_FILE, corpus_features, corpus_tables

check_datasets()

_Place = str | PathLike[str]


class ConfigFormat(NamedTuple):
    """How the files of a config are found, typed and read.

    Attributes:
        find_files: a folder, zip or file -> the files of each split.
        features: the typed columns.
        read_tables: files, split, folder of ARC's files, opener -> Arrow tables; questions also
            take `amendments`.
        any_file: whether any file of a folder may be read (ARC's archives), not only data files.
    """

    find_files: Callable[[_Place], dict[str, list[str]]]
    features: Callable[[], datasets.Features]
    read_tables: Callable[..., Iterator[Any]]
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
        "sub_questions": list_of(
            {"hop": datasets.Value("int32"), "question": text, "answer": text}
        ),
    }
    if config in MADE_CONFIGS:
        columns["hops"] = datasets.Value("int32")
    if config in (HOTPOT_CONFIG, LAYOUT_CONFIG):
        columns["level"] = text
    if config == LAYOUT_CONFIG:
        columns["answer_aliases"] = list_of(text)
        columns["supporting_paragraphs"] = list_of(datasets.Value("int32"))
        columns["answerable"] = datasets.Value("bool")
    return datasets.Features(columns)


def _multihop_tables(
    config: str,
    files: list[str],
    split: str,
    arc_dir: _Place | None,
    opener: Opener,
    amendments: Amendments | None = None,
) -> Iterator[Any]:
    examples = read_examples(files, config, split, opener)
    if config in MADE_CONFIGS:
        examples = with_sub_questions(examples)
    return tables(examples if amendments is None else amendments.amend(examples), config)


def amendments_for(config: str, source: _Place | None) -> dict[str, Amendments]:
    """Return the argument of `read_tables` that amends a config's gold; none without a source."""
    if source is None:
        return {}
    if config not in QUESTION_CONFIGS:
        raise DataError(f"the config {config!r} cannot be amended", field="amendments")
    return {"amendments": read_amendments(source)}


def _multihop(config: str) -> ConfigFormat:
    """Return the format of a config of multi-hop questions."""
    return ConfigFormat(
        lambda place: find_splits(place, config),
        partial(_multihop_features, config),
        partial(_multihop_tables, config),
    )


def _arc_da_tables(
    files: list[str], split: str, arc_dir: _Place | None, opener: Opener
) -> Iterator[Any]:
    return question_tables(files, arc_dir=arc_dir, opener=opener, split=split)


CONFIG_FORMATS = {
    **{config: _multihop(config) for config in QUESTION_CONFIGS},
    PAGES_CONFIG: ConfigFormat(
        find_pages,
        page_features,
        lambda files, split, arc_dir, opener: page_tables(files, opener),
    ),
    CORPUS_CONFIG: ConfigFormat(
        lambda place: {"corpus": [str(Path(place) / CORPUS_FILE)]},
        corpus_features,
        lambda files, split, arc_dir, opener: corpus_tables(files),
    ),
    "arc_da": ConfigFormat(
        partial(find_question_splits, whole_zips=True),
        arc_da_features,
        _arc_da_tables,
        any_file=True,
    ),
}


def check_config(config: str) -> None:
    """Raise a `DataError` if there is no such config."""
    if config not in CONFIG_FORMATS:
        remedy = f"Known: {', '.join(CONFIG_FORMATS)}; or name a file or folder that exists"
        raise DataError(f"unknown config {config!r}", remedy=remedy)


def features(config: str = DEFAULT_CONFIG) -> datasets.Features:
    """Return the typed columns of a config: lists of structs, the same for every split."""
    return CONFIG_FORMATS[config].features()


FEATURES = features(DEFAULT_CONFIG)
