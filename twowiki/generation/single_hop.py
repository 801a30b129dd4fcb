"""A cheap single-hop reader: which questions does one paragraph give away?

In: samples with their contexts. Out: an F1 for each, from models that never saw its fold. The
reader takes the one paragraph that shares most words with the question, lists what could be an
answer there (names, dates, yes, no, the names in the question), and picks by naive Bayes over the
question's fixed words, the candidate's kind, its place and the word before it.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from twowiki.errors import DataError, require_file
from twowiki.generation.dates import MONTHS
from twowiki.metric.normalization import normalise_answer

FOLDS = 5
_MONTH = "|".join(MONTHS)
_DATE = re.compile(
    rf"\d{{1,2}} (?:{_MONTH}) \d{{3,4}}|(?:{_MONTH}) \d{{1,2}}, \d{{3,4}}|\b\d{{3,4}}\b"
)
_NAME = re.compile(
    r"[A-ZÀ-ÞĀ-Ž][\w'’.-]*(?:(?: (?:of|the|de|von|van|da|di|la|le|and|for|in|du|del) | )"
    r"[A-ZÀ-ÞĀ-Ž][\w'’.-]*)*"
)
_WORDS = re.compile(r"[^\W_]+")
_PAIR = re.compile(r"^(.*?)(?:, | out of | of films )(.+) (?:or|and) (.+?)\?+ ?$")


class Candidate(NamedTuple):
    """What might be the answer, and what speaks for it."""

    text: str
    features: tuple[str, ...]


def token_f1(said: str, true: str) -> float:
    """Give the words' F1 of two answers, levelled as the evaluators do."""
    one, two = normalise_answer(said).split(), normalise_answer(true).split()
    same = sum((Counter(one) & Counter(two)).values())
    return 2 * same / (len(one) + len(two)) if same else 0.0


def _question_form(question: str) -> str:
    """Give the question's fixed words: those in lower case, its first word with them."""
    words = question.rstrip("? ").split()
    fixed = [word for word in words[1:] if word[:1].islower()]
    return " ".join([*words[:1], *fixed[:8]])


def _best_paragraph(sample: Mapping[str, Any], rarity: Mapping[str, float]) -> int:
    """Give the place of the paragraph that holds most of the question's rare words.

    The title counts twice more: a question names its subject by it.
    """
    words = sorted(set(_WORDS.findall(sample["question"].casefold())))
    asked = [(word, rarity.get(word, 0.0)) for word in words if len(word) > 2]
    best = (-1.0, 0)
    for place, (title, sentences) in enumerate(sample["context"]):
        text, named = " ".join(sentences).casefold(), title.casefold()
        shared = sum(weight for word, weight in asked if word in text)
        shared += 2 * sum(weight for word, weight in asked if word in named)
        best = max(best, (round(shared, 6), -place))
    return -int(best[1])


def best_paragraphs(samples: Sequence[Mapping[str, Any]]) -> list[int]:
    """Give for each sample the place of the paragraph that a single-hop reader would take."""
    rarity = rarity_of(sample["question"] for sample in samples)
    return [_best_paragraph(sample, rarity) for sample in samples]


def with_best_paragraph(
    samples: Iterable[Mapping[str, Any]], rarity: Mapping[str, float]
) -> Iterator[dict[str, Any]]:
    """Give the samples with the one paragraph of their context that the reader takes.

    The rest of a context is nine tenths of the memory.
    """
    kept = ("_id", "type", "question", "answer", "gold", "chains")
    for sample in samples:
        place = _best_paragraph(sample, rarity)
        slim = {name: sample[name] for name in kept}
        yield slim | {"context": [sample["context"][place]]}


def _candidates(sample: Mapping[str, Any], paragraph: int) -> Iterator[Candidate]:
    form = _question_form(sample["question"])
    title, sentences = sample["context"][paragraph]
    for text in ("yes", "no"):
        yield Candidate(text, (f"kind={text}", f"{form}|kind={text}"))
    pair = _PAIR.match(sample["question"])
    for place in (2, 3) if pair else ():
        text = pair[place] if pair else ""
        own = text.casefold() == title.casefold()
        yield Candidate(
            text, ("kind=asked", f"{form}|kind=asked", f"{form}|asked {place} own {own}")
        )
    asked = sample["question"].casefold()
    for number, sentence in enumerate(sentences[:8]):
        for kind, pattern in (("date", _DATE), ("name", _NAME)):
            for match in pattern.finditer(sentence):
                before = sentence[: match.start()].split()[-2:]
                said = f"kind={kind} asked={match.group().casefold() in asked}"
                last = (before[-1] if before else "^").casefold()
                pairing = " ".join(before).casefold()
                yield Candidate(
                    match.group(),
                    (said, f"{form}|{said}", f"{form}|{kind}|{last}", f"{kind}|{pairing}",
                     f"{form}|{kind}|sentence {min(number, 2)}"),
                )  # fmt: skip


class _Counts:
    """How often a feature stood with a right and with a wrong candidate."""

    def __init__(self) -> None:
        self.right: Counter[str] = Counter()
        self.wrong: Counter[str] = Counter()

    def add(self, features: Sequence[str], right: bool) -> None:
        (self.right if right else self.wrong).update(features)


def _odds(features: Sequence[str], whole: _Counts, fold: _Counts) -> float:
    odds = 0.0
    for feature in features:
        right = whole.right[feature] - fold.right[feature]
        wrong = whole.wrong[feature] - fold.wrong[feature]
        odds += math.log((right + 0.1) / (wrong + 2.0))
    return odds / len(features)


def probe_scores(samples: Sequence[Mapping[str, Any]], seed: str) -> dict[str, float]:
    """Score every sample by a reader trained on the four folds that it is not in.

    Args:
        samples: records with id, question, context and answer.
        seed: what the folds are drawn from.

    Returns:
        F1 by sample id, rounded to four digits.
    """
    whole, folds = _Counts(), [_Counts() for _ in range(FOLDS)]
    places = best_paragraphs(samples)
    for sample, place in zip(samples, places, strict=True):
        fold = folds[fold_of(sample["_id"], seed)]
        answer = normalise_answer(sample["answer"])
        for candidate in _candidates(sample, place):
            right = normalise_answer(candidate.text) == answer
            whole.add(candidate.features, right)
            fold.add(candidate.features, right)
    scores = {}
    for sample, place in zip(samples, places, strict=True):
        fold = folds[fold_of(sample["_id"], seed)]
        best = max(
            (round(_odds(candidate.features, whole, fold), 6), -number, candidate.text)
            for number, candidate in enumerate(_candidates(sample, place))
        )
        scores[sample["_id"]] = round(token_f1(best[2], sample["answer"]), 4)
    return scores


def fold_of(sample_id: str, seed: str) -> int:
    """Give a sample's fold."""
    return int(hashlib.md5(f"{seed}|fold|{sample_id}".encode()).hexdigest()[:8], 16) % FOLDS


def rarity_of(questions: Iterable[str]) -> dict[str, float]:
    """Weigh the words of questions: the fewer questions hold one, the more it says."""
    frequency: Counter[str] = Counter()
    total = 0
    for question in questions:
        frequency.update(set(_WORDS.findall(question.casefold())))
        total += 1
    return {word: math.log((total + 1) / (count + 0.5)) for word, count in frequency.items()}


def read_scores(path: Path, samples: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Read scores of a reader of one's own: JSON lines {"id": ..., "f1": 0 to 1}.

    Raises:
        DataError: for a line of another shape, or a sample without a score.
    """
    require_file(path, 'Give --probe file:PATH, JSON lines {"id": ..., "f1": ...}.')
    scores: dict[str, float] = {}
    with open(path, encoding="utf-8") as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                scores[str(row["id"])] = float(row["f1"])
            except (ValueError, KeyError, TypeError) as error:
                raise DataError(
                    "not a score", file=path, record=number, remedy='Write {"id": ..., "f1": ...}.'
                ) from error
    missing = [sample["_id"] for sample in samples if sample["_id"] not in scores]
    if missing:
        raise DataError(
            f"{len(missing):,} samples have no score",
            file=path,
            record=missing[0],
            remedy="Score the samples of work/contexts/examples.jsonl.",
        )
    return {sample["_id"]: scores[sample["_id"]] for sample in samples}
