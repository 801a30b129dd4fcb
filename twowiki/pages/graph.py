"""Evidence triples as a graph in SVG: names in boxes, relations on arrows, from top to bottom.

In: edges. Out: one `<svg>` that needs nothing else, the same for the same edges. Who follows a
chain reads downwards; names of separate chains stand side by side. What a mark says is written
(a sign before the relation, another line style), never a colour alone.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

from twowiki.pages.layout import Placed, place_names
from twowiki.pages.markup import as_text

MOST = 24  # edges that are drawn; more are no picture
NAME_WIDTH, NAME_LINES = 21, 3  # letters a line and lines of a box
LABEL_WIDTH, LABEL_LINES = 22, 2
BOX, GAP, LINE, PAD = 172, 22, 17, 9  # pixels: a box's width, between boxes, a line, in a box
DOWN = 30  # pixels between rows, besides the labels
BEND = 46  # pixels that an arrow past other rows needs at the side
SIGNS = {"right": "✓ ", "wrong": "✗ ", "missed": "○ ", "": ""}
WORDS = {"right": " (right)", "wrong": " (wrong)", "missed": " (not found)", "": ""}


class Edge(NamedTuple):
    """A triple to draw; `mark` is right, wrong, missed or nothing, `note` follows the relation."""

    subject: str
    relation: str
    object: str
    mark: str = ""
    note: str = ""


class Point(NamedTuple):
    """A place in the picture, in pixels."""

    x: float
    y: float


def edges_of(triples: Iterable[Any], marks: Sequence[str] = ()) -> list[Edge]:
    """Make edges of triples; what is no three values is left out (a list shows it)."""
    edges = []
    for number, triple in enumerate(triples):
        if isinstance(triple, list | tuple) and len(triple) == 3:
            mark = marks[number] if number < len(marks) else ""
            subject, relation, object_ = map(as_text, triple)
            edges.append(Edge(subject, relation, object_, mark))
    return edges


def draw_graph(edges: Sequence[Edge], *, ident: str, title: str) -> str:
    """Draw a graph.

    Args:
        edges: triples; equal ones are drawn once.
        ident: what tells this picture's elements from those of others on the page.
        title: what the picture shows.
    """
    left = len(edges) - MOST
    distinct = list(dict.fromkeys(edges[:MOST]))
    placed = place_names([(edge.subject, edge.object) for edge in distinct])
    bundles: dict[tuple[str, str], list[Edge]] = {}
    for edge in distinct:
        bundles.setdefault((edge.subject, edge.object), []).append(edge)
    canvas = _Canvas(placed, bundles)
    told = _told(distinct, left)
    name = escape(ident, quote=True)
    return (
        f'<svg class="graph" xmlns="http://www.w3.org/2000/svg" role="img" '
        f'viewBox="0 0 {canvas.width:g} {canvas.height:g}" width="{canvas.width:g}" '
        f'height="{canvas.height:g}" aria-labelledby="{name}-t {name}-d" '
        'font-family="system-ui, sans-serif" font-size="13" text-anchor="middle">'
        f'<title id="{name}-t">{escape(title)}</title><desc id="{name}-d">{escape(told)}</desc>'
        f"{canvas.arrows()}{canvas.boxes()}{canvas.labels()}</svg>"
    )


def _told(edges: Sequence[Edge], left: int) -> str:
    """Say in words what the picture shows."""
    said = "; ".join(
        f"{edge.subject} – {edge.relation}{edge.note and ' ' + edge.note} → {edge.object}"
        f"{WORDS[edge.mark]}"
        for edge in edges
    )
    more = f"; {left} more are not drawn" if left > 0 else ""
    return f"{said or 'no triples'}{more}."


class _Canvas:
    """Where everything stands, and the SVG of it."""

    def __init__(
        self, placed: Sequence[Placed], bundles: dict[tuple[str, str], list[Edge]]
    ) -> None:
        self._bundles = bundles
        self._lines = {one.name: wrap(one.name, NAME_WIDTH, NAME_LINES) for one in placed}
        self._row = {one.name: one.row for one in placed}
        self._labels = {pair: _label_lines(edges) for pair, edges in bundles.items()}
        self._bent = {pair for pair in bundles if self._row[pair[1]] != self._row[pair[0]] + 1}
        side = BEND if self._bent else 0
        columns = max((one.column for one in placed), default=0) + 1
        self.width = columns * (BOX + GAP) - GAP + 2 * side + 4
        self._tops, self.height = self._rows(placed)
        self._centre = {
            one.name: Point(side + 2 + one.column * (BOX + GAP) + BOX / 2, self._tops[one.row])
            for one in placed
        }

    def _rows(self, placed: Sequence[Placed]) -> tuple[list[float], float]:
        """Give the rows' upper edges and the picture's height."""
        count = max((one.row for one in placed), default=-1) + 1
        boxes, labels = [0] * count, [0] * count
        for name, row in self._row.items():
            boxes[row] = max(boxes[row], len(self._lines[name]))
        for pair, lines in self._labels.items():
            row = min(self._row[pair[0]], self._row[pair[1]])
            labels[row] = max(labels[row], len(lines))
        tops, at = [], 2.0
        for row in range(count):
            tops.append(at)
            at += boxes[row] * LINE + 2 * PAD
            if row < count - 1 or labels[row]:
                at += DOWN + labels[row] * LINE
        return tops, at + 2

    def boxes(self) -> str:
        """Draw the names."""
        parts = []
        for name, (x, top) in self._centre.items():
            lines = self._lines[name]
            height = len(lines) * LINE + 2 * PAD
            parts.append(
                f'<g class="name"><title>{escape(name)}</title><rect x="{x - BOX / 2:g}" '
                f'y="{top:g}" width="{BOX}" height="{height}" rx="7" fill="none" '
                f'stroke="currentColor"/>{_text(lines, x, top + PAD + 12.5)}</g>'
            )
        return "".join(parts)

    def arrows(self) -> str:
        """Draw the arrows, each with its point."""
        parts = []
        for pair, edges in self._bundles.items():
            marks = {edge.mark for edge in edges}
            mark = next(one for one in ("right", "missed", "wrong", "") if one in marks)
            path, tip, back = self._path(*pair)
            dash = {"wrong": "7 4", "missed": "2 4"}.get(mark)
            dashed = f' stroke-dasharray="{dash}"' if dash else ""
            parts.append(
                f'<g class="edge {mark or "plain"}"><path d="{path}" fill="none" '
                f'stroke="currentColor" stroke-width="1.6"{dashed}/>'
                f'<path d="{_arrowhead(tip, back)}" fill="currentColor"/></g>'
            )
        return "".join(parts)

    def labels(self) -> str:
        """Write the relations over the arrows."""
        parts = []
        for pair, lines in self._labels.items():
            edges = self._bundles[pair]
            x, y = self._middle(*pair)
            top = y - len(lines) * LINE / 2 + 12.5
            parts.append(
                f'<g class="relation {edges[0].mark or "plain"}">'
                f"<title>{escape(', '.join(edge.relation for edge in edges))}</title>"
                f"{_text(lines, x, top, halo=True)}</g>"
            )
        return "".join(parts)

    def _bottom(self, name: str) -> Point:
        x, top = self._centre[name]
        return Point(x, top + len(self._lines[name]) * LINE + 2 * PAD)

    def _side(self, subject: str, object_: str) -> tuple[Point, Point, float]:
        """Give the ends of an arrow around the boxes, and where it turns: right up, left down."""
        sign = -1 if self._row[object_] > self._row[subject] else 1
        ends = []
        for name, shift in ((subject, 6.0), (object_, -6.0)):
            (x, top), bottom = self._centre[name], self._bottom(name).y
            ends.append(Point(x + sign * BOX / 2, (top + bottom) / 2 + sign * -shift))
        outer = max if sign > 0 else min
        return ends[0], ends[1], outer(ends[0].x, ends[1].x) + sign * (BEND - 8)

    def _path(self, subject: str, object_: str) -> tuple[str, Point, Point]:
        """Give the arrow's path, its tip, and a place behind the tip."""
        if (subject, object_) in self._bent:
            start, end, turn = self._side(subject, object_)
            path = (
                f"M{start.x:g} {start.y:g}C{turn:g} {start.y:g} {turn:g} {end.y:g} "
                f"{end.x:g} {end.y:g}"
            )
            return path, end, Point(turn, end.y)
        start, (x, top) = self._bottom(subject), self._centre[object_]
        return f"M{start.x:g} {start.y:g}L{x:g} {top:g}", Point(x, top), start

    def _middle(self, subject: str, object_: str) -> Point:
        """Give the place of an arrow's label."""
        if (subject, object_) in self._bent:
            start, end, turn = self._side(subject, object_)
            half = LABEL_WIDTH * 3.4
            x = (start.x + end.x + 6 * turn) / 8
            if subject == object_:
                return Point(self._centre[subject].x, self._bottom(subject).y + DOWN / 2 + 4)
            return Point(min(max(x, half), self.width - half), (start.y + end.y) / 2)
        start, (x, top) = self._bottom(subject), self._centre[object_]
        return Point((start.x + x) / 2, (start.y + top) / 2 - 2)


def _label_lines(edges: Sequence[Edge]) -> list[str]:
    """Give the lines of an arrow's label: a relation after the other, each with its sign."""
    lines = []
    for edge in edges:
        text = f"{SIGNS[edge.mark]}{edge.relation}{edge.note and ' ' + edge.note}"
        lines += wrap(text, LABEL_WIDTH, LABEL_LINES)
    return lines[:6] if len(lines) <= 6 else [*lines[:5], "…"]


def _text(lines: Sequence[str], x: float, y: float, *, halo: bool = False) -> str:
    """Write lines below each other, centred; a halo keeps them readable on an arrow."""
    ring = ' class="halo" paint-order="stroke" stroke-width="5" stroke-linejoin="round"'
    spans = "".join(
        f'<tspan x="{x:g}" y="{y + number * LINE:g}">{escape(line)}</tspan>'
        for number, line in enumerate(lines)
    )
    return f'<text fill="currentColor"{ring if halo else ""}>{spans}</text>'


def _arrowhead(tip: Point, back: Point) -> str:
    """Draw a triangle whose tip lies at the arrow's end."""
    dx, dy = tip.x - back.x, tip.y - back.y
    length = (dx * dx + dy * dy) ** 0.5 or 1.0
    ux, uy = dx / length, dy / length
    x, y = tip.x - 9 * ux, tip.y - 9 * uy
    return (
        f"M{tip.x:.1f} {tip.y:.1f}L{x - 4.5 * uy:.1f} {y + 4.5 * ux:.1f}"
        f"L{x + 4.5 * uy:.1f} {y - 4.5 * ux:.1f}Z"
    )


def wrap(text: str, width: int, most: int) -> list[str]:
    """Cut a text into lines of about equal pixel width; what is too long ends in an ellipsis."""
    lines: list[str] = []
    rest = " ".join(text.split()) or "(empty)"
    while rest and len(lines) < most:
        fits = _fitting(rest, width)
        if fits < len(rest):
            blank = rest.rfind(" ", 1, fits + 1)
            fits = blank if blank > fits // 3 else fits
        lines.append(rest[:fits].strip())
        rest = rest[fits:].strip()
    if rest:
        last = lines[-1]
        lines[-1] = last[: _fitting(last, width - 1)].rstrip() + "…"
    return lines


def _fitting(text: str, width: int) -> int:
    """Give how many characters of a text fit; wide ones count twice, combining ones nothing."""
    used = 0.0
    for number, letter in enumerate(text):
        if unicodedata.combining(letter):
            continue
        used += 1.8 if unicodedata.east_asian_width(letter) in "WF" else _share(letter)
        if used > width:
            return max(number, 1)
    return len(text)


def _share(letter: str) -> float:
    if letter in "mwMW@%":
        return 1.35
    return 1.15 if letter.isupper() else 0.55 if letter in "iljtf.,:;'|! " else 0.95
