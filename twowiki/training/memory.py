"""Memory: freed blocks are kept, and where it runs out, work goes on in halves."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from twowiki.errors import DataError

_Result = TypeVar("_Result")


def is_out_of_memory(error: BaseException) -> bool:
    """Check whether an error means that the memory of a device did not suffice."""
    import torch
    from accelerate.utils.memory import should_reduce_batch_size

    out = isinstance(error, torch.OutOfMemoryError | MemoryError)
    return out or (isinstance(error, Exception) and should_reduce_batch_size(error))


def release_memory() -> None:
    """Release what a failed batch holds; call it after the exception has been left."""
    from accelerate.utils.memory import clear_device_cache

    gc.collect()
    clear_device_cache()


def halves(numbers: Sequence[int]) -> list[Sequence[int]]:
    """Cut numbers into two halves."""
    middle = (len(numbers) + 1) // 2
    return [numbers[:middle], numbers[middle:]]


def in_halves(
    work: Callable[[Any], _Result], batch: Any, collate: Callable[[Sequence[int]], Any]
) -> list[_Result]:
    """Return the results of work on a batch, or on halves of it where memory runs out.

    Args:
        work: takes a batch.
        batch: with the `numbers` of its items.
        collate: returns the batch of some numbers.

    Raises:
        DataError: a single item does not fit.
    """
    try:
        return [work(batch)]
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
    numbers = batch["numbers"].tolist()
    if len(numbers) == 1:
        raise too_large(numbers[0])
    del batch
    release_memory()
    return [one for half in halves(numbers) for one in in_halves(work, collate(half), collate)]


def too_large(number: int | None) -> DataError:
    """Return the error of an item that does not fit by itself, on this or another process."""
    return DataError(
        "an example does not fit into memory, even alone",
        record=None if number is None else f"number {number}",
        remedy="Use a smaller model, shorter inputs, bf16 or gradient_checkpointing",
    )


_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # glibc's numbers for mallopt


def keep_freed_memory() -> bool:
    """Make glibc reuse large blocks instead of returning them; return whether that worked.

    A training step on the CPU frees and allocates the same large arrays over and over; a block
    that was returned to the system comes back as untouched pages, which are zeroed on first use.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    biggest = 2**31 - 1
    return bool(mallopt(_MMAP_MAX, 0)) and bool(mallopt(_TRIM_THRESHOLD, biggest))
