"""Every source form gives the same examples; every bad one gives one clear error."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.made_up import write_array, write_lines, write_release, write_zip
from twowiki.data.schema import Example, parse_record, to_official
from twowiki.data.sources import read_examples, read_raw
from twowiki.data.splits import find_splits, guess_config
from twowiki.errors import DataError

Records = list[dict[str, Any]]


def examples(records: Records) -> list[Example]:
    return [parse_record(record) for record in records]


@pytest.mark.parametrize("name", ["dev.json", "a.jsonl", "b.json", "c.jsonl.gz", "d.json.gz"])
def test_arrays_and_lines_whatever_the_suffix(name: str, tmp_path: Path, records: Records) -> None:
    path = tmp_path / name
    if name in ("dev.json", "a.jsonl"):
        write_array(path, records)
    else:
        write_lines(path, records)
    assert list(read_examples(path)) == examples(records)


def test_byte_order_mark_and_windows_line_ends(tmp_path: Path, records: Records) -> None:
    path = tmp_path / "dev.jsonl"
    lines = "\r\n".join(json.dumps(record) for record in records)
    path.write_bytes(b"\xef\xbb\xbf" + lines.encode())
    assert list(read_examples(path)) == examples(records)


@pytest.mark.parametrize("inside", ["", "data_ids_april7/", "a/b/"])
def test_zips_with_and_without_a_folder(inside: str, tmp_path: Path, records: Records) -> None:
    path = write_zip(tmp_path / "data_ids_april7.zip", records, inside)
    assert set(find_splits(path)) == {"train", "validation", "test"}
    assert list(read_examples(path, split="train")) == examples(records[:5])
    assert list(read_examples(path, split="validation")) == examples(records[5:])
    assert [example.answer for example in read_examples(path, split="test")] == [None] * 3
    assert list(read_examples(tmp_path, split="train")) == examples(records[:5])


@pytest.mark.parametrize("layout", ["json", "structs", "columns"])
def test_parquet_layouts_of_mirrors(layout: str, tmp_path: Path, records: Records) -> None:
    rows = []
    for record in records:
        row = {**record, "id": record["_id"]}
        del row["_id"]
        names = ("subject", "relation", "object")
        pairs = record["supporting_facts"]
        if layout == "json":
            for name in ("context", "supporting_facts", "evidences", "evidences_id"):
                row[name] = json.dumps(record[name])
        else:
            row["context"] = [{"title": t, "content": s} for t, s in record["context"]]
            row["supporting_facts"] = [{"title": t, "sent_id": n} for t, n in pairs]
            facts = [dict(zip(("fact", "relation", "entity"), e, strict=True)) for e in
                     record["evidences"]]  # fmt: skip
            row["evidences"] = facts
            row["evidences_id"] = [dict(zip(names, e, strict=True)) for e in record["evidences_id"]]
        if layout == "columns":
            row["context"] = {
                "title": [t for t, _ in record["context"]],
                "sentences": [s for _, s in record["context"]],
            }
            row["supporting_facts"] = {
                "title": [t for t, _ in pairs],
                "sent_id": [n for _, n in pairs],
            }
        rows.append(row)
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "validation.parquet")
    found = list(read_examples(tmp_path))
    assert found == examples(records)
    assert [to_official(example) for example in found] == records


def test_hotpotqa_file_names(tmp_path: Path) -> None:
    record = {"_id": "h", "question": "?", "context": [["A", ["s"]]], "type": "bridge"}
    record |= {"answer": "x", "level": "hard"}
    write_array(tmp_path / "hotpot_train_v1.1.json", [record])
    write_array(tmp_path / "hotpot_dev_distractor_v1.json", [record])
    found = find_splits(tmp_path, "hotpotqa")
    assert {split: Path(files[0]).name for split, files in found.items()} == {
        "train": "hotpot_train_v1.1.json",
        "validation": "hotpot_dev_distractor_v1.json",
    }
    assert guess_config(tmp_path / "hotpot_train_v1.1.json") == "hotpotqa"
    write_array(tmp_path / "hotpot_dev_fullwiki_v1.json", [record])
    with pytest.raises(DataError, match="several files for the split 'validation'"):
        find_splits(tmp_path, "hotpotqa")


def test_shards_are_read_in_order(tmp_path: Path, records: Records) -> None:
    for number in range(4):
        write_array(tmp_path / f"train-0000{number}-of-00004.json", records[2 * number :][:2])
    assert list(read_examples(tmp_path, split="train")) == examples(records)


def test_files_beside_the_splits_are_left_alone(tmp_path: Path, records: Records) -> None:
    write_release(tmp_path, records)
    for name in ("dev_pred.json", "dev_predictions.json", "train_old.json", "notes.txt"):
        (tmp_path / name).write_text("{}")
    assert {split: len(files) for split, files in find_splits(tmp_path).items()} == {
        "train": 1,
        "validation": 1,
        "test": 1,
    }


def test_a_plain_name_goes_before_a_numbered_one(tmp_path: Path, records: Records) -> None:
    write_array(tmp_path / "dev250.json", records[:1])
    assert len(list(read_examples(tmp_path))) == 1
    write_array(tmp_path / "dev.json", records)
    assert len(list(read_examples(tmp_path))) == len(records)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["dev.json", "dev.jsonl"], "several files for the split"),
        (["dev.json", "validation.json"], "several files for the split"),
        (["pred.json"], "no file named after a split"),
        ([], "found nothing"),
    ],
)
def test_folders_that_tell_too_much_or_nothing(
    names: list[str], words: str, tmp_path: Path, records: Records
) -> None:
    for name in names:
        write_array(tmp_path / name, records)
    with pytest.raises(DataError, match=words):
        find_splits(tmp_path)


def test_another_release_in_the_folder_is_named(tmp_path: Path, records: Records) -> None:
    write_zip(tmp_path / "data.zip", records)
    with pytest.raises(DataError, match=r"data\.zip, not data_ids_april7\.zip.*name='data'"):
        find_splits(tmp_path)
    assert set(find_splits(tmp_path, "data")) == {"train", "validation", "test"}
    assert guess_config(tmp_path) == "data"


def test_no_such_place(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file or folder"):
        find_splits(tmp_path / "none")
    with pytest.raises(DataError, match="no such file"):
        list(read_raw(tmp_path / "none.json"))
    with pytest.raises(DataError, match="no such file"):
        list(read_raw(tmp_path / "none.parquet"))


def test_one_id_twice_names_both_places(tmp_path: Path, records: Records) -> None:
    path = write_array(tmp_path / "dev.json", [*records, records[0]])
    with pytest.raises(DataError, match="duplicate id") as caught:
        list(read_examples(path))
    assert (caught.value.file, caught.value.record) == (str(path), records[0]["_id"])
    assert caught.value.field == "_id"


def test_a_bad_record_names_the_file(tmp_path: Path, records: Records) -> None:
    path = write_array(tmp_path / "dev.json", [records[0], {**records[1], "type": "riddle"}])
    stream = read_examples(path)
    assert next(stream) == parse_record(records[0])
    with pytest.raises(DataError) as caught:
        next(stream)
    assert str(path) in str(caught.value)
    assert records[1]["_id"] in str(caught.value)
    assert "'type'" in str(caught.value)
    assert "comparison" in str(caught.value)


@pytest.mark.parametrize(
    ("member", "words"),
    [
        ("../dev.json", "leaves the archive's folder"),
        ("a/../../dev.json", "leaves the archive's folder"),
        ("/etc/dev.json", "leaves the archive's folder"),
        ("..\\dev.json", "leaves the archive's folder"),
        ("C:/dev.json", "leaves the archive's folder"),
    ],
)
def test_members_that_climb_out_are_refused(
    member: str, words: str, tmp_path: Path, records: Records
) -> None:
    path = tmp_path / "data_ids_april7.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("dev.json", json.dumps(records))
        archive.writestr(member, json.dumps(records))
    with pytest.raises(DataError, match=f"unsafe zip.*{words}"):
        find_splits(path)
    with pytest.raises(DataError, match="unsafe zip"):
        list(read_raw(path, "validation"))


def test_links_in_zips_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.zip"
    with zipfile.ZipFile(path, "w") as archive:
        link = zipfile.ZipInfo("dev.json")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(DataError, match="is a link"):
        find_splits(path)


def test_a_web_page_named_zip(tmp_path: Path) -> None:
    path = tmp_path / "data_ids_april7.zip"
    path.write_text("\n<!DOCTYPE html><html>gone</html>")
    for call in (find_splits, lambda p: list(read_raw(p))):
        with pytest.raises(DataError, match=r"got a web page, not a zip.*--data_dir"):
            call(path)


def test_truncated_and_damaged_zips(tmp_path: Path, records: Records) -> None:
    path = write_zip(tmp_path / "data.zip", [*records] * 1)
    whole = path.read_bytes()
    path.write_bytes(whole[:-60])
    with pytest.raises(DataError, match="the zip is truncated"):
        find_splits(path)
    path.write_bytes(b"nothing like a zip")
    with pytest.raises(DataError, match="not a zip file"):
        find_splits(path)
    damaged = bytearray(whole)
    damaged[80:120] = b"\0" * 40
    path.write_bytes(damaged)
    with pytest.raises(DataError, match="damaged"):
        [list(read_raw(path, split)) for split in ("train", "validation", "test")]


def test_two_members_for_one_split(tmp_path: Path, records: Records) -> None:
    path = tmp_path / "data.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/dev.json", json.dumps(records))
        archive.writestr("b/dev.json", json.dumps(records))
    with pytest.raises(DataError, match="two members for the split"):
        find_splits(path)


def test_truncated_files_give_their_whole_records_first(tmp_path: Path, records: Records) -> None:
    path = write_array(tmp_path / "dev.json", records)
    path.write_bytes(path.read_bytes()[:-100])
    found: list[Example] = []
    with pytest.raises(DataError, match=r"dev\.json: the file is truncated.*character"):
        found.extend(read_examples(path))
    assert found == examples(records[:-1])
    packed = tmp_path / "train.json.gz"
    packed.write_bytes(gzip.compress(json.dumps(records).encode())[:-30])
    with pytest.raises(DataError, match="truncated or damaged"):
        list(read_examples(packed))


def test_broken_parquet(tmp_path: Path) -> None:
    path = tmp_path / "dev.parquet"
    path.write_bytes(b"PAR1 nothing")
    with pytest.raises(DataError, match="not readable as Parquet"):
        list(read_examples(path))


def test_a_wrong_column_of_a_parquet_file_is_named(tmp_path: Path, records: Records) -> None:
    rows = [{**record, "contexts": json.dumps(record["context"])} for record in records]
    for row in rows:
        del row["context"]
        for name in ("supporting_facts", "evidences", "evidences_id"):
            row[name] = json.dumps(row[name])
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "dev.parquet")
    with pytest.raises(DataError, match=r"dev\.parquet, record .*'contexts'.*'context'"):
        list(read_examples(tmp_path))


def test_sources_with_several_splits_need_one(tmp_path: Path, records: Records) -> None:
    write_release(tmp_path, records)
    with pytest.raises(DataError, match="holds several splits"):
        list(read_examples(tmp_path))
    (tmp_path / "test.json").unlink()
    with pytest.raises(DataError, match="no split 'test'"):
        list(read_examples(tmp_path, split="test"))


def test_reference_files_are_read(shared: Path) -> None:
    raw = json.loads((shared / "data/two_wiki/dev250.json").read_text(encoding="utf-8"))
    found = list(read_examples(shared / "data/two_wiki/dev250.json"))
    assert [to_official(example) for example in found] == raw
    for split, name in (("train", "train_100"), ("validation", "dev_fullwiki_100")):
        hotpot = json.loads((shared / f"data/hotpotqa/{name}.json").read_text(encoding="utf-8"))
        read = list(read_examples(shared / "data/hotpotqa", "hotpotqa", split))
        assert [to_official(example) for example in read] == hotpot
