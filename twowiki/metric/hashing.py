"""Content hashes of gold and predictions, equal whatever file or object the content came from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from twowiki.io.records import DataSource
from twowiki.metric.predictions import PredictionSet
from twowiki.metric.results import Gold

_encode = msgspec.json.Encoder().encode


class GoldHash:
    """Hashes what the 16 metrics depend on, record by record, whatever the records' order."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []

    def add(self, gold: Gold) -> None:
        """Add a record; its question type and context do not affect the metrics."""
        self._lines.append(_json([gold.id, gold.answer, gold.answer_id, *gold[2:4], gold[6]]))

    def hexdigest(self) -> str:
        """Return the hash of all records added."""
        return hashlib.sha256(b"\n".join(sorted(self._lines))).hexdigest()


def hash_of_predictions(predictions: PredictionSet) -> str:
    """Return the hash of predictions as they were read."""
    parts = [predictions.answers, predictions.facts, predictions.triples]
    return hashlib.sha256(_json(parts)).hexdigest()


def hash_of_texts(texts: Iterable[str]) -> str:
    """Return the hash of texts in the given order."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()


def hashed(source: DataSource, hash_of: Callable[[], str]) -> DataSource:
    """Return a source with a hash of its content where it has none, because it was not a file."""
    return source if source.sha256 else source._replace(sha256=hash_of())


def _json(value: Any) -> bytes:
    """Encode a value; what JSON cannot hold is written as Python shows it."""
    try:
        return _encode(value)
    except (TypeError, ValueError, OverflowError):
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=repr)
        return text.encode("utf-8", "surrogatepass")
