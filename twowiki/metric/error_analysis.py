"""Error analysis: one outcome per example, and error types that show what went wrong. Pure.

In: a prediction, its gold and its result. Out: an `ErrorLabel` of keys. A part is right when its
exact match is 1 under the settings of the score, so that outcomes and scores agree. Single facts
and triples are matched by the scorer itself, with aliases, options and corners alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from twowiki.data.schema import Prediction
from twowiki.metric.normalization import normalize_answer, normalize_name, normalizer
from twowiki.metric.results import ExampleResult, Gold
from twowiki.metric.scoring import Scorer

_LIMIT = 200  # entries of a prediction that are matched one by one
_CLOSED = ("yes", "no")


class Category(NamedTuple):
    """A class of examples: its key, its name, and what it means."""

    key: str
    name: str
    meaning: str


OUTCOMES = (
    Category("all_right", "all right", "answer, sentences and triples are exactly right"),
    Category(
        "evidence_wrong",
        "right answer and support, wrong evidence",
        "only the triples are not exactly right",
    ),
    Category(
        "sentences_wrong",
        "right answer and evidence, wrong support",
        "only the sentences are not exactly right",
    ),
    Category(
        "answer_alone",
        "right answer, wrong support and evidence",
        "the answer is right, and neither the sentences nor the triples that lead to it are",
    ),
    Category(
        "answer_wrong",
        "right support and evidence, wrong answer",
        "the whole chain is right, and the answer does not follow from it",
    ),
    Category(
        "sentences_alone",
        "right support, wrong answer and evidence",
        "the right sentences were found and not used",
    ),
    Category(
        "evidence_alone",
        "right evidence, wrong answer and support",
        "the triples are right without their sentences and without the answer",
    ),
    Category("all_wrong", "all wrong", "answer, sentences and triples: none is exactly right"),
    Category("no_prediction", "no prediction", "there is no prediction for this question"),
)
ERROR_TYPES = (
    Category("no_answer", "no answer", "the answer is empty, left out, or not a text or number"),
    Category("flipped", "yes and no flipped", "the answer is yes and should be no, or the reverse"),
    Category(
        "other_kind",
        "yes/no instead of a name, or the reverse",
        "one of gold and prediction is yes or no, and the other is not",
    ),
    Category(
        "on_the_way",
        "answer from the middle of the chain",
        "the wrong answer is another name of the gold triples: a hop too few, or the wrong side",
    ),
    Category("near", "answer partly right", "a wrong answer that shares words with the right one"),
    Category("no_triples", "no triples", "the gold has triples, and the prediction has none"),
    Category(
        "first_hop",
        "chain broken at the first hop",
        "a gold triple that starts a chain (its subject is no other triple's object) is missing",
    ),
    Category(
        "later_hop",
        "chain broken at the second hop",
        "all triples that start a chain are there, and one that continues a chain is missing",
    ),
    Category("extra_triples", "too many triples", "all gold triples are there, and others too"),
    Category(
        "other_relation",
        "wrong relation between the right names",
        "a wrong triple that another relation would make right",
    ),
    Category(
        "reversed",
        "triple the wrong way round",
        "a wrong triple that is right with subject and object exchanged",
    ),
    Category("sentence_missing", "a sentence is missing", "a gold sentence was not predicted"),
    Category("sentence_extra", "a sentence too many", "a predicted sentence is not a gold one"),
    Category(
        "part_missing",
        "a part left out",
        "the prediction has some of answer, sentences and triples, and not all",
    ),
)
OUTCOME_OF = {
    (True, True, True): "all_right",
    (True, True, False): "evidence_wrong",
    (True, False, True): "sentences_wrong",
    (True, False, False): "answer_alone",
    (False, True, True): "answer_wrong",
    (False, True, False): "sentences_alone",
    (False, False, True): "evidence_alone",
    (False, False, False): "all_wrong",
}


class ErrorLabel(NamedTuple):
    """The outcome and the error types of one example, by key."""

    outcome: str
    error_types: tuple[str, ...]


class MatchedEntries(NamedTuple):
    """The entries of prediction and gold, each with whether the other side has it."""

    predicted_facts: list[tuple[Any, bool]]
    gold_facts: list[tuple[Any, bool]]
    predicted_triples: list[tuple[Any, bool]]
    gold_triples: list[tuple[Any, bool]]


def entries(value: Any) -> list[Any]:
    """Return the entries of a part; a value that is not a list is one entry, None is no entry."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


class ErrorClassifier:
    """Classifies examples with one scorer.

    Args:
        scorer: the scorer that made the results.
    """

    def __init__(self, scorer: Scorer) -> None:
        fold = scorer.settings.unicode
        self._scorer = scorer
        self._answer = normalizer(normalize_answer, fold=fold)
        self._name = normalizer(normalize_name, fold=fold)
        self._matched: tuple[Prediction, Gold, MatchedEntries] | None = None  # the last example

    def classify(self, prediction: Prediction, gold: Gold, result: ExampleResult) -> ErrorLabel:
        """Return the outcome and the error types of an example."""
        if len(result.missing) == len(self._scorer.form.parts):
            return ErrorLabel("no_prediction", ())
        answer = result.metrics[0] == 1.0
        parts = self._scorer.form.parts  # a part that the gold lacks is not wrong
        answer = answer or "answer" not in parts
        facts = result.metrics[4] == 1.0 or not (prediction[1] or gold.supporting_facts)
        facts = facts or "sp" not in parts
        triples = result.metrics[8] == 1.0 or not (prediction[2] or gold.evidences)
        triples = triples or "evidence" not in parts
        errors = []
        if not answer:
            errors += self._answer_errors(prediction.answer, gold, result)
        if not triples:
            errors += self._triple_errors(prediction, gold)
        if not facts:
            errors += self._fact_errors(prediction, gold)
        if result.missing:
            errors.append("part_missing")
        return ErrorLabel(OUTCOME_OF[answer, facts, triples], tuple(errors))

    def match_entries(self, prediction: Prediction, gold: Gold) -> MatchedEntries:
        """Return the entries of both sides, each with whether the other side has it."""
        last = self._matched
        if last is None or last[0] is not prediction or last[1] is not gold:
            last = self._matched = (prediction, gold, self._match(prediction, gold))
        return last[2]

    def _match(self, prediction: Prediction, gold: Gold) -> MatchedEntries:
        facts = entries(prediction.supporting_facts)[:_LIMIT]
        triples = entries(prediction.evidences)[:_LIMIT]
        return MatchedEntries(
            [(fact, self._fact_is_right(fact, gold)) for fact in facts],
            list(zip(gold.supporting_facts, self._facts_found(prediction, gold), strict=True)),
            [(triple, self._triple_is_right(triple, gold)) for triple in triples],
            list(zip(gold.evidences, self._triples_found(prediction, gold), strict=True)),
        )

    def _answer_errors(self, answer: Any, gold: Gold, result: ExampleResult) -> list[str]:
        if not isinstance(answer, str | int | float) or not (form := self._answer(str(answer))):
            return ["no_answer"]
        closed = [form in _CLOSED, self._answer(gold.answer) in _CLOSED]
        if all(closed):
            return ["flipped"]
        if any(closed):
            return ["other_kind"]
        names = {
            self._answer(text)
            for triple in gold.evidences
            for text in (triple[0], triple[-1])
            if isinstance(text, str)
        }
        errors = ["on_the_way"] if form in names else []
        return [*errors, "near"] if result.metrics[1] > 0 else errors

    def _triple_errors(self, prediction: Prediction, gold: Gold) -> list[str]:
        matched = self.match_entries(prediction, gold)
        if not matched.predicted_triples:
            return ["no_triples"]
        found = [hit for _, hit in matched.gold_triples]
        starts = self.starts_of(gold.evidences)
        errors = []
        if not all(found):
            at_start = any(start and not hit for start, hit in zip(starts, found, strict=True))
            errors.append("first_hop" if at_start else "later_hop")
        else:
            errors.append("extra_triples")
        wrong = [one for one, hit in matched.predicted_triples if _is_triple(one) and not hit]
        relations = list(dict.fromkeys(triple[1] for triple in gold.evidences))
        if any(
            relation != own and self._triple_is_right([subject, relation, object_], gold)
            for subject, own, object_ in wrong
            for relation in relations
        ):
            errors.append("other_relation")
        if any(self._triple_is_right([*reversed(one)], gold) for one in wrong):
            errors.append("reversed")
        return errors

    def starts_of(self, triples: Sequence[Any]) -> list[bool]:
        """Return for each gold triple whether it starts a chain; in a circle the first one does."""
        objects = [self._name(str(triple[-1])) for triple in triples]
        starts = [
            self._name(str(triple[0])) not in objects[:number] + objects[number + 1 :]
            for number, triple in enumerate(triples)
        ]
        return starts if any(starts) else [number == 0 for number in range(len(triples))]

    def _fact_errors(self, prediction: Prediction, gold: Gold) -> list[str]:
        matched = self.match_entries(prediction, gold)
        errors = [] if all(hit for _, hit in matched.gold_facts) else ["sentence_missing"]
        if not all(hit for _, hit in matched.predicted_facts):
            errors.append("sentence_extra")
        return errors

    def _fact_is_right(self, fact: Any, gold: Gold) -> bool:
        return fact in gold.supporting_facts or self._scorer.score_facts([fact], gold)[2] > 0

    def _facts_found(self, prediction: Prediction, gold: Gold) -> list[bool]:
        facts = entries(prediction.supporting_facts)
        return [
            fact in facts
            or self._scorer.score_facts(facts, gold._replace(supporting_facts=[fact]))[3] > 0
            for fact in gold.supporting_facts
        ]

    def _triple_is_right(self, triple: Any, gold: Gold) -> bool:
        return triple in gold.evidences or self._scorer.score_evidence([triple], gold)[0][2] > 0

    def _triples_found(self, prediction: Prediction, gold: Gold) -> list[bool]:
        triples, ids = entries(prediction.evidences), gold.evidences_id
        found = []
        for number, triple in enumerate(gold.evidences):
            if triple in triples:
                found.append(True)
                continue
            alone = gold._replace(
                evidences=[triple], evidences_id=[ids[number]] if number < len(ids) else []
            )
            found.append(self._scorer.score_evidence(triples, alone)[0][3] > 0)
        return found


def _is_triple(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 3
