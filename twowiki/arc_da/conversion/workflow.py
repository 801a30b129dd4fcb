"""Run the stages in a folder: read what the stage before wrote, write this stage's files, count.

Thin: each stage's rules live in its own module. Callers hold the folder's lock
(`Workspace.opened`); all files of a stage change together, and a stage that ran on the same inputs
with the same settings is not run again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from twowiki.arc_da.conversion import crowd_answers as importing
from twowiki.arc_da.conversion import crowd_tasks as tasks
from twowiki.arc_da.conversion import filter as filtering
from twowiki.arc_da.conversion import screening
from twowiki.arc_da.conversion import workflow as ws
from twowiki.arc_da.conversion.crowd_answers import Submission, has_said
from twowiki.arc_da.conversion.filter import RuleSet
from twowiki.arc_da.conversion.release import count_stages, release_files
from twowiki.arc_da.conversion.review import Event, Replay, State, first_state, parse_event, replay
from twowiki.arc_da.conversion.screening import ScreenSettings
from twowiki.arc_da.schema import MultipleChoice
from twowiki.errors import DataError
from twowiki.human.pseudonyms import read_secret
from twowiki.io.files import check_unedited, locked, sha256_of, text_hash, write_together
from twowiki.io.records import read_records

KEY_FILE = "worker.key"
PEOPLE = 5  # workers a question, as in the paper
FORMATS = ("label-studio", "csv")


class Result(NamedTuple):
    """What a stage did: its counts, whether it had been done before, earlier files now gone."""

    counts: dict[str, Any]
    was_done: bool = False
    gone: tuple[str, ...] = ()


class Reviewed(NamedTuple):
    """All that the review stands on."""

    sources: dict[str, dict[str, Any]]
    filtered: dict[str, dict[str, Any]]
    screened: dict[str, dict[str, Any]]
    events: list[Event]
    replay: Replay


def run_filter(work: Workspace, questions: Sequence[MultipleChoice], rules: RuleSet) -> Result:
    """Write the sources and the question filter's verdicts.

    Raises:
        DataError: a question cannot be tagged, or none is given.
    """
    if not questions:
        raise DataError("no questions to convert", remedy="Check --arc and --part")
    sources = [filtering.source_record(question) for question in questions]
    settings = {"rules": rules.name, "detail": [str(rule[:-1]) for rule in rules.rules],
                "exceptions": [sorted(rule.exceptions) for rule in rules.rules]}  # fmt: skip
    hashes = "".join(source["hash"] for source in sources)
    fingerprint = work.fingerprint("filter", settings, questions=_digest(hashes))
    if work.is_done("filter", fingerprint):
        return Result(work.manifest()["filter"]["counts"], was_done=True)
    records = [filtering.filter_record(source, rules) for source in sources]
    counts = filtering.count_filtered(records)
    files = {ws.SOURCE: lines(sources), ws.FILTERED: lines(records)}
    work.commit("filter", fingerprint, counts, files)
    return Result(counts)


def export_tasks(
    work: Workspace,
    formats: Sequence[str] | None = None,
    *,
    people: int | None = None,
    seed: int,
    everything: bool = False,
    overwrite: bool = False,
) -> Result:
    """Write tasks for the questions that still lack answers (or for all kept ones).

    Args:
        work: the conversion's folder.
        formats: out of `tasks.FORMATS`; by default those of the export before.
        people: workers a question; by default as in the export before.
        seed: of the questions' order.
        everything: also questions that have all answers.
        overwrite: overwrite sheets that were filled in.

    Raises:
        DataError: the filter has not run, or a sheet of an earlier export was filled in since.
    """
    work.require("export-tasks")
    formats = list(formats or work.setting("export-tasks", "formats") or FORMATS)
    people = people or wanted_people(work)
    answered: dict[str, int] = {}
    if work.path(ws.CROWD).exists() and not everything:
        for record in filter(has_said, work.read(ws.CROWD)):
            answered[record["question_id"]] = answered.get(record["question_id"], 0) + 1
    chosen = tasks.choose_open(work.read(ws.FILTERED), answered, people)
    settings = {"formats": formats, "people": people, "seed": seed}
    made = tasks.task_files(chosen, formats, people=people, seed=seed)
    counts = {
        "questions": len(chosen),
        "answers_wanted": sum(question["wanted"] for question in chosen),
        "files": sorted(made),
    }
    files = {f"{ws.TASKS}/{name}": text for name, text in made.items()}
    fingerprint = work.fingerprint("export-tasks", settings)
    gone = work.commit("export-tasks", fingerprint, counts, files, overwrite=overwrite)
    return Result(counts, gone=tuple(gone))


def wanted_people(work: Workspace) -> int:
    """Give how many workers each question was last given to."""
    return int(work.setting("export-tasks", "people") or PEOPLE)


def import_answers(
    work: Workspace, files: Sequence[str], *, worker: str = "", key_file: str | None = None
) -> Result:
    """Merge files of answers into the crowd file.

    Raises:
        DataError: a file is of no known kind, or names nobody, or the key is another one.
    """
    work.require("import-answers")
    used = work.path(ws.CROWD).exists()
    key = read_secret(work.path(KEY_FILE), given=key_file, used=used)
    filtered = {record["question_id"]: record for record in work.read(ws.FILTERED)}
    sources = {record["question_id"]: record for record in work.read(ws.SOURCE)}
    known = list(work.read(ws.CROWD)) if used else []
    given: list[Submission] = []
    for file in files:
        given += importing.read_submissions(file, worker=worker)
    records, counts = importing.merge_submissions(known, given, filtered, sources, key)
    fingerprint = work.fingerprint("import-answers", {})
    work.commit("import-answers", fingerprint, counts, {ws.CROWD: lines(records)})
    return Result(counts)


def run_screen(work: Workspace, settings: ScreenSettings) -> Result:
    """Judge every kept question by its workers' answers."""
    work.require("screen")
    fingerprint = work.fingerprint("screen", settings._asdict())
    if work.is_done("screen", fingerprint):
        return Result(work.manifest()["screen"]["counts"], was_done=True)
    by_question: dict[str, list[dict[str, Any]]] = {}
    for record in work.read(ws.CROWD):
        by_question.setdefault(record["question_id"], []).append(record)
    filtered = list(work.read(ws.FILTERED))
    screened = [
        screening.screen_question(
            record["question_id"], by_question.get(record["question_id"], []), settings
        )
        for record in filtered
        if record["kept"]
    ]
    counts = screening.count_screened(screened, len(filtered))
    work.commit("screen", fingerprint, counts, {ws.SCREENED: lines(screened)})
    return Result(counts)


def read_review(work: Workspace) -> Reviewed:
    """Read all that the review stands on, and replay its log.

    Raises:
        DataError: a file is missing, the filter ran again since the screening, or the log was
            changed.
    """
    sources = {record["question_id"]: record for record in work.read(ws.SOURCE)}
    filtered = {record["question_id"]: record for record in work.read(ws.FILTERED)}
    screened = {record["question_id"]: record for record in work.read(ws.SCREENED)}
    _check_joined(work, sources, filtered, screened)
    first: dict[str, State] = {
        name: first_state(record, filtered[name]["question"], sources[name])
        for name, record in screened.items()
        if record["verdict"] == "pass"
    }
    path, events = work.path(ws.EVENTS), []
    try:
        if path.exists():
            events = [parse_event(record) for record in work.read(ws.EVENTS)]
        replayed = replay(first, events)
    except DataError as error:
        raise error.at(path) from None
    work.check_unchanged("review-import")
    return Reviewed(sources, filtered, screened, events, replayed)


def _check_joined(
    work: Workspace,
    sources: Collection[str],
    filtered: dict[str, dict[str, Any]],
    screened: Collection[str],
) -> None:
    """Check that the stages' files speak of the same questions."""
    kept = {name for name, record in filtered.items() if record["kept"]}
    for stage, name, fits in (
        ("filter", ws.FILTERED, filtered.keys() == set(sources)),
        ("screen", ws.SCREENED, kept == set(screened)),
    ):
        if not fits:
            problem = "holds other questions than the stage before gives"
            remedy = f"Run again: {ws.STAGES[stage].command} {work.folder}"
            raise DataError(problem, file=work.path(name), remedy=remedy)


def run_release(work: Workspace, *, allowed: Collection[str] = ()) -> Result:
    """Write the release from the data and the log.

    Raises:
        DataError: a stage is missing, nothing is accepted, or a text stands in two splits.
    """
    work.require("release")
    review = read_review(work)
    made = release_files(
        list(review.sources.values()),
        list(review.filtered.values()),
        list(review.screened.values()),
        review.replay.states,
        review.events,
        aside=review.replay.aside,
        allowed=allowed,
    )
    counts = stage_counts(review)
    fingerprint = work.fingerprint("release", {"allowed": sorted(allowed)})
    files = {f"{ws.RELEASE}/{name}": text for name, text in made.items()}
    return Result(counts, gone=tuple(work.commit("release", fingerprint, counts, files)))


def stage_counts(review: Reviewed) -> dict[str, Any]:
    """Count what each stage removed."""
    return count_stages(
        list(review.filtered.values()),
        list(review.screened.values()),
        review.replay.states,
        review.replay.aside,
    )


def lines(records: Iterable[Any]) -> str:
    """Write one JSON value a line."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


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
            check_unedited(self.folder, own, known, remedy=remedy)
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
