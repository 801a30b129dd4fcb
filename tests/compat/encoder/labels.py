"""Where an example's answer, subjects and objects stand in its text, and what is not there.

The corrected way: whole words, without regard to case, a supporting sentence before any other
place; what is not found is ignored. The published way: the first place that fits token borders,
in the case given; what is not found is tokens 0 and 1. Both count what they miss, by reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .configuration import IGNORED, EncodingOptions
from .layout import TITLE, Layout, Segment
from .spans import TokenSpan, fold, is_aligned, nearest_span, occurrences, token_span
from .words import Words

ANSWER_TYPES = ("span", "yes", "no")
NOWHERE = TokenSpan(IGNORED, IGNORED)
FIRST_TOKENS = TokenSpan(0, 1)


class Labels(NamedTuple):
    """An example's targets in tokens of its whole context; -100 is ignored.

    `relations` and the pointers have one entry a slot; `support` one a listed segment.
    """

    answer_type: int
    answer: TokenSpan
    support: list[int]
    relations: list[int]
    subjects: list[TokenSpan]
    objects: list[TokenSpan]


class Located:
    """An example's text with its tokens, ready to be searched."""

    def __init__(self, layout: Layout, words: Words, *, ignore_case: bool) -> None:
        self.layout, self.ignore_case = layout, ignore_case
        self.starts, self.ends = words.first, words.last
        self.text = fold(layout.text) if ignore_case else layout.text

    def first_aligned(self, wanted: str, segments: Iterable[Segment]) -> TokenSpan | None:
        """Give the first place on token borders, a segment at a time, then anywhere."""
        needle = self._needle(wanted)
        for segment in segments:
            found = self._aligned(needle, segment.start, segment.end)
            if found:
                return found
        return self._aligned(needle, 0, len(self.text))

    def nearest(self, wanted: str) -> TokenSpan | None:
        """Give the place nearest to token borders, the earliest of equals."""
        places = list(occurrences(self.text, self._needle(wanted)))
        return nearest_span(self.starts, self.ends, places)

    def _needle(self, wanted: str) -> str:
        wanted = wanted.strip()
        return fold(wanted) if self.ignore_case else wanted

    def _aligned(self, needle: str, start: int, end: int) -> TokenSpan | None:
        for place in occurrences(self.text, needle, start, end):
            if is_aligned(self.starts, self.ends, place):
                return token_span(self.starts, self.ends, place)
        return None


class Gold(NamedTuple):
    """An example's gold segments: support in gold order, with their paragraphs."""

    sentences: list[Segment]
    titles: list[Segment]
    others: list[Segment]
    of_fact: list[Segment | None]


def label_example(
    example: Any,
    located: Located,
    candidates: Sequence[Segment],
    options: EncodingOptions,
    aliases: Mapping[str, Sequence[str]],
    counts: Counter[str],
) -> Labels:
    """Find an example's targets; `candidates` are the segments that can be support."""
    gold = gold_segments(example, located.layout.segments, counts)
    find = Finder(located, options, aliases, counts)
    answer_type, answer = label_answer(example, gold, find)
    facts = set(example.supporting_facts)
    titles = [paragraph.title for paragraph in example.context]
    support = [int((titles[part.paragraph], part.sent_id) in facts) for part in candidates]
    slots = label_triples(example, gold, find, options, counts)
    return Labels(answer_type, answer, support, *slots)


class Finder:
    """Finds a string in the way that the configuration asks for, aliases after the name."""

    def __init__(
        self,
        located: Located,
        options: EncodingOptions,
        aliases: Mapping[str, Sequence[str]],
        counts: Counter[str],
    ) -> None:
        self.located, self.options = located, options
        self.aliases, self.counts = aliases, counts

    def __call__(
        self, wanted: str, name_id: str | None, segments: Iterable[Segment], reason: str
    ) -> TokenSpan:
        """Give the tokens of a string, or what stands for one that is not there."""
        ranked = list(segments)
        for name in (wanted, *self.aliases.get(name_id or "", ())):
            if self.options.prefer_support:
                found = self.located.first_aligned(name, ranked)
            else:
                found = self.located.nearest(name)
            if found:
                return found
        self.counts[reason] += 1
        return NOWHERE if self.options.ignore_missing else FIRST_TOKENS


def gold_segments(example: Any, segments: Sequence[Segment], counts: Counter[str]) -> Gold:
    """Find the segments that the supporting facts name; count those that name none."""
    wanted = {fact.title for fact in example.supporting_facts}
    titles = [title if title in wanted else None for title, _ in example.context]
    named: dict[tuple[str, int], list[Segment]] = {}
    for segment in segments:
        title = titles[segment.paragraph]
        if title is not None:
            named.setdefault((title, segment.sent_id), []).append(segment)
    sentences: list[Segment] = []
    of_fact: list[Segment | None] = []
    for title, sent_id in example.supporting_facts:
        found = named.get((title, sent_id), []) if sent_id > TITLE else []
        if not found:
            known = (title, TITLE) in named
            counts["sentence_out_of_range" if known else "title_not_in_context"] += 1
        of_fact.append(found[0] if found else None)
        sentences += [segment for segment in found if segment not in sentences]
    order = {segment.paragraph: None for segment in sentences}
    of_paragraph: dict[int, list[Segment]] = {paragraph: [] for paragraph in order}
    for parts in named.values():
        for part in parts:
            if part.paragraph in of_paragraph and part not in sentences:
                of_paragraph[part.paragraph].append(part)
    rest = [part for paragraph in order for part in of_paragraph[paragraph]]
    return Gold(
        sentences,
        [part for part in rest if part.sent_id == TITLE],
        [part for part in rest if part.sent_id != TITLE],
        of_fact,
    )


def label_answer(example: Any, gold: Gold, find: Finder) -> tuple[int, TokenSpan]:
    """Give the answer's type and tokens; both are ignored where the answer is hidden."""
    if example.answer is None:
        return IGNORED, NOWHERE
    answer = example.answer.strip().lower()
    if answer in ANSWER_TYPES[1:]:
        return ANSWER_TYPES.index(answer), NOWHERE
    ranked = gold.sentences + gold.titles + gold.others
    return 0, find(example.answer, example.answer_id, ranked, "answer_not_in_context")


def label_triples(
    example: Any,
    gold: Gold,
    find: Finder,
    options: EncodingOptions,
    counts: Counter[str],
) -> tuple[list[int], list[TokenSpan], list[TokenSpan]]:
    """Put the triples into slots: in their order, or (the published way) by their relation."""
    empty = NOWHERE if options.ignore_missing else TokenSpan(0, 0)
    if example.answer is None:  # hidden
        size = options.slots
        return [IGNORED] * size, [NOWHERE] * size, [NOWHERE] * size
    nothing = len(options.relation_ids) if options.triple_slots else 0
    relations = [nothing] * options.slots
    subjects = [empty] * options.slots
    objects = [empty] * options.slots
    for number, triple in enumerate(example.evidences):
        relation = options.relation_ids.get(triple.relation.strip())
        if relation is None:
            counts["relation_not_in_vocabulary"] += 1
        if options.triple_slots:
            slot = number
            if slot >= options.triple_slots:
                counts["more_triples_than_slots"] += 1
                break
            relations[slot] = IGNORED if relation is None else relation
        else:
            if relation is None and options.ignore_missing:
                continue
            slot = min(1, len(options.relation_ids) - 1) if relation is None else relation
            counts["triples_of_one_relation"] += relations[slot] == 1
            relations[slot] = 1
        ids = example.evidences_id[number] if number < len(example.evidences_id) else None
        own = _own_segments(example, number, gold)
        subjects[slot] = find(
            triple.subject,
            ids and ids.subject_id,
            _subject_order(own, gold),
            "subject_not_in_context",
        )
        objects[slot] = find(
            triple.object, ids and ids.object_id, _object_order(own, gold), "object_not_in_context"
        )
    return relations, subjects, objects


def _own_segments(example: Any, number: int, gold: Gold) -> Segment | None:
    """Give the supporting sentence that belongs to a triple, where facts and triples pair up."""
    if len(gold.of_fact) == len(example.evidences):
        return gold.of_fact[number]
    subject = fold(example.evidences[number].subject)
    for segment in gold.sentences:
        if fold(example.context[segment.paragraph].title).startswith(subject):
            return segment
    return None


def _subject_order(own: Segment | None, gold: Gold) -> list[Segment]:
    if own is None:
        return gold.titles + gold.sentences + gold.others
    titles = [part for part in gold.titles if part.paragraph == own.paragraph]
    return [*titles, own, *gold.titles, *gold.sentences, *gold.others]


def _object_order(own: Segment | None, gold: Gold) -> list[Segment]:
    if own is None:
        return gold.sentences + gold.others + gold.titles
    others = [part for part in gold.others if part.paragraph == own.paragraph]
    return [own, *others, *gold.sentences, *gold.titles, *gold.others]
