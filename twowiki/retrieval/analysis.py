"""The words of a text that an index holds, the same for corpus, questions and every engine. Pure.

`std` splits as the standard analyzer of search servers does, in lower case. `en` also drops 33
English stop words and stems by Porter. The choice affects results more than the engine does, so
the index records it, and questions are analyzed as the index was.
"""

from __future__ import annotations

import re
from functools import lru_cache

from twowiki.arc_da.metric.scoring import stem
from twowiki.errors import DataError

ANALYZERS = ("en", "std")
ANALYZER_VERSION = 1  # of the rules below; an index of another version is refused
_STOP_WORDS = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then "
    "there these they this to was will with".split()
)
_ALONE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # each is a word
_WORD = rf"[^\W{_ALONE}]"
_WORDS = re.compile(
    rf"[{_ALONE}]|{_WORD}+(?:(?:(?<=\d)[.,;](?=\d)|(?<=[^\W\d_])['\u2019.:\u00b7](?=[^\W\d_]))"
    rf"{_WORD}+)*"
)
_POSSESSIVE = re.compile(r"['\u2019]s$")


def analyze(text: str, analyzer: str) -> list[str]:
    """Return the index words of a text.

    Args:
        text: a sentence or a question.
        analyzer: `en` or `std`.
    """
    words = _WORDS.findall(text.lower())
    if analyzer == "std":
        return words
    return [made for word in words if (made := _english(word))]


def check_analyzer(name: str) -> None:
    """Raise if there is no such analyzer."""
    if name not in ANALYZERS:
        remedy = f"It is one of {', '.join(ANALYZERS)}"
        raise DataError(f"unknown analyzer {name!r}", field="analyzer", remedy=remedy)


def plain_key(text: str) -> str:
    """Return what two spellings of one sentence share: letters and digits, in lower case."""
    return " ".join(_WORDS.findall(text.lower()))


@lru_cache(maxsize=1 << 17)
def _english(word: str) -> str:
    plain = _POSSESSIVE.sub("", word)
    if plain in _STOP_WORDS:
        return ""
    return stem(plain) if plain.isascii() and plain.isalpha() else plain
