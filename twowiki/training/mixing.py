"""Further training examples: copies with other names, and files of generated questions.

In: what `train_mix` lists. Out: the training examples, then the added ones. A file whose gold
paragraphs are gold in the validation examples too is refused: it would tell their answers.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from twowiki.data.schema import Example
from twowiki.data.sources import read_examples
from twowiki.errors import DataError, existing_file
from twowiki.io.files import sha256_of

RENAMED_COPIES = "renamed"
_REMEDY = "Use renamed, renamed=N, or files of questions"
_WORD = re.compile(r"\w+")


class Mix(NamedTuple):
    """What is added to the training examples: copies with other names of each, and files."""

    copies: int = 0
    files: tuple[str, ...] = ()

    def key(self) -> str:
        """Return a text that changes with what is added; empty where nothing is."""
        parts = [sha256_of(path) for path in self.files]
        if self.copies:
            from twowiki.worlds import renaming

            parts.append(f"{self.copies} renamed by {sha256_of(str(renaming.__file__))}")
        return " ".join(parts)


NO_MIX = Mix()


def parse_mix(parts: Sequence[str]) -> Mix:
    """Read `renamed`, `renamed=N` and the names of files.

    Raises:
        DataError: neither such a word nor a file.
    """
    copies, files = 0, []
    for part in parts:
        name, _, count = part.partition("=")
        if name != RENAMED_COPIES:
            files.append(str(existing_file(part, _REMEDY)))
        elif count and not (count.isdecimal() and int(count)):
            problem = f"is {part!r}, whose number of copies is no positive number"
            raise DataError(problem, field="train_mix", remedy=_REMEDY)
        else:
            copies += int(count or 1)
    return Mix(copies, tuple(files))


def mixed(examples: Iterable[Example], mix: Mix) -> Iterator[Example]:
    """Yield the examples, each followed by its copies with other names, then those of the files.

    In each round of copies a name is the same one everywhere. `_renamed0`, `_renamed1` ... is
    appended to the ids of copies.
    """
    from twowiki.worlds.renaming import Renamer

    renamers = [Renamer(f"train mix {number}") for number in range(mix.copies)]
    for example in examples:
        yield example
        for number, renamer in enumerate(renamers):
            copy = renamer.rename(example).example
            yield copy._replace(id=f"{example.id}_{RENAMED_COPIES}{number}")
    for path in mix.files:
        yield from read_examples(path)


def check_leaks(files: Iterable[str], evaluated: Iterable[Example]) -> None:
    """Refuse files of training questions that share gold paragraphs with evaluated ones.

    Raises:
        DataError: with the first title that is shared.
    """
    names = list(files)
    if not names:
        return
    held = {key for example in evaluated for key, _ in gold_paragraph_keys(example)}
    for path in names:
        for example in read_examples(path):
            for key, title in gold_paragraph_keys(example):
                if key in held:
                    raise DataError(
                        f"has the gold paragraph {title!r} of an evaluated question",
                        file=Path(path),
                        record=example.id,
                        field="train_mix",
                        remedy="Generate from pages that are gold in no evaluated question",
                    )


def gold_paragraph_keys(example: Example) -> Iterator[tuple[str, str]]:
    """Yield a key of the words of each gold paragraph, and its title."""
    gold = {fact.title for fact in example.facts}
    for title, sentences in example.context:
        if title in gold:
            words = " ".join(_WORD.findall(" ".join(sentences).casefold()))
            yield hashlib.sha256(words.encode("utf-8", "replace")).hexdigest(), title
