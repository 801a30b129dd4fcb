"""Train a model through accelerate: `accelerate launch -m twowiki.train --config tiny`.

In: a configuration by name or file, and flags. Trains the task that it names, evaluates, and
leaves in `output_dir`: the best model as a folder of its own, checkpoints, the predictions,
`report.json`, `curves.png`. `twowiki.training.task` says what a task is. Heavy libraries are
imported once the settings have been read, so that `--help` and a misspelled flag answer at once.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from twowiki.io.arguments import to_dict
from twowiki.io.failures import run_guarded
from twowiki.io.files import write_json
from twowiki.io.ownership import OwnedFolder
from twowiki.training import checkpoint_files, checkpoints, output_folder, reports
from twowiki.training.checkpoints import RunState
from twowiki.training.loop import (
    CpuClock,
    NotFinite,
    RunningLosses,
    StepCounts,
    broadcast,
    check_finite,
    flat_numbers,
    gather_predictions,
    is_over,
    keep_freed_memory,
    learning_rate_at,
    note_evaluation,
    set_learning_rate,
    shows_bar,
)
from twowiki.training.settings import TrainingSettings
from twowiki.training.task import Task, make_task, read_settings


class Run(NamedTuple):
    """What the steps of a run work with, ready for this process's device."""

    config: TrainingSettings
    task: Task
    accelerator: Any
    model: Any
    optimizer: Any
    train_loader: Any
    eval_loader: Any
    state: RunState
    identity: dict[str, Any]
    batch_size: int
    weights: int
    steps: StepCounts


def main(arguments: list[str] | None = None) -> int:
    """Train, and return the exit status."""
    return run_guarded(lambda: "twowiki.train", run, arguments, expected=(NotFinite, ImportError))


def run(arguments: list[str]) -> int:
    """Read the settings, and train with batches as large as the memory allows."""
    config = read_settings(arguments)
    config.check()
    output_folder.check_output(config)
    from accelerate.utils import find_executable_batch_size
    from transformers.utils.logging import disable_progress_bar

    if config.REUSES_MEMORY:
        keep_freed_memory()
    if not sys.stderr.isatty():
        disable_progress_bar()  # type: ignore[no-untyped-call]
    size = config.per_device_train_batch_size
    with output_folder.held_output(config):
        find_executable_batch_size(train, starting_batch_size=size)(config)
    return 0


def train(batch_size: int, config: TrainingSettings) -> None:
    """Train from the start or a checkpoint, and report; a smaller batch after out-of-memory."""
    from accelerate import skip_first_batches

    run = start(batch_size, config)
    state, accelerator, loader = run.state, run.accelerator, run.train_loader
    hidden = not shows_bar(accelerator)
    bar = tqdm(total=run.steps.total, initial=state.step, unit="step", disable=hidden)
    losses, clock = RunningLosses(), CpuClock(state)
    stopped = is_over(config, state)
    run.model.train()
    for epoch in range(state.epoch, config.num_train_epochs):
        if stopped:
            break
        loader.set_epoch(epoch)
        for batch in skip_first_batches(loader, state.batch) if state.batch else loader:
            if take_batch(run, batch, losses, clock):
                bar.update()
                stopped = after_step(run, epoch, losses, clock, bar)
                if stopped:
                    break
    bar.close()
    accelerator.print(f"stopped after {state.step} steps: {stopped or 'the end'}")
    if accelerator.is_main_process:
        finish(run)
    accelerator.wait_for_everyone()
    accelerator.end_training()
    if config.push_to_hub and accelerator.is_main_process:  # a failure here costs no process
        from twowiki.hub.push import push

        best = Path(config.output_dir) / "best"
        pushed = push(best, config.hub_model_id, private=config.hub_private_repo)
        print(f"pushed to {pushed.address}")


def start(batch_size: int, config: TrainingSettings) -> Run:
    """Prepare data, model, optimizer and processes, and load the checkpoint to continue from."""
    import torch
    from accelerate import Accelerator
    from accelerate.utils import set_seed

    if config.tf32:
        torch.set_float32_matmul_precision("high")
    accelerator = Accelerator(
        gradient_accumulation_steps=config.gradient_accumulation_steps,
        mixed_precision="bf16" if config.bf16 else "fp16" if config.fp16 else None,
        log_with=config.report_to or None,
        project_dir=config.output_dir,
    )
    show = accelerator.print
    if batch_size != config.per_device_train_batch_size:
        wanted = config.per_device_train_batch_size
        show(f"out of memory: continuing with batches of {batch_size} instead of {wanted}")
    checkpoint = checkpoints.find_checkpoint(config)
    saved = checkpoint / "model" if checkpoint else checkpoints.find_saved_model(config)
    task = make_task(config)
    with accelerator.main_process_first():
        task.prepare(saved)
    identity = {"data": task.identity(), "processes": accelerator.num_processes}
    if checkpoint:
        checkpoints.check_same_run(checkpoint, config, identity)
    if accelerator.is_main_process and not checkpoint:
        write_json(Path(config.output_dir) / "config.json", to_dict(config))
    set_seed(config.seed, device_specific=True)
    model = task.build_model()
    weights = task.count_weights(model)
    for line in task.describe():
        show(line)
    show(f"{weights:,} weights, {accelerator.num_processes} process(es)")
    optimizer = task.make_optimizer(model)
    model, optimizer, train_loader, eval_loader = accelerator.prepare(
        model, optimizer, *task.make_loaders(batch_size)
    )
    state = RunState()
    accelerator.register_for_checkpointing(state)
    if config.report_to:
        values = to_dict(config).items()
        plain = {name: value for name, value in values if isinstance(value, int | float | str)}
        accelerator.init_trackers("twowiki", config=plain)
    if checkpoint:
        checkpoint_files.load_checkpoint(accelerator, checkpoint)
        show(f"continuing from {checkpoint} (step {state.step})")
    return Run(
        config, task, accelerator, model, optimizer, train_loader, eval_loader, state, identity,
        batch_size, weights, StepCounts.of(config, len(train_loader)),
    )  # fmt: skip


def take_batch(run: Run, batch: Any, losses: RunningLosses, clock: CpuClock) -> bool:
    """Learn from a batch; return whether the optimizer stepped."""
    config, accelerator, state = run.config, run.accelerator, run.state
    with accelerator.accumulate(run.model):
        output = run.task.forward(run.model, batch)
        check_finite(accelerator, output.loss, state.step + 1)
        accelerator.backward(output.loss)
        if accelerator.sync_gradients:
            if config.max_grad_norm:
                accelerator.clip_grad_norm_(run.model.parameters(), config.max_grad_norm)
            progress = max(state.step / run.steps.total, clock.share(config.max_cpu_minutes))
            rate = learning_rate_at(config, state, progress, run.steps.warmup)
            set_learning_rate(run.optimizer, rate)
        run.optimizer.step()
        run.optimizer.zero_grad()
    losses.add(output)
    state.batch += 1
    return bool(accelerator.sync_gradients)


def after_step(run: Run, epoch: int, losses: RunningLosses, clock: CpuClock, bar: Any) -> str:
    """Log, evaluate and save as the settings say; return the reason to stop, or nothing."""
    config, accelerator, state, steps = run.config, run.accelerator, run.state, run.steps
    state.step += 1
    state.stopped = ""
    clock.tick()
    epoch_done = state.batch >= len(run.train_loader)
    if state.step % steps.logging == 0:
        record = losses.mean(accelerator) | {"rate": run.optimizer.param_groups[0]["lr"]}
        state.history.append({"step": state.step, **record})
        bar.set_postfix(loss=f"{record['loss']:.3f}")
        accelerator.log(flat_numbers(record), step=state.step)
    spent = broadcast(accelerator, clock.share(config.max_cpu_minutes) >= 1.0)
    last = spent or state.step >= steps.total
    evaluates = last or (state.step % steps.eval == 0 if steps.eval else epoch_done)
    if epoch_done:
        state.epoch, state.batch = epoch + 1, 0
    if evaluates:
        evaluate(run)
        clock.restart()
        state.stopped = is_over(config, state) or ("the end" if last else "")
    if state.stopped or (state.step % steps.save == 0 if steps.save else evaluates):
        checkpoints.save_checkpoint(
            accelerator, run.model, run.task.save, config, state, run.identity
        )
        clock.restart()
    return state.stopped


def evaluate(run: Run) -> None:
    """Score the validation examples; keep the model and its predictions if they are the best."""
    config, accelerator, state, task = run.config, run.accelerator, run.state, run.task
    was_training = run.model.training
    run.model.eval()
    predicted = gather_predictions(task.predict(run.model, run.eval_loader))
    run.model.train(was_training)
    result = task.score(predicted) if accelerator.is_main_process else None
    metrics = broadcast(accelerator, result and result.metrics)
    best = note_evaluation(config, state, metrics[config.metric_for_best_model])
    state.history.append({"step": state.step, "epoch": state.epoch, "metrics": metrics})
    accelerator.log({f"validation/{k}": v for k, v in metrics.items()}, step=state.step)
    known = (*reports.JOINT_COLUMNS, *reports.FURTHER)
    shown = (*(name for name in known if name in metrics), config.metric_for_best_model)
    line = " ".join(f"{name} {metrics[name]:.2f}" for name in dict.fromkeys(shown))
    accelerator.print(f"step {state.step}: {line}{'  (best)' if best else ''}")
    if best and result is not None:
        output = Path(config.output_dir)
        checkpoints.save_model(accelerator, run.model, task.save, output / "best")
        result.files["scores.json"] |= {"step": state.step}
        OwnedFolder(output).claim(*result.files)
        for name, content in result.files.items():
            write_json(output / name, content)
    accelerator.wait_for_everyone()


def finish(run: Run) -> None:
    """Write the report, the curves and the model's card, and print the scores."""
    from twowiki.hub.model_card import write_model_card

    config, state = run.config, run.state
    output = Path(config.output_dir)
    scores = json.loads((output / "scores.json").read_text(encoding="utf-8"))
    report = {
        "scores": scores,
        **run.task.report(),
        "steps": state.step,
        "epochs": state.epoch,
        "stopped": state.stopped,
        "cpu_seconds": round(state.cpu_seconds, 1),
        "weights": run.weights,
        "batch_size": run.batch_size,
        "seed": config.seed,
        "config": to_dict(config),
        "versions": reports.versions(),
        "hardware": reports.hardware(run.accelerator.num_processes),
        "commit": reports.commit(),
        "command": sys.argv,
        "history": state.history,
    }
    write_json(output / "report.json", report)
    reports.draw_curves(state.history, output / "curves.png", config.metric_for_best_model)
    OwnedFolder(output).claim("best/README.md")
    write_model_card(output / "best", report)
    print(run.task.summary(scores, report))


if __name__ == "__main__":
    sys.exit(main())
