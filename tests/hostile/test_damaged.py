"""A damaged model, checkpoint or index ends in one sentence that names the file."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.hub.folders import data_folder
from twowiki import load_model
from twowiki.arc_da.conversion.workspace import Workspace
from twowiki.cli.main import main
from twowiki.errors import DataError
from twowiki.io.journal import Journal
from twowiki.io.ownership import MARK, OwnedFolder
from twowiki.io.stages import MANIFEST, run_stage
from twowiki.retrieval.corpora import SentenceCorpus
from twowiki.retrieval.index import IndexSettings, SentenceIndex, build_index, read_manifest

SAVED = Path(__file__).parents[1] / "compat"
WEIGHTS = "model.safetensors"
PARTS = ("config.json", WEIGHTS, "tokenizer.json", "tokenizer_config.json")


def model_copy(kind: str, folder: Path) -> Path:
    folder.mkdir()
    for name in PARTS:
        if (SAVED / kind / name).is_file():
            shutil.copyfile(SAVED / kind / name, folder / name)
    return folder


def with_weights(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        weights = load_file(folder / WEIGHTS)
        change(weights)
        save_file(weights, folder / WEIGHTS, metadata={"format": "pt"})

    return damage


def with_config(**values: Any) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | values))

    return damage


WORLD = Path(__file__).parents[1] / "data" / "world"


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def drop_first(weights: dict[str, Any]) -> None:
    del weights[min(weights)]


def spoil_first(weights: dict[str, Any]) -> None:
    weights[min(weights)].view(-1)[0] = float("nan")


def spoil_all(weights: dict[str, Any]) -> None:
    for value in weights.values():
        value.fill_(float("nan"))


WEIGHT_FAULTS = {
    "lacks a weight": (with_weights(drop_first), "weights are missing"),
    "one NaN": (with_weights(spoil_first), "holds NaN"),
    "all NaN": (with_weights(spoil_all), "holds NaN"),
}
FAULTS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "cut weights": (lambda folder: cut(folder / WEIGHTS), f"{WEIGHTS}: cannot be loaded"),
    "no weights": (lambda folder: (folder / WEIGHTS).unlink(), "cannot be loaded"),
    "a pickle": (
        lambda folder: (folder / WEIGHTS).write_bytes(pickle.dumps({"a": 1})),
        f"{WEIGHTS}: cannot be loaded",
    ),
    "no tokenizer": (
        lambda folder: [(folder / name).unlink() for name in PARTS[2:]],
        "tokenizer.json: no such file",
    ),
    "an empty tokenizer": (
        lambda folder: (folder / "tokenizer.json").write_text("{}"),
        "tokenizer.json: is damaged",
    ),
    "config is a list": (
        lambda folder: (folder / "config.json").write_text("[]"),
        "config.json: cannot be loaded",
    ),
    "cut config": (lambda folder: cut(folder / "config.json"), "config.json: cannot be loaded"),
    "text for a number": (with_config(hidden_size="x"), "config.json: cannot be loaded"),
    "number for a list": (with_config(relations=5), "config.json: cannot be loaded"),
} | WEIGHT_FAULTS


def cases() -> list[Any]:
    return [
        pytest.param(kind, fault, id=f"{kind}, {fault}")
        for kind in ("baseline", "encoder")
        for fault in FAULTS
        if not (kind == "encoder" and fault == "text for a number")
    ]


@pytest.mark.parametrize(("kind", "fault"), cases())
def test_a_damaged_model_is_named(tmp_path: Path, kind: str, fault: str):
    folder = model_copy(kind, tmp_path / "model")
    damage, words = FAULTS[fault]
    damage(folder)
    with pytest.raises(DataError, match=words) as raised:
        load_model(folder)
    assert str(folder) in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("fault", WEIGHT_FAULTS)
def test_what_is_missing_can_be_allowed(tmp_path: Path, fault: str):
    folder = model_copy("baseline", tmp_path / "model")
    WEIGHT_FAULTS[fault][0](folder)
    assert load_model(folder, allow_missing=True).config.model_type == "twowiki_baseline"


@pytest.mark.parametrize("fault", ["lacks a weight", "cut weights", "an empty tokenizer"])
def test_predict_ends_in_one_sentence(
    tmp_path: Path, fault: str, capsys: pytest.CaptureFixture[str]
):
    folder = model_copy("baseline", tmp_path / "model")
    FAULTS[fault][0](folder)
    record = {"_id": "a", "question": "Who?", "answer": "Oru", "type": "inference",
              "context": [["Oru", ["Oru is."]]], "supporting_facts": [["Oru", 0]],
              "evidences": []}  # fmt: skip
    (tmp_path / "dev.json").write_text(json.dumps([record]))
    files = [str(tmp_path / "dev.json"), str(tmp_path / "out.json")]
    capsys.readouterr()
    assert main(["predict", str(folder), *files]) == 2
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert last.startswith(f"twowiki predict: {folder}")
    assert not (tmp_path / "out.json").exists()
    if fault == "lacks a weight":
        assert main(["predict", "--allow-missing", str(folder), *files]) == 0


JUNK: dict[str, Callable[[Path], Any]] = {
    "letters": lambda path: path.write_bytes(b"abc" * 100),
    "nothing": lambda path: path.write_bytes(b""),
    "numbers for names": lambda path: torch.save({1: torch.zeros(2)}, path),
    "a list": lambda path: torch.save([torch.zeros(2)], path),
    "a pickle": lambda path: path.write_bytes(pickle.dumps({"a": 1})),
}


@pytest.mark.parametrize("junk", JUNK)
def test_junk_is_no_checkpoint(tmp_path: Path, junk: str, capsys: pytest.CaptureFixture[str]):
    checkpoint = tmp_path / "model.pt"
    JUNK[junk](checkpoint)
    indexes = [str(tmp_path / name) for name in ("words", "characters", "relations")]
    for index in indexes:
        Path(index).write_text("{}")
    names = ("--word_index", "--char_index", "--relation_index")
    flags = [part for pair in zip(names, indexes, strict=True) for part in pair]
    code = main(["convert-baseline", str(checkpoint), str(tmp_path / "out"), *flags])
    error = capsys.readouterr().err
    assert code == 2
    assert str(checkpoint) in error
    assert error.count("\n") == 1


@pytest.fixture(scope="module", params=["bm25s", "tantivy"])
def index_folder(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    folder = tmp_path_factory.mktemp("index")
    words = [f"word{number} lake river city{number % 7} and more" for number in range(400)]
    (folder / "corpus.txt").write_text("".join(f"The {text}.\n" for text in words))
    corpus = SentenceCorpus([folder / "corpus.txt"])
    build_index(corpus, folder / "index", IndexSettings(engine=request.param))
    return folder / "index"


def test_every_cut_file_of_an_index_is_named(tmp_path: Path, index_folder: Path):
    errors = []
    for path in sorted(file for file in index_folder.rglob("*.*") if file.is_file()):
        name = path.relative_to(index_folder)
        if not path.stat().st_size:
            continue
        folder = tmp_path / str(name).replace("/", "-")
        shutil.copytree(index_folder, folder)
        cut(folder / name)
        try:
            with closing(SentenceIndex(folder)) as index:
                index.search(["lake river"], 5)
        except DataError as error:
            errors.append((str(folder / name), str(error)))
    assert len(errors) >= 7
    assert [error for name, error in errors if name not in error or "\n" in error] == []


def test_an_index_without_its_list_of_files_is_refused(tmp_path: Path, index_folder: Path):
    folder = Path(shutil.copytree(index_folder, tmp_path / "index"))
    if not (folder / "tantivy").is_dir():
        pytest.skip("the engine has no list of files")
    (folder / "tantivy" / "meta.json").unlink()
    with pytest.raises(DataError, match="tantivy: holds 0 of 400 entries"):
        SentenceIndex(folder)


def test_pipes_in_folders_of_ours_are_refused(
    tmp_path: Path, index_folder: Path, capsys: pytest.CaptureFixture[str]
):
    index = Path(shutil.copytree(index_folder, tmp_path / "index"))
    os.mkfifo(index / "pipe.json")
    with pytest.raises(DataError, match="pipe.json: is a pipe or a device"):
        SentenceIndex(index)
    for name, argv in (
        ("run", ["verify", "run", "run"]),
        ("run", ["explain", "x", "--run", "run"]),
        ("space", ["push", "demo", "space", "owner/name", "--dry-run"]),
        ("work", ["arc-da", "convert", "status", "work"]),
    ):
        (tmp_path / name).mkdir(exist_ok=True)
        if not (tmp_path / name / "README.md").exists():
            os.mkfifo(tmp_path / name / "README.md")
        assert main([str(tmp_path / word) if word == name else word for word in argv]) == 2
        assert "README.md" in capsys.readouterr().err


def test_a_pipe_among_the_shards_is_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = data_folder(tmp_path / "data")
    shard = next(folder.rglob("validation-*.parquet"))
    shard.unlink()
    os.mkfifo(shard)
    assert main(["push", "dataset", str(folder), "owner/name", "--dry-run"]) == 2
    assert "the card has other splits of 'data' than its files" in capsys.readouterr().err


def test_damaged_tables_of_a_run_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    argv = ["generate", "--wikidata", WORLD / "wikidata.json", "--paragraphs"]
    argv += [WORLD / "paragraphs.jsonl", "--limit-per-type", 3, "--workers", 1]
    for name in ("one", "two"):
        assert main([str(word) for word in [*argv, "--out", tmp_path / name]]) == 0
    both = ["verify", str(tmp_path / "one"), str(tmp_path / "two")]
    assert main(both) == 0
    table = next((tmp_path / "two" / "work").rglob("*.parquet"))
    for text in ("", "x" * 1000):
        table.write_text(text)
        capsys.readouterr()
        assert main(both) == 2
        assert f"{table}: is damaged" in capsys.readouterr().err
    (tmp_path / "one" / "dev.json").write_text("{")
    assert main(["explain", "--run", str(tmp_path / "one"), "--against", str(table)]) == 2
    assert "unexpected" not in capsys.readouterr().err


def test_deeply_nested_files_of_ours_are_damaged_files(tmp_path: Path) -> None:
    deep = "[" * 100_000
    for name in (MARK, MANIFEST, "manifest.json"):
        (tmp_path / name).write_text(deep, encoding="utf-8")
    with pytest.raises(DataError, match="is not a mark"):
        OwnedFolder(tmp_path).mark()
    with pytest.raises(DataError, match="is not the manifest of an index"):
        read_manifest(tmp_path)
    with pytest.raises(DataError, match=r"manifest\.json: is damaged"):
        Workspace(tmp_path).manifest()
    (tmp_path / "journal").write_text(deep + "\n", encoding="utf-8")
    with pytest.raises(DataError, match="is not a journal"):
        Journal(tmp_path / "journal", {}, key="part")
    assert run_stage(tmp_path / "stage", "key", lambda folder: {"n": 1}, quiet=True) == {"n": 1}
    (tmp_path / "stage" / MANIFEST).write_text(deep, encoding="utf-8")
    assert run_stage(tmp_path / "stage", "key", lambda folder: {"n": 2}, quiet=True) == {"n": 2}
