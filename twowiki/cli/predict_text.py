"""The options of `twowiki predict`, and its prediction with text-to-text and language models."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twowiki.cli.options import PromptOptions
from twowiki.cli.text_outputs import (
    generate_outputs,
    print_trained,
    refuse_other_run,
    write_answers,
)
from twowiki.errors import DataError
from twowiki.hub.run_record import made_by
from twowiki.io.arguments import argument, positional, settings_of
from twowiki.io.files import write_json

if TYPE_CHECKING:
    from twowiki.text2text.prediction import TextGenerator
    from twowiki.text2text.prompting import PromptSet

TEXT = "text-to-text and language models (with --task)"


@dataclass(frozen=True, kw_only=True)
class PredictOptions(PromptOptions):
    """The options of a prediction, whatever the model."""

    paths: list[str] = positional("MODEL DATA OUT; or DATA OUT after --model MODEL", metavar="PATH")
    model: str | None = argument(None, "folder of a saved model, or a hub repository", role="input")
    split: str | None = argument(None, "split of DATA, if it has several")
    config: str | None = argument(None, "config of DATA, if its name does not show it")
    batch_size: int | None = argument(
        None, "windows (default: 48) or questions (default: 8) per batch", minimum=1
    )
    part: int = argument(480, "examples per part that is kept", minimum=1)
    scores: Path | None = argument(
        None, "also write every score and span, one JSON line per question", role="output"
    )
    device: str | None = argument(None, "cpu, cuda, cuda:1, ... (default: cuda if there is one)")
    revision: str = argument("", "revision of a hub model")
    trust_remote_code: bool = argument(False, "run the code of a hub repository's model")
    allow_missing: bool = argument(
        False, "predict with a model that lacks weights or its tokenizer, or holds NaN"
    )
    restart: bool = argument(False, "discard what an interrupted run kept")
    task: str | None = argument(
        None,
        "prompt in this data set's form; arc_mc: multiple choice",
        choices=("arc_da", "arc_mc", "two_wiki"),
        group=TEXT,
    )
    choose_by: str = argument(
        "text",
        "arc_mc: the option closest to the generated text, or the likeliest one",
        choices=("text", "likelihood"),
        group=TEXT,
    )
    ids_of: str | None = argument(
        None,
        "arc_mc: only the originals of ARC-DA's questions in this file",
        metavar="FILE",
        group=TEXT,
        role="input",
    )
    contexts: list[str] = argument(
        [],
        "arc_da, arc_mc: sentences of `twowiki arc-da retrieve`",
        metavar="FILE",
        nargs=1,
        group=TEXT,
        role="input",
    )
    sentences: int = argument(10, "arc_da, arc_mc: largest number", minimum=1, group=TEXT)
    max_new_tokens: int | None = argument(
        None, "longest output (default: 32; two_wiki 256)", minimum=1, group=TEXT
    )
    num_beams: int | None = argument(
        None, "beams (default: the model's own, or greedy)", minimum=1, group=TEXT
    )
    max_prompt_tokens: int = argument(
        0, "longest prompt; 0 = as long as the model allows", minimum=0, group=TEXT
    )
    dtype: str = argument(
        "auto",
        "auto: bfloat16 on a GPU, float32 elsewhere",
        choices=("auto", "float32", "bfloat16", "float16"),
        group=TEXT,
    )
    chat: str = argument("auto", "use the chat template", choices=("auto", "yes", "no"), group=TEXT)
    data: str = argument("", flag=False, role="input")
    out: str = argument("", flag=False, role="output", writes=(".parts", ".outputs.jsonl"))


def predict_with_text(options: PredictOptions) -> int:
    """Predict with a text-to-text or language model; return the exit code."""
    from twowiki.text2text.answering import without_sentences
    from twowiki.text2text.prediction import LoadOptions, load_generator

    _check(options)
    if options.task == "arc_mc":
        from twowiki.cli.predict_choices import predict_choices

        return predict_choices(options)
    loading = settings_of(LoadOptions, options, device=options.device or "")
    refuse_other_run(options, loading)
    generator = load_generator(str(options.model), loading)
    if note := without_sentences(generator.form, options.contexts):
        print(note, file=sys.stderr)
    questions, prompt_set = _read_questions(options, generator)
    records = generate_outputs(options, generator, prompt_set)
    predictions = prompt_set.predictions({name: one["output"] for name, one in records.items()})
    if options.task == "arc_da":
        write_answers(options.out, predictions)
    else:
        run = made_by(str(options.model))
        write_json(options.out, {**predictions, "made_by": run} if run else predictions)
    _print_counts(options, prompt_set, records)
    _print_scores(options, questions, predictions)
    return 0


def _read_questions(
    options: PredictOptions, generator: TextGenerator
) -> tuple[list[Any], PromptSet]:
    """Return the questions and their prompts.

    Raises:
        DataError: the model was trained on the other data set, or there are no questions.
    """
    trained = generator.form
    if trained is not None and trained["task"] != options.task:
        problem = f"was trained on {trained['task']}, not on {options.task}"
        raise DataError(problem, file=options.model, field="task")
    if trained is not None and options.shots:
        problem = "was trained on this task and takes no demonstrations"
        raise DataError(problem, file=options.model, field="shots", remedy="Leave --shots out")
    read = _read_arc_da if options.task == "arc_da" else _read_two_wiki
    return read(options, trained)


def _read_arc_da(options: PredictOptions, trained: Any) -> tuple[list[Any], PromptSet]:
    from twowiki.arc_da.sources import find_question_splits, read_gold_questions
    from twowiki.llm.shots import draw_science_shots
    from twowiki.retrieval.arc_da_contexts import read_context_files
    from twowiki.text2text.arc_da_format import Format
    from twowiki.text2text.arc_da_instances import draw_in_order
    from twowiki.text2text.prompting import ArcDaPrompts

    splits = find_question_splits(options.data)
    if options.split is None and len(splits) > 1:
        problem = f"has several splits: {', '.join(splits)}"
        raise DataError(problem, file=options.data, remedy="Name one with --split")
    questions = draw_in_order(
        list(read_gold_questions(options.data, split=options.split).values()),
        options.limit or 0,
        options.seed,
    )
    pool = list(read_gold_questions(options.shots_from).values()) if options.shots else []  # type: ignore[arg-type]
    shots = draw_science_shots(pool, options.shots, options.seed, asked_for=questions)
    if shots.note:
        print(f"warning: {shots.note}", file=sys.stderr)
    contexts = read_context_files(options.contexts, questions)
    form = Format.of_record(trained) if trained else None
    prompt_set = ArcDaPrompts(
        questions, contexts, form, sentences=options.sentences, shots=shots.chosen
    )
    return questions, prompt_set


def _read_two_wiki(options: PredictOptions, trained: Any) -> tuple[list[Any], PromptSet]:
    from twowiki.data.sources import examples_of
    from twowiki.text2text.prompting import TwoWikiPrompts

    config = options.config
    examples = list(islice(examples_of(options.data, config, options.split), options.limit))
    if not examples:
        raise DataError("has no examples", file=options.data)
    shots = options.draw_examples(examples) if options.shots else []
    form, shown = options.prompt_form(), list(options.with_contexts(examples))
    prompt_set = TwoWikiPrompts(shown, form, trained=trained is not None, shots=shots)
    return examples, prompt_set


def _check(options: PredictOptions) -> None:
    """Raise, before the model is loaded, where a file is missing."""
    if options.shots and not options.shots_from:
        remedy = "Name the training questions with --shots-from"
        raise DataError("needs a file of demonstrations", field="shots", remedy=remedy)
    if options.task == "arc_da" and options.rankings:
        remedy = "Name sentences of `twowiki arc-da retrieve` with --contexts"
        raise DataError("are for two_wiki", field="rankings", remedy=remedy)
    for path in (options.data, options.shots_from, *options.contexts):
        if path and not Path(path).exists():
            raise DataError("no such file or folder", file=path, remedy="Check the path")


def _print_counts(
    options: PredictOptions, prompt_set: PromptSet, records: dict[str, dict[str, Any]]
) -> None:
    lines = [f"{options.out}: {len(records)} predictions ({prompt_set.style})"]
    long = [name for name, one in records.items() if one["too_long"]]
    if long:
        lines.append(f"too long for the model, not asked: {len(long)} (first: {long[0]})")
    fewer = sum(one["shots"] < options.shots for one in records.values())
    if fewer:
        lines.append(f"asked with fewer demonstrations, to save length: {fewer}")
    empty = sum(not one["output"] for one in records.values())
    if empty:
        lines.append(f"empty outputs: {empty}")
    note = prompt_set.note({name: one["output"] for name, one in records.items()})
    lines += [note] if note else []
    print("\n".join(lines), file=sys.stderr)


def _print_scores(
    options: PredictOptions, questions: list[Any], predictions: dict[str, Any]
) -> None:
    """Print the scores of the questions that have gold answers."""
    print_trained(options, questions)
    known = [question for question in questions if question.has_gold]
    if not known:
        print("no gold answers, so no scores", file=sys.stderr)
        return
    if options.task == "arc_da":
        from twowiki.arc_da.metric.report import (
            ArcDaSettings,
            render_arc_da_report,
            score_system,
            summarize_system,
        )

        scored = score_system({one.question_id: one for one in known}, predictions)
        print(render_arc_da_report(summarize_system(scored, ArcDaSettings())), end="")
        return
    from twowiki.data.schema import to_official
    from twowiki.metric.score import score
    from twowiki.training.reports import headline, render_by_type

    report = score(predictions, [to_official(example) for example in known], by_type=True)
    by_type = {name: group.metrics for name, group in report.types.items()}
    print(render_by_type(by_type, report.metrics))
    print(headline(report.metrics, report.signature))
