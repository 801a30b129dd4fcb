"""ARC-DA, the direct-answer version of ARC: data, conversion, metrics, human ratings, retrieval.

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
    "filter": ("filter", "conversion: remove questions that depend on their options"),
    "audit-filter": ("audit_filter", "check the filter's rules against the released questions"),
    "export-tasks": ("export_tasks", "conversion: write tasks for five workers a question"),
    "import-answers": ("import_answers", "conversion: read the workers' answers back"),
    "screen": ("screen", "conversion: keep questions that workers answer alike"),
    "review-export": ("review_export", "conversion: write the table for the expert review"),
    "review-import": ("review_import", "conversion: read the edited table into the log"),
    "release": ("release", "conversion: write the reviewed questions, with provenance"),
    "rate-export": ("rate_export", "human scores: write blind rating tasks"),
    "rate-import": ("rate_import", "human scores: read ratings back"),
    "genie": ("genie", "human scores from ratings, with intervals and agreement"),
    "expert": ("expert", "human scores from experts' partial credit"),
    "metric-agreement": ("metric_agreement", "how far the automatic figures agree with people"),
    "mc-score": ("mc_score", "score generated text on ARC's multiple choice"),
    "index": ("index", "retrieval: index a corpus of sentences"),
    "retrieve": ("retrieve", "retrieval: find ten sentences a question, and report how good"),
    "status": ("status", "conversion: show where it stands, or a question's history"),
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


def written(value: str) -> str:
    """Read an argument that goes into a file, whatever encoding the terminal claims to have.

    Raises:
        argparse.ArgumentTypeError: its bytes are no UTF-8.
    """
    try:
        return value.encode("utf-8", "surrogateescape").decode("utf-8")
    except UnicodeError:
        raise argparse.ArgumentTypeError(f"{value!a} is not UTF-8 text") from None


def run(args: argparse.Namespace) -> int:
    """Run the chosen subcommand; give its exit status."""
    return int(args.run_subcommand(args))
