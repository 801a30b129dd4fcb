"""Work folders: one command at a time, files that change together, sheets that people filled."""

from __future__ import annotations

import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from filelock import FileLock

from tests.arc_da.small_conversion import begin, edit, give, imported, said
from tests.arc_da_files import ARC, RELEASE, arc_da, read_lines, read_table, write_lines
from twowiki.arc_da.conversion.workspace import STAGES, Workspace
from twowiki.io import files as folders
from twowiki.io.files import locked, write_together

KITES = {"ARCEZ_Kite_1": {"decision": "accept"}, "ARCEZ_Kite_2": {"decision": "accept"}}


@pytest.fixture(scope="module")
def screened(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return begin(tmp_path_factory.mktemp("arc_da") / "work")


@pytest.fixture
def work(screened: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    shutil.copytree(screened, folder)
    return folder


class Killed(BaseException):
    """Stands for a process that dies."""


def die_after(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Die at the rename after so many."""
    done = 0
    replace = os.replace

    def counted(source: str, target: str) -> None:
        nonlocal done
        if done >= count:
            raise Killed
        done += 1
        replace(source, target)

    monkeypatch.setattr(os, "replace", counted)
    monkeypatch.setattr(Path, "replace", lambda path, target: counted(str(path), str(target)))


@pytest.mark.parametrize(
    ("stage", "name"), [("filter", "00_source.jsonl"), ("filter", "10_filtered.jsonl"),
                        ("review-import", "60_decisions.csv")],
)  # fmt: skip
def test_a_file_that_no_stage_wrote_is_never_replaced(
    stage: str, name: str, work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = work if stage == "review-import" else tmp_path / "new"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("mine")
    if stage == "filter":
        assert arc_da("filter", folder, "--arc", ARC) == 2
    else:
        assert imported(folder, edit(folder, KITES)) == 2
    assert "exists, and no stage wrote it" in capsys.readouterr().err
    assert (folder / name).read_text() == "mine"


# --- one command at a time


def test_answers_imported_at_once_are_all_kept(work: Path, tmp_path: Path) -> None:
    files = [
        write_lines(tmp_path / f"{n}.jsonl", [said("ARCEZ_Kite_1", f"new{n}", "gravity")])
        for n in range(8)
    ]
    before = len(read_lines(work / "30_crowd.jsonl"))
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda f: arc_da("import-answers", work, f), files)) == [0] * 8
    assert len(read_lines(work / "30_crowd.jsonl")) == before + 8


def test_reviews_imported_at_once_are_all_kept(work: Path) -> None:
    one, two = (edit(work, {name: KITES[name]}, f"{name}.csv") for name in KITES)
    with ThreadPoolExecutor(2) as pool:
        results = pool.map(imported, (work, work), (one, two))
        assert list(results) == [0, 0]
    decisions = read_lines(work / "60_decisions.jsonl")[1:]
    assert {decision["question_id"] for decision in decisions} == set(KITES)
    assert arc_da("release", work) == 0


@pytest.mark.parametrize("command", ["status", "screen", "release", "review-export"])
def test_a_busy_folder_is_told(
    work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    monkeypatch.setattr(folders, "WAIT", 0.05)
    with FileLock(work / ".lock"):
        assert arc_da(command, work) == 2
    assert "another command is working in this folder" in capsys.readouterr().err


def test_asking_makes_no_folder(tmp_path: Path) -> None:
    assert arc_da("status", tmp_path / "none") == 2
    assert not (tmp_path / "none").exists()


# --- files that change together


@pytest.mark.parametrize("count", range(9))
def test_a_killed_release_is_the_old_or_the_new_one(
    work: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    assert imported(work, edit(work, {"ARCEZ_Kite_1": KITES["ARCEZ_Kite_1"]})) == 0
    assert arc_da("release", work) == 0
    old = {path.name: path.read_bytes() for path in (work / "90_release").iterdir()}
    assert imported(work, edit(work, KITES)) == 0
    with monkeypatch.context() as patch:
        die_after(patch, count)
        with pytest.raises(Killed):
            arc_da("release", work)
    found = {path.name: path.read_bytes() for path in (work / "90_release").iterdir()}
    new = {name for name, text in found.items() if text != old[name]}
    assert not new or not [name for name in found.keys() - new if name != "README.md"]
    assert arc_da("status", work) == 0  # whatever comes next finishes it
    found = {path.name: path.read_bytes() for path in (work / "90_release").iterdir()}
    assert found.keys() == old.keys()
    assert not list(work.glob(".ready")) + list(work.glob(".staged"))
    state = Workspace(work).stage_states()["release"]
    assert state in ("done", "stale: 60_decisions.jsonl changed since")
    assert arc_da("release", work) == 0
    ids = [record["question_id"] for record in read_lines(work / "90_release" / "train.jsonl")]
    assert ids == [r["question_id"] for r in read_lines(work / "90_release" / "provenance.jsonl")]
    assert len(ids) == 2


@pytest.mark.parametrize("count", range(6))
def test_a_killed_filter_leaves_no_mixture(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    few = tmp_path / "ARC-Easy-Train.jsonl"
    lines = (ARC / "ARC-Easy-Train.jsonl").read_text(encoding="utf-8").splitlines()
    few.write_text("\n".join(lines[:3]), encoding="utf-8")
    with monkeypatch.context() as patch:
        die_after(patch, count)
        with pytest.raises(Killed):
            arc_da("filter", work, "--arc", few)
    assert arc_da("status", work) == 0
    first, second = (read_lines(work / n) for n in ("00_source.jsonl", "10_filtered.jsonl"))
    assert [r["question_id"] for r in first] == [r["question_id"] for r in second]
    assert len(first) in (3, 10)
    states = Workspace(work).stage_states()
    assert states["screen"] == ("done" if len(first) == 10 else
                                "stale: 10_filtered.jsonl changed since")  # fmt: skip


def test_a_full_disk_leaves_all_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_together(tmp_path, {"a": "old", "b/c": "old"})
    write = folders.write_text

    def full(path: Path, text: str) -> None:
        if path.name == "c":
            raise OSError(28, "No space left on device")
        write(path, text)

    monkeypatch.setattr(folders, "write_text", full)
    with pytest.raises(OSError, match="No space"):
        write_together(tmp_path, {"a": "new", "b/c": "new"}, remove=["a"])
    with locked(tmp_path):
        assert (tmp_path / "a").read_text() == (tmp_path / "b" / "c").read_text() == "old"
    assert not (tmp_path / ".staged").exists()


# --- what people wrote


@pytest.mark.parametrize("manifest", ["missing", "without the sheet", "kept"])
@pytest.mark.parametrize("stage", ["export-tasks", "review-export"])
def test_filled_sheets_stay_whatever_the_manifest_says(
    work: Path, capsys: pytest.CaptureFixture[str], manifest: str, stage: str
) -> None:
    assert arc_da("export-tasks", work) == 0
    name = {"export-tasks": "20_tasks/answers_1.csv", "review-export": "50_review/review.csv"}[
        stage
    ]
    sheet = work / name
    sheet.write_text(sheet.read_text(encoding="utf-8").replace("gravity", "filled in by ann") + "x",
                     encoding="utf-8")  # fmt: skip
    filled = sheet.read_bytes()
    path = work / "manifest.json"
    if manifest == "missing":
        path.unlink()
    elif manifest == "without the sheet":
        entries = json.loads(path.read_text(encoding="utf-8"))
        del entries[stage]["outputs"][name]
        path.write_text(json.dumps(entries), encoding="utf-8")
    capsys.readouterr()
    assert arc_da(stage, work) == 2
    assert f"{sheet}: was edited since" in capsys.readouterr().err
    assert sheet.read_bytes() == filled
    assert arc_da(stage, work, "--force") == 0
    assert sheet.read_bytes() != filled


def test_equal_sheets_are_no_obstacle(work: Path) -> None:
    assert arc_da("export-tasks", work) == 0
    (work / "manifest.json").unlink()
    assert arc_da("export-tasks", work) == 0


def test_filled_rating_sheets_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "rating"
    export = ("rate-export", out, RELEASE, "--split", "train", "--gold-system", "--tests", 0)
    assert arc_da(*export) == 0
    sheet = out / "ratings.csv"
    sheet.write_text(sheet.read_text(encoding="utf-8") + "filled\n", encoding="utf-8")
    (out / "key.jsonl").unlink()
    assert arc_da(*export) == 2
    assert "was edited since" in capsys.readouterr().err
    assert sheet.read_text(encoding="utf-8").endswith("filled\n")


# --- the journal's end, the manifest, foreign files


@pytest.mark.parametrize("change", ["cut", "edited", "gone"])
def test_the_end_of_the_journal_is_guarded(
    work: Path, capsys: pytest.CaptureFixture[str], change: str
) -> None:
    assert imported(work, edit(work, KITES)) == 0
    path = work / "60_decisions.jsonl"
    lines = read_lines(path)
    if change == "cut":
        write_lines(path, lines[:-1])
    elif change == "edited":
        write_lines(path, [*lines[:-1], {**lines[-1], "reviewer": "someone else"}])
    else:
        path.unlink()
    capsys.readouterr()
    assert arc_da("status", work) == 2
    assert "was changed since review-import wrote it" in capsys.readouterr().err
    assert imported(work, edit(work, {})) == 2


@pytest.mark.parametrize("text", ["{", "[]", '{"filter": 5}', '{"filter": {"outputs": []}}'])
def test_a_damaged_manifest_is_told(
    work: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    (work / "manifest.json").write_text(text, encoding="utf-8")
    for command in ("status", "screen", "export-tasks"):
        assert arc_da(command, work) == 2
        assert "manifest.json: is damaged" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["00_source.jsonl", "10_filtered.jsonl", "30_crowd.jsonl", "40_screened.jsonl"]
)
@pytest.mark.parametrize("text", ["", "[1]\n", '{"question_id": 5}\n', '{"a": 1}\n', "{}\n", "{"])
def test_foreign_work_files_are_told(
    work: Path, capsys: pytest.CaptureFixture[str], name: str, text: str
) -> None:
    assert imported(work, edit(work, KITES)) == 0
    (work / name).write_text(text, encoding="utf-8")
    readers = {c for c, stage in STAGES.items() if name in stage.reads} & {"screen", "release"}
    capsys.readouterr()
    for command in sorted(readers):
        status = arc_da(command, work)
        assert status == 2 or (not text and name == "30_crowd.jsonl")
        assert status == 0 or name in capsys.readouterr().err
    assert give(work, [said("ARCEZ_Kite_1", "z", "gravity")]) in (0, 2)
    assert arc_da("export-tasks", work) in (0, 2)
    assert arc_da("status", work) in (0, 2)


# --- people


def test_another_key_is_refused(
    work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_lines(tmp_path / "a.jsonl", [said("ARCEZ_Kite_1", "w0", "gravity")])
    other = tmp_path / "other.key"
    other.write_text("another secret\n", encoding="utf-8")
    assert arc_da("import-answers", work, path, "--key-file", other) == 2
    assert "another key made the pseudonyms" in capsys.readouterr().err
    (work / "manifest.json").unlink()
    assert arc_da("import-answers", work, path, "--key-file", other) == 2
    same = tmp_path / "same.key"
    same.write_text("secret\n", encoding="utf-8")
    assert arc_da("import-answers", work, path, "--key-file", same) == 0
    (work / "worker.key").unlink()
    capsys.readouterr()
    assert arc_da("import-answers", work, path) == 2
    assert "the key of the pseudonyms is gone" in capsys.readouterr().err
    assert arc_da("import-answers", work, path, "--key-file", tmp_path) == 2
    assert "is not a file" in capsys.readouterr().err


def test_a_refused_answer_is_still_to_be_given(work: Path, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    assert arc_da("filter", folder, "--arc", ARC) == 0
    assert arc_da("export-tasks", folder, "--people", 2) == 0
    lines = [said("ARCEZ_Kite_2", "a", "a ruler"), said("ARCEZ_Kite_2", "b", "x" * 500)]
    assert give(folder, lines) == 0
    assert arc_da("screen", folder) == 0  # two people, as export-tasks was told
    verdicts = {r["question_id"]: r for r in read_lines(folder / "40_screened.jsonl")}
    assert verdicts["ARCEZ_Kite_2"]["verdict"] == "pending"
    assert verdicts["ARCEZ_Kite_2"]["workers"] == 1
    assert arc_da("export-tasks", folder) == 0
    asked = {row["question_id"] for row in read_table(folder / "20_tasks" / "answers_1.csv")}
    assert "ARCEZ_Kite_2" in asked
    assert not (folder / "20_tasks" / "answers_3.csv").exists()  # still two people
    assert give(folder, [said("ARCEZ_Kite_2", "c", "twine")]) == 0
    assert arc_da("screen", folder) == 0
    verdicts = {r["question_id"]: r for r in read_lines(folder / "40_screened.jsonl")}
    assert verdicts["ARCEZ_Kite_2"]["verdict"] == "fail"


def test_status_tells_people_and_pending(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert arc_da("export-tasks", work, "--people", 4) == 0
    assert arc_da("screen", work) == 0
    capsys.readouterr()
    assert arc_da("status", work) == 0
    text = capsys.readouterr().out
    assert "workers per question: 4" in text
    assert "pending (not removed)" in text
