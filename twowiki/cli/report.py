"""Write a report that people look at: scores, kinds of errors, examples with evidence graphs.

PREDICTIONS, GOLD and --aliases are what `twowiki score` takes. OUT is one HTML page that needs
nothing else: tables by type with intervals, errors counted by kind, examples with gold and
predicted sentences and evidence graphs, filters, and a run's loss curves (--run). It loads
nothing from anywhere and may be sent by mail. The gold is streamed; of a large file the page
shows some examples, chosen by seed, and counts all.

    twowiki report predictions.json dev.json report.html --aliases id_aliases.json
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from twowiki.metric.settings import MATCHINGS, VERSIONS

EXAMPLES = 200
HELD = 1 << 24  # bytes of a gold file that are read at once; a larger one is streamed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("predictions", metavar="PREDICTIONS", help="what the system says (.json, .jsonl, .gz)")
    add("gold", metavar="GOLD", help="what is true: a file, a folder, or a name on the hub")
    add("out", metavar="OUT", help="the page to write (.html)")
    add("--aliases", metavar="FILE", help="id_aliases.json: other names by id")
    add("--run", metavar="DIR", help="a training run's folder: its curves and settings are shown")
    add("--title", metavar="TEXT", help="of the page (default: the predictions' file name)")
    add(
        "--examples",
        type=int,
        default=EXAMPLES,
        metavar="N",
        help=f"how many examples are shown at most (default: {EXAMPLES})",
    )
    add("--seed", type=int, default=0, metavar="N", help="of examples and bootstrap (default: 0)")
    add(
        "--confidence",
        type=float,
        default=0.95,
        metavar="SHARE",
        help="of the intervals; 0 leaves them out (default: 0.95)",
    )
    add("--resamples", type=int, default=1000, metavar="N", help="of the bootstrap (default: 1000)")
    add(
        "--from-llm",
        action="store_true",
        help="PREDICTIONS holds the raw texts of a language "
        'model, one JSON object a line: {"id", "output"}; see `twowiki prompt --help`',
    )
    add("--subset", metavar="FILE", help="these ids alone: one a line, or a JSON list")
    add("--config", metavar="NAME", help="which config of a folder or hub data set")
    add("--split", metavar="NAME", help="which split of it (default: validation)")
    options = parser.add_argument_group("variants", "of the metric, as in `twowiki score`")
    flag = options.add_argument
    flag("--version", choices=VERSIONS, default="1.1", help="the evaluator (default: 1.1)")
    flag("--matching", choices=MATCHINGS, default="official", help="of triples")
    flag("--strict", action="store_true", help="both sides empty: f1, prec, recall 100, not 0")
    flag("--strip-titles", action="store_true", help="ignore blanks at the ends of titles")
    flag("--coerce-indices", action="store_true", help='read sentence ids like "0" as numbers')
    flag("--unicode", action="store_true", help="make dashes, quotes and composed letters equal")


def run(args: argparse.Namespace) -> int:
    """Gather, render, write; say where the page is."""
    from twowiki.errors import DataError
    from twowiki.io.files import write_text
    from twowiki.pages.page import render_page

    if args.examples < 0:
        raise DataError(f"--examples is {args.examples}", remedy="Give 0 or more")
    out = Path(args.out)
    if out.is_dir():
        raise DataError("is a folder", file=out, remedy="Name the page: report.html")
    record = None if args.run is None else read_run(args.run)
    findings = _gather(args)
    title = args.title or f"Report on {Path(args.predictions).name}"
    write_text(out, render_page(findings, title=title, seed=args.seed, run=record))
    report = findings.report
    print(
        f"{out}: {report.n} questions, {len(findings.shown)} shown, "
        f"joint F1 {report.metrics['joint_f1']:.2f}, {out.stat().st_size / 1e6:.1f} MB"
    )
    return 0


def _gather(args: argparse.Namespace) -> Any:
    from twowiki.data.aliases import read_aliases
    from twowiki.io.files import progress
    from twowiki.llm.outputs import read_llm_outputs
    from twowiki.metric.gold_sources import records_of
    from twowiki.metric.predictions import read_predictions
    from twowiki.metric.settings import ScoreSettings
    from twowiki.pages.collect import gather

    settings = ScoreSettings(
        version=args.version,
        matching=args.matching,
        confidence=args.confidence or None,
        resamples=args.resamples,
        seed=args.seed,
        subset=args.subset,
        strict=args.strict,
        strip_titles=args.strip_titles,
        coerce_indices=args.coerce_indices,
        unicode=args.unicode,
    )
    said = (read_llm_outputs if args.from_llm else read_predictions)(args.predictions)
    names = None if args.aliases is None else read_aliases(args.aliases)
    labels, records, origin = records_of(args.gold, args.config, args.split, whole=HELD)
    return gather(
        said,
        progress(records, what="scoring"),
        origin,
        labels,
        settings,
        names=names,
        most=args.examples,
        seed=args.seed,
        command=getattr(args, "command_line", None),
    )


def read_run(place: str) -> dict[str, Any]:
    """Read a run's report.json.

    Args:
        place: the run's folder, or the file itself.
    """
    from twowiki.errors import DataError, require_file
    from twowiki.io.json_files import parse_json, read_bytes, utf8

    path = Path(place) / "report.json" if Path(place).is_dir() else Path(place)
    require_file(path, "Give the folder that train.py wrote (with report.json in it)")
    value = parse_json(utf8(read_bytes(path)[0], path), path)
    if not isinstance(value, dict):
        raise DataError("not a run's report", file=path, remedy="Give a folder of train.py")
    return value
