"""Choose the paragraphs that are read: those that the question names, then those these link to.

In: a question and its paragraphs. Out: the positions of the paragraphs that are kept. Two linear
scorers go hop by hop: the first asks whether the question names a paragraph, the second whether a
paragraph that is likely named links to it, close to a word of the question ("directed by ...").
They see words alone, folded and without accents: no spacing, no punctuation, no id and no type.
"""

# N paragraphs; F features of a hop

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from .features import Window
from .text import TITLE, Paragraphs, bare_title, lay_out

Numbers = NDArray[numpy.float64]
FoldedWords = tuple[str, ...]

NAMED = (
    "full_title", "full_title_alone", "bare_title", "bare_title_alone",
    "share_of_title", "share_of_name", "opening_name",
)  # fmt: skip
LINKED = (
    "title_in_text", "opening_in_text", "share_of_name", "share_of_opening", "near_a_cue",
    "mentions_it", "last_word",
)  # fmt: skip
FIRST_HOP = len(NAMED)
SECOND_HOP = FIRST_HOP + 1 + len(LINKED)
LEAST_KEPT = 2  # paragraphs that are read whatever their probability
_WORD = re.compile(r"\w+")
_AFTER_NAME = re.compile(r"\s*\(|\s+(?:is|was|were|are|also|often|born)\b|,")
_CUE = 4  # letters that a word of the question shares with one of the text: director, directed
_BEFORE, _AROUND = 4, (10, 8)  # words before a mention, around it
_CERTAIN = 30.0  # largest logit


class Selection(NamedTuple):
    """What decides which paragraphs are read: how many at most, and above which probability."""

    most: int
    threshold: float
    weights: Sequence[Sequence[float]] | None


class Hops(NamedTuple):
    """The features of a context: of each paragraph, and of each link from one to another."""

    named: Numbers  # (N, F)
    links: Numbers  # (N, N, F), from the first to the second


class Selector(NamedTuple):
    """The weights of both hops, the bias last."""

    first: Numbers
    second: Numbers


class _Page(NamedTuple):
    title: FoldedWords
    name: FoldedWords
    opening: FoldedWords
    text: FoldedWords


# fitted on a fictional world, see bench/measure_selection.py; training fits its own
DEFAULT_SELECTOR: tuple[tuple[float, ...], ...] = (
    (0.051, 2.474, 1.432, 5.911, 1.791, 1.141, 1.29, -8.91),
    (
        -0.231, 2.466, 1.142, 6.59, -1.736, -2.995, -1.157, 6.245,
        0.872, 1.449, 1.596, 1.867, 2.651, -3.78, 0.641, -5.241,
    ),
)  # fmt: skip


def select_paragraphs(question: str, context: Paragraphs, selection: Selection) -> list[int]:
    """Return the positions of the paragraphs to read, in order; the best two are always read."""
    if len(context) <= min(selection.most, LEAST_KEPT):
        return list(range(len(context)))
    scores = score_paragraphs(read_hops(question, context), as_selector(selection.weights))
    ranked = numpy.argsort(-scores, kind="stable")[: selection.most].tolist()
    return sorted(
        place
        for rank, place in enumerate(ranked)
        if rank < LEAST_KEPT or scores[place] >= selection.threshold
    )


def as_selector(weights: Sequence[Sequence[float]] | None) -> Selector:
    """Return weights as arrays.

    Raises:
        ValueError: there are not as many as features.
    """
    first, second = DEFAULT_SELECTOR if weights is None else weights
    selector = Selector(numpy.array(first, float), numpy.array(second, float))
    if (len(selector.first), len(selector.second)) != (FIRST_HOP + 1, SECOND_HOP + 1):
        raise ValueError(f"a selector has {FIRST_HOP + 1} and {SECOND_HOP + 1} weights")
    return selector


def score_paragraphs(hops: Hops, selector: Selector) -> Numbers:
    """Return the probability of each paragraph: (N,)."""
    first = probabilities(hops.named, selector.first)
    return probabilities(second_hop(hops, first), selector.second)


def probabilities(features: Numbers, weights: Numbers) -> Numbers:
    """Score rows of features: (N, F) and (F + 1,) to (N,)."""
    logits = features @ weights[:-1] + weights[-1]
    scores: Numbers = 1.0 / (1.0 + numpy.exp(-logits.clip(-_CERTAIN, _CERTAIN)))
    return scores


def second_hop(hops: Hops, first: Numbers) -> Numbers:
    """Return the features of the second hop: what the first said, and the best links.

    A link counts as much as the paragraph it comes from is likely to be named: (N, F).
    """
    links = first[:, None, None] * hops.links
    return numpy.column_stack([hops.named, first, links.max(axis=0)])


def read_hops(question: str, context: Paragraphs) -> Hops:
    """Read the features of a context."""
    question_words = folded_words(question)
    pages = [_read_page(title, sentences) for title, sentences in context]
    rarity = _rarity_of(pages)
    named, cues = _named_features(question_words, pages, rarity)
    links = numpy.zeros((len(pages), len(pages), len(LINKED)))
    for start, source in enumerate(pages):
        known = set(source.text)
        stems = [word[:_CUE] for word in source.text]
        for end, target in enumerate(pages):
            if start != end:
                links[start, end] = _link_features(source, target, known, stems, cues, rarity)
    return Hops(named, links)


def folded_words(text: str) -> FoldedWords:
    """Return the words of a text in lower case and without accents."""
    plain = unicodedata.normalize("NFKD", text)
    plain = "".join(char for char in plain if not unicodedata.combining(char))
    return tuple(_WORD.findall(plain.casefold()))


def _read_page(title: str, sentences: Sequence[str]) -> _Page:
    start = sentences[0] if sentences else ""
    after = _AFTER_NAME.search(start, 3)
    opening = folded_words(start[: after.start()] if after else start[:40])[:8]
    text = folded_words(" ".join(sentences))
    return _Page(folded_words(title), folded_words(bare_title(title)), opening, text)


def _rarity_of(pages: Sequence[_Page]) -> Mapping[str, float]:
    """Return how much each word tells: the more, the fewer paragraphs have it."""
    counts = Counter(word for page in pages for word in {*page.text, *page.title})
    return {word: math.log((len(pages) + 1) / count) + 0.1 for word, count in counts.items()}


def _named_features(
    question_words: FoldedWords, pages: Sequence[_Page], rarity: Mapping[str, float]
) -> tuple[Numbers, set[str]]:
    """Return whether the question names each paragraph, and the stems of its other words."""
    known = set(question_words)
    titles = [_places(page.title, question_words) for page in pages]
    names = [_places(page.name, question_words) for page in pages]
    rows = []
    for number, page in enumerate(pages):
        rest = [place for other, places in enumerate(titles) if other != number for place in places]
        alone = [
            place
            for place in titles[number]
            if not any(_covers(other, place) and other != place for other in rest)
        ]
        free = alone or [
            place for place in names[number] if not any(_covers(other, place) for other in rest)
        ]
        rows.append(
            (
                bool(titles[number]),
                bool(alone),
                bool(names[number]),
                bool(free),
                _share(page.title, known, rarity),
                _share(page.name, known, rarity),
                bool(_places(page.opening, question_words)),
            )
        )
    named_pages = [page for page, places in zip(pages, names, strict=True) if places]
    of_names = {word for page in named_pages for word in page.name}
    cues = {word[:_CUE] for word in known - of_names if len(word) >= _CUE}
    return numpy.array(rows, float).reshape(len(pages), len(NAMED)), cues


def _link_features(
    source: _Page,
    target: _Page,
    known: set[str],
    stems: Sequence[str],
    cues: set[str],
    rarity: Mapping[str, float],
) -> tuple[float, ...]:
    """Return how a paragraph (with its words and their stems) links to another."""
    mentions, openings = _places(target.name, source.text), _places(target.opening, source.text)
    return (
        bool(mentions),
        bool(openings),
        _share(target.name, known, rarity),
        _share(target.opening, known, rarity),
        max((_nearness(start, stems, cues) for start, _ in mentions or openings), default=0.0),
        bool(_places(source.name, target.text)),
        bool(target.name) and target.name[-1] in known,
    )


def _nearness(start: int, stems: Sequence[str], cues: set[str]) -> float:
    """Return whether a word of the question stands before a mention, or around it."""
    before, after = _AROUND
    close = not cues.isdisjoint(stems[max(0, start - _BEFORE) : start])
    around = not cues.isdisjoint(stems[max(0, start - before) : start + after])
    return close + 0.5 * around


def _places(wanted: FoldedWords, words: FoldedWords) -> list[tuple[int, int]]:
    """Return every place `[start, end)` of a run of words; no word is nowhere."""
    size = len(wanted)
    if not size:
        return []
    return [
        (start, start + size)
        for start in range(len(words) - size + 1)
        if words[start] == wanted[0] and words[start : start + size] == wanted
    ]


def _covers(outer: tuple[int, int], inner: tuple[int, int]) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _share(wanted: FoldedWords, known: set[str], rarity: Mapping[str, float]) -> float:
    """Return the share of words that are known, each as much as it tells."""
    total = sum(rarity.get(word, 1.0) for word in wanted)
    return sum(rarity.get(word, 1.0) for word in wanted if word in known) / total if total else 0.0


class WithContext:
    """An example with some of its paragraphs (`whole` are all); all else is as in the example."""

    def __init__(self, example: Any, kept: Sequence[int]) -> None:
        self._example, self.whole = example, example.context
        self.context = tuple(example.context[place] for place in kept)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._example, name)


def in_whole_context(window: Window, context: Paragraphs, kept: Sequence[int]) -> Window:
    """Move the places of a window over some paragraphs to those in the whole context."""
    whole = lay_out(context)
    titles = [segment.start for segment in whole.segments if segment.sent_id == TITLE]
    short = lay_out([context[place] for place in kept])
    begins = [segment.start for segment in short.segments if segment.sent_id == TITLE]
    shifts = numpy.array(titles, numpy.int32)[kept] - numpy.array(begins, numpy.int32)
    paragraph = numpy.searchsorted(begins, window.token_starts, side="right") - 1
    sentences = window.sentences.copy()
    sentences[:, 2] = numpy.array(kept, numpy.int32)[sentences[:, 2]]
    return window._replace(
        text=whole.text,
        token_starts=window.token_starts + shifts[paragraph],
        token_ends=window.token_ends + shifts[paragraph],
        sentences=sentences,
    )
