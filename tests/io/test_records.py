"""Every packing and every format is read alike, streamed or whole; faults name the file."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import twowiki
from twowiki.data.schema import parse_record
from twowiki.errors import DataError
from twowiki.io.records import read_object, read_records, read_values, sniff

RECORDS = [{"id": "a", "text": "é"}, {"id": "b", "text": "x"}]


def as_table(delimiter: str) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, RECORDS[0], delimiter=delimiter)
    writer.writeheader()
    writer.writerows(RECORDS)
    return text.getvalue().encode()


def as_parquet() -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(RECORDS), stream)
    return stream.getvalue()


FORMATS: dict[str, bytes] = {
    "array.json": json.dumps(RECORDS, indent=1).encode(),
    "lines.jsonl": "\n".join(map(json.dumps, RECORDS)).encode(),
    "marked.json": b"\xef\xbb\xbf" + json.dumps(RECORDS, ensure_ascii=False).encode(),
    "table.csv": as_table(","),
    "table.tsv": as_table("\t"),
    "rows.parquet": as_parquet(),
}
PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("zipped", [False, True])
def test_every_packing_and_format_reads_alike(
    name: str, packing: str, zipped: bool, tmp_path: Path
) -> None:
    data = PACKINGS[packing](FORMATS[name])
    path = tmp_path / (name + packing)
    if zipped:
        path = tmp_path / "archive.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(f"folder/{name}{packing}", data)
            archive.writestr("__MACOSX/folder/._x.json", b"")
        inside = f"zip://folder/{name}{packing}::{path}"
        assert [record for _, record in read_records(inside)] == RECORDS
    else:
        path.write_bytes(data)
    assert list(read_records(path)) == list(enumerate(RECORDS, 1))
    assert read_values(path)[0] == RECORDS
    assert read_values(path)[1].name == str(path)


def test_a_download_without_an_ending_is_recognized(tmp_path: Path) -> None:
    for name, words in (("array.json", "json"), ("rows.parquet", "parquet")):
        for packing, pack in PACKINGS.items():
            path = tmp_path / "cached"
            path.write_bytes(pack(FORMATS[name]))
            assert [record for _, record in read_records(path)] == RECORDS
            assert sniff(path) == ("packed" if packing else words)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for read in (
        lambda: [record for _, record in read_records(pipe)],
        lambda: read_values(pipe)[0],
    ):
        writer = threading.Thread(
            target=pipe.write_bytes, args=(gzip.compress(FORMATS["lines.jsonl"]),)
        )
        writer.start()
        assert read() == RECORDS
        writer.join()


def test_one_object_is_told_from_one_record(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"q1": "yes"}')
    assert read_values(path)[0] == {"q1": "yes"}
    assert read_object(path) == {"q1": "yes"}
    path.write_text('{"id": "q1", "answer": "yes"}')
    assert read_values(path)[0] == [{"id": "q1", "answer": "yes"}]
    path.write_text("q1\nq2\n")
    assert read_values(path, text_lines=True)[0] == ["q1", "q2"]
    with pytest.raises(DataError, match=r"x\.json.*broken JSON"):
        read_values(path)
    path.write_text("[]")
    with pytest.raises(DataError, match="not a JSON object"):
        read_object(path)


@pytest.mark.parametrize("packing", [".gz", ".bz2", ".xz"])
def test_a_cut_file_names_itself(packing: str, tmp_path: Path) -> None:
    records = [{"id": str(number), "text": os.urandom(20).hex()} for number in range(3000)]
    path = tmp_path / f"cut.jsonl{packing}"
    path.write_bytes(PACKINGS[packing]("\n".join(map(json.dumps, records)).encode())[:-2000])
    with pytest.raises(DataError, match=r"cut\.jsonl.*(truncated|damaged)"):
        list(read_records(path))
    with pytest.raises(DataError, match=r"cut\.jsonl.*(truncated|damaged)"):
        read_values(path)


def cells_of(record: dict[str, Any]) -> dict[str, str]:
    return {
        name: value if isinstance(value, str) else json.dumps(value) if value is not None else ""
        for name, value in record.items()
    }


@pytest.mark.parametrize("packing", [".bz2", ".xz"])
def test_the_multihop_data_reads_other_packings(
    packing: str, tmp_path: Path, records: list[dict[str, Any]]
) -> None:
    (tmp_path / f"dev.json{packing}").write_bytes(PACKINGS[packing](json.dumps(records).encode()))
    wanted = [parse_record(record) for record in records]
    assert list(twowiki.read_examples(tmp_path, split="validation")) == wanted
    assert len(twowiki.load_dataset(data_dir=tmp_path, split="validation")) == len(records)


def test_the_multihop_data_reads_tables(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    with open(tmp_path / "train.csv", "w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, dict.fromkeys(key for r in records for key in r))
        writer.writeheader()
        writer.writerows(map(cells_of, records))
    assert list(twowiki.read_examples(tmp_path)) == [parse_record(record) for record in records]
    (tmp_path / "train.json").write_text(json.dumps(records[:2]))
    assert len(list(twowiki.read_examples(tmp_path))) == 2  # a table beside JSON is left out


def test_predictions_are_read_from_any_format(tmp_path: Path) -> None:
    rows = [
        {"id": name, "answer": name, "supporting_facts": "[]", "evidences": "[]"}
        for name in ("q1", "q2")
    ]
    (tmp_path / "p.jsonl.xz").write_bytes(lzma.compress("\n".join(map(json.dumps, rows)).encode()))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "p.parquet")
    (tmp_path / "p.csv").write_text(
        "id,answer,supporting_facts,evidences\nq1,q1,[],[]\nq2,q2,[],[]\n"
    )
    for name in ("p.jsonl.xz", "p.parquet", "p.csv"):
        assert twowiki.read_predictions(tmp_path / name).answers == {"q1": "q1", "q2": "q2"}
