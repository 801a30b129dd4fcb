"""The page of a generated data set: its numbers, its funnel, its look."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from tests.browser import Browser
from tests.pages.test_pages import NASTY, read
from twowiki.pages.generation_page import render_generation_page


def made_up(**more: Any) -> dict[str, Any]:
    """A report as a generation writes it."""
    sample = {
        "id": "a1", "question": NASTY, "answer": "Oru",
        "sentences": [["Tavik", "Tavik was born in Oru."]],
        "evidences": [["Tavik", "place of birth", "Oru"]],
    }  # fmt: skip
    row = {"samples": 30, "question_words": 9.5, "answer_words": 1.0, "yes": 1, "no": 2}
    leaks = {"this split": {"held out": 9, "share a link with train": 0}}
    return {
        "settings": {"types": ["inference"], "seed": "7", "probe": None, "exhaustive": True},
        "samples": 40,
        "types": {"inference": row, "bridge_comparison": {**row, "samples": 10}},
        "splits": {"train": {"inference": 30}, "dev": {"bridge_comparison": 10}},
        "parts": {"": 3, "train-hard": 30},
        "answer_types": {"city": {"samples": 40, "percent": 100.0}},
        "relations": {f"relation {number}": 100 - number for number in range(40)},
        "single_hop_probe": {"f1": 25.1},
        "chains": {"disjoint_by": "link", "leaks": leaks},
        "read": {"wikidata": {"entity lines": 1450}},
        "facts": {"entities with a page": 1319},
        "dropped": {"chains": {"circular": 5, "several_values": 50}, "splits": {"solved": 5}},
        "page": {
            "lengths": {10: 12, 9: 28},
            "samples": {"inference": [sample], "bridge_comparison": []},
        },
        **more,
    }


def text_of(page: str) -> str:
    return " ".join("".join(read(page).text).split())


def test_the_funnel_ends_with_the_samples() -> None:
    text = text_of(render_generation_page(made_up()))
    assert "candidates–100" in text
    funnel = text[text.index("Candidates that are left") : text.index("Sample questions")]
    assert funnel.index("several values") < funnel.index("circular") < funnel.index("solved")
    assert funnel.split("solved")[1].startswith("splits540")
    assert "15 others" in text
    assert "probe none" in text
    assert "exhaustive yes" in text


def test_a_world_names_its_seed_and_its_certificate() -> None:
    measured = {
        "world": {"people": 300, "seed": 7},
        "certificate": {"bound": 55, "holds": False, "highest": None},
        "shortcuts": {"film year": {"inference": {"answered": 33, "right": 54.5}}},
        "difficulty": {"all": {"samples": 40, "majority": 20.2}},
    }
    text = text_of(render_generation_page(made_up(**measured), "certificate: NOT GIVEN"))
    assert "of a fictional world, seed 7" in text
    assert "certificate: NOT GIVEN" in text
    assert "54.5of 33" in text
    assert "Difficulty" not in text_of(render_generation_page(made_up()))


def test_it_fits_and_a_checker_finds_nothing(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(render_generation_page(made_up()), encoding="utf-8")
    with closing(Browser(tmp_path / "profile")) as browser:
        browser.check((tmp_path / "page.html").as_uri())
