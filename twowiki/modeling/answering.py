"""Answer questions with a model: plain texts in, answer, sentences and triples out.

No data set is needed, and nothing but the files beside a saved model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import torch

from .collation import Collator
from .decoding import Answered, WindowScores, merge_windows, score_windows
from .encoding import Encoder
from .layout import lay_out
from .tokenization import TwoWikiTokenizer

Paragraphs = Iterable[tuple[str, Sequence[str] | str]]
SENTENCE_END = re.compile(r"""(?<=[.!?])["'”’)\]]*\s+(?=["'“‘(\[]?[^\Wa-z])""")
BATCH = 32  # windows that go through the model at once


class Asked(NamedTuple):
    """A question about paragraphs, without gold."""

    question: str
    context: tuple[tuple[str, tuple[str, ...]], ...]


class PredictsAnswers:
    """Adds `predict` to a model; its tokenizer is read from the model's folder when needed."""

    config: Any
    training: bool
    answer_tokenizer: TwoWikiTokenizer | None = None

    def predict(
        self,
        question: str | Sequence[str],
        paragraphs: Paragraphs | Sequence[Paragraphs],
        *,
        tokenizer: Any = None,
    ) -> Any:
        """Answer one question, or a list of questions each with its paragraphs.

        Args:
            question: the question, or several.
            paragraphs: (title, sentences) or (title, text) pairs; a text is cut into sentences.
            tokenizer: the model's tokenizer; by default the one saved with the model.

        Returns:
            A dict (or a list of dicts): `answer`; `answer_type` (span, yes, no); `answer_score`;
            `sp`, the supporting (title, sent_id); `evidence`, the (subject, relation, object)
            triples; `sentences`, every sentence with its probability; `triples`, the evidence
            with scores and the characters of subject and object in `text`; `text`, the context as
            the model reads it.
        """
        if isinstance(question, str):
            return self.predict([question], [paragraphs], tokenizer=tokenizer)[0]  # type: ignore[arg-type]
        asked = [
            Asked(one, as_context(context))  # type: ignore[arg-type]
            for one, context in zip(question, paragraphs, strict=True)
        ]
        answers = self.answer(asked, tokenizer=tokenizer)
        return [
            as_dict(answer, lay_out(one.context, self.config.layout).text)
            for one, answer in zip(asked, answers, strict=True)
        ]

    @torch.no_grad()
    def answer(
        self, examples: Sequence[Any], *, tokenizer: Any = None, batch_size: int = BATCH
    ) -> list[Answered]:
        """Answer examples (anything with `question` and `context`), in order."""
        encoder = Encoder(self.config, tokenizer or self._own_tokenizer())
        windows = [
            window
            for number, example in enumerate(examples)
            for window in encoder.encode(Asked(example.question, tuple(example.context)), number)
        ]
        windows.sort(key=lambda window: len(window.token_ids))
        collate = Collator(self.config, labels=False)
        scored: dict[int, list[WindowScores]] = {}
        was_training = self.training
        self.eval()  # type: ignore[attr-defined]
        device = next(self.parameters()).device  # type: ignore[attr-defined]
        for first in range(0, len(windows), batch_size):
            part = windows[first : first + batch_size]
            batch = {name: values.to(device) for name, values in collate(part).items()}
            for scores in score_windows(self(**batch), part, self.config):  # type: ignore[operator]
                scored.setdefault(scores.example, []).append(scores)
        self.train(was_training)  # type: ignore[attr-defined]
        return [
            merge_windows(
                scored.get(number, []),
                example.context,
                lay_out(example.context, self.config.layout).text,
                self.config,
            )
            for number, example in enumerate(examples)
        ]

    def _own_tokenizer(self) -> TwoWikiTokenizer:
        if self.answer_tokenizer is None:
            place = str(getattr(self, "name_or_path", ""))
            if not place:
                raise ValueError(
                    "this model was not loaded from a folder that holds its tokenizer: pass "
                    "tokenizer=..., or load the model with from_pretrained"
                )
            self.answer_tokenizer = TwoWikiTokenizer.from_pretrained(place)
        return self.answer_tokenizer


def as_context(paragraphs: Paragraphs) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Take (title, sentences) and (title, text) pairs to titles with sentences."""
    context = []
    for number, paragraph in enumerate(paragraphs):
        try:
            title, said = paragraph
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"paragraph {number} is {paragraph!r}, "
                "not a (title, sentences) or (title, text) pair"
            ) from error
        sentences = split_sentences(said) if isinstance(said, str) else tuple(said)
        context.append((str(title), sentences))
    return tuple(context)


def split_sentences(text: str) -> tuple[str, ...]:
    """Cut a text after `.`, `!` or `?` where a blank and a capital or a digit follow.

    An initial ("J. Smith") and a few usual abbreviations do not end a sentence.
    """
    pieces: list[str] = []
    start = 0
    for found in SENTENCE_END.finditer(text):
        before = text[start : found.start()].rstrip("\"'”’)]")
        last = before.rpartition(" ")[2]
        if (len(last) == 2 and last[0].isupper()) or last in ABBREVIATIONS:
            continue
        pieces.append(text[start : found.end()].strip())
        start = found.end()
    if rest := text[start:].strip():
        pieces.append(rest)
    return tuple(pieces)


ABBREVIATIONS = frozenset(
    "Mr. Mrs. Ms. Dr. St. Jr. Sr. Prof. Gen. Col. Capt. Rev. No. vs. c.".split()
)


def as_dict(answer: Answered, text: str) -> dict[str, Any]:
    """Write an answer as plain values."""
    return {
        "answer": answer.answer,
        "answer_type": answer.answer_type,
        "answer_score": answer.answer_score,
        "sp": list(answer.supporting_facts),
        "evidence": [tuple(triple[:3]) for triple in answer.evidences],
        "sentences": [
            {"title": title, "sent_id": sent_id, "score": score}
            for title, sent_id, score in answer.sentence_scores
        ],
        "triples": [
            {
                "subject": triple.subject,
                "relation": triple.relation,
                "object": triple.object,
                "score": triple.score,
                "subject_span": tuple(triple.subject_span),
                "object_span": tuple(triple.object_span),
            }
            for triple in answer.evidences
        ],
        "answer_span": tuple(answer.answer_span) if answer.answer_span else None,
        "text": text,
    }
