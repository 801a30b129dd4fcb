"""The oldest `datasets` that this package reads and writes with, checked before it is used."""

from __future__ import annotations

import re
from typing import Any

OLDEST_DATASETS = "3.6"


def require_datasets() -> None:
    """Raise an ImportError that names both versions when `datasets` is too old."""
    import datasets

    found = tuple(map(int, re.findall(r"\d+", str(datasets.__version__))[:2]))
    wanted = tuple(map(int, OLDEST_DATASETS.split(".")))
    if found < wanted:
        raise ImportError(
            f"twowiki needs datasets>={OLDEST_DATASETS}, found {datasets.__version__}: "
            f"pip install -U 'datasets>={OLDEST_DATASETS}'"
        )


def list_of(feature: Any) -> Any:
    """Give the feature of a list, as the installed version of `datasets` writes it."""
    import datasets

    return datasets.List(feature) if hasattr(datasets, "List") else [feature]
