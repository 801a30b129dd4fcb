"""The report of a scoring as one HTML page that needs nothing else. Pure.

In: `Findings`, and a run's report.json where there is one. Out: the page. Style and script are in
it; a Content-Security-Policy forbids everything but these two, so that nothing that a prediction
holds can load or run.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from twowiki import __version__
from twowiki.pages.curves import draw_curves
from twowiki.pages.example import example_html
from twowiki.pages.gathering import Findings, check_of
from twowiki.pages.markup import html_of, table
from twowiki.pages.outcomes import OUTCOMES, SIGNS, Kind
from twowiki.report import Group, Report
from twowiki.rows import FIGURES, PARTS

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
    how = report.resampling
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
