"""Write prompts for a language model: {"id", "messages"} (or "prompt"), a line a question.

Forms: closed-book (the question alone), gold-context (the paragraphs that are needed),
full-context (all ten). Each prompt asks for one JSON object:

    {"answer": "...", "supporting_facts": [["title", 0]],
     "evidences": [["subject", "relation", "object"]]}

Run your model on them, write its raw texts as lines {"id": "...", "output": "the model's text"},
and score them with `twowiki score --from-llm outputs.jsonl GOLD`. The reader also takes JSON in
fences or prose, headings such as "Answer: ...", and a bare short answer; it counts what it cannot
read.

    twowiki prompt dev.json prompts.jsonl --form full-context
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import islice
from typing import Any

from twowiki.io.files import write_json_lines

FORMS = ("closed-book", "gold-context", "full-context")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("source", metavar="SOURCE", help="the questions: a file, a release's zip, or a folder")
    add("output", metavar="OUT", help="the file to write (JSON lines)")
    add("--form", choices=FORMS, default="full-context", help="(default: full-context)")
    add("--plain", action="store_true", help="one text a question instead of chat messages")
    add("--shots", type=int, default=0, metavar="N", help="demonstrations before the question")
    add("--shots-from", metavar="FILE", help="where they come from, e.g. train.json")
    add("--seed", type=int, default=0, metavar="N", help="of their choice (default: 0)")
    add("--limit", type=int, metavar="N", help="the first N questions alone")
    add("--config", metavar="NAME", help="which config of a folder or zip")
    add("--split", metavar="NAME", help="which split of a folder or zip (default: validation)")


def run(args: argparse.Namespace) -> int:
    """Write the prompts and say how many."""
    count = write_json_lines(args.output, _lines(args))
    print(f"{count} {args.form} prompts written to {args.output}")
    return 0


def _lines(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    from twowiki.data.sources import examples_of
    from twowiki.errors import DataError
    from twowiki.llm.prompts import draw_shots, messages_for, prompt_for

    shots = []
    if args.shots:
        if not args.shots_from:
            raise DataError("no demonstrations given", remedy="Name a file with --shots-from")
        shots = draw_shots(
            list(examples_of(args.shots_from, args.config, "train")), args.shots, args.seed
        )
    for example in islice(examples_of(args.source, args.config, args.split), args.limit):
        if args.plain:
            yield {"id": example.id, "prompt": prompt_for(example, args.form, shots)}
        else:
            yield {"id": example.id, "messages": messages_for(example, args.form, shots)}
