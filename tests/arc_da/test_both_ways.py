"""Multiple choice beside direct answers: four outcomes, and a page of the questions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.arc_da_files import ARC, RELEASE, arc_da, read_lines, write_lines
from twowiki.arc_da.sources import read_multiple_choice


def test_what_is_known_with_options_and_not_without(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    originals = {one.question_id: one for one in read_multiple_choice(ARC)}
    gold = [one for one in read_lines(RELEASE / "train.jsonl") if one["question_id"] in originals]
    assert len(gold) > 3
    choices, direct = [], []
    for place, one in enumerate(gold):
        name, original = one["question_id"], originals[one["question_id"]]
        wrong = next(c.text for c in original.choices if c.label != original.answer_key)
        choices.append({"id": name, "answer": original.key_text if place % 2 == 0 else wrong})
        direct.append({"id": name, "answer": one["answers"][0] if place < 2 else "<b>xyzzy</b>"})
    page = tmp_path / "page.html"
    command = ("mc-score", write_lines(tmp_path / "mc.jsonl", choices), ARC, "--resamples", 10,
               "--direct", write_lines(tmp_path / "da.jsonl", direct))  # fmt: skip
    flags = ("--gold", RELEASE / "train.jsonl", "--page", page)
    assert arc_da(*command, *flags) == 0
    printed = capsys.readouterr().out
    rest = len(gold) - 2
    assert f"asked both ways: {len(gold)}" in printed
    assert f"{(rest + 1) // 2:>6}  multiple choice right, direct answer wrong" in printed
    assert "     1  both right" in printed
    assert "     1  multiple choice wrong, direct answer right" in printed
    text = page.read_text(encoding="utf-8")
    assert "&lt;b&gt;xyzzy" in text
    assert "<b>xyzzy" not in text
    assert "Content-Security-Policy" in text
    assert arc_da(*command) == 2
    assert "belong together" in capsys.readouterr().err
