"""Triples for the eye: a graph, and the same as a list that says everything in words. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from twowiki.pages.graph import MOST, WORDS, draw_graph, edges_of
from twowiki.pages.markup import html_of, name_html


def figure_html(
    triples: Sequence[Any], marks: Sequence[str], *, ident: str, caption: str, title: str
) -> str:
    """Draw triples and list them.

    Args:
        triples: whatever a gold or a prediction holds.
        marks: right, wrong, missed or "" of each.
        ident: what tells this figure's elements from others.
        caption: the line above, plain text.
        title: the picture's title, plain text.
    """
    edges = edges_of(triples, marks)
    drawn = draw_graph(edges, ident=ident, title=title) if edges else ""
    more = (
        f'<p class="note">{len(edges) - MOST} more triples stand in the list alone.</p>'
        if len(edges) > MOST
        else ""
    )
    listed = "".join(
        f"<li>{_triple(triple)}{escape(WORDS[marks[number]] if number < len(marks) else '')}</li>"
        for number, triple in enumerate(triples)
    )
    words = (
        f"<details><summary>as text</summary><ol>{listed}</ol></details>"
        if drawn
        else f"<ol>{listed}</ol>"
        if listed
        else '<p class="none">no triples</p>'
    )
    return (
        f'<figure class="evidence"><figcaption>{escape(caption)}</figcaption>{drawn}{more}{words}'
        "</figure>"
    )


def _triple(triple: Any) -> str:
    if isinstance(triple, list | tuple) and len(triple) == 3:
        return " – ".join(map(name_html, triple))
    return f"{html_of(triple)} <i>(no triple)</i>"
