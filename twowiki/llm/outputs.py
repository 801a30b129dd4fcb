"""Files of raw model outputs as predictions: `twowiki score --from-llm answers.jsonl GOLD`.

In: JSON lines (or an array) of `{"id": ..., "output": "raw text"}`, and the other files that
`llm/output_records` names. Out: a `PredictionSet` whose notes count the outputs by the form they
were parsed in, and those that could not be parsed. Records without an id, and files without any
text, are refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from twowiki.errors import DataError
from twowiki.io.records import DataSource, read_values
from twowiki.llm.answers import is_odd
from twowiki.llm.output_records import RECORD_FORM, read_record, records_of
from twowiki.llm.parsing import (
    MARKUP,
    UNPARSED,
    ParsedOutput,
    parse_llm_output,
    parse_science_answer,
)
from twowiki.metric.gold import IN_MEMORY
from twowiki.metric.predictions import PredictionSet

_UNREAD = {
    "supporting_facts": "with supporting sentences that could not be read",
    "evidences": "with triples that could not be read",
    MARKUP: "oddly read, with mark-up left in the answer",
}


def read_llm_outputs(source: str | PathLike[str] | Iterable[Mapping[str, Any]]) -> PredictionSet:
    """Read the raw outputs of a model.

    Args:
        source: a file, or records with an id and a text; the last record of an id counts.

    Raises:
        DataError: a record without an id, or no record with a text.
    """
    outputs, origin, count = _raw_outputs(source)
    parsed = {name: parse_llm_output(text) for name, text in outputs.items()}
    predictions = {name: output.prediction for name, output in parsed.items()}
    found = PredictionSet.of_typed(predictions, origin, count - len(outputs))
    return replace(found, absent=(), notes=(reading_note(parsed),))


def read_science_outputs(
    source: str | PathLike[str] | Iterable[Mapping[str, Any]], gold: Collection[str]
) -> tuple[dict[str, str], str]:
    """Read the raw outputs of a model on ARC-DA.

    Args:
        source: a file, or records with an id and a text; the last record of an id counts.
        gold: the gold's question ids.

    Returns:
        Answers by question id, and a note of how many were marked, how many not, how many empty.

    Raises:
        DataError: a record without an id, an unknown id, or no record with a text.
    """
    outputs, origin, _ = _raw_outputs(source)
    unknown = [name for name in outputs if name not in gold]
    if unknown:
        problem = f"{len(unknown)} outputs for questions that the gold does not have: {unknown[0]}"
        raise DataError(problem, file=origin.name, remedy="Is it the right split?")
    marked = sum(parse_llm_output(text).is_marked for text in outputs.values())
    answers = {name: parse_science_answer(text) for name, text in outputs.items()}
    odd = [name for name, answer in answers.items() if is_odd(answer)]
    empty = sum(not answer for answer in answers.values())
    note = (
        f"{len(outputs)} model outputs: {marked} with a marked answer, {empty} without any answer"
    )
    return answers, note + (f", {len(odd)} {_UNREAD[MARKUP]} (first: {odd[0]})" if odd else "")


def _raw_outputs(
    source: str | PathLike[str] | Iterable[Mapping[str, Any]],
) -> tuple[dict[str, Any], DataSource, int]:
    """Return the outputs by id, where they came from, and the number of records."""
    if isinstance(source, str | PathLike):
        path: Path | None = Path(source)
        values, origin = read_values(source)
    else:
        path, origin, values = None, DataSource(IN_MEMORY, ""), source
    records = records_of(values, path)
    outputs = dict(read_record(record, number, path) for number, record in enumerate(records))
    if outputs and all(text is None for text in outputs.values()):
        raise DataError("no record has a model's text", file=path, remedy=RECORD_FORM)
    return outputs, origin, len(records)


def reading_note(parsed: Mapping[str, ParsedOutput]) -> str:
    """Return how many outputs were parsed, by form."""
    forms = Counter(output.form for output in parsed.values())
    failed = [name for name, output in parsed.items() if output.form == UNPARSED]
    first = f" (first: {failed[0]})" if failed else ""
    read = ", ".join(f"{form} {forms[form]}" for form in sorted(forms) if form != UNPARSED)
    lacking = {
        "an answer": sum(output.answer is None for output in parsed.values()),
        "supporting sentences": sum(output.facts is None for output in parsed.values()),
        "triples": sum(output.triples is None for output in parsed.values()),
    }
    notes = [f"{count} without {part}" for part, count in lacking.items() if count]
    for part, problem in _UNREAD.items():
        ids = [name for name, output in parsed.items() if part in output.unread]
        notes += [f"{len(ids)} {problem} (first: {ids[0]})"] if ids else []
    return "; ".join(
        [
            f"{len(failed)} of {len(parsed)} model outputs could not be parsed{first}",
            f"read as {read or 'nothing'}",
            *([", ".join(notes)] if notes else []),
        ]
    )
