r"""Multiple choice with text models: by the text that they generate, and by likelihood.

In: multiple-choice questions. Out: prompts of the generated way, and for the likelihoods a chosen
option by each of two rules, as `lm-evaluation-harness` has them for ARC: `acc` takes the option
with the highest log likelihood after "Question: ...\nAnswer:", `acc_norm` the highest one a
character of the option. A model that was trained here is asked in the format of its training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from twowiki.arc_da.schema import MultipleChoice
from twowiki.io.files import progress
from twowiki.io.journal import Journal
from twowiki.io.stages import key_of
from twowiki.text2text.arc_da_format import (
    Format,
    fit_question,
    parse_option,
    render_target,
)
from twowiki.text2text.chat_format import Codec
from twowiki.text2text.likelihood import sum_likelihoods
from twowiki.text2text.loading import SEQ2SEQ
from twowiki.text2text.prediction import TextGenerator
from twowiki.text2text.prompting import Prompt, PromptSet

CHOICE_RULES = ("acc", "acc_norm")


class ChoicePrompts(PromptSet):
    """Multiple-choice questions, answered with the text of an option.

    Args:
        questions: the questions.
        contexts: sentences by question id; empty without retrieval.
        form: the trained model's format; None for a model that is prompted.
        sentences: most sentences of context.
    """

    def __init__(
        self,
        questions: Sequence[MultipleChoice],
        contexts: Mapping[str, Sequence[str]],
        form: Format | None,
        *,
        sentences: int,
    ) -> None:
        self.questions, self.contexts, self.sentences = questions, contexts, sentences
        self.style = "prompted" if form is None else "trained"
        self.form = form or Format("plain")

    def prompts(self, codec: Codec, budget: int) -> list[Prompt]:
        """Return each question with its options."""
        return [self._prompt(question, codec, budget) for question in self.questions]

    def predictions(self, outputs: Mapping[str, str]) -> dict[str, Any]:
        """Return the generated choices by question id."""
        return {
            one.question_id: parse_option(outputs[one.question_id], self.form)
            for one in self.questions
        }

    def source(self, question: MultipleChoice, codec: Codec, budget: int) -> str:
        """Return the input of a trained model."""
        return str(self._prompt(question, codec, budget).source)

    def _prompt(self, question: MultipleChoice, codec: Codec, budget: int) -> Prompt:
        fitted = fit_question(
            question.stem,
            self.form,
            options=[choice.text for choice in question.choices],
            context=tuple(self.contexts.get(question.question_id, ()))[: self.sentences],
            budget=budget,
            measure=codec.measure,
        )
        sentences, too_long = fitted.sentences, fitted.too_long
        return Prompt(question.question_id, fitted.text, 0, sentences, too_long)


def choose_by_likelihood(
    generator: TextGenerator,
    prompts: ChoicePrompts,
    path: Path,
    *,
    batch_size: int,
    budget: int,
    restart: bool = False,
) -> dict[str, dict[str, Any]]:
    """Measure every option; return the records of the journal by question id.

    Args:
        generator: the model.
        prompts: the questions, in the model's format.
        path: of the journal.
        batch_size: questions of a batch.
        budget: most tokens of an input.
        restart: discard what an earlier run wrote.

    Returns:
        For each question `likelihoods` by label (nats), and the label chosen by each rule.
    """
    rows = {one.question_id: _rows(generator, prompts, one, budget) for one in prompts.questions}
    style, texts = f"likelihood, {prompts.style}", key_of({"rows": rows})
    identity = {**generator.name, "style": style, "rows": texts}
    journal = Journal(path, identity, key="id", restart=restart)
    listed = prompts.questions
    batches = [listed[first : first + batch_size] for first in range(0, len(listed), batch_size)]
    left = [  # whole batches: what stands beside a row moves its last digit
        batch for batch in batches if any(one.question_id not in journal.records for one in batch)
    ]
    for batch in progress(left, what="predicting", total=len(left)):
        wanted = [row for one in batch for row in rows[one.question_id]]
        found = iter(sum_likelihoods(generator, wanted))
        records = [_record(one, [next(found) for _ in one.choices]) for one in batch]
        journal.add(one for one in records if one["id"] not in journal.records)
    return {one.question_id: journal.records[one.question_id] for one in prompts.questions}


def _rows(
    generator: TextGenerator, prompts: ChoicePrompts, question: MultipleChoice, budget: int
) -> list[tuple[str, str]]:
    """Return the source and the continuation of each option."""
    if prompts.style == "trained":
        written = prompts.source(question, generator.codec, budget)
        source = generator.codec.prompt_text(written)
        return [
            (source, render_target(choice.text, prompts.form, position=place))
            for place, choice in enumerate(question.choices)
        ]
    space = "" if generator.codec.kind == SEQ2SEQ else " "
    source = f"Question: {question.stem}\nAnswer:"
    return [(source, f"{space}{choice.text}") for choice in question.choices]


def _record(question: MultipleChoice, likelihoods: Sequence[float]) -> dict[str, Any]:
    labels = [choice.label for choice in question.choices]
    by_character = [
        value / max(1, len(choice.text))
        for value, choice in zip(likelihoods, question.choices, strict=True)
    ]
    chosen = {
        rule: labels[values.index(max(values))]
        for rule, values in zip(CHOICE_RULES, (list(likelihoods), by_character), strict=True)
    }
    rounded = [round(value, 6) for value in likelihoods]
    return {
        "id": question.question_id,
        "likelihoods": dict(zip(labels, rounded, strict=True)),
        **chosen,
    }
