"""The models for transformers, the baseline and the encoder: from configuration to decoding.

The files of a model import each other only by `from .name import ...`, so that `save_pretrained`
copies them beside the weights. Importing this package loads nothing; using a name loads its
module and registers the models with the Auto classes of transformers.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# name -> the module that defines it
_MODULES = {
    "TwoWikiBaselineConfig": "configuration_baseline",
    "TwoWikiBaselineForMultihopQA": "modeling_baseline",
    "TwoWikiEncoderConfig": "configuration_encoder",
    "TwoWikiEncoderForMultihopQA": "modeling_encoder",
    "TwoWikiTokenizer": "tokenization_baseline",
}
__all__ = [*_MODULES]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'twowiki.models' has no attribute {name!r}")
    import_module("twowiki.models.auto").register_models()
    return getattr(import_module(f"twowiki.models.{_MODULES[name]}"), name)
