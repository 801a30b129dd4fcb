"""Encoding: where things are found, what is ignored and counted, and the oracle's round trip."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import numpy
import pytest

from tests.small_model import GOLD_Q1, examples, reproduced, setting, with_vocabulary
from tests.tiny_data import tiny_examples
from twowiki.data.schema import Example, Fact, Paragraph, Prediction, Triple, TripleIds
from twowiki.data.sources import read_examples
from twowiki.models.configuration_baseline import TwoWikiBaselineConfig
from twowiki.models.features import Window, plan_windows
from twowiki.models.labels import IGNORED
from twowiki.models.processing_baseline import BaselineProcessor
from twowiki.training.evaluation import ceiling_predictions, score_predictions


def encoder_for(
    config: TwoWikiBaselineConfig, given: list[Example], **options: Any
) -> BaselineProcessor:
    return BaselineProcessor(*with_vocabulary(config, given), **options)


def encode_one(
    example: Example, config: TwoWikiBaselineConfig | None = None
) -> tuple[Window, BaselineProcessor]:
    encoder = encoder_for(config or setting(), [example])
    (window,) = encoder.encode(example)
    return window, encoder


def text_of(window: Window, start: int, end: int) -> str:
    return window.text[window.token_starts[start] : window.token_ends[end]]


def ceiling(given: list[Example], config: TwoWikiBaselineConfig) -> dict[str, float]:
    encoder = encoder_for(config, given)
    windows = [w for number, one in enumerate(given) for w in encoder.encode(one, number)]
    return score_predictions(given, ceiling_predictions(windows, given, encoder.config)).metrics


def test_an_answer_is_a_whole_word() -> None:
    context = (Paragraph("Lake Oru", ("Orun was a hill.", " The lake Oru lies north.")),)
    example = GOLD_Q1._replace(
        context=context, answer="Oru", supporting_facts=(Fact("Lake Oru", 1),), evidences=()
    )
    window, _ = encode_one(example)
    start, end = window.answer[1:]
    assert text_of(window, start, end) == "Oru"
    first, last = window.sentences[1, :2]
    assert first <= start <= last


def test_an_answer_in_a_supporting_sentence_comes_before_one_in_a_distractor() -> None:
    context = (
        Paragraph("Aldo", ("Brinmoor is far away.",)),
        *GOLD_Q1.context,
    )
    window, _ = encode_one(GOLD_Q1._replace(context=context))
    which = window.sentences[:, 2] == 2
    first, last = window.sentences[which][1, :2]
    assert first <= window.answer[1] <= last


def test_an_absent_answer_is_ignored_and_counted() -> None:
    window, encoder = encode_one(GOLD_Q1._replace(answer="Veltria"))
    assert window.answer.tolist() == [0, IGNORED, IGNORED]
    assert encoder.counts["answer_not_in_context"] == 1
    assert encoder.concerned["answer_not_in_context"] == ["q1"]
    published, encoder = encode_one(GOLD_Q1._replace(answer="Veltria"), reproduced())
    assert published.answer.tolist() == [0, 0, 1]


def test_an_absent_object_is_ignored_unless_an_alias_is_there() -> None:
    evidences = (GOLD_Q1.evidences[0], Triple("Dessa Orrel", "place of birth", "Brinmoor-on-Oru"))
    example = GOLD_Q1._replace(
        evidences=evidences,
        evidences_id=(TripleIds("Q1", "mother", "Q2"), TripleIds("Q2", "place of birth", "Q3")),
    )
    window, encoder = encode_one(example)
    assert window.pointers[2:, 1].tolist() == [IGNORED, IGNORED]
    assert window.pointers[0, 1] >= 0
    assert encoder.counts["object_not_in_context"] == 1
    known = encoder_for(setting(), [example], aliases={"Q3": ["Brin", "Brinmoor"]})
    (window,) = known.encode(example)
    assert text_of(window, window.pointers[2, 1], window.pointers[3, 1]) == "Brinmoor"


def test_answers_are_found_whatever_their_case() -> None:
    example = GOLD_Q1._replace(answer="BRINMOOR")
    window, _ = encode_one(example)
    assert text_of(window, *window.answer[1:]) == "Brinmoor"
    published, _ = encode_one(example, reproduced())
    assert published.answer.tolist() == [0, 0, 1]


def test_a_sentence_out_of_range_gets_no_label_and_is_counted() -> None:
    example = GOLD_Q1._replace(
        context=(Paragraph("Lake Oru", ("S0.",)),),
        supporting_facts=(Fact("Lake Oru", 3),),
        evidences=(),
    )
    window, encoder = encode_one(example)
    assert window.support.tolist() == [0]
    assert encoder.counts["sentence_out_of_range"] == 1
    assert encoder.concerned["sentence_out_of_range"] == ["q1"]


def test_titles_are_no_candidates_for_support_but_were_in_the_published_settings() -> None:
    window, _ = encode_one(GOLD_Q1)
    assert window.sentences[:, 2:].tolist() == [[0, 0], [1, 0], [1, 1]]
    published, _ = encode_one(GOLD_Q1, reproduced())
    assert published.sentences[:, 3].tolist() == [-1, 0, -1, 0, 1]
    assert published.support.tolist() == [0, 1, 0, 0, 1]


def test_triples_of_one_relation_are_all_kept() -> None:
    evidences = (
        Triple("Tavik Orrel", "mother", "Dessa Orrel"),
        Triple("Dessa Orrel", "mother", "Brinmoor"),
    )
    example = GOLD_Q1._replace(evidences=evidences)
    window, encoder = encode_one(example)
    number = encoder.options.relation_ids["mother"]
    assert window.relations[:3].tolist() == [number, number, len(encoder.options.relation_ids)]
    published, encoder = encode_one(example, reproduced())
    assert published.relations.sum() == 1
    assert encoder.counts["triples_of_one_relation"] == 1
    slot = int(published.relations.argmax())
    assert text_of(published, *published.pointers[2:, slot]) == "Brinmoor"  # the last one stays
    absent = [slot for slot in range(len(published.relations)) if not published.relations[slot]]
    assert not published.pointers[:, absent].any()  # token 0 is their target


def test_unknown_relations_and_too_many_triples_are_counted() -> None:
    encoder = encoder_for(setting(triple_slots=1), [GOLD_Q1])
    strange = GOLD_Q1._replace(evidences=(Triple("Tavik Orrel", "spouse", "Dessa Orrel"),) * 2)
    (window,) = encoder.encode(strange)
    assert window.relations.tolist() == [IGNORED]
    assert encoder.counts["relation_not_in_vocabulary"] == 2
    assert encoder.counts["more_triples_than_slots"] == 1


def test_hidden_gold_leaves_everything_ignored() -> None:
    hidden = GOLD_Q1._replace(answer=None, supporting_facts=(), evidences=())
    encoder = encoder_for(setting(), [GOLD_Q1])
    (window,) = encoder.encode(hidden)
    for labels in (window.answer, window.support, window.relations, window.pointers):
        assert (labels == IGNORED).all()
    assert not encoder.counts


@pytest.mark.parametrize("context", [(), (Paragraph("", ()),), (Paragraph("", ("",)),)])
def test_a_context_without_words_gives_no_window(context: tuple[Paragraph, ...]) -> None:
    encoder = encoder_for(reproduced(layout="marked"), [GOLD_Q1])
    windows = encoder.encode(GOLD_Q1._replace(context=context))
    assert len(windows) == (0 if not context else 1)  # a title's markers are words of their own


def test_neither_id_nor_type_moves_an_encoding() -> None:
    encoder = encoder_for(setting(), [GOLD_Q1])
    (first,) = encoder.encode(GOLD_Q1)
    (second,) = encoder.encode(GOLD_Q1._replace(id="other", type=None, entity_ids=("Q9",)))
    assert all(numpy.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_the_published_limits_drop_and_count() -> None:
    encoder = encoder_for(reproduced(max_context_tokens=10), [GOLD_Q1])
    assert encoder.encode(GOLD_Q1) == []
    assert encoder.counts == Counter({"context_too_long": 1})
    encoder = encoder_for(reproduced(max_question_tokens=3), [GOLD_Q1])
    assert encoder.encode(GOLD_Q1) == []
    assert encoder.counts == Counter({"question_too_long": 1})


def test_the_oracle_gives_everything_back_in_corrected_settings() -> None:
    given = list(tiny_examples(60, seed=4))
    metrics = ceiling(given, setting())
    assert {metrics[name] for name in ("em", "sp_em", "evi_em", "joint_em")} == {100.0}


def test_the_oracle_shows_what_the_published_settings_cannot_say() -> None:
    comparisons = [e for e in tiny_examples(60, seed=4) if "comparison" in (e.type or "")]
    metrics = ceiling(comparisons, reproduced())
    assert metrics["evi_em"] == 0.0
    assert metrics["evi_f1"] < 70


def test_windows_overlap_cover_everything_and_keep_the_oracle() -> None:
    given = list(tiny_examples(20, seed=5))
    config = setting(window_tokens=70, window_stride=20)
    encoder = encoder_for(config, given)
    windows = [w for number, one in enumerate(given) for w in encoder.encode(one, number)]
    assert len(windows) > 2 * len(given)
    whole = encoder_for(setting(), given)
    for number, example in enumerate(given):
        (full,) = whole.encode(example)
        parts = [window for window in windows if window.example == number]
        covered = set()
        for part in parts:
            covered.update((part.token_starts + part.char_offset).tolist())
            assert len(part.token_ids) <= 70
            place = slice(part.char_offset, part.char_offset + len(part.text))
            assert full.text[place] == part.text
        assert covered == set(full.token_starts.tolist())
        named = {tuple(row) for part in parts for row in part.sentences[:, 2:].tolist()}
        assert named == {tuple(row) for row in full.sentences[:, 2:].tolist()}
    metrics = ceiling(given, config)
    assert metrics["sp_em"] == 100.0
    assert metrics["joint_em"] > 60  # a triple cannot be put together from two windows' halves


def test_a_window_that_cannot_move_forward_is_refused_with_the_numbers() -> None:
    with pytest.raises(ValueError, match="32 tokens with a question of 20.*stride of 32"):
        plan_windows([0], 100, max_length=32, question_length=20, stride=32)
    with pytest.raises(ValueError, match="leaves 0"):
        plan_windows([0], 100, max_length=8, question_length=20, special_tokens=3, stride=0)


@pytest.mark.parametrize("borders", [[0], [0, 9, 14, 33, 60], list(range(0, 100, 3))])
@pytest.mark.parametrize("stride", [0, 5, 19])
def test_windows_cover_every_token_and_end_at_borders(borders: list[int], stride: int) -> None:
    windows = plan_windows(borders, 100, max_length=20, stride=stride)
    covered = {token for start, end in windows for token in range(start, end)}
    assert covered == set(range(100))
    assert all(0 < end - start <= 20 for start, end in windows)
    starts = [start for start, _ in windows]
    assert starts == sorted(set(starts))
    if borders == list(range(0, 100, 3)) and stride == 5:
        assert all(end in borders or end == 100 for _, end in windows)


def test_the_encoder_pickles_and_hashes_the_same_in_every_process(tmp_path: Path) -> None:
    encoder = encoder_for(setting(), examples())
    again = pickle.loads(pickle.dumps(encoder))
    (first,), (second,) = encoder.encode(GOLD_Q1), again.encode(GOLD_Q1)
    assert all(numpy.array_equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.fixture(scope="module")
def real(shared: Path) -> list[Example]:
    return list(read_examples(shared / "data" / "two_wiki" / "dev250.json"))


def test_the_ceiling_on_real_items(real: list[Example]) -> None:
    metrics = ceiling(real, setting())
    assert metrics["joint_f1"] > 98
    assert metrics["joint_em"] > 96


def test_the_published_ceiling_on_real_items_is_far_lower(real: list[Example]) -> None:
    pytest.importorskip("spacy")
    given = real[:60]
    metrics = ceiling(given, reproduced(splitter="spacy"))
    assert metrics["joint_em"] < 60
    by_type = score_predictions(given, [Prediction("", (), ())] * len(given)).types
    assert set(by_type) == {"comparison", "inference", "compositional", "bridge_comparison"}
