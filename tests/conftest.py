"""What all tests share: the made-up records, and the reference data where it is at hand."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.made_up import read_records

settings.register_profile("any machine", deadline=None)  # a busy machine is no finding
# A gate asks the same of every change; whoever develops looks for new cases.
settings.register_profile("gate", deadline=None, derandomize=True)
settings.load_profile("gate" if os.environ.get("CI") else "any machine")
if "PYTEST_XDIST_WORKER" in os.environ:  # one of several processes that share the cores
    os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data, named by the environment variable TWOWIKI_SHARED."""
    place = os.environ.get("TWOWIKI_SHARED")
    if not place:
        pytest.skip("TWOWIKI_SHARED is not set: no reference data")
    folder = Path(place)
    if not folder.is_dir():
        pytest.skip(f"TWOWIKI_SHARED names no folder: {folder}")
    return folder


@pytest.fixture
def records() -> list[dict[str, Any]]:
    """The made-up official records."""
    return read_records()
