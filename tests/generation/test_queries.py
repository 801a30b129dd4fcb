"""Single queries on tables made here: what becomes of sizes that no small dump has."""

from __future__ import annotations

from hashlib import md5
from pathlib import Path

import pyarrow as pa
import pytest

from twowiki.generation.engines import DuckDBEngine, query
from twowiki.generation.queries import COMPARISONS, Tables, write_rules
from twowiki.generation.tables import read_rows, table_of, write_part

GROUPS = {100: 9000, 200: 700}  # class -> its entities


@pytest.fixture
def members(tmp_path: Path) -> Tables:
    """Two groups whose entities each have another day of birth."""
    rows = [
        {
            "s": 1_000_000 * kind + number, "class": kind, "place": place, "type": "human",
            "relation": "date of birth", "kind": "date", "low": number, "high": number, "o": number,
            "k": md5(f"{kind}{number}".encode()).hexdigest(),
        }
        for place, (kind, size) in enumerate(GROUPS.items(), 1)
        for number in range(size)
    ]  # fmt: skip
    write_part(tmp_path / "members", "part-00000", pa.Table.from_pylist(rows))
    columns = ("s", "p", "o")
    empty = pa.table({name: pa.array([], pa.int64()) for name in columns})
    write_part(tmp_path / "grounded", "part-00000", empty)
    write_part(tmp_path / "uncertain", "part-00000", table_of("uncertain", ()))
    return {name: tmp_path / name for name in ("members", "grounded", "uncertain")}


@pytest.mark.parametrize(("cap", "most"), [(50, 400), (10**6, 9000)])
def test_of_a_huge_group_the_first_in_shuffled_order_are_compared(
    tmp_path: Path, members: Tables, cap: int, most: int
) -> None:
    write_rules(tmp_path, members, seed="0", exhaustive=False, cap=cap)
    engine = DuckDBEngine(tmp_path / "scratch")
    inputs = {name: members[name] for name in COMPARISONS["comparison"].split()}
    engine.sql(query("comparison"), inputs, tmp_path / "comparison")
    pairs = list(read_rows(tmp_path / "comparison"))
    engine.close()
    for kind, size in GROUPS.items():
        compared = {s for row in pairs if row["class"] == kind for s in (row["s1"], row["s2"])}
        expected = min(size, most)
        assert 0.8 * expected <= len(compared) <= 1.2 * expected
        order = sorted(range(size), key=lambda number: md5(f"{kind}{number}".encode()).hexdigest())
        assert compared == {1_000_000 * kind + number for number in order[: len(compared)]}
