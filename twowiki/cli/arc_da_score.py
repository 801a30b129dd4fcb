"""Commands of ARC-DA: statistics, automatic scores, human ratings and scores."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from twowiki._version import __version__
from twowiki.arc_da import sources, statistics
from twowiki.arc_da.metric import report as reports
from twowiki.arc_da.metric.comparison import compare_systems, render_comparison
from twowiki.arc_da.metric.multiple_choice import render_choices, score_choices
from twowiki.arc_da.metric.report import without_choice_golds
from twowiki.arc_da.metric.scoring import EXTRAS
from twowiki.arc_da.predictions import read_answers, read_ids
from twowiki.arc_da.schema import MultipleChoice, Question
from twowiki.arc_da.sources import read_gold_questions, read_multiple_choice
from twowiki.data.splits import split_named
from twowiki.errors import DataError, existing_file
from twowiki.human.agreement import without_nan
from twowiki.human.pseudonyms import pseudonym, read_secret
from twowiki.human.ratings import read_ratings
from twowiki.human.scores import HumanSettings, render_scores, score_experts, score_ratings
from twowiki.human.tasks import (
    RATINGS,
    make_tasks,
    merge_ratings,
    rating_task_files,
    read_key,
    read_task_ratings,
)
from twowiki.io.arguments import (
    LARGEST_SEED,
    MOST_RESAMPLES,
    argument,
    positional,
    settings_of,
)
from twowiki.io.files import (
    check_unedited,
    locked,
    sha256_of,
    write_json,
    write_json_lines,
    write_text,
    write_together,
)

GOLD = "ARC-DA: a file, the release's folder or its zip"
ANSWER_FILES = "the system's answers: .jsonl, .json, .csv, .tsv, .txt"
ARC_PARTS = ("train", "dev", "test")
SPLIT = "train, dev or test, if the gold has several splits"


def utf8_text(value: str) -> str:
    """Return an argument that goes into a file as text, whatever the terminal's encoding.

    Raises:
        DataError: its bytes are not UTF-8.
    """
    try:
        return value.encode("utf-8", "surrogateescape").decode("utf-8")
    except UnicodeError:
        raise DataError(f"{value!a} is not UTF-8 text") from None


def named_files(pairs: list[str]) -> dict[str, str]:
    """Return the files of NAME=FILE pairs by name.

    Raises:
        DataError: there is no `=`, or a name is repeated.
    """
    files: dict[str, str] = {}
    for pair in pairs:
        name, mark, file = pair.partition("=")
        if not mark or not name or not file or name in files:
            raise DataError(f"{pair!r} is not a new NAME=FILE", remedy="Write --system t5=t5.jsonl")
        files[utf8_text(name)] = file
    return files


@dataclass(frozen=True, kw_only=True)
class BootstrapOptions:
    """The options of every report with intervals."""

    resamples: int = argument(10_000, "bootstrap resamples", minimum=1, maximum=MOST_RESAMPLES)
    seed: int = argument(0, "seed of every draw", minimum=0, maximum=LARGEST_SEED)
    out: Path | None = argument(None, "write the report as JSON", role="output")


@dataclass(frozen=True, kw_only=True)
class ArcDaStatsCommand:
    """Count questions, answers and words of ARC-DA by split, as Table 1 of the paper does.

    "Words per answer" has two readings: the mean over answers, and the mean of per-question means;
    both are printed. Release v1.1 is not the version that the paper's Table 1 describes.

      twowiki arc-da stats ARC-DA-v1.1 --arc ARC-V1-Feb2018-2
    """

    source: str = positional(GOLD, role="input")
    split: str | None = argument(None, "train, dev or test (default: all)")
    arc: list[str] = argument(
        [],
        "ARC's files, to join the options",
        flag=("arc", "arc_dir"),
        metavar="DIR",
        nargs="+",
        role="input",
    )
    types: str | None = argument(
        None,
        "knowledge and reasoning types by id: print their shares (and ARC's, with --arc)",
        metavar="FILE",
        role="input",
    )
    json: Path | None = argument(None, "write the counts as JSON too", role="output")

    def run(self) -> int:
        originals = sources.read_multiple_choice(self.arc) if self.arc else []
        arc = sources.index_by_id(originals) if self.arc else None
        splits = list(sources.find_question_splits(self.source))
        if self.split:
            splits = [split_named(self.split)]
        questions = {
            split: list(sources.read_questions(self.source, split=split, arc=arc))
            for split in splits
        }
        counts = {split: statistics.count_split(listed) for split, listed in questions.items()}
        repeats = statistics.find_repeats(questions)
        print(statistics.render_statistics(counts, repeats), end="")
        report: dict[str, Any] = {"splits": counts, "repeats": repeats}
        if self.types:
            types = statistics.read_types(self.types)
            ids = [(q.question_id, q.arc_id) for listed in questions.values() for q in listed]
            shares = {"ARC-DA": statistics.count_types(types, ids)}
            if originals:
                arc_ids = [(question.question_id, question.id) for question in originals]
                shares["ARC"] = statistics.count_types(types, arc_ids)
            print("\n" + statistics.render_types(shares), end="")
            report["types"] = shares
        if self.json:
            write_json(self.json, report)
        return 1 if repeats["same_id"] else 0


@dataclass(frozen=True, kw_only=True)
class ArcDaScoreCommand(BootstrapOptions):
    """Score a system's answers against ARC-DA's gold answers: F1 and ROUGE-L, 0-100.

    Both take the best gold answer of each question, then the mean over questions. The table has
    95% bootstrap intervals, and counts what the metrics do not see. A missing answer scores 0; a
    question without gold answers is left out; both are listed in the report.

      twowiki arc-da score predictions.jsonl ARC-DA-v1.1 --split dev
      twowiki arc-da score mine.jsonl dev.jsonl --versus other.jsonl --out report.json
    """

    predictions: str = positional(ANSWER_FILES, role="input")
    gold: str = positional(GOLD, role="input")
    split: str | None = argument(None, SPLIT)
    subset: str | None = argument(
        None, "score only the ids listed in this file", metavar="FILE", role="input"
    )
    versus: list[str] = argument(
        [], "files of other systems, for a paired test", nargs="+", role="input"
    )
    also: list[str] = argument(
        [],
        f"metrics beside F1 and ROUGE-L, never instead of them: {', '.join(EXTRAS)}",
        choices=tuple(EXTRAS),
        metavar="METRIC",
        nargs="+",
    )
    judge: str | None = argument(
        None,
        "also judge by meaning with a local model: a sentence encoder, a classifier for entailment "
        "or paraphrases, or a language model",
        metavar="MODEL",
        role="input",
    )
    trained: str | None = argument(
        None,
        "folder of the model that answered: count the questions that it was trained on",
        metavar="MODEL",
        role="input",
    )
    golds: str = argument(
        "all",
        "no_mc: remove the multiple-choice original's right option from the gold answers",
        choices=("all", "no_mc"),
    )
    arc: list[str] = argument(
        [],
        "ARC's files, for --golds no_mc",
        flag=("arc", "arc_dir"),
        metavar="DIR",
        nargs="+",
        role="input",
    )
    by: list[str] = argument(
        ["difficulty"],
        "groups to print; the report has all of them",
        choices=("difficulty", "gold_answers", "question_word"),
        nargs="+",
    )
    confidence: float = argument(0.95, "confidence of the intervals", above=0, below=1)
    rounds: int = argument(10_000, "rounds of the paired test", minimum=1, maximum=MOST_RESAMPLES)
    rows: Path | None = argument(None, "write one record per question (.jsonl)", role="output")
    page: Path | None = argument(
        None, "write an HTML page of scores and sample questions", role="output", keeps=".html"
    )
    from_llm: bool = argument(
        False, 'the files are language models\' raw outputs, one {"id", "output"} per line'
    )
    command: tuple[str, ...] = argument((), flag=False)

    def run(self) -> int:
        extras = tuple(dict.fromkeys(self.also))
        settings = settings_of(reports.ArcDaSettings, self, extras=extras)
        everything, questions = self._read_gold()
        systems = {}
        for name in dict.fromkeys([self.predictions, *self.versus]):
            answers = self._read_answers(name, everything)
            systems[name] = reports.score_system(questions, answers, settings.extras)
        if not systems[self.predictions].scores:
            remedy = "A blind test set cannot be scored here"
            raise DataError("no question has a gold answer", file=self.gold, remedy=remedy)
        if self.judge:
            systems = _judged(self.judge, systems)
        first = systems.pop(self.predictions)
        report = reports.summarize_system(first, settings)
        if self.golds == "no_mc":
            joined = sum(question.key_text is not None for question in first.questions.values())
            report["right_options_known"] = joined
        print(reports.render_arc_da_report(report, groups=self.by), end="")
        if self.golds == "no_mc":
            count = f"{joined} of {report['n']} questions"
            print(f"right options known, and no gold answers: {count}")
        if self.trained:
            report["trained_on"] = _trained_questions(self.trained, first.questions)
        if systems:
            report["versus"] = compare_systems(first, systems, settings, rounds=self.rounds)
            print("\n" + render_comparison(report["versus"]), end="")
        if self.out:
            write_json(self.out, without_nan({**report, "run": self._provenance()}))
        if self.rows:
            write_json_lines(self.rows, reports.answer_records(first))
        if self.page:
            self._write_page(self.page, report, first)
        return 0

    def _write_page(self, page: Path, report: dict[str, Any], scored: reports.SystemScores) -> None:
        from twowiki.pages.arc_da_page import render_arc_da_page

        title = f"ARC-DA: {Path(self.predictions).name}"
        command = utf8_text(shlex.join(self.command)) or None
        text = render_arc_da_page(report, scored, title=title, seed=self.seed, command=command)
        write_text(page, text)

    def _read_answers(self, name: str, gold: Mapping[str, Question]) -> dict[str, str]:
        """Read a system's answers, or take them out of its raw outputs."""
        if not self.from_llm:
            return read_answers(name, gold)
        from twowiki.llm.outputs import read_science_outputs

        answers, note = read_science_outputs(name, gold)
        print(f"{name}: {note}", file=sys.stderr)
        return answers

    def _read_gold(self) -> tuple[Mapping[str, Question], Mapping[str, Question]]:
        """Return all of the gold, and the questions to be scored."""
        splits = sources.find_question_splits(self.gold)
        if self.split is None and len(splits) > 1:
            problem = f"has several splits: {', '.join(splits)}"
            raise DataError(problem, file=self.gold, remedy="Name one with --split")
        everything = sources.read_gold_questions(self.gold, split=self.split)
        questions: Mapping[str, Question] = everything
        if self.golds == "no_mc":
            if not self.arc:
                remedy = "Name them with --arc DIR"
                raise DataError("--golds no_mc needs ARC's files", remedy=remedy)
            arc = sources.index_by_id(sources.read_multiple_choice(self.arc))
            questions = without_choice_golds(everything, arc)
            if not any(question.key_text is not None for question in questions.values()):
                problem = "has none of these questions, so --golds no_mc has no effect"
                remedy = "Name the ARC files of the same splits"
                raise DataError(problem, file=self.arc[0], remedy=remedy)
        if self.subset:
            questions = {record: questions[record] for record in read_ids(self.subset, everything)}
        return everything, questions

    def _provenance(self) -> dict[str, Any]:
        """Return the files, versions and command that made the report."""
        named = [self.predictions, *self.versus, self.gold, *filter(None, [self.subset])]
        return {
            "command": [utf8_text(word) for word in self.command],
            "files": {utf8_text(name): sha256_of(name) for name in named if Path(name).is_file()},
            "versions": {"twowiki": __version__, "python": sys.version.split()[0]},
        }


def _trained_questions(model: str, questions: Mapping[str, Question]) -> list[str]:
    """Print and return which questions a model was trained on."""
    from twowiki.text2text.arc_da_instances import (
        QUESTIONS_FILE,
        describe_trained,
        read_training_record,
        trained_on,
    )

    record = read_training_record(model)
    if record is None:
        remedy = (
            f"Name the folder of a model that was trained on ARC-DA (it holds {QUESTIONS_FILE})"
        )
        raise DataError("has no record of its training questions", file=model, remedy=remedy)
    found = trained_on(questions.values(), record)
    count = len(questions)
    print(describe_trained(found, count) if found else f"trained on: none of these {count}")
    return found


def _judged(
    model: str, systems: Mapping[str, reports.SystemScores]
) -> dict[str, reports.SystemScores]:
    """Add a judge's values to the scores of systems."""
    from twowiki.text2text.judge import Judgment, load_judge

    judge = load_judge(model)
    wanted = {
        (name, record): Judgment(question.question, scored.answers[record], question.answers)
        for name, scored in systems.items()
        for record, question in scored.questions.items()
    }
    values = dict(zip(wanted, judge.judge(wanted.values()), strict=True))
    return {
        name: reports.with_judge(
            scored, {record: values[name, record] for record in scored.questions}, judge.signature
        )
        for name, scored in systems.items()
    }


@dataclass(frozen=True, kw_only=True)
class ChoiceScoreCommand(BootstrapOptions):
    """Score generated text on ARC's multiple-choice questions: the closest option is the answer.

    `unifiedqa` compares as UnifiedQA's evaluation does; `robust` compares normalized words; `label`
    reads labels (`B`, `(B)`, `A;B`), where k labels with the right one among them get 1/k. Answers
    are by ARC's id or by ARC-DA's. An answer that is close to no option counts as `no match`.

    With --direct and --gold the system's direct answers stand beside: a page of the questions that
    it knows with options and not without, and the other way round.

      twowiki arc-da mc-score predictions.jsonl ARC-V1-Feb2018-2 --part dev
      twowiki arc-da mc-score mc.jsonl ARC --direct da.jsonl --gold dev.jsonl --page page.html
    """

    predictions: str = positional(ANSWER_FILES, role="input")
    arc: list[str] = positional("ARC's files, folder or zip", role="input")
    part: list[str] = argument([], "only these splits", choices=ARC_PARTS, nargs="+")
    method: str = argument("unifiedqa", "see above", choices=("unifiedqa", "robust", "label"))
    rows: Path | None = argument(None, "write one record per question (.jsonl)", role="output")
    direct: str | None = argument(None, "the system's direct answers", role="input")
    gold: str | None = argument(None, f"for --direct; {GOLD}", role="input")
    split: str | None = argument(None, f"of --gold: {SPLIT}")
    page: Path | None = argument(None, "write the page of both ways", role="output")
    right_from: float = argument(
        100.0, "F1 from which a direct answer counts as right", above=0, maximum=100
    )
    command: tuple[str, ...] = argument((), flag=False)

    def run(self) -> int:
        if bool(self.direct) != bool(self.gold) or (self.page and not self.direct):
            remedy = "Name the direct answers, and ARC-DA's gold"
            raise DataError("--direct, --gold and --page belong together", remedy=remedy)
        everything = [
            question
            for question in read_multiple_choice(self.arc)
            if not self.part or question.split in self.part
        ]
        questions = [question for question in everything if question.answer_key is not None]
        if not questions:
            remedy = "Name ARC's files with answer keys, and check --part"
            raise DataError("no question with a key to score", file=self.arc[0], remedy=remedy)
        names = {question.question_id: question.question_id for question in questions}
        names |= {question.id: question.question_id for question in questions}
        answers = read_answers(self.predictions, list(dict.fromkeys(names.values())), aliases=names)
        report = score_choices(
            questions, answers, method=self.method, resamples=self.resamples, seed=self.seed
        )
        rows = report.pop("rows")
        print(render_choices(report), end="")
        if self.direct:
            self._compare_ways(questions, rows)
        if len(questions) < len(everything):
            hidden = len(everything) - len(questions)
            print(f"questions with a hidden key, left out: {hidden}")
        if self.out:
            write_json(self.out, report)
        if self.rows:
            write_json_lines(self.rows, rows)
        return 0

    def _compare_ways(self, questions: list[MultipleChoice], rows: list[dict[str, Any]]) -> None:
        """Print the outcomes of both ways of asking, and write the page."""
        from twowiki.pages.choices_page import compare_ways, count_outcomes, render_choices_page

        gold = read_gold_questions(str(self.gold), split=self.split)
        direct = reports.score_system(gold, read_answers(str(self.direct), gold))
        compared = compare_ways(questions, rows, direct, threshold=self.right_from / 100)
        if not compared:
            remedy = "Name ARC's files and ARC-DA's gold of the same splits"
            raise DataError("has no question with direct answers", file=self.gold, remedy=remedy)
        print(f"asked both ways: {len(compared)}")
        for name, count in count_outcomes(compared).items():
            print(f"  {count:>6,}  {name}")
        if self.page:
            title = f"Multiple choice and direct answers: {Path(self.predictions).name}"
            command = " ".join(utf8_text(word) for word in self.command) or None
            write_text(
                self.page, render_choices_page(compared, direct, title=title, command=command)
            )


@dataclass(frozen=True, kw_only=True)
class RateExportCommand:
    """Write tasks for people to rate systems' answers: blind, shuffled, each answer once.

    OUT gets a sheet (ratings.csv), Label Studio tasks with a project, and key.jsonl, which says
    which system gave which answer: keep it from the raters. With --gold-system, gold answers are
    rated as a system of their own; their score is the ceiling. Test items check the raters.

      twowiki arc-da rate-export rating ARC-DA-v1.1 --split dev --system t5=t5.jsonl uqa=uqa.jsonl
    """

    out: Path = positional("folder for the tasks", role="output_folder")
    gold: str = positional(GOLD, role="input")
    split: str | None = argument(None, SPLIT)
    system: list[str] = argument(
        [], "systems' answers", metavar="NAME=FILE", nargs="+", role="input"
    )
    gold_system: bool = argument(False, "rate gold answers as a system")
    sample: int | None = argument(None, "only N questions, drawn by the seed", minimum=1)
    tests: int = argument(20, "test items that check the raters", minimum=0)
    people: int = argument(1, "ratings per answer", minimum=1)
    seed: int = argument(0, "seed of sample, order and test items", minimum=0, maximum=LARGEST_SEED)
    force: bool = argument(False, "overwrite tasks and ratings")

    def run(self) -> int:
        gold = read_gold_questions(self.gold, split=self.split)
        questions = {record: question for record, question in gold.items() if question.has_gold}
        if self.sample:
            count = min(self.sample, len(questions))
            drawn = set(Random(self.seed).sample(sorted(questions), count))
            questions = {record: q for record, q in questions.items() if record in drawn}
        systems = {
            name: read_answers(file, gold) for name, file in named_files(self.system).items()
        }
        if not systems and not self.gold_system:
            remedy = "Use --system NAME=FILE or --gold-system"
            raise DataError("there is no system to rate", remedy=remedy)
        key = make_tasks(
            questions, systems, gold_system=self.gold_system, tests=self.tests, seed=self.seed
        )
        self._write(rating_task_files(key, people=self.people))
        tests = sum(bool(entry.expected) for entry in key)
        note = f"{tests} of them tests; keep key.jsonl from the raters"
        print(f"{len(key)} tasks in {self.out}, {note}")
        print(f"next: twowiki arc-da rate-import {self.out} FILES")
        return 0

    def _write(self, files: Mapping[str, str]) -> None:

        self.out.mkdir(parents=True, exist_ok=True)
        with locked(self.out):
            if not self.force:
                remedy = "Name another folder, or overwrite with --force (ratings there are lost)"
                if (self.out / "key.jsonl").exists():
                    raise DataError("already has rating tasks", file=self.out, remedy=remedy)
                check_unedited(self.out, {**files, RATINGS: ""}, {}, remedy=remedy)
            write_together(self.out, files, remove=[RATINGS])


@dataclass(frozen=True, kw_only=True)
class RateImportCommand:
    """Read ratings back: filled sheets or exports of Label Studio, merged into ratings.jsonl.

    A rater who rates a task again replaces the first rating. Raters' ids are replaced by a keyed
    hash; the key stays in FOLDER/rater.key.

      twowiki arc-da rate-import rating rating/ratings.csv --rater kim
    """

    folder: Path = positional(
        "the folder that rate-export made", role="output_folder", writes=(f"/{RATINGS}",)
    )
    files: list[str] = positional("filled sheets, or exports of Label Studio", role="input")
    rater: str = argument("", "who rated, if the file does not say it")

    def run(self) -> int:
        command = f"twowiki arc-da rate-export {self.folder} GOLD --system NAME=FILE"
        key_file = existing_file(self.folder / "key.jsonl", f"Make the tasks with: {command}")
        with locked(self.folder):
            key = read_key(str(key_file))
            path = self.folder / RATINGS
            known = read_ratings(str(path)) if path.exists() else []
            secret = read_secret(self.folder / "rater.key", given=None, used=bool(known))
            new = [
                rating._replace(rater=pseudonym(rating.rater, secret))
                for file in self.files
                for rating in read_task_ratings(file, key, rater=utf8_text(self.rater))
            ]
            ratings = merge_ratings(known, new)
            write_json_lines(path, (rating._asdict() for rating in ratings))
        raters = len({rating.rater for rating in ratings})
        print(
            f"{len(ratings) - len(known)} new, {len(ratings)} ratings of {raters} raters in {path}"
        )
        print(f"next: twowiki arc-da genie {path}")
        return 0


@dataclass(frozen=True, kw_only=True)
class GenieCommand(BootstrapOptions):
    """Compute human scores from ratings, as GENIE does: 0-100 with 95% intervals.

    Ratings: JSON lines or CSV with system, question_id, rater, rating (`strongly agree` ...
    `strongly disagree`, worth 1, .75, .5, .25, 0), and for test items `expected` (good or bad).
    Prints each system's score, the ceiling that gold answers reach if they were rated, agreement
    between raters (Krippendorff's alpha), and raters who fail the test items, with the scores
    without them. With fewer than about ten raters the intervals are too narrow: a bootstrap knows
    no other raters.

      twowiki arc-da genie rating/ratings.jsonl
    """

    ratings: str = positional("ratings, .jsonl or .csv", role="input")
    over: str = argument(
        "two_way",
        "what the bootstrap draws: items, raters, or both",
        choices=("items", "raters", "two_way"),
    )
    confidence: float = argument(0.95, "confidence of the intervals", above=0, below=1)
    detector: str = argument(
        "threshold",
        "what makes a rater bad: an accuracy up to --least, or not being in the best group",
        choices=("threshold", "component"),
    )
    least: float = argument(0.9, "accuracy that is not enough", minimum=0, maximum=1)
    components: int = argument(1, "groups of raters in the fit", minimum=1, maximum=100)
    cut_off: float = argument(0.999, "probability to exclude at", minimum=0, maximum=1)

    def run(self) -> int:
        if self.detector == "component" and self.components < 2:
            raise DataError("--detector component needs --components 2 or more")
        try:
            report = score_ratings(read_ratings(self.ratings), settings_of(HumanSettings, self))
        except DataError as error:
            raise error.at(self.ratings) from None
        print(render_scores(report), end="")
        alphas = ", ".join(
            f"{level} {'-' if value != value else f'{value:.3f}'}"
            for level, value in report["alpha"].items()
        )
        print(f"Krippendorff's alpha: {alphas}")
        raters = report["raters"]
        print(f"raters: {raters['count']}, tested {raters['tested']} ({raters['prior']})")
        for name in raters["excluded"]:
            verdict = raters["verdicts"][name]
            print(f"  excluded {name}: {verdict['right']} right, {verdict['wrong']} wrong")
        if self.out:
            write_json(self.out, without_nan(report))
        return 0


@dataclass(frozen=True, kw_only=True)
class ExpertCommand(BootstrapOptions):
    """Compute the EXPERT column: a system's mean over experts' partial credit, 0-100.

    Ratings: JSON lines or CSV with system, question_id, rater, rating (a number from 0 to 1, or a
    word of the rubric). The interval is over questions; with two experts or more, answers are
    listed on which they differ by half a point or more.

      twowiki arc-da expert expert.csv
    """

    ratings: str = positional("ratings, .jsonl or .csv", role="input")

    def run(self) -> int:
        settings = HumanSettings(resamples=self.resamples, seed=self.seed)
        try:
            report = score_experts(read_ratings(self.ratings, expert=True), settings)
        except DataError as error:
            raise error.at(self.ratings) from None
        print(render_scores(report), end="")
        alpha = report["alpha_interval"]
        if alpha == alpha:
            print(f"Krippendorff's alpha (interval): {alpha:.3f}")
        for item in report["disagreements"]:
            credits = ", ".join(f"{rater} {value:g}" for rater, value in item["ratings"].items())
            print(f"  {item['item']}: {credits}")
        if self.out:
            write_json(self.out, without_nan(report))
        return 0
