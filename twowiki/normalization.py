"""The evaluators' two ways of levelling spelling, remembered, and an optional Unicode folding.

In: texts as they stand in gold and predictions. Out: the form in which they are compared. Letters
that only Unicode knows (typographic dashes and quotes, accents, however composed) stay and count,
as they do upstream, unless `fold_unicode` was asked for.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable

CLOSED_ANSWERS = frozenset(("yes", "no", "noanswer"))
_PUNCTUATION = re.compile(f"[{re.escape(string.punctuation)}]+")
_WORDS = frozenset(("a", "an", "the"))
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_QUOTES = str.maketrans({**dict.fromkeys("‘’‚‛′‹›´", "'"), **dict.fromkeys("“”„‟″«»", '"')})  # noqa: RUF001


def normalise_answer(text: str) -> str:
    """Lower case, drop ASCII punctuation, drop the words a, an, the, and single the blanks."""
    low = text.lower()
    if low.replace(" ", "").isalnum():  # most texts are words alone, which is quicker to see
        words = low.split()
        return " ".join(
            words if _WORDS.isdisjoint(words) else [w for w in words if w not in _WORDS]
        )
    return " ".join(_ARTICLES.sub(" ", _PUNCTUATION.sub("", low)).split())


def normalise_name(text: str) -> str:
    """Lower case, drop ASCII punctuation, single the blanks; articles are kept (evidence)."""
    low = text.lower()
    if not low.replace(" ", "").isalnum():
        low = _PUNCTUATION.sub("", low)
    return " ".join(low.split())


def start_of(text: str) -> str:
    """Give a text's first letter as both levellings leave it, "" where that takes levelling.

    Texts whose starts are known and differ are different names: most comparisons end here. (Not
    for answers, which may lose a leading article, nor for folded texts.)
    """
    first = text[:1].lower()
    return first if first.isascii() and first.isalnum() else ""


def fold_unicode(text: str) -> str:
    """Make typographic variants equal: composed letters, dashes, quotes, blanks, invisible signs.

    Compatibility forms are composed (NFKC), every dash becomes `-`, every quote `'` or `"`, and
    format characters (zero-width joiners, soft hyphens, byte order marks) go. Accents stay.
    """
    if text.isascii():
        return text
    kinds = [
        (unicodedata.category(letter), letter)
        for letter in unicodedata.normalize("NFKC", text.translate(_QUOTES))
    ]
    return "".join(
        "-" if kind == "Pd" or letter == "\u2212" else letter
        for kind, letter in kinds
        if kind != "Cf"
    )


def leveller(level: Callable[[str], str], *, fold: bool) -> Callable[[str], str]:
    """Give a levelling, with typographic variants made equal first where asked for."""
    return (lambda text: level(fold_unicode(text))) if fold else level


class Remembered(dict[str, str]):
    """A levelling that works out each text once: `remembered[text]`. For texts that come again."""

    def __init__(self, level: Callable[[str], str]) -> None:
        super().__init__()
        self._level = level

    def __missing__(self, text: str) -> str:
        form = self[text] = self._level(text)
        return form
