"""Last stage: the released questions, where each answer comes from, and what was left out why.

In: sources, filter and screening records, review states. Out: the release's files as texts, in
ARC-DA's format. A pure function of its inputs: the same data and log give the same bytes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from twowiki.arc_da.conversion import filter as filtering
from twowiki.arc_da.conversion import screening
from twowiki.arc_da.conversion.review import Answer, Event, State
from twowiki.arc_da.metric.folding import unicode_words
from twowiki.arc_da.schema import Question, question_to_official
from twowiki.arc_da.statistics import count_split, find_repeats, render_statistics
from twowiki.errors import DataError

SPLITS = ("train", "dev", "test")
PAPER_REVIEWED = 10  # percent of ARC's questions, removed by the paper's in-house review


def released_questions(
    sources: Iterable[Mapping[str, Any]], states: Mapping[str, State]
) -> dict[str, list[Question]]:
    """Collect the accepted questions by split, in the sources' order."""
    splits: dict[str, list[Question]] = {}
    for source in sources:
        state = states.get(source["question_id"])
        if state is not None and state.decision == "accept":
            question = Question(
                source["question_id"], source["tag"], state.question, state.confirmed
            )
            splits.setdefault(source["split"], []).append(question)
    return {split: splits[split] for split in SPLITS if split in splits}


def check_repeats(splits: Mapping[str, Sequence[Question]], allowed: Collection[str]) -> None:
    """Check that no question's text stands in two splits, ids in `allowed` aside.

    Raises:
        DataError: one does; both ids are named.
    """
    seen: dict[tuple[str, ...], tuple[str, str]] = {}
    for split, questions in splits.items():
        for question in questions:
            key = tuple(unicode_words(question.question))
            first, record = seen.setdefault(key, (split, question.question_id))
            if first != split and not {record, question.question_id} <= set(allowed):
                raise DataError(
                    f"the same question stands in {first} ({record}) and in {split}",
                    record=question.question_id,
                    field="question",
                    remedy="Reword or reject one, or list both ids in the file of --allow-repeats",
                )


def count_stages(
    filtered: Sequence[Mapping[str, Any]],
    screened: Sequence[Mapping[str, Any]],
    states: Mapping[str, State],
    aside: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """Count what each stage removed, as a share of all questions and of those it was given."""
    total = len(filtered)
    kept = sum(record["kept"] for record in filtered)
    failed = [record for record in screened if record["verdict"] == "fail"]
    passed = sum(record["verdict"] == "pass" for record in screened)
    decided = Counter(state.decision for state in states.values())
    rejected = Counter(state.reason for state in states.values() if state.decision == "reject")
    return {
        "source": total,
        "question_filter": {
            **_removed(total - kept, total, total),
            "paper_percent": filtering.PAPER_REMOVED,
            "reasons": dict(sorted(Counter(r["reason"] for r in filtered if r["reason"]).items())),
        },
        "additional_filter": {
            **_removed(len(failed), total, kept),
            "paper_percent": screening.PAPER_REMOVED,
            "reasons": dict(sorted(Counter(record["reason"] for record in failed).items())),
            "pending": kept - passed - len(failed),
        },
        "review": {
            **_removed(decided["reject"], total, passed),
            "paper_percent": PAPER_REVIEWED,
            "reasons": dict(sorted((str(name), count) for name, count in rejected.items())),
            "undecided": passed - decided["accept"] - decided["reject"],
        },
        "released": decided["accept"],
        "set_aside": dict(sorted(aside.items())),
        "unconfirmed_answers": sum(
            len(state.answers) - len(state.confirmed)
            for state in states.values()
            if state.decision == "accept"
        ),
    }


def render_stages(stages: Mapping[str, Any]) -> str:
    """Write the stages' counts as text, the paper's shares beside them."""
    lines = [
        f"{'stage':<22}{'given':>8}{'removed':>9}{'% of all':>10}{'% of given':>12}{'paper':>8}"
    ]
    for name in ("question_filter", "additional_filter", "review"):
        found = stages[name]
        lines.append(
            f"{name.replace('_', ' '):<22}{found['given']:>8,}{found['removed']:>9,}"
            f"{_share(found['percent_of_source']):>10}{_share(found['percent_of_given']):>12}"
            f"{found['paper_percent']:>7}%"
        )
        lines += [f"    {reason:<24}{count:>9,}" for reason, count in found["reasons"].items()]
        lines += [
            f"    {label:<24}{found[label]:>9,}  (not removed)"
            for label in ("pending", "undecided")
            if found.get(label)
        ]
    lines.append(f"released {stages['released']:,} of {stages['source']:,} questions")
    lines += [f"set aside: {name} {why}" for name, why in stages["set_aside"].items()]
    if stages["unconfirmed_answers"]:
        lines.append(
            f"answers that came after the review, left out: {stages['unconfirmed_answers']:,} "
            "(review-export shows their questions again)"
        )
    return "\n".join(lines) + "\n"


def release_files(
    sources: Sequence[Mapping[str, Any]],
    filtered: Sequence[Mapping[str, Any]],
    screened: Sequence[Mapping[str, Any]],
    states: Mapping[str, State],
    events: Sequence[Event],
    *,
    aside: Mapping[str, str] = MappingProxyType({}),
    allowed: Collection[str] = (),
) -> dict[str, str]:
    """Make the release: a JSON-lines file a split, provenance, statistics, a card.

    Raises:
        DataError: no question is accepted, or one text stands in two splits.
    """
    splits = released_questions(sources, states)
    if not splits:
        raise DataError(
            "no question is accepted yet, so there is nothing to release",
            remedy="Accept some in the table of review-export, and read it with review-import",
        )
    check_repeats(splits, allowed)
    stages = count_stages(filtered, screened, states, aside)
    counts = {split: count_split(questions) for split, questions in splits.items()}
    by_question: dict[str, list[Event]] = {}
    for event in events:
        by_question.setdefault(event.question_id, []).append(event)
    originals = {source["question_id"]: source for source in sources}
    provenance = [
        _provenance(
            question,
            states[question.question_id],
            originals[question.question_id],
            by_question.get(question.question_id, []),
        )
        for questions in splits.values()
        for question in questions
    ]
    table = f"{render_stages(stages)}\n{render_statistics(counts, find_repeats(splits))}".rstrip()
    return {
        **{
            f"{split}.jsonl": _lines(map(question_to_official, found))
            for split, found in splits.items()
        },
        "provenance.jsonl": _lines(provenance),
        "stats.json": json.dumps({"stages": stages, "splits": counts}, indent=2) + "\n",
        "README.md": _CARD.format(table=table, files=", ".join(f"{s}.jsonl" for s in splits)),
    }


def _provenance(
    question: Question, state: State, source: Mapping[str, Any], events: Sequence[Event]
) -> dict[str, Any]:
    return {
        "question_id": question.question_id,
        "split": source["split"],
        "source_hash": source["hash"],
        "original_question": " ".join(source["stem"].split()),
        "reworded": any(event.op == "reword_question" for event in events),
        "answers": [_origin(answer) for answer in state.answers if answer.verified],
        "reviewers": sorted({event.reviewer for event in events}),
        "events": [event.seq for event in events],
    }


def _origin(answer: Answer) -> dict[str, Any]:
    return {
        "text": answer.text,
        "origins": list(answer.origins),
        "support": len(answer.workers),
        "workers": list(answer.workers),
        "short_of": answer.short_of,
        "verified": answer.verified,
    }


def _removed(count: int, total: int, given: int) -> dict[str, Any]:
    return {
        "given": given,
        "removed": count,
        "percent_of_source": round(100 * count / total, 2) if total else None,
        "percent_of_given": round(100 * count / given, 2) if given else None,
    }


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}%"


def _lines(records: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


_CARD = """# Direct-answer questions

Made from multiple-choice questions: filtered, answered by several people, reviewed by experts.
{files} hold one question a line, with the fields of ARC-DA: `question_id`, `tag`, `question`,
`answers`. `provenance.jsonl` says for each answer who gave it (people are keyed hashes) and which
events of the review touched the question; `stats.json` holds the counts below.

```
{table}
```
"""
