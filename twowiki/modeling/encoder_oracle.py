"""Gold labels as the encoder's logits: decoded, they give the ceiling of its encoding."""

from __future__ import annotations

from collections.abc import Sequence

from torch.nn import functional

from .encoder_collation import EncoderCollator
from .encoder_configuration import TwoWikiEncoderConfig
from .encoding import Window
from .modeling import TwoWikiOutput
from .oracle import SURE, pointed
from .pointers import POINTERS


def encoder_oracle(windows: Sequence[Window], config: TwoWikiEncoderConfig) -> TwoWikiOutput:
    """Give the output of a model that says what the labels say, and nothing where they are ignored.

    An ignored position leaves all of its logits level.
    """
    batch = EncoderCollator(config)(windows)
    mask = batch["span_mask"]
    relations = batch["relation_labels"]
    classes = config.relation_count + 1
    known = relations.clamp(min=0) + (relations < 0) * config.relation_count
    output = TwoWikiOutput(
        start_logits=pointed(batch["start_positions"].unsqueeze(1), mask)[..., 0],
        end_logits=pointed(batch["end_positions"].unsqueeze(1), mask)[..., 0],
        answer_type_logits=SURE
        * functional.one_hot(batch["answer_type_labels"].clamp(min=0), 3).float(),
        support_logits=SURE * (2.0 * (batch["support_labels"] == 1) - 1),
        relation_logits=SURE * functional.one_hot(known, classes).float(),
    )
    for name in POINTERS:
        output[f"{name}_logits"] = pointed(batch[f"{name}_positions"], mask)
    return output
