"""Other answers that a page gives beside the object: a second spouse, school, award or director.

In: the sentences of the subject's page, the place of the object and the relation. Out: whether the
text names another one, which a reader could answer as well; Wikidata may have one alone. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from twowiki.generation.text import TextWords

_NAME = r"[A-ZÀ-ÞĀ-Ž][\w.'’-]*"
_SHARED = {
    "director", "producer", "composer", "performer", "creator", "editor", "presenter",
    "founded by", "publisher", "manufacturer", "child", "sibling", "spouse", "student of",
    "doctoral advisor", "doctoral student",
}  # fmt: skip
_AND_MORE = re.compile(rf"^(?:, {_NAME}(?: {_NAME})+)*,? ?(?:and|&) {_NAME} {_NAME}")
_MORE_AND = re.compile(
    rf"\b(?:by|of|with|to|under) {_NAME}(?: {_NAME})*(?:, {_NAME}(?: {_NAME})*)*,? (?:and|&) $"
)
_ORDINAL = r"(?:first|second|third|fourth|fifth|sixth|last)"
_MANY_MARRIAGES = re.compile(
    rf"\b(?:(?:later|then|again|first|second|secondly|subsequently|also|thirdly) (?:married|wed)|"
    rf"remarried|re-married|(?:his|her) (?:{_ORDINAL}|former|previous|late|ex-?)[ -]?"
    rf"(?:wife|husband|spouse|marriage)|(?:{_ORDINAL}|previous|later) marriage|previously married|"
    rf"married (?:{_ORDINAL}(?:ly)?|twice|thrice|again|\w+ times)|(?:his|her) wives|"
    rf"(?:his|her) husbands)\b",
    re.IGNORECASE,
)
_MARRIES = re.compile(
    rf"\b(?:married|marries|wed|(?:his|her) (?:wife|husband))(?: to)?,? (?:[a-z][\w-]*,? ){{0,6}}?"
    rf"(?={_NAME})"
)
_MONTHS = frozenset(
    "January February March April May June July August September October November December".split()
)
_LINK = r"(?:of(?: the)?|for|at|de|in|and|&)"
_SCHOOL = (
    r"(?:University|College|School|Academy|Institute|Conservatory|Conservatoire|Polytechnic|"
    r"Seminary|Gymnasium|Lycée|École|Universität|Hochschule|Universidad|Université)"
)
_AWARD = r"(?:Award|Prize|Medal|Order|Fellowship|Trophy|Cross|Oscar|Emmy|Grammy)s?"
_RIVALS = {
    "educated at": (
        r"\b(?:stud(?:y|ied|ies)|educated|graduat|attend|degree|diploma|enrol|alumn|master's|"
        r"bachelor's|doctorate|ph\.? ?d|trained|M\.?A\.?\b|B\.?A\.?\b)",
        _SCHOOL,
    ),
    "award received": (r"\b(?:award|won|receiv|earn|honou?red|recipient|laureate)", _AWARD),
}


def names_several(sentence: TextWords, first: int, last: int, relation: str) -> bool:
    """Whether a list of names goes on beside the object's ("directed by A and B")."""
    if relation not in _SHARED:
        return False
    start, end = sentence.span(first, last)
    text = sentence.text
    return bool(_AND_MORE.match(text[end:]) or _MORE_AND.search(text[:start]))


def page_names_several(
    sentences: Sequence[TextWords], sent_id: int, first: int, last: int, relation: str
) -> bool:
    """Whether a page states the relation with another one than the object.

    Args:
        sentences: the page's sentences.
        sent_id: the sentence that supports the fact.
        first: its first word of the object's name.
        last: its last word of it.
        relation: the fact's relation; spouses, schools and awards are looked for.
    """
    own = sentences[sent_id].words[first : last + 1]
    if relation == "spouse":
        return any(
            _MANY_MARRIAGES.search(one.text) or _marries_another(one, own) for one in sentences
        )
    if relation not in _RIVALS:
        return False
    words, head = _RIVALS[relation]
    return any(
        re.search(words, one.text, re.IGNORECASE) and _has_another(one, own, head)
        for one in sentences
    )


def _marries_another(sentence: TextWords, own: Sequence[str]) -> bool:
    """Whether "married" stands before a name that shares no word with the object's."""
    for match in _MARRIES.finditer(sentence.text):
        following = TextWords(" ".join(_leading_names(sentence.text[match.end() :])))
        if following.words and not set(following.words) & set(own):
            return True
    return False


def _leading_names(text: str) -> list[str]:
    """Return the capitalized words that begin a text, but for months."""
    found = re.match(rf"{_NAME}(?: (?:{_NAME}|of|the|de|von|van))*", text)
    return [word for word in (found[0].split() if found else []) if word not in _MONTHS]


def _has_another(sentence: TextWords, own: Sequence[str], head: str) -> bool:
    """Whether a sentence has a name with a head ("University of Oru") beside the object's own."""
    spans = [sentence.span(*found) for found in sentence.find(own)]
    return any(
        not any(start <= end_two + 2 and one <= end + 2 for one, end_two in spans)
        for start, end in _names_with(sentence.text, head)
    )


def _names_with(text: str, head: str) -> Iterator[tuple[int, int]]:
    """Find names of capitalized words, one of which is a head; characters half-open."""
    pattern = rf"{_NAME}(?:(?: {_LINK})? {_NAME})*"
    for match in re.finditer(pattern, text):
        words = match[0].split()
        if len(words) > 1 and re.search(rf"\b{head}\b", match[0]):
            yield match.span()
