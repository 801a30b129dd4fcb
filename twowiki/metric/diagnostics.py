"""What a reader of a score should know: oddities in words, each with a count and the first id.

In: scored examples and where they came from. Out: sentences for the report. Malformed values are
looked for only where a prediction misses the gold. Foremost: sentence ids beyond a paragraph's
end, the sign of predictions made on another release. Nothing is raised.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from twowiki.data.schema import Prediction
from twowiki.metric.gold import GoldSet, length_of
from twowiki.metric.normalization import as_index
from twowiki.metric.predictions import BLOCKS, EXPECTED, PredictionSet
from twowiki.metric.results import Gold, Row
from twowiki.metric.settings import ScoreSettings

_LISTS, _TEXTS = (list, tuple), (str, int, float)


_SENTENCES = {
    "text_index": "field 'sp' (supporting_facts): sentence ids are texts, which match no number; "
    'write 0, not "0", or score with coerce_indices (--coerce-indices)',
    "struct_fact": "field 'sp': facts are objects, which match nothing in the official form; "
    "write [title, sent_id] lists, or rows with supporting_facts",
    "odd_fact": "field 'sp' (supporting_facts): entries that are no [title, sent_id] match nothing",
    "odd_triple": "field 'evidence' (evidences): entries that are no three texts match nothing",
    "odd_answer": "field 'answer': values that are neither text nor number score 0",
    "beyond": "predicted sentence ids lie beyond the gold paragraph's end ({}): the predictions "
    "and the gold may come from different releases (sentences were cut anew in April 2021)",
}


class Inspector:
    """Looks at predictions that miss their gold for values that can match nothing.

    Args:
        coerce: sentence ids given as texts were read as numbers.
    """

    def __init__(self, *, coerce: bool = False) -> None:
        self._coerce = coerce
        self._found: dict[str, list[str]] = {}  # kind -> ids, in the gold's order
        self._beyond = ""  # the first sentence id beyond its paragraph, in words

    def look(self, prediction: Prediction, gold: Gold, row: Row, context: Any) -> None:
        """Look at one example; its context, as it was read, tells how long paragraphs are."""
        answer, facts, triples = prediction
        figures = row.figures
        if figures[0] != 1.0 and answer is not None and not isinstance(answer, _TEXTS):
            self._note("odd_answer", gold.id)
        if figures[4] != 1.0 and facts:
            self._look_at_facts(facts, gold, context)
        if figures[8] != 1.0 and triples and not _are_triples(triples):
            self._note("odd_triple", gold.id)

    def warnings(self) -> list[str]:
        """Say what was found."""
        texts = {**_SENTENCES, "beyond": _SENTENCES["beyond"].format(self._beyond)}
        return [
            f"{texts[kind]} ({counted(len(names), 'example')}, first: {names[0]})"
            for kind, names in self._found.items()
        ]

    def _note(self, kind: str, name: str) -> None:
        names = self._found.setdefault(kind, [])
        if not names or names[-1] != name:
            names.append(name)

    def _look_at_facts(self, facts: Any, gold: Gold, context: Any) -> None:
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
            length = length_of(context, title)
            if length is not None and sent_id >= length and not _in_gold(title, sent_id, gold):
                self._beyond = self._beyond or f"{title!r} has {length}, said {sent_id}"
                self._note("beyond", gold.id)


def explain(
    settings: ScoreSettings,
    said: PredictionSet,
    true: GoldSet,
    aliases: bool,
    rows: Sequence[Row],
    extra: Sequence[str],
    inspector: Inspector,
) -> Iterator[str]:
    """Yield the report's warnings.

    Args:
        settings: the variant of the metric.
        said: the predictions.
        true: the gold that was scored.
        aliases: whether other names were at hand.
        rows: the scored examples.
        extra: the predicted ids that the gold does not know.
        inspector: what has looked at each of them.
    """
    yield from said.notes
    yield from _about_coverage(said, rows, extra)
    yield from _about_gold(settings, true, aliases)
    yield from _about_matching(rows)
    yield from inspector.warnings()


def _about_coverage(
    said: PredictionSet, rows: Sequence[Row], extra: Sequence[str]
) -> Iterator[str]:
    for block in said.absent:
        yield (f'the predictions have no "{block}": it and joint are 0 throughout. {EXPECTED}')
    missing = [row for row in rows if row.missing]
    if missing:
        counts = {block: sum(block in row.missing for row in missing) for block in BLOCKS}
        parts = ", ".join(f"{block} {count}" for block, count in counts.items() if count)
        yield (
            f"{len(missing)} of {len(rows)} gold examples have no complete prediction; what is "
            f"left out scores 0 (by part: {parts}; first: {missing[0].id})"
        )
    if len(missing) == len(rows) and extra:
        yield "no gold example is wholly predicted: are the two files of one split and release?"
    if extra:
        ids = counted(len(extra), "predicted id")
        yield f"{ids} not in the gold, ignored (first: {extra[0]})"
    if said.repeated:
        yield f"{counted(said.repeated, 'repeated row')} ignored"


def _about_gold(settings: ScoreSettings, true: GoldSet, aliases: bool) -> Iterator[str]:
    names = [gold.id for gold in true.golds]
    if len(set(names)) < len(names):
        repeated = counted(len(names) - len(set(names)), "gold record")
        yield f"{repeated} with a repeated id; each counts, as in the official evaluator"
    for field_name, count in true.lacking.items():
        yield f"{counted(count, 'gold record')} without {field_name!r}, which is taken as empty"
    if settings.version == "1.0":
        if aliases:
            yield "version 1.0 knows no other names: the alias file is not used"
    elif aliases and not true.has_ids:
        yield "the gold has no Wikidata ids (answer_id, evidences_id): the alias file is not used"
    elif true.has_ids and not aliases:
        yield (
            "no alias file: other names of the gold's ids count as wrong (the release's "
            "id_aliases.json, third argument)"
        )


def _about_matching(rows: Sequence[Row]) -> Iterator[str]:
    differing = [row.id for row in rows if row.differs]
    if differing:
        yield (
            f"the official and the one_to_one matching differ on "
            f"{counted(len(differing), 'example')}: "
            "several spellings of one gold triple, or gold triples that stand twice "
            f"(first: {differing[0]})"
        )
    above = [row.id for row in rows if row.differs and max(row.figures) > 1.0]
    if above:
        yield (
            f"{counted(len(above), 'row')} above 100 (first: {above[0]}), as in the official "
            "evaluator; matching one_to_one never exceeds 100"
        )


def counted(count: int, noun: str) -> str:
    """Write a count with its noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _in_gold(title: str, sent_id: int, gold: Gold) -> bool:
    return any(tuple(fact) == (title, sent_id) for fact in gold.supporting_facts)


def _are_triples(triples: Any) -> bool:
    """Tell whether all entries are three texts or numbers."""
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
