"""A run made ready: data, model, optimizer and processes, and the checkpoint to continue from.

In: a run's settings. Out: a `Run`, what the steps of the loop in `twowiki.train` work with. A
checkpoint of another run, or a way to spread a model that is not supported, is refused.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from twowiki.errors import DataError
from twowiki.hub.run_record import run_id, run_of_model
from twowiki.io.arguments import to_dict
from twowiki.io.files import write_json
from twowiki.training import checkpoint_files, checkpoints, run_log
from twowiki.training.checkpoint_writer import CheckpointWriter
from twowiki.training.checkpoints import RunState
from twowiki.training.loop import StepCounts
from twowiki.training.settings import TrainingSettings
from twowiki.training.task import Task, make_task

if TYPE_CHECKING:
    from twowiki.training.averaging import AverageWeights
    from twowiki.training.epoch_plan import EpochPlan
    from twowiki.training.loaders import StepLoader
    from twowiki.training.steps import Learner

LONGEST_WAIT = timedelta(hours=2)  # of a process for another one: torch's 10 minutes are few


class Run(NamedTuple):
    """What the steps of a run work with, ready for this process's device."""

    config: TrainingSettings
    task: Task
    accelerator: Any
    model: Any
    optimizer: Any
    train_loader: StepLoader
    eval_loader: Any
    learner: Learner
    average: AverageWeights
    state: RunState
    record: dict[str, Any]  # the run's id and identity, and the examples and parts of a step
    weights: int
    steps: StepCounts
    pace: run_log.Pace
    writer: CheckpointWriter

    @property
    def output(self) -> Path:
        """The run's folder."""
        return Path(self.config.output_dir)

    def show(self, lines: Sequence[str]) -> None:
        """Print lines on the main process, at once."""
        run_log.print_lines(self.accelerator, lines)


def start(config: TrainingSettings) -> Run:
    """Prepare data, model, optimizer and processes, and load the checkpoint to continue from."""
    from accelerate.utils import set_seed

    from twowiki.training import averaging, steps

    check_launch(config)
    checkpoint = checkpoints.find_checkpoint(config)
    task = make_task(config)
    if os.environ.get("RANK", "0") == "0":
        print(*task.announce(), sep="\n", end="\n" if task.announce() else "", flush=True)
    task.prepare(checkpoints.find_start(config, checkpoint))  # no other process is there yet
    accelerator = make_accelerator(config)
    identity = checkpoints.run_identity(config, task.identity())
    train_loader, eval_loader = task.make_loaders(
        accelerator.process_index, accelerator.num_processes
    )
    plan = train_loader.plan
    record: dict[str, Any] = {"run": run_id(identity), "identity": identity}
    record |= {"step_examples": plan.size, "step_parts": plan.parts}
    state = RunState()
    if checkpoint:
        checkpoints.check_same_run(checkpoint, identity)
        state.load(checkpoint)
        note_other_plan(checkpoint, state, plan, config.num_train_epochs)
    elif accelerator.is_main_process:
        write_json(Path(config.output_dir) / "config.json", to_dict(config))
    set_seed(config.seed, device_specific=True)
    model = task.build_model()
    weights = task.count_weights(model)
    optimizer = task.make_optimizer(model)
    plain = model
    model = accelerator.prepare_model(model, evaluation_mode=True)  # gradients: see `steps`
    optimizer, eval_loader = accelerator.prepare(optimizer, eval_loader)
    counts = StepCounts.of(config, len(train_loader), state.more_steps)
    counted = run_log.Counted(
        counts.total, plan.size, plan.count, plan.parts // accelerator.num_processes
    )
    lines = run_log.opening(config, accelerator, plain, weights, counted, record["run"])
    run_log.print_lines(accelerator, [*task.describe(), *lines])
    if config.report_to:
        values = {"run": record["run"], **to_dict(config)}.items()
        known = {name: value for name, value in values if isinstance(value, int | float | str)}
        accelerator.init_trackers("twowiki", config=known)
    learner = steps.Learner(
        accelerator, model, task.count_labels, task.forward, train_loader.collate,
        lambda line: print(f"process {accelerator.process_index}: {line}", flush=True),
        late=accelerator.device.type == "cuda",
    )  # fmt: skip
    steps.share_weights(accelerator, model)
    average = averaging.AverageWeights(plain, config.ema_decay, config.start_share)
    if checkpoint:
        resume(accelerator, model, state, checkpoint)
        average.load(checkpoint)
    return Run(
        config, task, accelerator, model, optimizer, train_loader, eval_loader, learner, average,
        state, record, weights, counts, run_log.Pace(state), CheckpointWriter(),
    )  # fmt: skip


def check_launch(config: TrainingSettings) -> None:
    """Raise, before anything is encoded, on a launch that the run cannot have.

    Raises:
        DataError: the model would be cut over the processes, which neither shares weights nor
            saves them here, or the processes cannot share the global batch.
    """
    from twowiki.training import loaders

    for name in ("FSDP", "DEEPSPEED", "MEGATRON_LM"):
        if os.environ.get(f"ACCELERATE_USE_{name}", "").lower() in ("true", "1"):
            raise _not_supported(name)
    loaders.batches_per_step(config, int(os.environ.get("WORLD_SIZE", "1")))


def _not_supported(kind: str) -> DataError:
    remedy = "Launch one process per device, without it"
    return DataError(f"cannot be trained with {kind}", field="task", remedy=remedy)


def make_accelerator(config: TrainingSettings) -> Any:
    """Return the accelerator of a run; it saves no weights, which a model's folder has."""
    import torch
    from accelerate import Accelerator, DataLoaderConfiguration, InitProcessGroupKwargs

    if config.tf32 and torch.cuda.is_available():
        torch.set_float32_matmul_precision("high")
        torch.backends.cudnn.allow_tf32 = True
    accelerator = Accelerator(
        mixed_precision="bf16" if config.bf16 else "fp16" if config.fp16 else None,
        log_with=config.report_to or None,
        project_dir=config.output_dir,
        dataloader_config=DataLoaderConfiguration(non_blocking=True),
        kwargs_handlers=[InitProcessGroupKwargs(timeout=LONGEST_WAIT)],
    )
    kind = accelerator.distributed_type.value
    if not (kind == "NO" or kind.startswith("MULTI_")):
        raise _not_supported(kind)
    checkpoint_files.leave_weights_out(accelerator)
    return accelerator


def note_other_plan(path: Path, state: RunState, plan: EpochPlan, epochs: int) -> None:
    """Note in a run's state that its steps were of another size, or dealt to other parts.

    Args:
        path: the checkpoint that the state is of.
        state: of the run, inside an epoch or between two.
        plan: of this run.
        epochs: of the whole run.
    """
    saved = checkpoint_files.read_checkpoint_run(path)
    before = saved["step_examples"], saved.get("step_parts", 1)
    if before == (plan.size, plan.parts):
        return
    own = state.examples - sum(stretch.examples for stretch in state.stretches)
    if own:
        state.earlier.append([*before, own])
    of_epoch = -(-(plan.count - state.examples) // plan.size)
    left = (epochs - state.epoch - 1) * len(plan) + of_epoch
    state.more_steps = state.step + left - epochs * len(plan)


def resume(accelerator: Any, model: Any, state: RunState, checkpoint: Path) -> None:
    """Load a checkpoint's weights; a best model of a later step counts no more."""
    known = checkpoint_files.load_checkpoint(accelerator, model, checkpoint)
    lines = [f"continuing from {checkpoint} (step {state.step:,})"]
    best = run_of_model(checkpoint.parent / "best").get("step")
    if best != state.best_step:
        state.best = None
        lines.append(f"best/ is of step {best}: the next evaluation replaces it")
    run_log.print_lines(accelerator, lines)
    if not known:
        print(f"process {accelerator.process_index}: new random numbers", flush=True)
