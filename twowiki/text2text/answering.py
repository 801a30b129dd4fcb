"""Answer single questions with any model that was trained here: `twowiki.load_model`.

In: the folder of a saved model or of a run, or a repository of the hub. Out: a model with
`predict`: one of this package's models that point at text, or a text model in the format of its
training, with the sentences of an index where it was trained with sentences.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twowiki.arc_da.schema import Question
from twowiki.data.schema import Example, Paragraph
from twowiki.errors import DataError, extras_named
from twowiki.models.prediction import check_question
from twowiki.text2text.arc_da_format import Format
from twowiki.text2text.chat_format import read_text_format
from twowiki.text2text.generation import GenerationSettings
from twowiki.text2text.prediction import (
    LoadOptions,
    TextGenerator,
    generate_prompts,
    load_generator,
    longest_prompt,
)
from twowiki.text2text.prompting import ArcDaPrompts, PromptSet, TwoWikiPrompts

if TYPE_CHECKING:
    from twowiki.retrieval.index import SentenceIndex

SENTENCES = 10  # of context, where a model's format names no number


class TextAnswerer:
    """A text model that was trained on ARC-DA or on 2WikiMultiHopQA, ready to be asked.

    Args:
        generator: the loaded model, with its format.
        index: folder of an index of sentences, for a model that was trained with sentences.
    """

    def __init__(self, generator: TextGenerator, index: str | Path | None = None) -> None:
        if generator.form is None:
            raise DataError("was not trained here, so its format is not known")
        self.generator, self.form = generator, generator.form
        self.index = index

    def predict(self, question: str, context: Any = None) -> dict[str, Any]:
        """Answer one question.

        Args:
            question: the question.
            context: for ARC-DA sentences that may help, best first (by default those of the
                index); for 2WikiMultiHopQA the paragraphs, in any form that other models take.

        Returns:
            `answer`, `output` (the text that was generated) and `sentences` (the context that the
            model was shown); for 2WikiMultiHopQA `sp` and `evidence` too.

        Raises:
            ValueError: the question or the context is not what the model reads.
        """
        if not isinstance(question, str) or not question.strip():
            raise ValueError("the question must be a text that is not empty")
        if self.form["task"] == "arc_da":
            return self._science(question, context)
        return self._multihop(question, context)

    def _science(self, question: str, context: Any) -> dict[str, Any]:
        form = Format.of_record(self.form)
        wanted = int(self.form.get("sentences") or 0)
        sentences = self._retrieved(question, wanted) if context is None else list(context)
        if isinstance(context, str) or not all(isinstance(text, str) for text in sentences):
            raise ValueError("the context must be a list of sentences")
        science = Question("1", None, question)
        most = max(wanted, len(sentences), 1)
        prompts = ArcDaPrompts([science], {"1": sentences}, form, sentences=most)
        output = self._generate(prompts)
        answer = prompts.predictions({"1": output})["1"]
        return {"answer": answer, "output": output, "sentences": sentences}

    def _retrieved(self, question: str, wanted: int) -> list[str]:
        """Retrieve sentences as they were for the training; warn where there is no index."""
        if self.index is None:
            if wanted:
                message = (
                    f"the model was trained with {wanted} sentences of context and is asked "
                    "without any. Name an index: load_model(..., index=DIR)"
                )
                warnings.warn(message, stacklevel=4)
            return []
        from twowiki.retrieval.arc_da_contexts import ContextSettings, find_contexts

        settings = ContextSettings(sentences=wanted or SENTENCES)
        with self._opened as index:  # what is open of it is closed; the engine stays loaded
            (found,) = find_contexts(index, [Question("1", None, question)], settings)
        return [hit.entry.text for hit in found.hits]

    @cached_property
    def _opened(self) -> SentenceIndex:
        from twowiki.retrieval.index import SentenceIndex

        return SentenceIndex(Path(self.index or ""))

    def _multihop(self, question: str, context: Any) -> dict[str, Any]:
        if context is None:
            raise ValueError("the model answers from paragraphs: predict(question, paragraphs)")
        checked = check_question(question, context)
        paragraphs = tuple(Paragraph(title, tuple(texts)) for title, texts in checked.context)
        example = Example("1", question, None, paragraphs)
        prompts = TwoWikiPrompts([example], "full-context", trained=True)
        output = self._generate(prompts)
        found = prompts.predictions({"1": output})
        shown = [text for paragraph in paragraphs for text in paragraph.sentences]
        parts = {name: found[name]["1"] for name in ("answer", "sp", "evidence")}
        return {**parts, "output": output, "sentences": shown}

    def _generate(self, prompts: PromptSet) -> str:
        form = self.form
        decoding = GenerationSettings(form.get("num_beams", 1), form.get("max_new_tokens", 32))
        budget = longest_prompt(self.generator, decoding, form.get("max_source_length", 0))
        (prompt,) = prompts.prompts(self.generator.codec, budget)
        if prompt.too_long:
            raise ValueError(
                f"the question has more than the {budget:,} tokens that the model reads"
            )
        return generate_prompts(self.generator, [prompt], decoding)[prompt.id]


@extras_named()
def load_model(
    model: str | Path,
    *,
    index: str | Path | None = None,
    revision: str | None = None,
    device: str | None = None,
    trust_remote_code: bool = False,
    allow_missing: bool = False,
) -> Any:
    """Load a model that answers questions: `load_model(folder).predict(question, paragraphs)`.

    A text model that was trained on ARC-DA needs the question alone:
    `load_model(folder).predict("Which gas do plants take in?")["answer"]`.

    Args:
        model: folder of a saved model or of a run, or a repository as owner/name.
        index: for a text model that was trained with retrieved sentences, the folder that
            `twowiki arc-da index` wrote.
        revision: branch, tag or commit of the repository.
        device: cpu, cuda, cuda:1, ...; by default where torch loads it, the CPU.
        trust_remote_code: run the code of a repository whose model this package does not have.
        allow_missing: also load a model that lacks weights (they are random then) or the
            tokenizer, or of which some weight is no number.

    Raises:
        DataError: there is no model, it is damaged, or it cannot answer questions.
    """
    from twowiki.models.auto import load_extractive_model, model_folder

    folder = Path(model).expanduser()
    if folder.is_dir():
        saved = model_folder(folder)
        if read_text_format(str(saved)) is not None:
            options = LoadOptions(revision or "", trust_remote_code, device or "cpu")
            return TextAnswerer(load_generator(str(saved), options), index)
    if index is not None:
        remedy = "Leave the index out"
        raise DataError("is no text model, which an index is for", file=model, remedy=remedy)
    return load_extractive_model(
        model,
        revision=revision,
        device=device,
        trust_remote_code=trust_remote_code,
        allow_missing=allow_missing,
    )


def without_sentences(form: dict[str, Any] | None, contexts: Sequence[str]) -> str:
    """Return a remark on a model that was trained with sentences and is asked without any."""
    wanted = int((form or {}).get("sentences") or 0)
    if not wanted or contexts:
        return ""
    return (
        f"note: the model was trained with {wanted} sentences of context and is asked without any; "
        "name them with --contexts"
    )
