"""Train a model through accelerate: `accelerate launch -m twowiki.train --config tiny`.

In: a configuration by name or file, and flags. Trains the task that it names, evaluates, and
leaves in `output_dir`: the best model as a folder of its own, checkpoints, the predictions,
`report.json`, `curves.png`. `twowiki.training.task` says what a task is. Heavy libraries are
imported once the settings have been read, so that `--help` and a misspelled flag answer at once.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from twowiki.errors import DataError
from twowiki.hub.run_record import check_run_files
from twowiki.io.arguments import to_dict
from twowiki.io.failures import run_guarded
from twowiki.io.files import sha256_of, write_json
from twowiki.io.ownership import OwnedFolder
from twowiki.training import checkpoints, output_folder, reports, run_log
from twowiki.training.loop import (
    CpuClock,
    RunningLosses,
    broadcast,
    gather_predictions,
    is_over,
    is_spent,
    learning_rate_at,
    note_evaluation,
    set_learning_rate,
)
from twowiki.training.memory import is_out_of_memory, keep_freed_memory
from twowiki.training.run import Run, start
from twowiki.training.settings import TrainingSettings
from twowiki.training.task import read_settings

if TYPE_CHECKING:
    from twowiki.training.loaders import Batch


def main(arguments: list[str] | None = None) -> int:
    """Train, and return the exit status."""
    return run_guarded(lambda: "twowiki.train", run, arguments, expected=(ImportError,))


def run(arguments: list[str]) -> int:
    """Read the settings, hold the folder, and train."""
    config = read_settings(arguments)
    config.check()
    output_folder.check_output(config)
    from transformers.utils.logging import disable_progress_bar

    if config.REUSES_MEMORY:
        keep_freed_memory()
    if not sys.stderr.isatty():
        disable_progress_bar()  # type: ignore[no-untyped-call]
    with output_folder.held_output(config):
        try:
            train(config)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            remedy = "Use a smaller model, lora_r or gradient_checkpointing"
            raise DataError("memory ran out outside of a batch", remedy=remedy) from error
    return 0


def train(config: TrainingSettings) -> None:
    """Train from the start or a checkpoint, and report."""
    run = start(config)
    state, accelerator = run.state, run.accelerator
    over = is_spent(config, state, run.steps.total) or is_over(config, state)
    if not over:
        try:
            take_steps(run)
        finally:  # whatever ends the run, a checkpoint that was begun is whole
            run.writer.finish()
    if over and is_reported(run):
        run.show([f"the run is finished ({over}): nothing is left to do"])
    elif accelerator.is_main_process:
        finish(run)
    accelerator.wait_for_everyone()
    accelerator.end_training()
    if config.push_to_hub and accelerator.is_main_process:  # a failure here costs no process
        from twowiki.hub.push import push

        pushed = push(run.output / "best", config.hub_model_id, private=config.hub_private_repo)
        print(f"pushed to {pushed.address}")


def take_steps(run: Run) -> None:
    """Train until the run is over."""
    config, state = run.config, run.state
    losses = RunningLosses(state.losses, run.accelerator.is_main_process)
    clock = CpuClock(state)
    run.model.train()
    run.learner.rehearse(run.train_loader.largest())
    clock.restart()
    run.pace.restart()
    for epoch in range(state.epoch, config.num_train_epochs):
        for examples, batches in run.train_loader.steps(epoch, state.examples, state.stretches):
            losses.add(take_step(run, batches, clock))
            if after_step(run, epoch, examples, losses, clock):
                reason = state.stopped
                end = "" if reason == "the end" else f": {reason}"
                run.show([f"finished after {state.step:,} steps{end}"])
                return


def take_step(run: Run, batches: Sequence[Batch], clock: CpuClock) -> Any:
    """Learn from a step's batches; return this process's part of the losses."""
    config, accelerator, state = run.config, run.accelerator, run.state
    losses = run.learner.compute(batches, state.step + 1)
    if config.max_grad_norm:
        accelerator.clip_grad_norm_(run.model.parameters(), config.max_grad_norm)
    progress = state.step / run.steps.total
    if config.max_cpu_minutes:
        progress = max(progress, broadcast(accelerator, clock.share(config.max_cpu_minutes)))
    set_learning_rate(run.optimizer, learning_rate_at(config, state, progress, run.steps.warmup))
    run.optimizer.step()
    run.optimizer.zero_grad()
    run.average.update(state.step + 1)
    return losses


def after_step(run: Run, epoch: int, examples: int, losses: RunningLosses, clock: CpuClock) -> str:
    """Log, evaluate and save as the settings say; return the reason to stop, or nothing."""
    config, accelerator, state, steps = run.config, run.accelerator, run.state, run.steps
    run.writer.look()
    state.step += 1
    state.examples += examples
    state.stopped = ""
    clock.tick()
    run.pace.count(examples)
    all_examples = run.train_loader.examples
    if state.step == 1 or state.step % steps.logging == 0:
        record = {
            "step": state.step,
            "epoch": epoch + state.examples / all_examples,
            **losses.mean(),
            "rate": run.optimizer.param_groups[0]["lr"],
            **run.pace.read(steps.total, config.max_cpu_minutes),
        }
        state.history.append({name: record[name] for name in run_log.KEPT})
        accelerator.log(run_log.flat_numbers(record), step=state.step)
        run.show([run_log.step_line(record, steps.total)])
    limit = config.max_cpu_minutes
    spent = bool(limit) and broadcast(accelerator, clock.share(limit) >= 1.0)
    last = spent or state.step >= steps.total
    epoch_done = state.examples >= all_examples
    evaluates = last or (state.step % steps.eval == 0 if steps.eval else epoch_done)
    if epoch_done:
        state.epoch, state.examples, state.earlier = epoch + 1, 0, []
    run.pace.pause()
    saves = state.step % steps.save == 0 if steps.save else evaluates
    if evaluates or saves:
        run.learner.settle()
    if evaluates:
        with run.average.applied():
            evaluate(run)
        clock.restart()
        state.stopped = is_over(config, state) or ("the end" if last else "")
    if state.stopped or saves:
        state.losses = losses.kept()
        checkpoints.save_checkpoint(run, run.task.save)
        clock.restart()
    run.pace.resume()
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
    total, chosen = run.steps.total, config.metric_for_best_model
    run.show([run_log.evaluation_line(state, total, metrics, chosen, best)])
    if best and result is not None:
        keep_best(run, result.files)
    accelerator.wait_for_everyone()


def keep_best(run: Run, files: dict[str, Any]) -> None:
    """Keep the model, its scores and its predictions, each with the run's id and the step."""
    made_by = {"run": run.record["run"], "step": run.state.step}
    checkpoints.save_model(run.accelerator, run.model, run.task.save, run.output / "best", made_by)
    OwnedFolder(run.output).claim(*files)
    others = [name for name in files if name != "scores.json"]
    for name in others:
        write_json(run.output / name, files[name])
    hashes = {name: sha256_of(run.output / name) for name in others}
    scores = files["scores.json"] | made_by | {"files": hashes}
    write_json(run.output / "scores.json", scores)


def is_reported(run: Run) -> bool:
    """Check whether the folder holds the report of all steps, of this run and its best model."""
    report = reports.read_report(run.output)
    check_run_files(run.output, run.record["run"])
    return report.get("steps") == run.state.step


def finish(run: Run) -> None:
    """Write the report, the curves and the model's card, and print the scores."""
    from twowiki.hub.model_card import write_model_card

    config, state, output = run.config, run.state, run.output
    OwnedFolder(output).discard("report.json")
    check_run_files(output, run.record["run"])
    scores = json.loads((output / "scores.json").read_text(encoding="utf-8"))
    report = {
        "run": run.record["run"],
        "scores": scores,
        **run.task.report(),
        "steps": state.step,
        "epochs": state.epoch,
        "stopped": state.stopped,
        "cpu_seconds": round(state.cpu_seconds, 1),
        "weights": run.weights,
        "batch_size": run.train_loader.size,
        "seed": config.seed,
        "config": to_dict(config),
        "versions": reports.versions(),
        "hardware": reports.hardware(run.accelerator.num_processes),
        "commit": reports.commit(),
        "command": sys.argv,
        "history": state.history,
    }
    OwnedFolder(output).claim("report.json", "best/README.md")
    reports.draw_curves(state.history, output / "curves.png", config.metric_for_best_model)
    write_model_card(output / "best", report)
    write_json(output / "report.json", report)  # the last file: with it the run is finished
    science = "rougeL" in scores["metrics"]
    sources = getattr(run.task, "sources", None)  # of the questions with contexts
    data = sources[1].files[0] if sources else "DATA"
    lines = run_log.closing(config, science=science, data=data)
    run.show([run.task.summary(scores, report), *lines])


if __name__ == "__main__":
    sys.exit(main())
