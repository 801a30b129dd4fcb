"""The folder of one conversion: which stage reads and writes which file, and what was done.

In: records of the stages. Out: files, and a manifest with each stage's settings, inputs, outputs
and counts. A stage that ran on the same inputs with the same settings is not run again. It refuses
missing inputs, records of another sort, and to overwrite files that people have edited; the remedy
is the command to run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from twowiki.errors import DataError
from twowiki.io.files import (
    check_no_pipes,
    check_unedited,
    locked,
    sha256_of,
    text_hash,
    write_together,
)
from twowiki.io.records import read_records

Record = TypeVar("Record", bound=msgspec.Struct)


class ConversionStage(NamedTuple):
    """A stage: the files it reads and the files it writes."""

    reads: tuple[str, ...]
    writes: tuple[str, ...]


CONVERT = "twowiki arc-da convert"  # the command; a stage's name follows
SOURCE = "00_source.jsonl"
FILTERED = "10_filtered.jsonl"
TASK_FOLDER = "20_tasks"
CROWD = "30_crowd.jsonl"
SCREENED = "40_screened.jsonl"
REVIEW = "50_review"
DECISIONS = "60_decisions.jsonl"
DECISIONS_TABLE = "60_decisions.csv"
RELEASE = "90_release"
CONVERSION_MANIFEST = "manifest.json"
STAGES = {
    "filter": ConversionStage((), (SOURCE, FILTERED)),
    "export-tasks": ConversionStage((FILTERED,), (TASK_FOLDER,)),
    "import-answers": ConversionStage((FILTERED,), (CROWD,)),
    "screen": ConversionStage((FILTERED, CROWD), (SCREENED,)),
    "review-export": ConversionStage((SCREENED,), (REVIEW,)),
    "review-import": ConversionStage((SCREENED,), (DECISIONS,)),
    "release": ConversionStage((SOURCE, SCREENED, DECISIONS), (RELEASE,)),
}
_ENTRY = ("settings", "inputs", "outputs", "counts")


class Workspace:
    """The folder of one conversion.

    Args:
        folder: where the stages' files are; made by the first stage.

    Raises:
        DataError: there is a file of that name.
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = Path(folder)
        if self.folder.is_file():
            raise DataError("is a file, not a folder", file=folder, remedy="Name another folder")

    @classmethod
    @contextmanager
    def opened(cls, folder: str | PathLike[str], *, make: bool = False) -> Iterator[Workspace]:
        """Open the folder and keep other commands out of it meanwhile; `make` it if need be.

        Raises:
            DataError: there is a file of that name, or another command works there.
        """
        work = cls(folder)
        if make:
            work.folder.mkdir(parents=True, exist_ok=True)
        if not work.folder.is_dir():
            yield work  # whatever the stage needs is missing, which it reports itself
            return
        check_no_pipes(work.folder)
        with locked(work.folder):
            yield work

    def path(self, name: str) -> Path:
        """Return a file's path in the folder."""
        return self.folder / name

    def check_inputs(self, stage: str) -> None:
        """Raise a `DataError` if an input of a stage is missing; the remedy is its command."""
        for name in STAGES[stage].reads:
            if not self.path(name).exists():
                problem = f"{name} is missing, which {stage} needs"
                raise DataError(problem, file=self.folder, remedy=self._remedy(name))

    def read(self, name: str, record: type[Record]) -> list[Record]:
        """Read a stage's records.

        Raises:
            DataError: the file is missing, or a record is not of its sort; the remedy is the
                command that makes it.
        """
        path = self.path(name)
        if not path.exists():
            raise DataError("no such file", file=path, remedy=self._remedy(name))
        if not path.stat().st_size:
            if name in (SOURCE, FILTERED):
                raise DataError("is empty", file=path, remedy=self._remedy(name))
            return []
        found = []
        for number, raw in read_records(str(path)):
            try:
                found.append(msgspec.convert(raw, record))
            except msgspec.ValidationError as error:
                problem = f"is not what the conversion writes here ({error})"
                remedy = self._remedy(name)
                raise DataError(problem, file=path, record=number, remedy=remedy) from None
        return found

    def fingerprint(self, stage: str, settings: Mapping[str, Any], **inputs: str) -> dict[str, Any]:
        """Return all that a stage's output depends on: settings and its inputs' hashes."""
        own = {name: sha256_of(self.path(name)) for name in STAGES[stage].reads}
        return {"settings": _plain(settings), "inputs": {**own, **inputs}}

    def done_counts(self, stage: str, fingerprint: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return a stage's counts if it ran on exactly this, and its files are still unchanged."""
        entry = self.manifest().get(stage)
        if entry is None or any(entry.get(key) != fingerprint[key] for key in fingerprint):
            return None
        unchanged = all(
            self.path(name).is_file() and sha256_of(self.path(name)) == digest
            for name, digest in entry["outputs"].items()
        )
        return dict(entry["counts"]) if unchanged else None

    def commit(
        self,
        stage: str,
        fingerprint: Mapping[str, Any],
        counts: Mapping[str, Any],
        files: Mapping[str, str],
        *,
        overwrite: bool = False,
    ) -> list[str]:
        """Write what a stage made and its entry of the manifest in one step.

        In a stage's folder, what an earlier run left there is removed; other files stay.

        Args:
            stage: its name.
            fingerprint: what `fingerprint` returned before the stage ran.
            counts: what it did.
            files: texts by name, relative to the work folder.
            overwrite: also overwrite files that people have edited.

        Returns:
            The names of an earlier run's files that are gone.

        Raises:
            DataError: a file in the stage's folder was edited, without `overwrite`.
        """
        before = dict(self.manifest().get(stage, {}).get("outputs", {}))
        if not overwrite:
            own = {name: text for name, text in files.items() if "/" in name}
            known = {name: digest for name, digest in before.items() if "/" in name}
            remedy = "Import it first and move it away, or overwrite it with --force"
            if stage == "release":
                remedy = "Move it away"
            check_unedited(self.folder, own, known, remedy=remedy)
            self._check_unlisted(before, files)
        outputs = {name: text_hash(text) for name, text in files.items()}
        entry = {**fingerprint, "outputs": outputs, "counts": _plain(counts)}
        entries = {**self.manifest(), stage: entry}
        ordered = {name: entries[name] for name in STAGES if name in entries}
        text = json.dumps(ordered, ensure_ascii=False, indent=2) + "\n"
        gone = [name for name in before if name not in files and self.path(name).is_file()]
        write_together(self.folder, {**files, CONVERSION_MANIFEST: text}, remove=gone)
        return gone

    def _check_unlisted(self, before: Mapping[str, str], files: Mapping[str, str]) -> None:
        """Raise where a file has the name of a stage's file, and no stage wrote it."""
        for name, text in files.items():
            path = self.path(name)
            if name not in before and path.exists() and sha256_of(path) != text_hash(text):
                problem = "exists, and no stage wrote it"
                raise DataError(problem, file=path, remedy="Move it away, or name another folder")

    def setting(self, stage: str, name: str) -> Any:
        """Return a setting of a stage's last run; None if it has not run."""
        return self.manifest().get(stage, {}).get("settings", {}).get(name)

    def manifest(self) -> dict[str, Any]:
        """Read what each stage did so far; empty before the first.

        Raises:
            DataError: it is damaged.
        """
        path = self.path(CONVERSION_MANIFEST)
        if not path.is_file():
            return {}
        try:
            entries = json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, RecursionError):
            entries = None
        if not isinstance(entries, dict) or not all(map(_is_entry, entries.values())):
            raise DataError("is damaged", file=path, remedy="Remove it; stages will run again")
        return entries

    def stage_states(self) -> dict[str, str]:
        """Return each stage's state: `done`, `stale` (an input changed since) or `not run`."""
        entries, states = self.manifest(), {}
        for name, stage in STAGES.items():
            if name not in entries:
                states[name] = "not run"
                continue
            inputs = entries[name]["inputs"]
            changed = [
                read
                for read in stage.reads
                if not self.path(read).is_file() or inputs.get(read) != sha256_of(self.path(read))
            ]
            states[name] = f"stale: {', '.join(changed)} changed since" if changed else "done"
        return states

    def _remedy(self, name: str) -> str:
        """Name the command to begin with: the earliest stage that has not run."""
        maker = next(stage for stage, files in STAGES.items() if name in files.writes)
        for read in STAGES[maker].reads:
            if not self.path(read).exists():
                return self._remedy(read)
        return f"Make it with: {CONVERT} {maker} {self.folder}"


def record_lines(records: Iterable[Any]) -> str:
    """Return one JSON object per line."""
    return "".join(
        json.dumps(msgspec.to_builtins(record), ensure_ascii=False) + "\n" for record in records
    )


def _is_entry(entry: Any) -> bool:
    """Whether a value of the manifest is a stage's entry."""
    return isinstance(entry, dict) and all(isinstance(entry.get(key), dict) for key in _ENTRY)


def _plain(value: Any) -> Any:
    """Turn tuples into lists and so on, so that what is compared is what JSON returns."""
    return json.loads(json.dumps(value, ensure_ascii=False))
