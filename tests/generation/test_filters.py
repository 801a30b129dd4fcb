from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.generation.faults import fault_of

CHAIN: dict[str, Any] = {
    "type": "compositional",
    "question": "Where was the director of film Reel born?",
    "answer": "Sel mouth",
    "supporting_facts": [["Reel (film)", 0], ["Ala Ton", 1]],
    "evidences": [["Reel", "director", "Ala Ton"], ["Ala Ton", "place of birth", "Sel mouth"]],
    "context": [
        ["Reel (film)", ["Reel is a film by Ala Ton."]],
        ["Ala Ton", ["Ala Ton is a poet.", "She came from Selmouth."]],
        ["Stone", ["Stone is a stone."]],
    ],
}
PAIR = CHAIN | {
    "type": "comparison",
    "question": "Who is older, Ala Ton or Stone?",
    "answer": "Ala Ton",
    "supporting_facts": [["Ala Ton", 0], ["Stone", 0]],
    "evidences": [["Ala Ton", "occupation", "poet"], ["Stone", "occupation", "stone"]],
}


def test_good_samples_have_no_fault():
    assert fault_of(CHAIN, 3) == ""
    assert fault_of(PAIR, 3) == ""
    assert fault_of(PAIR | {"answer": "yes"}, 3) == ""


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"context": [*CHAIN["context"], CHAIN["context"][0]]}, "repeated_title"),
        ({"context": CHAIN["context"][:2]}, "number_of_paragraphs"),
        ({"supporting_facts": [["Reel (film)", 0], ["Ala Ton", 2]]}, "unresolved_support"),
        ({"supporting_facts": [["Reel", 0], ["Ala Ton", 1]]}, "unresolved_support"),
        ({"supporting_facts": [["Reel (film)", 0], ["Ala Ton", 0]]}, "unsupported_object"),
        ({"answer": "Oru"}, "answer_is_not_the_last_object"),
    ],
)
def test_each_fault_has_its_name(change: dict[str, Any], reason: str):
    assert fault_of(CHAIN | change, 3) == reason


def test_paragraph_checks_are_made_again():
    told = copy.deepcopy(CHAIN) | {"answer": "Ala Ton Park"}
    told["evidences"][1][2] = "Ala Ton Park"
    told["context"][1][1][1] = "She came from Ala Ton Park."
    told["context"][0][1][0] = "Reel is a film by Ala Ton, set in Ala Ton Park."
    assert fault_of(told, 3) == "answer_in_first_paragraph"
    named = copy.deepcopy(CHAIN)
    named["context"][1][1][0] = "Ala Ton made Reel."
    assert fault_of(named, 3) == "start_in_second_paragraph"
    assert fault_of(PAIR | {"answer": "Oru"}, 3) == "answer_not_in_question"
