"""The encoder's way from logits to answers: triples that agree, what follows from them.

What is derived beside the model's own best (`chain_consistency`, `derive_answers`,
`chain_answers`) is an option of the configuration each. The rest is shared with the baseline: see
`decoding`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from .comparison_answers import derive_answer, is_named, same_thing
from .configuration_encoder import TwoWikiEncoderConfig
from .decoding import (
    NO_ANSWER,
    MultihopAnswer,
    ScoredSpan,
    ScoredTriple,
    TripleSlot,
    WindowScores,
    collect_scores,
    merge_windows,
    pad_segment_ids,
    slice_of,
    triple_slots,
    unique_triples,
)
from .features import Window
from .labels import ANSWER_TYPES
from .text import Paragraphs, Span, fold, lay_out


def score_records(
    output: Any, windows: Sequence[Window], config: TwoWikiEncoderConfig
) -> list[WindowScores]:
    """Score a batch of the encoder: one record per example."""
    rows = [token_segment_ids(window, config) for window in windows]
    segment_ids = pad_segment_ids(rows, output.start_logits.shape[1])
    candidates = config.span_candidates if config.chain_consistency else 1
    return collect_scores(output, windows, segment_ids, config, candidates)


def token_segment_ids(window: Window, config: TwoWikiEncoderConfig) -> Any:
    """Return numbers of the titles and paragraphs that a span must not leave; -1 at markers."""
    title = window.token_ids == config.title_marker_id
    sentence = window.token_ids == config.sentence_marker_id
    after_title = numpy.zeros_like(sentence)
    borders = numpy.flatnonzero(title | sentence)
    after_title[borders[1:]] = sentence[borders[1:]] & title[borders[:-1]]
    return numpy.where(title | sentence, -1, numpy.cumsum(title | after_title))


def decode_record(
    scores: Sequence[WindowScores],
    question: str,
    context: Paragraphs,
    config: TwoWikiEncoderConfig,
) -> MultihopAnswer:
    """Decode one example of the encoder from its record; without one there is no answer."""
    if not scores:
        return NO_ANSWER
    text = lay_out(context, config.layout).text
    folded = fold(question)
    slots = triple_slots(scores, config)
    if config.chain_consistency:
        slots = align_chains(slots, folded, text, config.chain_margin)
    slots.sort(key=lambda slot: not is_named(slice_of(text, slot.subjects[0]), folded))
    triples = unique_triples(slots, text)
    answer = merge_windows(scores, context, text, triples, config)
    derived = derive_answer(question, triples) if config.derive_answers else None
    if derived is not None:
        words, number = derived
        place = None if number is None else triples[number].subject_span
        return with_answer(answer, scores, words, place)
    last = last_of_chain(folded, triples) if config.chain_answers else None
    return answer if last is None else with_answer(answer, scores, last.object, last.object_span)


def last_of_chain(question: str, triples: Sequence[ScoredTriple]) -> ScoredTriple | None:
    """Return the triple that a chain of two ends in; None where the triples are no such chain.

    The chain begins with the subject that the folded question names; where it names neither, with
    the triple whose object is the other's subject.
    """
    if len(triples) != 2:
        return None
    named = [is_named(triple.subject, question) for triple in triples]
    if all(named):
        return None
    if not any(named):
        named = [
            same_thing(one.object, other.subject)
            for one, other in zip(triples, reversed(triples), strict=True)
        ]
    return triples[named.index(False)] if any(named) and not all(named) else None


def with_answer(
    answer: MultihopAnswer, scores: Sequence[WindowScores], words: str, place: Span | None
) -> MultihopAnswer:
    """Return an answer with other words, and their place; without one they are yes or no."""
    answer_type = 0 if place is not None else ANSWER_TYPES.index(words)
    return answer._replace(
        answer=words,
        answer_type=ANSWER_TYPES[answer_type],
        answer_score=float(numpy.mean([s.answer_types[answer_type] for s in scores])),
        answer_span=place,
    )


def align_chains(
    slots: Sequence[TripleSlot], question: str, text: str, margin: float
) -> list[TripleSlot]:
    """Let each subject that the question does not name be the object of another triple.

    Subject and object are chosen together, by the sum of their scores, among places of the same
    name; where no such pair comes within the margin of the best places, both stay as they are.

    Args:
        slots: the slots that hold a triple.
        question: the folded question.
        text: the text that the context was laid out as.
        margin: most that a choice may lose against the best places, in logits.
    """
    aligned = list(slots)
    for number, slot in enumerate(slots):
        if is_named(slice_of(text, slot.subjects[0]), question):
            continue
        best: tuple[float, int, ScoredSpan, ScoredSpan] | None = None
        for other, hop in enumerate(aligned):
            if other == number or not is_named(slice_of(text, hop.subjects[0]), question):
                continue
            for object_ in hop.objects:
                for subject in slot.subjects:
                    lost = hop.objects[0].score - object_.score
                    lost += slot.subjects[0].score - subject.score
                    least = margin if best is None else best[0]
                    if lost < least and same_thing(
                        slice_of(text, object_), slice_of(text, subject)
                    ):
                        best = lost, other, object_, subject
        if best is not None:
            _, other, object_, subject = best
            aligned[other] = aligned[other]._replace(objects=[object_])
            aligned[number] = aligned[number]._replace(subjects=[subject])
    return aligned
