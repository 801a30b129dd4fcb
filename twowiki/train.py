"""Train a model through accelerate: `accelerate launch -m twowiki.train --config tiny`.

Reads a configuration (YAML and flags), trains the task that it names, evaluates, and leaves in
`output_dir`: the best model as a folder of its own, checkpoints, the predictions, `report.json`,
`curves.png`. What a task is, `twowiki.training.task` says.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from accelerate import Accelerator, skip_first_batches
from accelerate.utils import broadcast_object_list, find_executable_batch_size, set_seed
from tqdm import tqdm
from transformers.utils.logging import disable_progress_bar

from twowiki.errors import DataError
from twowiki.hub.model_card import write_model_card
from twowiki.hub.push import push
from twowiki.io.files import write_json
from twowiki.training import checkpoints, reports
from twowiki.training.checkpoints import RunState, require_model
from twowiki.training.evaluation import gather_predictions
from twowiki.training.loop import (
    CpuClock,
    NotFinite,
    RunningLosses,
    agreed,
    check_finite,
    flat,
    is_over,
    keep_freed_memory,
    learning_rate_at,
    note_evaluation,
    set_learning_rate,
    shows_bar,
)
from twowiki.training.settings import RunConfig
from twowiki.training.task import Task, read_config, task_of


class Run(NamedTuple):
    """What the steps of a run work with, ready for this process's device."""

    config: RunConfig
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
    total_steps: int


def main(arguments: list[str] | None = None) -> int:
    """Run; give the exit status."""
    try:
        config = read_config(arguments)
        config.check()
        if config.KEEPS_MEMORY:
            keep_freed_memory()
        if not sys.stderr.isatty():
            disable_progress_bar()  # type: ignore[no-untyped-call]
        find_executable_batch_size(train, starting_batch_size=config.batch_size)(config)
    except (DataError, NotFinite, ImportError) as error:
        print(f"twowiki.train: {error}", file=sys.stderr)
        return 2
    return 0


def train(batch_size: int, config: RunConfig) -> None:
    """Train from the start or a checkpoint, and report; a smaller batch after out-of-memory."""
    run = start(batch_size, config)
    state, accelerator, loader = run.state, run.accelerator, run.train_loader
    hidden = not shows_bar(accelerator)
    bar = tqdm(total=run.total_steps, initial=state.step, unit="step", disable=hidden)
    losses, clock = RunningLosses(), CpuClock(state)
    stopped = is_over(config, state)
    run.model.train()
    for epoch in range(state.epoch, config.epochs):
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
    if config.push_to_hub and accelerator.is_main_process:  # what fails here costs no process
        print(f"pushed to {push(Path(config.output_dir) / 'best', config.hub_repo).address}")


def start(batch_size: int, config: RunConfig) -> Run:
    """Prepare data, model, optimiser and processes, and load the checkpoint to go on from."""
    accelerator = Accelerator(
        gradient_accumulation_steps=config.gradient_accumulation,
        mixed_precision=config.mixed_precision or None,
        log_with=config.trackers or None,
        project_dir=config.output_dir,
    )
    say = accelerator.print
    if batch_size != config.batch_size:
        say(f"out of memory: going on with batches of {batch_size}, not {config.batch_size}")
    checkpoint = checkpoints.find_checkpoint(config)
    saved = checkpoint / "model" if checkpoint else None
    if saved is None and config.init_from:
        saved = require_model(config.init_from)
    task = task_of(config)
    with accelerator.main_process_first():
        task.prepare(saved)
    identity = {"data": task.identity(), "processes": accelerator.num_processes}
    if checkpoint:
        checkpoints.check_same_run(checkpoint, config, identity)
    if accelerator.is_main_process and not checkpoint:
        write_json(Path(config.output_dir) / "config.json", asdict(config))
    set_seed(config.seed, device_specific=True)
    model = task.build_model()
    weights = task.count_weights(model)
    for line in task.describe():
        say(line)
    say(f"{weights:,} weights, {accelerator.num_processes} process(es)")
    optimizer = task.make_optimizer(model)
    model, optimizer, train_loader, eval_loader = accelerator.prepare(
        model, optimizer, *task.make_loaders(batch_size)
    )
    state = RunState()
    accelerator.register_for_checkpointing(state)
    if config.trackers:
        plain = {k: v for k, v in asdict(config).items() if isinstance(v, int | float | str)}
        accelerator.init_trackers("twowiki", config=plain)
    if checkpoint:
        accelerator.load_state(str(checkpoint))
        say(f"going on from {checkpoint} (step {state.step})")
    steps_an_epoch = -(-len(train_loader) // config.gradient_accumulation)
    total_steps = min(config.epochs * steps_an_epoch, config.max_steps or sys.maxsize)
    return Run(
        config, task, accelerator, model, optimizer, train_loader, eval_loader, state, identity,
        batch_size, weights, total_steps,
    )  # fmt: skip


def take_batch(run: Run, batch: Any, losses: RunningLosses, clock: CpuClock) -> bool:
    """Learn from a batch; say whether the optimiser stepped."""
    config, accelerator, state = run.config, run.accelerator, run.state
    with accelerator.accumulate(run.model):
        output = run.task.forward(run.model, batch)
        check_finite(accelerator, output.loss, state.step + 1)
        accelerator.backward(output.loss)
        if accelerator.sync_gradients:
            if config.clip_norm:
                accelerator.clip_grad_norm_(run.model.parameters(), config.clip_norm)
            progress = max(state.step / run.total_steps, clock.share(config.max_cpu_minutes))
            set_learning_rate(run.optimizer, learning_rate_at(config, state, progress))
        run.optimizer.step()
        run.optimizer.zero_grad()
    losses.add(output)
    state.batch += 1
    return bool(accelerator.sync_gradients)


def after_step(run: Run, epoch: int, losses: RunningLosses, clock: CpuClock, bar: Any) -> str:
    """Log, evaluate and save as the settings say; give the reason to stop, if there is one."""
    config, accelerator, state = run.config, run.accelerator, run.state
    state.step += 1
    state.stopped = ""
    clock.tick()
    epoch_done = state.batch >= len(run.train_loader)
    if state.step % config.log_every == 0:
        record = losses.mean(accelerator) | {"rate": run.optimizer.param_groups[0]["lr"]}
        state.history.append({"step": state.step, **record})
        bar.set_postfix(loss=f"{record['loss']:.3f}")
        accelerator.log(flat(record), step=state.step)
    spent = agreed(accelerator, clock.share(config.max_cpu_minutes) >= 1.0)
    last = spent or state.step >= run.total_steps
    evaluates = last or (state.step % config.eval_every == 0 if config.eval_every else epoch_done)
    if epoch_done:
        state.epoch, state.batch = epoch + 1, 0
    if evaluates:
        evaluate(run)
        clock.restart()
        state.stopped = is_over(config, state) or ("the end" if last else "")
    if state.stopped or (state.step % config.save_every == 0 if config.save_every else evaluates):
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
    outcome = task.score(predicted) if accelerator.is_main_process else None
    told: list[Any] = [outcome and outcome.metrics]
    broadcast_object_list(told)
    metrics = told[0]
    best = note_evaluation(config, state, metrics[config.metric])
    state.history.append({"step": state.step, "epoch": state.epoch, "metrics": metrics})
    accelerator.log({f"validation/{k}": v for k, v in metrics.items()}, step=state.step)
    known = (*reports.COLUMNS, *reports.FURTHER)
    names = dict.fromkeys((*(name for name in known if name in metrics), config.metric))
    shown = " ".join(f"{name} {metrics[name]:.2f}" for name in names)
    accelerator.print(f"step {state.step}: {shown}{'  (best)' if best else ''}")
    if best and outcome is not None:
        output = Path(config.output_dir)
        checkpoints.save_model(accelerator, run.model, task.save, output / "best")
        outcome.files["scores.json"] |= {"step": state.step}
        for name, content in outcome.files.items():
            write_json(output / name, content)
    accelerator.wait_for_everyone()


def finish(run: Run) -> None:
    """Write the report, the curves and the model's card, and print the scores."""
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
        "config": asdict(config),
        "versions": reports.versions(),
        "hardware": reports.hardware(run.accelerator.num_processes),
        "commit": reports.commit(),
        "command": sys.argv,
        "history": state.history,
    }
    write_json(output / "report.json", report)
    reports.draw_curves(state.history, output / "curves.png", config.metric)
    write_model_card(output / "best", report)
    print(run.task.summary(scores, report))


if __name__ == "__main__":
    sys.exit(main())
