"""ARC-DA, with or without retrieved sentences, alone or with multiple choice, as a task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

from twowiki.arc_da.inputs import Format, fit_source, parse_option, parse_output, target_text
from twowiki.arc_da.instances import draw_answers, draw_items, mixed_counts
from twowiki.arc_da.mc_scoring import score_choices
from twowiki.arc_da.report import (
    Scored,
    Settings,
    as_rows,
    gold_hash,
    make_report,
    render_report,
    score_system,
)
from twowiki.arc_da.schema import MultipleChoice, Question
from twowiki.files import sha256_of
from twowiki.text2text.arc_da_data import Data, Item, Split, read_data
from twowiki.text2text.config import ArcDaConfig
from twowiki.text2text.encoding import Pair
from twowiki.text2text.task import TextTask
from twowiki.training.tasks import Outcome

DIRECT, CHOICE = 0, 1
RESAMPLES = 1000  # of the intervals of an evaluation; `twowiki arc-da score` takes more


class ArcDaTask(TextTask):
    """Trains on ARC-DA's gold answers, and on ARC's options where its files are given.

    Args:
        config: the run's settings.
    """

    data: Data

    def __init__(self, config: ArcDaConfig) -> None:
        super().__init__(config)
        self.config = config
        self.form = Format(config.preset, config.mc_target, config.order).checked()

    def read_data(self) -> None:
        """Read both splits and the sentences; what is evaluated stays out of the training."""
        self.data = read_data(self.config)

    @property
    def training(self) -> Split:
        """The training questions."""
        return self.data.training

    @property
    def asked(self) -> Split:
        """The validation questions."""
        return self.data.asked

    def identity(self) -> list[str]:
        """Hash questions, options and sentences of both splits."""
        return [self.training.content(), self.asked.content()]

    def texts(self) -> Iterator[str]:
        """Give the training questions, answers, options and sentences."""
        for item in self.training.items():
            yield self._written(item, self.training, fit=False)[0]
            yield from self._targets(item)

    def train_pairs(self) -> Iterator[Pair]:
        """Give one pair for each gold answer and for each multiple-choice question."""
        for group, item in enumerate(self.training.items()):
            source, notes = self._written(item, self.training)
            kind = CHOICE if isinstance(item, MultipleChoice) else DIRECT
            for target in self._targets(item):
                yield Pair(group, kind, source, target, notes)

    def eval_pairs(self) -> Iterator[Pair]:
        """Give one pair for each question."""
        for group, item in enumerate(self.asked.items()):
            source, notes = self._written(item, self.asked)
            kind = CHOICE if isinstance(item, MultipleChoice) else DIRECT
            yield Pair(group, kind, source, "", notes)

    def choose(self, epoch: int) -> list[int]:
        """Draw an epoch: N_a answers a question, and multiple choice at its rate."""
        config = self.config
        rows: dict[int, list[int]] = {}
        choice: list[int] = []
        for number, (group, kind) in enumerate(
            zip(self.train.groups.tolist(), self.train.kinds.tolist(), strict=True)
        ):
            if kind == CHOICE:
                choice.append(number)
            else:
                rows.setdefault(group, []).append(number)
        draw = epoch if config.resample else 0
        direct = [
            number
            for group, numbers in rows.items()
            for number in draw_answers(
                self.training.questions[group].question_id,
                numbers,
                limit=config.n_a,
                seed=config.seed,
                epoch=draw,
            )
        ]
        _, wanted = mixed_counts(len(direct), len(choice), config.mixing, config.temperature)
        rng = Random(f"{config.seed}:choice:{epoch}")
        return [*direct, *draw_items(choice, wanted, rng)]

    def format_of(self) -> dict[str, Any]:
        """Give the input format, and whether sentences belong to it."""
        config = self.config
        return {
            "task": "arc_da",
            **self.form._asdict(),
            "max_source_tokens": config.max_source_tokens,
            "sentences": config.sentences if config.contexts else 0,
        }

    def fixed_format(self) -> dict[str, Any]:
        """Give what a start must share; sentences may come and go."""
        return {"task": "arc_da", **self.form._asdict()}

    def score(self, predicted: Mapping[Any, Any]) -> Outcome:
        """Score answers by F1 and ROUGE-L, options by accuracy."""
        questions = {one.question_id: one for one in self.asked.questions}
        answers = {
            one: parse_output(predicted[number], self.form) for number, one in enumerate(questions)
        }
        scored = score_system(questions, answers)
        report = make_report(scored, Settings(resamples=RESAMPLES))
        self.metrics = {name: report[name] for name in ("f1", "rougeL")}
        files = {"predictions.json": answers, "rows.json": self._rows(scored, predicted)}
        files |= self._score_choices(predicted)
        by_type = {
            name: {figure: part[figure] for figure in ("f1", "rougeL")}
            for name, part in report["by"]["difficulty"].items()
        }
        files["scores.json"] = {
            "metrics": dict(self.metrics),
            "by_type": by_type,
            "signature": report["signature"],
            "report": report,
        }
        return Outcome(dict(self.metrics), files)

    def _score_choices(self, predicted: Mapping[Any, Any]) -> dict[str, Any]:
        if not self.asked.multiple_choice:
            return {}
        said = {
            one.question_id: parse_option(predicted[number], self.form)
            for number, one in enumerate(self.asked.multiple_choice, len(self.asked.questions))
        }
        by_label = self.form.mc_target != "text"
        scores = score_choices(
            self.asked.multiple_choice,
            said,
            method="label" if by_label else self.config.mc_method,
            resamples=RESAMPLES,
        )
        self.metrics["mc_accuracy"] = scores["accuracy"]
        kept = {name: value for name, value in scores.items() if name != "rows"}
        return {"mc_predictions.json": said, "mc_scores.json": kept}

    def describe(self) -> list[str]:
        """Say what is trained on and asked, what was left out, how much context fitted."""
        lines = [
            f"train: {reason.replace('_', ' ')}: {len(ids)} "
            f"({', '.join(ids[:3])}{', ...' if len(ids) > 3 else ''}), "
            + ("kept all the same" if self.config.leaks == "keep" else "left out")
            for reason, ids in sorted(self.data.leaks.items())
        ]
        for name, encoded in (("train", self.train), ("validation", self.validation)):
            lines += [f"{name}: {reason}: {count}" for reason, count in encoded.counts.items()]
        for split, name in ((self.training, "training"), (self.asked, "validation")):
            lines.append(
                f"{len(split.questions)} {name} questions, "
                f"{len(split.multiple_choice)} of multiple choice"
            )
        lines.append(f"{len(self.choose(0))} training instances an epoch, of {len(self.train)}")
        return lines

    def data_report(self) -> dict[str, Any]:
        """Give counts, hashes, what was left out, and the floor that any system must beat."""
        golds = [question for question in self.asked.questions if question.has_gold]
        echo = score_system(
            {one.question_id: one for one in golds},
            {one.question_id: one.question for one in golds},
        )
        rows = list(echo.rows.values())
        return {
            "train": {
                "questions": len(self.training.questions),
                "multiple_choice": len(self.training.multiple_choice),
                "instances_an_epoch": len(self.choose(0)),
                "gold": gold_hash(self.training.questions),
                "leaks": {"handled": self.config.leaks, **self.data.leaks},
                "notes": self.train.counts,
            },
            "validation": {
                "questions": len(self.asked.questions),
                "multiple_choice": len(self.asked.multiple_choice),
                "gold": gold_hash(self.asked.questions),
                "gold_answers_a_question": sum(len(q.answers) for q in golds) / max(1, len(golds)),
                "notes": self.validation.counts,
            },
            "contexts": {
                Path(name).name: sha256_of(name)[:16]
                for name in (*self.config.contexts, *self.config.mc_contexts)
            },
            "contamination": self.config.contamination,
            "echo": {
                "f1": 100 * sum(row.f1 for row in rows) / max(1, len(rows)),
                "rougeL": 100 * sum(row.rouge_l for row in rows) / max(1, len(rows)),
            },
        }

    def summary(self, scores: Mapping[str, Any], report: Mapping[str, Any]) -> str:
        """Write the best model's table, the floor, and multiple choice."""
        echo = report["data"]["echo"]
        lines = [
            f"\nbest model, step {scores['step']}, {Path(self.config.output_dir) / 'best'}:",
            render_report(scores["report"]).rstrip(),
            f"floor (the question echoed): f1 {echo['f1']:.2f}, rougeL {echo['rougeL']:.2f}",
        ]
        if "mc_accuracy" in scores["metrics"]:
            lines.append(f"multiple choice: accuracy {scores['metrics']['mc_accuracy']:.2f}")
        figures = "  ".join(f"{name} {value:.2f}" for name, value in scores["metrics"].items())
        return "\n".join([*lines, f"\n{figures}  {scores['signature']}"])

    def _written(
        self, item: Item, split: Split, *, fit: bool = True
    ) -> tuple[str, tuple[str, ...]]:
        """Write a question's input, with the notes that are counted."""
        direct = isinstance(item, Question)
        told = split.told(item, self.config.sentences)
        fitted = fit_source(
            item.question if isinstance(item, Question) else item.stem,
            self.form,
            options=() if direct else [choice.text for choice in item.choices],
            context=told,
            budget=self.config.max_source_tokens,
            measure=self.codec.measure if fit else lambda _: 0,
        )
        notes = ["question is longer than the longest input"] if fitted.too_long else []
        notes += ["context is cut"] if fitted.fitted < len(told) else []
        return fitted.text, (*notes, f"{fitted.fitted} sentences of context")

    def _targets(self, item: Item) -> list[str]:
        if isinstance(item, Question):
            return list(dict.fromkeys(target_text(answer, self.form) for answer in item.answers))
        place = [choice.label for choice in item.choices].index(item.answer_key or "")
        return [target_text(item.choices[place].text, self.form, place=place)]

    def _rows(self, scored: Scored, predicted: Mapping[Any, Any]) -> list[dict[str, Any]]:
        """Give a row a question: texts, figures, what was said, how many sentences were at hand."""
        outputs = {one.question_id: predicted[n] for n, one in enumerate(self.asked.questions)}
        most = self.config.sentences
        return [
            {
                **row,
                "output": outputs[row["question_id"]],
                "sentences": len(self.asked.told(scored.questions[row["question_id"]], most)),
            }
            for row in as_rows(scored, ())
        ]
