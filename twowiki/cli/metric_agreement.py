"""The command that measures how far automatic metrics, and judges, agree with people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from twowiki.arc_da.metric.scoring import score_all
from twowiki.arc_da.predictions import read_answers
from twowiki.arc_da.sources import read_gold_questions
from twowiki.cli.arc_da_score import SPLIT, BootstrapOptions, named_files
from twowiki.errors import DataError
from twowiki.human import metric_agreement
from twowiki.human.agreement import without_nan
from twowiki.human.metric_agreement import AnswerScorer, JudgedAnswer
from twowiki.human.ratings import read_ratings
from twowiki.io.arguments import MOST_RESAMPLES, argument, positional
from twowiki.io.files import write_json

_LEFT_OUT = "other systems' fully credited answers, one system left out at a time"


@dataclass(frozen=True, kw_only=True)
class MetricAgreementCommand(BootstrapOptions):
    """Measure how far the automatic metrics agree with people.

    From a table of outputs with human credit (columns id, SYSTEM, credit-SYSTEM): it has no gold
    answers, so one system is left out at a time and the others' fully credited answers are its
    gold. Or from ratings, with the gold and the files that were rated. With --judge a local model
    that judges by meaning is one more metric.

      twowiki arc-da metric-agreement challenge300-outputs.tsv
      twowiki arc-da metric-agreement challenge300-outputs.tsv --judge all-MiniLM-L6-v2
      twowiki arc-da metric-agreement rating/ratings.jsonl --gold dev.jsonl --system t5=t5.jsonl
    """

    judgments: str = positional("a table with credit columns, or ratings", role="input")
    gold: str | None = argument(None, "ARC-DA's gold, for ratings", role="input")
    split: str | None = argument(None, SPLIT)
    system: list[str] = argument(
        [], "the rated files, for ratings", metavar="NAME=FILE", nargs="+", role="input"
    )
    judge: str | None = argument(
        None, "also measure a judge, as `score --judge`", metavar="MODEL", role="input"
    )
    resamples: int = argument(1000, "bootstrap resamples", minimum=1, maximum=MOST_RESAMPLES)

    def run(self) -> int:
        source = _Ratings(self) if self.gold else _Table(self)
        scorer = _with_judge(self.judge, source) if self.judge else _metrics
        judged, skipped = source.judged(scorer)
        report = {
            "gold_from": source.gold_from,
            "skipped": skipped,
            **metric_agreement.summarize_agreement(
                judged, resamples=self.resamples, seed=self.seed
            ),
        }
        print(metric_agreement.render_agreement(report), end="")
        print(f"gold answers: {source.gold_from}")
        if any(skipped.values()):
            left = ", ".join(f"{name} {count}" for name, count in skipped.items())
            print(f"questions left out, as no other system got full credit: {left}")
        if self.out:
            write_json(self.out, without_nan(report))
        return 0


class _Table:
    """A table of outputs with human credit."""

    gold_from = _LEFT_OUT

    def __init__(self, options: MetricAgreementCommand) -> None:
        self.outputs = metric_agreement.read_outputs(options.judgments)
        self.questions: Mapping[str, str] = self.outputs.questions

    def judged(self, scorer: AnswerScorer) -> tuple[list[JudgedAnswer], dict[str, int]]:
        """Score every judged answer; count the questions without a gold answer."""
        return metric_agreement.leave_one_out(self.outputs, scorer)


class _Ratings:
    """Ratings of systems' answers, with the gold."""

    gold_from = "the release's gold answers"

    def __init__(self, options: MetricAgreementCommand) -> None:
        gold = read_gold_questions(str(options.gold), split=options.split)
        files = named_files(options.system)
        self.systems = {name: read_answers(file, gold) for name, file in files.items()}
        if not self.systems:
            remedy = "Name them with --system NAME=FILE"
            raise DataError("ratings need the files that were rated", remedy=remedy)
        self.golds = {name: one.answers for name, one in gold.items() if one.has_gold}
        self.questions: Mapping[str, str] = {name: one.question for name, one in gold.items()}
        self.ratings = read_ratings(options.judgments, expert=True)

    def judged(self, scorer: AnswerScorer) -> tuple[list[JudgedAnswer], dict[str, int]]:
        """Score every rated answer."""
        found = metric_agreement.judge_ratings(self.ratings, self.golds, self.systems, scorer)
        return found, {}


def _metrics(_record: str, answer: str, golds: Sequence[str]) -> Mapping[str, float]:
    return score_all(answer, golds)


def _with_judge(model: str, source: _Table | _Ratings) -> AnswerScorer:
    """Return a scorer that adds a judge's values; all answers are judged before, in batches."""
    from twowiki.text2text.judge import Judgment, load_judge

    judge = load_judge(model)

    def judgment(record: str, answer: str, golds: Sequence[str]) -> Judgment:
        return Judgment(source.questions.get(record, ""), answer, tuple(golds))

    wanted: dict[Judgment, float] = {}

    def note(*given: Any) -> Mapping[str, float]:
        wanted[judgment(*given)] = 0.0
        return {}

    source.judged(note)
    wanted.update(zip(wanted, judge.judge(wanted), strict=True))
    print(judge.signature)

    def score(record: str, answer: str, golds: Sequence[str]) -> Mapping[str, float]:
        return {**score_all(answer, golds), "judge": wanted[judgment(record, answer, golds)]}

    return score
