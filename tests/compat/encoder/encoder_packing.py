"""Reading windows without their padding: all real tokens in one row, each window on its own.

It works where attention knows of variable lengths: transformers' flash attention, and
`twowiki_varlen`, which is torch's own flash kernel on a GPU and a plain loop elsewhere. Choose
one by `attn_implementation`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers import AttentionInterface, AttentionMaskInterface

VARIABLE_LENGTHS = "twowiki_varlen"
# backbones whose forward hands the lengths down to their attention
_PACKABLE = frozenset("bert roberta xlm-roberta electra modernbert".split())
_POSITIONS_AFTER_PADDING = frozenset("roberta xlm-roberta".split())


def packs(backbone: Any) -> bool:
    """Say whether a backbone reads windows without padding."""
    attention = str(getattr(backbone.config, "_attn_implementation", ""))
    known = attention == VARIABLE_LENGTHS or "flash" in attention
    return known and backbone.config.model_type in _PACKABLE


def read_packed(
    backbone: Any,
    inputs: Mapping[str, Tensor],
    attention_mask: Tensor,
    token_type_ids: Tensor | None,
) -> Tensor:
    """Read the real tokens as one row; zeros stand at padding.

    Shape:
        inputs, the backbone's: (W, L) or (W, L, E); attention_mask, token_type_ids: (W, L), the
        real tokens first. Output: (W * L, H).
    """
    real = attention_mask.flatten().nonzero().squeeze(1)
    lengths = attention_mask.sum(dim=1)
    borders = functional.pad(lengths.cumsum(0), (1, 0)).to(torch.int32)
    positions = torch.arange(attention_mask.shape[1], device=attention_mask.device)
    positions = positions.expand_as(attention_mask)
    if backbone.config.model_type in _POSITIONS_AFTER_PADDING:
        positions = positions + backbone.config.pad_token_id + 1
    inputs = {**inputs, "position_ids": positions}
    if token_type_ids is not None:
        inputs["token_type_ids"] = token_type_ids
    longest = int(lengths.max())
    packed = backbone(
        **{name: given.flatten(0, 1)[real].unsqueeze(0) for name, given in inputs.items()},
        cu_seq_lens_q=borders,
        cu_seq_lens_k=borders,
        max_length_q=longest,
        max_length_k=longest,
    ).last_hidden_state[0]
    states: Tensor = packed.new_zeros(attention_mask.numel(), packed.shape[-1])
    return states.index_copy(0, real, packed)


def varlen_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    sliding_window: int | None = None,
    cu_seq_lens_q: Tensor | None = None,
    max_length_q: int = 0,
    **_: Any,
) -> tuple[Tensor, None]:
    """Attend within each window of a packed row; an attention function of transformers.

    Shape:
        query, key, value: (1, heads, N, D); cu_seq_lens_q: (W + 1,). Output: (1, N, heads, D).
    """
    if cu_seq_lens_q is None:
        raise ValueError(f"{VARIABLE_LENGTHS} attention needs packed windows")
    if query.is_cuda and query.dtype in (torch.bfloat16, torch.float16) and not dropout:
        from torch.nn.attention.varlen import varlen_attn

        reach = (-1, -1) if sliding_window is None else (sliding_window - 1, sliding_window - 1)
        q, k, v = (states[0].transpose(0, 1).contiguous() for states in (query, key, value))
        borders, longest = cu_seq_lens_q, max_length_q
        seen: Any = varlen_attn(
            q, k, v, borders, borders, longest, longest, scale=scaling, window_size=reach
        )
        return seen.unsqueeze(0), None
    pieces = []
    for start, end in pairwise(cu_seq_lens_q.tolist()):
        q, k, v = (states[:, :, start:end] for states in (query, key, value))
        mask = None if sliding_window is None else near(end - start, sliding_window, q.device)
        pieces.append(
            functional.scaled_dot_product_attention(
                q, k, v, attn_mask=mask, dropout_p=dropout, scale=scaling
            )
        )
    return torch.cat(pieces, dim=2).transpose(1, 2).contiguous(), None


def near(length: int, reach: int, device: Any) -> Tensor:
    """Say which tokens of a window are less than `reach` apart: (L, L)."""
    place = torch.arange(length, device=device)
    return (place.unsqueeze(0) - place.unsqueeze(1)).abs() < reach


def no_mask(*_: Any, **__: Any) -> None:
    """Make no mask: packed windows are kept apart by their lengths."""


AttentionInterface.register(VARIABLE_LENGTHS, varlen_attention)
AttentionMaskInterface.register(VARIABLE_LENGTHS, no_mask)
