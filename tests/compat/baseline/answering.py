"""Answer questions with a model: plain texts in, answer, sentences and triples out.

No data set is needed, and nothing but the files beside a saved model.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from .asking import Asked, all_asked
from .collation import Collator
from .decoding import Answered, merge_windows, score_windows
from .encoding import Encoder, Window
from .layout import Layout, lay_out
from .spans import Span
from .tokenization import TwoWikiTokenizer

BATCH = 32  # windows that go through the model at once
BATCH_AREA = 32 * 1024**2  # squared tokens of a batch: attention looks from each to each
QUESTIONS = 512  # questions that are encoded at once
# what a saved configuration says of the pipeline whose code is saved with it
PIPELINE, PIPELINE_CLASS = "multihop-qa", "pipeline.MultihopQAPipeline"
# where a tokenizer is read from when its model came from a repository
PLACE_OPTIONS = ("revision", "cache_dir", "local_files_only", "subfolder")
REFUSALS = {
    "empty_context": "its paragraphs have no words",
    "context_too_long": "its paragraphs have more than the {max_context_tokens:,} words that this "
    "model reads",
    "question_too_long": "it has more than the {max_question_tokens:,} words that this model reads",
}


class PredictsAnswers:
    """Adds `predict` to a model; its tokenizer is read from the model's folder when needed."""

    config: Any
    training: bool
    answer_tokenizer: Any = None
    tokenizer_place: str = ""
    tokenizer_options: tuple[tuple[str, Any], ...] = ()

    def predict(
        self,
        question: str | Sequence[str],
        paragraphs: Any,
        *,
        tokenizer: Any = None,
        batch_size: int = BATCH,
    ) -> Any:
        """Answer one question, or a list of questions each with its paragraphs.

        Args:
            question: the question, or several.
            paragraphs: (title, sentences) or (title, text) pairs, a text is cut into sentences;
                also rows of the data set's `context`, or a dict from titles to texts. For several
                questions a list of these.
            tokenizer: the model's tokenizer; by default the one saved with the model.
            batch_size: windows that go through the model at once.

        Returns:
            A dict (or a list of dicts): `answer`; `answer_type` (span, yes, no); `answer_score`;
            `sp`, the supporting (title, sent_id); `evidence`, the (subject, relation, object)
            triples; `supporting_sentences` and `sentences`, the chosen and all sentences with
            title, sent_id, text and probability; `triples`, the evidence with scores and the
            characters of subject and object: in `text` (`..._span`), and in their sentence
            (`..._place`: title, sent_id, start, end; -1 is the title); `answer_span` and
            `answer_place` likewise; `text`, the context as the model reads it.

        Raises:
            ValueError: no question, no paragraphs, or longer ones than the model reads.
        """
        if isinstance(question, str):
            return self.predict(
                [question], [paragraphs], tokenizer=tokenizer, batch_size=batch_size
            )[0]
        asked = all_asked(question, paragraphs)
        said: list[dict[str, Any]] = []
        for first in range(0, len(asked), QUESTIONS):
            part = asked[first : first + QUESTIONS]
            answers = self.answer(part, tokenizer=tokenizer, batch_size=batch_size, strict=True)
            said += [
                as_dict(answer, one, lay_out(one.context, self.config.layout))
                for one, answer in zip(part, answers, strict=True)
            ]
        return said

    @torch.no_grad()
    def answer(
        self,
        examples: Sequence[Any],
        *,
        tokenizer: Any = None,
        batch_size: int = BATCH,
        strict: bool = False,
    ) -> list[Answered]:
        """Answer examples (anything with `question` and `context`), in order.

        Args:
            examples: what is asked.
            tokenizer: the model's tokenizer; by default the one saved with the model.
            batch_size: windows that go through the model at once.
            strict: raise ValueError for an example that cannot be encoded, instead of saying
                nothing about it.
        """
        encoder = self.make_encoder(tokenizer or self.own_tokenizer())
        windows: list[Window] = []
        for number, example in enumerate(examples):
            found = encoder.encode(Asked(example.question, tuple(example.context)), number)
            if strict and not found:
                raise ValueError(refusal(encoder, example, number))
            windows += found
        collate = self.make_collator()
        scored: dict[int, list[Any]] = {}
        was_training = self.training
        self.eval()  # type: ignore[attr-defined]
        device = next(self.parameters()).device  # type: ignore[attr-defined]
        try:
            for part in batches(windows, batch_size):
                batch = {name: values.to(device) for name, values in collate(part).items()}
                for scores in self.score_batch(self(**batch), part):  # type: ignore[operator]
                    scored.setdefault(scores.example, []).append(scores)
        finally:
            self.train(was_training)  # type: ignore[attr-defined]
        return [
            self.decode(scored.get(number, []), example) for number, example in enumerate(examples)
        ]

    def make_encoder(self, tokenizer: Any) -> Any:
        """Make what encodes examples for this model."""
        return Encoder(self.config, tokenizer)

    def make_collator(self) -> Any:
        """Make what pads encoded examples into a batch without labels."""
        return Collator(self.config, labels=False)

    def score_batch(self, output: Any, windows: Sequence[Window]) -> Sequence[Any]:
        """Take a batch's output to one record a window."""
        return score_windows(output, windows, self.config)

    def decode(self, scores: Sequence[Any], example: Any) -> Answered:
        """Answer one example from the records of its windows."""
        text = lay_out(example.context, self.config.layout).text
        return merge_windows(scores, example.context, text, self.config)

    def own_tokenizer(self) -> Any:
        """Give the tokenizer saved with the model, of the same revision."""
        if self.answer_tokenizer is None:
            place = self.tokenizer_place or str(getattr(self, "name_or_path", ""))
            if not place:
                raise ValueError(
                    "this model was not loaded from a folder that holds its tokenizer: pass "
                    "tokenizer=..., or load the model with from_pretrained"
                )
            self.answer_tokenizer = self.load_tokenizer(place, **dict(self.tokenizer_options))
        return self.answer_tokenizer

    def load_tokenizer(self, place: str, **options: Any) -> Any:
        """Load the tokenizer that lies beside the model."""
        return TwoWikiTokenizer.from_pretrained(place, **options)

    def as_pipeline(self, **options: Any) -> Any:
        """Give the transformers pipeline that answers with this model."""
        from .pipeline import MultihopQAPipeline

        return MultihopQAPipeline(model=self, task=PIPELINE, **options)

    @classmethod
    def from_pretrained(cls, place: Any, *given: Any, **options: Any) -> Any:
        """Load a model as transformers does, and remember where its tokenizer is."""
        loaded = super().from_pretrained(place, *given, **options)  # type: ignore[misc]
        model = loaded[0] if isinstance(loaded, tuple) else loaded
        kept = {name: options[name] for name in PLACE_OPTIONS if options.get(name) is not None}
        model.tokenizer_options = tuple(kept.items())
        if os.path.isdir(place):  # wherever the working directory is by then
            model.tokenizer_place = os.path.abspath(place)
        if isinstance(token := options.get("token"), str):  # used now, and kept nowhere
            model.answer_tokenizer = model.load_tokenizer(place, token=token, **kept)
        return loaded

    def save_pretrained(self, save_directory: Any, **options: Any) -> Any:
        """Save as transformers does; the configuration names the pipeline saved beside it."""
        self.config.custom_pipelines = {PIPELINE: {"impl": PIPELINE_CLASS, "pt": ["AutoModel"]}}
        return super().save_pretrained(save_directory, **options)  # type: ignore[misc]


def refusal(encoder: Any, example: Any, number: int) -> str:
    """Say why an example has no windows."""
    alone = type(encoder)(encoder.config, encoder.tokenizer)
    alone.encode(Asked(example.question, tuple(example.context)), number)
    reason = next(iter(alone.counts), "it cannot be encoded")
    said = REFUSALS.get(reason, reason).format_map(vars(encoder.config))
    return f"question {example.question[:60]!r}: {said}"


def batches(windows: Sequence[Window], batch_size: int) -> Iterator[list[Window]]:
    """Batch windows of like length; long ones in smaller batches, so that memory is bounded."""
    part: list[Window] = []
    for window in sorted(windows, key=lambda window: len(window.token_ids)):
        area = (len(part) + 1) * len(window.token_ids) ** 2
        if part and (len(part) == batch_size or area > BATCH_AREA):
            yield part
            part = []
        part.append(window)
    if part:
        yield part


def as_dict(answer: Answered, asked: Asked, layout: Layout) -> dict[str, Any]:
    """Write an answer as plain values."""
    sentences = list(with_texts(answer.sentence_scores, asked))
    chosen = list(answer.supporting_facts)
    supporting = set(chosen)
    return {
        "answer": answer.answer,
        "answer_type": answer.answer_type,
        "answer_score": answer.answer_score,
        "sp": chosen,
        "evidence": [tuple(triple[:3]) for triple in answer.evidences],
        "supporting_sentences": [
            one for one in sentences if (one["title"], one["sent_id"]) in supporting
        ],
        "sentences": sentences,
        "triples": [
            {
                "subject": triple.subject,
                "relation": triple.relation,
                "object": triple.object,
                "score": triple.score,
                "subject_span": tuple(triple.subject_span),
                "object_span": tuple(triple.object_span),
                "subject_place": place_of(triple.subject_span, asked, layout),
                "object_place": place_of(triple.object_span, asked, layout),
            }
            for triple in answer.evidences
        ],
        "answer_span": tuple(answer.answer_span) if answer.answer_span else None,
        "answer_place": place_of(answer.answer_span, asked, layout),
        "text": layout.text,
    }


def with_texts(scores: Sequence[tuple[str, int, float]], asked: Asked) -> Iterator[dict[str, Any]]:
    """Put its text beside each scored sentence; of equal titles, in the paragraphs' order."""
    texts: dict[tuple[str, int], list[str]] = {}
    for title, sentences in asked.context:
        for sent_id, sentence in enumerate((title, *sentences), start=-1):
            texts.setdefault((title, sent_id), []).append(sentence)
    for title, sent_id, score in scores:
        same = texts[title, sent_id]
        sentence = same.pop(0) if len(same) > 1 else same[0]
        yield {"title": title, "sent_id": sent_id, "sentence": sentence.strip(), "score": score}


def place_of(span: Span | None, asked: Asked, layout: Layout) -> dict[str, Any] | None:
    """Say in which sentence characters of the layout stand; None where they span several."""
    if span is None:
        return None
    for segment in layout.segments:
        if segment.start <= span.start and span.end <= segment.end:
            title = asked.context[segment.paragraph][0]
            start, end = span.start - segment.start, span.end - segment.start
            return {"title": title, "sent_id": segment.sent_id, "start": start, "end": end}
    return None
