"""Texts as HTML: escaped, cut to a length, with places marked. Pure; knows no page.

Whatever a prediction holds comes out as text: signs of HTML are escaped, control characters and
lone surrogates become U+FFFD, directions are kept from spilling over (<bdi>).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from twowiki.models.text import Span, find_text

LONGEST = 300  # characters of a name or an answer that are shown
_UNSHOWABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def as_text(value: Any, longest: int = LONGEST) -> str:
    """Give any value as a text of bounded length that a page can hold."""
    text = value if isinstance(value, str) else repr(value)
    text = _UNSHOWABLE.sub("\ufffd", text)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def html_of(value: Any, longest: int = LONGEST) -> str:
    """Give any value as escaped HTML."""
    return escape(as_text(value, longest))


def name_html(value: Any) -> str:
    """Give a name as HTML that keeps its direction to itself; blanks alone are said in words."""
    text = as_text(value)
    return f"<bdi>{escape(text)}</bdi>" if text.strip() else '<i class="none">(empty)</i>'


def marked(text: str, answers: Sequence[tuple[str, str, Any]]) -> str:
    """Mark answers in a sentence.

    Args:
        text: the sentence.
        answers: (class, what a reader is told, answer); where two stand at one place, the marks
            are joined.
    """
    text = _UNSHOWABLE.sub("\ufffd", text)
    places: dict[Span, list[tuple[str, str]]] = {}
    for kind, told, answer in answers:
        for place in _places(text, answer):
            places.setdefault(place, []).append((kind, told))
    parts, at = [], 0
    for place in sorted(places, key=lambda span: (span.start, -span.end)):
        if place.start < at:
            continue  # inside a longer mark
        kinds = " ".join(kind for kind, _ in places[place])
        told = ", ".join(told for _, told in places[place])
        parts.append(escape(text[at : place.start]))
        parts.append(
            f'<mark class="{kinds}" title="{escape(told)}">'
            f"{escape(text[place.start : place.end])}"
            f'<span class="unseen"> ({escape(told)})</span></mark>'
        )
        at = place.end
    return "".join([*parts, escape(text[at:])])


def _places(text: str, answer: Any) -> Iterable[Span]:
    """Find the first place where an answer stands as a whole word, whatever its case."""
    wanted = answer.strip() if isinstance(answer, str) else ""
    if not wanted or len(wanted) > LONGEST:
        return
    start = 0
    while (found := find_text(text[start:], wanted, ignore_case=True)) is not None:
        span = Span(start + found.start, start + found.end)
        before, after = text[: span.start][-1:], text[span.end :][:1]
        if not (before.isalnum() and wanted[0].isalnum()) and not (
            after.isalnum() and wanted[-1].isalnum()
        ):
            yield span
            return
        start = span.start + 1


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, caption: str, label: str = ""
) -> str:
    """Give a table of HTML cells; its first column heads the rows. It scrolls within itself.

    Args:
        head: the columns' names, plain text.
        rows: cells, already HTML.
        caption: what the table shows, plain text.
        label: the name of the scrolling region, where the caption is too long for one.
    """
    names = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    lines = [
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>'
        for first, *rest in rows
    ]
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(label or caption)}">'
        f"<table><caption>{escape(caption)}</caption><thead><tr>{names}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )
