"""ARC-DA: data, conversion from multiple choice, metrics.

The direct-answer version of the AI2 Reasoning Challenge (Bhakthavatsalam et al., 2021). The names
of `__init__.pyi` load their modules when they are first used.
"""

from twowiki.io.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
