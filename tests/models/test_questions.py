"""Answers of comparisons from triples: dates, lives and countries compared by code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tiny_data import tiny_examples
from twowiki.data.relations import RULES
from twowiki.data.schema import Triple
from twowiki.data.sources import read_examples
from twowiki.models.questions import (
    _KIN,
    derive_answer,
    is_named,
    kin_chain,
    named_titles,
    without_brackets,
)
from twowiki.models.values import country_of, find_date


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("January 9, 1893", (1893, 1, 9)),
        ("23 March 1957", (1957, 3, 23)),
        ("5 Sept. 1900", (1900, 9, 5)),
        ("the 5th of June 1888", (1888, 6, 5)),
        ("March 1920", (1920, 3, 0)),
        ("1953-07-02", (1953, 7, 2)),
        ("669", (669, 0, 0)),
        ("44 BC", (-44, 0, 0)),
        ("c. 1568", (1568, 0, 0)),
        ("MAY 2, 2011", (2011, 5, 2)),
        ("the 5th century", None),
        ("American", None),
        ("", None),
    ],
)
def test_dates_as_summaries_write_them(text: str, date: tuple[int, int, int] | None) -> None:
    assert find_date(text) == date


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Italian", "Italy"),
        ("American", "United States"),
        ("U.S.", "the United States of America"),
        ("Norwegian", "NORWAY"),
        ("British", "United Kingdom"),
        ("Veltrian", "Veltrian"),
    ],
)
def test_names_of_one_country(one: str, other: str) -> None:
    assert country_of(one) == country_of(other)


def test_neighbours_are_not_one_country() -> None:
    names = ("Niger", "Nigeria", "Austria", "Australia", "Dominica", "Dominican Republic")
    assert len({country_of(name) for name in names}) == len(names)
    assert country_of("North Korean") != country_of("South Korean")


def born(*pairs: tuple[str, str]) -> list[Triple]:
    return [Triple(name, "date of birth", date) for name, date in pairs]


TWO = born(("Ada Orr", "3 May 1901"), ("Bo Lind (singer)", "1899"))
FILMS = [
    Triple("Born Later", "director", "Ada Orr"),
    Triple("Mist (1940 film)", "director", "Cy Venn"),
    Triple("Ada Orr", "date of death", "May 3, 1990"),
    Triple("Cy Venn (director)", "date of death", "4 May 1990"),
]
LIVES = [
    Triple("Ada Orr", "date of birth", "1 May 1900"),
    Triple("Ada Orr", "date of death", "1 May 1950"),
    Triple("Cy Venn", "date of birth", "2 June 1800"),
    Triple("Cy Venn", "date of death", "1 June 1850"),
]
PLACES = [
    Triple("Mist", "country of origin", "Italian"),
    Triple("Born Later", "country of origin", "French"),
    Triple("Born Later", "country of origin", "Italy"),
]


@pytest.mark.parametrize(
    ("question", "triples", "answer"),
    [
        ("Who was born first, Ada Orr or Bo Lind (Singer)?", TWO, ("Bo Lind (singer)", 1)),
        ("Who is younger, Ada Orr or Bo Lind?", TWO, ("Ada Orr", 0)),
        ("Who is older, Ada Orr or Bo Lind?", TWO, ("Bo Lind (singer)", 1)),
        (
            "Which film has the director who died earlier, Born Later or Mist (1940 Film)?",
            FILMS,
            ("Born Later", 0),
        ),
        ("Which film has the director died later, Born Later or Mist?", FILMS,
         ("Mist (1940 film)", 1)),
        ("Who lived longer, Cy Venn or Ada Orr?", LIVES, ("Ada Orr", 0)),
        ("Are Born Later and Mist from the same country?", PLACES, ("yes", None)),
        ("Do Mist and Born Later share the same nationality?", PLACES[:2], ("no", None)),
        ("When was the director of Born Later born?", FILMS, None),
        ("Who was born first, Ada Orr or Cy Venn?", TWO, None),
        ("Who was born first, Ada Orr or Bo Lind?", TWO[:1], None),
        ("Who was born first, Ada Orr or Bo Lind?", born(("Ada Orr", "1900"), ("Bo Lind", "1900")),
         None),
        ("Who was born first, Ada Orr or Bo Lind?",
         born(("Ada Orr", "May 1900"), ("Bo Lind", "1900")), None),
        ("Who was born first, Ada Orr or Bo Lind?", born(("Ada Orr", "x"), ("Bo Lind", "")), None),
        ("", [], None),
    ],
)  # fmt: skip
def test_what_the_triples_decide_and_what_they_do_not(
    question: str, triples: list[Triple], answer: tuple[str, int | None] | None
) -> None:
    assert derive_answer(question, triples) == answer


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("It (film)", False),  # within "with"
        ("Ann", False),
        ("Anna", True),
        ("Boys!", True),
        ("Mist (1940 film)", True),
        ("", False),
        ("()", False),
    ],
)
def test_a_name_is_whole_words_of_the_question(name: str, named: bool) -> None:
    assert is_named(name, "is anna with the mist or boys! out?") is named


def test_gold_triples_of_made_up_questions_give_their_answers() -> None:
    derived = 0
    for example in tiny_examples(80, seed=5):
        found = derive_answer(example.question, [Triple(*triple) for triple in example.evidences])
        if found is not None:
            derived += 1
            assert found[0].casefold() == (example.answer or "").casefold()
            assert "comparison" in (example.type or "")
    assert derived >= 30


def test_gold_triples_of_real_items_give_their_answers(shared: Path) -> None:
    derived = 0
    for example in read_examples(shared / "data" / "two_wiki" / "dev250.json"):
        found = derive_answer(example.question, [Triple(*triple) for triple in example.evidences])
        if found is not None:
            derived += 1
            assert found[0].casefold() == (example.answer or "").casefold(), example.id
            assert "comparison" in (example.type or "")
    assert derived >= 111  # of 113


def test_a_name_within_a_longer_one_is_not_named() -> None:
    titles = ["Carlisle", "Edward Howard, 2nd Earl of Carlisle", "Howard (film)", "Ward"]
    question = "who is edward howard, 2nd earl of carlisle's grandfather?"
    assert named_titles(titles, question) == [False, True, False, False]
    both = "were edward howard, 2nd earl of carlisle and howard in carlisle?"
    assert named_titles(titles, both) == [True, True, True, False]
    bracketed = ["Phila (daughter of Ann)", "Phila (daughter of Bea)", "Ann"]
    assert named_titles(bracketed, "who is phila (daughter of bea)'s son?") == [False, True, False]
    assert named_titles(bracketed, "who is phila's son?") == [True, True, False]
    assert named_titles(["", "()"], "who?") == [False, False]


def test_brackets_are_taken_out_of_a_question() -> None:
    assert without_brackets("who sings mist (ada orr song)?") == "who sings mist?"
    assert without_brackets("who (x") == "who (x"


@pytest.mark.parametrize(
    ("words", "given", "chain"),
    [
        ("who is the maternal grandfather of ?", ("father", "father"), ("mother", "father")),
        ("who is 's uncle?", ("mother", "father"), ("mother", "sibling")),
        ("who is 's uncle?", ("spouse", "father"), ("father", "sibling")),
        ("who is 's sister-in-law?", ("sibling", "father"), ("sibling", "spouse")),
        ("who is the father of the director of ?", ("director", "father"), ("director", "father")),
        ("where was the auntie born?", ("sibling", "child"), ("sibling", "child")),
    ],
)
def test_a_word_of_kinship_fixes_the_relations_of_a_chain(
    words: str, given: tuple[str, ...], chain: tuple[str, ...]
) -> None:
    assert tuple(kin_chain(words, given)) == chain


def test_chains_of_kinship_are_inference_rules() -> None:
    chains = {chain for _, chains in _KIN for chain in chains}
    assert chains <= {(rule.r1, rule.r2) for rule in RULES}
    for rule in RULES:
        words = rule.word.split("/") + rule.otherwise.split("/")
        found = {tuple(kin_chain(word, (rule.r1, rule.r2))) for word in words if word}
        assert found == {(rule.r1, rule.r2)}
