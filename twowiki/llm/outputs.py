"""Files of raw model outputs as predictions: `twowiki score --from-llm answers.jsonl GOLD`.

In: JSON lines (or an array) of `{"id": ..., "output": "raw text"}`; the names `text`, `response`,
`completion`, `generated_text`, `content` and the files of batch services (`custom_id`,
`response.body.choices`) are accepted too. Out: a `PredictionSet` whose notes count the outputs by
the form they were parsed in, and those that could not be parsed. Records without an id, and files
without any text, are refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from twowiki.data.fields import json_type
from twowiki.errors import DataError
from twowiki.io.records import DataSource, read_values
from twowiki.llm.parsing import UNPARSED, ParsedOutput, parse_llm_output
from twowiki.metric.gold import IN_MEMORY
from twowiki.metric.predictions import PredictionSet

ID_NAMES = ("id", "_id", "custom_id", "qid", "question_id")
TEXT_NAMES = ("output", "text", "response", "completion", "generated_text", "content", "message",
              "model_output", "raw", "body", "choices")  # fmt: skip
_FORMAT = (
    'Write one object per line: {"id": "the question\'s id", "output": "the model\'s raw text"}'
)


def read_llm_outputs(source: str | PathLike[str] | Iterable[Mapping[str, Any]]) -> PredictionSet:
    """Read the raw outputs of a model.

    Args:
        source: a file, or records with an id and a text; the last record of an id counts.

    Raises:
        DataError: a record without an id, or no record with a text.
    """
    if isinstance(source, str | PathLike):
        path: Path | None = Path(source)
        values, origin = read_values(source)
        records = [values] if isinstance(values, Mapping) else values
    else:
        path, origin, records = None, DataSource(IN_MEMORY, ""), list(source)
    outputs: dict[str, Any] = {}
    for number, record in enumerate(records):
        outputs[_id_of(record, number, path)] = _text_of(record)
    if outputs and all(text is None for text in outputs.values()):
        raise DataError("no record has a model's text", file=path, remedy=_FORMAT)
    parsed = {name: parse_llm_output(text) for name, text in outputs.items()}
    predictions = {name: output.prediction for name, output in parsed.items()}
    found = PredictionSet.of_typed(predictions, origin, len(records) - len(outputs))
    return replace(found, absent=(), notes=(_note(parsed),))


def _id_of(record: Any, number: int, path: Path | None) -> str:
    if not isinstance(record, Mapping):
        problem = f"expected an object, got {json_type(record)}"
        raise DataError(problem, file=path, record=f"number {number}", remedy=_FORMAT)
    name = next((record[key] for key in ID_NAMES if record.get(key) is not None), None)
    if not isinstance(name, str):
        found = "no id" if name is None else f"the id is {json_type(name)}, not a text"
        raise DataError(found, file=path, record=f"number {number}", field="id", remedy=_FORMAT)
    return name


def _text_of(record: Any) -> Any:
    """Return the model's text: the value under a known name, however deeply it is nested."""
    for _ in range(8):
        if isinstance(record, list):
            record = record[0] if record else None
        if not isinstance(record, Mapping):
            return record
        name = next((key for key in TEXT_NAMES if record.get(key) is not None), None)
        if name is None:
            return record if any(key in record for key in ("answer", "supporting_facts")) else None
        record = record[name]
    return None


def _note(parsed: Mapping[str, ParsedOutput]) -> str:
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
    without = ", ".join(f"{count} without {part}" for part, count in lacking.items() if count)
    return (
        f"{len(failed)} of {len(parsed)} model outputs could not be parsed{first}; "
        f"read as {read or 'nothing'}" + (f"; {without}" if without else "")
    )
