"""2WikiMultiHopQA and ARC-DA: data, metrics, models and generation, one namespace.

Importing this module loads nothing heavy; each name loads its own part when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from twowiki._version import __version__

if TYPE_CHECKING:
    from twowiki.builder.builder import load_dataset as load_dataset
    from twowiki.builder.builder import register as register
    from twowiki.builder.export import export as export
    from twowiki.data.aliases import read_aliases as read_aliases
    from twowiki.data.schema import Example as Example
    from twowiki.data.schema import Fact as Fact
    from twowiki.data.schema import Paragraph as Paragraph
    from twowiki.data.schema import Prediction as Prediction
    from twowiki.data.schema import Triple as Triple
    from twowiki.data.schema import TripleIds as TripleIds
    from twowiki.data.schema import gold_paragraphs as gold_paragraphs
    from twowiki.data.schema import has_gold as has_gold
    from twowiki.data.schema import parse_record as parse_record
    from twowiki.data.schema import to_official as to_official
    from twowiki.data.schema import to_row as to_row
    from twowiki.data.sources import read_examples as read_examples
    from twowiki.data.validation import validate as validate
    from twowiki.errors import DataError as DataError
    from twowiki.llm.outputs import read_llm_outputs as read_llm_outputs
    from twowiki.llm.parsing import parse_llm_output as parse_llm_output
    from twowiki.metric.evaluate_records import to_evaluate_records as to_evaluate_records
    from twowiki.metric.predictions import read_predictions as read_predictions
    from twowiki.metric.report import Report as Report
    from twowiki.metric.score import score as score
    from twowiki.models.auto import load_model as load_model
    from twowiki.models.auto import pipeline as pipeline
    from twowiki.retrieval.corpus import all_gold_at_k as all_gold_at_k
    from twowiki.retrieval.corpus import build_corpus as build_corpus
    from twowiki.retrieval.corpus import build_qrels as build_qrels
    from twowiki.retrieval.corpus import score_retrieval as score_retrieval
    from twowiki.retrieval.corpus import title_recall_at_k as title_recall_at_k

# name -> the module that it is loaded from when first used
_LAZY = {
    **dict.fromkeys(("load_dataset", "register"), "twowiki.builder.builder"),
    "DataError": "twowiki.errors",
    "export": "twowiki.builder.export",
    **dict.fromkeys(
        ("Example", "Fact", "Paragraph", "Prediction", "Triple", "TripleIds"), "twowiki.data.schema"
    ),
    **dict.fromkeys(
        ("gold_paragraphs", "has_gold", "parse_record", "to_official", "to_row"),
        "twowiki.data.schema",
    ),
    "read_examples": "twowiki.data.sources",
    "score": "twowiki.metric.score",
    "Report": "twowiki.metric.report",
    "read_aliases": "twowiki.data.aliases",
    "read_predictions": "twowiki.metric.predictions",
    "to_evaluate_records": "twowiki.metric.evaluate_records",
    "read_llm_outputs": "twowiki.llm.outputs",
    "parse_llm_output": "twowiki.llm.parsing",
    **dict.fromkeys(
        ("build_corpus", "build_qrels", "title_recall_at_k", "all_gold_at_k", "score_retrieval"),
        "twowiki.retrieval.corpus",
    ),
    "validate": "twowiki.data.validation",
    **dict.fromkeys(("load_model", "pipeline"), "twowiki.models.auto"),
}

__all__ = ["__version__", *_LAZY]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'twowiki' has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
