"""Retrieval: test sets, indexes, rankings and their scores, for both data sets.

In: examples, or text corpora. Out: corpora and qrels as BEIR has them, an index of paragraphs or
sentences, the best of these for each question, and scores. The names of `__init__.pyi` load
their modules when they are first used.
"""

from twowiki.io.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
