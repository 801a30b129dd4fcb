"""Science questions for a language model that was not trained on them, and its answers. Pure.

Zero-shot: an instruction and the question. Few-shot: solved questions first, drawn from the
training split. The reader takes the short answer out of what a chatty model says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from twowiki.arc_da.schema import Question
from twowiki.errors import DataError
from twowiki.text2text.arc_da_format import flat

INSTRUCTION = (
    "Answer each science question with the answer alone: a few words, no full sentence, no "
    "explanation."
)
_THINKING = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
_PREFIX = re.compile(
    r"^(?:[-*\u2022]\s+|(?:the |my |final |short )*answer(?: is)?\s*[:\-]?\s+"
    r"|(?:the |my |final |short )*answer\s*[:\-]\s*)",
    re.IGNORECASE,
)
_MARKS = "*_`\"' \u201c\u201d"


class Asked(NamedTuple):
    """A question with the sentences found for it, and for a solved one its answer."""

    question: str
    context: tuple[str, ...] = ()
    answer: str = ""


def messages_for(asked: Asked, shots: Sequence[Asked] = ()) -> list[dict[str, str]]:
    """Write a chat: the instruction, solved questions, the question."""
    chat = [{"role": "system", "content": INSTRUCTION}]
    for shot in shots:
        chat.append({"role": "user", "content": _turn(shot)})
        chat.append({"role": "assistant", "content": flat(shot.answer)})
    return [*chat, {"role": "user", "content": _turn(asked)}]


def prompt_for(asked: Asked, shots: Sequence[Asked] = ()) -> str:
    """Write the same as one text that the answer follows, for models without a chat form."""
    solved = [f"{_turn(shot)}\nAnswer: {flat(shot.answer)}" for shot in shots]
    return "\n\n".join([INSTRUCTION, *solved, f"{_turn(asked)}\nAnswer:"])


def read_answer(output: str) -> str:
    """Take the short answer out of a model's text: its first line, without what leads up to it."""
    said = _THINKING.sub(" ", output)
    line = next((one for one in map(flat, said.splitlines()) if one.strip(_MARKS)), "")
    line = line.partition(" Question:")[0].strip(_MARKS)
    line = _PREFIX.sub("", line, count=1).strip(_MARKS)
    return line[:-1].rstrip() if line.endswith(".") and not line.endswith("..") else line


def draw_shots(questions: Sequence[Question], count: int, seed: int) -> list[Question]:
    """Draw questions to show solved, the same ones for every question that is asked.

    Raises:
        DataError: there are not so many with a gold answer.
    """
    known = [question for question in questions if question.has_gold]
    if count > len(known):
        raise DataError(f"{count} demonstrations wanted, {len(known)} questions with gold at hand")
    return Random(f"{seed}:shots").sample(known, count)


def shown_answer(question: Question) -> str:
    """Give the gold answer that a demonstration shows: the shortest, the first of equals."""
    return min(question.answers, key=lambda answer: len(answer.split()))


def _turn(asked: Asked) -> str:
    facts = f"Facts: {' '.join(map(flat, asked.context))}\n" if asked.context else ""
    return f"{facts}Question: {flat(asked.question)}"
