"""Decoding: spans stay in their paragraph, triples agree with each other and with the answer."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.small_encoder import model_and_records, settings
from tests.small_model import GOLD_Q1, examples
from twowiki.models.configuration_encoder import TwoWikiEncoderConfig
from twowiki.models.decoding import ScoredSpan, WindowScores, pad_segment_ids, span_candidates
from twowiki.models.decoding_encoder import decode_record, score_records, token_segment_ids
from twowiki.models.oracle import encoder_oracle
from twowiki.models.processing_encoder import EncoderCollator
from twowiki.models.text import lay_out

CONTEXT = (
    ("Mist (1940 film)", ("Mist is a film by Cy Venn and Ada Orr.",)),
    ("Cy Venn (director)", ("Cy Venn was born in 1901.",)),
    ("Born Later", ("Born Later is a film by Ada Orr.",)),
    ("Ada Orr", ("Ada Orr was born in 1899.",)),
)
TEXT = lay_out(CONTEXT).text
QUESTION = "Which film has the director born first, Mist (1940 Film) or Born Later?"


def place(name: str, score: float = 10.0, after: str = "") -> ScoredSpan:
    start = TEXT.index(name, TEXT.index(after))
    return ScoredSpan(start, start + len(name), score)


def chances(number: int, count: int) -> list[float]:
    return [0.9 if i == number else 0.1 / count for i in range(count + 1)]


def record(slots: list[tuple[str, Any, Any]], config: TwoWikiEncoderConfig) -> WindowScores:
    """What a model says: (relation, places of the subject, places of the object) a slot."""
    names = config.relations or []
    return WindowScores(
        example=0,
        answer_types=[0.8, 0.1, 0.1],
        answer=place("Mist (1940 film)"),
        sentences=[(0, 0, 0.9), (1, 0, 0.2)],
        relations=[
            chances(names.index(relation) if relation else len(names), len(names))
            for relation, _, _ in slots
        ],
        subjects=[subjects for _, subjects, _ in slots],
        objects=[objects for _, _, objects in slots],
    )


SLOTS = [
    ("date of birth", [place("Cy Venn", 8.0, "Cy Venn was"), place("Ada Orr", 9.0)],
     [place("1901")]),
    ("director", [place("Mist (1940 film)")], [place("Ada Orr"), place("Cy Venn", 9.5)]),
    ("", [place("Mist (1940 film)")], [place("1901")]),
    ("director", [place("Born Later")], [place("Ada Orr", 10.0, "Born Later is")]),
    ("date of birth", [place("Ada Orr", 10.0, "Ada Orr was")], [place("1899")]),
    ("date of birth", [place("Ada Orr", 10.0, "Ada Orr was")], [place("1899")]),
]  # fmt: skip


def configured(**options: Any) -> TwoWikiEncoderConfig:
    config, _ = settings("bert", **options)
    config.relations = ["date of birth", "director"]
    return config


def triples(config: TwoWikiEncoderConfig, slots: Any = SLOTS) -> list[tuple[str, ...]]:
    said = decode_record([record(slots, config)], QUESTION, CONTEXT, config)
    return [tuple(triple[:3]) for triple in said.evidences]


def test_what_the_question_names_comes_first_and_each_triple_once() -> None:
    found = triples(configured(chain_consistency=False))
    assert found == [
        ("Mist (1940 film)", "director", "Ada Orr"),
        ("Born Later", "director", "Ada Orr"),
        ("Cy Venn", "date of birth", "1901"),
        ("Ada Orr", "date of birth", "1899"),
    ]


def test_a_subject_that_is_not_asked_for_is_the_object_of_another_triple() -> None:
    best = [*SLOTS[1:2], SLOTS[0]]
    assert triples(configured(chain_consistency=False), best)[1][0] == "Cy Venn"
    assert triples(configured(), best) == [
        ("Mist (1940 film)", "director", "Ada Orr"),
        ("Ada Orr", "date of birth", "1901"),
    ]
    near = [("director", SLOTS[1][1], [place("Ada Orr"), place("Cy Venn", 9.5)]),
            ("date of birth", [place("Cy Venn", 9.0, "Cy Venn was")], [place("1901")])]  # fmt: skip
    assert triples(configured(), near)[0][2] == "Cy Venn"
    assert triples(configured(chain_margin=0.4), near)[0][2] == "Ada Orr"


def test_a_comparison_is_answered_from_its_triples_only_if_so_asked() -> None:
    config = configured(chain_consistency=False)
    slots = [
        ("director", [place("Mist (1940 film)")], [place("Cy Venn")]),
        ("director", [place("Born Later")], [place("Ada Orr", 10.0, "Born Later is")]),
        ("date of birth", [place("Cy Venn (director)")], [place("1901")]),
        ("date of birth", [place("Ada Orr", 10.0, "Ada Orr was")], [place("1899")]),
    ]
    said = decode_record([record(slots, config)], QUESTION, CONTEXT, config)
    assert said.answer == "Born Later"
    assert said.answer_span is not None
    assert TEXT[slice(*said.answer_span)] == "Born Later"
    assert said.supporting_facts == [("Mist (1940 film)", 0)]
    config.derive_answers = False
    plain = decode_record([record(slots, config)], QUESTION, CONTEXT, config)
    assert plain.answer == "Mist (1940 film)"
    assert plain.evidences == said.evidences


def test_a_chain_is_answered_by_its_last_triple_only_if_so_asked() -> None:
    config = configured(chain_answers=True)
    question = "When was the director of Mist (1940 Film) born?"
    director = ("director", [place("Mist (1940 film)")], [place("Cy Venn")])
    born = ("date of birth", [place("Cy Venn (director)")], [place("1901")])
    for slots in ([director, born], [born, director]):
        said = decode_record([record(slots, config)], question, CONTEXT, config)
        assert (said.answer, said.answer_type) == ("1901", "span")
        assert said.answer_span is not None
        assert TEXT[slice(*said.answer_span)] == "1901"
        said = decode_record([record(slots, config)], "When was she born?", CONTEXT, config)
        assert said.answer == "1901"  # neither is named: one leads to the other
    for slots in ([director], [director, born, SLOTS[4]]):
        said = decode_record([record(slots, config)], question, CONTEXT, config)
        assert said.answer == "Mist (1940 film)"
    config.chain_answers = False
    said = decode_record([record([director, born], config)], question, CONTEXT, config)
    assert said.answer == "Mist (1940 film)"


def test_nothing_is_said_without_a_record() -> None:
    said = decode_record([], QUESTION, CONTEXT, configured())
    assert (said.answer, said.supporting_facts, said.evidences) == ("", [], [])


@pytest.mark.parametrize("count", [1, 2, 4, 50])
def test_candidates_are_in_order_within_their_segment_and_short_enough(count: int) -> None:
    model, records = model_and_records("bert", examples()[:3])
    torch.manual_seed(1)
    tokens = max(len(one.token_ids) for one in records)
    segment_ids = pad_segment_ids([token_segment_ids(one, model.config) for one in records], tokens)
    mask = (segment_ids >= 0).unsqueeze(-1)
    lowest = torch.finfo(torch.float).min
    starts, ends = (torch.randn(3, tokens, 5).masked_fill(~mask, lowest) for _ in range(2))
    first, last, scores = span_candidates(starts, ends, segment_ids, 7, count)
    assert first.shape == last.shape == scores.shape
    real = scores > -1e29
    assert real[..., 0].all()
    assert ((last - first)[real] >= 0).all()
    assert ((last - first)[real] < 7).all()
    spread = segment_ids.unsqueeze(1).expand(-1, 5, -1)
    assert (spread.gather(2, first) == spread.gather(2, last))[real].all()
    assert (scores[..., 1:] <= scores[..., :1] + 1e-6).all()
    pairs = first * tokens + last
    for row, keep in zip(pairs.flatten(0, 1), real.flatten(0, 1), strict=True):
        assert len(row[keep].unique()) == int(keep.sum())


def test_two_triples_of_one_relation_come_out_of_gold_labels() -> None:
    comparison = next(e for e in examples() if e.type == "comparison")
    model, records = model_and_records("bert", [comparison, GOLD_Q1])
    batch = EncoderCollator(model.config)(records)
    assert batch["span_mask"].sum() < batch["context_mask"].sum()
    scores = score_records(encoder_oracle(records, model.config), records, model.config)
    said = decode_record(scores[:1], comparison.question, comparison.context, model.config)
    found = {tuple(triple[:3]) for triple in said.evidences}
    assert found == {tuple(triple) for triple in comparison.evidences}
    assert len({triple[1] for triple in found}) < len(found)
