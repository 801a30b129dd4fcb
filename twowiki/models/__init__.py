"""The models for transformers, the baseline and the encoder: from configuration to decoding.

The files here import each other only by `from .name import ...`, so that `save_pretrained` can
copy them beside the weights. Importing this module loads nothing; using a name loads its part,
and makes transformers' Auto classes know the model.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from twowiki.models.configuration_baseline import TwoWikiConfig as TwoWikiConfig
    from twowiki.models.configuration_encoder import TwoWikiEncoderConfig as TwoWikiEncoderConfig
    from twowiki.models.modeling_baseline import (
        TwoWikiBaselineForMultihopQA as TwoWikiBaselineForMultihopQA,
    )
    from twowiki.models.modeling_encoder import TwoWikiForMultihopQA as TwoWikiForMultihopQA
    from twowiki.models.outputs import TwoWikiOutput as TwoWikiOutput
    from twowiki.models.tokenization_baseline import TwoWikiTokenizer as TwoWikiTokenizer

_LAZY = {
    "TwoWikiConfig": "twowiki.models.configuration_baseline",
    "TwoWikiBaselineForMultihopQA": "twowiki.models.modeling_baseline",
    "TwoWikiEncoderConfig": "twowiki.models.configuration_encoder",
    "TwoWikiForMultihopQA": "twowiki.models.modeling_encoder",
    "TwoWikiOutput": "twowiki.models.modeling_baseline",
    "TwoWikiTokenizer": "twowiki.models.tokenization_baseline",
}

__all__ = [
    "TwoWikiBaselineForMultihopQA",
    "TwoWikiConfig",
    "TwoWikiEncoderConfig",
    "TwoWikiForMultihopQA",
    "TwoWikiOutput",
    "TwoWikiTokenizer",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'twowiki.models' has no attribute {name!r}")
    import_module("twowiki.models.registration")
    return getattr(import_module(_LAZY[name]), name)
