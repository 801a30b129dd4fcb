"""Demonstrations of prompts: solved questions, drawn by a seed, none of which is asked itself.

In: a pool of questions with gold, and the questions that are asked. Out: the demonstrations, and
what was left out of the pool: questions with the id or the words of one that is asked, whose
answer would stand in its own prompt. Every prompt of this package draws them here. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import Generic, NamedTuple, TypeVar

from twowiki.arc_da.metric.folding import unicode_words
from twowiki.arc_da.schema import Question
from twowiki.data.schema import Example
from twowiki.errors import DataError

_Shot = TypeVar("_Shot", Example, Question)


class Shots(NamedTuple, Generic[_Shot]):
    """Demonstrations, and the ids of the questions that were left out since they are asked."""

    chosen: list[_Shot]
    left_out: list[str]

    @property
    def note(self) -> str | None:
        """What a user should know; None if nothing was left out."""
        if not self.left_out:
            return None
        count = len(self.left_out)
        return (
            f"{count} question{'s' * (count > 1)} left out of the demonstrations: asked here by id "
            f"or by the same words (first: {self.left_out[0]})"
        )


def draw_shots(
    pool: Sequence[Example], count: int, seed: int, *, asked_for: Iterable[Example] = ()
) -> Shots[Example]:
    """Return demonstrations that have gold, of as many different types as there are.

    Args:
        pool: the questions to draw from.
        count: the number of demonstrations.
        seed: of the draw.
        asked_for: the questions that are asked, which are never shown.

    Raises:
        DataError: the pool has not that many.
    """
    known, left_out = _without(pool, asked_for, count)
    order = _rng(seed).sample(known, len(known))
    seen: dict[str | None, int] = {}
    turns: list[tuple[int, int]] = []
    for position, example in enumerate(order):
        turns.append((seen.get(example.type, 0), position))
        seen[example.type] = seen.get(example.type, 0) + 1
    return Shots([order[position] for _, position in sorted(turns)[:count]], left_out)


def draw_science_shots(
    pool: Sequence[Question], count: int, seed: int, *, asked_for: Iterable[Question] = ()
) -> Shots[Question]:
    """Return demonstrations for science questions, as `draw_shots` does."""
    known, left_out = _without(pool, asked_for, count)
    return Shots(_rng(seed).sample(known, count), left_out)


def _rng(seed: int) -> Random:
    return Random(f"{seed}:shots")


def _without(
    pool: Sequence[_Shot], asked_for: Iterable[_Shot], count: int
) -> tuple[list[_Shot], list[str]]:
    """Return the questions of a pool that may be shown, and the ids of those that are asked."""
    ids: set[str] = set()
    texts: set[tuple[str, ...]] = set()
    for one in asked_for:
        ids.update(_ids(one))
        texts.add(_words(one))
    hidden = {id(one) for one in pool if not ids.isdisjoint(_ids(one)) or _words(one) in texts}
    known = [one for one in pool if one.has_gold and id(one) not in hidden]
    left_out = [_ids(one)[0] for one in pool if id(one) in hidden]
    if count > len(known):
        problem = f"{count} demonstrations requested, but only {len(known)} questions have gold"
        problem += f" and are not asked themselves ({len(left_out)} are)" if left_out else ""
        raise DataError(problem, remedy="Use fewer, or another file of demonstrations")
    return known, left_out


def _ids(one: Example | Question) -> tuple[str, ...]:
    return (one.id,) if isinstance(one, Example) else (one.question_id, one.arc_id)


def _words(one: Example | Question) -> tuple[str, ...]:
    return tuple(unicode_words(one.question))
