"""Finding text and turning characters into tokens: laws, and the corners that have names."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from twowiki.models.text import (
    Span,
    TokenSpan,
    char_span,
    code_points,
    find_text,
    fold,
    is_aligned,
    joined_names,
    nearest_span,
    occurrences,
    token_span,
    word_offsets,
)
from twowiki.models.words import WordReader

TEXT = st.text(alphabet=st.sampled_from("ab cÉé’–\u0130\u03a3ς.,(1"), max_size=40)


def tokens_of(text: str) -> tuple[list[int], list[int]]:
    starts, ends = word_offsets(code_points(text))
    return starts.tolist(), ends.tolist()


@given(st.lists(st.lists(TEXT, min_size=1, max_size=4), max_size=3))
def test_words_that_are_cut_once_are_those_of_the_whole_texts(groups: list[list[str]]) -> None:
    reader = WordReader()
    reader.most = 8  # so that it forgets
    for texts in groups:
        reader.trim()
        for text, words in zip(texts, reader.read(texts), strict=True):
            assert (words.first, words.last) == tokens_of(text)
            assert (words.starts.tolist(), words.ends.tolist()) == tokens_of(text)
            ends = zip(words.first, words.last, strict=True)
            named = [reader.names[number] for number in words.numbers.tolist()]
            assert named == [text[start:end] for start, end in ends]


@given(TEXT, TEXT)
def test_a_found_span_is_what_was_asked(text: str, wanted: str) -> None:
    found = find_text(text, wanted)
    assert (found is not None) == (bool(wanted) and wanted in text)
    if found:
        assert text[found.start : found.end] == wanted


@given(TEXT)
def test_folding_moves_nothing(text: str) -> None:
    folded = fold(text)
    assert len(folded) == len(text)
    assert fold(folded) == folded
    for before, after in zip(text, folded, strict=True):
        assert fold(before) == after


def test_case_is_ignored_without_moving() -> None:
    text = "\u0130stanbul is not ISTANBUL"
    found = find_text(text, "istanbul", ignore_case=True)
    assert found == Span(16, 24)
    assert find_text("The Ride (1994 film)", "The Ride (1994 Film)", ignore_case=True) == Span(
        0, 20
    )


@given(TEXT, st.integers(0, 40), st.integers(0, 40))
def test_a_token_span_covers_its_characters_and_is_the_least(
    text: str, first: int, second: int
) -> None:
    start, end = sorted((min(first, len(text)), min(second, len(text))))
    starts, ends = tokens_of(text)
    found = token_span(starts, ends, Span(start, end))
    touched = [i for i in range(len(starts)) if starts[i] < end and ends[i] > start]
    if start == end or not touched:
        assert found is None or start == end
    else:
        assert found == TokenSpan(touched[0], touched[-1])


@given(TEXT, st.data())
def test_aligned_spans_come_back_exactly(text: str, data: st.DataObject) -> None:
    starts, ends = tokens_of(text)
    if not starts:
        return
    first = data.draw(st.integers(0, len(starts) - 1))
    last = data.draw(st.integers(first, len(starts) - 1))
    span = char_span(starts, ends, TokenSpan(first, last))
    assert is_aligned(starts, ends, span)
    assert token_span(starts, ends, span) == TokenSpan(first, last)


def test_tokens_of_no_width_belong_to_no_span() -> None:
    starts, ends = [0, 0, 3, 3], [0, 3, 3, 6]
    assert token_span(starts, ends, Span(0, 3)) == TokenSpan(1, 1)
    assert token_span(starts, ends, Span(3, 6)) == TokenSpan(3, 3)


def test_overlapping_occurrences_are_all_given() -> None:
    assert list(occurrences("aaa", "aa")) == [Span(0, 2), Span(1, 3)]
    assert list(occurrences("aaa", "")) == []


def test_the_published_choice_takes_the_first_place_on_borders_else_the_nearest() -> None:
    text = "xxJohn Smith, John Smith"
    starts, ends = tokens_of(text)
    places = list(occurrences(text, "ohn Smith"))
    assert nearest_span(starts, ends, places) == TokenSpan(3, 4)  # one letter off, not three
    exact = list(occurrences(text, "John"))
    assert nearest_span(starts, ends, exact) == TokenSpan(3, 3)
    assert nearest_span(starts, ends, []) is None


def test_names_are_joined_at_their_hyphens() -> None:
    assert joined_names("Bourbon- Two Sicilies") == "Bourbon-Two Sicilies"
    assert (
        joined_names("pre- and post-war, 1982- 1985 -  X - Y")
        == "pre- and post-war, 1982- 1985 -  X - Y"
    )
