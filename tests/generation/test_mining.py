"""Mined rules and forms: counted by hand on few statements."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.generation.dumps import HUMAN, Dumps, make
from twowiki.cli.main import main
from twowiki.data.schema import Example, Fact
from twowiki.errors import DataError
from twowiki.generation.mining import MinedRule, mine_rules, mine_templates


def family() -> Dumps:
    """Four children whose father has a wife: of two she is the mother, of one another woman is."""
    dumps = Dumps().filler()
    dumps.add(10, "Tavik Orrel", ["Tavik Orrel."], {"P31": [HUMAN], "P26": [11], "P22": [30]})
    for qid, name in ((11, "Dessa Orrel"), (12, "Mira Sollen"), (30, "Albin Orrel")):
        dumps.add(qid, name, [f"{name}."], {"P31": [HUMAN]})
    for qid, mother in ((21, [11]), (22, [11]), (23, [12]), (24, [])):
        name = f"Child {chr(qid + 44)}"
        dumps.add(qid, name, [f"{name}."], {"P31": [HUMAN], "P22": [10], "P25": mother})
    return dumps


def test_support_and_confidence_are_those_of_the_statements(tmp_path: Path):
    make(family(), tmp_path)
    rules = mine_rules(tmp_path / "out", min_support=2, min_confidence=0.5)
    assert rules == [
        MinedRule("father", "father", "", 4, 4, 0.0, 0.0),
        MinedRule("father", "spouse", "mother", 4, 2, 0.5, 2 / 3),
    ]
    assert mine_rules(tmp_path / "out", min_support=5) == []
    with pytest.raises(DataError, match="no statement tables"):
        mine_rules(tmp_path / "none")


def test_the_commands_print_rules_and_forms(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    make(family(), tmp_path)
    assert main(["mine", "rules", str(tmp_path / "out"), "--min-support", "2", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [row["relation"] for row in printed] == ["", "mother"]
    data = Path(__file__).parents[1] / "data" / "two_wiki.json"
    assert main(["mine", "templates", str(data)]) == 0
    assert "#1" in capsys.readouterr().out


def question(text: str, *titles: str, kind: str = "comparison") -> Example:
    facts = tuple(Fact(title, 0) for title in titles)
    return Example(id=text[:3], question=text, type=kind, context=(), supporting_facts=facts,
                   evidences=(), answer="yes")  # fmt: skip


def test_names_become_slots_in_the_order_of_the_question():
    patterns = mine_templates(
        [
            question("Who is older, Ala Ton or Bo Rill?", "Bo Rill", "Ala Ton"),
            question("Who is older, Cai Dun or Dov?", "Cai Dun (poet)", "Dov"),
            question("Is ORU in Ton?", "Oru", "Ton (city)"),
            question("Is Oru near Orum?", "Oru", "Sel"),
            question("Who is Ala's father?", "Ala", kind="inference"),
        ]
    )
    assert [(one.text, one.questions) for one in patterns] == [
        ("Who is older, #1 or #2?", 2),
        ("Is #1 in #2?", 1),
    ]


def test_titles_within_each_other_give_no_form():
    assert mine_templates([question("Is Oru older?", "Oru", "Or (x)")]) == []
