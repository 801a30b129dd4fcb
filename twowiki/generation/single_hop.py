"""Readers that take no second hop: which questions does one paragraph, or none, give away?

In: questions with their contexts and gold answers. Out: an answer or an F1 for each.
- The lexical reader takes the one paragraph that shares most rare words with the question; its F1
  decides which samples are easy. `read_scores` takes the F1 of any other reader from a file.
- Three shortcuts show the difficulty of a data set: the most frequent answer of a kind, the
  question alone, and every paragraph alone.
All of them list what could be an answer (names, dates, yes, no, the names in the question). Those
that learn pick by naive Bayes, and never see the fold of the question that they answer.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from twowiki.data.dates import DATE
from twowiki.data.schema import Example, Paragraph
from twowiki.errors import DataError, existing_file
from twowiki.generation.samples import BRIDGE_TYPES, QuestionInContext
from twowiki.metric.normalization import CLOSED_ANSWERS, normalize_answer
from twowiki.models.text import bare_title

FOLDS = 5
_NAME = re.compile(
    r"[A-ZÀ-ÞĀ-Ž][\w'’.-]*(?:(?: (?:of|the|de|von|van|da|di|la|le|and|for|in|du|del) | )"
    r"[A-ZÀ-ÞĀ-Ž][\w'’.-]*)*"
)
_WORDS = re.compile(r"[^\W_]+")
_PAIR = re.compile(r"^(.*?)(?:, | out of | of films )(.+) (?:or|and) (.+?)\?+ ?$")
# The shortcuts know more spellings of names.
_ANY_NAME = re.compile(
    r"[^\W\d_a-z][\w'’.-]*(?:(?:,? (?:of|the|de|in|and|&))*,? [^\W\d_a-z][\w'’.-]*)*"
)
_ANY_PAIR = re.compile(r"^\w+ (?:[a-z]+(?:'s)?,? )*([^a-z].*) or (.+?)(?: born first)?\?+ ?$")


class _Candidate(NamedTuple):
    """A possible answer and its features."""

    text: str
    features: tuple[str, ...]


def word_f1(predicted: str, gold: str) -> float:
    """Return the F1 of the words of two answers, as the official evaluator does.

    Answers are normalized; yes and no count as a whole.
    """
    one, two = normalize_answer(predicted), normalize_answer(gold)
    if one != two and CLOSED_ANSWERS & {one, two}:
        return 0.0
    words, others = one.split(), two.split()
    same = (Counter(words) & Counter(others)).total()
    return 2 * same / (len(words) + len(others)) if same else 0.0


def fold_of(key: str) -> int:
    """Return the fold of a question by its id, with a seed before it where one is used."""
    return int(hashlib.md5(key.encode()).hexdigest()[:8], 16) % FOLDS


class _NaiveBayes:
    """How often each feature belongs to wrong and right candidates, by fold and in all.

    Features are numbered in the order in which they come.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._counts: list[list[int]] = []  # by feature: wrong and right ones of each fold, of all
        self._odds: dict[int, float] = {}

    def add(self, features: Sequence[str], right: bool, fold: int) -> list[int]:
        """Count the features of a candidate; return their numbers."""
        numbers, counts = self._numbers, self._counts
        found = []
        for feature in features:
            number = numbers.get(feature)
            if number is None:
                number = numbers[feature] = len(counts)
                counts.append([0] * (2 * FOLDS + 2))
            row = counts[number]
            row[2 * fold + right] += 1
            row[2 * FOLDS + right] += 1
            found.append(number)
        return found

    def odds(self, features: Sequence[int], fold: int) -> float:
        """Return the mean log odds of features, as the other folds have them."""
        known, total = self._odds, 0.0
        for feature in features:
            key = feature * FOLDS + fold
            value = known.get(key)
            if value is None:
                row = self._counts[feature]
                wrong, right = row[-2] - row[2 * fold], row[-1] - row[2 * fold + 1]
                value = known[key] = math.log((right + 0.1) / (wrong + 2.0))
            total += value
        return round(total / len(features), 6)


class _Candidates:
    """The candidates of every question: their texts and features by number."""

    def __init__(self) -> None:
        self.learner = _NaiveBayes()
        self._texts: dict[str, int] = {}
        self._normalized: list[str] = []
        self._said, self._sizes, self._features = array("I"), array("B"), array("I")
        self._ends = array("Q")

    def add(self, candidates: Iterable[_Candidate], answer: str, fold: int) -> None:
        """Learn from the candidates of the next question."""
        right = normalize_answer(answer)
        for text, features in candidates:
            number = self._texts.setdefault(text, len(self._normalized))
            if number == len(self._normalized):
                self._normalized.append(normalize_answer(text))
            self._said.append(number)
            self._sizes.append(len(features))
            self._features.extend(
                self.learner.add(features, self._normalized[number] == right, fold)
            )
        self._ends.append(len(self._said))

    def answers(self, folds: Sequence[int]) -> list[str]:
        """Return each question's best candidate, the first of equals; "" where there is none."""
        texts = list(self._texts)
        found, start, first = [], 0, 0
        for fold, end in zip(folds, self._ends, strict=True):
            best, text = -math.inf, ""
            for place in range(start, end):
                last = first + self._sizes[place]
                odds = self.learner.odds(self._features[first:last], fold)
                if odds > best:
                    best, text = odds, texts[self._said[place]]
                first = last
            start = end
            found.append(text)
        return found


def _learned_answers(
    gold: Sequence[str], folds: Sequence[int], candidates: Callable[[int], Iterable[_Candidate]]
) -> list[str]:
    """Answer every question by what the other folds teach; "" where there is no candidate.

    Args:
        gold: the gold answers.
        folds: the fold of each question.
        candidates: returns the candidates of a question by its position.
    """
    known = _Candidates()
    for number, (answer, fold) in enumerate(zip(gold, folds, strict=True)):
        known.add(candidates(number), answer, fold)
    return known.answers(folds)


def _question_form(question: str) -> str:
    """Return the question's fixed words: its first word and those in lower case."""
    words = question.rstrip("? ").split()
    fixed = [word for word in words[1:] if word[:1].islower()]
    return " ".join([*words[:1], *fixed[:8]])


# ---- the lexical reader, which decides what is easy


class QuestionText(msgspec.Struct):
    """All of a sample that the weights of words need."""

    question: str


def word_rarity(questions: Iterable[str]) -> dict[str, float]:
    """Weigh the words of questions: the fewer questions contain one, the more it counts."""
    frequency: Counter[str] = Counter()
    total = 0
    for question in questions:
        frequency.update(set(_WORDS.findall(question.casefold())))
        total += 1
    return {word: math.log((total + 1) / (count + 0.5)) for word, count in frequency.items()}


def _best_paragraph(sample: QuestionInContext, rarity: Mapping[str, float]) -> int:
    """Return the position of the paragraph that contains most of the question's rare words.

    The title counts twice more: a question names its subject by it.
    """
    words = sorted(set(_WORDS.findall(sample.question.casefold())))
    weights = [(word, rarity.get(word, 0.0)) for word in words if len(word) > 2]
    best = (-1.0, 0)
    for position, (title, sentences) in enumerate(sample.context):
        text, folded_title = " ".join(sentences).casefold(), title.casefold()
        shared = sum(weight for word, weight in weights if word in text)
        shared += 2 * sum(weight for word, weight in weights if word in folded_title)
        best = max(best, (round(shared, 6), -position))
    return -int(best[1])


def with_best_paragraph(
    samples: Iterable[QuestionInContext], rarity: Mapping[str, float]
) -> Iterator[QuestionInContext]:
    """Return the samples with only the paragraph that a single-hop reader takes.

    The rest of a context is nine tenths of the memory.
    """
    for sample in samples:
        best = sample.context[_best_paragraph(sample, rarity)]
        yield msgspec.structs.replace(sample, context=(best,))


def best_paragraphs(samples: Sequence[QuestionInContext]) -> list[Paragraph]:
    """Return for each sample the paragraph that a single-hop reader takes."""
    rarity = word_rarity(sample.question for sample in samples)
    return [sample.context[_best_paragraph(sample, rarity)] for sample in samples]


@lru_cache(maxsize=1 << 16)
def _mentions(sentence: str, names: re.Pattern[str]) -> tuple[tuple[str, str, str, str], ...]:
    """Return the dates and names in a sentence: kind, text, folded text, the two words before."""
    return tuple(
        (kind, match[0], match[0].casefold(),
         " ".join(sentence[: match.start()].split()[-2:]).casefold())
        for kind, pattern in (("date", DATE), ("name", names))
        for match in pattern.finditer(sentence)
    )  # fmt: skip


def _lexical_candidates(question: str, paragraph: Paragraph) -> Iterator[_Candidate]:
    form = _question_form(question)
    for text in ("yes", "no"):
        yield _Candidate(text, (f"kind={text}", f"{form}|kind={text}"))
    pair = _PAIR.match(question)
    for place in (2, 3) if pair else ():
        text = pair[place] if pair else ""
        own = text.casefold() == paragraph.title.casefold()
        yield _Candidate(
            text, ("kind=asked", f"{form}|kind=asked", f"{form}|asked {place} own {own}")
        )
    folded = question.casefold()
    for number, sentence in enumerate(paragraph.sentences[:8]):
        for kind, text, own, pairing in _mentions(sentence, _NAME):
            known = f"kind={kind} asked={own in folded}"
            last = pairing.rpartition(" ")[2] or "^"
            yield _Candidate(
                text,
                (known, f"{form}|{known}", f"{form}|{kind}|{last}", f"{kind}|{pairing}",
                 f"{form}|{kind}|sentence {min(number, 2)}"),
            )  # fmt: skip


def lexical_scores(samples: Sequence[QuestionInContext], seed: str) -> dict[str, float]:
    """Score every sample by a reader trained on the four folds that it is not in.

    Args:
        samples: with their contexts, or only the best paragraph of each.
        seed: what the folds are drawn from.

    Returns:
        F1 (0 to 1) by sample id, rounded to four digits.
    """
    paragraphs = best_paragraphs(samples)
    answers = _learned_answers(
        [sample.answer for sample in samples],
        [fold_of(f"{seed}|fold|{sample.id}") for sample in samples],
        lambda number: _lexical_candidates(samples[number].question, paragraphs[number]),
    )
    return {
        sample.id: round(word_f1(answer, sample.answer), 4)
        for sample, answer in zip(samples, answers, strict=True)
    }


def read_scores(path: Path, samples: Sequence[QuestionInContext]) -> dict[str, float]:
    """Read the scores of another reader: JSON lines {"id": ..., "f1": 0 to 1}.

    Raises:
        DataError: for a line of another shape, or a sample without a score.
    """
    existing_file(path, 'Set --probe to file:PATH, JSON lines {"id": ..., "f1": ...}.')
    scores: dict[str, float] = {}
    with open(path, encoding="utf-8") as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                scores[str(row["id"])] = float(row["f1"])
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                raise DataError(
                    "not a score", file=path, record=number, remedy='Write {"id": ..., "f1": ...}.'
                ) from error
    missing = [sample.id for sample in samples if sample.id not in scores]
    if missing:
        raise DataError(
            f"{len(missing):,} samples have no score",
            file=path,
            record=missing[0],
            remedy="Score the samples of work/contexts/examples.jsonl.",
        )
    return {sample.id: scores[sample.id] for sample in samples}


# ---- shortcuts, which must not answer a good data set


def _answer_kind(example: Example) -> str:
    """Return the kind of the gold answer: yes/no, one of those compared, date, or the relation."""
    answer = example.answer or ""
    if answer in ("yes", "no"):
        return "yes/no"
    if example.type not in BRIDGE_TYPES:
        return "compared"
    return "date" if DATE.fullmatch(answer) else example.triples[-1].relation


def majority_answers(examples: Sequence[Example]) -> list[str]:
    """Answer with the most frequent answer of the same kind in the other folds."""
    kinds = [(_answer_kind(example), fold_of(example.id)) for example in examples]
    whole: dict[str, Counter[str]] = defaultdict(Counter)
    inside: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    for example, (kind, fold) in zip(examples, kinds, strict=True):
        whole[kind][example.answer or ""] += 1
        inside[kind, fold][example.answer or ""] += 1
    best: dict[tuple[str, int], str] = {}
    for kind, counts in whole.items():
        for fold in range(FOLDS):
            left = counts - inside[kind, fold]
            best[kind, fold] = min(left, key=lambda text: (-left[text], text), default="")
    return [best[key] for key in kinds]


def _from_question(question: str, frequent: Sequence[str]) -> Iterator[_Candidate]:
    form = _question_form(question)
    for text in ("yes", "no", *frequent):
        yield _Candidate(text, (f"{form}|{text}", f"said {text}"))
    pair = _ANY_PAIR.match(question)
    for place in (1, 2) if pair else ():
        text = pair[place] if pair else ""
        yield _Candidate(text, (f"{form}|asked {place}", f"asked {place}"))


def _from_paragraphs(example: Example) -> Iterator[_Candidate]:
    form, folded = _question_form(example.question), example.question.casefold()
    yield from _from_question(example.question, ())
    for title, sentences in example.context:
        own = f"title asked {bare_title(title).casefold() in folded}"
        for number, sentence in enumerate(sentences[:6]):
            for kind, text, name, before in _mentions(sentence, _ANY_NAME):
                known = f"{kind} asked {name in folded}"
                yield _Candidate(text, (
                    f"{form}|{known}|{own}", f"{form}|{kind}|{before}",
                    f"{known}|{before}|{own}", f"{form}|{kind}|{min(number, 2)}|{own}",
                ))  # fmt: skip


def _learned(
    examples: Sequence[Example], candidates: Callable[[Example], Iterable[_Candidate]]
) -> list[str]:
    gold = [example.answer or "" for example in examples]
    folds = [fold_of(example.id) for example in examples]
    return _learned_answers(gold, folds, lambda number: candidates(examples[number]))


def question_only_answers(examples: Sequence[Example]) -> list[str]:
    """Answer from the question alone: yes, no, its names, frequent answers of its form."""
    by_form: dict[str, Counter[str]] = defaultdict(Counter)
    for example in examples:
        by_form[_question_form(example.question)][example.answer or ""] += 1
    frequent = {
        form: sorted(counts, key=lambda text: (-counts[text], text))[:12]
        for form, counts in by_form.items()
    }
    return _learned(
        examples,
        lambda example: _from_question(
            example.question, frequent[_question_form(example.question)]
        ),
    )


def one_paragraph_answers(examples: Sequence[Example]) -> list[str]:
    """Read each paragraph alone and return the answer with the best odds."""
    return _learned(examples, _from_paragraphs)
