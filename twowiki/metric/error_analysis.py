"""What became of each example: one outcome, and signs that say where it went wrong. Pure.

In: a prediction, its gold and its row of figures. Out: a `Verdict` of keys. A part is right when
its exact match is 1 under the settings of the score, so that outcomes and scores agree. Single
facts and triples are judged by the scorer itself, with names, options and corners alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from twowiki.data.schema import Prediction
from twowiki.metric.normalization import leveller, normalise_answer, normalise_name
from twowiki.metric.results import Gold, Row
from twowiki.metric.scoring import Scorer

_MOST = 200  # entries of a prediction that are judged one by one


class Kind(NamedTuple):
    """A class of examples: its key, its name, and what it means."""

    key: str
    name: str
    meaning: str


OUTCOMES = (
    Kind("all_right", "all right", "answer, sentences and triples are exactly right"),
    Kind(
        "evidence_wrong",
        "right answer and sentences, wrong evidence",
        "only the triples are not exactly right",
    ),
    Kind(
        "sentences_wrong",
        "right answer and evidence, wrong sentences",
        "only the sentences are not exactly right",
    ),
    Kind(
        "answer_alone",
        "right answer, wrong sentences and evidence",
        "the answer is right and nothing that should lead to it is exactly right",
    ),
    Kind(
        "answer_wrong",
        "right sentences and evidence, wrong answer",
        "the whole chain is there and the answer was not drawn from it",
    ),
    Kind(
        "sentences_alone",
        "right sentences, wrong answer and evidence",
        "the right sentences were found and not made use of",
    ),
    Kind(
        "evidence_alone",
        "right evidence, wrong answer and sentences",
        "the triples are right without their sentences and without the answer",
    ),
    Kind("all_wrong", "all wrong", "answer, sentences and triples: none is exactly right"),
    Kind("no_prediction", "no prediction", "the predictions say nothing about this question"),
)
SIGNS = (
    Kind("no_answer", "no answer", "the answer is empty, left out, or neither text nor number"),
    Kind("flipped", "yes and no flipped", "yes was said where no is true, or no where yes is"),
    Kind(
        "other_kind",
        "yes/no in place of a name, or the reverse",
        "one of gold and prediction is yes or no, and the other is not",
    ),
    Kind(
        "on_the_way",
        "answer from the middle of the chain",
        "the wrong answer is another name of the gold triples: a hop too few, or the wrong side",
    ),
    Kind("near", "answer partly right", "a wrong answer that shares words with the right one"),
    Kind("no_triples", "no triples said", "the gold has triples, and the prediction has none"),
    Kind(
        "first_hop",
        "chain broken at the first hop",
        "a gold triple that starts a chain (its subject is no other triple's object) is not found",
    ),
    Kind(
        "later_hop",
        "chain broken at the second hop",
        "all triples that start a chain are found, and one that goes on from them is not",
    ),
    Kind(
        "extra_triples",
        "too many triples",
        "all gold triples are found, and others are said besides",
    ),
    Kind(
        "other_relation",
        "wrong relation between the right names",
        "a wrong triple that another relation would make right",
    ),
    Kind(
        "reversed",
        "triple the wrong way round",
        "a wrong triple that is right with subject and object changed over",
    ),
    Kind("sentence_missing", "a sentence is missing", "a gold sentence was not predicted"),
    Kind("sentence_extra", "a sentence too many", "a predicted sentence is none of the gold ones"),
    Kind(
        "part_missing",
        "a part left out",
        "the prediction gives some of answer, sentences and triples, and not all",
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


class Verdict(NamedTuple):
    """One example's outcome and signs, by key."""

    outcome: str
    signs: tuple[str, ...]


class Checked(NamedTuple):
    """A prediction's and the gold's entries, each with whether the other side has it."""

    said_facts: list[tuple[Any, bool]]
    true_facts: list[tuple[Any, bool]]
    said_triples: list[tuple[Any, bool]]
    true_triples: list[tuple[Any, bool]]


def entries_of(value: Any) -> list[Any]:
    """Give a part's entries; what is no list stands for itself, nothing has none."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


class Judge:
    """Judges examples with one scorer.

    Args:
        scorer: the scorer that made the rows.
    """

    def __init__(self, scorer: Scorer) -> None:
        fold = scorer.settings.unicode
        self._scorer = scorer
        self._answer = leveller(normalise_answer, fold=fold)
        self._name = leveller(normalise_name, fold=fold)

    def judge(self, prediction: Prediction, gold: Gold, row: Row) -> Verdict:
        """Give an example's outcome and signs."""
        if len(row.missing) == len(prediction):
            return Verdict("no_prediction", ())
        answer = row.figures[0] == 1.0
        facts = row.figures[4] == 1.0 or not (prediction[1] or gold.supporting_facts)
        triples = row.figures[8] == 1.0 or not (prediction[2] or gold.evidences)
        signs = []
        if not answer:
            signs += self._signs_of_answer(prediction.answer, gold, row)
        if not triples:
            signs += self._signs_of_triples(prediction, gold)
        if not facts:
            signs += self._signs_of_facts(prediction, gold)
        if row.missing:
            signs.append("part_missing")
        return Verdict(OUTCOME_OF[answer, facts, triples], tuple(signs))

    def check(self, prediction: Prediction, gold: Gold) -> Checked:
        """Say of each entry of either side whether the other side has it."""
        said_facts = entries_of(prediction.supporting_facts)[:_MOST]
        said_triples = entries_of(prediction.evidences)[:_MOST]
        return Checked(
            [(fact, self._fact_is_right(fact, gold)) for fact in said_facts],
            list(zip(gold.supporting_facts, self._facts_found(prediction, gold), strict=True)),
            [(triple, self._triple_is_right(triple, gold)) for triple in said_triples],
            list(zip(gold.evidences, self._triples_found(prediction, gold), strict=True)),
        )

    def _signs_of_answer(self, said: Any, gold: Gold, row: Row) -> list[str]:
        if not isinstance(said, str | int | float) or not (form := self._answer(str(said))):
            return ["no_answer"]
        closed = [form in ("yes", "no"), self._answer(gold.answer) in ("yes", "no")]
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
        signs = ["on_the_way"] if form in names else []
        return [*signs, "near"] if row.figures[1] > 0 else signs

    def _signs_of_triples(self, prediction: Prediction, gold: Gold) -> list[str]:
        said = entries_of(prediction.evidences)[:_MOST]
        if not said:
            return ["no_triples"]
        found = self._triples_found(prediction, gold)
        starts = self.starts_of(gold.evidences)
        signs = []
        if not all(found):
            at_start = any(start and not hit for start, hit in zip(starts, found, strict=True))
            signs.append("first_hop" if at_start else "later_hop")
        else:
            signs.append("extra_triples")
        wrong = [one for one in said if _is_triple(one) and not self._triple_is_right(one, gold)]
        relations = list(dict.fromkeys(triple[1] for triple in gold.evidences))
        if any(
            self._triple_is_right((subject, relation, object_), gold)
            for subject, _, object_ in wrong
            for relation in relations
        ):
            signs.append("other_relation")
        if any(self._triple_is_right(tuple(reversed(one)), gold) for one in wrong):
            signs.append("reversed")
        return signs

    def starts_of(self, triples: Sequence[Any]) -> list[bool]:
        """Tell of each gold triple whether it starts a chain; in a circle the first one does."""
        objects = [self._name(str(triple[-1])) for triple in triples]
        starts = [
            self._name(str(triple[0])) not in objects[:place] + objects[place + 1 :]
            for place, triple in enumerate(triples)
        ]
        return starts if any(starts) else [place == 0 for place in range(len(triples))]

    def _signs_of_facts(self, prediction: Prediction, gold: Gold) -> list[str]:
        signs = []
        if not all(self._facts_found(prediction, gold)):
            signs.append("sentence_missing")
        said = entries_of(prediction.supporting_facts)[:_MOST]
        if not all(self._fact_is_right(fact, gold) for fact in said):
            signs.append("sentence_extra")
        return signs

    def _fact_is_right(self, fact: Any, gold: Gold) -> bool:
        return self._scorer.score_facts([fact], gold)[2] > 0

    def _facts_found(self, prediction: Prediction, gold: Gold) -> list[bool]:
        said = entries_of(prediction.supporting_facts)
        return [
            self._scorer.score_facts(said, gold._replace(supporting_facts=[fact]))[3] > 0
            for fact in gold.supporting_facts
        ]

    def _triple_is_right(self, triple: Any, gold: Gold) -> bool:
        return self._scorer.score_evidence([triple], gold)[0][2] > 0

    def _triples_found(self, prediction: Prediction, gold: Gold) -> list[bool]:
        said, ids = entries_of(prediction.evidences), gold.evidences_id
        found = []
        for place, triple in enumerate(gold.evidences):
            alone = gold._replace(
                evidences=[triple], evidences_id=[ids[place]] if place < len(ids) else []
            )
            found.append(self._scorer.score_evidence(said, alone)[0][3] > 0)
        return found


def _is_triple(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 3
