"""One cache for finished work: a folder is finished when its manifest holds the key of the work.

`key_of` turns everything that the result depends on (settings, versions, `fingerprint_of` each
input file) into a key. `run_stage(folder, key, work)` returns at once what `work` returned when
the folder is finished under this key. Otherwise it calls `work(folder)` and writes the manifest
last, so a killed run never looks finished. A folder with another key is emptied first. With
`keep_partial`, a stopped run of the same key finds what it had written; `io.journal.Journal` in
the folder remembers which parts of it are complete:

    def work(folder: Path) -> dict[str, Any]:
        done = Journal(folder / "parts.jsonl", {}, key="part")
        for part in parts:
            if part not in done.records:
                write_part(folder, part)
                done.add([{"part": part}])
        return {"parts": len(done.records)}

    run_stage(folder, key_of({"settings": settings, "input": fingerprint_of(path)}), work,
              keep_partial=True)
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from twowiki.io.files import sha256_of, write_json

MANIFEST = "_manifest.json"
_KEY = "_key"
_WHOLE_FILE = 256 << 20
HASHES = "hashes.json"  # in a folder of finished work: the hash of each file that it depends on
_SETTLED = 2_000_000_000  # nanoseconds after which a change of a file has another time

StageWork = Callable[[Path], Mapping[str, Any]]


def fingerprint_of(path: str | PathLike[str]) -> dict[str, Any]:
    """Return a file's size and the hash of its content: all of it, or 1 MB of every 64 MB."""
    place = Path(path)
    size = place.stat().st_size
    digest = hashlib.sha256()
    with open(place, "rb") as stream:
        if size <= _WHOLE_FILE:
            digest = hashlib.file_digest(stream, "sha256")
        else:
            for offset in (*range(0, size, 64 << 20), size - (1 << 20)):
                stream.seek(offset)
                digest.update(stream.read(1 << 20))
    return {"bytes": size, "sha256": digest.hexdigest(), "sampled": size > _WHOLE_FILE}


def file_stamps(path: str | PathLike[str]) -> list[list[Any]]:
    """Return name, size and time of a file, or of all files below a folder; [] if there is none."""
    place = Path(path)
    files = [place] if place.is_file() else (file for file in place.rglob("*") if file.is_file())
    found = ((str(file.relative_to(place)), file.stat()) for file in files)
    return sorted([name, one.st_size, one.st_mtime_ns] for name, one in found)


def file_hash(path: str, folder: Path | None = None) -> str:
    """Return the SHA-256 of a file.

    Args:
        path: the file.
        folder: where hashes are kept; a file is not read again while its size, times and inode
            are those of its hash. A file that changed a moment ago is read each time.
    """
    before = _stamp(path)
    known = _kept_hashes(folder).get(os.path.abspath(path)) if folder else None
    if isinstance(known, list) and known[:-1] == before:
        return str(known[-1])
    now, digest = time.time_ns(), sha256_of(path)
    if folder and _stamp(path) == before and now - max(before[1:3]) > _SETTLED:
        kept = _kept_hashes(folder) | {os.path.abspath(path): [*before, digest]}
        write_json(folder / HASHES, kept)
    return digest


def _stamp(path: str) -> list[int]:
    found = os.stat(path)
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]


def _kept_hashes(folder: Path) -> dict[str, list[Any]]:
    try:
        kept = json.loads((folder / HASHES).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


def key_of(parts: Mapping[str, Any]) -> str:
    """Return a short name for everything that a result depends on."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def run_stage(
    folder: Path,
    key: str,
    work: StageWork,
    *,
    keep_partial: bool = False,
    shared: bool = False,
    quiet: bool = False,
    describe: StageWork | None = None,
) -> dict[str, Any]:
    """Run `work` unless the folder is finished under this key; return what `work` returned.

    Args:
        folder: the stage's own folder; everything in it belongs to the stage.
        key: from `key_of`.
        work: writes into the folder; returns a JSON object (counts, figures, file names).
        keep_partial: keep what a stopped run of the same key has written; without it, the
            folder of a failed run is removed.
        shared: whether other processes may ask for this folder at the same time; they wait.
        quiet: whether to leave out the line on standard error.
        describe: returns further entries of the manifest, for people and comparisons.
    """
    if not shared:
        return _run(folder, key, work, keep_partial, quiet, describe)
    finished = _finished(folder, key)
    if finished is None:
        with _waited_for(folder):
            return _run(folder, key, work, keep_partial, quiet, describe)
    return finished


def _run(
    folder: Path,
    key: str,
    work: StageWork,
    keep_partial: bool,
    quiet: bool,
    describe: StageWork | None,
) -> dict[str, Any]:
    finished = _finished(folder, key)
    if finished is not None:
        return finished
    _prepare(folder, key, keep_partial)
    if not quiet:
        print(f"{folder.name} ...", file=sys.stderr, flush=True)
    started = time.time()
    try:
        done = dict(work(folder))
    except BaseException:
        if not keep_partial:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    record = {
        "stage": folder.name,
        "key": key,
        "counts": done,
        **(describe(folder) if describe else {}),
        "seconds": round(time.time() - started, 1),
        "peak_memory_mb": _peak_memory(),
    }
    write_json(folder / MANIFEST, record)
    return done


def _finished(folder: Path, key: str) -> dict[str, Any] | None:
    """Return what the finished work of this key returned; None if there is none."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
        counts = manifest["counts"] if manifest["key"] == key else None
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return counts if isinstance(counts, dict) else None


def _prepare(folder: Path, key: str, keep_partial: bool) -> None:
    """Empty the folder, unless a stopped run of the same key may go on in it."""
    begun = folder / _KEY
    same = begun.is_file() and begun.read_text("utf-8") == key
    if folder.exists() and not (same and keep_partial and not (folder / MANIFEST).exists()):
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    begun.write_text(key, "utf-8")


@contextmanager
def _waited_for(folder: Path) -> Iterator[None]:
    """Wait until no other process works on the folder, and keep others waiting meanwhile."""
    from filelock import FileLock

    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(f".{folder.name}.lock")):
        yield


def _peak_memory() -> int:
    """Return the most memory of this process or a child process, in MB; 0 on Windows."""
    try:
        import resource
    except ImportError:
        return 0
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    processes = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return max(resource.getrusage(process).ru_maxrss for process in processes) // unit
