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

from twowiki.pages.html import as_text, html_of, name_html

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


COLUMNS = 3  # side by side, at most; a page is as wide as a telephone


class Placed(NamedTuple):
    """A name's place: row from 0 downwards; a column is a box's width and may be broken."""

    name: str
    row: int
    column: float


def place_names(pairs: Sequence[tuple[str, str]]) -> list[Placed]:
    """Place the names that pairs link."""
    placed: list[Placed] = []
    first_row, next_row, at = 0, 0, 0.0
    for names in _components(pairs):
        mine = _place_component(names, [pair for pair in pairs if pair[0] in names])
        width = max(one.column for one in mine) + 1
        if at and at + width > COLUMNS:
            first_row, at = next_row, 0.0
        placed += [Placed(one.name, one.row + first_row, one.column + at) for one in mine]
        at += width
        next_row = max(next_row, first_row + max(one.row for one in mine) + 1)
    return placed


def _components(pairs: Sequence[tuple[str, str]]) -> list[dict[str, None]]:
    """Give the sets of linked names, in order of appearance."""
    groups: list[dict[str, None]] = []
    for pair in pairs:
        joined = [group for group in groups if pair[0] in group or pair[1] in group]
        merged = {name: None for group in joined for name in group}
        merged.update(dict.fromkeys(pair))
        if joined:
            groups[groups.index(joined[0])] = merged
            groups = [group for group in groups if not any(group is one for one in joined[1:])]
        else:
            groups.append(merged)
    return groups


def _place_component(names: dict[str, None], pairs: Sequence[tuple[str, str]]) -> list[Placed]:
    """Place linked names: rows by the longest way down, columns below those that lead there."""
    row_of = _depths(names, pairs)
    rows: list[list[str]] = [[] for _ in range(max(row_of.values()) + 1)]
    for name in names:
        rows[row_of[name]].append(name)
    lines = [line for row in rows for line in ([row] if len(row) <= COLUMNS else _stacked(row))]
    width = max(map(len, lines))
    placed: dict[str, Placed] = {}
    for number, line in enumerate(lines):
        wanted = {name: _above(name, pairs, placed) for name in line}
        ordered = sorted(line, key=lambda name: (wanted[name], line.index(name)))
        shift = (width - len(line)) / 2 if len(rows[row_of[line[0]]]) <= COLUMNS else 0.0
        for column, name in enumerate(ordered):
            placed[name] = Placed(name, number, column + shift)
    return list(placed.values())


def _stacked(row: list[str]) -> list[list[str]]:
    """Put each name of a row that is too wide on a line of its own."""
    return [[name] for name in row]


def _above(name: str, pairs: Sequence[tuple[str, str]], placed: dict[str, Placed]) -> float:
    """Give the mean column of the names that lead to one."""
    columns = [placed[one].column for one, other in pairs if other == name and one in placed]
    return sum(columns) / len(columns) if columns else float(COLUMNS)


def _depths(names: dict[str, None], pairs: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Number the rows: below every name that leads there, circles cut at their last arrow."""
    down: dict[str, list[str]] = {name: [] for name in names}
    for subject, object_ in pairs:
        if not _leads(down, object_, subject):
            down[subject].append(object_)
    depth = dict.fromkeys(names, 0)
    for _ in names:
        for name in names:
            for below in down[name]:
                depth[below] = max(depth[below], depth[name] + 1)
    return depth


def _leads(down: dict[str, list[str]], start: str, end: str) -> bool:
    """Tell whether arrows lead from one name to another."""
    waiting, seen = [start], {start}
    while waiting:
        name = waiting.pop()
        if name == end:
            return True
        fresh = [below for below in down[name] if below not in seen]
        seen.update(fresh)
        waiting += fresh
    return False


LINE = 17  # pixels from a line to the next
LETTER = 8.2  # pixels of an average letter, in the widest of the usual fonts


def text_svg(
    lines: Sequence[tuple[str, str]],
    x: float,
    top: float,
    *,
    anchor: str = "middle",
    halo: bool = False,
) -> str:
    """Write lines below each other.

    Args:
        lines: (text, class) of each.
        x: where the anchor stands.
        top: the first line's upper edge.
        anchor: start, middle or end.
        halo: keep the lines readable on an arrow.
    """
    ring = ' class="halo" paint-order="stroke" stroke-width="5" stroke-linejoin="round"'
    side = "" if anchor == "middle" else f' text-anchor="{anchor}"'
    spans = "".join(
        f'<tspan class="{kind or "letters"}" x="{x:g}" y="{top + 12.5 + number * LINE:g}" '
        f'fill="currentColor">{escape(line)}</tspan>'
        for number, (line, kind) in enumerate(lines)
    )
    return f"<text{ring if halo else ''}{side}>{spans}</text>"


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
        used += _width(letter)
        if used > width:
            return max(number, 1)
    return len(text)


def units(text: str) -> float:
    """Give a text's width in average letters."""
    return sum(0.0 if unicodedata.combining(letter) else _width(letter) for letter in text)


def _width(letter: str) -> float:
    return 1.8 if unicodedata.east_asian_width(letter) in "WF" else _share(letter)


def _share(letter: str) -> float:
    if letter in "mwMW@%":
        return 1.35
    return 1.15 if letter.isupper() else 0.55 if letter in "iljtf.,:;'|! " else 0.95


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
