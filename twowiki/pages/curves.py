"""A run's losses and validation scores over its steps, as line charts in SVG. Pure.

In: the `history` of a run's report.json. Out: HTML figures. Lines differ by their dashes as well
as by their colour; a legend names them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

WIDTH, HEIGHT = 440, 250
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 10, 34
DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 2", "1 4", "12 4", "6 2 1 2")
SCORES = ("joint_f1", "f1", "sp_f1", "evi_f1", "joint_em")
POINTS = 400  # of a line; a longer history is thinned


class Line(NamedTuple):
    """A named line: (step, value) points in order."""

    name: str
    points: list[tuple[float, float]]


def draw_curves(history: Any) -> str:
    """Give the charts of a run, "" where its history holds no figure."""
    records = [record for record in history if isinstance(record, Mapping)] if history else []
    charts = [
        chart("Training loss", loss_lines(records)),
        chart("Validation, percent", score_lines(records), low=0.0, high=100.0),
    ]
    return "".join(charts)


def loss_lines(records: Sequence[Mapping[str, Any]]) -> list[Line]:
    """Give the loss and its parts."""
    losses = [record for record in records if _number(record.get("loss")) is not None]
    names = sorted({name for one in losses for name in _mapping(one.get("losses"))})
    lines = [Line("loss", _points(losses, lambda record: record.get("loss")))]
    for name in names:
        lines.append(
            Line(
                name, _points(losses, lambda one, name=name: _mapping(one.get("losses")).get(name))
            )
        )
    return [line for line in lines if line.points]


def score_lines(records: Sequence[Mapping[str, Any]]) -> list[Line]:
    """Give the validation scores that runs report, or whatever scores there are."""
    scored = [record for record in records if _mapping(record.get("metrics"))]
    found = {name for record in scored for name in _mapping(record.get("metrics"))}
    names = [name for name in SCORES if name in found] or sorted(found)[: len(DASHES)]
    return [
        Line(name, _points(scored, lambda one, name=name: _mapping(one.get("metrics")).get(name)))
        for name in names
    ]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _number(value: Any) -> float | None:
    fine = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if fine else None


def _points(records: Sequence[Mapping[str, Any]], value_of: Any) -> list[tuple[float, float]]:
    """Give the points that are numbers, thinned evenly where there are too many."""
    points = [
        (step, value)
        for record in records
        if (step := _number(record.get("step"))) is not None
        and (value := _number(value_of(record))) is not None
    ]
    stride = -(-len(points) // POINTS) or 1
    return points[::stride] if (len(points) - 1) % stride == 0 else [*points[::stride], points[-1]]


class _Scale(NamedTuple):
    """Values to pixels, straight or by their logarithm."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        low, high, value = (
            (math.log10(self.low), math.log10(self.high), math.log10(max(value, self.low)))
            if self.log
            else (self.low, self.high, value)
        )
        share = (value - low) / (high - low) if high > low else 0.5
        return round(self.start + share * (self.end - self.start), 1)


def chart(
    title: str, lines: Sequence[Line], *, low: float | None = None, high: float | None = None
) -> str:
    """Draw one chart with its legend; "" without lines."""
    lines = [line for line in lines if line.points]
    if not lines:
        return ""
    values = [value for line in lines for _, value in line.points]
    steps = [step for line in lines for step, _ in line.points]
    least, most = min(values), max(values)
    log = low is None and least > 0 and most / least > 20
    bottom = (
        low if low is not None else (10 ** math.floor(math.log10(least)) if log else min(0, least))
    )
    top = (
        high if high is not None else (10 ** math.ceil(math.log10(most * 1.0001)) if log else most)
    )
    x = _Scale(min(steps), max(steps), LEFT, WIDTH - RIGHT)
    y = _Scale(bottom, top if top > bottom else bottom + 1, HEIGHT - BOTTOM, TOP, log)
    parts = [_axis_y(y), _axis_x(x)]
    for number, line in enumerate(lines):
        parts.append(_line(line, x, y, number))
    last = "; ".join(f"{line.name} ends at {line.points[-1][1]:.4g}" for line in lines)
    told = escape(f"{title}, steps {x.low:g} to {x.high:g}: {last}.")
    return (
        f'<figure class="chart"><figcaption>{escape(title)}{" (logarithmic)" if log else ""}'
        f'</figcaption><svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{told}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" font-size="12" '
        f'font-family="system-ui, sans-serif">{"".join(parts)}</svg>{_legend(lines)}</figure>'
    )


def _line(line: Line, x: _Scale, y: _Scale, number: int) -> str:
    path = " ".join(f"{x.at(step):g},{y.at(value):g}" for step, value in line.points)
    dots = "".join(
        f'<circle cx="{x.at(step):g}" cy="{y.at(value):g}" r="2.4" fill="currentColor"/>'
        for step, value in (line.points if len(line.points) < 30 else ())
    )
    return (
        f'<g class="line l{number % len(DASHES)}"><polyline points="{path}" fill="none" '
        f'stroke="currentColor" stroke-width="1.8" {_dash(number)}/>{dots}</g>'
    )


def _dash(number: int) -> str:
    dash = DASHES[number % len(DASHES)]
    return f'stroke-dasharray="{dash}"' if dash else ""


def _axis_y(y: _Scale) -> str:
    if y.log:
        first, last = round(math.log10(y.low)), round(math.log10(y.high))
        ticks = [10.0**power for power in range(first, last + 1)]
    else:
        ticks = [y.low + (y.high - y.low) * part / 4 for part in range(5)]
    return "".join(
        f'<path class="grid" d="M{LEFT} {y.at(tick):g}H{WIDTH - RIGHT}" stroke="currentColor" '
        f'stroke-opacity=".25"/><text x="{LEFT - 6}" y="{y.at(tick) + 4:g}" text-anchor="end" '
        f'fill="currentColor">{tick:.3g}</text>'
        for tick in ticks
    )


def _axis_x(x: _Scale) -> str:
    ticks = sorted({round(x.low + (x.high - x.low) * part / 3) for part in range(4)})
    anchors = ["middle"] * (len(ticks) - 1) + ["end" if len(ticks) > 1 else "middle"]
    texts = "".join(
        f'<text x="{x.at(tick):g}" y="{HEIGHT - BOTTOM + 16}" fill="currentColor" '
        f'text-anchor="{anchor}">{tick:,}</text>'
        for tick, anchor in zip(ticks, anchors, strict=True)
    )
    middle = (LEFT + WIDTH - RIGHT) / 2
    return (
        f'{texts}<text x="{middle:g}" y="{HEIGHT - 3}" fill="currentColor" '
        'text-anchor="middle">step</text>'
    )


def _legend(lines: Sequence[Line]) -> str:
    entries = "".join(
        f'<li><svg class="line l{number % len(DASHES)}" width="34" height="10" aria-hidden="true">'
        f'<path d="M0 5H34" stroke="currentColor" stroke-width="2" {_dash(number)}/></svg> '
        f"{escape(line.name)} {line.points[-1][1]:.4g}</li>"
        for number, line in enumerate(lines)
    )
    return f'<ul class="legend">{entries}</ul>'
