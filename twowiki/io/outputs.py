"""What a command writes is none of what it reads, and no two of its outputs are the same file.

A field of a command has the role `input`, `output` or `output_folder` (see `argument`). Files are
the same if their real paths are, or if they are one file under two names (hard links). Pipes and
devices may be named several times: nothing is lost there.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import Field, fields
from pathlib import Path
from typing import Any, NamedTuple

from twowiki.errors import DataError
from twowiki.io.arguments import argument_name
from twowiki.io.files import check_folder_name, check_writable, replaceable


class NamedPath(NamedTuple):
    """A path that a command was given, and the argument that names it."""

    argument: str
    path: str
    field: Field[Any]

    @property
    def keys(self) -> set[Any]:
        """What the path shares with every other name of the same file."""
        keys: set[Any] = set()
        with suppress(OSError, ValueError):
            keys.add(os.path.realpath(self.path))
            found = os.stat(self.path)
            if not stat.S_ISCHR(found.st_mode):  # one terminal may be read and written
                keys.add((found.st_dev, found.st_ino))
        return keys

    @property
    def loses(self) -> bool:
        """Whether writing to the path can replace a file."""
        try:
            found = os.stat(self.path)
        except OSError:
            found = None
        return replaceable(self.path, found)

    def clashes(self, other: NamedPath) -> bool:
        """Return whether both are one file, pipe or folder; terminals and the like are none."""
        return bool(self.keys & other.keys)


def check_outputs(command: Any) -> None:
    """Compare the inputs and outputs of a command before anything is read.

    Raises:
        DataError: an output is an input, a file of an input folder, or another output, or its
            name cannot be written.
    """
    inputs = list(_named_paths(command, "input"))
    written: list[NamedPath] = []
    for output in _named_paths(command, "output"):
        check_writable(output.path)
        _check_against_inputs(output, inputs)
        written += [output, *_further(output)]
    for folder in _named_paths(command, "output_folder"):
        check_folder_name(folder.path)
        for read in inputs:
            if folder.clashes(read):
                raise _clash(folder, read)
        written += _further(folder)
    for number, output in enumerate(written):
        if output.loses:
            for other in written[:number]:
                if other.loses and output.clashes(other):
                    raise _clash(output, other)
            for read in inputs:
                if output.clashes(read):
                    raise _clash(output, read)


def _named_paths(command: Any, role: str) -> Iterator[NamedPath]:
    """Yield the paths of a command that have a role, NAME=FILE pairs without their names."""
    for one in fields(command):
        if one.metadata.get("role") == role:
            value = getattr(command, one.name)
            for item in value if isinstance(value, list | tuple) else [value]:
                text = "" if item is None else os.fspath(item)
                if one.metadata.get("metavar") == "NAME=FILE":
                    text = text.partition("=")[2]
                if text or (role == "output" and item is not None):
                    yield NamedPath(argument_name(one), text, one)


def _further(output: NamedPath) -> Iterator[NamedPath]:
    """Yield the files that are written beside an output, or inside an output folder."""
    for ending in output.field.metadata["writes"]:
        yield output._replace(path=f"{output.path}{ending}")


def _check_against_inputs(output: NamedPath, inputs: list[NamedPath]) -> None:
    """Raise where an output is an input, or replaces a file of an input folder."""
    for read in inputs:
        if output.clashes(read):
            raise _clash(output, read)
        keeps = output.field.metadata["keeps"]
        replaces = output.loses and os.path.exists(output.path)
        if replaces and os.path.isdir(read.path) and not (keeps and output.path.endswith(keeps)):
            real = Path(os.path.realpath(output.path))
            inside = real.is_relative_to(os.path.realpath(read.path))
            if inside or _links_to(read.path, output):
                raise _clash(output, read)


def _links_to(folder: str, output: NamedPath) -> bool:
    """Return whether a link in a folder points to the output."""
    found = (os.path.join(at, name) for at, _, names in os.walk(folder) for name in names)
    real = os.path.realpath(output.path)
    return any(os.path.islink(path) and os.path.realpath(path) == real for path in found)


def _clash(output: NamedPath, other: NamedPath) -> DataError:
    """Return the error of an output that would replace an input or another output."""
    if other.field.metadata["role"] == "input":
        within = "a file in" if os.path.isdir(other.path) and not output.clashes(other) else "also"
        problem = f"{output.argument} is {within} {other.argument}, which would be overwritten"
    else:
        problem = f"{output.argument} is also {other.argument}, and one of the two would be lost"
    remedy = f"Choose another name for {output.argument}"
    return DataError(problem, file=output.path, remedy=remedy)
