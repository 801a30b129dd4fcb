"""Text-to-text training at size on a GPU, with random weights: speed, memory, and what must hold.

1. T5-large's shape, bf16 against fp32: the first losses agree within 1%; 100 steps of 512 + 32
   tokens by Adafactor: the loss falls and stays finite; tokens a second and peak memory.
2. The 3B shape: one step with and without recomputed activations.
3. 1,397 prompts of mixed length by batches of 128: the first 50 alone give the same texts.
4. A closed world of coloured things, about 60M weights: known with the right sentence, not
   without.
Each part prints a line; a part that fails makes the exit status 1, one that no time is left for
says so. `--quick --device cpu` does all of it small on a CPU.
"""

from __future__ import annotations

import itertools
import sys
import time
from random import Random
from typing import Any, NamedTuple

import torch
import transformers
from gpu_report import Report, arguments, card
from transformers.optimization import Adafactor

SHAPES = {
    "large": {"d_model": 1024, "d_kv": 64, "d_ff": 4096, "num_layers": 24, "num_heads": 16},
    "3b": {"d_model": 1024, "d_kv": 128, "d_ff": 16384, "num_layers": 24, "num_heads": 32},
    "60m": {"d_model": 512, "d_kv": 64, "d_ff": 2048, "num_layers": 6, "num_heads": 8},
    "quick": {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_heads": 2},
}
VOCABULARY, PAD, END = 32_128, 0, 1
COLOURS, THINGS, NAMES = 10, 10, 40


class Sizes(NamedTuple):
    """How much is done: on a GPU, or small on a CPU."""

    large: str = "large"
    biggest: str = "3b"
    world: str = "60m"
    vocabulary: int = VOCABULARY
    source: int = 512
    target: int = 32
    batch: int = 64
    steps: int = 100
    prompts: int = 1397
    prompt_batch: int = 128
    alone: int = 50
    new_tokens: int = 32
    world_steps: int = 600
    rate: float = 1e-3


QUICK = Sizes("quick", "quick", "quick", 400, 24, 6, 4, 12, 20, 8, 6, 5, 250, 3e-3)


def main() -> int:
    given = arguments(__doc__, 7.0).parse_args()
    report = Report(given)
    sizes, device = QUICK if given.quick else Sizes(), given.device
    if device == "cpu":
        torch.set_num_threads(1)
    versions = f"torch {torch.__version__}, transformers {transformers.__version__}"
    report.line(f"{card(device)}, {versions}")
    for part in (precisions, training, biggest_step, padding, world):
        if time.monotonic() > report.deadline:
            report.line(f"     {part.__name__}: no time left, not run")
            continue
        began = time.monotonic()
        try:
            held, said = part(sizes, device)
        except Exception as error:  # the other parts are still of use
            held, said = False, " ".join(f"{type(error).__name__}: {error}".split())[:200]
        report.failed |= not held
        spent = f"({time.monotonic() - began:.0f} s)"
        report.line(f"{'ok  ' if held else 'FAIL'} {part.__name__}: {said} {spent}")
        if device == "cuda":
            torch.cuda.empty_cache()
    return report.status


def build(shape: str, vocabulary: int, device: str, dtype: torch.dtype = torch.float32) -> Any:
    """Make a random T5 of a published shape."""
    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=vocabulary, dropout_rate=0.0, pad_token_id=PAD, eos_token_id=END,
        decoder_start_token_id=PAD, **SHAPES[shape],
    )  # fmt: skip
    with torch.device(device):
        return transformers.T5ForConditionalGeneration(config).to(dtype)


def batch_of(sizes: Sizes, device: str, seed: int) -> dict[str, torch.Tensor]:
    """Make a batch: the target repeats tokens of the source, so that there is much to learn."""
    rng = torch.Generator().manual_seed(seed)
    source = torch.randint(2, sizes.vocabulary, (sizes.batch, sizes.source), generator=rng)
    labels = source[:, : sizes.target].clone()
    labels[:, -1] = END
    mask = torch.ones_like(source)
    return {
        "input_ids": source.to(device),
        "attention_mask": mask.to(device),
        "labels": labels.to(device),
    }


def autocast(device: str, enabled: bool) -> Any:
    return torch.autocast(device, torch.bfloat16, enabled=enabled)


def precisions(sizes: Sizes, device: str) -> tuple[bool, str]:
    """Compare the first loss in bf16 with that in fp32."""
    model = build(sizes.large, sizes.vocabulary, device)
    batch = batch_of(sizes, device, 1)
    found = []
    for enabled in (False, True):
        with torch.no_grad(), autocast(device, enabled):
            found.append(float(model(**batch).loss))
    apart = abs(found[0] - found[1]) / found[0]
    return apart < 0.01, f"loss {found[0]:.4f} in fp32, {found[1]:.4f} in bf16 ({apart:.3%} apart)"


def training(sizes: Sizes, device: str) -> tuple[bool, str]:
    """Train in bf16 by Adafactor at a constant rate; the loss must fall and stay finite."""
    model = build(sizes.large, sizes.vocabulary, device).train()
    optimizer = Adafactor(
        model.parameters(), lr=sizes.rate, scale_parameter=False, relative_step=False
    )
    batches = itertools.cycle([batch_of(sizes, device, seed) for seed in range(4)])
    losses, began = [], 0.0
    for step in range(sizes.steps):
        if step == min(5, sizes.steps // 2):  # kernels are chosen by then
            began = now(device)
        with autocast(device, True):
            loss = model(**next(batches)).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.detach())
    spent = now(device) - began
    values = torch.stack(losses).float()
    first, last = float(values[:4].mean()), float(values[-4:].mean())
    steps = sizes.steps - min(5, sizes.steps // 2)
    tokens = steps * sizes.batch * (sizes.source + sizes.target) / spent
    weights = sum(one.numel() for one in model.parameters()) / 1e6
    said = (
        f"{weights:.0f}M weights, {sizes.steps} steps of {sizes.batch} x {sizes.source}"
        f"+{sizes.target}: loss {first:.3f} -> {last:.3f}, {tokens:,.0f} tokens/s, {peak(device)}"
    )
    return bool(torch.isfinite(values).all()) and last < first, said


def biggest_step(sizes: Sizes, device: str) -> tuple[bool, str]:
    """Take one step of a large shape in bf16 weights, with and without recomputing."""
    said = []
    for recompute in (True, False):
        if device == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        try:
            model = build(sizes.biggest, sizes.vocabulary, device, torch.bfloat16).train()
            if recompute:
                model.activation_checkpointing_enable()
            optimizer = Adafactor(
                model.parameters(), lr=sizes.rate, scale_parameter=False, relative_step=False
            )
            model(**batch_of(sizes._replace(batch=min(16, sizes.batch)), device, 2),
                  use_cache=False).loss.backward()  # fmt: skip
            optimizer.step()
        except torch.OutOfMemoryError:
            said.append(f"{'recomputing' if recompute else 'keeping'} activations: does not fit")
            if recompute:
                return False, "; ".join(said)
            continue
        weights = sum(one.numel() for one in model.parameters()) / 1e9
        how = "recomputing" if recompute else "keeping"
        said.append(f"{weights:.2f}B weights, {how} activations: {peak(device)}")
        del model, optimizer
    return True, "; ".join(said)


def padding(sizes: Sizes, device: str) -> tuple[bool, str]:
    """Compare the texts of prompts in batches with those of the same prompts alone (fp32)."""
    from twowiki.text2text.chat_format import Codec
    from twowiki.text2text.generation import GenerationSettings, generate_texts
    from twowiki.text2text.loading import make_tokenizer
    from twowiki.text2text.pairs import pad_inputs

    rng = Random(3)
    tokenizer = make_tokenizer(["What melts ice? heat"], 300, ends=True)
    codec = Codec(tokenizer, "seq2seq")
    model = build(sizes.world, len(tokenizer), device).eval()
    longest = sizes.source // 2
    prompts = [
        [*(rng.randrange(3, len(tokenizer)) for _ in range(rng.randrange(4, longest))), END]
        for _ in range(sizes.prompts)
    ]
    order = sorted(range(len(prompts)), key=lambda number: -len(prompts[number]))

    def speak(numbers: list[int]) -> list[str]:
        inputs = pad_inputs([prompts[number] for number in numbers], PAD)
        inputs = {name: value.to(device) for name, value in inputs.items()}
        return generate_texts(model, codec, inputs, GenerationSettings(1, sizes.new_tokens))

    began, texts = now(device), {}
    for first in range(0, len(order), sizes.prompt_batch):
        numbers = order[first : first + sizes.prompt_batch]
        texts |= dict(zip(numbers, speak(numbers), strict=True))
    spent = now(device) - began
    same = sum(speak([number])[0] == texts[number] for number in range(sizes.alone))
    said = (
        f"{same} of {sizes.alone} prompts alone as in batches of {sizes.prompt_batch}; "
        f"{len(prompts) / spent:,.1f} prompts/s of {sizes.new_tokens} new tokens"
    )
    return same == sizes.alone, said


def world(sizes: Sizes, device: str) -> tuple[bool, str]:
    """Learn to read a colour out of a sentence, and fail to know it without."""
    rng = Random(1)
    pairs = list(itertools.product(range(THINGS), range(NAMES)))
    colour = {pair: rng.randrange(COLOURS) for pair in pairs}
    rng.shuffle(pairs)
    cut = len(pairs) * 4 // 5
    found = {}
    for told in (True, False):
        model = build(sizes.world, 100, device).train()
        optimizer = torch.optim.AdamW(model.parameters(), lr=min(sizes.rate, 5e-4)
                                      if sizes.world != "quick" else sizes.rate)  # fmt: skip
        for _ in range(sizes.world_steps):
            batch = world_batch([rng.choice(pairs[:cut]) for _ in range(32)], colour, told, device)
            with autocast(device, device == "cuda"):
                loss = model(**batch).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        asked = world_batch(pairs[cut:], colour, told, device)
        with torch.no_grad():
            logits = model.eval()(**asked).logits[:, 0]
        found[told] = float((logits.argmax(-1) == asked["labels"][:, 0]).float().mean())
    said = f"unseen facts right: {found[True]:.0%} with the sentence, {found[False]:.0%} without"
    return found[True] >= 0.95 and found[False] <= 0.25, said


def world_batch(
    pairs: list[tuple[int, int]], colour: dict[tuple[int, int], int], told: bool, device: str
) -> dict[str, torch.Tensor]:
    """Write questions about things as token ids: thing, name, and the sentence if it is told."""
    rows, labels = [], []
    for thing, name in pairs:
        asked = [2, 10 + thing, 3, 30 + name, 4]
        said = [5, 10 + thing, 3, 30 + name, 6, 80 + colour[thing, name], 7] if told else []
        rows.append([*asked, *said, END])
        labels.append([80 + colour[thing, name], END])
    source = torch.tensor(rows, device=device)
    return {
        "input_ids": source,
        "attention_mask": torch.ones_like(source),
        "labels": torch.tensor(labels, device=device),
    }


def now(device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def peak(device: str) -> str:
    if device != "cuda":
        return "peak memory not measured"
    return f"peak {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB"


if __name__ == "__main__":
    sys.exit(main())
