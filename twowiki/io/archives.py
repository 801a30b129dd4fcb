"""Zip archives, read without unpacking them to disk.

Members that would leave the archive's folder, links and encrypted members are refused.
"""

from __future__ import annotations

import os
import re
import stat
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import PurePosixPath
from typing import IO

from twowiki.errors import DataError

MAGIC_ZIP = b"PK\x03\x04"
MemberChoice = Callable[[zipfile.ZipFile, str], zipfile.ZipInfo]
_DATA = re.compile(r"\.(?:jsonl?|csv|tsv|parquet)(?:\.(?:gz|bz2|xz))?$", re.IGNORECASE)
_HIDDEN = re.compile(r"(?:^|/)(?:\.|__MACOSX/)")
_AGAIN = "Download it again and compare its length and checksum"


def is_zip(path: str | PathLike[str]) -> bool:
    """Return whether a file is called a zip, or begins like one."""
    if os.fspath(path).lower().endswith(".zip"):
        return True
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as stream:
        return stream.read(4) == MAGIC_ZIP


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
            "pass its path as data_dir (command line: --data_dir)",
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
    """Return the members that hold data, without what macOS adds and without hidden files."""
    return [
        member
        for member in archive.infolist()
        if _DATA.search(member.filename) and not _HIDDEN.search(member.filename)
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


def exact_member(archive: zipfile.ZipFile, path: str | PathLike[str], name: str) -> zipfile.ZipInfo:
    """Return the member of that name, folders included.

    Raises:
        DataError: there is none.
    """
    if name not in archive.namelist():
        remedy = f"It holds {', '.join(archive.namelist()[:5])}"
        raise DataError(f"the zip has no member {name!r}", file=path, remedy=remedy)
    return archive.getinfo(name)


@contextmanager
def open_member(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: str | PathLike[str]
) -> Iterator[IO[bytes]]:
    """Open a member's bytes for streaming."""
    try:
        with archive.open(member) as stream:
            yield stream
    except DataError:
        raise
    except Exception as error:  # a damaged member raises many kinds
        raise DataError(
            f"the zip is damaged ({error})", file=path, field=member.filename, remedy=_AGAIN
        ) from None


@contextmanager
def open_named(path: str | PathLike[str], name: str) -> Iterator[IO[bytes] | None]:
    """Open the member of that file name, in any folder; None if there is none."""
    with open(path, "rb") as stream, open_zip(stream, path) as archive:
        for member in archive.infolist():
            place = PurePosixPath(member.filename)
            if place.name == name and "__MACOSX" not in place.parts:
                with open_member(archive, member, path) as opened:
                    yield opened
                return
        yield None
