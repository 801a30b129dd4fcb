"""The joint metric of answers, supporting facts and evidences, with intervals and reports.

In: predictions and gold in any form. Out: one result per example, a `Report`, an error analysis.
The names of `__init__.pyi` load their modules when they are first used.
"""

from twowiki.io.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
