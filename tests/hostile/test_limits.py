"""No input stops a run, makes it wait, or asks for much time or memory."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import threading
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.generation.dumps import entity, statement
from twowiki.cli.main import main
from twowiki.data.aliases import read_aliases
from twowiki.data.splits import files_below, find_splits
from twowiki.errors import DataError
from twowiki.generation.dump_reader import LEFT_OUT, ingest, paragraph_files
from twowiki.generation.tables import read_rows
from twowiki.generation.wikitext import render_summary
from twowiki.io.records import read_object, read_records, read_values

# ---- one bad line of a dump

HUGE = "Q" + "9" * 25
DEEP = b'{"id":"Q3","type":"item","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
BAD_LINES = {
    "half a surrogate pair in a text": b'{"id":"Q3","labels":{"en":{"value":"\\ud800"}}}',
    "entity id out of range": json.dumps(entity(3, "Far") | {"id": HUGE}).encode(),
    "line nested too deeply": DEEP,
    "undecodable line": b'{"id":"Q3","x":' + b"9" * 5_000 + b'e}"',
    "line is no entity": b"[7]",
}


def dump(path: Path, *lines: bytes) -> Path:
    good = [json.dumps(entity(number, "Oru")).encode() for number in (1, 2)]
    path.write_bytes(b"[\n" + b",\n".join([good[0], *lines, good[1]]) + b"\n]\n")
    return path


@pytest.mark.parametrize("reason", BAD_LINES)
def test_a_bad_line_is_counted_with_its_place(
    tmp_path: Path, reason: str, capsys: pytest.CaptureFixture[str]
):
    path, out = dump(tmp_path / "dump.json", BAD_LINES[reason]), tmp_path / "out"
    counts = ingest([path], "wikidata", out, workers=1)
    assert counts[reason] == 1
    assert [row["qid"] for row in read_rows(out / "entities")] == [1, 2]
    place = {"file": str(path), "line": 3, "reason": reason}
    assert json.loads((out / LEFT_OUT).read_text()) == place
    assert f"{path}, line 3: {reason}" in capsys.readouterr().err


@pytest.mark.parametrize("number", [10**25, -(10**25), 1 << 63])
@pytest.mark.parametrize("spelling", ["id", "numeric-id"])
def test_a_statement_out_of_range_is_counted(tmp_path: Path, spelling: str, number: int):
    odd = statement("P25", 7)
    value = odd["mainsnak"]["datavalue"]["value"]
    value["id"], value["numeric-id"] = f"Q{abs(number)}", number
    del value["numeric-id" if spelling == "id" else "id"]
    line = json.dumps(entity(3, "Tal", {"P25": [odd]})).encode()
    counts = ingest([dump(tmp_path / "d", line)], "wikidata", tmp_path / "out", workers=1)
    assert counts["statement with an id out of range"] == 1
    assert counts["entity lines"] == 3


@pytest.mark.parametrize(
    "time", ["+" + "9" * 30 + "-01-01T00:00:00Z", "-" + "9" * 6000 + "-01-01T00:00:00Z", "\ud800"]
)
def test_no_date_stops_the_run(tmp_path: Path, time: str):
    odd = statement("P569", "+1907-03-05/11")
    odd["mainsnak"]["datavalue"]["value"] |= {"time": time, "precision": 10**25}
    line = json.dumps(entity(3, "Tal", {"P569": [odd]})).encode()
    assert ingest([dump(tmp_path / "d", line)], "wikidata", tmp_path / "out", workers=1)


@pytest.mark.parametrize("workers", [1, 2])
def test_places_count_through_blocks(tmp_path: Path, workers: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("twowiki.generation.dump_reader.BLOCK_BYTES", 600)
    bad = BAD_LINES["entity id out of range"]
    lines = [bad if number in (5, 40) else json.dumps(entity(number + 9, "Tal")).encode()
             for number in range(60)]  # fmt: skip
    out = tmp_path / "out"
    ingest([dump(tmp_path / "d", *lines)], "wikidata", out, workers=workers)
    places = [json.loads(line)["line"] for line in (out / LEFT_OUT).read_text().splitlines()]
    assert places == [8, 43]


PAGE = {"id": "7", "title": "Oru", "sentences": ["Oru is a lake."]}
LINK = '{"start": 0, "end": 3, "sent_idx": %s, "ref_ids": ["%s"], "ref_url": "Tal"}'


@pytest.mark.parametrize("link", [LINK % ("1e400", "Q1"), LINK % ("0", HUGE), "[1]", '"x"', "{}"])
def test_no_link_stops_the_run(tmp_path: Path, link: str):
    path = tmp_path / "p.jsonl"
    path.write_text(json.dumps(PAGE)[:-1] + f', "mentions": [{link}]}}\n' + json.dumps(PAGE))
    counts = ingest(*paragraph_files(path), tmp_path / "out", workers=1)
    assert counts["pages"] + counts["undecodable line"] == 2


def test_a_page_id_out_of_range_is_counted(tmp_path: Path):
    pages = "".join(
        f"<page>\n<title>Oru {number}</title><id>{number}</id><text>Oru is.</text>\n</page>\n"
        for number in ("7", "9" * 25, "9" * 5000, "8")
    )
    path = tmp_path / "pages.xml"
    path.write_text(f"<mediawiki>\n{pages}</mediawiki>\n")
    out = tmp_path / "out"
    counts = ingest(*paragraph_files(path), out, workers=1)
    assert (counts["pages"], counts["page without a title or an id"]) == (2, 2)
    places = [json.loads(line)["line"] for line in (out / LEFT_OUT).read_text().splitlines()]
    assert places == [5, 8]


def test_the_words_fit_the_file(tmp_path: Path):
    path = dump(tmp_path / "dump.json")
    path.write_bytes(path.read_bytes() + b'{"id": "Q9", "labels"')
    with pytest.raises(DataError, match="the file is truncated or damaged: 2 complete"):
        ingest([path], "wikidata", tmp_path / "out", workers=1)


def test_a_deep_last_line_is_left_out(tmp_path: Path):
    path = dump(tmp_path / "dump.json")
    path.write_bytes(path.read_bytes()[:-3] + b",\n" + DEEP)
    counts = ingest([path], "wikidata", tmp_path / "out", workers=1)
    assert counts["line nested too deeply"] == 1


def test_cut_parquet_names_the_file(tmp_path: Path):
    path = tmp_path / "p.parquet"
    pq.write_table(pa.Table.from_pylist([PAGE] * 2000), path, compression="none")
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DataError, match=rf"{path}: not readable as Parquet"):
        ingest(*paragraph_files(path), tmp_path / "out", workers=1)


# ---- pipes in folders


def named_pipe(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    return path


RECORD = {"_id": "a", "question": "Who?", "answer": "Oru", "context": [["Oru", ["Oru is."]]]}


@pytest.mark.parametrize("name", ["dev.json", "2wikimultihopqa.zip", "data.zip", "dev.parquet"])
@pytest.mark.parametrize("command", ["validate", "stats"])
def test_a_pipe_in_a_folder_is_not_waited_for(
    tmp_path: Path, command: str, name: str, capsys: pytest.CaptureFixture[str]
):
    pipe = named_pipe(tmp_path / "in" / name)
    assert main([command, str(pipe.parent)]) == 2
    assert f"{name}, which is no regular file" in capsys.readouterr().err


def test_a_pipe_beside_a_file_is_passed_over(tmp_path: Path):
    folder = named_pipe(tmp_path / "in" / "dev.json").parent
    (folder / "train.json").write_text(json.dumps([RECORD]))
    assert find_splits(folder) == {"train": [str(folder / "train.json")]}


def test_arc_da_and_corpora_pass_pipes_over(tmp_path: Path):
    folder = named_pipe(tmp_path / "in" / "arc_da_dev.jsonl").parent
    (folder / "arc_da_train.jsonl").write_text("{}\n")
    assert files_below(folder) == ["arc_da_train.jsonl"]


def test_aliases_in_a_folder_are_no_pipe(tmp_path: Path):
    folder = named_pipe(tmp_path / "in" / "id_aliases.json").parent
    with pytest.raises(DataError, match="is a pipe or device"):
        read_aliases(folder)


def test_a_pipe_by_its_own_name_is_read(tmp_path: Path):
    pipe = named_pipe(tmp_path / "pipe")
    writer = threading.Thread(target=pipe.write_text, args=(json.dumps({"a": "Oru"}),))
    writer.start()
    assert read_values(pipe)[0] == {"a": "Oru"}
    writer.join()


# ---- files that unpack to much more

PACKED = {
    "gz": lambda data: gzip.compress(data, 6),
    "bz2": lambda data: bz2.compress(data, 9),
    "xz": lambda data: lzma.compress(data, preset=0),
}
SIZE = 20_000_000
BLOWN_UP = {
    "letters": b"x" * SIZE,
    "one text": b'{"a":"' + b"x" * SIZE,
    "blanks": b"[" + b" " * SIZE,
    "brackets": b"[" * SIZE,
    "records": b'{"a":"b"},' * (SIZE // 10),
}


@cache
def packed(packing: str, content: str) -> bytes:
    data = BLOWN_UP[content]
    if packing != "zip":
        return PACKED[packing](data)
    with io.BytesIO() as stream:
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("id_aliases.json", data)
        return stream.getvalue()


def blown_up(path: Path, packing: str, content: str) -> Path:
    path.write_bytes(packed(packing, content))
    return path


def peak_of(read: Callable[[Path], Any], path: Path) -> int:
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=rf"{path}: .*(longer than 16,777,216|unpacks to more)"):
            read(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("packing", [*PACKED, "zip"])
@pytest.mark.parametrize("content", ["letters", "records"])
@pytest.mark.parametrize("reader", [read_values, read_aliases, read_object])
def test_a_packed_file_is_not_unpacked_without_end(
    tmp_path: Path, packing: str, content: str, reader: Callable[[Path], Any]
):
    path = blown_up(tmp_path / "file", packing, content)
    assert peak_of(reader, path) < 60 << 20


@pytest.mark.parametrize("content", BLOWN_UP)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_score_ends_in_one_sentence(
    tmp_path: Path, content: str, place: int, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "gold.json").write_text(json.dumps([RECORD]))
    (tmp_path / "predictions.json").write_text(json.dumps({"answer": {"a": "Oru"}}))
    (tmp_path / "aliases.json").write_text("")
    files = [str(tmp_path / name) for name in ("predictions.json", "gold.json", "aliases.json")]
    files[place] = str(blown_up(tmp_path / "big.gz", "gz", content))
    assert main(["score", *files]) == 2
    error = capsys.readouterr().err
    assert files[place] in error
    assert error.count("\n") == 1


def test_a_real_text_packs_within_the_limit(tmp_path: Path):
    records = [RECORD | {"_id": f"{number:024x}"} for number in range(200_000)]
    path = tmp_path / "gold.gz"
    path.write_bytes(gzip.compress(json.dumps(records).encode()))
    assert len(read_values(path)[0]) == 200_000


# ---- wikitext in linear time

UNCLOSED = (
    "<!--", "<ref>", "<ref name=", "<math>", "<REF>x", "<ref>a</math>", "[http://", "[//x ", "[//x",
    "[http://x   ", "{{", "{{a|", "{|", "{|\n", "[[", "[[a|", "[[a|[[", "{{{", "{{a|b=", "}}", "]]",
    "|}", "==", "== a ==  ", "'" * 2, "__A", "&#9", "(", "( ", "(\u2003", " \u2003", "\x01",
    "\x02a", "[[a|b\n|c]]", "{{foo}}", "x {{foo}} ", "{{convert|1|-", "|-|1", "<br ", "<br", "\n",
    "\na", "a.b ", "[[a.|a.]]. ", "[[[[x]]", "<", "<a", ";", "</ref ", "[[file:a|b]]",
)  # fmt: skip


def nested(opening: str, closing: str) -> Callable[[int], str]:
    return lambda size: (
        opening * (size // (len(opening + closing))) + closing * (size // (len(opening + closing)))
    )


MARKUP = {
    **{repr(token): (lambda size, token=token: token * (size // len(token))) for token in UNCLOSED},
    "templates": nested("{{a|", "}}"),
    "tables": nested("{|", "|}"),
    "links": nested("[[a|", "]]"),
    "bare links": nested("[[", "]]"),
    "references": nested("<ref>", "</ref>"),
    "comments": nested("<!--", "-->"),
    "a blank name": lambda size: "{{a|" + " " * size + "!=}}",
    "blanks": lambda size: "x" + "\u2003" * size + "x",
    "brackets of blanks": lambda size: "(" + "\u2003" * size + "x",
    "one conversion": lambda size: "{{convert|1" + "|-|1" * (size // 4) + "|km}}",
    "a long number": lambda size: "&#" + "9" * size + ";",
}


def seconds_of(text: str) -> float:
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        render_summary(text)
        best = min(best, time.process_time() - started)
    return best


@pytest.mark.parametrize("markup", MARKUP)
def test_time_grows_with_length_alone(markup: str):
    """Eight times the text: a quadratic reader takes 64 times as long, a linear one eight."""
    small, large = (seconds_of(MARKUP[markup](size)) for size in (15_000, 120_000))
    assert large < 24 * max(small, 0.004)


def test_nesting_does_not_multiply_a_text():
    assert len(render_summary("[[" * 60 + "x" + "]]" * 60).text) < 1000


@pytest.mark.parametrize("text", ["[[{{]]", "[[a|b\n|c]]", "\x01a\x02b\x03", "[[a[[b]]c]]"])
def test_no_control_characters_are_left(text: str):
    assert not set("\x01\x02\x03") & set(render_summary(text).text)


def test_a_number_of_no_character_is_one_sign():
    assert render_summary("a &#" + "9" * 5000 + "; b").text == "a \ufffd b"


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.json", "a.jsonl", "a.parquet", "a.zip"])
def test_a_device_has_no_end_and_is_not_read(tmp_path: Path, name: str):
    (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(DataError, match=f"{name}: is a device, not a file"):
        list(read_records(tmp_path / name))
