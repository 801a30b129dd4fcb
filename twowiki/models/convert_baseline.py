"""The authors' checkpoints: their parameter names to ours, and the check against their outputs.

`python -m twowiki.models.convert_baseline check FILE.safetensors ...` runs our model in reproduce
settings with the weights and inputs in a file and compares every output and loss in it; it exits
with 1 if anything differs by more than 1e-5. `convert_checkpoint` makes a model folder of their
`model.pt` and index files.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from twowiki.errors import DataError, require_file
from twowiki.models.configuration_baseline import TwoWikiBaselineConfig
from twowiki.models.decoding import best_spans
from twowiki.models.modeling_baseline import TwoWikiBaselineForMultihopQA
from twowiki.models.outputs import TwoWikiOutput
from twowiki.models.tokenization_baseline import build_tokenizer

# our module -> theirs
GRUS = {
    "encoder": "rnn",
    "context_encoder": "rnn_2",
    "support_encoder": "rnn_sp",
    "relations.question_encoder": "rnn_relation",
    "relations.memory_encoder": "rnn_relation_2",
    "evidence_encoder": "rnn_relation_3",
    "pointers.encoders.subject_start": "rnn_subject_start",
    "pointers.encoders.subject_end": "rnn_subject_end",
    "pointers.encoders.object_start": "rnn_object_start",
    "pointers.encoders.object_end": "rnn_object_end",
    "start_encoder": "rnn_start",
    "end_encoder": "rnn_end",
    "type_encoder": "rnn_type",
}
LINEARS = {
    "question_reduction": "linear_1.0",
    "self_reduction": "linear_2.0",
    "relation_reduction": "linear_rs_att.0",
    "support_head": "linear_sp",
    "relations.head": "linear_relation",
    "pointers.heads.subject_start": "linear_subject_start",
    "pointers.heads.subject_end": "linear_subject_end",
    "pointers.heads.object_start": "linear_object_start",
    "pointers.heads.object_end": "linear_object_end",
    "start_head": "linear_start",
    "end_head": "linear_end",
    "type_head": "linear_type",
    "words.char_convolution": "char_cnn",
}
ATTENTIONS = {
    "question_attention": "qc_att",
    "self_attention": "self_att",
    "relation_attention": "rs_att",
}
EMBEDDINGS = {
    "words.word_embeddings": "word_emb",
    "words.char_embeddings": "char_emb",
    "relations.embeddings": "relation_emb",
}
GRU_PARTS = [
    f"{kind}_{side}_l0{direction}"
    for kind in ("weight", "bias")
    for side in ("ih", "hh")
    for direction in ("", "_reverse")
]


def parameter_names() -> dict[str, str]:
    """Give their parameter name for each of ours."""
    names = {}
    for ours, theirs in GRUS.items():
        names[f"{ours}.initial_state"] = f"{theirs}.init_hidden.0"
        names |= {f"{ours}.gru.{part}": f"{theirs}.rnns.0.{part}" for part in GRU_PARTS}
    for ours, theirs in LINEARS.items():
        names |= {f"{ours}.{part}": f"{theirs}.{part}" for part in ("weight", "bias")}
    for ours, theirs in ATTENTIONS.items():
        names[f"{ours}.input_score.weight"] = f"{theirs}.input_linear.weight"
        names[f"{ours}.memory_score.weight"] = f"{theirs}.memory_linear.weight"
        names[f"{ours}.scale"] = f"{theirs}.dot_scale"
    names |= {f"{ours}.weight": f"{theirs}.weight" for ours, theirs in EMBEDDINGS.items()}
    return names


def convert_weights(theirs: Mapping[str, Tensor], file: str | Path) -> dict[str, Tensor]:
    """Rename a state dict of theirs.

    Raises:
        DataError: a parameter is missing, or there is one that the published model has not.
    """
    theirs = {name.removeprefix("module."): value for name, value in theirs.items()}
    names = parameter_names()
    missing = sorted(set(names.values()) - set(theirs))
    unknown = sorted(set(theirs) - set(names.values()))
    if missing or unknown:
        said = f"lacks {missing[0]!r}" if missing else f"has an unknown {unknown[0]!r}"
        raise DataError(
            f"is no checkpoint of the published 2Wiki baseline: it {said} "
            f"({len(missing)} missing, {len(unknown)} unknown)",
            file=file,
            remedy="Give the model.pt that its training writes (a state dict)",
        )
    return {ours: theirs[name].float() for ours, name in names.items()}


def model_of(weights: Mapping[str, Tensor], **fields: Any) -> TwoWikiBaselineForMultihopQA:
    """Make a model in reproduce settings around converted weights; the sizes are theirs."""
    relations, relation_dim = weights["relations.embeddings.weight"].shape
    words, word_dim = weights["words.word_embeddings.weight"].shape
    characters, char_dim = weights["words.char_embeddings.weight"].shape
    sizes = {
        "vocab_size": words,
        "word_dim": word_dim,
        "char_dim": char_dim,
        "char_hidden": weights["words.char_convolution.weight"].shape[0],
        "hidden_size": weights["encoder.initial_state"].shape[-1],
        "relation_dim": relation_dim,
        "relations": [str(number) for number in range(relations)],
        "char_vocab": "".join(chr(0xE000 + number) for number in range(characters - 2)),
    }
    model = TwoWikiBaselineForMultihopQA(TwoWikiBaselineConfig.reproduce(**{**sizes, **fields}))
    model.load_state_dict(dict(weights))
    model.eval()
    return model


def convert_checkpoint(
    checkpoint: str,
    out: str,
    *,
    words: str,
    characters: str,
    relations: str,
) -> TwoWikiBaselineForMultihopQA:
    """Make a model folder of the authors' state dict and index files.

    Args:
        checkpoint: their model.pt, read with `weights_only=True`.
        out: the folder to write.
        words: their word2idx file (JSON from word to id).
        characters: their char2idx file.
        relations: their relation2idx file.

    Raises:
        DataError: a file is missing or does not fit the weights.
    """
    theirs = read_checkpoint(checkpoint)
    weights = convert_weights(theirs, checkpoint)
    known = read_index(words, len(weights["words.word_embeddings.weight"]))
    letters = read_index(characters, len(weights["words.char_embeddings.weight"]))
    names = read_index(relations, len(weights["relations.embeddings.weight"]))
    if any(len(letter) != 1 for letter in letters[2:]):
        raise DataError("has an entry that is no single character", file=characters)
    tokenizer = build_tokenizer(
        known[2:], "".join(letters[2:]), splitter="spacy", lower_case_words=False
    )
    model = model_of(weights, relations=names, char_vocab="".join(letters[2:]))
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    return model


def read_checkpoint(path: str) -> dict[str, Tensor]:
    """Read a state dict without running any code that it may hold."""
    import pickle

    require_file(path, "Give the model.pt that the authors' training writes")
    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError) as error:
        raise DataError(
            f"cannot be read as a state dict ({type(error).__name__})",
            file=path,
            remedy="Only tensors are read: save `model.state_dict()`, not the model",
        ) from error
    if not isinstance(loaded, dict) or not all(isinstance(v, Tensor) for v in loaded.values()):
        raise DataError("holds something else than tensors by name", file=path)
    return loaded


def read_index(path: str, size: int) -> list[str]:
    """Read one of their index files (name to id) as a list by id.

    The specials of ids 0 and 1 stay as they are named there.
    """
    require_file(path, "Give the index file that the authors' preprocessing writes")
    try:
        index = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"is no JSON: {error}", file=path) from error
    if not isinstance(index, dict) or not all(isinstance(v, int) for v in index.values()):
        raise DataError("is no object from names to ids", file=path)
    names = {number: name for name, number in index.items()}
    if sorted(names) != list(range(size)):
        raise DataError(
            f"has {len(index)} names, and the weights have {size} rows",
            file=path,
            remedy="Give the index files that were made with this checkpoint",
        )
    return [names[number] for number in range(size)]


def main(arguments: list[str] | None = None) -> int:
    """Run `check`."""
    parser = argparse.ArgumentParser(prog="python -m twowiki.models.convert_baseline")
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="compare with the reference's outputs in files")
    check.add_argument("files", nargs="+", help="files of weights, inputs and outputs")
    given = parser.parse_args(arguments)

    passed = True
    for path in given.files:
        try:
            differences = check_file(path)
        except DataError as error:
            print(error, file=sys.stderr)
            return 2
        print(path)
        for name, largest, fine in differences:
            print(f"  {name:24} {largest:.2e}  {'ok' if fine else 'DIFFERS'}")
            passed &= fine
    print(
        f"all within {TOLERANCE:g}" if passed else f"something differs by more than {TOLERANCE:g}"
    )
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())


TOLERANCE = 1e-5
MASKED = -1e29  # the reference fills padding with about -1e30


class Difference(NamedTuple):
    """The largest difference of one output, and whether it is small enough."""

    name: str
    largest: float
    passed: bool


def check_file(path: str | Path) -> list[Difference]:
    """Compare our outputs with those in a file of the reference's weights, inputs and outputs."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    require_file(path, "Give a file of reference outputs (.safetensors)")
    try:
        stored = load_file(path)
    except SafetensorError as error:
        raise DataError(f"is no safetensors file: {error}", file=path) from error
    parts: dict[str, dict[str, Tensor]] = {}
    for name, value in stored.items():
        group, _, rest = name.partition(".")
        parts.setdefault(group, {})[rest] = value
    for group in ("weights", "input", "output"):
        if group not in parts:
            raise DataError(f"holds no {group}", file=path, remedy="Give reference outputs")
    model = model_of(convert_weights(parts["weights"], path))
    labels = parts.get("label", {})
    with torch.no_grad():
        output = model(
            **reference_inputs(parts["input"]), **reference_labels(labels, parts["input"])
        )
    found = reference_outputs(output, model.config)
    differences = [
        compare(name, found[name], expected)
        for name, expected in sorted(parts["output"].items())
        if name in found
    ]
    if output.losses is not None:
        losses = reference_losses(output, model.config)
        differences += [
            compare(f"loss.{name}", losses[name], expected)
            for name, expected in sorted(parts.get("loss", {}).items())
            if name in losses
        ]
    return differences


def reference_inputs(given: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Take the reference's inputs to ours; sentence bounds are half-open there."""
    bounds = given["sentence_bounds"]
    starts, ends = bounds[..., 0], bounds[..., 1]
    return {
        "input_ids": given["context_idxs"],
        "char_ids": given["context_char_idxs"],
        "context_mask": given["context_idxs"] > 0,
        "question_ids": given["ques_idxs"],
        "question_char_ids": given["ques_char_idxs"],
        "question_mask": given["ques_idxs"] > 0,
        "sentence_starts": starts,
        "sentence_ends": ends - 1,
        "sentence_mask": torch.ones_like(starts, dtype=torch.bool),
    }


def reference_labels(
    labels: Mapping[str, Tensor], given: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """Take the reference's targets to ours."""
    if not labels:
        return {}
    named = {
        f"{who}_{side}_positions": labels[f"{who}_{side}"]
        for who in ("subject", "object")
        for side in ("start", "end")
    }
    return named | {
        "start_positions": labels["start_positions"],
        "end_positions": labels["end_positions"],
        "answer_type_labels": labels["answer_type"],
        "support_labels": labels["support"],
        "relation_labels": given["relations"],
    }


def reference_outputs(output: TwoWikiOutput, config: TwoWikiBaselineConfig) -> dict[str, Tensor]:
    """Name our outputs as the reference's files do, spans and active relations included."""
    support = output.support_logits
    assert support is not None
    assert output.start_logits is not None
    assert output.end_logits is not None
    assert output.relation_logits is not None
    named = {
        "start_logits": output.start_logits,
        "end_logits": output.end_logits,
        "answer_type_logits": output.answer_type_logits,
        "support_logits": torch.stack([torch.zeros_like(support), support], dim=-1),
        "relation_logits": output.relation_logits,
        "active_relations": (output.relation_logits.sigmoid() >= 0.5).float(),
    }
    answer = best_spans(
        output.start_logits.unsqueeze(-1),
        output.end_logits.unsqueeze(-1),
        None,
        config.max_span_tokens,
    )
    named["answer_span"] = torch.stack(answer[:2], dim=-1)[:, 0]
    for who in ("subject", "object"):
        starts, ends = output[f"{who}_start_logits"], output[f"{who}_end_logits"]
        named[f"{who}_start_logits"], named[f"{who}_end_logits"] = starts, ends
        spans = best_spans(starts, ends, None, config.max_span_tokens)
        named[f"{who}_span"] = torch.stack(spans[:2], dim=-1)
    if output.losses is not None:
        named["relation_loss"] = output.losses["relation"]
    return {name: value for name, value in named.items() if value is not None}


def reference_losses(output: TwoWikiOutput, config: TwoWikiBaselineConfig) -> dict[str, Tensor]:
    """Name our losses as the reference's files do."""
    losses = output.losses
    assert losses is not None
    assert output.loss is not None
    return {
        "answer": losses["span"] + losses["answer_type"],
        "support": losses["support"],
        "relation": losses["relation"],
        "subject": losses["subject"],
        "object": losses["object"],
        "total": output.loss,
    }


def compare(name: str, ours: Tensor, theirs: Tensor) -> Difference:
    """Compare where the reference holds a real number; at padding both must be very low."""
    if not theirs.is_floating_point():
        largest = float((ours - theirs).abs().max()) if theirs.numel() else 0.0
        return Difference(name, largest, largest == 0)
    masked = theirs < MASKED
    largest = float((ours - theirs).masked_fill(masked, 0.0).abs().max())
    return Difference(name, largest, largest <= TOLERANCE and bool((ours[masked] < MASKED).all()))
