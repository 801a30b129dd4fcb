"""Work on the parts of a stream in several processes; the results come in the parts' order.

In: a function that can be pickled, and parts. Out: its results, one after the other, with no more
parts in memory than twice the processes. Few parts are worked on in this process, because starting
others costs seconds. A process that is ended from outside ends the work with one sentence.
"""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from multiprocessing import get_context
from typing import Any, TypeVar

from twowiki.errors import DataError

_Part = TypeVar("_Part")
_Result = TypeVar("_Result")

ALONE = 4  # so many parts are not worth starting processes

_work: Callable[[Any], Any]  # of a worker process


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def numbered_parts(items: Iterable[_Part], size: int) -> Iterator[tuple[int, list[_Part]]]:
    """Yield a stream in lists of one size, each with the number of its first item."""
    remaining, first = iter(items), 0
    while part := list(islice(remaining, size)):
        yield first, part
        first += len(part)


def map_parts(
    work: Callable[[_Part], _Result], parts: Iterable[_Part], workers: int = 0
) -> Iterator[_Result]:
    """Yield the result of each part, in order.

    Args:
        work: called with a part, perhaps in another process, which gets a copy of it once.
        parts: read as they are needed.
        workers: the number of processes; 0 = one for each core, 1 = this process alone.

    Raises:
        DataError: a worker process was ended from outside.
    """
    remaining, count = iter(parts), workers or cores()
    first = list(islice(remaining, ALONE + 1))
    everything = chain(first, remaining)
    if count == 1 or len(first) <= ALONE:
        yield from map(work, everything)
        return
    pool = ProcessPoolExecutor(
        count, mp_context=get_context("spawn"), initializer=_begin, initargs=(work,)
    )
    waiting: deque[Future[_Result]] = deque()
    try:
        for part in everything:
            waiting.append(pool.submit(_run, part))
            if len(waiting) >= 2 * count:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool as error:
        remedy = "Use fewer processes: memory may have run out"
        raise DataError("a worker process was ended from outside", remedy=remedy) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(work: Callable[[Any], Any]) -> None:
    """Take over the work; Ctrl-C reaches all processes, and the main one ends them."""
    global _work
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # the processes have the cores
    _work = work


def _run(part: Any) -> Any:
    return _work(part)
