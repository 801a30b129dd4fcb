"""ARC-DA questions and ARC's multiple-choice originals, and their way to and from raw records.

In: a raw record (a line of the release, a row of the data set, ARC's own JSON, AI2's mirror).
Out: a `Question` or a `MultipleChoice`. It refuses records whose fields have another meaning than
the releases give them, and names the record and the field. Strings are kept as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from twowiki.arc_da.layouts import as_arc_record
from twowiki.errors import DataError

DIFFICULTIES = ("easy", "challenge")
PREFIXES = {"ARCEZ_": "easy", "ARCCH_": "challenge"}
ARC_SPLITS = {"train": "train", "dev": "dev", "validation": "dev", "valid": "dev", "test": "test"}


class Choice(NamedTuple):
    """One option of the multiple-choice original; labels are ARC's own (A-E or 1-5)."""

    label: str
    text: str


class Question(NamedTuple):
    """One direct-answer question with its gold answers. Hidden gold is an empty tuple.

    `choices` and `answer_key` are the multiple-choice original's, where ARC's files were joined.
    """

    question_id: str
    tag: str | None
    question: str
    answers: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()
    answer_key: str | None = None

    @property
    def has_gold(self) -> bool:
        """Whether gold answers are known; blind test sets hide them."""
        return bool(self.answers)

    @property
    def difficulty(self) -> str | None:
        """`easy` or `challenge`: by the id's prefix, else by the tag, else unknown."""
        for prefix, difficulty in PREFIXES.items():
            if self.question_id.startswith(prefix):
                return difficulty
        first = re.split(r"[-_ ]", (self.tag or "").lower())
        return next((part for part in first if part in DIFFICULTIES), None)

    @property
    def source_split(self) -> str | None:
        """ARC's own split (`train`, `dev` or `test`): the last part of the tag."""
        last = re.split(r"[-_ ]", (self.tag or "").lower())[-1]
        return ARC_SPLITS.get(last)

    @property
    def arc_id(self) -> str:
        """The id in ARC: the question's id without `ARCEZ_` or `ARCCH_`."""
        for prefix in PREFIXES:
            if self.question_id.startswith(prefix):
                return self.question_id[len(prefix) :]
        return self.question_id

    @property
    def key_text(self) -> str | None:
        """The text of the right option, found by its label; `None` where it is not known."""
        return option_text(self.choices, self.answer_key)


class MultipleChoice(NamedTuple):
    """One ARC question with its options; `answer_key` is one of the labels, or `None` if hidden."""

    id: str
    stem: str
    choices: tuple[Choice, ...]
    answer_key: str | None = None
    difficulty: str | None = None
    split: str | None = None

    @property
    def key_text(self) -> str | None:
        """The text of the right option, found by its label; `None` where it is hidden."""
        return option_text(self.choices, self.answer_key)

    @property
    def question_id(self) -> str:
        """The id that ARC-DA gives this question (with the prefix of its difficulty)."""
        prefixes = {difficulty: prefix for prefix, difficulty in PREFIXES.items()}
        return prefixes.get(self.difficulty or "", "") + self.id


def option_text(choices: Iterable[Choice], label: str | None) -> str | None:
    """Return the text of the option with this label; labels are compared, never counted."""
    return next((choice.text for choice in choices if choice.label == label), None)


def parse_question(raw: Mapping[str, Any], *, number: int | None = None) -> Question:
    """Parse a question from a raw ARC-DA record or of a data set's row.

    Args:
        raw: the record; `answers` may be absent, empty or null (hidden gold).
        number: its position in the file, named in errors while the id is unknown.

    Raises:
        DataError: a field is missing or has another type than the release gives it.
    """
    record = _identity(raw, ("question_id", "id"), number)
    tag = raw.get("tag")
    if tag is not None and not isinstance(tag, str):
        raise DataError("must be text", record=record, field="tag")
    choices = parse_choices(raw.get("choices"), record)
    key = _parse_key(raw.get("answer_key"), choices, record, "answer_key")
    question = _text(raw, "question", record)
    return Question(record, tag, question, _answers(raw.get("answers"), record), choices, key)


def question_to_official(question: Question) -> dict[str, Any]:
    """Return a question as the release does: four fields, in its order."""
    return {
        "question_id": question.question_id,
        "tag": question.tag,
        "question": question.question,
        "answers": list(question.answers),
    }


def question_to_row(question: Question) -> dict[str, Any]:
    """Return a question as a row of the data set (the class label as its name)."""
    return {
        **question_to_official(question),
        "difficulty": question.difficulty,
        "source_split": question.source_split,
        "choices": [choice._asdict() for choice in question.choices],
        "answer_key": question.answer_key,
    }


def parse_multiple_choice(
    raw: Mapping[str, Any],
    *,
    number: int | None = None,
    difficulty: str | None = None,
    split: str | None = None,
) -> MultipleChoice:
    """Parse a multiple-choice question from ARC's JSON, a mirror's row, or a row of its tables.

    Layouts of other data sets are read too (`layouts.as_arc_record`). ARC's own are three:
    `question: {stem, choices: [{text, label}]}` (ARC's JSON lines); `question` with
    `choices: {text: [...], label: [...]}` (the mirrors'), also as a list of pairs; and a `question`
    text that holds its options, "... (A) ice (B) steam" (ARC's CSV, WorldTree's tables).

    Raises:
        DataError: a field is missing, a label repeats, or the key names no option.
    """
    raw = as_arc_record(raw)
    record = _identity(raw, ("id", "questionID", "QuestionID", "question_id"), number)
    for prefix, named in PREFIXES.items():
        if record.startswith(prefix):
            record, difficulty = record[len(prefix) :], difficulty or named
    inner = raw.get("question")
    if isinstance(inner, Mapping):
        stem, choices = _text(inner, "stem", record), parse_choices(inner.get("choices"), record)
    else:
        stem, choices = _text(raw, "question", record), parse_choices(raw.get("choices"), record)
        if not choices:
            stem, options = split_options(stem)
            choices = tuple(Choice(label, text) for label, text in options)
    if not choices:
        raise DataError("no answer options found", record=record, field="choices")
    names = [name for name in ("answerKey", "AnswerKey", "answer_key") if name in raw]
    field = names[0] if names else "answerKey"
    key = _parse_key(raw.get(field), choices, record, field)
    return MultipleChoice(record, stem, choices, key, difficulty, split)


def parse_choices(raw: Any, record: str) -> tuple[Choice, ...]:
    """Read options given as a list of {label, text} or as a mapping of two lists.

    Raises:
        DataError: the lists differ in length, a label repeats, or an entry is not a text.
    """
    if raw is None:
        return ()
    if isinstance(raw, Mapping):
        labels, texts = raw.get("label"), raw.get("text")
        if not isinstance(labels, list | tuple) or not isinstance(texts, list | tuple):
            problem = "must be a list of {label, text}, or two lists 'label' and 'text'"
            raise DataError(problem, record=record, field="choices")
    elif isinstance(raw, Sequence) and all(isinstance(entry, Mapping) for entry in raw):
        labels = [entry.get("label") for entry in raw]
        texts = [entry.get("text") for entry in raw]
    else:
        raise DataError("must be a list of {label, text}", record=record, field="choices")
    if len(labels) != len(texts) or len(set(map(str, labels))) != len(labels):
        raise DataError("needs one text for each different label", record=record, field="choices")
    if not all(isinstance(text, str) for text in (*labels, *texts)):
        raise DataError("labels and texts must be text", record=record, field="choices")
    return tuple(Choice(label, text) for label, text in zip(labels, texts, strict=True))


def attach_choices(question: Question, arc: Mapping[str, MultipleChoice]) -> Question:
    """Join a question with its multiple-choice original by ARC's id; unknown ids stay as they are.

    Args:
        question: the direct-answer question.
        arc: originals by ARC's id, and by the prefixed id where the difficulty is known.
    """
    original = arc.get(question.question_id) or arc.get(question.arc_id)
    if original is None:
        return question
    return question._replace(choices=original.choices, answer_key=original.answer_key)


def _parse_key(raw: Any, choices: tuple[Choice, ...], record: str, field: str) -> str | None:
    """Return the label that a key means: 2 may mean B, and B may mean 2."""
    if raw is None or str(raw).strip() == "":
        return None
    key = str(raw).strip()
    labels = [choice.label for choice in choices]
    if not labels or key in labels:
        return key
    if key.isascii() and key.isdigit() and labels[0] == "A":
        index = int(key) - 1
    elif len(key) == 1 and labels[0] == "1":
        index = ord(key.upper()) - ord("A")
    else:
        index = -1
    if not 0 <= index < len(labels):
        raise DataError(f"{key!r} is none of the labels {labels}", record=record, field=field)
    return labels[index]


def _identity(raw: Mapping[str, Any], names: Sequence[str], number: int | None) -> str:
    where = None if number is None else f"number {number}"
    if not isinstance(raw, Mapping):
        raise DataError(f"must be an object, found {type(raw).__name__}", record=where)
    for name in names:
        value = raw.get(name)
        if isinstance(value, str) and value.strip():
            return value
        if value is not None:
            raise DataError("must be a non-empty text", record=where, field=name)
    remedy = f"The record has {', '.join(map(repr, raw)) or 'no field'}; is it the right file?"
    raise DataError("is missing", record=where, field=names[0], remedy=remedy)


def _text(raw: Mapping[str, Any], field: str, record: str) -> str:
    value = raw.get(field)
    if not isinstance(value, str) or not value.strip():
        problem = "is missing" if value is None else "must be a non-empty text"
        remedy = "Is it the right file?" if isinstance(value, Mapping) else None
        raise DataError(problem, record=record, field=field, remedy=remedy)
    return value


def _answers(raw: Any, record: str) -> tuple[str, ...]:
    if raw is None:
        return ()
    if isinstance(raw, str) or not isinstance(raw, Sequence):
        raise DataError("must be a list of texts", record=record, field="answers")
    for answer in raw:
        if not isinstance(answer, str):
            problem = f"must hold texts only, found {type(answer).__name__}"
            raise DataError(problem, record=record, field="answers")
    return tuple(raw)


# A run starts at its first label and goes on without a gap. G, H, J, K is a real series of tests.
_SERIES = ("ABCDEFGH", "12345678", "GHJK", "FGHJ", "abcdefgh")
_FORMS = (r"\({}\)", r"(?<![\w(]){}\)", r"(?<![\w.]){}\.(?=\s)")


def split_options(text: str) -> tuple[str, list[tuple[str, str]]]:
    """Split a text that holds its options into the stem and (label, option) pairs.

    Labels may be written `(A)`, `A)` or `A.` in the series A-H, 1-8, G H J K, F G H J, a-h; at
    least two must follow each other from the first of the series. Of all readings the one with
    most options wins, then the one whose run starts last (a number in the stem is not a label).

    Returns:
        The stem (outer spaces removed) and the options; the whole text and no options if none.
    """
    best: list[tuple[int, int, str]] = []
    for form in _FORMS:
        for series in _SERIES:
            for run in _runs(text, series, form):
                if (len(run), run[0][0]) > (len(best), best[0][0] if best else -1):
                    best = run
    if not best:
        return text.strip(), []
    ends = [start for start, _, _ in best[1:]] + [len(text)]
    options = [
        (label, text[after:end].strip()) for (_, after, label), end in zip(best, ends, strict=True)
    ]
    return text[: best[0][0]].strip(), options


def _runs(text: str, series: str, form: str) -> Iterator[list[tuple[int, int, str]]]:
    """Find runs of at least two labels in order, as (start, end, label)."""
    found = [
        (match.start(), match.end(), label)
        for label in series
        for match in re.finditer(form.format(label), text)
    ]
    found.sort()
    for index, first in enumerate(found):
        if first[2] != series[0]:
            continue
        run = [first]
        for mark in found[index + 1 :]:
            if len(run) < len(series) and mark[2] == series[len(run)]:
                run.append(mark)
        if len(run) >= 2:
            yield run
