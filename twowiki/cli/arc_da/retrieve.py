"""Find sentences for each question with an index: ten a question, near-equal ones once.

QUESTIONS are ARC-DA's (a file, the release's folder or zip; all splits unless --split), or with
--kind mc ARC's multiple choice. OUT is the JSON lines file that training and prediction take as
`contexts`. Sentences that hold the question itself are passed over: they are pages of test banks.
The report says how often a gold answer stands among the sentences, and how often by chance.

  twowiki arc-da retrieve science_index ARC-DA-v1.1 contexts.jsonl --report retrieval.json
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from twowiki.errors import DataError

if TYPE_CHECKING:
    from twowiki.arc_da.schema import MultipleChoice, Question


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("index", metavar="INDEX", help="folder that `twowiki arc-da index` wrote")
    parser.add_argument("questions", metavar="QUESTIONS", help="ARC-DA, or ARC with --kind mc")
    parser.add_argument("out", metavar="OUT", help="file to write (JSON lines)")
    parser.add_argument("--kind", choices=("da", "mc"), default="da", help="(default da)")
    parser.add_argument("--split", help="train, dev or test alone")
    parser.add_argument(
        "--query",
        choices=("question", "question_options"),
        default="question",
        help="what is looked up; options only for multiple choice (default question)",
    )
    parser.add_argument("--sentences", type=int, default=10, metavar="N", help="(default 10)")
    parser.add_argument(
        "--near",
        type=float,
        default=0.9,
        metavar="SHARE",
        help="of common words from which on a sentence repeats another (default 0.9)",
    )
    parser.add_argument(
        "--keep-copies", action="store_true", help="keep sentences that hold the question"
    )
    parser.add_argument("--batch", type=int, default=100, help="questions at a time (default 100)")
    parser.add_argument("--server", default="", metavar="URL", help="where the server is now")
    parser.add_argument("--restart", action="store_true", help="do not go on from a cut-off run")
    parser.add_argument("--report", metavar="FILE", help="write the quality report as JSON")


def run(args: argparse.Namespace) -> int:
    """Retrieve, write, report."""
    from twowiki.io.files import progress, write_json, write_json_lines
    from twowiki.io.journal import Journal
    from twowiki.retrieval.arc_da_contexts import (
        Wanted,
        batches,
        find_contexts,
        render_quality,
        report_quality,
        to_record,
    )
    from twowiki.retrieval.index import SentenceIndex

    for name in ("sentences", "batch"):
        if getattr(args, name) < 1:
            raise DataError(f"--{name} must be at least 1")
    if not 0 < args.near <= 1:
        raise DataError("--near must lie between 0 and 1")
    wanted = Wanted(args.query, args.sentences, args.near, args.keep_copies)
    index = SentenceIndex(Path(args.index), server=args.server)
    items = read_items(args)
    identity = {**wanted._asdict(), "kind": args.kind, "index": index.short_hash}
    journal_path = Path(f"{args.out}.unfinished")
    journal = Journal(journal_path, identity, key="question_id", restart=args.restart)
    try:
        left = [item for item in items if item.question_id not in journal.records]
        for block in batches(progress(left, what="retrieving", total=len(left)), args.batch):
            contexts = find_contexts(index, block, wanted)
            journal.add(to_record(context, wanted, index.short_hash) for context in contexts)
    finally:
        index.close()
    records = [journal.records[item.question_id] for item in items]
    write_json_lines(args.out, records)
    journal_path.unlink()
    texts = {one["question_id"]: [s["text"] for s in one["sentences"]] for one in records}
    direct = [as_direct(item) for item in items]
    report = {"index": index.manifest, **wanted._asdict(), **report_quality(direct, texts)}
    print(render_quality(report), end="")
    passed: dict[str, int] = {}
    for record in records:
        for reason, count in record["passed_over"].items():
            passed[reason] = passed.get(reason, 0) + count
    for reason, count in sorted(passed.items()):
        print(f"passed over: {reason.replace('_', ' ')}: {count}")
    if args.report:
        write_json(args.report, {**report, "passed_over": passed})
    return 0


def read_items(args: argparse.Namespace) -> list[Question | MultipleChoice]:
    """Read the questions that are looked up, each id once.

    Raises:
        DataError: there is none.
    """
    from twowiki.arc_da.sources import read_gold_questions, read_multiple_choice, split_named

    if args.kind == "da":
        return list(read_gold_questions(args.questions, split=args.split).values())
    wanted = {"validation": "dev"}.get(split_named(args.split or ""), args.split)
    items = [one for one in read_multiple_choice(args.questions) if wanted in (None, one.split)]
    if not items:
        raise DataError("holds no such question", file=args.questions, remedy="Check --split")
    return list(items)


def as_direct(item: Question | MultipleChoice) -> Question:
    """Take a question's gold answers for the report: of multiple choice the right option."""
    from twowiki.arc_da.schema import Question

    if isinstance(item, Question):
        return item
    key = item.key_text
    return Question(item.question_id, None, item.stem, () if key is None else (key,))
