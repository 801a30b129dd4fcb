"""Content hashes of gold and predictions, equal whatever file or object the content came from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from twowiki.json_files import Source
from twowiki.predictions import PredictionSet
from twowiki.rows import Gold

_encode = msgspec.json.Encoder().encode


def hash_of_gold(golds: Sequence[Gold]) -> str:
    """Hash what the 16 figures depend on; the order of the records does not matter."""
    return _hash_of_lines(
        (
            gold.id,
            gold.answer,
            gold.answer_id,
            gold.supporting_facts,
            gold.evidences,
            gold.evidences_id,
        )
        for gold in golds
    )


def hash_of_predictions(said: PredictionSet) -> str:
    """Hash what is said about each question; the order of the questions does not matter."""
    return _hash_of_lines((name, *said.of(name)) for name in said.ids())


def hash_of_texts(texts: Iterable[str]) -> str:
    """Hash texts in the given order."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()


def hashed(source: Source, hash_of: Callable[[], str]) -> Source:
    """Give a source its content's hash where it has none (it was no file)."""
    return source if source.sha256 else source._replace(sha256=hash_of())


def _hash_of_lines(values: Iterable[tuple[Any, ...]]) -> str:
    lines = sorted(map(_line, values))
    return hashlib.sha256(b"\n".join(lines)).hexdigest()


def _line(value: tuple[Any, ...]) -> bytes:
    """Encode a value; what JSON does not know is written as Python shows it."""
    try:
        return _encode(value)
    except (TypeError, ValueError, OverflowError):
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=repr)
        return text.encode("utf-8", "surrogatepass")
