"""What two wordings of one answer share, and the words of a text in any script.

Used where answers are merged or compared, never by the paper's metrics. Text in, tokens out.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from twowiki.metric.normalization import normalize_answer

_MINUS = re.compile(r"(?:(?<=^)|(?<=[\s(]))[-\u2212\u2013](?=[\d.])")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_LETTER_A = re.compile(r"(?<=\w )A(?=\s*(?:$|[^\w\s]))")
_NUMERAL = re.compile(r"-?\d[\d,]*(?:[./]\d+)*|-?\.\d+")
_DASHES = re.compile(r"[\u2212\u2010-\u2015\ufe58\ufe63\uff0d]")
_SIGNS = re.compile(
    r"(?<!\w)-(?=\s*[\d.])|(?<!\w)-(?=\w)|(?<=\w)-(?!\w)"  # a minus, not a hyphen or a bullet
    r"|(?<=\d)\s*(?:['\"\u2032\u2033]|:(?=\s*\d))|^\s*-\s*$"
    r"|[+<>=\u2260\u2264\u2265\u2248~*\u00b7\u00d7/\u00f7\u2044^%\u2030\u00b0\u221a\u00b1$\u20ac\u00a3&|\u2192\u2190]"
)
_WRITTEN_WORD = re.compile(r"[^\W\d_]+")
_MEASURED = re.compile(r"(?<![^\W\d_])[\d.,/]*\d\s*$")  # a number, not the 2 of H2O
_GENOTYPE = re.compile(r"(?:([a-z])\1)+")
_ONE_BY_ONE = ("CJK UNIFIED", "CJK COMPAT", "HIRAGANA", "KATAKANA")


def unicode_words(text: str) -> list[str]:
    """Split a text of any script into words.

    NFKC first (so a subscript two is a 2), then case folding. A word is a run of letters, digits
    and their combining marks; Han and kana characters are words of their own, as they are written
    without spaces. A text without any letter or digit is split into its signs.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    words = list(_runs(folded))
    return words or [sign for sign in folded if not sign.isspace()]


def numerals(text: str) -> list[str]:
    """List the numbers as written, thousands separators aside: sign, point and slash kept."""
    signed = _MINUS.sub("-", text)
    found = re.finditer(_NUMERAL, re.sub(r"(?<=\w)-(?=\d)", " ", signed))
    return [_THOUSANDS.sub("", match.group()).rstrip(",") for match in found]


def names_letter_a(text: str) -> bool:
    """Whether a capital A ends a phrase: "vitamin A", not "A base"."""
    return bool(_LETTER_A.search(text))


@lru_cache(maxsize=1 << 14)
def answer_key(text: str) -> tuple[str, ...]:
    """Return what wordings of one answer share: the words of the F1 metric, and `exact_marks`.

    Two wordings with one key differ in case, articles and prose punctuation alone.
    """
    words = normalize_answer(_DASHES.sub("-", text)).split() or [text.strip().casefold()]
    letter_a = ["letter a"] if names_letter_a(text) else []
    return (*words, "", *exact_marks(text), *letter_a)


def exact_marks(text: str) -> tuple[str, ...]:
    """Return what the F1 metric drops although it changes an answer.

    Numbers with sign and point (`-1`, `1.28`), signs of mathematics (not hyphens), and the case of
    answers of one or two letters, of units after a number (`5 mW`), of two capitals (`CO`), and of
    genotypes (`Rr`).
    """
    plain = _DASHES.sub("-", unicodedata.normalize("NFKC", text))
    signs = [match.group().strip() for match in _SIGNS.finditer(plain)]
    return (*numerals(plain), "", *signs, "", *_cased_words(plain))


def _cased_words(text: str) -> Iterator[str]:
    """List the words whose case is part of the answer."""
    words = list(_WRITTEN_WORD.finditer(text))
    letters = "".join(word.group() for word in words)
    if letters and len(letters) <= 2 and letters == text.strip():
        yield letters
        return
    shouted = letters.isupper() and len(words) > 1
    for word in words:
        written = word.group()
        is_unit = len(written) <= 2 and _MEASURED.search(text[: word.start()]) is not None
        is_formula = len(written) == 2 and written[1].isupper() and not shouted
        if is_unit or is_formula or _GENOTYPE.fullmatch(written.casefold()):
            yield written


def _runs(text: str) -> Iterator[str]:
    run = ""
    for sign in text:
        category = unicodedata.category(sign)[0]
        alone = ord(sign) > 0x2E7F and unicodedata.name(sign, "").startswith(_ONE_BY_ONE)
        if run and (alone or category not in "LNM"):
            yield run
            run = ""
        if alone:
            yield sign
        elif category in "LN" or (category == "M" and run):
            run += sign
    if run:
        yield run
