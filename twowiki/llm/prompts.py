"""Questions as prompts for a language model that was not trained on them. Pure.

In: examples of 2WikiMultiHopQA, or science questions of ARC-DA. Out: prompts, as chat messages or
as one text. Those of 2WikiMultiHopQA come in four forms and ask for the JSON that `parsing`
reads: answer, supporting sentences, triples; the question's id is never shown, for it reveals the
type. Science questions ask for the answer alone. Demonstrations are solved questions, shown first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from twowiki.arc_da.schema import Question
from twowiki.data.relations import RELATIONS
from twowiki.data.schema import Example, Paragraph, gold_paragraphs
from twowiki.errors import DataError

Messages = list[dict[str, str]]

CLOSED_BOOK, GOLD_CONTEXT, FULL_CONTEXT = "closed-book", "gold-context", "full-context"
RETRIEVED = "retrieved"  # the context is what a retriever found
PROMPT_FORMS = (CLOSED_BOOK, GOLD_CONTEXT, FULL_CONTEXT, RETRIEVED)
_NUMBERED = "Each sentence stands after its number within its paragraph, from 0."
_IN_CONTEXT = (
    "Answer the question from the paragraphs below. It takes facts from two or more of them to "
    f"answer it. {_NUMBERED}"
)
_TASK = {
    CLOSED_BOOK: "Answer the question from what you know. It takes two or more facts about "
    "different things to answer it.",
    GOLD_CONTEXT: _IN_CONTEXT,
    FULL_CONTEXT: _IN_CONTEXT,
    RETRIEVED: "Answer the question from the paragraphs below. They were retrieved for it: it "
    "takes facts from two or more of them to answer it, and one that is needed may be missing. "
    f"{_NUMBERED}",
}
_SHAPE = {
    "answer": "the answer alone: a name, a date, yes or no",
    "supporting_facts": [["title of the paragraph", 0]],
    "evidences": [["subject", "relation", "object"]],
}
_FACTS = "supporting_facts lists the sentences that are needed, each as [title, sentence number]. "
_TRIPLES = (
    "evidences lists the facts that lead to the answer, in order, each as [subject, relation, "
    "object]; the relation is one of: {}."
)


def instructions(form: str) -> str:
    """Return the task and the format of the reply.

    Args:
        form: closed-book (no paragraphs, and no supporting sentences in the reply), gold-context
            (the paragraphs that are needed), full-context (all paragraphs) or retrieved (the
            context is what a retriever found).
    """
    if form not in PROMPT_FORMS:
        raise DataError(f"unknown form {form!r}", remedy=f"It is one of {', '.join(PROMPT_FORMS)}")
    with_context = form != CLOSED_BOOK
    shape = {
        name: value for name, value in _SHAPE.items() if with_context or name != "supporting_facts"
    }
    relations = ", ".join(RELATIONS.values())
    return (
        f"{_TASK[form]}\n\nReply with one JSON object and nothing else:\n"
        f"{json.dumps(shape)}\n\n{_FACTS if with_context else ''}{_TRIPLES.format(relations)}"
    )


def question_text(example: Example, form: str) -> str:
    """Return a question with the paragraphs of its form."""
    blocks = [_paragraph_text(paragraph) for paragraph in _paragraphs(example, form)]
    return "\n\n".join([*blocks, f"Question: {example.question.strip()}"])


def _paragraphs(example: Example, form: str) -> Sequence[Paragraph]:
    if form == CLOSED_BOOK:
        return ()
    if form in (FULL_CONTEXT, RETRIEVED):
        return example.context
    if not (example.supporting_facts or example.supporting_paragraphs):
        raise DataError(
            "gold-context needs the supporting facts, and this record has none",
            record=example.id,
            field="supporting_facts",
            remedy="Test splits hide them: use full-context or closed-book",
        )
    return gold_paragraphs(example)[0]


def _paragraph_text(paragraph: Paragraph) -> str:
    lines = [f"[{number}] {text.strip()}" for number, text in enumerate(paragraph.sentences)]
    return "\n".join([f"Title: {paragraph.title}", *lines])


def gold_reply(example: Example, form: str) -> str:
    """Return the gold as the reply that the prompt asks for (for demonstrations)."""
    reply: dict[str, Any] = {"answer": example.answer}
    if form != CLOSED_BOOK and example.supporting_facts is not None:
        reply["supporting_facts"] = [list(fact) for fact in example.supporting_facts]
    if example.evidences is not None:
        reply["evidences"] = [list(triple) for triple in example.evidences]
    return json.dumps(reply, ensure_ascii=False)


def messages_for(example: Example, form: str, shots: Sequence[Example] = ()) -> Messages:
    """Return a chat: the instructions, demonstrations, and the question.

    Args:
        example: the question.
        form: one of `PROMPT_FORMS`.
        shots: examples whose gold is shown first.
    """
    solved = [(question_text(shot, form), gold_reply(shot, form)) for shot in shots]
    return _chat(instructions(form), solved, question_text(example, form))


def prompt_for(example: Example, form: str, shots: Sequence[Example] = ()) -> str:
    """Return the same as one text that the reply follows, for models without a chat form."""
    solved = [f"{question_text(shot, form)}\nReply: {gold_reply(shot, form)}" for shot in shots]
    blocks = [instructions(form), *solved, f"{question_text(example, form)}\nReply:"]
    return "\n\n---\n\n".join(blocks)


def _chat(task: str, solved: Iterable[tuple[str, str]], question: str) -> Messages:
    chat = [{"role": "system", "content": task}]
    for text, reply in solved:
        chat.append({"role": "user", "content": text})
        chat.append({"role": "assistant", "content": reply})
    return [*chat, {"role": "user", "content": question}]


SCIENCE_INSTRUCTION = (
    "Answer each science question with the answer alone: a few words, no full sentence, no "
    "explanation."
)


class ScienceQuestion(NamedTuple):
    """A question with the sentences retrieved for it, and its answer if it is a demonstration."""

    question: str
    context: tuple[str, ...] = ()
    answer: str = ""

    @property
    def text(self) -> str:
        """The question as a prompt shows it, after its sentences."""
        facts = f"Facts: {' '.join(map(_flat, self.context))}\n" if self.context else ""
        return f"{facts}Question: {_flat(self.question)}"


def science_messages(question: ScienceQuestion, shots: Sequence[ScienceQuestion] = ()) -> Messages:
    """Return a chat: the instruction, demonstrations, and the question."""
    solved = [(shot.text, _flat(shot.answer)) for shot in shots]
    return _chat(SCIENCE_INSTRUCTION, solved, question.text)


def science_prompt(question: ScienceQuestion, shots: Sequence[ScienceQuestion] = ()) -> str:
    """Return the same as one text that the answer follows, for models without a chat form."""
    solved = [f"{shot.text}\nAnswer: {_flat(shot.answer)}" for shot in shots]
    return "\n\n".join([SCIENCE_INSTRUCTION, *solved, f"{question.text}\nAnswer:"])


def shortest_answer(question: Question) -> str:
    """Return the gold answer that a demonstration shows: the shortest, the first of equals."""
    return min(question.answers, key=lambda answer: len(answer.split()))


def _flat(text: str) -> str:
    return " ".join(text.split())
