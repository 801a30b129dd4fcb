"""The transformers pipeline "multihop-qa": questions with their paragraphs in, answers out.

A saved model's folder holds this file, and its configuration names it, so that
`pipeline("multihop-qa", model=folder, trust_remote_code=True)` needs no package.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from torch.utils.data import Dataset
from transformers import Pipeline


class MultihopQAPipeline(Pipeline):
    """Answer questions: `ask(question=..., context=...)`, a dict, or a list or stream of dicts.

    The dicts have `question` and `paragraphs` (or `context`, as rows of the data set). Results
    are those of the model's `predict`. `batch_size` and `device` are those of any pipeline.
    """

    _load_processor: Any = False
    _load_image_processor: Any = False
    _load_video_processor: Any = False
    _load_feature_extractor: Any = False
    _load_tokenizer: Any = False  # the model loads its own

    def __init__(self, model: Any, tokenizer: Any = None, **options: Any) -> None:
        if not hasattr(model, "predict"):
            raise ValueError(f"a {type(model).__name__} cannot answer questions about paragraphs")
        super().__init__(model=model, tokenizer=tokenizer or model.own_tokenizer(), **options)

    def __call__(  # type: ignore[override]
        self, inputs: Any = None, paragraphs: Any = None, **options: Any
    ) -> Any:
        """Answer one question, or several.

        Args:
            inputs: a question, a dict of question and paragraphs, or many dicts: a list, a
                generator, a data set. Also as `question=`.
            paragraphs: the paragraphs, where `inputs` is a question or a list of questions; in
                any form that the model's `predict` takes. Also as `context=`.
            **options: `batch_size`, `num_workers`.

        Returns:
            A dict, a list of dicts for a list, an iterator for a generator or a data set.
        """
        inputs = options.pop("question", inputs)
        context = options.pop("context", None)
        paragraphs = context if paragraphs is None else paragraphs
        if isinstance(inputs, (list, tuple)) and paragraphs is not None:
            inputs = [
                one._asdict() for one in self._multihop_model().check_questions(inputs, paragraphs)
            ]
        elif isinstance(inputs, str):
            inputs = {"question": inputs, "paragraphs": paragraphs}
        if isinstance(inputs, (list, tuple)):
            return super().__call__(list(inputs), **options) if inputs else []
        if not isinstance(inputs, (Mapping, Dataset)) and isinstance(inputs, Iterable):
            inputs = (one for one in inputs)  # a data set's rows, one at a time
        return super().__call__(inputs, **options)

    def _multihop_model(self) -> Any:
        return self.model

    def _sanitize_parameters(self, **unknown: Any) -> tuple[dict[str, Any], ...]:
        if unknown:
            raise TypeError(f"the pipeline has no option {', '.join(sorted(unknown))}")
        return {}, {}, {}

    def preprocess(self, input_: Any) -> dict[str, Any]:  # type: ignore[override]
        """Check one question with its paragraphs."""
        if not isinstance(input_, Mapping) or "question" not in input_:
            raise ValueError(
                f"{input_!r:.80} is not a dict of `question` and `paragraphs` (or `context`)"
            )
        paragraphs = input_.get("paragraphs", input_.get("context"))
        return {"input": self._multihop_model().check_question(input_["question"], paragraphs)}

    def _forward(self, model_inputs: dict[str, Any]) -> dict[str, Any]:  # type: ignore[override]
        given = model_inputs["input"]
        several = isinstance(given, list)
        questions, contexts = zip(*(given if several else [given]), strict=True)
        answers = self._multihop_model().predict(
            list(questions), list(contexts), tokenizer=self.tokenizer
        )
        return {"answer": answers if several else answers[0]}

    def postprocess(self, model_outputs: dict[str, Any]) -> Any:  # type: ignore[override]
        """Return the answer."""
        return model_outputs["answer"]
