"""Say where a generated sample comes from, or why expected samples did not come back.

  twowiki explain ID --run DIR            statements, pages, rule, template, split of a sample
  twowiki explain --run DIR --against expected.jsonl
                                          which of these samples the run holds, and for each one
                                          that it does not, the reason that dropped it

DIR is the --out of `twowiki generate`.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from twowiki.errors import DataError, require_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("id", nargs="?", help="a sample's _id, or the start of it")
    parser.add_argument(
        "--run", type=Path, default=Path(), metavar="DIR", help="the run (default: this folder)"
    )
    parser.add_argument("--against", type=Path, metavar="FILE", help="expected samples to look for")
    parser.add_argument(
        "--work", type=Path, metavar="DIR", help="the run's --work, where it was not DIR/work"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Explain one sample, or compare with expected ones."""
    if (args.id is None) == (args.against is None):
        raise DataError("give a sample's id, or --against FILE", remedy="One of them, not both.")
    return _recovered(args) if args.against else _explained(args)


def _explained(args: argparse.Namespace) -> int:
    from twowiki.generation.outputs import PROVENANCE
    from twowiki.generation.sampling import read_json_lines

    path = require_file(args.run / PROVENANCE, "Give the --out of `twowiki generate` as --run.")
    found = [row for row in read_json_lines(path, dict) if row["_id"].startswith(args.id)]
    if not found:
        raise DataError(
            f"no sample {args.id!r}", file=path, remedy="Look its _id up in the splits."
        )
    for row in found:
        print(json.dumps(row, ensure_ascii=False, indent=2) if args.json else _render(row))
    return 0


def _render(row: Mapping[str, Any]) -> str:
    lines = [
        f"{row['_id']}  {row['type']}  {row['split']}",
        f"question   {row['question']}",
        f"answer     {row['answer']}",
        f"template   {row['template']}",
    ]
    if "rule" in row:
        rule = " + ".join(row["relations"])
        lines.append(f"rule       {row['rule']}: {rule} = {row['inferred']} ({row['check']})")
    for (subject, relation, target), statement in zip(
        row["evidences"], row["statements"], strict=True
    ):
        lines.append(f"statement  {subject} | {relation} | {target}   [{statement}]")
    for entity, page in zip(row["entities"], row["pages"], strict=True):
        lines.append(f"page       {page}  {entity}")
    for title, sent_id in row["supporting_facts"]:
        lines.append(f"support    {title} [{sent_id}]")
    tiers = (
        "of the gold pages' types, within the 50 nearest",
        "of the gold pages' types, further down than the 50 nearest",
        "of other types as well: too few of the gold pages' types",
    )
    lines.append(f"distractors {tiers[row['distractor_tier']]}")
    lines.append(f"single-hop probe F1 {row['probe_f1']}")
    lines.append("could also be asked as:")
    lines += [f"  {text}" for text in row["wordings"] if text != row["question"]]
    return "\n".join(lines) + "\n"


def _recovered(args: argparse.Namespace) -> int:
    from twowiki.generation.run_comparison import Recovered, missing_lines

    require_file(args.against, "Give records in the authors' form as --against.")
    recovery = Recovered(args.run, args.work).check(args.against)
    reasons = Counter(missing.reason for missing in recovery.missing)
    if args.json:
        print(
            json.dumps(
                {
                    "expected": recovery.expected,
                    "found": recovery.found,
                    "exact_question": recovery.worded,
                    "reasons": dict(sorted(reasons.items())),
                    "missing": {one.record["_id"]: one.reason for one in recovery.missing},
                    "other_wording": [record["_id"] for record in recovery.unworded],
                },
                indent=2,
            )
        )
        return 0
    for line in missing_lines(recovery):
        print(line)
    share = 100 * recovery.found / max(1, recovery.expected)
    print(f"found {recovery.found:,} of {recovery.expected:,} ({share:.1f}%)")
    worded = 100 * recovery.worded / max(1, recovery.found)
    print(f"exact question among our wordings: {recovery.worded:,} of these ({worded:.1f}%)")
    for reason, count in reasons.most_common():
        print(f"{count:>6,}  {reason}")
    return 0
