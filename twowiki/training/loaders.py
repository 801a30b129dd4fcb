"""The batches of a run: those of a process's training steps, and all of an evaluation.

One plan serves all processes (`twowiki.training.epoch_plan`): each takes its own parts of a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.utils.data import DataLoader

from twowiki.errors import DataError
from twowiki.training.epoch_plan import ChooseIndices, EpochPlan, Stretch, cut

Batch = dict[str, torch.Tensor]


class LongestFirst:
    """Yields batches of indices, the longest examples first.

    It has no `batch_size` and no `drop_last` on purpose: accelerate takes a sampler that has them
    for one of equal batches, and silently drops examples.

    Args:
        lengths: length of each example.
        size: examples per batch; the last batch may be smaller.
    """

    def __init__(self, lengths: Sequence[int], size: int) -> None:
        order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
        self.batches = cut(order, size)

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[list[int]]:
        return iter(self.batches)


class NumberedCollator:
    """Pads the stored items of some numbers into a batch, and keeps the numbers in it.

    Args:
        items: the stored items.
        collate: the model's collator.
    """

    def __init__(self, items: Sequence[Any], collate: Callable[[list[Any]], Any]) -> None:
        self.items, self.collate = items, collate

    def __call__(self, numbers: Sequence[int]) -> Batch:
        """Return the batch of these numbers."""
        batch: Batch = self.collate([self.items[number] for number in numbers])
        return {"numbers": torch.tensor(numbers), **batch}


class StepLoader:
    """One process's batches of every step of an epoch.

    Args:
        items: the stored items.
        collate: the model's collator.
        plan: the steps of an epoch; a process has every part whose number leaves its rank.
        rank: number of this process.
        processes: number of processes.
        workers: processes that prepare batches.
    """

    def __init__(
        self,
        items: Sequence[Any],
        collate: Callable[[list[Any]], Any],
        plan: EpochPlan,
        *,
        rank: int = 0,
        processes: int = 1,
        workers: int = 0,
    ) -> None:
        self.plan, self.rank, self.processes = plan, rank, processes
        self.collate = NumberedCollator(items, collate)
        self._queue: list[list[int]] = []  # the batches that the loader goes through
        self._loader = make_loader(items, collate, self._queue, plan.seed, workers=workers)

    def __len__(self) -> int:
        return len(self.plan)

    @property
    def size(self) -> int:
        """Number of examples in a step, those of all processes; on average, or at most."""
        return self.plan.size

    @property
    def examples(self) -> int:
        """Number of examples in an epoch, those of all processes."""
        return self.plan.count

    def steps(
        self, epoch: int, done: int = 0, earlier: Sequence[Stretch] = ()
    ) -> Iterator[tuple[int, list[Batch]]]:
        """Yield each step: its examples on all processes, and this process's batches.

        Args:
            epoch: its number.
            done: examples of it that were taken before, on all processes.
            earlier: those of them that other plans took.
        """
        steps = self.plan.steps(epoch, done, earlier)
        shares = [[part for part in step[self.rank :: self.processes] if part] for step in steps]
        self._queue[:] = [batch for share in shares for batch in share]
        batches = iter(self._loader) if self._queue else iter(())
        for step, share in zip(steps, shares, strict=True):
            yield sum(map(len, step)), [next(batches) for _ in share]

    def largest(self) -> list[int]:
        """Return the numbers of the batch that needs most memory: as many of the longest."""
        return self.plan.largest()


def make_loader(
    items: Sequence[Any],
    collate: Callable[[list[Any]], Any],
    batches: Any,
    seed: int,
    *,
    workers: int = 0,
) -> DataLoader[Any]:
    """Return a loader of numbered batches.

    It has a generator of its own: otherwise starting an epoch would draw from the generator that
    dropout uses, and a resumed run would differ from an unbroken one.
    """
    numbers: Any = range(len(items))
    return DataLoader(
        numbers,
        batch_sampler=batches,
        collate_fn=NumberedCollator(items, collate),
        generator=torch.Generator().manual_seed(seed),
        num_workers=workers,
        persistent_workers=workers > 0,
        pin_memory=torch.cuda.is_available(),
    )


def batches_per_step(config: Any, processes: int) -> int:
    """Return how many batches of a step each process takes.

    Raises:
        DataError: the processes cannot share the global batch in whole batches.
    """
    if not config.global_batch_size:
        return int(config.gradient_accumulation_steps)
    batch, whole = int(config.per_device_train_batch_size), int(config.global_batch_size)
    count, rest = divmod(whole, batch * processes)
    if rest or not count:
        raise DataError(
            f"is {whole}, which is no multiple of {batch} (examples per batch) "
            f"x {processes} (processes)",
            field="global_batch_size",
            remedy="Change per_device_train_batch_size or the number of processes; "
            "0 takes gradient_accumulation_steps instead",
        )
    return count


def make_loaders(
    config: Any,
    train: tuple[Sequence[Any], Any, Sequence[int]],
    evaluation: tuple[Sequence[Any], Any, Sequence[int]],
    *,
    rank: int,
    processes: int,
    choose: ChooseIndices | None = None,
) -> tuple[StepLoader, DataLoader[Any]]:
    """Return the loader of a process's training steps, and that of all evaluation batches.

    Args:
        config: the run's settings.
        train: the stored items of training, their collator, and their lengths.
        evaluation: the same of evaluation; the longest items come first.
        rank: number of this process.
        processes: number of processes.
        choose: see `EpochPlan`.
    """
    workers, parts = config.dataloader_num_workers, batches_per_step(config, processes) * processes
    plan = EpochPlan(
        train[2],
        config.per_device_train_batch_size * parts,
        parts,
        config.seed,
        config.train_sampling_strategy == "group_by_length",
        choose,
    )
    training = StepLoader(train[0], train[1], plan, rank=rank, processes=processes, workers=workers)
    batches = LongestFirst(evaluation[2], config.per_device_eval_batch_size)
    return training, make_loader(
        evaluation[0], evaluation[1], batches, config.seed, workers=workers
    )
