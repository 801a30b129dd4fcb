"""Writes the made-up records in every form that a source may have."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

RECORDS = Path(__file__).parent / "data" / "two_wiki.json"
ALIASES = (
    '{"Q_id": "Q103", "aliases": ["Brin Moor"], "demonyms": []}\n'
    '{"Q_id": "Q8", "aliases": [], "demonyms": ["Veltrian"]}\n'
)


def read_records() -> list[dict[str, Any]]:
    """The made-up records, two of each type; each id names its corner."""
    records: list[dict[str, Any]] = json.loads(RECORDS.read_text(encoding="utf-8"))
    return records


def hidden(record: dict[str, Any]) -> dict[str, Any]:
    """The record as a test split would hold it."""
    blank = {"answer": "", "supporting_facts": [], "evidences": [], "evidences_id": []}
    return {**record, **blank, "answer_id": None}


def write_array(path: Path, records: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(records, ensure_ascii=False), encoding="utf-8")
    return path


def write_release(folder: Path, records: list[dict[str, Any]]) -> Path:
    """train, dev and (hidden) test as the unpacked release has them."""
    write_array(folder / "train.json", records[:5])
    write_array(folder / "dev.json", records[5:])
    write_array(folder / "test.json", [hidden(record) for record in records[:3]])
    (folder / "id_aliases.json").write_text(ALIASES, encoding="utf-8")
    return folder


def write_zip(path: Path, records: list[dict[str, Any]], inside: str = "") -> Path:
    """The release as the authors' zip, its members in a folder or not."""
    release = write_release(path.parent / f"{path.stem}-unpacked", records)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(release.iterdir()):
            archive.write(file, inside + file.name)
        archive.writestr("__MACOSX/._train.json", b"\0")
    return path


def write_lines(path: Path, records: list[dict[str, Any]]) -> Path:
    data = "".join(json.dumps(record) + "\n" for record in records).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path
