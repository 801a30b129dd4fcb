"""The evaluators' two normal forms of a text, cached, and an optional folding of Unicode.

In: texts as they are in gold and predictions. Out: the form in which they are compared.
Typographic dashes and quotes and accents, however composed, are kept and count, as they do
upstream, unless `fold_unicode` is used. Malformed facts and triples are read here too: they match
nothing, and nothing is raised.
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


def normalize_answer(text: str) -> str:
    """Lower-case, drop ASCII punctuation and the words a, an, the, and collapse spaces."""
    low = text.lower()
    if low.replace(" ", "").isalnum():  # most texts are plain words: a faster way
        words = low.split()
        return " ".join(
            words if _WORDS.isdisjoint(words) else [w for w in words if w not in _WORDS]
        )
    return " ".join(_ARTICLES.sub(" ", _PUNCTUATION.sub("", low)).split())


def normalize_name(text: str) -> str:
    """Lower-case, drop ASCII punctuation, collapse spaces; articles are kept (evidence)."""
    low = text.lower()
    if not low.replace(" ", "").isalnum():
        low = _PUNCTUATION.sub("", low)
    return " ".join(low.split())


def start_of(text: str) -> str:
    """Return a text's first letter as both normal forms have it, "" where that is not certain.

    Texts whose starts are certain and differ are different names: most comparisons end here. (Not
    for answers, which may lose a leading article, nor for folded texts.)
    """
    first = text[:1].lower()
    return first if first.isascii() and first.isalnum() else ""


def fold_unicode(text: str) -> str:
    """Unify typographic variants: composed letters, dashes, quotes, spaces, invisible characters.

    Compatibility forms are composed (NFKC), every dash becomes `-`, every quote `'` or `"`, and
    format characters (zero-width joiners, soft hyphens, byte order marks) are dropped. Accents are
    kept.
    """
    if text.isascii():
        return text
    categories = [
        (unicodedata.category(letter), letter)
        for letter in unicodedata.normalize("NFKC", text.translate(_QUOTES))
    ]
    return "".join(
        "-" if category == "Pd" or letter == "\u2212" else letter
        for category, letter in categories
        if category != "Cf"
    )


def normalizer(normalize: Callable[[str], str], *, fold: bool) -> Callable[[str], str]:
    """Return a normalization that folds typographic variants first if `fold` is set."""
    return (lambda text: normalize(fold_unicode(text))) if fold else normalize


class CachedNormalizer(dict[str, str]):
    """A normalization that computes each text once, for texts that repeat: `cached[text]`."""

    def __init__(self, normalize: Callable[[str], str]) -> None:
        super().__init__()
        self._normalize = normalize

    def __missing__(self, text: str) -> str:
        form = self[text] = self._normalize(text)
        return form


_INDEX = re.compile(r"\s*[+-]?[0-9]{1,9}\s*")


def malformed_facts(facts: Any, title_form: Callable[[str], str]) -> list[tuple[Any, ...]]:
    """Return distinct facts with normalized titles; what has no title equals only itself."""
    distinct: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for fact in facts if isinstance(facts, Iterable) else [facts]:
        try:
            parts = tuple(fact)
            if parts not in distinct:
                distinct[parts] = (title_form(parts[0]), *parts[1:])
        except (TypeError, IndexError, AttributeError):
            distinct[(object(),)] = (object(),)
    return list(distinct.values())


def answer_text(value: Any) -> str:
    """Return a text, or a number as text; raise `TypeError` for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return str(value)
    raise TypeError(f"not a text: {value!r}")


def malformed_triples(triples: Any, normalize: Callable[[str], str]) -> set[tuple[str, ...]]:
    """Return distinct normalized triples, numbers as text; other values equal only themselves."""
    distinct: set[tuple[str, ...]] = set()
    for triple in triples if isinstance(triples, Iterable) else [triples]:
        try:
            if isinstance(triple, str):
                distinct.add(tuple(normalize(triple)))
            else:
                distinct.add(tuple([normalize(answer_text(part)) for part in triple]))
        except TypeError:
            distinct.add(("malformed", repr(triple)))
    return distinct


def as_index(value: Any) -> Any:
    """Return a sentence id written as text as a number; anything else is returned as it is."""
    return int(value) if isinstance(value, str) and _INDEX.fullmatch(value) else value
