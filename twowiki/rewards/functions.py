"""Reward functions: completions and the columns of the data set in, one number each out.

In: completions as texts or lists of messages, and gold as columns by keyword, as TRL passes them
(`answer`, `supporting_facts`, `evidences`, `context`; lists or structs); or what a rubric of
`verifiers` passes to a function of a group (`answers`, `infos`, `states`). Out: rewards from 0 to
1, None where a row has no gold of that kind (TRL then leaves the function out for this row).
Completions are read as `twowiki score --from-llm` reads them; whatever they are, nothing is raised.
A column that is missing as a whole is an error.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from twowiki.data.fields import parse_context, parse_facts, parse_triple_ids, parse_triples
from twowiki.errors import DataError
from twowiki.io.records import decoded_cell
from twowiki.llm.parsing import ParsedOutput, parse_llm_output
from twowiki.metric.results import MEASURES, NONE, AliasesOf, Gold, PartScore, no_aliases
from twowiki.metric.scoring import Scorer, score_joint
from twowiki.metric.settings import ScoreSettings

Rewards = list[float | None]
_SETTINGS = ScoreSettings(matching="one_to_one")  # the official one may exceed 1
_ANSWER, _FACTS, _TRIPLES = "answer", "supporting_facts", "evidences"
_PARTS = (_ANSWER, _FACTS, _TRIPLES)
_WORD = re.compile(r"\w+")


def answer(
    completions: Sequence[Any],
    *,
    measure: str = "f1",
    aliases: AliasesOf = no_aliases,
    **columns: Any,
) -> Rewards:
    """Return how right each answer is.

    Args:
        completions: texts, or lists of messages.
        measure: em, f1, prec or recall.
        aliases: returns the other names of a Wikidata id (`twowiki.read_aliases(...).aliases_of`).
        columns: `answer`; also `answer_aliases` and `answer_id` are used.

    Raises:
        DataError: a column is missing, or its gold is malformed.
    """
    return _rewards(completions, columns, (_ANSWER,), measure, aliases)


def support(completions: Sequence[Any], *, measure: str = "f1", **columns: Any) -> Rewards:
    """Return how right the supporting sentences are (column `supporting_facts`)."""
    return _rewards(completions, columns, (_FACTS,), measure, no_aliases)


def evidence(
    completions: Sequence[Any],
    *,
    measure: str = "f1",
    aliases: AliasesOf = no_aliases,
    **columns: Any,
) -> Rewards:
    """Return how right the triples are (column `evidences`; also `evidences_id`)."""
    return _rewards(completions, columns, (_TRIPLES,), measure, aliases)


def joint(
    completions: Sequence[Any],
    *,
    measure: str = "f1",
    aliases: AliasesOf = no_aliases,
    **columns: Any,
) -> Rewards:
    """Return how right the three parts are together: the product of precisions and of recalls.

    The paper's equation 1. Of a row without triples, as in HotpotQA, it is that of the other two.
    """
    return _rewards(completions, columns, _PARTS, measure, aliases)


def format(
    completions: Sequence[Any], *, parts: Sequence[str] | None = None, **columns: Any
) -> Rewards:
    """Return which share of the parts is marked as such and can be read without loss.

    Args:
        completions: texts, or lists of messages.
        parts: of `answer`, `supporting_facts` and `evidences`, those that the prompt asks for (by
            default those that the row has gold of).
        columns: as for the other rewards.
    """
    table = _Columns(completions, columns)
    wanted = [parts] * len(completions)
    if parts is None:
        golds = {name: table.values(name, needed=False) for name in _PARTS[1:]}
        wanted = [
            [_ANSWER, *(name for name in golds if golds[name][row] is not None)]
            for row in range(len(completions))
        ]
    return [
        sum(_is_whole(parsed, name) for name in names or (_ANSWER,)) / len(names or (_ANSWER,))
        for parsed, names in zip(_parsed_all(completions), wanted, strict=True)
    ]


def _is_whole(parsed: ParsedOutput, part: str) -> bool:
    if part == _ANSWER:
        return parsed.answer is not None and parsed.is_marked and "markup" not in parsed.unread
    value = parsed.facts if part == _FACTS else parsed.triples
    return value is not None and part not in parsed.unread


def grounded(completions: Sequence[Any], **columns: Any) -> Rewards:
    """Return which share of the triples stands in the text: subject and object in one paragraph.

    A paragraph is its title and its sentences (column `context`); words are compared whatever
    their case. No triples are no share: 0. It needs no gold, and rewards no right answer.
    """
    table = _Columns(completions, columns)
    contexts = table.values("context")
    folded: dict[int, list[str]] = {}
    found: Rewards = []
    for parsed, context in zip(_parsed_all(completions), contexts, strict=True):
        if context is None:
            found.append(None)
            continue
        if id(context) not in folded:
            pages = parse_context(decoded_cell(context))
            folded[id(context)] = [_words(" ".join([title, *texts])) for title, texts in pages]
        triples = parsed.triples or ()
        stands = sum(_stands(triple, folded[id(context)]) for triple in triples)
        found.append(stands / len(triples) if triples else 0.0)
    return found


def _stands(triple: tuple[Any, ...], pages: Sequence[str]) -> bool:
    names = [_words(str(triple[0])), _words(str(triple[2]))]
    return all(len(name) > 1 for name in names) and any(
        all(name in page for name in names) for page in pages
    )


def _words(text: str) -> str:
    """Return the words of a text in one form, each between spaces."""
    text = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def _rewards(
    completions: Sequence[Any],
    columns: Mapping[str, Any],
    parts: Sequence[str],
    measure: str,
    aliases: AliasesOf,
) -> Rewards:
    if measure not in MEASURES:
        remedy = f"It is one of {', '.join(MEASURES)}"
        raise DataError(f"is {measure!r}", field="measure", remedy=remedy)
    place = MEASURES.index(measure)
    scorer = Scorer(_SETTINGS, aliases)
    scores: dict[str, Callable[[ParsedOutput, Gold], PartScore]] = {
        _ANSWER: lambda parsed, gold: scorer.score_answer(parsed.answer, gold),
        _FACTS: lambda parsed, gold: scorer.score_facts(parsed.facts or (), gold),
        _TRIPLES: lambda parsed, gold: scorer.score_evidence(parsed.triples or (), gold)[0],
    }
    found: Rewards = []
    table = _Columns(completions, columns)
    for parsed, row in zip(_parsed_all(completions), table.golds(parts), strict=True):
        known = [part for part in parts if part in row.parts]
        if not known or (len(parts) > 1 and len(known) < 2):
            found.append(None)
            continue
        values = [scores[part](parsed, row.gold) for part in known]
        score = values[0]
        for other in values[1:]:
            score = score_joint(score, other, (1.0, 1.0, 1.0, 1.0))
        found.append(min(1.0, score[place]) if score != NONE else 0.0)
    return found


class _Row(NamedTuple):
    """The gold of one completion, and the parts that it has."""

    gold: Gold
    parts: tuple[str, ...]


class _Columns:
    """The columns of a batch, whoever passes them."""

    def __init__(self, completions: Sequence[Any], columns: Mapping[str, Any]) -> None:
        self._count, self._columns = len(completions), columns

    def values(self, name: str, *, needed: bool = True) -> Sequence[Any]:
        """Return a column.

        Raises:
            DataError: there is none, or it has another length.
        """
        column = self._columns.get(name)
        if column is None and name == _ANSWER and self._columns.get("answers") is not None:
            column = self._columns["answers"]
        if column is None:
            column = self._of_states(name)
        if column is None and not needed:
            return [None] * self._count
        if column is None or isinstance(column, str) or len(column) != self._count:
            known = ", ".join(sorted(self._columns)) or "none"
            problem = "the reward needs this column"
            if column is not None:
                problem = f"has {len(column)} values for {self._count} completions"
            remedy = f"Columns given: {known}. `twowiki export --format rl` writes all of them"
            raise DataError(problem, field=name, remedy=remedy)
        return column

    def _of_states(self, name: str) -> list[Any] | None:
        """Return what each `info` or `state` of a rubric has under a name."""
        rows: list[Mapping[str, Any]] = [{}] * self._count
        for source in ("states", "infos"):
            given = self._columns.get(source)
            if isinstance(given, list | tuple) and len(given) == self._count:
                rows = [{**row, **_flat(entry)} for row, entry in zip(rows, given, strict=True)]
        return [row.get(name) for row in rows] if any(name in row for row in rows) else None

    def golds(self, parts: Sequence[str]) -> Iterator[_Row]:
        """Yield the gold of each completion."""
        needed = {part: self.values(part) for part in parts}
        others = {
            name: self.values(name, needed=False)
            for name in ("answer_aliases", "answer_id", "evidences_id")
        }
        columns = {**needed, **others}
        for number in range(self._count):
            row = {name: decoded_cell(column[number]) for name, column in columns.items()}
            facts = _tuples(row.get(_FACTS), parse_facts)
            triples = _tuples(row.get(_TRIPLES), parse_triples)
            text = row.get(_ANSWER)
            present = {
                _ANSWER: text not in (None, ""),
                _FACTS: bool(facts),
                _TRIPLES: bool(triples),
            }
            gold = Gold(
                f"row {number}",
                str(text or ""),
                facts,
                triples,
                answer_id=row["answer_id"],
                evidences_id=_tuples(row["evidences_id"], parse_triple_ids),
                answer_aliases=row["answer_aliases"] or (),
            )
            yield _Row(gold, tuple(part for part in parts if present[part]))


def _flat(entry: Any) -> dict[str, Any]:
    """Return the fields of a rubric's info or state, those of its input included."""
    entry = decoded_cell(entry)
    if not isinstance(entry, Mapping):
        return {}
    inner = [_flat(entry[name]) for name in ("input", "info") if entry.get(name)]
    return {name: value for fields in (dict(entry), *inner) for name, value in fields.items()}


def _tuples(value: Any, parse: Callable[[Any], list[Any]]) -> list[Any]:
    """Return gold entries as tuples, structs of lists too."""
    if isinstance(value, Mapping) and value and all(isinstance(v, list) for v in value.values()):
        value = [dict(zip(value, row, strict=True)) for row in zip(*value.values(), strict=True)]
    return parse(value)


def _parsed_all(completions: Sequence[Any]) -> Iterator[ParsedOutput]:
    for completion in completions:
        if isinstance(completion, str):
            yield _parsed(completion)
        else:
            yield parse_llm_output(completion)


@lru_cache(maxsize=1 << 13)
def _parsed(completion: str) -> ParsedOutput:
    return parse_llm_output(completion)
