"""Normal forms of text: whole-word matching, page titles, the questions' title-casing. Pure.

Text is normalized here, in Python, once; no query lowers or splits a string, so that every engine
sees the same words.
"""

from __future__ import annotations

import html
import re
import unicodedata
from urllib.parse import unquote

_WORD = re.compile(r"[^\W_]+(?:[\u0300-\u036f]+[^\W_]*)*")
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
    words = [_normal_word(word) for word in _WORD.findall(text)]
    kept = [word for word in words if word]
    return f" {' '.join(kept)} " if kept else ""


def find_words(text: str, wanted: str) -> tuple[int, int] | None:
    """Return the first span where a text has these normalized words; characters half-open."""
    target = wanted.split()
    if not target:
        return None
    words: list[str] = []
    places: list[tuple[int, int]] = []
    for match in _WORD.finditer(text):
        for piece in _normal_word(match.group()).split():
            words.append(piece)
            places.append(match.span())
    for first in range(len(words) - len(target) + 1):
        if words[first : first + len(target)] == target:
            return places[first][0], places[first + len(target) - 1][1]
    return None


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
