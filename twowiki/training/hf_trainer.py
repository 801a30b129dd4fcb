"""Training with `transformers.Trainer`: a new model, encoded rows, and the joint metric.

In: rows of the data set, as `twowiki.load_dataset` or any reader gives them. Out: a model, what
`train_dataset` and `eval_dataset` take, and `compute_metrics`; `eval_joint_f1` and the other
metrics then appear beside `eval_loss`, and can select the best model. The collator is the model's
`data_collator()`. `Trainer` keeps every logit of an evaluation in memory, and these windows are in
memory too: `twowiki.train` is the better way for a whole release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy
import torch
from torch import Tensor

from twowiki.data.schema import Example, config_of, parse_record
from twowiki.errors import DataError
from twowiki.io.files import progress
from twowiki.io.processes import numbered_parts
from twowiki.models.features import Window
from twowiki.models.labels import POINTERS
from twowiki.training.encoding import PART_ITEMS
from twowiki.training.evaluation import decode_examples, decoding_of, score_predictions
from twowiki.training.scored_parts import present

HEADS = (
    "start_logits",
    "end_logits",
    "answer_type_logits",
    "support_logits",
    "relation_logits",
    *(f"{name}_logits" for name in POINTERS),
)


class EncodedExamples(Sequence[Window]):
    """The windows of some examples, in order: a data set for `Trainer`.

    Attributes:
        windows: the encoded windows.
        examples: what they are of.
        counts: what could not be encoded, by reason.
    """

    def __init__(
        self, windows: list[Window], examples: list[Example], counts: Mapping[str, int]
    ) -> None:
        self.windows, self.examples, self.counts = windows, examples, dict(counts)

    def __len__(self) -> int:
        return len(self.windows)

    def __getitem__(self, index: Any) -> Any:
        return self.windows[index]


def encode(
    rows: Iterable[Example | Mapping[str, Any]],
    model: Any,
    *,
    aliases: Mapping[str, Sequence[str]] | None = None,
) -> EncodedExamples:
    """Encode rows for a model, as `Trainer` takes them.

    Args:
        rows: of a split: a `datasets.Dataset`, official records, or examples.
        model: a baseline or an encoder model, with its tokenizer.
        aliases: other names by Wikidata id, tried where a name is not in the context.

    Raises:
        DataError: there are no rows, or none can be encoded.
    """
    examples = _examples(rows)
    processor = model.processor_class(model.config, model.own_tokenizer(), aliases)
    windows: list[Window] = []
    for first, part in numbered_parts(progress(examples, what="encoding"), PART_ITEMS):
        windows += processor.encode_all(part, first)
    if not windows:
        raise DataError(f"no row can be encoded ({dict(processor.counts)})", field="rows")
    return EncodedExamples(windows, examples, processor.counts)


def new_model(
    rows: Iterable[Example | Mapping[str, Any]],
    backbone: str = "",
    *,
    seed: int = 13,
    **options: Any,
) -> Any:
    """Return a new model for rows to train on; its weights are drawn from the seed.

    Args:
        rows: the training rows; their relations, and a baseline's words, are what it knows.
        backbone: name or folder of a pretrained encoder; without one it is the baseline.
        seed: of the new weights.
        options: fields of `TwoWikiEncoderConfig`, or of `TwoWikiBaselineConfig`.
    """
    from twowiki.models.configuration_baseline import TwoWikiBaselineConfig
    from twowiki.models.modeling_baseline import TwoWikiBaselineForMultihopQA
    from twowiki.models.modeling_encoder import TwoWikiEncoderForMultihopQA
    from twowiki.training.baseline import own_fields
    from twowiki.training.vocabulary import count_vocabulary, make_vocabulary

    examples = _examples(rows)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if backbone:
            names = {triple.relation.strip() for one in examples for triple in one.evidences or ()}
            return TwoWikiEncoderForMultihopQA.from_backbone(
                backbone, relations=sorted(names), **options
            )
        settings = TwoWikiBaselineConfig(**options)
        tokenizer, sizes = make_vocabulary(count_vocabulary(examples, settings), settings)
        model = TwoWikiBaselineForMultihopQA(
            TwoWikiBaselineConfig(**{**own_fields(settings), **sizes})
        )
    model.answer_tokenizer = tokenizer
    return model


def joint_metrics(encoded: EncodedExamples, model: Any) -> Callable[[Any], dict[str, float]]:
    """Return `compute_metrics` for an evaluation over encoded examples with a model."""
    config, score = model.config, decoding_of(model.config).score

    def compute(evaluated: Any) -> dict[str, float]:
        logits = dict(zip(HEADS, evaluated.predictions, strict=True))
        scored: list[Any] = []
        for number, window in enumerate(encoded):
            parts = {
                name: one_window(values[number], name, window) for name, values in logits.items()
            }
            scored += score(SimpleNamespace(**parts), [window], config)
        predictions = decode_examples(scored, encoded.examples, config)
        return present(score_predictions(encoded.examples, predictions).metrics)

    return compute


def _examples(rows: Iterable[Example | Mapping[str, Any]]) -> list[Example]:
    examples = [
        one if isinstance(one, Example) else parse_record(one, config_of(one)) for one in rows
    ]
    if not examples:
        raise DataError("there are none", field="rows", remedy="Give the rows of a split")
    return examples


def one_window(values: Any, name: str, window: Window) -> Tensor:
    """Return one window's logits, (1, ...), without what `Trainer` padded with -100."""
    if name == "support_logits":
        values = values[: max(1, len(window.sentences))]
    elif name not in ("answer_type_logits", "relation_logits"):
        values = values[: max(1, len(window.token_ids))]
    return torch.from_numpy(numpy.asarray(values)).unsqueeze(0)
