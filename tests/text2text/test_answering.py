"""One question at a time: `twowiki.load_model` of models that answer in text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import twowiki
from tests.arc_da_files import RELEASE, arc_da, read_lines, write_lines
from tests.text2text.test_predict_text import predict, save_model
from twowiki.errors import DataError
from twowiki.text2text.arc_da_format import Format
from twowiki.text2text.chat_format import write_text_format


def trained(folder: Path, **form: Any) -> Path:
    """A random model in the folder of a run, with the format of a training."""
    save_model(folder / "best", "tiny-t5")
    content = {"task": "arc_da", **Format()._asdict(), "max_source_length": 512, **form}
    write_text_format(folder / "best", {**content, "max_new_tokens": 4, "num_beams": 1})
    (folder / "config.json").write_text("{}", encoding="utf-8")
    return folder


def test_one_science_question(tmp_path: Path) -> None:
    run = trained(tmp_path / "run")
    found = twowiki.load_model(run).predict("What melts ice?")
    assert set(found) == {"answer", "output", "sentences"}
    data = write_lines(
        tmp_path / "one.jsonl",
        [{"question_id": "q", "question": "What melts ice?", "answers": ["heat"]}],
    )
    assert predict(run / "best", data, tmp_path / "out.json") == 0
    assert json.loads((tmp_path / "out.json").read_text("utf-8")) == {"q": found["answer"]}
    with_context = twowiki.load_model(run).predict("What melts ice?", ["Heat does."])
    assert with_context["sentences"] == ["Heat does."]


def test_a_model_that_was_trained_with_sentences_takes_them_from_an_index(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = trained(tmp_path / "run", sentences=2)
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("Heat melts ice fast.\nThe wind is cold.\nIce is water.\n", "utf-8")
    assert arc_da("index", corpus, tmp_path / "index") == 0
    model = twowiki.load_model(run, index=tmp_path / "index")
    shown = model.predict("What melts ice?")["sentences"]
    assert shown == ["Heat melts ice fast.", "Ice is water."]
    (tmp_path / "index" / "manifest.json").unlink()  # it is opened once
    assert model.predict("What melts ice?")["sentences"] == shown
    with pytest.warns(UserWarning, match="trained with 2 sentences"):
        assert twowiki.load_model(run).predict("What melts ice?")["sentences"] == []
    capsys.readouterr()
    assert predict(run / "best", RELEASE / "dev.jsonl", tmp_path / "out.json") == 0
    assert "note: the model was trained with 2 sentences" in capsys.readouterr().err


def test_a_multihop_text_model_answers_from_paragraphs(tmp_path: Path) -> None:
    run = trained(tmp_path / "run", task="two_wiki")
    model = twowiki.load_model(run)
    found = model.predict("Who?", {"Oru": "Oru is a town. It is small."})
    assert set(found) == {"answer", "sp", "evidence", "output", "sentences"}
    assert found["sentences"] == ["Oru is a town.", " It is small."]
    with pytest.raises(ValueError, match="predict\\(question, paragraphs\\)"):
        model.predict("Who?")


def test_what_cannot_be_asked_is_refused(tmp_path: Path) -> None:
    model = twowiki.load_model(trained(tmp_path / "run", max_source_length=9))
    for question in ("", "  ", None, 3):
        with pytest.raises(ValueError, match="must be a text"):
            model.predict(question)
    with pytest.raises(ValueError, match="more than the 9 tokens"):
        model.predict("Why " * 30)
    with pytest.raises(ValueError, match="list of sentences"):
        model.predict("Why?", "one text")
    with pytest.raises(DataError, match="is no text model"):
        twowiki.load_model("owner/name", index=tmp_path)


def test_what_a_model_was_trained_on_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, dev = trained(tmp_path / "run"), RELEASE / "dev.jsonl"
    ids = [one["question_id"] for one in read_lines(dev)]
    record = {"ids": [ids[0].partition("_")[2]], "texts": []}
    (run / "best" / "training_questions.json").write_text(json.dumps(record), "utf-8")
    assert predict(run / "best", dev, tmp_path / "out.json") == 0
    line = f"trained on: 1 of these {len(ids)} questions (first: {ids[0]})"
    assert line in capsys.readouterr().err
    out = tmp_path / "report.json"
    flags = ("--trained", run, "--resamples", 10, "--out", out)
    assert arc_da("score", tmp_path / "out.json", dev, *flags) == 0
    assert json.loads(out.read_text("utf-8"))["trained_on"] == ids[:1]
    assert arc_da("score", tmp_path / "out.json", dev, "--trained", tmp_path) == 2
    assert "no record of its training questions" in capsys.readouterr().err
