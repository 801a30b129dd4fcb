"""The reviewer's table: one row per question, edited in any spreadsheet or in Label Studio.

In: states. Out: rows and tasks; and back: an edited row leads to a new state. A row without a
decision changes nothing. The answers are in one cell, `heat | warm weather`; remove one from it or
write one more into it, and put short versions of long answers into `short`. It refuses rows that
cannot be carried out, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from twowiki.arc_da.conversion.crowd import conversion_template
from twowiki.arc_da.conversion.filter import SourceQuestion
from twowiki.arc_da.conversion.review import REJECTIONS, ReviewAnswer, ReviewState
from twowiki.arc_da.conversion.screening import (
    ScreenedQuestion,
    ScreenSettings,
    content_words,
)
from twowiki.arc_da.metric.folding import answer_key
from twowiki.human.task_files import (
    TaskResult,
    free_cell,
    label_studio_files,
    prefilled_texts,
    to_csv,
)

LONG = 5  # words; a question whose answers are all longer needs a short version
WEAK_ENDS = frozenset(  # words that end no short answer
    (
        *("than", "can", "from", "both", "over", "up", "out", "down", "so", "more", "less", "very"),
        *("because", "its", "his", "her", "our", "who", "which", "when", "where", "while", "made"),
        *("have", "has", "had", "were", "been", "being", "other", "same", "all", "each", "through"),
    )
)
REVIEW_COLUMNS = (
    *("question_id", "split", "original_question", "options", "workers", "origins"),
    *("proposed_question", "proposed_short", "question", "answers", "short"),
    *("decision", "reason", "state"),
)
EDITABLE = ("question", "answers", "short", "decision", "reason")


class EditedRow(NamedTuple):
    """What a reviewer made of one question; `state` is the hash of what the row was made from."""

    question_id: str
    question: str
    answers: tuple[str, ...]
    short: tuple[str, ...]
    decision: str
    reason: str
    state: str


def review_row(
    state: ReviewState,
    source: SourceQuestion,
    screened: ScreenedQuestion,
    suggestion: str | None,
) -> dict[str, str]:
    """Return a question's row, in the order of `REVIEW_COLUMNS`."""
    options = [
        f"{one.label}{'*' if one.label == source.answer_key else ''} {one.text}"
        for one in source.choices
    ]
    ticked = ", ".join(f"{name} {count}" for name, count in screened.categories.items())
    return {
        "question_id": source.question_id,
        "split": source.split,
        "original_question": " ".join(source.stem.split()),
        "options": join_cell(options),
        "workers": f"{screened.workers_answered} of {screened.workers} answered; {ticked}",
        "origins": join_cell(map(_describe_origin, state.answers)),
        "proposed_question": suggestion or "",
        "proposed_short": join_cell(propose_short(state.texts)),
        "question": state.question,
        "answers": join_cell(state.texts),
        "short": "",
        "decision": state.decision or "",
        "reason": state.reason or "",
        "state": state.hash,
    }


def review_files(rows: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the table, and Label Studio's tasks and project, by file name."""
    reasons = "".join(f"<li><b>{name}</b>: {text}</li>" for name, text in REJECTIONS.items())
    instructions = (
        "<p>Correct the question so that it can stand without its options, remove wrong answers, "
        "add missing ones, and give long answers a short version. Then accept it, or reject it "
        f"for a reason:</p><ul>{reasons}</ul>"
    )
    return {
        "review.csv": to_csv([REVIEW_COLUMNS, *(tuple(row.values()) for row in rows)]),
        **label_studio_files(
            [_review_task(row) for row in rows],
            conversion_template("review.xml"),
            "ARC-DA: review",
            people=1,
            instructions=instructions,
        ),
    }


def _review_task(row: Mapping[str, str]) -> dict[str, Any]:
    found = "\n".join(split_cell(row["origins"]))
    data = {
        "question_id": row["question_id"],
        "original": f"{row['original_question']}\n{row['options'].replace(' | ', chr(10))}",
        "workers": f"{row['workers']}\n{found}",
        "state": row["state"],
    }
    texts = {
        "question": ("original", [row["question"]]),
        "answers": ("original", split_cell(row["answers"])),
    }
    return {"data": data, "predictions": prefilled_texts(texts)}


def parse_review_row(record: Mapping[str, Any]) -> EditedRow:
    """Parse an edited row of the spreadsheet.

    Raises:
        ValueError: it is not a row, or a column is missing.
    """
    if not isinstance(record, Mapping):
        raise ValueError("is not a row of the table")
    missing = [name for name in ("question_id", *EDITABLE, "state") if record.get(name) is None]
    if missing:
        raise ValueError(f"the columns {', '.join(missing)} are missing")
    cells = {
        name: free_cell(str(record[name])).strip() for name in REVIEW_COLUMNS if name in record
    }
    return EditedRow(
        cells["question_id"],
        cells["question"],
        tuple(split_cell(cells["answers"])),
        tuple(split_cell(cells["short"])),
        cells["decision"].lower(),
        cells["reason"],
        cells["state"],
    )


def parse_review_task(result: TaskResult) -> EditedRow:
    """Parse a review made in Label Studio; its decision may be `reject: too_open`."""
    word, _, reason = result.first("decision").partition(":")
    texts = {
        name: tuple(dict.fromkeys(text.strip() for text in result.values.get(name, [])))
        for name in ("answers", "short")
    }
    return EditedRow(
        str(result.data.get("question_id", "")),
        " ".join(result.values.get("question", [])).strip(),
        tuple(filter(None, texts["answers"])),
        tuple(filter(None, texts["short"])),
        word.strip().lower(),
        reason.strip(),
        str(result.data.get("state", "")),
    )


def edited_state(edited: EditedRow, state: ReviewState, *, longest: int = LONG) -> ReviewState:
    """Return the state that an edited row leads to; the same state if it changes nothing.

    Raises:
        ValueError: the row cannot be carried out; the text says why.
    """
    if not edited.decision:
        return state
    if edited.decision == "reject":
        if edited.reason not in REJECTIONS:
            raise ValueError(f"a rejection needs a reason out of {', '.join(REJECTIONS)}")
        return replace(state, decision="reject", reason=edited.reason)
    if edited.decision != "accept":
        raise ValueError(f"the decision must be accept or reject, not {edited.decision!r}")
    if not edited.question:
        raise ValueError("the question is empty")
    answers = _edited_answers(edited, state)
    if not answers:
        raise ValueError("no answer is left, so it cannot be accepted")
    if all(len(answer.text.split()) > longest for answer in answers):
        raise ValueError(f"every answer has more than {longest} words: add a short version")
    return ReviewState(edited.question, answers, "accept")


def has_unused_edits(edited: EditedRow, state: ReviewState) -> bool:
    """Whether a row was changed although it has no decision."""
    same = edited.question == state.question and edited.answers == state.texts
    return not edited.decision and (not same or bool(edited.short) or bool(edited.reason))


def propose_short(texts: Sequence[str]) -> list[str]:
    """Propose short versions: the run of content words that a long answer shares with another.

    An answer is long with more than `LONG` words, or if its words include all of another's.
    """
    settings = ScreenSettings()
    words = [content_words(text, settings) for text in texts]
    known = {" ".join(entry) for entry in words}
    proposed: dict[str, None] = {}
    for number, long in enumerate(words):
        others = [other for index, other in enumerate(words) if index != number and other]
        covers = any(set(other) < set(long) for other in others)
        if len(texts[number].split()) <= LONG and not covers:
            continue
        run = max((_shared_run(long, other) for other in others), key=len, default=[])
        while run and (run[-1] in WEAK_ENDS or len(run[-1]) < 3):
            run = run[:-1]
        for candidate in (" ".join(run), *run[-1:]):
            if candidate and candidate not in known:
                proposed.setdefault(candidate)
    return list(proposed)


def join_cell(texts: Iterable[str]) -> str:
    """Join texts into one cell; a bar within a text is escaped."""
    return " | ".join(text.replace("\\", "\\\\").replace("|", "\\|") for text in texts)


def split_cell(cell: str) -> list[str]:
    """Return the texts of a cell, separated by bars or line ends; drop empty and repeated ones."""
    parts, current, escaped = [], "", False
    for letter in cell:
        if escaped:
            current, escaped = current + letter, False
        elif letter == "\\":
            escaped = True
        elif letter in "|\r\n":
            parts.append(current.strip())
            current = ""
        else:
            current += letter
    return list(dict.fromkeys(text for text in (*parts, current.strip()) if text))


def _describe_origin(answer: ReviewAnswer) -> str:
    """Return where an answer comes from: `heat (3 workers, mc_gold; also written: Heat.)`."""
    count = len(answer.workers)
    named = [f"{count} worker{'s' if count != 1 else ''}"] if count else []
    named += [origin for origin in answer.origins if origin != "worker"]
    written = f"; also written: {', '.join(answer.wordings)}" if answer.wordings else ""
    return f"{answer.text} ({', '.join(named)}{written})"


def _edited_answers(edited: EditedRow, state: ReviewState) -> tuple[ReviewAnswer, ...]:
    """Return the kept answers, confirmed, then new ones, then new short versions."""
    wanted = {*edited.answers, *edited.short}
    answers = [
        replace(answer, verified=answer.verified or answer.text in edited.answers)
        for answer in state.answers
        if answer.text in wanted
    ]
    for text in edited.answers:
        if state.find(text) is None:
            known = _same_answer(text, state)
            new = ReviewAnswer(text, ("expert",), verified=True)
            if known is not None:
                origins = tuple(dict.fromkeys((*known.origins, "expert")))
                new = replace(known, text=text, origins=origins, verified=True)
            answers.append(new)
    for text in dict.fromkeys(edited.short):
        if text not in edited.answers and state.find(text) is None:
            long = _lengthened(text, edited)
            answers.append(ReviewAnswer(text, ("expert",), short_of=long, verified=True))
    return tuple(answers)


def _same_answer(text: str, state: ReviewState) -> ReviewAnswer | None:
    """Find the answer that a text is another wording of."""
    return next((one for one in state.answers if answer_key(one.text) == answer_key(text)), None)


def _lengthened(short: str, edited: EditedRow) -> str:
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
