"""The command line: `twowiki COMMAND ...`. Thin: it finds the command and prints its errors.

Only the chosen command's module is imported, so that `twowiki score --help` is instant.
"""

from __future__ import annotations

import argparse
import io
import os
import shlex
import sys
from collections.abc import Sequence
from importlib import import_module

from twowiki._version import __version__
from twowiki.errors import DataError

# command -> (module, one line of help)
COMMANDS = {
    "arc-da": ("twowiki.cli.arc_da", "ARC-DA: statistics, scores, conversion, human ratings"),
    "generate": ("twowiki.cli.generate", "dumps in, a 2Wiki-style data set out"),
    "world": ("twowiki.cli.world", "write a fictional world's dumps; measure difficulty"),
    "verify": ("twowiki.cli.verify", "compare two generated data sets"),
    "explain": ("twowiki.cli.explain", "say where a generated sample comes from"),
    "export": ("twowiki.cli.export", "write typed Parquet shards and a card"),
    "validate": ("twowiki.cli.validate", "report what is odd in raw records"),
    "predict": ("twowiki.cli.predict", "a saved model's predictions on a split"),
    "push": ("twowiki.cli.push", "a model, data set, metric or demo to the hub"),
    "card": ("twowiki.cli.card", "a trained model's card, from its run's report"),
    "convert-baseline": (
        "twowiki.cli.convert_baseline",
        "the authors' checkpoint to a model folder",
    ),
    "submission": ("twowiki.cli.submission", "the file for the authors' leaderboard"),
    "prompt": ("twowiki.cli.prompt", "questions as prompts for a language model"),
    "corpus": ("twowiki.cli.corpus", "the distinct paragraphs, for retrieval"),
    "qrels": ("twowiki.cli.qrels", "which paragraphs are relevant to which question"),
    "retrieval": ("twowiki.cli.retrieval", "title_recall@k and all_gold@k of rankings"),
    "report": ("twowiki.cli.report", "a page of scores, errors and examples"),
    "score": ("twowiki.cli.score", "answers, supporting facts, evidence and joint"),
    "stats": ("twowiki.cli.stats", "print the paper's tables for any split"),
}

# package -> the extra that brings it
EXTRA_OF = {
    **dict.fromkeys(("torch", "transformers", "accelerate", "safetensors", "matplotlib"), "train"),
    **dict.fromkeys(("evaluate", "rouge_score"), "metric"),
    **dict.fromkeys(("duckdb", "scipy", "isal", "orjson"), "generate"),
    **dict.fromkeys(("bm25s", "tantivy"), "retrieval"),
    **dict.fromkeys(("peft", "gguf", "sentencepiece"), "text"),
    "spacy": "spacy",
    "pyspark": "spark",
    "gradio": "demo",
}


def overview() -> argparse.ArgumentParser:
    """Make the parser that `twowiki --help` shows."""
    parser = argparse.ArgumentParser(
        prog="twowiki",
        description="2WikiMultiHopQA and ARC-DA: data, metrics, models, generation.",
        epilog="`twowiki COMMAND --help` explains a command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"twowiki {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, (_, text) in COMMANDS.items():
        commands.add_parser(name, help=text, add_help=False)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; give the exit status (0 fine, 1 a finding, 2 unusable input)."""
    for stream in (sys.stdout, sys.stderr):  # a terminal without a letter shows its number
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] not in COMMANDS:
        overview().parse_args(given or ["--help"])
        return 2
    module = import_module(COMMANDS[given[0]][0])
    parser = argparse.ArgumentParser(
        prog=f"twowiki {given[0]}",
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_arguments(parser)
    intermixed = getattr(module, "INTERMIXED", False)  # paths may stand between the flags
    args = (parser.parse_intermixed_args if intermixed else parser.parse_args)(given[1:])
    args.command_line = shlex.join(["twowiki", *given])  # for reports
    try:
        return int(module.run(args))
    except BrokenPipeError:  # the reader (`| head`) has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except ModuleNotFoundError as error:
        extra = EXTRA_OF.get((error.name or "").split(".")[0])
        if extra is None:
            raise
        print(
            f"twowiki {given[0]}: it needs the package {error.name!r}. "
            f"Install it with: pip install 'twowiki[{extra}]'",
            file=sys.stderr,
        )
        return 2
    except (DataError, OSError) as error:
        print(f"twowiki {given[0]}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"twowiki {given[0]}: stopped", file=sys.stderr)
        return 130
