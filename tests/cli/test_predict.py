"""`twowiki predict`: official files in, the official prediction file out, resumable."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.small_model import examples, model_and_windows, setting
from twowiki.cli.main import main
from twowiki.data.schema import to_official
from twowiki.io.ownership import open_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    model, _ = model_and_windows(setting())
    model.save_pretrained(tmp_path / "model")
    model.answer_tokenizer.save_pretrained(tmp_path / "model")
    records = [to_official(example, config="data") for example in examples()[:5]]
    (tmp_path / "dev.json").write_text(json.dumps(records), encoding="utf-8")
    return tmp_path


def predict(folder: Path, name: str, *flags: str) -> int:
    return main(
        ["predict", str(folder / "model"), str(folder / name), str(folder / "out.json"), *flags]
    )


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_file_is_official_and_does_not_depend_on_parts_or_batches(folder: Path) -> None:
    assert predict(folder, "dev.json", "--scores", str(folder / "scores.jsonl")) == 0
    whole = read(folder / "out.json")
    assert set(whole) == {"answer", "sp", "evidence"}
    assert list(whole["answer"]) == [example.id for example in examples()[:5]]
    assert predict(folder, "dev.json", "--part", "2", "--batch-size", "1") == 0
    assert read(folder / "out.json") == whole
    assert not (folder / "out.json.parts").exists()
    lines = (folder / "scores.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["id"] for line in lines] == list(whole["answer"])
    record = {"run": "abc", "step": 7, "identity": {}}
    (folder / "model" / "run.json").write_text(json.dumps(record), encoding="utf-8")
    assert predict(folder, "dev.json") == 0
    assert read(folder / "out.json") == {**whole, "made_by": {"run": "abc", "step": 7}}


def test_any_text_that_a_file_may_hold_comes_out(folder: Path) -> None:
    records = read(folder / "dev.json")
    records[0]["_id"] = 'an "id" \u2028 of \U0001d4d0'
    records[0]["context"][0][1][0] = "\u0000 and \u2028 stand here."
    (folder / "dev.json").write_text(json.dumps(records), encoding="utf-8")
    assert predict(folder, "dev.json", "--scores", str(folder / "scores.jsonl")) == 0
    assert records[0]["_id"] in read(folder / "out.json")["evidence"]


def test_a_run_that_broke_off_goes_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from twowiki.models.modeling_baseline import TwoWikiBaselineForMultihopQA as Model

    answer, calls = Model.answer, []

    def counted(self: Any, given: Any, **options: Any) -> Any:
        calls.append([example.id for example in given])
        if len(calls) == 2:
            raise KeyboardInterrupt
        return answer(self, given, **options)

    monkeypatch.setattr(Model, "answer", counted)
    assert predict(folder, "dev.json", "--part", "2") == 130
    assert not (folder / "out.json").exists()
    assert predict(folder, "dev.json", "--part", "2") == 0
    ids = [example.id for example in examples()[:5]]
    assert calls == [ids[:2], ids[2:4], ids[2:4], ids[4:]]
    assert sorted(read(folder / "out.json")["answer"]) == sorted(ids)


def test_parts_of_another_run_are_refused_and_files_of_others_stay(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = folder / "out.json.parts"
    with open_folder(parts, "predict", {}) as owned:
        owned.claim("run.jsonl", "0.json")
    (parts / "run.jsonl").write_text('{"run": {"part": 7}}\n{"part": "0"}\n', encoding="utf-8")
    (parts / "0.json").write_text('[{"id": "stale"}]', encoding="utf-8")
    (parts / "1.json").write_text("mine", encoding="utf-8")
    assert predict(folder, "dev.json") == 2
    assert "belongs to another run" in capsys.readouterr().err
    assert (parts / "0.json").exists()
    assert predict(folder, "dev.json", "--part", "2", "--restart") == 2
    assert "1.json: exists, and this run did not write it" in capsys.readouterr().err
    assert predict(folder, "dev.json", "--restart") == 0
    assert "stale" not in read(folder / "out.json")["answer"]
    assert os.listdir(parts) == ["1.json"]
    with open_folder(parts, "predict", {}, beside=True):
        assert predict(folder, "dev.json") == 2
    assert "another process is working in this folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"), [("[]", "no examples"), ('[{"_id": "a"', "truncated"), ("<html>", "dev.json")]
)
def test_files_that_cannot_be_predicted_are_named_and_leave_nothing(
    text: str, said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "dev.json").write_text(text, encoding="utf-8")
    assert predict(folder, "dev.json") == 2
    assert said in capsys.readouterr().err
    assert not (folder / "out.json").exists()
    assert not (folder / "out.json.parts").exists()


def test_what_to_predict_is_looked_for_before_the_model_is_loaded(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["predict", str(folder), str(folder / "none.json"), str(folder / "o.json")]) == 2
    said = capsys.readouterr().err
    assert "none.json" in said
    assert "no saved model" not in said


def test_a_folder_without_a_model_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["predict", str(folder), str(folder / "dev.json"), str(folder / "o.json")]) == 2
    assert "no saved model" in capsys.readouterr().err
