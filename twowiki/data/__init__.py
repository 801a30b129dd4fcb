"""2WikiMultiHopQA's records: typed examples, readers, splits, relations, validation, statistics.

In: official files, mirrors, exported folders. Out: `Example`s, raw records, Arrow tables. The names
of `__init__.pyi` load their modules when they are first used.
"""

from twowiki.io.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
