"""Whether two runs gave the same: file by file, then stage by stage, whatever the engines.

In: two output folders. Out: lines that say what is equal and what differs; for a split that
differs, the first samples that only one run has.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from twowiki.errors import DataError
from twowiki.files import sha256_of
from twowiki.generation.manifest import MANIFEST, digest_rows
from twowiki.generation.outputs import PROVENANCE
from twowiki.generation.sampling import read_json_lines

FILES = ("train.json", "dev.json", "test.json", "id_aliases.json", PROVENANCE, "report.json",
         "report.html")  # fmt: skip
_SHOWN = 5
# A date stands once a part here, and engines cut other parts; `days` holds it once.
_UNCOMPARED = {"dates"}


class Verdict(NamedTuple):
    """One comparison: what, whether it is equal, and details of a difference."""

    what: str
    equal: bool
    detail: str = ""


def compare_runs(one: Path, two: Path) -> Iterator[Verdict]:
    """Compare the files of two runs, then the tables that both still have.

    Raises:
        DataError: when a folder is no finished run.
    """
    for folder in (one, two):
        if not (folder / "report.json").is_file():
            raise DataError(
                "no finished run here", file=folder, remedy="Give the --out of `twowiki generate`."
            )
    for name in FILES:
        equal = sha256_of(one / name) == sha256_of(two / name)
        yield Verdict(name, equal, "" if equal else _difference(one, two, name))
    parquet = [
        {
            str(path.relative_to(folder)): sha256_of(path)
            for path in sorted(folder.rglob("*.parquet"))
        }
        for folder in (one / "parquet", two / "parquet")
    ]
    yield Verdict("parquet", parquet[0] == parquet[1])
    stages = sorted(_stages(one) & _stages(two))
    for stage in stages:
        for table in sorted(_tables(one / "work" / stage) & _tables(two / "work" / stage)):
            path = Path("work") / stage / table
            yield Verdict(str(path), digest_rows(one / path) == digest_rows(two / path))


def _stages(run: Path) -> set[str]:
    return {path.parent.name for path in (run / "work").glob(f"*/{MANIFEST}")}


def _tables(stage: Path) -> set[str]:
    manifest = json.loads((stage / MANIFEST).read_text("utf-8"))
    return set(manifest["tables"]) - _UNCOMPARED


def _difference(one: Path, two: Path, name: str) -> str:
    if name != PROVENANCE:
        return ""
    known = [
        {record["_id"]: record["question"] for record in read_json_lines(folder / name)}
        for folder in (one, two)
    ]
    lines = []
    one_way, other_way = known
    for label, mine, other in (
        ("first", one_way, other_way),
        ("second", other_way, one_way),
    ):
        alone = sorted(set(mine) - set(other))
        lines += [f"only in the {label}: {key} {mine[key]}" for key in alone[:_SHOWN]]
        if len(alone) > _SHOWN:
            lines.append(f"only in the {label}: {len(alone) - _SHOWN:,} more")
    return "\n".join(lines)
