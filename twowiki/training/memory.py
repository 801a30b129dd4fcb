"""Keep freed memory in the process: asking the system for it anew each step costs more."""

from __future__ import annotations

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # glibc's numbers for mallopt


def keep_freed_memory() -> bool:
    """Let glibc reuse large blocks instead of giving each back; say whether that worked.

    A training step on the CPU frees and takes the same large arrays over and over; each that goes
    back to the system returns as untouched pages, which are zeroed on first use.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    biggest = 2**31 - 1
    return bool(mallopt(_MMAP_MAX, 0)) and bool(mallopt(_TRIM_THRESHOLD, biggest))
