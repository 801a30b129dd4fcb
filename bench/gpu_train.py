"""Training itself on one and on all GPUs: examples a second, MFU, time without a kernel, start-up.

Each row of this package is `twowiki.train` as a user starts it (made-up questions of the release's
size, encoded at the start; random weights of ModernBERT-base's shape, and the baseline at its
published size), for some seconds after the first steps; loader, clipping and optimizer included.
Beside them, on the same card and data: a plain Hugging Face loop over the same backbone (padded,
shuffled, SDPA, bf16), and the published baseline's algorithm as its authors run it. The start-up is
the time from the command to the end of the first step; the first row of a kind encodes, the others
find its files. Prints a Markdown table; a row that fails makes the exit status 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import torch
from gpu_encoder import EPOCH, TFLOPS, configure, operations
from gpu_report import Report, arguments, peak, rate, wait
from made_up_release import TYPES, example

HERE = Path(__file__).resolve().parent
NEVER = "1000000"
QUIET = f"--num_train_epochs 1000 --eval_steps {NEVER} --save_steps {NEVER} --logging_steps 20"
SMALL = "--word_dim 12 --hidden_size 8 --char_hidden 6 --relation_dim 6"


def main() -> int:
    if "--worker" in sys.argv:
        return worker(float(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:])
    given = arguments(__doc__, 6.5).parse_args()
    report = Report(given)
    devices = [1, 2] if given.device == "cpu" else counts(torch.cuda.device_count())
    columns = "training | processes | examples/s | MFU | no kernel | epoch | start-up | peak GiB"
    report.head(columns, about="bf16 (the baseline: TF32)")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder, quick=given.quick)
        seconds = 0.0 if given.quick else 60 * given.minutes / (5 * (len(devices) + 1))
        report.row("encoder | 1", partial(measure, "encoder", 1, folder, seconds, given))
        report.row("plain Hugging Face loop | 1", partial(plain_loop, folder, given))
        report.row("baseline | 1", partial(measure, "baseline", 1, folder, seconds, given))
        report.row("published baseline | 1", partial(published, given))
        for count in devices[1:]:
            for kind in ("encoder", "baseline"):
                report.row(
                    f"{kind} | {count}", partial(measure, kind, count, folder, seconds, given)
                )
    return report.status


def counts(devices: int) -> list[int]:
    """Return 1, 2, 4 ... up to all devices."""
    return sorted({1 << n for n in range(devices.bit_length()) if 1 << n <= devices} | {devices})


def prepare(folder: Path, *, quick: bool) -> None:
    """Write made-up questions, and a random backbone with a tokenizer."""
    rng = Random(13)
    for split, size in (("train", 24 if quick else 20_000), ("dev", 4 if quick else 200)):
        records = [example(rng, rng.choice(list(TYPES)), number) for number in range(size)]
        (folder / f"{split}.json").write_text(json.dumps(records), encoding="utf-8")
    write_backbone(folder / "backbone", records, vocabulary=400 if quick else 8000, quick=quick)


def write_backbone(
    folder: Path, records: list[dict[str, Any]], *, vocabulary: int, quick: bool
) -> None:
    """Write a random ModernBERT, base-size or tiny, and a tokenizer made of some questions."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import AutoModel, PreTrainedTokenizerFast

    texts = [s for one in records for _, sentences in one["context"] for s in sentences]
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=vocabulary, special_tokens=specials)
    backend.train_from_iterator(texts, trainer)
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )  # fmt: skip
    names = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, **dict(zip(names, specials, strict=True))
    )
    fields = {"num_hidden_layers": 22, "intermediate_size": 1152}
    backbone = configure("modernbert", fields, "sdpa", quick=quick).backbone_config
    backbone.vocab_size = max(backbone.vocab_size, len(tokenizer))
    AutoModel.from_config(backbone).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def measure(
    kind: str, processes: int, folder: Path, seconds: float, given: argparse.Namespace
) -> str:
    """Train in processes of their own, and return the cells of the row."""
    result = folder / f"{kind}-{processes}.json"
    flags = ["--config", kind, "--data_dir", str(folder), *QUIET.split()]
    flags += ["--output_dir", str(result.with_suffix("")), "--cache_dir", str(folder / kind)]
    flags += ["--dataloader_num_workers", "0" if given.quick else "4"]
    if kind == "encoder":
        flags += ["--model_name_or_path", str(folder / "backbone")]
    if given.quick:
        flags += ["--global_batch_size", "0", "--per_device_train_batch_size", "2"]
        flags += SMALL.split() if kind == "baseline" else ["--bf16", "false"]
    else:
        flags += ["--global_batch_size", "0"]
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(processes)]
    command = [sys.executable, *(launch if processes > 1 else []), str(HERE / "gpu_train.py")]
    environment = {**os.environ, "BENCH_STARTED": str(time.time())}
    if given.device == "cpu":
        environment |= {"ACCELERATE_USE_CPU": "true", "CUDA_VISIBLE_DEVICES": ""}
        environment["OMP_NUM_THREADS"] = "1"
    command += ["--worker", str(seconds), str(result), *flags]
    limit = 600 if given.quick else seconds + 150
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=limit)
    if not result.is_file():
        raise RuntimeError(f"status {done.returncode}: {done.stderr[-300:]}")
    return cells(json.loads(result.read_text(encoding="utf-8")), processes)


def cells(found: dict[str, Any], processes: int) -> str:
    """Write a row's figures."""
    rate, work = found["rate"], found.get("work", 0.0)
    mfu = f"{work * rate / processes / TFLOPS / 1e12:.1%}" if work else "-"
    idle = f"{found['idle']:.0%}" if found.get("idle") is not None else "-"
    began = f"{found['start']:.0f} s" if "start" in found else "-"
    epoch = f"{EPOCH / rate / 60:,.1f} min"
    return f"{rate:,.1f} | {mfu} | {idle} | {epoch} | {began} | {found['peak']:.1f}"


class Finished(Exception):
    """The training was measured."""


class Meter:
    """Takes the steps of a training, measures them, and ends it.

    Args:
        take_step: of the training.
        seconds: to measure after the first steps.
        result: file for the figures.
    """

    def __init__(self, take_step: Any, seconds: float, result: Path) -> None:
        self.take_step, self.seconds, self.result = take_step, seconds, result
        self.steps, self.began, self.found = 0, 0.0, dict[str, Any]()

    def __call__(self, run: Any, batches: Any, clock: Any) -> Any:
        """Take a step."""
        from twowiki.training.loop import broadcast

        device, warm = run.accelerator.device.type, 5 if self.seconds else 1
        losses = self.take_step(run, batches, clock)
        self.steps += 1
        if self.steps == 1:
            wait(device)
            self.found["start"] = time.time() - float(os.environ["BENCH_STARTED"])
        if self.steps == warm:
            wait(device)
            self.began = time.perf_counter()
        spent = time.perf_counter() - self.began
        if self.steps > warm and self.steps % 5 == 0 and broadcast(
            run.accelerator, spent > self.seconds
        ):  # fmt: skip
            wait(device)
            spent = time.perf_counter() - self.began
            self.found["rate"] = (self.steps - warm) * run.train_loader.size / spent
            self.found["peak"] = peak(device)
            self.found["idle"] = self.idle(run, batches, clock) if device == "cuda" else None
            self.write(run, batches)
            raise Finished
        return losses

    def idle(self, run: Any, batches: Any, clock: Any) -> float:
        """Return the share of a few steps in which the GPU runs no kernel."""
        from torch.profiler import ProfilerActivity, profile

        wait("cuda")
        with profile(activities=[ProfilerActivity.CUDA]) as profiled:
            began = time.perf_counter()
            for _ in range(3):
                self.take_step(run, batches, clock)
            wait("cuda")
            spent = time.perf_counter() - began
        busy = sum(event.self_device_time_total for event in profiled.key_averages()) / 1e6
        return max(0.0, 1.0 - busy / spent)

    def write(self, run: Any, batches: Any) -> None:
        """Write the figures, on the main process."""
        if run.config.task == "encoder" and batches:
            model = run.accelerator.unwrap_model(run.model)
            placed = {n: v.to(run.accelerator.device) for n, v in batches[0].items()}
            self.found["work"] = 3 * operations(model, placed) / len(placed["numbers"])
        if run.accelerator.is_main_process:
            self.result.write_text(json.dumps(self.found), encoding="utf-8")


def worker(seconds: float, result: Path, flags: list[str]) -> int:
    """Train with these flags until the time is over."""
    from twowiki import train
    from twowiki.training.task import read_settings

    config = read_settings(flags)
    config.check()
    train.take_step = Meter(train.take_step, seconds, result)
    try:
        train.train(config)
    except Finished:
        if torch.distributed.is_initialized():
            torch.distributed.barrier()
            torch.distributed.destroy_process_group()
    return 0


def plain_loop(folder: Path, given: argparse.Namespace) -> str:
    """Train the backbone with a span head as an example script does: padded, shuffled, SDPA."""
    from transformers import AutoModelForTokenClassification, AutoTokenizer

    size = 2 if given.quick else 16
    tokenizer = AutoTokenizer.from_pretrained(folder / "backbone")
    model = AutoModelForTokenClassification.from_pretrained(folder / "backbone", num_labels=2)
    model = model.to(given.device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
    records = json.loads((folder / "train.json").read_text(encoding="utf-8"))[: 40 * size]
    texts = [" ".join(s for _, lines in one["context"] for s in lines) for one in records]
    pairs = list(zip([one["question"] for one in records], texts, strict=True))
    batches = [
        tokenizer(pairs[n : n + size], padding=True, return_tensors="pt").to(given.device)
        for n in range(0, len(pairs), size)
    ]
    turn = iter(range(sys.maxsize))

    def step() -> None:
        batch = batches[next(turn) % len(batches)]
        batch.pop("token_type_ids", None)
        with torch.autocast(given.device, dtype=torch.bfloat16):
            logits = model(**batch).logits
        labels = torch.zeros(2 * len(logits), dtype=torch.long, device=logits.device)
        loss = torch.nn.functional.cross_entropy(
            logits.float().transpose(1, 2).flatten(0, 1), labels
        )
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return cells({"rate": rate(step, size, given), "peak": peak(given.device)}, 1)


def published(given: argparse.Namespace) -> str:
    """Train the published baseline's algorithm, at its batch of 24, by SGD in full precision."""
    from gpu_baseline import AUTHORS, authors

    size = 2 if given.quick else 24
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    lengths = torch.linspace(30, 60, size) if given.quick else torch.linspace(634, 1199, size)
    model, loss, _ = authors(AUTHORS, lengths, given)
    optimizer = torch.optim.SGD([one for one in model.parameters() if one.requires_grad], lr=0.1)

    def step() -> None:
        loss().backward()
        optimizer.step()
        optimizer.zero_grad()

    return cells({"rate": rate(step, size, given), "peak": peak(given.device)}, 1)


if __name__ == "__main__":
    sys.exit(main())
