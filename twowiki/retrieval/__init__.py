"""Retrieval: a corpus and relevance judgments of multi-hop questions, sentences for science ones.

In: examples, or text corpora. Out: BEIR-style corpora and qrels, scores of rankings, a sentence
index with its engines, and the best sentences of each question. The names of `__init__.pyi` load
their modules when they are first used.
"""

from twowiki.io.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
