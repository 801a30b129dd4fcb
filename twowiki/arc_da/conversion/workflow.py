"""Run the stages in a folder: read what the stage before wrote, write this stage's files, count.

Thin: each stage's rules live in its own module. Every file is written aside and renamed, and a
stage that ran on the same inputs with the same settings is not run again.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from twowiki.arc_da.conversion import filtering, importing, screening, tasks
from twowiki.arc_da.conversion import workspace as ws
from twowiki.arc_da.conversion.crowd import Submission
from twowiki.arc_da.conversion.release import count_stages, release_files
from twowiki.arc_da.conversion.review import (
    Event,
    Replay,
    State,
    first_state,
    parse_event,
    replay,
)
from twowiki.arc_da.conversion.rules import RuleSet
from twowiki.arc_da.conversion.screening import ScreenSettings
from twowiki.arc_da.conversion.workspace import Workspace
from twowiki.arc_da.schema import MultipleChoice
from twowiki.errors import DataError
from twowiki.files import write_json_lines

KEY_FILE = "worker.key"


class Result(NamedTuple):
    """What a stage did: its counts, and whether it had been done before on the same inputs."""

    counts: dict[str, Any]
    was_done: bool = False


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
        raise DataError("no questions to convert")
    sources = [filtering.source_record(question) for question in questions]
    settings = {"rules": rules.name, "detail": [str(rule[:-1]) for rule in rules.rules],
                "exceptions": [sorted(rule.exceptions) for rule in rules.rules]}  # fmt: skip
    hashes = "".join(source["hash"] for source in sources)
    fingerprint = work.fingerprint("filter", settings, questions=_digest(hashes))
    if work.is_done("filter", fingerprint):
        return Result(work.manifest()["filter"]["counts"], was_done=True)
    records = [filtering.filter_record(source, rules) for source in sources]
    write_json_lines(work.path(ws.SOURCE), sources)
    write_json_lines(work.path(ws.FILTERED), records)
    counts = filtering.count_filtered(records)
    work.finish("filter", fingerprint, counts)
    return Result(counts)


def export_tasks(
    work: Workspace,
    formats: Sequence[str],
    *,
    people: int,
    seed: int,
    everything: bool = False,
    overwrite: bool = False,
) -> Result:
    """Write tasks for the questions that still lack answers (or for all kept ones).

    Raises:
        DataError: the filter has not run, or a sheet of an earlier export was filled in since.
    """
    work.require("export-tasks")
    answered: dict[str, int] = {}
    if work.path(ws.CROWD).exists() and not everything:
        for record in work.read(ws.CROWD):
            if record["status"] != "refused":
                answered[record["question_id"]] = answered.get(record["question_id"], 0) + 1
    chosen = tasks.choose_open(work.read(ws.FILTERED), answered, people)
    settings = {"formats": list(formats), "people": people, "seed": seed}
    made = tasks.task_files(chosen, formats, people=people, seed=seed)
    work.replace_folder("export-tasks", made, overwrite=overwrite)
    counts = {
        "questions": len(chosen),
        "answers_wanted": sum(question["wanted"] for question in chosen),
        "files": sorted(made),
    }
    work.finish("export-tasks", work.fingerprint("export-tasks", settings), counts, made)
    return Result(counts)


def import_answers(
    work: Workspace, files: Sequence[str], *, worker: str = "", key_file: str | None = None
) -> Result:
    """Merge files of answers into the crowd file.

    Raises:
        DataError: a file is of no known kind, or names nobody.
    """
    work.require("import-answers")
    key = secret_key(Path(key_file) if key_file else work.path(KEY_FILE), may_make=not key_file)
    filtered = {record["question_id"]: record for record in work.read(ws.FILTERED)}
    sources = {record["question_id"]: record for record in work.read(ws.SOURCE)}
    known = list(work.read(ws.CROWD)) if work.path(ws.CROWD).exists() else []
    given: list[Submission] = []
    for file in files:
        given += importing.read_submissions(file, worker=worker)
    records, counts = importing.merge_submissions(known, given, filtered, sources, key)
    write_json_lines(work.path(ws.CROWD), records)
    work.finish("import-answers", work.fingerprint("import-answers", {}), counts)
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
    write_json_lines(work.path(ws.SCREENED), screened)
    counts = screening.count_screened(screened, len(filtered))
    work.finish("screen", fingerprint, counts)
    return Result(counts)


def read_review(work: Workspace) -> Reviewed:
    """Read all that the review stands on, and replay its log.

    Raises:
        DataError: a file is missing, or the log does not fit the data.
    """
    sources = {record["question_id"]: record for record in work.read(ws.SOURCE)}
    filtered = {record["question_id"]: record for record in work.read(ws.FILTERED)}
    screened = {record["question_id"]: record for record in work.read(ws.SCREENED)}
    first: dict[str, State] = {
        name: first_state(record, filtered[name]["question"], sources[name])
        for name, record in screened.items()
        if record["verdict"] == "pass"
    }
    path, events = work.path(ws.EVENTS), []
    if path.exists():
        try:
            events = [parse_event(record) for record in work.read(ws.EVENTS)]
            return Reviewed(sources, filtered, screened, events, replay(first, events))
        except DataError as error:
            raise error.at(path) from None
    return Reviewed(sources, filtered, screened, events, replay(first, events))


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
        allowed=allowed,
    )
    work.replace_folder("release", made, overwrite=True)
    counts = stage_counts(review)
    settings = {"allowed": sorted(allowed)}
    work.finish("release", work.fingerprint("release", settings), counts, made)
    return Result(counts)


def stage_counts(review: Reviewed) -> dict[str, Any]:
    """Count what each stage removed."""
    return count_stages(
        list(review.filtered.values()), list(review.screened.values()), review.replay.states
    )


def secret_key(path: Path, *, may_make: bool) -> bytes:
    """Read the secret that hides people's ids; make one in a new folder.

    Raises:
        DataError: there is none and none may be made, or it is empty.
    """
    if not path.exists():
        if not may_make:
            raise DataError("no such key file", file=path, remedy="Write any secret text into it")
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as stream:
            stream.write(secrets.token_hex(32) + "\n")
    key = path.read_bytes().strip()
    if not key:
        raise DataError("the key file is empty", file=path, remedy="Write any secret text into it")
    return key


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
