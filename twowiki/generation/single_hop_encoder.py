"""The single-hop reader as a fine-tuned encoder: any Hugging Face model with a span head.

In: samples with contexts. Out: the F1 of each, by a model trained on the four folds that the
sample is not in, one paragraph at a time. Slow on a CPU; needs the `train` extra.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from twowiki.errors import DataError
from twowiki.generation.samples import QuestionInContext
from twowiki.generation.single_hop import (
    FOLDS,
    best_paragraphs,
    fold_of,
    lexical_scores,
    read_scores,
    word_f1,
)
from twowiki.io.files import progress

_CLOSED = "yes no "  # before the paragraph, so that these are spans too
_LONGEST_ANSWER = 30


class ReaderSettings(NamedTuple):
    """How the reader is trained: passes over the data, batch, learning rate, tokens per window."""

    epochs: int = 1
    batch_size: int = 16
    learning_rate: float = 3e-5
    max_length: int = 384


class _Pair(NamedTuple):
    """A question with its paragraph's text and its gold answer."""

    question: str
    text: str
    answer: str


def probe_scores(samples: Sequence[QuestionInContext], seed: str, probe: str) -> dict[str, float]:
    """Score samples by the reader of a setting: lexical, file:PATH, or an encoder's name."""
    if probe == "lexical":
        return lexical_scores(samples, seed)
    if probe.startswith("file:"):
        return read_scores(Path(probe.removeprefix("file:")), samples)
    return encoder_scores(samples, seed, probe)


def encoder_scores(
    samples: Sequence[QuestionInContext],
    seed: str,
    model: str,
    settings: ReaderSettings | None = None,
) -> dict[str, float]:
    """Score every sample by a reader fine-tuned on the other folds.

    Args:
        samples: with their contexts, or only the best paragraph of each.
        seed: what the folds and the batches' order are drawn from.
        model: a folder or a hub name.
        settings: of the training.

    Returns:
        F1 (0 to 1) by sample id, rounded to four digits.

    Raises:
        DataError: when the model cannot be loaded.
    """
    pairs = [
        _Pair(sample.question, _CLOSED + " ".join(paragraph.sentences), sample.answer)
        for sample, paragraph in zip(samples, best_paragraphs(samples), strict=True)
    ]
    folds = [fold_of(f"{seed}|fold|{sample.id}") for sample in samples]
    scores: dict[str, float] = {}
    for fold in range(FOLDS):
        held_out = [number for number, own in enumerate(folds) if own == fold]
        if not held_out:
            continue
        reader = _Reader(model, settings or ReaderSettings(), f"{seed}|{fold}")
        reader.train(
            [pair for pair, own in zip(pairs, folds, strict=True) if own != fold],
            f"probe, fold {fold + 1} of {FOLDS}",
        )
        answers = reader.answers([pairs[number] for number in held_out])
        for number, answer in zip(held_out, answers, strict=True):
            scores[samples[number].id] = round(word_f1(answer, samples[number].answer), 4)
    return scores


class _Reader:
    """A span reader of one fold."""

    def __init__(self, model: str, settings: ReaderSettings, seed: str) -> None:
        import torch
        from transformers import AutoModelForQuestionAnswering, AutoTokenizer

        self.rng, self.settings, self.torch = Random(seed), settings, torch
        torch.manual_seed(self.rng.randrange(1 << 31))
        try:
            self.tokenizer = AutoTokenizer.from_pretrained(model, use_fast=True)
            self.model = AutoModelForQuestionAnswering.from_pretrained(model)
        except (OSError, ValueError) as error:
            raise DataError(
                f"the encoder cannot be loaded: {str(error).splitlines()[0]}",
                file=model,
                remedy="Set --probe to a folder or the name of a Hugging Face encoder.",
            ) from error
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model.to(self.device)

    def _encode(self, pairs: Sequence[_Pair]) -> Any:
        return self.tokenizer(
            [pair.question for pair in pairs],
            [pair.text for pair in pairs],
            truncation="only_second",
            max_length=self.settings.max_length,
            padding=True,
            return_offsets_mapping=True,
            return_tensors="pt",
        )

    def _batches(self, pairs: Sequence[_Pair]) -> Iterator[Sequence[_Pair]]:
        for first in range(0, len(pairs), self.settings.batch_size):
            yield pairs[first : first + self.settings.batch_size]

    def train(self, pairs: Sequence[_Pair], what: str) -> None:
        """Fine-tune on the pairs whose answer is in their text."""
        usable = [pair for pair in pairs if pair.answer and pair.answer in pair.text]
        rate = self.settings.learning_rate
        optimizer = self.torch.optim.AdamW(self.model.parameters(), lr=rate)
        self.model.train()
        for _ in range(self.settings.epochs):
            self.rng.shuffle(usable)
            for batch in progress(list(self._batches(usable)), what=what):
                encoded = self._encode(batch)
                spans = [_token_span(encoded, row, pair) for row, pair in enumerate(batch)]
                del encoded["offset_mapping"]
                starts, ends = self.torch.tensor(spans, device=self.device).T
                loss = self.model(
                    **encoded.to(self.device), start_positions=starts, end_positions=ends
                ).loss
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()

    def answers(self, pairs: Sequence[_Pair]) -> list[str]:
        """Return the best span of each text."""
        self.model.eval()
        answers: list[str] = []
        for batch in self._batches(pairs):
            encoded = self._encode(batch)
            offsets = encoded.pop("offset_mapping").tolist()
            with self.torch.no_grad():
                output = self.model(**encoded.to(self.device))
            for row, pair in enumerate(batch):
                kept = [token for token, own in enumerate(encoded.sequence_ids(row)) if own == 1]
                start, end = _best_span(
                    output.start_logits[row].tolist(), output.end_logits[row].tolist(), kept
                )
                answers.append(pair.text[offsets[row][start][0] : offsets[row][end][1]])
        return answers


def _token_span(encoded: Any, row: int, pair: _Pair) -> tuple[int, int]:
    """Return the tokens of a pair's answer; the first token where it was cut off."""
    start = pair.text.find(pair.answer)
    end = start + len(pair.answer)
    inside = [
        token
        for token, (low, high) in enumerate(encoded["offset_mapping"][row].tolist())
        if encoded.sequence_ids(row)[token] == 1 and low < end and high > start
    ]
    return (inside[0], inside[-1]) if inside else (0, 0)


def _best_span(
    starts: Sequence[float], ends: Sequence[float], kept: Sequence[int]
) -> tuple[int, int]:
    """Return the span of the kept tokens with the highest sum of scores."""
    best, span = float("-inf"), (0, 0)
    for place, start in enumerate(kept):
        for end in kept[place : place + _LONGEST_ANSWER]:
            if starts[start] + ends[end] > best:
                best, span = starts[start] + ends[end], (start, end)
    return span
