"""What `twowiki predict` does with every text model: outputs, a file of answers, a remark.

In: the options and a loaded model. Out: the records of the journal beside OUT, OUT itself, and a
line on the questions that the model was trained on.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twowiki.io.files import write_json, write_json_lines
from twowiki.io.journal import check_journal

if TYPE_CHECKING:
    from twowiki.cli.predict_text import PredictOptions
    from twowiki.text2text.generation import GenerationSettings
    from twowiki.text2text.prediction import LoadOptions, TextGenerator
    from twowiki.text2text.prompting import PromptSet

QUESTIONS_PER_BATCH = 8


def journal_of(options: PredictOptions) -> Path:
    """Return the path of the journal, which an interrupted run continues."""
    return Path(f"{options.out}.outputs.jsonl")


def longest_source(options: PredictOptions, generator: TextGenerator) -> int:
    """Return the most tokens of a prompt, as the options or the training have it; 0 is any."""
    return options.max_prompt_tokens or int((generator.form or {}).get("max_source_length", 0))


def refuse_other_run(options: PredictOptions, loading: LoadOptions) -> None:
    """Raise, before the model is loaded, where OUT's journal belongs to another run.

    Raises:
        DataError: another model, type of its weights, or decoding; other questions show later.
    """
    from twowiki.text2text.chat_format import read_text_format
    from twowiki.text2text.prediction import stamps_of

    if options.restart:
        return
    known = stamps_of(str(options.model), loading)
    if options.choose_by != "likelihood" or options.task != "arc_mc":
        known |= _decoding(options, read_text_format(str(options.model)))._asdict()
    check_journal(journal_of(options), known)


def _decoding(options: PredictOptions, form: Mapping[str, Any] | None) -> GenerationSettings:
    """Return the settings of generation, as the options or the training have them."""
    from twowiki.text2text.generation import GenerationSettings

    form = form or {}
    usual = form.get("max_new_tokens", 256 if options.task == "two_wiki" else 32)
    return GenerationSettings(
        options.num_beams or form.get("num_beams", 1), options.max_new_tokens or usual
    )


def generate_outputs(
    options: PredictOptions, generator: TextGenerator, prompts: PromptSet
) -> dict[str, dict[str, Any]]:
    """Generate all outputs, as the model was trained to; return the journal's records by id."""
    from twowiki.text2text.prediction import generate_all, longest_prompt

    decoding = _decoding(options, generator.form)
    return generate_all(
        generator,
        prompts,
        journal_of(options),
        decoding,
        batch_size=options.batch_size or QUESTIONS_PER_BATCH,
        budget=longest_prompt(generator, decoding, longest_source(options, generator)),
        restart=options.restart,
    )


def write_answers(path: str, answers: Mapping[str, str]) -> None:
    """Write answers by question id: an object, or a record each where the name says .jsonl."""
    if ".jsonl" in Path(path).name:
        lines = ({"question_id": name, "prediction": text} for name, text in answers.items())
        write_json_lines(path, lines)
    else:
        write_json(path, dict(answers))


def print_trained(options: PredictOptions, questions: Sequence[Any]) -> None:
    """Print how many of the questions the model was trained on, where it has a record of them."""
    from twowiki.text2text.arc_da_instances import (
        describe_trained,
        read_training_record,
        trained_on,
    )

    record = read_training_record(str(options.model))
    found = trained_on(questions, record) if record and options.task != "two_wiki" else []
    if found:
        print(describe_trained(found, len(questions)), file=sys.stderr)
