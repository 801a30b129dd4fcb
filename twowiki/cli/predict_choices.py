"""Prediction on multiple choice with text-to-text and language models: `predict --task arc_mc`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from twowiki.arc_da.metric.multiple_choice import render_choices, score_choices
from twowiki.arc_da.schema import MultipleChoice
from twowiki.arc_da.sources import read_multiple_choice, read_questions
from twowiki.cli.text_outputs import (
    QUESTIONS_PER_BATCH,
    generate_outputs,
    journal_of,
    longest_source,
    print_trained,
    refuse_other_run,
    write_answers,
)
from twowiki.errors import DataError
from twowiki.io.arguments import settings_of
from twowiki.retrieval.arc_da_contexts import read_context_files
from twowiki.text2text.arc_da_instances import draw_in_order

if TYPE_CHECKING:
    from twowiki.cli.predict_text import PredictOptions
    from twowiki.text2text.multiple_choice import ChoicePrompts
    from twowiki.text2text.prediction import TextGenerator


def predict_choices(options: PredictOptions) -> int:
    """Choose an option of every question; return the exit code."""
    from twowiki.text2text.answering import without_sentences
    from twowiki.text2text.arc_da_format import Format
    from twowiki.text2text.multiple_choice import ChoicePrompts
    from twowiki.text2text.prediction import LoadOptions, load_generator

    if options.shots:
        remedy = "Leave --shots out"
        raise DataError("multiple choice takes no demonstrations", field="shots", remedy=remedy)
    questions = _read_choices(options)
    contexts = read_context_files(options.contexts, questions, direct_answer=False)
    loading = settings_of(LoadOptions, options, device=options.device or "")
    refuse_other_run(options, loading)
    generator = load_generator(str(options.model), loading)
    form = generator.form
    if form is not None and form["task"] != "arc_da":
        problem = f"was trained on {form['task']}, not on arc_da"
        raise DataError(problem, file=options.model, field="task")
    kept = Format.of_record(form) if form else None
    prompts = ChoicePrompts(questions, contexts, kept, sentences=options.sentences)
    if note := without_sentences(form, options.contexts):
        print(note, file=sys.stderr)
    print_trained(options, questions)
    choose = _by_likelihood if options.choose_by == "likelihood" else _by_text
    choose(options, generator, prompts)
    return 0


def _read_choices(options: PredictOptions) -> list[MultipleChoice]:
    """Read the questions, those of --ids-of alone if it is given.

    Raises:
        DataError: there are none, or an id of --ids-of is not among them.
    """
    found = [
        one
        for one in read_multiple_choice([options.data])
        if options.split in (None, one.split or options.split)
    ]
    if options.ids_of:
        by_id = {one.id: one for one in found}
        wanted = [one.arc_id for one in read_questions(options.ids_of)]
        if missing := [name for name in wanted if name not in by_id]:
            problem = f"lacks {len(missing)} of the questions of {options.ids_of}"
            remedy = "Name ARC's files of the same splits"
            raise DataError(problem, file=options.data, record=missing[0], remedy=remedy)
        found = [by_id[name] for name in dict.fromkeys(wanted)]
    if not found:
        raise DataError("has no multiple-choice questions", file=options.data)
    return draw_in_order(found, options.limit or 0, options.seed)


def _by_text(options: PredictOptions, generator: TextGenerator, prompts: ChoicePrompts) -> None:
    """Take the option closest to the generated text, as UnifiedQA's evaluation does."""
    records = generate_outputs(options, generator, prompts)
    chosen = prompts.predictions({name: one["output"] for name, one in records.items()})
    write_answers(options.out, chosen)
    by_label = prompts.style == "trained" and prompts.form.mc_target != "text"
    _print(prompts.questions, chosen, method="label" if by_label else "unifiedqa")


def _by_likelihood(
    options: PredictOptions, generator: TextGenerator, prompts: ChoicePrompts
) -> None:
    """Take the likeliest option, by the sum (acc) and a character of the option (acc_norm)."""
    from twowiki.text2text.generation import GenerationSettings
    from twowiki.text2text.multiple_choice import CHOICE_RULES, choose_by_likelihood
    from twowiki.text2text.prediction import longest_prompt

    wanted = longest_source(options, generator)
    records = choose_by_likelihood(
        generator,
        prompts,
        journal_of(options),
        batch_size=options.batch_size or QUESTIONS_PER_BATCH,
        budget=longest_prompt(generator, GenerationSettings(), wanted),
        restart=options.restart,
    )
    texts = {
        one.question_id: next(
            choice.text
            for choice in one.choices
            if choice.label == records[one.question_id]["acc_norm"]
        )
        for one in prompts.questions
    }
    write_answers(options.out, texts)
    for rule in CHOICE_RULES:
        labels = {name: record[rule] for name, record in records.items()}
        print(f"{rule}:")
        _print(prompts.questions, labels, method="label", title=f"likelihood:{rule}")


def _print(questions: Sequence[MultipleChoice], chosen: Mapping[str, str], **how: Any) -> None:
    """Print the accuracy where the right options are known."""
    known = [one for one in questions if one.answer_key is not None]
    print(f"{len(questions)} questions of multiple choice", file=sys.stderr)
    if not known:
        print("no right option is known, so there is no accuracy", file=sys.stderr)
        return
    print(render_choices(score_choices(known, chosen, **how)), end="")
