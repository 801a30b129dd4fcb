"""The workers' part: tasks for the questions that lack answers, and the answers read back.

In: the filter's records; what workers typed and ticked. Out: the task files of three tools, and
one record per question and worker. Nothing typed is lost: `raw` keeps it, and `replaced` what the
same worker had sent before or after it. `don't know`, `?` and the like are never answers, unless
they are an option of the question; a text and a category that contradict each other are a
conflict, kept and not counted. An answer that cannot be used is refused with a reason, and kept
too; it never replaces one that can be used.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

import msgspec

from twowiki.arc_da.conversion.filter import FilteredQuestion, SourceQuestion
from twowiki.arc_da.metric.folding import answer_key
from twowiki.arc_da.metric.scoring import answer_tokens
from twowiki.human.pseudonyms import pseudonym
from twowiki.human.task_files import (
    TaskLayout,
    label_studio_files,
    mturk_files,
    read_results,
    read_template,
    to_csv,
)
from twowiki.human.times import is_older

TASK_FORMATS = ("label-studio", "csv", "mturk")
CATEGORIES = {
    "single": "One clear answer",
    "one_concept": "One idea, several wordings",
    "several": "A few different answers (2 to 4)",
    "many": "Very many answers",
    "dont_know": "I do not know",
    "nonsense": "It makes no sense without choices",
}
MOST_ANSWERS = 5
MOST_CHARACTERS = 200
_LAYOUT = TaskLayout(
    "question_id",
    ("answers", "category"),
    ("worker_id", "worker"),
    "--worker",
    {"answers": "raw"},
)
_TOPIC = "sorry|it|this|that|either|about|for|of|how|what|why|which|where|when|if|the"
_ABOUT = rf"( (({_TOPIC})\b.*|answer))?"
_NON_ANSWER = re.compile(
    rf"i ?d ?k{_ABOUT}|d(o|u)n?no|d ?k|i dunno|n ?a|none|nil|null|nothing|unknown|not known"
    r"|no (answers?|response|comment)( (given|provided|known|found|possible|available))?"
    r"|not applicable|unanswerable|pass|skip(ped)?|who knows|beats me|question mark"
    r"|(it )?depends|(too )?(hard|difficult|impossible) to (say|tell|know)|(i )?forgot"
    r"|undetermined|good question"
    r"|(there is |theres )?(not enough|insufficient|needs? more|more) "
    r"(info|information|context|detail|details|data)( (is )?needed| given| provided)?"
    r"|(all|none|any|both) of the above|(all|none) of these|(same as |see )above"
    r"|h+m+|u+m+|u+h+|asdf\w*|je ne sais pas|no s[e\u00e9]|keine ahnung|wei\u00df nicht"
    r"|((honestly |sorry )?(i )?(really |honestly )?(have|had|ve|ve got|got) )?"
    r"(absolutely |really )?"
    rf"(no|not an?) (idea|clue|answer){_ABOUT}"
    rf"|(i )?(do not|dont|don t) have (an?|any|the) (answer|idea|clue){_ABOUT}"
    rf"|(i ?a?m )?(really |quite |just )?(not (too |really |quite )?|un)(sure|certain){_ABOUT}"
    r"|(honestly |sorry )?(i )?(honestly |really |just )?(do not|dont|don t|did not|didnt) "
    rf"(really |even |actually )?(know|understand|remember|recall|get){_ABOUT}"
    r"|(i )?(can ?not|cant|can t|could not|couldnt) (be )?"
    rf"(answer(ed)?|say|tell|know|determined?|determine){_ABOUT}"
)
_APOSTROPHES = re.compile(r"['\u2018\u2019\u02bc`\u00b4]")


class OpenQuestion(NamedTuple):
    """A question that still lacks answers, and how many."""

    question_id: str
    question: str
    wanted: int


class WorkerAnswer(NamedTuple):
    """What came back from one worker for one question, from whatever tool."""

    question_id: str
    worker: str
    text: str
    category: str
    assignment: str = ""
    seconds: float | None = None
    submitted_at: str = ""


class Submission(msgspec.Struct, frozen=True):
    """What a worker sent that another submission of the same worker stands for now."""

    raw: str
    category: str | None
    status: str
    reason: str | None
    assignment: str
    submitted_at: str


class CrowdRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One worker's checked answers to one question.

    `status` is answered, dont_know, nonsense, conflict or refused; `reason` says why an answer was
    refused or is in conflict; `flags` are remarks that change nothing; `replaced` are the worker's
    other submissions, in order of arrival.
    """

    question_id: str
    worker: str
    assignment: str = ""
    raw: str = ""
    answers: list[str]
    category: str | None
    status: str
    reason: str | None = None
    flags: list[str] = []
    seconds: float | None = None
    submitted_at: str = ""
    replaced: tuple[Submission, ...] = ()

    @property
    def is_done(self) -> bool:
        """Whether the worker is done with the question; a refused answer is still to be given."""
        return self.status != "refused"

    @property
    def submission(self) -> Submission:
        """What the worker sent, without what came of it."""
        return Submission(
            self.raw, self.category, self.status, self.reason, self.assignment, self.submitted_at
        )


def choose_open(
    questions: Iterable[FilteredQuestion], wanted: Mapping[str, int]
) -> list[OpenQuestion]:
    """Choose the kept questions that still lack answers; `wanted` says how many."""
    lacking = [(one, wanted.get(one.question_id, 0)) for one in questions if one.kept]
    return [OpenQuestion(one.question_id, one.question, n) for one, n in lacking if n > 0]


def answer_task_files(
    questions: Sequence[OpenQuestion], formats: Iterable[str], *, people: int, seed: int
) -> dict[str, str]:
    """Return the files of each format by name; the same questions and seed give the same bytes.

    Args:
        questions: the open questions.
        formats: names out of `TASK_FORMATS`.
        people: workers per question.
        seed: of the order, so that neighbors in ARC's files are not neighbors here.
    """
    shuffled = sorted(questions, key=lambda one: Random(f"{seed}:{one.question_id}").random())
    instructions = conversion_template("instructions.html")
    texts = [{"question_id": one.question_id, "question": one.question} for one in shuffled]
    made = {"instructions.html": instructions}
    for name in formats:
        if name == "label-studio":
            tasks = [
                {"data": data, "meta": {"wanted": one.wanted}}
                for data, one in zip(texts, shuffled, strict=True)
            ]
            made |= label_studio_files(
                tasks,
                conversion_template("answers.xml"),
                "ARC-DA: answers",
                people=people,
                instructions=instructions,
            )
        elif name == "csv":
            made |= _sheets(shuffled, people)
        elif name == "mturk":
            form = conversion_template("mturk_question.html")
            made |= mturk_files(texts, form=form, instructions=instructions)
        else:
            raise ValueError(f"unknown format {name!r}; available: {', '.join(TASK_FORMATS)}")
    return made


def conversion_template(name: str) -> str:
    """Read a text that is part of this package."""
    return read_template(__name__.rpartition(".")[0], name)


def _sheets(questions: Sequence[OpenQuestion], people: int) -> dict[str, str]:
    """Return a sheet for each worker: a question is in as many as it lacks answers."""
    header = ("question_id", "question", "answers", "category", "worker_id")
    sheets = {}
    for number in range(1, people + 1):
        rows = [(q.question_id, q.question, "", "", "") for q in questions if q.wanted >= number]
        if rows:
            sheets[f"answers_{number}.csv"] = to_csv([header, *rows])
    return sheets


def read_worker_answers(path: str, *, worker: str = "") -> Iterator[WorkerAnswer]:
    """Read a file's answers; a sheet's blank rows are questions left out, and give none.

    Args:
        path: a file of any sort that `read_results` knows.
        worker: who filled the file, where it does not say.

    Raises:
        DataError: the file is of no known sort, or names no worker.
    """
    for result in read_results(path, _LAYOUT, person=worker):
        yield WorkerAnswer(
            str(result.data["question_id"]),
            result.person,
            "; ".join(result.values.get("answers", [])),
            result.first("category"),
            result.assignment,
            result.seconds,
            result.submitted_at,
        )


def merge_worker_answers(
    known: Iterable[CrowdRecord],
    given: Iterable[WorkerAnswer],
    filtered: Mapping[str, FilteredQuestion],
    sources: Mapping[str, SourceQuestion],
    key: bytes,
) -> tuple[list[CrowdRecord], dict[str, Any]]:
    """Merge answers into the crowd file: one record per question and worker.

    The latest one that can be used counts; without times, the last one read. The others are kept
    in its `replaced`.

    Args:
        known: the crowd file so far.
        given: new answers.
        filtered: the filter's records by question id (the text that workers saw).
        sources: the source questions by id.
        key: secret of the workers' pseudonyms.

    Returns:
        All records by question, then in order of arrival, and counts of what came in.
    """
    merged = {(record.question_id, record.worker): record for record in known}
    counts: Counter[str] = Counter()
    for answer in given:
        question = filtered.get(answer.question_id)
        source = sources.get(answer.question_id) if question and question.kept else None
        record = check_answer(answer, source, question.question if question else "", key)
        before = merged.get((record.question_id, record.worker))
        outcome, merged[record.question_id, record.worker] = _merge_record(before, record)
        counts[outcome] += 1
    order = {question_id: number for number, question_id in enumerate(filtered)}
    records = sorted(merged.values(), key=lambda record: order.get(record.question_id, -1))
    return records, {"submissions": dict(sorted(counts.items())), **count_crowd(records)}


def _merge_record(before: CrowdRecord | None, new: CrowdRecord) -> tuple[str, CrowdRecord]:
    """Return what a submission did, and the record that counts now."""
    if before is None:
        return "new", new
    if new.submission == before.submission:
        return "same", before
    if is_older(new.submitted_at, before.submitted_at):
        outcome, kept, other = "older, left", before, new
    elif _is_usable(before) and not _is_usable(new):
        outcome, kept, other = "not usable, left", before, new
    else:
        outcome, kept, other = "replaced", new, before
    replaced = tuple(dict.fromkeys((*before.replaced, other.submission)))
    return outcome, msgspec.structs.replace(kept, replaced=replaced)


def _is_usable(record: CrowdRecord) -> bool:
    return record.status not in ("refused", "conflict")


def count_crowd(records: Sequence[CrowdRecord]) -> dict[str, Any]:
    """Count the crowd file: by status, by reason, flags, categories."""
    counted = {
        "status": Counter(record.status for record in records),
        "refused": Counter(str(r.reason) for r in records if r.status == "refused"),
        "conflicts": Counter(str(r.reason) for r in records if r.status == "conflict"),
        "flags": Counter(flag for record in records for flag in record.flags),
        "categories": Counter(record.category or "none" for record in records),
    }
    return {
        "records": len(records),
        "workers": len({record.worker for record in records}),
        **{name: dict(sorted(counts.items())) for name, counts in counted.items()},
    }


def check_answer(
    given: WorkerAnswer, source: SourceQuestion | None, question: str, key: bytes
) -> CrowdRecord:
    """Check one worker's answer.

    Args:
        given: the answer.
        source: the source question, None if it was never given to workers.
        question: the text that the worker saw.
        key: secret of the pseudonyms (the same worker keeps the same name).
    """
    category = parse_category(given.category)
    pieces = split_answers(given.text)
    answers = [piece for piece in pieces if _is_answer(piece, source)]
    status, reason = _status(pieces, answers, category, given.category)
    if not given.worker.strip():
        status, reason = "refused", "no_worker"
    if source is None:
        status, reason = "refused", "unknown_question"
    elif status == "answered" and (fault := _fault(given.text, answers, source, question)):
        status, reason = "refused", fault
    return CrowdRecord(
        question_id=given.question_id,
        worker=pseudonym(given.worker, key),
        assignment=given.assignment,
        raw=given.text,
        answers=answers if status == "answered" else [],
        category=category,
        status=status,
        reason=reason,
        flags=_flags(pieces, answers, category, source),
        seconds=given.seconds,
        submitted_at=given.submitted_at,
    )


def split_answers(text: str) -> list[str]:
    """Split at semicolons (commas belong to answers); drop empty and repeated pieces."""
    pieces: dict[str, str] = {}
    for piece in text.split(";"):
        tidy = " ".join(piece.split())
        if tidy:
            pieces.setdefault(tidy.casefold(), tidy)
    return list(pieces.values())


def parse_category(text: str) -> str | None:
    """Return the category of a code, a label, or a number from 1 to 6; None if there is none."""
    tidy = " ".join(text.split()).casefold()
    for number, (code, label) in enumerate(CATEGORIES.items(), start=1):
        if tidy in (code, label.casefold(), str(number)):
            return code
    return None


def _status(
    pieces: list[str], answers: list[str], category: str | None, ticked: str
) -> tuple[str, str | None]:
    """Compare what was typed with what was ticked."""
    if category is None and ticked.strip():
        return "refused", "unknown_category"
    if answers:
        if category in ("dont_know", "nonsense"):
            return "conflict", f"answered but ticked {category}"
        return "answered", None
    typed = {
        "nonsense" if _is_nonsense(piece) else "dont_know"
        for piece in pieces
        if any(letter.isalnum() or letter in "?\uff1f" for letter in piece)
    }
    if not typed:
        if category in ("dont_know", "nonsense"):
            return category, None
        return "refused", "no_answer"
    status = "nonsense" if "nonsense" in typed else "dont_know"
    if category in (None, status):
        return status, None
    return "conflict", f"typed {status} but ticked {category}"


def _fault(text: str, answers: list[str], source: SourceQuestion, question: str) -> str | None:
    """Name what makes an answer unusable."""
    if len(answers) > MOST_ANSWERS:
        return "too_many_answers"
    if len(text) > MOST_CHARACTERS:
        return "too_long"
    if any(answer_tokens(answer) == answer_tokens(question) for answer in answers):
        return "repeats_question"
    options = [answer_tokens(choice.text) for choice in source.choices]
    words = answer_tokens(text.replace(";", " ; "))
    if len(options) > 1 and all(_is_within(option, words) for option in options):
        return "options_pasted"
    return None


def _flags(
    pieces: list[str], answers: list[str], category: str | None, source: SourceQuestion | None
) -> list[str]:
    flags = []
    if answers and len(answers) < len(pieces):
        flags.append("non_answers_dropped")
    if category is None:
        flags.append("no_category")
    if source is not None:
        options = {answer_key(choice.text): choice.text for choice in source.choices}
        met = [options[key] for key in map(answer_key, answers) if key in options]
        if source.key_text is not None and source.key_text in met:
            flags.append("equals_right_option")
        if any(text != source.key_text for text in met):
            flags.append("equals_wrong_option")
    return flags


def _is_within(inner: tuple[str, ...], outer: tuple[str, ...]) -> bool:
    starts = range(len(outer) - len(inner) + 1)
    return bool(inner) and any(outer[start : start + len(inner)] == inner for start in starts)


def _is_answer(text: str, source: SourceQuestion | None) -> bool:
    """Whether a text may be an answer: no "don't know", or an option of the question itself."""
    if source is not None:
        key = answer_key(text)
        if any(answer_key(choice.text) == key for choice in source.choices):
            return True
    words = re.sub(r"[^\w\s]|_", " ", _APOSTROPHES.sub("", _plain(text)).casefold())
    tidy = " ".join(words.split())
    sodium = text.strip() == "Na"
    return bool(tidy) and (sodium or _NON_ANSWER.fullmatch(tidy) is None)


def _is_nonsense(text: str) -> bool:
    plain = _plain(text)
    return "?" in plain and not plain.strip("? .!")


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text)
