"""Whatever fails ends as one sentence: unexpected errors, signals, halves of characters."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from twowiki import train
from twowiki.cli.main import command_class, main
from twowiki.io.failures import run_guarded
from twowiki.llm.parsing import parse_llm_output

DATA = Path(__file__).parents[1] / "data" / "two_wiki.json"
HALF = "\ud800"


def failing(error: BaseException) -> Any:
    def run(self: object) -> int:
        raise error

    return run


def test_an_unexpected_error_is_one_sentence_with_a_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.delenv("TWOWIKI_TRACEBACK", raising=False)
    monkeypatch.setattr(command_class(["stats"]), "run", failing(KeyError("a\nb" * 500)))
    assert main(["stats", "x"]) == 2
    line = capsys.readouterr().err
    assert len(line.splitlines()) == 1
    assert line.startswith("twowiki stats: unexpected KeyError: ")
    log = next(tmp_path.glob("twowiki-*.log"))
    assert str(log) in line
    assert "Traceback" in log.read_text(encoding="utf-8")


def test_the_traceback_on_demand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(command_class(["stats"]), "run", failing(KeyError("a")))
    assert main(["stats", "--traceback", "x"]) == 2
    assert "Traceback" in capsys.readouterr().err
    monkeypatch.setenv("TWOWIKI_TRACEBACK", "1")
    assert main(["stats", "x"]) == 2
    assert "Traceback" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(28, "No space left on device", "r.json"), "Make room"),
        (MemoryError(), "out of memory"),
        (RuntimeError(), "no message"),
    ],
)
def test_training_names_what_went_wrong(
    error: Exception, words: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(train, "read_settings", failing(error))
    assert train.main([]) == 2
    line = capsys.readouterr().err
    assert words in line
    assert len(line.splitlines()) == 1


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Undo what `nohup` or a background job sets: processes that ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


SCRIPT = """
import sys, time
from twowiki.io.failures import run_guarded

def work(argv):
    print("ready", flush=True)
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        if argv:
            raise RuntimeError("Query interrupted") from None
        raise

sys.exit(run_guarded(lambda: "twowiki x", work, sys.argv[1:]))
"""


@pytest.mark.parametrize("inside", [[], ["library"]])
@pytest.mark.parametrize(
    ("number", "code", "word"),
    [(signal.SIGINT, 130, "stopped"), (signal.SIGTERM, 143, "terminated")],
)
def test_signals_end_in_one_line(
    inside: list[str], number: signal.Signals, code: int, word: str
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *inside],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == code
    assert errors == f"twowiki x: {word}\n"


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("seconds", [1.5, 4.0])
def test_generate_stops_in_one_line(number: int, seconds: float, tmp_path: Path) -> None:
    command = [
        *(sys.executable, "-m", "twowiki", "generate", "--world", "people=3000,films=3000"),
        *("--workers", "2", "--out", str(tmp_path / "out")),
    ]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, start_new_session=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    time.sleep(seconds)
    os.killpg(process.pid, number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode in (130, 143, -number)
    assert "Traceback" not in errors


def test_handlers_are_restored() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    assert run_guarded(lambda: "x", lambda argv: 3, []) == 3
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


@pytest.mark.parametrize("name", ["context", "evidences", "entity_ids", "supporting_facts"])
def test_half_a_character_in_a_mirrors_json_text(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = json.loads(DATA.read_text(encoding="utf-8"))[0]
    values = {
        "context": [[HALF, ["a"]]],
        "evidences": [[HALF, "r", "o"]],
        "entity_ids": [HALF],
        "supporting_facts": [[HALF, 0]],
    }
    record[name] = json.dumps(values[name])
    source = tmp_path / "dev.jsonl"
    source.write_text(json.dumps(record) + "\n", encoding="utf-8")
    assert main(["export", str(source), str(tmp_path / "out")]) == 2
    line = capsys.readouterr().err
    assert "half a character" in line
    assert name in line
    assert len(line.splitlines()) == 1
    main(["validate", str(source)])
    assert "unreadable_record" in capsys.readouterr().out


def test_half_a_character_in_predictions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gold = json.loads(DATA.read_text(encoding="utf-8"))
    first = gold[0]["_id"]
    content = {"answer": {first: HALF, HALF: HALF}, "sp": {first: [[HALF, 0]]},
               "evidence": {first: [[HALF, HALF, HALF]]}}  # fmt: skip
    predictions, output = tmp_path / "p.json", tmp_path / "r.json"
    predictions.write_text(json.dumps(content), encoding="utf-8")
    common = ["score", str(predictions), str(DATA), "--output", str(output)]
    assert main([*common, "--per-example", str(tmp_path / "e.jsonl")]) in (0, 2)
    assert "unexpected" not in capsys.readouterr().err
    submission = tmp_path / "s.json"
    assert main(["submission", str(predictions), str(DATA), str(submission)]) in (0, 2)
    assert "unexpected" not in capsys.readouterr().err
    page = ["report", str(predictions), str(DATA), str(tmp_path / "r.html")]
    assert main(page) in (0, 2)
    assert "unexpected" not in capsys.readouterr().err


def test_a_folder_whose_name_is_not_utf8(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("the file system has UTF-8 names only")
    (folder / "dev.json").write_bytes(DATA.read_bytes())
    for argv in (
        ["export", str(folder), str(tmp_path / "out")],
        ["export", str(DATA), str(folder / "out")],
        ["score", str(folder / "dev.json"), str(folder / "dev.json")],
        ["validate", str(folder), "--output", str(tmp_path / "v.json")],
        ["stats", str(folder), "--output", str(folder / "s.json")],
    ):
        assert main(argv) in (0, 1, 2)
        assert "unexpected" not in capsys.readouterr().err, argv


LONG = "0x" + "f" * 5000
TEXTS = (
    f'{{"answer": {LONG},}}',
    f"{{'supporting_facts': [['A', {LONG}]], 'answer': 'x'}}",
    f"{{'evidences': [['A', 'r', {LONG}]]}}",
    f"{{{LONG}: 1, 'answer': 'x'}}",
    '{"answer": ' + "[" * 900 + "]" * 900 + "}",
    "Supporting facts: " + "[" * 900 + "]" * 900,
    '{"answer": ' + "9" * 5000 + "}",
)


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_texts_of_models_never_raise(text: str) -> None:
    parsed = parse_llm_output(text)
    json.dumps(parsed)
    parse_llm_output({"answer": [int(LONG, 16)], "evidences": [["a", "b", int(LONG, 16)]]})


def test_one_odd_text_does_not_end_the_scoring(tmp_path: Path) -> None:
    first = json.loads(DATA.read_text(encoding="utf-8"))[0]["_id"]
    texts = tmp_path / "texts.jsonl"
    texts.write_text(json.dumps({"id": first, "output": TEXTS[0]}) + "\n", encoding="utf-8")
    assert main(["score", "--from-llm", str(texts), str(DATA)]) == 0
