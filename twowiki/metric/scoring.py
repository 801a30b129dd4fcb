"""The joint metric of one example: answer, supporting facts, evidence, and their product.

In: a `Prediction` and a `Gold`. Out: an `ExampleResult`: em, f1, precision and recall of each part,
0-1. Every corner of the authors' evaluators (1.0 and 1.1) is kept: each measure takes its own
maximum over aliases, several spellings of one gold triple match (so that a result may exceed 1),
gold duplicates count. Predictions that make the evaluators fail score 0; malformed gold is
refused. The arguments are not changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from twowiki.data.schema import Prediction
from twowiki.errors import DataError
from twowiki.metric.evidence import EvidenceScorer
from twowiki.metric.normalization import (
    CLOSED_ANSWERS,
    answer_text,
    as_index,
    fold_unicode,
    malformed_facts,
    normalize_answer,
    normalizer,
)
from twowiki.metric.parts import PART_WORDS, GoldForm
from twowiki.metric.results import (
    ALL,
    EMPTY,
    NONE,
    PARTS,
    AliasesOf,
    ExampleResult,
    Gold,
    NormalizedAliases,
    PartScore,
    no_aliases,
    score_counts,
)
from twowiki.metric.settings import ScoreSettings

_LONG = 64  # tokens above which two answers are compared by counting


class Scorer:
    """Scores examples under one `ScoreSettings`.

    Args:
        settings: the options of the score.
        aliases_of: returns the aliases and demonyms of a Wikidata id.
    """

    def __init__(self, settings: ScoreSettings, aliases_of: AliasesOf = no_aliases) -> None:
        self.settings = settings
        self._normalize: Callable[[str], str] = normalizer(normalize_answer, fold=settings.unicode)
        self._aliases = NormalizedAliases(
            aliases_of if settings.version != "1.0" else no_aliases, self._normalize
        )
        self.adopt(GoldForm())
        self._both_empty = ALL if settings.strict else EMPTY
        self._contains = settings.contains
        self.score_evidence = EvidenceScorer(settings, aliases_of).score

    def adopt(self, form: GoldForm) -> None:
        """Score gold of this form from now on."""
        self.form = form
        self._title = _title_form(self.settings)
        if form.hotpotqa:
            self._title = _title_form(self.settings, str.__str__)
        self._plain_facts = self._title is str.lower and not self.settings.coerce_indices
        self._has = tuple(part in form.parts for part in PART_WORDS)
        self._whole = all(self._has)

    def score_example(self, prediction: Prediction, gold: Gold) -> ExampleResult:
        """Score one prediction; a part that it leaves out scores 0, and so does joint."""
        text, facts, triples = prediction
        has_answer, has_facts, has_triples = self._has
        answer = self.score_answer(text, gold) if has_answer and text is not None else NONE
        support = self.score_facts(facts, gold) if has_facts and facts is not None else NONE
        evidence = other = NONE
        if has_triples and triples is not None:
            evidence, other = self.score_evidence(triples, gold)
        missing: tuple[str, ...] = ()
        if None in (text, facts, triples):
            pairs = zip(PARTS, prediction, self._has, strict=False)
            missing = tuple(name for name, value, has in pairs if has and value is None)
        joint = NONE
        if self._whole:
            joint = score_joint(answer, support, evidence)
        elif self.form.joint:
            parts = zip((answer, support, evidence), self._has, strict=True)
            joint = score_joint(*(score for score, has in parts if has))
        metrics: tuple[float, ...] = (*answer, *support, *evidence, *joint)
        if self._contains:
            metrics = (*metrics, 0.0 if text is None else self.score_containment(text, gold))
        return ExampleResult(gold.id, gold.type, metrics, evidence != other, missing)

    def score_answer(self, prediction: Any, gold: Gold) -> PartScore:
        """Compare an answer with the gold answer and its aliases; each measure takes its best."""
        text = self._normalize(prediction) if type(prediction) is str else self._answer(prediction)
        if text is None:
            return NONE
        gold_text = text if prediction == gold.answer else self._normalize(gold.answer)
        if text == gold_text:
            return ALL if text else self._both_empty
        aliases = self._aliases_of(gold)
        if text in aliases:
            return ALL if text else self._both_empty
        if not text or text in CLOSED_ANSWERS:
            return NONE
        tokens, words = text.split(), frozenset(text.split())
        best = NONE
        for alias in (gold_text, *aliases):
            if alias not in CLOSED_ANSWERS and not words.isdisjoint(other := alias.split()):
                best = _best(best, _overlap(tokens, other))
        return best

    def score_containment(self, prediction: Any, gold: Gold) -> float:
        """Return 1.0 if the prediction contains the gold answer or an alias word for word."""
        text = f" {self._answer(prediction) or ''} "
        aliases = (self._normalize(gold.answer), *self._aliases_of(gold))
        return float(any(alias and f" {alias} " in text for alias in aliases))

    def _aliases_of(self, gold: Gold) -> frozenset[str]:
        """Return the other right answers, normalized: by Wikidata id, and those that gold lists."""
        aliases = self._aliases[gold.answer_id]
        return (
            aliases.union(map(self._normalize, gold.answer_aliases))
            if gold.answer_aliases
            else aliases
        )

    def _answer(self, prediction: Any) -> str | None:
        """Return a predicted answer normalized; None for what is neither text nor number."""
        try:
            return self._normalize(answer_text(prediction))
        except TypeError:
            return None

    def score_facts(self, prediction: Sequence[Any], gold: Gold) -> PartScore:
        """Compare sets of facts; titles match whatever their case, their spellings count apart."""
        facts = gold.supporting_facts
        if prediction and prediction == facts:
            return ALL
        if self._plain_facts and prediction and facts:
            try:
                given = {(title.lower(), sent_id) for title, sent_id in prediction}
                wanted = {(title.lower(), sent_id) for title, sent_id in facts}
                if len(given) == len(prediction) and len(wanted) == len(facts):
                    found = len(given & wanted)
                    exact = found == len(given) == len(wanted)
                    return score_counts(found, len(given), len(wanted), exact=exact)
            except (TypeError, ValueError, AttributeError):
                pass
        return self._score_repeated_facts(prediction, gold)

    def _score_repeated_facts(self, prediction: Sequence[Any], gold: Gold) -> PartScore:
        """Compare facts of which some repeat, differ in case alone, or are malformed."""
        predicted, facts = self._facts(prediction), self._facts(gold.supporting_facts)
        if any(type(fact[0]) is object for fact in facts):
            raise DataError(
                f"a gold fact is not a title with a sentence id: {gold.supporting_facts!r}",
                record=gold.id,
                field="supporting_facts",
                remedy="Write [title, sent_id]",
            )
        if not predicted and not facts:
            return self._both_empty
        given, wanted = set(predicted), set(facts)
        found = sum(fact in wanted for fact in predicted)
        lost = sum(fact not in given for fact in facts)
        exact = lost == 0 and found == len(predicted)
        return score_counts(found, len(predicted), found + lost, exact=exact)

    def _facts(self, facts: Sequence[Any]) -> list[tuple[Any, ...]]:
        form = self._title
        try:
            pairs = [(form(title), sent_id) for title, sent_id in set(map(tuple, facts))]
        except (TypeError, ValueError, AttributeError):
            pairs = malformed_facts(facts, form)
        if self.settings.coerce_indices:
            pairs = [(fact[0], *map(as_index, fact[1:])) for fact in pairs]
        return pairs


def score_joint(*parts: PartScore) -> PartScore:
    """Multiply em, precision and recall of the parts (the paper's equation 1)."""
    em, precision, recall = parts[0][0], parts[0][2], parts[0][3]
    for part in parts[1:]:
        em, precision, recall = em * part[0], precision * part[2], recall * part[3]
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return em, f1, precision, recall


def _title_form(
    settings: ScoreSettings, case: Callable[[str], str] = str.lower
) -> Callable[[str], str]:
    """Return the function that normalizes titles: `case`, after the options' changes."""
    if not settings.strip_titles and not settings.unicode:
        return case

    def form(title: str) -> str:
        title = fold_unicode(title) if settings.unicode else title
        return case(title.strip() if settings.strip_titles else title)

    return form


def _best(one: PartScore, other: PartScore) -> PartScore:
    """Return each measure's own maximum, as the evaluator does."""
    return (
        max(one[0], other[0]),
        max(one[1], other[1]),
        max(one[2], other[2]),
        max(one[3], other[3]),
    )


def _overlap(predicted: list[str], gold: list[str]) -> PartScore:
    """Compare the tokens of two unequal normalized answers as multisets."""
    if len(predicted) > _LONG and len(gold) > _LONG:
        same = (Counter(predicted) & Counter(gold)).total()
    else:
        rest, same = list(gold), 0
        for token in predicted:
            if token in rest:
                rest.remove(token)
                same += 1
    return score_counts(same, len(predicted), len(gold), exact=False)
