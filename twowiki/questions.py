"""The examples of one split, for commands that look at questions."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike

from twowiki.schema import Example
from twowiki.sources import find_splits, guess_config, read_examples


def examples_of(
    source: str | PathLike[str], config: str | None = None, split: str | None = None
) -> Iterator[Example]:
    """Stream a split's examples.

    Args:
        source: a file, a release's zip, or a folder.
        config: a release's name; by default told from the source.
        split: by default the validation split, or the only one there is.
    """
    config = config or guess_config(source)
    if split is None:
        splits = find_splits(source, config)
        split = next(iter(splits)) if len(splits) == 1 else "validation"
    return read_examples(source, config, split)
