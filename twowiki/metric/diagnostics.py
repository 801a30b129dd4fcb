"""What a reader of a score should know: warnings, each with a count and the first id.

In: scored examples and where they came from. Out: sentences for the report. Malformed values are
searched only where a prediction misses the gold. The most important one: sentence ids beyond a
paragraph's end, which show predictions made on another release. Nothing is raised.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from twowiki.data.amendments import Amendments
from twowiki.data.schema import Prediction
from twowiki.metric.gold import GoldReader, sentence_count
from twowiki.metric.normalization import as_index
from twowiki.metric.parts import part_of_field
from twowiki.metric.predictions import BLOCKS, EXPECTED, PredictionSet
from twowiki.metric.results import ExampleResult, Gold
from twowiki.metric.settings import ScoreSettings

_LISTS, _TEXTS = (list, tuple), (str, int, float)


_SENTENCES = {
    "text_index": "field 'sp' (supporting_facts): sentence ids are texts, which match no number; "
    'write 0, not "0", or score with coerce_indices (--coerce-indices)',
    "struct_fact": "field 'sp': facts are objects, which match nothing in the official form; "
    "write [title, sent_id] lists, or rows with supporting_facts",
    "odd_fact": "field 'sp' (supporting_facts): entries other than [title, sent_id] match nothing",
    "odd_triple": "field 'evidence' (evidences): entries that are not three texts match nothing",
    "odd_answer": "field 'answer': values that are neither text nor number score 0",
    "beyond": "predicted sentence ids are beyond the gold paragraph's end ({}): the predictions "
    "and the gold may come from different releases (sentences were cut anew in April 2021)",
}


class Diagnostics:
    """Collects the values that can match nothing, in predictions that miss their gold.

    Args:
        coerce: whether sentence ids given as texts were read as numbers.
    """

    def __init__(self, *, coerce: bool = False) -> None:
        self._coerce = coerce
        self._found: dict[str, list[str]] = {}  # problem -> ids, in the gold's order
        self._beyond = ""  # the first sentence id beyond its paragraph, in words

    def add(self, prediction: Prediction, gold: Gold, result: ExampleResult, context: Any) -> None:
        """Check one example; its context, as it was read, shows how long paragraphs are."""
        answer, facts, triples = prediction
        metrics = result.metrics
        if metrics[0] != 1.0 and answer is not None and not isinstance(answer, _TEXTS):
            self._note("odd_answer", gold.id)
        if metrics[4] != 1.0 and facts:
            self._check_facts(facts, gold, context)
        if metrics[8] != 1.0 and triples and not _are_triples(triples):
            self._note("odd_triple", gold.id)

    def warnings(self) -> list[str]:
        """Return the warnings about values."""
        texts = {**_SENTENCES, "beyond": _SENTENCES["beyond"].format(self._beyond)}
        return [
            f"{texts[problem]} ({counted(len(ids), 'example')}, first: {ids[0]})"
            for problem, ids in self._found.items()
        ]

    def _note(self, problem: str, example_id: str) -> None:
        ids = self._found.setdefault(problem, [])
        if not ids or ids[-1] != example_id:
            ids.append(example_id)

    def _check_facts(self, facts: Any, gold: Gold, context: Any) -> None:
        doubtful = []
        for fact in facts if isinstance(facts, _LISTS) else [facts]:
            if fact in gold.supporting_facts:
                continue
            if not isinstance(fact, _LISTS) or len(fact) != 2 or not isinstance(fact[0], str):
                self._note("struct_fact" if isinstance(fact, Mapping) else "odd_fact", gold.id)
                continue
            sent_id = as_index(fact[1]) if self._coerce else fact[1]
            if isinstance(sent_id, str):
                self._note("text_index", gold.id)
            elif isinstance(sent_id, int) and sent_id > 0:
                doubtful.append((fact[0], sent_id))
        for title, sent_id in doubtful:
            length = sentence_count(context, title)
            if length is not None and sent_id >= length and not _in_gold(title, sent_id, gold):
                self._beyond = self._beyond or f"{title!r} has {length}, predicted {sent_id}"
                self._note("beyond", gold.id)


def collect_warnings(
    settings: ScoreSettings,
    predictions: PredictionSet,
    gold: GoldReader,
    results: Sequence[ExampleResult],
    extra: Sequence[str],
    blank: Sequence[str],
    *,
    aliases: bool,
    parts: Sequence[str],
    amendments: Amendments | None = None,
) -> Iterator[str]:
    """Yield the report's warnings but for those about values.

    Args:
        settings: the options of the score.
        predictions: the predictions.
        gold: the gold that was scored, read to its end.
        results: the scored examples.
        extra: the predicted ids that are not in the gold.
        blank: the ids of scored examples without a gold answer.
        aliases: whether aliases were given.
        parts: those that are scored.
        amendments: of the gold, applied.
    """
    yield from predictions.notes
    yield from _about_coverage(predictions, results, extra, parts)
    if amendments is not None and amendments.unused:
        unused = counted(len(amendments.unused), "amendment")
        yield f"{unused} of records that were not scored (first: {amendments.unused[0]})"
    if blank:
        yield (
            f"{counted(len(blank), 'gold record')} without an answer (first: {blank[0]}), scored "
            "as an empty text, as in the official evaluator; a subset of ids (--subset) leaves "
            "them out"
        )
    yield from _about_gold(settings, gold, results, aliases, parts)
    yield from _about_matching(results)


def _about_coverage(
    predictions: PredictionSet,
    results: Sequence[ExampleResult],
    extra: Sequence[str],
    parts: Sequence[str],
) -> Iterator[str]:
    for block in predictions.absent:
        if block in parts:
            yield f'the predictions have no "{block}": it and joint are 0 throughout. {EXPECTED}'
    missing = [result for result in results if result.missing]
    if missing:
        counts = {block: sum(block in one.missing for one in missing) for block in BLOCKS}
        parts = ", ".join(f"{block} {count}" for block, count in counts.items() if count)
        yield (
            f"{len(missing)} of {len(results)} gold examples have no complete prediction; what is "
            f"left out scores 0 (by part: {parts}; first: {missing[0].id})"
        )
    if len(missing) == len(results) and extra:
        yield "no gold example is fully predicted: are both files of one split and release?"
    if extra:
        ids = counted(len(extra), "predicted id")
        yield f"{ids} not in the gold, ignored (first: {extra[0]})"
    if predictions.repeated:
        yield f"{counted(predictions.repeated, 'repeated row')} ignored"


def _about_gold(
    settings: ScoreSettings,
    gold: GoldReader,
    results: Sequence[ExampleResult],
    aliases: bool,
    parts: Sequence[str],
) -> Iterator[str]:
    ids = [result.id for result in results]
    if len(set(ids)) < len(ids):
        repeated = counted(len(ids) - len(set(ids)), "gold record")
        yield f"{repeated} with a repeated id; each counts, as in the official evaluator"
    for field_name, count in gold.lacking.items():
        if count == gold.count and part_of_field(field_name) not in parts:
            continue
        yield f"{counted(count, 'gold record')} without {field_name!r}, which is taken as empty"
    if settings.version == "1.0":
        if aliases:
            yield "version 1.0 uses no aliases: the alias file is not used"
    elif aliases and not gold.has_ids:
        yield "the gold has no Wikidata ids (answer_id, evidences_id): the alias file is not used"
    elif gold.has_ids and not aliases:
        yield (
            "no alias file: aliases of the gold's ids count as wrong (the release's "
            "id_aliases.json, third argument)"
        )


def _about_matching(results: Sequence[ExampleResult]) -> Iterator[str]:
    differing = [result.id for result in results if result.differs]
    if differing:
        yield (
            f"the official and the one_to_one matching differ on "
            f"{counted(len(differing), 'example')}: "
            "several spellings of one gold triple, or repeated gold triples "
            f"(first: {differing[0]})"
        )
    above = [one.id for one in results if one.differs and max(one.metrics) > 1.0]
    if above:
        yield (
            f"{counted(len(above), 'row')} above 100 (first: {above[0]}), as in the official "
            "evaluator; matching one_to_one never exceeds 100"
        )


def counted(count: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _in_gold(title: str, sent_id: int, gold: Gold) -> bool:
    return any(tuple(fact) == (title, sent_id) for fact in gold.supporting_facts)


def _are_triples(triples: Any) -> bool:
    """Return whether all entries are three texts or numbers."""
    if not isinstance(triples, _LISTS):
        return False
    for triple in triples:
        if not isinstance(triple, _LISTS) or len(triple) != 3:
            return False
        if not isinstance(triple[0], _TEXTS) or not isinstance(triple[1], _TEXTS):
            return False
        if not isinstance(triple[2], _TEXTS):
            return False
    return True
