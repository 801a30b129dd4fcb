"""Run the stages in a folder: read what the stage before wrote, write this stage's files, count.

Thin: each stage's rules live in its own module. Callers hold the folder's lock
(`Workspace.opened`); all files of a stage change together, and a stage that ran on the same inputs
with the same settings is not run again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from twowiki.arc_da.conversion import filtering, importing, screening, tasks
from twowiki.arc_da.conversion import workspace as ws
from twowiki.arc_da.conversion.crowd import Submission, has_said
from twowiki.arc_da.conversion.hiding import secret_key
from twowiki.arc_da.conversion.release import count_stages, release_files
from twowiki.arc_da.conversion.review import Event, Replay, parse_event, replay
from twowiki.arc_da.conversion.review_state import State, first_state
from twowiki.arc_da.conversion.rules import RuleSet
from twowiki.arc_da.conversion.screening import ScreenSettings
from twowiki.arc_da.conversion.workspace import Workspace
from twowiki.arc_da.schema import MultipleChoice
from twowiki.errors import DataError

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
    key = secret_key(work.path(KEY_FILE), given=key_file, used=used)
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
