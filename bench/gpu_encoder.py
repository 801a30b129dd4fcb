"""The encoder model on a GPU: examples per second, achieved TFLOP/s and memory, in bf16.

Base-size backbones with random weights (no hub is needed), made-up contexts of 634 to 1,199
tokens: BERT in windows of 512, ModernBERT and DeBERTa-v3 in one pass; padded, and without padding
where the backbone allows it. The work that is counted is that of the real tokens: six operations a
weight of the backbone and of the heads, and attention; what is spent on padding counts as nothing.
Prints a Markdown table with the card's name and the time of an epoch of the 167,454 examples.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import Any

import numpy
import torch
from gpu_report import Report, arguments, peak, rate, reset_peak
from transformers import AutoConfig

from twowiki.models.configuration_encoder import VARIABLE_LENGTHS, TwoWikiEncoderConfig
from twowiki.models.features import Window
from twowiki.models.modeling_encoder import TwoWikiEncoderForMultihopQA
from twowiki.models.processing_encoder import EncoderCollator
from twowiki.training.encoder import EncoderArguments, make_encoder_optimizer

EPOCH, RELATIONS, SENTENCES = 167_454, 36, 30
TFLOPS = 989  # of an H100 or H200 in bf16: what MFU is a share of
BATCHES = (8, 16, 32, 64, 128)
BASE = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12}
SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
# kind, fields at the base size, attention
ROWS: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("bert", {"intermediate_size": 3072}, "sdpa"),
    ("bert", {"intermediate_size": 3072}, VARIABLE_LENGTHS),
    ("modernbert", {"num_hidden_layers": 22, "intermediate_size": 1152}, "sdpa"),
    ("modernbert", {"num_hidden_layers": 22, "intermediate_size": 1152}, VARIABLE_LENGTHS),
    ("deberta-v2", {"intermediate_size": 3072}, "eager"),
)
DEBERTA = {
    "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 256,
    "position_biased_input": False, "share_att_key": True, "norm_rel_ebd": "layer_norm",
    "type_vocab_size": 0, "vocab_size": 128_100,
}  # fmt: skip


def main() -> int:
    given = arguments(__doc__, 6.0).parse_args()
    report = Report(given)
    head = "train ex/s | train TFLOP/s | MFU | epoch | predict ex/s | predict TFLOP/s | peak GiB"
    report.head(f"backbone | attention | batch | {head}", about="bf16")
    for kind, fields, attention in ROWS:
        for batch in (2,) if given.quick else BATCHES:
            name = f"{kind} | {attention} | {batch}"
            if not report.row(name, partial(row, kind, fields, attention, batch, given)):
                break
    return report.status


def row(
    kind: str, fields: dict[str, Any], attention: str, size: int, given: argparse.Namespace
) -> str:
    """Measure one row of the table."""
    torch.manual_seed(0)
    config = configure(kind, fields, attention, quick=given.quick)
    model = TwoWikiEncoderForMultihopQA(config).to(given.device)
    lengths = numpy.linspace(*((40, 90) if given.quick else (634, 1199)), size).astype(int)
    windows = [made_up(int(length), config, seed) for seed, length in enumerate(lengths)]
    batch = {k: v.to(given.device) for k, v in EncoderCollator(config)(windows).items()}
    inputs = {"context_positions", "question_positions"}
    labels = {k for k in batch if k.endswith(("_labels", "_positions"))} - inputs
    unlabeled = {name: values for name, values in batch.items() if name not in labels}
    optimizer = make_encoder_optimizer(model, EncoderArguments(model_name_or_path="random"))
    reset_peak(given.device)

    def cast() -> Any:
        return torch.autocast(given.device, dtype=torch.bfloat16)

    def step() -> None:
        with cast():
            loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    def predict() -> None:
        with torch.no_grad(), cast():
            model(**unlabeled)

    model.train()
    training = rate(step, size, given)
    model.eval()
    predicting = rate(predict, size, given)
    work = operations(model, batch) / size / 1e12
    return (
        f"{training:,.1f} | {3 * work * training:,.1f} | {3 * work * training / TFLOPS:.1%} "
        f"| {EPOCH / training / 60:,.1f} min | {predicting:,.1f} | {work * predicting:,.1f} "
        f"| {peak(given.device):.1f}"
    )


def configure(
    kind: str, fields: dict[str, Any], attention: str, *, quick: bool
) -> TwoWikiEncoderConfig:
    """Make a base-size (or tiny) model's configuration; attention without dropout."""
    sizes = {**SMALL, "intermediate_size": 48, "vocab_size": 500} if quick else {**BASE, **fields}
    own = {k: v for k, v in DEBERTA.items() if not (quick and k == "vocab_size")}
    if kind == "modernbert":
        own = {"max_position_embeddings": 8192, "reference_compile": False, "vocab_size": 50_368}
        own = {k: v for k, v in own.items() if not (quick and k == "vocab_size")}
        own |= {f"{name}_token_id": 0 for name in ("pad", "cls", "sep", "bos", "eos")}
    backbone = AutoConfig.for_model(kind, **{**sizes, **(own if kind != "bert" else {})})
    backbone._attn_implementation = attention
    return TwoWikiEncoderConfig(
        backbone_config=backbone,
        relations=[str(number) for number in range(RELATIONS)],
        prefix_ids=[3], middle_ids=[4], suffix_ids=[4],
        context_segment=1 if kind == "bert" else -1,
        window_tokens={"deberta-v2": 1280}.get(kind, 0),
        backbone_dropout=0.0,
    )  # fmt: skip


def made_up(length: int, config: TwoWikiEncoderConfig, seed: int) -> Window:
    """Make a record of a context of ten paragraphs with labels in it."""
    rng = numpy.random.default_rng(seed)
    ids = rng.integers(5, 400, length).astype(numpy.int32)
    firsts = numpy.linspace(0, length, SENTENCES, endpoint=False).astype(numpy.int32)
    ids[firsts] = config.sentence_marker_id
    ids[firsts[::3]] = config.title_marker_id
    lasts = numpy.append(firsts[1:], length) - 1
    rows = numpy.stack([firsts, lasts, numpy.arange(SENTENCES) // 3, numpy.arange(SENTENCES) % 3])
    slots = config.triple_slots
    pointers = numpy.tile(firsts[1 : slots + 1] + 1, (4, 1))
    relations = numpy.full(slots, config.relation_count)
    relations[:4] = rng.integers(0, config.relation_count, 4)
    pointers[:, 4:] = -100
    place = numpy.arange(length, dtype=numpy.int32)
    question = rng.integers(5, 400, 24).astype(numpy.int32)
    return Window(
        seed, 0, "x" * length, ids, place, place + 1, numpy.zeros(length, numpy.uint8),
        "x" * 24, question, place[:24], place[:24] + 1, numpy.zeros(24, numpy.uint8),
        rows.T.astype(numpy.int32), numpy.array([0, pointers[0, 0], pointers[1, 0]]),
        numpy.arange(SENTENCES) % 5 == 0, relations, pointers,
    )  # fmt: skip


def operations(model: TwoWikiEncoderForMultihopQA, batch: dict[str, torch.Tensor]) -> float:
    """Count the operations of a forward pass over the real tokens (a training step is three)."""
    backbone = model.config.backbone_config
    borders = batch.get("window_borders")
    lengths = batch["attention_mask"].sum(dim=1) if borders is None else borders.diff()
    lengths = lengths.double()
    context = (batch["context_mask"].sum(dim=1) + batch["question_mask"].sum(dim=1)).double()
    embedded = sum(p.numel() for n, p in model.backbone.named_parameters() if "embeddings" in n)
    body = sum(p.numel() for p in model.backbone.parameters()) - embedded
    heads = sum(
        p.numel()
        for name, p in model.named_parameters()
        if name.startswith(("fusion", "pointers.tokens", "answer_pointers.tokens"))
    )
    reach = [lengths] * backbone.num_hidden_layers
    if backbone.model_type == "modernbert":
        local = torch.minimum(lengths, torch.full_like(lengths, backbone.local_attention))
        reach = [lengths if t == "full_attention" else local for t in backbone.layer_types]
    attention = sum(4 * backbone.hidden_size * (lengths * far).sum() for far in reach)
    fused = model.config.fusion_layers * 4 * backbone.hidden_size * (context**2).sum()
    total = 2 * body * lengths.sum() + attention + 2 * heads * context.sum() + fused
    return float(total)


if __name__ == "__main__":
    sys.exit(main())
