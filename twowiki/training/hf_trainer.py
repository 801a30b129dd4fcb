"""The joint metric for `transformers.Trainer`, during the training of a model of this package.

Pass `label_names=LABEL_NAMES`, the model's collator (`BaselineCollator` of
`twowiki.models.processing_baseline`, `EncoderCollator` of `twowiki.models.processing_encoder`) and
`compute_metrics=joint_metrics(...)`; `eval_joint_f1` and the other metrics then appear beside
`eval_loss`, and can select the best model. Windows are evaluated in their order. `Trainer` keeps
every logit of an evaluation in memory: `twowiki.train` is the better way for a whole split.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy
import torch
from torch import Tensor

from twowiki.data.schema import Example
from twowiki.models.features import Window
from twowiki.models.labels import POINTERS
from twowiki.training.evaluation import decode_examples, decoding_of, score_predictions

HEADS = (
    "start_logits",
    "end_logits",
    "answer_type_logits",
    "support_logits",
    "relation_logits",
    *(f"{name}_logits" for name in POINTERS),
)


def joint_metrics(
    windows: Sequence[Window], examples: Sequence[Example], config: Any
) -> Callable[[Any], dict[str, float]]:
    """Return `compute_metrics` for an evaluation over these windows of these examples."""
    score = decoding_of(config).score

    def compute(evaluated: Any) -> dict[str, float]:
        logits = dict(zip(HEADS, evaluated.predictions, strict=True))
        scored: list[Any] = []
        for number, window in enumerate(windows):
            parts = {
                name: one_window(values[number], name, window) for name, values in logits.items()
            }
            scored += score(SimpleNamespace(**parts), [window], config)
        predictions = decode_examples(scored, examples, config)
        return score_predictions(examples, predictions).metrics

    return compute


def one_window(values: Any, name: str, window: Window) -> Tensor:
    """Return one window's logits, (1, ...), without what `Trainer` padded with -100."""
    if name == "support_logits":
        values = values[: max(1, len(window.sentences))]
    elif name not in ("answer_type_logits", "relation_logits"):
        values = values[: max(1, len(window.token_ids))]
    return torch.from_numpy(numpy.asarray(values)).unsqueeze(0)
