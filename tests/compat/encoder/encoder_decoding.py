"""The encoder's logits to answers: best spans within a title or paragraph, triples that agree.

`score_records` takes a batch's logits to small plain records (these are what processes gather);
`decode_record` turns one into an answer. What the decoder derives beside the model's own best
(`chain_consistency`, `derive_answers`) is an option of the configuration each. Text is always a
slice of the context.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy
import torch
from torch import Tensor

from .decoding import (
    NOTHING,
    Answered,
    ScoredSpan,
    ScoredTriple,
    best_spans,
    scored_span,
    slice_of,
)
from .encoder_comparison import Fact, derive_answer, is_named, same_thing
from .encoder_configuration import TwoWikiEncoderConfig
from .encoding import Window
from .labels import ANSWER_TYPES
from .spans import Span, fold


class RecordScores(NamedTuple):
    """What the model says about one example, in characters of its context's text.

    `sentences` are (paragraph, sent_id, probability). `relations` are probabilities a slot and
    class, the last class none. `subjects` and `objects` are the best places a slot, the best
    first; a slot without any has an empty list.
    """

    example: int
    answer_types: list[float]
    answer: ScoredSpan | None
    sentences: list[tuple[int, int, float]]
    relations: list[list[float]]
    subjects: list[list[ScoredSpan]]
    objects: list[list[ScoredSpan]]


def zone_rows(windows: Sequence[Window], config: TwoWikiEncoderConfig, tokens: int) -> Tensor:
    """Number the stretches that a span must not leave: titles and paragraphs; -1 at markers."""
    zones = numpy.full((len(windows), tokens), -1, numpy.int64)
    for row, window in enumerate(windows):
        title = window.token_ids == config.title_marker_id
        sentence = window.token_ids == config.sentence_marker_id
        after_title = numpy.zeros_like(sentence)
        borders = numpy.flatnonzero(title | sentence)
        after_title[borders[1:]] = sentence[borders[1:]] & title[borders[:-1]]
        zones[row, : len(title)] = numpy.where(
            title | sentence, -1, numpy.cumsum(title | after_title)
        )
    return torch.from_numpy(zones)


def span_candidates(
    start_logits: Tensor, end_logits: Tensor, zones: Tensor, width: int, count: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Find the best spans among the best starts and ends; the best of all comes first.

    Shape:
        logits: (B, T, K); zones: (B, T). Output: start, end and score, each (B, K, count).
    """
    first, last, best = best_spans(start_logits, end_logits, zones, width)
    if count < 2:
        return first.unsqueeze(-1), last.unsqueeze(-1), best.unsqueeze(-1)
    several = min(2 * count, start_logits.shape[1])
    start_scores, starts = start_logits.topk(several, dim=1)  # (B, N, K)
    end_scores, ends = end_logits.topk(several, dim=1)
    spread = zones.unsqueeze(-1).expand_as(start_logits)
    zone, other = spread.gather(1, starts).unsqueeze(2), spread.gather(1, ends).unsqueeze(1)
    length = ends.unsqueeze(1) - starts.unsqueeze(2)  # (B, N, N, K)
    allowed = (zone == other) & (zone >= 0) & (length >= 0) & (length < width)
    allowed &= (starts.unsqueeze(2) != first[:, None, None]) | (
        ends.unsqueeze(1) != last[:, None, None]
    )
    totals = start_scores.unsqueeze(2) + end_scores.unsqueeze(1)
    totals = totals.masked_fill(~allowed, torch.finfo(totals.dtype).min).flatten(1, 2)
    scores, places = totals.topk(min(count - 1, totals.shape[1]), dim=1)  # (B, n, K)
    picked = (
        torch.cat([first.unsqueeze(1), starts.gather(1, places // several)], dim=1),
        torch.cat([last.unsqueeze(1), ends.gather(1, places % several)], dim=1),
        torch.cat([best.unsqueeze(1), scores], dim=1),
    )
    return tuple(part.transpose(1, 2) for part in picked)  # type: ignore[return-value]


def score_records(
    output: Any, windows: Sequence[Window], config: TwoWikiEncoderConfig
) -> list[RecordScores]:
    """Take a batch's output to one record an example."""
    zones = zone_rows(windows, config, output.start_logits.shape[1]).to(output.start_logits.device)
    count = config.span_candidates if config.chain_consistency else 1
    groups = {
        "answer": (output.start_logits.unsqueeze(-1), output.end_logits.unsqueeze(-1), 1),
        "subject": (output.subject_start_logits, output.subject_end_logits, count),
        "object": (output.object_start_logits, output.object_end_logits, count),
    }
    spans = {
        name: [
            part.tolist()
            for part in span_candidates(starts, ends, zones, config.max_span_tokens, n)
        ]
        for name, (starts, ends, n) in groups.items()
    }
    types = output.answer_type_logits.float().softmax(-1).tolist()
    sentences = output.support_logits.float().sigmoid().tolist()
    relations = output.relation_logits.float().softmax(-1).tolist()
    scored = []
    for row, window in enumerate(windows):
        placed = {
            name: [
                _placed(window, zip(*slot, strict=True))
                for slot in zip(*(part[row] for part in parts), strict=True)
            ]
            for name, parts in spans.items()
        }
        rows = zip(window.sentences[:, 2:].tolist(), sentences[row], strict=False)
        scored.append(
            RecordScores(
                window.example,
                types[row],
                next(iter(placed["answer"][0]), None),
                [(paragraph, sent_id, score) for (paragraph, sent_id), score in rows],
                relations[row],
                placed["subject"],
                placed["object"],
            )
        )
    return scored


def _placed(window: Window, spans: Any) -> list[ScoredSpan]:
    found = (scored_span(window, start, end, score) for start, end, score in spans)
    return [span for span in found if span is not None and span.end > span.start]


def decode_record(
    score: RecordScores | None,
    question: str,
    context: Sequence[tuple[str, Sequence[str]]],
    text: str,
    config: TwoWikiEncoderConfig,
) -> Answered:
    """Answer one example; without a record nothing is said.

    Args:
        score: what the model says.
        question: its question, for what the decoder derives.
        context: its paragraphs, for the titles.
        text: the text that the context was laid out as.
        config: the model's configuration.
    """
    if score is None:
        return NOTHING
    triples = decode_triples(score, question, text, config)
    kind = int(numpy.argmax(score.answer_types))
    span = score.answer if kind == 0 else None
    answer = ANSWER_TYPES[kind] if kind else slice_of(text, span)
    place = Span(span.start, span.end) if span else None
    if config.derive_answers:
        derived = derive_answer(question, [Fact(*triple[:3]) for triple in triples])
        if derived is not None:
            answer, number = derived
            kind = 0 if number is not None else ANSWER_TYPES.index(answer)
            place = triples[number].subject_span if number is not None else None
    sentences = [(context[p][0], sent_id, chance) for p, sent_id, chance in score.sentences]
    chosen = [part for part in sentences if part[2] > config.support_threshold]
    return Answered(
        answer,
        ANSWER_TYPES[kind],
        float(score.answer_types[kind]),
        place,
        [(title, sent_id) for title, sent_id, _ in chosen],
        [chance for _, _, chance in chosen],
        sentences,
        triples,
    )


class Slot(NamedTuple):
    """A slot that says a triple: its relation, and places for subject and object."""

    relation: str
    probability: float
    subjects: list[ScoredSpan]
    objects: list[ScoredSpan]


def decode_triples(
    score: RecordScores, question: str, text: str, config: TwoWikiEncoderConfig
) -> list[ScoredTriple]:
    """Give the triples of the slots that are on, each once, what the question names first."""
    names = config.relations or []
    slots = []
    for probabilities, subjects, objects in zip(
        score.relations, score.subjects, score.objects, strict=True
    ):
        number = int(numpy.argmax(probabilities))
        if number < len(names) and subjects and objects:
            slots.append(Slot(names[number], probabilities[number], subjects, objects))
    asked = fold(question)
    if config.chain_consistency:
        slots = agree(slots, asked, text, config.chain_margin)
    slots.sort(key=lambda slot: not is_named(slice_of(text, slot.subjects[0]), asked))
    triples: dict[tuple[str, str, str], ScoredTriple] = {}
    for slot in slots:
        subject, object_ = slot.subjects[0], slot.objects[0]
        key = slice_of(text, subject), slot.relation, slice_of(text, object_)
        places = Span(subject.start, subject.end), Span(object_.start, object_.end)
        triples.setdefault(key, ScoredTriple(*key, slot.probability, *places))
    return list(triples.values())


def agree(slots: Sequence[Slot], asked: str, text: str, margin: float) -> list[Slot]:
    """Let each subject that the question does not name be the object of another triple.

    Subject and object are chosen together, by the sum of their scores, among places of the same
    name; where no such pair comes within the margin of the best places both stay as they are.
    """
    agreed = list(slots)
    for number, slot in enumerate(slots):
        if is_named(slice_of(text, slot.subjects[0]), asked):
            continue
        best: tuple[float, int, ScoredSpan, ScoredSpan] | None = None
        for other, hop in enumerate(agreed):
            if other == number or not is_named(slice_of(text, hop.subjects[0]), asked):
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
            agreed[other] = agreed[other]._replace(objects=[object_])
            agreed[number] = agreed[number]._replace(subjects=[subject])
    return agreed
