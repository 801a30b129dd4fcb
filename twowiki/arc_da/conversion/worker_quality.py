"""How often each worker's answers agree with the other workers and with the known right options.

In: crowd records and the sources. Out: counts by worker, and the workers whose agreement is likely
too low: their answers support nothing. The paper names no such control.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from twowiki.arc_da.conversion.crowd import CrowdRecord
from twowiki.arc_da.conversion.filter import SourceQuestion
from twowiki.arc_da.conversion.screening import ScreenSettings, content_words
from twowiki.human.raters import RaterVerdict, judge_raters

CERTAIN = 0.95  # probability of an agreement that is too low, from which a worker is left out


def count_agreement(
    records: Iterable[CrowdRecord],
    sources: Mapping[str, SourceQuestion],
    settings: ScreenSettings,
) -> dict[str, tuple[int, int]]:
    """Count for each worker the questions whose answer agrees and does not.

    An answer agrees that shares a word (no stop word) with the original's right option, or with at
    least half of the other workers' answers. Without another worker and a right option a question
    counts for nobody.
    """
    by_question: dict[str, list[CrowdRecord]] = {}
    for record in records:
        if record.status == "answered":
            by_question.setdefault(record.question_id, []).append(record)
    counts: dict[str, list[int]] = {}
    for name, answered in by_question.items():
        words = [_words(record.answers, settings) for record in answered]
        source = sources.get(name)
        right = _words([source.key_text or ""], settings) if source is not None else set()
        for place, record in enumerate(answered):
            others = [found for number, found in enumerate(words) if number != place]
            if not others and not right:
                continue
            shared = sum(not words[place].isdisjoint(found) for found in others)
            agrees = not words[place].isdisjoint(right) or (others and 2 * shared >= len(others))
            counts.setdefault(record.worker, [0, 0])[0 if agrees else 1] += 1
    return {worker: (yes, no) for worker, (yes, no) in sorted(counts.items())}


def unreliable_workers(
    counts: Mapping[str, tuple[int, int]], least: float
) -> dict[str, RaterVerdict]:
    """Return the workers whose agreement is at most `least` with a probability of `CERTAIN`."""
    verdicts, _ = judge_raters(counts, least=least)
    return {name: one for name, one in verdicts.items() if one.probability >= CERTAIN}


def _words(texts: Sequence[str], settings: ScreenSettings) -> set[str]:
    return {word for text in texts for word in content_words(text, settings)}
