"""2WikiMultiHopQA and ARC-DA: data, metrics, models and generation, one namespace.

Importing this module loads nothing heavy; each name loads its own part when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from twowiki.builders import load_dataset as load_dataset
    from twowiki.builders import register as register

_LAZY = {
    "load_dataset": "twowiki.builders",
    "register": "twowiki.builders",
}

__all__ = ["__version__", "load_dataset", "register"]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'twowiki' has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY])
