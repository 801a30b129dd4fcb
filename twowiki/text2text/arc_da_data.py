"""What a run on ARC-DA reads: questions of both kinds and the sentences found for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from twowiki.arc_da.instances import guard
from twowiki.arc_da.report import gold_hash
from twowiki.arc_da.retrieval.contexts import read_contexts
from twowiki.arc_da.schema import MultipleChoice, Question
from twowiki.arc_da.sources import read_gold, read_multiple_choice
from twowiki.errors import DataError
from twowiki.text2text.config import ArcDaConfig
from twowiki.text2text.encoding import encoding_key

Item = Question | MultipleChoice
Sentences = Mapping[str, Sequence[str]]


class Split(NamedTuple):
    """The questions of a split, direct answers first, and the sentences found for each kind."""

    questions: list[Question]
    multiple_choice: list[MultipleChoice]
    contexts: Sentences
    mc_contexts: Sentences

    def items(self) -> list[Item]:
        """Give all questions, direct answers first."""
        return [*self.questions, *self.multiple_choice]

    def told(self, item: Item, most: int) -> list[str]:
        """Give a question's sentences, best first."""
        found = self.contexts if isinstance(item, Question) else self.mc_contexts
        return list(found.get(item.question_id, ()))[:most]

    def content(self) -> str:
        """Hash what the split holds."""
        choice = [
            [one.question_id, one.stem, one.choices, one.answer_key] for one in self.multiple_choice
        ]
        told = [self.told(item, len(self.contexts) + len(self.mc_contexts) + 1)
                for item in self.items()]  # fmt: skip
        return encoding_key(gold_hash(self.questions), choice, told)[:16]


class Data(NamedTuple):
    """Both splits, and the ids of training questions that were found to leak, by reason."""

    training: Split
    asked: Split
    leaks: dict[str, list[str]]


def read_data(config: ArcDaConfig) -> Data:
    """Read both splits, keep what is evaluated out of the training, read the sentences.

    Raises:
        DataError: nothing can be trained on or evaluated, or something leaks.
    """
    train, validation = _questions(config, "train"), _questions(config, "validation")
    choice = _multiple_choice(config)
    guarded = guard(
        train if config.direct_answers else [],
        choice[0] if config.multiple_choice else [],
        [*validation, *choice[1]],
        leaks=config.leaks,
    )
    if not any(question.has_gold for question in validation):
        remedy = "A blind test set cannot choose a model"
        raise DataError("no validation question has a gold answer", remedy=remedy)
    contexts = _contexts(config.contexts, [*train, *validation], direct=True)
    mc_contexts = contexts
    if config.mc_contexts and config.arc:
        mc_contexts = _contexts(config.mc_contexts, [*choice[0], *choice[1]], direct=False)
    return Data(
        Split(guarded.questions, guarded.multiple_choice, contexts, mc_contexts),
        Split(validation, choice[1], contexts, mc_contexts),
        guarded.dropped,
    )


def _questions(config: ArcDaConfig, split: str) -> list[Question]:
    file = config.train_file if split == "train" else config.validation_file
    most = config.max_train_examples if split == "train" else config.max_validation_examples
    found = read_gold(file) if file else read_gold(config.data_dir, split=split)
    questions = list(found.values())[: most or None]
    return [one for one in questions if one.has_gold] if split == "train" else questions


def _multiple_choice(config: ArcDaConfig) -> tuple[list[MultipleChoice], list[MultipleChoice]]:
    if not config.arc:
        return [], []
    known = [one for one in read_multiple_choice(config.arc) if one.answer_key is not None]
    train = [one for one in known if one.split in ("train", None)]
    if not train:
        remedy = "Give ARC's train and dev files, with keys"
        raise DataError("hold no training questions", field="arc", remedy=remedy)
    dev = [one for one in known if one.split == "dev"]
    return train[: config.max_train_examples or None], dev[: config.max_validation_examples or None]


def _contexts(names: Sequence[str], items: Sequence[Item], *, direct: bool) -> Sentences:
    """Read sentences of files; options must not have helped where a direct answer is wanted."""
    found: dict[str, Sequence[str]] = {}
    for name in names:
        found |= read_contexts(name, direct_answer=direct)
    missing = sum(item.question_id not in found for item in items)
    if names and missing == len(items):
        remedy = "Retrieve for the questions of both splits: `twowiki arc-da retrieve`"
        raise DataError("hold no sentences for these questions", file=names[0], remedy=remedy)
    return found
