"""Added training examples: other names, the same facts; evaluated paragraphs are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.small_model import examples
from twowiki.data.schema import to_official
from twowiki.errors import DataError
from twowiki.training.data import find_sources
from twowiki.training.mixing import Mix, parse_mix
from twowiki.training.settings import EncoderArguments


def write(path: Path, first: int, last: int) -> str:
    path.write_text(json.dumps([to_official(one) for one in examples()[first:last]]), "utf-8")
    return str(path)


def test_copies_and_files_follow_the_examples_and_change_the_content(tmp_path: Path) -> None:
    flags = {
        "train_file": write(tmp_path / "train.json", 0, 3),
        "validation_file": write(tmp_path / "dev.json", 3, 5),
    }
    plain, validation = find_sources(EncoderArguments(**flags))
    more = [write(tmp_path / "more.json", 5, 7)]
    train, same = find_sources(EncoderArguments(**flags, train_mix=["renamed=2", *more]))
    assert same == validation
    assert len({plain.content(), train.content()}) == 2
    found = list(train.examples())
    first = examples()[0].id
    assert [one.id for one in found[:3]] == [first, f"{first}_renamed0", f"{first}_renamed1"]
    assert [one.id for one in found[9:]] == [one.id for one in examples()[5:7]]
    original, copy, other = found[:3]
    assert len({original.question, copy.question, other.question}) == 3
    assert [t.relation for t in copy.triples] == [t.relation for t in original.triples]
    assert [fact.sent_id for fact in copy.facts] == [fact.sent_id for fact in original.facts]
    assert list(train.examples()) == found


def test_a_file_about_evaluated_paragraphs_is_refused(tmp_path: Path) -> None:
    flags = {
        "train_file": write(tmp_path / "train.json", 0, 3),
        "validation_file": write(tmp_path / "dev.json", 3, 5),
    }
    leak = write(tmp_path / "leak.json", 4, 6)
    with pytest.raises(DataError, match=r"leak\.json.*gold paragraph"):
        find_sources(EncoderArguments(**flags, train_mix=[leak]))


def test_what_is_added_is_read_strictly() -> None:
    assert parse_mix([]) == Mix()
    assert parse_mix(["renamed", "renamed=2"]) == Mix(3)
    for wrong in ("renamed=0", "renamed=x", "renamed=-1"):
        with pytest.raises(DataError, match="positive number"):
            parse_mix([wrong])
    with pytest.raises(DataError, match="renamed=N"):
        parse_mix(["no/such/file.json"])
