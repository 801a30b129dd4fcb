"""Content hashes of gold and predictions, equal whatever file or object the content came from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from twowiki.io.json_files import Source
from twowiki.metric.predictions import PredictionSet
from twowiki.metric.results import Gold

_encode = msgspec.json.Encoder().encode


class GoldHash:
    """Hashes what the 16 figures depend on, a record at a time; the records' order is no matter."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []

    def add(self, gold: Gold) -> None:
        """Take a record in; its question type and context move no figure."""
        self._lines.append(_json([gold.id, gold.answer, gold.answer_id, *gold[2:4], gold[6]]))

    def hexdigest(self) -> str:
        """Give the hash of all records taken in."""
        return hashlib.sha256(b"\n".join(sorted(self._lines))).hexdigest()


def hash_of_predictions(said: PredictionSet) -> str:
    """Hash what is said, as it stands."""
    return hashlib.sha256(_json([said.answers, said.facts, said.triples])).hexdigest()


def hash_of_texts(texts: Iterable[str]) -> str:
    """Hash texts in the given order."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()


def hashed(source: Source, hash_of: Callable[[], str]) -> Source:
    """Give a source its content's hash where it has none (it was no file)."""
    return source if source.sha256 else source._replace(sha256=hash_of())


def _json(value: Any) -> bytes:
    """Encode a value; what JSON does not know is written as Python shows it."""
    try:
        return _encode(value)
    except (TypeError, ValueError, OverflowError):
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=repr)
        return text.encode("utf-8", "surrogatepass")
