from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.generation.dumps import HUMAN, Dumps, by_relations, make, samples_of
from tests.generation.faults import fault_of
from twowiki.cli.main import main
from twowiki.errors import DataError
from twowiki.generation.queries import tables_in
from twowiki.generation.run_comparison import compare_runs
from twowiki.generation.tables import UNIQUE, broken_contracts
from twowiki.io.files import sha256_of

WORLD = Path(__file__).parents[1] / "data" / "world"
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


def test_the_contracts_of_the_tables_hold(whole: Path):
    tables = tables_in(sorted((whole / "out" / "work" / ".twowiki").glob("*/")))
    assert set(UNIQUE) <= set(tables)
    assert broken_contracts(tables) == []
    assert broken_contracts(tables | {"linked": tables["duplicates"]}) != []


def test_pages_and_entities_given_twice_count_once(tmp_path: Path):
    once, twice = tmp_path / "once", tmp_path / "twice"
    make(WORLD_DUMPS, once, limit_per_type=10)
    wikidata, paragraphs = (path.read_text("utf-8") for path in WORLD_DUMPS)
    twice.mkdir()
    (twice / "wikidata.json").write_text(wikidata.replace("\n]", ",\n") + wikidata[2:], "utf-8")
    (twice / "paragraphs.jsonl").write_text(paragraphs * 2, "utf-8")
    make((twice / "wikidata.json", twice / "paragraphs.jsonl"), twice, limit_per_type=10)
    for name in ("train.json", "dev.json", "test.json"):
        assert (once / "out" / name).read_bytes() == (twice / "out" / name).read_bytes()


def test_no_sample_has_a_fault(whole: Path, drawn: Path):
    for sample in [*samples_of(whole), *samples_of(drawn)]:
        assert fault_of(sample, 10) == "", sample


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
    theirs = load_dataset(str(out / "parquet"), "generated")
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


# ---- the same bytes


def test_the_bytes_are_those_on_record(drawn: Path):
    """A change here needs a line in the changelog and a higher `GENERATION_VERSION`."""
    recorded = json.loads(Path(__file__).with_name("digests.json").read_text("utf-8"))
    assert {name: sha256_of(drawn / "out" / name) for name in recorded} == recorded


@pytest.mark.slow
def test_workers_change_nothing(tmp_path: Path):
    for workers in (1, 4):
        make(WORLD_DUMPS, tmp_path / str(workers), workers=workers, limit_per_type=15)
    verdicts = list(compare_runs(tmp_path / "1" / "out", tmp_path / "4" / "out"))
    assert len(verdicts) > 30
    assert all(verdict.equal for verdict in verdicts)
    make(WORLD_DUMPS, tmp_path / "other", limit_per_type=15, seed="8")
    different = [
        v for v in compare_runs(tmp_path / "1" / "out", tmp_path / "other" / "out") if not v.equal
    ]
    assert "train.json" in {verdict.what for verdict in different}
    assert any(verdict.detail for verdict in different)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot fork")
@pytest.mark.parametrize("seed", [1, 2])
def test_a_run_killed_in_every_stage_goes_on_to_the_same_bytes(tmp_path: Path, seed: int):
    command = [sys.executable, "-m", "tests.generation.stops", "kills", str(tmp_path), str(seed)]
    root = Path(__file__).parents[2]
    done = subprocess.run([*command, "2"], check=True, capture_output=True, text=True, cwd=root)
    found = json.loads(done.stdout)
    assert found["code"] == 0, found["errors"]
    assert sum(found["kills"].values()) >= 8
    assert sum(kills > 0 for kills in found["kills"].values()) >= 6
    assert main(["verify", str(tmp_path / "whole"), str(tmp_path / "stopped")]) == 0
    stages = tmp_path / "stopped" / "work" / ".twowiki"
    assert not [path for path in stages.rglob("*") if path.name.startswith((".ranking", ".spool"))]


def test_a_second_run_does_nothing_again(drawn: Path):
    manifests = sorted((drawn / "out" / "work" / ".twowiki").glob("*/_manifest.json"))
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
        "evidences": [["Jon Pike", "date of birth", "6 May 1970"],
                      ["Edda Pike", "date of birth", "6 May 1970"]],
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
        (["--limit-per-type", "0"], "limit-per-type"),
        (["--limit-per-type", "some"], "limit-per-type"),
        (["--types", "riddle"], "unknown question type"),
        (["--yes-share", "2"], "yes-share"),
        (["--workers", "0"], "workers"),
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
    assert message in capsys.readouterr().err.replace("_", "-")


def test_no_sample_is_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    dumps = Dumps()
    dumps.add(1, "Ala Ton", ["Ala Ton was a poet."], {"P31": [HUMAN]})
    wikidata, paragraphs = dumps.write(tmp_path)
    status = main(["generate", "--wikidata", str(wikidata), "--paragraphs", str(paragraphs),
                   "--out", str(tmp_path / "out")])  # fmt: skip
    assert status == 1
    assert "no sample passed" in capsys.readouterr().err


def test_verify_needs_two_finished_runs(tmp_path: Path):
    with pytest.raises(DataError, match="not a finished run"):
        list(compare_runs(tmp_path, tmp_path))


def test_importing_is_light_and_silent():
    heavy = "{'torch', 'duckdb', 'pyarrow', 'datasets'}"
    code = f"import sys, twowiki.generation; assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


# ---- the reference data


@pytest.mark.slow
def test_the_released_samples_come_back(shared: Path, tmp_path: Path):
    from twowiki.generation.run_comparison import Recovered

    mini = shared / "data" / "two_wiki" / "mini_dump"
    dumps = (mini / "wikidata.json", mini / "paragraphs.jsonl")
    make(dumps, tmp_path, title_case="paper")
    recovery = Recovered(tmp_path / "out").check(mini / "expected.jsonl")
    assert recovery.expected == 249
    assert recovery.found >= 0.90 * recovery.expected
    assert recovery.worded >= 0.90 * recovery.found
    assert all(missing.reason for missing in recovery.missing)
