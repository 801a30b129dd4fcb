"""Questions over listed pages have the answer that the world's own statements give."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import twowiki
from twowiki.cli.main import main
from twowiki.data.configs import SET_TYPES, types_of
from twowiki.data.hops import count_hops
from twowiki.data.schema import Example
from twowiki.data.sources import read_examples
from twowiki.errors import DataError
from twowiki.generation.settings import GenerateConfig
from twowiki.models.text import bare_title

WORLD = "people=700,films=450,seed=5,sets=1,limit_per_type=40"
_PROPERTIES = {"place of birth": "P19", "place of death": "P20", "educated at": "P69",
               "director": "P57", "producer": "P162", "date of birth": "P569",
               "date of death": "P570", "publication date": "P577"}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("listed") / "g"
    assert main(["generate", "--world", WORLD, "--out", str(out), "--workers", "1"]) == 0
    return out


@pytest.fixture(scope="module")
def examples(folder: Path) -> list[Example]:
    return [
        one
        for name in ("train", "dev", "test")
        for one in read_examples(folder / f"{name}.json", "world", name)
        if one.type in SET_TYPES
    ]


@pytest.fixture(scope="module")
def statements(folder: Path) -> dict[str, dict[str, Any]]:
    """The claims of each page's entity, by the page's title."""
    lines = (folder / "work/.twowiki/world/wikidata.json").read_text("utf-8").splitlines()[1:-1]
    entities = [json.loads(line.rstrip(",")) for line in lines]
    return {one["sitelinks"]["enwiki"]["title"]: one["claims"] for one in entities
            if one["sitelinks"]}  # fmt: skip


def _value(claims: dict[str, Any], relation: str) -> str:
    (claim,) = claims[_PROPERTIES[relation]]
    value = claim["mainsnak"]["datavalue"]["value"]
    return str(value.get("id") or value["time"])


def test_both_types_and_all_their_relations_are_asked(examples: list[Example]):
    assert Counter(one.type for one in examples) == {"intersection": 40, "count": 40}
    asked = {one.triples[-1].relation for one in examples}
    assert asked == set(_PROPERTIES)
    assert {count_hops(one) for one in examples if one.type == "intersection"} == {1, 2}
    assert len({one.id for one in examples}) == len({one.question for one in examples}) == 80
    numbers = Counter(one.answer for one in examples if (one.answer or "").isdigit())
    assert set("123") <= set(numbers) <= set("12345")


def test_the_answers_are_those_of_the_statements(
    examples: list[Example], statements: dict[str, dict[str, Any]]
):
    for one in examples:
        relation = one.triples[-1].relation
        titles = [fact.title for fact in one.facts]
        asked = titles[-sum(triple.relation == relation for triple in one.triples) :]
        values = [_value(statements[title], relation) for title in asked]
        if one.type == "intersection":
            assert values.count(values[0]) == 2
            right = asked[values.index(values[0], 1)]
        elif "first?" in one.question or "last?" in one.question:
            best = (max if "last?" in one.question else min)(values)
            assert values.count(best) == 1
            right = asked[values.index(best)]
        else:
            texts = [triple.object for triple in one.triples]
            (wanted,) = {
                value for value, text in zip(values, texts, strict=True) if text in one.question
            }
            assert one.answer == str(values.count(wanted))
            continue
        assert one.answer in (right, bare_title(right))


def test_names_do_not_give_an_answer_away(examples: list[Example]):
    for one in examples:
        surnames = [
            triple.subject.split()[-1]
            for triple in one.triples
            if triple.relation in ("place of birth", "place of death", "educated at")
        ]
        assert len(set(surnames)) == len(surnames), one.question
        pages = {title: " ".join(sentences) for title, sentences in one.context}
        assert len(pages) == 10
        assert {fact.title for fact in one.facts} <= set(pages)


def test_they_are_read_scored_and_audited_as_the_others(folder: Path, examples: list[Example]):
    report = json.loads((folder / "report.json").read_text("utf-8"))
    assert report["difficulty"]["all"]["two hops"] == 100
    assert report["types"]["count"]["samples"] == 40
    assert types_of("world")[-2:] == SET_TYPES
    rows = twowiki.load_dataset("world", data_dir=str(folder))
    assert sum(split.num_rows for split in rows.values()) == report["samples"]
    assert not twowiki.audit(examples).cases
    with pytest.raises(DataError, match="use the config 'world'"):
        list(read_examples(folder / "dev.json", "data_ids_april7", "validation"))


def test_they_are_of_worlds_alone_and_have_a_limit(tmp_path: Path, capsys: Any):
    with pytest.raises(DataError, match="--sets has no limit"):
        GenerateConfig(sets=True, limit_per_type=None)
    assert "sets" not in GenerateConfig().to_dict()
    data = Path(__file__).parents[1] / "data/world"
    names = {"--wikidata": "wikidata.json", "--paragraphs": "paragraphs.jsonl"}
    dumps = [text for flag, name in names.items() for text in (flag, str(data / name))]
    assert main(["generate", *dumps, "--sets", "--out", str(tmp_path / "g")]) == 2
    assert "--sets makes questions about fictional worlds alone" in capsys.readouterr().err
