"""Science questions as the input of a text-to-text model, and its output as an answer. Pure.

Four formats. `arcda` is the paper's (`$question$ = Q ; $context$ = K1 ... K10`), `macaw` the slots
of Tafjord and Clark (2021), `unifiedqa` that of Khashabi et al. (2020) with its preprocessing, and
`plain` is for models that follow instructions. A checkpoint understands only the format that it was
trained with, so the format is kept with the model. Gold answers never enter an input.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from twowiki.errors import DataError

_PRESETS = ("arcda", "macaw", "unifiedqa", "plain")
MC_TARGETS = ("text", "label", "label_text")
ORDERS = ("best_first", "best_last")
SEPARATOR = "\\n"  # UnifiedQA's: a backslash and an n, not a line end
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SPACES = re.compile(r"\s+")
_SLOT = re.compile(r"\$\s*(\w+)\s*\$\s*=?")
_QUOTED = re.compile(r"'(.*)'")
_LEADING_LABEL = re.compile(r"\(?([A-Za-z0-9])(?:\)|[.:])\s+(?=\S)")
_ASKS = {
    False: "Answer the science question with a short answer, not a sentence.",
    True: "Answer the science question with the right option.",
}


class Format(NamedTuple):
    """The format of a model's inputs and outputs.

    Attributes:
        preset: arcda, macaw, unifiedqa or plain.
        mc_target: the target on multiple choice: the option's text, its label, or both.
        order: whether the best sentence of the context comes first or last.
    """

    preset: str = "arcda"
    mc_target: str = "text"
    order: str = "best_first"

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Format:
        """Return the format that a trained model's record names.

        Raises:
            DataError: a value is unknown.
        """
        return cls(*(record[name] for name in cls._fields)).checked()

    def checked(self) -> Format:
        """Return the format if its values are known.

        Raises:
            DataError: one of them is not.
        """
        for name, known in (("preset", _PRESETS), ("mc_target", MC_TARGETS), ("order", ORDERS)):
            value = getattr(self, name)
            if value not in known:
                remedy = f"Use one of {', '.join(known)}"
                raise DataError(f"is {value!r}, which is unknown", field=name, remedy=remedy)
        return self


class FittedSource(NamedTuple):
    """A model's input: the text, its number of context sentences, and whether it is too long."""

    text: str
    sentences: int
    too_long: bool


def render_source(
    question: str,
    form: Format,
    *,
    options: Sequence[str] = (),
    context: Sequence[str] = (),
) -> str:
    """Return a question as a model's input.

    Args:
        question: as it stands in the data.
        form: the format.
        options: of a multiple-choice question, in order; they are named by letters from A on,
            whatever labels the data has.
        context: retrieved sentences, the best one first; without any it is the form "no IR".
    """
    stem = one_line(question)
    sentences = [text for text in map(one_line, context) if text]
    if form.order == "best_last":
        sentences.reverse()
    facts = " ".join(sentences)
    if form.preset == "unifiedqa":
        return _unifiedqa(stem, options, facts)
    if form.preset == "plain":
        return _plain(stem, options, facts)
    choices = " ".join(f"({label}) {one_line(text)}" for label, text in _labelled(options))
    slots = [("question", stem), ("mcoptions", choices), ("context", facts)]
    if form.preset == "macaw":
        slots = [("mcoptions", choices), ("question", stem), ("context", facts)]
    written = [f"${name}$ = {text}" for name, text in slots if text or name == "question"]
    return " ; ".join(["$answer$", *written] if form.preset == "macaw" else written)


def render_target(answer: str, form: Format, *, position: int | None = None) -> str:
    """Return the target of an answer.

    Args:
        answer: a gold answer, or the right option's text.
        form: the format.
        position: the right option's position, from 0, for multiple choice.
    """
    text = one_line(answer)
    if position is not None and form.mc_target != "text":
        label = letter(position)
        text = f"({label}) {text}" if form.mc_target == "label_text" else label
    if form.preset == "macaw":
        return f"$answer$ = {text}"
    return unifiedqa_normalize(text) if form.preset == "unifiedqa" else text


def parse_answer(output: str, form: Format) -> str:
    """Return the answer in a model's output; an empty text for an empty output."""
    text = one_line(output)
    if form.preset == "macaw" or _SLOT.match(text):
        return parse_slots(text).get("answer", "")
    if form.preset == "plain":
        return re.sub(r"^(?:the )?answer\s*:\s*", "", text, flags=re.IGNORECASE)
    return text


def parse_option(output: str, form: Format) -> str:
    """Return a model's choice on multiple choice: the option's text, or its letter."""
    text = parse_answer(output, form)
    if form.mc_target != "label_text":
        return text
    match = _LEADING_LABEL.match(text)
    return match[1].upper() if match else text


def parse_slots(text: str) -> dict[str, str]:
    """Parse `$name$ = value ; $name$ = value`; names in lower case, the first of a name counts.

    A text without any slot is the answer itself, as a model may leave its slot out.
    """
    marks = list(_SLOT.finditer(text))
    if not marks:
        return {"answer": text.strip()}
    found: dict[str, str] = {}
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    for mark, end in zip(marks, ends, strict=True):
        value = text[mark.end() : end].strip()
        last = end == len(text)
        found.setdefault(mark[1].lower(), value if last else value.removesuffix(";").strip())
    return found


def fit_question(
    question: str,
    form: Format,
    *,
    options: Sequence[str] = (),
    context: Sequence[str] = (),
    budget: int,
    measure: Callable[[str], int],
) -> FittedSource:
    """Return a question with as many of its context sentences as fit, the best ones.

    Whole sentences are dropped, the lowest-ranked first; question and options are never cut.

    Args:
        question: as it stands in the data.
        form: the format.
        options: of a multiple-choice question.
        context: sentences, the best one first.
        budget: most tokens.
        measure: returns the tokens of an input, special ones included.
    """
    facts = [sentence for sentence in context if one_line(sentence)]

    def render(count: int) -> str:
        return render_source(question, form, options=options, context=facts[:count])

    kept = largest_fit(len(facts), lambda count: measure(render(count)) <= budget)
    text = render(kept)
    return FittedSource(text, kept, kept == 0 and measure(text) > budget)


def largest_fit(most: int, fits: Callable[[int], bool]) -> int:
    """Return the largest count up to `most` that fits, by bisection; 0 where none does."""
    low, high = (most, most) if fits(most) else (0, max(0, most - 1))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def unifiedqa_normalize(text: str) -> str:
    """Apply UnifiedQA's preprocessing: lower case, and two quotation marks fewer.

    Its pattern is greedy, so the first and the last single quote of the whole text go, even where
    they are the apostrophes of two words.
    """
    return _QUOTED.sub(r"\1", one_line(text).lower())


def one_line(text: str) -> str:
    """Replace line ends, tabs and runs of spaces, which T5's tokenizer drops, by single spaces."""
    return _SPACES.sub(" ", text).strip()


def letter(position: int) -> str:
    """Return the letter of an option by its position.

    Raises:
        DataError: there is no letter for it.
    """
    if not 0 <= position < len(_LETTERS):
        raise DataError(f"option number {position + 1} has no letter", field="choices")
    return _LETTERS[position]


def _labelled(options: Sequence[str]) -> list[tuple[str, str]]:
    return [(letter(position), text) for position, text in enumerate(options)]


def _unifiedqa(question: str, options: Sequence[str], facts: str) -> str:
    choices = " ".join(f"({label.lower()}) {one_line(text)}" for label, text in _labelled(options))
    parts = [part for part in (choices, facts) if part]
    return unifiedqa_normalize(f" {SEPARATOR} ".join([question, *parts]) + (
        "" if parts else f" {SEPARATOR}"
    ))  # fmt: skip


def _plain(question: str, options: Sequence[str], facts: str) -> str:
    lines = [_ASKS[bool(options)], ""]
    lines += [f"Facts that may help: {facts}", ""] if facts else []
    lines += [f"Question: {question}"]
    lines += [f"({label}) {one_line(text)}" for label, text in _labelled(options)]
    return "\n".join([*lines, "Answer:"])
