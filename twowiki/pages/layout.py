"""Names of a graph onto a grid: who follows whom stands below, separate chains side by side. Pure.

In: (subject, object) pairs. Out: a row and a column for each name. Names of one depth that are
too many stand below each other at the left. Arrows that would close a circle are passed over when
rows are numbered, so that every graph ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

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
