"""What a run has done: one manifest a stage, keyed by all that the stage depends on.

A stage is done when its manifest holds its key. A stage with another key starts over; one with
its own key and no manifest goes on where it stopped, as far as it can.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from twowiki.generation.tables import parquet_files
from twowiki.io.files import write_json

MANIFEST = "_manifest.json"
_KEY = "_key"
_WHOLE_FILE = 256 << 20


def fingerprint(path: Path) -> dict[str, Any]:
    """Name a file's content: all of it, or 1 MB in every 64 of a big one, and its size."""
    size = path.stat().st_size
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        if size <= _WHOLE_FILE:
            digest = hashlib.file_digest(stream, "sha256")
        else:
            for offset in (*range(0, size, 64 << 20), size - (1 << 20)):
                stream.seek(offset)
                digest.update(stream.read(1 << 20))
    return {"bytes": size, "sha256": digest.hexdigest(), "sampled": size > _WHOLE_FILE}


def key_of(parts: Mapping[str, Any]) -> str:
    """Give a short name for everything that a stage depends on."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def run_stage(
    folder: Path,
    key: str,
    work: Callable[[Path], Mapping[str, Any]],
    *,
    engine: str,
    keep_partial: bool = False,
) -> dict[str, Any]:
    """Run a stage unless it is done; give what it counted.

    Args:
        folder: the stage's own folder.
        key: from `key_of`.
        work: writes into the folder and gives its counts.
        engine: the engine's name, for the record.
        keep_partial: leave the parts of a run of the same key that was stopped.
    """
    manifest = folder / MANIFEST
    if manifest.is_file():
        known = json.loads(manifest.read_text("utf-8"))
        if known["key"] == key:
            counts: dict[str, Any] = known["counts"]
            return counts
    partial = folder / _KEY
    same = partial.is_file() and partial.read_text("utf-8") == key
    if folder.exists() and not (same and keep_partial and not manifest.exists()):
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    partial.write_text(key, "utf-8")
    print(f"{folder.name} ...", file=sys.stderr, flush=True)
    started = time.time()
    done = dict(work(folder))
    record = {
        "stage": folder.name,
        "key": key,
        "engine": engine,
        "counts": done,
        "tables": _digests(folder),
        "seconds": round(time.time() - started, 1),
        "peak_memory_mb": _peak_memory(),
    }
    write_json(manifest, record)
    return done


def _peak_memory() -> int:
    """Give the most memory that this process or a worker of it has held, in MB; 0 on Windows."""
    try:
        import resource
    except ImportError:
        return 0
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return max(resource.getrusage(kind).ru_maxrss for kind in kinds) // unit


def _digests(folder: Path) -> dict[str, dict[str, Any]]:
    tables = {}
    for table in sorted(path for path in folder.iterdir() if path.is_dir()):
        files = parquet_files(table)
        if files:
            rows = sum(pq.read_metadata(file).num_rows for file in files)
            tables[table.name] = {"rows": rows}
    return tables


def digest_rows(folder: Path) -> str:
    """Give a name for a table's rows, whatever their order and their files."""
    total = 0
    for file in parquet_files(folder):
        for batch in pq.ParquetFile(file).iter_batches(batch_size=50_000):
            names = sorted(batch.schema.names)
            columns = [batch.column(name).to_pylist() for name in names]
            for row in zip(*columns, strict=True):
                text = "\x1f".join("\x00" if value is None else str(value) for value in row)
                total += int.from_bytes(hashlib.md5(text.encode()).digest()[:8], "big")
    return f"{total % (1 << 64):016x}"
