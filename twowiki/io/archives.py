"""Zip archives of a release: which member holds which split, read without unpacking to disk.

Members that climb out of the archive, links and encrypted members are refused.
"""

from __future__ import annotations

import gzip
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import PurePosixPath
from typing import IO

from twowiki.errors import DataError

MAGIC_ZIP = b"PK\x03\x04"
_AGAIN = "Download it again and compare its length and checksum"


@contextmanager
def open_zip(stream: IO[bytes], path: str | PathLike[str]) -> Iterator[zipfile.ZipFile]:
    """Open a zip and check all its members' names before any is read."""
    head = stream.read(512)
    stream.seek(0)
    if head.lstrip()[:1] == b"<":
        raise DataError(
            "got a web page, not a zip",
            file=path,
            remedy="The download link may be dead or rate-limited: get the archive by hand and "
            "pass its place with data_dir (command line: --data_dir)",
        )
    try:
        archive = zipfile.ZipFile(stream)
    except Exception as error:  # a damaged directory raises many kinds
        problem = "the zip is truncated" if head[:4] == MAGIC_ZIP else "not a zip file"
        raise DataError(f"{problem} ({error})", file=path, remedy=_AGAIN) from None
    with archive:
        for member in archive.infolist():
            _check(member, path)
        yield archive


def _check(member: zipfile.ZipInfo, path: str | PathLike[str]) -> None:
    name = member.orig_filename
    parts = PurePosixPath(name.replace("\\", "/")).parts
    mode = member.external_attr >> 16
    problem = None
    if ".." in parts or name.startswith(("/", "\\")) or "\0" in name or ":" in name[:3]:
        problem = "leaves the archive's folder"
    elif stat.S_ISLNK(mode):
        problem = "is a link"
    elif member.flag_bits & 1:
        problem = "is encrypted"
    if problem:
        raise DataError(
            f"unsafe zip: the member {name!r} {problem}",
            file=path,
            remedy="Do not use this archive; get the release from its authors",
        )


def data_members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the members that hold JSON, without what macOS adds."""
    endings = (".json", ".jsonl", ".json.gz", ".jsonl.gz")
    return [
        member
        for member in archive.infolist()
        if member.filename.lower().endswith(endings)
        and "__MACOSX" not in PurePosixPath(member.filename).parts
    ]


def only_member(archive: zipfile.ZipFile, path: str | PathLike[str]) -> zipfile.ZipInfo:
    """Return the only data member of an archive.

    Raises:
        DataError: it has none, or several.
    """
    members = data_members(archive)
    if len(members) == 1:
        return members[0]
    names = ", ".join(member.filename for member in members) or "no data"
    raise DataError(
        f"the zip holds {names}, not one data file", file=path, remedy="Unpack it and name a file"
    )


@contextmanager
def open_member(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: str | PathLike[str]
) -> Iterator[IO[bytes]]:
    """Open a member's bytes for streaming; a .gz within is unpacked on the way."""
    try:
        with archive.open(member) as stream:
            if member.filename.lower().endswith(".gz"):
                with gzip.GzipFile(fileobj=stream) as unpacked:
                    yield unpacked  # type: ignore[misc]
            else:
                yield stream
    except DataError:
        raise
    except Exception as error:  # a damaged member raises many kinds
        raise DataError(
            f"the zip is damaged ({error})", file=path, field=member.filename, remedy=_AGAIN
        ) from None


@contextmanager
def open_named(path: str | PathLike[str], name: str) -> Iterator[IO[bytes] | None]:
    """Open the member of that file name, in a folder or not; None where there is none."""
    with open(path, "rb") as stream, open_zip(stream, path) as archive:
        for member in archive.infolist():
            place = PurePosixPath(member.filename)
            if place.name == name and "__MACOSX" not in place.parts:
                with open_member(archive, member, path) as opened:
                    yield opened
                return
        yield None
