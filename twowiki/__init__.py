"""2WikiMultiHopQA and ARC-DA: data, metrics, models and generation, one namespace.

Importing this module loads nothing heavy; each name of `__init__.pyi` loads its own part when it
is first used. It also makes `datasets.load_dataset("twowiki", ...)` work in this process, whether
`datasets` was imported before or is imported later.
"""

from twowiki._version import __version__ as __version__
from twowiki.builder.registration import register_when_imported
from twowiki.io.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
register_when_imported()
