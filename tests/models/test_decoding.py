"""From logits to answers: the band against the square, windows, sentences, triples."""

from __future__ import annotations

import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.small_model import GOLD_Q1, model_and_windows, reproduced, setting
from twowiki.models.decoding import (
    NO_ANSWER,
    ScoredSpan,
    WindowScores,
    best_spans,
    decode_windows,
    forward_maximum,
    score_windows,
    word_segment_ids,
)
from twowiki.models.oracle import SURE, baseline_oracle
from twowiki.models.text import lay_out

LOWEST = torch.finfo(torch.float).min


@given(st.integers(1, 12), st.integers(1, 6), st.integers(0, 10_000))
@settings(deadline=None)
def test_the_band_finds_what_the_square_finds(tokens: int, width: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    starts, ends = torch.randn(2, 3, tokens, 2, generator=generator)
    band = torch.ones(tokens, tokens).triu().tril(width - 1).bool()
    square = starts.unsqueeze(2) + ends.unsqueeze(1)  # (B, T, T, K)
    square = square.masked_fill(~band.view(1, tokens, tokens, 1), -torch.inf)
    scores, places = square.flatten(1, 2).max(dim=1)
    for segment_ids in (None, torch.zeros(3, tokens, dtype=torch.long)):
        first, last, best = best_spans(starts, ends, segment_ids, width)
        torch.testing.assert_close(best, scores)
        assert (first == places // tokens).all()
        assert (last == places % tokens).all()


@given(st.integers(1, 12), st.integers(1, 6), st.integers(0, 10_000))
@settings(deadline=None)
def test_a_span_never_leaves_its_segment_nor_exceeds_its_width(
    tokens: int, width: int, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    starts, ends = torch.randn(2, 2, tokens, 3, generator=generator)
    segment_ids = (torch.rand(2, tokens, generator=generator) < 0.3).long().cumsum(dim=1)
    segment_ids[torch.rand(2, tokens, generator=generator) < 0.2] = -1
    first, last, score = best_spans(starts, ends, segment_ids, width)
    allowed = segment_ids.gather(1, first) >= 0
    for row, column in zip(*numpy.nonzero(allowed.numpy()), strict=True):
        start, end = int(first[row, column]), int(last[row, column])
        assert 0 <= end - start < width
        assert segment_ids[row, start] == segment_ids[row, end]
        total = starts[row, start, column] + ends[row, end, column]
        torch.testing.assert_close(score[row, column], total)
    hopeless = score < LOWEST / 2
    assert not (allowed & hopeless).any()


@given(st.integers(1, 30), st.integers(1, 40))
@settings(deadline=None)
def test_the_forward_maximum_is_a_sliding_maximum(tokens: int, width: int) -> None:
    values = torch.randn(1, tokens, 1, generator=torch.Generator().manual_seed(tokens))
    found = forward_maximum(values, width)[0, :, 0]
    expected = torch.stack([values[0, i : i + width, 0].max() for i in range(tokens)])
    assert (found == expected).all()


def test_titles_and_paragraphs_are_segments_of_their_own() -> None:
    _, (window,) = model_and_windows(given=[GOLD_Q1])
    segment_ids = word_segment_ids(window)
    words = [window.text[a:b] for a, b in zip(window.token_starts, window.token_ends, strict=True)]
    by_segment: dict[int, list[str]] = {}
    for word, segment in zip(words, segment_ids.tolist(), strict=True):
        by_segment.setdefault(segment, []).append(word)
    assert by_segment.pop(-1) == ["\x02", "\x03"] * 2
    assert [" ".join(part) for part in by_segment.values()] == [
        "Tavik Orrel",
        "Tavik Orrel was a runner , the son of Dessa Orrel .",
        "Dessa Orrel",
        "Dessa Orrel was a painter . She was born in Brinmoor .",
    ]


def test_all_scores_above_the_threshold_give_every_sentence_and_no_title() -> None:
    model, windows = model_and_windows(given=[GOLD_Q1])
    output = baseline_oracle(windows, model.config)
    output.support_logits = torch.full_like(output.support_logits, SURE)
    scores = score_windows(output, windows, model.config)
    answered = decode_windows(scores, GOLD_Q1.question, GOLD_Q1.context, model.config)
    assert answered.supporting_facts == [("Tavik Orrel", 0), ("Dessa Orrel", 0), ("Dessa Orrel", 1)]


def test_in_the_published_settings_titles_can_be_predicted() -> None:
    model, windows = model_and_windows(reproduced(), given=[GOLD_Q1])
    output = baseline_oracle(windows, model.config)
    output.support_logits = torch.full_like(output.support_logits, SURE)
    scores = score_windows(output, windows, model.config)
    answered = decode_windows(scores, GOLD_Q1.question, GOLD_Q1.context, model.config)
    assert ("Tavik Orrel", -1) in answered.supporting_facts


def window_scores(
    answer: ScoredSpan | None, sentences: list[tuple[int, int, float]], **changes: object
) -> WindowScores:
    whole = WindowScores(0, [0.9, 0.05, 0.05], answer, sentences, [[0.1, 0.9]], [[]], [[]])
    return whole._replace(**changes)  # type: ignore[arg-type]


def test_the_best_window_decides_whatever_the_order() -> None:
    config = setting(relations=["mother"], triple_slots=1)
    context, text = GOLD_Q1.context, lay_out(GOLD_Q1.context).text
    place = text.index("Brinmoor")
    best = ScoredSpan(place, place + 8, 9.0)
    scores = [
        window_scores(best, [(0, 0, 0.2), (1, 0, 0.3)]),
        window_scores(ScoredSpan(1, 6, 5.0), [(1, 0, 0.8), (1, 1, 0.6)]),
        window_scores(None, [(1, 1, 0.1)]),
    ]
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        answered = decode_windows([scores[i] for i in order], "", context, config)
        assert answered.answer == "Brinmoor"
        assert answered.sentence_scores == [
            ("Tavik Orrel", 0, 0.2),
            ("Dessa Orrel", 0, 0.8),
            ("Dessa Orrel", 1, 0.6),
        ]
        assert answered.supporting_facts == [("Dessa Orrel", 0), ("Dessa Orrel", 1)]


def test_no_window_at_all_says_nothing() -> None:
    assert decode_windows([], "", (), setting()) == NO_ANSWER
    assert NO_ANSWER.answer == ""
    assert not NO_ANSWER.supporting_facts
    assert not NO_ANSWER.evidences


def test_two_triples_of_one_relation_both_come_out_and_equal_ones_once() -> None:
    config = setting(relations=["director"], triple_slots=3)
    text = lay_out(GOLD_Q1.context).text
    spans = [ScoredSpan(1, 12, 3.0), ScoredSpan(text.index("Dessa"), text.index("Dessa") + 5, 2.0)]
    end = ScoredSpan(text.index("Brinmoor"), text.index("Brinmoor") + 8, 1.0)
    scores = window_scores(
        spans[0],
        [],
        relations=[[0.9, 0.1]] * 3,
        subjects=[[spans[0]], [spans[1]], [spans[0]]],
        objects=[[end]] * 3,
    )
    answered = decode_windows([scores], "", GOLD_Q1.context, config)
    assert [triple[:3] for triple in answered.evidences] == [
        ("Tavik Orrel", "director", "Brinmoor"),
        ("Dessa", "director", "Brinmoor"),
    ]


@pytest.mark.parametrize(("number", "answer"), [(1, "yes"), (2, "no")])
def test_yes_and_no_have_no_span(number: int, answer: str) -> None:
    types = [0.1, 0.1, 0.1]
    types[number] = 0.8
    scores = window_scores(ScoredSpan(0, 5, 9.0), [], answer_types=types)
    config = setting(relations=["mother"], triple_slots=1)
    answered = decode_windows([scores], "", GOLD_Q1.context, config)
    assert (answered.answer, answered.answer_span) == (answer, None)
