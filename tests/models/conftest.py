"""Both models, small and random, behind one interface; torch is loaded when a test asks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest


@dataclass(frozen=True)
class Family:
    """A model's tests: how a small one is made, and what is particular to it."""

    name: str
    files: int  # most Python files of a saved folder
    make: Callable[..., tuple[Any, list[Any]]]  # (examples, options of the configuration)
    lost: tuple[str, ...]  # weights of every kind of layer
    learnable: dict[str, Any]  # options with which four examples are learned
    rate: float

    def batch(self, model: Any, windows: list[Any], **options: Any) -> dict[str, Any]:
        return model.collator_class(model.config, **options)(windows)

    def outputs(self, model: Any, windows: list[Any]) -> Any:
        import torch

        with torch.no_grad():
            return model.eval()(**self.batch(model, windows))


def _baseline() -> Family:
    from tests.small_model import model_and_windows, setting

    def make(given: Any = None, **options: Any) -> Any:
        return model_and_windows(setting(**options), given)

    lost = (
        "encoder.gru.weight_hh_l0",
        "relations.queries",
        "self_attention.scale",
        "support_encoder.initial_state",
        "words.char_embeddings.weight",
        "start_head.weight",
    )
    return Family("baseline", 13, make, lost, {"word_dim": 24, "hidden_size": 24}, 8e-3)


def _encoder() -> Family:
    from tests.small_encoder import model_and_records

    def make(given: Any = None, **options: Any) -> Any:
        return model_and_records("bert", given, **options)

    lost = (
        "slots.queries",
        "fusion.0.attention.query.weight",
        "norm.bias",
        "relation_head.weight",
    )
    return Family("encoder", 17, make, lost, {"window_tokens": 256, "dropout": 0.0}, 4e-3)


@pytest.fixture(scope="module", params=[_baseline, _encoder], ids=["baseline", "encoder"])
def family(request: pytest.FixtureRequest) -> Family:
    """The baseline, then the encoder."""
    from twowiki.models.auto import register_models

    register_models()
    made: Family = request.param()
    return made
