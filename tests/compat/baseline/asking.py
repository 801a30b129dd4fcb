"""What a question may come as: plain texts in several forms to one form, or a clear error.

Nothing is guessed: what is no question, or no paragraph, is named with what is wanted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from .sentences import split_sentences

QUESTION_CHARACTERS = 10_000  # a longer text is no question
WANTED = "Give (title, sentences) or (title, text) pairs"
Context = tuple[tuple[str, tuple[str, ...]], ...]


class Asked(NamedTuple):
    """A question about paragraphs, without gold."""

    question: str
    context: Context


def as_asked(question: Any, paragraphs: Any) -> Asked:
    """Check a question and its paragraphs, and give them in one form.

    Args:
        question: a text.
        paragraphs: see `as_context`.

    Raises:
        ValueError: what is wrong, with the question's beginning.
    """
    if not isinstance(question, str):
        raise ValueError(f"the question is {shown(question)}, not a text")
    if not question.strip():
        raise ValueError("the question is empty")
    if len(question) > QUESTION_CHARACTERS:
        raise ValueError(
            f"the question has {len(question):,} characters, more than {QUESTION_CHARACTERS:,}: "
            "give what it is asked about as paragraphs"
        )
    try:
        context = as_context(paragraphs)
        if not any(sentence.strip() for _, sentences in context for sentence in sentences):
            missing = "the paragraphs have no text" if context else "there are no paragraphs"
            raise ValueError(f"{missing}. {WANTED}")
    except ValueError as error:
        raise ValueError(f"question {shown(question)}: {error}") from error
    return Asked(question, context)


def all_asked(questions: Any, paragraphs: Any) -> list[Asked]:
    """Check a list of questions and the list of their paragraphs."""
    if isinstance(questions, (bytes, dict)) or not hasattr(questions, "__iter__"):
        raise ValueError(f"the question is {shown(questions)}, neither a text nor a list of texts")
    if isinstance(paragraphs, (str, dict)) or not hasattr(paragraphs, "__iter__"):
        raise ValueError("several questions need a list with the paragraphs of each")
    questions, paragraphs = list(questions), list(paragraphs)
    if len(questions) != len(paragraphs):
        raise ValueError(
            f"{len(questions)} questions, but the paragraphs of {len(paragraphs)}: "
            "each question needs its own list of paragraphs"
        )
    return [as_asked(one, context) for one, context in zip(questions, paragraphs, strict=True)]


def as_context(paragraphs: Any) -> Context:
    """Take paragraphs to titles with sentences; a text is cut into sentences.

    Args:
        paragraphs: (title, sentences) or (title, text) pairs; rows of the data set's `context`;
            dicts of `title` and `sentences` or `text`; or a dict from titles to either.

    Raises:
        ValueError: which paragraph is something else.
    """
    return tuple(
        _paragraph(number, paragraph) for number, paragraph in enumerate(_listed(paragraphs))
    )


def _listed(paragraphs: Any) -> Iterator[Any]:
    if isinstance(paragraphs, (str, bytes)) or not isinstance(paragraphs, Iterable):
        raise ValueError(f"the paragraphs are {shown(paragraphs)}. {WANTED}")
    if not isinstance(paragraphs, Mapping):
        return iter(paragraphs)
    titles, sentences = paragraphs.get("title"), paragraphs.get("sentences")
    if len(paragraphs) == 2 and isinstance(titles, list) and isinstance(sentences, list):
        return iter(list(zip(titles, sentences, strict=True)))
    return iter(paragraphs.items())


def _paragraph(number: int, paragraph: Any) -> tuple[str, tuple[str, ...]]:
    title, said = _parts(number, paragraph)
    if not isinstance(title, str):
        raise ValueError(f"paragraph {number}: the title is {shown(title)}, not a text")
    if isinstance(said, str):
        return title, tuple(split_sentences(said, [title, title.rpartition(" (")[0] or title]))
    if isinstance(said, (bytes, Mapping)) or not isinstance(said, Iterable):
        raise ValueError(
            f"paragraph {number}: {shown(said)} is neither a text nor a list of sentences"
        )
    sentences = tuple(said)
    for sentence in sentences:
        if not isinstance(sentence, str):
            raise ValueError(f"paragraph {number}: the sentence {shown(sentence)} is not a text")
    return title, sentences


def _parts(number: int, paragraph: Any) -> tuple[Any, Any]:
    if isinstance(paragraph, Mapping) and "title" in paragraph:
        for name in ("sentences", "text"):
            if paragraph.get(name) is not None:
                return paragraph["title"], paragraph[name]
    elif not isinstance(paragraph, (str, bytes, Mapping)):
        try:
            title, said = paragraph
            return title, said
        except (TypeError, ValueError):
            pass
    raise ValueError(
        f"paragraph {number} is {shown(paragraph)}, not a (title, sentences) or (title, text) pair"
    )


def shown(value: Any) -> str:
    """Write a value for an error, at most a line of it."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
