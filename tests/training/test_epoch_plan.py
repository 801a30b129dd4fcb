"""One plan of an epoch for all processes: even, whole, and gone on with by any number of them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from twowiki.training.checkpoints import RunState
from twowiki.training.epoch_plan import EpochPlan, Step, Stretch
from twowiki.training.loaders import StepLoader
from twowiki.training.loop import StepCounts
from twowiki.training.run import note_other_plan
from twowiki.training.settings import BaselineArguments


def taken(steps: list[Step]) -> Counter[int]:
    return Counter(index for step in steps for part in step for index in part)


def sizes(steps: list[Step]) -> list[int]:
    return [sum(map(len, step)) for step in steps]


@pytest.fixture(scope="module")
def real_lengths(shared: Path) -> list[int]:
    """40,000 numbers of words, drawn from those of real contexts."""
    path = shared / "data" / "two_wiki" / "dev250.json"
    if not path.is_file():
        pytest.skip("needs dev250.json")
    records = json.loads(path.read_text(encoding="utf-8"))
    found = [
        sum(len(sentence.split()) for _, sentences in record["context"] for sentence in sentences)
        for record in records
    ]
    return Random(1).choices(found, k=40_000)


def drawn_lengths() -> list[int]:
    """Lengths of the same mean and spread."""
    rng = Random(2)
    return [max(60, min(2841, round(rng.gauss(898, 389)))) for _ in range(40_000)]


@pytest.mark.parametrize("kind", ["real", "drawn"])
@pytest.mark.parametrize("ranks", [2, 4, 8, 16])
def test_ranks_have_equal_work(kind: str, ranks: int, request: pytest.FixtureRequest) -> None:
    lengths = request.getfixturevalue("real_lengths") if kind == "real" else drawn_lengths()
    steps = EpochPlan(lengths, 32 * ranks, ranks, seed=13).steps(1)
    assert taken(steps) == Counter(range(40_000))
    tokens = [[sum(lengths[i] for i in part) for part in step] for step in steps[:-1]]
    mean = sum(map(sum, tokens)) / len(tokens) / ranks
    assert max(map(max, tokens)) <= 1.1 * mean
    assert sum(map(sum, tokens)) >= 0.99 * sum(max(step) * ranks for step in tokens)
    padded = sum(len(p) * max(lengths[i] for i in p) for step in steps for p in step if p)
    assert padded <= 1.05 * sum(lengths)  # the examples of a part are of similar length


@pytest.mark.parametrize(("size", "parts", "most"), [(8, 1, 1.1), (32, 8, 1.01)])
def test_batches_of_any_length_hardly_differ(size: int, parts: int, most: float) -> None:
    lengths = drawn_lengths()
    steps = EpochPlan(lengths, size * parts, parts, seed=13, mixed=True).steps(1)
    assert taken(steps) == Counter(range(40_000))
    tokens = [sum(lengths[i] for i in part) for step in steps for part in step]
    assert max(tokens) <= most * sum(tokens) / len(tokens)  # what a shape for all of them wastes
    assert max(len(part) for step in steps for part in step) <= 1.5 * size


LENGTHS = st.lists(st.integers(0, 300), min_size=1, max_size=150)
PLAN = st.tuples(st.integers(1, 4), st.integers(1, 6)).map(lambda t: (t[0] * t[1], t[1]))


@given(LENGTHS, PLAN, st.booleans(), st.integers(0, 3))
def test_a_plan_takes_each_example_once_in_as_many_steps(
    lengths: list[int], plan: tuple[int, int], by_length: bool, epoch: int
) -> None:
    size, parts = plan
    made = EpochPlan(lengths, size, parts, 7, by_length)
    steps = made.steps(epoch)
    assert taken(steps) == Counter(range(len(lengths)))
    assert len(steps) == len(made)
    assert all(sizes(steps))
    assert made.steps(epoch) == steps
    if not by_length:
        assert all(len(part) <= size // parts for step in steps for part in step)
        assert sizes(steps) == sizes(EpochPlan(lengths, size, 1, 7, by_length).steps(epoch))


@given(LENGTHS, st.lists(PLAN, min_size=2, max_size=4), st.booleans(), st.data())
def test_any_number_of_processes_goes_on(
    lengths: list[int], plans: list[tuple[int, int]], by_length: bool, data: st.DataObject
) -> None:
    earlier: list[Stretch] = []
    seen: Counter[int] = Counter()
    for number, (size, parts) in enumerate(plans):
        plan = EpochPlan(lengths, size, parts, 7, by_length)
        before = seen.total()
        steps = plan.steps(2, before, earlier)
        assert len(steps) == -(-(len(lengths) - before) // size)
        if number < len(plans) - 1:
            steps = steps[: data.draw(st.integers(0, len(steps)))]
        for count in range(len(steps)):  # broken off after any step, the same plan goes on
            done = before + sum(sizes(steps[:count]))
            assert plan.steps(2, done, earlier)[: len(steps) - count] == steps[count:]
        seen += taken(steps)
        if steps:
            earlier.append(Stretch(size, parts, sum(sizes(steps))))
    assert seen == Counter(range(len(lengths)))


@given(LENGTHS, st.integers(1, 4), st.integers(1, 3), st.integers(1, 3), st.booleans())
def test_processes_share_the_steps_that_one_would_accumulate(
    lengths: list[int], size: int, accumulated: int, processes: int, by_length: bool
) -> None:
    parts = accumulated * processes
    plan = EpochPlan(lengths, size * parts, parts, 3, by_length)

    def batches(processes: int) -> list[Counter[tuple[int, ...]]]:
        loaders = [
            StepLoader(range(len(lengths)), lambda items: {"items": torch.tensor(items)}, plan,
                       rank=rank, processes=processes)
            for rank in range(processes)
        ]  # fmt: skip
        found = []
        for shares in zip(*(loader.steps(2) for loader in loaders), strict=True):
            each = [tuple(b["items"].tolist()) for _, batches in shares for b in batches]
            assert {count for count, _ in shares} == {sum(map(len, each))}
            found.append(Counter(each))
        return found

    assert batches(processes) == batches(1)


def test_epochs_and_seeds_differ() -> None:
    def order(epoch: int, seed: int = 1, by_length: bool = True) -> list[Step]:
        return EpochPlan([5] * 40, 4, 1, seed, by_length).steps(epoch)

    for by_length in (True, False):
        assert order(0, by_length=by_length) != order(1, by_length=by_length)
        assert order(0, by_length=by_length) != order(0, 2, by_length)


def test_an_epoch_may_choose_its_examples() -> None:
    plan = EpochPlan([n % 7 for n in range(100)], 8, 2, choose=lambda n: list(range(n, 50 + n)))
    assert (plan.count, len(plan)) == (50, 7)
    assert taken(plan.steps(3)) == Counter(range(3, 53))


def test_the_largest_part_is_of_the_longest() -> None:
    lengths = [*range(1, 33), 100]
    assert EpochPlan(lengths, 8, 2).largest() == [32]  # 100 of an average of 19 tokens
    assert EpochPlan(lengths, 16, 2).largest() == [32, 31, 30]
    assert EpochPlan(lengths, 8, 2, by_length=False).largest() == [32, 31, 30, 29]
    assert EpochPlan([3], 4, 1).largest() == [0]


def test_a_run_ends_when_its_epochs_do_whoever_goes_on(tmp_path: Path) -> None:
    plan = EpochPlan([5] * 100, 20, 2)
    record = {"identity": {}, "config": {}, "step_examples": 10, "step_parts": 1}
    (tmp_path / "run.json").write_text(json.dumps(record), encoding="utf-8")
    (tmp_path / "trainer_state.json").write_text("{}", encoding="utf-8")
    config = BaselineArguments(num_train_epochs=3)
    state = RunState(epoch=1, examples=30, step=13)
    note_other_plan(tmp_path, state, plan, 3)
    assert state.stretches == [Stretch(10, 1, 30)]
    assert StepCounts.of(config, len(plan), state.more_steps).total == 13 + 4 + 5
    longer = replace(config, num_train_epochs=4)
    assert StepCounts.of(longer, len(plan), state.more_steps).total == 13 + 4 + 5 + 5
    record |= {"step_examples": 20, "step_parts": 2}
    (tmp_path / "run.json").write_text(json.dumps(record), encoding="utf-8")
    before = replace(state)
    note_other_plan(tmp_path, state, plan, 3)  # the same plan again changes nothing
    assert state == before
