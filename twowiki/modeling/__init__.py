"""The models for transformers, the baseline and the encoder: from configuration to decoding.

The files here import each other only by `from .name import ...`, so that `save_pretrained` can
copy them beside the weights. Importing this module loads nothing; using a name loads its part,
and makes transformers' Auto classes know the model.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from twowiki.modeling.configuration import TwoWikiConfig as TwoWikiConfig
    from twowiki.modeling.encoder_configuration import (
        TwoWikiEncoderConfig as TwoWikiEncoderConfig,
    )
    from twowiki.modeling.encoder_modeling import TwoWikiForMultihopQA as TwoWikiForMultihopQA
    from twowiki.modeling.modeling import (
        TwoWikiBaselineForMultihopQA as TwoWikiBaselineForMultihopQA,
    )
    from twowiki.modeling.modeling import TwoWikiOutput as TwoWikiOutput
    from twowiki.modeling.tokenization import TwoWikiTokenizer as TwoWikiTokenizer

_LAZY = {
    "TwoWikiConfig": "twowiki.modeling.configuration",
    "TwoWikiBaselineForMultihopQA": "twowiki.modeling.modeling",
    "TwoWikiEncoderConfig": "twowiki.modeling.encoder_configuration",
    "TwoWikiForMultihopQA": "twowiki.modeling.encoder_modeling",
    "TwoWikiOutput": "twowiki.modeling.modeling",
    "TwoWikiTokenizer": "twowiki.modeling.tokenization",
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
        raise AttributeError(f"module 'twowiki.modeling' has no attribute {name!r}")
    import_module("twowiki.modeling.registration")
    return getattr(import_module(_LAZY[name]), name)
