"""Ask text-to-text and language models: `twowiki predict --model DIR --task TASK DATA OUT`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twowiki.errors import DataError

if TYPE_CHECKING:
    from twowiki.text2text.prediction import Speaker
    from twowiki.text2text.prompting import Booklet

TASKS = ("arc_da", "two_wiki")
FORMS = ("closed-book", "gold-context", "full-context")
BATCH_SIZE = 8


def add_text_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what text-to-text and language models take."""
    group = parser.add_argument_group("text-to-text and language models (with --task)")
    add = group.add_argument
    add("--task", choices=TASKS, help="ask in this data set's form, and read texts")
    add("--shots", type=int, default=0, metavar="N", help="demonstrations before each question")
    add("--shots-from", metavar="FILE", help="where they come from, e.g. the training split")
    add("--contexts", metavar="FILE", action="append", default=[],
        help="arc_da: sentences of `twowiki arc-da retrieve`")  # fmt: skip
    add("--sentences", type=int, default=10, metavar="N", help="arc_da: at most (default 10)")
    add("--form", choices=FORMS, default="full-context", help="two_wiki (default: full-context)")
    add("--max-new-tokens", type=int, metavar="N", help="longest output (default 32; two_wiki 256)")
    add("--num-beams", type=int, metavar="N", help="beams (default: the model's own, or greedy)")
    add("--max-prompt-tokens", type=int, default=0, metavar="N", help="longest prompt")
    add("--limit", type=int, metavar="N", help="ask the first N questions alone")
    add("--dtype", choices=("auto", "float32", "bfloat16", "float16"), default="auto",
        help="auto: bfloat16 on a GPU, float32 elsewhere")  # fmt: skip
    add("--chat", choices=("auto", "yes", "no"), default="auto", help="use the chat template")
    add("--revision", default="", help="revision of a hub model")
    add("--seed", type=int, default=0, metavar="N", help="of the demonstrations' choice")
    add("--restart", action="store_true", help="do not go on from what an earlier run kept")


def run_text(args: argparse.Namespace) -> int:
    """Predict; give the exit status."""
    from twowiki.text2text.generation import Decoding
    from twowiki.text2text.prediction import LoadOptions, ask_all, load_speaker, longest_prompt

    _check(args)
    options = LoadOptions(
        args.revision, args.trust_remote_code, args.device or "", args.dtype, args.chat
    )
    speaker = load_speaker(args.model, options)
    form = speaker.form or {}
    usual = form.get("max_new_tokens", 256 if args.task == "two_wiki" else 32)
    decoding = Decoding(args.num_beams or form.get("num_beams", 1), args.max_new_tokens or usual)
    asked, booklet = open_booklet(args, speaker)
    wanted = args.max_prompt_tokens or form.get("max_source_tokens", 0)
    records = ask_all(
        speaker,
        booklet,
        Path(f"{args.out}.outputs.jsonl"),
        decoding,
        batch_size=args.batch_size or BATCH_SIZE,
        budget=longest_prompt(speaker, decoding, wanted),
        restart=args.restart,
    )
    predictions = booklet.predictions({name: one["output"] for name, one in records.items()})
    _write(args, predictions)
    _say(args, booklet, records)
    _score(args, asked, predictions)
    return 0


def open_booklet(args: argparse.Namespace, speaker: Speaker) -> tuple[list[Any], Booklet]:
    """Read the questions and say how they are asked.

    Raises:
        DataError: the model was trained on the other data set, or nothing is asked.
    """
    trained = speaker.form
    if trained is not None and trained["task"] != args.task:
        problem = f"was trained on {trained['task']}, not on {args.task}"
        raise DataError(problem, file=args.model, field="task")
    if trained is not None and args.shots:
        problem = "was trained on this task and takes no demonstrations"
        raise DataError(problem, file=args.model, field="shots", remedy="Leave --shots out")
    return _science(args, trained) if args.task == "arc_da" else _multihop(args, trained)


def _science(args: argparse.Namespace, trained: Any) -> tuple[list[Any], Booklet]:
    from twowiki.arc_da.sources import find_splits, read_gold
    from twowiki.retrieval.arc_da_contexts import read_contexts
    from twowiki.text2text.arc_da_format import Format
    from twowiki.text2text.arc_da_prompts import draw_shots
    from twowiki.text2text.prompting import ArcDaBooklet

    splits = find_splits(args.data)
    if args.split is None and len(splits) > 1:
        problem = f"holds several splits: {', '.join(splits)}"
        raise DataError(problem, file=args.data, remedy="Name one with --split")
    questions = list(read_gold(args.data, split=args.split).values())[: args.limit]
    pool = list(read_gold(args.shots_from).values()) if args.shots else []
    asked = {one.question_id for one in questions}
    shots = draw_shots([one for one in pool if one.question_id not in asked], args.shots, args.seed)
    contexts: dict[str, Sequence[str]] = {}
    for name in args.contexts:
        contexts |= read_contexts(name)
    form = trained and Format(trained["preset"], trained["mc_target"], trained["order"]).checked()
    booklet = ArcDaBooklet(questions, contexts, form, sentences=args.sentences, shots=shots)
    return questions, booklet


def _multihop(args: argparse.Namespace, trained: Any) -> tuple[list[Any], Booklet]:
    from twowiki.data.sources import examples_of
    from twowiki.llm.prompts import draw_shots
    from twowiki.text2text.prompting import TwoWikiBooklet

    examples = list(islice(examples_of(args.data, args.config, args.split), args.limit))
    if not examples:
        raise DataError("holds no examples", file=args.data)
    pool = list(examples_of(args.shots_from, args.config, "train")) if args.shots else []
    asked = {example.id for example in examples}
    shots = draw_shots([one for one in pool if one.id not in asked], args.shots, args.seed)
    booklet = TwoWikiBooklet(examples, args.form, trained=trained is not None, shots=shots)
    return examples, booklet


def _check(args: argparse.Namespace) -> None:
    for name in ("batch_size", "max_new_tokens", "num_beams", "limit", "sentences"):
        value = getattr(args, name)
        if value is not None and value < 1:
            raise DataError("must be at least 1", field=name.replace("_", "-"))
    if args.shots < 0 or args.max_prompt_tokens < 0:
        raise DataError("--shots and --max-prompt-tokens must not be negative")
    if args.shots and not args.shots_from:
        remedy = "Name the training questions with --shots-from"
        raise DataError("demonstrations must come from somewhere", field="shots", remedy=remedy)
    for path in (args.data, args.shots_from, *args.contexts):  # before the model is loaded
        if path and not Path(path).exists():
            raise DataError("no such file or folder", file=path, remedy="Check the path")


def _write(args: argparse.Namespace, predictions: dict[str, Any]) -> None:
    from twowiki.io.files import write_json, write_json_lines

    if args.task == "arc_da" and ".jsonl" in Path(args.out).name:
        lines = ({"question_id": name, "prediction": said} for name, said in predictions.items())
        write_json_lines(args.out, lines)
    else:
        write_json(args.out, predictions)


def _say(args: argparse.Namespace, booklet: Booklet, records: dict[str, dict[str, Any]]) -> None:
    lines = [f"{args.out}: {len(records)} predictions ({booklet.style})"]
    long = [name for name, one in records.items() if one["too_long"]]
    if long:
        lines.append(f"too long for the model, not asked: {len(long)} (first: {long[0]})")
    fewer = sum(one["shots"] < args.shots for one in records.values())
    if fewer:
        lines.append(f"asked with fewer demonstrations, for length: {fewer}")
    empty = sum(not one["output"] for one in records.values())
    if empty:
        lines.append(f"empty outputs: {empty}")
    print("\n".join(lines), file=sys.stderr)


def _score(args: argparse.Namespace, asked: list[Any], predictions: dict[str, Any]) -> None:
    """Print the scores where there is gold to score with."""
    known = [one for one in asked if one.has_gold]
    if not known:
        print("no gold answers, so no scores", file=sys.stderr)
        return
    if args.task == "arc_da":
        from twowiki.arc_da.metric.report import Settings, make_report, render_report, score_system

        scored = score_system({one.question_id: one for one in known}, predictions)
        print(render_report(make_report(scored, Settings())), end="")
        return
    from twowiki.metric.score import score
    from twowiki.training.evaluation import gold_record
    from twowiki.training.reports import headline, render_by_type

    report = score(predictions, [gold_record(example) for example in known], by_type=True)
    by_type = {name: group.metrics for name, group in report.types.items()}
    print(render_by_type(by_type, report.metrics))
    print(headline(report.metrics, report.signature))
