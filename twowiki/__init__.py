"""2WikiMultiHopQA and ARC-DA: data, metrics, models and generation, one namespace.

Importing this module loads nothing heavy; each name loads its own part when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from twowiki.builders import load_dataset as load_dataset
    from twowiki.builders import register as register
    from twowiki.errors import DataError as DataError
    from twowiki.exporting import export as export
    from twowiki.joint_metric import score as score
    from twowiki.schema import Example as Example
    from twowiki.schema import Fact as Fact
    from twowiki.schema import Paragraph as Paragraph
    from twowiki.schema import Prediction as Prediction
    from twowiki.schema import Triple as Triple
    from twowiki.schema import TripleIds as TripleIds
    from twowiki.schema import gold_paragraphs as gold_paragraphs
    from twowiki.schema import has_gold as has_gold
    from twowiki.schema import parse_record as parse_record
    from twowiki.schema import to_official as to_official
    from twowiki.schema import to_row as to_row
    from twowiki.sources import read_examples as read_examples
    from twowiki.validation import validate as validate

# name -> the module that it is loaded from when first used
_LAZY = {
    **dict.fromkeys(("load_dataset", "register"), "twowiki.builders"),
    "DataError": "twowiki.errors",
    "export": "twowiki.exporting",
    **dict.fromkeys(
        ("Example", "Fact", "Paragraph", "Prediction", "Triple", "TripleIds"), "twowiki.schema"
    ),
    **dict.fromkeys(
        ("gold_paragraphs", "has_gold", "parse_record", "to_official", "to_row"), "twowiki.schema"
    ),
    "read_examples": "twowiki.sources",
    "score": "twowiki.joint_metric",
    "validate": "twowiki.validation",
}

__all__ = ["__version__", *_LAZY]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'twowiki' has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
