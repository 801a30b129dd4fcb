"""Logits to answers: best spans over a band, sentences above a threshold, triples.

`collect_scores` turns a batch's logits into one small plain record per window (these are what
processes gather); `merge_windows` joins the windows of one example: the best score decides, and a
sentence has the highest score that any window gives it. Text is always a slice of the context.
`score_windows` and `decode_windows` are the baseline's way through these; the encoder's are in
`decoding_encoder`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy
import torch
from torch import Tensor

from .features import Window
from .labels import ANSWER_TYPES, MultihopConfig
from .text import (
    TITLE_END,
    TITLE_START,
    Paragraphs,
    Span,
    code_points,
    joined_names,
    lay_out,
    without_markers,
)


class ScoredSpan(NamedTuple):
    """Characters of the context's text, with the sum of the start and end logits."""

    start: int
    end: int
    score: float

    @property
    def place(self) -> Span:
        """The characters alone."""
        return Span(self.start, self.end)


class PagePlace(NamedTuple):
    """Places for a triple: a page's title and an object in its text, with their score.

    `answer` is what the answer's own pointers give the object.
    """

    paragraph: int
    subject: ScoredSpan
    object: ScoredSpan
    score: float
    answer: float


class WindowScores(NamedTuple):
    """The scores of one window, in characters of the whole context.

    `sentences` are (paragraph, sent_id, probability). `relations` are probabilities per slot and
    class (slots), or per relation (no slots). `subjects` and `objects` are the best place per
    slot; empty where no token can be pointed at. `pages` are the places by page of each slot, if
    triples are chosen together.
    """

    example: int
    answer_types: list[float]
    answer: ScoredSpan | None
    sentences: list[tuple[int, int, float]]
    relations: list[list[float]]
    subjects: list[list[ScoredSpan]]
    objects: list[list[ScoredSpan]]
    pages: list[list[PagePlace]] = []  # noqa: RUF012 (never changed)


class TripleSlot(NamedTuple):
    """A slot that holds a triple: its relation, and places for subject and object."""

    relation: str
    probability: float
    subjects: list[ScoredSpan]
    objects: list[ScoredSpan]
    pages: list[PagePlace]


class ScoredTriple(NamedTuple):
    """A predicted triple, the probability of its relation, and its places in the context's text."""

    subject: str
    relation: str
    object: str
    score: float
    subject_span: Span
    object_span: Span


class MultihopAnswer(NamedTuple):
    """The answer to one question. `answer_span` is None for yes, no and no answer."""

    answer: str
    answer_type: str
    answer_score: float
    answer_span: Span | None
    supporting_facts: list[tuple[str, int]]
    support_scores: list[float]
    sentence_scores: list[tuple[str, int, float]]
    evidences: list[ScoredTriple]


NO_ANSWER = MultihopAnswer("", "span", 0.0, None, [], [], [], [])
Spans = tuple[Tensor, Tensor, Tensor]  # start, end, score


def best_spans(
    start_logits: Tensor, end_logits: Tensor, segment_ids: Tensor | None, width: int
) -> Spans:
    """Find the best start and end with at most `width` tokens, over a band of the square.

    Shape:
        logits: (B, T, K); segment_ids: (B, T), or None. Output: start, end and score, each (B, K).
    """
    lowest = torch.finfo(start_logits.dtype).min
    if segment_ids is None:
        best_end = forward_maximum(end_logits, width)
    else:
        best_end = torch.full_like(end_logits, lowest)
        for ahead in range(min(width, end_logits.shape[1])):
            reach = segment_ids.shape[1] - ahead
            first, last = segment_ids[:, :reach], segment_ids[:, ahead:]
            outside = (first != last) | (first < 0)
            ends = end_logits[:, ahead:].masked_fill(outside.unsqueeze(-1), lowest)
            best_end[:, :reach] = torch.maximum(best_end[:, :reach], ends)
    scores, starts = (start_logits + best_end).max(dim=1)  # (B, K)
    steps = torch.arange(width, device=starts.device).view(1, -1, 1)
    positions = starts.unsqueeze(1) + steps  # (B, W, K)
    inside = positions < end_logits.shape[1]
    positions = positions.clamp(max=end_logits.shape[1] - 1)
    if segment_ids is not None:
        spread = segment_ids.unsqueeze(-1).expand_as(end_logits)
        inside &= spread.gather(1, positions) == spread.gather(1, starts.unsqueeze(1))
    ends = end_logits.gather(1, positions).masked_fill(~inside, -torch.inf)
    return starts, starts + ends.argmax(dim=1), scores


def forward_maximum(values: Tensor, width: int) -> Tensor:
    """Return the maximum over `width` steps from each step on, by doubling: (B, T, K)."""
    highest, covered = values.clone(), 1
    while covered < width:
        shift = min(covered, width - covered)
        if shift >= values.shape[1]:
            break
        later = highest[:, shift:].clone()
        torch.maximum(highest[:, :-shift], later, out=highest[:, :-shift])
        covered += shift
    return highest


def collect_scores(
    output: Any,
    windows: Sequence[Window],
    segment_ids: Tensor | None,
    config: MultihopConfig,
) -> list[WindowScores]:
    """Turn a batch's output into one record per window.

    Args:
        output: a `TwoWikiOutput`.
        windows: the windows of the batch.
        segment_ids: see `pad_segment_ids`; None lets a span cross every border.
        config: the model's configuration.
    """
    if segment_ids is not None:
        segment_ids = segment_ids.to(output.start_logits.device)

    def spans(starts: Tensor, ends: Tensor) -> list[list[tuple[int, int, float]]]:
        found = best_spans(starts, ends, segment_ids, config.max_span_tokens)
        rows = zip(*(part.tolist() for part in found), strict=True)
        return [list(zip(*row, strict=True)) for row in rows]

    answers = spans(output.start_logits.unsqueeze(-1), output.end_logits.unsqueeze(-1))
    subjects = spans(output.subject_start_logits, output.subject_end_logits)
    objects = spans(output.object_start_logits, output.object_end_logits)
    types = output.answer_type_logits.float().softmax(-1).tolist()
    sentences = output.support_logits.float().sigmoid().tolist()
    logits = output.relation_logits.float()
    relations = logits.softmax(-1) if config.triple_slots else logits.sigmoid().unsqueeze(-1)
    return [
        WindowScores(
            window.example,
            types[row],
            next(iter(_place(window, answers[row][:1])), None),
            [
                (paragraph, sent_id, probability)
                for (paragraph, sent_id), probability in zip(
                    window.sentences[:, 2:].tolist(), sentences[row], strict=False
                )
            ],
            relation,
            [_place(window, [slot]) for slot in subjects[row]],
            [_place(window, [slot]) for slot in objects[row]],
        )
        for row, (window, relation) in enumerate(zip(windows, relations.tolist(), strict=True))
    ]


def _place(window: Window, spans: Iterable[tuple[int, int, float]]) -> list[ScoredSpan]:
    """Turn tokens of a window into characters of the context, without padding and markers."""
    places = []
    for start, end, score in spans:
        if end < len(window.token_ids) and score >= -1e29:
            first, last = int(window.token_starts[start]), int(window.token_ends[end])
            if last > first:
                shift = window.char_offset
                places.append(ScoredSpan(first + shift, last + shift, score))
    return places


def pad_segment_ids(rows: Sequence[Any], tokens: int) -> Tensor:
    """Stack the numbers of the segments that a span must not leave, -1 at padding: (B, T)."""
    segment_ids = numpy.full((len(rows), tokens), -1, numpy.int64)
    for row, values in enumerate(rows):
        segment_ids[row, : len(values)] = values
    return torch.from_numpy(segment_ids)


def merge_windows(
    scores: Sequence[WindowScores],
    context: Paragraphs,
    text: str,
    triples: list[ScoredTriple],
    config: MultihopConfig,
) -> MultihopAnswer:
    """Join the windows of one example, in any order; without windows there is no answer.

    Args:
        scores: the example's windows.
        context: its paragraphs, for the titles.
        text: the text that the context was laid out as.
        triples: its decoded triples.
        config: the model's configuration.
    """
    if not scores:
        return NO_ANSWER
    types = numpy.mean([score.answer_types for score in scores], axis=0)
    answer_type = int(types.argmax())
    found = [score.answer for score in scores if score.answer] if answer_type == 0 else []
    span = max(found, key=lambda place: place.score, default=None)
    best: dict[tuple[int, int], float] = {}
    for score in scores:
        for paragraph, sent_id, probability in score.sentences:
            key = paragraph, sent_id
            best[key] = max(probability, best.get(key, 0.0))
    sentences = [(context[p][0], s, probability) for (p, s), probability in sorted(best.items())]
    chosen = [sentence for sentence in sentences if sentence[2] > config.support_threshold]
    return MultihopAnswer(
        ANSWER_TYPES[answer_type] if answer_type else slice_of(text, span),
        ANSWER_TYPES[answer_type],
        float(types[answer_type]),
        Span(span.start, span.end) if span else None,
        [(title, sent_id) for title, sent_id, _ in chosen],
        [probability for _, _, probability in chosen],
        sentences,
        triples,
    )


def triple_slots(scores: Sequence[WindowScores], config: MultihopConfig) -> list[TripleSlot]:
    """Return the slots that hold a triple, each with the places of its best window."""
    names = config.relations or []
    slots = []
    for slot, probabilities in enumerate(numpy.mean([score.relations for score in scores], axis=0)):
        number = int(probabilities.argmax()) if config.triple_slots else slot
        probability = float(probabilities.max())
        off = number == len(names) if config.triple_slots else probability < 0.5
        subjects = _best([score.subjects[slot] for score in scores])
        objects = _best([score.objects[slot] for score in scores])
        if not off and subjects and objects:
            pages = [place for score in scores if score.pages for place in score.pages[slot]]
            slots.append(TripleSlot(names[number], probability, subjects, objects, pages))
    return slots


def unique_triples(slots: Iterable[TripleSlot], text: str) -> list[ScoredTriple]:
    """Return the triples of slots, in order, each once."""
    triples: dict[tuple[str, str, str], ScoredTriple] = {}
    for slot in slots:
        subject, object_ = slot.subjects[0], slot.objects[0]
        key = slice_of(text, subject), slot.relation, slice_of(text, object_)
        spans = Span(subject.start, subject.end), Span(object_.start, object_.end)
        triples.setdefault(key, ScoredTriple(*key, slot.probability, *spans))
    return list(triples.values())


def slice_of(text: str, span: ScoredSpan | None) -> str:
    """Return the characters of a span, without markers and blanks around it or after hyphens."""
    return joined_names(without_markers(text[span.start : span.end])) if span else ""


def _best(places: Sequence[list[ScoredSpan]]) -> list[ScoredSpan]:
    return max(filter(None, places), key=lambda spans: spans[0].score, default=[])


def score_windows(
    output: Any, windows: Sequence[Window], config: MultihopConfig
) -> list[WindowScores]:
    """Score a batch of the baseline."""
    segment_ids = None
    if config.layout == "marked":
        rows = [word_segment_ids(window) for window in windows]
        segment_ids = pad_segment_ids(rows, output.start_logits.shape[1])
    return collect_scores(output, windows, segment_ids, config)


def word_segment_ids(window: Window) -> Any:
    """Return numbers of the titles and paragraphs that a span must not leave; -1 at markers."""
    codes = code_points(window.text)[window.token_starts]
    marker = (codes == ord(TITLE_START)) | (codes == ord(TITLE_END))
    return numpy.where(marker, -1, numpy.cumsum(marker))


def decode_windows(
    scores: Sequence[WindowScores], question: str, context: Paragraphs, config: MultihopConfig
) -> MultihopAnswer:
    """Decode one example of the baseline from its windows, in any order."""
    if not scores:
        return NO_ANSWER
    text = lay_out(context, config.layout).text
    triples = unique_triples(triple_slots(scores, config), text)
    return merge_windows(scores, context, text, triples, config)
