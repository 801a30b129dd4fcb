"""The report of a run: what came out, what was dropped and why, as JSON and as a page. Pure.

In: the stages' counts and the finished examples. Out: a dict for `report.json`, and HTML.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from twowiki.data.dates import DATE
from twowiki.data.schema import TWO_WIKI_TYPES, Example
from twowiki.generation.profiles import distances, profile_of
from twowiki.generation.run import GenerationRun
from twowiki.generation.shortcuts import certificate_line
from twowiki.io.files import write_json, write_text
from twowiki.pages.generation_page import PAGE, ShownQuestions, render_generation_page

_SAMPLES_SHOWN = 3


def answer_type(example: Example, classes: Mapping[str, str]) -> str:
    """Return what an answer is: yes/no, date, or the label of its entity's class."""
    answer = example.answer or ""
    if answer in ("yes", "no"):
        return "yes/no"
    if answer.isdigit() and len(answer) < 3:
        return "number"
    if example.answer_id is None or DATE.fullmatch(answer):
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


def summarize_run(
    run: GenerationRun, examples: Callable[[str], Iterable[Example]], splits: Mapping[str, str]
) -> dict[str, Any]:
    """Count everything that the paper's tables count, and every drop by its reason.

    Args:
        run: the run, with the counts of its stages.
        examples: returns the examples of train, dev or test.
        splits: the split of each sample by id.
    """
    classes = run.answer_classes()
    by_type = {kind: _Tally() for kind in run.config.all_types}
    by_split: dict[str, Counter[str]] = {}
    answers: Counter[str] = Counter()
    page = ShownQuestions(_SAMPLES_SHOWN)
    relations: Counter[str] = Counter()
    for name in ("train", "dev", "test"):
        by_split[name] = Counter()
        for example in examples(name):
            kind = example.type or ""
            by_type[kind].add(example)
            by_split[name][kind] += 1
            answers[answer_type(example, classes)] += 1
            relations.update(triple.relation for triple in example.triples)
            page.add(example)
    total = sum(tally.count for tally in by_type.values())
    like: dict[str, Any] = {}
    if run.config.profile is not None and total:
        kept = (one for name in ("train", "dev", "test") for one in examples(name)
                if one.type in TWO_WIKI_TYPES)  # fmt: skip
        after = profile_of(kept, "")
        like["like"] = {
            "source": run.config.profile.source,
            "before": run.counts["samples"]["like_before"],
            "after": distances(run.config.profile, after),
        }
    return {
        "settings": run.config.to_dict(),
        "samples": total,
        "types": {kind: tally.to_dict() for kind, tally in by_type.items()},
        "splits": {name: dict(sorted(counts.items())) for name, counts in by_split.items()},
        "lacking": lacking_types(by_split, [kind for kind in by_type if by_type[kind].count]),
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
        "examples": page.questions(by_type),
        **like,
        PAGE: page.to_dict(),
    }


def lacking_types(
    splits: Mapping[str, Mapping[str, int]], types: Iterable[str]
) -> dict[str, list[str]]:
    """Return the types of which a split has no sample, by split."""
    found = {
        name: [kind for kind in types if not counts.get(kind)] for name, counts in splits.items()
    }
    return {name: kinds for name, kinds in found.items() if kinds}


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


def write_report(out: Path, report: Mapping[str, Any]) -> None:
    """Write `report.json` and `report.html` into a folder."""
    certificate = certificate_line(report["certificate"]) if "certificate" in report else ""
    write_json(out / "report.json", {name: one for name, one in report.items() if name != PAGE})
    write_text(out / "report.html", render_generation_page(report, certificate))
