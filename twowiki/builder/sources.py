"""What may be exported: files and folders, or data sets in memory, split by split.

A data set is a `Dataset`, a `DatasetDict`, their streamed kinds, a mapping from split to rows, or
rows, records or examples, which are the split `train`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from typing import Any, NamedTuple

from twowiki.data.configs import QUESTION_CONFIGS, SPLITS
from twowiki.data.schema import Example, config_of, parse_record
from twowiki.data.sources import read_examples
from twowiki.data.splits import find_splits, guess_config, split_named
from twowiki.errors import DataError

DatasetSource = Iterable[Any] | Mapping[str, Iterable[Any]]
_ROWS = 1000  # of a data set, taken at a time


class SourceSplits(NamedTuple):
    """The splits of a source, and its config."""

    config: str
    splits: dict[str, Any]  # paths, or rows

    def examples(self) -> Iterator[tuple[str, Iterator[Example]]]:
        """Yield each split with its examples, streamed."""
        for split, rows in self.splits.items():
            yield split, _examples(rows, self.config, split)

    def tables(self, split: str) -> Iterator[Any]:
        """Yield the Arrow tables of a split of a data set in memory, whatever its config."""
        from twowiki.data.arrow import tables

        rows = self.splits[split]
        if hasattr(rows, "with_format") and hasattr(rows, "num_rows"):
            yield from rows.with_format("arrow").iter(_ROWS)
        elif self.config in QUESTION_CONFIGS:
            yield from tables(_examples(rows, self.config, split), self.config)
        else:
            problem = f"rows of the config {self.config!r} are exported from a Dataset or a folder"
            raise DataError(problem, remedy="Load it without streaming, or name its folder")


def source_splits(
    source: DatasetSource | str | PathLike[str], config: str | None = None
) -> SourceSplits:
    """Return the splits of multi-hop questions of a path or of a data set.

    Raises:
        DataError: no such path, nothing in it, or a config of other records.
    """
    if isinstance(source, str | PathLike):
        config = config or guess_config(source)
        found = SourceSplits(config, dict(find_splits(source, _checked(config))))
    else:
        found = dataset_splits(source, config)
        _checked(found.config)
    return found


def dataset_splits(source: DatasetSource, config: str | None = None) -> SourceSplits:
    """Return the splits of a data set in memory."""
    if isinstance(source, bytes) or not isinstance(source, Iterable):
        problem = f"a {type(source).__name__} is neither a path nor a data set"
        raise DataError(problem, remedy="Pass a path, a Dataset, a DatasetDict, or rows")
    splits = dict(source) if isinstance(source, Mapping) else {_split_of(source): source}
    named = {split_named(str(split)): rows for split, rows in splits.items()}
    if not named or any(split not in (*SPLITS, "corpus") for split in named):
        problem = f"its splits are {', '.join(map(str, splits)) or 'none'}"
        raise DataError(problem, remedy=f"Name them {', '.join(SPLITS)}")
    ready = {split: _kept(rows) for split, rows in named.items()}
    return SourceSplits(config or _config_of(next(iter(ready.values()))), ready)


def _checked(config: str) -> str:
    if config not in QUESTION_CONFIGS:
        problem = f"the config {config!r} has other records than multi-hop questions"
        raise DataError(problem, remedy=f"It is one of {', '.join(QUESTION_CONFIGS)}")
    return config


def _kept(rows: Any) -> Any:
    """Return rows that can be looked at twice."""
    return rows if hasattr(rows, "features") or isinstance(rows, list | tuple) else list(rows)


def _split_of(rows: Any) -> str:
    """Return the split of a `Dataset` ("train[:10]" is train); of other rows, train."""
    name = str(getattr(rows, "split", None) or "train")
    return name.partition("[")[0].partition("+")[0]


def _config_of(rows: Any) -> str:
    info = getattr(rows, "info", None)
    named = getattr(info, "config_name", None)
    if named in QUESTION_CONFIGS or "question_id" in (getattr(rows, "features", None) or ()):
        return str(named)
    first: Any = next(iter(rows), {})
    return config_of(first)


def _examples(rows: Any, config: str, split: str) -> Iterator[Example]:
    if isinstance(rows, list) and rows and isinstance(rows[0], str | PathLike):
        yield from read_examples(rows, config, split)
        return
    for row in rows:
        yield row if isinstance(row, Example) else parse_record(row, config)
