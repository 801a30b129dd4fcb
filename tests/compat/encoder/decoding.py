"""Logits to answers: best spans over a band, sentences above a threshold, triples.

`score_windows` takes a batch's logits to small plain records (these are what processes gather);
`merge_windows` joins the windows of one example: the best score decides, a sentence has the
highest score that any window gives it. Text is always a slice of the context.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor

from .configuration import TwoWikiConfig
from .encoding import Window
from .labels import ANSWER_TYPES
from .layout import without_markers
from .spans import Span
from .tokenization import TITLE_END, TITLE_START, code_points


class ScoredSpan(NamedTuple):
    """Characters of the context's text, with the sum of the start and end logits."""

    start: int
    end: int
    score: float


class WindowScores(NamedTuple):
    """What the model says about one window, in the coordinates of the whole context.

    `sentences` are (paragraph, sent_id, probability). `relations` are probabilities a slot and
    class (slots), or a relation (no slots). Spans are None where no token can be pointed at.
    """

    example: int
    answer_types: list[float]
    answer: ScoredSpan | None
    sentences: list[tuple[int, int, float]]
    relations: list[list[float]]
    subjects: list[ScoredSpan | None]
    objects: list[ScoredSpan | None]


class ScoredTriple(NamedTuple):
    """A predicted triple, the probability of its relation, and its places in the context's text."""

    subject: str
    relation: str
    object: str
    score: float
    subject_span: Span
    object_span: Span


class Answered(NamedTuple):
    """What the model says about one question. `answer_span` is None for yes, no and nothing."""

    answer: str
    answer_type: str
    answer_score: float
    answer_span: Span | None
    supporting_facts: list[tuple[str, int]]
    support_scores: list[float]
    sentence_scores: list[tuple[str, int, float]]
    evidences: list[ScoredTriple]


NOTHING = Answered("", "span", 0.0, None, [], [], [], [])


def token_zones(window: Window, layout: str) -> NDArray[numpy.int64]:
    """Number the stretches that a span must not leave: titles and paragraphs; -1 at markers."""
    if layout != "marked":
        return numpy.zeros(len(window.token_ids), numpy.int64)
    codes = code_points(window.text)[window.token_starts]
    marker = (codes == ord(TITLE_START)) | (codes == ord(TITLE_END))
    return numpy.where(marker, -1, numpy.cumsum(marker))


def zone_batch(windows: Sequence[Window], config: TwoWikiConfig, tokens: int) -> Tensor | None:
    """Stack the zones of windows, -1 at padding: (B, T). None where a span may go anywhere."""
    if config.layout != "marked":
        return None
    zones = numpy.full((len(windows), tokens), -1, numpy.int64)
    for row, window in enumerate(windows):
        zones[row, : len(window.token_ids)] = token_zones(window, config.layout)
    return torch.from_numpy(zones)


def best_spans(
    start_logits: Tensor, end_logits: Tensor, zones: Tensor | None, width: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Find the best start and end with at most `width` tokens, over a band of the square.

    Shape:
        logits: (B, T, K); zones: (B, T), or None. Output: start, end and score, each (B, K).
    """
    lowest = torch.finfo(start_logits.dtype).min
    if zones is None:
        best_end = forward_maximum(end_logits, width)
    else:
        best_end = torch.full_like(end_logits, lowest)
        for ahead in range(min(width, end_logits.shape[1])):
            reach = zones.shape[1] - ahead
            outside = (zones[:, :reach] != zones[:, ahead:]) | (zones[:, :reach] < 0)
            ends = end_logits[:, ahead:].masked_fill(outside.unsqueeze(-1), lowest)
            best_end[:, :reach] = torch.maximum(best_end[:, :reach], ends)
    totals = start_logits + best_end
    scores, starts = totals.max(dim=1)  # (B, K)
    steps = torch.arange(width, device=starts.device).view(1, -1, 1)
    places = starts.unsqueeze(1) + steps  # (B, W, K)
    inside = places < end_logits.shape[1]
    places = places.clamp(max=end_logits.shape[1] - 1)
    ends = end_logits.gather(1, places)
    if zones is not None:
        spread = zones.unsqueeze(-1).expand_as(end_logits)
        inside &= spread.gather(1, places) == spread.gather(1, starts.unsqueeze(1))
    offsets = ends.masked_fill(~inside, -torch.inf).argmax(dim=1)
    return starts, starts + offsets, scores


def forward_maximum(values: Tensor, width: int) -> Tensor:
    """Give the maximum of each step and the `width - 1` steps after it, by doubling: (B, T, K)."""
    highest, covered = values.clone(), 1
    while covered < width:
        shift = min(covered, width - covered)
        if shift >= values.shape[1]:
            break
        later = highest[:, shift:].clone()
        torch.maximum(highest[:, :-shift], later, out=highest[:, :-shift])
        covered += shift
    return highest


def score_windows(
    output: Any, windows: Sequence[Window], config: TwoWikiConfig
) -> list[WindowScores]:
    """Take a batch's output to one record a window."""
    zones = zone_batch(windows, config, output.start_logits.shape[1])
    if zones is not None:
        zones = zones.to(output.start_logits.device)
    groups = {
        "answer": (output.start_logits.unsqueeze(-1), output.end_logits.unsqueeze(-1)),
        "subject": (output.subject_start_logits, output.subject_end_logits),
        "object": (output.object_start_logits, output.object_end_logits),
    }
    spans = {
        name: [part.tolist() for part in best_spans(*logits, zones, config.max_span_tokens)]
        for name, logits in groups.items()
    }
    types = output.answer_type_logits.float().softmax(-1).tolist()
    sentences = output.support_logits.float().sigmoid().tolist()
    if config.triple_slots:
        relations = output.relation_logits.float().softmax(-1).tolist()
    else:
        relations = output.relation_logits.float().sigmoid().unsqueeze(-1).tolist()
    scored = []
    for row, window in enumerate(windows):
        placed = {
            name: [
                scored_span(window, start, end, score)
                for start, end, score in zip(*(part[row] for part in parts), strict=True)
            ]
            for name, parts in spans.items()
        }
        rows = zip(window.sentences[:, 2:].tolist(), sentences[row], strict=False)
        scored.append(
            WindowScores(
                window.example,
                types[row],
                placed["answer"][0],
                [(paragraph, sent_id, score) for (paragraph, sent_id), score in rows],
                relations[row],
                placed["subject"],
                placed["object"],
            )
        )
    return scored


def scored_span(window: Window, start: int, end: int, score: float) -> ScoredSpan | None:
    """Turn tokens of a window into characters of the context; None for padding and markers."""
    if end >= len(window.token_ids) or score < -1e29:
        return None
    first, last = int(window.token_starts[start]), int(window.token_ends[end])
    return ScoredSpan(first + window.char_offset, last + window.char_offset, score)


def merge_windows(
    scores: Sequence[WindowScores],
    context: Sequence[tuple[str, Sequence[str]]],
    text: str,
    config: TwoWikiConfig,
) -> Answered:
    """Join the windows of one example; without windows nothing is said.

    Args:
        scores: the example's windows, in any order.
        context: its paragraphs, for the titles.
        text: the text that the context was laid out as.
        config: the model's configuration.
    """
    if not scores:
        return NOTHING
    types = numpy.mean([score.answer_types for score in scores], axis=0)
    kind = int(types.argmax())
    span = _best([score.answer for score in scores]) if kind == 0 else None
    answer = ANSWER_TYPES[kind] if kind else slice_of(text, span)
    answer_span = Span(span.start, span.end) if span else None
    best: dict[tuple[int, int], float] = {}
    for score in scores:
        for paragraph, sent_id, probability in score.sentences:
            place = paragraph, sent_id
            best[place] = max(probability, best.get(place, 0.0))
    sentences = [(context[p][0], s, probability) for (p, s), probability in sorted(best.items())]
    chosen = [part for part in sentences if part[2] > config.support_threshold]
    return Answered(
        answer,
        ANSWER_TYPES[kind],
        float(types[kind]),
        answer_span,
        [(title, sent_id) for title, sent_id, _ in chosen],
        [probability for _, _, probability in chosen],
        sentences,
        decode_triples(scores, text, config),
    )


def decode_triples(
    scores: Sequence[WindowScores], text: str, config: TwoWikiConfig
) -> list[ScoredTriple]:
    """Give the triples of the slots that are on, each once, in slot order."""
    names = config.relations or []
    relations = numpy.mean([score.relations for score in scores], axis=0)  # (K, R + 1) or (R, 1)
    triples: dict[tuple[str, str, str], ScoredTriple] = {}
    for slot, probabilities in enumerate(relations):
        number = int(probabilities.argmax()) if config.triple_slots else slot
        probability = float(probabilities[number if config.triple_slots else 0])
        off = number == len(names) if config.triple_slots else probability < 0.5
        subject = _best([score.subjects[slot] for score in scores])
        object_ = _best([score.objects[slot] for score in scores])
        if off or subject is None or object_ is None:
            continue
        key = slice_of(text, subject), names[number], slice_of(text, object_)
        triples.setdefault(
            key,
            ScoredTriple(
                *key,
                probability,
                Span(subject.start, subject.end),
                Span(object_.start, object_.end),
            ),
        )
    return list(triples.values())


def slice_of(text: str, span: ScoredSpan | None) -> str:
    """Give the characters of a span, without markers and outer blanks."""
    return without_markers(text[span.start : span.end]) if span else ""


def _best(spans: Sequence[ScoredSpan | None]) -> ScoredSpan | None:
    return max((span for span in spans if span), key=lambda span: span.score, default=None)
