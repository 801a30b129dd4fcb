"""The single-hop reader as a fine-tuned encoder: any Hugging Face model with a span head.

In: samples with contexts. Out: an F1 for each, from a model trained on the four folds that it is
not in, one paragraph at a time. Slow on a CPU; needs the `train` extra.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from twowiki.errors import DataError
from twowiki.generation.single_hop import FOLDS, best_paragraphs, fold_of, token_f1
from twowiki.io.files import progress

_CLOSED = "yes no "  # in front of the paragraph, so that these are spans too
_LONGEST_ANSWER = 30


class Settings(NamedTuple):
    """How the reader is trained: passes over the data, batch, learning rate, tokens a window."""

    epochs: int = 1
    batch: int = 16
    rate: float = 3e-5
    length: int = 384


def encoder_scores(
    samples: Sequence[Mapping[str, Any]],
    seed: str,
    model: str,
    settings: Settings | None = None,
) -> dict[str, float]:
    """Score every sample by a reader fine-tuned on the other folds.

    Args:
        samples: records with _id, question, context and answer.
        seed: what the folds and the batches' order are drawn from.
        model: a folder or a hub name.
        settings: of the training.

    Returns:
        F1 by sample id, rounded to four digits.

    Raises:
        DataError: when the model cannot be loaded.
    """
    chosen = settings or Settings()
    texts = [
        _CLOSED + " ".join(sample["context"][place][1])
        for sample, place in zip(samples, best_paragraphs(samples), strict=True)
    ]
    folds = [fold_of(sample["_id"], seed) for sample in samples]
    scores: dict[str, float] = {}
    for fold in range(FOLDS):
        held = [place for place, own in enumerate(folds) if own == fold]
        rest = [place for place, own in enumerate(folds) if own != fold]
        if not held:
            continue
        reader = _Reader(model, chosen, f"{seed}|{fold}")
        reader.train([samples[place] for place in rest], [texts[place] for place in rest], fold)
        said = reader.answers(
            [samples[place]["question"] for place in held], [texts[p] for p in held]
        )
        for place, text in zip(held, said, strict=True):
            sample = samples[place]
            scores[sample["_id"]] = round(token_f1(text, sample["answer"]), 4)
    return scores


class _Reader:
    """A span reader of one fold."""

    def __init__(self, model: str, settings: Settings, seed: str) -> None:
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
                remedy="Give --probe a folder or the name of a Hugging Face encoder.",
            ) from error
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model.to(self.device)

    def _encode(self, questions: Sequence[str], texts: Sequence[str]) -> Any:
        return self.tokenizer(
            list(questions),
            list(texts),
            truncation="only_second",
            max_length=self.settings.length,
            padding=True,
            return_offsets_mapping=True,
            return_tensors="pt",
        )

    def _batches(self, count: int) -> Iterator[range]:
        for first in range(0, count, self.settings.batch):
            yield range(first, min(count, first + self.settings.batch))

    def train(self, samples: Sequence[Mapping[str, Any]], texts: Sequence[str], fold: int) -> None:
        """Fine-tune on the samples whose answer stands in their paragraph."""
        pairs = [
            (sample["question"], text, text.find(sample["answer"]), len(sample["answer"]))
            for sample, text in zip(samples, texts, strict=True)
            if sample["answer"] and sample["answer"] in text
        ]
        optimizer = self.torch.optim.AdamW(self.model.parameters(), lr=self.settings.rate)
        self.model.train()
        for _ in range(self.settings.epochs):
            self.rng.shuffle(pairs)
            batches = list(self._batches(len(pairs)))
            for places in progress(batches, what=f"probe, fold {fold + 1} of {FOLDS}"):
                batch = [pairs[place] for place in places]
                encoded = self._encode([one[0] for one in batch], [one[1] for one in batch])
                spans = [
                    self._tokens_of(encoded, row, one[2], one[2] + one[3])
                    for row, one in enumerate(batch)
                ]
                offsets = encoded.pop("offset_mapping")
                del offsets
                starts = self.torch.tensor([span[0] for span in spans], device=self.device)
                ends = self.torch.tensor([span[1] for span in spans], device=self.device)
                loss = self.model(
                    **encoded.to(self.device), start_positions=starts, end_positions=ends
                ).loss
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()

    def _tokens_of(self, encoded: Any, row: int, start: int, end: int) -> tuple[int, int]:
        """Give the tokens of a span of characters; the first token where it was cut off."""
        inside = [
            token
            for token, (low, high) in enumerate(encoded["offset_mapping"][row].tolist())
            if encoded.sequence_ids(row)[token] == 1 and low < end and high > start
        ]
        return (inside[0], inside[-1]) if inside else (0, 0)

    def answers(self, questions: Sequence[str], texts: Sequence[str]) -> list[str]:
        """Give the best span of each text."""
        self.model.eval()
        said: list[str] = []
        for places in self._batches(len(texts)):
            batch = [texts[place] for place in places]
            encoded = self._encode([questions[place] for place in places], batch)
            offsets = encoded.pop("offset_mapping").tolist()
            with self.torch.no_grad():
                output = self.model(**encoded.to(self.device))
            for row, text in enumerate(batch):
                kept = [token for token, own in enumerate(encoded.sequence_ids(row)) if own == 1]
                start, end = _best_span(
                    output.start_logits[row].tolist(), output.end_logits[row].tolist(), kept
                )
                said.append(text[offsets[row][start][0] : offsets[row][end][1]])
        return said


def _best_span(
    starts: Sequence[float], ends: Sequence[float], kept: Sequence[int]
) -> tuple[int, int]:
    """Give the span of the kept tokens with the highest sum of scores."""
    best, span = float("-inf"), (0, 0)
    for place, start in enumerate(kept):
        for end in kept[place : place + _LONGEST_ANSWER]:
            if starts[start] + ends[end] > best:
                best, span = starts[start] + ends[end], (start, end)
    return span
