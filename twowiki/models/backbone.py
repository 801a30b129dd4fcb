"""The backbone: load any pretrained encoder, build it from its configuration, run it.

In: a name or folder of an encoder with a fast tokenizer, then windows, padded or packed. Out: the
states of all windows in one row. Raises ValueError for a model that is not an encoder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer

from .configuration_encoder import DISENTANGLED, VARIABLE_LENGTHS, TwoWikiEncoderConfig, packs
from .packed_attention import let_distances_pack, read_packed
from .processing_encoder import SENTENCE_MARKER, TITLE_MARKER, add_markers, frame_of


def build_backbone(config: TwoWikiEncoderConfig) -> Any:
    """Make the encoder of a configuration, without the pooling that nothing would train."""
    if config.backbone_config is None:
        raise ValueError("the configuration has no backbone_config. Use from_backbone")
    backbone = AutoModel.from_config(config.backbone_config, dtype=torch.get_default_dtype())
    let_distances_pack(backbone)
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
        raise ValueError(f"{name} is a {type(body).__name__}, not an encoder")
    add_markers(tokenizer)
    fit_embeddings(without_pooler(body), tokenizer)
    fields = frame_of(tokenizer, body.config)
    folder = Path(name)
    body.config.name_or_path = ""  # a folder of this machine means nothing elsewhere
    fields["backbone_name"] = folder.name if folder.is_dir() else name
    return body, tokenizer, {**fields, "backbone_config": body.config}


@torch.no_grad()
def fit_embeddings(backbone: Any, tokenizer: Any) -> None:
    """Add rows to the embedding for the markers, near the separator's row."""
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


class Windows(NamedTuple):
    """The windows of a batch, padded or packed into one row, as `EncoderCollator` lays them out.

    Shape:
        input_ids, token_type_ids: (W, L) or (1, N). Padded: attention_mask, question_mask: (W, L).
        Packed: position_ids: (1, N); borders: (W + 1,); positions, of the longest one: (L,).
        added, to the tokens' embeddings of width E: as input_ids, and E.
    """

    input_ids: Tensor
    attention_mask: Tensor | None = None
    question_mask: Tensor | None = None
    token_type_ids: Tensor | None = None
    position_ids: Tensor | None = None
    borders: Tensor | None = None
    positions: Tensor | None = None
    added: Tensor | None = None


def read_windows(backbone: Any, windows: Windows) -> Tensor:
    """Return the states of all windows in one row: (W * L, H) or (N, H).

    In a backbone of local attention every token attends to the question.
    """
    inputs: dict[str, Any] = {"input_ids": windows.input_ids}
    if windows.added is not None:
        embedded = backbone.get_input_embeddings()(windows.input_ids)
        inputs = {"inputs_embeds": embedded + windows.added}
    if windows.token_type_ids is not None:
        inputs["token_type_ids"] = windows.token_type_ids
    if windows.positions is not None:
        if not packs(backbone.config):
            raise ValueError(f"packed windows need {VARIABLE_LENGTHS} or flash attention")
        longest = windows.positions.shape[0]  # a shape, which no step has to wait for
        if backbone.config.model_type == DISENTANGLED:
            inputs["position_ids"] = windows.position_ids
            return read_packed(backbone, inputs, windows.borders, longest).flatten(0, 1)
        inputs |= dict.fromkeys(("cu_seq_lens_q", "cu_seq_lens_k"), windows.borders)
        inputs |= {"max_length_q": longest, "max_length_k": longest}
        inputs["position_ids"] = windows.position_ids
    elif windows.attention_mask is not None and windows.question_mask is not None:
        inputs["attention_mask"] = windows.attention_mask.long()
        if backbone.config.model_type == "longformer":
            inputs["global_attention_mask"] = windows.question_mask.long()
    states: Tensor = backbone(**inputs, return_dict=True).last_hidden_state
    return states.flatten(0, 1)


def set_attention(model: Any, name: str) -> None:
    """Make a model's backbone attend by an implementation; its batches are laid out for that."""
    if model.config.backbone_config.model_type == DISENTANGLED:  # it has its own, not functions
        model.backbone.config._attn_implementation = name
    else:
        model.backbone.set_attn_implementation(name)
    model.config.backbone_config._attn_implementation = name
