"""Training: settings, data, features, batches, the loop, checkpoints, evaluation, reports.

`twowiki.train` is the entry point. The names of `__init__.pyi` load their modules when they are
first used.
"""

from twowiki.io.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
