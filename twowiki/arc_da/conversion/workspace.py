"""The folder that a conversion runs in: which file each stage writes, and what made it.

In: a folder. Out: paths, and a manifest with each stage's settings, counts and file hashes. A stage
whose inputs and settings have not changed is not run again; one whose input is missing names the
command that makes it. Nothing here depends on the clock.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from twowiki.arc_da.records import read_records
from twowiki.errors import DataError
from twowiki.files import sha256_of, write_json, write_text


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
            raise DataError("is a file, not a folder to work in", file=folder)

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
            DataError: the file is missing; the remedy is the command that makes it.
        """
        path = self.path(name)
        if not path.exists():
            raise DataError("no such file", file=path, remedy=self._remedy(name))
        if not path.stat().st_size:
            return
        for _, record in read_records(str(path)):
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

    def finish(
        self,
        stage: str,
        fingerprint: Mapping[str, Any],
        counts: Mapping[str, Any],
        made: Iterable[str] = (),
    ) -> None:
        """Write into the manifest what a stage did; `made` are the files of a stage's folder."""
        names = STAGES[stage].writes
        written = [f"{names[0]}/{name}" for name in made] or list(names)
        outputs = {name: sha256_of(self.path(name)) for name in written}
        entry = {**fingerprint, "outputs": outputs, "counts": _plain(counts)}
        entries = {**self.manifest(), stage: entry}
        ordered = {name: entries[name] for name in STAGES if name in entries}
        write_json(self.path(MANIFEST), ordered)

    def replace_folder(
        self, stage: str, made: Mapping[str, str], *, overwrite: bool = False
    ) -> None:
        """Write a stage's folder, and remove what an earlier run of the stage left there.

        Files that other hands put there stay.

        Raises:
            DataError: a file of an earlier run was edited since (and `overwrite` is not said).
        """
        folder = self.path(STAGES[stage].writes[0])
        before = self.manifest().get(stage, {}).get("outputs", {})
        for name, digest in before.items():
            path = self.path(name)
            if path.is_file() and sha256_of(path) != digest and not overwrite:
                problem = "was edited since it was written, and would be lost"
                remedy = "Import it first and move it away, or overwrite it with --force"
                raise DataError(problem, file=path, remedy=remedy)
        for name, text in made.items():
            write_text(folder / name, text)
        for name in before:
            if self.path(name).name not in made:
                self.path(name).unlink(missing_ok=True)

    def manifest(self) -> dict[str, Any]:
        """Read what each stage did so far; empty before the first."""
        path = self.path(MANIFEST)
        if not path.is_file():
            return {}
        try:
            entries = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            entries = None
        if not isinstance(entries, dict):
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

    def _remedy(self, name: str) -> str:
        """Name the command to begin with: the earliest stage that has not run."""
        maker = _maker(name)
        for read in maker.reads:
            if not self.path(read).exists():
                return self._remedy(read)
        return f"Make it with: {maker.command} {self.folder}"


def _maker(name: str) -> Stage:
    return next(stage for stage in STAGES.values() if name in stage.writes)


def _plain(value: Any) -> Any:
    """Turn tuples into lists and so on, so that what is compared is what JSON gives back."""
    return json.loads(json.dumps(value, ensure_ascii=False))
