"""A step's loss is one mean over all of its labels, and memory that runs out costs one batch."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.small_model import examples, model_and_windows, reproduced, setting
from tests.text_runs import forget_processes
from tests.tiny_data import tiny_files
from tests.training.runs import losses, report, run, small_flags, weights
from twowiki import train
from twowiki.data.schema import to_official
from twowiki.errors import DataError
from twowiki.models.modeling_baseline import TwoWikiBaselineForMultihopQA
from twowiki.models.outputs import count_labels
from twowiki.models.processing_baseline import BaselineCollator
from twowiki.training import steps
from twowiki.training.averaging import AverageWeights
from twowiki.training.epoch_plan import EpochPlan, cut
from twowiki.training.loaders import StepLoader
from twowiki.training.memory import halves, in_halves
from twowiki.training.steps import Learner, NotFinite

OUT = "CUDA out of memory. Tried to allocate 2.00 GiB"


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # two are slower on a busy machine
    yield
    torch.set_num_threads(threads)


class OneProcess:
    """What a step needs of an accelerator."""

    num_processes, process_index, device = 1, 0, torch.device("cpu")

    def backward(self, loss: torch.Tensor) -> None:
        loss.backward()


def learner_of(model: Any, windows: Any, forward: Any = None) -> tuple[Learner, StepLoader, Any]:
    """The learner of a small baseline, its loader with steps of 12, and the lines it printed."""
    plan = EpochPlan([len(w.token_ids) for w in windows], 12, seed=1)
    loader = StepLoader(windows, BaselineCollator(model.config), plan)
    lines: list[str] = []

    def plainly(model: Any, batch: Any, counts: Any) -> Any:
        return model(**{k: v for k, v in batch.items() if k != "numbers"}, loss_counts=counts)

    return (
        Learner(
            OneProcess(), model, lambda batch: count_labels(batch, model.config),
            forward or plainly, loader.collate, lines.append,
        ),
        loader,
        lines,
    )  # fmt: skip


def gradients(model: Any) -> dict[str, torch.Tensor]:
    found = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad(set_to_none=True)
    return found


@pytest.mark.parametrize(
    "config", [setting(), reproduced(mask_padding=True)], ids=["corrected", "reproduce"]
)
def test_a_step_has_one_loss_however_it_is_cut(config: Any) -> None:
    model, windows = model_and_windows(config)
    learner, loader, _ = learner_of(model.train(), windows)
    batch = loader.collate(range(12))
    plain = model(**{name: values for name, values in batch.items() if name != "numbers"})
    plain.loss.backward()
    expected = gradients(model)
    for size in (12, 5, 1):
        parts = [loader.collate(part) for part in cut(list(range(12)), size)]
        found = learner.compute(parts, 1)
        assert found["loss"].item() == pytest.approx(plain.loss.item(), rel=1e-5)
        assert sum(v.item() for k, v in found.items() if k != "loss") > 0
        largest = max(value.abs().max().item() for value in expected.values())
        for name, value in gradients(model).items():
            assert (value - expected[name]).abs().max().item() <= 1e-5 * largest, name


@pytest.mark.parametrize("fits", [5, 1])
def test_a_batch_that_does_not_fit_is_taken_in_halves(fits: int) -> None:
    model, windows = model_and_windows()
    plain, loader, _ = learner_of(model.train(), windows)
    batch = loader.collate(range(12))
    expected = plain.compute([batch], 1)["loss"].item()
    wanted = gradients(model)

    def limited(model: Any, batch: Any, counts: Any) -> Any:
        if len(batch["numbers"]) > fits:
            raise torch.OutOfMemoryError(OUT)
        return plain.forward(model, batch, counts)

    def half_way(model: Any, batch: Any, counts: Any) -> Any:
        output = plain.forward(model, batch, counts)
        if len(batch["numbers"]) > fits:  # fails when gradients are there already
            output.loss.backward()
            raise RuntimeError(OUT)
        return output

    for forward in (limited, half_way):
        learner, _, lines = learner_of(model, windows, forward)
        assert learner.compute([batch], 1)["loss"].item() == pytest.approx(expected, rel=1e-5)
        for name, value in gradients(model).items():
            torch.testing.assert_close(value, wanted[name], atol=1e-5, rtol=1e-4)
        assert lines[0] == "out of memory: a batch of 12 is taken again in parts of 6"


def test_what_never_fits_and_what_is_no_number_stop_with_one_sentence() -> None:
    model, windows = model_and_windows()

    def never(model: Any, batch: Any, counts: Any) -> Any:
        raise MemoryError

    def nothing(model: Any, batch: Any, counts: Any) -> Any:
        loss = sum(p.sum() for p in model.parameters()) * float("nan")
        return SimpleNamespace(loss=loss, losses={})

    for forward, error, message in (
        (never, DataError, "does not fit into memory, even alone"),
        (nothing, NotFinite, "the loss is nan at step 7"),
    ):
        learner, loader, _ = learner_of(model, windows, forward)
        with pytest.raises(error, match=message):
            learner.compute([loader.collate([0, 1])], 7)


def test_a_problem_that_is_read_late_stops_the_next_step_or_what_would_keep_it() -> None:
    model, windows = model_and_windows()
    values = [1.0, float("nan"), 1.0]

    def wrong_at_step_2(model: Any, batch: Any, counts: Any) -> Any:
        loss = sum(p.sum() for p in model.parameters()) * 0 + values.pop(0)
        return SimpleNamespace(loss=loss, losses={})

    learner, loader, _ = learner_of(model, windows, wrong_at_step_2)
    learner.late = True
    batch = loader.collate([0, 1])
    assert learner.compute([batch], 1)["loss"] == 1.0
    learner.compute([batch], 2)
    with pytest.raises(NotFinite, match="the loss is nan at step 2"):
        learner.settle()
    learner.settle()
    values[:] = [float("nan"), 1.0]
    learner.compute([batch], 3)
    with pytest.raises(NotFinite, match="the loss is nan at step 3"):
        learner.compute([batch], 4)


def test_a_rehearsal_leaves_no_trace_but_a_word() -> None:
    model, windows = model_and_windows(setting(dropout=0.5))
    learner, loader, _ = learner_of(model.train(), windows)
    before = torch.get_rng_state()
    largest = loader.largest()
    learner.rehearse(largest)
    assert torch.equal(torch.get_rng_state(), before)
    assert not gradients(model)
    lengths = [len(window.token_ids) for window in windows]
    assert lengths[largest[0]] == max(lengths)


def test_an_evaluation_halves_its_own_batch() -> None:
    sizes: list[int] = []

    def collate(numbers: Any) -> dict[str, torch.Tensor]:
        return {"numbers": torch.tensor(numbers)}

    def work(batch: Any) -> list[int]:
        sizes.append(len(batch["numbers"]))
        if sizes[-1] > 2:
            raise RuntimeError(OUT)
        found: list[int] = batch["numbers"].tolist()
        return found

    assert in_halves(work, collate([4, 5, 6, 7, 8]), collate) == [[4, 5], [6], [7, 8]]
    assert sizes == [5, 3, 2, 1, 2]
    assert [len(half) for half in halves([1])] == [1, 0]
    with pytest.raises(ZeroDivisionError):
        in_halves(lambda batch: 1 // 0, collate([1, 2]), collate)


# ---- runs


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Flags that name the files of 24 training and 9 validation questions."""
    return tiny_files(tmp_path_factory.mktemp("data"))


@pytest.fixture
def out_of_memory(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Make the seventh call of the model in training run out of memory; the batches' sizes."""
    seen: list[int] = []
    forward = TwoWikiBaselineForMultihopQA.forward

    def limited(self: Any, *arguments: Any, **inputs: Any) -> Any:
        if self.training:
            seen.append(len(inputs["input_ids"]))
            if len(seen) == 8:  # the first is the rehearsal
                raise torch.OutOfMemoryError(OUT)
        return forward(self, *arguments, **inputs)

    monkeypatch.setattr(TwoWikiBaselineForMultihopQA, "forward", limited)
    return seen


def tiny_run(output: Path, data: list[str], *flags: str) -> int:
    """Train a small baseline inside this process."""
    forget_processes()
    try:
        given = ["--output_dir", str(output), *small_flags("baseline"), *data, *flags]
        return train.main(given)
    finally:
        forget_processes()


def test_memory_that_runs_out_at_step_7_costs_one_batch(
    data: list[str],
    tmp_path: Path,
    out_of_memory: list[int],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    assert tiny_run(tmp_path / "run", data, "--max_steps", "9", "--eval_steps", "9") == 0
    assert out_of_memory == [4] * 8 + [2, 2] + [4] * 2
    assert "a batch of 4 is taken again in parts of 2" in capsys.readouterr().out
    assert report(tmp_path / "run")["steps"] == 9


def test_an_evaluation_that_runs_out_of_memory_does_not_touch_the_training(
    data: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    forward, seen = TwoWikiBaselineForMultihopQA.forward, Counter[tuple[bool, int]]()

    def limited(self: Any, *arguments: Any, **inputs: Any) -> Any:
        seen[self.training, len(inputs["input_ids"])] += 1
        if not self.training and len(inputs["input_ids"]) > 3:
            raise RuntimeError(OUT)
        return forward(self, *arguments, **inputs)

    monkeypatch.setattr(TwoWikiBaselineForMultihopQA, "forward", limited)
    flags = ["--max_steps", "1", "--per_device_eval_batch_size", "9"]
    assert tiny_run(tmp_path / "run", data, *flags) == 0
    assert seen == {(True, 4): 2, (False, 9): 1, (False, 5): 1, (False, 4): 1,
                    (False, 3): 1, (False, 2): 3}  # fmt: skip
    predictions = json.loads((tmp_path / "run" / "predictions.json").read_text("utf-8"))
    assert len(predictions["answer"]) == 9


FLAT = (
    "--train_sampling_strategy random --dropout 0 --max_grad_norm 0 --warmup_steps 0 "
    "--learning_rate 0.01 --num_train_epochs 1 --logging_steps 1 --eval_steps 100 "
    "--lr_scheduler_type constant --weight_decay 0"
).split()


@pytest.mark.slow
@pytest.mark.parametrize("optim", ["sgd", "adamw"])
def test_processes_and_accumulation_equal_one_large_batch(optim: str, tmp_path: Path) -> None:
    given = [to_official(one) for one in examples()]
    many = [{**given[n % 12], "_id": f"q{n}"} for n in range(203)]
    for name, records in (("train.json", many), ("dev.json", many[:2])):
        (tmp_path / name).write_text(json.dumps(records), encoding="utf-8")
    flags = ["--data_dir", str(tmp_path), *FLAT, "--optim", optim]
    flags += ["--cache_dir", str(tmp_path / "cache")]
    size = "--per_device_train_batch_size"
    run(tmp_path / "one", *flags, size, "16")
    run(tmp_path / "parts", *flags, size, "8", "--gradient_accumulation_steps", "2")
    run(tmp_path / "two", *flags, size, "8", two=True)
    whole = weights(tmp_path / "one")
    assert report(tmp_path / "one")["steps"] == 13
    for name in ("parts", "two"):
        assert losses(tmp_path / name) == pytest.approx(losses(tmp_path / "one"), rel=1e-4)
        assert report(tmp_path / name)["steps"] == 13
        if optim == "adamw":
            continue
        largest = max(value.abs().max().item() for value in whole.values())
        for key, value in weights(tmp_path / name).items():
            assert (value - whole[key]).abs().max().item() <= 1e-5 * largest, key


@pytest.mark.slow
def test_a_small_last_step_weighs_as_much_however_large_the_accumulation(
    data: list[str], tmp_path: Path
) -> None:
    moved = []
    for accumulated in (3, 100):
        output = tmp_path / str(accumulated)
        flags = [*FLAT, "--optim", "sgd", "--max_train_samples", "12", "--save_steps", "1"]
        flags += ["--per_device_train_batch_size", "4", "--gradient_accumulation_steps"]
        done = run(output, *data, *flags, str(accumulated))
        assert report(output)["steps"] == 1
        moved.append(weights(output))
        if accumulated == 100:
            assert "400 examples" in done.stdout
            assert "more than an epoch has" in done.stdout
    for name, value in moved[0].items():
        torch.testing.assert_close(moved[1][name], value, atol=1e-7, rtol=1e-6)


def test_averaged_weights_are_in_the_model_while_it_is_evaluated() -> None:
    model = torch.nn.Linear(3, 2)
    model.bias.requires_grad_(False)
    average = AverageWeights(model, 0.8)
    expected = model.weight.detach().clone()
    for step in range(1, 60):
        with torch.no_grad():
            model.weight.add_(step)
        average.update(step)
        decay = min(0.8, step / (step + 9))
        expected = decay * expected + (1 - decay) * model.weight.detach()
    trained = model.weight.detach().clone()
    with average.applied():
        torch.testing.assert_close(model.weight.detach(), expected)
    torch.testing.assert_close(model.weight.detach(), trained, atol=0, rtol=0)
    with_start = AverageWeights(model, 0.0, 0.25)
    with torch.no_grad():
        model.weight.mul_(5)
    with_start.update(1)
    with with_start.applied():
        torch.testing.assert_close(model.weight.detach(), trained * 4)
    torch.testing.assert_close(model.weight.detach(), trained * 5, atol=0, rtol=0)
    with torch.no_grad():
        model.weight.copy_(trained)
    nothing = AverageWeights(model, 0.0)
    nothing.update(1)
    with nothing.applied():
        torch.testing.assert_close(model.weight.detach(), trained, atol=0, rtol=0)


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["ema_decay", "start_share"])
def test_a_run_of_averaged_weights_resumes_to_the_same_best_model(
    setting: str, data: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    flags = [f"--{setting}", "0.9", "--eval_steps", "4", "--save_steps", "2"]
    flags += ["--cache_dir", str(tmp_path / "cache")]
    assert tiny_run(tmp_path / "whole", data, *flags, "--max_steps", "4") == 0
    assert tiny_run(tmp_path / "broken", data, *flags, "--max_steps", "2") == 0
    resume = ["--resume_from_checkpoint", "auto", "--max_steps", "4"]
    assert tiny_run(tmp_path / "broken", data, *flags, *resume) == 0
    best = load_file(tmp_path / "whole" / "best" / "model.safetensors")
    whole, resumed = (
        load_file(tmp_path / name / "checkpoint-4" / "averaged.safetensors")
        for name in ("whole", "broken")
    )
    trained = weights(tmp_path / "whole")
    for name, value in whole.items():
        torch.testing.assert_close(value, resumed[name], atol=0, rtol=0)
        kept = value if setting == "ema_decay" else torch.lerp(trained[name], value, 0.9)
        torch.testing.assert_close(best[name], kept, atol=0, rtol=0)
    assert any(not torch.equal(one, best[name]) for name, one in trained.items())


RANK_ONE = """
import sys, torch
from twowiki import train
from twowiki.models.modeling_baseline import TwoWikiBaselineForMultihopQA as Model
forward, calls = Model.forward, []
def limited(self, *arguments, **inputs):
    if self.training and torch.distributed.get_rank() == 1:
        calls.append(len(inputs["input_ids"]))
        if LIMIT(calls):
            raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
    return forward(self, *arguments, **inputs)
Model.forward = limited
sys.exit(train.main(sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "status"),
    [("lambda calls: len(calls) == 3", 0), ("lambda calls: len(calls) > 2", 2)],
    ids=["once", "for good"],
)
def test_memory_that_runs_out_on_one_of_two_processes_stops_neither(
    limit: str, status: int, data: list[str], tmp_path: Path
) -> None:
    script = tmp_path / "limited.py"
    script.write_text(f"LIMIT = {limit}\n{RANK_ONE}", encoding="utf-8")
    flags = [*data, "--max_steps", "4", "--save_steps", "4"]
    done = run(tmp_path / "run", *flags, two=True, check=False, script=str(script))
    assert (done.returncode == 0) == (status == 0)
    assert "process 1: out of memory: a batch of 4 is taken again in parts of 2" in done.stdout
    if status:
        assert "does not fit into memory, even alone" in done.stderr
    else:
        assert report(tmp_path / "run")["steps"] == 4
        assert len(losses(tmp_path / "run")) == 4


def test_gradients_are_added_up_in_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "_BUCKET", 10)
    monkeypatch.setattr(torch.distributed, "all_reduce", lambda flat: flat.mul_(2))
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
    for parameter in list(model.parameters())[:-1]:
        parameter.grad = torch.ones_like(parameter)
    frozen = torch.nn.Parameter(torch.ones(2), requires_grad=False)
    two: Any = SimpleNamespace(num_processes=2)
    steps.add_up_gradients(two, [*model.parameters(), frozen])
    assert [p.grad.unique().tolist() for p in model.parameters() if p.grad is not None] == [
        [2.0], [2.0], [2.0], [0.0]
    ]  # fmt: skip
    assert frozen.grad is None
