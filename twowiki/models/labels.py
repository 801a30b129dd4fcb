"""Targets of an example in tokens: answer, supporting sentences, and a slot for each triple.

In: anything with the gold fields of an example, and its text with word offsets. Out: `Labels`.
Corrected settings look for whole words whatever their case, in supporting sentences first, and
ignore what is not found. The published settings take the first place that fits token borders, in
the case given, and train what is not found towards tokens 0 and 1. Both count what they miss.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .text import (
    TITLE,
    Layout,
    Segment,
    TokenSpan,
    fold,
    is_aligned,
    nearest_span,
    occurrences,
    token_span,
)
from .words import Words

IGNORED = -100  # a target that takes no part in the loss
ANSWER_TYPES = ("span", "yes", "no")
POINTERS = ("subject_start", "subject_end", "object_start", "object_end")
# the labels of both models' `forward`, in its order
LABEL_NAMES = [
    "start_positions",
    "end_positions",
    "answer_type_labels",
    "support_labels",
    "relation_labels",
    *(f"{name}_positions" for name in POINTERS),
]
NOWHERE = TokenSpan(IGNORED, IGNORED)
FIRST_TOKENS = TokenSpan(0, 1)


class EncodingOptions(NamedTuple):
    """The options of a configuration that affect an encoded example, with its relations' ids."""

    relation_ids: dict[str, int]
    match_features: bool
    triple_slots: int
    max_question_tokens: int
    layout: str = "marked"
    ignore_case: bool = True
    prefer_support: bool = True
    ignore_missing: bool = True
    title_support: bool = False
    window_tokens: int = 0
    window_stride: int = 0
    max_context_tokens: int = 0
    max_sentences: int = 0
    selection: Any = None  # `selection.Selection`, of the encoder

    @property
    def slots(self) -> int:
        """Number of subject (and object) pointers."""
        return self.triple_slots or len(self.relation_ids)


class MultihopConfig:
    """The part of a configuration that both models share: what losses and decoding read."""

    layout: str
    relations: list[str] | None
    triple_slots: int
    loss_reduction: str
    answer_type_weight: float
    support_weight: float
    evidence_weight: float
    max_span_tokens: int
    support_threshold: float

    def __post_init__(self, **kwargs: Any) -> None:
        if __name__.startswith("twowiki."):  # the pipeline of this package is registered: the
            kwargs.pop("custom_pipelines", None)  # code of the folder need not run
        self.relations = list(self.relations or [])
        super().__post_init__(**kwargs)  # type: ignore[misc]

    @property
    def relation_count(self) -> int:
        """Number of relations, special ones included where there are any."""
        return len(self.relations or [])

    @property
    def relation_ids(self) -> dict[str, int]:
        """Id of each relation."""
        return {name: number for number, name in enumerate(self.relations or [])}

    def check_choice(self, name: str, *choices: str) -> None:
        """Raise ValueError unless a field is one of its choices."""
        value = getattr(self, name)
        if value not in choices:
            raise ValueError(f"{name} is {' or '.join(map(repr, choices))}, not {value!r}")


class Labels(NamedTuple):
    """An example's targets in tokens of its whole context; -100 is ignored.

    `relations` and the pointers have one entry per slot, `support` one per listed segment.
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
        """Return the first place on token borders, one segment at a time, then anywhere."""
        needle = self._needle(wanted)
        if needle not in self.text:
            return None
        for segment in segments:
            found = self._aligned(needle, segment.start, segment.end)
            if found:
                return found
        return self._aligned(needle, 0, len(self.text))

    def nearest(self, wanted: str) -> TokenSpan | None:
        """Return the place nearest to token borders, the earliest of equals."""
        spans = list(occurrences(self.text, self._needle(wanted)))
        return nearest_span(self.starts, self.ends, spans)

    def _needle(self, wanted: str) -> str:
        wanted = wanted.strip()
        return fold(wanted) if self.ignore_case else wanted

    def _aligned(self, needle: str, start: int, end: int) -> TokenSpan | None:
        for span in occurrences(self.text, needle, start, end):
            if is_aligned(self.starts, self.ends, span):
                return token_span(self.starts, self.ends, span)
        return None


class Finder:
    """Find the tokens of a string as the options require, by its aliases where it is absent."""

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
        self, wanted: str, wikidata_id: str | None, segments: Iterable[Segment], reason: str
    ) -> TokenSpan:
        """Return the tokens of a string; one that is absent is counted under the reason."""
        ranked = list(segments)
        for name in (wanted, *self.aliases.get(wikidata_id or "", ())):
            if self.options.prefer_support:
                found = self.located.first_aligned(name, ranked)
            else:
                found = self.located.nearest(name)
            if found:
                return found
        self.counts[reason] += 1
        return NOWHERE if self.options.ignore_missing else FIRST_TOKENS


class GoldSegments(NamedTuple):
    """Segments of the gold paragraphs; `of_fact` has one entry per supporting fact."""

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
    titles = [paragraph.title for paragraph in example.context]
    support = [IGNORED] * len(candidates)
    if (facts := example.supporting_facts) is not None:
        known = set(facts)
        support = [int((titles[part.paragraph], part.sent_id) in known) for part in candidates]
    slots = label_triples(example, gold, find, options, counts)
    return Labels(answer_type, answer, support, *slots)


def gold_segments(example: Any, segments: Sequence[Segment], counts: Counter[str]) -> GoldSegments:
    """Find the segments of the supporting facts; count the facts that have none."""
    facts = example.supporting_facts or ()
    wanted = {fact.title for fact in facts}
    titles = [title if title in wanted else None for title, _ in example.context]
    named: dict[tuple[str, int], list[Segment]] = {}
    for segment in segments:
        title = titles[segment.paragraph]
        if title is not None:
            named.setdefault((title, segment.sent_id), []).append(segment)
    sentences: list[Segment] = []
    of_fact: list[Segment | None] = []
    for title, sent_id in facts:
        found = named.get((title, sent_id), []) if sent_id > TITLE else []
        if not found:
            known = (title, TITLE) in named
            counts["sentence_out_of_range" if known else "title_not_in_context"] += 1
        of_fact.append(found[0] if found else None)
        sentences += [segment for segment in found if segment not in sentences]
    order = dict.fromkeys(segment.paragraph for segment in sentences)
    of_paragraph: dict[int, list[Segment]] = {paragraph: [] for paragraph in order}
    for parts in named.values():
        for part in parts:
            if part.paragraph in of_paragraph and part not in sentences:
                of_paragraph[part.paragraph].append(part)
    rest = [part for paragraph in order for part in of_paragraph[paragraph]]
    titles_of_gold = [part for part in rest if part.sent_id == TITLE]
    others = [part for part in rest if part.sent_id != TITLE]
    return GoldSegments(sentences, titles_of_gold, others, of_fact)


def label_answer(example: Any, gold: GoldSegments, find: Finder) -> tuple[int, TokenSpan]:
    """Return the answer's type and tokens; both are ignored where the answer is hidden."""
    if example.answer is None:
        return IGNORED, NOWHERE
    answer = example.answer.strip().lower()
    if answer in ANSWER_TYPES[1:]:
        return ANSWER_TYPES.index(answer), NOWHERE
    ranked = gold.sentences + gold.titles + gold.others
    return 0, find(example.answer, example.answer_id, ranked, "answer_not_in_context")


def label_triples(
    example: Any, gold: GoldSegments, find: Finder, options: EncodingOptions, counts: Counter[str]
) -> tuple[list[int], list[TokenSpan], list[TokenSpan]]:
    """Put the triples into slots: in their order, or (the published way) by their relation."""
    size = options.slots
    if example.answer is None or example.evidences is None:  # hidden, or not annotated
        return [IGNORED] * size, [NOWHERE] * size, [NOWHERE] * size
    empty = NOWHERE if options.ignore_missing else TokenSpan(0, 0)
    relations = [len(options.relation_ids) if options.triple_slots else 0] * size
    subjects, objects = [empty] * size, [empty] * size
    for number, triple in enumerate(example.evidences):
        relation = options.relation_ids.get(triple.relation.strip())
        if relation is None:
            counts["relation_not_in_vocabulary"] += 1
        slot = number if options.triple_slots else _relation_slot(relation, options)
        if slot is None:
            continue
        if slot >= size:
            counts["more_triples_than_slots"] += 1
            break
        if options.triple_slots:
            relations[slot] = IGNORED if relation is None else relation
        else:
            counts["triples_of_one_relation"] += relations[slot] == 1
            relations[slot] = 1
        subjects[slot], objects[slot] = _find_ends(example, number, gold, find)
    return relations, subjects, objects


def _relation_slot(relation: int | None, options: EncodingOptions) -> int | None:
    """Return the slot of a relation, of the unknown one (id 1) where that is trained too."""
    if relation is None:
        return None if options.ignore_missing else min(1, len(options.relation_ids) - 1)
    return relation


def _find_ends(
    example: Any, number: int, gold: GoldSegments, find: Finder
) -> tuple[TokenSpan, TokenSpan]:
    """Find the subject and the object of a triple, in its own supporting sentence first."""
    triple = example.evidences[number]
    ids = example.evidences_id[number] if number < len(example.evidences_id) else None
    own = _own_segment(example, number, gold)
    first = [] if own is None else [own]
    titles, others = (
        [part for part in parts if own is not None and part.paragraph == own.paragraph]
        for parts in (gold.titles, gold.others)
    )
    if own is None:
        object_order = gold.sentences + gold.others + gold.titles
    else:
        object_order = [own, *others, *gold.sentences, *gold.titles, *gold.others]
    subject_order = [*titles, *first, *gold.titles, *gold.sentences, *gold.others]
    return (
        find(triple.subject, ids and ids.subject_id, subject_order, "subject_not_in_context"),
        find(triple.object, ids and ids.object_id, object_order, "object_not_in_context"),
    )


def _own_segment(example: Any, number: int, gold: GoldSegments) -> Segment | None:
    """Return the supporting sentence of a triple, where facts and triples pair up."""
    if len(gold.of_fact) == len(example.evidences):
        return gold.of_fact[number]
    subject = fold(example.evidences[number].subject)
    for segment in gold.sentences:
        if fold(example.context[segment.paragraph].title).startswith(subject):
            return segment
    return None
