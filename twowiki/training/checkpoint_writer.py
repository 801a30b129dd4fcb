"""A checkpoint is written beside the training: its tensors are copied, and the run goes on.

In: a model, its optimizer, and what writes them. A thread fills a folder aside, and the main thread
moves it to its place at a later step, so that no reader and no kill ever meets half of one. What
fails ends the run with one sentence; the end of a run waits.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple

from twowiki.errors import DataError

if TYPE_CHECKING:
    from torch import Tensor, nn


class Writing(NamedTuple):
    """A checkpoint that is being written: the thread, what moves it to its place, and that."""

    thread: Thread
    place: Callable[[], None]
    target: Path
    failed: list[Exception]


class CheckpointWriter:
    """Writes one checkpoint at a time, in a thread; its methods are for the main thread."""

    def __init__(self) -> None:
        self._writing: Writing | None = None

    def start(self, write: Callable[[], None], place: Callable[[], None], target: Path) -> None:
        """Begin to write; an earlier checkpoint is waited for.

        Args:
            write: fills the folder aside, in the thread.
            place: moves it to the target, in the main thread.
            target: the checkpoint, as an error names it.
        """
        self.finish()
        failed: list[Exception] = []

        def work() -> None:
            try:
                write()
            except Exception as error:
                failed.append(error)

        thread = Thread(target=work, name="checkpoint")
        self._writing = Writing(thread, place, target, failed)
        thread.start()

    def look(self) -> None:
        """Put a checkpoint that is written in its place; after a step."""
        if self._writing is not None and not self._writing.thread.is_alive():
            self.finish()

    def finish(self) -> None:
        """Wait for the checkpoint that is being written, and put it in its place.

        Raises:
            DataError: it could not be written.
        """
        if self._writing is None:
            return
        self._writing.thread.join()
        done, self._writing = self._writing, None
        if not done.failed:
            done.place()
            return
        reason = " ".join(str(done.failed[0]).split()) or type(done.failed[0]).__name__
        raise DataError(
            f"could not be written ({reason})",
            file=done.target,
            remedy="Make room, and go on from the last one with --resume_from_checkpoint auto",
        ) from done.failed[0]


def on_cpu(value: Any) -> Any:
    """Copy the tensors of nested dicts and lists into memory."""
    from torch import Tensor

    if isinstance(value, Tensor):
        return value.detach().to("cpu", copy=True)
    if isinstance(value, dict):
        return {name: on_cpu(one) for name, one in value.items()}
    return [on_cpu(one) for one in value] if isinstance(value, list) else copy.copy(value)


def copy_to_memory(model: nn.Module, further: Any, tensors: Iterable[Tensor]) -> tuple[Any, Any]:
    """Copy a model and an object beside it, with all weights on the CPU and no gradients.

    Args:
        model: a plain model.
        further: what may refer to the model's weights.
        tensors: those of `further` that are no weights.
    """
    from torch.nn import Parameter

    memo: dict[int, Any] = {id(one): on_cpu(one) for one in (*model.buffers(), *tensors)}
    for weight in model.parameters():
        trained = weight.requires_grad
        memo[id(weight)] = Parameter(on_cpu(weight), trained)
    copied: tuple[Any, Any] = copy.deepcopy((model, further), memo)
    return copied
