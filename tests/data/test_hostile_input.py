"""Files that are damaged, odd or hostile: one clear error, whole records first, nothing lost."""

from __future__ import annotations

import errno
import gzip
import json
import os
import random
import re
import zipfile
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import load_dataset

import twowiki
from tests.made_up import write_array, write_lines, write_release, write_zip
from twowiki.builder.export import Places
from twowiki.cli.main import main
from twowiki.data.arrow import LARGEST_TEXT, tables
from twowiki.data.schema import parse_record, to_official
from twowiki.data.sources import read_examples, read_raw
from twowiki.data.splits import find_splits, guess_config
from twowiki.data.validation import validate
from twowiki.errors import DataError
from twowiki.io import json_stream

Records = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


def many(records: Records, count: int) -> Records:
    return [{**records[n % len(records)], "_id": f"id-{n}"} for n in range(count)]


def delivered(path: Path) -> tuple[int, str]:
    """How many records came before the error, and the error."""
    found: list[Any] = []
    with pytest.raises(DataError) as caught:
        found.extend(read_raw(path))
    return len(found), str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (r'{"_id": "b", "answer": "\ud800"}', "half a character"),
        (r'{"_id": "b", "answer": "a \uDC00 b"}', "half a character"),
        ('{"_id": "b", "n": ' + "9" * 5000 + "}", "a number that is too long"),
        ('{"_id": "b", "n": ' + "[" * 200_000 + "}", "nested too deeply"),
        ("{'_id': 'b'}", "broken JSON.*double quotes"),
        ('{"_id": "b\0"}', "broken JSON.*control character"),
    ],
)
def test_a_bad_record_is_named_after_those_before_it(
    text: str, words: str, tmp_path: Path, records: Records
) -> None:
    before = ", ".join(json.dumps(record) for record in many(records, 50))
    path = tmp_path / "dev.json"
    path.write_text(f"[{before}, {text}]", encoding="utf-8")
    count, message = delivered(path)
    assert count == 50
    assert re.search(words, message)
    assert "number 50" in message
    assert "truncated" not in message
    rows: list[Any] = []
    with pytest.raises(DataError, match=words):
        rows.extend(twowiki.load_dataset(data_dir=path, split="validation", streaming=True))
    assert len(rows) == 50
    assert "broken_file" in validate(path).counts


def test_whole_pairs_of_surrogates_are_letters(tmp_path: Path, records: Records) -> None:
    record = {**records[0], "answer": "Ash \U0001f3ac"}
    path = tmp_path / "dev.json"
    path.write_text(json.dumps([record]), encoding="ascii")
    assert next(read_examples(path)).answer == "Ash \U0001f3ac"


def test_a_record_beyond_all_measure_is_named(
    tmp_path: Path, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_stream, "LARGEST_RECORD", 100_000)
    path = write_array(tmp_path / "dev.json", [records[0], {"_id": "x" * 300_000}])
    count, message = delivered(path)
    assert count == 1
    assert "longer than 100,000 characters" in message


def test_a_file_of_spaces_is_passed_over_quickly(tmp_path: Path) -> None:
    path = tmp_path / "dev.json"
    path.write_bytes(b"[" + b" " * 30_000_000 + b'{"_id": "a"}]')
    assert list(read_raw(path)) == [{"_id": "a"}]


def test_batches_are_bounded_by_text_too(records: Records) -> None:
    long = "x" * (LARGEST_TEXT // 2)
    example = parse_record({**records[0], "context": [["A", [long]]]})
    assert [table.num_rows for table in tables([example] * 5)] == [2, 2, 1]


@pytest.mark.parametrize("keep", [0.5, 0.9, 0.999])
def test_a_cut_gzip_gives_all_whole_records(keep: float, tmp_path: Path, records: Records) -> None:
    rng = random.Random(0)
    noisy = [{**r, "question": str(rng.random())} for r in many(records, 400)]
    path = write_lines(tmp_path / "dev.jsonl.gz", noisy)
    packed = path.read_bytes()
    path.write_bytes(packed[: int(len(packed) * keep)])
    unpacked = b""
    with gzip.open(path) as stream:
        try:
            while block := stream.read1(64):  # type: ignore[attr-defined]
                unpacked += block
        except EOFError:
            pass
    count, message = delivered(path)
    assert count >= unpacked.count(b"\n") - 30
    assert count >= 0.6 * keep * 400
    assert "truncated or damaged" in message


def test_flipped_bytes_are_always_a_clear_error_or_readable(
    tmp_path: Path, records: Records
) -> None:
    rng = random.Random(1)
    sources = [
        write_zip(tmp_path / "stored.zip", records),
        write_lines(tmp_path / "dev.jsonl.gz", records),
        tmp_path / "dev.parquet",
    ]
    rows = [{k: json.dumps(v) if isinstance(v, list) else v for k, v in r.items()} for r in records]
    pq.write_table(pa.Table.from_pylist(rows), sources[2])
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        path = tmp_path / f"method{method}.zip"
        with zipfile.ZipFile(path, "w", method) as archive:
            archive.writestr("dev.json", json.dumps(records))
        sources.append(path)
    for path in sources:
        whole = path.read_bytes()
        for _ in range(150):
            damaged = bytearray(whole)
            for _ in range(rng.randint(1, 4)):
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
            path.write_bytes(damaged)
            fault = None
            try:
                for split, files in find_splits(path).items():
                    list(read_examples(files, "data_ids_april7", split))
            except DataError as error:
                fault = error
            assert fault is None or str(path) in str(fault)


def test_label_numbers_are_read_with_the_files_own_labels(tmp_path: Path, records: Records) -> None:
    names = ["bridge_comparison", "comparison", "compositional", "inference"]
    rows = [{**r, "context": json.dumps(r["context"])} for r in records]
    for row in rows:
        for name in ("supporting_facts", "evidences", "evidences_id"):
            row[name] = json.dumps(row[name])
    kinds = {"type": datasets.ClassLabel(names=names)}
    mirror = datasets.Dataset.from_list(rows).cast_column("type", kinds["type"])
    mirror.to_parquet(str(tmp_path / "dev.parquet"))
    found = list(read_examples(tmp_path / "dev.parquet"))
    assert [to_official(example) for example in found] == records
    path = write_array(tmp_path / "train.json", [{**records[0], "type": 2}])
    with pytest.raises(DataError, match="does not name its labels"):
        list(read_examples(path))


def test_hotpotqa_exports_stay_hotpotqa(tmp_path: Path) -> None:
    record = {"_id": "h", "question": "?", "context": [["A", ["s"]]], "type": "bridge"}
    record |= {"answer": "x", "level": "hard", "supporting_facts": [["A", 0]]}
    twowiki.export(write_array(tmp_path / "hotpot_train_v1.1.json", [record]), tmp_path / "out")
    shard = next((tmp_path / "out" / "hotpotqa").iterdir())
    assert guess_config(shard) == "hotpotqa"
    row = twowiki.load_dataset(data_dir=shard, split="train")[0]
    assert to_official(row) == record
    (tmp_path / "out" / "hotpotqa").rename(tmp_path / "elsewhere")
    with pytest.raises(DataError, match="config 'hotpotqa'"):
        twowiki.load_dataset("data", data_dir=tmp_path / "elsewhere")


def test_an_export_of_another_config_is_not_taken_for_data(
    tmp_path: Path, records: Records
) -> None:
    out = tmp_path / "out"
    twowiki.export(write_zip(tmp_path / "data.zip", records), out)
    assert (out / "data").is_dir()
    assert twowiki.load_dataset(data_dir=out)["train"].info.config_name == "data"
    with pytest.raises(DataError, match="no file named after a split"):
        twowiki.load_dataset("data_ids", data_dir=out)


@pytest.mark.parametrize("name", ["run[1]", "a?b", "data [v1]", "a*b", "snow ☃", "%41"])
def test_folder_names_are_no_patterns(name: str, tmp_path: Path, records: Records) -> None:
    write_array(tmp_path / name / "dev.json", records[:3])
    for other in ("run1", "axb", "data v"):
        write_array(tmp_path / other / "dev.json", records)
    found = twowiki.load_dataset(data_dir=tmp_path / name, split="validation")
    assert [to_official(row) for row in found] == records[:3]
    files = {"train": tmp_path / name / "dev.json"}
    assert len(twowiki.load_dataset(data_files=files, split="train")) == 3


def test_shards_must_be_whole_and_are_sorted_by_number(tmp_path: Path, records: Records) -> None:
    for number in range(11):
        write_array(tmp_path / "a" / f"train-{number}.json", many(records, 11)[number:][:1])
    found = [example.id for example in read_examples(tmp_path / "a")]
    assert found == [f"id-{n}" for n in range(11)]
    (tmp_path / "a" / "train-3.json").unlink()
    with pytest.raises(DataError, match="shard number 3"):
        find_splits(tmp_path / "a")
    for number in (0, 1, 3):
        write_array(tmp_path / "b" / f"train-0000{number}-of-00004.json", records[:1])
    with pytest.raises(DataError, match="shard number 2 of 4 is missing"):
        find_splits(tmp_path / "b")
    for count in (20, 100):
        write_array(tmp_path / "c" / f"dev_{count}.json", records)
    with pytest.raises(DataError, match="not a whole set of shards"):
        find_splits(tmp_path / "c")
    write_array(tmp_path / "c" / "dev.json", records)
    assert find_splits(tmp_path / "c") == {"validation": [str(tmp_path / "c" / "dev.json")]}


def test_repeated_ids_are_found_by_several_processes_too(tmp_path: Path, records: Records) -> None:
    for number in range(2):
        write_array(tmp_path / "d" / f"train-{number}.json", records)
    for workers in (None, 2):
        with pytest.raises(DataError, match="duplicate id"):
            twowiki.load_dataset(data_dir=tmp_path / "d", num_proc=workers)


def test_records_without_an_id_are_numbered(tmp_path: Path, records: Records) -> None:
    path = write_array(tmp_path / "dev.json", [*many(records, 100), {"question": "?"}])
    with pytest.raises(DataError, match=r"number 100 \(from 0\)"):
        list(read_examples(path))


def test_what_cannot_be_opened_is_named(tmp_path: Path, records: Records) -> None:
    (tmp_path / "d" / "dev.json").mkdir(parents=True)
    with pytest.raises(DataError, match="no file named after a split"):
        twowiki.load_dataset(data_dir=tmp_path / "d")
    (tmp_path / "e").mkdir()
    (tmp_path / "e" / "dev.json").symlink_to(tmp_path / "gone.json")
    with pytest.raises(DataError, match="no such file"):
        list(read_examples(tmp_path / "e"))
    for files in ("gone.json", {"train": str(tmp_path / "d")}, {}, []):
        with pytest.raises(DataError, match="no such file|is empty"):
            twowiki.load_dataset(data_files=files)
    with pytest.raises(DataError, match="is empty"):
        twowiki.load_dataset(data_dir="")
    if os.geteuid():
        locked = write_array(tmp_path / "f" / "dev.json", records)
        locked.chmod(0)
        with pytest.raises(DataError, match="Permission denied"):
            list(read_examples(locked))


@pytest.mark.parametrize("what", ["note", "source", "file", "link"])
def test_an_export_replaces_nothing_but_an_export(
    what: str, tmp_path: Path, records: Records
) -> None:
    source = write_release(tmp_path / "data_ids_april7", records)
    out = tmp_path if what == "source" else tmp_path / "out"
    target = out / "data_ids_april7"
    if what == "note":
        target.mkdir(parents=True)
        (target / "thesis.txt").write_text("mine")
    elif what == "file":
        out.mkdir()
        target.write_text("mine")
    elif what == "link":
        out.mkdir()
        target.symlink_to(source)
    before = sorted(path.name for path in source.iterdir())
    with pytest.raises(DataError, match="the export would replace this folder"):
        twowiki.export(source, out)
    assert sorted(path.name for path in source.iterdir()) == before
    assert target.exists()


def test_two_exports_at_once_do_not_mix(tmp_path: Path, records: Records) -> None:
    source = write_array(tmp_path / "dev.json", records)
    with (
        Places.of(tmp_path / "out", "data_ids_april7").locked(),
        pytest.raises(DataError, match="another export into this folder is running"),
    ):
        twowiki.export(source, tmp_path / "out")
    twowiki.export(source, tmp_path / "out")
    assert not [path for path in (tmp_path / "out").iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("harm", ["shard lost", "shard cut", "state odd"])
def test_a_harmed_beginning_is_begun_again(
    harm: str, tmp_path: Path, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    from twowiki.builder import export as exporting

    source = write_array(tmp_path / "train.json", many(records, 3000))
    finish = exporting._finish
    monkeypatch.setattr(exporting, "_finish", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        twowiki.export(source, tmp_path / "out", shard_rows=1000)
    monkeypatch.setattr(exporting, "_finish", finish)
    partial = tmp_path / "out" / ".data_ids_april7.partial"
    shard = partial / "train-00000.parquet"
    if harm == "shard lost":
        shard.unlink()
    elif harm == "shard cut":
        shard.write_bytes(shard.read_bytes()[:100])
    else:
        (partial / "shards.jsonl").write_text("[]")
    (partial / ".train-00003.parquet.twowiki-0123abcd.tmp").write_text("left by a kill")
    assert twowiki.export(source, tmp_path / "out", shard_rows=1000) == {"train": 3000}
    assert len(load_dataset(str(tmp_path / "out"), split="train")) == 3000
    assert len(list((tmp_path / "out" / "data_ids_april7").iterdir())) == 3


@pytest.mark.parametrize("text", ["---\n- a\n- b\n---\n", "---\n: [\n---\n", b"\xff\xfe---"])
def test_a_broken_card_is_refused_before_anything_is_replaced(
    text: str | bytes, tmp_path: Path, records: Records
) -> None:
    out = tmp_path / "out"
    source = write_array(tmp_path / "dev.json", records)
    twowiki.export(source, out)
    readme = out / "README.md"
    readme.write_bytes(text if isinstance(text, bytes) else text.encode())
    write_array(source, records[:2])
    with pytest.raises(DataError, match="README.md.*card"):
        twowiki.export(source, out)
    shard = next((out / "data_ids_april7").iterdir())
    assert pq.read_metadata(shard).num_rows == len(records)


@pytest.mark.parametrize(
    "text",
    ["﻿---\nlicense: mit\n---\nBody", "---\nlicense: mit\n...\nBody", "---\nlicense: mit\n---"],
)
def test_odd_but_whole_cards_are_kept(text: str, tmp_path: Path, records: Records) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "README.md").write_text(text, encoding="utf-8")
    twowiki.export(write_array(tmp_path / "dev.json", records), out)
    card = (out / "README.md").read_text(encoding="utf-8")
    assert card.count("license: mit") == 1
    assert card.startswith("---\n")
    assert ("Body" in card) == ("Body" in text)
    assert len(load_dataset(str(out), split="validation")) == len(records)


def test_a_full_disk_names_the_file(
    tmp_path: Path,
    records: Records,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from twowiki.io import files

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    source = write_array(tmp_path / "dev.json", records)
    (tmp_path / "out").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(DataError, match="findings.json: cannot be written .*No space left"):
            files.write_json(tmp_path / "out" / "findings.json", {"a": "x" * 100_000})
    assert os.listdir(tmp_path / "out") == []
    (tmp_path / "file").write_text("")
    status = main(["validate", str(source), "--output", str(tmp_path / "file" / "a.json")])
    assert status == 2
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["validate", "stats"])
def test_unknown_configs_are_refused(
    command: str, tmp_path: Path, records: Records, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_array(tmp_path / "dev.json", records)
    assert main([command, str(source), "--config", "nope"]) == 2
    assert "unknown config 'nope'" in capsys.readouterr().err
    assert main([command, str(source), "--config", "arc_da"]) == (1 if command == "validate" else 2)
    printed = capsys.readouterr()
    assert ("unreadable_record" if command == "validate" else "arc-da stats") in "".join(printed)
