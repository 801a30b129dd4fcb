"""Raw outputs on ARC-DA: read by the parser of 2WikiMultiHopQA, counted, scored by the command."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.arc_da_files import write_lines
from tests.llm.output_forms import ANSWER_ONLY, answer_only
from twowiki.arc_da.metric.report import mean_metrics, score_system
from twowiki.arc_da.sources import read_gold_questions
from twowiki.cli.main import main
from twowiki.errors import DataError
from twowiki.llm.outputs import read_science_outputs
from twowiki.llm.prompts import shortest_answer

ARC_DA = Path(os.environ.get("TWOWIKI_SHARED", "nowhere")) / "data" / "arc_da"
TEXTS = ["<answer>heat</answer>", '{"answer": "heat"}', "A: heat", "heat", "<think>heat"]


@pytest.mark.parametrize("form", ANSWER_ONLY)
@pytest.mark.skipif(not ARC_DA.is_dir(), reason="TWOWIKI_SHARED is not set")
def test_real_answers_in_any_form_are_read(form: str) -> None:
    questions = dict(read_gold_questions(str(ARC_DA), split="validation"))
    outputs = [
        {"id": name, "output": answer_only(form, shortest_answer(question))}
        for name, question in list(questions.items())[:60]
        if shortest_answer(question) != "correct"  # "the answer is correct" names none
    ]
    kept = {one["id"]: questions[one["id"]] for one in outputs}
    answers, _ = read_science_outputs(outputs, kept)
    assert mean_metrics(score_system(kept, answers))["f1"] > 99.9  # a gold answer is a sign alone


def test_the_command_reads_raw_outputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold = write_lines(
        tmp_path / "dev.jsonl",
        [{"question_id": f"q{n}", "question": f"What {n}?", "answers": ["heat"]} for n in range(5)],
    )
    outputs = write_lines(
        tmp_path / "outputs.jsonl",
        [{"question_id": f"q{n}", "output": text} for n, text in enumerate(TEXTS)],
    )
    assert main(["arc-da", "score", "--from-llm", str(outputs), str(gold)]) == 0
    out, err = capsys.readouterr()
    assert "80.00" in out
    assert "5 model outputs: 3 with a marked answer, 1 without any answer" in err
    with pytest.raises(DataError, match="1 outputs for questions that the gold does not have: q9"):
        read_science_outputs([{"id": "q9", "output": "x"}], ["q1"])
