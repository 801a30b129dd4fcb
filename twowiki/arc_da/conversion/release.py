"""Last stage: the released questions, where each answer comes from, and what was left out why.

In: sources, review states, decisions, the stages' counts. Out: the release's files as texts, in
ARC-DA's format. The same inputs give the same bytes. It refuses to release nothing, and one text
in two splits.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from twowiki.arc_da.conversion.filter import PAPER_FILTERED, FilteredQuestion, SourceQuestion
from twowiki.arc_da.conversion.review import Decision, ReplayedReview, ReviewAnswer, ReviewState
from twowiki.arc_da.conversion.screening import PAPER_SCREENED, ScreenedQuestion
from twowiki.arc_da.metric.folding import unicode_words
from twowiki.arc_da.schema import Question, question_to_official
from twowiki.arc_da.statistics import count_split, find_repeats, render_statistics
from twowiki.errors import DataError
from twowiki.metric.tables import render_table

PAPER_REVIEWED = 10  # percent of ARC's questions, removed by the paper's in-house review
_SPLITS = ("train", "dev", "test")


def released_questions(
    sources: Iterable[SourceQuestion], states: Mapping[str, ReviewState]
) -> dict[str, list[Question]]:
    """Return the accepted questions by split, in the sources' order."""
    splits: dict[str, list[Question]] = {}
    for source in sources:
        state = states.get(source.question_id)
        if state is not None and state.decision == "accept":
            question = Question(source.question_id, source.tag, state.question, state.confirmed)
            splits.setdefault(source.split, []).append(question)
    return {split: splits[split] for split in _SPLITS if split in splits}


def check_repeats(splits: Mapping[str, Sequence[Question]], allowed: Collection[str]) -> None:
    """Check that no question's text occurs in two splits, ids in `allowed` aside.

    Raises:
        DataError: some do; all pairs are named.
    """
    seen: dict[tuple[str, ...], tuple[str, str]] = {}
    pairs = []
    for split, questions in splits.items():
        for question in questions:
            key = tuple(unicode_words(question.question))
            first, record = seen.setdefault(key, (split, question.question_id))
            if first != split and not {record, question.question_id} <= set(allowed):
                pairs.append((f"{record} ({first})", f"{question.question_id} ({split})"))
    if pairs:
        listed = "; ".join(" and ".join(pair) for pair in pairs)
        raise DataError(
            f"{len(pairs)} questions are in two splits: {listed}",
            field="question",
            remedy="Reword or reject one of each, or list both ids in the file of --allow-repeats",
        )


def count_stages(
    filtered: Sequence[FilteredQuestion],
    screened: Sequence[ScreenedQuestion],
    review: ReplayedReview,
) -> dict[str, Any]:
    """Count what each stage removed, as a share of all questions and of those it was given."""
    total = len(filtered)
    kept = sum(record.kept for record in filtered)
    failed = [record for record in screened if record.verdict == "fail"]
    passed = sum(record.verdict == "pass" for record in screened)
    states = list(review.states.values())
    rejected = [state for state in states if state.decision == "reject"]
    accepted = [state for state in states if state.decision == "accept"]
    return {
        "source": total,
        "question_filter": {
            **_removed(total - kept, total, total),
            "paper_percent": PAPER_FILTERED,
            "reasons": _counted(record.reason for record in filtered if record.reason),
        },
        "additional_filter": {
            **_removed(len(failed), total, kept),
            "paper_percent": PAPER_SCREENED,
            "reasons": _counted(record.reason for record in failed),
            "pending": kept - passed - len(failed),
        },
        "review": {
            **_removed(len(rejected), total, passed),
            "paper_percent": PAPER_REVIEWED,
            "reasons": _counted(state.reason for state in rejected),
            "undecided": passed - len(accepted) - len(rejected),
        },
        "released": len(accepted),
        "set_aside": dict(sorted(review.aside.items())),
        "unconfirmed_answers": sum(len(one.answers) - len(one.confirmed) for one in accepted),
    }


def render_stages(stages: Mapping[str, Any]) -> str:
    """Return the stages' counts as text, the paper's shares beside them."""
    rows = [["stage", "given", "removed", "% of all", "% of given", "paper"]]
    for name in ("question_filter", "additional_filter", "review"):
        found = stages[name]
        shares = [
            "-" if found[key] is None else f"{found[key]:.1f}%"
            for key in ("percent_of_source", "percent_of_given")
        ]
        counts = [f"{found[key]:,}" for key in ("given", "removed")]
        rows.append([name.replace("_", " "), *counts, *shares, f"{found['paper_percent']}%"])
        rows += [
            [f"    {reason}", "", f"{n:,}", "", "", ""] for reason, n in found["reasons"].items()
        ]
        rows += [
            [f"    {label} (not removed)", "", f"{found[label]:,}", "", "", ""]
            for label in ("pending", "undecided")
            if found.get(label)
        ]
    lines = [
        render_table(rows),
        f"released {stages['released']:,} of {stages['source']:,} questions",
    ]
    lines += [f"set aside: {name} {why}" for name, why in stages["set_aside"].items()]
    if stages["unconfirmed_answers"]:
        lines.append(
            f"answers that came after the review, left out: {stages['unconfirmed_answers']:,} "
            "(review-export shows their questions again)"
        )
    return "\n".join(lines) + "\n"


def release_files(
    sources: Sequence[SourceQuestion],
    states: Mapping[str, ReviewState],
    decisions: Sequence[Decision],
    stages: Mapping[str, Any],
    *,
    allowed: Collection[str] = (),
) -> dict[str, str]:
    """Return the release: a JSON-lines file per split, provenance, statistics, a card.

    Raises:
        DataError: no question is accepted, or one text occurs in two splits.
    """
    splits = released_questions(sources, states)
    if not splits:
        raise DataError(
            "no question is accepted yet, so there is nothing to release",
            remedy="Accept some in the table of review-export, and read it with review-import",
        )
    check_repeats(splits, allowed)
    counts = {split: count_split(questions) for split, questions in splits.items()}
    by_question: dict[str, list[Decision]] = {}
    for decision in decisions:
        by_question.setdefault(decision.question_id, []).append(decision)
    originals = {source.question_id: source for source in sources}
    provenance = [
        _provenance(
            states[question.question_id],
            originals[question.question_id],
            by_question.get(question.question_id, []),
        )
        for questions in splits.values()
        for question in questions
    ]
    text = f"{render_stages(stages)}\n{render_statistics(counts, find_repeats(splits))}".rstrip()
    names = [f"{split}.jsonl" for split in splits]
    return {
        **{
            name: _lines(map(question_to_official, questions))
            for name, questions in zip(names, splits.values(), strict=True)
        },
        "provenance.jsonl": _lines(provenance),
        "stats.json": json.dumps({"stages": stages, "splits": counts}, indent=2) + "\n",
        "README.md": _CARD.format(table=text, files=", ".join(names)),
    }


def _provenance(
    state: ReviewState, source: SourceQuestion, decisions: Sequence[Decision]
) -> dict[str, Any]:
    return {
        "question_id": source.question_id,
        "split": source.split,
        "source_hash": source.hash,
        "original_question": " ".join(source.stem.split()),
        "reworded": any(one.question != one.shown.question for one in decisions),
        "answers": [_origin(answer) for answer in state.answers if answer.verified],
        "reviewers": sorted({one.reviewer for one in decisions}),
        "decisions": [one.seq for one in decisions],
    }


def _origin(answer: ReviewAnswer) -> dict[str, Any]:
    return {
        "text": answer.text,
        "origins": list(answer.origins),
        "support": len(answer.workers),
        "workers": list(answer.workers),
        "short_of": answer.short_of,
        "wordings": list(answer.wordings),
        "verified": answer.verified,
    }


def _removed(count: int, total: int, given: int) -> dict[str, Any]:
    return {
        "given": given,
        "removed": count,
        "percent_of_source": 100 * count / total if total else None,
        "percent_of_given": 100 * count / given if given else None,
    }


def _counted(reasons: Iterable[str | None]) -> dict[str, int]:
    return dict(sorted(Counter(map(str, reasons)).items()))


def _lines(records: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


_CARD = """# Direct-answer questions

Made from multiple-choice questions: filtered, answered by several people, reviewed by experts.
{files} hold one question per line, with the fields of ARC-DA: `question_id`, `tag`, `question`,
`answers`. `provenance.jsonl` holds for each answer who gave it (people are keyed hashes) and which
decisions of the review made the question; `stats.json` holds the counts below.

```
{table}
```
"""
