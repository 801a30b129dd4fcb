"""The reviewer's table: one row a question, edited in any spreadsheet or in Label Studio.

In: states. Out: rows and tasks; and back: an edited row becomes steps for the log. A row without a
decision changes nothing. Answers stand in one cell, `heat | warm weather`; take one out to remove
it, write one more to add it, put short versions of long answers into `short`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from twowiki.arc_da.conversion import workflow as ws
from twowiki.arc_da.conversion.review import (
    REASONS,
    Answer,
    Event,
    State,
    Step,
    apply_step,
    chain,
    state_hash,
    write_state,
)
from twowiki.arc_da.conversion.screening import ScreenSettings, content_words
from twowiki.arc_da.conversion.workflow import Reviewed, Workspace, lines, read_review
from twowiki.arc_da.metric.scoring import answer_tokens
from twowiki.errors import DataError
from twowiki.human.task_files import (
    TaskResult,
    free_cell,
    is_export,
    label_studio_files,
    prefilled_texts,
    read_annotations,
    read_template,
    to_csv,
)
from twowiki.io.records import read_records

LONG = 5  # words; a question whose answers are all longer needs a short version
WEAK = frozenset(  # words that end no short answer
    (
        *("than", "can", "from", "both", "over", "up", "out", "down", "so", "more", "less", "very"),
        *("because", "its", "his", "her", "our", "who", "which", "when", "where", "while", "made"),
        *("have", "has", "had", "were", "been", "being", "other", "same", "all", "each", "through"),
    )
)
COLUMNS = (
    *("question_id", "split", "original_question", "options", "workers", "origins"),
    *("proposed_question", "proposed_short", "question", "answers", "short"),
    *("decision", "reason", "state"),
)
EDITABLE = ("question", "answers", "short", "decision", "reason")


class Edited(NamedTuple):
    """What a reviewer made of one question."""

    question_id: str
    question: str
    answers: tuple[str, ...]
    short: tuple[str, ...]
    decision: str
    reason: str
    state: str


def table_row(
    state: State,
    source: Mapping[str, Any],
    screened: Mapping[str, Any],
    suggestion: str | None,
) -> dict[str, str]:
    """Make a question's row, in the order of `COLUMNS`."""
    options = [
        f"{entry['label']}{'*' if entry['label'] == source['answer_key'] else ''} {entry['text']}"
        for entry in source["choices"]
    ]
    ticked = ", ".join(f"{name} {count}" for name, count in screened["categories"].items())
    return {
        "question_id": source["question_id"],
        "split": source["split"],
        "original_question": " ".join(source["stem"].split()),
        "options": join_cell(options),
        "workers": f"{screened['workers_answered']} of {screened['workers']} answered; {ticked}",
        "origins": join_cell(map(describe_origin, state.answers)),
        "proposed_question": suggestion or "",
        "proposed_short": join_cell(propose_short(state.texts)),
        "question": state.question,
        "answers": join_cell(state.texts),
        "short": "",
        "decision": state.decision or "",
        "reason": state.reason or "",
        "state": state_hash(state),
    }


def review_task(row: Mapping[str, str]) -> dict[str, Any]:
    """Make a Label Studio task of a row, its texts filled in."""
    original = f"{row['original_question']}\n{row['options'].replace(' | ', chr(10))}"
    found = "\n".join(split_cell(row["origins"]))
    data = {
        "question_id": row["question_id"],
        "original": original,
        "workers": f"{row['workers']}\n{found}",
        "state": row["state"],
    }
    texts = {
        "question": ("original", [row["question"]]),
        "answers": ("original", split_cell(row["answers"])),
    }
    return {"data": data, "predictions": prefilled_texts(texts)}


def review_files(rows: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Make the review's Label Studio tasks and project."""
    reasons = "".join(f"<li><b>{name}</b>: {text}</li>" for name, text in REASONS.items())
    text = (
        "<p>Correct the question so that it can stand without its options, remove wrong answers, "
        "add missing ones, and give long answers a short version. Then accept it, or reject it "
        f"for a reason:</p><ul>{reasons}</ul>"
    )
    config = read_template(__name__.rpartition(".")[0], "review.xml")
    tasks = [review_task(row) for row in rows]
    return label_studio_files(tasks, config, "ARC-DA: review", people=1, instructions=text)


def row_of_table(record: Mapping[str, Any]) -> Edited:
    """Read an edited row of the spreadsheet.

    Raises:
        ValueError: it is no row, or a column is missing.
    """
    if not isinstance(record, Mapping):
        raise ValueError("is no row of the table")
    missing = [name for name in ("question_id", *EDITABLE, "state") if record.get(name) is None]
    if missing:
        raise ValueError(f"the columns {', '.join(missing)} are missing")
    cells = {name: free_cell(str(record[name])).strip() for name in COLUMNS if name in record}
    return Edited(
        cells["question_id"],
        cells["question"],
        tuple(split_cell(cells["answers"])),
        tuple(split_cell(cells["short"])),
        cells["decision"].lower(),
        cells["reason"],
        cells["state"],
    )


def row_of_annotation(annotation: TaskResult) -> Edited:
    """Read a review made in Label Studio; its decision may be `reject: too_open`."""
    values = annotation.values
    decision = (values.get("decision") or [""])[0]
    word, _, reason = decision.partition(":")
    return Edited(
        str(annotation.data.get("question_id", "")),
        " ".join(values.get("question", [])).strip(),
        tuple(dict.fromkeys(text.strip() for text in values.get("answers", []) if text.strip())),
        tuple(text.strip() for text in values.get("short", []) if text.strip()),
        word.strip().lower(),
        reason.strip(),
        str(annotation.data.get("state", "")),
    )


def steps_of(edited: Edited, state: State, *, longest: int = LONG) -> list[Step]:
    """Compare an edited row with the state, and give the steps between them; none if equal.

    Raises:
        ValueError: the row cannot be carried out; the text says why.
    """
    if not edited.decision:
        return []
    if edited.decision == "reject":
        step = Step("reject", reason=edited.reason)
        done = state.decision == "reject" and state.reason == edited.reason
        apply_step(state, step)
        return [] if done else [step]
    if edited.decision != "accept":
        raise ValueError(f"the decision must be accept or reject, not {edited.decision!r}")
    steps = _wording(edited, state)
    for step in steps:
        state = apply_step(state, step)
    if not state.answers:
        raise ValueError("no answer is left, so it cannot be accepted")
    if all(len(text.split()) > longest for text in state.texts):
        raise ValueError(f"every answer has more than {longest} words: add a short version")
    return steps if state.decision == "accept" else [*steps, Step("accept")]


def is_edited(edited: Edited, state: State) -> bool:
    """Whether a row without a decision was changed all the same."""
    same = edited.question == state.question and edited.answers == state.texts
    return not same or bool(edited.short) or bool(edited.reason)


def propose_short(texts: Sequence[str]) -> list[str]:
    """Propose short versions: the run of content words that a long answer shares with another.

    An answer is long with more than `LONG` words, or if its words include all of another's.
    """
    settings = ScreenSettings()
    words = [content_words(text, settings) for text in texts]
    known = {" ".join(entry) for entry in words}
    proposed: dict[str, None] = {}
    for place, long in enumerate(words):
        others = [other for index, other in enumerate(words) if index != place and other]
        covers = any(set(other) < set(long) for other in others)
        if len(texts[place].split()) <= LONG and not covers:
            continue
        run = max((_shared_run(long, other) for other in others), key=len, default=[])
        while run and (run[-1] in WEAK or len(run[-1]) < 3):
            run = run[:-1]
        for candidate in (" ".join(run), *run[-1:]):
            if candidate and candidate not in known:
                proposed.setdefault(candidate)
    return list(proposed)


def describe_origin(answer: Answer) -> str:
    """Say where an answer comes from: `heat (3 workers, mc_gold)`."""
    count = len(answer.workers)
    named = [f"{count} worker{'s' if count != 1 else ''}"] if count else []
    named += [origin for origin in answer.origins if origin != "worker"]
    return f"{answer.text} ({', '.join(named)})"


def join_cell(texts: Iterable[str]) -> str:
    """Write texts into one cell; a bar within a text is escaped."""
    return " | ".join(text.replace("\\", "\\\\").replace("|", "\\|") for text in texts)


def split_cell(cell: str) -> list[str]:
    """Read the texts of a cell, parted by bars or line ends; empty and repeated ones go."""
    parts, current, escaped = [], "", False
    for sign in cell:
        if escaped:
            current, escaped = current + sign, False
        elif sign == "\\":
            escaped = True
        elif sign in "|\r\n":
            parts.append(current.strip())
            current = ""
        else:
            current += sign
    return list(dict.fromkeys(text for text in (*parts, current.strip()) if text))


def _wording(edited: Edited, state: State) -> list[Step]:
    """Give the steps for the question's and the answers' wordings."""
    steps = []
    if not edited.question:
        raise ValueError("the question is empty")
    if edited.question != state.question:
        steps.append(Step("reword_question", before=state.question, after=edited.question))
    wanted = (*edited.answers, *edited.short)
    for text in edited.answers:
        met = state.find(text)
        if met is None:
            steps.append(Step("add_answer", before=_same(text, state), after=text))
        elif not met.verified:
            steps.append(Step("verify_answer", before=text))
    for text in edited.short:
        if text not in edited.answers and state.find(text) is None:
            steps.append(Step("add_short_version", before=_lengthened(text, edited), after=text))
    note = edited.reason or None
    steps += [
        Step("remove_answer", before=text, reason=note)
        for text in state.texts
        if text not in wanted
    ]
    return steps


def _same(text: str, state: State) -> str | None:
    """Find the answer that a new wording differs from in case, articles and punctuation alone."""
    key = answer_tokens(text)
    return next((known for known in state.texts if key and answer_tokens(known) == key), None)


def _lengthened(short: str, edited: Edited) -> str:
    """Find the answer that a short version shortens: the one that shares most of its words."""
    settings = ScreenSettings(stemming=True)
    words = set(content_words(short, settings))
    shared = {
        text: len(words & set(content_words(text, settings)))
        for text in edited.answers
        if len(text.split()) > len(short.split()) or len(text) > len(short)
    }
    if not shared or not max(shared.values()):
        raise ValueError(f"the short version {short!r} shortens none of the answers")
    return max(shared, key=lambda text: shared[text])


def _shared_run(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Find the longest run of words that both hold one after the other."""
    best: list[str] = []
    for start in range(len(first)):
        for end in range(len(first), start + len(best), -1):
            run = list(first[start:end])
            if any(list(second[at : at + len(run)]) == run for at in range(len(second))):
                best = run
                break
    return best


class Imported(NamedTuple):
    """What an import did; `problems` are the rows that were not carried out."""

    counts: dict[str, Any]
    problems: list[tuple[str, str]]


def export_review(
    work: Workspace, *, everything: bool = False, overwrite: bool = False
) -> dict[str, Any]:
    """Write the table and the Label Studio tasks of the questions that are not settled.

    Raises:
        DataError: a stage is missing, or the table of an earlier export was edited since.
    """
    work.require("review-export")
    review = read_review(work)
    rows = [
        table_row(
            state,
            review.sources[name],
            review.screened[name],
            review.filtered[name]["suggestion"],
        )
        for name, state in review.replay.states.items()
        if everything or not state.is_settled
    ]
    made = {
        "review.csv": to_csv([COLUMNS, *([row[name] for name in COLUMNS] for row in rows)]),
        **review_files(rows),
    }
    counts = {"questions": len(review.replay.states), "exported": len(rows)}
    files = {f"{ws.REVIEW}/{name}": text for name, text in made.items()}
    fingerprint = work.fingerprint("review-export", {})
    work.commit("review-export", fingerprint, counts, files, overwrite=overwrite)
    return counts


def import_review(
    work: Workspace, path: str, *, reviewer: str, at: str, longest: int, force: bool = False
) -> Imported:
    """Append to the log what an edited table changes; rows that cannot be carried out are told.

    Args:
        work: the conversion's folder.
        path: the edited table, or an export of Label Studio.
        reviewer: who reviewed (an export names its annotators itself).
        at: time of the import, kept in the events.
        longest: words; a question whose answers are all longer needs a short version.
        force: carry out rows although another reviewer changed the question since the export.

    Raises:
        DataError: a stage is missing, the file is no table, or nobody is named.
    """
    work.require("review-import")
    review = read_review(work)
    states, events = dict(review.replay.states), list(review.events)
    carried_out: dict[str, str] = {}  # question id -> who, in this file
    counts: Counter[str] = Counter()
    problems: list[tuple[str, str]] = []
    for edited, who in _read_rows(path, reviewer):
        name = edited.question_id
        try:
            steps = _steps(edited, who, states, review, longest=longest, force=force)
            if steps and name in carried_out:
                by = carried_out[name]
                raise ValueError(f"stands twice in the file: the row by {by} was carried out")
        except ValueError as error:
            problems.append((name, str(error)))
            continue
        if not steps:
            undecided = not edited.decision and states[name].decision is None
            counts["undecided" if undecided else "unchanged"] += 1
            if not edited.decision and is_edited(edited, states[name]):
                problems.append((name, "edited, but no decision is given"))
            continue
        if states[name] != review.replay.logged.get(name):
            steps = [Step("see", after=write_state(states[name])), *steps]
        events += chain(events, name, steps, reviewer=who, at=at)
        for step in steps:
            states[name] = apply_step(states[name], step)
        carried_out[name] = who
        counts["changed"] += 1
        counts.update(step.op for step in steps if step.op != "see")
    summary = {"events": len(events), **dict(sorted(counts.items())), "problems": len(problems)}
    log = {ws.EVENTS: lines(event._asdict() for event in events)}
    work.commit("review-import", work.fingerprint("review-import", {}), summary, log)
    return Imported(summary, problems)


def _steps(
    edited: Edited,
    reviewer: str,
    states: dict[str, State],
    review: Reviewed,
    *,
    longest: int,
    force: bool,
) -> list[Step]:
    """Compare a row with the question's state, if the row was made from a state we know."""
    name = edited.question_id
    state = states.get(name)
    if state is None:
        why = review.replay.aside.get(name)
        raise ValueError(f"this question is not under review{f': it {why}' if why else ''}")
    steps = steps_of(edited, state, longest=longest)
    before = review.replay.states[name]
    if not steps or force or edited.state in (state_hash(state), state_hash(before)):
        return steps
    logged = review.replay.logged.get(name)
    if logged is not None and not steps_of(edited, logged, longest=longest):
        return []  # decided before, and answers that came since are not this row's matter
    passed = review.replay.passed.get(name, [])
    at = [place for place, (known, _) in enumerate(passed) if known == edited.state]
    others = {who for _, who in passed[at[-1] :] if who != reviewer} if at else set()
    if others:
        names = ", ".join(sorted(others))
        raise ValueError(f"changed since by {names}: export it again, or use --force")
    if not at or state_hash(before) != state_hash(logged or before):
        problem = "the table was made from other data, answers have come or changed since"
        raise ValueError(f"{problem}: export it again, or use --force")
    return steps


def _read_rows(path: str, reviewer: str) -> Iterator[tuple[Edited, str]]:
    """Read rows with who made them."""
    records = list(read_records(path))
    if not records:
        raise DataError("holds no row", file=path, remedy="Keep the rows of review.csv")
    named = "Name the reviewer with --reviewer"
    if is_export(records[0][1]):
        for annotation in read_annotations(records, path):
            who = (reviewer or annotation.person).strip()
            if not who:
                raise DataError(
                    "no name is given", file=path, record=annotation.number, remedy=named
                )
            yield row_of_annotation(annotation), who
        return
    if not reviewer.strip():
        raise DataError("no name is given", file=path, remedy=named)
    for number, record in records:
        try:
            yield row_of_table(record), reviewer.strip()
        except ValueError as error:
            remedy = "Keep the columns of review.csv"
            raise DataError(str(error), file=path, record=number, remedy=remedy) from None


def log_of(work: Workspace, question_id: str) -> list[Event]:
    """Give a question's events in order, for reading.

    Raises:
        DataError: the question is not under review, or the log does not fit the data.
    """
    review = read_review(work)
    found = [event for event in review.events if event.question_id == question_id]
    if question_id not in review.replay.states and not found:
        remedy = f"The questions under review stand in {work.path(ws.REVIEW)}"
        raise DataError("not under review", file=work.folder, record=question_id, remedy=remedy)
    return found
