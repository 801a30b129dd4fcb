"""The settings of a run on multi-hop questions: where they come from, and the baseline's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from twowiki.errors import DataError
from twowiki.training.run_config import (
    RunConfig,
    described,
    documented_fields,
)


@dataclass(frozen=True)
class MultihopConfig(RunConfig):
    """A run on 2WikiMultiHopQA's questions, whatever the model."""

    data_dir: str = described("", "folder (or archive) of the data set, or `download`")
    data_config: str = described("data_ids_april7", "configuration of the data set")
    train_file: str = described("", "file of training examples, instead of data_dir")
    validation_file: str = described("", "file of validation examples, instead of data_dir")
    aliases_file: str = described("", "id_aliases.json: for scores and for names not found")
    world: str = described(
        "", "a fictional world to make and train on: people=2000,films=1500,seed=7,... (see docs)"
    )
    tiny_examples: int = described(0, "made-up training examples (and a tenth for validation)")
    max_train_examples: int = described(0, "use the first of the training examples; 0 = all")
    max_validation_examples: int = described(0, "use the first validation examples; 0 = all")
    train_paragraphs: int = described(
        0, "train on the gold paragraphs and others up to so many; 0 = all; learns sooner"
    )
    train_copies: int = described(1, "draws of a training example, with train_paragraphs")
    cache_dir: str = described("", "where encoded examples are kept; empty = in output_dir")
    ceiling_examples: int = described(2000, "validation examples that the ceiling is taken on")

    def check(self) -> None:
        """Refuse a metric that is none of the joint metric's, and what no run can do."""
        from twowiki.rows import KEYS

        super().check()
        if self.metric not in KEYS:
            raise DataError(f"is {self.metric!r}, not one of {', '.join(KEYS)}", field="metric")
        if self.train_paragraphs < 0:
            raise DataError(f"is {self.train_paragraphs}, below 0", field="train_paragraphs")
        if self.train_copies < 1:
            raise DataError(f"is {self.train_copies}, below 1", field="train_copies")
        if self.train_copies > 1 and not self.train_paragraphs:
            raise DataError(
                f"is {self.train_copies}, and copies differ in nothing without train_paragraphs",
                field="train_copies",
                remedy="Set train_paragraphs too, or give more epochs",
            )


@dataclass(frozen=True)
class TrainConfig(MultihopConfig):
    """Everything that moves a training of the baseline."""

    settings: str = described("corrected", "corrected, or reproduce (the published baseline)")
    dropout: float = described(0.0, "of inputs to recurrent layers and attention")
    vectors: str = described("", "word vectors: GloVe text, .npy beside a .txt of words, or .zip")
    extra_vectors: int = described(100_000, "of the vectors' first words, known beyond training's")
    min_word_count: int = described(1, "words rarer than this have no vector of their own")

    CHOICES: ClassVar[dict[str, tuple[str, ...]]] = {
        **RunConfig.CHOICES,
        "settings": ("corrected", "reproduce"),
    }

    @classmethod
    def option_types(cls) -> dict[str, Any]:
        """Give the fields of TwoWikiConfig that a run may set, with their types."""
        from twowiki.modeling.configuration import TwoWikiConfig

        learnt = {"vocab_size", "char_vocab", "relations", "dropout"}
        kinds = {"int": int, "float": float, "bool": bool, "str": str}
        return {
            name: kinds[kind]
            for name, kind in TwoWikiConfig.__annotations__.items()
            if name not in learnt and kind in kinds
        }

    @classmethod
    def option_texts(cls) -> dict[str, str]:
        """Give what TwoWikiConfig's docstring says of each option."""
        from twowiki.modeling.configuration import TwoWikiConfig

        return documented_fields(TwoWikiConfig)

    @classmethod
    def completed(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Train as published, in reproduce settings, where the run does not say otherwise."""
        published = values.get("settings") == "reproduce"
        return {**REPRODUCED_TRAINING, **values} if published else values


# what `settings: reproduce` changes where the run does not say otherwise
REPRODUCED_TRAINING: dict[str, Any] = {
    "optimizer": "sgd",
    "learning_rate": 0.1,
    "weight_decay": 0.0,
    "schedule": "halving",
    "clip_norm": 0.0,
    "metric": "f1",
    "bucket": False,
    "patience": 0,
}
