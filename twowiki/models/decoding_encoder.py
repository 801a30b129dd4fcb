"""The encoder's way from logits to answers: triples that agree, what follows from them.

A triple's subject is taken from the titles, and its object from the text of the same page. A page
that the question does not name has to be what another triple points to; all slots are chosen
together. The sentences that state the triples are support.

What is derived beside the model's own best (`chain_consistency`, `support_from_triples`,
`derive_answers`, `chain_answers`) is an option of the configuration each. The rest is shared with
the baseline: see `decoding`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from itertools import pairwise, product
from typing import Any

import numpy
import torch
from torch import Tensor

from .configuration_encoder import TwoWikiEncoderConfig
from .decoding import (
    NO_ANSWER,
    MultihopAnswer,
    PagePlace,
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
from .labels import ANSWER_TYPES, POINTERS
from .questions import (
    derive_answer,
    is_named,
    kin_chain,
    named_titles,
    same_thing,
    without_brackets,
    without_names,
)
from .text import Paragraphs, Span, bare_title, fold, joined_names, lay_out
from .values import DATED, PLACED, misfit

_ANSWER_SHARE = 0.3  # of the answer's score in the choice of a chain's last object
_REPEATED = 10.0  # what a triple, or a page's date, costs that another slot holds too, in logits
_CUT = 5.0  # what an object, but for American-born, costs that ends within a word, in logits
_CONSIDERED = 30  # objects of a page that are looked at
_CHOICES = 1500  # combinations of places that are compared, at most
_UNLIKELY = -1e9


def score_records(
    output: Any, windows: Sequence[Window], config: TwoWikiEncoderConfig
) -> list[WindowScores]:
    """Score a batch of the encoder: one record per example."""
    rows = [token_segment_ids(window, config) for window in windows]
    segment_ids = pad_segment_ids(rows, output.start_logits.shape[1])
    if not config.chain_consistency:
        return collect_scores(output, windows, segment_ids, config)
    held = [in_pairs(row, config.relations or []) for row in output.relation_logits.float().cpu()]
    output = copy(output)
    output.relation_logits = torch.stack(held)
    scores = collect_scores(output, windows, segment_ids, config)
    pointers = [getattr(output, f"{name}_logits").float().cpu().numpy() for name in POINTERS]
    answer = [part.float().cpu().numpy() for part in (output.start_logits, output.end_logits)]
    relations = output.relation_logits.argmax(-1).tolist()
    return [
        score._replace(
            pages=page_places(
                window,
                [part[row] for part in pointers],
                (answer[0][row], answer[1][row]),
                relations[row],
                config,
            )
        )
        for row, (score, window) in enumerate(zip(scores, windows, strict=True))
    ]


def in_pairs(logits: Tensor, names: Sequence[str]) -> Tensor:
    """Let one more slot hold a triple where one is alone, or a third has no fellow: (K, R + 1).

    A chain has two triples, a comparison of two chains four; the values of a comparison can be
    three, such as the countries of two films.
    """
    relations = logits.argmax(-1).tolist()
    held = [names[number] for number in relations if number < len(names)]
    links = sum(name not in (*DATED, *PLACED) for name in held)
    if len(held) != 1 and not (len(held) == 3 and links in (1, 2)):
        return logits
    likely = logits[:, :-1].amax(-1) - logits[:, -1]
    empty = torch.tensor([number == len(names) for number in relations])
    if empty.any():
        logits = logits.clone()
        logits[likely.masked_fill(~empty, -torch.inf).argmax(), -1] = -torch.inf
    return logits


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
    triples, stated = decode_triples(scores, folded, context, text, config)
    answer = merge_windows(scores, context, text, triples, config)
    if config.support_from_triples:
        answer = with_support(answer, stated, context)
    derived = derive_answer(question, triples) if config.derive_answers else None
    if derived is not None:
        words, number = derived
        place = None if number is None else triples[number].subject_span
        return with_answer(answer, scores, words, place)
    last = last_of_chain(folded, triples) if config.chain_answers else None
    return answer if last is None else with_answer(answer, scores, last.object, last.object_span)


def decode_triples(
    scores: Sequence[WindowScores],
    question: str,
    context: Paragraphs,
    text: str,
    config: TwoWikiEncoderConfig,
) -> tuple[list[ScoredTriple], set[tuple[int, int]]]:
    """Return the triples, what the question names first, and the sentences that state them.

    Without `chain_consistency` each slot has its own best places, and no sentence is looked for.
    """
    slots = triple_slots(scores, config)
    if not config.chain_consistency:
        slots.sort(key=lambda slot: not is_named(slice_of(text, slot.subjects[0]), question))
        return unique_triples(slots, text), set()
    placed = [slot for slot in slots if slot.pages]
    found = agreeing_triples(placed, question, context, text, config)
    return [triple for triple, _ in found], stating_sentences(found, context)


def with_support(
    answer: MultihopAnswer, stated: set[tuple[int, int]], context: Paragraphs
) -> MultihopAnswer:
    """Return an answer whose support is, on pages that have triples, what states these."""
    pages = {context[page][0] for page, _ in stated}
    wanted = {(context[page][0], sent_id) for page, sent_id in stated}
    known = set(answer.supporting_facts)
    chosen = [
        (title, sent_id, probability)
        for title, sent_id, probability in answer.sentence_scores
        if ((title, sent_id) in (wanted if title in pages else known))
    ]
    return answer._replace(
        supporting_facts=[(title, sent_id) for title, sent_id, _ in chosen],
        support_scores=[probability for _, _, probability in chosen],
    )


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


def page_places(
    window: Window,
    pointers: Sequence[Any],
    answer: tuple[Any, Any],
    relations: Sequence[int],
    config: TwoWikiEncoderConfig,
) -> list[list[PagePlace]]:
    """Return the places of each slot: the best objects in every page, with its title as subject.

    Args:
        window: an example as it was encoded.
        pointers: logits of the subject's start and end and of the object's, each (T, K).
        answer: logits of the answer's start and end, each (T,).
        relations: each slot's likeliest class; one that holds no triple has no places.
        config: the model's configuration.
    """
    names = config.relations or []
    held = [slot for slot, number in enumerate(relations) if number < len(names)]
    if not held:
        return [[] for _ in relations]
    tokens = len(window.token_ids)
    first, last, object_first, object_last = (_log_shares(part[:tokens, held]) for part in pointers)
    answered = [_log_shares(part[:tokens, None])[:, 0] for part in answer]
    places: list[list[PagePlace]] = [[] for _ in relations]
    for paragraph, title, start, end in _pages(window, config):
        subject_scores = first[title].max(0) + last[title].max(0)
        subject = _span(window, title.start, title.stop - 1)
        name = _words(window, subject)
        spans = _best_spans(object_first[start:end], object_last[start:end], config)
        for slot, subject_score, found in zip(held, subject_scores, spans, strict=True):
            for one, other, score in found:
                place = _span(window, start + one, start + other)
                words = _words(window, place)
                relation = names[relations[slot]]
                cost = misfit(relation, words, name)
                cost += _CUT * (relation not in PLACED and _is_cut(window, place))
                likely = float(answered[0][start + one] + answered[1][start + other])
                total = float(subject_score) + score - cost
                places[slot].append(PagePlace(paragraph, subject, place, total, likely))
    most = 2 * config.span_candidates
    return [sorted(some, key=lambda place: -place.score)[:most] for some in places]


def _pages(window: Window, config: TwoWikiEncoderConfig) -> Iterable[tuple[int, slice, int, int]]:
    """Yield each page that has title and text: its paragraph, the tokens of both."""
    titles = numpy.flatnonzero(window.token_ids == config.title_marker_id)
    sentences = numpy.flatnonzero(window.token_ids == config.sentence_marker_id)
    numbers = {int(row[0]): int(row[2]) for row in window.sentences}
    borders = [*titles.tolist(), len(window.token_ids)]
    for begin, end in pairwise(borders):
        inside = sentences[(sentences > begin) & (sentences < end)]
        if len(inside) and inside[0] > begin + 1 and inside[0] + 1 < end:
            known = (numbers[t] for t in range(int(inside[0]), end) if t in numbers)
            paragraph = next(known, None)
            if paragraph is not None:
                yield paragraph, slice(begin + 1, int(inside[0])), int(inside[0]) + 1, end


def _log_shares(logits: Any) -> Any:
    """Return the logarithms of a softmax over the tokens: (T, K) to (T, K)."""
    from_best = numpy.maximum(logits - logits.max(0), _UNLIKELY)
    return from_best - numpy.log(numpy.exp(from_best).sum(0))


def _best_spans(
    first: Any, last: Any, config: TwoWikiEncoderConfig
) -> list[list[tuple[int, int, float]]]:
    """Return the best spans of each slot within a page: (T, K) to K lists."""
    tokens, slots = first.shape
    width = min(config.max_object_tokens, tokens)
    scores = numpy.full((tokens, width, slots), _UNLIKELY, numpy.float32)
    for ahead in range(width):
        scores[: tokens - ahead, ahead] = first[: tokens - ahead] + last[ahead:]
    flat = scores.reshape(-1, slots)
    count = min(_CONSIDERED, len(flat))
    rows = numpy.argpartition(-flat, count - 1, axis=0)[:count]
    return [
        [
            (row // width, row // width + row % width, float(flat[row, slot]))
            for row in rows[:, slot].tolist()
            if flat[row, slot] > _UNLIKELY / 2
        ]
        for slot in range(slots)
    ]


def _span(window: Window, first: int, last: int) -> ScoredSpan:
    """Return the characters of tokens in the whole context."""
    shift = window.char_offset
    return ScoredSpan(
        int(window.token_starts[first]) + shift, int(window.token_ends[last]) + shift, 0.0
    )


def _words(window: Window, span: ScoredSpan) -> str:
    """Return the characters of a span of the whole context."""
    return window.text[span.start - window.char_offset : span.end - window.char_offset]


def _is_cut(window: Window, span: ScoredSpan) -> bool:
    """Return whether a word, or a name with hyphens, goes on before or after a span."""
    start, end = (place - window.char_offset for place in (span.start, span.end))
    around = window.text[max(0, start - 2) : start][::-1], window.text[end : end + 2]
    return any(part[:1].isalnum() or (part[:1] == "-" and part[1:].isalnum()) for part in around)


def agreeing_triples(
    slots: Sequence[TripleSlot],
    question: str,
    context: Paragraphs,
    text: str,
    config: TwoWikiEncoderConfig,
) -> list[tuple[ScoredTriple, int]]:
    """Choose all slots' places together; return the triples and the paragraphs of their subjects.

    What the question names comes first. Where it compares two pages, a subject is the whole title;
    in a chain it is the title without a bracket, or what the triple before calls it; a word of
    kinship in the question fixes the chain's relations.

    Args:
        slots: the slots that hold a triple.
        question: the folded question.
        context: the paragraphs.
        text: the text that they were laid out as.
        config: the model's configuration; `chain_margin` is what it costs that a subject is
            neither named by the question nor the object of another triple, in logits.
    """
    named = named_titles([title for title, _ in context], question)
    chosen = _choose(slots, named, context, text, config.chain_margin)
    order = sorted(range(len(chosen)), key=lambda number: not named[chosen[number].paragraph])
    compared = {place.paragraph for place in chosen if named[place.paragraph]}
    relations = {number: slots[number].relation for number in order}
    if [named[chosen[number].paragraph] for number in order] == [True, False]:
        words = without_names(question, [context[page][0] for page in compared])
        relations = dict(zip(order, kin_chain(words, list(relations.values())), strict=True))
    found: dict[tuple[str, str, str], tuple[ScoredTriple, int]] = {}
    for number in order:
        place, slot = chosen[number], slots[number]
        title = context[place.paragraph][0]
        key = title if len(compared) > 1 else bare_title(title), relations[number]
        triple = (*key, slice_of(text, place.object))
        spans = place.subject.place, place.object.place
        scored = ScoredTriple(*triple, slot.probability, *spans)
        found.setdefault(triple, (scored, place.paragraph))
    return _called_alike(list(found.values()), [named[page] for _, page in found.values()])


def _choose(
    slots: Sequence[TripleSlot],
    named: Sequence[bool],
    context: Paragraphs,
    text: str,
    margin: float,
) -> list[PagePlace]:
    """Return the places of the slots whose scores, costs taken off, are the best together."""
    if not slots:
        return []
    each = max(1, int(_CHOICES ** (1 / len(slots))))
    lists = [slot.pages[:each] for slot in slots]
    titles = [_key(title) for title, _ in context]
    objects = {place: _key(slice_of(text, place.object)) for some in lists for place in some}

    def worth(choice: tuple[PagePlace, ...]) -> float:
        total = sum(place.score for place in choice)
        names = [objects[place] for place in choice]
        unnamed = [number for number, place in enumerate(choice) if not named[place.paragraph]]
        for number in unnamed:
            others = names[:number] + names[number + 1 :]
            total -= 0 if titles[choice[number].paragraph] in others else margin
        held = {
            (place.paragraph, slot.relation, slot.relation in DATED or one)
            for place, slot, one in zip(choice, slots, names, strict=True)
        }
        total -= _REPEATED * (len(choice) - len(held))
        if len(choice) == 2 and len(unnamed) == 1:
            total += _ANSWER_SHARE * max(choice[unnamed[0]].answer, -20.0)
        return total

    return list(max(product(*lists), key=lambda choice: worth(tuple(choice))))


def _called_alike(
    triples: list[tuple[ScoredTriple, int]], named: Sequence[bool]
) -> list[tuple[ScoredTriple, int]]:
    """Let a chain's second subject be written as the first object, if they share a word."""
    if list(named) != [True, False]:
        return triples
    (first, page), (second, other) = triples
    words = set(_key(first.object).split()) & set(_key(second.subject).replace(",", " ").split())
    if same_thing(first.object, second.subject) or all(len(word) < 3 for word in words):
        return triples
    return [(first, page), (second._replace(subject=first.object), other)]


def _key(name: str) -> str:
    return fold(bare_title(name.strip()))


def stating_sentences(
    triples: Iterable[tuple[ScoredTriple, int]], context: Paragraphs
) -> set[tuple[int, int]]:
    """Return the sentences that state triples: the first of the page that has the object."""
    found = set()
    for triple, page in triples:
        wanted = fold(triple.object)
        for number, sentence in enumerate(context[page][1]):
            if wanted in fold(joined_names(sentence)):
                found.add((page, number))
                break
    return found


def last_of_chain(question: str, triples: Sequence[ScoredTriple]) -> ScoredTriple | None:
    """Return the triple that a chain of two ends in; None where the triples are no such chain.

    The chain begins with the subject that the folded question names; where it names neither, with
    the triple whose object is the other's subject.
    """
    if len(triples) != 2:
        return None
    named = named_titles([triple.subject for triple in triples], without_brackets(question))
    if all(named):
        return None
    if not any(named):
        named = [
            same_thing(one.object, other.subject)
            for one, other in zip(triples, reversed(triples), strict=True)
        ]
    return triples[named.index(False)] if any(named) and not all(named) else None
