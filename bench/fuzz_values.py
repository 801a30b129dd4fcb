"""Hostile values: bytes, JSON, texts and records that were changed at random, and what reads them.

Each area is a function of a `random.Random` that makes one value, hands it to a reader and raises
where the reader does what it must not: any exception but `DataError`, or a wrong result.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import reference_evaluator

from tests.made_up import ALIASES, read_records
from twowiki import score
from twowiki.data.schema import parse_record, to_official, to_row
from twowiki.errors import DataError
from twowiki.generation.dates import interval, parse_wikidata_time, written_forms
from twowiki.generation.wikitext import render_summary
from twowiki.io.json_stream import read_json_records
from twowiki.llm.parsing import parse_llm_output

ODD_TEXTS = (
    "", " ", "\x00", "\ud800", "\udfff\ud800", "\u2028", "\ufeff", "a" * 5000, "İ", "ß",
    "é", "e\u0301",
    "\x1b[31m", "../../etc/passwd", "a\r\nb", "yes", "no", "noanswer", "The", "1e999", "٣", "<b>",
    "{{7*7}}", "Q1", "Q" + "9" * 30, "P569", "1901-00-00", "February 30, 1900", '"', "\\",
    "|", "[[",
)  # fmt: skip
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 10**30, 1.5, float("nan"), float("inf"), [], {}, [[]], [None],
    [[None]],
    {"a": {"b": []}}, [["a"]], [["a", 1, 2, 3]], [[["a"]]], *ODD_TEXTS,
)  # fmt: skip
ODD_BYTES = (
    b"\x00", b"\xff", b"\xef\xbb\xbf", b"[", b"{", b'"', b"]", b"}", b",", b"\\",
    b"\\ud800", b"NaN",
    b"1e999", b"-", b"9" * 5000, b"[" * 2000, b'{"a":' * 300, b"\r", b"\n\n",
    b"\xed\xa0\x80", b"null",
)  # fmt: skip
MARKUP = (
    "[[", "]]", "{{", "}}", "|", "<ref>", "</ref>", "<ref/>", "<!--", "-->", "'''", "==",
    "{|", "|}",
    "[http://", "]", "<math>", "</math>", "__TOC__", "&nbsp;", "\x00", "File:a", "convert",
    "birth date",
    "1901", "Ann", " ", "\n", "*", ":", "<br>", "lang|fr|", "(", ")", "[//x ", "{{{1|", "é",
    "\u2028",
)  # fmt: skip
LLM_PARTS = (
    '{"answer": "x"}', "{", "}", "[", "]", "answer:", "Answer: ", "**", "```json", "```",
    "supporting",
    "Supporting facts:", "[0]", "(Ann, mother, Bea)", '"', "'", ",", "\n", "0x" + "f" * 40, "None",
    "True", "- ", "1. ", "<think>", "</think>", "evidence", "Ann", "\x00", "\ud800", "[[",
    "]]", "<", ">",
)  # fmt: skip
_RECORDS = read_records()
_ALIASES = [json.loads(line) for line in ALIASES.splitlines()]


def changed_bytes(rng: Random, data: bytes) -> bytes:
    """Return bytes with one to four changes: flipped, cut, repeated, put in, swapped."""
    made = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at, end = sorted(rng.randint(0, len(made)) for _ in range(2))
        how = rng.randrange(6)
        if how == 0 and made:
            made[rng.randrange(len(made))] = rng.randrange(256)
        elif how == 1:
            del made[at : at + rng.randint(1, 20)]
        elif how == 2:
            made[at:at] = rng.choice(ODD_BYTES)
        elif how == 3:
            made[at:at] = made[at : min(end, at + 2000)]
        elif how == 4:
            del made[at:]
        elif made:
            made[at : at + 4], made[end : end + 4] = made[end : end + 4], made[at : at + 4]
    return bytes(made)


def changed_value(rng: Random, value: Any) -> Any:
    """Return a JSON value with one part, at a random place, replaced, removed or repeated."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        name = rng.choice(list(value))
        how = rng.randrange(8)
        if how == 0:
            return {key: one for key, one in value.items() if key != name}
        if how == 1:
            return {rng.choice(ODD_TEXTS) if key == name else key: v for key, v in value.items()}
        return value | {name: changed_value(rng, value[name])}
    if isinstance(value, list) and value and rng.random() < 0.85:
        place = rng.randrange(len(value))
        how = rng.randrange(8)
        if how == 0:
            return value[:place] + value[place + 1 :]
        if how == 1:
            return [*value, value[place]]
        return [*value[:place], changed_value(rng, value[place]), *value[place + 1 :]]
    if isinstance(value, str) and rng.random() < 0.5:
        at = rng.randint(0, len(value))
        return value[:at] + rng.choice(ODD_TEXTS) + value[at:]
    return rng.choice(ODD_VALUES)


def json_reader(rng: Random) -> None:
    """Changed JSON arrays and lines through windows of all sizes, against `json`."""
    lines = rng.random() < 0.5
    records = [changed_value(rng, rng.choice(_RECORDS)) for _ in range(rng.randint(0, 3))]
    texts = [json.dumps(one, ensure_ascii=rng.random() < 0.5) for one in records]
    text = "\n".join(texts) if lines else f"[{', '.join(texts)}]"
    data = text.encode("utf-8", "surrogatepass")
    data = changed_bytes(rng, data) if rng.random() < 0.8 else data
    window = rng.choice((1, 2, 7, 64, 1000, 262_144))
    found = list(_read(data, window))
    try:
        expected = json.loads(data)
    except (ValueError, RecursionError):
        return
    if found and isinstance(expected, list) and found[-1] is not None:
        assert [repr(one) for one in found] == [repr(one) for one in expected]


def _read(data: bytes, window: int) -> list[Any]:
    try:
        return list(read_json_records(io.BytesIO(data), window=window))
    except DataError:
        return []


def record_parser(rng: Random) -> None:
    """Records with wrong types anywhere; what is accepted becomes rows and official JSON."""
    record = rng.choice(_RECORDS)
    for _ in range(rng.randint(1, 3)):
        record = changed_value(rng, record)
    try:
        example = parse_record(record)
    except DataError:
        return
    json.dumps([to_row(example), to_official(example)])


def wikitext(rng: Random) -> None:
    """Markup in any order; what is kept has no markup of links."""
    text = "".join(rng.choices(MARKUP, k=rng.randint(1, 60)))
    render_summary(text)


def dates(rng: Random) -> None:
    """Points in time of any numbers; each has its interval and its written forms."""
    year = rng.choice((rng.randint(-3000, 3000), rng.randint(-(10**9), 10**9)))
    month, day = rng.randint(-1, 14), rng.randint(-1, 33)
    text = f"{rng.choice('+- ')}{abs(year):04d}-{month:02d}-{day:02d}T00:00:00Z"
    text = changed_value(rng, text) if rng.random() < 0.2 else text
    calendar = rng.choice(("", "http://www.wikidata.org/entity/Q1985786", "x"))
    found = parse_wikidata_time(str(text), rng.randint(-1, 15), calendar)
    if found is not None:
        first, last = interval(found)
        assert first <= last
        assert all(form[0] for form in written_forms(found))


def llm_texts(rng: Random) -> None:
    """Outputs of models in any form, broken; what is read can be written."""
    parts = rng.choices(LLM_PARTS, k=rng.randint(1, 40))
    text: Any = "".join(parts)
    if rng.random() < 0.3:
        text = json.dumps({"answer": "x", "sp": [["A", 0]], "evidence": [["a", "b", "c"]]})
        text = changed_bytes(rng, text.encode()).decode("utf-8", "replace")
    if rng.random() < 0.1:
        text = rng.choice(ODD_VALUES)
    json.dumps(parse_llm_output(text))


def scorer(rng: Random) -> None:
    """Changed predictions and gold, against the authors' algorithm."""
    gold = [json.loads(json.dumps(one)) for one in rng.sample(_RECORDS, rng.randint(1, 4))]
    for record in gold:
        if rng.random() < 0.3:
            record["answer"] = _changed_text(rng, record["answer"])
    predictions: dict[str, Any] = {"answer": {}, "sp": {}, "evidence": {}}
    for record in gold:
        name = record["_id"]
        parts = (
            ("answer", record["answer"], lambda one: _changed_text(rng, one)),
            ("sp", record["supporting_facts"], lambda one: _changed_rows(rng, one)),
            ("evidence", record["evidences"], lambda one: _changed_rows(rng, one)),
        )
        for part, value, change in parts:
            if rng.random() < 0.95:
                copied = json.loads(json.dumps(value))
                predictions[part][name] = change(copied) if rng.random() < 0.7 else copied
    known = rng.random() < 0.5
    copies = json.loads(json.dumps([predictions, gold]))
    try:
        report = score(
            predictions,
            gold,
            aliases={one["Q_id"]: one for one in _ALIASES} if known else None,
            version="1.1" if known else "1.0",
        )
    except DataError:
        return
    theirs = reference_evaluator.evaluate(*copies, _ALIASES, "1.1" if known else "1.0")
    ours = report.metrics
    worst = max(abs(ours[name] - theirs[name]) for name in theirs)
    assert worst < 1e-6, f"differs by {worst}: {json.dumps(copies)[:2000]}"


def _changed_text(rng: Random, text: str) -> str:
    at = rng.randint(0, len(text))
    odd = rng.choice([one for one in ODD_TEXTS if "\ud800" not in one and len(one) < 100])
    return rng.choice((text[:at] + odd + text[at:], text[at:], text.upper(), f"The {text}.", odd))


def _changed_rows(rng: Random, rows: list[Any]) -> list[Any]:
    made = [*rows, *rng.choices(rows, k=rng.randint(0, 2))] if rows else []
    rng.shuffle(made)
    made = made[: rng.randint(0, len(made))]
    return [[_changed_cell(rng, cell) for cell in row] for row in made]


def _changed_cell(rng: Random, cell: Any) -> Any:
    return _changed_text(rng, cell) if isinstance(cell, str) and rng.random() < 0.2 else cell


AREAS: dict[str, Callable[[Random], None]] = {
    "JSON reader": json_reader,
    "records of wrong types": record_parser,
    "wikitext": wikitext,
    "dates": dates,
    "outputs of language models": llm_texts,
    "scorer beside the authors' algorithm": scorer,
}


def write_changed(rng: Random, path: Path, data: bytes) -> str:
    """Write a changed form of a file's bytes; return how it was changed."""
    how = rng.choice(("bytes", "value", "value", "cut", "empty", "UTF-16", "Windows", "twice"))
    if how == "value":
        data = _changed_json(rng, data)
    elif how == "cut":
        data = data[: rng.randint(0, len(data))]
    elif how == "empty":
        data = rng.choice((b"", b"\n", b" ", b"[]", b"{}", b"null", b"\xef\xbb\xbf"))
    elif how == "UTF-16":
        data = data.decode("utf-8", "replace").encode("utf-16")
    elif how == "Windows":
        data = data.replace(b"\n", b"\r\n")
    elif how == "twice":
        data = data + data
    else:
        data = changed_bytes(rng, data)
    path.write_bytes(data)
    return how


def _changed_json(rng: Random, data: bytes) -> bytes:
    try:
        return json.dumps(changed_value(rng, json.loads(data))).encode()
    except (ValueError, RecursionError):
        pass
    lines = data.split(b"\n")
    place = rng.randrange(len(lines))
    try:
        lines[place] = json.dumps(changed_value(rng, json.loads(lines[place]))).encode()
    except (ValueError, RecursionError):
        lines[place] = changed_bytes(rng, lines[place])
    return b"\n".join(lines)
