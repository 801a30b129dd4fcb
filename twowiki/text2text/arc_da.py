"""Training on ARC-DA, with or without retrieved sentences, alone or with multiple choice.

In: the release's files, ARC's files and files of retrieved sentences, as the settings name them.
Out: training pairs drawn per epoch, and scores of answers and options. Training questions that are
evaluated too are left out or refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from twowiki.arc_da.metric.multiple_choice import score_choices
from twowiki.arc_da.metric.report import (
    ArcDaSettings,
    SystemScores,
    answer_records,
    gold_hash,
    mean_metrics,
    render_arc_da_report,
    score_system,
    summarize_system,
)
from twowiki.arc_da.schema import MultipleChoice, Question
from twowiki.arc_da.sources import (
    find_question_splits,
    index_by_id,
    read_gold_questions,
    read_multiple_choice,
    read_questions,
)
from twowiki.errors import DataError
from twowiki.io.files import sha256_of, write_json
from twowiki.io.stages import key_of
from twowiki.retrieval.arc_da_contexts import read_context_files
from twowiki.text2text.arc_da_format import (
    Format,
    fit_question,
    parse_answer,
    parse_option,
    render_target,
)
from twowiki.text2text.arc_da_instances import (
    QUESTIONS_FILE,
    draw_answers,
    draw_in_order,
    draw_items,
    exclude_leaks,
    mixed_counts,
    training_record,
)
from twowiki.text2text.pairs import Pair
from twowiki.text2text.settings import ArcDaArguments
from twowiki.text2text.task import TextTask
from twowiki.training.task import EvaluationResult

DIRECT, CHOICE = 0, 1
RESAMPLES = 1000  # of the intervals of an evaluation; `twowiki arc-da score` takes more


class ArcDaTask(TextTask):
    """Trains on ARC-DA's gold answers, and on ARC's options where its files are given.

    Args:
        config: the run's settings.
    """

    data: ArcDaSplits

    def __init__(self, config: ArcDaArguments) -> None:
        super().__init__(config)
        self.config = config
        self.form = Format(config.preset, config.mc_target, config.order).checked()

    def read_data(self) -> None:
        """Read both splits and the sentences; what is evaluated stays out of the training."""
        self.data = read_splits(self.config)

    @property
    def training(self) -> QuestionSplit:
        """The training questions."""
        return self.data.training

    @property
    def evaluated(self) -> QuestionSplit:
        """The validation questions."""
        return self.data.evaluated

    def identity(self) -> list[str]:
        """Return hashes of the questions, options and sentences of both splits."""
        return [self.training.content(), self.evaluated.content()]

    def texts(self) -> Iterator[str]:
        """Yield the training questions, answers, options and sentences."""
        for item in self.training.items():
            yield self._written(item, self.training, fit=False)[0]
            yield from self._targets(item)

    def train_pairs(self) -> Iterator[Pair]:
        """Yield one pair per gold answer and per multiple-choice question."""
        for group, item in enumerate(self.training.items()):
            source, notes = self._written(item, self.training)
            kind = CHOICE if isinstance(item, MultipleChoice) else DIRECT
            for target in self._targets(item):
                yield Pair(group, kind, source, target, notes)

    def eval_pairs(self) -> Iterator[Pair]:
        """Yield one pair per question."""
        for group, item in enumerate(self.evaluated.items()):
            source, notes = self._written(item, self.evaluated)
            kind = CHOICE if isinstance(item, MultipleChoice) else DIRECT
            yield Pair(group, kind, source, "", notes)

    def choose(self, epoch: int) -> list[int]:
        """Draw an epoch: N_a answers per question, and multiple choice at its rate."""
        config = self.config
        rows: dict[int, list[int]] = {}
        choice: list[int] = []
        for number, (group, kind) in enumerate(
            zip(self.train.column("group"), self.train.column("kind"), strict=True)
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
        """Return the input format, and whether sentences belong to it."""
        config = self.config
        return {
            "task": "arc_da",
            **self.form._asdict(),
            "max_source_length": config.max_source_length,
            "sentences": config.sentences if config.contexts else 0,
        }

    def fixed_format(self) -> dict[str, Any]:
        """Return what a start must share; sentences may come and go."""
        return {"task": "arc_da", **self.form._asdict()}

    def score(self, predicted: Mapping[Any, Any]) -> EvaluationResult:
        """Score answers by F1 and ROUGE-L, options by accuracy."""
        questions = {one.question_id: one for one in self.evaluated.questions}
        answers = {
            one: parse_answer(predicted[number], self.form) for number, one in enumerate(questions)
        }
        scored = score_system(questions, answers)
        report = summarize_system(scored, ArcDaSettings(resamples=RESAMPLES))
        metrics = mean_metrics(scored)
        files = {"predictions.json": answers, "rows.json": self._rows(scored, predicted)}
        if self.evaluated.multiple_choice:
            choices = self._score_choices(predicted)
            metrics["mc_accuracy"] = choices["mc_scores.json"]["accuracy"]
            files |= choices
        by_type = {
            name: {metric: part[metric] for metric in scored.names}
            for name, part in report["by"]["difficulty"].items()
        }
        files["scores.json"] = {
            "metrics": metrics,
            "by_type": by_type,
            "signature": report["signature"],
            "report": report,
        }
        return EvaluationResult(metrics, files)

    def _score_choices(self, predicted: Mapping[Any, Any]) -> dict[str, Any]:
        chosen = {
            one.question_id: parse_option(predicted[number], self.form)
            for number, one in enumerate(
                self.evaluated.multiple_choice, len(self.evaluated.questions)
            )
        }
        by_label = self.form.mc_target != "text"
        scores = score_choices(
            self.evaluated.multiple_choice,
            chosen,
            method="label" if by_label else self.config.mc_method,
            resamples=RESAMPLES,
        )
        kept = {name: value for name, value in scores.items() if name != "rows"}
        return {"mc_predictions.json": chosen, "mc_scores.json": kept}

    def save(self, model: Any, folder: Path) -> None:
        """Save the model, and which questions it was trained on."""
        super().save(model, folder)
        record = training_record(self.training.items(), self.data.originals)
        write_json(folder / QUESTIONS_FILE, record, indent=None)

    def describe(self) -> list[str]:
        """Return lines on the questions, on what was left out, and on how much context fit."""
        lines = [
            f"train: {reason.replace('_', ' ')}: {len(ids)} "
            f"({', '.join(ids[:3])}{', ...' if len(ids) > 3 else ''}), "
            + ("kept anyway" if self.config.leaks == "keep" else "left out")
            for reason, ids in sorted(self.data.leaks.items())
        ]
        lines += self.counted()
        config = self.config
        for split, name in ((self.training, "train"), (self.evaluated, "validation")):
            source = getattr(config, f"{name}_file") or config.data_dir
            choice = (
                f", {len(split.multiple_choice):,} of multiple choice of {' '.join(config.arc)}"
            )
            lines.append(
                f"{name}: {len(split.questions):,} questions of {source}"
                + (choice if config.arc else "")
            )
        lines.append(f"{len(self.choose(0))} training instances per epoch, of {len(self.train)}")
        return lines

    def data_report(self) -> dict[str, Any]:
        """Return counts, hashes, what was left out, and the floor that any system must beat."""
        golds = [question for question in self.evaluated.questions if question.has_gold]
        echo = score_system(
            {one.question_id: one for one in golds},
            {one.question_id: one.question for one in golds},
        )
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
                "questions": len(self.evaluated.questions),
                "multiple_choice": len(self.evaluated.multiple_choice),
                "gold": gold_hash(self.evaluated.questions),
                "gold_answers_a_question": sum(len(q.answers) for q in golds) / max(1, len(golds)),
                "notes": self.validation.counts,
            },
            "contexts": {
                Path(name).name: sha256_of(name)[:16]
                for name in (*self.config.contexts, *self.config.mc_contexts)
            },
            "contamination": self.config.contamination,
            "echo": mean_metrics(echo),
        }

    def summary(self, scores: Mapping[str, Any], report: Mapping[str, Any]) -> str:
        """Return the best model's table, the floor, and multiple choice."""
        echo = report["data"]["echo"]
        lines = [
            f"\nbest model, step {scores['step']}, {Path(self.config.output_dir) / 'best'}:",
            render_arc_da_report(scores["report"]).rstrip(),
            "floor (the question echoed): "
            + ", ".join(f"{name} {value:.2f}" for name, value in echo.items()),
        ]
        if "mc_accuracy" in scores["metrics"]:
            lines.append(f"multiple choice: accuracy {scores['metrics']['mc_accuracy']:.2f}")
        metrics = "  ".join(f"{name} {value:.2f}" for name, value in scores["metrics"].items())
        return "\n".join([*lines, f"\n{metrics}  {scores['signature']}"])

    def _written(
        self, item: AnyQuestion, split: QuestionSplit, *, fit: bool = True
    ) -> tuple[str, tuple[str, ...]]:
        """Return a question's input, with the notes that are counted."""
        direct = isinstance(item, Question)
        context = split.context_of(item, self.config.sentences)
        fitted = fit_question(
            item.question if isinstance(item, Question) else item.stem,
            self.form,
            options=() if direct else [choice.text for choice in item.choices],
            context=context,
            budget=self.config.max_source_length,
            measure=self.codec.measure if fit else lambda _: 0,
        )
        notes = ["question is longer than the longest input"] if fitted.too_long else []
        notes += ["context is cut"] if fitted.sentences < len(context) else []
        return fitted.text, (*notes, f"{fitted.sentences} sentences of context")

    def _targets(self, item: AnyQuestion) -> list[str]:
        if isinstance(item, Question):
            return list(dict.fromkeys(render_target(answer, self.form) for answer in item.answers))
        position = [choice.label for choice in item.choices].index(item.answer_key or "")
        return [render_target(item.choices[position].text, self.form, position=position)]

    def _rows(self, scored: SystemScores, predicted: Mapping[Any, Any]) -> list[dict[str, Any]]:
        """Return one row per question: texts, metrics, the output, the number of sentences."""
        outputs = {one.question_id: predicted[n] for n, one in enumerate(self.evaluated.questions)}
        most = self.config.sentences
        return [
            {
                **row,
                "output": outputs[row["question_id"]],
                "sentences": len(
                    self.evaluated.context_of(scored.questions[row["question_id"]], most)
                ),
            }
            for row in answer_records(scored)
        ]


AnyQuestion = Question | MultipleChoice
Sentences = Mapping[str, Sequence[str]]


class QuestionSplit(NamedTuple):
    """The questions of a split, direct answers first, and the sentences found for each kind."""

    questions: list[Question]
    multiple_choice: list[MultipleChoice]
    contexts: Sentences
    mc_contexts: Sentences

    def items(self) -> list[AnyQuestion]:
        """Return all questions, direct answers first."""
        return [*self.questions, *self.multiple_choice]

    def context_of(self, item: AnyQuestion, most: int) -> list[str]:
        """Return a question's sentences, best first."""
        found = self.contexts if isinstance(item, Question) else self.mc_contexts
        return list(found.get(item.question_id, ()))[:most]

    def content(self) -> str:
        """Return a hash of the split."""
        choice = [
            [one.question_id, one.stem, one.choices, one.answer_key] for one in self.multiple_choice
        ]
        most = len(self.contexts) + len(self.mc_contexts) + 1
        contexts = [self.context_of(item, most) for item in self.items()]
        questions = gold_hash(self.questions)
        return key_of({"questions": questions, "choice": choice, "context": contexts})


class ArcDaSplits(NamedTuple):
    """Both splits, and the ids of training questions that were found to leak, by reason."""

    training: QuestionSplit
    evaluated: QuestionSplit
    leaks: dict[str, list[str]]
    originals: Mapping[str, MultipleChoice]


def read_splits(config: ArcDaArguments) -> ArcDaSplits:
    """Read both splits, keep what is evaluated out of the training, read the sentences.

    Raises:
        DataError: nothing can be trained on or evaluated, or something leaks.
    """
    train, validation = _questions(config, "train"), _questions(config, "validation")
    choice = _multiple_choice(config)
    originals = index_by_id(read_multiple_choice(config.arc)) if config.arc else {}
    guarded = exclude_leaks(
        train if config.direct_answers else [],
        choice[0] if config.multiple_choice else [],
        [*validation, *choice[1]],
        others=_other_questions(config),
        originals=originals,
        leaks=config.leaks,
    )
    if not any(question.has_gold for question in validation):
        remedy = "A blind test set cannot select a model"
        raise DataError("no validation question has a gold answer", remedy=remedy)
    contexts = read_context_files(config.contexts, [*train, *validation])
    mc_contexts = contexts
    if config.mc_contexts and config.arc:
        choices = [*choice[0], *choice[1]]
        mc_contexts = read_context_files(config.mc_contexts, choices, direct_answer=False)
    return ArcDaSplits(
        QuestionSplit(guarded.questions, guarded.multiple_choice, contexts, mc_contexts),
        QuestionSplit(validation, choice[1], contexts, mc_contexts),
        guarded.dropped,
        originals,
    )


def _other_questions(config: ArcDaArguments) -> list[Question | MultipleChoice]:
    """Return the questions at hand that belong to no training split, evaluated now or not."""
    found: list[Question | MultipleChoice] = []
    if config.data_dir:
        for split in find_question_splits(config.data_dir):
            if split != "train":
                found += read_questions(config.data_dir, split=split)
    if config.arc:
        found += (one for one in read_multiple_choice(config.arc) if one.split in ("dev", "test"))
    return found


def _questions(config: ArcDaArguments, split: str) -> list[Question]:
    file = config.train_file if split == "train" else config.validation_file
    most = config.max_train_samples if split == "train" else config.max_eval_samples
    found = read_gold_questions(file) if file else read_gold_questions(config.data_dir, split=split)
    questions = draw_in_order(list(found.values()), most, config.seed)
    return [one for one in questions if one.has_gold] if split == "train" else questions


def _multiple_choice(config: ArcDaArguments) -> tuple[list[MultipleChoice], list[MultipleChoice]]:
    if not config.arc:
        return [], []
    known = [one for one in read_multiple_choice(config.arc) if one.answer_key is not None]
    train = [one for one in known if one.split in ("train", None)]
    if not train:
        remedy = "Name ARC's train and dev files, with keys"
        raise DataError("have no training questions", field="arc", remedy=remedy)
    dev = [one for one in known if one.split == "dev"]
    return (
        draw_in_order(train, config.max_train_samples, config.seed),
        draw_in_order(dev, config.max_eval_samples, config.seed),
    )
