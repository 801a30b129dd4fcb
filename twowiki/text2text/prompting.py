"""Questions of either data set as prompts, for a model that was trained here or for any other.

A `Booklet` is what a run of predictions asks: prompts by id, and how texts become predictions.
Prompts that are too long lose demonstrations first, then the last sentences of their context.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from twowiki.arc_da.schema import Question
from twowiki.data.schema import Example, Fact, Prediction, Triple
from twowiki.llm import prompts
from twowiki.llm.parsing import parse_llm_output
from twowiki.metric.predictions import to_official_file
from twowiki.text2text import two_wiki_format as linear
from twowiki.text2text.arc_da_format import Format, fit_source, parse_output
from twowiki.text2text.chat_format import Codec

Source = str | list[dict[str, str]]


class Prompt(NamedTuple):
    """What a model is asked: text or messages, and what of the shots and context is in it."""

    id: str
    source: Source
    shots: int
    sentences: int
    too_long: bool


class Booklet(ABC):
    """The questions of a run of predictions.

    Attributes:
        style: `trained` (the model's own format) or `prompted`.
    """

    style = "prompted"

    @abstractmethod
    def prompts(self, codec: Codec, budget: int) -> list[Prompt]:
        """Write all prompts, of at most so many tokens."""

    @abstractmethod
    def predictions(self, outputs: Mapping[str, str]) -> dict[str, Any]:
        """Read the outputs into the content of the prediction file."""


class ArcDaBooklet(Booklet):
    """Science questions.

    Args:
        questions: what is asked.
        contexts: sentences by question id; none: without retrieval.
        form: the trained model's format; None prompts in plain words.
        sentences: of context, at most.
        shots: solved questions.
    """

    def __init__(
        self,
        questions: Sequence[Question],
        contexts: Mapping[str, Sequence[str]],
        form: Format | None,
        *,
        sentences: int,
        shots: Sequence[Question] = (),
    ) -> None:
        self.questions, self.contexts, self.form = questions, contexts, form
        self.sentences = sentences
        self.style = "prompted" if form is None else "trained"
        self.shots = [
            prompts.ScienceQuestion(shot.question, self._told(shot), prompts.shortest_answer(shot))
            for shot in shots
        ]

    def prompts(self, codec: Codec, budget: int) -> list[Prompt]:
        """Write each question in the model's format, or as a zero- or few-shot prompt."""
        return [self._prompt(question, codec, budget) for question in self.questions]

    def predictions(self, outputs: Mapping[str, str]) -> dict[str, Any]:
        """Give an answer by question id."""
        read = prompts.parse_science_answer if self.form is None else self._read
        return {one.question_id: read(outputs[one.question_id]) for one in self.questions}

    def _read(self, output: str) -> str:
        return parse_output(output, self.form or Format())

    def _told(self, question: Question) -> tuple[str, ...]:
        return tuple(self.contexts.get(question.question_id, ()))[: self.sentences]

    def _prompt(self, question: Question, codec: Codec, budget: int) -> Prompt:
        told = self._told(question)
        if self.form is not None:
            fitted = fit_source(
                question.question, self.form, context=told, budget=budget, measure=codec.measure
            )
            return Prompt(question.question_id, fitted.text, 0, fitted.fitted, fitted.too_long)

        def build(shots: int, sentences: int) -> Source:
            asked = prompts.ScienceQuestion(question.question, told[:sentences])
            if codec.uses_chat:
                return prompts.science_messages(asked, self.shots[:shots])
            return prompts.science_prompt(asked, self.shots[:shots])

        return _fit(question.question_id, build, len(self.shots), len(told), codec, budget)


class TwoWikiBooklet(Booklet):
    """Multi-hop questions.

    Args:
        examples: what is asked.
        form: closed-book, gold-context or full-context; of prompts alone.
        trained: the model was trained on the numbered text form.
        shots: solved questions.
    """

    def __init__(
        self,
        examples: Sequence[Example],
        form: str,
        *,
        trained: bool,
        shots: Sequence[Example] = (),
    ) -> None:
        self.examples, self.form, self.shots = examples, form, list(shots)
        self.style = "trained" if trained else "prompted"

    def prompts(self, codec: Codec, budget: int) -> list[Prompt]:
        """Write each question in the numbered form, or as a prompt that asks for JSON."""
        return [self._prompt(example, codec, budget) for example in self.examples]

    def predictions(self, outputs: Mapping[str, str]) -> dict[str, Any]:
        """Return the content of the official prediction file."""
        return to_official_file({one.id: self._read(outputs[one.id], one) for one in self.examples})

    def _read(self, output: str, example: Example) -> Prediction:
        if self.style == "trained":
            return linear.parse_output(output, example).prediction
        parsed = parse_llm_output(output)
        facts = tuple(Fact(*fact) for fact in parsed.facts or ())
        return Prediction(parsed.answer, facts, tuple(Triple(*t) for t in parsed.triples or ()))

    def _prompt(self, example: Example, codec: Codec, budget: int) -> Prompt:
        if self.style == "trained":
            fitted = linear.fit_source(example, budget=budget, measure=codec.measure)
            return Prompt(example.id, fitted.text, 0, fitted.kept, fitted.too_long)
        total = sum(len(paragraph.sentences) for paragraph in example.context)

        def build(shots: int, sentences: int) -> Source:
            asked = shortened(example, sentences) if sentences < total else example
            if codec.uses_chat:
                return prompts.messages_for(asked, self.form, self.shots[:shots])
            return prompts.prompt_for(asked, self.form, self.shots[:shots])

        told = 0 if self.form == prompts.CLOSED_BOOK else total
        return _fit(example.id, build, len(self.shots), told, codec, budget)


def shortened(example: Example, sentences: int) -> Example:
    """Keep so many sentences of a context: first ones of all paragraphs, then second ones, ..."""
    order = sorted(
        (place, number)
        for number, paragraph in enumerate(example.context)
        for place in range(len(paragraph.sentences))
    )
    kept = [0] * len(example.context)
    for _, number in order[:sentences]:
        kept[number] += 1
    context = tuple(
        paragraph._replace(sentences=paragraph.sentences[:count])
        for paragraph, count in zip(example.context, kept, strict=True)
    )
    return example._replace(context=context)


def _fit(
    name: str,
    build: Callable[[int, int], Source],
    shots: int,
    sentences: int,
    codec: Codec,
    budget: int,
) -> Prompt:
    """Leave out demonstrations, then sentences, until a prompt fits."""

    def fits(shots: int, sentences: int) -> bool:
        return len(codec.prompt_ids(build(shots, sentences))) <= budget

    while shots and not fits(shots, sentences):
        shots -= 1
    low = high = sentences
    if not shots and not fits(0, sentences):
        low = 0
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if fits(0, middle) else (low, middle - 1)
    too_long = not shots and not low and not fits(0, 0)
    return Prompt(name, build(shots, low), shots, low, too_long)
