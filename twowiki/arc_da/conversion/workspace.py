"""The folder that a conversion runs in: which file each stage writes, and what made it.

In: a folder. Out: paths, and a manifest with each stage's settings, counts and file hashes. A stage
whose inputs and settings have not changed is not run again; one whose input is missing names the
command that makes it. A stage's files and the manifest change together. Nothing here depends on
the clock.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from twowiki.arc_da.folders import locked, refuse_edited, text_hash, write_together
from twowiki.arc_da.records import read_records
from twowiki.errors import DataError
from twowiki.files import sha256_of


class Stage(NamedTuple):
    """A stage: its command, the files it reads and the files it writes."""

    command: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]


SOURCE = "00_source.jsonl"
FILTERED = "10_filtered.jsonl"
TASKS = "20_tasks"
CROWD = "30_crowd.jsonl"
SCREENED = "40_screened.jsonl"
REVIEW = "50_review"
EVENTS = "60_review_events.jsonl"
RELEASE = "90_release"
MANIFEST = "manifest.json"
STAGES = {
    "filter": Stage("twowiki arc-da filter", (), (SOURCE, FILTERED)),
    "export-tasks": Stage("twowiki arc-da export-tasks", (FILTERED,), (TASKS,)),
    "import-answers": Stage("twowiki arc-da import-answers", (FILTERED,), (CROWD,)),
    "screen": Stage("twowiki arc-da screen", (FILTERED, CROWD), (SCREENED,)),
    "review-export": Stage("twowiki arc-da review-export", (SCREENED,), (REVIEW,)),
    "review-import": Stage("twowiki arc-da review-import", (SCREENED,), (EVENTS,)),
    "release": Stage("twowiki arc-da release", (SOURCE, SCREENED, EVENTS), (RELEASE,)),
}


# what a record of each file must have at least; anything else is no file of ours
FIELDS: dict[str, dict[str, type | tuple[type, ...]]] = {
    SOURCE: {
        "question_id": str,
        "split": str,
        "tag": str,
        "stem": str,
        "choices": list,
        "answer_key": (str, type(None)),
        "hash": str,
    },
    FILTERED: {
        "question_id": str,
        "split": str,
        "question": str,
        "kept": bool,
        "hits": list,
        "reason": (str, type(None)),
        "suggestion": (str, type(None)),
    },
    CROWD: {
        "question_id": str,
        "worker": str,
        "answers": list,
        "status": str,
        "flags": list,
        "category": (str, type(None)),
        "reason": (str, type(None)),
        "submitted_at": str,
    },
    SCREENED: {
        "question_id": str,
        "verdict": str,
        "reason": (str, type(None)),
        "answers": list,
        "workers": int,
        "workers_answered": int,
        "categories": dict,
    },
}
_ENTRY = ("settings", "inputs", "outputs", "counts")


class Workspace:
    """The folder of one conversion.

    Args:
        folder: where the stages' files lie; made by the first stage.

    Raises:
        DataError: there is a file of that name.
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = Path(folder)
        if self.folder.is_file():
            raise DataError(
                "is a file, not a folder to work in", file=folder, remedy="Name another folder"
            )

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
            yield work  # whatever the stage needs is missing, which it says itself
            return
        with locked(work.folder):
            yield work

    def path(self, name: str) -> Path:
        """Give a file's place in the folder."""
        return self.folder / name

    def require(self, stage: str) -> None:
        """Check that a stage's inputs are there.

        Raises:
            DataError: one is missing; the remedy is the command that makes it.
        """
        for name in STAGES[stage].reads:
            if not self.path(name).exists():
                problem = f"{name} is missing, which {stage} needs"
                raise DataError(problem, file=self.folder, remedy=self._remedy(name))

    def read(self, name: str) -> Iterator[dict[str, Any]]:
        """Read a stage's records.

        Raises:
            DataError: the file is missing, or a record is not of its kind; the remedy is the
                command that makes it.
        """
        path = self.path(name)
        if not path.exists():
            raise DataError("no such file", file=path, remedy=self._remedy(name))
        if not path.stat().st_size:
            if name in (SOURCE, FILTERED):
                raise DataError("is empty", file=path, remedy=self._remedy(name))
            return
        for number, record in read_records(str(path)):
            for field, kind in FIELDS.get(name, {}).items():
                if not isinstance(record, dict) or not isinstance(record.get(field, ...), kind):
                    problem = "is not what the conversion writes here"
                    raise DataError(
                        problem, file=path, record=number, field=field, remedy=self._remedy(name)
                    )
            yield record

    def fingerprint(self, stage: str, settings: Mapping[str, Any], **inputs: str) -> dict[str, Any]:
        """Name all that a stage's output depends on: settings and its inputs' hashes."""
        own = {name: sha256_of(self.path(name)) for name in STAGES[stage].reads}
        return {"settings": _plain(settings), "inputs": {**own, **inputs}}

    def is_done(self, stage: str, fingerprint: Mapping[str, Any]) -> bool:
        """Whether the stage ran on exactly this, and what it wrote is still there unchanged."""
        entry = self.manifest().get(stage)
        if entry is None or any(entry.get(key) != fingerprint[key] for key in fingerprint):
            return False
        return all(
            self.path(name).is_file() and sha256_of(self.path(name)) == digest
            for name, digest in entry["outputs"].items()
        )

    def commit(
        self,
        stage: str,
        fingerprint: Mapping[str, Any],
        counts: Mapping[str, Any],
        files: Mapping[str, str],
        *,
        overwrite: bool = False,
    ) -> list[str]:
        """Write what a stage made, and into the manifest what it did, as one step.

        In a stage's folder, what an earlier run left there goes; files that other hands put there
        stay.

        Args:
            stage: its name.
            fingerprint: what `fingerprint` gave before the stage ran.
            counts: what it did.
            files: texts by name, relative to the work folder.
            overwrite: also overwrite files that people have edited.

        Returns:
            The names of an earlier run's files that are gone.

        Raises:
            DataError: a file in the stage's folder was edited (and `overwrite` is not said).
        """
        before = self._outputs(stage)
        own = {name: text for name, text in files.items() if "/" in name}
        if not overwrite:
            known = {name: digest for name, digest in before.items() if "/" in name}
            remedy = "Import it first and move it away, or overwrite it with --force"
            if stage == "release":
                remedy = "Move it away"
            refuse_edited(self.folder, own, known, remedy=remedy)
        outputs = {name: text_hash(text) for name, text in files.items()}
        entry = {**fingerprint, "outputs": outputs, "counts": _plain(counts)}
        entries = {**self.manifest(), stage: entry}
        ordered = {name: entries[name] for name in STAGES if name in entries}
        text = json.dumps(ordered, ensure_ascii=False, indent=2) + "\n"
        gone = [name for name in before if name not in files and self.path(name).is_file()]
        write_together(self.folder, {**files, MANIFEST: text}, remove=gone)
        return gone

    def check_unchanged(self, stage: str) -> None:
        """Check that a stage's files are those that its last run wrote.

        Raises:
            DataError: one is not.
        """
        for name, digest in self._outputs(stage).items():
            path = self.path(name)
            if not path.is_file() or sha256_of(path) != digest:
                remedy = f"Restore it; if this one is the right one, remove {self.path(MANIFEST)}"
                problem = f"is not the file that {STAGES[stage].command} wrote last"
                raise DataError(problem, file=path, remedy=remedy)

    def setting(self, stage: str, name: str) -> Any:
        """Give a setting of a stage's last run; None if it has not run."""
        return self.manifest().get(stage, {}).get("settings", {}).get(name)

    def manifest(self) -> dict[str, Any]:
        """Read what each stage did so far; empty before the first.

        Raises:
            DataError: it is damaged.
        """
        path = self.path(MANIFEST)
        if not path.is_file():
            return {}
        try:
            entries = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            entries = None
        if not isinstance(entries, dict) or not all(map(_is_entry, entries.values())):
            raise DataError("is damaged", file=path, remedy="Remove it; stages will run again")
        return entries

    def states(self) -> dict[str, str]:
        """Tell each stage's state: `done`, `stale` (an input changed since) or `not run`."""
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

    def _outputs(self, stage: str) -> dict[str, str]:
        return dict(self.manifest().get(stage, {}).get("outputs", {}))

    def _remedy(self, name: str) -> str:
        """Name the command to begin with: the earliest stage that has not run."""
        maker = _maker(name)
        for read in maker.reads:
            if not self.path(read).exists():
                return self._remedy(read)
        return f"Make it with: {maker.command} {self.folder}"


def _is_entry(entry: Any) -> bool:
    """Whether a value of the manifest is a stage's entry."""
    return isinstance(entry, dict) and all(isinstance(entry.get(key), dict) for key in _ENTRY)


def _maker(name: str) -> Stage:
    return next(stage for stage in STAGES.values() if name in stage.writes)


def _plain(value: Any) -> Any:
    """Turn tuples into lists and so on, so that what is compared is what JSON gives back."""
    return json.loads(json.dumps(value, ensure_ascii=False))
