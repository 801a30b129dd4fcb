"""Copies of questions with names of nobles say the same of other people."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[2] / "bench"))
from noble_names import RANKS, is_of_kin, noble_copies, noble_copy, seats_of

RECORD = {
    "_id": "a",
    "type": "inference",
    "question": "Who is the paternal grandmother of Helga Fulvo?",
    "answer": "Anna Girnivik",
    "context": [
        ["Arne Fulvo", ["Arne Fulvo (1884 – 1962) was a poet.", "His mother was Anna Girnivik."]],
        ["Helga Fulvo (poet)", ["Helga Fulvo (born 1921) is the daughter of Arne Fulvo.",
                                "Fulvo lived with her aunt, Karin Arne Fulvo."]],
        ["Fulvo Street", ["Fulvo Street is a novel by Arne Fulvo."]],
    ],
    "evidences": [["Helga Fulvo", "father", "Arne Fulvo"],
                  ["Arne Fulvo", "mother", "Anna Girnivik"]],
    "supporting_facts": [["Helga Fulvo (poet)", 0], ["Arne Fulvo", 1]],
}  # fmt: skip
SEATS = ["Brasov", "Tepima"]


@pytest.mark.parametrize("seed", range(40))
def test_a_copy_holds_together(seed: int) -> None:
    copy = noble_copy(RECORD, SEATS, random.Random(seed))
    assert copy is not None
    (first, _, second), (again, _, answer) = copy["evidences"]
    assert (second, answer) == (again, copy["answer"])
    assert copy["question"] == f"Who is the paternal grandmother of {first}?"
    pages: dict[str, Any] = dict(copy["context"])
    (helga, number), (arne, other) = copy["supporting_facts"]
    assert helga == f"{first} (poet)"
    assert arne == second
    assert second in pages[helga][number]
    assert answer in pages[arne][other]
    assert "Fulvo Street" in pages  # a book is no person
    if "Fulvo" not in first:
        assert "Fulvo lived" not in pages[helga][1]
    assert "Karin Arne Fulvo" in pages[helga][1]  # another, of whom nothing is known


def test_most_people_are_nobles_and_the_seed_decides() -> None:
    records = [RECORD, {**RECORD, "_id": "b", "evidences": [["x", "place of birth", "Tepima"]]}]
    assert seats_of(records) == ["Tepima"]
    copies = list(noble_copies(records, SEATS, copies=30, seed=1))
    assert copies == list(noble_copies(records, SEATS, copies=30, seed=1))
    assert len({copy["_id"] for copy in copies}) == len(copies) > 50
    ranks = {*RANKS[0], *RANKS[1], "Sir", "of"}
    noble = [copy for copy in copies if ranks & set(copy["evidences"][0][0].split())]
    assert len(noble) > len(copies) / 4


def test_a_question_without_people_has_no_copy() -> None:
    film = {**RECORD, "context": [RECORD["context"][2]], "evidences": [["x", "country", "y"]]}
    assert noble_copy(film, SEATS, random.Random(0)) is None
    assert is_of_kin(RECORD)
    assert not is_of_kin(film)
