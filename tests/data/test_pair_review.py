"""Occupations and names alike are reviewed by a person, and what is rejected is not released."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.data.test_audit import record
from twowiki import DataError, export, read_amendments, read_examples
from twowiki.cli.main import main
from twowiki.data.pair_review import are_alike, pairs_to_review
from twowiki.data.schema import parse_record

JOB = record(
    _id="job", evidences=[["Tavik Orrel", "occupation", "=poet"], ["Oru", "country", "Vel"]]
)
SON = record(_id="son", evidences=[["Tavik Orrel Jr.", "father", "Tavik Orrel"]])


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("Tavik Orrel", "Tavik Orrel Jr.", True),
        ("Tavik Orrel", "Tavik Orrel (poet)", True),
        ("Kary Mondult", "Karl Mondult", True),
        ("Tavik Orrel", "Dessa Slater", False),
        ("Salt Choir", "Tavik Orrel", False),
    ],
)
def test_names_are_alike_in_words_or_letters(one: str, other: str, alike: bool) -> None:
    assert are_alike(one, other) is alike
    assert are_alike(other, one) is alike


def test_only_the_two_sorts_are_reviewed() -> None:
    rows = list(pairs_to_review([parse_record(one) for one in (record(), JOB, SON)]))
    assert [(row.id, row.kind) for row in rows] == [("job", "occupation"), ("son", "names alike")]
    assert rows[0].sentences.startswith("Salt Choir: Salt Choir is a 1931 film")


def test_a_filled_review_is_obeyed_at_release(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, review = tmp_path / "train.json", tmp_path / "review.csv"
    source.write_text(json.dumps([record(), JOB, SON]))
    assert main(["review", str(source), str(review)]) == 0
    assert main(["review", str(source), str(review)]) == 2  # decisions are not overwritten
    assert "already exists" in capsys.readouterr().err
    with pytest.raises(DataError, match="record job, field 'decision': is not decided yet"):
        read_amendments(review)
    with review.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    for row, decision in zip(rows, ("accept", "Reject"), strict=True):
        row["decision"] = decision
    with review.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    assert main(["export", str(source), str(tmp_path / "out"), "--amend", str(review)]) == 0
    kept = [one.id for one in read_examples(tmp_path / "out", split="train")]
    assert kept == ["q1", "job"]
    rows[0]["decision"] = rows[1]["decision"] = "accept"
    review = tmp_path / "review.json"
    review.write_text(json.dumps(rows))
    assert export(source, tmp_path / "all", amendments=review) == {"train": 3}
    review.write_text(json.dumps([{**rows[0], "decision": "perhaps"}]))
    with pytest.raises(DataError, match="'perhaps' is no decision"):
        read_amendments(review)
