"""Which samples of the finished splits are dropped so that no named shortcut is right too often.

In: for each sample of one question type, each shortcut's sign: right (1), wrong (-1) or without an
answer (0). Out: the samples to drop, as few as a greedy choice finds. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from twowiki.generation.samples import QuestionInContext
from twowiki.generation.settings import GenerateConfig
from twowiki.generation.shortcuts import (
    CHANCE_BOUND,
    SHORTCUTS,
    TWO_WAY,
    Asked,
    shortcut_answers,
)
from twowiki.generation.splits import SampleSplits
from twowiki.metric.normalization import normalize_answer

Signs = tuple[int, ...]
ALL_SHORTCUTS = tuple(SHORTCUTS)
DROPPED_FOR_BALANCE = "shortcut_balance"
# Right answers beyond the wrong ones, percent of all answers, that the bound allows.
_LEAD = round(2 * CHANCE_BOUND - 100)


def signs_of(item: Asked, answer: str, names: Sequence[str], *, even: bool) -> Signs:
    """Return whether each shortcut is right (1), wrong (-1) or does not answer (0).

    Args:
        item: the question with its context.
        answer: the right answer.
        names: of the shortcuts.
        even: whether yes and no are to be as frequent; else the first name of a question that
            is answered by yes or no does not count.
    """
    answers = shortcut_answers(item, names)
    gold = normalize_answer(answer)
    uneven = not even and answer in ("yes", "no")
    return tuple(
        0 if not answers[name] or (uneven and name == "first named")
        else 1 if normalize_answer(answers[name]) == gold else -1
        for name in names
    )  # fmt: skip


def dropped_for_balance(signs: Mapping[str, Signs]) -> list[str]:
    """Return the ids of samples without which each shortcut is within the bound, either way.

    Args:
        signs: by the id of a sample, in the order of the draw; later ones are dropped first.
    """
    classes: dict[Signs, list[str]] = defaultdict(list)
    for sample_id, own in signs.items():
        classes[own].append(sample_id)
    tallies = [
        _Tally(sum(column), sum(map(abs, column))) for column in zip(*signs.values(), strict=True)
    ]
    dropped: list[str] = []
    while any(tally.excess for tally in tallies):
        _, worst = min((_rank(tallies, own), own) for own in classes if classes[own])
        tallies = _without(tallies, worst)
        dropped.append(classes[worst].pop())
    return dropped


class _Tally(NamedTuple):
    """A shortcut's lead of right over wrong answers, and the number of its answers."""

    lead: int
    answered: int

    @property
    def excess(self) -> int:
        """By how many answers the lead, either way, is beyond the bound."""
        return max(0, abs(self.lead) - max(self.answered % 2, self.answered * _LEAD // 100))


def _without(tallies: Sequence[_Tally], own: Signs) -> list[_Tally]:
    """Return the tallies without a sample of these signs."""
    return [
        _Tally(tally.lead - sign, tally.answered - abs(sign))
        for tally, sign in zip(tallies, own, strict=True)
    ]


def _rank(tallies: Sequence[_Tally], own: Signs) -> tuple[int, int, int]:
    """Rank signs by what dropping a sample of them leaves: the excess, then all leads."""
    left = _without(tallies, own)
    leads = sum(abs(tally.lead) for tally in left)
    return sum(tally.excess for tally in left), leads, sum(map(abs, own))


class Balance:
    """Drops samples from splits until no named shortcut is right, or wrong, too often."""

    def __init__(self, config: GenerateConfig) -> None:
        self._config = config
        self._signs: dict[str, dict[str, Signs]] = {kind: {} for kind in TWO_WAY}

    def noted(self, samples: Iterable[QuestionInContext]) -> Iterator[QuestionInContext]:
        """Yield samples, and keep what the shortcuts make of them."""
        config = self._config
        for sample in samples:
            if sample.type in TWO_WAY:
                profile = config.profile.types.get(sample.type) if config.profile else None
                yes = profile.yes if profile and config.yes_share is not None else config.yes_share
                self._signs[sample.type][sample.id] = signs_of(
                    sample, sample.answer, ALL_SHORTCUTS, even=yes in (None, 0.5)
                )
            yield sample

    def drop(self, splits: SampleSplits) -> None:
        """Drop samples from the splits."""
        for signs in self._signs.values():
            kept = {name: found for name, found in signs.items() if splits.of[name]}
            for name in dropped_for_balance(kept):
                splits.of[name] = ""
                splits.dropped[DROPPED_FOR_BALANCE] += 1
