"""The backbone: loading any pretrained encoder, building it from its configuration, running it."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer

from .encoder_configuration import TwoWikiEncoderConfig
from .encoder_packing import packs, read_packed
from .encoder_tokenization import SENTENCE_MARKER, TITLE_MARKER, add_markers, frame_of


def build_backbone(config: TwoWikiEncoderConfig) -> Any:
    """Make the encoder of a configuration, without the pooling that nothing would train."""
    if config.backbone_config is None:
        raise ValueError("the configuration has no backbone_config: see from_backbone")
    backbone = AutoModel.from_config(config.backbone_config, dtype=torch.get_default_dtype())
    return without_pooler(backbone)


def without_pooler(backbone: Any) -> Any:
    """Drop the pooling layer where there is one."""
    if isinstance(getattr(backbone, "pooler", None), nn.Module):
        backbone.pooler = None
    if hasattr(backbone, "activation") and hasattr(backbone, "add_pooling_layer"):
        backbone.activation = None
    return backbone


def load_backbone(
    name: str, attn_implementation: str | None = None, revision: str | None = None
) -> tuple[Any, Any, dict[str, Any]]:
    """Load a pretrained encoder and its tokenizer, both with the markers.

    Returns:
        The encoder, the tokenizer, and the fields of the configuration that they fix.
    """
    chosen = {"attn_implementation": attn_implementation} if attn_implementation else {}
    tokenizer = AutoTokenizer.from_pretrained(name, revision=revision)
    body = AutoModel.from_pretrained(name, revision=revision, dtype=torch.float32, **chosen)
    if getattr(body.config, "is_encoder_decoder", False):
        raise ValueError(f"{name} is a {type(body).__name__}, no encoder")
    add_markers(tokenizer)
    fit_embeddings(without_pooler(body), tokenizer)
    fields = frame_of(tokenizer, body.config)
    given = Path(name)
    body.config.name_or_path = ""  # a folder of this machine says nothing elsewhere
    fields["backbone_name"] = given.name if given.is_dir() else name
    return body, tokenizer, {**fields, "backbone_config": body.config}


@torch.no_grad()
def fit_embeddings(backbone: Any, tokenizer: Any) -> None:
    """Give the markers rows of the embedding, near the separator's row."""
    if len(tokenizer) > backbone.get_input_embeddings().num_embeddings:
        backbone.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    weight = backbone.get_input_embeddings().weight
    separator = tokenizer.sep_token_id
    if separator is None:
        return
    noise = torch.Generator().manual_seed(0)
    for marker in (TITLE_MARKER, SENTENCE_MARKER):
        spread = torch.randn(weight.shape[1], generator=noise) * 0.02
        weight[tokenizer.convert_tokens_to_ids(marker)] = weight[separator] + spread


def read_windows(
    backbone: Any,
    input_ids: Tensor,
    attention_mask: Tensor,
    token_type_ids: Tensor | None,
    question_mask: Tensor,
    added: Tensor | None = None,
) -> Tensor:
    """Give the states of all windows in one row.

    Without padding where the attention allows it; the states at padding are then zeros. A
    backbone of local attention looks at the question from everywhere.

    Shape:
        input_ids, attention_mask, token_type_ids, question_mask: (W, L); added, to the tokens'
        embeddings of width E: (W, L, E). Output: (W * L, H).
    """
    inputs: dict[str, Tensor] = {"input_ids": input_ids}
    if added is not None:
        inputs = {"inputs_embeds": backbone.get_input_embeddings()(input_ids) + added}
    if packs(backbone):
        return read_packed(backbone, inputs, attention_mask, token_type_ids)
    inputs["attention_mask"] = attention_mask.long()
    if token_type_ids is not None:
        inputs["token_type_ids"] = token_type_ids
    if "global_attention_mask" in inspect.signature(backbone.forward).parameters:
        inputs["global_attention_mask"] = question_mask.long()
    states: Tensor = backbone(**inputs, return_dict=True).last_hidden_state
    return states.flatten(0, 1)
