"""Renaming changes every name everywhere alike, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twowiki.cli.main import main
from twowiki.data.schema import Example, Fact, Paragraph, Triple
from twowiki.worlds.names import may_be_real
from twowiki.worlds.renaming import Renamer

MADE_UP = Example(
    "1",
    "Where was the director of film The Glass Staircase (Film) born?",
    "compositional",
    (
        Paragraph("The Glass Staircase (film)", ("The Glass Staircase is a 1931 film.",
                                               "Anna Tarvel directed The Glass Staircase.")),
        Paragraph("Anna Tarvel", ("Anna Tarvel (born 3 May 1901) is a director.",
                                  "Tarvel was born in Melbury, Grenland.")),
        Paragraph("Ann Staircase", ("Ann Staircase (1900 – 1950) knew Tarvel.",)),
    ),
    (Fact("The Glass Staircase (film)", 1), Fact("Anna Tarvel", 1)),
    (Triple("The Glass Staircase (film)", "director", "Anna Tarvel"),
     Triple("Anna Tarvel", "place of birth", "Melbury")),
    answer="Melbury",
)  # fmt: skip


@given(seed=st.text("abc0123", max_size=4))
def test_names_are_replaced_everywhere_alike(seed: str) -> None:
    renamed, left, lost = Renamer(seed).rename(MADE_UP)
    assert (left, lost) == ((), 0)
    work, person, place = (
        renamed.context[0].title, renamed.context[1].title, renamed.answer or "",
    )  # fmt: skip
    assert work.endswith(" (film)")
    assert work.startswith("The ")
    assert renamed.triples == (Triple(work, "director", person),
                               Triple(person, "place of birth", place))  # fmt: skip
    assert [fact.title for fact in renamed.facts] == [work, person]
    assert person in renamed.context[0].sentences[1]
    assert renamed.context[1].sentences[0].startswith(f"{person} (born 3 May 1901)")
    assert person.split()[1] in renamed.context[2].sentences[0]
    assert f"in {place}, " in renamed.context[1].sentences[1]
    assert renamed.question.endswith("(Film) born?")
    assert not may_be_real(person.split()[-1])
    text = str(renamed)
    assert not any(name in text for name in ("Tarvel", "Melbury", "Glass Staircase", "Anna"))
    assert Renamer(seed).rename(MADE_UP).example == renamed


def test_one_name_has_one_new_name_in_a_file() -> None:
    renamer = Renamer("1")
    first = renamer.rename(MADE_UP).example
    other = MADE_UP._replace(id="2", question="Who is Anna Tarvel?")
    again = renamer.rename(other).example
    assert again.question == f"Who is {first.context[1].title}?"
    assert again.context == first.context


def test_a_file_its_aliases_and_an_audit(tmp_path: Path, capsys: Any) -> None:
    from twowiki.data.schema import to_official

    source, out = tmp_path / "dev.json", tmp_path / "out.json"
    source.write_text(json.dumps([to_official(MADE_UP)]), "utf-8")
    aliases = tmp_path / "id_aliases.json"
    line = {"Q_id": "Q1", "aliases": ["A. Tarvel", "Nobody Else"], "demonyms": []}
    aliases.write_text(json.dumps(line) + "\n", "utf-8")
    assert main(["rename", str(source), str(out), "--seed", "7", "--aliases", str(aliases)]) == 0
    assert "1 questions; new names of" in capsys.readouterr().out
    (record,) = json.loads(out.read_text("utf-8"))
    audit = json.loads((tmp_path / "out.json.audit.json").read_text("utf-8"))
    surname = audit["names"]["people"]["Tarvel"]
    assert record["evidences"][0][2].endswith(surname)
    (renamed,) = (tmp_path / "out.json.aliases.json").read_text("utf-8").splitlines()
    assert json.loads(renamed)["aliases"] == [f"A. {surname}", "Nobody Else"]
    assert audit["renamed"]["places"] == 1
    assert audit["names left"] == {}
    assert main(["score", *_perfect(tmp_path, record), "--strict"]) == 0


def _perfect(folder: Path, record: dict[str, Any]) -> list[str]:
    key = record["_id"]
    predictions = {
        "answer": {key: record["answer"]},
        "sp": {key: record["supporting_facts"]},
        "evidence": {key: record["evidences"]},
    }
    path = folder / "predictions.json"
    path.write_text(json.dumps(predictions), "utf-8")
    return [str(path), str(folder / "out.json")]


@pytest.mark.parametrize("name", ["empty.json"])
def test_an_empty_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("[]")
    assert main(["rename", str(tmp_path / name), str(tmp_path / "out.json")]) == 2
    assert not (tmp_path / "out.json").exists()
