"""Big files as blocks of whole lines: plain, gzip or bzip2, in bounded memory.

A file that ends too early gives all its complete lines; then `truncated` tells. Nothing is
parsed here.
"""

from __future__ import annotations

import bz2
import json
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from os import PathLike
from pathlib import Path
from typing import IO, Any, cast

import orjson

_READ = 1 << 18
_MARK = b"\xef\xbb\xbf"  # a byte order mark, which some editors put first
_MAGIC = {b"\x1f\x8b": "gzip", b"BZ": "bzip2", b"PK": "zip"}


def _gzip_decoder() -> Any:
    try:
        from isal import isal_zlib
    except ImportError:
        return zlib.decompressobj(wbits=31)
    return isal_zlib.decompressobj(wbits=31)


_DECODERS: dict[str, Callable[[], Any]] = {"gzip": _gzip_decoder, "bzip2": bz2.BZ2Decompressor}


def _damage() -> tuple[type[Exception], ...]:
    """Give what decoders raise when the data are damaged or end early."""
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
        path: the file; its first bytes tell its compression, not its name.
        size: the most bytes in a block, unless one line alone has more.
        ending: what a block ends with: a line's end, or an element's.

    After the iteration `truncated` says whether compressed data ended early or was damaged; the
    incomplete last line is then left out.
    """

    def __init__(
        self, path: str | PathLike[str], size: int = 32 << 20, ending: bytes = b"\n"
    ) -> None:
        self.path, self.size, self.ending, self.truncated = Path(path), size, ending, False

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
        """Give the end of the block that starts there: it depends on the text alone."""
        found = text.rfind(self.ending, start, start + self.size)
        if found < 0:
            found = text.find(self.ending, start + self.size - len(self.ending) + 1)
        return 0 if found < 0 else found + len(self.ending)

    def _is_cut_short(self, rest: bytes) -> bool:
        """Tell whether the file's end is the middle of a record."""
        tail = rest[self._last_end(rest) :].strip().rstrip(b",")
        if self.ending != b"\n":
            return b"<page>" in tail
        return tail[:1] == b"{" and not _is_json(tail)

    def _last_end(self, block: bytes) -> int:
        """Give the place after the last complete line; 0 where there is none."""
        found = block.rfind(self.ending)
        return 0 if found < 0 else found + len(self.ending)

    def _pieces(self) -> Iterator[bytes]:
        with open(self.path, "rb") as stream:
            kind = _MAGIC.get(stream.read(2))
            stream.seek(0)
            if kind == "zip":
                yield from self._zipped(stream)
                return
            blocks = iter(lambda: stream.read(_READ), b"")
            yield from blocks if kind is None else self._decoded(blocks, _DECODERS[kind])

    def _zipped(self, stream: IO[bytes]) -> Iterator[bytes]:
        try:
            with zipfile.ZipFile(stream) as archive:
                for member in archive.infolist():
                    if not member.is_dir():
                        with archive.open(member) as inner:
                            yield from iter(partial(inner.read, _READ), b"")
        except (zipfile.BadZipFile, EOFError, zlib.error):
            self.truncated = True

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
        except ValueError:
            return False
    return True
