"""Multiple choice with text models: by generated text and by likelihood."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from tests.arc_da_files import ARC, read_lines, write_lines
from tests.text2text.test_predict_text import predict, save_model
from twowiki.arc_da.schema import Choice, MultipleChoice
from twowiki.text2text.arc_da_format import Format
from twowiki.text2text.chat_format import write_text_format
from twowiki.text2text.likelihood import sum_likelihoods
from twowiki.text2text.multiple_choice import _record
from twowiki.text2text.prediction import LoadOptions, TextGenerator, load_generator


@pytest.fixture(scope="module", params=["tiny-causal", "tiny-t5"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("choices") / request.param, request.param)


@pytest.fixture(scope="module")
def generator(model: Path) -> TextGenerator:
    return load_generator(str(model), LoadOptions(device="cpu"))


def by_hand(generator: TextGenerator, source: str, text: str) -> float:
    """The sum of log probabilities, one row and one token at a time."""
    tokenizer, total = generator.codec.tokenizer, 0.0
    with torch.no_grad():
        if generator.codec.kind == "seq2seq":
            ids = torch.tensor([tokenizer(source)["input_ids"]])
            before = [generator.model.config.decoder_start_token_id]
            for token in generator.codec.target_ids(text):
                logits = generator.model(input_ids=ids, decoder_input_ids=torch.tensor([before]))
                total += float(logits.logits[0, -1].log_softmax(-1)[token])
                before.append(token)
            return total
        whole = tokenizer(source + text)["input_ids"]
        for place in range(len(tokenizer(source)["input_ids"]), len(whole)):
            logits = generator.model(input_ids=torch.tensor([whole[:place]])).logits
            total += float(logits[0, -1].log_softmax(-1)[whole[place]])
    return total


def test_likelihoods_are_those_of_single_tokens(
    generator: TextGenerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [("What melts ice?\nAnswer:", " heat"), ("What?", " a long cold wind"), ("Why?", " no")]
    found = sum_likelihoods(generator, rows, batch_size=2)
    assert found == pytest.approx([by_hand(generator, *row) for row in rows], abs=1e-4)
    assert sum_likelihoods(generator, []) == []
    real, sizes = type(generator.model).forward, []

    def scarce(self: object, **inputs: torch.Tensor) -> object:
        sizes.append(len(inputs["input_ids"]))
        if sizes[-1] > 1:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return real(self, **inputs)

    monkeypatch.setattr(type(generator.model), "forward", scarce)
    assert sum_likelihoods(generator, rows) == pytest.approx(found, abs=1e-4)
    assert sizes[0] == 3


def test_a_long_option_wins_by_character_alone() -> None:
    choices = (Choice("A", "ice"), Choice("B", "a long wind"))
    record = _record(MultipleChoice("q", "Why?", choices, "B"), [-3.0, -4.0])
    assert (record["acc"], record["acc_norm"]) == ("A", "B")
    assert record["likelihoods"] == {"A": -3.0, "B": -4.0}


def test_multiple_choice_by_text_and_by_likelihood(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.jsonl"
    assert predict(model, ARC, out, "--split", "dev", task="arc_mc") == 0
    printed = capsys.readouterr()
    assert "arc_mc|method:unifiedqa|missing:0|n:" in printed.out
    count = len(read_lines(out))
    assert f"{count} questions of multiple choice" in printed.err

    likely = tmp_path / "likely.json"
    flags = ("--choose-by", "likelihood", "--split", "dev")
    assert predict(model, ARC, likely, *flags, task="arc_mc") == 0
    text = capsys.readouterr().out
    assert "method:likelihood:acc|" in text
    assert "method:likelihood:acc_norm|" in text
    first = json.loads(likely.read_text(encoding="utf-8"))
    journal = Path(f"{likely}.outputs.jsonl")
    lines = journal.read_text(encoding="utf-8").splitlines()
    assert len(lines) == count + 1
    journal.write_text("\n".join(lines[:2]) + "\n", encoding="utf-8")  # cut off
    likely.unlink()
    assert predict(model, ARC, likely, *flags, task="arc_mc") == 0
    assert json.loads(likely.read_text(encoding="utf-8")) == first
    assert journal.read_text(encoding="utf-8").splitlines() == lines


def test_only_the_originals_of_a_set_of_questions(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    some = write_lines(
        tmp_path / "some.jsonl",
        [{"question_id": "ARCEZ_Kite_1", "question": "Why?", "answers": ["gravity"]}],
    )
    out = tmp_path / "out.json"
    assert predict(model, ARC, out, "--ids-of", some, task="arc_mc") == 0
    assert list(json.loads(out.read_text(encoding="utf-8"))) == ["ARCEZ_Kite_1"]
    write_lines(some, [{"question_id": "ARCEZ_Nowhere", "question": "Why?", "answers": ["a"]}])
    capsys.readouterr()
    assert predict(model, ARC, out, "--ids-of", some, task="arc_mc") == 2
    assert "lacks 1 of the questions" in capsys.readouterr().err
    assert predict(model, ARC, out, "--shots", 1, "--shots-from", some, task="arc_mc") == 2
    assert "takes no demonstrations" in capsys.readouterr().err


def test_options_may_help_to_retrieve_for_multiple_choice(model: Path, tmp_path: Path) -> None:
    told = {"question_id": "ARCEZ_Kite_1", "query": "question_options", "sentences": ["Ice is."]}
    contexts = write_lines(tmp_path / "told.jsonl", [told])
    out = tmp_path / "out.json"
    assert predict(model, ARC, out, "--contexts", contexts, task="arc_mc") == 0
    records = {one["id"]: one for one in read_lines(Path(f"{out}.outputs.jsonl"))[1:]}
    assert "Facts that may help: Ice is.\n" in records["ARCEZ_Kite_1"]["prompt"]
    write_lines(contexts, [told | {"question_id": "ARCEZ_Nowhere"}])
    assert predict(model, ARC, out, "--contexts", contexts, task="arc_mc") == 2


@pytest.mark.parametrize("target", ["text", "label", "label_text"])
def test_a_trained_model_is_asked_in_its_format(
    target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = save_model(tmp_path / "trained", "tiny-t5")
    form = Format("arcda", target)
    write_text_format(folder, {"task": "arc_da", **form._asdict(), "max_source_length": 512})
    out = tmp_path / "out.jsonl"
    assert predict(folder, ARC, out, task="arc_mc") == 0
    method = "unifiedqa" if target == "text" else "label"
    assert f"method:{method}|" in capsys.readouterr().out
    (first, *_) = read_lines(Path(f"{out}.outputs.jsonl"))[1:]
    assert "$mcoptions$ = (A)" in first["prompt"]
    assert predict(folder, ARC, out, "--choose-by", "likelihood", "--restart", task="arc_mc") == 0


def test_hidden_keys_have_no_accuracy(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [{"text": "ice", "label": "A"}, {"text": "fire", "label": "B"}]
    blind = [{"id": "q1", "question": {"stem": "What is cold?", "choices": options}}]
    data = write_lines(tmp_path / "blind.jsonl", blind)
    assert predict(model, data, tmp_path / "out.json", task="arc_mc") == 0
    assert "no right option is known" in capsys.readouterr().err
