"""What a stage holds in memory does not grow with what it reads."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from tests.generation.dumps import make
from twowiki.generation import depth, distractors, ranking
from twowiki.generation.contexts import Contexts
from twowiki.generation.samples import GeneratedSample, Provenance
from twowiki.generation.settings import Resources
from twowiki.generation.spool import RecordStore, Spool, Waiting
from twowiki.generation.tables import write_part

WORLD = Path(__file__).parents[1] / "data" / "world"
WORLD_DUMPS = (WORLD / "wikidata.json", WORLD / "paragraphs.jsonl")


def peak_of(work: Callable[[], object]) -> int:
    """Return the most bytes that Python held during a call."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_records_come_back_from_the_disk(tmp_path: Path):
    records = [(number, {"text": "x" * 900, "number": number}) for number in range(0, 9000, 3)]
    store = RecordStore(tmp_path, iter(records), dict)
    assert all(store.get(number) == record for number, record in records)
    assert store.get(1) is None
    assert 3 in store
    assert 4 not in store
    waiting = Waiting[int](Spool(tmp_path, int))
    for number in range(5):
        waiting.append(number)
    assert [waiting.popleft(), *waiting] == [0, 1, 2, 3, 4]
    assert list(tmp_path.iterdir()) == []  # nothing is left, however the process ends


def read_contexts(folder: Path, pages: int) -> Callable[[], int]:
    """Write samples' distractors and their pages; return what reads all contexts."""
    ids = list(range(pages))
    rows = {"sample": [qid // 8 for qid in ids], "qid": ids, "tier": [0] * pages}
    write_part(folder / "distractors", "part", pa.table(rows))
    texts = [f"{qid} " * 200 for qid in ids]
    titled = {"qid": ids, "title": list(map(str, ids)), "sent_id": [0] * pages, "text": texts}
    write_part(folder / "pages", "part", pa.table(titled))

    def samples() -> Iterator[GeneratedSample]:
        for number in range(pages // 8):
            yield GeneratedSample(
                id=str(number), type="comparison", question="?", answer="yes", gold=[], chains=[],
                answer_id=None, supporting_facts=(), evidences=(), evidences_id=(),
                provenance=Provenance(relations=[]), wordings=[],
            )  # fmt: skip

    def read() -> int:
        found = Contexts(8, samples, folder)
        found.add(folder / "distractors", folder / "pages")
        assert not list(found.short())
        return sum(len(context[0]) for _, context in found.all("0") if context)

    return read


def test_contexts_hold_no_more_for_more_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("twowiki.generation.spool._READ_AGAIN", 500)
    monkeypatch.setattr("twowiki.generation.tables._ROWS_AT_ONCE", 500)
    few, many = (read_contexts(tmp_path / str(pages), pages) for pages in (4_000, 16_000))
    assert peak_of(few) * 1.3 > peak_of(many)


def test_stages_read_some_at_a_time_and_give_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    make(WORLD_DUMPS, tmp_path / "one", limit_per_type=20, hops=3, seed="7")
    most: list[int] = []
    write_inputs, starts = distractors.write_inputs, depth._STARTS_AT_ONCE

    def counted(chosen: distractors.Numbered, *given: object, **named: object) -> None:
        most.append(len(chosen))
        write_inputs(chosen, *given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr("twowiki.generation.sampling.write_inputs", counted)
    monkeypatch.setattr("twowiki.generation.sampling.SAMPLES_AT_ONCE", 3)
    monkeypatch.setattr(depth, "_STARTS_AT_ONCE", 10)
    monkeypatch.setattr(ranking, "_SHARD", 7)
    monkeypatch.setattr(ranking, "_BATCH", 5)
    monkeypatch.setattr("twowiki.generation.queries._DAYS_AT_ONCE", 4)
    monkeypatch.setattr("twowiki.generation.tables._ROWS_AT_ONCE", 9)
    make(WORLD_DUMPS, tmp_path / "two", limit_per_type=20, hops=3, seed="7")
    assert starts > 10
    assert max(most) == 3
    assert len(most) > 10
    for name in ("train.json", "dev.json", "test.json", "provenance.jsonl", "id_aliases.json"):
        one, two = ((tmp_path / at / "out" / name).read_bytes() for at in ("one", "two"))
        assert one == two, name


@pytest.mark.parametrize(("memory", "count"), [("4GB", 8), ("1GB", 3), ("200MB", 1)])
def test_memory_limits_the_processes(memory: str, count: int):
    assert Resources(memory=memory, workers=8).processes(300 << 20) == count
