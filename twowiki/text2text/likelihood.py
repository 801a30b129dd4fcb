"""The likelihood of given texts under a model, after given sources.

In: pairs of a source and a continuation. Out: the sum of the log probabilities of the
continuation's tokens. A language model reads source and continuation as one text (as
`lm-evaluation-harness` does: the source is encoded alone, and what the whole has beyond it is the
continuation); an encoder-decoder reads the source and is asked for the continuation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch

from twowiki.models.labels import IGNORED
from twowiki.text2text.generation import rows_in_halves
from twowiki.text2text.loading import SEQ2SEQ
from twowiki.text2text.pairs import TextCollator
from twowiki.text2text.prediction import TextGenerator

ROWS = 32  # of a batch


def sum_likelihoods(
    generator: TextGenerator, rows: Sequence[tuple[str, str]], *, batch_size: int = ROWS
) -> list[float]:
    """Return the log likelihood of each continuation after its source, in nats.

    Args:
        generator: a loaded model.
        rows: sources and continuations; for a language model the continuation begins with the
            space that parts it from the source.
        batch_size: rows of a batch; halved while memory runs out.

    Raises:
        DataError: a single row does not fit into memory.
    """
    encoded = [_encode(generator, source, continuation) for source, continuation in rows]
    order = sorted(range(len(rows)), key=lambda row: -_length(encoded[row]))
    found = [0.0] * len(rows)

    def sums(some: Sequence[Mapping[str, Any]]) -> list[float]:
        return _sums(generator, some)

    for first in range(0, len(order), batch_size):
        numbers = order[first : first + batch_size]
        values = rows_in_halves(sums, [encoded[number] for number in numbers], _describe)
        for number, value in zip(numbers, values, strict=True):
            found[number] = value
    return found


def _length(row: Mapping[str, Any]) -> int:
    return len(row["source"]) + len(row["target"])


def _describe(row: Mapping[str, Any]) -> str:
    return f"a text of {_length(row)} tokens"


def _encode(generator: TextGenerator, source: str, continuation: str) -> dict[str, list[int]]:
    tokenizer = generator.codec.tokenizer
    if generator.codec.kind == SEQ2SEQ:
        target = generator.codec.target_ids(continuation)
        return {"source": list(tokenizer(source)["input_ids"]), "target": target}
    start = _without_end(tokenizer, tokenizer(source)["input_ids"])
    whole = _without_end(tokenizer, tokenizer(source + continuation)["input_ids"])
    room = getattr(generator.model.config, "max_position_embeddings", None) or 1 << 30
    start, rest = whole[: len(start)], whole[len(start) :]
    return {"source": start[-max(1, room - len(rest)) :], "target": rest}


def _without_end(tokenizer: Any, ids: Iterable[int]) -> list[int]:
    kept = list(ids)
    return kept[:-1] if kept and kept[-1] == tokenizer.eos_token_id else kept


def _sums(generator: TextGenerator, rows: Sequence[Mapping[str, Any]]) -> list[float]:
    batch = TextCollator(generator.codec, training=True)(rows)
    inputs = {name: value.to(generator.device) for name, value in batch.items()}
    labels = inputs["labels"]
    if generator.codec.kind != SEQ2SEQ:
        del inputs["labels"]  # whose loss is not wanted
    with torch.no_grad():
        logits = generator.model(**inputs).logits
        if generator.codec.kind != SEQ2SEQ:
            labels, logits = labels[:, 1:], logits[:, :-1]
        scores = logits.float().log_softmax(-1)
        kept = labels != IGNORED
        picked = scores.gather(-1, labels.clamp(min=0).unsqueeze(-1)).squeeze(-1)
        return [float(value) for value in (picked * kept).sum(-1)]
