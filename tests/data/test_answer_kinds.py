"""Kinds of answers by the class of their Wikidata entity, wherever ids are there."""

from __future__ import annotations

import bz2
import json
from pathlib import Path
from typing import Any

import pytest

from tests.data.test_audit import comparison, record
from twowiki import DataError
from twowiki.cli.main import main
from twowiki.data.answer_kinds import answer_entity, answer_kind, wanted_entities
from twowiki.data.schema import parse_record
from twowiki.generation.classes import read_classes


def entity(name: str, label: str, *classes: str, rank: str = "normal") -> dict[str, Any]:
    """A line of a made-up dump."""
    claims = [{"mainsnak": {"datavalue": {"value": {"id": one}}}, "rank": rank} for one in classes]
    return {
        "id": name,
        "type": "item",
        "labels": {"en": {"value": label}},
        "claims": {"P31": claims} if classes else [],
    }


DUMP = [
    entity("Q900", "Brinmoor", "Q515"),
    entity("Q901", "Dessa Slater", "Q5"),
    entity("Q515", "city"),
    entity("Q902", "Oru"),
]


def dump(folder: Path, name: str = "d.json") -> Path:
    """Write the dump, an array of one entity a line; packed where its name says so."""
    text = "[\n" + ",\n".join(map(json.dumps, DUMP)) + "\n]\n"
    path = folder / name
    path.write_bytes(bz2.compress(text.encode()) if name.endswith("bz2") else text.encode())
    return path


@pytest.mark.parametrize("name", ["d.json", "d.json.bz2"])
def test_classes_are_read_from_a_dump(name: str, tmp_path: Path) -> None:
    found = read_classes(dump(tmp_path, name), {"Q900", "Q901", "Q902", "Q7"})
    assert found == {"Q900": "city", "Q901": "human"}  # the paper's name where the label is absent


def test_a_dump_without_the_entities_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds none of the answers' entities"):
        read_classes(dump(tmp_path), {"Q7"})
    with pytest.raises(DataError, match="no such file"):
        read_classes(tmp_path / "none.json", {"Q7"})


def test_the_id_of_an_answer_is_its_own_or_that_of_its_page() -> None:
    chain = parse_record(record(answer_id="Q900"))
    compared = parse_record({**comparison("dessa slater"), "entity_ids": "Q900_Q901"})
    assert answer_entity(chain) == "Q900"
    assert answer_entity(compared) == "Q901"
    assert answer_entity(compared._replace(entity_ids=("Q1",))) is None
    assert wanted_entities([chain, compared]) == {"Q900", "Q901"}
    classes = {"Q900": "city"}
    kinds = [
        answer_kind(one, classes)
        for one in (
            chain,
            compared,
            chain._replace(answer_id=None),
            chain._replace(answer="Yes"),
            chain._replace(answer="5 March 1880", answer_id=None),
            chain._replace(answer=None),
        )
    ]
    assert kinds == ["city", "without a class", "without an id", "yes/no", "date", None]


def test_the_command_counts_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "dev.json"
    source.write_text(json.dumps([record(answer_id="Q900"), record(_id="q2", answer="yes")]))
    output = tmp_path / "stats.json"
    flags = ["--wikidata", str(dump(tmp_path)), "--output", str(output)]
    assert main(["stats", str(source), *flags]) == 0
    assert 'answers by "instance of"' in capsys.readouterr().out
    kinds = json.loads(output.read_text())["validation"]["answer_kinds"]
    assert kinds == {
        "city": {"examples": 1, "share": 0.5},
        "yes/no": {"examples": 1, "share": 0.5},
    }
    assert main(["stats", str(source)]) == 0
    assert "instance of" not in capsys.readouterr().out
