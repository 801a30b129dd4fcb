"""Train the baseline through accelerate: `accelerate launch train.py --config configs/tiny.yaml`.

Reads a configuration (YAML and flags), trains, evaluates with the joint metric, and leaves in
`output_dir`: the best model as a folder of its own, checkpoints, the official prediction file,
`report.json`, `curves.png`. Without data it trains on made-up examples.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from accelerate import Accelerator, skip_first_batches
from accelerate.utils import broadcast_object_list, find_executable_batch_size, set_seed
from tqdm import tqdm
from transformers.utils.logging import disable_progress_bar

from twowiki.errors import DataError
from twowiki.files import write_json
from twowiki.training import checkpoints, evaluation, reports, setup
from twowiki.training.checkpoints import RunState, require_model
from twowiki.training.config import TrainConfig, check_early, parse_config
from twowiki.training.hub import push
from twowiki.training.logs import (
    CpuClock,
    NotFinite,
    RunningLosses,
    agreed,
    check_finite,
    flat,
    shows_bar,
)
from twowiki.training.memory import keep_freed_memory
from twowiki.training.optimization import (
    is_over,
    learning_rate_at,
    make_optimizer,
    note_evaluation,
    set_learning_rate,
)


def main(arguments: list[str] | None = None) -> int:
    """Run; give the exit status."""
    try:
        config = parse_config(arguments)
        check_early(config)
        keep_freed_memory()
        if not sys.stderr.isatty():
            disable_progress_bar()  # type: ignore[no-untyped-call]
        find_executable_batch_size(train, starting_batch_size=config.batch_size)(config)
    except (DataError, NotFinite, ImportError) as error:
        print(f"train.py: {error}", file=sys.stderr)
        return 2
    return 0


def train(batch_size: int, config: TrainConfig) -> None:
    """Train from the start or a checkpoint, and report; a smaller batch after out-of-memory."""
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
    with accelerator.main_process_first():
        prepared = setup.prepare(config, saved)
    model_config = prepared.model_config
    identity = {"data": list(prepared.contents), "processes": accelerator.num_processes}
    if checkpoint:
        checkpoints.check_same_run(checkpoint, config, identity)
    if accelerator.is_main_process and not checkpoint:
        write_json(Path(config.output_dir) / "config.json", asdict(config))
    for name, features in (("train", prepared.train), ("validation", prepared.validation)):
        for line in setup.describe_counts(name, features):
            say(line)

    set_seed(config.seed, device_specific=True)
    model = setup.build_model(prepared, config, saved)
    weights = sum(p.numel() for n, p in model.named_parameters() if "word_embeddings" not in n)
    say(f"{len(prepared.train)} training windows, {len(prepared.validation)} validation windows,")
    say(f"{weights:,} weights beside the word vectors, {accelerator.num_processes} process(es)")
    loaders = [
        evaluation.make_loader(
            features,
            features.lengths(),
            model_config,
            batch_size=size,
            seed=config.seed,
            training=training,
            bucket=config.bucket,
            workers=config.workers,
        )
        for features, size, training in (
            (prepared.train, batch_size, True),
            (prepared.validation, config.eval_batch_size, False),
        )
    ]
    optimizer = make_optimizer(model, config)
    model, optimizer, train_loader, eval_loader = accelerator.prepare(model, optimizer, *loaders)
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
    bar = tqdm(
        total=total_steps, initial=state.step, unit="step", disable=not shows_bar(accelerator)
    )
    losses = RunningLosses()
    clock = CpuClock(state)
    stopped = is_over(config, state)
    model.train()
    for epoch in range(state.epoch, config.epochs):
        if stopped:
            break
        train_loader.set_epoch(epoch)
        batches = skip_first_batches(train_loader, state.batch) if state.batch else train_loader
        for batch in batches:
            batch.pop("window_numbers")
            with accelerator.accumulate(model):
                output = model(**batch)
                check_finite(accelerator, output.loss, state.step + 1)
                accelerator.backward(output.loss)
                if accelerator.sync_gradients:
                    if config.clip_norm:
                        accelerator.clip_grad_norm_(model.parameters(), config.clip_norm)
                    progress = max(state.step / total_steps, clock.share(config.max_cpu_minutes))
                    set_learning_rate(optimizer, learning_rate_at(config, state, progress))
                optimizer.step()
                optimizer.zero_grad()
            losses.add(output)
            state.batch += 1
            if not accelerator.sync_gradients:
                continue
            state.step += 1
            bar.update()
            clock.tick()
            epoch_done = state.batch >= len(train_loader)
            if state.step % config.log_every == 0:
                record = losses.mean(accelerator) | {"rate": optimizer.param_groups[0]["lr"]}
                state.history.append({"step": state.step, **record})
                bar.set_postfix(loss=f"{record['loss']:.3f}")
                accelerator.log(flat(record), step=state.step)
            spent = agreed(accelerator, clock.share(config.max_cpu_minutes) >= 1.0)
            last = spent or state.step >= total_steps
            evaluates = last or (
                state.step % config.eval_every == 0 if config.eval_every else epoch_done
            )
            if epoch_done:
                state.epoch, state.batch = epoch + 1, 0
            if evaluates:
                evaluate(accelerator, model, eval_loader, prepared, config, state)
                clock.restart()
                stopped = is_over(config, state) or ("the end" if last else "")
            state.stopped = stopped
            if stopped or (state.step % config.save_every == 0 if config.save_every else evaluates):
                checkpoints.save_checkpoint(
                    accelerator, model, prepared.tokenizer, config, state, identity
                )
                clock.restart()
            if stopped:
                break
    bar.close()
    say(f"stopped after {state.step} steps: {stopped or 'the end'}")
    if accelerator.is_main_process:
        finish(accelerator, prepared, config, state, weights, batch_size)
    accelerator.wait_for_everyone()
    accelerator.end_training()


def evaluate(
    accelerator: Accelerator,
    model: Any,
    loader: Any,
    prepared: setup.Prepared,
    config: TrainConfig,
    state: RunState,
) -> None:
    """Score the validation examples; keep the model and its predictions if they are the best."""
    scored = evaluation.predict_windows(model, loader, prepared.validation, prepared.model_config)
    scored = evaluation.gather_windows(scored)
    result: list[Any] = [None]
    report = predictions = None
    if accelerator.is_main_process:
        examples = prepared.validation_examples
        answers = evaluation.answer_examples(scored, examples, prepared.model_config)
        predictions = [evaluation.to_prediction(answer) for answer in answers]
        report = evaluation.score_predictions(examples, predictions, config.aliases_file)
        result = [report.metrics]
    broadcast_object_list(result)
    metrics = result[0]
    if config.metric not in metrics:
        raise DataError(f"is {config.metric!r}, not one of {', '.join(metrics)}", field="metric")
    best = note_evaluation(config, state, metrics[config.metric])
    state.history.append({"step": state.step, "epoch": state.epoch, "metrics": metrics})
    accelerator.log({f"validation/{k}": v for k, v in metrics.items()}, step=state.step)
    shown = " ".join(f"{name} {metrics[name]:.2f}" for name in reports.COLUMNS)
    accelerator.print(f"step {state.step}: {shown}{'  (best)' if best else ''}")
    if best and accelerator.is_main_process and report is not None and predictions is not None:
        output = Path(config.output_dir)
        ids = [example.id for example in prepared.validation_examples]
        checkpoints.save_model(accelerator, model, prepared.tokenizer, output / "best")
        write_json(output / "predictions.json", evaluation.to_official(ids, predictions))
        write_json(
            output / "scores.json",
            {"step": state.step, **report._asdict()},
        )
    accelerator.wait_for_everyone()


def finish(
    accelerator: Accelerator,
    prepared: setup.Prepared,
    config: TrainConfig,
    state: RunState,
    weights: int,
    batch_size: int,
) -> None:
    """Write the report and the curves, print the scores, push if so asked."""
    output = Path(config.output_dir)
    scores = json.loads((output / "scores.json").read_text(encoding="utf-8"))
    examples = prepared.validation_examples[: config.ceiling_examples]
    ceiling = evaluation.score_predictions(
        examples,
        evaluation.ceiling_predictions(prepared.validation, examples, prepared.model_config),
        config.aliases_file,
    )
    write_json(
        output / "report.json",
        {
            "scores": scores,
            "ceiling": ceiling._asdict() | {"examples": len(examples)},
            "steps": state.step,
            "epochs": state.epoch,
            "stopped": state.stopped,
            "cpu_seconds": round(state.cpu_seconds, 1),
            "weights": weights,
            "batch_size": batch_size,
            "seed": config.seed,
            "data": setup.data_report(prepared),
            "config": asdict(config),
            "model_config": prepared.model_config.to_diff_dict(),
            "versions": reports.versions(),
            "hardware": reports.hardware(accelerator.num_processes),
            "commit": reports.commit(),
            "command": sys.argv,
            "history": state.history,
        },
    )
    reports.draw_curves(state.history, output / "curves.png", config.metric)
    print(f"\nceiling of the encoding ({len(examples)} examples):")
    print(reports.render_by_type(ceiling.by_type, ceiling.metrics))
    print(f"\nbest model, step {scores['step']}, {output / 'best'}:")
    print(reports.render_by_type(scores["by_type"], scores["metrics"]))
    print(f"\n{reports.headline(scores['metrics'], scores['signature'])}")
    if config.push_to_hub:
        print(f"pushed to {push(output / 'best', config.hub_repo)}")


if __name__ == "__main__":
    sys.exit(main())
