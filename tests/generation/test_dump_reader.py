from __future__ import annotations

import bz2
import gzip
import json
import random
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.generation.dumps import HUMAN, JULIAN, entity, statement
from twowiki.errors import DataError
from twowiki.generation import compaction, wikidata
from twowiki.generation import dump_reader as ingesting
from twowiki.generation.dates import date_of_key
from twowiki.generation.dump_reader import (
    WIKIDATA_TABLES,
    LineBlocks,
    ingest,
    paragraph_files,
)
from twowiki.generation.tables import digest_rows, parquet_files, read_rows
from twowiki.generation.wikidata import parse_lines

ODD = (
    b'[\n{"id":"Q1","type":"item","labels":{},"claims":[]},\n\n'
    b'{"id":"P22","type":"property"},\r\n{"id":"L7","type":"lexeme"},\n'
    b'{"id":"Q2","type":"item","labels":{"en":{"language":"en","value":"Oru"}},"claims":{}}\n]'
)


def lines_of(*entities: dict[str, Any]) -> bytes:
    return b"[\n" + b",\n".join(json.dumps(one).encode() for one in entities) + b"\n]\n"


def claims_of(*entities: dict[str, Any]) -> list[tuple[Any, ...]]:
    return parse_lines(lines_of(*entities)).tables["claims"]


def pack(path: Path, data: bytes) -> Path:
    kinds = {".gz": gzip.compress, ".bz2": bz2.compress}
    path.write_bytes(kinds.get(path.suffix, bytes)(data))
    return path


# ---- entity lines


def test_odd_lines_are_skipped_and_counted():
    tables, counts = parse_lines(ODD + b"\nnot json\n[1]\n")
    assert [row[0] for row in tables["entities"]] == [2]
    assert counts["entity lines"] == 4
    assert counts["not an item"] == 2
    assert counts["no English label"] == 1
    assert counts["undecodable line"] + counts["line is no entity"] == 2


def test_statements_without_a_value_have_no_object():
    rows = claims_of(entity(1, "Oru", {"P26": [None], "P25": [2]}))
    assert [(row[1], row[2]) for row in rows] == [(25, 2), (26, None)]


def test_a_missing_datatype_is_no_loss():
    bare = statement("P25", 2)
    del bare["mainsnak"]["datatype"]
    text = statement("P22", 3)
    text["mainsnak"]["datavalue"] = {"value": "Q3", "type": "string"}
    del text["mainsnak"]["datatype"]
    tables, counts = parse_lines(lines_of(entity(1, "Oru", {"P25": [bare], "P22": [text]})))
    assert [(row[1], row[2]) for row in tables["claims"]] == [(22, None), (25, 2)]
    assert counts["entity read the slow way"] == 1


def test_ids_come_from_either_spelling():
    old = statement("P25", 2)
    del old["mainsnak"]["datavalue"]["value"]["id"]
    new = statement("P22", 3)
    del new["mainsnak"]["datavalue"]["value"]["numeric-id"]
    assert [row[2] for row in claims_of(entity(1, "Oru", {"P25": [old], "P22": [new]}))] == [3, 2]


@pytest.mark.parametrize(
    ("given_ranks", "kept"),
    [
        ([("+1900-00-00/9", "deprecated"), ("+1907-00-00/9", "normal"),
          ("+1908-00-00/9", "preferred")], [1908]),
        ([("+1900-00-00/9", "deprecated")], []),
        ([("+1907-00-00/9", "normal"), ("+1908-00-00/9", "normal")], [1907, 1908]),
    ],
)  # fmt: skip
def test_the_best_rank_counts(given_ranks: list[tuple[str, str]], kept: list[int]):
    values = [statement("P569", time, rank) for time, rank in given_ranks]
    rows = claims_of(entity(1, "Oru", {"P569": values}))
    assert [date_of_key(row[2]).year for row in rows if row[3]] == kept


def test_dates_of_any_kind_do_no_harm():
    times = ["+1907-00-00/9", "+1907-03-00/10", "-0499-01-01/9", "+20080-01-01/9", "+1900-00-00/7"]
    values = [statement("P571", time) for time in times]
    values.append(statement("P571", "+1752-09-02/11", calendar=JULIAN))
    tables, counts = parse_lines(lines_of(entity(1, "Oru", {"P571": values})))
    found = [row[2] and date_of_key(row[2]) for row in tables["claims"]]
    assert [date and date.year for date in found] == [1907, 1907, -499, 20080, None, 1752]
    assert found[-1].julian
    assert counts["date coarser than a year or out of range"] == 1


def test_labels_in_other_languages_are_no_names():
    french = entity(1, "Lac", {"P31": [HUMAN]}, language="fr")
    tables, counts = parse_lines(lines_of(french, entity(2, "Oru", language="mul")))
    assert [row[:2] for row in tables["entities"]] == [(2, "Oru")]
    assert {row[0] for row in tables["names"]} == {2}
    assert counts["no English label"] == 1


def test_names_hold_label_title_aliases_and_demonyms_once():
    one = entity(
        8,
        "Veltria",
        {"P1549": ["Veltrian"]},
        title="Veltria (land)",
        aliases=["VT", "us", "7", "VELTRIA"],
    )
    names = [(row[3], row[2]) for row in parse_lines(lines_of(one)).tables["names"]]
    assert names == [("label", "Veltria"), ("alias", "VT"), ("demonym", "Veltrian")]


def test_an_end_time_is_kept():
    ended = statement("P26", 2, qualifiers={"P582": [{"snaktype": "value"}]})
    assert [row[5] for row in claims_of(entity(1, "Oru", {"P26": [ended, 3]}))] == [1, 0]


def test_the_slow_way_gives_the_same_rows(monkeypatch: pytest.MonkeyPatch, shared: Path):
    for name in ("wikidata/all_entities.ndjson", "two_wiki/mini_dump/wikidata.json"):
        data = (shared / "data" / name).read_bytes()
        fast = parse_lines(data)
        with monkeypatch.context() as patch:
            patch.setattr(wikidata, "_decoder", _Refusing())
            slow = parse_lines(data)
        assert slow.tables == fast.tables
        assert slow.counts["entity read the slow way"] == slow.counts["entity lines"]
        assert fast.counts["entity read the slow way"] <= 1


class _Refusing:
    def decode(self, _: bytes) -> None:
        raise msgspec.DecodeError("no")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["id", "type", "labels", "en", "value", "claims", "P22", "P569", "mainsnak", "rank",
             "datavalue", "snaktype", "sitelinks", "enwiki", "title", "aliases", "qualifiers"]
        ),
        inner,
        max_size=4,
    ),
    max_leaves=20,
)  # fmt: skip


@settings(max_examples=200)
@given(st.dictionaries(st.sampled_from(["labels", "claims", "sitelinks", "aliases", "type"]), JSON))
def test_no_entity_stops_the_run(parts: dict[str, Any]):
    line = json.dumps({"id": "Q5"} | parts).encode()
    _, counts = parse_lines(line)
    assert counts["entity lines"] == 1


# ---- files


@pytest.mark.parametrize("suffix", [".json", ".json.gz", ".json.bz2"])
def test_every_packing_gives_the_same_entities(tmp_path: Path, suffix: str):
    path = pack(tmp_path / f"dump{suffix}", ODD)
    counts = ingest([path], "wikidata", tmp_path / "out", workers=1)
    assert counts["entity lines"] == 4
    assert [row["qid"] for row in read_rows(tmp_path / "out" / "entities")] == [2]


@pytest.mark.parametrize("suffix", [".json.gz", ".json.bz2", ".json"])
def test_a_cut_dump_says_so_and_how_much_it_held(tmp_path: Path, suffix: str):
    rng = random.Random(1)  # noise, so that bzip2 needs several blocks
    entities = [entity(number, f"Oru {rng.randbytes(2000).hex()}") for number in range(1, 400)]
    path = pack(tmp_path / f"dump{suffix}", lines_of(*entities))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match=r"truncated.*: \d+ complete entities were read"):
        ingest([path], "wikidata", tmp_path / "out", workers=1)
    counts = ingest([path], "wikidata", tmp_path / "on", workers=1, allow_truncated=True)
    assert 0 < counts["entity lines"] < 400
    assert counts["undecodable line"] == 0


def test_a_file_without_its_bracket_is_whole(tmp_path: Path):
    path = pack(tmp_path / "dump.json", lines_of(entity(1, "Oru"), entity(2, "Tal"))[:-3])
    assert ingest([path], "wikidata", tmp_path / "out", workers=1)["entity lines"] == 2


def test_files_packed_in_pieces_are_read_through(tmp_path: Path):
    for suffix, squeeze in ((".gz", gzip.compress), (".bz2", bz2.compress)):
        path = tmp_path / f"dump{suffix}"
        path.write_bytes(squeeze(b"one\n") + squeeze(b"two\n"))
        blocks = LineBlocks(path)
        assert b"".join(blocks) == b"one\ntwo\n"
        assert not blocks.truncated


@pytest.mark.parametrize("cut", [0, 5, 100_000])
def test_threads_unpack_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: int):
    """Of a file that ends too early both give all complete blocks of bzip2."""
    rng = random.Random(1)
    packed = bz2.compress(b"".join(b"%0300x\n" % rng.getrandbits(1200) for _ in range(9_000)))
    path = tmp_path / "dump.bz2"
    path.write_bytes(packed[: len(packed) - cut])
    plain = LineBlocks(path, 1 << 20)
    expected = list(plain)
    monkeypatch.setattr(ingesting, "_PARALLEL_FROM", 0)
    monkeypatch.setitem(ingesting._DECODERS, "bzip2", None)
    blocks = LineBlocks(path, 1 << 20, threads=2)
    assert list(blocks) == expected
    assert blocks.truncated == plain.truncated == bool(cut)


@settings(max_examples=60)
@given(st.lists(st.text(alphabet="ab", max_size=9), max_size=20), st.integers(1, 30))
def test_blocks_hold_whole_lines(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], size: int
):
    path = tmp_path_factory.mktemp("blocks") / "lines"
    text = "".join(line + "\n" for line in lines).encode()
    path.write_bytes(text)
    blocks = list(LineBlocks(path, size))
    assert b"".join(blocks) == text
    assert all(block.endswith(b"\n") for block in blocks)


def test_an_empty_dump_is_an_error(tmp_path: Path):
    path = pack(tmp_path / "dump.json", b"[\n]\n")
    with pytest.raises(DataError, match="no entities found"):
        ingest([path], "wikidata", tmp_path / "out", workers=1)


# ---- paragraphs


LINK = {"id": 0, "start": 17, "end": 20, "ref_url": "Tal", "ref_ids": ["Q9"], "sent_idx": 0}
PAGE = {
    "id": "7",
    "title": "Oru (lake)",
    "sentences": ["Oru is a lake in Tal."],
    "mentions": [LINK, LINK | {"end": 99}],
}
ARTICLE = {
    "id": 7,
    "url": "u",
    "title": "Oru (lake)",
    "text": "Oru is a lake in Tal.\n\nPast\n\nOld.",
}


def paragraphs(path: Path) -> dict[str, list[dict[str, Any]]]:
    files, form = paragraph_files(path)
    out = path.parent / "tables"
    ingest(files, form, out, workers=1)
    return {name: read_rows(out / name) for name in ("pages", "sentences", "mentions")}


def test_every_form_of_paragraphs_gives_the_same_page(tmp_path: Path):
    packed = {
        "a": pack(tmp_path / "a.jsonl.gz", json.dumps(PAGE).encode()),
        "b": pack(tmp_path / "b.jsonl", json.dumps(ARTICLE).encode() + b"\r\n"),
        "c": tmp_path / "c.parquet",
        "d": pack(tmp_path / "d.xml.bz2", b"<mediawiki>\n<page><title>Oru (lake)</title><ns>0</ns>"
                  b"<id>7</id><text>Oru is a lake in [[Tal]].\n== Past ==\nOld.</text></page>\n"
                  b"</mediawiki>"),
        "e": tmp_path / "e.zip",
    }  # fmt: skip
    pq.write_table(pa.Table.from_pylist([ARTICLE]), packed["c"])
    with zipfile.ZipFile(packed["e"], "w") as archive:
        archive.writestr("para.jsonl", json.dumps(PAGE))
    for name, path in packed.items():
        folder = tmp_path / name
        folder.mkdir()
        found = paragraphs(path.rename(folder / path.name))
        assert [(row["page_id"], row["title"], row["n_sentences"]) for row in found["pages"]] == [
            (7, "Oru (lake)", 1)
        ], name
        assert found["sentences"][0]["text"] == "Oru is a lake in Tal.", name
        links = [(row["start"], row["end"], row["target_key"]) for row in found["mentions"]]
        assert links == ([(17, 20, "Tal")] if name in "ade" else []), name


def test_a_folder_of_shards_is_one_input(tmp_path: Path):
    folder = tmp_path / "shards"
    folder.mkdir()
    for number in (1, 2):
        rows = [ARTICLE | {"id": number, "title": f"Oru {number}"}]
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{number}.parquet")
    files, form = paragraph_files(folder)
    assert (len(files), form) == (2, "parquet")
    assert ingest(files, form, tmp_path / "out", workers=1)["pages"] == 2


def test_records_without_text_are_counted(tmp_path: Path):
    odd = [{"id": 1}, {"title": "A", "text": "x"}, {"id": 2, "title": "B"}, [1],
           {"id": 3, "title": "C", "sentences": [" "]},
           {"id": "4", "title": "D", "text": "D is."}]  # fmt: skip
    path = pack(tmp_path / "p.jsonl", "\n".join(map(json.dumps, odd)).encode() + b"\n{broken\n")
    files, form = paragraph_files(path)
    counts = ingest(files, form, tmp_path / "out", workers=1)
    assert counts == {
        "record without a title": 2, "record without a page id": 1, "undecodable line": 1,
        "record with neither sentences nor text": 1, "page without a summary": 1, "pages": 1,
    }  # fmt: skip


def test_missing_inputs_name_the_remedy(tmp_path: Path):
    with pytest.raises(DataError, match="--paragraphs"):
        paragraph_files(tmp_path / "none")
    with pytest.raises(DataError, match="empty"):
        paragraph_files(tmp_path)


# ---- workers


@pytest.mark.slow
def test_workers_and_stops_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ingesting, "BLOCK_BYTES", 2000)
    entities = [entity(number, f"Oru {number}", {"P31": [HUMAN]}) for number in range(1, 200)]
    path = pack(tmp_path / "dump.json.gz", lines_of(*entities))
    counts = [
        ingest([path], "wikidata", tmp_path / str(workers), workers=workers) for workers in (1, 2)
    ]
    stopped = tmp_path / "1"
    kept = sorted((stopped / "parts").glob("*.json"))
    assert len(kept) > 5
    for part in kept[3:]:
        part.unlink()
    counts.append(ingest([path], "wikidata", stopped, workers=1))
    assert counts[0] == counts[1] == counts[2]
    for one in sorted((tmp_path / "1").rglob("*.parquet")):
        other = tmp_path / "2" / one.relative_to(tmp_path / "1")
        assert one.read_bytes() == other.read_bytes()


@pytest.mark.slow
def test_pages_of_xml_are_read_by_spawned_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ingesting, "BLOCK_BYTES", 200)
    pages = "".join(
        f"<page><title>Oru {number}</title><ns>0</ns><id>{number}</id>"
        f"<text>'''Oru {number}''' was born on {{{{birth date|1907|3|{number}}}}}.</text></page>\n"
        for number in (1, 2, 3)
    )
    path = pack(tmp_path / "pages.xml.bz2", f"<mediawiki>\n{pages}</mediawiki>".encode())
    files, form = paragraph_files(path)
    assert ingest(files, form, tmp_path / "out", workers=2)["pages"] == 3
    texts = [row["text"] for row in read_rows(tmp_path / "out" / "sentences")]
    assert texts == [f"Oru {n} was born on {n} March 1907." for n in (1, 2, 3)]


def test_many_parts_become_few_sorted_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Stopped anywhere, also between two tables, it goes on to the same rows."""
    monkeypatch.setattr(ingesting, "BLOCK_BYTES", 2000)
    entities = [entity(400 - n, f"Oru {n}", {"P31": [HUMAN]}) for n in range(80)]
    path = pack(tmp_path / "dump.json.gz", lines_of(*entities))
    ingest([path], "wikidata", tmp_path / "parts", workers=1)
    digests = {name: digest_rows(tmp_path / "parts" / name) for name in WIKIDATA_TABLES}
    monkeypatch.setattr(compaction, "MOST_PARTS", 4)
    monkeypatch.setattr(compaction, "FILE_BYTES", 8_000)
    for step in ("write_part", "_replace"):
        for stop in (0, 2):
            folder = tmp_path / f"{step}-{stop}"
            plain, turns = getattr(compaction, step), iter([True] * stop)

            def stopped(place: Path, *given: Any, plain: Any = plain, turns: Any = turns) -> None:
                if not next(turns, False):
                    raise KeyboardInterrupt
                plain(place, *given)

            with monkeypatch.context() as patched:
                patched.setattr(compaction, step, stopped)
                with pytest.raises(KeyboardInterrupt):
                    ingest([path], "wikidata", folder, workers=1)
            ingest([path], "wikidata", folder, workers=1)
            assert {name: digest_rows(folder / name) for name in WIKIDATA_TABLES} == digests
    few, many = (parquet_files(one / "claims") for one in (folder, tmp_path / "parts"))
    assert 1 < len(few) < len(many) / 4
    for file in few:
        subjects = pq.ParquetFile(file).read(["s"]).column("s").to_pylist()
        assert subjects == sorted(subjects)
