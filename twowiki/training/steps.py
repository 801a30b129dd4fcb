"""One optimizer step: every batch of it on every process, and one loss for all of them.

The loss is the mean over the labels of the whole step: each batch's part is divided by the step's
counts, so that neither the number of processes nor that of the batches, nor a small last step,
moves it. A batch that does not fit into memory is taken again in halves, by the process that it
does not fit on; the gradients are added up over the processes once all of them are through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor

from twowiki.training.loaders import Batch
from twowiki.training.memory import halves, is_out_of_memory, release_memory, too_large

_BUCKET = 2**25  # numbers that are added up over the processes at once

Losses = dict[str, Tensor]


class NotFinite(RuntimeError):
    """The loss is NaN or infinite."""


class Verdict(NamedTuple):
    """Whether all processes can go on after a step: read once the device has computed it.

    Attributes:
        problems: the processes without memory, and those whose loss is not finite.
        ready: the event after which they can be read; None where they can at once.
        loss: of this process.
        failed: number of an example that does not fit on this process.
        step: the step.
    """

    problems: Tensor
    ready: Any
    loss: Tensor
    failed: int | None
    step: int

    def read(self) -> None:
        """Raise where a process cannot go on."""
        if self.ready is not None:
            self.ready.synchronize()
        memory, wrong = self.problems.tolist()
        if memory:
            raise too_large(self.failed)
        if wrong:
            raise NotFinite(
                f"the loss is {self.loss.item()} at step {self.step}: nothing after the last "
                "checkpoint is kept. Lower learning_rate, set max_grad_norm, or train without "
                "mixed precision"
            )


@dataclass
class Learner:
    """What computes the gradients of a step.

    Attributes:
        accelerator: of the run.
        model: as the accelerator prepared it.
        count_labels: a batch to the counts that its loss is divided by.
        forward: model, batch and the step's counts to an output with `loss` and `losses`.
        collate: numbers of items to their batch.
        note: takes a line for people.
        late: whether problems of a step are read a step later, so that the device never waits.
    """

    accelerator: Any
    model: Any
    count_labels: Callable[[Batch], Tensor]
    forward: Callable[[Any, Batch, Tensor], Any]
    collate: Callable[[Sequence[int]], Batch]
    note: Callable[[str], None]
    late: bool = False
    verdicts: list[Verdict] = field(default_factory=list)

    def compute(self, batches: Sequence[Batch], step: int) -> Losses:
        """Compute the gradients of a step; return this process's part of its losses.

        All processes call this, those without a batch too.

        Raises:
            NotFinite: the loss of a process is not finite, with the step.
            DataError: an example does not fit into the memory of a process.
            Both are of the step before where problems are read late; see `settle`.
        """
        placed = [self._placed(batch) for batch in batches]
        counts = self._step_counts(placed)
        losses, failed = self._backward(placed, counts)
        self._agree(losses, failed, step)
        self.settle(keep=int(self.late))
        add_up_gradients(self.accelerator, self.model.parameters())
        return losses

    def settle(self, keep: int = 0) -> None:
        """Raise what a step has raised, all but the last ones; before anything is kept."""
        while len(self.verdicts) > keep:
            self.verdicts.pop(0).read()

    def rehearse(self, numbers: Sequence[int]) -> None:
        """Compute the gradients of a batch and drop them: what does not fit shows at once."""
        device = self.accelerator.device
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            batch = self._placed(self.collate(numbers))
            losses, failed = self._backward([batch], self._step_counts([batch]))
        self._agree(losses, failed, 0)
        self.settle()
        self._clear()

    def _placed(self, batch: Batch) -> Batch:
        from accelerate.utils import send_to_device

        placed: Batch = send_to_device(batch, self.accelerator.device, non_blocking=True)
        return placed

    def _step_counts(self, batches: Sequence[Batch]) -> Tensor:
        """Add the label counts up, over the batches of all processes."""
        own = [self.count_labels(batch) for batch in batches]
        if not own:  # a process without a batch takes part in the sum
            own = [0 * self.count_labels(self._placed(self.collate([0])))]
        counts = torch.stack(own).sum(dim=0)
        if self.accelerator.num_processes > 1:
            counts = self.accelerator.reduce(counts, reduction="sum")
        return counts

    def _backward(self, batches: Sequence[Batch], counts: Tensor) -> tuple[Losses, int | None]:
        """Return the losses, and the number of an example that does not fit, if there is one."""
        parts = list(batches)
        while True:
            losses: Losses = {}
            try:
                for batch in parts:
                    self._add(losses, self.forward(self.model, batch, counts))
                return losses, None
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
            del losses
            numbers = [batch["numbers"].tolist() for batch in parts]
            self._clear()
            release_memory()
            largest = max(map(len, numbers))
            if largest == 1:
                return {}, numbers[0][0]
            self.note(
                f"out of memory: a batch of {largest} is taken again in parts of {-(-largest // 2)}"
            )
            smaller = [half for part in numbers for half in halves(part) if half]
            parts = [self._placed(self.collate(part)) for part in smaller]

    def _add(self, losses: Losses, output: Any) -> None:
        self.accelerator.backward(output.loss)
        for name, value in {"loss": output.loss, **output.losses}.items():
            value = value.detach().float()
            losses[name] = losses[name] + value if name in losses else value

    def _clear(self) -> None:
        for parameter in self.model.parameters():
            parameter.grad = None

    def _agree(self, losses: Losses, failed: int | None, step: int) -> None:
        """Note whether all processes can go on."""
        loss = losses.get("loss", torch.zeros((), device=self.accelerator.device))
        problems = torch.stack([
            torch.full_like(loss, float(failed is not None)), (~torch.isfinite(loss)).float()
        ])  # fmt: skip
        if self.accelerator.num_processes > 1:
            problems = self.accelerator.reduce(problems, reduction="sum")
        ready = None
        if problems.is_cuda:
            problems = torch.empty_like(problems, device="cpu", pin_memory=True).copy_(
                problems, non_blocking=True
            )
            ready = torch.cuda.Event()  # type: ignore[no-untyped-call]
            ready.record()
        self.verdicts.append(Verdict(problems, ready, loss, failed, step))


def add_up_gradients(accelerator: Any, parameters: Iterable[Any]) -> None:
    """Add the gradients up over all processes, in place. All processes call this."""
    if accelerator.num_processes == 1:
        return
    bucket: list[Tensor] = []
    size = 0
    for parameter in parameters:
        if not parameter.requires_grad:
            continue
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        bucket.append(parameter.grad)
        size += parameter.numel()
        if size >= _BUCKET:
            _add_up(bucket)
            bucket, size = [], 0
    _add_up(bucket)


def _add_up(bucket: Sequence[Tensor]) -> None:
    by_type: dict[torch.dtype, list[Tensor]] = {}
    for one in bucket:
        by_type.setdefault(one.dtype, []).append(one)
    for same in by_type.values():
        flat = torch.cat([one.reshape(-1) for one in same])
        torch.distributed.all_reduce(flat)
        for one, total in zip(same, torch.split(flat, [one.numel() for one in same]), strict=True):
            one.copy_(total.view_as(one))


def share_weights(accelerator: Any, model: Any) -> None:
    """Make every process start from the first one's weights. All processes call this."""
    if accelerator.num_processes > 1:
        for value in (*model.parameters(), *model.buffers()):
            torch.distributed.broadcast(value.detach(), 0)
