"""ARC-DA, the direct-answer version of ARC: data, conversion, metrics, human ratings.

`twowiki arc-da SUBCOMMAND --help` explains a subcommand. The conversion runs in a folder, stage by
stage: filter, export-tasks, import-answers, screen, review-export, review-import, release.
"""

from __future__ import annotations

import argparse
from importlib import import_module

# subcommand -> (module, one line of help)
SUBCOMMANDS = {
    "stats": ("stats", "count questions, answers and words, as in Table 1"),
    "score": ("score", "score a system's answers: F1 and ROUGE-L"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add every subcommand with its own arguments."""
    commands = parser.add_subparsers(dest="subcommand", metavar="SUBCOMMAND", required=True)
    for name, (module_name, text) in SUBCOMMANDS.items():
        module = import_module(f"{__name__}.{module_name}")
        command = commands.add_parser(
            name,
            help=text,
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(command)
        command.set_defaults(run_subcommand=module.run)


def run(args: argparse.Namespace) -> int:
    """Run the chosen subcommand; give its exit status."""
    return int(args.run_subcommand(args))
