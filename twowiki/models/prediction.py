"""Answer questions with a model: plain texts in, answer, sentences and triples out.

No data set is needed, and nothing but the files beside a saved model. Raises ValueError for a
question that the model cannot read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch

from .decoding import MultihopAnswer
from .features import Window
from .text import Layout, Span, bare_title, lay_out, split_sentences

QUESTION_CHARACTERS = 10_000  # a longer text is not a question
_EXPECTED = "Give (title, sentences) or (title, text) pairs"
# what retrievers call the text of a document, its title, and the mapping that may hold the title
_TEXTS = ("sentences", "text", "content", "page_content")
_TITLES, _METADATA = ("title", "name"), ("metadata", "meta")
_Context = tuple[tuple[str, tuple[str, ...]], ...]
BATCH_SIZE = 32  # windows that go through the model at once
MAX_BATCH_AREA = 32 * 1024**2  # squared tokens of a batch: attention looks from each to each
_QUESTIONS = 512  # questions that are encoded at once
# what a saved configuration names as the pipeline whose code is saved with it
PIPELINE, _PIPELINE_CLASS = "multihop-qa", "pipeline.MultihopQAPipeline"
# options of `from_pretrained` that its tokenizer is loaded with too
_SOURCE_OPTIONS = ("revision", "cache_dir", "local_files_only", "subfolder")
_REFUSALS = {
    "empty_context": "its paragraphs have no words",
    "context_too_long": "its paragraphs have more than the {max_context_tokens:,} words that this "
    "model reads",
    "question_too_long": "it has more than the {max_question_tokens:,} words that this model reads",
}


class MultihopPredictionMixin:
    """Add `predict` to a model; its tokenizer is read from the model's folder when needed.

    A model sets its processor and collator, how a batch's output is scored, how an example is
    decoded from its scores, and how its tokenizer is loaded.
    """

    config: Any
    training: bool
    processor_class: Callable[..., Any]
    collator_class: Callable[..., Any]
    score_outputs: Callable[..., Sequence[Any]]
    decode_scores: Callable[..., MultihopAnswer]
    answer_tokenizer: Any = None
    tokenizer_source: str = ""
    tokenizer_options: tuple[tuple[str, Any], ...] = ()

    @staticmethod
    def check_question(question: Any, paragraphs: Any) -> QuestionInput:
        """Check a question and its paragraphs, and return them in one form."""
        return check_question(question, paragraphs)

    @staticmethod
    def check_questions(questions: Any, paragraphs: Any) -> list[QuestionInput]:
        """Check several questions, each with its paragraphs."""
        return check_questions(questions, paragraphs)

    def predict(
        self,
        question: str | Sequence[str],
        paragraphs: Any,
        *,
        tokenizer: Any = None,
        batch_size: int = BATCH_SIZE,
    ) -> Any:
        """Answer one question, or a list of questions each with its paragraphs.

        Args:
            question: the question, or several.
            paragraphs: (title, sentences) or (title, text) pairs, a text is cut into sentences;
                also rows of the data set's `context`, a dict from titles to texts, one text, or
                the documents of a retriever. For several questions a list of these.
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
        several = not isinstance(question, str)
        given = (question, paragraphs) if several else ([question], [paragraphs])
        questions = check_questions(*given)
        answers: list[dict[str, Any]] = []
        for first in range(0, len(questions), _QUESTIONS):
            part = questions[first : first + _QUESTIONS]
            found = self.answer(part, tokenizer=tokenizer, batch_size=batch_size, strict=True)
            answers += [
                answer_dict(answer, one, lay_out(one.context, self.config.layout))
                for one, answer in zip(part, found, strict=True)
            ]
        return answers if several else answers[0]

    @torch.no_grad()
    def answer(
        self,
        examples: Sequence[Any],
        *,
        tokenizer: Any = None,
        batch_size: int = BATCH_SIZE,
        strict: bool = False,
    ) -> list[MultihopAnswer]:
        """Answer examples (anything with `question` and `context`), in order.

        Args:
            examples: the questions with their paragraphs.
            tokenizer: the model's tokenizer; by default the one saved with the model.
            batch_size: windows that go through the model at once.
            strict: raise ValueError for an example that cannot be encoded, instead of leaving
                its answer empty.
        """
        processor = self.processor_class(self.config, tokenizer or self.own_tokenizer())
        windows: list[Window] = []
        for number, example in enumerate(examples):
            encoded = processor.encode(
                QuestionInput(example.question, tuple(example.context)), number
            )
            if strict and not encoded:
                raise ValueError(_refusal(processor, example))
            windows += encoded
        scores: dict[int, list[Any]] = {}
        was_training = self.training
        self.eval()  # type: ignore[attr-defined]
        try:
            for batch in batch_windows(windows, batch_size):
                for one in self._score(batch):
                    scores.setdefault(one.example, []).append(one)
        finally:
            self.train(was_training)  # type: ignore[attr-defined]
        return [
            self.decode_scores(
                scores.get(number, []), example.question, example.context, self.config
            )
            for number, example in enumerate(examples)
        ]

    def _score(self, windows: list[Window]) -> Sequence[Any]:
        """Run the model on a batch of windows."""
        device = next(self.parameters()).device  # type: ignore[attr-defined]
        batch = self.collator_class(self.config, labels=False)(windows)
        output = self(**{name: values.to(device) for name, values in batch.items()})  # type: ignore[operator]
        return self.score_outputs(output, windows, self.config)

    def own_tokenizer(self) -> Any:
        """Return the tokenizer saved with the model, of the same revision."""
        if self.answer_tokenizer is None:
            source = self.tokenizer_source or str(getattr(self, "name_or_path", ""))
            if not source:
                raise ValueError(
                    "this model was not loaded from a folder that holds its tokenizer: pass "
                    "tokenizer=..., or load the model with from_pretrained"
                )
            self.answer_tokenizer = self.load_tokenizer(source, **dict(self.tokenizer_options))
        return self.answer_tokenizer

    def load_tokenizer(self, source: str, **options: Any) -> Any:
        """Load the tokenizer that is saved beside the model."""
        raise NotImplementedError

    def as_pipeline(self, **options: Any) -> Any:
        """Return the transformers pipeline that answers with this model."""
        from .pipeline import MultihopQAPipeline

        return MultihopQAPipeline(model=self, task=PIPELINE, **options)

    @classmethod
    def from_pretrained(cls, source: Any, *arguments: Any, **options: Any) -> Any:
        """Load a model as transformers does, and remember where its tokenizer is."""
        loaded = super().from_pretrained(source, *arguments, **options)  # type: ignore[misc]
        model = loaded[0] if isinstance(loaded, tuple) else loaded
        kept = {name: options[name] for name in _SOURCE_OPTIONS if options.get(name) is not None}
        model.tokenizer_options = tuple(kept.items())
        if os.path.isdir(source):  # wherever the working directory is by then
            model.tokenizer_source = os.path.abspath(source)
        if isinstance(token := options.get("token"), str):  # used now, and kept nowhere
            model.answer_tokenizer = model.load_tokenizer(source, token=token, **kept)
        return loaded

    def data_collator(self) -> Any:
        """Return what pads encoded rows into a batch, for `transformers.Trainer`."""
        return self.collator_class(self.config)

    def save_pretrained(self, save_directory: Any, **options: Any) -> Any:
        """Save as transformers does, with the tokenizer; the configuration names the pipeline."""
        if self.answer_tokenizer is not None:
            self.answer_tokenizer.save_pretrained(save_directory)
        self.config.custom_pipelines = {PIPELINE: {"impl": _PIPELINE_CLASS, "pt": ["AutoModel"]}}
        return super().save_pretrained(save_directory, **options)  # type: ignore[misc]


def _refusal(processor: Any, example: Any) -> str:
    """Return why an example has no windows."""
    alone = type(processor)(processor.config, processor.tokenizer)
    alone.encode(QuestionInput(example.question, tuple(example.context)))
    reason = next(iter(alone.counts), "it cannot be encoded")
    text = _REFUSALS.get(reason, reason).format_map(vars(processor.config))
    return f"question {example.question[:60]!r}: {text}"


def batch_windows(windows: Sequence[Window], batch_size: int) -> Iterator[list[Window]]:
    """Batch windows of similar length; long ones in smaller batches, so that memory is bounded."""
    batch: list[Window] = []
    for window in sorted(windows, key=lambda window: len(window.token_ids)):
        area = (len(batch) + 1) * len(window.token_ids) ** 2
        if batch and (len(batch) == batch_size or area > MAX_BATCH_AREA):
            yield batch
            batch = []
        batch.append(window)
    if batch:
        yield batch


def answer_dict(answer: MultihopAnswer, question: QuestionInput, layout: Layout) -> dict[str, Any]:
    """Return an answer as plain values, see `predict`."""
    sentences = list(_with_texts(answer.sentence_scores, question))
    supporting = set(answer.supporting_facts)
    return {
        "answer": answer.answer,
        "answer_type": answer.answer_type,
        "answer_score": answer.answer_score,
        "sp": list(answer.supporting_facts),
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
                "subject_place": _sentence_place(triple.subject_span, question, layout),
                "object_place": _sentence_place(triple.object_span, question, layout),
            }
            for triple in answer.evidences
        ],
        "answer_span": tuple(answer.answer_span) if answer.answer_span else None,
        "answer_place": _sentence_place(answer.answer_span, question, layout),
        "text": layout.text,
    }


def _with_texts(
    scores: Sequence[tuple[str, int, float]], question: QuestionInput
) -> Iterator[dict[str, Any]]:
    """Put its text beside each scored sentence; of equal titles, in the paragraphs' order."""
    texts: dict[tuple[str, int], list[str]] = {}
    for title, sentences in question.context:
        for sent_id, sentence in enumerate((title, *sentences), start=-1):
            texts.setdefault((title, sent_id), []).append(sentence)
    for title, sent_id, score in scores:
        same = texts[title, sent_id]
        sentence = same.pop(0) if len(same) > 1 else same[0]
        yield {"title": title, "sent_id": sent_id, "sentence": sentence.strip(), "score": score}


def _sentence_place(
    span: Span | None, question: QuestionInput, layout: Layout
) -> dict[str, Any] | None:
    """Return the sentence that characters of the layout are in; None where they span several."""
    if span is None:
        return None
    for segment in layout.segments:
        if segment.start <= span.start and span.end <= segment.end:
            title = question.context[segment.paragraph][0]
            start, end = span.start - segment.start, span.end - segment.start
            return {"title": title, "sent_id": segment.sent_id, "start": start, "end": end}
    return None


class QuestionInput(NamedTuple):
    """A question about paragraphs, without gold."""

    question: str
    context: _Context


def check_question(question: Any, paragraphs: Any) -> QuestionInput:
    """Check a question and its paragraphs, and return them in one form.

    Args:
        question: a text.
        paragraphs: see `parse_paragraphs`.

    Raises:
        ValueError: what is wrong, with the question's beginning.
    """
    if not isinstance(question, str):
        raise ValueError(f"the question is {abbreviated(question)}, not a text")
    if not question.strip():
        raise ValueError("the question is empty")
    if len(question) > QUESTION_CHARACTERS:
        raise ValueError(
            f"the question has {len(question):,} characters, more than {QUESTION_CHARACTERS:,}: "
            "pass the text that it is about as paragraphs"
        )
    try:
        context = parse_paragraphs(paragraphs)
        if not any(sentence.strip() for _, sentences in context for sentence in sentences):
            missing = "the paragraphs have no text" if context else "there are no paragraphs"
            raise ValueError(f"{missing}. {_EXPECTED}")
    except ValueError as error:
        raise ValueError(f"question {abbreviated(question)}: {error}") from error
    return QuestionInput(question, context)


def check_questions(questions: Any, paragraphs: Any) -> list[QuestionInput]:
    """Check a list of questions and the list of their paragraphs."""
    if isinstance(questions, (bytes, dict)) or not hasattr(questions, "__iter__"):
        found = abbreviated(questions)
        raise ValueError(f"the question is {found}, neither a text nor a list of texts")
    if isinstance(paragraphs, (str, dict)) or not hasattr(paragraphs, "__iter__"):
        raise ValueError("several questions need a list with the paragraphs of each")
    questions, paragraphs = list(questions), list(paragraphs)
    if len(questions) != len(paragraphs):
        raise ValueError(
            f"{len(questions)} questions, but the paragraphs of {len(paragraphs)}: "
            "each question needs its own list of paragraphs"
        )
    return [check_question(*pair) for pair in zip(questions, paragraphs, strict=True)]


def parse_paragraphs(paragraphs: Any) -> _Context:
    """Return paragraphs as titles with sentences; a text is cut into sentences.

    Args:
        paragraphs: (title, sentences) or (title, text) pairs; rows of the data set's `context`;
            a dict from titles to either; one text, or a list of texts, without titles; or
            documents of a retriever, dicts or objects with `text`, `content` or `page_content`,
            whose title, if they have one, is theirs or in their `metadata` or `meta`.

    Raises:
        ValueError: which paragraph is something else.
    """
    return tuple(_paragraph(*numbered) for numbered in enumerate(_listed(paragraphs)))


def _listed(paragraphs: Any) -> Iterator[Any]:
    if isinstance(paragraphs, str) and paragraphs.strip():
        paragraphs = [paragraphs]
    if isinstance(paragraphs, (str, bytes)) or not isinstance(paragraphs, Iterable):
        raise ValueError(f"the paragraphs are {abbreviated(paragraphs)}. {_EXPECTED}")
    if not isinstance(paragraphs, Mapping):
        return iter(paragraphs)
    if isinstance(paragraphs.get("page_content"), str) or isinstance(paragraphs.get("text"), str):
        return iter([paragraphs])  # a single document
    titles, sentences = paragraphs.get("title"), paragraphs.get("sentences")
    if len(paragraphs) == 2 and isinstance(titles, list) and isinstance(sentences, list):
        return iter(list(zip(titles, sentences, strict=True)))
    return iter(paragraphs.items())


def _paragraph(number: int, paragraph: Any) -> tuple[str, tuple[str, ...]]:
    title, content = _title_and_content(number, paragraph)
    if not isinstance(title, str):
        raise ValueError(f"paragraph {number}: the title is {abbreviated(title)}, not a text")
    if isinstance(content, str):
        return title, tuple(split_sentences(content, [title, bare_title(title)]))
    if isinstance(content, (bytes, Mapping)) or not isinstance(content, Iterable):
        found = abbreviated(content)
        raise ValueError(f"paragraph {number}: {found} is neither a text nor a list of sentences")
    sentences = tuple(content)
    for sentence in sentences:
        if not isinstance(sentence, str):
            found = abbreviated(sentence)
            raise ValueError(f"paragraph {number}: the sentence {found} is not a text")
    return title, sentences


def _title_and_content(number: int, paragraph: Any) -> tuple[Any, Any]:
    if isinstance(paragraph, str):
        return "", paragraph
    document = _document(paragraph)
    if document is not None:
        return document
    if not isinstance(paragraph, (bytes, Mapping)):
        try:
            title, content = paragraph
            return title, content
        except (TypeError, ValueError):
            pass
    found = abbreviated(paragraph)
    raise ValueError(
        f"paragraph {number} is {found}, not a (title, sentences) or (title, text) pair"
    )


def _document(value: Any) -> tuple[Any, Any] | None:
    """Return title and content of a retriever's document; None for anything else."""
    value = getattr(value, "node", value)  # a result with its score around it

    def field(names: Iterable[str], source: Any) -> Any:
        read = source.get if isinstance(source, Mapping) else partial(getattr, source)
        return next((one for name in names if (one := read(name, None)) is not None), None)

    if isinstance(value, (str, bytes, tuple, list)) or (content := field(_TEXTS, value)) is None:
        return None
    title = field(_TITLES, value)
    if title is None:
        title = field(_TITLES, field(_METADATA, value) or {})
    return ("" if title is None else title), content


def abbreviated(value: Any) -> str:
    """Return a value as it stands in an error, at most a line of it."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
