"""Fold what two spellings of one answer may differ in: scripts, typography, numbers, units.

Used by metrics that are reported beside the paper's, never instead of them. Text in, tokens out.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_COUNTING = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    *("nineteen", "twenty"),
)
NUMBER_WORDS = {word: str(value) for value, word in enumerate(_COUNTING)}
UNITS = (
    (re.compile(r"°\s*c(elsius)?\b"), " degree celsius "),
    (re.compile(r"°\s*f(ahrenheit)?\b"), " degree fahrenheit "),
    (re.compile(r"°"), " degree "),
    (re.compile(r"\bdegrees\b"), "degree"),
    (re.compile(r"(?<=\d)\s*%"), " percent "),
)
_ARTICLES = frozenset(("a", "an", "the"))
_APOSTROPHES = re.compile(r"['\u2018\u2019\u02bc`\u00b4]")
_MINUS = re.compile(r"(?:(?<=^)|(?<=[\s(]))[-\u2212\u2013](?=[\d.])")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_LATEX = re.compile(r"[_^]\{([^{}]*)\}")
_NUMBER_OR_WORD = re.compile(r"\u2212?\d+(?:[./]\d+)*|\u2212?\.\d+|[^\W\d_][^\W_]*")
_LETTER_A = re.compile(r"(?<=\w )A(?=\s*(?:$|[^\w\s]))")
_NUMERAL = re.compile(r"-?\d[\d,]*(?:[./]\d+)*|-?\.\d+")
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


def fold_tokens(text: str) -> list[str]:
    """Split an answer into tokens that keep what matters to science: sign, decimal point, unit.

    Folded: case, NFKC, curly quotes, hyphens, thousands separators, `10%` and `10 percent`, `5 °C`
    and `5 degrees Celsius`, number words up to twenty, `O_{2}` and `O2`, articles (not the A of
    `vitamin A`).
    """
    plain = _LATEX.sub(r"\1", unicodedata.normalize("NFKC", text))
    plain = _LETTER_A.sub("lettera", plain)
    plain = _THOUSANDS.sub("", _MINUS.sub("\u2212", _APOSTROPHES.sub("", plain))).casefold()
    for pattern, unit in UNITS:
        plain = pattern.sub(unit, plain)
    words = _NUMBER_OR_WORD.findall(plain.replace("\u2044", "/"))
    return [NUMBER_WORDS.get(word, word) for word in words if word not in _ARTICLES]


def numerals(text: str) -> list[str]:
    """List the numbers as written, thousands separators aside: sign, point and slash kept."""
    signed = _MINUS.sub("-", text)
    found = re.finditer(_NUMERAL, re.sub(r"(?<=\w)-(?=\d)", " ", signed))
    return [_THOUSANDS.sub("", match.group()).rstrip(",") for match in found]


def names_letter_a(text: str) -> bool:
    """Whether a capital A ends a phrase: "vitamin A", not "A base"."""
    return bool(_LETTER_A.search(text))


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
