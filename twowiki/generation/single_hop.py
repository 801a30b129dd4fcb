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
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from twowiki.data.dates import DATE
from twowiki.data.schema import Example, Paragraph
from twowiki.errors import DataError, existing_file
from twowiki.generation.samples import BRIDGE_TYPES, QuestionInContext
from twowiki.metric.normalization import CLOSED_ANSWERS, normalize_answer
from twowiki.models.text import bare_title

FOLDS = 5
_AT_ONCE = 512  # questions whose candidates are scored together
_Ints = npt.NDArray[Any]
_Floats = npt.NDArray[np.float64]
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


# Features are numbered within their group, such as those of one form of question.
_Features = Mapping[Hashable, Mapping[Hashable, int]]
_Candidate = tuple[str, tuple[int, ...]]  # a possible answer, and its features


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


class _Candidates:
    """The candidates of some questions as arrays: the numbers of their texts and features.

    Args:
        folds: the fold of each question.
    """

    def __init__(self, folds: Sequence[int]) -> None:
        self._folds = folds
        self._texts, self._sizes, self._features = array("I"), array("B"), array("I")
        self._counts = array("I")  # the candidates of each question

    def add(self, candidates: Iterable[_Candidate], texts: Mapping[str, int]) -> None:
        """Add the candidates of the next question."""
        before = len(self._texts)
        for text, features in candidates:
            self._texts.append(texts[text])
            self._sizes.append(len(features))
            self._features.extend(features)
        self._counts.append(len(self._texts) - before)

    def teach(self, tallies: _Ints, forms: _Ints, golds: _Ints) -> None:
        """Count features by fold, wrong and right; `forms` has the normal form of each text."""
        right = forms[np.array(self._texts)] == np.repeat(golds, self._counts)
        owned = np.repeat(2 * np.repeat(self._folds, self._counts) + right, self._sizes)
        cells = np.array(self._features, np.int64) * (2 * FOLDS + 2) + owned
        np.add.at(tallies.reshape(-1), cells, 1)

    def best(self, tallies: _Ints) -> Iterator[int | None]:
        """Yield the number of the best text for each question, by naive Bayes over other folds."""
        odds, end = self._mean_odds(tallies).tolist(), 0
        for size in self._counts:
            start, end = end, end + size
            best = max(odds[start:end], default=0.0)
            yield next(
                (
                    self._texts[place]
                    for place in range(start, end)
                    if best - odds[place] < 1e-5 and round(odds[place], 6) == round(best, 6)
                ),
                None,
            )

    def _mean_odds(self, tallies: _Ints) -> _Floats:
        """Return the mean log odds of each candidate's features, summed in their order."""
        sizes, features = np.array(self._sizes, np.int64), np.array(self._features)
        owned = np.repeat(np.repeat(self._folds, self._counts), sizes)
        wrong, right = (tallies[features, FOLDS] - tallies[features, owned]).T
        # Few pairs differ; and not numpy's logarithm, which is not the same on all machines.
        width = int(right.max(initial=0)) + 1
        pairs, which = np.unique(wrong * width + right, return_inverse=True)
        known = (divmod(pair, width) for pair in pairs.tolist())
        odds = np.array([math.log((good + 0.1) / (bad + 2.0)) for bad, good in known])
        odds = odds[which.reshape(-1)]
        firsts = np.cumsum(sizes) - sizes
        total = np.zeros(len(sizes))
        for column in range(int(sizes.max(initial=0))):
            some = np.flatnonzero(sizes > column)
            total[some] += odds[firsts[some] + column]
        return total / sizes


def _learned_answers(
    gold: Sequence[str],
    folds: Sequence[int],
    candidates: Callable[[int, _Features], Iterable[_Candidate]],
) -> list[str]:
    """Answer every question by what the other folds teach; "" where there is no candidate.

    Args:
        gold: the gold answers.
        folds: the fold of each question.
        candidates: returns the candidates of a question by its position, from numbered features.
    """
    number = count().__next__
    features: _Features = defaultdict(lambda: defaultdict(number))
    texts: dict[str, int] = defaultdict(count().__next__)
    forms: dict[str, int] = defaultdict(count().__next__)
    golds = np.array([forms[normalize_answer(answer)] for answer in gold])
    parts = []
    for first in range(0, len(gold), _AT_ONCE):
        part = _Candidates(folds[first : first + _AT_ONCE])
        for position in range(first, min(first + _AT_ONCE, len(gold))):
            part.add(candidates(position, features), texts)
        parts.append(part)
    form_of = np.array([forms[normalize_answer(text)] for text in texts])
    tallies = np.zeros((number(), FOLDS + 1, 2), np.int64)  # the last one of all folds
    for place, part in enumerate(parts):
        part.teach(tallies, form_of, golds[place * _AT_ONCE : (place + 1) * _AT_ONCE])
    tallies[:, FOLDS] = tallies[:, :FOLDS].sum(axis=1)
    known = list(texts)
    found = (text for part in parts for text in part.best(tallies))
    return ["" if text is None else known[text] for text in found]


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
    if len(sample.context) == 1:
        return 0
    words = sorted(set(_WORDS.findall(sample.question.casefold())))
    weights = [(word, rarity.get(word, 0.0)) for word in words if len(word) > 2]
    best = (-1.0, 0)
    for position, (title, sentences) in enumerate(sample.context):
        text, title = " ".join(sentences).casefold(), title.casefold()
        shared = sum([weight for word, weight in weights if word in text])
        shared += 2 * sum([weight for word, weight in weights if word in title])
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


class _Mention(NamedTuple):
    """A date or a name in a sentence: its text, folded text and the two words before, folded."""

    kind: str
    text: str
    folded: str
    before: str
    last: str  # the last word before


@lru_cache(maxsize=1 << 16)
def _mentions(sentence: str, names: re.Pattern[str]) -> tuple[_Mention, ...]:
    """Return the dates and names in a sentence."""
    found = []
    for kind, pattern in (("date", DATE), ("name", names)):
        for match in pattern.finditer(sentence):
            before = sentence[: match.start()].split()[-2:]
            words = " ".join(before).casefold()
            last = words.rpartition(" ")[2] or "^"
            found.append(_Mention(kind, match[0], match[0].casefold(), words, last))
    return tuple(found)


def _lexical_candidates(
    question: str, paragraph: Paragraph, features: _Features
) -> Iterator[_Candidate]:
    form = _question_form(question)
    own, common = features[form], features[None]
    for text in ("yes", "no"):
        yield text, (common[text], own[text])
    pair = _PAIR.match(question)
    for place in (2, 3) if pair else ():
        text = pair[place] if pair else ""
        titled = text.casefold() == paragraph.title.casefold()
        yield text, (common["asked"], own["asked"], own[place, titled])
    folded = question.casefold()
    for number, sentence in enumerate(paragraph.sentences[:8]):
        for kind, text, name, before, last in _mentions(sentence, _NAME):
            known = kind, name in folded
            yield (
                text,
                (common[known], own[known], features[form, kind][last],
                 features[None, kind][before], own[min(number, 2), kind]),
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
        lambda number, features: _lexical_candidates(
            samples[number].question, paragraphs[number], features
        ),
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


def _from_question(
    question: str, frequent: Sequence[str], features: _Features
) -> Iterator[_Candidate]:
    own, common = features[_question_form(question)], features[None]
    for text in ("yes", "no", *frequent):
        yield text, (own[text], common[text])
    pair = _ANY_PAIR.match(question)
    for place in (1, 2) if pair else ():
        text = pair[place] if pair else ""
        yield text, (own[place], common[place])


def _from_paragraphs(example: Example, features: _Features) -> Iterator[_Candidate]:
    form, folded = _question_form(example.question), example.question.casefold()
    own = features[form]
    after = {kind: features[form, kind] for kind in ("date", "name")}
    yield from _from_question(example.question, (), features)
    for title, sentences in example.context:
        titled = bare_title(title).casefold() in folded
        for number, sentence in enumerate(sentences[:6]):
            for kind, text, name, before, _ in _mentions(sentence, _ANY_NAME):
                known = kind, name in folded, titled
                yield (
                    text,
                    (own[known], after[kind][before], features[known][before],
                     own[min(number, 2), kind, titled]),
                )  # fmt: skip


def _learned(
    examples: Sequence[Example],
    candidates: Callable[[Example, _Features], Iterable[_Candidate]],
) -> list[str]:
    gold = [example.answer or "" for example in examples]
    folds = [fold_of(example.id) for example in examples]
    return _learned_answers(
        gold, folds, lambda number, features: candidates(examples[number], features)
    )


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
        lambda example, features: _from_question(
            example.question, frequent[_question_form(example.question)], features
        ),
    )


def one_paragraph_answers(examples: Sequence[Example]) -> list[str]:
    """Read each paragraph alone and return the answer with the best odds."""
    return _learned(examples, _from_paragraphs)
