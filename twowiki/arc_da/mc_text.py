"""Multiple-choice text: cut "stem (A) one (B) two" into stem and options, suggest rewordings.

Pure text in, text out. Suggestions are for a reviewer to confirm; nothing is reworded here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# A run starts at its first label and goes on without a gap. G, H, J, K is a real series of tests.
SERIES = ("ABCDEFGH", "12345678", "GHJK", "FGHJ", "abcdefgh")
FORMS = (r"\({}\)", r"(?<![\w(]){}\)", r"(?<![\w.]){}\.(?=\s)")


def split_options(text: str) -> tuple[str, list[tuple[str, str]]]:
    """Cut a text that holds its options into the stem and (label, option) pairs.

    Labels may be written `(A)`, `A)` or `A.` in the series A-H, 1-8, G H J K, F G H J, a-h; at
    least two must follow each other from the first of the series. Of all readings the one with
    most options wins, then the one whose run starts last (a number in the stem is no label).

    Returns:
        The stem (outer spaces removed) and the options; the whole text and no options if none.
    """
    best: list[tuple[int, int, str]] = []
    for form in FORMS:
        for series in SERIES:
            for run in _runs(text, series, form):
                if (len(run), run[0][0]) > (len(best), best[0][0] if best else -1):
                    best = run
    if not best:
        return text.strip(), []
    ends = [start for start, _, _ in best[1:]] + [len(text)]
    options = [
        (label, text[after:end].strip()) for (_, after, label), end in zip(best, ends, strict=True)
    ]
    return text[: best[0][0]].strip(), options


def _runs(text: str, series: str, form: str) -> Iterator[list[tuple[int, int, str]]]:
    """Find runs of at least two labels in order, as (start, end, label)."""
    found = [
        (match.start(), match.end(), label)
        for label in series
        for match in re.finditer(form.format(label), text)
    ]
    found.sort()
    for place, first in enumerate(found):
        if first[2] != series[0]:
            continue
        run = [first]
        for mark in found[place + 1 :]:
            if len(run) < len(series) and mark[2] == series[len(run)]:
                run.append(mark)
        if len(run) >= 2:
            yield run
