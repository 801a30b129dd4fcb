"""Commands on predictions: score, report page, submission file, and prompts for language models."""

from __future__ import annotations

import gc
import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twowiki.cli.options import PromptOptions, RetrievedOptions, SplitOptions
from twowiki.errors import DataError
from twowiki.io.arguments import argument, positional, settings_of
from twowiki.io.files import progress, write_json, write_json_lines, write_text
from twowiki.metric.settings import ScoreSettings

if TYPE_CHECKING:
    from twowiki.data.schema import Example
    from twowiki.metric.predictions import PredictionSet
    from twowiki.metric.report import Report
    from twowiki.pages.collect import ReportFindings

REPORT_HELD = 1 << 24  # bytes of a gold file that are read at once; a larger one is streamed
PREDICTIONS = "the system's predictions (.json, .jsonl, .gz)"
FROM_LLM = (
    "PREDICTIONS is a language model's raw output, one JSON object per line: "
    '{"id", "output"}; see `twowiki prompt --help`'
)


@dataclass(frozen=True, kw_only=True)
class ScoreCommand(RetrievedOptions, ScoreSettings):
    """Score predictions: answer, supporting facts, evidence, and the three together (joint).

    Equal to the authors' evaluator 1.1 to the last digit, corner cases included. PREDICTIONS is
    the official file {"answer": {id: ...}, "sp": ..., "evidence": ...}, or JSON lines {"id",
    "answer", "supporting_facts", "evidences"}. GOLD is dev.json, a release's zip, an exported or
    hub-style folder (its validation split), Parquet, or a data set's name on the hub. ALIASES is
    the release's id_aliases.json; without it only the gold's own texts count. With the --rankings
    that a system was asked with, a table shows which step failed: a page that was not found, one
    that was found and not used, or the answer.

      twowiki score predictions.json dev.json id_aliases.json --by-type --confidence 0.95
      twowiki score predictions.json dev.json --rankings rankings.jsonl --paragraphs 10
    """

    predictions: str = positional(PREDICTIONS, role="input")
    gold: str = positional("the gold: a file, a folder, or a name on the hub", role="input")
    aliases: str | None = positional("id_aliases.json: other names by id", None, role="input")
    compare: str | None = argument(
        None, "another system's predictions, for a paired test", role="input"
    )
    sub_answers: str | None = argument(
        None,
        "predictions for `export --format sub-questions`: scores of each hop",
        role="input",
        metavar="FILE",
    )
    output: Path | None = argument(None, "write the report as JSON", role="output")
    per_example: Path | None = argument(
        None, "write each example's metrics as JSON lines", role="output"
    )
    json: bool = argument(False, "print the report as JSON instead of tables")
    from_llm: bool = argument(False, FROM_LLM)
    command: tuple[str, ...] = argument((), flag=False)

    def run(self) -> int:
        from twowiki.io.records import collector_paused

        with collector_paused():
            report = self._report()
            try:
                if self.output:
                    write_json(self.output, report.to_dict())
                if self.per_example:
                    write_json_lines(self.per_example, report.per_example())
            finally:  # the scores are shown even if the files cannot be written
                for warning in report.warnings:
                    print(f"warning: {warning}", file=sys.stderr)
                print(json.dumps(report.to_dict()) if self.json else report.render(warnings=False))
            gc.freeze()  # the process ends here: nothing is left to collect
        return 0

    def _report(self) -> Report:
        from twowiki.metric.score import score

        predictions: Any = self.predictions
        other: Any = self.compare
        if self.from_llm:
            from twowiki.llm.outputs import read_llm_outputs

            predictions = read_llm_outputs(predictions)
            other = other and _read_either(other)
        return score(
            predictions,
            self.gold,
            self.aliases,
            compare_with=other,
            ranked=self.ranked_titles(),
            sub_answers=self.sub_answers,
            command=shlex.join(self.command) or None,
            settings=settings_of(ScoreSettings, self),
        )


def _read_either(path: str) -> PredictionSet:
    """Read the other system's file: predictions, or a model's raw output."""
    from twowiki.llm.outputs import read_llm_outputs
    from twowiki.metric.predictions import read_predictions

    try:
        return read_predictions(path)
    except DataError as error:
        try:
            return read_llm_outputs(path)
        except DataError:
            raise error from None


@dataclass(frozen=True, kw_only=True)
class ReportCommand(RetrievedOptions, ScoreSettings):
    """Write a report page of one system, or of several side by side.

    PREDICTIONS, GOLD and --aliases are those of `twowiki score`, and so are the scores. OUT is one
    HTML page that needs nothing else: tables by type with intervals, errors counted by kind, every
    question with its scores to filter, sort and download, examples with gold and predicted
    sentences and evidence graphs, and a run's loss curves (--run). With several files the page
    compares them: differences with intervals and p-values, what changed side, errors beside each
    other. It loads nothing from anywhere and can be sent by mail. The gold is streamed.

      twowiki report predictions.json dev.json report.html --aliases id_aliases.json
      twowiki report small.json large.json dev.json report.html --names small large
    """

    predictions: list[str] = positional(f"{PREDICTIONS}; one file or several", role="input")
    gold: str = positional("the gold: a file, a folder, or a name on the hub", role="input")
    out: Path = positional("the page to write (.html)", role="output", keeps=".html")
    aliases: str | None = argument(
        None, "id_aliases.json: other names by id", metavar="FILE", role="input"
    )
    names: list[str] = argument(
        [], "names of the systems, in the files' order (default: the files' names)", nargs="+"
    )
    run_dir: str | None = argument(
        None,
        "the folder of the training run that made the predictions: its curves and settings",
        flag="run",
        metavar="DIR",
        role="input",
    )
    title: str | None = argument(None, "title of the page (default: the systems' names)")
    examples: int = argument(
        200, "largest number of questions shown with their sentences", minimum=0
    )
    sub_answers: list[str] = argument(
        [],
        "predictions for `export --format sub-questions`, one file for each of PREDICTIONS: "
        "scores of each hop",
        nargs="+",
        role="input",
        metavar="FILE",
    )
    confidence: float | None = argument(
        0.95, "of the intervals; 0 leaves them out", minimum=0, below=1, metavar="SHARE"
    )
    from_llm: bool = argument(False, FROM_LLM)
    by_type: bool = argument(False, flag=False)
    contains: bool = argument(False, flag=False)
    command: tuple[str, ...] = argument((), flag=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "confidence", self.confidence or None)
        super().__post_init__()
        if self.names:
            check_names_fit(self.names, self.predictions)
        if self.sub_answers and len(self.sub_answers) != len(self.predictions):
            problem = f"--sub-answers has {len(self.sub_answers)} files for {len(self.predictions)}"
            raise DataError(problem, remedy="Name one file for each of PREDICTIONS, in their order")

    def run(self) -> int:
        from twowiki.metric.tables import format_score
        from twowiki.pages.page import render_page
        from twowiki.pages.run_curves import read_run

        run = None if self.run_dir is None else read_run(Path(self.run_dir))
        findings = self._findings()
        if run is not None:
            run.check(findings.systems, str(self.run_dir))
        called = [system.name for system in findings.systems]
        title = self.title or f"Report on {', '.join(called)}"
        write_text(self.out, render_page(findings, title=title, seed=self.seed, run=run))
        headline = "joint_f1" if findings.report.metrics["joint_f1"] is not None else "f1"
        scores = "; ".join(
            f"{system.name} {format_score(system.report.metrics[headline])}"
            for system in findings.systems
        )
        scores = scores if len(called) > 1 else scores.removeprefix(f"{called[0]} ")
        print(
            f"{self.out}: {findings.report.n} questions, {len(findings.shown)} shown, "
            f"{headline.replace('_f1', '').replace('f1', 'answer')} F1 {scores}, "
            f"{self.out.stat().st_size / 1e6:.1f} MB"
        )
        return 0

    def _findings(self) -> ReportFindings:
        from twowiki.data.aliases import read_aliases
        from twowiki.llm.outputs import read_llm_outputs
        from twowiki.metric.gold_sources import open_gold
        from twowiki.metric.predictions import read_predictions
        from twowiki.metric.score import ScoreRun
        from twowiki.pages.collect import collect_findings

        read = read_llm_outputs if self.from_llm else read_predictions
        predictions = [read(path) for path in self.predictions]
        hops = [read_predictions(path) for path in self.sub_answers]
        gold = open_gold(self.gold, config=self.config, split=self.split, largest_held=REPORT_HELD)
        gold.records = progress(gold.records, what="scoring")
        settings = replace(settings_of(ScoreSettings, self), by_type=True)
        ranked = self.ranked_titles()
        aliases = None if self.aliases is None else read_aliases(self.aliases)
        runs = [
            ScoreRun(one, reader, settings, aliases=aliases, ranked=ranked, sub_answers=steps)
            for one, reader, steps in zip(
                predictions, gold.in_step(len(predictions)), hops or repeat(None), strict=False
            )
        ]
        return collect_findings(
            *runs,
            most=self.examples,
            seed=self.seed,
            command=shlex.join(self.command) or None,
            names=self.names,
        )


@dataclass(frozen=True, kw_only=True)
class LeaderboardCommand:
    """Write a page of the saved reports of several systems, the best joint F1 first.

    A report is what `twowiki score --output REPORT.json` wrote; with --by-type and --confidence it
    has scores by type and intervals. Neither gold nor predictions are read. Reports that were made
    with other options or versions, or of another gold, are refused by name.

      twowiki leaderboard small.json large.json leaderboard.html --names small large
    """

    reports: list[str] = positional("reports of `twowiki score --output`", role="input")
    out: Path = positional("the page to write (.html)", role="output", keeps=".html")
    names: list[str] = argument(
        [], "names of the systems (default: the files of their predictions)", nargs="+"
    )
    title: str = argument("Leaderboard", "title of the page")
    command: tuple[str, ...] = argument((), flag=False)

    def run(self) -> int:
        from twowiki.pages.leaderboard import (
            check_comparable,
            read_saved_report,
            render_leaderboard,
        )

        if self.names:
            check_names_fit(self.names, self.reports)
        reports = [read_saved_report(Path(path)) for path in self.reports]
        check_comparable(reports)
        command = shlex.join(self.command) or None
        page = render_leaderboard(reports, title=self.title, names=self.names, command=command)
        write_text(self.out, page)
        print(f"{self.out}: {len(reports)} systems, {reports[0].n} questions")
        return 0


def check_names_fit(names: Sequence[str], files: Sequence[str]) -> None:
    """Raise unless there is one name for each file, and none stands twice."""
    if len(names) != len(files) or len(set(names)) < len(names):
        problem = f"--names has {len(set(names))} names for {len(files)} files"
        raise DataError(problem, remedy="Name each file once, by different names")


@dataclass(frozen=True, kw_only=True)
class SubmissionCommand(SplitOptions):
    """Write the file for the authors' leaderboard, which scores the hidden test split.

    PREDICTIONS in any form that `twowiki score` reads; TEST is the release's test split. The file
    has the official form, one entry per test question in the split's order; malformed and missing
    predictions are reported first.

      twowiki submission predictions.jsonl test.json submission.json
    """

    predictions: str = positional(PREDICTIONS, role="input")
    test: str = positional("the test split: a file, a release's zip, or a folder", role="input")
    output: Path = positional("the file to write", metavar="OUT", role="output")
    allow_missing: bool = argument(False, "write empty values for missing predictions")
    from_llm: bool = argument(False, FROM_LLM)
    split: str | None = argument("test", "split of a folder or zip", metavar="NAME")

    def run(self) -> int:
        from twowiki.data.sources import examples_of
        from twowiki.llm.outputs import read_llm_outputs
        from twowiki.metric.predictions import NEXT_STEPS, make_submission, read_predictions

        read = read_llm_outputs if self.from_llm else read_predictions
        predictions = read(self.predictions)
        questions = examples_of(self.test, self.config, self.split)
        made = make_submission(predictions, questions, allow_missing=self.allow_missing)
        warnings = list(predictions.notes)
        if made.missing:
            warnings.append(f"{len(made.missing)} questions are incomplete")
        if made.unknown_titles:
            warnings.append(
                f"the facts of {len(made.unknown_titles)} questions name a title that the "
                f"question's context lacks (first: {made.unknown_titles[0]})"
            )
        if made.extra:
            warnings.append(f"{made.extra} predicted ids are not in the split")
        for warning in warnings:
            print(f"warning: {warning}", file=sys.stderr)
        write_json(self.output, made.blocks, indent=None)
        print(f"{len(made.blocks['answer'])} questions written to {self.output}\n{NEXT_STEPS}")
        return 0


@dataclass(frozen=True, kw_only=True)
class PromptCommand(PromptOptions, SplitOptions):
    """Write prompts for a language model: one line {"id", "messages"} (or "prompt") per question.

    Forms: closed-book (only the question), gold-context (the paragraphs that are needed),
    full-context (all ten), retrieved (those of --rankings). Each prompt asks for one JSON object:

        {"answer": "...", "supporting_facts": [["title", 0]],
         "evidences": [["subject", "relation", "object"]]}

    Run your model on them, write its raw output as lines {"id": "...", "output": "..."}, and score
    them with `twowiki score --from-llm outputs.jsonl GOLD`. The reader also takes JSON in fences or
    prose, headings such as "Answer: ...", and a bare short answer; it counts what it cannot read.

      twowiki prompt dev.json prompts.jsonl --form full-context
      twowiki prompt dev.json prompts.jsonl --rankings rankings.jsonl --paragraphs 5
    """

    source: str = positional("the questions: a file, a release's zip, or a folder", role="input")
    output: Path = positional("the file to write (JSON lines)", metavar="OUT", role="output")
    plain: bool = argument(False, "one text per question instead of chat messages")

    def run(self) -> int:
        count = write_json_lines(self.output, self._lines())
        print(f"{count} {self.prompt_form()} prompts written to {self.output}")
        return 0

    def _lines(self) -> Iterator[dict[str, Any]]:
        from twowiki.data.sources import examples_of
        from twowiki.llm.prompts import messages_for, prompt_for

        def questions() -> Iterator[Example]:
            return islice(examples_of(self.source, self.config, self.split), self.limit)

        shots = self.draw_examples(questions()) if self.shots else []
        examples = questions()
        form = self.prompt_form()
        for example in self.with_contexts(examples):
            if self.plain:
                yield {"id": example.id, "prompt": prompt_for(example, form, shots)}
            else:
                yield {"id": example.id, "messages": messages_for(example, form, shots)}
