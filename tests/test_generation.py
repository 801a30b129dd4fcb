from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.dumps import FEMALE, FILM, HUMAN, MALE, Dumps, make, samples_of, statement
from twowiki.cli import main
from twowiki.errors import DataError
from twowiki.generation.comparing import compare_runs
from twowiki.generation.relations import RULES, P
from twowiki.generation.retrieval import rank
from twowiki.generation.splits import assign_splits, chains_of

WORLD = Path(__file__).parent / "data" / "world"
WORLD_DUMPS = (WORLD / "wikidata.json", WORLD / "paragraphs.jsonl")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything that the small world gives."""
    folder = tmp_path_factory.mktemp("whole")
    make(WORLD_DUMPS, folder)
    return folder


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty of each type of the small world, in the released style."""
    folder = tmp_path_factory.mktemp("drawn")
    make(WORLD_DUMPS, folder, limit_per_type=20, seed="7", title_case="paper")
    return folder


def by_relations(folder: Path) -> Counter[str]:
    return Counter(
        f"{sample['type']} {'+'.join(sample['relations'])}" for sample in samples_of(folder)
    )


def films_of(*people: tuple[int, str, str, dict[str, Any]]) -> Dumps:
    """A film for each person, whose page says what is given."""
    dumps = Dumps().filler()
    for qid, name, page, claims in people:
        dumps.add(qid, name, [page], {"P31": [HUMAN], **claims})
        film = f"Reel of {qid}"
        sentence = f"{film} is a film directed by {name}."
        dumps.add(qid + 1000, film, [sentence], {"P31": [FILM], "P57": [qid]})
    return dumps


# ---- the whole of it


def test_the_small_world_gives_these_samples(whole: Path):
    found = by_relations(whole)
    assert found["comparison date of birth"] == 208  # 105 pairs of 15 people, one of equal dates
    assert found["comparison date of birth+date of death"] == 55
    assert found["comparison director"] == 11  # the one film of two directors with each other film
    assert found["comparison country"] == 5
    assert found["compositional director+date of birth"] == 11
    assert found["inference mother+sibling"] == 1
    assert found["bridge_comparison director+country of citizenship"] == 54
    report = json.loads((whole / "out" / "report.json").read_text("utf-8"))
    assert report["dropped"]["chains"] == {
        "answer_in_first_paragraph": 37, "circular": 8, "several_values": 8,
        "start_in_second_paragraph": 30,
    }  # fmt: skip
    assert report["dropped"]["comparison"] == {"equal_values": 57}
    assert report["read"]["wikidata"]["not an item"] == 1
    assert report["read"]["wikidata"]["no English label"] == 1


def test_every_gold_is_borne_out_by_its_own_fields(whole: Path):
    for sample in samples_of(whole):
        pages = dict(sample["context"])
        assert len(pages) == 10, sample["_id"]
        golds = {title for title, _ in sample["supporting_facts"]}
        assert golds <= set(pages)
        sentences = [pages[title][sent_id] for title, sent_id in sample["supporting_facts"]]
        for _, _, target in sample["evidences"]:
            assert any(target in sentence for sentence in sentences), sample
        if sample["type"] in ("inference", "compositional"):
            first, second = (pages[title] for title, _ in sample["supporting_facts"])
            assert sample["answer"] not in " ".join(first)
            assert sample["evidences"][0][0] not in " ".join(second)
            assert sample["evidences_id"][0][2] == sample["evidences_id"][1][0]


def test_dates_compare_as_the_question_asks(whole: Path):
    born = {
        "Tavik Orrel": 1907, "Dessa Orrel": 1880, "Albin Orrel": 1850, "Petra Sollen": 1958
    }  # fmt: skip
    later = ("later", "younger")
    checked = 0
    for sample in samples_of(whole):
        names = [subject for subject, _, _ in sample["evidences"]]
        if sample["relations"] == ["date of birth"] and set(names) <= set(born):
            pick = max if any(word in sample["question"] for word in later) else min
            assert sample["answer"] == pick(names, key=born.__getitem__), sample["question"]
            checked += 1
    assert checked >= 12


def test_a_clean_question_has_no_bracket_and_one_question_mark(whole: Path):
    questions = [sample["question"] for sample in samples_of(whole)]
    assert not any("(" in text or "??" in text or text != text.strip() for text in questions)
    assert any("What Now?" in text for text in questions)


def test_a_paper_question_is_cased_and_bracketed(drawn: Path):
    samples = samples_of(drawn)
    wordings = [text for sample in samples for text in sample["wordings"]]
    assert any("It'S A Lake" in text for text in wordings)
    assert any("Salt & Ash (Film)" in text for text in wordings)
    for sample in samples:
        assert sample["question"] in sample["wordings"]


def test_limits_balance_and_order(drawn: Path):
    report = json.loads((drawn / "out" / "report.json").read_text("utf-8"))
    for row in report["types"].values():
        assert row["samples"] <= 20
    for kind in ("comparison", "bridge_comparison"):
        row = report["types"][kind]
        assert abs(row["yes"] - row["no"]) <= 2


def test_the_output_loads_by_every_door_and_scores_itself_full(drawn: Path, tmp_path: Path):
    from datasets import load_dataset

    import twowiki

    out = drawn / "out"
    total = json.loads((out / "report.json").read_text("utf-8"))["samples"]
    ours = twowiki.load_dataset(data_dir=str(out))
    theirs = load_dataset(str(out / "parquet"), "data_ids_april7")
    for split in ("train", "validation", "test"):
        assert ours[split].to_list() == theirs[split].to_list()
    assert sum(map(len, ours.values())) == total
    for name in ("train", "dev", "test"):
        records = json.loads((out / f"{name}.json").read_text("utf-8"))
        if not records:
            continue
        said = {"answer": {}, "sp": {}, "evidence": {}}  # type: dict[str, dict[str, Any]]
        for record in records:
            said["answer"][record["_id"]] = record["answer"]
            said["sp"][record["_id"]] = record["supporting_facts"]
            said["evidence"][record["_id"]] = record["evidences"]
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(said), "utf-8")
        report = twowiki.score(path, out / f"{name}.json", out / "id_aliases.json")
        assert report.n == len(records)
        assert {key: value for key, value in report.metrics.items() if value != 100} == {}
    assert main(["validate", str(out)]) == 0


def test_id_aliases_hold_every_answer(whole: Path):
    lines = (whole / "out" / "id_aliases.json").read_text("utf-8").splitlines()
    names = {row["Q_id"]: row for row in map(json.loads, lines)}
    for sample in samples_of(whole):
        if sample["answer_id"] and sample["type"] in ("inference", "compositional"):
            row = names[sample["answer_id"]]
            assert sample["answer"] in row["aliases"] + row["demonyms"]
    assert names["Q101"] == {
        "Q_id": "Q101", "aliases": ["Republic of Veltria", "Veltria"], "demonyms": ["Veltrian"],
    }  # fmt: skip


# ---- one fault each


def test_ranks_and_values_decide_before_anything_is_asked(tmp_path: Path):
    best = [statement("P569", "+1900-01-01", "deprecated"), statement("P569", "+1907-03-05"),
            statement("P569", "+1908-04-06", "preferred")]  # fmt: skip
    two = [statement("P569", "+1907-03-05"), statement("P569", "+1908-04-06")]
    old = [statement("P569", "+1900-01-01", "deprecated")]
    page = "{} (5 March 1907 or 6 April 1908 or 1 January 1900) was a painter."
    dumps = films_of(
        (1, "Ala Best", page.format("Ala Best"), {"P569": best}),
        (2, "Bo Two", page.format("Bo Two"), {"P569": two}),
        (3, "Cy Old", page.format("Cy Old"), {"P569": old}),
    )
    make(dumps, tmp_path)
    born = [sample for sample in samples_of(tmp_path) if "date of birth" in sample["relations"]]
    assert [sample["answer"] for sample in born] == ["6 April 1908"]


def test_entities_without_an_english_label_are_never_named(tmp_path: Path):
    dumps = films_of((1, "Ala Ton", "Ala Ton was the son of Lac Ton and of Mer Ton.", {"P22": [50], "P25": [51]}))
    dumps.add(50, "Lac Ton", (), {"P31": [HUMAN]}, language="fr", title="Lac Ton")
    dumps.page("Lac Ton", ["Lac Ton was a baker."])
    dumps.add(51, "Mer Ton", ["Mer Ton was a baker."], {"P31": [HUMAN]})
    make(dumps, tmp_path)
    assert {sample["answer"] for sample in samples_of(tmp_path)} == {"Mer Ton"}


def test_pages_join_by_sitelink_and_redirect_not_by_label(tmp_path: Path):
    dumps = Dumps().filler()
    mother = {"P31": [HUMAN], "P25": [2]}
    dumps.add(1, "Oru", [], mother, title="Oru &amp; Sons_(smith)")
    dumps.page("Oru & Sons (smith)", ["Oru was the son of Tala Moor."])
    dumps.add(2, "Tala Moor", ["Tala Moor died in Selmouth."], {"P31": [HUMAN], "P20": [3]})
    dumps.add(3, "Selmouth")
    dumps.add(4, "Nolink", [], mother)
    dumps.page("Nolink", ["Nolink was the son of Tala Moor."])
    make(dumps, tmp_path)
    chains = [sample for sample in samples_of(tmp_path) if sample["type"] == "compositional"]
    assert [sample["entities"][0] for sample in chains] == ["Q1"]
    sample = chains[0]
    assert "Oru & Sons (smith)" in dict(sample["context"])
    assert "Oru & Sons" in sample["question"]
    assert "(smith)" not in sample["question"]


def test_redirects_lead_to_pages_but_not_to_sections(tmp_path: Path):
    pages = [("Ala Ton (poet)", "Ala Ton was the son of Tala Moor."), ("Bo Ton", "Bo Ton was the son of Tala Moor."),
             ("Tala Moor", "Tala Moor died in Selmouth.")]  # fmt: skip
    pages += [(f"Filler {n}", f"Filler {n} was a baker.") for n in range(12)]
    xml = "".join(
        f"<page><title>{title}</title><ns>0</ns><id>{number}</id><text>{text}</text></page>"
        for number, (title, text) in enumerate(pages, 1)
    )
    for number, (title, target) in enumerate((("Ala Ton", "Ala Ton (poet)"), ("Bo T.", "Bo Ton#Life")), 50):
        xml += f"<page><title>{title}</title><ns>0</ns><id>{number}</id><text>#REDIRECT [[{target}]]</text></page>"
    dumps = Dumps()
    mother = {"P31": [HUMAN], "P25": [3]}
    dumps.add(1, "Ala Ton", [], mother, title="Ala Ton")
    dumps.add(2, "Bo Ton", [], mother, title="Bo T.")
    dumps.add(3, "Tala Moor", [], {"P31": [HUMAN], "P20": [9]}, title="Tala Moor")
    dumps.add(9, "Selmouth")
    for number in range(12):
        dumps.add(20 + number, f"Filler {number}", [], {"P31": [HUMAN]}, title=f"Filler {number}")
    wikidata, _ = dumps.write(tmp_path)
    paragraphs = tmp_path / "pages.xml"
    paragraphs.write_text(f"<mediawiki>{xml}</mediawiki>", "utf-8")
    make((wikidata, paragraphs), tmp_path)
    assert {sample["entities"][0] for sample in samples_of(tmp_path)} == {"Q1"}


def test_a_mention_is_a_whole_word(tmp_path: Path):
    dumps = films_of((1, "Ala Ton", "Ala Ton was born in Orun.", {"P19": [9]}))
    dumps.add(9, "Oru")
    report = make(dumps, tmp_path)
    assert report["types"]["compositional"]["samples"] == 0


@pytest.mark.parametrize(
    ("film", "person", "reason"),
    [
        ("{} is a film by {}, made in Selmouth.", "{} was born in Selmouth.", "answer_in_first_paragraph"),
        ("{} is a film by {}.", "{} of Reel of 1 was born in Selmouth.", "start_in_second_paragraph"),
        ("{} is a film by {}, made in Selburg.", "{} was born in Selmouth.", "answer_in_first_paragraph"),
    ],
)  # fmt: skip
def test_the_four_paragraph_checks_name_their_reasons(
    tmp_path: Path, film: str, person: str, reason: str
):
    dumps = Dumps().filler()
    dumps.add(1, "Ala Ton", [person.format("Ala Ton")], {"P31": [HUMAN], "P19": [9]})
    dumps.add(2, "Reel of 1", [film.format("Reel of 1", "Ala Ton")], {"P31": [FILM], "P57": [1]})
    dumps.add(9, "Selmouth", aliases=["Selburg"])
    report = make(dumps, tmp_path, types=("compositional",))
    assert report["samples"] == 0
    assert report["dropped"]["chains"] == {reason: 1}


def test_support_is_the_first_sentence_that_holds_the_object(tmp_path: Path):
    dumps = Dumps().filler()
    pages = ["Ala Ton was a poet.", "She came from Selmouth.", "Selmouth was home."]
    dumps.add(1, "Ala Ton", pages, {"P31": [HUMAN], "P19": [9]})
    dumps.add(2, "Reel", ["Reel is short.", "Ala Ton made it."], {"P31": [FILM], "P57": [1]})
    dumps.add(9, "Selmouth")
    make(dumps, tmp_path)
    assert samples_of(tmp_path)[0]["supporting_facts"] == [["Reel", 1], ["Ala Ton", 1]]


def test_two_values_make_a_relation_ambiguous(tmp_path: Path):
    dumps = films_of(
        (1, "Ala Ton", "Ala Ton married Bo Ton and Cy Ton.", {"P26": [11, 12]}),
        (2, "Dee Ton", "Dee Ton married Ed Ton.", {"P26": [13, None]}),
    )
    for qid, name in ((11, "Bo Ton"), (12, "Cy Ton"), (13, "Ed Ton")):
        dumps.add(qid, name)
    report = make(dumps, tmp_path)
    assert report["types"]["compositional"]["samples"] == 0
    assert report["dropped"]["chains"] == {"several_values": 3}


def test_dates_that_cannot_be_told_apart_are_not_compared(tmp_path: Path):
    dumps = Dumps().filler()
    for qid, name, time, text in (
        (1, "Ala Ton", "+1907-03-05/11", "5 March 1907"), (2, "Bo Ton", "+1907-00-00/9", "1907"),
        (3, "Cy Ton", "+1907-03-05/11", "March 5, 1907"), (4, "Dee Ton", "+1906-00-00/9", "1906"),
    ):  # fmt: skip
        dumps.add(qid, name, [f"{name} was born {text}."], {"P31": [HUMAN], "P569": [time]})
    report = make(dumps, tmp_path, types=("comparison",))
    assert report["dropped"]["comparison"] == {"equal_values": 1, "incomparable_precision": 2}
    assert report["samples"] == 6  # each of three with the one of 1906, earlier and later


def test_works_may_show_the_year_alone_and_people_may_not(tmp_path: Path):
    dumps = Dumps().filler()
    for qid, year in ((1, 1950), (2, 1960)):
        dumps.add(qid, f"Reel {qid}", [f"Reel {qid} is a {year} film."],
                  {"P31": [FILM], "P577": [f"+{year}-05-06/11", f"+{year}-07-00/10"]})  # fmt: skip
        dumps.add(qid + 10, f"Ton {qid}", [f"Ton {qid} was born in {year}."],
                  {"P31": [HUMAN], "P569": [f"+{year}-05-06/11"]})  # fmt: skip
    make(dumps, tmp_path)
    found = by_relations(tmp_path)
    assert found == {"comparison publication date": 2}
    assert {row[2] for sample in samples_of(tmp_path) for row in sample["evidences"]} == {"1950", "1960"}


def test_countries_go_by_their_demonyms_and_shared_ones_count(tmp_path: Path):
    dumps = Dumps().filler()
    for qid, lands, text in ((1, [81], "a Veltrian"), (2, [82, 81], "a Tarnish and Veltrian"), (3, [82], "a Tarnish")):
        dumps.add(qid, f"Ton {qid}", [f"Ton {qid} was {text} poet."], {"P31": [HUMAN], "P27": lands})
    dumps.add(81, "Veltria", (), {"P1549": ["Veltrian"]})
    dumps.add(82, "Tarnland", (), {"P1549": ["Tarnish"]})
    make(dumps, tmp_path)
    answers = {frozenset(sample["entities"]): sample["answer"] for sample in samples_of(tmp_path)}
    assert answers == {
        frozenset(("Q1", "Q2")): "yes", frozenset(("Q2", "Q3")): "yes", frozenset(("Q1", "Q3")): "no",
    }  # fmt: skip


def test_too_few_pages_fail_that_sample_alone(tmp_path: Path):
    dumps = films_of((1, "Ala Ton", "Ala Ton was born in Selmouth.", {"P19": [9]}))
    dumps.add(9, "Selmouth")
    dumps.entities = [one for one in dumps.entities if "Filler" not in str(one["labels"])]
    report = make(dumps, tmp_path)
    assert report["samples"] == 0
    assert report["dropped"]["compositional"] == {"too_few_distractors": 1}


def test_untyped_distractors_stand_in_and_are_told(tmp_path: Path):
    dumps = Dumps()
    dumps.add(1, "Ala Ton", ["Ala Ton was born in Selmouth."], {"P31": [HUMAN], "P19": [9]})
    dumps.add(2, "Reel", ["Reel is a film by Ala Ton."], {"P31": [FILM], "P57": [1]})
    dumps.add(9, "Selmouth")
    for number in range(9):
        dumps.add(30 + number, f"Stone {number}", [f"Stone {number} is a stone."], {"P31": [77]})
    make(dumps, tmp_path)
    (sample,) = samples_of(tmp_path)
    assert sample["distractor_tier"] == 2
    assert len(sample["context"]) == 10


def test_a_distractor_does_not_answer_the_question(tmp_path: Path):
    dumps = films_of((1, "Ala Ton", "Ala Ton was born in Selmouth.", {"P19": [9]}))
    dumps.add(9, "Selmouth")
    telling = "Reel of 1 Book tells that Ala Ton was born in Selmouth."
    dumps.add(7, "Reel of 1 Book", [telling], {"P31": [FILM]})
    make(dumps, tmp_path, types=("compositional",))
    for sample in samples_of(tmp_path):
        assert "Reel of 1 Book" not in dict(sample["context"])


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
        dumps.add(b, names[1], [f"{names[1]} knew {names[2]}."], {"P31": [HUMAN], f"P{P[rule.r2]}": [a]})
        dumps.add(a, names[2], (), last)
        dumps.add(other, f"Other Rule{chr(64 + number)}")
    return dumps


def test_all_rules_are_asked_with_the_right_word(tmp_path: Path):
    make(rule_dumps(contradicted=False), tmp_path, types=("inference",))
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


def test_unstated_rules_go_when_asked(tmp_path: Path):
    make(rule_dumps(contradicted=False), tmp_path, types=("inference",), drop_unstated=True)
    kept = {sample["rule"] for sample in samples_of(tmp_path)}
    unproved = {n for n, rule in enumerate(RULES, 1) if rule.direct and not rule.must_be_stated}
    assert kept == set(range(1, 29)) - unproved


# ---- ranking


def test_a_small_collection_still_ranks():
    texts = [" oru is a lake ", " nothing here "]
    assert list(rank([" where is oru "], lambda: [([5, 3], texts)], keep=2)) == [[5, 3]]


def test_ranks_do_not_depend_on_shards():
    texts = [f" word{number % 7} word{number % 5} film{number % 3} " for number in range(60)]
    ids = list(range(100, 160))
    questions = [" which film1 word3 ", " word2 word4 ", " of the "]

    def dealt(size: int) -> Iterator[tuple[list[int], list[str]]]:
        for first in range(0, 60, size):
            yield ids[first : first + size], texts[first : first + size]

    whole = list(rank(questions, lambda: dealt(60), keep=9))
    assert all(len(found) == 9 for found in whole)
    for size in (7, 20):
        assert list(rank(questions, lambda size=size: dealt(size), keep=9)) == whole


# ---- splits


def test_no_link_stands_in_two_splits():
    samples = [
        {"_id": f"s{n}", "type": "compositional" if n % 2 else "inference",
         "gold": [n // 3, n // 3 + 500], "chains": [[n // 3, n // 3 + 500]]}
        for n in range(300)
    ]  # fmt: skip
    scores = {sample["_id"]: float(number % 7 == 0) for number, sample in enumerate(samples)}
    splits = assign_splits(samples, scores, "1", keep_all=True)
    seen: dict[Any, set[str]] = {}
    for sample in samples:
        for chain in chains_of(sample, "link"):
            file = splits.of[sample["_id"]].partition("-")[0]
            seen.setdefault(chain, set()).add(file)
    assert all(len(files) == 1 for files in seen.values())
    assert all(
        splits.of[key] == "train-medium" for key, score in scores.items() if score
    )
    counts = Counter(splits.of.values())
    assert counts["dev"] > 40
    assert counts["test"] > 40
    assert splits.leaks["this split"]["share a link with train"] == 0
    assert splits.leaks["random split of the unsolved, as in the paper"]["share a link with train"] > 0


def test_types_are_balanced_over_the_hard_splits():
    kinds = ("comparison", "inference", "compositional")
    samples = [
        {"_id": f"s{n}", "type": kinds[n % 3], "gold": [n, n + 900], "chains": [[n, n + 900]]}
        for n in range(90)
    ]
    splits = assign_splits(samples, dict.fromkeys((s["_id"] for s in samples), 0.0), "1", keep_all=False)
    cells = Counter((splits.of[s["_id"]], s["type"]) for s in samples)
    assert set(cells.values()) == {10}


# ---- the same bytes


@pytest.mark.slow
def test_workers_change_nothing(tmp_path: Path):
    for workers in (1, 4):
        make(WORLD_DUMPS, tmp_path / str(workers), workers=workers, limit_per_type=15)
    verdicts = list(compare_runs(tmp_path / "1" / "out", tmp_path / "4" / "out"))
    assert len(verdicts) > 30
    assert all(verdict.equal for verdict in verdicts)
    make(WORLD_DUMPS, tmp_path / "other", limit_per_type=15, seed="8")
    different = [v for v in compare_runs(tmp_path / "1" / "out", tmp_path / "other" / "out") if not v.equal]
    assert "train.json" in {verdict.what for verdict in different}
    assert any(verdict.detail for verdict in different)


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_bytes(tmp_path: Path):
    whole = tmp_path / "whole"
    make(WORLD_DUMPS, whole, limit_per_type=15)
    killed = tmp_path / "killed" / "out"
    command = [
        sys.executable, "-m", "twowiki", "generate", "--wikidata", str(WORLD_DUMPS[0]),
        "--paragraphs", str(WORLD_DUMPS[1]), "--out", str(killed), "--limit-per-type", "15",
        "--workers", "1",
    ]  # fmt: skip
    stages = 0
    for _ in range(40):
        run = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        assert run.stderr is not None
        line = run.stderr.readline()
        while line and " ..." not in line:
            line = run.stderr.readline()
        if line:
            time.sleep(0.05)
            os.kill(run.pid, signal.SIGKILL)
            stages += 1
        run.wait()
        if run.returncode == 0:
            break
        # Let one more stage finish than the last time.
        _finish_one_stage(command, killed)
    assert stages >= 3
    assert main(["verify", str(whole / "out"), str(killed), "--quiet"]) == 0


def _finish_one_stage(command: list[str], out: Path) -> None:
    before = len(list(out.glob("work/*/_manifest.json")))
    run = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while run.poll() is None and len(list(out.glob("work/*/_manifest.json"))) <= before:
        time.sleep(0.01)
    if run.poll() is None:
        os.kill(run.pid, signal.SIGKILL)
        run.wait()


def test_a_second_run_does_nothing_again(drawn: Path):
    manifests = sorted((drawn / "out" / "work").glob("*/_manifest.json"))
    times = [path.stat().st_mtime_ns for path in manifests]
    data = (drawn / "out" / "train.json").read_bytes()
    make(WORLD_DUMPS, drawn, limit_per_type=20, seed="7", title_case="paper")
    assert [path.stat().st_mtime_ns for path in manifests] == times
    assert (drawn / "out" / "train.json").read_bytes() == data


# ---- commands


def test_explain_tells_where_a_sample_comes_from(whole: Path, capsys: pytest.CaptureFixture[str]):
    sample = next(s for s in samples_of(whole) if s["type"] == "inference")
    assert main(["explain", sample["_id"], "--run", str(whole / "out")]) == 0
    shown = capsys.readouterr().out
    for part in ("rule", "statement", sample["question"], sample["template"], sample["split"]):
        assert part in shown
    assert main(["explain", "none", "--run", str(whole / "out")]) == 2
    assert main(["explain", "--run", str(whole / "out")]) == 2


def test_explain_names_why_samples_are_missing(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    found = {sample["_id"]: sample for sample in samples_of(whole)}
    good = next(sample for sample in found.values() if sample["type"] == "compositional")
    keys = ("_id", "type", "question", "answer", "supporting_facts", "evidences", "evidences_id",
            "entity_ids", "context", "answer_id")  # fmt: skip
    record = {key: good[key] for key in keys}
    other = record | {"_id": "x", "answer": "Nobody"}
    gone = {
        "_id": "y", "type": "comparison", "question": "?", "answer": "Jon Pike", "context": [],
        "supporting_facts": [["Jon Pike", 0], ["Edda Pike", 0]], "evidences_id": [],
        "evidences": [["Jon Pike", "date of birth", "6 May 1970"], ["Edda Pike", "date of birth", "6 May 1970"]],
        "entity_ids": "Q241_Q242", "answer_id": None,
    }  # fmt: skip
    path = tmp_path / "expected.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in (record, other, gone)), "utf-8")
    assert main(["explain", "--run", str(whole / "out"), "--against", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "found 1 of 3" in shown
    assert "equal_values" in shown
    assert "other_answer" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--limit-per-type", "0"], "--limit-per-type"),
        (["--limit-per-type", "some"], "--limit-per-type"),
        (["--types", "riddle"], "unknown question type"),
        (["--yes-share", "2"], "--yes-share"),
        (["--workers", "0"], "--workers"),
        (["--wikidata", "/none.json"], "no such file"),
        (["--paragraphs", "/none.jsonl"], "no such file"),
    ],
)
def test_bad_arguments_name_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
):
    common = ["generate", "--wikidata", str(WORLD_DUMPS[0]), "--paragraphs", str(WORLD_DUMPS[1]),
              "--out", str(tmp_path / "out"), *arguments]  # fmt: skip
    assert main(common) == 2
    assert message in capsys.readouterr().err


def test_no_sample_is_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    dumps = Dumps()
    dumps.add(1, "Ala Ton", ["Ala Ton was a poet."], {"P31": [HUMAN]})
    wikidata, paragraphs = dumps.write(tmp_path)
    status = main(["generate", "--wikidata", str(wikidata), "--paragraphs", str(paragraphs),
                   "--out", str(tmp_path / "out")])  # fmt: skip
    assert status == 1
    assert "no sample passed" in capsys.readouterr().err


def test_verify_needs_two_finished_runs(tmp_path: Path):
    with pytest.raises(DataError, match="no finished run"):
        list(compare_runs(tmp_path, tmp_path))


def test_importing_is_light_and_silent():
    code = "import sys, twowiki.generation; assert not {'torch', 'duckdb', 'pyarrow', 'datasets'} & set(sys.modules)"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


# ---- the reference data


@pytest.mark.slow
def test_the_released_samples_come_back(shared: Path, tmp_path: Path):
    from twowiki.generation.recovery import Recovered

    mini = shared / "data" / "two_wiki" / "mini_dump"
    dumps = (mini / "wikidata.json", mini / "paragraphs.jsonl")
    make(dumps, tmp_path, title_case="paper")
    recovery = Recovered(tmp_path / "out").check(mini / "expected.jsonl")
    assert recovery.expected == 249
    assert recovery.found >= 0.92 * recovery.expected
    assert recovery.worded >= 0.90 * recovery.found
    assert all(missing.reason for missing in recovery.missing)
