"""How far do shortcuts go? Readers that must not succeed, and one that must. Pure.

In: records in the authors' form, with gold. Out: an answer of each probe for each record.
- majority: the commonest answer among those of the same kind (told which kind it is);
- question only: learnt from the words of questions, with no paragraph;
- one paragraph: every paragraph is read alone, the surest answer counts;
- two hops: follows the gold facts through the gold sentences and compares; it learns nothing.
The two that learn never saw the fold of the record that they answer.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from twowiki.metric.normalization import normalise_answer
from twowiki.worlds.calendar import MONTHS

Record = Mapping[str, Any]
FOLDS = 5
_MONTH = "|".join(MONTHS)
_DATE = re.compile(
    rf"(?:\d{{1,2}}(?:st|nd|rd|th)? (?:{_MONTH}) |(?:{_MONTH}) (?:\d{{1,2}}, )?|\b)\d{{3,4}}\b"
)
_NAME = re.compile(
    r"[^\W\d_a-z][\w'’.-]*(?:(?:,? (?:of|the|de|in|and|&))*,? [^\W\d_a-z][\w'’.-]*)*"
)
_PAIR = re.compile(
    r"^\w+ (?:[a-z]+(?:'s)?,? )*([^a-z].*) or (.+?)(?: born first)?\?+ ?$"
)  # what a question compares


def folds_of(records: Sequence[Record]) -> list[int]:
    """Deal records into folds by their ids."""
    return [int(hashlib.md5(r["_id"].encode()).hexdigest()[:8], 16) % FOLDS for r in records]


def answer_kind(record: Record) -> str:
    """Tell the kind of a record's answer: yes/no, date, one of those compared, or other."""
    answer = record["answer"]
    if answer in ("yes", "no"):
        return "yes/no"
    if record["type"] in ("comparison", "bridge_comparison"):
        return "compared"
    return "date" if _DATE.fullmatch(answer) else record["evidences"][-1][1]


def majority(records: Sequence[Record]) -> list[str]:
    """Answer with the commonest answer of the same kind in the other folds."""
    folds = folds_of(records)
    whole: dict[str, Counter[str]] = defaultdict(Counter)
    inside: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    for record, fold in zip(records, folds, strict=True):
        kind = answer_kind(record)
        whole[kind][record["answer"]] += 1
        inside[kind, fold][record["answer"]] += 1
    best: dict[tuple[str, int], str] = {}
    for kind, counts in whole.items():
        for fold in range(FOLDS):
            left = counts - inside[kind, fold]
            best[kind, fold] = min(left, key=lambda text: (-left[text], text), default="")
    return [best[answer_kind(r), fold] for r, fold in zip(records, folds, strict=True)]


class _Learner:
    """Naive Bayes over the features of candidates, by fold."""

    def __init__(self) -> None:
        self.counts: dict[str, list[list[int]]] = {}

    def add(self, features: Sequence[str], right: bool, fold: int) -> None:
        for feature in features:
            row = self.counts.get(feature)
            if row is None:
                row = self.counts[feature] = [[0, 0] for _ in range(FOLDS + 1)]
            row[fold][right] += 1
            row[FOLDS][right] += 1

    def odds(self, features: Sequence[str], fold: int) -> float:
        total = 0.0
        for feature in features:
            row = self.counts[feature]
            wrong, right = row[FOLDS][0] - row[fold][0], row[FOLDS][1] - row[fold][1]
            total += math.log((right + 0.1) / (wrong + 2.0))
        return round(total / len(features), 6)


def _form(question: str) -> str:
    """Give a question's fixed words."""
    words = question.rstrip("? ").split()
    return " ".join([*words[:1], *(word for word in words[1:] if word[:1].islower())][:9])


def _from_question(record: Record, common: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    form = _form(record["question"])
    for text in ("yes", "no", *common):
        yield text, (f"{form}|{text}", f"said {text}")
    pair = _PAIR.match(record["question"])
    for place in (1, 2) if pair else ():
        text = pair[place] if pair else ""
        yield text, (f"{form}|asked {place}", f"asked {place}")


def question_only(records: Sequence[Record]) -> list[str]:
    """Answer from the question alone."""
    by_form: dict[str, Counter[str]] = defaultdict(Counter)
    for record in records:
        by_form[_form(record["question"])][record["answer"]] += 1
    common = {form: [text for text, _ in sorted(counts.items(), key=lambda e: (-e[1], e[0]))[:12]]
              for form, counts in by_form.items()}  # fmt: skip
    given = [list(_from_question(r, common[_form(r["question"])])) for r in records]
    return _answered(records, given)


def _answered(
    records: Sequence[Record], given: Sequence[Sequence[tuple[str, tuple[str, ...]]]]
) -> list[str]:
    """Learn from all records and answer each without its fold."""
    learner, folds = _Learner(), folds_of(records)
    for record, candidates, fold in zip(records, given, folds, strict=True):
        answer = normalise_answer(record["answer"])
        for text, features in candidates:
            learner.add(features, normalise_answer(text) == answer, fold)
    answers = []
    for candidates, fold in zip(given, folds, strict=True):
        scored = [(learner.odds(features, fold), -place, text)
                  for place, (text, features) in enumerate(candidates)]  # fmt: skip
        answers.append(max(scored)[2] if scored else "")
    return answers


def _from_paragraphs(record: Record) -> Iterator[tuple[str, tuple[str, ...]]]:
    question = record["question"]
    form, asked = _form(question), question.casefold()
    yield from _from_question(record, ())
    for title, sentences in record["context"]:
        own = f"title asked {title.split(' (')[0].casefold() in asked}"
        for number, sentence in enumerate(sentences[:6]):
            for kind, pattern in (("date", _DATE), ("name", _NAME)):
                for match in pattern.finditer(sentence):
                    before = " ".join(sentence[: match.start()].split()[-2:]).casefold()
                    known = f"{kind} asked {match.group().casefold() in asked}"
                    yield match.group(), (
                        f"{form}|{known}|{own}", f"{form}|{kind}|{before}",
                        f"{known}|{before}|{own}", f"{form}|{kind}|{min(number, 2)}|{own}",
                    )  # fmt: skip


def one_paragraph(records: Sequence[Record]) -> list[str]:
    """Read each paragraph alone and give the surest answer."""
    return _answered(records, [list(_from_paragraphs(record)) for record in records])
