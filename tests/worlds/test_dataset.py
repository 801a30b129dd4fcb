"""From a world to questions: every type, sound gold, measured difficulty, every door."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from twowiki.cli.main import main
from twowiki.data.relations import RULES
from twowiki.data.schema import TWO_WIKI_TYPES, Paragraph
from twowiki.errors import DataError
from twowiki.generation.difficulty import (
    READERS,
    measure_difficulty,
    read_gold_examples,
    render_difficulty,
    two_hop_answer,
)
from twowiki.generation.mining import mine_rules
from twowiki.generation.settings import PAPER_MIX, GenerateConfig
from twowiki.io.files import sha256_of
from twowiki.worlds.dataset import prepare_dumps, world_files
from twowiki.worlds.settings import WorldConfig, WorldOptions, parse_world

WORLD = "people=260,films=180,seed=3"


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set of a small world."""
    out = tmp_path_factory.mktemp("generated")
    arguments = ["--world", WORLD, "--limit-per-type", "60", "--out", str(out), "--workers", "1"]
    assert main(["generate", *arguments]) == 0
    return out


def test_a_world_gives_all_types_and_a_report_of_its_difficulty(generated: Path):
    examples = read_gold_examples(generated)
    counts = Counter(example.type for example in examples)
    assert set(counts) == set(TWO_WIKI_TYPES)
    assert min(counts.values()) >= 30
    report = json.loads((generated / "report.json").read_text("utf-8"))
    assert report["world"]["people"] == 260
    assert report["difficulty"]["all"]["samples"] == len(examples)
    assert set(READERS) < set(report["difficulty"]["comparison"])
    assert report["certificate"]["bound"] == 55
    assert report["shortcuts"]["first named"]["comparison"]["answered"] > 20
    page = (generated / "report.html").read_text("utf-8")
    assert '<h2 id="difficulty">Difficulty</h2>' in page
    assert str(generated) not in page


def test_the_bytes_are_those_on_record(generated: Path):
    """A change here needs a line in the changelog and a higher `WORLD_VERSION`."""
    recorded = json.loads(Path(__file__).with_name("digests.json").read_text("utf-8"))
    assert {name: sha256_of(generated / name) for name in recorded} == recorded


def test_the_papers_rules_are_mined(generated: Path):
    mined = {(rule.r1, rule.r2) for rule in mine_rules(generated, min_support=1)}
    assert mined >= {(rule.r1, rule.r2) for rule in RULES}
    assert len(RULES) == 28


def test_the_two_hop_reader_knows_every_answer_and_shortcuts_do_not(generated: Path):
    measured = measure_difficulty(read_gold_examples(generated))
    report = measured["difficulty"]
    for name in READERS[:3]:
        assert report["all"][name] < 50
        assert report["inference"][name] < 50
    assert report["all"]["two hops"] == 100
    text = render_difficulty(measured)
    assert text.count("\n") == 17
    assert text.splitlines()[-1].startswith("certificate: ")


def test_the_two_hop_reader_sees_unsound_gold(generated: Path):
    for example in read_gold_examples(generated):
        gold = example.supporting_facts[0]
        blanked = tuple(
            Paragraph(
                title, tuple("" if (title, n) == gold else s for n, s in enumerate(sentences))
            )
            for title, sentences in example.context
        )
        assert two_hop_answer(example._replace(context=blanked)) == ""


def test_validation_finds_nothing_but_ages_and_second_countries(generated: Path, capsys: Any):
    assert main(["validate", str(generated), "--strict"]) == 0
    assert "nothing odd found" in capsys.readouterr().out


def test_difficulty_of_any_folder_from_the_command_line(generated: Path, capsys: Any):
    assert main(["world", "--difficulty", str(generated)]) == 0
    assert capsys.readouterr().out.startswith("F1 by reader")
    assert main(["world", "--difficulty", str(generated / "nowhere")]) == 2
    assert main(["world", "--people", "100"]) == 2
    assert "--out DIR" in capsys.readouterr().err


def test_world_command_writes_what_generate_reads(tmp_path: Path, capsys: Any):
    out = tmp_path / "w"
    arguments = ["--people", "60", "--films", "20", "--seed", "x", "--out", str(out)]
    assert main(["world", *arguments, "--unique-names"]) == 0
    said = capsys.readouterr().out
    assert "entities" in said
    assert f"--wikidata {out / 'wikidata.json'}" in said
    settings = json.loads((out / "world.json").read_text("utf-8"))["settings"]
    assert (settings["people"], settings["unique_names"]) == (60, 1)


def test_dumps_are_written_once(tmp_path: Path):
    config = WorldConfig(people=60, films=20)
    first = prepare_dumps(config, tmp_path)
    stamp = first[0].stat().st_mtime_ns
    prepare_dumps(config, tmp_path)
    assert first[0].stat().st_mtime_ns == stamp
    prepare_dumps(WorldConfig(people=61, films=20), tmp_path)
    assert first[0].stat().st_mtime_ns != stamp


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "no dumps"),
        (("--world", WORLD, "--wikidata", "x.json"), "Use one of them"),
        (("--world", "people=x"), "not an integer"),
        (("--world", WORLD, "--mix", "paper", "--limit-per-type", "all"), "a number"),
    ],
)
def test_unusable_inputs_are_refused(
    tmp_path: Path, capsys: Any, arguments: tuple[str, ...], says: str
):
    assert main(["generate", *arguments, "--out", str(tmp_path / "o")]) == 2
    assert says in capsys.readouterr().err


def test_the_papers_mix_shares_out_four_limits():
    config = GenerateConfig(Path("a"), Path("b"), limit_per_type=1000, mix="paper")
    limits = {kind: config.limit_of(kind) for kind in TWO_WIKI_TYPES}
    assert limits == {
        "comparison": 1204, "inference": 155, "compositional": 1806, "bridge_comparison": 834,
    }  # fmt: skip
    assert config.largest_limit == 1806
    with pytest.raises(DataError, match="not one of even, paper"):
        GenerateConfig(Path("a"), Path("b"), mix="odd")


# ---- doors


def test_the_command_line_and_python_make_one_data_set(tmp_path: Path, generated: Path):
    request = parse_world(f"{WORLD},limit_per_type=60")
    files = world_files(
        {"people": 260, "films": 180, "seed": 3, "limit_per_type": 60}, tmp_path, ""
    )
    assert request.questions == {"seed": "3", "limit_per_type": 60}
    for split, (path,) in files.items():
        name = {"validation": "dev"}.get(split, split)
        assert sha256_of(Path(path)) == sha256_of(generated / f"{name}.json")


def test_a_flag_and_a_world_may_not_differ(tmp_path: Path, capsys: Any):
    arguments = ["--world", "people=60,films=20,limit_per_type=7", "--limit-per-type", "9"]
    assert main(["generate", *arguments, "--out", str(tmp_path / "o")]) == 2
    assert "limit_per_type" in capsys.readouterr().err


def test_load_dataset_makes_a_world(tmp_path: Path):
    code = """
import datasets, twowiki
from pathlib import Path
options = dict(people=260, films=180, seed=3, limit_per_type=40)
made = twowiki.load_dataset("world", **options)
again = datasets.load_dataset("twowiki", "world", **options)
assert made["train"][0] == again["train"][0]
assert set(made) == {"train", "validation", "test"}
assert made["test"][0]["answer"]
corpus = twowiki.load_dataset("world_corpus", split="corpus", **options)
pages = {page["title"]: page for page in corpus}
first = made["test"][0]
for fact in first["supporting_facts"]:
    relevant = pages[fact["title"]]["relevant_for"]
    assert {"split": "test", "question_id": first["id"]} in relevant
assert len(corpus) > 1000 and any(page["aliases"] for page in corpus)
assert all(page["entity_id"].startswith("Q5") for page in corpus)
other = twowiki.load_dataset("world", **{**options, "seed": 4}, split="train")
assert other[0]["question"] != made["train"][0]["question"]
try:
    twowiki.load_dataset("hotpotqa", data_files=__file__, people=100)
except twowiki.errors.DataError as error:
    assert "is not an option of the config 'hotpotqa'" in str(error), error
else:
    raise AssertionError
try:
    twowiki.load_dataset("world", films=1)
except twowiki.errors.DataError as error:
    assert "'films': is 1; it must be from 10" in str(error), error
else:
    raise AssertionError
"""
    script = tmp_path / "code" / "script.py"
    script.parent.mkdir()
    script.write_text("import twowiki.errors\n" + code, encoding="utf-8")
    empty = tmp_path / "empty"
    empty.mkdir()
    environment = os.environ | {
        "HF_HOME": str(tmp_path / "cache"),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    done = subprocess.run(
        [sys.executable, str(script)], cwd=empty, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert list(empty.iterdir()) == []


@pytest.mark.slow
def test_five_thousand_people_give_every_rule_and_twenty_thousand_samples(tmp_path: Path):
    arguments = ["--world", "people=5000,films=3750,seed=7", "--limit-per-type", "6000"]
    assert main(["generate", *arguments, "--out", str(tmp_path)]) == 0
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert report["samples"] >= 20_000
    with open(tmp_path / "provenance.jsonl", encoding="utf-8") as stream:
        rules = {json.loads(line).get("rule") for line in stream}
    assert rules - {None} == set(range(1, 29))


@pytest.mark.slow
def test_the_papers_mix_and_lengths_are_met(tmp_path: Path):
    arguments = ["--world", "people=1500,films=1100,seed=5", "--limit-per-type", "800"]
    arguments += ["--mix", "paper", "--title-case", "paper", "--out", str(tmp_path)]
    assert main(["generate", *arguments]) == 0
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    paper = {"comparison": 11.97, "inference": 8.41, "compositional": 11.43,
             "bridge_comparison": 17.01}  # fmt: skip
    for kind, words in paper.items():
        row = report["types"][kind]
        share = row["samples"] / report["samples"] * sum(PAPER_MIX.values()) / PAPER_MIX[kind]
        assert 0.8 < share < 1.2, (kind, share)
        assert 0.8 < row["question_words"] / words < 1.2, (kind, row["question_words"])


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from twowiki.errors import DataError
    from twowiki.worlds import dataset as builder

    def lacking(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'duckdb'", name="duckdb")

    monkeypatch.setattr(builder, "world_files", lacking)
    config = WorldOptions()
    config.name = "world"  # type: ignore[attr-defined]
    with pytest.raises(DataError, match=r"'duckdb'.*twowiki\[generate\]"):
        builder.made_files(config, "cache", "code")


def test_worlds_and_data_sets_are_functions_of_the_package(tmp_path: Path):
    import twowiki

    report = twowiki.make_world(tmp_path / "w", people=60, films=20, seed=1, brief=1)
    assert report["settings"]["seed"] == "1"
    dumps = {
        "wikidata": tmp_path / "w/wikidata.json",
        "paragraphs": tmp_path / "w/paragraphs.jsonl",
    }
    data = twowiki.generate(tmp_path / "d", **dumps, types=["comparison"], seed=1, workers=1)
    assert data["settings"]["types"] == ["comparison"]
    assert (tmp_path / "d" / "train.json").is_file()
    with pytest.raises(DataError, match=r"pepole.*people"):
        twowiki.make_world(tmp_path, pepole=60)
    with pytest.raises(DataError, match=r"limit_per_typ.*limit_per_type"):
        twowiki.generate(tmp_path, **dumps, limit_per_typ=1)
    with pytest.raises(DataError, match="no such file"):
        twowiki.generate(tmp_path, wikidata="none.json", paragraphs="none.jsonl")
