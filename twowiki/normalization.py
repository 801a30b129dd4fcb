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
_DROP_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_QUOTES = {**dict.fromkeys("‘’‚‛′‹›`´", "'"), **dict.fromkeys("“”„‟″«»", '"')}  # noqa: RUF001


def normalise_answer(text: str) -> str:
    """Lower case, drop ASCII punctuation, drop the words a, an, the, and single the blanks."""
    bare = text.lower().translate(_DROP_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def normalise_name(text: str) -> str:
    """Lower case, drop ASCII punctuation, single the blanks; articles are kept (evidence)."""
    return " ".join(text.lower().translate(_DROP_PUNCTUATION).split())


def fold_unicode(text: str) -> str:
    """Make typographic variants equal: composed letters, dashes, quotes, blanks, invisible signs.

    Compatibility forms are composed (NFKC), every dash becomes `-`, every quote `'` or `"`, and
    format characters (zero-width joiners, soft hyphens, byte order marks) go. Accents stay.
    """
    if text.isascii():
        return text
    letters = []
    for letter in unicodedata.normalize("NFKC", text):
        kind = unicodedata.category(letter)
        if kind == "Pd" or letter == "\u2212":
            letters.append("-")
        elif kind != "Cf":
            letters.append(_QUOTES.get(letter, letter))
    return "".join(letters)


class Remembered(dict[str, str]):
    """A function of texts that works out each text once: `remembered[text]`.

    A number reads as its digits. Anything else (None, a list) raises `TypeError`.
    """

    def __init__(self, function: Callable[[str], str]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, text: object) -> str:
        if isinstance(text, str):
            form = self[text] = self._function(text)
            return form
        if isinstance(text, int | float):
            return self._function(str(text))  # not kept: 1, 1.0 and True are one key
        raise TypeError(f"not a text: {text!r}")
