"""The examples of a run: from files, a data folder, the download, or a fictional world.

In: a run's settings. Out: a `Source` per split, which streams its examples any number of times and
has a hash of its content. A split that is missing, or a file without its partner, is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from twowiki.data.configs import WORLD_CONFIG
from twowiki.data.schema import DEFAULT_CONFIG, Example
from twowiki.data.sources import read_examples
from twowiki.data.splits import find_splits, guess_config
from twowiki.errors import DataError, existing_file
from twowiki.io.stages import file_hash
from twowiki.training.mixing import NO_MIX, Mix, check_leaks, mixed, parse_mix
from twowiki.training.settings import MultihopSettings

DOWNLOAD = "download"
DEFAULT_WORLD = "people=800,films=600,seed=7,brief=1,balanced=1,limit_per_type=600"


@dataclass(frozen=True)
class Source:
    """The examples of one split.

    Attributes:
        name: its name in reports.
        files: its files.
        split: the split of the files.
        config: the release of the files.
        limit: use the first of the examples; 0 = all.
        paragraphs: most paragraphs of an example, see `with_fewer_paragraphs`; 0 = all.
        copies: copies of each example, with other paragraphs.
        mix: what is added to the examples.
    """

    name: str
    files: tuple[str, ...]
    split: str
    config: str = ""
    limit: int = 0
    paragraphs: int = 0
    copies: int = 1
    mix: Mix = NO_MIX

    def examples(self) -> Iterator[Example]:
        """Read the examples, streamed."""
        found = read_examples(self.files, self.config, self.split)
        found = islice(found, self.limit or None)
        if self.mix != NO_MIX:
            found = mixed(found, self.mix)
        if self.paragraphs:
            return with_fewer_paragraphs(found, self.paragraphs, self.copies)
        return found

    @property
    def described(self) -> str:
        """Where they are from, for people: the source, and its files where these differ."""
        files = ", ".join(self.files)
        return self.name if files == self.name else f"{self.name} ({files})"

    def content(self, folder: Path | None = None) -> str:
        """Return a hash of the examples; the files' own hashes are kept in the folder."""
        digests = [file_hash(path, folder) for path in self.files]
        parts = [*digests, self.split, self.config, str(self.limit)]
        if self.paragraphs:
            parts.append(f"{self.paragraphs} paragraphs, {self.copies} copies")
        if self.mix != NO_MIX:
            parts.append(self.mix.key())
        return hashlib.sha256("|".join(parts).encode()).hexdigest()


def with_fewer_paragraphs(
    examples: Iterable[Example], paragraphs: int, copies: int
) -> Iterator[Example]:
    """Yield copies of each example with its gold paragraphs and a draw of the others.

    Gold paragraphs are those of the supporting facts; all of them are kept, even where there are
    more, and in order. A draw depends only on the example's id and on the copies before it.

    Args:
        examples: the whole examples.
        paragraphs: most paragraphs of a copy, where its gold ones leave room.
        copies: copies of each; where more than one, `_0`, `_1` ... is appended to the id.
    """
    for example in examples:
        gold = {fact.title for fact in example.facts}
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


def find_sources(config: MultihopSettings) -> tuple[Source, Source]:
    """Return the training and the validation examples of a run.

    Raises:
        DataError: data that are missing, or added questions about evaluated paragraphs.
    """
    train, validation = _whole_sources(config)
    paragraphs, copies = config.train_paragraphs, config.train_copies
    mix = parse_mix(config.train_mix)
    if mix.files:
        check_leaks(mix.files, validation.examples())
    return replace(train, paragraphs=paragraphs, copies=copies, mix=mix), validation


def announce_world(config: MultihopSettings) -> list[str]:
    """Return a line on the world that a run trains on; none where it has data."""
    if config.train_file or config.validation_file or config.data_dir:
        return []
    start = "training" if config.world else "no data is given: training"
    return [f"{start} on a fictional world ({config.world or DEFAULT_WORLD})"]


def _whole_sources(config: MultihopSettings) -> tuple[Source, Source]:
    limits = config.max_train_samples, config.max_eval_samples
    if config.train_file or config.validation_file:
        if not (config.train_file and config.validation_file):
            missing = "validation_file" if config.train_file else "train_file"
            raise DataError("is missing", field=missing, remedy="Set both files, or data_dir")
        return (
            source_of_file(config.train_file, "train", limits[0], config.data_config),
            source_of_file(config.validation_file, "validation", limits[1], config.data_config),
        )
    if config.data_dir == DOWNLOAD:
        import datasets

        from twowiki.data import releases

        name = config.data_config or DEFAULT_CONFIG
        found: Any = releases.fetch(name, datasets.DownloadManager())
        return _of_splits(found, name, name, limits)
    if config.data_dir:
        place = Path(config.data_dir)
        name = config.data_config or guess_config(place)
        return _of_splits(find_splits(place, name), name, str(place), limits)
    return _of_world(config, limits)


def source_of_file(path: str, split: str, limit: int = 0, config: str = "") -> Source:
    """Return a file as one split, whatever its name; without a config its name decides that."""
    existing_file(path, "Name an official file (json, jsonl, gz, zip or Parquet)")
    return Source(path, (path,), split, config or guess_config(path), limit)


def _of_world(config: MultihopSettings, limits: tuple[int, int]) -> tuple[Source, Source]:
    """Generate the world of the settings, once, beside the encoded examples."""
    from twowiki.builder.fingerprint import code_hash
    from twowiki.worlds.dataset import certificate_of, world_files
    from twowiki.worlds.settings import parse_settings

    text = config.world or DEFAULT_WORLD
    cache = Path(config.cache_dir or config.output_dir)
    try:
        found: Any = world_files(parse_settings(text), cache, code_hash())
    except ModuleNotFoundError as error:
        raise DataError(
            f"generating a world needs the package {error.name!r}",
            field="world",
            remedy="Install it with: pip install 'twowiki[generate]', or set files",
        ) from None
    print(certificate_of(found))
    return _of_splits(found, WORLD_CONFIG, f"world {text}", limits)


def _of_splits(
    found: dict[str, Any], config: str, place: str, limits: tuple[int, int]
) -> tuple[Source, Source]:
    for split in ("train", "validation"):
        if not found.get(split):
            raise DataError(
                f"has no {split} split (found {', '.join(found) or 'none'})",
                file=place,
                remedy="Name the files train.json and dev.json, or set --train_file and "
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
