"""Decoding: spans stay in their paragraph, triples agree with each other and with the answer."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.small_encoder import model_and_records, settings
from tests.small_model import GOLD_Q1, examples
from twowiki.models.configuration_encoder import TwoWikiEncoderConfig
from twowiki.models.decoding import PagePlace, ScoredSpan, TripleSlot, WindowScores
from twowiki.models.decoding_encoder import (
    _is_cut,
    agreeing_triples,
    decode_record,
    in_pairs,
    last_of_chain,
    page_places,
    score_records,
    stating_sentences,
)
from twowiki.models.oracle import encoder_oracle
from twowiki.models.processing_encoder import EncoderCollator
from twowiki.models.text import fold, lay_out
from twowiki.models.values import misfit

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


def scored(start: int, length: int) -> ScoredSpan:
    return ScoredSpan(start, start + length, 0.0)


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
    ("date of birth", [place("Cy Venn", 8.0, "Cy Venn was")], [place("1901")]),
    ("director", [place("Mist (1940 film)")], [place("Ada Orr")]),
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


def page(number: int, name: str, score: float, answer: float = -1.0) -> PagePlace:
    """A place for a triple: a page's title, and a name after it."""
    title = CONTEXT[number][0]
    return PagePlace(number, place(title), place(name, after=title), score, answer)


def agreed(
    slots: list[tuple[str, list[PagePlace]]], question: str = QUESTION, **options: Any
) -> list[tuple[str, ...]]:
    placed = [TripleSlot(relation, 0.9, [], [], places) for relation, places in slots]
    config = configured(**options)
    found = agreeing_triples(placed, fold(question), CONTEXT, TEXT, config)
    return [tuple(triple[:3]) for triple, _ in found]


def test_a_page_that_is_not_named_is_what_another_triple_points_to() -> None:
    slots = [
        ("date of birth", [page(3, "1899", -0.1), page(1, "1901", -3.0)]),
        ("director", [page(0, "Cy Venn", -0.1), page(0, "Ada Orr", -0.5)]),
    ]
    assert agreed(slots, chain_margin=0.3) == [
        ("Mist", "director", "Cy Venn"), ("Ada Orr", "date of birth", "1899"),
    ]  # fmt: skip
    assert agreed(slots) == [
        ("Mist", "director", "Ada Orr"), ("Ada Orr", "date of birth", "1899"),
    ]  # fmt: skip
    sure = [slots[0], ("director", [page(0, "Cy Venn", -0.1), page(0, "Ada Orr", -9.0)])]
    assert agreed(sure)[1] == ("Cy Venn", "date of birth", "1901")


def test_titles_keep_their_brackets_where_two_pages_are_compared() -> None:
    slots = [("director", [page(0, "Cy Venn", -0.1)]), ("director", [page(2, "Ada Orr", -0.1)])]
    assert agreed(slots)[0][0] == "Mist (1940 film)"
    assert agreed(slots[:1])[0][0] == "Mist"


def test_a_name_in_the_bracket_of_another_is_not_named() -> None:
    context = (("Mist (Ada Orr song)", ("Mist is a song by Ada Orr.",)), *CONTEXT[1:])
    text = lay_out(context).text
    song, singer = (text.index(name) for name in ("Ada Orr.", "Ada Orr was"))
    born = text.index("1899")
    slots = [
        TripleSlot(
            "performer", 0.9, [], [],
            [PagePlace(0, scored(0, 19), scored(song, 7), -0.1, -1.0)],
        ),
        TripleSlot(
            "date of birth", 0.9, [], [],
            [PagePlace(3, scored(singer - 7, 7), scored(born, 4), -0.1, -1.0)],
        ),
    ]  # fmt: skip
    question = fold("When was the performer of Mist (Ada Orr Song) born?")
    found = [triple for triple, _ in agreeing_triples(slots, question, context, text, configured())]
    assert [triple.subject for triple in found] == ["Mist", "Ada Orr"]
    last = last_of_chain(question, found)
    assert last is not None
    assert last.object == "1899"


def test_a_word_of_kinship_outside_of_names_fixes_the_relations() -> None:
    slots = [("director", [page(3, "1899", -0.1)]), ("director", [page(0, "Ada Orr", -0.1)])]
    for question, chain in (
        ("Who is the maternal grandfather of Mist?", ["mother", "father"]),
        ("Who is the director of Mist?", ["director", "director"]),
    ):
        assert [triple[1] for triple in agreed(slots, question)] == chain
    twice = [slots[1], ("director", [page(2, "Ada Orr", -0.1)])]
    assert [triple[1] for triple in agreed(twice, "Uncle of Mist and Born Later?")] == [
        "director"
    ] * 2


@pytest.mark.parametrize(
    ("held", "paired"),
    [
        ("", ""), ("d", "db"), ("db", "db"), ("bbb", "bbb"), ("ddb", "ddbb"), ("dbb", "dbbb"),
        ("ddd", "ddd"), ("dbdb", "dbdb"),
    ],
)  # fmt: skip
def test_a_triple_is_not_alone(held: str, paired: str) -> None:
    names = ["date of birth", "director"]
    logits = torch.zeros(5, 3)
    logits[:, 2] = 1.0
    logits[:, 0] = torch.tensor([0.1, 0.2, 0.3, 0.4, 0.5])  # the last one is the likest to hold one
    for slot, kind in enumerate(held):
        logits[slot, "bd".index(kind)] = 2.0
    found = in_pairs(logits, names).argmax(-1).tolist()
    assert "".join("bd"[number] for number in found if number < 2) == paired
    if len(held) == 1:
        assert found[4] == 0
    full = torch.tensor([[2.0, 0.0, 1.0]])
    assert in_pairs(full, names) is full or in_pairs(full, names).equal(full)


def test_a_page_has_one_date_of_a_kind() -> None:
    first = [page(1, "1901", -0.1), page(1, "born", -0.2), page(3, "1899", -2.0)]
    assert len({triple[0] for triple in agreed([("date of birth", first)] * 2)}) == 2


def test_the_answer_has_a_word_in_what_a_chain_ends_in() -> None:
    question = "Where was the director of Mist born?"
    slots = [
        ("director", [page(0, "Ada Orr", -0.1)]),
        ("date of birth", [page(3, "Orr was", -0.5, -9.0), page(3, "1899", -0.9, -0.1)]),
    ]
    assert agreed(slots, question)[1][2] == "1899"
    same = [("date of birth", [place._replace(answer=-1.0) for place in slots[1][1]])]
    assert agreed([slots[0], *same], question)[1][2] == "Orr was"


def test_a_chain_writes_its_second_subject_as_its_first_object() -> None:
    question = "When was the director of Mist born?"
    slots = [("director", [page(0, "Venn", -0.1)]), ("date of birth", [page(1, "1901", -0.1)])]
    assert agreed(slots, question)[1] == ("Venn", "date of birth", "1901")
    other = [("director", [page(0, "Ada Orr", -0.1)]), slots[1]]
    assert agreed(other, question, chain_margin=0.0)[1][0] == "Cy Venn"  # no word in common


def test_two_slots_do_not_hold_one_triple_if_another_place_is_near() -> None:
    first = [page(0, "Cy Venn", -0.1), page(0, "Ada Orr", -2.0)]
    assert {triple[2] for triple in agreed([("director", first)] * 2)} == {"Cy Venn", "Ada Orr"}
    far = [first[0], page(0, "Ada Orr", -19.0)]
    assert len(agreed([("director", far)] * 2)) == 1


def test_support_is_the_first_sentence_with_the_object_and_others_elsewhere() -> None:
    context = (("Mist", ("A film.", "Its director is Ada Orr.", "Ada Orr!")), *CONTEXT[1:])
    slot = TripleSlot("director", 0.9, [], [], [page(0, "Ada Orr", -0.1)])
    found = agreeing_triples([slot], fold(QUESTION), CONTEXT, TEXT, configured())
    assert stating_sentences(found, context) == {(0, 1)}
    config = configured()
    given = record([("director", [place("Mist (1940 film)")], [place("Ada Orr")])], config)
    given = given._replace(
        pages=[[page(0, "Ada Orr", -0.1)]],
        sentences=[(0, 0, 0.1), (1, 0, 0.9), (2, 0, 0.2)],
    )
    said = decode_record([given], QUESTION, CONTEXT, config)
    assert said.supporting_facts == [("Mist (1940 film)", 0), ("Cy Venn (director)", 0)]
    assert said.support_scores == [0.1, 0.9]
    config.support_from_triples = False
    said = decode_record([given], QUESTION, CONTEXT, config)
    assert said.supporting_facts == [("Cy Venn (director)", 0)]


@pytest.mark.parametrize(
    ("relation", "words", "cost"),
    [
        ("date of birth", "9 May 1920", 0),
        ("date of birth", "1920", 5),
        ("date of birth", "9 May 1920 in Paris, France", 10),
        ("inception", "1870", 0),
        ("publication date", "Paris", 10),
        ("country of citizenship", "American", 0),
        ("country", "the Netherlands", 0),
        ("country of origin", "black cowboy", 10),
        ("director", "Ada Orr", 0),
        ("father", "actor Cy Venn", 10),
        ("father", "Otto VI, Prince of Anhalt-Zerbst", 0),
        ("father", "John Orr, 4th Baron Orr", 0),
        ("father", "Guy Orr, Jr", 0),
        ("father", "Amlaib mac Gofraid", 0),
        ("father", "Yuen Siu-tien", 0),
        ("mother", "Ada Orr, daughter of Ann Orr", 5),
        ("sibling", "Busir, khagan", 5),
        ("spouse", "Ada Orr and television announcer Ann Orr", 5),
        ("father", "Otto VII, Holy Roman Emperor, Elector of Orr", 5),
        ("place of birth", "Austin, Texas", 0),
        ("place of birth", "9 May 1920", 10),
        ("place of birth", "Venn", 5),
        ("place of birth", "director", 10),
        ("award received", "Prize of 1920", 0),
        ("cause of death", "emphysema", 0),
    ],
)
def test_an_object_that_does_not_suit_its_relation_costs(
    relation: str, words: str, cost: float
) -> None:
    assert misfit(relation, words, "Cy Venn (director)") == cost


@pytest.mark.parametrize(
    ("start", "end", "cut"),
    [(0, 4, False), (0, 8, True), (5, 9, True), (10, 14, True), (5, 14, False)],
)
def test_an_object_is_whole_words(start: int, end: int, cut: bool) -> None:
    _, (window, *_) = model_and_records("bert", examples()[:1])
    window = window._replace(text="Hugh Yuen-tien - Li", char_offset=100)
    assert _is_cut(window, ScoredSpan(100 + start, 100 + end, 0.0)) == cut
    assert not _is_cut(window, ScoredSpan(117, 119, 0.0))  # a dash is no hyphen


def test_places_are_the_best_objects_of_each_page_with_its_title() -> None:
    model, records = model_and_records("bert", examples()[:2])
    config = model.config
    config.max_object_tokens, config.span_candidates = 3, 4
    generator = torch.Generator().manual_seed(1)
    for one, example in zip(records, examples()[:2], strict=True):
        tokens = len(one.token_ids) + 2  # with padding
        logits = [torch.randn(tokens, 2, generator=generator).numpy() for _ in range(4)]
        answer = (logits[0][:, 0], logits[1][:, 0])
        relations = [config.relations.index("director"), len(config.relations)]
        found = page_places(one, logits, answer, relations, config)
        text = lay_out(example.context).text
        assert found[1] == []  # this slot holds no triple
        none = [len(config.relations)] * 2
        assert page_places(one, logits, answer, none, config) == [[], []]
        for slot in found[:1]:
            assert 1 <= len(slot) <= 8
            assert [place.score for place in slot] == sorted(
                (place.score for place in slot), reverse=True
            )
            for number, subject, object_, _, likely in slot:
                title, sentences = example.context[number]
                assert text[subject.start : subject.end] == title
                paragraph = text.index(title, subject.start) + len(title)
                last = text.index(sentences[-1], paragraph) + len(sentences[-1])
                assert paragraph < object_.start < object_.end <= last
                assert likely < 0


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
    config = configured(chain_consistency=False)
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
