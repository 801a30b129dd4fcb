"""Dump files to tables, block by block: plain, gzip, bzip2 or zip, in bounded memory.

In: files of lines, of XML pages or of Parquet row groups. Out: one part of each table per block,
with its counts; a stopped run keeps the parts it has. A record that cannot be read is counted by
reason, and `left_out.jsonl` has its file and line. A file that ends too early is refused, or with
`allow_truncated` read up to its last complete record.
"""

from __future__ import annotations

import bz2
import json
import signal
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from functools import partial
from multiprocessing import get_context
from os import PathLike
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import orjson

from twowiki.errors import DataError
from twowiki.generation.compaction import compact
from twowiki.generation.tables import SkippedLine, TableRow, table_of, write_part
from twowiki.generation.wikidata import parse_lines
from twowiki.generation.wikipedia import parse_json_lines, parse_records, parse_xml_pages
from twowiki.io.files import write_json, write_text

_READ = 1 << 18
_MARK = b"\xef\xbb\xbf"  # a byte order mark, which some editors put first
_MAGIC = {b"\x1f\x8b": "gzip", b"BZ": "bzip2", b"PK": "zip"}


def _gzip_decoder() -> Any:
    try:
        from isal import isal_zlib
    except ImportError:
        return zlib.decompressobj(wbits=31)
    return isal_zlib.decompressobj(wbits=31)


_PARALLEL_FROM = 8 << 20  # bytes; a smaller file is not worth threads


def _parallel_bzip2(path: Path, threads: int) -> Any:
    """Open a large bzip2 file that several threads unpack; None where that is not installed."""
    if path.stat().st_size < _PARALLEL_FROM:
        return None
    try:
        from rapidgzip import IndexedBzip2FileRaw
    except ImportError:
        return None
    return IndexedBzip2FileRaw(str(path), parallelization=threads)


_DECODERS: dict[str, Callable[[], Any]] = {"gzip": _gzip_decoder, "bzip2": bz2.BZ2Decompressor}


def _damage() -> tuple[type[Exception], ...]:
    """Return what decoders raise when the data are damaged or end early."""
    known: tuple[type[Exception], ...] = (OSError, EOFError, ValueError, zlib.error)
    try:
        from isal import isal_zlib
    except ImportError:
        return known
    return (*known, cast(type[Exception], isal_zlib.error))


_DAMAGE = _damage()


class LineBlocks:
    """Blocks of complete lines of a file.

    Args:
        path: the file; its compression is recognized by its first bytes, not by its name.
        size: the most bytes in a block, unless one line alone has more.
        ending: what a block ends with: a line's end, or an element's.
        threads: threads that unpack a bzip2 file; a gzip file is one stream, which one thread
            unpacks twenty times as fast.

    After the iteration `truncated` is set if compressed data ended early or was damaged; the
    incomplete last line is then left out.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        size: int = 32 << 20,
        ending: bytes = b"\n",
        threads: int = 1,
    ) -> None:
        self.path, self.size, self.ending, self.truncated = Path(path), size, ending, False
        self.threads = threads
        self.position = 0  # bytes of the file, as it is packed, that have been read

    def __iter__(self) -> Iterator[bytes]:
        rest = b""
        pieces: list[bytes] = []
        length = 0
        for piece in self._pieces():
            pieces.append(piece if pieces or rest else piece.removeprefix(_MARK))
            length += len(piece)
            if length < self.size:
                continue
            rest = b"".join(pieces)
            start = 0
            while len(rest) - start >= self.size:
                cut = self._cut(rest, start)
                if not cut:
                    break
                yield rest[start:cut]
                start = cut
            pieces, length = [rest[start:]], len(rest) - start
        rest = b"".join(pieces)
        self.truncated = self.truncated or self._is_cut_short(rest)
        if self.truncated:
            rest = rest[: self._last_end(rest)]
        if rest:
            yield rest

    def _cut(self, text: bytes, start: int) -> int:
        """Return the end of the block that starts there: it depends on the text alone."""
        found = text.rfind(self.ending, start, start + self.size)
        if found < 0:
            found = text.find(self.ending, start + self.size - len(self.ending) + 1)
        return 0 if found < 0 else found + len(self.ending)

    def _is_cut_short(self, rest: bytes) -> bool:
        """Return whether the file's end is the middle of a record."""
        tail = rest[self._last_end(rest) :].strip().rstrip(b",")
        if self.ending != b"\n":
            return b"<page>" in tail
        return tail[:1] == b"{" and not _is_json(tail)

    def _last_end(self, block: bytes) -> int:
        """Return the position after the last complete line; 0 where there is none."""
        found = block.rfind(self.ending)
        return 0 if found < 0 else found + len(self.ending)

    def _pieces(self) -> Iterator[bytes]:
        with open(self.path, "rb") as stream:
            kind = _MAGIC.get(stream.read(2))
            stream.seek(0)
            if kind == "zip":
                yield from self._zipped(stream)
                return
            if kind == "bzip2" and (packed := _parallel_bzip2(self.path, self.threads)):
                with packed:
                    yield from self._unpacked(packed)
                return
            blocks = self._raw(stream)
            yield from blocks if kind is None else self._decoded(blocks, _DECODERS[kind])

    def _raw(self, stream: IO[bytes]) -> Iterator[bytes]:
        while block := stream.read(_READ):
            self.position += len(block)
            yield block

    def _zipped(self, stream: IO[bytes]) -> Iterator[bytes]:
        try:
            with zipfile.ZipFile(stream) as archive:
                for member in archive.infolist():
                    if not member.is_dir():
                        with archive.open(member) as inner:
                            yield from iter(partial(inner.read, _READ), b"")
        except (zipfile.BadZipFile, EOFError, zlib.error):
            self.truncated = True

    def _unpacked(self, packed: Any) -> Iterator[bytes]:
        """Yield what an unpacking file reads; of a damaged one all that is before the damage."""
        done, size = 0, _READ
        while size:
            try:
                piece = packed.read(size)
            except (RuntimeError, ValueError, OSError):
                self.truncated = True
                size //= 4  # a read that reaches the damage gives nothing: shorter ones do
                packed.seek(done)
                continue
            if not piece:
                return
            done += len(piece)
            self.position = packed.bz2reader.tell_compressed() // 8
            yield piece

    def _decoded(self, blocks: Iterator[bytes], make: Callable[[], Any]) -> Iterator[bytes]:
        decoder, inside = make(), False
        try:
            for block in blocks:
                data = block
                while data:
                    inside = True
                    yield decoder.decompress(data)
                    data = decoder.unused_data if decoder.eof else b""
                    if decoder.eof:
                        decoder, inside = make(), False
                        data = data.lstrip(b"\0")
        except _DAMAGE:
            self.truncated = True
            return
        self.truncated = inside


def _is_json(text: bytes) -> bool:
    try:
        orjson.loads(text)
    except ValueError:
        try:
            json.loads(text.rstrip(b"] \t\r"))
        except RecursionError:
            return True  # complete as far as can be seen; the line's own reader refuses it
        except ValueError:
            return False
    return True


BLOCK_BYTES = 16 << 20
WIKIDATA_TABLES = ("entities", "names", "claims", "dates", "uncertain")
PARAGRAPH_TABLES = ("pages", "sentences", "mentions", "redirects")
LEFT_OUT = "left_out.jsonl"
_LEFT_OUT_SHOWN = 5
WHOLE = "whole.json"  # the counts of a dump that has been read to its end


class _Block(NamedTuple):
    """A block of a dump for a worker: its bytes, or a row group of a Parquet file."""

    kind: str  # wikidata, json, xml, parquet
    payload: bytes
    path: str
    row_group: int
    folder: str
    part: str
    line: int = 1  # the file's line that the block begins with
    read: int = 0  # bytes of all files that have been read


_Rows = tuple[dict[str, list[TableRow]], Counter[str]]
PARSERS: dict[str, Callable[[bytes, list[SkippedLine]], _Rows]] = {
    "wikidata": parse_lines,
    "json": parse_json_lines,
    "xml": parse_xml_pages,
}


def _run(task: _Block) -> None:
    """Parse one block and write its part of each table, its counts last."""
    left_out: list[SkippedLine] = []
    if task.kind == "parquet":
        tables, counts = parse_records(_parquet_group(task.path, task.row_group))
    else:
        tables, counts = PARSERS[task.kind](task.payload, left_out)
    folder = Path(task.folder)
    for name, rows in tables.items():
        write_part(folder / name, task.part, table_of(name, rows))
    places = [
        {"file": task.path, "line": task.line + line, "reason": reason} for line, reason in left_out
    ]
    note_left_out(folder, task.part, places)
    write_json(folder / "parts" / f"{task.part}.json", dict(sorted(counts.items())))


def note_left_out(folder: Path, part: str, places: list[dict[str, Any]]) -> None:
    """Keep the places of a part's records that gave no row."""
    if places:
        write_json(folder / "parts" / f"left-out-{part}.json", places)


def _parquet_group(path: str, row_group: int) -> list[dict[str, Any]]:
    import pyarrow
    import pyarrow.parquet as pq

    try:
        rows: list[dict[str, Any]] = pq.ParquetFile(path).read_row_group(row_group).to_pylist()
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        problem = f"not readable as Parquet, row group {row_group} (from 0): {_first_line(error)}"
        raise DataError(problem, file=path, remedy="Download it again.") from None
    return rows


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def _row_groups(path: Path) -> int:
    import pyarrow
    import pyarrow.parquet as pq

    try:
        return int(pq.ParquetFile(path).num_row_groups)
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        problem = f"not readable as Parquet ({_first_line(error)})"
        raise DataError(problem, file=path, remedy="Download it again.") from None


def _tasks(
    paths: list[Path], kind: str, folder: Path, faults: list[Path], threads: int
) -> Iterator[_Block]:
    """Cut the files into blocks; add to `faults` those that end too early."""
    number = read = 0
    for path in paths:
        size = path.stat().st_size
        if kind == "parquet":
            groups = _row_groups(path)
            for group in range(groups):
                now = read + size * (group + 1) // groups
                part = f"part-{number:05d}"
                yield _Block(kind, b"", str(path), group, str(folder), part, read=now)
                number += 1
            read += size
            continue
        blocks = LineBlocks(path, BLOCK_BYTES, b"</page>" if kind == "xml" else b"\n", threads)
        line = 1
        for block in blocks:
            part, now = f"part-{number:05d}", read + blocks.position
            yield _Block(kind, block, str(path), -1, str(folder), part, line, now)
            line += block.count(b"\n")
            number += 1
        read += size
        if blocks.truncated:
            faults.append(path)


def ingest(
    paths: list[Path],
    kind: str,
    folder: Path,
    *,
    workers: int,
    allow_truncated: bool = False,
    memory: int = 2 << 30,
) -> Counter[str]:
    """Read dump files into tables under a folder; return the counts by reason.

    Args:
        paths: the files, in order.
        kind: wikidata, json, xml or parquet.
        folder: where the tables are written, one folder each.
        workers: processes that parse; 1 parses in this process.
        allow_truncated: continue with what a damaged file contains.
        memory: bytes that the processes together may hold when they sort.

    Raises:
        DataError: when a file ends too early.
    """
    whole = folder / "parts" / WHOLE
    if not whole.exists():
        faults = _read(paths, kind, folder, workers)
        gather_left_out(folder)
        found = {"counts": _sum_counts(folder), "faults": [str(path) for path in faults]}
        write_json(whole, found)
    record = json.loads(whole.read_text("utf-8"))
    counts: Counter[str] = Counter(record["counts"])
    check_counts(paths, [Path(path) for path in record["faults"]], counts, kind, allow_truncated)
    compact(folder, tables_of_kind(kind), workers=workers, memory=memory)
    return counts


def _read(paths: list[Path], kind: str, folder: Path, workers: int) -> list[Path]:
    """Read the blocks that are not read yet; return the files that end too early."""
    faults: list[Path] = []
    for name in tables_of_kind(kind):  # a table without rows is still a table
        write_part(folder / name, "part-none", table_of(name, ()))
    done = {path.stem for path in (folder / "parts").glob("part-*.json")}
    tasks = _shown(_tasks(paths, kind, folder, faults, workers), paths, kind)
    shown = (task for task in tasks if task.part not in done)
    if workers <= 1:
        for task in shown:
            _run(task)
    else:
        _run_in_pool(shown, workers)
    return faults


def _shown(tasks: Iterator[_Block], paths: list[Path], kind: str) -> Iterator[_Block]:
    """Yield blocks, with a progress bar of the files' bytes: rate and time left."""
    from tqdm import tqdm

    total = sum(path.stat().st_size for path in paths)
    silent = not sys.stderr.isatty()
    with tqdm(
        desc=f"reading {kind}", total=total, unit="B", unit_scale=True, disable=silent
    ) as bar:
        for task in tasks:
            yield task
            bar.update(task.read - bar.n)


def _run_in_pool(tasks: Iterator[_Block], workers: int) -> None:
    """Keep every worker busy, and no more blocks in memory than twice the workers."""
    with ProcessPoolExecutor(
        workers,
        mp_context=get_context("spawn"),
        initializer=signal.signal,  # Ctrl-C reaches all processes; the main one ends the work
        initargs=(signal.SIGINT, signal.SIG_IGN),
    ) as pool:
        waiting: set[Future[None]] = set()
        for task in tasks:
            waiting.add(pool.submit(_run, task))
            if len(waiting) >= 2 * workers:
                finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in finished:
                    future.result()
        for future in waiting:
            future.result()


def _sum_counts(folder: Path) -> Counter[str]:
    counts: Counter[str] = Counter()
    for path in sorted((folder / "parts").glob("part-*.json")):
        counts.update(json.loads(path.read_text("utf-8")))
    return counts


def gather_left_out(folder: Path) -> None:
    """Write the places of all records that gave no row into one file, and print the first."""
    places = [
        place
        for path in sorted((folder / "parts").glob("left-out-*.json"))
        for place in json.loads(path.read_text("utf-8"))
    ]
    if not places:
        return
    write_text(folder / LEFT_OUT, "".join(json.dumps(place) + "\n" for place in places))
    for place in places[:_LEFT_OUT_SHOWN]:
        line = place.get("line") or f"that begins {place['begins']!a}"
        print(f"left out: {place['file']}, line {line}: {place['reason']}", file=sys.stderr)
    if len(places) > _LEFT_OUT_SHOWN:
        print(f"left out: {len(places):,} in all, see {folder / LEFT_OUT}", file=sys.stderr)


def tables_of_kind(kind: str) -> tuple[str, ...]:
    """Return the names of the tables that a kind of dump fills."""
    return WIKIDATA_TABLES if kind == "wikidata" else PARAGRAPH_TABLES


def check_counts(
    paths: list[Path],
    faults: list[Path],
    counts: Counter[str],
    kind: str,
    allow_truncated: bool,
) -> None:
    """Raise for a damaged file, unless that is allowed, and for one without records."""
    read = counts["entity lines"] if kind == "wikidata" else counts["pages"]
    what = "entities" if kind == "wikidata" else "pages"
    if faults and not allow_truncated:
        raise DataError(
            f"the file is truncated or damaged: {read:,} complete {what} were read",
            file=faults[0],
            remedy="Download it again, or continue with what was read: --allow-truncated.",
        )
    if not read:
        raise DataError(
            f"no {what} found",
            file=paths[0],
            remedy="Set --wikidata to a Wikidata JSON dump (one entity per line) and --paragraphs "
            "to Wikipedia summaries (JSON lines, Parquet or pages-articles XML).",
        )


def paragraph_files(path: Path) -> tuple[list[Path], str]:
    """Return the files of summaries and their form: parquet, xml or json."""
    if path.is_dir():
        found = sorted(file for file in path.rglob("*") if file.is_file() and file.name[0] != ".")
        parquet = [file for file in found if file.suffix == ".parquet"]
        if parquet:
            return parquet, "parquet"
        if not found:
            raise DataError("the folder is empty", file=path, remedy="Name the file itself.")
        return found, _form_of(found[0])
    if not path.is_file():
        raise DataError("no such file", file=path, remedy="Check the path of --paragraphs.")
    return [path], _form_of(path)


def _form_of(path: Path) -> str:
    with open(path, "rb") as stream:
        if stream.read(4) == b"PAR1":
            return "parquet"
    blocks = iter(LineBlocks(path, 1 << 10))
    start = next(blocks, b"").lstrip(b"\xef\xbb\xbf \t\r\n")
    return "xml" if start[:1] == b"<" else "json"
