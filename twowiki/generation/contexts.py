"""Contexts: each sample's gold paragraphs among distractors, ten in all, shuffled by its seed.

In: samples, their distractors and the sentences of these pages. Out: each sample's context; None
for one that cannot get enough distractors. Pages stay on disk.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from twowiki.data.schema import Paragraph
from twowiki.generation.distractors import distractors_needed
from twowiki.generation.samples import GeneratedSample
from twowiki.generation.spool import RecordStore
from twowiki.generation.tables import rows_by


class _Page(NamedTuple):
    """A page of some context."""

    title: str
    sentences: tuple[str, ...]


_Picked = list[tuple[int, int]]  # the pages that a sample takes, with their tiers


class Contexts:
    """The contexts of all samples, of `size` paragraphs, from the outputs of the queries.

    Args:
        size: the number of paragraphs.
        samples: returns the samples, in order.
        folder: where pages are put aside.
    """

    def __init__(
        self, size: int, samples: Callable[[], Iterable[GeneratedSample]], folder: Path
    ) -> None:
        self._size, self._samples, self._folder = size, samples, folder
        self._rounds: list[Path] = []
        self._pages: list[RecordStore[_Page]] = []

    def add(self, distractors: Path, pages: Path) -> None:
        """Add distractors and their pages; a sample's later ones replace its earlier ones."""
        self._rounds.append(distractors)
        found = (
            (qid, _Page(rows[0]["title"], tuple(row["text"] for row in rows)))
            for qid, rows in rows_by(pages, "qid")
        )
        self._pages.append(RecordStore(self._folder, found, _Page))

    def _with_picked(self) -> Iterator[tuple[int, GeneratedSample, _Picked]]:
        """Yield samples with their numbers and the pages that they take."""
        rounds = [_InOrder(folder) for folder in self._rounds]
        for number, sample in enumerate(self._samples()):
            picked: _Picked = []
            for found in rounds:
                picked = found.of(number) or picked
            yield number, sample, picked

    def short(self) -> Iterator[tuple[int, GeneratedSample]]:
        """Yield the samples that have too few distractors, with their numbers."""
        for number, sample, picked in self._with_picked():
            if len(picked) < distractors_needed(sample, self._size):
                yield number, sample

    def all(
        self, seed: str
    ) -> Iterator[tuple[GeneratedSample, tuple[tuple[Paragraph, ...], int] | None]]:
        """Yield samples with their contexts and worst tiers; None for one that falls short."""
        for _, sample, picked in self._with_picked():
            if len(picked) < distractors_needed(sample, self._size):
                yield sample, None
                continue

            def draw(qid: int, sample_id: str = sample.id) -> tuple[str, int]:
                return hashlib.md5(f"{seed}|{sample_id}|Q{qid}".encode()).hexdigest(), qid

            members = sorted([*sample.gold, *(qid for qid, _ in picked)], key=draw)
            context = tuple(Paragraph(*self._page(qid)) for qid in members)
            yield sample, (context, max((tier for _, tier in picked), default=0))

    def _page(self, qid: int) -> _Page:
        found = (store.get(qid) for store in self._pages)
        return next(page for page in found if page is not None)


class _InOrder:
    """Distractors by sample, for samples that are asked for in order."""

    def __init__(self, distractors: Path) -> None:
        self._rows = rows_by(distractors, "sample")
        self._next = next(self._rows, None)

    def of(self, number: int) -> _Picked:
        if self._next is None or self._next[0] != number:
            return []
        picked = [(row["qid"], row["tier"]) for row in self._next[1]]
        self._next = next(self._rows, None)
        return picked
