"""The published baseline's outputs, and its checkpoints as model folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.small_model import GOLD_Q1
from twowiki.cli.main import main as twowiki
from twowiki.errors import DataError
from twowiki.models.convert_baseline import (
    TOLERANCE,
    check_file,
    convert_weights,
    parameter_names,
)
from twowiki.models.modeling_baseline import TwoWikiBaselineForMultihopQA

GOLDEN = Path(__file__).parents[1] / "golden"
FILES = sorted(GOLDEN.glob("baseline_*.safetensors"))


def test_there_are_golden_files() -> None:
    assert len(FILES) == 4


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_outputs_spans_and_losses_equal_the_published_ones(path: Path) -> None:
    differences = check_file(path)
    assert len(differences) == 20
    assert all(difference.passed for difference in differences), differences
    assert all(difference.largest <= TOLERANCE for difference in differences)


@pytest.mark.parametrize(
    "name", ["weights.linear_sp.weight", "output.end_logits", "output.subject_span", "loss.total"]
)
def test_a_changed_number_is_noticed(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = load_file(FILES[0])
    stored[name].view(-1)[0] += 1
    save_file(stored, tmp_path / "changed.safetensors")
    assert twowiki(["convert-baseline", "--check", str(tmp_path / "changed.safetensors")]) == 1
    assert "DIFFERS" in capsys.readouterr().out
    assert twowiki(["convert-baseline", "--check", str(FILES[0])]) == 0


def test_other_files_are_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text.safetensors").write_text("<html>")
    save_file({"a": torch.zeros(1)}, tmp_path / "other.safetensors")
    for name in ("text.safetensors", "other.safetensors", "absent.safetensors"):
        assert twowiki(["convert-baseline", "--check", str(tmp_path / name)]) == 2
        assert name in capsys.readouterr().err


def write_checkpoint(folder: Path) -> Path:
    stored = load_file(FILES[0])
    state = {
        name.removeprefix("weights."): value
        for name, value in stored.items()
        if name.startswith("weights.")
    }
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(state, folder / "model.pt")
    words = ["--NULL--", "--OOV--", "Tavik", "Orrel", *(f"w{n}" for n in range(36))]
    letters = ["--NULL--", "--OOV--", *"TavikOrelDsB'.,nmo"[:18]]
    letters = [*letters[:2], *dict.fromkeys(letters[2:])]
    letters += [chr(0x4E00 + n) for n in range(20 - len(letters))]
    relations = ["--NULL--", "--OOV--", "mother", "place of birth", "spouse"]
    for name, values in (("word", words), ("char", letters), ("relation", relations)):
        index = {value: number for number, value in enumerate(values)}
        (folder / f"{name}2idx.json").write_text(json.dumps(index), encoding="utf-8")
    return folder / "model.pt"


def test_a_checkpoint_becomes_a_folder_that_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("spacy")
    checkpoint = write_checkpoint(tmp_path / "theirs")
    out = tmp_path / "converted"
    assert twowiki(["convert-baseline", str(checkpoint), str(out)]) == 0
    assert "40 words, 5 relations" in capsys.readouterr().out
    model = TwoWikiBaselineForMultihopQA.from_pretrained(out)
    stored = load_file(FILES[0])
    torch.testing.assert_close(
        model.state_dict()["pointers.heads.object_end.weight"],
        stored["weights.linear_object_end.weight"],
    )
    assert model.config.relations[2:] == ["mother", "place of birth", "spouse"]
    assert model.config.splitter == "spacy"
    said = model.predict(GOLD_Q1.question, GOLD_Q1.context)
    assert isinstance(said["answer"], str)


def test_bad_checkpoints_give_one_clear_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = write_checkpoint(tmp_path)
    out = str(tmp_path / "out")
    state = torch.load(checkpoint, weights_only=True)
    del state["linear_sp.bias"]
    torch.save(state, tmp_path / "less.pt")
    torch.save({"a": Path("x")}, tmp_path / "code.pt")
    (tmp_path / "page.pt").write_text("<!DOCTYPE html>")
    for name, said in {
        "less.pt": "lacks 'linear_sp.bias'",
        "code.pt": "state dict",
        "page.pt": "state dict",
        "absent.pt": "no such file",
    }.items():
        assert twowiki(["convert-baseline", str(tmp_path / name), out]) == 2
        error = capsys.readouterr().err
        assert name in error
        assert said in error
    (tmp_path / "word2idx.json").write_text('{"a": 0}')
    assert twowiki(["convert-baseline", str(checkpoint), out]) == 2
    assert "1 names, and the weights have 40 rows" in capsys.readouterr().err
    (tmp_path / "word2idx.json").unlink()
    assert twowiki(["convert-baseline", str(checkpoint), out]) == 2
    assert "--word-index" in capsys.readouterr().err
    assert not Path(out).exists()


def test_a_state_dict_saved_from_several_gpus_is_read_too() -> None:
    stored = load_file(FILES[0])
    state = {
        f"module.{name.removeprefix('weights.')}": value
        for name, value in stored.items()
        if name.startswith("weights.")
    }
    assert convert_weights(state, "x").keys() == parameter_names().keys()
    with pytest.raises(DataError, match="unknown 'extra'"):
        convert_weights({**state, "extra": torch.zeros(1)}, "x")
