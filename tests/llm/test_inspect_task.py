"""The inspect-ai task with a mock model: every figure equals that of `twowiki.score`."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.joint_files import LADY, gold, several, write, write_lines
from twowiki.errors import DataError
from twowiki.llm.outputs import read_llm_outputs
from twowiki.metric.results import METRIC_NAMES
from twowiki.metric.score import score

pytest.importorskip("inspect_ai")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def texts(golds: list[dict[str, Any]], predictions: dict[str, Any]) -> list[str]:
    """What a model may write: JSON, fenced JSON, headings, and nothing to be read."""
    written = []
    for number, record in enumerate(golds):
        name = record["_id"]
        reply = {
            "answer": predictions["answer"][name],
            "supporting_facts": predictions["sp"][name],
            "evidences": predictions["evidence"][name],
        }
        text = json.dumps(reply)
        dress = [text, f"```json\n{text}\n```", f"Answer: {reply['answer']}", "I do not know. " * 9]
        written.append(dress[number % 4])
    return written


def run(folder: Path, golds: list[dict[str, Any]], outputs: list[str], **options: Any) -> Any:
    from inspect_ai import eval as run_task
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    from twowiki.llm.inspect_task import two_wiki

    replies = [ModelOutput.from_content("mockllm/model", text) for text in outputs]
    for reply in replies:
        reply.usage = ModelUsage()  # else tokens are counted by a list from the net
    model = get_model("mockllm/model", custom_outputs=replies)
    (log,) = run_task(
        two_wiki(str(write(folder / "dev.json", golds)), **options),
        model=model,
        log_dir=str(folder / "logs"),
        display="none",
        max_connections=1,
        max_samples=1,
    )
    assert log.status == "success", log.error
    return log


def test_samples_and_means_equal_the_score(tmp_path: Path) -> None:
    golds, predictions = several(8)
    golds[1]["evidences_id"] = [["Q9001", "mother", "Q9002"], ["Q9002", "place of birth", "Q1"]]
    predictions["evidence"]["q1"] = [["Tavik Orrel", "mother", "Lady Dessa"]]
    outputs = texts(golds, predictions)
    names = write_lines(tmp_path / "id_aliases.json", LADY)
    log = run(tmp_path, golds, outputs, aliases=str(names))
    said = read_llm_outputs(
        [{"id": one["_id"], "output": text} for one, text in zip(golds, outputs, strict=True)]
    )
    report = score(said, golds, str(names))
    rows = {row["id"]: row for row in report.per_example()}
    for sample in log.samples:
        (one,) = sample.scores.values()
        row = rows[sample.metadata["gold"]["id"]]
        assert {key: one.value[key] for key in METRIC_NAMES} == {
            key: row[key] for key in METRIC_NAMES
        }
    means = log.results.scores[0].metrics
    for key in METRIC_NAMES:
        assert means[key].value == pytest.approx(report.metrics[key], abs=1e-9)
    for kind, group in report.types.items():
        assert means[f"{kind}_joint_f1"].value == pytest.approx(group.metrics["joint_f1"], abs=1e-9)
    assert means["unread"].value == 2
    assert [sample.id for sample in log.samples] == list(range(1, 9))


def test_a_log_goes_back_to_the_commands(tmp_path: Path) -> None:
    from datasets import load_dataset

    from twowiki.llm.inspect_task import outputs_of

    golds, predictions = several(4)
    outputs = texts(golds, predictions)
    log = run(tmp_path, golds, outputs)
    again = list(outputs_of(log.location))
    assert [one["output"] for one in again] == outputs
    assert score(read_llm_outputs(again), golds).n == 4
    data = load_dataset("eval", data_files=log.location, cache_dir=str(tmp_path / "cache"))
    assert data["train"].num_rows == 4


def test_the_question_is_asked_as_the_prompt_command_asks(tmp_path: Path) -> None:
    from twowiki.data.schema import parse_record
    from twowiki.llm.inspect_task import two_wiki
    from twowiki.llm.prompts import messages_for

    golds, _ = several(5)
    path = str(write(tmp_path / "dev.json", golds))
    train = str(write(tmp_path / "train.json", [gold(_id="shot", answer="Oru", question="Q?")]))
    task = two_wiki(path, form="gold-context", shots=1, shots_from=train, questions=3)
    assert len(task.dataset) == 3
    shot = parse_record(gold(_id="shot", answer="Oru", question="Q?"))
    expected = messages_for(parse_record(golds[2]), "gold-context", [shot])
    said = [{"role": one.role, "content": one.text} for one in task.dataset[2].input]
    assert said == expected
    assert all("q2" not in message["content"] for message in said)
    with pytest.raises(DataError, match="are not asked themselves"):
        two_wiki(path, shots=1, shots_from=path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": "nowhere.json"}, "no such file"),
        ({"shots": 2}, "shots_from"),
        ({"version": 3}, "version.*not one of 1.1"),
        ({"verzion": 1.1}, "unknown setting verzion"),
        ({"form": "open-book"}, "unknown form"),
    ],
)
def test_what_cannot_be_asked_is_said(options: Any, message: str, tmp_path: Path) -> None:
    from twowiki.llm.inspect_task import two_wiki

    given = {"source": str(write(tmp_path / "dev.json", [gold()])), **options}
    with pytest.raises(DataError, match=message) as caught:
        two_wiki(**given)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    hidden = str(write(tmp_path / "test.json", [gold(answer="")]))
    with pytest.raises(DataError, match="no gold answer"):
        two_wiki(hidden)


def test_the_task_is_found_by_its_name(tmp_path: Path) -> None:
    code = """
import sys
from inspect_ai import eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model

reply = ModelOutput.from_content("mockllm/model", "Answer: Brinmoor")
reply.usage = ModelUsage()
model = get_model("mockllm/model", custom_outputs=[reply])
(log,) = eval("twowiki/two_wiki", model=model, task_args={"source": sys.argv[1]}, display="none")
print(log.status, log.results.scores[0].metrics["em"].value)
"""
    path = write(tmp_path / "dev.json", [gold()])
    ran = python(tmp_path, "-c", code, str(path))
    assert ran.stdout.split() == ["success", "100.0"], ran.stdout + ran.stderr


def test_the_command_line_says_in_one_line_what_is_wrong(tmp_path: Path) -> None:
    command = ("eval", "twowiki/two_wiki", "-T", "source=no[b].json", "--model", "mockllm/model")
    ran = python(tmp_path, "-m", "inspect_ai", *command)
    assert ran.returncode == 1
    said = ran.stdout + ran.stderr
    assert "no[b].json: no such file or folder. Check the path" in said
    assert "Traceback" not in said


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "INSPECT_LOG_DIR": str(folder / "logs")},
        capture_output=True,
        text=True,
        timeout=400,
    )
