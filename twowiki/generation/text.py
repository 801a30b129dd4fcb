"""Normal forms of text: whole-word matching, page titles, the questions' title-casing. Pure.

Text is normalized here, in Python, once; no query lowers or splits a string, so that every engine
sees the same words.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Sequence
from urllib.parse import unquote

_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
# A stripped template leaves two dates in one ("193815 December 2010").
_WORD = re.compile(rf"\d{{4}}(?=\d{{1,2}} (?:{_MONTHS})\b)|[^\W_]+(?:[\u0300-\u036f]+[^\W_]*)*")
_SPACES = re.compile(r"[\s_\u00a0\u200e\u200f]+")
_LONG_NUMBER = re.compile(r"&#[0-9]{9,};?")  # no character has such a number
_CACHE_SIZE = 1 << 20
_pieces: dict[str, str] = {}

# Names that are also everyday words: as aliases they would match anything.
STOP_NAMES = frozenset(
    "a an and as at be by for from he her him his i in is it its me my no not of on one or our "
    "she so the them they this to up us was we who with you your".split()
)


def _normal_word(word: str) -> str:
    """Fold one word; short all-capital words (US, UK, II) keep their case, "us" is a pronoun."""
    found = _pieces.get(word)
    if found is None:
        folded = unicodedata.normalize("NFKC", word)
        keep = 2 <= len(folded) <= 3 and folded.isascii() and folded.isupper() and folded.isalpha()
        folded = folded if keep else unicodedata.normalize("NFKC", folded.casefold())
        found = folded if folded.isalnum() else " ".join(_WORD.findall(folded))
        if len(_pieces) >= _CACHE_SIZE:
            _pieces.clear()
        _pieces[word] = found
    return found


def normalize(text: str) -> str:
    """Return the words of a text, folded, with one space between and around them; "" if none.

    `normalize(a) in normalize(b)` is true iff the words of `a` are in `b` as whole words.
    """
    known = _pieces.get
    words = [known(word) or _normal_word(word) for word in _WORD.findall(text)]
    kept = [word for word in words if word]
    return f" {' '.join(kept)} " if kept else ""


class TextWords:
    """A text and its normalized words, each with its place in the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words: list[str] = []
        self._spans: list[tuple[int, int]] = []
        known = _pieces.get
        for match in _WORD.finditer(text):
            word = match[0]
            pieces = (known(word) or _normal_word(word)).split()
            self.words += pieces
            self._spans += [match.span()] * len(pieces)

    def find(self, wanted: Sequence[str]) -> list[tuple[int, int]]:
        """Return the first and the last word of every place that has the wanted words."""
        size, words = len(wanted), self.words
        found: list[tuple[int, int]] = []
        for _ in range(words.count(wanted[0]) if size else 0):
            first = words.index(wanted[0], found[-1][0] + 1 if found else 0)
            found.append((first, first + size - 1))
        return [place for place in found if words[place[0] : place[1] + 1] == wanted]

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Return the characters of some words; half-open."""
        return self._spans[first][0], self._spans[last][1]

    def raw(self, place: int) -> str:
        """Return a word as the text writes it."""
        start, end = self._spans[place]
        return self.text[start:end]

    def gap(self, place: int) -> str:
        """Return what stands between a word and the one before it."""
        return self.text[self._spans[place - 1][1] : self._spans[place][0]]


def find_words(text: str, wanted: str) -> tuple[int, int] | None:
    """Return the first span where a text has these normalized words; characters half-open."""
    words = TextWords(text)
    return next((words.span(*found) for found in words.find(wanted.split())), None)


def spelling(text: str, wanted: str, known: tuple[str, ...] = ()) -> str | None:
    """Return the wanted words as the text writes them, punctuation of a known spelling included."""
    for name in known:
        start = text.find(name)
        while start >= 0:
            end = start + len(name)
            if not text[max(start - 1, 0) : start].isalnum() and not text[end : end + 1].isalnum():
                return name
            start = text.find(name, start + 1)
    span = find_words(text, wanted)
    return None if span is None else text[span[0] : span[1]]


def without_accents(text: str) -> str:
    """Return a text without the accents of its letters ("Zdenek" for "Zdeněk")."""
    if text.isascii():
        return text
    parts = unicodedata.normalize("NFKD", text)
    return "".join(one for one in parts if not unicodedata.combining(one))


def unescape(text: str) -> str:
    """Replace HTML entities by their characters; numbers beyond all characters do no harm."""
    return html.unescape(_LONG_NUMBER.sub("\ufffd", text) if "&#" in text else text)


def page_key(title: str) -> str:
    """Return one spelling for all ways of writing a page's title.

    Underscores, HTML entities, percent codes, Unicode composition and the case of the first
    letter make no difference; a `#section` is kept: such a title is not a page.
    """
    plain = unescape(title)
    if "%" in plain:
        plain = unquote(plain, errors="replace") if "\ufffd" not in unquote(plain) else plain
    plain = _SPACES.sub(" ", unicodedata.normalize("NFC", plain)).strip()
    return plain[:1].upper() + plain[1:]


def paper_case(title: str) -> str:
    """Case a title as the released questions do ("It'S A Joke", "Francis Ii Of France")."""
    return title.title()
