"""The report of a run: what came out, what was dropped and why, as JSON and as a page. Pure.

In: the stages' counts and the finished examples. Out: a dict for `report.json`, and HTML.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import Any

from twowiki.data.schema import TWO_WIKI_TYPES, Example
from twowiki.generation.dates import MONTHS
from twowiki.generation.run import Run

_SAMPLES_SHOWN = 3


def _is_date(text: str) -> bool:
    words = text.replace(",", " ").split()
    return (
        bool(words)
        and words[-1].isdecimal()
        and all(word.isdecimal() or word in MONTHS for word in words)
    )


def answer_type(example: Example, classes: Mapping[str, str]) -> str:
    """Return what an answer is: yes/no, date, or the label of its entity's class."""
    answer = example.answer or ""
    if answer in ("yes", "no"):
        return "yes/no"
    if example.answer_id is None or _is_date(answer):
        return "date"
    return classes.get(example.answer_id, "other")


class _Tally:
    """Counts of one type or split."""

    def __init__(self) -> None:
        self.count = self.question_words = self.answer_words = self.yes = self.no = 0

    def add(self, example: Example) -> None:
        self.count += 1
        self.question_words += len(example.question.split())
        self.answer_words += len((example.answer or "").split())
        self.yes += example.answer == "yes"
        self.no += example.answer == "no"

    def to_dict(self) -> dict[str, Any]:
        total = max(1, self.count)
        return {
            "samples": self.count,
            "question_words": round(self.question_words / total, 2),
            "answer_words": round(self.answer_words / total, 2),
            "yes": self.yes,
            "no": self.no,
        }


def make_report(
    run: Run, examples: Callable[[str], Iterable[Example]], splits: Mapping[str, str]
) -> dict[str, Any]:
    """Count everything that the paper's tables count, and every drop by its reason.

    Args:
        run: the run, with the counts of its stages.
        examples: returns the examples of train, dev or test.
        splits: the split of each sample by id.
    """
    classes = run.answer_classes()
    by_type = {kind: _Tally() for kind in TWO_WIKI_TYPES if kind in run.config.types}
    by_split: dict[str, Counter[str]] = {}
    answers: Counter[str] = Counter()
    shown: dict[str, list[dict[str, str]]] = {kind: [] for kind in by_type}
    relations: Counter[str] = Counter()
    for name in ("train", "dev", "test"):
        by_split[name] = Counter()
        for example in examples(name):
            kind = example.type or ""
            by_type[kind].add(example)
            by_split[name][kind] += 1
            answers[answer_type(example, classes)] += 1
            relations.update(triple.relation for triple in example.evidences)
            if len(shown[kind]) < _SAMPLES_SHOWN:
                fields = {"id": example.id, "question": example.question}
                shown[kind].append(fields | {"answer": example.answer or ""})
    total = sum(tally.count for tally in by_type.values())
    return {
        "settings": run.config.to_dict(),
        "samples": total,
        "types": {kind: tally.to_dict() for kind, tally in by_type.items()},
        "splits": {name: dict(sorted(counts.items())) for name, counts in by_split.items()},
        "parts": dict(sorted(Counter(splits.values()).items())),
        "answer_types": _shares(answers),
        "relations": dict(relations.most_common()),
        "single_hop_probe": {"f1": run.counts["splits"]["probe_f1"]},
        "chains": {
            "disjoint_by": run.counts["splits"]["level"],
            "leaks": run.counts["splits"]["leaks"],
        },
        "read": {name: dict(run.counts[name]) for name in ("wikidata", "paragraphs")},
        "facts": _without(run.counts["select"], "buckets") | dict(run.counts["ground"]),
        "dropped": _dropped(run.counts),
        "examples": shown,
    }


def _without(counts: Mapping[str, int], name: str) -> dict[str, int]:
    return {key: count for key, count in counts.items() if key != name}


def _shares(answers: Counter[str]) -> dict[str, Any]:
    total = max(1, sum(answers.values()))
    return {
        kind: {"samples": count, "percent": round(100 * count / total, 1)}
        for kind, count in sorted(answers.items(), key=lambda entry: (-entry[1], entry[0]))[:30]
    }


def _dropped(counts: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Gather the drops of all stages: by candidate table, then by reason."""
    found = {
        name: {reason: count for reason, count in reasons.items() if reason}
        for name, reasons in counts["candidates"].items()
    }
    for stage in ("samples", "contexts"):
        for label, count in counts[stage]["dropped"].items():
            kind, _, reason = label.partition("/")
            reasons = found.setdefault(kind, {})
            reasons[reason] = reasons.get(reason, 0) + count
    found["splits"] = dict(counts["splits"]["dropped"])
    return {
        name: dict(sorted(reasons.items())) for name, reasons in sorted(found.items()) if reasons
    }


def _table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    cells = "".join(f"<th>{escape(name)}</th>" for name in head)
    lines = [f"<tr>{cells}</tr>"]
    for row in rows:
        lines.append("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>")
    return "<table>\n" + "\n".join(lines) + "\n</table>"


def render_html(report: Mapping[str, Any]) -> str:
    """Render the report as one page without scripts."""
    types = report["types"]
    parts = [
        f"<p>{report['samples']:,} samples. "
        f"Settings: {escape(', '.join(f'{k} {v}' for k, v in report['settings'].items()))}.</p>",
        "<h2>Types</h2>",
        _table(
            ("type", "samples", "words a question", "words an answer", "yes", "no"),
            ((kind, *row.values()) for kind, row in types.items()),
        ),
        "<h2>Splits</h2>",
        _table(
            ("split", *types),
            (
                (name, *(counts.get(kind, 0) for kind in types))
                for name, counts in report["splits"].items()
            ),
        ),
        f"<p>{escape(_parts(report['parts']))}."
        f" Single-hop probe: F1 {report['single_hop_probe']['f1']}.</p>",
        "<h2>Entity chains</h2>",
        f"<p>No {escape(report['chains']['disjoint_by'])} of entities stands in two splits.</p>",
        _leak_table(report["chains"]["leaks"]),
        "<h2>Answers</h2>",
        _table(
            ("answer", "samples", "%"),
            (
                (kind, row["samples"], row["percent"])
                for kind, row in report["answer_types"].items()
            ),
        ),
        "<h2>Relations</h2>",
        _table(("relation", "evidences"), report["relations"].items()),
        "<h2>Read</h2>",
        *(
            f"<h3>{escape(name)}</h3>" + _table(("what", "count"), counts.items())
            for name, counts in report["read"].items()
        ),
        "<h2>Joined</h2>",
        _table(("what", "count"), report["facts"].items()),
        "<h2>Dropped</h2>",
        *(
            f"<h3>{escape(name)}</h3>" + _table(("reason", "candidates"), reasons.items())
            for name, reasons in report["dropped"].items()
        ),
        "<h2>Examples</h2>",
        *(
            f"<h3>{escape(kind)}</h3>"
            + _table(("question", "answer"), ((row["question"], row["answer"]) for row in rows))
            for kind, rows in report["examples"].items()
        ),
    ]
    return _PAGE.format(body="\n".join(parts))


def _parts(parts: Mapping[str, int]) -> str:
    return ", ".join(f"{name or 'dropped'}: {count:,}" for name, count in parts.items())


def _leak_table(leaks: Mapping[str, Mapping[str, int]]) -> str:
    names = list(next(iter(leaks.values())))
    return _table(("split", *names), ((name, *row.values()) for name, row in leaks.items()))


_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Generated data set</title>
<style>
body {{ font: 16px/1.5 sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }}
table {{ border-collapse: collapse; margin: 0.5rem 0 1rem; }}
td, th {{ border: 1px solid #ccc; padding: 0.2rem 0.6rem; text-align: left; }}
</style>
<h1>Generated data set</h1>
{body}
</html>
"""
