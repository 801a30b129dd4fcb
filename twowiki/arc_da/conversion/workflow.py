"""Run the stages of the conversion in a folder: read, apply a stage's rules, write, count.

Thin: each stage's rules are in its own module. Callers hold the folder's lock
(`Workspace.opened`); all files of a stage change together.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from twowiki.arc_da.conversion import workspace as ws
from twowiki.arc_da.conversion.crowd import (
    CrowdRecord,
    answer_task_files,
    choose_open,
    merge_worker_answers,
    read_worker_answers,
)
from twowiki.arc_da.conversion.filter import (
    FilteredQuestion,
    RuleSet,
    SourceQuestion,
    count_filtered,
    filter_question,
    source_question,
)
from twowiki.arc_da.conversion.release import count_stages, release_files
from twowiki.arc_da.conversion.review import (
    Decision,
    ReplayedReview,
    ReviewState,
    append_decisions,
    count_changes,
    decisions_table,
    first_state,
    is_decisions_table,
    parse_decisions,
    read_decisions,
    replay_decisions,
)
from twowiki.arc_da.conversion.review_table import (
    EditedRow,
    edited_state,
    has_unused_edits,
    parse_review_row,
    parse_review_task,
    review_files,
    review_row,
)
from twowiki.arc_da.conversion.screening import (
    ScreenedQuestion,
    ScreenSettings,
    count_screened,
    screen_question,
    wanted_answers,
)
from twowiki.arc_da.conversion.worker_quality import count_agreement, unreliable_workers
from twowiki.arc_da.conversion.workspace import Workspace, record_lines
from twowiki.arc_da.schema import MultipleChoice
from twowiki.errors import DataError
from twowiki.human.pseudonyms import read_secret
from twowiki.human.raters import RaterVerdict
from twowiki.human.task_files import is_export, read_annotations
from twowiki.io.files import sha256_of
from twowiki.io.records import read_records

KEY_FILE = "worker.key"
PEOPLE = 5  # workers per question, as in the paper
FIRST_FORMATS = ("label-studio", "csv")


class StageResult(NamedTuple):
    """What a stage did: its counts, whether it had been done before, earlier files now gone."""

    counts: dict[str, Any]
    was_done: bool = False
    gone: tuple[str, ...] = ()


class ReviewData(NamedTuple):
    """Everything that the review is based on, by question id, and where its decisions lead."""

    sources: dict[str, SourceQuestion]
    filtered: dict[str, FilteredQuestion]
    screened: dict[str, ScreenedQuestion]
    decisions: list[Decision]
    replayed: ReplayedReview

    def stage_counts(self) -> dict[str, Any]:
        """Count what each stage removed."""
        filtered, screened = list(self.filtered.values()), list(self.screened.values())
        return count_stages(filtered, screened, self.replayed)


class ReviewImport(NamedTuple):
    """What an import did; `problems` are the rows that were not carried out."""

    counts: dict[str, Any]
    problems: list[tuple[str, str]]


def run_filter(
    work: Workspace, questions: Sequence[MultipleChoice], rules: RuleSet, *, set_name: str = ""
) -> StageResult:
    """Write the sources and the question filter's verdicts.

    Raises:
        DataError: a question cannot be tagged, or none is given.
    """
    if not questions:
        raise DataError("no questions to convert", remedy="Check --arc and --part")
    sources = [source_question(question, set_name) for question in questions]
    settings = {
        "rules": rules.name,
        "detail": [str(rule[:-1]) for rule in rules.rules],
        "exceptions": [sorted(rule.exceptions) for rule in rules.rules],
    }
    hashes = "".join(source.hash for source in sources)
    digest = hashlib.sha256(hashes.encode()).hexdigest()
    fingerprint = work.fingerprint("filter", settings, questions=digest)
    done = work.done_counts("filter", fingerprint)
    if done is not None:
        return StageResult(done, was_done=True)
    records = [filter_question(one.question_id, one.split, one.stem, rules) for one in sources]
    counts = count_filtered(records)
    files = {ws.SOURCE: record_lines(sources), ws.FILTERED: record_lines(records)}
    work.commit("filter", fingerprint, counts, files)
    return StageResult(counts)


def export_tasks(
    work: Workspace,
    formats: Sequence[str] | None = None,
    *,
    people: int | None = None,
    seed: int,
    everything: bool = False,
    active: bool | None = None,
    overwrite: bool = False,
) -> StageResult:
    """Write tasks for the questions that still lack answers (or for all kept ones).

    Args:
        work: the conversion's folder.
        formats: out of `crowd.TASK_FORMATS`; by default those of the export before.
        people: workers per question; by default as in the export before.
        seed: of the questions' order.
        everything: also questions that have all answers.
        active: ask two workers, and one more at a time only where they disagree; by default as
            in the export before.
        overwrite: overwrite sheets that were filled in.

    Raises:
        DataError: the filter has not run, or a sheet of an earlier export was filled in since.
    """
    work.check_inputs("export-tasks")
    formats = list(formats or work.setting("export-tasks", "formats") or FIRST_FORMATS)
    people = people or wanted_people(work)
    if active is None:
        active = bool(work.setting("export-tasks", "active"))
    by_question: dict[str, list[CrowdRecord]] = {}
    if work.path(ws.CROWD).exists() and not everything:
        for record in work.read(ws.CROWD, CrowdRecord):
            by_question.setdefault(record.question_id, []).append(record)
    filtered = work.read(ws.FILTERED, FilteredQuestion)
    wanted = {
        one.question_id: wanted_answers(by_question.get(one.question_id, []), people, active)
        for one in filtered
        if one.kept
    }
    chosen = choose_open(filtered, wanted)
    settings = {"formats": formats, "people": people, "seed": seed, "active": active}
    made = answer_task_files(chosen, formats, people=people, seed=seed)
    counts = {
        "questions": len(chosen),
        "answers_wanted": sum(question.wanted for question in chosen),
        "files": sorted(made),
    }
    files = {f"{ws.TASK_FOLDER}/{name}": text for name, text in made.items()}
    fingerprint = work.fingerprint("export-tasks", settings)
    gone = work.commit("export-tasks", fingerprint, counts, files, overwrite=overwrite)
    return StageResult(counts, gone=tuple(gone))


def wanted_people(work: Workspace) -> int:
    """Return how many workers each question was last given to."""
    return int(work.setting("export-tasks", "people") or PEOPLE)


def import_answers(
    work: Workspace, files: Sequence[str], *, worker: str = "", key_file: str | None = None
) -> StageResult:
    """Merge files of answers into the crowd file; a file that it holds already changes nothing.

    Raises:
        DataError: a file is of no known sort, or names no worker, or the key is another one.
    """
    work.check_inputs("import-answers")
    used = work.path(ws.CROWD).exists()
    key = read_secret(work.path(KEY_FILE), given=key_file, used=used)
    filtered = {one.question_id: one for one in work.read(ws.FILTERED, FilteredQuestion)}
    sources = {one.question_id: one for one in work.read(ws.SOURCE, SourceQuestion)}
    known = work.read(ws.CROWD, CrowdRecord) if used else []
    read: list[str] = list(work.setting("import-answers", "read") or []) if used else []
    names = {
        file: hashlib.sha256(f"{sha256_of(file)}\t{worker}".encode()).hexdigest() for file in files
    }
    new = [file for file in files if names[file] not in read]
    given = [answer for file in new for answer in read_worker_answers(file, worker=worker)]
    records, counts = merge_worker_answers(known, given, filtered, sources, key)
    counts["files_known"] = [file for file in files if file not in new]
    fingerprint = work.fingerprint(
        "import-answers", {"read": [*read, *map(names.__getitem__, new)]}
    )
    work.commit("import-answers", fingerprint, counts, {ws.CROWD: record_lines(records)})
    return StageResult(counts)


def run_screen(work: Workspace, settings: ScreenSettings) -> StageResult:
    """Judge every kept question by its workers' answers."""
    work.check_inputs("screen")
    fingerprint = work.fingerprint("screen", settings._asdict())
    done = work.done_counts("screen", fingerprint)
    if done is not None:
        return StageResult(done, was_done=True)
    records = work.read(ws.CROWD, CrowdRecord)
    unreliable: dict[str, RaterVerdict] = {}
    if settings.least_agreement:
        sources = {one.question_id: one for one in work.read(ws.SOURCE, SourceQuestion)}
        agreement = count_agreement(records, sources, settings)
        unreliable = unreliable_workers(agreement, settings.least_agreement)
    by_question: dict[str, list[CrowdRecord]] = {}
    for record in records:
        if record.worker not in unreliable:
            by_question.setdefault(record.question_id, []).append(record)
    filtered = work.read(ws.FILTERED, FilteredQuestion)
    screened = [
        screen_question(one.question_id, by_question.get(one.question_id, []), settings)
        for one in filtered
        if one.kept
    ]
    counts = count_screened(screened, len(filtered))
    if settings.least_agreement:
        counts["unreliable_workers"] = {
            name: {"agree": one.right, "disagree": one.wrong} for name, one in unreliable.items()
        }
    work.commit("screen", fingerprint, counts, {ws.SCREENED: record_lines(screened)})
    return StageResult(counts)


def read_review(work: Workspace) -> ReviewData:
    """Read everything that the review is based on, and replay its decisions.

    Raises:
        DataError: a file is missing or damaged, or the filter ran again since the screening.
    """
    sources = {one.question_id: one for one in work.read(ws.SOURCE, SourceQuestion)}
    filtered = {one.question_id: one for one in work.read(ws.FILTERED, FilteredQuestion)}
    screened = {one.question_id: one for one in work.read(ws.SCREENED, ScreenedQuestion)}
    kept = {name for name, record in filtered.items() if record.kept}
    for stage, name, fits in (
        ("filter", ws.FILTERED, filtered.keys() == sources.keys()),
        ("screen", ws.SCREENED, kept == screened.keys()),
    ):
        if not fits:
            problem = "holds other questions than the stage before has written"
            remedy = f"Run again: {ws.CONVERT} {stage} {work.folder}"
            raise DataError(problem, file=work.path(name), remedy=remedy)
    first = {
        name: first_state(record, filtered[name].question, sources[name])
        for name, record in screened.items()
        if record.verdict == "pass"
    }
    _check_journal(work)
    decisions = read_decisions(work.path(ws.DECISIONS))
    replayed = replay_decisions(first, decisions)
    return ReviewData(sources, filtered, screened, decisions, replayed)


def export_review(
    work: Workspace, *, everything: bool = False, overwrite: bool = False
) -> dict[str, Any]:
    """Write the table and the Label Studio tasks of the questions that are not settled.

    Raises:
        DataError: a stage is missing, or the table of an earlier export was edited since.
    """
    work.check_inputs("review-export")
    review = read_review(work)
    states = review.replayed.states
    rows = [
        review_row(
            state, review.sources[name], review.screened[name], review.filtered[name].suggestion
        )
        for name, state in states.items()
        if everything or not state.is_settled
    ]
    counts = {"questions": len(states), "exported": len(rows)}
    files = {f"{ws.REVIEW}/{name}": text for name, text in review_files(rows).items()}
    fingerprint = work.fingerprint("review-export", {})
    work.commit("review-export", fingerprint, counts, files, overwrite=overwrite)
    return counts


def import_review(
    work: Workspace, path: str, *, reviewer: str, at: str, longest: int, force: bool = False
) -> ReviewImport:
    """Append to the journal what an edited table decides; report rows that cannot be.

    A table of decisions is read back as it is: decisions that the journal has already are skipped.

    Args:
        work: the conversion's folder.
        path: the edited table, an export of Label Studio, or a table of decisions.
        reviewer: who reviewed (an export names its annotators itself).
        at: time of the import, kept in the decisions.
        longest: words; a question whose answers are all longer needs a short version.
        force: carry out rows although another reviewer changed the question since the export.

    Raises:
        DataError: a stage is missing, the file is not a table, or no name is given.
    """
    work.check_inputs("review-import")
    review = read_review(work)
    records = list(read_records(path))
    if not records:
        raise DataError("holds no row", file=path, remedy="Keep the rows of review.csv")
    counts: Counter[str] = Counter()
    problems: list[tuple[str, str]] = []
    if is_decisions_table(records[0][1]):
        known = {replace(one, seq=0) for one in review.decisions}
        new = [one for one in parse_decisions(records, path) if one not in known]
        counts["unchanged"] = len(records) - len(new)
    else:
        rows = _edited_rows(records, path, reviewer)
        new = _decide(rows, review, counts, problems, at=at, longest=longest, force=force)
    first = len(review.decisions) + 1
    new = [replace(one, seq=first + number) for number, one in enumerate(new)]
    append_decisions(work.path(ws.DECISIONS), new)
    counts.update(count_changes(new))
    total = {"decisions": len(review.decisions) + len(new)}
    summary = {**total, **dict(sorted((+counts).items())), "problems": len(problems)}
    table = {ws.DECISIONS_TABLE: decisions_table([*review.decisions, *new])}
    settings = {"journal": _journal_hash(work, total["decisions"])}
    work.commit("review-import", work.fingerprint("review-import", settings), summary, table)
    return ReviewImport(summary, problems)


def _check_journal(work: Workspace) -> None:
    """Raise a `DataError` if the journal does not begin with what the last import left."""
    entry = work.manifest().get("review-import")
    if entry is not None and "journal" in entry["settings"]:
        count = int(entry["counts"].get("decisions", 0))
        if _journal_hash(work, count) != entry["settings"]["journal"]:
            manifest = work.path(ws.CONVERSION_MANIFEST)
            remedy = f"Restore it; if this one is the right one, remove {manifest}"
            problem = "was changed since review-import wrote it; it may only grow"
            raise DataError(problem, file=work.path(ws.DECISIONS), remedy=remedy)


def _journal_hash(work: Workspace, count: int) -> str:
    """Hash the first decisions of the journal, with the line before them."""
    path = work.path(ws.DECISIONS)
    lines = path.read_bytes().splitlines(keepends=True) if path.is_file() else []
    return hashlib.sha256(b"".join(lines[: count + 1])).hexdigest()


def _edited_rows(
    records: Sequence[tuple[int, Any]], path: str, reviewer: str
) -> Iterator[tuple[EditedRow, str]]:
    """Read rows with who made them."""
    named = "Name the reviewer with --reviewer"
    if is_export(records[0][1]):
        for result in read_annotations(records, path):
            who = (reviewer or result.person).strip()
            if not who:
                raise DataError("no name is given", file=path, record=result.number, remedy=named)
            yield parse_review_task(result), who
        return
    if not reviewer.strip():
        raise DataError("no name is given", file=path, remedy=named)
    for number, record in records:
        try:
            yield parse_review_row(record), reviewer.strip()
        except ValueError as error:
            remedy = "Keep the columns of review.csv"
            raise DataError(str(error), file=path, record=number, remedy=remedy) from None


def _decide(
    rows: Iterator[tuple[EditedRow, str]],
    review: ReviewData,
    counts: Counter[str],
    problems: list[tuple[str, str]],
    *,
    at: str,
    longest: int,
    force: bool,
) -> list[Decision]:
    """Return the decisions of edited rows; add to the counts and to the problems."""
    states = dict(review.replayed.states)
    decisions: dict[str, Decision] = {}  # by question: a file decides a question once
    for edited, who in rows:
        name = edited.question_id
        try:
            state = _checked_state(edited, who, states, review, longest=longest, force=force)
            if name in decisions and state != states[name]:
                by = decisions[name].reviewer
                raise ValueError(f"the file has it twice: the row by {by} was carried out")
        except ValueError as error:
            problems.append((name, str(error)))
            continue
        if state == states[name]:
            undecided = not edited.decision and state.decision is None
            counts["undecided" if undecided else "unchanged"] += 1
            shown = _shown_state(edited, review)
            if shown is not None and has_unused_edits(edited, shown):
                problems.append((name, "edited, but no decision is given"))
            continue
        decisions[name] = Decision(
            seq=0,
            question_id=name,
            decision="accept" if state.decision == "accept" else "reject",
            reviewer=who,
            date=at,
            reason=state.reason,
            question=state.question,
            answers=state.answers,
            shown=states[name],
        )
        states[name] = state
    return list(decisions.values())


def _shown_state(edited: EditedRow, review: ReviewData) -> ReviewState | None:
    """Return the state that a row was made from; None where no step of the review left it."""
    name = edited.question_id
    history = [one for one in review.decisions if one.question_id == name]
    states = [review.replayed.states[name], *(one.shown for one in history)]
    states += [one.state for one in history]
    return next((state for state in states if state.hash == edited.state), None)


def _checked_state(
    edited: EditedRow,
    reviewer: str,
    states: Mapping[str, ReviewState],
    review: ReviewData,
    *,
    longest: int,
    force: bool,
) -> ReviewState:
    """Return the state that a row leads to, if it was made from a state that is still current.

    Raises:
        ValueError: the row cannot be carried out; the text says why.
    """
    name = edited.question_id
    state = states.get(name)
    if state is None:
        why = review.replayed.aside.get(name)
        raise ValueError(f"this question is not under review{f': it {why}' if why else ''}")
    new = edited_state(edited, state, longest=longest)
    before = review.replayed.states[name]
    if new == state or force or edited.state in (state.hash, before.hash):
        return new
    decided = review.replayed.decided.get(name)
    if decided is not None and edited_state(edited, decided, longest=longest) == decided:
        return state  # decided before, and answers that came since are not this row's matter
    history = [one for one in review.decisions if one.question_id == name]
    made_from = [n for n, one in enumerate(history) if one.shown.hash == edited.state]
    others = {one.reviewer for one in history[made_from[-1] :]} - {reviewer} if made_from else set()
    if others:
        names = ", ".join(sorted(others))
        raise ValueError(f"changed since by {names}: export it again, or use --force")
    if not made_from or before.hash != (decided or before).hash:
        problem = "the table was made from other data, answers have come or changed since"
        raise ValueError(f"{problem}: export it again, or use --force")
    return new


def question_history(work: Workspace, question_id: str) -> list[Decision]:
    """Return a question's decisions in order, for reading.

    Raises:
        DataError: the question is not under review, or a file is missing or damaged.
    """
    review = read_review(work)
    found = [one for one in review.decisions if one.question_id == question_id]
    if question_id not in review.replayed.states and not found:
        remedy = f"The questions under review are in {work.path(ws.REVIEW)}"
        raise DataError("not under review", file=work.folder, record=question_id, remedy=remedy)
    return found


def run_release(work: Workspace, *, allowed: Collection[str] = ()) -> StageResult:
    """Write the release from the data and the decisions.

    Raises:
        DataError: a stage is missing, nothing is accepted, or a text occurs in two splits.
    """
    work.check_inputs("release")
    review = read_review(work)
    counts = review.stage_counts()
    made = release_files(
        list(review.sources.values()),
        review.replayed.states,
        review.decisions,
        counts,
        allowed=allowed,
    )
    fingerprint = work.fingerprint("release", {"allowed": sorted(allowed)})
    files = {f"{ws.RELEASE}/{name}": text for name, text in made.items()}
    return StageResult(counts, gone=tuple(work.commit("release", fingerprint, counts, files)))
