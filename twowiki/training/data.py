"""Where a run's examples come from: files, a data set, the download, a world, made-up ones.

A `Source` can be read again and again, streamed; its `content` hash says what it holds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from twowiki.data.schema import DEFAULT_CONFIG, Example
from twowiki.data.sources import find_splits, guess_config, read_examples
from twowiki.errors import DataError, require_file
from twowiki.io.files import sha256_of
from twowiki.training import tiny_data
from twowiki.training.settings import MultihopConfig

DOWNLOAD = "download"
DEFAULT_WORLD = "people=800,films=600,seed=7,brief=1,limit_per_type=600"
TINY_SEED, TINY_VALIDATION_SEED = 7, 8


@dataclass(frozen=True)
class Source:
    """The examples of one split.

    Attributes:
        name: what a report calls it.
        files: its files; none for made-up examples.
        split: split of the files.
        config: release of the files.
        limit: use the first of the examples; 0 = all.
        made_up: number of made-up examples, and their seed.
        paragraphs: most paragraphs of an example, see `with_fewer_paragraphs`; 0 = all.
        copies: times that each example comes, with other paragraphs.
    """

    name: str
    files: tuple[str, ...] = ()
    split: str = "train"
    config: str = ""
    limit: int = 0
    made_up: tuple[int, int] = (0, 0)
    paragraphs: int = 0
    copies: int = 1

    def examples(self) -> Iterator[Example]:
        """Read the examples, streamed."""
        found: Iterator[Example]
        if self.files:
            found = read_examples(self.files, self.config, self.split)
        else:
            count, seed = self.made_up
            found = iter(tiny_data.tiny_examples(count, seed=seed))
        found = islice(found, self.limit or None)
        return (
            with_fewer_paragraphs(found, self.paragraphs, self.copies) if self.paragraphs else found
        )

    def content(self) -> str:
        """Hash what the examples hold."""
        if self.files:
            digests = [sha256_of(path) for path in self.files]
        else:
            digests = [sha256_of(str(tiny_data.__file__)), repr(self.made_up)]
        parts = [*digests, self.split, self.config, str(self.limit)]
        if self.paragraphs:
            parts.append(f"{self.paragraphs} paragraphs, {self.copies} copies")
        return hashlib.sha256("|".join(parts).encode()).hexdigest()


def with_fewer_paragraphs(
    examples: Iterable[Example], paragraphs: int, copies: int
) -> Iterator[Example]:
    """Give each example some times, with its gold paragraphs and a draw of the others.

    Gold paragraphs are those of the supporting facts; all stay, also where they are more, and all
    stay in order. A draw depends on the example's id alone, and on the copies before it.

    Args:
        examples: what is shortened.
        paragraphs: most paragraphs of a copy, where its gold ones leave room.
        copies: times that each comes; where more than one, `_0`, `_1` ... is put after its id.
    """
    for example in examples:
        gold = {fact.title for fact in example.supporting_facts}
        rest = [n for n, paragraph in enumerate(example.context) if paragraph.title not in gold]
        room = max(0, paragraphs - (len(example.context) - len(rest)))
        rng = Random(example.id)
        for copy in range(copies):
            drawn = set(rng.sample(rest, min(room, len(rest))))
            context = tuple(
                paragraph
                for n, paragraph in enumerate(example.context)
                if paragraph.title in gold or n in drawn
            )
            number = f"_{copy}" if copies > 1 else ""
            yield example._replace(id=f"{example.id}{number}", context=context)


def find_sources(config: MultihopConfig) -> tuple[Source, Source]:
    """Find the training and the validation examples that a run asks for."""
    train, validation = _whole_sources(config)
    paragraphs, copies = config.train_paragraphs, config.train_copies
    return replace(train, paragraphs=paragraphs, copies=copies), validation


def _whole_sources(config: MultihopConfig) -> tuple[Source, Source]:
    limits = config.max_train_examples, config.max_validation_examples
    if config.train_file or config.validation_file:
        if not (config.train_file and config.validation_file):
            missing = "validation_file" if config.train_file else "train_file"
            raise DataError("is needed too", field=missing, remedy="Give both files, or data_dir")
        return (
            source_of_file(config.train_file, "train", limits[0]),
            source_of_file(config.validation_file, "validation", limits[1]),
        )
    if config.data_dir == DOWNLOAD:
        import datasets

        from twowiki.data import releases

        found: Any = releases.fetch(config.data_config, datasets.DownloadManager())
        return _of_splits(found, config.data_config, config.data_config, limits)
    if config.data_dir:
        place = Path(config.data_dir)
        name = (
            guess_config(place)
            if config.data_config == MultihopConfig.data_config
            else config.data_config
        )
        return _of_splits(find_splits(place, name), name, str(place), limits)
    if not config.tiny_examples:
        return _of_world(config, limits)
    count = config.tiny_examples
    return (
        Source("made-up examples", limit=limits[0], made_up=(count, TINY_SEED)),
        Source(
            "made-up examples",
            split="validation",
            limit=limits[1],
            made_up=(max(40, count // 10), TINY_VALIDATION_SEED),
        ),
    )


def source_of_file(path: str, split: str, limit: int = 0) -> Source:
    """Take a file as one split, whatever its name says."""
    require_file(path, "Give the path of an official file (json, jsonl, gz, zip or Parquet)")
    return Source(path, (path,), split, guess_config(path), limit)


def _of_world(config: MultihopConfig, limits: tuple[int, int]) -> tuple[Source, Source]:
    """Make the world that the settings ask for (once, beside the encoded examples)."""
    from twowiki.builder.fingerprint import code_hash
    from twowiki.worlds.dataset import world_files
    from twowiki.worlds.settings import parse_settings

    text = config.world or DEFAULT_WORLD
    cache = Path(config.cache_dir or config.output_dir)
    try:
        found: Any = world_files(parse_settings(text), cache, code_hash())
    except ModuleNotFoundError as error:
        raise DataError(
            f"making a world needs the package {error.name!r}",
            field="world",
            remedy="Install it with: pip install 'twowiki[generate]', or give files",
        ) from None
    return _of_splits(found, DEFAULT_CONFIG, f"world {text}", limits)


def _of_splits(
    found: dict[str, Any], config: str, place: str, limits: tuple[int, int]
) -> tuple[Source, Source]:
    for split in ("train", "validation"):
        if not found.get(split):
            raise DataError(
                f"has no {split} split (found {', '.join(found) or 'none'})",
                file=place,
                remedy="Name the files train.json and dev.json, or give --train_file and "
                "--validation_file",
            )
    splits = ("train", "validation")
    files = {split: found[split] for split in splits}
    paths = {
        split: (files[split],) if isinstance(files[split], str) else tuple(files[split])
        for split in splits
    }
    return tuple(  # type: ignore[return-value]
        Source(place, paths[split], split, config, limit)
        for split, limit in zip(splits, limits, strict=True)
    )
