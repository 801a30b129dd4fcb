"""The authors' checkpoints as models of this package, and the comparison with their outputs.

`convert_checkpoint` writes a model folder from their `model.pt` and index files. `check_file` runs
the model in reproduce settings with the weights and inputs of a file and compares every output
and loss in it. Raises `DataError` for a file that is missing or does not fit.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from twowiki.errors import DataError, existing_file
from twowiki.io.ownership import open_folder
from twowiki.models.configuration_baseline import TwoWikiBaselineConfig
from twowiki.models.decoding import best_spans
from twowiki.models.labels import POINTERS
from twowiki.models.modeling_baseline import TwoWikiBaselineForMultihopQA
from twowiki.models.outputs import TwoWikiOutput
from twowiki.models.tokenization_baseline import build_tokenizer

Tensors = Mapping[str, Tensor]
TOLERANCE = 1e-5
_MASKED = -1e29  # the reference fills padding with about -1e30

# our module -> theirs
_GRUS = {
    "encoder": "rnn",
    "context_encoder": "rnn_2",
    "support_encoder": "rnn_sp",
    "relations.question_encoder": "rnn_relation",
    "relations.memory_encoder": "rnn_relation_2",
    "evidence_encoder": "rnn_relation_3",
    **{f"pointers.encoders.{name}": f"rnn_{name}" for name in POINTERS},
    **{f"{name}_encoder": f"rnn_{name}" for name in ("start", "end", "type")},
}
_LINEARS = {
    "question_reduction": "linear_1.0",
    "self_reduction": "linear_2.0",
    "relation_reduction": "linear_rs_att.0",
    "support_head": "linear_sp",
    "relations.head": "linear_relation",
    **{f"pointers.heads.{name}": f"linear_{name}" for name in POINTERS},
    **{f"{name}_head": f"linear_{name}" for name in ("start", "end", "type")},
    "words.char_convolution": "char_cnn",
}
_ATTENTIONS = {
    "question_attention": "qc_att",
    "self_attention": "self_att",
    "relation_attention": "rs_att",
}
_EMBEDDINGS = {
    "words.word_embeddings": "word_emb",
    "words.char_embeddings": "char_emb",
    "relations.embeddings": "relation_emb",
}
_GRU_PARTS = [
    f"{part}_{side}_l0{direction}"
    for part in ("weight", "bias")
    for side in ("ih", "hh")
    for direction in ("", "_reverse")
]


def parameter_names() -> dict[str, str]:
    """Return their parameter name for each of ours."""
    names = {}
    for ours, theirs in _GRUS.items():
        names[f"{ours}.initial_state"] = f"{theirs}.init_hidden.0"
        names |= {f"{ours}.gru.{part}": f"{theirs}.rnns.0.{part}" for part in _GRU_PARTS}
    for ours, theirs in _LINEARS.items():
        names |= {f"{ours}.{part}": f"{theirs}.{part}" for part in ("weight", "bias")}
    for ours, theirs in _ATTENTIONS.items():
        names[f"{ours}.input_score.weight"] = f"{theirs}.input_linear.weight"
        names[f"{ours}.memory_score.weight"] = f"{theirs}.memory_linear.weight"
        names[f"{ours}.scale"] = f"{theirs}.dot_scale"
    return names | {f"{ours}.weight": f"{theirs}.weight" for ours, theirs in _EMBEDDINGS.items()}


def convert_weights(theirs: Tensors, file: str | Path) -> dict[str, Tensor]:
    """Rename a state dict of theirs.

    Raises:
        DataError: a parameter is missing, or there is one that the published model does not have.
    """
    theirs = {name.removeprefix("module."): value for name, value in theirs.items()}
    names = parameter_names()
    missing = sorted(set(names.values()) - set(theirs))
    unknown = sorted(set(theirs) - set(names.values()))
    if missing or unknown:
        found = f"lacks {missing[0]!r}" if missing else f"has an unknown {unknown[0]!r}"
        raise DataError(
            f"is not a checkpoint of the published 2Wiki baseline: it {found} "
            f"({len(missing)} missing, {len(unknown)} unknown)",
            file=file,
            remedy="Give the model.pt that its training writes (a state dict)",
        )
    return {ours: theirs[name].float() for ours, name in names.items()}


def model_of(weights: Tensors, **fields: Any) -> TwoWikiBaselineForMultihopQA:
    """Make a model in reproduce settings around converted weights, in their sizes."""
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
    checkpoint: str, out: str, *, words: str, characters: str, relations: str
) -> TwoWikiBaselineForMultihopQA:
    """Write a model folder from the authors' state dict and index files.

    Args:
        checkpoint: their model.pt, read with `weights_only=True`.
        out: the folder to write.
        words: their word2idx file (JSON from word to id).
        characters: their char2idx file.
        relations: their relation2idx file.

    Raises:
        DataError: a file is missing or does not fit the weights; `out` holds files of others with
            the names of the model's.
    """
    weights = convert_weights(read_checkpoint(checkpoint), checkpoint)
    try:
        model_of(weights)
    except (ValueError, RuntimeError, IndexError, TypeError) as error:
        problem = f"has tensors of other shapes ({str(error).splitlines()[0]})"
        remedy = "Give the model.pt of the published baseline"
        raise DataError(problem, file=checkpoint, remedy=remedy) from error
    word_list = read_index(words, len(weights["words.word_embeddings.weight"]))
    letters = read_index(characters, len(weights["words.char_embeddings.weight"]))
    names = read_index(relations, len(weights["relations.embeddings.weight"]))
    if any(len(letter) != 1 for letter in letters[2:]):
        raise DataError("has an entry that is not a single character", file=characters)
    tokenizer = build_tokenizer(
        word_list[2:], "".join(letters[2:]), splitter="spacy", lower_case_words=False
    )
    model = model_of(weights, relations=names, char_vocab="".join(letters[2:]))
    inputs = [Path(one) for one in (checkpoint, words, characters, relations)]
    with (
        open_folder(Path(out), "convert-baseline", {}, beside=True, inputs=inputs) as owned,
        owned.staged() as aside,
    ):
        model.save_pretrained(aside)
        tokenizer.save_pretrained(aside)
    return model


def read_checkpoint(path: str) -> dict[str, Tensor]:
    """Read a state dict without running any code in it."""
    existing_file(path, "Give the model.pt that the authors' training writes")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about pickles, which are refused anyway
            loaded = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # damaged bytes make the reader raise many kinds
        raise DataError(
            f"cannot be read as a state dict ({type(error).__name__})",
            file=path,
            remedy="Only tensors are read: save `model.state_dict()`, not the model",
        ) from error
    if not isinstance(loaded, dict) or not all(
        isinstance(name, str) and isinstance(value, Tensor) for name, value in loaded.items()
    ):
        remedy = "Save `model.state_dict()`, not the model"
        raise DataError("is not a mapping from names to tensors", file=path, remedy=remedy)
    return loaded


def read_index(path: str, size: int) -> list[str]:
    """Read one of their index files (name to id) as a list by id, special entries included."""
    existing_file(path, "Give the index file that the authors' preprocessing writes")
    try:
        index = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        remedy = "Give the index file that the authors' preprocessing writes"
        raise DataError(f"is not valid JSON: {error}", file=path, remedy=remedy) from error
    if not isinstance(index, dict) or not all(isinstance(v, int) for v in index.values()):
        raise DataError("is not an object from names to ids", file=path)
    names = {number: name for name, number in index.items()}
    if sorted(names) != list(range(size)):
        raise DataError(
            f"has {len(index)} names, and the weights have {size} rows",
            file=path,
            remedy="Give the index files that were made with this checkpoint",
        )
    return [names[number] for number in range(size)]


class OutputDifference(NamedTuple):
    """The largest difference of one output, and whether it is small enough."""

    name: str
    largest: float
    passed: bool


def check_file(path: str | Path) -> list[OutputDifference]:
    """Compare our outputs with those in a file of the reference's weights, inputs and outputs."""
    parts = _read_reference(path)
    model = model_of(convert_weights(parts["weights"], path))
    inputs = parts["input"]
    with torch.no_grad():
        labels = reference_labels(parts.get("label", {}), inputs)
        output = model(**reference_inputs(inputs), **labels)
    found = _named_outputs(output, model.config)
    differences = [
        _difference(name, found[name], expected)
        for name, expected in sorted(parts["output"].items())
        if name in found
    ]
    losses = _named_losses(output)
    return differences + [
        _difference(f"loss.{name}", losses[name], expected)
        for name, expected in sorted(parts.get("loss", {}).items())
        if name in losses
    ]


def _read_reference(path: str | Path) -> dict[str, dict[str, Tensor]]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    existing_file(path, "Give a file of reference outputs (.safetensors)")
    try:
        stored = load_file(path)
    except SafetensorError as error:
        raise DataError(f"is not a safetensors file: {error}", file=path) from error
    parts: dict[str, dict[str, Tensor]] = {}
    for name, value in stored.items():
        group, _, rest = name.partition(".")
        parts.setdefault(group, {})[rest] = value
    for group in ("weights", "input", "output"):
        if group not in parts:
            raise DataError(f"has no {group}", file=path, remedy="Give reference outputs")
    return parts


def reference_inputs(theirs: Tensors) -> dict[str, Tensor]:
    """Turn the reference's inputs into ours; sentence bounds are half-open there."""
    starts, ends = theirs["sentence_bounds"].unbind(-1)
    return {
        "input_ids": theirs["context_idxs"],
        "char_ids": theirs["context_char_idxs"],
        "context_mask": theirs["context_idxs"] > 0,
        "question_ids": theirs["ques_idxs"],
        "question_char_ids": theirs["ques_char_idxs"],
        "question_mask": theirs["ques_idxs"] > 0,
        "sentence_starts": starts,
        "sentence_ends": ends - 1,
        "sentence_mask": torch.ones_like(starts, dtype=torch.bool),
    }


def reference_labels(labels: Tensors, theirs: Tensors) -> dict[str, Tensor]:
    """Turn the reference's targets into ours; none where there are none."""
    if not labels:
        return {}
    return {
        **{f"{name}_positions": labels[name] for name in POINTERS},
        "start_positions": labels["start_positions"],
        "end_positions": labels["end_positions"],
        "answer_type_labels": labels["answer_type"],
        "support_labels": labels["support"],
        "relation_labels": theirs["relations"],
    }


def _named_outputs(output: TwoWikiOutput, config: TwoWikiBaselineConfig) -> dict[str, Tensor]:
    """Name our outputs as the reference's files do, spans and active relations included."""
    logits: dict[str, Tensor] = dict(output.items())
    support, relations = logits["support_logits"], logits["relation_logits"]
    named = {name: logits[name] for name in logits if name.endswith("_logits")}
    named["support_logits"] = torch.stack([torch.zeros_like(support), support], dim=-1)
    named["active_relations"] = (relations.sigmoid() >= 0.5).float()

    def span(starts: Tensor, ends: Tensor) -> Tensor:
        return torch.stack(best_spans(starts, ends, None, config.max_span_tokens)[:2], dim=-1)

    named["answer_span"] = span(
        logits["start_logits"].unsqueeze(-1), logits["end_logits"].unsqueeze(-1)
    )[:, 0]
    for who in ("subject", "object"):
        named[f"{who}_span"] = span(logits[f"{who}_start_logits"], logits[f"{who}_end_logits"])
    if output.losses is not None:
        named["relation_loss"] = output.losses["relation"]
    return named


def _named_losses(output: TwoWikiOutput) -> dict[str, Tensor]:
    """Name our losses as the reference's files do."""
    if output.losses is None or output.loss is None:
        return {}
    losses = output.losses
    named = {name: losses[name] for name in ("support", "relation", "subject", "object")}
    return {**named, "answer": losses["span"] + losses["answer_type"], "total": output.loss}


def _difference(name: str, ours: Tensor, theirs: Tensor) -> OutputDifference:
    """Compare where the reference has a real number; at padding both must be very low."""
    if not theirs.is_floating_point():
        largest = float((ours - theirs).abs().max()) if theirs.numel() else 0.0
        return OutputDifference(name, largest, largest == 0)
    masked = theirs < _MASKED
    largest = float((ours - theirs).masked_fill(masked, 0.0).abs().max())
    passed = largest <= TOLERANCE and bool((ours[masked] < _MASKED).all())
    return OutputDifference(name, largest, passed)
