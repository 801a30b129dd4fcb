"""Evidence triples as a graph in SVG: names in boxes, relations on arrows, from top to bottom.

In: edges. Out: one `<svg>` that needs nothing else, the same for the same edges. Who follows a
chain reads downwards; names of separate chains stand side by side. What a mark says is written
(a sign before the relation, another line style), never a colour alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

from twowiki.pages.layout import Placed, place_names
from twowiki.pages.lettering import LETTER, LINE, text_svg, units, wrap
from twowiki.pages.markup import as_text

MOST = 24  # edges that are drawn; more are no picture
NAME_WIDTH, NAME_LINES = 19, 3  # letters a line and lines of a box
LABEL_WIDTH, LABEL_LINES = 20, 2
BOX, GAP, PAD = 172, 22, 9  # pixels: a box's width, between boxes, in a box
DOWN = 30  # pixels between rows, besides the labels
BEND = 20  # pixels that arrows past other rows need at the side, besides the labels
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
    """Where everything stands, and the SVG of it.

    Arrows to the next row are straight. Others leave the boxes at the side and run along the
    margin: downwards at the left, upwards (and back to the same name) at the right.
    """

    def __init__(
        self, placed: Sequence[Placed], bundles: dict[tuple[str, str], list[Edge]]
    ) -> None:
        self._bundles = bundles
        self._lines = {one.name: wrap(one.name, NAME_WIDTH, NAME_LINES) for one in placed}
        self._row = {one.name: one.row for one in placed}
        self._labels = {pair: _label_lines(edges) for pair, edges in bundles.items()}
        down = {pair: self._row[pair[1]] - self._row[pair[0]] for pair in bundles}
        self._left = [pair for pair in bundles if down[pair] > 1]
        self._right = [pair for pair in bundles if down[pair] < 1]
        left, right = self._margin(self._left), self._margin(self._right)
        columns = max((one.column for one in placed), default=0) + 1
        self._inner = left + 2, left + 2 + columns * (BOX + GAP) - GAP
        self.width = self._inner[1] + right + 2
        self._tops, self.height = self._rows(down)
        self._centre = {
            one.name: Point(
                self._inner[0] + one.column * (BOX + GAP) + BOX / 2, self._tops[one.row]
            )
            for one in placed
        }

    def _margin(self, pairs: Sequence[tuple[str, str]]) -> float:
        """Give the width of a margin: its labels, and room for the arrows."""
        widths = [units(line) for pair in pairs for line, _ in self._labels[pair]]
        return max(widths) * LETTER + BEND if widths else 0.0

    def _rows(self, down: dict[tuple[str, str], int]) -> tuple[list[float], float]:
        """Give the rows' upper edges and the picture's height."""
        count = max(self._row.values(), default=-1) + 1
        boxes, labels = [0] * count, [0] * count
        for name, row in self._row.items():
            boxes[row] = max(boxes[row], self._size(name))
        for pair, lines in self._labels.items():
            if down[pair] == 1:
                row = self._row[pair[0]]
                labels[row] = max(labels[row], len(lines))
        tops, at = [], 2.0
        for row in range(count):
            tops.append(at)
            at += boxes[row] * LINE + 2 * PAD
            if row < count - 1:
                at += DOWN + labels[row] * LINE if labels[row] else GAP
        return tops, at + 2

    def _size(self, name: str) -> int:
        """Give a box's height in lines: room for its name, and for the labels at its side."""
        beside = [pair for pair in self._left if pair[1] == name]
        beside += [pair for pair in self._right if pair[0] == name]
        return max(len(self._lines[name]), sum(len(self._labels[pair]) for pair in beside))

    def boxes(self) -> str:
        """Draw the names."""
        parts = []
        for name, (x, top) in self._centre.items():
            lines = [(line, "") for line in self._lines[name]]
            height = self._bottom(name).y - top
            middle = top + (height - len(lines) * LINE) / 2
            parts.append(
                f'<g class="name"><title>{escape(name)}</title><rect x="{x - BOX / 2:g}" '
                f'y="{top:g}" width="{BOX}" height="{height:g}" rx="7" fill="none" '
                f'stroke="currentColor"/>{text_svg(lines, x, middle)}</g>'
            )
        return "".join(parts)

    def arrows(self) -> str:
        """Draw the arrows, each with its point."""
        parts = []
        for pair, edges in self._bundles.items():
            marks = {edge.mark for edge in edges}
            mark = next(one for one in ("right", "missed", "wrong", "") if one in marks)
            path = self._path(pair)
            line = "L".join(f"{point.x:g} {point.y:g}" for point in path)
            dash = {"wrong": "7 4", "missed": "2 4"}.get(mark)
            dashed = f' stroke-dasharray="{dash}"' if dash else ""
            parts.append(
                f'<g class="edge {mark or "plain"}"><path d="M{line}" fill="none" '
                f'stroke="currentColor" stroke-width="1.6" stroke-linejoin="round"{dashed}/>'
                f'<path d="{_arrowhead(path[-1], path[-2])}" fill="currentColor"/></g>'
            )
        return "".join(parts)

    def labels(self) -> str:
        """Write the relations over the arrows."""
        parts = []
        for pair, lines in self._labels.items():
            told = ", ".join(edge.relation for edge in self._bundles[pair])
            place, anchor = self._label_place(pair)
            text = text_svg(
                lines, place.x, place.y - len(lines) * LINE / 2, anchor=anchor, halo=True
            )
            parts.append(f'<g class="relation"><title>{escape(told)}</title>{text}</g>')
        return "".join(parts)

    def _bottom(self, name: str) -> Point:
        x, top = self._centre[name]
        return Point(x, top + self._size(name) * LINE + 2 * PAD)

    def _height_of(self, name: str, pair: tuple[str, str], pairs: list[tuple[str, str]]) -> float:
        """Give the height at which an arrow along a margin touches a box: each at its own."""
        mine = [one for one in pairs if name in one]
        share = (mine.index(pair) + 1) / (len(mine) + 1)
        top, bottom = self._centre[name].y, self._bottom(name).y
        return top + (bottom - top) * share

    def _path(self, pair: tuple[str, str]) -> list[Point]:
        """Give the corners of an arrow, its tip last."""
        subject, object_ = pair
        if pair not in self._left and pair not in self._right:
            return [self._bottom(subject), Point(*self._centre[object_])]
        pairs, sign = (self._left, -1) if pair in self._left else (self._right, 1)
        turn = 6.0 if sign < 0 else self.width - 6.0
        start = self._height_of(subject, pair, pairs)
        end = self._height_of(object_, pair, pairs) if subject != object_ else start + 9
        edge_of = {name: self._centre[name].x + sign * BOX / 2 for name in pair}
        return [
            Point(edge_of[subject], start),
            Point(turn, start),
            Point(turn, end),
            Point(edge_of[object_], end),
        ]

    def _label_place(self, pair: tuple[str, str]) -> tuple[Point, str]:
        """Give the middle of a label's side, and which side that is."""
        if pair in self._left:
            height = self._height_of(pair[1], pair, self._left)
            return Point(self._inner[0] - 14, height), "end"
        if pair in self._right:
            height = self._height_of(pair[0], pair, self._right)
            return Point(self._inner[1] + 14, height), "start"
        start, tip = self._path(pair)
        return Point((start.x + tip.x) / 2, (start.y + tip.y) / 2 - 2), "middle"


def _label_lines(edges: Sequence[Edge]) -> list[tuple[str, str]]:
    """Give the lines of an arrow's label with their marks: a relation after the other."""
    lines = []
    for edge in edges:
        text = f"{SIGNS[edge.mark]}{edge.relation}{edge.note and ' ' + edge.note}"
        lines += [(line, edge.mark or "plain") for line in wrap(text, LABEL_WIDTH, LABEL_LINES)]
    return lines if len(lines) <= 6 else [*lines[:5], ("…", "plain")]


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
