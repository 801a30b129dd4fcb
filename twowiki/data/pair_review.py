"""Questions that a person looks at before generated data is released.

The paper's authors checked two sorts by hand (appendix A): questions about occupations, which
Wikipedia and Wikidata state differently, and triples whose subject and object have names so alike
that one may stand for the other in the text. In: examples. Out: a row for each such question, with
its sentences and an empty decision; `read_amendments` takes the table back, and leaves out what was
rejected.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

from twowiki.data.audit_support import facts_of, triples_of
from twowiki.data.audit_text import name_key
from twowiki.data.schema import Example

ALIKE = 0.8  # share of letters that two names have in common, in order
COLUMNS = ("id", "kind", "found", "question", "answer", "sentences", "decision", "reason")


class PairRow(NamedTuple):
    """One question to review: why, what a person needs to decide, and the empty decision."""

    id: str
    kind: str
    found: str
    question: str
    answer: str
    sentences: str
    decision: str = ""
    reason: str = ""


def pairs_to_review(examples: Iterable[Example]) -> Iterator[PairRow]:
    """Yield the questions with gold that a person should look at."""
    for example in examples:
        reasons = dict.fromkeys(_reasons(example)) if example.has_gold else {}
        if reasons:
            yield PairRow(
                example.id,
                ", ".join(dict.fromkeys(kind for kind, _ in reasons)),
                "; ".join(text for _, text in reasons),
                example.question,
                example.answer or "",
                _sentences(example),
            )


def are_alike(one: str, other: str) -> bool:
    """Return whether two names may be taken for each other: one in the other, or spelled alike."""
    first, second = name_key(one), name_key(other)
    words = [set(re.findall(r"\w+", name)) for name in (first, second)]
    if not all(words) or first == second:
        return first == second
    if words[0] <= words[1] or words[1] <= words[0]:
        return True
    return SequenceMatcher(None, first, second).ratio() >= ALIKE


def _reasons(example: Example) -> Iterator[tuple[str, str]]:
    for subject, relation, value in triples_of(example):
        if relation == "occupation":
            yield "occupation", f"{subject}: {value}"
        elif are_alike(subject, value):
            yield "names alike", f"{subject}, {relation}: {value}"


def _sentences(example: Example) -> str:
    pages = dict(example.context)
    lines = [
        f"{title}: {pages[title][number].strip()}"
        for title, number in facts_of(example)
        if title in pages and 0 <= number < len(pages[title])
    ]
    return "\n".join(lines)
