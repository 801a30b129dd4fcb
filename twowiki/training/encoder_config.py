"""The settings of a training of the encoder model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from twowiki.errors import DataError
from twowiki.training.config import MultihopConfig
from twowiki.training.run_config import described, documented_fields

# fields of the model's configuration that the data, the backbone or its tokenizer decides
LEARNT = frozenset(
    "backbone_name title_marker_id sentence_marker_id context_segment padding_id".split()
)


@dataclass(frozen=True)
class EncoderConfig(MultihopConfig):
    """Everything that moves a training of the encoder model."""

    task: str = described("encoder", "kind of model; decides which other settings there are")
    output_dir: str = described("runs/encoder", "folder of checkpoints, predictions and report")
    backbone: str = described("", "name or folder of a pretrained encoder with a fast tokenizer")
    revision: str = described("", "revision of the backbone's repository")
    attention: str = described(
        "", "sdpa, eager, flash_attention_2, twowiki_varlen (no padding); empty = library's choice"
    )
    gradient_checkpointing: bool = described(
        False, "forget the backbone's activations, compute them again: less memory, more time"
    )
    lora_rank: int = described(0, "train adapters of this rank in the backbone; 0 = all weights")
    lora_alpha: int = described(16, "scale of the adapters, divided by their rank")
    lora_targets: str = described(
        "all-linear", "layers that get adapters: all-linear, or the ends of their names, by commas"
    )
    batch_size: int = described(8, "examples a step and process; halved when memory runs out")
    eval_batch_size: int = described(16, "examples a batch of an evaluation")
    epochs: int = described(3, "passes over the training examples")
    learning_rate: float = described(5e-5, "highest learning rate of the backbone")
    head_learning_rate: float = described(3e-4, "highest learning rate of the heads")
    layer_decay: float = described(
        1.0, "share of a layer's rate that the layer below has; below 1 spares the lowest layers"
    )
    clip_norm: float = described(1.0, "longest gradient; 0 = never clipped")
    warmup_steps: int = described(100, "steps from zero to the highest rate; not for halving")

    AT_LEAST_ONE: ClassVar[tuple[str, ...]] = MultihopConfig.AT_LEAST_ONE

    @classmethod
    def option_types(cls) -> dict[str, Any]:
        """Give the fields of TwoWikiEncoderConfig that a run may set, with their types."""
        from twowiki.modeling.encoder_configuration import TwoWikiEncoderConfig

        kinds = {"int": int, "float": float, "bool": bool, "str": str}
        return {
            name: kinds[kind]
            for name, kind in TwoWikiEncoderConfig.__annotations__.items()
            if name not in LEARNT and kind in kinds
        }

    @classmethod
    def option_texts(cls) -> dict[str, str]:
        """Give what TwoWikiEncoderConfig's docstring says of each option."""
        from twowiki.modeling.encoder_configuration import TwoWikiEncoderConfig

        return documented_fields(TwoWikiEncoderConfig)

    def check(self) -> None:
        """Refuse what would only fail later."""
        super().check()
        if not (self.backbone or self.init_from or self.resume):
            raise DataError(
                "is not given",
                field="backbone",
                remedy="Give the name or folder of a pretrained encoder, such as "
                "answerdotai/ModernBERT-base, or init_from",
            )
        if not 0.0 < self.layer_decay <= 1.0:
            raise DataError(f"is {self.layer_decay}, not above 0 and up to 1", field="layer_decay")
        if self.lora_rank < 0:
            raise DataError(f"is {self.lora_rank}, and cannot be negative", field="lora_rank")
        if self.lora_rank:
            try:
                import peft  # noqa: F401
            except ModuleNotFoundError as error:
                raise DataError(
                    "adapters need the package 'peft'",
                    field="lora_rank",
                    remedy="Install it with: pip install 'twowiki[peft]', or set 0",
                ) from error
