"""Commands of the conversion of ARC's questions to direct answers, stage by stage in a folder."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from twowiki.arc_da.conversion import workspace
from twowiki.arc_da.conversion.filter import (
    audit_rules,
    load_rules,
    render_audit,
    render_filtered,
)
from twowiki.arc_da.conversion.release import render_stages
from twowiki.arc_da.conversion.review import describe_decision
from twowiki.arc_da.conversion.screening import PAPER_SCREENED, SCREEN_REASONS, ScreenSettings
from twowiki.arc_da.conversion.workflow import (
    export_review,
    export_tasks,
    import_answers,
    import_review,
    question_history,
    read_review,
    run_filter,
    run_release,
    run_screen,
    wanted_people,
)
from twowiki.arc_da.conversion.workspace import RELEASE, REVIEW, TASK_FOLDER, Workspace
from twowiki.arc_da.sources import read_multiple_choice, read_questions
from twowiki.cli.arc_da_score import ARC_PARTS, GOLD, utf8_text
from twowiki.errors import DataError
from twowiki.io.arguments import LARGEST_SEED, argument, positional
from twowiki.io.files import write_json
from twowiki.io.records import read_lines


def _files_of(stage: str) -> list[str]:
    """Return the files that a stage writes at the top of the folder, as endings of its name."""
    written = workspace.STAGES[stage].writes
    return [f"/{name}" for name in written if name not in (TASK_FOLDER, REVIEW, RELEASE)]


@dataclass(frozen=True, kw_only=True)
class StageOptions:
    """The argument of every stage."""

    work: str = positional("the conversion's folder", role="output_folder")


@dataclass(frozen=True, kw_only=True)
class FilterCommand(StageOptions):
    """Run stage 1 of the conversion: read ARC, and remove questions that depend on their options.

    The folder WORK is created here and holds everything that follows. Rules are data: a preset or
    a YAML file. `released` fits the released data; `paper_literal` is the paper's printed list,
    which would remove hundreds of questions that were released.

      twowiki arc-da convert filter work --arc ARC-V1-Feb2018-2 --part train dev
    """

    work: str = positional(
        "the conversion's folder", role="output_folder", writes=_files_of("filter")
    )
    arc: list[str] = argument(
        help="ARC's files, folder or zip", flag=("arc", "arc_dir"), nargs="+", role="input"
    )
    part: list[str] = argument([], "only these splits of ARC", choices=ARC_PARTS, nargs="+")
    rules: str = argument("released", "released, paper_literal, or a YAML file", role="input")
    difficulty: str | None = argument(
        None, "of questions whose file lacks it", choices=("easy", "challenge")
    )
    set_name: str = argument(
        "", "another set than ARC (OpenBookQA, QASC, SciQ, ...): its name, for the tags"
    )
    assume_split: str | None = argument(None, "of questions whose file lacks it", choices=ARC_PARTS)

    def run(self) -> int:
        rules = load_rules(self.rules)
        questions = [
            question._replace(
                difficulty=question.difficulty or self.difficulty,
                split=question.split or self.assume_split,
            )
            for question in read_multiple_choice(self.arc)
        ]
        if self.part:
            questions = [question for question in questions if question.split in self.part]
        with Workspace.opened(self.work, make=True) as work:
            result = run_filter(work, questions, rules, set_name=self.set_name)
        print(render_filtered(result.counts, f"rules '{rules.name}'"), end="")
        if result.counts["asks_earlier"]:
            print(f"{result.counts['asks_earlier']} ask in an earlier sentence than the last")
        if result.was_done:
            print("nothing has changed since the last run")
        print(f"next: twowiki arc-da convert export-tasks {self.work}")
        return 0


@dataclass(frozen=True, kw_only=True)
class AuditFilterCommand:
    """Check the question filter against the release: which released questions would it remove?

    Questions are joined by id. Exit code 1 if more than --allowed percent would be removed.

      twowiki arc-da convert audit-filter ARC-V1-Feb2018-2 ARC-DA-v1.1
      twowiki arc-da convert audit-filter ARC-DIR ARC-DA-v1.1 --rules released paper_literal
    """

    arc: str = positional("ARC's files, folder or zip", role="input")
    arc_da: str = positional(GOLD, role="input")
    rules: list[str] = argument(
        ["released"],
        "rule sets: released, paper_literal, YAML files; the first decides",
        nargs="+",
        role="input",
    )
    allowed: float = argument(1.0, "percentage of violations allowed", minimum=0, maximum=100)
    list_all: bool = argument(False, "list every violation", flag="list")
    json: Path | None = argument(None, "write counts and violations as JSON", role="output")

    def run(self) -> int:
        rule_sets = [load_rules(name) for name in self.rules]
        originals, released = read_multiple_choice(self.arc), list(read_questions(self.arc_da))
        results = [audit_rules(originals, released, rules) for rules in rule_sets]
        if not results[0]["joined"]:
            remedy = "Name the ARC files of the same splits"
            raise DataError("none of its ids is in ARC's files", file=self.arc_da, remedy=remedy)
        listed = len(released) if self.list_all else 10
        print("\n".join(render_audit(found, listed=listed) for found in results), end="")
        if self.json:
            write_json(self.json, results)
        share = 100 * results[0]["violations"] / results[0]["joined"]
        return 1 if share > self.allowed else 0


@dataclass(frozen=True, kw_only=True)
class ExportTasksCommand(StageOptions):
    """Run stage 2 of the conversion: write tasks for the workers who will answer the questions.

    Five workers answer each question. `label-studio` makes tasks and a project to import; `csv`
    makes a sheet for each worker; `mturk` makes an input table and a design for Mechanical Turk.
    All come with a page of instructions. Run again after some answers came back, it writes only
    what is missing.

      twowiki arc-da convert export-tasks work --format label-studio csv
    """

    format: list[str] = argument(
        [],
        "what to write (default: as last time, else label-studio); the sheets (csv) always",
        choices=("label-studio", "csv", "mturk"),
        nargs="+",
    )
    people: int | None = argument(
        None, "workers per question (default: as before, or 5)", minimum=1, maximum=50
    )
    seed: int = argument(0, "seed of the questions' order", minimum=0, maximum=LARGEST_SEED)
    everything: bool = argument(False, "also questions that have all answers", flag="all")
    active: bool | None = argument(
        None, "ask two workers, and one more at a time only where they share no word"
    )
    force: bool = argument(False, "overwrite sheets that were filled in")

    def run(self) -> int:
        formats = list(dict.fromkeys([*self.format, "csv"])) if self.format else None
        with Workspace.opened(self.work) as work:
            result = export_tasks(
                work,
                formats,
                people=self.people,
                seed=self.seed,
                everything=self.everything,
                active=self.active,
                overwrite=self.force,
            )
        counts = result.counts
        print(f"{counts['questions']:,} questions lack {counts['answers_wanted']:,} answers")
        for name in counts["files"]:
            print(f"  {work.path(TASK_FOLDER) / name}")
        for name in result.gone:
            print(f"  {work.path(name)} of the export before was removed")
        print(f"next: twowiki arc-da convert import-answers {self.work} FILES")
        return 0


@dataclass(frozen=True, kw_only=True)
class ImportAnswersCommand(StageOptions):
    """Run stage 3 of the conversion: read the workers' answers back.

    Reads exports of Label Studio (JSON, JSON_MIN, CSV), filled sheets, Mechanical Turk's results,
    and JSON lines with question_id, worker_id, answers, category; their fields tell which they are.
    Answers are merged by question and worker: the latest that can be used counts, the others are
    kept beside it. A file that was read before changes nothing. Workers' ids are
    replaced by a keyed hash; the key stays in WORK/worker.key, and another key is refused later,
    since a person would count twice. Refused answers keep their reason.

      twowiki arc-da convert import-answers work export.json answers_1.csv --worker anna
    """

    work: str = positional(
        "the conversion's folder", role="output_folder", writes=_files_of("import-answers")
    )
    files: list[str] = positional("files with answers", role="input")
    worker: str = argument("", "who filled the sheets, if they do not say it")
    key_file: str | None = argument(
        None, "secret that hides workers' ids (default: in WORK)", metavar="FILE", role="input"
    )

    def run(self) -> int:
        worker = utf8_text(self.worker)
        with Workspace.opened(self.work) as work:
            result = import_answers(work, self.files, worker=worker, key_file=self.key_file)
        counts = result.counts
        came = ", ".join(f"{count} {name}" for name, count in counts["submissions"].items())
        for file in counts["files_known"]:
            print(f"{file}: read before, so it changes nothing")
        print(f"submissions: {came or 'none'}")
        print(f"records: {counts['records']} of {counts['workers']} workers")
        for title in ("status", "refused", "conflicts", "flags", "categories"):
            for name, count in counts[title].items():
                print(f"  {title:<12}{name:<40}{count:>8,}")
        print(f"next: twowiki arc-da convert screen {self.work}")
        return 0


@dataclass(frozen=True, kw_only=True)
class ScreenCommand(StageOptions):
    """Run stage 4 of the conversion: the additional filter.

    Keeps a question if at least two workers answered it and two workers' answers share a word that
    is not a stop word. One that fails while workers are missing is pending: later answers can only
    help it.

      twowiki arc-da convert screen work
    """

    min_workers: int = argument(2, "workers who must have answered", minimum=1)
    min_sharing: int = argument(2, "workers who must share a word", minimum=1)
    people: int | None = argument(
        None, "workers per question (default: as exported, or 5)", minimum=1
    )
    stemming: bool = argument(False, "compare the words' stems")
    least_agreement: float = argument(
        0.0,
        "leave out workers whose answers agree with the others and the right options less often",
        minimum=0,
        below=1,
        metavar="SHARE",
    )
    stop_words: str | None = argument(
        None, "file of words, instead of the built-in list", metavar="FILE", role="input"
    )

    def run(self) -> int:
        with Workspace.opened(self.work) as work:
            people = self.people or wanted_people(work)
            settings = ScreenSettings(self.min_workers, self.min_sharing, people, self.stemming)
            settings = settings._replace(least_agreement=self.least_agreement)
            if self.stop_words:
                words = " ".join(read_lines(self.stop_words)).casefold().split()
                settings = settings._replace(stop_words=tuple(sorted(set(words))))
            result = run_screen(work, settings)
        counts = result.counts
        verdicts = ", ".join(f"{name} {count:,}" for name, count in counts["verdicts"].items())
        print(f"{counts['questions']:,} questions: {verdicts}")
        for name, count in counts["reasons"].items():
            print(f"  {name:<18}{count:>8,}  {SCREEN_REASONS[name]}")
        for name, found in counts.get("unreliable_workers", {}).items():
            print(f"  worker {name} left out: {found['agree']} agree, {found['disagree']} do not")
        share = counts["percent_of_source"]
        removed = "-" if share is None else f"{share:.1f}%"
        print(f"removed {removed} of all of ARC's questions (the paper: {PAPER_SCREENED}%)")
        print(f"next: twowiki arc-da convert review-export {self.work}")
        return 0


@dataclass(frozen=True, kw_only=True)
class ReviewExportCommand(StageOptions):
    """Run stage 5 of the conversion: write the table for the expert review.

    One row per question, to be edited in a spreadsheet or in Label Studio. Change `question` to
    reword it; remove answers from `answers` or add to it (`heat | warm weather`); put short
    versions of long answers into `short`; write `accept` or `reject` into `decision`, and for a
    rejection its `reason`: too_open, invalid, ambiguous, needs_options. Settled questions are not
    shown again.

      twowiki arc-da convert review-export work
    """

    everything: bool = argument(False, "also questions that are settled", flag="all")
    force: bool = argument(False, "overwrite a table that was edited")

    def run(self) -> int:
        with Workspace.opened(self.work) as work:
            counts = export_review(work, everything=self.everything, overwrite=self.force)
        print(f"{counts['exported']:,} of {counts['questions']:,} questions to review")
        print(f"  {work.path(REVIEW) / 'review.csv'}")
        print(f"  {work.path(REVIEW) / 'label_studio_tasks.json'}")
        print(f"next: twowiki arc-da convert review-import {self.work} TABLE --reviewer NAME")
        return 0


@dataclass(frozen=True, kw_only=True)
class ReviewImportCommand(StageOptions):
    """Run stage 6 of the conversion: read the edited table into the journal of decisions.

    Each decision is one record of WORK/60_decisions.jsonl, which only grows: question, decision,
    reviewer, date, reason, what the reviewer was shown and what it became. WORK/60_decisions.csv
    is the same as a table, which this command can read back, in another folder too. A row that
    cannot be applied is reported and skipped; exit code 1 if there were any. Reading the same
    table twice adds nothing.

      twowiki arc-da convert review-import work work/50_review/review.csv --reviewer kim
    """

    table: str = positional(
        "the edited review.csv, an export of Label Studio, or a table of decisions", role="input"
    )
    reviewer: str = argument("", "who reviewed")
    at: str | None = argument(None, "time of the decisions, as 2026-01-31T12:00:00Z (default: now)")
    longest: int = argument(5, "words; longer answers need a short version as well", minimum=1)
    force: bool = argument(False, "apply rows that another reviewer changed since")

    def run(self) -> int:
        try:
            time = datetime.now(UTC) if self.at is None else datetime.fromisoformat(self.at)
        except ValueError:
            remedy = "Write 2026-01-31T12:00Z"
            raise DataError(f"--at {self.at!r} is not a time", remedy=remedy) from None
        with Workspace.opened(self.work) as work:
            found = import_review(
                work,
                self.table,
                reviewer=utf8_text(self.reviewer),
                at=time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                longest=self.longest,
                force=self.force,
            )
        for name, count in found.counts.items():
            print(f"{name:<20}{count:>8,}")
        for question_id, problem in found.problems:
            print(f"{question_id}: {problem}", file=sys.stderr)
        left = found.problems or found.counts.get("undecided")
        step = "review-export" if left else "release"
        print(f"next: twowiki arc-da convert {step} {self.work}")
        return 1 if found.problems else 0


@dataclass(frozen=True, kw_only=True)
class ReleaseCommand(StageOptions):
    """Run stage 7 of the conversion: write the reviewed questions in ARC-DA's format.

    WORK/90_release gets a JSON-lines file per split, provenance.jsonl (for each answer, who gave
    it, and which decisions made it), stats.json and a card. The same data and decisions give the
    same bytes.

      twowiki arc-da convert release work
    """

    allow_repeats: str | None = argument(
        None, "file of question ids whose text may be in two splits", metavar="FILE", role="input"
    )

    def run(self) -> int:
        allowed = read_lines(self.allow_repeats) if self.allow_repeats else []
        with Workspace.opened(self.work) as work:
            result = run_release(work, allowed=[name.strip() for name in allowed if name.strip()])
            state = work.stage_states()["screen"]
        print(render_stages(result.counts), end="")
        for file in sorted(work.path(RELEASE).iterdir()):
            print(f"  {file}")
        if state.startswith("stale"):
            print(f"note: screen is {state}; run it again", file=sys.stderr)
        return 0


@dataclass(frozen=True, kw_only=True)
class StatusCommand(StageOptions):
    """Show where a conversion is: each stage's state, what each removed, one question's history.

    twowiki arc-da convert status work
    twowiki arc-da convert status work --question ARCEZ_Mercury_7041633
    """

    question: str | None = argument(None, "print the decisions on this question", metavar="ID")

    def run(self) -> int:
        with Workspace.opened(self.work) as work:
            if not work.manifest():
                remedy = f"Begin with: twowiki arc-da convert filter {self.work} --arc ARC"
                raise DataError("no conversion has begun here", file=self.work, remedy=remedy)
            if self.question:
                for decision in question_history(work, self.question):
                    print(describe_decision(decision))
                return 0
            states = work.stage_states()
            for name, state in states.items():
                print(f"{name:<18}{state}")
            print(f"workers per question: {wanted_people(work)}")
            if workspace.FILTERED in states["screen"]:
                print(f"no counts, for {workspace.FILTERED} changed since the screening")
            elif work.path(workspace.SCREENED).exists():
                counts = read_review(work).stage_counts()
                print("\n" + render_stages(counts), end="")
        waiting = next((name for name, state in states.items() if state != "done"), None)
        command = f"{workspace.CONVERT} {waiting} {self.work}"
        print(f"next: {command}" if waiting else "all stages are done")
        return 0
