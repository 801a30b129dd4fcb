"""Nothing that a question names has a namesake in its context, by a check of its own."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from twowiki.cli.main import main

_BRACKET = re.compile(r" \([^()]*\)$")
_RANK = re.compile(r", (?:\d\w\w )?(?:Count|Duke|Duchess|Baron|Prince)(?:ess)? of .*$")


def ambiguous_names(record: dict[str, Any]) -> list[str]:
    """The names in a question that several paragraphs of its context have."""
    question = record["question"].casefold()
    titles = [title for title, _ in record["context"]]
    names = Counter(_RANK.sub("", _BRACKET.sub("", title)).casefold() for title in titles)
    found = []
    for name in sorted(names, key=len, reverse=True):  # a longer name may hold a shorter one
        question, occurrences = re.subn(rf"(?<!\w){re.escape(name)}(?!\w)", "", question)
        if names[name] < 2 or not occurrences:
            continue
        members = [t for t in titles if _RANK.sub("", _BRACKET.sub("", t)).casefold() == name]
        told_apart = [title for title in members if title.casefold() != name]
        if not any(title.casefold() in record["question"].casefold() for title in told_apart):
            found.append(name)
    return found


def test_the_check_sees_a_namesake():
    context = [["Heart (film)", []], ["Heart", []], ["Heart of Oak", []]]
    record = {"question": "Who directed Heart?", "context": context}
    assert ambiguous_names(record) == ["heart"]
    assert ambiguous_names(record | {"question": "Who directed Heart (film)?"}) == []
    assert ambiguous_names(record | {"context": context[1:]}) == []
    nobles = [["Ann Lee", []], ["Ann Lee, 2nd Duchess of Oak", []]]
    assert ambiguous_names({"question": "Who is Ann Lee's aunt?", "context": nobles}) == ["ann lee"]


def _all_of(folder: Path) -> list[dict[str, Any]]:
    names = ("train", "dev", "test")
    return [one for name in names for one in json.loads((folder / f"{name}.json").read_text())]


def test_no_question_of_a_small_world_is_ambiguous(tmp_path: Path):
    world = "people=150,films=120,seed=9,limit_per_type=120"
    assert main(["generate", "--world", world, "--out", str(tmp_path), "--workers", "1"]) == 0
    records = _all_of(tmp_path)
    assert len(records) > 250
    assert [one["question"] for one in records if ambiguous_names(one)] == []


@pytest.mark.slow
def test_no_question_of_a_large_world_is_ambiguous(tmp_path: Path):
    world = "people=2500,films=1800,seed=11,limit_per_type=2000,balanced=1"
    assert main(["generate", "--world", world, "--out", str(tmp_path)]) == 0
    records = _all_of(tmp_path)
    assert len(records) > 5000
    assert [one["question"] for one in records if ambiguous_names(one)] == []
