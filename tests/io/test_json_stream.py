"""Records come out of any JSON array or JSON lines, whatever the window; faults have a place."""

from __future__ import annotations

import gzip
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twowiki.errors import DataError
from twowiki.io import json_stream
from twowiki.io.json_stream import read_json_records

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
many_records = st.lists(st.dictionaries(st.text(max_size=5), values, max_size=4), max_size=6)
layouts = st.sampled_from(["array", "indented", "lines", "windows lines"])


def dumped(records: list[dict[str, Any]], layout: str, ascii_only: bool) -> bytes:
    if layout in ("array", "indented"):
        indent = 3 if layout == "indented" else None
        return json.dumps(records, ensure_ascii=ascii_only, indent=indent).encode(
            "utf-8", "surrogatepass"
        )
    end = "\r\n" if layout == "windows lines" else "\n"
    lines = (json.dumps(record, ensure_ascii=ascii_only) + end for record in records)
    return "".join(lines).encode()


def read(data: bytes, window: int) -> list[Any]:
    return list(read_json_records(io.BytesIO(data), window=window))


@given(many_records, layouts, st.booleans(), st.booleans(), st.integers(1, 60))
def test_any_records_are_read_through_any_window(
    records: list[dict[str, Any]], layout: str, ascii_only: bool, marked: bool, window: int
) -> None:
    data = dumped(records, layout, ascii_only)
    if not data:
        return
    data = b"\xef\xbb\xbf" * marked + data
    assert read(data, window) == records


@given(many_records.filter(bool), st.booleans(), st.data(), st.integers(1, 60))
def test_a_cut_array_gives_its_whole_records_then_an_error(
    records: list[dict[str, Any]], ascii_only: bool, data: st.DataObject, window: int
) -> None:
    whole = dumped(records, "array", ascii_only)
    cut = whole[: data.draw(st.integers(1, len(whole) - 1))]
    found: list[Any] = []
    with pytest.raises(DataError) as caught:
        found.extend(read_json_records(io.BytesIO(cut), window=window))
    assert found == records[: len(found)]
    assert "character" in str(caught.value)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"  \n ", "empty"),
        (b"<!DOCTYPE html><html>", "web page"),
        (b"PK\x03\x04", "not JSON"),
        (b"hello", "not JSON"),
        (b'[{"a": 1} {"b": 2}]', "',' or ']' is missing"),
        (b'[{"a": 1}, 7]', "must be a JSON object"),
        (b'[{"a": 1}] [', "after the end of the array"),
        (b'[{"a": oops, "b": "' + b"x" * 90 + b'"}]', "broken JSON at character"),
        (b'{"a": 1},\n{"b": 2}', "array's '[' is missing"),
        (b'[{"a": "\xff"}]', "not UTF-8"),
        (b'[{"a": 1},', "truncated"),
        (b'{"a": 1}\n{"b": ', "truncated"),
    ],
)
def test_broken_files_are_named_for_what_they_are(data: bytes, words: str) -> None:
    with pytest.raises(DataError, match="(?s)" + words.replace("[", r"\[").replace("]", r"\]")):
        read(data, 1 << 20)


def test_an_error_in_the_middle_does_not_read_on_to_the_end() -> None:
    class Counting(io.BytesIO):
        taken = 0

        def read(self, size: int | None = -1) -> bytes:
            block = super().read(size)
            self.taken += len(block)
            return block

    good = b'{"a": "' + b"x" * 1000 + b'"}'
    stream = Counting(b"[" + b", ".join([good, b'{"a" 1}', *[good] * 1000]) + b"]")
    with pytest.raises(DataError, match="record number 1"):
        list(read_json_records(stream, window=4096))
    assert stream.taken < 10_000


def test_the_first_record_comes_before_the_end_is_read() -> None:
    class NoEnd(io.RawIOBase):
        def __init__(self) -> None:
            self.blocks = 0

        def read(self, size: int = -1) -> bytes:
            self.blocks += 1
            assert self.blocks < 5
            return b'[{"a": 1}, ' if self.blocks == 1 else b'{"a": 1}, ' * 100

    first = next(iter(read_json_records(NoEnd())))  # type: ignore[arg-type]
    assert first == {"a": 1}


def test_a_long_record_is_read_with_few_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    decode = json_stream._decode

    def counted(text: str, at: int) -> tuple[Any, int]:
        nonlocal calls
        calls += 1
        return decode(text, at)

    monkeypatch.setattr(json_stream, "_decode", counted)
    record = {"a": ["word"] * 50_000}
    assert read(json.dumps([record]).encode(), 1024) == [record]
    assert calls < 20


def test_truncated_gzip_names_the_place() -> None:
    data = gzip.compress(json.dumps([{"a": str(n)} for n in range(5000)]).encode())[:-20]
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
        found: list[Any] = []
        with pytest.raises(DataError, match="truncated or damaged"):
            found.extend(read_json_records(stream, window=256))
    assert len(found) > 100
