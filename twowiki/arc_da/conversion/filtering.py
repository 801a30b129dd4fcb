"""First stage: ARC's questions as records, and the question filter with its reasons.

In: multiple-choice questions, rules. Out: one record a question, kept or removed, with every rule
hit; counts by rule. The paper removed about 50% of all questions here.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from twowiki.arc_da.conversion.rewording import normalise_stem, suggest_rewording
from twowiki.arc_da.conversion.rules import RuleSet, Tagger, find_hits
from twowiki.arc_da.schema import Choice, MultipleChoice, Question, text_of
from twowiki.arc_da.sentences import asks_earlier
from twowiki.errors import DataError

PAPER_REMOVED = 50  # percent of ARC's questions, by the paper's initial question filter


def source_record(question: MultipleChoice) -> dict[str, Any]:
    """Write a question as the first stage's record, with the tag that the release will carry.

    Raises:
        DataError: its difficulty or split is not known, so it cannot be tagged.
    """
    if question.difficulty is None or question.split is None:
        remedy = (
            "Keep ARC's file names (ARC-Easy-Train.jsonl), or give --difficulty and --assume-split"
        )
        raise DataError("difficulty or split is not known", record=question.id, remedy=remedy)
    content = {
        "question_id": question.question_id,
        "arc_id": question.id,
        "split": question.split,
        "tag": f"{question.difficulty}-{question.split}".upper(),
        "stem": question.stem,
        "choices": [choice._asdict() for choice in question.choices],
        "answer_key": question.answer_key,
    }
    text = json.dumps(content, ensure_ascii=False, sort_keys=True)
    return {**content, "hash": hashlib.sha256(text.encode()).hexdigest()[:16]}


def key_text(record: Mapping[str, Any]) -> str | None:
    """Give the right option's text of a source record, found by its label."""
    choices = [Choice(entry["label"], entry["text"]) for entry in record["choices"]]
    return text_of(choices, record["answer_key"])


def filter_record(
    source: Mapping[str, Any], rules: RuleSet, *, tagger: Tagger | None = None
) -> dict[str, Any]:
    """Apply the rules to one question: kept, or removed for the first rule that hit."""
    question = normalise_stem(source["stem"])
    hits = find_hits(question, rules, tagger=tagger)
    return {
        "question_id": source["question_id"],
        "split": source["split"],
        "question": question,
        "kept": not hits,
        "reason": hits[0].rule if hits else None,
        "hits": [hit._asdict() for hit in hits],
        "asks_earlier": asks_earlier(question),
        "suggestion": None if hits else suggest_rewording(question),
    }


def count_filtered(records: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Count what each rule removes: all its hits, those it hit first, those it alone hit."""
    listed = list(records)
    hits: Counter[str] = Counter()
    first: Counter[str] = Counter()
    alone: Counter[str] = Counter()
    for record in listed:
        names = [hit["rule"] for hit in record["hits"]]
        hits.update(names)
        first.update(names[:1])
        alone.update(names if len(names) == 1 else [])
    return {
        "questions": len(listed),
        "kept": sum(record["kept"] for record in listed),
        "removed": sum(not record["kept"] for record in listed),
        "asks_earlier": sum(record["asks_earlier"] for record in listed),
        "by_rule": {
            name: {"hits": count, "first": first[name], "alone": alone[name]}
            for name, count in sorted(hits.items(), key=lambda item: (-item[1], item[0]))
        },
    }


def render_filtered(counts: Mapping[str, Any], title: str) -> str:
    """Write the counts as a table, with the paper's figure beside the total."""
    total = counts["questions"]
    lines = [f"{title:<28}{'hits':>8}{'first':>8}{'alone':>8}{'% of all':>10}"]
    for name, found in counts["by_rule"].items():
        share = _percent(found["hits"], total)
        lines.append(
            f"{name:<28}{found['hits']:>8}{found['first']:>8}{found['alone']:>8}{share:>10}"
        )
    removed = _percent(counts["removed"], total)
    lines.append(
        f"removed {counts['removed']:,} of {total:,} questions ({removed}; "
        f"the paper says about {PAPER_REMOVED}%), kept {counts['kept']:,}"
    )
    return "\n".join(lines) + "\n"


def audit(
    originals: Sequence[MultipleChoice], released: Sequence[Question], rules: RuleSet
) -> dict[str, Any]:
    """Check a rule set against released questions, joined by id with their originals.

    A violation is a released question that the rules would have removed.

    Returns:
        Counts over the originals and, of them, the training split; the released questions found
        among the originals; every violation with its hits.
    """
    records = [
        filter_record({"question_id": q.question_id, "split": q.split, "stem": q.stem}, rules)
        for q in originals
    ]
    by_id = {record["question_id"]: record for record in records}
    joined = [q for q in released if q.question_id in by_id]
    broken = [by_id[q.question_id] for q in joined if not by_id[q.question_id]["kept"]]
    train = [record for record in records if record["split"] == "train"]
    return {
        "rules": rules.name,
        "all": count_filtered(records),
        "train": count_filtered(train),
        "released": len(released),
        "joined": len(joined),
        "violations": len(broken),
        "survive": 1 - len(broken) / len(joined) if joined else None,
        "violating": [
            {
                "question_id": r["question_id"],
                "rules": [h["rule"] for h in r["hits"]],
                "sentence": r["hits"][0]["sentence"],
            }
            for r in broken
        ],
    }


def render_audit(found: Mapping[str, Any], *, listed: int = 10) -> str:
    """Write an audit as text: shares removed, shares of released questions that survive."""
    lines = [render_filtered(found["all"], f"rules '{found['rules']}'").rstrip("\n")]
    if found["train"]["questions"]:
        train = found["train"]
        share = _percent(train["removed"], train["questions"])
        lines.append(f"of the training split: removed {train['removed']:,} ({share})")
    survive = "-" if found["survive"] is None else f"{100 * found['survive']:.2f}%"
    lines.append(
        f"released questions joined by id: {found['joined']:,} of {found['released']:,}; "
        f"{found['violations']} would have been removed, {survive} survive"
    )
    for entry in found["violating"][:listed]:
        lines.append(f"  {entry['question_id']}  {', '.join(entry['rules'])}: {entry['sentence']}")
    if len(found["violating"]) > listed:
        lines.append(f"  ... and {len(found['violating']) - listed} more (--list, or --json)")
    return "\n".join(lines) + "\n"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "-"
