"""Questions of both data sets as prompts, for a model that was trained here or for any other.

In: questions, and perhaps demonstrations. Out: prompts by id, and predictions from a model's
outputs. A prompt that is too long loses demonstrations first, then the last sentences of its
context; one that does not fit even so is marked.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from twowiki.arc_da.schema import Question
from twowiki.data.schema import Example, Fact, Prediction, Triple
from twowiki.llm import prompts
from twowiki.llm.outputs import reading_note
from twowiki.llm.parsing import parse_llm_output, parse_science_answer
from twowiki.metric.predictions import to_official_file
from twowiki.text2text import two_wiki_format
from twowiki.text2text.arc_da_format import Format, fit_question, largest_fit, parse_answer
from twowiki.text2text.chat_format import Codec

PromptSource = str | list[dict[str, str]]


class Prompt(NamedTuple):
    """A prompt, as text or messages, with the demonstrations and sentences that are in it."""

    id: str
    source: PromptSource
    shots: int
    sentences: int
    too_long: bool


class PromptSet(ABC):
    """The questions of a run of predictions.

    Attributes:
        style: `trained` (the model's own format) or `prompted`.
    """

    style = "prompted"

    @abstractmethod
    def prompts(self, codec: Codec, budget: int) -> list[Prompt]:
        """Return all prompts, of at most `budget` tokens."""

    @abstractmethod
    def predictions(self, outputs: Mapping[str, str]) -> dict[str, Any]:
        """Return the content of the prediction file from outputs by id."""

    def note(self, outputs: Mapping[str, str]) -> str | None:
        """Return how the outputs were read; None where that needs no word."""
        return None


class ArcDaPrompts(PromptSet):
    """Science questions.

    Args:
        questions: the questions.
        contexts: sentences by question id; empty without retrieval.
        form: the trained model's format; None for a model that is prompted.
        sentences: most sentences of context.
        shots: demonstrations.
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
            prompts.ScienceQuestion(
                shot.question, self._context_of(shot), prompts.shortest_answer(shot)
            )
            for shot in shots
        ]

    def prompts(self, codec: Codec, budget: int) -> list[Prompt]:
        """Return each question in the model's format, or as a zero- or few-shot prompt."""
        return [self._prompt(question, codec, budget) for question in self.questions]

    def predictions(self, outputs: Mapping[str, str]) -> dict[str, Any]:
        """Return answers by question id."""
        read = parse_science_answer if self.form is None else self._read
        return {one.question_id: read(outputs[one.question_id]) for one in self.questions}

    def _read(self, output: str) -> str:
        return parse_answer(output, self.form or Format())

    def _context_of(self, question: Question) -> tuple[str, ...]:
        return tuple(self.contexts.get(question.question_id, ()))[: self.sentences]

    def _prompt(self, question: Question, codec: Codec, budget: int) -> Prompt:
        context = self._context_of(question)
        if self.form is not None:
            fitted = fit_question(
                question.question, self.form, context=context, budget=budget, measure=codec.measure
            )
            return Prompt(question.question_id, fitted.text, 0, fitted.sentences, fitted.too_long)

        def build(shots: int, sentences: int) -> PromptSource:
            shown = prompts.ScienceQuestion(question.question, context[:sentences])
            write = prompts.science_messages if codec.uses_chat else prompts.science_prompt
            return write(shown, self.shots[:shots])

        return _fit(question.question_id, build, len(self.shots), len(context), codec, budget)


class TwoWikiPrompts(PromptSet):
    """Multi-hop questions.

    Args:
        examples: the questions.
        form: one of `PROMPT_FORMS`, for a model that is prompted.
        trained: the model was trained on the numbered text form.
        shots: demonstrations.
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
        """Return each question in the numbered form, or as a prompt that asks for JSON."""
        return [self._prompt(example, codec, budget) for example in self.examples]

    def predictions(self, outputs: Mapping[str, str]) -> dict[str, Any]:
        """Return the content of the official prediction file."""
        return to_official_file({one.id: self._read(outputs[one.id], one) for one in self.examples})

    def note(self, outputs: Mapping[str, str]) -> str | None:
        """Return how many outputs were read in which form, and what was not."""
        if self.style == "trained":
            return None
        return reading_note({name: parse_llm_output(text) for name, text in outputs.items()})

    def _read(self, output: str, example: Example) -> Prediction:
        if self.style == "trained":
            return two_wiki_format.parse_prediction(output, example).prediction
        parsed = parse_llm_output(output)
        facts = tuple(Fact(*fact) for fact in parsed.facts or ())
        return Prediction(parsed.answer, facts, tuple(Triple(*t) for t in parsed.triples or ()))

    def _prompt(self, example: Example, codec: Codec, budget: int) -> Prompt:
        if self.style == "trained":
            fitted = two_wiki_format.fit_example(example, budget=budget, measure=codec.measure)
            return Prompt(example.id, fitted.text, 0, fitted.sentences, fitted.too_long)
        total = sum(len(paragraph.sentences) for paragraph in example.context)

        def build(shots: int, sentences: int) -> PromptSource:
            shown = shortened(example, sentences) if sentences < total else example
            write = prompts.messages_for if codec.uses_chat else prompts.prompt_for
            return write(shown, self.form, self.shots[:shots])

        most = 0 if self.form == prompts.CLOSED_BOOK else total
        return _fit(example.id, build, len(self.shots), most, codec, budget)


def shortened(example: Example, sentences: int) -> Example:
    """Keep this many sentences: first ones of all paragraphs, then second ones, ..."""
    order = sorted(
        (position, number)
        for number, paragraph in enumerate(example.context)
        for position in range(len(paragraph.sentences))
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
    example_id: str,
    build: Callable[[int, int], PromptSource],
    shots: int,
    sentences: int,
    codec: Codec,
    budget: int,
) -> Prompt:
    """Return a prompt without the demonstrations, then the sentences, that do not fit."""

    def fits(shots: int, sentences: int) -> bool:
        return len(codec.prompt_ids(build(shots, sentences))) <= budget

    while shots and not fits(shots, sentences):
        shots -= 1
    if not shots:
        sentences = largest_fit(sentences, lambda count: fits(0, count))
    too_long = not shots and not sentences and not fits(0, 0)
    return Prompt(example_id, build(shots, sentences), shots, sentences, too_long)
