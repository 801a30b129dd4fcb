"""Paragraphs with their sentences marked: in the gold, predicted, or both. Pure.

Each marked sentence says in words who points at it; answers are marked where they stand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any

from twowiki.malformed import as_index
from twowiki.pages.markup import html_of, marked, name_html
from twowiki.schema import Paragraph

BOTH, GOLD, SAID = "both", "gold", "said"
BADGES = {
    BOTH: "gold, predicted",
    GOLD: "gold, not predicted",
    SAID: "predicted, not gold",
    "found": "supporting",
}
Places = dict[tuple[int, int], str]  # (paragraph, sent_id) -> badge


def place_facts(
    paragraphs: Sequence[Paragraph], facts: Iterable[Any]
) -> tuple[list[tuple[int, int]], list[Any]]:
    """Find facts in the paragraphs, and give those that point at no sentence there.

    A title is looked for as it stands, then whatever its case and outer blanks.
    """
    exact: dict[str, int] = {}
    loose: dict[str, int] = {}
    for number, paragraph in enumerate(paragraphs):
        exact.setdefault(paragraph.title, number)
        loose.setdefault(paragraph.title.strip().lower(), number)
    found, lost = [], []
    for fact in facts:
        place = _place(fact, exact, loose)
        if place is not None and 0 <= place[1] < len(paragraphs[place[0]].sentences):
            found.append(place)
        else:
            lost.append(fact)
    return found, lost


def _place(fact: Any, exact: Mapping[str, int], loose: Mapping[str, int]) -> tuple[int, int] | None:
    if not isinstance(fact, list | tuple) or len(fact) != 2 or not isinstance(fact[0], str):
        return None
    sent_id = as_index(fact[1])
    paragraph = exact.get(fact[0], loose.get(fact[0].strip().lower()))
    if paragraph is None or type(sent_id) is not int:
        return None
    return paragraph, sent_id


def badges_of(gold: Iterable[tuple[int, int]], said: Iterable[tuple[int, int]]) -> Places:
    """Say of each place who points at it."""
    true, given = set(gold), set(said)
    places = dict.fromkeys(true - given, GOLD) | dict.fromkeys(given - true, SAID)
    return places | dict.fromkeys(true & given, BOTH)


def paragraphs_html(
    paragraphs: Sequence[Paragraph],
    places: Places,
    answers: Sequence[tuple[str, str, Any]],
    *,
    scores: Callable[[int, int], str] | None = None,
) -> str:
    """Write the paragraphs: those with marked sentences first, the others folded away.

    Args:
        paragraphs: the context.
        places: who points at which sentence.
        answers: (class, what a reader is told, answer) to mark in the texts.
        scores: gives what to write behind a sentence.
    """
    touched = {paragraph for paragraph, _ in places}
    open_: list[str] = []
    folded: list[str] = []
    for number, paragraph in enumerate(paragraphs):
        block = _paragraph(number, paragraph, places, answers, scores)
        (open_ if number in touched else folded).append(block)
    if not folded:
        return "".join(open_)
    noun = "paragraph" if len(folded) == 1 else "paragraphs"
    count = f"{len(folded)} {'other ' if open_ else ''}{noun}"
    return (
        f'{"".join(open_)}<details class="others"><summary>{count}</summary>'
        f"{''.join(folded)}</details>"
    )


def _paragraph(
    number: int,
    paragraph: Paragraph,
    places: Places,
    answers: Sequence[tuple[str, str, Any]],
    scores: Callable[[int, int], str] | None,
) -> str:
    lines = []
    for sent_id, sentence in enumerate(paragraph.sentences):
        kind = places.get((number, sent_id))
        badge = f'<b class="badge">{escape(BADGES[kind])}</b> ' if kind else ""
        score = f' <span class="score">{escape(scores(number, sent_id))}</span>' if scores else ""
        lines.append(
            f'<li class="sentence{" " + kind if kind else ""}">{badge}'
            f"<bdi>{marked(sentence.strip(), answers)}</bdi>{score}</li>"
        )
    return (
        f'<div class="paragraph"><h4>{name_html(paragraph.title)}</h4>'
        f'<ol start="0">{"".join(lines)}</ol></div>'
    )


def facts_html(facts: Iterable[Any], what: str) -> str:
    """List facts that point at no sentence of the context, "" where there are none."""
    entries = "".join(
        f"<li>{name_html(fact[0])}, sentence {html_of(fact[1])}</li>"
        if isinstance(fact, list | tuple) and len(fact) == 2
        else f"<li>{html_of(fact)}</li>"
        for fact in facts
    )
    return f'<p class="lost">{escape(what)}:</p><ul class="lost">{entries}</ul>' if entries else ""
