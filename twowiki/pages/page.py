"""The report of a scoring as one HTML page that needs nothing else. Pure.

In: `Findings`, and a run's report.json where there is one. Out: the page. Style and script are in
it; a Content-Security-Policy forbids everything but these two, so that nothing that a prediction
holds can load or run.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any, NamedTuple

from twowiki._version import __version__
from twowiki.metric.error_analysis import OUTCOMES, SIGNS, Kind
from twowiki.metric.report import Group, Report
from twowiki.metric.results import FIGURES, PARTS
from twowiki.pages.collect import Findings, check_of
from twowiki.pages.examples import example_html
from twowiki.pages.html import html_of, table

_PART = {"answer": "answer", "sp": "sentences", "evidence": "evidence", "joint": "joint"}
_FIGURE = {"em": "EM", "f1": "F1", "prec": "precision", "recall": "recall"}
_RUN = ("steps", "epochs", "stopped", "seed", "batch_size", "weights", "cpu_seconds", "commit",
        "command")  # fmt: skip
_OPEN = 1  # how many examples are unfolded at first


def render_page(
    findings: Findings, *, title: str, seed: int, run: Mapping[str, Any] | None = None
) -> str:
    """Write the page.

    Args:
        findings: what one pass over the gold found.
        title: the page's title.
        seed: of the choice of examples, to say so.
        run: a run's report.json.
    """
    template = _resource("report.html")
    style = f"\n{evidence_style()}{_resource('report.css')}"
    report = findings.report
    return Template(template).substitute(
        policy=_policy(style, template),
        style=style,
        title=html_of(title),
        lead=_lead(report),
        headline=_headline(report),
        scores=_scores(report),
        warnings=_warnings(report.warnings),
        signature=html_of(report.signature, 1000),
        drawn=_drawn(report),
        outcomes=_kinds_table(OUTCOMES, findings.outcomes, findings, "outcome", every=True),
        signs=_kinds_table(SIGNS, findings.signs, findings, "sign", every=False),
        run=_run(run),
        type_options=_options([(name, name.replace("_", " ")) for name in report.types]),
        outcome_options=_options(_present(OUTCOMES, findings.outcomes)),
        sign_options=_options(_present(SIGNS, findings.signs)),
        choice=_choice(findings, seed),
        examples=_examples(findings),
        made=_made(report),
    )


def evidence_style() -> str:
    """Give the style of sentences and graphs, for a page that shows them in a `twowiki` element."""
    return _resource("evidence.css")


def _resource(name: str) -> str:
    return (files("twowiki.pages") / name).read_text(encoding="utf-8")


def _policy(style: str, template: str) -> str:
    """Allow the page's own style and script by their hashes, and nothing else."""
    script = template.partition("<script>")[2].partition("</script>")[0]
    allowed = ["default-src 'none'", "base-uri 'none'", "form-action 'none'"]
    for kind, text in (("style", style), ("script", script)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        allowed.append(f"{kind}-src 'sha256-{digest}'")
    return "; ".join(allowed)


def _lead(report: Report) -> str:
    aliases = "" if report.aliases is None else f", names from {html_of(report.aliases.name)}"
    split = f", split {html_of(report.gold.split)}" if report.gold.split else ""
    return (
        f"{report.n:,} questions. Predictions: {html_of(report.predictions.name)}; gold: "
        f"{html_of(report.gold.name)}{split}{aliases}."
    )


def _headline(report: Report) -> str:
    cards = []
    for part, prefix in PARTS.items():
        exact, f1 = report.metrics[f"{prefix}em"], report.metrics[f"{prefix}f1"]
        share = max(0.0, min(100.0, f1))
        cards.append(
            f"<li><b>{_PART[part]}</b> <span>F1 {f1:.2f}</span> <span>EM {exact:.2f}</span>"
            '<svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">'
            '<rect class="rest" width="100" height="6"/>'
            f'<rect class="bar" width="{share:.1f}" height="6"/></svg></li>'
        )
    return "".join(cards)


def _scores(report: Report) -> str:
    whole = Group(report.n, report.metrics, report.intervals)
    parts = table(
        ("part", *_FIGURE.values()),
        (
            (_PART[part], *(_cell(whole, prefix + figure) for figure in FIGURES))
            for part, prefix in PARTS.items()
        ),
        caption="All questions",
    )
    columns = [(part, figure) for part in PARTS for figure in ("em", "f1")]
    groups = [*report.types.items(), ("all", whole)]
    by_type = table(
        ("type", "n", *(f"{_PART[part]} {_FIGURE[figure]}" for part, figure in columns)),
        (
            (
                html_of(name.replace("_", " ")),
                f"{group.n:,}",
                *(_cell(group, PARTS[part] + figure) for part, figure in columns),
            )
            for name, group in groups
        ),
        caption="By question type",
    )
    return parts + by_type


def _cell(group: Group, key: str) -> str:
    text = f"{group.metrics[key]:.2f}"
    if group.intervals is None:
        return text
    low, high = group.intervals[key]
    return f'{text} <span class="interval">[{low:.1f}, {high:.1f}]</span>'


def _drawn(report: Report) -> str:
    how = report.settings
    if how.confidence is None:
        return ""
    return (
        f"In brackets: {how.confidence * 100:g} % intervals, {how.resamples:,} bootstrap resamples "
        f"of the questions, seed {how.seed}. "
    )


def _warnings(warnings: Sequence[str]) -> str:
    entries = "".join(f"<li>{html_of(text, 2000)}</li>" for text in warnings)
    return f'<h3>What to know</h3><ul class="warnings">{entries}</ul>' if entries else ""


def _kinds_table(
    kinds: Sequence[Kind],
    counts: Counter[tuple[str, str]],
    findings: Findings,
    field: str,
    *,
    every: bool,
) -> str:
    """Give a table of outcomes or signs: what each means, its share, and a button that filters."""
    types, total = list(findings.report.types), max(1, findings.report.n)
    shown = Counter(
        key for one in findings.shown for key in ((one.outcome,) if every else one.signs)
    )
    rows = []
    for kind in kinds:
        by_type = [counts[name, kind.key] for name in types]
        count = sum(by_type)
        if not count and not every:
            continue
        meaning = f'{escape(kind.name)}<span class="meaning">{escape(kind.meaning)}</span>'
        rows.append(
            [meaning, f"{count:,}", f"{100 * count / total:.1f} %", *(f"{n:,}" for n in by_type),
             _button(kind, field, shown[kind.key])]
        )  # fmt: skip
    if not rows:
        return '<p class="note">None.</p>'
    head = (field, "questions", "share", *(name.replace("_", " ") for name in types), "examples")
    return table(head, rows, caption=f"Questions by {field}")


def _button(kind: Kind, field: str, count: int) -> str:
    if not count:
        return "–"
    return (
        f'<button type="button" class="needs-script" hidden data-field="{field}" '
        f'data-value="{kind.key}">show {count}'
        f'<span class="unseen"> of: {escape(kind.name)}</span></button>'
    )


def _present(kinds: Sequence[Kind], counts: Counter[tuple[str, str]]) -> list[tuple[str, str]]:
    keys = {key for _, key in counts}
    return [(kind.key, kind.name) for kind in kinds if kind.key in keys]


def _options(entries: Sequence[tuple[str, str]]) -> str:
    return "".join(
        f'<option value="{escape(key)}">{html_of(name)}</option>' for key, name in entries
    )


def _choice(findings: Findings, seed: int) -> str:
    shown, total = len(findings.shown), findings.report.n
    if shown == total:
        return f"All {total:,} questions are shown."
    return (
        f"{shown:,} of {total:,} questions are shown, drawn by seed {seed}, as many of each "
        "outcome as of the others; the tables above count all of them."
    )


def _examples(findings: Findings) -> str:
    parts = []
    for number, shown in enumerate(findings.shown, 1):
        text = example_html(shown, check_of(findings, shown), number)
        parts.append(text.replace("<details>", "<details open>", 1) if number <= _OPEN else text)
    return "\n".join(parts)


def _run(run: Mapping[str, Any] | None) -> str:
    """Show a run's curves and what it was."""
    if run is None:
        return ""
    facts = [(name, run[name]) for name in _RUN if run.get(name) is not None]
    hardware = run.get("hardware")
    if isinstance(hardware, Mapping):
        facts += list(hardware.items())
    entries = "".join(
        f"<div><dt>{html_of(str(name).replace('_', ' '))}</dt><dd>{_value(value)}</dd></div>"
        for name, value in facts
    )
    curves = draw_curves(run.get("history")) or '<p class="note">It recorded no losses.</p>'
    known = f'<dl class="facts">{entries}</dl>' if entries else ""
    return (
        '<section aria-labelledby="run"><h2 id="run">The run</h2>'
        f'<div class="charts">{curves}</div>{known}</section>'
    )


def _value(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        value = " ".join(value)
    return html_of(f"{value:,}" if type(value) is int else value, 500)


def _made(report: Report) -> str:
    command = f" by <code>{html_of(report.command, 1000)}</code>" if report.command else ""
    sums = [f"predictions {report.predictions.sha256[:12]}", f"gold {report.gold.sha256[:12]}"]
    return f"Made with twowiki {__version__}{command}. SHA-256: {escape(', '.join(sums))}."


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
