"""Folders that commands fill: files of others survive whatever is run, and two runs never mix."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import twowiki
from tests.hostile.long_commands import LONG, prepare
from tests.tiny_data import tiny_files
from tests.training.runs import run
from twowiki.cli.main import main
from twowiki.errors import DataError
from twowiki.io.ownership import FOLDER_LOCK, MARK, OwnedFolder, names_below, open_folder

WORLD = Path(__file__).parents[1] / "data" / "world"
BESIDE = (".unfinished", ".unfinished.lines", ".outputs.jsonl", ".parts/1.json")


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare(tmp_path_factory.mktemp("given"))


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in names_below(folder)}


def generate(
    *flags: str, wikidata: Path | None = None, paragraphs: Path | None = None
) -> list[str]:
    return [
        "generate", "--wikidata", str(wikidata or WORLD / "wikidata.json"),
        "--paragraphs", str(paragraphs or WORLD / "paragraphs.jsonl"),
        "--limit-per-type", "5", "--workers", "1", *flags,
    ]  # fmt: skip


# ---- generate


def test_inputs_that_are_called_like_stages_stay(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "paragraphs").mkdir(parents=True)
    (data / "wikidata").mkdir()
    (data / "scratch").mkdir()
    shutil.copy(WORLD / "paragraphs.jsonl", data / "paragraphs")
    shutil.copy(WORLD / "wikidata.json", data / "wikidata" / "latest-all.json")
    (data / "scratch" / "notes.txt").write_text("mine")
    before = contents(data)
    inputs: dict[str, Any] = {
        "wikidata": data / "wikidata" / "latest-all.json", "paragraphs": data / "paragraphs"
    }  # fmt: skip
    flags = ["--out", str(tmp_path / "out"), "--work", str(data)]
    for more in ([], ["--seed", "9"], ["--restart"]):
        assert main(generate(*flags, *more, **inputs)) == 0
        after = contents(data)
        assert {name: after.get(name) for name in before} == before
    assert all(name in before or name.startswith(".twowiki/") for name in after)


@pytest.mark.parametrize("name", ["train.json", "parquet/thesis.txt", "report.html", "work/x/y"])
@pytest.mark.parametrize("more", [[], ["--restart"]])
def test_an_output_folder_with_files_of_others_is_refused(
    name: str, more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    (out / name).parent.mkdir(parents=True)
    (out / name).write_text("mine")
    assert main(generate("--out", str(out), *more)) == 2
    assert "it holds files of others" in capsys.readouterr().err
    assert main(["generate", "--world", "people=60,films=20", "--out", str(out), *more]) == 2
    assert contents(out) == {name: b"mine"}


def test_a_finished_folder_is_refused_once_it_holds_files_of_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(generate("--out", str(out))) == 0
    before = contents(out)
    assert main(generate("--out", str(out))) == 0
    assert contents(out) == before
    (out / "parquet" / "thesis.txt").write_text("mine")
    for more in ([], ["--restart"], ["--seed", "3"]):
        assert main(generate("--out", str(out), *more)) == 2
        assert "parquet/thesis.txt" in capsys.readouterr().err
    assert contents(out) == before | {"parquet/thesis.txt": b"mine"}


def test_an_input_among_the_files_of_a_run_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(generate("--out", str(out))) == 0
    for path in (out / "id_aliases.json", out / "parquet"):
        assert main(generate("--out", str(out), "--restart", paragraphs=path)) == 2
        assert path.exists()


def test_two_runs_in_one_folder_end_in_data_and_one_sentence(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "twowiki", *generate("--out", str(tmp_path / "out"))]
    pair = [
        subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    ends = [(process.communicate()[1], process.returncode) for process in pair]
    assert sorted(code for _, code in ends) in ([0, 2], [0, 0])
    for error, code in ends:
        assert "Traceback" not in error
        assert not code or "another process is working in this folder" in error
    assert not list(tmp_path.rglob(FOLDER_LOCK))
    assert main(["verify", str(tmp_path / "out"), str(tmp_path / "out")]) == 0


def test_a_world_replaces_no_dump_of_others(tmp_path: Path) -> None:
    (tmp_path / "wikidata.json").write_text("mine")
    flags = ["world", "--people", "60", "--films", "20", "--out"]
    assert main([*flags, str(tmp_path)]) == 2
    assert contents(tmp_path)["wikidata.json"] == b"mine"
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "notes.txt").write_text("mine")
    for _ in range(2):
        assert main([*flags, str(tmp_path / "new")]) == 0
    assert (tmp_path / "new" / "notes.txt").read_text() == "mine"


# ---- export


def test_an_export_leaves_no_aliases_of_its_earlier_source(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_aliases, without, out = (tmp_path / name for name in ("a", "b", "out"))
    assert main(generate("--out", str(with_aliases))) == 0
    without.mkdir()
    for name in ("train.json", "dev.json", "test.json"):
        shutil.copy(with_aliases / name, without)
    for source, there in ((with_aliases, True), (without, False), (with_aliases, True)):
        assert main(["export", str(source), str(out), "--config", "generated"]) == 0
        assert (out / "id_aliases.json").exists() == there
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "id_aliases.json").write_text("mine")
    assert main(["export", str(without), str(tmp_path / "mine")]) == 0
    assert main(["export", str(with_aliases), str(tmp_path / "mine")]) == 2
    assert "this run did not write it" in capsys.readouterr().err
    assert (tmp_path / "mine" / "id_aliases.json").read_text() == "mine"


def test_an_export_replaces_only_exports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import pyarrow
    from pyarrow import parquet

    rows = twowiki.load_dataset(str(tiny_files(tmp_path)[1]))
    shard, hidden = "train-00000-of-00001.parquet", ".data_ids_april7.partial"
    for number, name in enumerate((f"data_ids_april7/{shard}", f"{hidden}/{shard[:11]}.txt")):
        out = tmp_path / f"out{number}"
        (out / name).parent.mkdir(parents=True)
        parquet.write_table(pyarrow.table({"mine": [1]}), out / name)
        before = contents(out)
        source = str(tmp_path / "validation.json")
        assert main(["export", source, str(out), "--config", "data_ids_april7"]) == 2
        assert "it holds files of others" in capsys.readouterr().err
        with pytest.raises(DataError, match="it holds files of others"):
            twowiki.export(rows, out)
        assert contents(out) == before
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / ".data_ids_april7.lock").write_text("mine")
    with pytest.raises(DataError, match="is not a lock of this package"):
        twowiki.export(rows, tmp_path / "new")
    (tmp_path / "new" / ".data_ids_april7.lock").write_text("")
    for _ in range(2):
        assert twowiki.export(rows, tmp_path / "new")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in LONG if not name.startswith("train")])
def test_a_file_of_a_user_at_any_name_that_a_command_writes_stays(
    name: str, given: Path, tmp_path: Path
) -> None:
    def arguments(out: Path) -> list[str]:
        return LONG[name].line(given, out)[3:]

    out = tmp_path / "whole"
    out.mkdir()
    assert main(arguments(out)) == 0
    named = arguments(out)  # a file that the user names may be replaced
    listed = [file for file in names_below(out) if str(out / file) not in named]
    beside = [f"{Path(word).name}{end}" for word in named for end in BESIDE if str(out) in word]
    for number, file in enumerate([*random.Random(1).sample(listed, min(2, len(listed))), *beside]):
        out = tmp_path / str(number)
        (out / file).parent.mkdir(parents=True)
        (out / file).write_text("mine")
        main(arguments(out))
        text = (out / file).read_text()
        assert text == "mine" or (file.endswith("README.md") and text.endswith("\nmine"))


# ---- training


def test_a_new_run_never_loses_or_takes_checkpoints_of_another(tmp_path: Path) -> None:
    out = tmp_path / "run"
    (tmp_path / "data").mkdir()
    data = [*tiny_files(tmp_path / "data"), "--cache_dir", str(tmp_path / "cache")]
    data += ["--save_steps", "1"]
    run(out, *data, "--max_steps", "2")
    for name in ("best/notes.txt", "checkpoint-2/notes.txt", "notes.txt"):
        (out / name).write_text("mine")
    before = contents(out)
    other = ["--learning_rate", "0.005"]
    for more, problem in (
        (other, "holds a run already"),
        ([*other, "--resume_from_checkpoint", "auto"], "learning_rate"),
    ):
        refused = run(out, *data, *more, check=False)
        assert refused.returncode == 2
        assert problem in refused.stderr
        after = contents(out)
        assert after | {MARK: b""} == before | {MARK: b""}
    run(out, *data, *other, "--max_steps", "1", "--overwrite_output_dir")
    for name in ("best/notes.txt", "checkpoint-2/notes.txt", "notes.txt"):
        assert (out / name).read_text() == "mine"
    assert names_below(out / "checkpoint-2") == ["notes.txt"]
    run(out, *data, *other, "--max_steps", "2", "--resume_from_checkpoint", "auto")
    report = json.loads((out / "report.json").read_text())
    assert report["steps"] == 2
    assert (out / "checkpoint-2" / "notes.txt").read_text() == "mine"


def test_a_second_run_in_a_held_folder_ends_in_one_sentence(tmp_path: Path) -> None:
    with open_folder(tmp_path / "run", "train", {}, beside=True):
        refused = run(tmp_path / "run", "--world", "people=60,films=20", check=False)
    assert refused.returncode == 2
    assert "another process is working in this folder" in refused.stderr
    assert "Traceback" not in refused.stderr


# ---- the mechanism


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (MARK, "mine"), (MARK, '{"made by": "twowiki", "files": ["../x"]}'), (MARK, "[]"),
        (FOLDER_LOCK, "mine"), (f"{MARK}.tmp", "mine"),
    ],
)  # fmt: skip
def test_strange_marks_and_locks_are_refused(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    for beside in (False, True):
        with (
            pytest.raises(DataError, match="Name another folder"),
            open_folder(tmp_path, "generate", {}, beside=beside),
        ):
            pass
    assert (tmp_path / name).read_text() == text


def test_nothing_is_removed_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / "a").write_text("mine")
    out = tmp_path / "out"
    with open_folder(out, "generate", {}) as owned:
        owned.claim("stage/", "sub/a")
    (out / "stage").symlink_to(tmp_path / "victim")
    (out / "sub").symlink_to(tmp_path / "victim")
    OwnedFolder(out).clear()
    assert (tmp_path / "victim" / "a").read_text() == "mine"


def test_another_command_and_a_second_process_are_refused(tmp_path: Path) -> None:
    with open_folder(tmp_path / "out", "generate", {}) as owned:
        owned.claim("a")
        with (
            pytest.raises(DataError, match="another process"),
            open_folder(tmp_path / "out", "generate", {}),
        ):
            pass
        assert (tmp_path / "out" / FOLDER_LOCK).exists()
    assert not (tmp_path / "out" / FOLDER_LOCK).exists()
    with (
        pytest.raises(DataError, match="holds what `generate` wrote"),
        open_folder(tmp_path / "out", "train", {}),
    ):
        pass


NAMES = st.sampled_from(
    ["a", "b", "best/a", "best/sub/b", "stage/x", "best", "stage", ".a.7.tmp", ".twowiki/x"]
)


class Folders(RuleBasedStateMachine):
    """Users and runs write into one folder in any order; what users wrote is never changed."""

    def __init__(self) -> None:
        super().__init__()
        self.base = Path(tempfile.mkdtemp())
        self.folder = self.base / "out"
        self.mine: dict[str, str] = {}

    def teardown(self) -> None:
        shutil.rmtree(self.base)

    @rule(name=NAMES, text=st.text("xyz", max_size=2))
    def a_user_writes(self, name: str, text: str) -> None:
        path = self.folder / name
        inside = any(parent.is_file() for parent in path.parents)
        listed = self.folder.exists() and OwnedFolder(self.folder).lists(name)
        if not (path.exists() or inside or listed):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            self.mine[name] = text

    @precondition(lambda self: self.mine)
    @rule(data=st.data())
    def a_user_removes(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.mine)))
        (self.folder / name).unlink()
        del self.mine[name]

    @rule(
        names=st.lists(NAMES, max_size=3), beside=st.booleans(), restart=st.booleans(),
        how=st.sampled_from(["claim", "put", "staged", "discard", "killed"]),
    )  # fmt: skip
    def a_run_writes(self, names: list[str], beside: bool, restart: bool, how: str) -> None:
        try:
            with open_folder(self.folder, "run", {}, restart=restart, beside=beside) as owned:
                self.write(owned, names, how)
        except (DataError, NotADirectoryError, IsADirectoryError, FileExistsError):
            pass

    def write(self, owned: OwnedFolder, names: list[str], how: str) -> None:
        if how in ("claim", "killed"):
            owned.claim(*names)
            for name in names if how == "claim" else ():
                (owned.path / name).parent.mkdir(parents=True, exist_ok=True)
                (owned.path / name).write_text("run")
        elif how == "put":
            aside = self.base / "aside"
            shutil.rmtree(aside, ignore_errors=True)
            (aside / "sub").mkdir(parents=True)
            (aside / "a").write_text("run")
            (aside / "sub" / "b").write_text("run")
            owned.put(aside, "best")
        elif how == "staged":
            with owned.staged() as aside:
                (aside / "a").write_text("run")
                (aside / "best").mkdir()
                (aside / "best" / "a").write_text("run")
        else:
            owned.discard(*names)

    @invariant()
    def nothing_of_the_user_is_lost(self) -> None:
        for name, text in self.mine.items():
            assert (self.folder / name).read_text() == text


Folders.TestCase.settings = settings(
    max_examples=30, deadline=None, suppress_health_check=list(HealthCheck)
)
test_files_of_users_survive_any_sequence_of_runs = Folders.TestCase
