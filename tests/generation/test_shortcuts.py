"""Named shortcuts answer as their names say; drawing keeps them at chance; profiles are met."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twowiki.cli.main import main
from twowiki.data.schema import Example, Fact, Paragraph, Triple
from twowiki.errors import DataError
from twowiki.generation.balancing import dropped_for_balance
from twowiki.generation.profiles import (
    RELEASE_PROFILE,
    distances,
    load_profile,
    profile_of,
    relations_of,
)
from twowiki.generation.shortcuts import (
    SHORTCUTS,
    TWO_WAY,
    certificate_line,
    measure_shortcuts,
    named_paragraphs,
    shortcut_answers,
)

OLD = Paragraph("Oru (film)", ("Oru is a 1931 Pellish film directed by Ann Sund.",))
NEW = Paragraph("The Lantern", ("The Lantern is a 1977 Pellish film directed by Bo Holt.",))
ANN = Paragraph("Ann Sund", ("Ann Sund (born 3 May 1950) is a director.", "Her son is Ole Sund."))
BO = Paragraph("Bo Holt", ("Bo Holt (2 July 1901 – 1990) was a director from Brin.",))
OLE = Paragraph("Ole Sund", ("Ole Sund (9 May 1980 – 2001) was a painter.",))


@pytest.mark.parametrize(
    ("question", "shortcut", "answer"),
    [
        ("Which film has the director born later, The Lantern or Oru (film)?", "film year",
         "The Lantern"),
        ("Which film has the director who is older, The Lantern or Oru?", "film year", "Oru"),
        ("Which film was released first, The Lantern or Oru?", "film year", ""),
        ("Which film has more directors, The Lantern or Oru?", "film year", ""),
        ("Who died first, Ole Sund or Bo Holt?", "birth year", "Bo Holt"),
        ("Who lived longer, Ole Sund or Bo Holt?", "birth year", "Ole Sund"),
        ("Do the directors of The Lantern and Oru have the same nationality?", "same demonym",
         "yes"),
        ("Are Ann Sund and Ole Sund from the same country?", "shared surname", "yes"),
        ("Are Ann Sund and Bo Holt from the same country?", "shared surname", "no"),
        ("Who is the child of Ann Sund?", "shared surname", "Ole Sund"),
        ("When was the child of Ann Sund born?", "linked title", "9 May 1980"),
        ("When was Ann Sund born?", "first sentence", "3 May 1950"),
        ("Who died first, Ole Sund or Bo Holt?", "first named", "Ole Sund"),
        ("Are Ann Sund and Bo Holt from the same country?", "first named", "yes"),
    ],
)  # fmt: skip
def test_a_shortcut_answers_as_its_name_says(question: str, shortcut: str, answer: str) -> None:
    example = Example("1", question, "comparison", (OLD, NEW, ANN, BO, OLE))
    assert shortcut_answers(example)[shortcut] == answer


def test_a_name_inside_a_longer_one_is_not_named() -> None:
    context = (Paragraph("Holt", ()), Paragraph("Bo Holt", ()), Paragraph("Oru", ()))
    named = named_paragraphs("Who is older, Bo Holt or Oru?", context)
    assert [page.title for page in named] == ["Bo Holt", "Oru"]


def _deaths(answer: str) -> list[Example]:
    return [
        Example(str(n), "Who died first, Ole Sund or Bo Holt?", "comparison", (OLE, BO),
                answer=answer)
        for n in range(40)
    ]  # fmt: skip


def test_the_certificate_names_the_best_shortcut() -> None:
    fair = measure_shortcuts(_deaths("Bo Holt")[:20] + _deaths("Ole Sund")[:20], {})
    assert fair["shortcuts"]["birth year"]["comparison"] == {"answered": 40, "right": 50.0}
    assert certificate_line(fair["certificate"]).startswith("certificate: no known shortcut above")
    unfair = measure_shortcuts(_deaths("Bo Holt"), {"other": ["Ole Sund"] * 40})
    assert unfair["shortcuts"]["other"]["comparison"]["right"] == 0
    assert unfair["certificate"]["highest"]["shortcut"] == "birth year"
    assert "NOT GIVEN" in certificate_line(unfair["certificate"])
    assert "too few" in certificate_line(measure_shortcuts([], {})["certificate"])


@given(st.lists(st.tuples(*[st.sampled_from((-1, 0, 1))] * 3), max_size=120))
def test_dropping_leaves_every_shortcut_at_chance(drawn: list[tuple[int, ...]]) -> None:
    signs = {str(number): own for number, own in enumerate(drawn)}
    dropped = dropped_for_balance(signs)
    assert len(set(dropped)) == len(dropped)
    kept = [own for sample_id, own in signs.items() if sample_id not in set(dropped)]
    for column in zip(*kept, strict=True):
        lead, answered = abs(sum(column)), sum(map(abs, column))
        assert lead <= max(1, answered // 10)
    assert not dropped_for_balance({str(n): own for n, own in enumerate(kept)})


def test_as_few_as_needed_are_dropped() -> None:
    right, wrong = {f"r{n}": (1,) for n in range(58)}, {f"w{n}": (-1,) for n in range(42)}
    dropped = dropped_for_balance(right | wrong)
    assert dropped == [f"r{n}" for n in range(57, 50, -1)]


def _example(kind: str, *relations: str, question: str = "Which film?") -> Example:
    return Example(
        "1", question, kind, (OLD,), (Fact(OLD.title, 0),),
        tuple(Triple("a", name, "b") for name in relations), answer="yes",
    )  # fmt: skip


def test_relations_are_named_alike_whatever_the_order_of_evidences() -> None:
    assert relations_of(_example("inference", "father", "father")) == "father|father"
    bridge = ("director", "date of birth", "director", "date of birth")
    assert relations_of(_example("bridge_comparison", *bridge)) == "director|date of birth"
    ages = ("date of death", "date of birth") * 2
    assert relations_of(_example("comparison", *ages)) == "date of birth|date of death"
    dates = _example("comparison", "publication date", question="Which song came out first?")
    assert relations_of(dates) == "publication date of song"


def test_a_profile_is_kept_as_json(tmp_path: Path, capsys: Any) -> None:
    profile = profile_of([_example("inference", "father", "mother")] * 3, "made up")
    path = tmp_path / "profile.json"
    path.write_bytes(msgspec.json.encode(profile))
    assert load_profile(str(path)) == profile
    assert distances(profile, profile)["relations"] == 0
    other = profile_of([_example("inference", "father", "father")], "other")
    assert distances(profile, other)["relations"] == 100
    assert main(["world", "--profile", RELEASE_PROFILE]) == 0
    shipped = json.loads(capsys.readouterr().out)
    assert set(shipped["sources"]) >= {"relations of inference", "yes"}
    for found in shipped["types"].values():
        assert sum(found["relations"].values()) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize(
    ("text", "says"), [('{"a": 1}', "is no profile"), ("[]", "no records"), (None, "no such file")]
)
def test_what_is_no_profile_is_refused(tmp_path: Path, text: str | None, says: str) -> None:
    path = tmp_path / "data.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(DataError, match=says):
        load_profile(str(path))


def test_a_world_is_drawn_like_a_profile_with_shortcuts_at_chance(tmp_path: Path) -> None:
    world = "people=700,films=500,seed=2,limit_per_type=60,like=release,balanced=1"
    assert main(["generate", "--world", world, "--out", str(tmp_path), "--workers", "1"]) == 0
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    before, after = report["like"]["before"], report["like"]["after"]
    assert after["relations"] < 25 < before["relations"]
    assert after["paragraphs"] == 0
    film_year = report["shortcuts"]["film year"]["bridge_comparison"]
    assert film_year["answered"] >= 10
    for name in SHORTCUTS:  # whatever the splits dropped
        for kind in TWO_WAY:
            row = report["shortcuts"][name].get(kind, {"answered": 0})
            if row["answered"] >= 20:
                assert 45 <= row["right"] <= 55, (name, kind)
