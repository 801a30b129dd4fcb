"""Chains of more hops: each step stands in a page of its own, and none can be left out."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from twowiki.cli.main import main
from twowiki.data.hops import count_hops
from twowiki.data.sources import read_examples
from twowiki.generation.templates import CLEAN, PAPER, chain_forms


@pytest.mark.parametrize(
    ("steps", "last", "kind", "text"),
    [
        (["director", "father"], "date of birth", "film",
         "When was the father of the director of film #x born?"),
        (["father", "mother", "husband"], "cause of death", "human",
         "Why did the husband of the mother of the father of #x die?"),
        (["performer", "has part"], "father", "album",
         "Who is the father of the member of the performer of album #x?"),
    ],
)  # fmt: skip
def test_a_chain_is_one_phrase(steps: list[str], last: str, kind: str, text: str) -> None:
    assert chain_forms(steps, last, kind, CLEAN)[0].text == text
    assert len(chain_forms(steps, last, kind, PAPER)) >= 1
    assert chain_forms(steps, "no such relation", kind, CLEAN) == []


def test_a_world_has_chains_of_each_length(tmp_path: Path) -> None:
    world = "people=1200,films=300,seed=4,hops=4,limit_per_type=60,types"
    assert main(["generate", "--world", world, "--out", str(tmp_path)]) == 2
    arguments = ["--world", world.removesuffix(",types"), "--out", str(tmp_path), "--workers", "1"]
    assert main(["generate", *arguments]) == 0
    found = [
        one
        for name in ("train", "dev", "test")
        for one in read_examples(tmp_path / f"{name}.json", "world", name)
        if one.type == "compositional"
    ]
    lengths = Counter(map(count_hops, found))
    assert set(lengths) == {2, 3, 4}
    assert min(lengths.values()) >= 15, lengths  # a third each, but for contexts that fall short
    for example in found:
        pages = {title: " ".join(sentences) for title, sentences in example.context}
        assert len(pages) == 10
        assert example.answer == example.triples[-1].object
        gold = [fact.title for fact in example.facts]
        for place, title in enumerate(gold[:-1]):
            later = [triple.object for triple in example.triples[place + 1 :]]
            assert not any(f" {name} " in f" {pages[title]} " for name in later)
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert report["difficulty"]["chains of 4 hops"]["two hops"] == 100
