from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.generation.dumps import FEMALE, HUMAN, MALE, Dumps, make, samples_of
from twowiki.data.relations import FIRST_RELATIONS, RULES, SECOND_RELATIONS, START_TYPES, P
from twowiki.generation import ranking
from twowiki.generation.ranking import FAR, rank, write_nearest
from twowiki.generation.report import lacking_types
from twowiki.generation.samples import QuestionInContext
from twowiki.generation.splits import assign_splits, chains_of, paper_splits
from twowiki.generation.templates import (
    CLEAN,
    PAPER,
    Form,
    bridge_comparison_forms,
    comparison_forms,
    compositional_forms,
    fill,
    fill_all,
    inference_forms,
)
from twowiki.io.processes import map_parts

# ---- rules


def rule_dumps(contradicted: bool) -> Dumps:
    """Three people for each rule, whose pages state the rule's two facts and nothing else."""
    dumps = Dumps().filler()
    dumps.add(4321, "high school")
    for number, rule in enumerate(RULES, 1):
        e, b, a, other = (number * 10 + place for place in range(1, 5))
        names = [f"{part} Rule{chr(64 + number)}" for part in ("Ena", "Bru", "Aza")]
        first: dict[str, Any] = {"P31": [HUMAN], "P21": [MALE], f"P{P[rule.r1]}": [b]}
        last: dict[str, Any] = {"P31": [HUMAN, 4321], "P21": [FEMALE]}
        if rule.must_be_stated or (rule.direct and contradicted):
            stated = other if contradicted else a
            if rule.inverse:
                last["P22"] = [other]
            else:
                first[f"P{P[rule.direct]}"] = [stated]
        dumps.add(e, names[0], [f"{names[0]} knew {names[1]}."], first)
        dumps.add(
            b, names[1], [f"{names[1]} knew {names[2]}."], {"P31": [HUMAN], f"P{P[rule.r2]}": [a]}
        )
        dumps.add(a, names[2], (), last)
        dumps.add(other, f"Other Rule{chr(64 + number)}")
    return dumps


def test_all_rules_are_asked_with_the_right_word(tmp_path: Path):
    make(rule_dumps(contradicted=False), tmp_path, types=("inference",), drop_unstated=False)
    words = {sample["rule"]: sample["inferred"] for sample in samples_of(tmp_path)}
    expected = {
        number: rule.word.partition("/")[2] or rule.word for number, rule in enumerate(RULES, 1)
    }
    assert words == expected
    assert len(words) == 28


def test_contradicted_rules_change_their_word_or_go(tmp_path: Path):
    report = make(rule_dumps(contradicted=True), tmp_path, types=("inference",))
    words = {sample["rule"]: sample["inferred"] for sample in samples_of(tmp_path)}
    for number, rule in enumerate(RULES, 1):
        if rule.direct:
            assert words.get(number, "") == rule.otherwise, rule
    assert {words[5], words[8], words[13]} == {"stepchild", "stepmother", "stepfather"}
    assert report["dropped"]["chains"] == {"rule_contradicted": 5, "rule_not_stated": 0} or (
        sum(report["dropped"]["chains"].values()) == 9
    )


def test_unstated_rules_go_by_default(tmp_path: Path):
    report = make(rule_dumps(contradicted=False), tmp_path, types=("inference",))
    assert report["dropped"]["chains"] == {"rule_not_stated": 8}
    kept = {sample["rule"] for sample in samples_of(tmp_path)}
    unproved = {n for n, rule in enumerate(RULES, 1) if rule.direct and not rule.must_be_stated}
    assert kept == set(range(1, 29)) - unproved


# ---- ranking


def ranked(questions: list[str], linked: Path, keep: int) -> list[list[int]]:
    return [row.tolist() for batch in rank(questions, linked, keep=keep) for row in batch]


def write_pages(folder: Path, ids: list[int], texts: list[str], group: int) -> Path:
    folder.mkdir()
    table = pa.table({"qid": ids, "norm": texts})
    pq.write_table(table, folder / "part-00000.parquet", row_group_size=group)
    return folder


def test_a_small_collection_still_ranks(tmp_path: Path):
    linked = write_pages(tmp_path / "linked", [5, 3], [" oru is a lake ", " nothing here "], 2)
    assert ranked([" where is oru "], linked, 2) == [[5, 3]]
    assert ranked([" where is oru "], linked, 3) == [[5, 3, -1]]
    assert ranked([], linked, 3) == []


def test_ranks_do_not_depend_on_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    texts = [f" word{number % 7} word{number % 5} film{number % 3} " for number in range(60)]
    ids = list(range(100, 160))
    questions = [" which film1 word3 ", " word2 word4 ", " of the "]
    whole = ranked(questions, write_pages(tmp_path / "60", ids, texts, 60), 9)
    assert all(len(found) == 9 for found in whole)
    for group, shard, piece in ((7, 100, 3), (20, 6, 4), (60, 1, 1)):
        monkeypatch.setattr(ranking, "_SHARD", shard)
        monkeypatch.setattr(ranking, "_PIECE", piece)
        linked = write_pages(tmp_path / f"{group}-{shard}", ids, texts, group)
        assert ranked(questions, linked, 9) == whole
    nearest = tmp_path / "nearest"
    write_nearest(questions, linked, nearest, run=lambda work, parts: map_parts(work, parts, 2))
    rows = np.fromfile(nearest, dtype=np.int64).reshape(len(questions), FAR)
    assert rows[:, :9].tolist() == whole
    assert (rows[:, 60:] == -1).all()


# ---- splits


def question(number: int, kind: str, gold: list[int]) -> QuestionInContext:
    return QuestionInContext(
        id=f"s{number}", type=kind, question="?", answer="", gold=gold, chains=[gold]
    )


def test_no_link_stands_in_two_splits():
    samples = [
        question(n, "compositional" if n % 2 else "inference", [n // 3, n // 3 + 500])
        for n in range(300)
    ]
    scores = {sample.id: float(number % 7 == 0) for number, sample in enumerate(samples)}
    splits = assign_splits(samples, scores, "1", keep_all=True)
    seen: dict[Any, set[str]] = {}
    for sample in samples:
        for chain in chains_of(sample, "link"):
            file = splits.of[sample.id].partition("-")[0]
            seen.setdefault(chain, set()).add(file)
    assert all(len(files) == 1 for files in seen.values())
    assert all(splits.of[key] == "train-medium" for key, score in scores.items() if score)
    counts = Counter(splits.of.values())
    assert counts["dev"] > 40
    assert counts["test"] > 40
    assert splits.leaks["this split"]["share a link with train"] == 0
    assert (
        splits.leaks["random split of the unsolved, as in the paper"]["share a link with train"] > 0
    )


def test_types_are_balanced_over_the_hard_splits():
    kinds = ("comparison", "inference", "compositional")
    samples = [question(n, kinds[n % 3], [n, n + 900]) for n in range(90)]
    splits = assign_splits(
        samples, dict.fromkeys((s.id for s in samples), 0.0), "1", keep_all=False
    )
    cells = Counter((splits.of[s.id], s.type) for s in samples)
    assert set(cells.values()) == {10}


def test_the_papers_splits_have_every_type_alike():
    kinds = ("comparison", "inference", "compositional")
    samples = [question(n, kinds[n % 3], [1, n]) for n in range(120)]
    scores = {sample.id: float(number >= 90) for number, sample in enumerate(samples)}
    splits = paper_splits(samples, scores, "1")
    cells = Counter((splits.of[s.id], s.type) for s in samples)
    assert set(cells.values()) == {10}
    assert {splits.of[s.id] for s in samples[90:]} == {"train-medium"}
    assert splits == paper_splits(samples, scores, "1")
    assert lacking_types({"dev": {"inference": 2}, "test": {}}, ["inference"]) == {
        "test": ["inference"]
    }


# ---- templates

TABLE_9 = {
    "human/date of birth": 7, "human/date of death": 3, "human/age": 2, "human/occupation": 18,
    "human/country of citizenship": 11, "human/place of birth": 1, "film/publication date": 5,
    "film/director": 2, "film/producer": 2, "film/country of origin": 7,
    "album/publication date": 5, "album/producer": 2, "musical group/inception": 4,
    "musical group/country of origin": 7, "song/publication date": 5, "high school/country": 4,
    "school/country": 4, "university/country": 4, "mountain/country": 4, "river/country": 4,
    "island/country": 4, "lake/country": 4, "village/country": 4,
}  # fmt: skip


@pytest.mark.parametrize("style", [PAPER, CLEAN])
def test_comparison_forms_are_as_many_as_the_table_counts(style: str):
    for cell, count in TABLE_9.items():
        kind, _, relation = cell.partition("/")
        forms = comparison_forms(relation, kind, style)
        assert len({form.text for form in forms}) == count, cell
    for kind in ("museum", "airport", "magazine", "railway station", "business", "building"):
        assert 1 <= len(comparison_forms("inception", kind, style)) <= 3


def test_there_are_62_bridge_comparison_forms():
    texts = {
        form.text
        for role in ("director", "producer")
        for relation in ("date of birth", "date of death", "country of citizenship")
        for form in bridge_comparison_forms(role, relation, PAPER)
    }
    assert len(texts) == 62


@pytest.mark.parametrize("style", [PAPER, CLEAN])
def test_every_phrase_goes_with_every_question(style: str):
    for kind in (*START_TYPES, ""):
        for first in (*FIRST_RELATIONS, "husband", "wife"):
            for second in SECOND_RELATIONS:
                for form in compositional_forms(first, second, kind, style):
                    question = fill(form, {"1": "Oru", "x": "Oru"}, style)
                    assert question is not None
                    assert "Oru" in question
                    assert "#" not in question
                assert compositional_forms(first, second, kind, style)


def test_inference_forms_are_the_papers():
    assert [form.text for form in inference_forms("uncle", PAPER)] == [
        "Who is the uncle of #1?", "Who is #1's uncle?",
    ]  # fmt: skip
    assert len(inference_forms("educated at", CLEAN)) == 2
    assert len(inference_forms("employer", CLEAN)) == 2
    assert len(inference_forms("field of work", CLEAN)) == 1
    assert any("marry" in form.text for form in inference_forms("husband", CLEAN))


NAMES = st.text(st.sampled_from("Ab #12?!.%(film) "), min_size=1, max_size=8)


@given(NAMES, NAMES, st.sampled_from([PAPER, CLEAN]))
def test_many_forms_are_filled_as_each_of_them_is(one: str, two: str, style: str):
    texts = ["Is film #1 or #2 older?", "100% of film #2, or #1?", "#2", "Who was #1 (#2)?"]
    forms = [Form(str(number), text) for number, text in enumerate(texts)]
    slots = {"1": one, "2": two}
    assert fill_all(forms, slots, style) == [fill(form, slots, style) for form in forms]


def test_names_that_look_like_slots_stay():
    form = Form("x", "Which is older, #1 or #2?")
    assert fill(form, {"1": "#2", "2": "A"}, CLEAN) == "Which is older, #2 or A?"
    assert fill(form, {"1": "B", "2": "What Now?"}, PAPER) == "Which is older, B or What Now??"
    assert fill(form, {"1": "B", "2": "What Now?"}, CLEAN) == "Which is older, B or What Now?"
    assert fill(form, {"1": "B", "2": ""}, CLEAN) is None
