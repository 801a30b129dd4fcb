"""Multiple-choice questions of other data sets as records of ARC's form.

Read are OpenBookQA (`question_stem`), QASC and CommonsenseQA (ARC's own form), SciQ (`distractor1`,
`correct_answer`), and lists of options with the answer's number, letter or text (MMLU and its
kind). SciQ has no ids and always the right option by itself: an id is made from the text, and the
options are ordered by it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

_LABELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def as_arc_record(raw: Any) -> Any:
    """Return a record in ARC's form; one that is of no known layout as it is."""
    if not isinstance(raw, Mapping):
        return raw
    if "question_stem" in raw:
        return {**raw, "question": raw["question_stem"]}
    if "correct_answer" in raw and "distractor1" in raw:
        return _from_sciq(raw)
    options = raw.get("options", raw.get("choices"))
    if isinstance(options, Mapping) and options and not {"label", "text"} & set(options):
        pairs = list(options.items())
        return _with_options(raw, [str(label) for label, _ in pairs], [text for _, text in pairs])
    if _is_texts(options):
        return _with_options(raw, list(_LABELS[: len(options)]), list(options))
    return raw


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
    answer = raw.get("answer", raw.get("label"))
    if key is None and isinstance(answer, int) and not isinstance(answer, bool):
        key = labels[answer] if 0 <= answer < len(labels) else str(answer)
    elif key is None and answer in texts:
        key = labels[list(texts).index(answer)]
    elif key is None:
        key = answer
    identity = next((raw[name] for name in ("id", "question_id") if raw.get(name)), None)
    if identity is None:
        digest = hashlib.sha256(f"{raw.get('question')}\t{list(texts)}".encode()).hexdigest()
        identity = f"mc_{digest[:12]}"
    choices = [{"label": a, "text": b} for a, b in zip(labels, texts, strict=True)]
    return {
        "id": str(identity),
        "question": raw.get("question", raw.get("stem")),
        "choices": choices,
        "answerKey": key,
    }


def _is_texts(value: Any) -> bool:
    is_list = isinstance(value, list | tuple)
    return is_list and len(value) > 1 and all(isinstance(entry, str) for entry in value)
