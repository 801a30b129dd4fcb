"""The joint metric, an example at a time: answer, supporting facts, evidence, and their product.

In: a `Prediction` and a `Gold`. Out: a `Row` of em, f1, precision and recall for each part, 0-1.
Every corner of the authors' evaluators (1.0 and 1.1) is kept: maxima over names are taken figure
by figure, spellings of one gold triple match several times (so that a row may exceed 1), gold
duplicates count. What makes the evaluators die scores 0 here. Nothing given is changed.
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
    as_index,
    fold_unicode,
    leveller,
    normalise_answer,
    odd_facts,
    text_of,
)
from twowiki.metric.results import (
    ALL,
    EMPTY,
    NONE,
    PARTS,
    Gold,
    Names,
    NamesOf,
    Part,
    Row,
    no_names,
    part_of,
)
from twowiki.metric.settings import ScoreSettings

_LONG = 64  # tokens, above which two answers are compared by counting them


class Scorer:
    """Scores examples under one `ScoreSettings`.

    Args:
        settings: what can move a score.
        names_of: gives the aliases and demonyms of a Wikidata id.
    """

    def __init__(self, settings: ScoreSettings, names_of: NamesOf = no_names) -> None:
        self.settings = settings
        self._level: Callable[[str], str] = leveller(normalise_answer, fold=settings.unicode)
        self._names = Names(names_of if settings.version != "1.0" else no_names, self._level)
        self._title = _title_form(settings)
        self._plain_facts = self._title is str.lower and not settings.coerce_indices
        self._both_empty = ALL if settings.strict else EMPTY
        self._contains = settings.contains
        self.score_evidence = EvidenceScorer(settings, names_of).score

    def score_example(self, prediction: Prediction, gold: Gold) -> Row:
        """Score one prediction; a part that it leaves out adds 0 to that part and to joint."""
        said, facts, triples = prediction
        answer = NONE if said is None else self.score_answer(said, gold)
        support = NONE if facts is None else self.score_facts(facts, gold)
        evidence, other = (NONE, NONE) if triples is None else self.score_evidence(triples, gold)
        missing: tuple[str, ...] = ()
        if answer is NONE or support is NONE or evidence is NONE:
            together = NONE
            if None in (said, facts, triples):
                pairs = zip(PARTS, prediction, strict=False)
                missing = tuple(name for name, value in pairs if value is None)
        else:
            together = score_joint(answer, support, evidence)
        figures: tuple[float, ...] = (*answer, *support, *evidence, *together)
        if self._contains:
            figures = (*figures, 0.0 if said is None else self.score_containment(said, gold))
        return Row(gold.id, gold.type, figures, evidence != other, missing)

    def score_answer(self, prediction: Any, gold: Gold) -> Part:
        """Compare an answer with the gold answer and its other names, each figure's best."""
        said = self._level(prediction) if type(prediction) is str else self._answer(prediction)
        if said is None:
            return NONE
        true = said if prediction == gold.answer else self._level(gold.answer)
        if said == true:
            return ALL if said else self._both_empty
        names = self._names[gold.answer_id]
        if said in names:
            return ALL if said else self._both_empty
        if not said or said in CLOSED_ANSWERS:
            return NONE
        tokens, words = said.split(), frozenset(said.split())
        best = NONE
        for name in (true, *names):
            if name not in CLOSED_ANSWERS and not words.isdisjoint(other := name.split()):
                best = _best(best, _overlap(tokens, other))
        return best

    def score_containment(self, prediction: Any, gold: Gold) -> float:
        """Tell whether the prediction holds the gold answer, or another name, word for word."""
        said = f" {self._answer(prediction) or ''} "
        names = (self._level(gold.answer), *self._names[gold.answer_id])
        return float(any(name and f" {name} " in said for name in names))

    def _answer(self, prediction: Any) -> str | None:
        """Level a predicted answer; None for what is neither text nor number."""
        try:
            return self._level(text_of(prediction))
        except TypeError:
            return None

    def score_facts(self, prediction: Sequence[Any], gold: Gold) -> Part:
        """Compare sets of facts; titles match whatever their case, spellings of one count apart."""
        true = gold.supporting_facts
        if prediction and prediction == true:
            return ALL
        if self._plain_facts and prediction and true:
            try:
                given = {(title.lower(), sent_id) for title, sent_id in prediction}
                wanted = {(title.lower(), sent_id) for title, sent_id in true}
                if len(given) == len(prediction) and len(wanted) == len(true):
                    found = len(given & wanted)
                    exact = found == len(given) == len(wanted)
                    return part_of(found, len(given), len(wanted), exact=exact)
            except (TypeError, ValueError, AttributeError):
                pass
        return self._score_repeated_facts(prediction, gold)

    def _score_repeated_facts(self, prediction: Sequence[Any], gold: Gold) -> Part:
        """Compare facts of which some repeat, differ in case alone, or are malformed."""
        said, true = self._facts(prediction), self._facts(gold.supporting_facts)
        if any(type(fact[0]) is object for fact in true):
            raise DataError(
                f"a gold fact is not a title with a sentence id: {gold.supporting_facts!r}",
                record=gold.id,
                field="supporting_facts",
                remedy="Write [title, sent_id]",
            )
        if not said and not true:
            return self._both_empty
        given, wanted = set(said), set(true)
        found = sum(fact in wanted for fact in said)
        lost = sum(fact not in given for fact in true)
        return part_of(found, len(said), found + lost, exact=lost == 0 and found == len(said))

    def _facts(self, facts: Sequence[Any]) -> list[tuple[Any, ...]]:
        form = self._title
        try:
            pairs = [(form(title), sent_id) for title, sent_id in set(map(tuple, facts))]
        except (TypeError, ValueError, AttributeError):
            pairs = odd_facts(facts, form)
        if self.settings.coerce_indices:
            pairs = [(fact[0], *map(as_index, fact[1:])) for fact in pairs]
        return pairs


def score_joint(answer: Part, support: Part, evidence: Part) -> Part:
    """Multiply em, precision and recall of the three parts (the paper's equation 1)."""
    precision = answer[2] * support[2] * evidence[2]
    recall = answer[3] * support[3] * evidence[3]
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return answer[0] * support[0] * evidence[0], f1, precision, recall


def _title_form(settings: ScoreSettings) -> Callable[[str], str]:
    """Give what titles are compared by: their lower case, after what the options ask for."""
    if not settings.strip_titles and not settings.unicode:
        return str.lower

    def form(title: str) -> str:
        title = fold_unicode(title) if settings.unicode else title
        return (title.strip() if settings.strip_titles else title).lower()

    return form


def _best(one: Part, other: Part) -> Part:
    """Take each figure's maximum on its own, as the evaluator does."""
    return (
        max(one[0], other[0]),
        max(one[1], other[1]),
        max(one[2], other[2]),
        max(one[3], other[3]),
    )


def _overlap(said: list[str], true: list[str]) -> Part:
    """Compare the tokens of two unequal levelled answers as multisets."""
    if len(said) > _LONG and len(true) > _LONG:
        same = (Counter(said) & Counter(true)).total()
    else:
        rest, same = list(true), 0
        for token in said:
            if token in rest:
                rest.remove(token)
                same += 1
    return part_of(same, len(said), len(true), exact=False)
