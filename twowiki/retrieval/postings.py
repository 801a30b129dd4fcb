"""The BM25 scores of every word in every entry, as the sparse arrays of `bm25s`. Pure.

In: the words of one entry after the other. Out: scores by word and entry, as Lucene computes them
(k1 1.2, b 0.75). What is held are arrays of numbers, six bytes for each distinct word of an
entry, and never a list of an entry's words.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

K1, B = 1.2, 0.75
_PART = 1 << 22  # postings that are sorted at a time
_MOST = 65_535  # times that a word counts in one entry

Integers = np.ndarray[Any, np.dtype[np.int64]]


class Postings:
    """Counts of words, entry by entry.

    Args:
        entries: the number of entries.

    Attributes:
        vocabulary: the number of each word.
    """

    def __init__(self, entries: int) -> None:
        self.vocabulary: dict[str, int] = {}
        self._words, self._counts = array("i"), array("H")
        self._lengths = np.zeros(entries, dtype=np.float32)
        self._distinct = np.zeros(entries, dtype=np.int64)

    def add(self, number: int, words: Sequence[str]) -> None:
        """Add an entry; numbers come in order."""
        vocabulary, counts = self.vocabulary, Counter(words)
        self._words.extend([vocabulary.setdefault(word, len(vocabulary)) for word in counts])
        self._counts.extend([min(count, _MOST) for count in counts.values()])
        self._lengths[number], self._distinct[number] = len(words), len(counts)

    def scores(self) -> dict[str, Any]:
        """Return the arrays: scores and entry numbers by word, and where each word starts."""
        if not self.vocabulary:  # only stop words
            self.vocabulary[""] = 0
        words = np.frombuffer(self._words, dtype=np.int32)
        counts = np.frombuffer(self._counts, dtype=np.uint16)
        frequencies = np.bincount(words, minlength=len(self.vocabulary))
        starts = np.concatenate([[0], np.cumsum(frequencies)])
        weights = np.log1p((len(self._lengths) - frequencies + 0.5) / (frequencies + 0.5))
        mean = float(self._lengths.mean()) or 1.0
        damping = K1 * (1 - B + B * self._lengths / mean)
        data = np.empty(len(words), dtype=np.float32)
        indices = np.empty(len(words), dtype=np.int32)
        entry_ends = np.cumsum(self._distinct)
        free = starts[:-1].copy()
        for start in range(0, len(words), _PART):
            part = words[start : start + _PART]
            positions = np.arange(start, start + len(part))
            entries = np.searchsorted(entry_ends, positions, side="right")
            frequency = counts[start : start + _PART].astype(np.float64)
            scores = weights[part] * frequency / (damping[entries] + frequency)
            order = np.argsort(part, kind="stable")
            places = _places(part[order], free)
            data[places], indices[places] = scores[order], entries[order]
        return {"data": data, "indices": indices, "indptr": starts, "num_docs": len(self._lengths)}


def _places(ordered: Any, free: Integers) -> Integers:
    """Return where the postings of ordered words go; the places are taken from `free`."""
    distinct, first, counts = np.unique(ordered, return_index=True, return_counts=True)
    places = np.arange(len(ordered)) - np.repeat(first, counts) + np.repeat(free[distinct], counts)
    free[distinct] += counts
    return np.asarray(places, dtype=np.int64)
