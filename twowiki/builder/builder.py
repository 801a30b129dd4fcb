"""The `datasets` builder and `twowiki.load_dataset`.

One registered class serves every config (2WikiMultiHopQA's releases, HotpotQA, ARC-DA). Its cache
is keyed on this package's code and on each file's size and time, so that no call returns stale
rows. Importing this module registers the builder.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from glob import escape, has_magic
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import IO, Any

import datasets
from datasets.exceptions import DatasetGenerationError
from datasets.utils.file_utils import xopen

from twowiki.builder.features import CONFIG_FORMATS, amendments_for, check_config, features
from twowiki.builder.fingerprint import cache_key, code_hash, is_globbed
from twowiki.builder.registration import NAME, register
from twowiki.data import releases
from twowiki.data.arrow import check_unique_ids
from twowiki.data.configs import DEFAULT_CONFIG
from twowiki.data.splits import (
    guess_config,
    is_data_file,
    is_local,
    split_expression,
    split_of,
    split_of_file,
)
from twowiki.errors import DataError, nearest
from twowiki.io.archives import is_zip
from twowiki.io.records import sniff
from twowiki.worlds import dataset as worlds
from twowiki.worlds.settings import WorldOptions


class LoadError(DataError, DatasetGenerationError):
    """A `DataError` that `datasets` passes on as it is, instead of its own general one."""


@dataclass
class TwoWikiBuilderConfig(WorldOptions, datasets.BuilderConfig):
    """A release in `data_dir` or `data_files`, or a world and its options."""

    arc_dir: str | None = None  # arc_da: the folder of ARC's own files, for choices and keys
    amendments: str | None = None  # a file of amendments of the gold


class TwoWiki(datasets.ArrowBasedBuilder):
    """Typed rows of any config; `twowiki.load_dataset` is the short way to it.

    Configs: `data_ids_april7` (default), `data_ids`, `data`, `hotpotqa`, `arc_da`, `world`,
    `world_corpus`, `generated`, `multihop`, `para_with_hyperlink`.
    Splits: `train`, `validation`, `test`, as far as their files are there.
    """

    BUILDER_CONFIG_CLASS = TwoWikiBuilderConfig
    BUILDER_CONFIGS = [  # noqa: RUF012 (the name and form that `datasets` reads)
        TwoWikiBuilderConfig(name=name, version=datasets.Version(version), description=text)
        for (name, version), text in zip(
            releases.CONFIG_VERSIONS.items(), releases.DESCRIPTIONS.values(), strict=True
        )
    ]
    DEFAULT_CONFIG_NAME = DEFAULT_CONFIG

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["dataset_name"] = kwargs.get("dataset_name") or NAME
        places = [kwargs.get(name) for name in ("data_dir", "data_files", "arc_dir", "amendments")]
        known = CONFIG_FORMATS.get(kwargs.get("config_name") or DEFAULT_CONFIG)
        any_file = known is not None and known.any_file
        kwargs["hash"] = cache_key(kwargs.get("hash"), places, deep=any_file)
        super().__init__(*args, **kwargs)

    def get_exported_dataset_info(self) -> datasets.DatasetInfo:
        """Return nothing: a card's sizes are the release's, not those of the files at hand."""
        return datasets.DatasetInfo()

    def _info(self) -> datasets.DatasetInfo:
        name = self.config.name
        return datasets.DatasetInfo(
            description=self.config.description + self._amended(),
            features=features(name),
            homepage=releases.HOMEPAGES[name],
            license=releases.LICENSES[name],
            citation=releases.CITATIONS[name],
            version=self.config.version,
        )

    def _amended(self) -> str:
        with _passed_on():
            found = amendments_for(self.config.name, self.config.amendments)
        return "".join(f" Gold amended by {one.name}." for one in found.values())

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        with _passed_on():
            splits = self._files(dl_manager)
        return [
            datasets.SplitGenerator(name=split, gen_kwargs={"files": files, "split": split})
            for split, files in splits.items()
        ]

    def _files(self, dl_manager: Any) -> dict[str, list[str]]:
        name, place, given = self.config.name, self.config.data_dir, self.config.data_files
        named = name in worlds.WORLD_CONFIGS and _names_data(place, given)
        made = worlds.made_files(self.config, self._cache_dir_root, code_hash(), named=named)
        if made:
            return made
        found: dict[str, list[str]] = {}
        if place is not None and is_local(place):
            place = Path(place).expanduser()
            try:
                found = CONFIG_FORMATS[name].find_files(place)
            except DataError:
                if not given or is_globbed(given, str(Path(place).resolve())):
                    raise
            wanted = {str(Path(path).resolve()) for paths in found.values() for path in paths}
            known = {path for paths in (given or {}).values() for path in paths}
            if found and (not given or wanted <= known or has_magic(str(place))):
                return found
        if given:
            chosen = {str(split): [str(path) for path in paths] for split, paths in given.items()}
            check_data_files(chosen)
            if dl_manager.is_streaming:
                return chosen
            return {split: list(dl_manager.download(paths)) for split, paths in chosen.items()}
        return releases.fetch(name, _downloader())

    def as_dataset(self, split: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Return the prepared data set; `dev` is another name of `validation`."""
        return super().as_dataset(split_expression(split), *args, **kwargs)

    def as_streaming_dataset(self, split: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Return a streamed data set; `dev` is another name of `validation`."""
        return super().as_streaming_dataset(split_expression(split), *args, **kwargs)

    def _prepare_split(self, split_generator: Any, *args: Any, **kwargs: Any) -> None:
        super()._prepare_split(split_generator, *args, **kwargs)
        if (kwargs.get("num_proc") or 1) > 1:  # each process has seen only the ids of its files
            with _passed_on():
                check_unique_ids(
                    Path(self._output_dir), f"{self.dataset_name}-{split_generator.name}"
                )

    def _generate_tables(self, files: list[str], split: str) -> Iterator[tuple[int, Any]]:
        with _passed_on():
            number = -1
            read_tables = CONFIG_FORMATS[self.config.name].read_tables
            amended = amendments_for(self.config.name, self.config.amendments)
            stream = read_tables(files, split, self.config.arc_dir, self._open, **amended)
            for number, table in enumerate(stream):
                yield number, table
            if number < 0:
                raise DataError(
                    f"no records for the split {split!r}",
                    file=", ".join(files),
                    remedy="Remove the file, or name the one that holds the records",
                )

    def _open(self, path: str | PathLike[str], mode: str = "rb") -> IO[bytes]:
        if is_local(path):
            return open(path, mode)
        settings = datasets.DownloadConfig(token=self.token, storage_options=self.storage_options)
        return xopen(str(path), mode, download_config=settings)  # type: ignore[no-any-return]


def check_options(options: Iterable[str]) -> None:
    """Raise if an option belongs neither to `datasets.load_dataset` nor to any config."""
    known = {field.name for field in fields(TwoWikiBuilderConfig)}
    known |= signature(datasets.load_dataset).parameters.keys()
    for name in sorted(set(options) - known):
        near = nearest(name, known)
        remedy = f"Did you mean {near}?" if near else "See the docstring of load_dataset"
        raise DataError("unknown option", field=name, remedy=remedy)


def load_dataset(
    config: str | PathLike[str] | None = None,
    data_dir: str | PathLike[str] | None = None,
    *,
    split: Any = None,
    streaming: bool = False,
    data_files: Any = None,
    arc_dir: str | PathLike[str] | None = None,
    amendments: str | PathLike[str] | None = None,
    **options: Any,
) -> Any:
    """Load a data set as `datasets.load_dataset("twowiki", ...)` does, without its traps.

    Args:
        config: `data_ids_april7` (default), `data_ids`, `data`, `hotpotqa`, `world`,
            `world_corpus` (all pages of a world), `generated`, `multihop` (files of other tools)
            or `arc_da`; by default the name and the first record of `data_dir` decide. A path
            in this place is taken as `data_dir`.
        data_dir: a folder, a zip or a file. Of a folder only files named after splits are read,
            and nothing else is searched. The split of a single file is told by its name, and
            named on standard error. Without `data_dir`, the authors' archive is downloaded
            (259 MB), checked and cached.
        split: as in `datasets`: `"train"`, `"validation[:10%]"`, ...; `dev` is `validation`.
        streaming: return an `IterableDataset`; memory stays flat.
        data_files: a file, files, or a dict from split to files, instead of `data_dir`.
        arc_dir: for `arc_da`, the folder of ARC's own files: adds choices and keys.
        amendments: a file of amendments of the gold (docs/audit.md); the description names it.
        options: whatever else `datasets.load_dataset` takes (`cache_dir`, `num_proc`, ...); for
            the worlds those of `twowiki.worlds.settings.WorldOptions` (`people`, `films`, ...).

    Returns:
        What `datasets.load_dataset` returns. Hidden gold is None or an empty list.

    Raises:
        DataError: input that cannot be used, with file, record, field and remedy.
    """
    register()
    check_options(options)
    if data_dir == "" or (data_files is not None and not data_files):
        raise DataError("data_dir or data_files is empty", remedy="Name a folder or a file")
    if data_dir is None and data_files is None and _is_path(config):
        config, data_dir = None, config
    if data_dir is not None and is_local(data_dir):
        data_dir = Path(data_dir).expanduser()
    data_files = _by_split(data_files)
    config = os.fspath(config) if config is not None else _config_of(data_dir, data_files)
    check_config(config)
    if config in worlds.WORLD_CONFIGS and data_dir is None and data_files is None:
        data_files = worlds.PLACEHOLDER
    if data_files is None:
        if data_dir is None:
            data_files = releases.fetch(config, _downloader())
        elif is_local(data_dir):
            data_files = CONFIG_FORMATS[config].find_files(data_dir)
            _name_split(data_files)
        else:
            options["data_dir"] = str(data_dir)
    if config in worlds.WORLD_CONFIGS and data_files != worlds.PLACEHOLDER:
        options.setdefault("data_dir", _folder_of(data_files))  # these files, no fresh world
    if arc_dir is not None:
        options["arc_dir"] = str(arc_dir)
    if amendments is not None:
        amendments_for(config, amendments)  # a file that cannot be used is refused at once
        options["amendments"] = str(Path(amendments).expanduser().resolve())
    return datasets.load_dataset(
        NAME,
        config,
        data_files=absolute(data_files),
        split=split_expression(split),
        streaming=streaming,
        **options,
    )


def _is_path(config: str | PathLike[str] | None) -> bool:
    """Return whether what stands in the place of a config is a path."""
    if config is None or config in CONFIG_FORMATS:
        return False
    name = os.fspath(config)
    return not is_local(name) or is_data_file(name) or Path(name).expanduser().exists()


def _by_split(data_files: Any) -> Any:
    """Return files by split: `dev` is `validation`, and a single file's name tells its split."""
    if isinstance(data_files, Mapping):
        return {split_expression(split): paths for split, paths in data_files.items()}
    if isinstance(data_files, str | PathLike) and is_local(data_files):
        path = Path(data_files).expanduser()
        if path.is_file() and not is_zip(path):
            data_files = {split_of_file(path): [str(path)]}
            _name_split(data_files)
    return data_files


def _config_of(data_dir: Any, data_files: Any) -> str:
    """Return the config that the data show by name or content."""
    if data_dir is not None:
        return guess_config(data_dir)
    paths = data_files.values() if isinstance(data_files, Mapping) else [data_files]
    for path in paths:
        first = path[0] if isinstance(path, list | tuple) and path else path
        if isinstance(first, str | PathLike) and is_local(first):
            return guess_config(Path(first).expanduser())
    return DEFAULT_CONFIG


def _name_split(splits: Mapping[str, list[str]]) -> None:
    """Name the split of a single file, for its name alone decides."""
    (split, paths), *others = splits.items()
    if not others and len(paths) == 1 and split_of(paths[0]) is None:
        print(f"{paths[0]}: read as the split {split!r}, by its name", file=sys.stderr)


def _folder_of(data_files: Any) -> str:
    """Return the folder of the first named file."""
    while not isinstance(data_files, str | PathLike):
        listed = data_files.values() if isinstance(data_files, Mapping) else data_files
        data_files = next(iter(listed))
    return str(Path(data_files).expanduser().resolve().parent)


def _names_data(place: Any, given: Any) -> bool:
    """Return whether data are named: not a fresh world's placeholder, nor what a search found."""
    if place is not None or not given:
        return place is not None
    names = {Path(str(path)).name for paths in given.values() for path in paths}
    fresh = all(name.endswith(".py") for name in names)  # this module's, or the registration's
    return not fresh and not is_globbed(given, str(Path().resolve()))


def _downloader() -> datasets.DownloadManager:
    """Return a manager that really downloads, also for streaming: remote zips stream badly.

    A checked archive stays in the cache; its server, which may be gone, is not asked again.
    """
    return datasets.DownloadManager(download_config=datasets.DownloadConfig(use_etag=False))


@contextmanager
def _passed_on() -> Iterator[None]:
    """Turn a `DataError` into one that `datasets` does not wrap."""
    try:
        yield
    except DataError as error:
        raise LoadError(
            error.problem,
            file=error.file,
            record=error.record,
            field=error.field,
            remedy=error.remedy,
        ) from None


register()


def absolute(data_files: Any) -> Any:
    """Make paths absolute, so that one file is one cache entry whatever the working directory."""
    if isinstance(data_files, str | PathLike):
        path = str(data_files)
        if is_local(path) and Path(path).expanduser().is_file():
            return escape(str(Path(path).expanduser().resolve()))
        if is_local(path) and not has_magic(path):
            raise DataError("no such file", file=path, remedy="Check the path in data_files")
        return path
    if isinstance(data_files, Mapping):
        return {split: absolute(paths) for split, paths in data_files.items()}
    if isinstance(data_files, Iterable):
        return [absolute(path) for path in data_files]
    return data_files


def check_data_files(splits: Mapping[str, list[str]]) -> None:
    """Raise for what a search of the working directory finds by accident: code, notes, logs."""
    for path in (path for paths in splits.values() for path in paths if is_local(path)):
        if not is_data_file(path) and sniff(path) == "other":
            raise DataError(
                "not a data file of this data set",
                file=path,
                remedy="Name the folder or the files: load_dataset('twowiki', ..., data_dir=...); "
                "without them use twowiki.load_dataset(...), which downloads the release",
            )
