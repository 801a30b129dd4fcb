"""Which of the wanted samples are released, and when: yes and no, shortcuts, a profile.

In: samples in the order of the draw. Out: the same samples, some of them later, others never. At
any time what was released is balanced, so that a limit keeps it so.
- Yes and no come in turn, by their share; the more frequent one waits for the other.
- With `balanced`, a two-way choice waits while it would make a named shortcut right too often, or
  wrong too often, among the samples of its relations.
- With a profile, the relations and the names with a bracket have its shares.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from twowiki.data.schema import Paragraph
from twowiki.generation.balancing import Signs, signs_of
from twowiki.generation.entities import Entities
from twowiki.generation.profiles import TypeProfile, is_bracketed, relations_of
from twowiki.generation.samples import Candidate, GeneratedSample
from twowiki.generation.shortcuts import TWO_WAY
from twowiki.generation.spool import Spool, Waiting

_BALANCED = ("film year", "birth year", "same demonym", "shared surname", "first named")
_PAGES = 1 << 14  # gold pages that are kept: many samples share one
_SLACK = 1  # right answers that a shortcut may be ahead, and one more for every 50 answers


_C = TypeVar("_C", bound=Candidate)


class Drawn(NamedTuple, Generic[_C]):
    """A sample and the candidate that it is of."""

    sample: GeneratedSample
    candidate: _C


_Spool = Spool[Drawn[Any]]


class Drawing:
    """Releases the samples of one question type.

    Args:
        question_type: the type.
        candidate: the type's candidates.
        entities: the entities that the samples name.
        most: the number of samples wanted; None takes all.
        yes_share: the share of yes among yes/no answers; None does not balance them.
        balanced: whether no shortcut may be right, or wrong, too often.
        profile: the shares to match; None takes the samples as they come.
        folder: where samples wait for others.
    """

    def __init__(
        self,
        question_type: str,
        candidate: type[Candidate],
        entities: Entities,
        *,
        folder: Path,
        most: int | None,
        yes_share: float | None,
        balanced: bool,
        profile: TypeProfile | None,
    ) -> None:
        if profile is not None and yes_share is not None:
            yes_share = profile.yes
        shape: Any = Drawn
        spool: _Spool = Spool(folder, shape[candidate])
        self._yes_no = _YesNoBalancer(yes_share, spool)
        two_way = balanced and question_type in TWO_WAY
        self._shortcuts = _ShortcutBalancer(entities, yes_share, spool) if two_way else None
        self._quota = None
        if profile is not None and most is not None:
            self._quota = _Quota(profile, most, spool)

    def release(self, drawn: Drawn[Any]) -> Iterator[GeneratedSample]:
        """Add a sample; return the samples that are released now."""
        for one in self._yes_no.release(drawn):
            for two in self._shortcuts.release(one) if self._shortcuts else (one,):
                if self._quota is None or self._quota.takes(two):
                    yield two.sample

    def late(self) -> Iterator[GeneratedSample]:
        """Return, at the end, the samples that make up for what the profile found too few of."""
        yield from self._quota.late() if self._quota else ()

    def waiting(self) -> Iterator[tuple[Candidate, str]]:
        """Return the candidates of the samples that were not released, with the reason."""
        for drawn in self._yes_no.waiting():
            yield drawn.candidate, "yes_no_balance"
        for drawn in self._shortcuts.waiting() if self._shortcuts else ():
            yield drawn.candidate, "shortcut_balance"
        for drawn in self._quota.refused if self._quota else ():
            yield drawn.candidate, "beyond_the_profile"


class _YesNoBalancer:
    """Releases yes and no in turn, by their share; the more frequent one waits for the other."""

    def __init__(self, yes_share: float | None, spool: _Spool) -> None:
        self._share = yes_share
        self._queues = {"yes": Waiting(spool), "no": Waiting(spool)}
        self._released = {"yes": 0, "no": 0}

    def release(self, drawn: Drawn[Any]) -> Iterator[Drawn[Any]]:
        if self._share is None or drawn.sample.answer not in self._queues:
            yield drawn
            return
        self._queues[drawn.sample.answer].append(drawn)
        while self._queues[self._next(self._share)]:
            answer = self._next(self._share)
            self._released[answer] += 1
            yield self._queues[answer].popleft()

    def _next(self, share: float) -> str:
        so_far = self._released["yes"] + self._released["no"] + 1
        return "yes" if self._released["yes"] < round(share * so_far, 9) else "no"

    def waiting(self) -> Iterator[Drawn[Any]]:
        for queue in self._queues.values():
            yield from queue


class _InContext(NamedTuple):
    """What a shortcut sees of a sample: the question and the gold pages."""

    question: str
    context: tuple[Paragraph, ...]


class _ShortcutBalancer:
    """Releases a sample when no shortcut gets too far ahead among the samples of its relations."""

    def __init__(
        self, entities: Entities, yes_share: float | None, spool: Spool[Drawn[Any]]
    ) -> None:
        self._entities, self._spool = entities, spool
        self._page = lru_cache(_PAGES)(self._read_page)
        self._even = yes_share in (None, 0.5)
        self._queues: dict[str, dict[Signs, Waiting[Drawn[Any]]]] = defaultdict(dict)
        self._sums: dict[str, list[int]] = defaultdict(lambda: [0] * len(_BALANCED))
        self._answered: dict[str, list[int]] = defaultdict(lambda: [0] * len(_BALANCED))

    def release(self, drawn: Drawn[Any]) -> Iterator[Drawn[Any]]:
        group, own = relations_of(drawn.sample), self._signs(drawn.sample)
        queues = self._queues[group]
        if own not in queues:
            queues[own] = Waiting(self._spool)
        queues[own].append(drawn)
        while (signs := self._fitting(group)) is not None:
            counts = zip(self._answered[group], signs, strict=True)
            self._answered[group] = [count + abs(sign) for count, sign in counts]
            self._sums[group] = self._after(group, signs)
            yield queues[signs].popleft()

    def _signs(self, sample: GeneratedSample) -> Signs:
        item = _InContext(sample.question, tuple(map(self._page, sample.gold)))
        return signs_of(item, sample.answer, _BALANCED, even=self._even)

    def _read_page(self, qid: int) -> Paragraph:
        return Paragraph(self._entities.title(qid), tuple(self._entities.sentences(qid)))

    def _after(self, group: str, signs: Signs) -> list[int]:
        return [total + sign for total, sign in zip(self._sums[group], signs, strict=True)]

    def _fitting(self, group: str) -> Signs | None:
        """Return the signs of the next sample to release: what brings the sums nearest to 0."""
        slacks = [_SLACK + answered // 50 for answered in self._answered[group]]
        sums = self._sums[group]
        best: tuple[int, Signs] | None = None
        for signs, queue in self._queues[group].items():
            if not queue:
                continue
            after = self._after(group, signs)
            fits = all(
                abs(new) <= max(slack, abs(old) - 1) or new == old
                for new, old, slack in zip(after, sums, slacks, strict=True)
            )
            if fits and (best is None or sum(map(abs, after)) < best[0]):
                best = sum(map(abs, after)), signs
        return None if best is None else best[1]

    def waiting(self) -> Iterator[Drawn[Any]]:
        for queues in self._queues.values():
            for queue in queues.values():
                yield from queue


class _Quota:
    """How many samples of each relations are still wanted, with a bracket and without."""

    def __init__(self, profile: TypeProfile, most: int, spool: _Spool) -> None:
        self._left = Counter({key: round(share * most) for key, share in profile.relations.items()})
        percent = round(100 * profile.bracketed)
        self._names = {
            bracketed: Counter({key: -(-size * share // 100) for key, size in self._left.items()})
            for bracketed, share in ((True, percent), (False, 100 - percent))
        }
        self._deferred, self.refused = Waiting(spool), Waiting(spool)

    def takes(self, drawn: Drawn[Any]) -> bool:
        """Return whether a sample is taken now; it may be taken later."""
        key, names = relations_of(drawn.sample), self._names[is_bracketed(drawn.sample)]
        if self._left[key] <= 0:
            self.refused.append(drawn)
        elif names[key] <= 0:
            self._deferred.append(drawn)
        else:
            names[key] -= 1
            self._left[key] -= 1
            return True
        return False

    def late(self) -> Iterator[GeneratedSample]:
        """Return deferred samples for what is still wanted."""
        while self._deferred:
            drawn = self._deferred.popleft()
            key = relations_of(drawn.sample)
            if self._left[key] > 0:
                self._left[key] -= 1
                yield drawn.sample
            else:
                self.refused.append(drawn)
