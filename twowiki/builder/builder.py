"""The `datasets` builder and `twowiki.load_dataset`.

One registered class serves every config (2WikiMultiHopQA's releases, HotpotQA, ARC-DA). Its cache
is keyed on this package's code and on each file's size and time, so that no call returns stale
rows. Importing this module registers the builder.
"""

from __future__ import annotations

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

from twowiki.builder.features import CONFIG_FORMATS, check_config, features
from twowiki.builder.fingerprint import cache_key, code_hash, is_globbed
from twowiki.builder.registration import NAME, register
from twowiki.data import releases
from twowiki.data.arrow import check_unique_ids
from twowiki.data.schema import DEFAULT_CONFIG
from twowiki.data.splits import guess_config, is_data_file, is_local
from twowiki.errors import DataError, nearest
from twowiki.io.records import sniff
from twowiki.worlds import dataset as worlds
from twowiki.worlds.settings import WorldOptions


class LoadError(DataError, DatasetGenerationError):
    """A `DataError` that `datasets` passes on as it is, instead of its own general one."""


@dataclass
class TwoWikiBuilderConfig(WorldOptions, datasets.BuilderConfig):
    """A release in `data_dir` or `data_files`, or a world and its options."""

    arc_dir: str | None = None  # arc_da: the folder of ARC's own files, for choices and keys


class TwoWiki(datasets.ArrowBasedBuilder):
    """Typed rows of any config; `twowiki.load_dataset` is the short way to it.

    Configs: `data_ids_april7` (default), `data_ids`, `data`, `hotpotqa`, `arc_da`, `world`.
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
        places = (kwargs.get("data_dir"), kwargs.get("data_files"), kwargs.get("arc_dir"))
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
            description=self.config.description,
            features=features(name),
            homepage=releases.HOMEPAGES[name],
            license=releases.LICENSES[name],
            citation=releases.CITATIONS[name],
            version=self.config.version,
        )

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        with _passed_on():
            splits = self._files(dl_manager)
        return [
            datasets.SplitGenerator(name=split, gen_kwargs={"files": files, "split": split})
            for split, files in splits.items()
        ]

    def _files(self, dl_manager: Any) -> dict[str, list[str]]:
        name, place, given = self.config.name, self.config.data_dir, self.config.data_files
        if made := worlds.made_files(self.config, self._cache_dir_root, code_hash()):
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
            stream = read_tables(files, split, self.config.arc_dir, self._open)
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
    config: str | None = None,
    data_dir: str | PathLike[str] | None = None,
    *,
    split: Any = None,
    streaming: bool = False,
    data_files: Any = None,
    arc_dir: str | PathLike[str] | None = None,
    **options: Any,
) -> Any:
    """Load a data set as `datasets.load_dataset("twowiki", ...)` does, without its traps.

    Args:
        config: `data_ids_april7` (default), `data_ids`, `data`, `hotpotqa`, `arc_da` or `world`;
            by default `data_dir`'s name decides.
        data_dir: a folder, a zip or a file. Only files named after splits are read, and nothing
            else is searched. Without it, the authors' archive is downloaded (259 MB), checked
            and cached.
        split: as in `datasets`: `"train"`, `"validation[:10%]"`, ...
        streaming: return an `IterableDataset`; memory stays flat.
        data_files: a file, files, or a dict from split to files, instead of `data_dir`.
        arc_dir: for `arc_da`, the folder of ARC's own files: adds choices and keys.
        options: whatever else `datasets.load_dataset` takes (`cache_dir`, `num_proc`, ...); for
            `world` those of `twowiki.worlds.settings.WorldOptions` (`people`, `films`, ...).

    Returns:
        What `datasets.load_dataset` returns. Hidden gold is None or an empty list.

    Raises:
        DataError: input that cannot be used, with file, record, field and remedy.
    """
    register()
    check_options(options)
    if data_dir == "" or (data_files is not None and not data_files):
        raise DataError("data_dir or data_files is empty", remedy="Name a folder or a file")
    if data_dir is not None and is_local(data_dir):
        data_dir = Path(data_dir).expanduser()
    config = config or (guess_config(data_dir) if data_dir is not None else DEFAULT_CONFIG)
    check_config(config)
    if config == worlds.WORLD_CONFIG:
        data_files = worlds.PLACEHOLDER
    if data_files is None:
        if data_dir is None:
            data_files = releases.fetch(config, _downloader())
        elif is_local(data_dir):
            data_files = CONFIG_FORMATS[config].find_files(data_dir)
        else:
            options["data_dir"] = str(data_dir)
    if arc_dir is not None:
        options["arc_dir"] = str(arc_dir)
    return datasets.load_dataset(
        NAME,
        config,
        data_files=absolute(data_files),
        split=split,
        streaming=streaming,
        **options,
    )


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
