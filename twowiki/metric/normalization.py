"""The evaluators' two ways of levelling spelling, remembered, and an optional Unicode folding.

In: texts as they stand in gold and predictions. Out: the form in which they are compared. Letters
that only Unicode knows (typographic dashes and quotes, accents, however composed) stay and count,
as they do upstream, unless `fold_unicode` was asked for.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any

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


_INDEX = re.compile(r"\s*[+-]?[0-9]{1,9}\s*")


def odd_facts(facts: Any, title_form: Callable[[str], str]) -> list[tuple[Any, ...]]:
    """Give distinct facts with levelled titles; what has no title stands for itself alone."""
    distinct: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for fact in facts if isinstance(facts, Iterable) else [facts]:
        try:
            parts = tuple(fact)
            if parts not in distinct:
                distinct[parts] = (title_form(parts[0]), *parts[1:])
        except (TypeError, IndexError, AttributeError):
            distinct[(object(),)] = (object(),)
    return list(distinct.values())


def text_of(value: Any) -> str:
    """Give a text, or a number's digits; raise `TypeError` for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return str(value)
    raise TypeError(f"not a text: {value!r}")


def odd_triples(triples: Any, level: Callable[[str], str]) -> set[tuple[str, ...]]:
    """Give distinct levelled triples, numbers read as text; one with another part is odd."""
    distinct: set[tuple[str, ...]] = set()
    for triple in triples if isinstance(triples, Iterable) else [triples]:
        try:
            if isinstance(triple, str):
                distinct.add(tuple(level(triple)))
            else:
                distinct.add(tuple([level(text_of(part)) for part in triple]))
        except TypeError:
            distinct.add(("malformed", repr(triple)))
    return distinct


def as_index(value: Any) -> Any:
    """Read a sentence id written as text; anything else stays."""
    return int(value) if isinstance(value, str) and _INDEX.fullmatch(value) else value
