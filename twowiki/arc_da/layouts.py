"""Multiple-choice questions of other data sets as records of ARC's form.

Read are OpenBookQA (`question_stem`), QASC and CommonsenseQA (ARC's own form), SciQ (`distractor1`,
`correct_answer`), and options as a list, an object or columns (`A`, `opa`, `option_a`) with the
answer's number, letter or text (MMLU, MedMCQA and their kind). SciQ has no ids and always the right
option by itself: an id is made from the text, and the options are ordered by it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_LABELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_COLUMNS = ("{}", "op{}", "option_{}", "option{}", "choice_{}", "choice{}", "answer{}")
_ANSWERS = ("answer", "label", "cop", "correct_option", "gold", "correct")
_LETTERED = re.compile(r"\(?([A-Z])[.):]\s+(?=\S)")


def as_arc_record(raw: Any) -> Any:
    """Return a record in ARC's form; one that is of no known layout as it is."""
    if not isinstance(raw, Mapping):
        return raw
    if "question_stem" in raw:
        raw = {**raw, "question": raw["question_stem"]}
    if "correct_answer" in raw and "distractor1" in raw:
        return _from_sciq(raw)
    options = _unpacked(raw.get("options", raw.get("choices")))
    if options is None:
        options = _from_columns(raw)
    if isinstance(options, Mapping) and options and not {"label", "text"} & set(options):
        pairs = list(options.items())
        return _with_options(raw, [str(label) for label, _ in pairs], [text for _, text in pairs])
    if _is_texts(options):
        labels = list(_LABELS[: len(options)])
        matches = [_LETTERED.match(text) for text in options]
        if [match and match[1] for match in matches] == labels:
            options = [
                text[match.end() :] for text, match in zip(options, matches, strict=True) if match
            ]
        return _with_options(raw, labels, list(options))
    return raw if options is None or "choices" not in raw else {**raw, "choices": options}


def _unpacked(options: Any) -> Any:
    """Return options that a table holds as JSON text."""
    if not isinstance(options, str) or options.lstrip()[:1] not in ("[", "{"):
        return options
    try:
        return json.loads(options)
    except (ValueError, RecursionError):
        return options


def _from_columns(raw: Mapping[str, Any]) -> list[str] | None:
    """Return the options of a record that has each in a field of its own."""
    low = {str(name).lower(): value for name, value in raw.items()}
    for form in _COLUMNS:
        names = [form.format(letter.lower()) for letter in _LABELS]
        texts = [low[name] for name in names if isinstance(low.get(name), str) and low[name]]
        if len(texts) > 1 and names[0] in low and names[1] in low:
            return texts
    return None


def _from_sciq(raw: Mapping[str, Any]) -> dict[str, Any]:
    right = raw["correct_answer"]
    wrong = [raw[name] for name in sorted(raw) if str(name).startswith("distractor")]
    seed = f"{raw.get('question')}\t{right}"
    name = "sciq_" + hashlib.sha256(seed.encode()).hexdigest()[:12]
    ordered = sorted(
        [right, *wrong], key=lambda text: hashlib.sha256(f"{seed}\t{text}".encode()).hexdigest()
    )
    made = _with_options({**raw, "answer": right}, list(_LABELS[: len(ordered)]), ordered)
    return {**made, "id": raw.get("id") or name}


def _with_options(
    raw: Mapping[str, Any], labels: Sequence[str], texts: Sequence[Any]
) -> dict[str, Any]:
    """Return a record with labeled options; its key by number (from 0), label or text."""
    key = next((raw[name] for name in ("answerKey", "answer_key") if raw.get(name)), None)
    answer = next((raw[name] for name in _ANSWERS if raw.get(name) is not None), None)
    if key is None and isinstance(answer, int) and not isinstance(answer, bool):
        key = labels[answer] if 0 <= answer < len(labels) else str(answer)
    elif key is None and answer in texts:
        key = labels[list(texts).index(answer)]
    elif key is None:
        key = answer
    identity = next((raw[name] for name in ("id", "question_id") if raw.get(name)), None)
    if identity is None:
        digest = hashlib.sha256(f"{_question(raw)}\t{list(texts)}".encode()).hexdigest()
        identity = f"mc_{digest[:12]}"
    choices = [{"label": a, "text": b} for a, b in zip(labels, texts, strict=True)]
    return {
        "id": str(identity),
        "question": _question(raw),
        "choices": choices,
        "answerKey": key,
    }


def _question(raw: Mapping[str, Any]) -> Any:
    names = ("question", "stem", "query", "Question")
    return next((raw[name] for name in names if raw.get(name) is not None), None)


def _is_texts(value: Any) -> bool:
    is_list = isinstance(value, list | tuple)
    return is_list and len(value) > 1 and all(isinstance(entry, str) for entry in value)
