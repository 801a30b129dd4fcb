"""Records of model outputs: the id of the question and the model's text, whichever tool wrote them.

| file | read |
|---|---|
| lines or an array of `{"id": ..., "output": ...}` | other usual names of both too |
| an object of them by id | `{id: text}`, `{id: [text, ...]}`, `{id: {...}}` |
| an object around such a list | under `data`, `samples`, `results`, ... |
| batch services | `custom_id`; `response.body.choices`, `result.message.content`, `candidates` |
| evaluation tools | lm-evaluation-harness (`doc`, `resps`), FlashRAG (`output.pred`), HippoRAG |
| chats | `messages` and `conversations`, the last one of the assistant |

In: parsed JSON. Out: ids with a text, or with messages or an object that hold one. Of several
samples the first counts. A record without an id is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from twowiki.data.fields import json_type
from twowiki.errors import DataError
from twowiki.llm.parsing import last_message
from twowiki.llm.part_names import plain_name
from twowiki.metric.predictions import BLOCKS

RECORD_FORM = (
    'Write one object per line: {"id": "the question\'s id", "output": "the model\'s raw text"}'
)
_IDS = ("custom_id", "question_id", "_id", "id", "qid", "questionId", "query_id", "uid",
        "sample_id", "example_id", "request_id", "key", "idx", "index")  # fmt: skip
_ABOUT = ("doc", "metadata", "example", "sample", "item", "extra_info", "info", "input")
_TEXTS = """
    raw_output raw_response raw_prediction raw_pred output response completion generated_text
    model_output llm_output llm_response model_response model_answer messages conversations
    conversation text content message raw body choices generation prediction outputs output_text
    result candidates parts resps filtered_resps responses completions generations pred predicted
    predicted_answer generated_answer pred_answer pred_ans reply solution
""".split()
_USUAL = ("output", "response", "completion", "generated_text", "messages")
_LIKE_A_TEXT = re.compile(
    r"(?:^|_)(?:output|response|completion|generation|generated|pred|prediction|predicted|reply)"
    r"(?:_|$)"
)
_ABOUT_A_TEXT = re.compile(
    r"(?:^|_)(?:prompt|input|gold|golden|score|reward|len|length|time|tokens?|id|ids|metric|metrics"
    r"|correct|prob|logprobs?|retrieval|count|n|num|usage|model|type|format|status|date)(?:_|$)"
)
_LISTS = ("data", "samples", "results", "records", "predictions", "outputs", "rows", "items",
          "instances", "responses", "examples")  # fmt: skip
_ASIDE = ("reasoning", "thinking", "redacted_thinking")  # types of what is no answer
_PARSED = ("answer", "final_answer", "supporting_facts", "arguments", "input")
_DEEPEST = 8


def records_of(values: Any, path: Path | None = None) -> list[Any]:
    """Return the records of a file; entries by id as records with that id.

    Raises:
        DataError: a file of predictions, which needs no reading.
    """
    if not isinstance(values, Mapping):
        return list(values)
    if any(isinstance(values.get(block), Mapping) for block in BLOCKS):
        problem = "holds predictions, not the outputs of a model"
        raise DataError(problem, file=path, remedy="Leave --from-llm out")
    if any(isinstance(values.get(name), str | int) for name in _IDS):
        return [values]
    inner = next((values[name] for name in _LISTS if _is_table(values.get(name))), None)
    if inner is not None:
        return records_of(inner, path)
    if any(plain_name(name) in _USUAL for name in values):
        return [values]  # one record, without an id
    if not any(isinstance(value, str | list | Mapping) for value in values.values()):
        return [values]
    return [{"id": name, "output": value} for name, value in values.items()]


def _is_table(value: Any) -> bool:
    """Return whether a value is a list of records, or an object of them by id."""
    entries = list(value.values()) if isinstance(value, Mapping) else value
    return (
        isinstance(entries, list)
        and bool(entries)
        and all(isinstance(entry, Mapping) for entry in entries)
    )


def read_record(record: Any, number: int, path: Path | None = None) -> tuple[str, Any]:
    """Return the id and the output of a record, None where it has none.

    Raises:
        DataError: no object, or one without an id.
    """
    if not isinstance(record, Mapping):
        problem = f"expected an object, got {json_type(record)}"
        raise DataError(problem, file=path, record=f"number {number}", remedy=RECORD_FORM)
    about = (record, *(record[name] for name in _ABOUT if isinstance(record.get(name), Mapping)))
    ids = [one[name] for one in about for name in _IDS if one.get(name) is not None]
    name = next((one for one in ids if isinstance(one, str)), None)
    name = name or next((str(one) for one in ids if type(one) is int), None)
    if name is None:
        found = f"the id is {json_type(ids[0])}, not a text" if ids else "no id"
        raise DataError(found, file=path, record=f"number {number}", field="id", remedy=RECORD_FORM)
    return name, _text_of(record)


def _text_of(record: Any, depth: int = _DEEPEST) -> Any:
    """Return the model's text: the value under a known name, however deeply it is nested.

    Of a list it is the last part of a message; of choices the first.
    """
    record = last_message(record)
    if not depth or not isinstance(record, Mapping | list):
        return record if depth else None
    if isinstance(record, list):
        kept = [one for one in record if not _is_aside(one)]
        typed = [
            one for one in kept if isinstance(one, Mapping) and ("type" in one or "text" in one)
        ]
        return _text_of(typed[-1] if typed else kept[0] if kept else None, depth - 1)
    if record.get("tool_calls"):
        return record
    texts = (_text_of(record[name], depth - 1) for name in _names_of_text(record))
    text = next((text for text in texts if text is not None), None)
    has_parts = any(key in record for key in _PARSED)
    return record if text is None and has_parts else text


def _names_of_text(record: Mapping[str, Any]) -> list[str]:
    """Return the names under which a record may have the model's text, the usual ones first."""
    given = {plain_name(name): name for name, value in record.items() if _may_hold_text(value)}
    known = [given[name] for name in _TEXTS if name in given]
    if known or any(key in record for key in _PARSED):
        return known
    return [
        written
        for name, written in given.items()
        if _LIKE_A_TEXT.search(name) and not _ABOUT_A_TEXT.search(name)
    ]


def _may_hold_text(value: Any) -> bool:
    return isinstance(value, str | list | tuple | Mapping)


def _is_aside(part: Any) -> bool:
    return isinstance(part, Mapping) and (part.get("type") in _ASIDE or part.get("thought") is True)
