"""Each oddity is found, counted and named; none stops the reading."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import twowiki
from tests.made_up import write_array, write_release
from twowiki.cli.main import main
from twowiki.data.validation import ODDITIES, validate

Records = list[dict[str, Any]]


def test_clean_records_are_clean(records: Records) -> None:
    clean = [record for record in records if "empty" not in record["_id"]]
    clean = [record for record in clean if "five" not in record["_id"]]
    findings = validate(clean)
    assert findings.clean
    assert findings.records == {"records": 6}
    assert findings.counts == {}


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("missing_id", {"_id": ""}),
        ("unknown_type", {"type": "riddle"}),
        ("unreadable_record", {"context": [["A", "text"]]}),
        ("unreadable_record", {"question": None}),
        ("unknown_relation", {"evidences": [["a", "owns", "b"], ["b", "mother", "c"]]}),
        ("dangling_title", {"supporting_facts": [["Nobody", 0], ["Dessa Orrel", 1]]}),
        (
            "sentence_index_out_of_range",
            {"supporting_facts": [["Tavik Orrel", 9], ["Dessa Orrel", 1]]},
        ),
        (
            "sentence_index_out_of_range",
            {"supporting_facts": [["Tavik Orrel", -1], ["Dessa Orrel", 1]]},
        ),
        ("evidence_support_count", {"supporting_facts": [["Tavik Orrel", 0]]}),
        ("evidence_id_mismatch", {"evidences_id": [["Q1", "father", "Q2"]]}),
        ("hidden_gold", {"answer": ""}),
    ],
)
def test_each_kind_is_found(kind: str, change: dict[str, Any], records: Records) -> None:
    findings = validate([{**records[0], **change}, records[4]])
    assert kind in findings.counts
    assert findings.counts[kind] == 1
    assert len(findings.ids[kind]) == 1
    assert findings.records == {"records": 2}
    assert kind in findings.render()
    assert json.loads(json.dumps(findings.to_dict()))["findings"][kind]["count"] == 1


def test_paragraph_oddities_and_duplicates(records: Records) -> None:
    twice = {**records[0], "context": [*records[0]["context"], ["Orun", ["Again."]]]}
    findings = validate([twice, twice, twice, records[3]])
    assert findings.counts["duplicate_id"] == 1
    assert findings.counts["duplicate_title"] == 3
    assert findings.ids["duplicate_title"] == [records[0]["_id"]]
    assert findings.details["empty_paragraph"] == {"Empty": 1}


def test_every_kind_has_words() -> None:
    assert all(ODDITIES.values())


def test_records_of_any_shape_never_fail() -> None:
    findings = validate([7, None, "x", {}, {"_id": "a"}, {"_id": "b", "type": []}])  # type: ignore[list-item]
    assert findings.records == {"records": 6}
    assert not findings.clean


def test_broken_files_are_findings(tmp_path: Path, records: Records) -> None:
    write_release(tmp_path, records)
    path = tmp_path / "dev.json"
    path.write_bytes(path.read_bytes()[:-50])
    findings = twowiki.validate(tmp_path)
    assert findings.ids["broken_file"] == [str(path)]
    assert findings.records == {"train": 5, "validation": 2, "test": 3}
    assert main(["validate", str(tmp_path)]) == 1


def test_the_command(tmp_path: Path, records: Records, capsys: pytest.CaptureFixture[str]) -> None:
    source = write_array(tmp_path / "dev.json", records)
    output = tmp_path / "findings.json"
    assert main(["validate", str(source), "--output", str(output)]) == 0
    assert "empty_paragraph" in capsys.readouterr().out
    assert json.loads(output.read_text(encoding="utf-8"))["records"] == {"validation": 8}
    assert main(["validate", str(source), "--strict"]) == 1
    assert main(["validate", str(tmp_path / "none.json")]) == 2
    assert "no such file or folder" in capsys.readouterr().err


def test_hotpotqa_has_no_evidences_to_miss(shared: Path) -> None:
    findings = validate(shared / "data/hotpotqa", "hotpotqa")
    assert findings.records == {"train": 100, "validation": 100}
    assert set(findings.counts) == {"dangling_title"}
    assert findings.counts["dangling_title"] == 88


def test_the_reference_items(shared: Path) -> None:
    findings = validate(shared / "data/two_wiki/dev250.json")
    assert findings.counts["evidence_support_count"] == 4
    assert findings.counts["sentence_index_out_of_range"] == 1
    assert "unreadable_record" not in findings.counts


@pytest.mark.parametrize("lines", [False, True])
def test_keys_that_stand_twice_are_found(lines: bool, tmp_path: Path, records: Records) -> None:
    texts = [json.dumps(one) for one in records[:3]]
    texts[1] = texts[1].replace('{"', '{"question": "an earlier one", "', 1)
    texts[2] = texts[2][:-1] + ', "more": [{"a": 1, "a": 2, "a": 3}]}'
    source = tmp_path / "dev.json"
    source.write_text("\n".join(texts) if lines else f"[{','.join(texts)}]", encoding="utf-8")
    findings = validate(source)
    assert findings.ids["repeated_key"] == [records[1]["_id"], records[2]["_id"]]
    assert findings.details["repeated_key"] == {"question": 1, "a": 1}


def test_records_that_cannot_be_read_are_in_the_exit_code(tmp_path: Path, records: Records) -> None:
    source = tmp_path / "dev.json"
    source.write_text(json.dumps([*records, {**records[0], "_id": "x", "context": 3}]))
    assert main(["validate", str(source)]) == 1
