"""2WikiMultiHopQA and ARC-DA: data, metrics, models and generation, one namespace.

Importing this module loads nothing heavy; each name loads its own part when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from twowiki.aliases import read_aliases as read_aliases
    from twowiki.builders import load_dataset as load_dataset
    from twowiki.builders import register as register
    from twowiki.errors import DataError as DataError
    from twowiki.exporting import export as export
    from twowiki.joint_metric import score as score
    from twowiki.llm import read_llm_outputs as read_llm_outputs
    from twowiki.llm_text import parse_llm_output as parse_llm_output
    from twowiki.loading import load_model as load_model
    from twowiki.loading import pipeline as pipeline
    from twowiki.metric_records import to_metric_records as to_metric_records
    from twowiki.predictions import read_predictions as read_predictions
    from twowiki.report import Report as Report
    from twowiki.retrieval import all_gold_at_k as all_gold_at_k
    from twowiki.retrieval import build_corpus as build_corpus
    from twowiki.retrieval import build_qrels as build_qrels
    from twowiki.retrieval import score_retrieval as score_retrieval
    from twowiki.retrieval import title_recall_at_k as title_recall_at_k
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
    "Report": "twowiki.report",
    "read_aliases": "twowiki.aliases",
    "read_predictions": "twowiki.predictions",
    "to_metric_records": "twowiki.metric_records",
    "read_llm_outputs": "twowiki.llm",
    "parse_llm_output": "twowiki.llm_text",
    **dict.fromkeys(
        ("build_corpus", "build_qrels", "title_recall_at_k", "all_gold_at_k", "score_retrieval"),
        "twowiki.retrieval",
    ),
    "validate": "twowiki.validation",
    **dict.fromkeys(("load_model", "pipeline"), "twowiki.loading"),
}

__all__ = ["__version__", *_LAZY]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'twowiki' has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
