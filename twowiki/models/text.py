"""Text of a context: words, spans, the layout of paragraphs, sentences. Pure, numpy only.

Characters are half-open `[start, end)`, tokens inclusive `(start, end)`, always positions in the
text as given: nothing is moved or repaired. Offsets are ascending, whatever tokenizer made them.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import numpy
from numpy.typing import NDArray

IntArray = NDArray[numpy.int32]
CodePoints = NDArray[numpy.uint32]
Paragraphs = Sequence[tuple[str, Sequence[str]]]  # (title, sentences)

BLANK, LETTER, DIGIT, OTHER = range(4)
LONGEST_WORD = 10_000  # characters; longer runs are cut
FINAL_SIGMA, SIGMA = "\u03c2", "\u03c3"
TITLE = -1  # the sent_id of a title
TITLE_START, TITLE_END = "\x02", "\x03"  # around a title in the marked layout
REFERENCE_TITLE_START, REFERENCE_TITLE_END = "<t>", "</t>"


class Span(NamedTuple):
    """Characters `[start, end)` of a text: `text[start:end]`."""

    start: int
    end: int


class TokenSpan(NamedTuple):
    """Tokens from `start` to `end`, both included."""

    start: int
    end: int


def code_points(text: str) -> CodePoints:
    """Return the code point of each character."""
    return numpy.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def word_offsets(codes: CodePoints) -> tuple[IntArray, IntArray]:
    """Cut a text, given as code points, into runs of letters, of digits, and other characters."""
    types = character_types(codes)
    border = numpy.empty(len(types) + 1, dtype=bool)
    border[0] = border[-1] = True
    numpy.not_equal(types[1:], types[:-1], out=border[1:-1])
    border[:-1] |= types == OTHER
    positions = numpy.flatnonzero(border)
    starts, ends = positions[:-1], positions[1:]
    visible = types[starts] != BLANK
    starts, ends = starts[visible].astype(numpy.int32), ends[visible].astype(numpy.int32)
    if len(starts) and int((ends - starts).max()) > LONGEST_WORD:
        return _cut_long(starts, ends)
    return starts, ends


def _cut_long(starts: IntArray, ends: IntArray) -> tuple[IntArray, IntArray]:
    """Cut words that no real text has (a page of letters without a blank) into pieces."""
    pieces = [
        (first, min(first + LONGEST_WORD, end))
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        for first in range(start, end, LONGEST_WORD)
    ]
    cut = numpy.array(pieces, dtype=numpy.int32)
    return cut[:, 0], cut[:, 1]


def character_types(codes: CodePoints) -> NDArray[numpy.uint8]:
    """Return for each code point whether it is blank, a letter, a digit or something else."""
    table = _type_table()
    if len(codes) and int(codes.max()) >= len(table):
        types = table[numpy.minimum(codes, len(table) - 1)]
        for index in numpy.flatnonzero(codes >= len(table)):
            types[index] = _character_type(chr(codes[index]))
        return types
    return table[codes]


@cache
def _type_table() -> NDArray[numpy.uint8]:
    return numpy.array([_character_type(chr(code)) for code in range(0x10000)], dtype=numpy.uint8)


def _character_type(character: str) -> int:
    category = unicodedata.category(character)
    if category[0] in "LM":
        return LETTER
    if category[0] == "N":
        return DIGIT
    return BLANK if category[0] == "Z" or character in "\t\n\v\f\r\x85" else OTHER


@lru_cache(maxsize=32)  # labels and marks fold the text of one context
def fold(text: str) -> str:
    """Lower the case of a text without moving any character."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few capitals lower to two characters
        lowered = "".join(low if len(low := char.lower()) == 1 else char for char in text)
    return lowered.replace(FINAL_SIGMA, SIGMA)  # which sigma depends on the neighbors


def joined_names(text: str) -> str:
    """Join names at their hyphens: the release's paragraphs write "Bourbon- Two Sicilies"."""
    return re.sub(r"(?<=\w)- (?=[^\W\d_a-zß-ÿ])", "-", text)


def bare_title(title: str) -> str:
    """Drop the bracket at the end of a title: "Heart (1987 film)" becomes "Heart".

    Brackets inside it belong to it; one without a space before it is part of the name.
    """
    depth = 0
    for place in range(len(title) - 1, 0, -1) if title.endswith(")") else ():
        depth += (title[place] == ")") - (title[place] == "(")
        if not depth:
            name = title[:place].rstrip()
            return name if name and name != title[:place] else title
    return title


def occurrences(text: str, wanted: str, start: int = 0, end: int | None = None) -> Iterator[Span]:
    """Yield every place of a string in `text[start:end]`, overlapping ones too.

    An empty string is nowhere.
    """
    if not wanted:
        return
    stop = len(text) if end is None else end
    found = text.find(wanted, start, stop)
    while found >= 0:
        yield Span(found, found + len(wanted))
        found = text.find(wanted, found + 1, stop)


def find_text(text: str, wanted: str, *, ignore_case: bool = False) -> Span | None:
    """Return the first place of a string, or None.

    With `ignore_case`, `text[start:end]` may differ from `wanted` in case alone.
    """
    if ignore_case:
        text, wanted = fold(text), fold(wanted)
    return next(occurrences(text, wanted), None)


def token_span(starts: Sequence[int], ends: Sequence[int], span: Span) -> TokenSpan | None:
    """Return the shortest run of tokens that covers a span's characters, or None.

    Characters between tokens (blanks) need no cover. Tokens of no width belong to no span.

    Args:
        starts: first character of each token, ascending.
        ends: end (exclusive) of each token, ascending.
        span: the characters to cover.
    """
    first = bisect_right(ends, span.start)
    last = bisect_left(starts, span.end) - 1
    while first <= last and starts[first] == ends[first]:
        first += 1
    while first <= last and starts[last] == ends[last]:
        last -= 1
    return TokenSpan(first, last) if first <= last else None


def is_aligned(starts: Sequence[int], ends: Sequence[int], span: Span) -> bool:
    """Return whether a span starts where a token starts and ends where a token ends."""
    first = bisect_left(starts, span.start)
    last = bisect_left(ends, span.end)
    return (
        first < len(starts)
        and last < len(ends)
        and starts[first] == span.start
        and ends[last] == span.end
    )


def char_span(starts: Sequence[int], ends: Sequence[int], tokens: TokenSpan) -> Span:
    """Return the characters from the first token's start to the last token's end."""
    return Span(starts[tokens.start], ends[tokens.end])


def nearest_span(
    starts: Sequence[int], ends: Sequence[int], spans: Sequence[Span]
) -> TokenSpan | None:
    """Choose as the published baseline does: the span whose ends are nearest to token borders.

    The first span with both ends on borders wins; else the least sum of distances, the earlier
    of equals.
    """
    best, least = None, None
    for span in spans:
        first, start_distance = _nearest(starts, span.start)
        last, end_distance = _nearest(ends, span.end)
        distance = start_distance + end_distance
        if least is None or distance < least:
            best, least = TokenSpan(first, max(first, last)), distance
        if distance == 0:
            break
    return best


def _nearest(borders: Sequence[int], position: int) -> tuple[int, int]:
    """Return the index of the nearest border, the first of equals, and the distance."""
    index = bisect_left(borders, position)
    around = [i for i in (index - 1, index) if 0 <= i < len(borders)]
    nearest = min(around, key=lambda i: abs(borders[i] - position))
    return bisect_left(borders, borders[nearest]), abs(borders[nearest] - position)


class Segment(NamedTuple):
    """A title (`sent_id` -1) or a sentence: characters `[start, end)` of the text."""

    start: int
    end: int
    paragraph: int
    sent_id: int


class Layout(NamedTuple):
    """The text of a context with its segments, in order; they do not overlap."""

    text: str
    segments: tuple[Segment, ...]


def lay_out(context: Paragraphs, layout: str = "marked") -> Layout:
    """Join a context's paragraphs to one text, "marked" or as the "reference" does."""
    if layout == "reference":
        return _reference_layout(context)
    pieces: list[str] = []
    segments: list[Segment] = []
    end = 0
    for paragraph, (title, sentences) in enumerate(context):
        start = end + 1
        end = start + len(title)
        pieces += (TITLE_START, title, TITLE_END)
        segments.append(Segment(start, end, paragraph, TITLE))
        end += 1
        for sent_id, sentence in enumerate(sentences):
            start = end + 1
            end = start + len(sentence)
            pieces += (" ", sentence)
            segments.append(Segment(start, end, paragraph, sent_id))
        pieces.append(" ")
        end += 1
    return Layout("".join(pieces), tuple(segments))


def _reference_layout(context: Paragraphs) -> Layout:
    pieces: list[str] = []
    segments: list[Segment] = []
    start = 0
    for paragraph, (title, sentences) in enumerate(context):
        marked = f"{REFERENCE_TITLE_START} {title} {REFERENCE_TITLE_END}"
        for sent_id, piece in enumerate((marked, *sentences), start=TITLE):
            segments.append(Segment(start, start + len(piece), paragraph, sent_id))
            pieces.append(piece)
            start += len(piece)
    return Layout("".join(pieces), tuple(segments))


def without_markers(text: str) -> str:
    """Drop the title markers of the marked layout from a slice, and blanks around it."""
    return text.replace(TITLE_START, " ").replace(TITLE_END, " ").strip()


_INK = re.compile(r"\S")
_END = re.compile(r"[.!?…]+[\"'”’»)\]]*(?=\s+[\"'“‘«(\[]*[^\W_])|\n+")
_NEXT = re.compile(r"\s*[\"'“‘«(\[]*([^\W_][\w'’]*)")
_LAST_WORD = re.compile(r"([^\W_][\w'’.&-]*)$")
_STARTERS = frozenset(
    "A After Although An And As At Because Before Both But By During Each For From Had He Her His "
    "However If In It Its Later Many Most No Of On Once One Other Others She Since Some Such That "
    "The Their Then There These They This Those Three Through To Two Under Until Upon Was Were "
    "When Where While With You I We Our My According Currently Today Previously Originally "
    "Additionally Following Prior Despite Between".split()
)
# After these a name follows: never a cut.
_TITLES = frozenset(
    "mr mrs ms dr prof st sts mt ft gen col lt capt cpt cmdr adm maj sgt cpl pvt rev revd fr hon "
    "pres gov sen rep amb msgr mgr messrs mme mlle vs ed eds trans cf c ca circa approx b d r fl "
    "e.g i.e viz nr bros jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri al "
    "art arts sec dept ave blvd lit orig abbr resp hr hz var subsp spp sp cit ibid bp brig supt "
    "insp const".split()
)
# After these a number follows, else it is a word of its own.
_NUMBERED = frozenset("no nos vol vols op opp pp p pt ch fig figs eq ref rd".split())
# After these a sentence may end: the next word decides.
_EITHER = frozenset(
    "jr sr inc ltd co corp llc plc bv ag esq etc u.s u.k d.c u.s.a l.a n.y a.m p.m b.c a.d b.c.e "
    "c.e ph.d m.d b.a m.a b.sc m.sc st ii iii est assn univ intl".split()
)


def split_sentences(text: str, names: Sequence[str] = ()) -> list[str]:
    """Cut a paragraph into sentences; joined, they are the paragraph again.

    Args:
        text: the paragraph; may be empty (no sentences).
        names: the page's title, link texts: full stops in them ("E.T.", "Help!") end nothing.
    """
    masked = _spans_of_names(text, names)
    sentences: list[str] = []
    start = 0
    for match in _END.finditer(text):
        cut = match.start() if match.group()[0] == "\n" else match.end()
        if cut > start and _is_end(text, match, masked):
            sentences.append(text[start:cut])
            start = cut
    if start < len(text):
        sentences.append(text[start:])
    if len(sentences) > 1 and not sentences[-1].strip():
        sentences[-2:] = ["".join(sentences[-2:])]
    return sentences


def _spans_of_names(text: str, names: Sequence[str]) -> list[tuple[int, int]]:
    spans = []
    for name in set(names):
        if not any(mark in name for mark in ".!?…"):
            continue
        start = text.find(name)
        while start >= 0:
            spans.append((start, start + len(name)))
            start = text.find(name, start + len(name))
    return spans


def _is_end(text: str, match: re.Match[str], masked: Sequence[tuple[int, int]]) -> bool:
    if match.group()[0] == "\n":
        return match.end() < len(text) and bool(_INK.search(text, 0, match.start()))
    following = _NEXT.match(text, match.end())
    word = following[1] if following else ""
    starts = word in _STARTERS
    stop = match.start()
    for start, end in masked:
        if start <= stop < end - 1:
            return False
        if stop == end - 1 and not starts:
            return False
    if word[:1].islower():
        return False
    if match.group()[0] != ".":
        return True
    before = _LAST_WORD.search(text, max(0, stop - 30), stop)
    return before is None or _word_may_end(before[1], word[:1].isdigit(), starts)


def _word_may_end(word: str, number_follows: bool, starts: bool) -> bool:
    folded = word.casefold()
    if folded in _NUMBERED:
        return not number_follows
    if folded in _EITHER:
        return starts
    if folded in _TITLES:
        return False
    if len(word) == 1 and word.isupper():
        return starts and word != "I"
    if "." in word and all(len(part) <= 2 for part in word.split(".")):
        return starts
    return True
