"""Questions as prompts for a language model, in three forms, and the format that answers take.

In: examples. Out: prompts (one text, or chat messages) that ask for the JSON which `llm_text`
reads: answer, supporting sentences, triples. The question's id is never shown: it leaks the type.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Any

from twowiki.data.relations import RELATIONS
from twowiki.data.schema import Example, Paragraph, gold_paragraphs
from twowiki.errors import DataError

CLOSED_BOOK, GOLD_CONTEXT, FULL_CONTEXT = "closed-book", "gold-context", "full-context"
FORMS = (CLOSED_BOOK, GOLD_CONTEXT, FULL_CONTEXT)
_TASK = {
    False: "Answer the question from what you know. It takes two or more facts about different "
    "things to answer it.",
    True: "Answer the question from the paragraphs below. It takes facts from two or more of them "
    "to answer it. Each sentence stands after its number within its paragraph, from 0.",
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
    """Give the task and the format of the answer.

    Args:
        form: closed-book (no paragraphs, so no supporting sentences are asked for), gold-context
            (the paragraphs that are needed) or full-context (all paragraphs).
    """
    if form not in FORMS:
        raise DataError(f"unknown form {form!r}", remedy=f"It is one of {', '.join(FORMS)}")
    with_context = form != CLOSED_BOOK
    shape = {
        name: value for name, value in _SHAPE.items() if with_context or name != "supporting_facts"
    }
    relations = ", ".join(RELATIONS.values())
    return (
        f"{_TASK[with_context]}\n\nReply with one JSON object and nothing else:\n"
        f"{json.dumps(shape)}\n\n{_FACTS if with_context else ''}{_TRIPLES.format(relations)}"
    )


def question_text(example: Example, form: str) -> str:
    """Give one question with the paragraphs of its form."""
    blocks = [_paragraph(paragraph) for paragraph in _paragraphs(example, form)]
    return "\n\n".join([*blocks, f"Question: {example.question.strip()}"])


def _paragraphs(example: Example, form: str) -> Sequence[Paragraph]:
    if form == CLOSED_BOOK:
        return ()
    if form == FULL_CONTEXT:
        return example.context
    if not example.supporting_facts:
        raise DataError(
            "gold-context needs the supporting facts, and this record has none",
            record=example.id,
            field="supporting_facts",
            remedy="Test splits hide them: use full-context or closed-book",
        )
    return gold_paragraphs(example)[0]


def _paragraph(paragraph: Paragraph) -> str:
    lines = [f"[{number}] {text.strip()}" for number, text in enumerate(paragraph.sentences)]
    return "\n".join([f"Title: {paragraph.title}", *lines])


def reply_of(example: Example, form: str) -> str:
    """Give the gold as the reply that the prompt asks for (for demonstrations)."""
    reply: dict[str, Any] = {"answer": example.answer}
    if form != CLOSED_BOOK:
        reply["supporting_facts"] = [list(fact) for fact in example.supporting_facts]
    reply["evidences"] = [list(triple) for triple in example.evidences]
    return json.dumps(reply, ensure_ascii=False)


def messages_for(
    example: Example, form: str, shots: Sequence[Example] = ()
) -> list[dict[str, str]]:
    """Give a chat: the instructions, demonstrations, and the question.

    Args:
        example: the question to ask.
        form: closed-book, gold-context or full-context.
        shots: examples whose gold is shown first.
    """
    chat = [{"role": "system", "content": instructions(form)}]
    for shot in shots:
        chat.append({"role": "user", "content": question_text(shot, form)})
        chat.append({"role": "assistant", "content": reply_of(shot, form)})
    chat.append({"role": "user", "content": question_text(example, form)})
    return chat


def prompt_for(example: Example, form: str, shots: Sequence[Example] = ()) -> str:
    """Give the same as one text, for models without a chat form; the reply follows it."""
    parts = [instructions(form)]
    for shot in shots:
        parts.append(f"{question_text(shot, form)}\nReply: {reply_of(shot, form)}")
    parts.append(f"{question_text(example, form)}\nReply:")
    return "\n\n---\n\n".join(parts)


def draw_shots(examples: Sequence[Example], count: int, seed: int) -> list[Example]:
    """Draw demonstrations that have gold, as many different types as there are."""
    known = [example for example in examples if example.has_gold]
    if count > len(known):
        raise DataError(f"{count} demonstrations wanted, {len(known)} examples with gold at hand")
    rng = Random(f"{seed}:shots")
    order = rng.sample(known, len(known))
    seen: dict[str | None, int] = {}
    turns: list[tuple[int, int]] = []
    for place, example in enumerate(order):
        turns.append((seen.get(example.type, 0), place))
        seen[example.type] = seen.get(example.type, 0) + 1
    return [order[place] for _, place in sorted(turns)[:count]]
