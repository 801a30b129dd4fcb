"""What a reader of a score should know: oddities in words, each with a count and the first id.

In: scored examples and where they came from. Out: sentences for the report. Malformed values are
looked for only where a prediction misses the gold. Foremost: sentence ids beyond a paragraph's
end, the sign of predictions made on another release. Nothing is raised.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from twowiki.gold import GoldSet, paragraphs_of
from twowiki.malformed import as_index
from twowiki.predictions import BLOCKS, EXPECTED, PredictionSet
from twowiki.rows import Gold, Row
from twowiki.schema import Prediction
from twowiki.signature import Settings


class Scored(NamedTuple):
    """One system's rows with the pairs that they came from."""

    pairs: list[tuple[Prediction, Gold]]
    rows: list[Row]


@dataclass
class Findings:
    """Which examples show what, by kind, in the gold's order."""

    found: dict[str, list[str]] = field(default_factory=dict)
    beyond: str = ""  # the first sentence id beyond its paragraph, in words

    def note(self, kind: str, name: str) -> None:
        """Count an example once for a kind."""
        names = self.found.setdefault(kind, [])
        if not names or names[-1] != name:
            names.append(name)

    def warnings(self) -> list[str]:
        """Say what was found."""
        texts = {**_TEXTS, "beyond": _TEXTS["beyond"].format(self.beyond)}
        return [
            f"{texts[kind]} ({counted(len(names), 'example')}, first: {names[0]})"
            for kind, names in self.found.items()
        ]


_TEXTS = {
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


def explain(
    settings: Settings,
    said: PredictionSet,
    true: GoldSet,
    aliases: bool,
    scored: Scored,
    extra: Sequence[str],
) -> Iterator[str]:
    """Yield the report's warnings.

    Args:
        settings: the variant of the metric.
        said: the predictions.
        true: the gold that was scored.
        aliases: whether other names were at hand.
        scored: the rows, with their pairs.
        extra: the predicted ids that the gold does not know.
    """
    yield from said.notes
    yield from _about_coverage(said, scored.rows, extra)
    yield from _about_gold(settings, true, aliases)
    yield from _about_matching(settings, scored.rows)
    coerce = settings.coerce_indices
    yield from inspect(scored, true.contexts, coerce=coerce).warnings()


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
        yield f"{counted(said.repeated, 'row')} ignored that only repeat another one of their id"


def _about_gold(settings: Settings, true: GoldSet, aliases: bool) -> Iterator[str]:
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


def _about_matching(settings: Settings, rows: Sequence[Row]) -> Iterator[str]:
    differing = [row.id for row in rows if row.differs]
    if differing:
        yield (
            f"the official and the one_to_one matching differ on "
            f"{counted(len(differing), 'example')}: "
            "several spellings of one gold triple, or gold triples that stand twice "
            f"(first: {differing[0]})"
        )
    above = [row.id for row in rows if max(row.figures) > 1.0]
    if above:
        yield (
            f"{counted(len(above), 'row')} above 100 (first: {above[0]}), as in the official "
            "evaluator; matching one_to_one never exceeds 100"
        )


def counted(count: int, noun: str) -> str:
    """Write a count with its noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def inspect(scored: Scored, contexts: Sequence[Any], *, coerce: bool = False) -> Findings:
    """Look at the predictions that miss their gold.

    Args:
        scored: predictions with their gold and rows.
        contexts: the gold's contexts as they were read; used to count sentences.
        coerce: sentence ids given as texts were read as numbers.
    """
    findings = Findings()
    for (prediction, gold), row, context in zip(*scored, contexts, strict=True):
        answer, facts, triples = prediction
        if row.figures[0] != 1.0 and not isinstance(answer, str | int | float | None):
            findings.note("odd_answer", gold.id)
        if row.figures[4] != 1.0 and facts:
            _inspect_facts(facts, gold, context, findings, coerce)
        if row.figures[8] != 1.0 and triples and not _are_triples(triples):
            findings.note("odd_triple", gold.id)
    return findings


def _inspect_facts(facts: Any, gold: Gold, context: Any, findings: Findings, coerce: bool) -> None:
    doubtful = []
    for fact in facts if isinstance(facts, list | tuple) else [facts]:
        if isinstance(fact, Mapping):
            findings.note("struct_fact", gold.id)
        elif not isinstance(fact, list | tuple) or len(fact) != 2 or not isinstance(fact[0], str):
            findings.note("odd_fact", gold.id)
        elif isinstance(fact[1], str) and not (coerce and isinstance(as_index(fact[1]), int)):
            findings.note("text_index", gold.id)
        elif fact not in gold.supporting_facts:
            doubtful.append((fact[0], as_index(fact[1]) if coerce else fact[1]))
    if doubtful and context is not None:
        _inspect_indices(doubtful, gold, dict(paragraphs_of(context)), findings)


def _inspect_indices(
    facts: Sequence[tuple[str, Any]], gold: Gold, lengths: Mapping[str, int], findings: Findings
) -> None:
    known = {tuple(fact) for fact in gold.supporting_facts}
    for title, sent_id in facts:
        length = lengths.get(title)
        if not isinstance(sent_id, int) or length is None or sent_id < length:
            continue
        if (title, sent_id) not in known:
            findings.beyond = findings.beyond or f"{title!r} has {length}, said {sent_id}"
            findings.note("beyond", gold.id)


def _are_triples(triples: Any) -> bool:
    return isinstance(triples, list | tuple) and all(
        isinstance(triple, list | tuple)
        and len(triple) == 3
        and all(isinstance(part, str | int | float) for part in triple)
        for triple in triples
    )
