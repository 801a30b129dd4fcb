"""Questions as the text that a text-to-text model reads, and its text as an answer. Pure.

Four formats. `arcda` is the paper's (`$question$ = Q ; $context$ = K1 ... K10`), `macaw` the slots
of Tafjord and Clark (2021), `unifiedqa` that of Khashabi et al. (2020) with its preprocessing, and
`plain` is ours, for models that follow instructions. A checkpoint understands the format that it
was trained with and no other, so the format is kept with the model. Gold answers never get in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from twowiki.errors import DataError

PRESETS = ("arcda", "macaw", "unifiedqa", "plain")
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
    """How questions are written for a model.

    Attributes:
        preset: one of `PRESETS`.
        mc_target: what a model says on multiple choice: the option's text, its label, or both.
        order: whether the best sentence stands first or last in the context.
    """

    preset: str = "arcda"
    mc_target: str = "text"
    order: str = "best_first"

    def checked(self) -> Format:
        """Give the format back if its values are known.

        Raises:
            DataError: one of them is not.
        """
        for name, known in (("preset", PRESETS), ("mc_target", MC_TARGETS), ("order", ORDERS)):
            value = getattr(self, name)
            if value not in known:
                remedy = f"It is one of {', '.join(known)}"
                raise DataError(f"is {value!r}, which no format knows", field=name, remedy=remedy)
        return self


class Source(NamedTuple):
    """A model's input: the text, how many context sentences fitted, whether it is too long."""

    text: str
    fitted: int
    too_long: bool


def source_text(
    question: str,
    form: Format,
    *,
    options: Sequence[str] = (),
    context: Sequence[str] = (),
) -> str:
    """Write one question as a model's input.

    Args:
        question: as it stands in the data.
        form: the format.
        options: of a multiple-choice question, in order; they are named by letters from A on,
            whatever labels the data has.
        context: retrieved sentences, the best one first; without any it is the form "no IR".
    """
    asked = flat(question)
    sentences = [text for text in map(flat, context) if text]
    if form.order == "best_last":
        sentences.reverse()
    told = " ".join(sentences)
    if form.preset == "unifiedqa":
        return _unifiedqa(asked, options, told)
    if form.preset == "plain":
        return _plain(asked, options, told)
    choices = " ".join(f"({label}) {flat(text)}" for label, text in _labelled(options))
    slots = [("question", asked), ("mcoptions", choices), ("context", told)]
    if form.preset == "macaw":
        slots = [("mcoptions", choices), ("question", asked), ("context", told)]
    written = [f"${name}$ = {text}" for name, text in slots if text or name == "question"]
    return " ; ".join(["$answer$", *written] if form.preset == "macaw" else written)


def target_text(answer: str, form: Format, *, position: int | None = None) -> str:
    """Write what the model is to say.

    Args:
        answer: a gold answer, or the right option's text.
        form: the format.
        position: the right option's position, from 0, for multiple choice.
    """
    text = flat(answer)
    if position is not None and form.mc_target != "text":
        label = letter(position)
        text = f"({label}) {text}" if form.mc_target == "label_text" else label
    if form.preset == "macaw":
        return f"$answer$ = {text}"
    return unifiedqa_normalize(text) if form.preset == "unifiedqa" else text


def parse_output(output: str, form: Format) -> str:
    """Read the answer out of what a model said; one that said nothing gives an empty text."""
    text = flat(output)
    if form.preset == "macaw" or _SLOT.match(text):
        return slots_of(text).get("answer", "")
    if form.preset == "plain":
        return re.sub(r"^(?:the )?answer\s*:\s*", "", text, flags=re.IGNORECASE)
    return text


def parse_option(output: str, form: Format) -> str:
    """Read what a model said on multiple choice: the option's text, or its letter."""
    text = parse_output(output, form)
    if form.mc_target != "label_text":
        return text
    match = _LEADING_LABEL.match(text)
    return match[1].upper() if match else text


def slots_of(text: str) -> dict[str, str]:
    """Read `$name$ = value ; $name$ = value`; names in lower case, the first of a name counts.

    A text without any slot is the answer itself, for a model may leave its slot out.
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


def fit_source(
    question: str,
    form: Format,
    *,
    options: Sequence[str] = (),
    context: Sequence[str] = (),
    budget: int,
    measure: Callable[[str], int],
) -> Source:
    """Write a question with as many of its context sentences as fit, the best ones.

    Whole sentences are dropped, the lowest-ranked one first; question and options are never cut.

    Args:
        question: as it stands in the data.
        form: the format.
        options: of a multiple-choice question.
        context: sentences, the best one first.
        budget: what `measure` may give at most.
        measure: the length of an input, in tokens, special ones included.
    """
    told = [sentence for sentence in context if flat(sentence)]
    low, high = 0, len(told)  # the most sentences that fit, by halving
    while low < high:
        middle = (low + high + 1) // 2
        if measure(source_text(question, form, options=options, context=told[:middle])) <= budget:
            low = middle
        else:
            high = middle - 1
    text = source_text(question, form, options=options, context=told[:low])
    return Source(text, low, low == 0 and measure(text) > budget)


def unifiedqa_normalize(text: str) -> str:
    """Do what UnifiedQA's preprocessing does: lower case, and two quotation marks fewer.

    Its pattern is greedy, so the first and the last single quote of the whole text go, even where
    they are the apostrophes of two words.
    """
    return _QUOTED.sub(r"\1", flat(text).lower())


def flat(text: str) -> str:
    """Put single spaces for line ends, tabs and runs of spaces, which T5's tokenizer would drop."""
    return _SPACES.sub(" ", text).strip()


def letter(position: int) -> str:
    """Name an option by its position.

    Raises:
        DataError: there are not so many letters.
    """
    if not 0 <= position < len(_LETTERS):
        raise DataError(f"option number {position + 1} has no letter", field="choices")
    return _LETTERS[position]


def _labelled(options: Sequence[str]) -> list[tuple[str, str]]:
    return [(letter(position), text) for position, text in enumerate(options)]


def _unifiedqa(question: str, options: Sequence[str], told: str) -> str:
    choices = " ".join(f"({label.lower()}) {flat(text)}" for label, text in _labelled(options))
    parts = [part for part in (choices, told) if part]
    return unifiedqa_normalize(f" {SEPARATOR} ".join([question, *parts]) + (
        "" if parts else f" {SEPARATOR}"
    ))  # fmt: skip


def _plain(question: str, options: Sequence[str], told: str) -> str:
    lines = [_ASKS[bool(options)], ""]
    lines += [f"Facts that may help: {told}", ""] if told else []
    lines += [f"Question: {question}"]
    lines += [f"({label}) {flat(text)}" for label, text in _labelled(options)]
    return "\n".join([*lines, "Answer:"])
