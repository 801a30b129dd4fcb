"""A question and its paragraphs, checked and in one form.

In: plain texts in several forms (see `parse_paragraphs`). Out: `QuestionInput`. Raises ValueError
with the beginning of what was found and what is expected; nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from .text import bare_title, split_sentences

QUESTION_CHARACTERS = 10_000  # a longer text is not a question
_EXPECTED = "Give (title, sentences) or (title, text) pairs"
# what retrievers call the text of a document, its title, and the mapping that may hold the title
_TEXTS = ("sentences", "text", "content", "page_content")
_TITLES, _METADATA = ("title", "name"), ("metadata", "meta")
_Context = tuple[tuple[str, tuple[str, ...]], ...]


class QuestionInput(NamedTuple):
    """A question about paragraphs, without gold."""

    question: str
    context: _Context


def check_question(question: Any, paragraphs: Any) -> QuestionInput:
    """Check a question and its paragraphs, and return them in one form.

    Args:
        question: a text.
        paragraphs: see `parse_paragraphs`.

    Raises:
        ValueError: what is wrong, with the question's beginning.
    """
    if not isinstance(question, str):
        raise ValueError(f"the question is {abbreviated(question)}, not a text")
    if not question.strip():
        raise ValueError("the question is empty")
    if len(question) > QUESTION_CHARACTERS:
        raise ValueError(
            f"the question has {len(question):,} characters, more than {QUESTION_CHARACTERS:,}: "
            "pass the text that it is about as paragraphs"
        )
    try:
        context = parse_paragraphs(paragraphs)
        if not any(sentence.strip() for _, sentences in context for sentence in sentences):
            missing = "the paragraphs have no text" if context else "there are no paragraphs"
            raise ValueError(f"{missing}. {_EXPECTED}")
    except ValueError as error:
        raise ValueError(f"question {abbreviated(question)}: {error}") from error
    return QuestionInput(question, context)


def check_questions(questions: Any, paragraphs: Any) -> list[QuestionInput]:
    """Check a list of questions and the list of their paragraphs."""
    if isinstance(questions, (bytes, dict)) or not hasattr(questions, "__iter__"):
        found = abbreviated(questions)
        raise ValueError(f"the question is {found}, neither a text nor a list of texts")
    if isinstance(paragraphs, (str, dict)) or not hasattr(paragraphs, "__iter__"):
        raise ValueError("several questions need a list with the paragraphs of each")
    questions, paragraphs = list(questions), list(paragraphs)
    if len(questions) != len(paragraphs):
        raise ValueError(
            f"{len(questions)} questions, but the paragraphs of {len(paragraphs)}: "
            "each question needs its own list of paragraphs"
        )
    return [check_question(*pair) for pair in zip(questions, paragraphs, strict=True)]


def parse_paragraphs(paragraphs: Any) -> _Context:
    """Return paragraphs as titles with sentences; a text is cut into sentences.

    Args:
        paragraphs: (title, sentences) or (title, text) pairs; rows of the data set's `context`;
            a dict from titles to either; one text, or a list of texts, without titles; or
            documents of a retriever, dicts or objects with `text`, `content` or `page_content`,
            whose title, if they have one, is theirs or in their `metadata` or `meta`.

    Raises:
        ValueError: which paragraph is something else.
    """
    return tuple(_paragraph(*numbered) for numbered in enumerate(_listed(paragraphs)))


def _listed(paragraphs: Any) -> Iterator[Any]:
    if isinstance(paragraphs, str) and paragraphs.strip():
        paragraphs = [paragraphs]
    if isinstance(paragraphs, (str, bytes)) or not isinstance(paragraphs, Iterable):
        raise ValueError(f"the paragraphs are {abbreviated(paragraphs)}. {_EXPECTED}")
    if not isinstance(paragraphs, Mapping):
        return iter(paragraphs)
    if isinstance(paragraphs.get("page_content"), str) or isinstance(paragraphs.get("text"), str):
        return iter([paragraphs])  # a single document
    titles, sentences = paragraphs.get("title"), paragraphs.get("sentences")
    if len(paragraphs) == 2 and isinstance(titles, list) and isinstance(sentences, list):
        return iter(list(zip(titles, sentences, strict=True)))
    return iter(paragraphs.items())


def _paragraph(number: int, paragraph: Any) -> tuple[str, tuple[str, ...]]:
    title, content = _title_and_content(number, paragraph)
    if not isinstance(title, str):
        raise ValueError(f"paragraph {number}: the title is {abbreviated(title)}, not a text")
    if isinstance(content, str):
        return title, tuple(split_sentences(content, [title, bare_title(title)]))
    if isinstance(content, (bytes, Mapping)) or not isinstance(content, Iterable):
        found = abbreviated(content)
        raise ValueError(f"paragraph {number}: {found} is neither a text nor a list of sentences")
    sentences = tuple(content)
    for sentence in sentences:
        if not isinstance(sentence, str):
            found = abbreviated(sentence)
            raise ValueError(f"paragraph {number}: the sentence {found} is not a text")
    return title, sentences


def _title_and_content(number: int, paragraph: Any) -> tuple[Any, Any]:
    if isinstance(paragraph, str):
        return "", paragraph
    document = _document(paragraph)
    if document is not None:
        return document
    if not isinstance(paragraph, (bytes, Mapping)):
        try:
            title, content = paragraph
            return title, content
        except (TypeError, ValueError):
            pass
    found = abbreviated(paragraph)
    raise ValueError(
        f"paragraph {number} is {found}, not a (title, sentences) or (title, text) pair"
    )


def _document(value: Any) -> tuple[Any, Any] | None:
    """Return title and content of a retriever's document; None for anything else."""
    value = getattr(value, "node", value)  # a result with its score around it

    def field(names: Iterable[str], source: Any) -> Any:
        read = source.get if isinstance(source, Mapping) else partial(getattr, source)
        return next((one for name in names if (one := read(name, None)) is not None), None)

    if isinstance(value, (str, bytes, tuple, list)) or (content := field(_TEXTS, value)) is None:
        return None
    title = field(_TITLES, value)
    if title is None:
        title = field(_TITLES, field(_METADATA, value) or {})
    return ("" if title is None else title), content


def abbreviated(value: Any) -> str:
    """Return a value as it stands in an error, at most a line of it."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
