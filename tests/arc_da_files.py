"""Where the made-up ARC-DA and ARC files lie, and small helpers of the ARC-DA tests."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from twowiki.cli.main import CONVERSION, main

DATA = Path(__file__).parent / "data" / "arc_da"
RELEASE = DATA / "release"
ARC = DATA / "arc"


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_lines(path: Path, records: Iterable[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    path.write_text(text, encoding="utf-8")
    return path


def read_table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))


def write_table(path: Path, rows: list[Mapping[str, Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def arc_da(*arguments: object) -> int:
    """Run `twowiki arc-da ...`, or a stage of `convert`; give the exit status."""
    group = ["arc-da", "convert"] if arguments[0] in CONVERSION else ["arc-da"]
    return main([*group, *map(str, arguments)])
