"""Which files of a folder are sent to the hub, which are left out, and why. Sends nothing.

A model's and a data set's folder send what belongs to one, by name; a Space sends all that is
no cache, log, secret or pickle. Links that lead out of the folder are never followed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from twowiki.errors import DataError

KINDS = {"model": "model", "dataset": "dataset", "metric": "space", "demo": "space"}
# what belongs to a folder of a kind; Spaces take any file
BELONGS = {
    "model": (
        "config.json", "generation_config.json", "*.safetensors", "*.safetensors.index.json",
        "adapter_config.json", "tokenizer*.json", "*.model", "special_tokens_map.json",
        "added_tokens.json", "vocab.json", "vocab.txt", "merges.txt", "chat_template*.jinja",
        "processor_config.json", "preprocessor_config.json", "text_format.json", "*.py",
        "README.md", "LICENSE*", "NOTICE*",
    ),
    "dataset": ("*.parquet", "README.md", "LICENSE*", "NOTICE*", "id_aliases.json", "*.bib"),
}  # fmt: skip
# files of the repository that a push replaces as a whole: those no longer in the folder go
REPLACED = {
    "model": ("*.safetensors", "*.safetensors.index.json"),
    "dataset": ("*.parquet",),
}
# name patterns of files and folders, and why they are never sent
NEVER = (
    ((".*",), "hidden"),
    (("__pycache__", "*.pyc", "node_modules", "*.egg-info"), "a cache"),
    (("*.log", "logs", "wandb", "mlruns", "events.out.tfevents*", "trackio"), "a log"),
    (("checkpoints", "checkpoint-*", "step_*", "features"), "a run's own state"),
    (("*.tmp", "*.lock", "*~", "*.swp", "*.bak", "*.orig", "*.partial"), "temporary"),
    (("*.pem", "*.key", "id_rsa*", "id_ed25519*", "*.env", "token", "secrets*"), "perhaps secret"),
    (
        ("*.bin", "*.pt", "*.pth", "*.pkl", "*.pickle", "*.ckpt", "*.joblib", "*.npy", "*.npz"),
        "a pickle, or perhaps one: weights are sent as safetensors",
    ),
    (("optimizer*.safetensors", "trainer_state.json"), "training state"),
)


class File(NamedTuple):
    """A file to send: where it goes, its bytes (a path, or the bytes themselves), its size."""

    path: str
    content: Path | bytes
    size: int


class LeftOut(NamedTuple):
    """A file or folder that is not sent, and why."""

    path: str
    reason: str


class Contents(NamedTuple):
    """What a push sends and what it leaves out, in the order of the paths."""

    files: tuple[File, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def size(self) -> int:
        """Bytes to send."""
        return sum(file.size for file in self.files)

    def names(self) -> set[str]:
        """Give the paths of the files to send."""
        return {file.path for file in self.files}

    def with_file(self, path: str, content: bytes) -> Contents:
        """Add a file, or replace the one of that path."""
        kept = [file for file in self.files if file.path != path]
        added = sorted([*kept, File(path, content, len(content))])
        return Contents(tuple(added), self.left_out)


def list_contents(folder: Path, kind: str) -> Contents:
    """List what a folder of a kind sends.

    Raises:
        DataError: there is no such folder, or nothing in it belongs to the kind.
    """
    if not folder.is_dir():
        problem = "is a file, not a folder" if folder.exists() else "no such folder"
        raise DataError(problem, file=folder, remedy=f"Give the folder of a {kind}")
    files: list[File] = []
    left_out: list[LeftOut] = []
    for path, reason in _walk(folder, folder.resolve(), kind):
        name = path.relative_to(folder).as_posix()
        if reason:
            left_out.append(LeftOut(name, reason))
        else:
            files.append(File(name, path, path.stat().st_size))
    if not files:
        raise DataError(f"holds nothing of a {kind}", file=folder, remedy="Give another folder")
    return Contents(tuple(files), tuple(left_out))


def _walk(place: Path, root: Path, kind: str) -> Iterator[tuple[Path, str]]:
    """Give every file, and each folder that is left out as a whole, with the reason."""
    for entry in sorted(os.scandir(place), key=lambda entry: entry.name):
        path = Path(entry.path)
        if reason := _never(entry.name):
            yield path, reason
        elif not path.exists():
            yield path, "a broken link"
        elif not path.resolve().is_relative_to(root):
            yield path, "a link that leads out of the folder"
        elif path.is_dir():
            if entry.is_symlink():
                yield path, "a link to a folder"
            else:
                yield from _walk(path, root, kind)
        elif not path.is_file():
            yield path, "no plain file"
        elif kind in BELONGS and not matches(entry.name, BELONGS[kind]):
            yield path, f"not part of a {kind}"
        elif kind == "model" and path.parent.resolve() != root:
            yield path, "in a folder below the model"
        else:
            yield path, ""


def _never(name: str) -> str:
    return next((reason for patterns, reason in NEVER if matches(name, patterns)), "")


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Tell whether a file's name fits one of the patterns."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def stale_paths(remote: Sequence[str], contents: Contents, kind: str) -> list[str]:
    """Give the repository's files that the folder replaces and no longer has.

    Of a data set only shards in the folders that are sent: other configs stay.
    """
    mine = contents.names()
    places = {path.rpartition("/")[0] for path in mine if path.endswith(".parquet")}
    return sorted(
        path
        for path in remote
        if path not in mine
        and matches(path.rpartition("/")[2], REPLACED.get(kind, ()))
        and path.rpartition("/")[0] in (places if kind == "dataset" else {""})
    )
