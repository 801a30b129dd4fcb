"""Report what is odd in raw records, by kind, with counts and ids.

  twowiki validate data_ids_april7.zip
  twowiki validate dev.json --output findings.json

It looks for: files that end early, unreadable records, missing and duplicate ids, unknown types and
relations, supporting titles that the context lacks, sentence ids past a paragraph's end, empty
paragraphs, repeated titles, evidence and support counts that differ, ids that disagree with the
evidences, hidden gold. Findings are no errors: the exit status is 0 unless a file cannot be read to
its end or --strict is given (and then too where questions have it by nature: hidden gold, another
number of evidences).
"""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("source", help="a release's zip, a file, or a folder of files")
    parser.add_argument("--config", help="the release or hotpotqa (default: told from the source)")
    parser.add_argument("--output", help="also write the findings, with all ids, as JSON")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if anything is odd")


def run(args: argparse.Namespace) -> int:
    """Validate and print the findings."""
    from twowiki.data.validation import validate
    from twowiki.io.files import write_json

    findings = validate(args.source, args.config)
    print(findings.render())
    if args.output:
        write_json(args.output, findings.to_dict())
    broken = "broken_file" in findings.counts
    return 1 if broken or (args.strict and not findings.clean) else 0
