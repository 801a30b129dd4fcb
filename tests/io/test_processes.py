"""Work in several processes comes back in order, and one that dies ends it in one sentence."""

from __future__ import annotations

import os
from itertools import islice

import pytest

from twowiki.errors import DataError
from twowiki.io.processes import ALONE, map_parts, numbered_parts


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_order_and_parts_are_read_as_needed(workers: int) -> None:
    read: list[int] = []

    def parts():
        for number in range(50):
            read.append(number)
            yield [number, number]

    results = map_parts(sum, parts(), workers)
    assert list(islice(results, 3)) == [0, 2, 4]
    assert len(read) <= ALONE + 1 + 2 * workers + 3
    assert list(results) == [2 * number for number in range(3, 50)]


def test_few_parts_start_no_process() -> None:
    pids = map_parts(lambda _: os.getpid(), range(ALONE), 2)  # what no process could be sent
    assert set(pids) == {os.getpid()}


def test_a_process_that_is_ended_is_one_sentence() -> None:
    with pytest.raises(DataError, match="a worker process was ended from outside"):
        list(map_parts(os._exit, [3] * 9, 2))


def test_parts_know_their_first_item() -> None:
    assert list(numbered_parts("abcde", 2)) == [(0, ["a", "b"]), (2, ["c", "d"]), (4, ["e"])]
