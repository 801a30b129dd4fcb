"""The step that failed, from rankings, predictions and the gold chain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import twowiki
from tests.joint_files import FACTS, TRIPLES, gold, said, several, write
from twowiki.cli.main import main
from twowiki.data.hops import hops_of
from twowiki.metric.blame import (
    FIRST_NOT_FOUND,
    FIRST_NOT_USED,
    NOT_DRAWN,
    RIGHT,
    RIGHT_WITHOUT,
    SECOND_NOT_FOUND,
    SECOND_NOT_USED,
    STEPS,
    find_step,
)
from twowiki.retrieval import read_rankings

BOTH = ["Tavik Orrel", "Dessa Orrel"]


def blame(ranked: Any, prediction: Any, **fields: Any) -> Any:
    report = twowiki.score(prediction, [gold(**fields)], ranked=ranked)
    assert report.blame is not None
    return report.blame


@pytest.mark.parametrize(
    ("ranked", "answer", "facts", "triples", "step"),
    [
        (BOTH, "Brinmoor", FACTS, TRIPLES, RIGHT),
        (BOTH, "Brinmoor", [], [], RIGHT),
        (BOTH[:1], "Brinmoor", FACTS, TRIPLES, RIGHT_WITHOUT),
        ([], "Oru", FACTS, TRIPLES, FIRST_NOT_FOUND),
        (BOTH[1:], "Oru", FACTS, TRIPLES, FIRST_NOT_FOUND),
        (BOTH, "Oru", FACTS[1:], [], FIRST_NOT_USED),
        (BOTH[:1], "Oru", FACTS[1:], [], FIRST_NOT_USED),
        (BOTH[:1], "Oru", FACTS[:1], [], SECOND_NOT_FOUND),
        (BOTH[:1], "Oru", [], [], SECOND_NOT_FOUND),
        (BOTH, "Oru", FACTS[:1], TRIPLES[:1], SECOND_NOT_USED),
        (BOTH, "Oru", FACTS[:1], TRIPLES, NOT_DRAWN),
        (["dessa  orrel", "X", "TAVIK ORREL"], "Oru", FACTS, [], NOT_DRAWN),
        (BOTH, "Oru", [], [], NOT_DRAWN),
    ],
)
def test_the_first_step_that_failed(
    ranked: list[str], answer: str, facts: Any, triples: Any, step: Any
) -> None:
    found = blame({"q1": ranked}, said(answer, facts, triples))
    assert {key for key, count in found.counts.items() if count} == {step.key}
    assert found.not_judged == (step is NOT_DRAWN and not facts)
    assert found.missing == 0


def test_what_is_counted_apart() -> None:
    assert blame({}, said("Oru")).missing == 1
    hidden = blame({"q1": BOTH}, said("Oru"), supporting_facts=[], evidences=[])
    assert (hidden.n, hidden.without_gold) == (0, 1)
    assert "left out: 1" in hidden.render()
    with pytest.raises(twowiki.DataError, match="read_rankings"):
        blame("ranked.jsonl", said("Oru"))


def test_rankings_as_they_are_read(tmp_path: Path) -> None:
    ranked = read_rankings(write(tmp_path / "r.json", {"q1": BOTH[:1]}))
    assert blame(ranked, said("Oru", FACTS[:1], [])).counts["second_not_found"] == 1


@given(
    st.dictionaries(st.sampled_from("ABCDEF"), st.integers(1, 4), min_size=1),
    st.sets(st.sampled_from("abcdef")),
    st.none() | st.sets(st.sampled_from("abcdef")),
    st.booleans(),
)
def test_finding_more_never_moves_the_step_back(
    hops: dict[str, int], found: set[str], used: set[str] | None, right: bool
) -> None:
    order = [step.key for step in STEPS[2:]]
    step = find_step(hops, found, used, right=right)
    assert (step in STEPS[:2]) == right
    whole = find_step(hops, set("abcdef"), used, right=right)
    assert whole not in (FIRST_NOT_FOUND, SECOND_NOT_FOUND, RIGHT_WITHOUT)
    if not right:
        assert order.index(whole.key) >= order.index(step.key)
        assert find_step(hops, set("abcdef"), None, right=False) is NOT_DRAWN


@pytest.mark.parametrize(
    ("type", "titles", "triples", "hops"),
    [
        ("compositional", "A B", [("A", "r", "B"), ("B", "r", "x")], [1, 2]),
        ("compositional", "A B", [("An A", "r", "other"), ("B", "r", "x")], [1, 2]),
        ("comparison", "A B", [("A", "r", "1"), ("B", "r", "2")], [1, 1]),
        ("comparison", "A B", [("A", "r", "1"), ("A", "s", "2"), ("B", "r", "1")], [1, 1]),
        ("bridge_comparison", "A B C D",
         [("A", "r", "c"), ("B", "r", "d"), ("C", "r", "1"), ("D", "r", "1")], [1, 1, 2, 2]),
        ("bridge_comparison", "A B C", [("A", "r", "C"), ("B", "r", "C"), ("C", "r", "1")],
         [1, 1, 2]),
        (None, "C B A", [("A", "r", "B"), ("B", "r", "C"), ("C", "r", "x")], [3, 2, 1]),
        (None, "A B", [("A", "r", "B"), ("B", "r", "A")], [2, 2]),
        ("bridge", "A B", [], [1, 1]),
    ],
)  # fmt: skip
def test_the_hops_of_pages(type: str | None, titles: str, triples: Any, hops: list[int]) -> None:
    facts = [(title, 0) for title in titles.split()]
    assert hops_of(facts, triples, type) == dict(zip(titles.split(), hops, strict=True))


def test_names_in_brackets_and_names_that_differ() -> None:
    facts = [("Oru (film)", 0), ("Oru", 1)]
    assert hops_of(facts, [("Oru (film)", "director", "Oru"), ("Oru", "father", "X")]) == {
        "Oru (film)": 1, "Oru": 2,
    }  # fmt: skip
    assert hops_of(facts, [("The Oru", "director", "Oru"), ("Oru", "father", "X")]) == {
        "Oru (film)": 1, "Oru": 2,
    }  # fmt: skip


def test_the_real_chains(shared: Path) -> None:
    expected = {"comparison": [1, 1], "inference": [1, 2], "compositional": [1, 2],
                "bridge_comparison": [1, 1, 2, 2]}  # fmt: skip
    for record in json.loads((shared / "data/two_wiki/dev250.json").read_text()):
        hops = hops_of(record["supporting_facts"], record["evidences"], record["type"])
        assert list(hops.values()) == expected[record["type"]]


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    golds, blocks = several(8)
    files = [str(write(tmp_path / name, value))
             for name, value in (("p.json", blocks), ("dev.json", golds))]  # fmt: skip
    ranked = {f"q{number}": BOTH if number < 4 else ["X", *BOTH] for number in range(8)}
    rankings = ["--rankings", str(write(tmp_path / "r.json", ranked)), "--paragraphs", "2"]
    out = tmp_path / "report.json"
    assert main(["score", *files, *rankings, "--output", str(out)]) == 0
    text = capsys.readouterr().out
    row = next(line for line in text.splitlines() if line.startswith("second page not found"))
    assert row.split()[4:] == ["25.00", "0.00", "50.00", "0.00", "50.00"]
    saved = json.loads(out.read_text())["blame"]
    assert saved["counts"]["right"] == 2
    assert saved["counts"]["right_without"] == 2
    assert saved["counts"]["second_not_used"] == 2
    assert saved["by_type"]["comparison"]["percent"]["right"] == 50
    page = tmp_path / "report.html"
    assert main(["report", *files, str(page), *rankings]) == 0
    html = page.read_text()
    assert '<h2 id="blame">Retrieval</h2>' in html
    assert "second page not found" in html
    assert main(["report", *files, str(page)]) == 0
    assert "second page not found" not in page.read_text()
