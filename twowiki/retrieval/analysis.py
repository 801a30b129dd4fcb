"""Text into the words that an index holds, the same for corpus and question and for each engine.

`std` cuts as search servers' standard analyzer does, in lower case. `en` also drops 33 English
stop words and stems by Porter. Which of the two is used moves the results more than the engine
does, so it stands in the index, and an index asks its questions with its own analyzer. Pure.
"""

from __future__ import annotations

import re
from functools import lru_cache

from twowiki.arc_da.metric.scoring import stem
from twowiki.errors import DataError

ANALYZERS = ("en", "std")
VERSION = 1  # of the rules below; an index of another version is refused
STOP_WORDS = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then "
    "there these they this to was will with".split()
)
_ALONE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # signs that are words of their own
_WORD = rf"[^\W{_ALONE}]"
_WORDS = re.compile(
    rf"[{_ALONE}]|{_WORD}+(?:(?:(?<=\d)[.,;](?=\d)|(?<=[^\W\d_])['\u2019.:\u00b7](?=[^\W\d_]))"
    rf"{_WORD}+)*"
)
_POSSESSIVE = re.compile(r"['\u2019]s$")


def analyze(text: str, analyzer: str) -> list[str]:
    """Cut a text into index words.

    Args:
        text: a sentence or a question.
        analyzer: `en` or `std`.
    """
    words = _WORDS.findall(text.lower())
    if analyzer == "std":
        return words
    return [made for word in words if (made := _english(word))]


def checked_analyzer(name: str) -> str:
    """Give a name back if there is such an analyzer.

    Raises:
        DataError: there is none.
    """
    if name not in ANALYZERS:
        remedy = f"It is one of {', '.join(ANALYZERS)}"
        raise DataError(f"unknown analyzer {name!r}", field="analyzer", remedy=remedy)
    return name


def plain_key(text: str) -> str:
    """Give what two spellings of one sentence share: letters and digits, in lower case."""
    return " ".join(_WORDS.findall(text.lower()))


@lru_cache(maxsize=1 << 17)
def _english(word: str) -> str:
    plain = _POSSESSIVE.sub("", word)
    if plain in STOP_WORDS:
        return ""
    return stem(plain) if plain.isascii() and plain.isalpha() else plain
