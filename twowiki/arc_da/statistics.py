"""Count what Table 1 of the paper counts, and what a user should know before trusting a split.

In: questions. Out: plain values, and their text. Words are split at white space. "Words per answer"
has two readings that differ: the mean over all answers, and the mean over questions of each
question's own mean; both are reported under their names. The paper's Table 1 describes an earlier
version of the data: 2.75, 2.72, 2.92 answers per question and 2.11, 1.94, 2.27 words per answer;
v1.1 differs. It refuses a file of types without ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from twowiki.arc_da.metric.folding import unicode_words
from twowiki.arc_da.metric.scoring import answer_tokens
from twowiki.arc_da.schema import Question
from twowiki.errors import DataError
from twowiki.io.records import read_records
from twowiki.metric.tables import render_table

_ROWS = (
    ("questions", "questions"),
    ("answers", "answers"),
    ("answers_per_question", "answers per question (mean)"),
    ("answers_median", "answers per question (median)"),
    ("answers_most", "answers per question (most)"),
    ("one_answer", "questions with one answer"),
    ("no_answer", "questions without answers (hidden gold)"),
    ("words_per_answer", "words per answer (mean over answers)"),
    ("words_per_answer_by_question", "words per answer (mean of per-question means)"),
    ("words_per_question", "words per question (mean)"),
    ("easy", "from ARC-Easy"),
    ("challenge", "from ARC-Challenge"),
    ("no_question_mark", "questions that do not end in '?'"),
    ("non_ascii_answers", "answers with a character outside ASCII"),
    ("blind_answers", "answers without an ASCII letter or digit"),
    ("key_among_answers", "questions with the original's right option among the answers"),
)


def count_split(questions: Iterable[Question]) -> dict[str, Any]:
    """Count one split; `None` where there is nothing to count."""
    listed = list(questions)
    golds = [question.answers for question in listed if question.answers]
    sizes = [len(answers) for answers in golds]
    words = [[len(answer.split()) for answer in answers] for answers in golds]
    joined = [question for question in listed if question.key_text is not None]
    flat = [answer for answers in golds for answer in answers]
    return {
        "questions": len(listed),
        "answers": len(flat),
        "answers_per_question": _mean(sizes),
        "answers_median": median(sizes) if sizes else None,
        "answers_most": max(sizes, default=None),
        "one_answer": sizes.count(1),
        "no_answer": len(listed) - len(golds),
        "words_per_answer": _mean([count for counts in words for count in counts]),
        "words_per_answer_by_question": _mean([sum(c) / len(c) for c in words]),
        "words_per_question": _mean([len(question.question.split()) for question in listed]),
        "easy": sum(question.difficulty == "easy" for question in listed),
        "challenge": sum(question.difficulty == "challenge" for question in listed),
        "no_question_mark": sum(not q.question.rstrip().endswith("?") for q in listed),
        "non_ascii_answers": sum(not answer.isascii() for answer in flat),
        "blind_answers": sum(not any(s.isascii() and s.isalnum() for s in a) for a in flat),
        "key_among_answers": sum(map(_has_key, joined)) if joined else None,
        "tags": dict(sorted(Counter(question.tag or "none" for question in listed).items())),
    }


def find_repeats(splits: Mapping[str, Sequence[Question]]) -> dict[str, Any]:
    """Find ids that come twice, and questions whose text comes twice, within and across splits."""
    ids: dict[str, list[str]] = {}
    texts: dict[str, list[tuple[str, str]]] = {}
    for split, questions in splits.items():
        for question in questions:
            ids.setdefault(question.question_id, []).append(split)
            key = " ".join(unicode_words(question.question))
            texts.setdefault(key, []).append((split, question.question_id))
    repeats = [places for places in texts.values() if len(places) > 1]
    return {
        "same_id": sorted(record for record, places in ids.items() if len(places) > 1),
        "same_text_within": [p for p in repeats if len({split for split, _ in p}) == 1],
        "same_text_across": [p for p in repeats if len({split for split, _ in p}) > 1],
    }


def render_statistics(counts: Mapping[str, Mapping[str, Any]], repeats: Mapping[str, Any]) -> str:
    """Return the counts as a table, a column for each split, then the tags and the repeats."""
    rows = [["", *counts]]
    for key, label in _ROWS:
        cells = [_cell(split[key]) for split in counts.values()]
        rows += [[label, *cells]] if any(cell != "-" for cell in cells) else []
    lines = [render_table(rows)]
    for split, found in counts.items():
        tags = ", ".join(f"{tag} {count}" for tag, count in found["tags"].items())
        lines.append(f"tags of {split}: {tags}")
    within, across = repeats["same_text_within"], repeats["same_text_across"]
    lines.append(
        f"the same text twice: {len(within)} within a split, {len(across)} across splits; "
        f"ids twice: {len(repeats['same_id'])}"
    )
    return "\n".join(lines) + "\n"


def _has_key(question: Question) -> bool:
    key = answer_tokens(question.key_text or "")
    return any(answer_tokens(answer) == key for answer in question.answers)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _cell(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else f"{value:,}"


_TYPE_GROUPS = ("knowledge", "reasoning")


def read_types(path: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """Read a side file: by id, the types of each group.

    Raises:
        DataError: a record has no id, or neither group of types.
    """
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for number, record in read_records(path):
        name = record.get("id") or record.get("question_id")
        if not isinstance(name, str) or not any(group in record for group in _TYPE_GROUPS):
            remedy = 'Write {"id": "...", "knowledge": ["..."], "reasoning": ["..."]}'
            raise DataError("no id, or no types", file=path, record=number, remedy=remedy)
        found[name] = {group: _listed(record.get(group), path, number) for group in _TYPE_GROUPS}
    return found


def count_types(
    types: Mapping[str, Mapping[str, tuple[str, ...]]], ids: Iterable[tuple[str, str]]
) -> dict[str, Any]:
    """Count the types of the questions whose ARC-DA id or ARC id is known; a question counts once.

    Args:
        types: what `read_types` returns.
        ids: (ARC-DA's id, ARC's id) of each question.
    """
    known = [types.get(name) or types.get(arc_id) for name, arc_id in ids]
    annotated = [entry for entry in known if entry]
    return {
        "questions": len(known),
        "annotated": len(annotated),
        **{
            group: dict(Counter(name for entry in annotated for name in entry[group]).most_common())
            for group in _TYPE_GROUPS
        },
    }


def render_types(counts: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the shares beside each other, a column for each set of questions."""
    rows = []
    for group in _TYPE_GROUPS:
        rows.append([group, *counts])
        for name in dict.fromkeys(name for found in counts.values() for name in found[group]):
            shares = [
                f"{100 * found[group].get(name, 0) / found['annotated']:.1f}%"
                if found["annotated"]
                else "-"
                for found in counts.values()
            ]
            rows.append([f"  {name}", *shares])
    totals = ", ".join(
        f"{title} {found['annotated']} of {found['questions']}" for title, found in counts.items()
    )
    return f"{render_table(rows)}\nquestions with types: {totals}\n"


def _listed(value: Any, path: str, number: int) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        value = [part.strip() for part in value.split(";") if part.strip()]
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise DataError("types must be a list of texts", file=path, record=number)
    return tuple(dict.fromkeys(value))
