"""A paragraph into sentences, without a download and without chance.

The function lives in `twowiki.modeling.sentences`, so that a saved model folder carries it.
"""

from twowiki.modeling.sentences import split_sentences

__all__ = ["split_sentences"]
