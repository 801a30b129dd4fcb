"""Attention within the windows of a packed row of tokens, which has no padding.

In: the states of all windows in one row, and where each window begins. Out: states. BERT and its
like and ModernBERT attend by `varlen_attention`, an attention function of transformers. DeBERTa,
whose scores depend on distances too, has `PackedDisentangledAttention`. Without a GPU both go from
window to window.
"""

# N tokens of W windows, D width of a head, P positions of distances

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.models.deberta_v2.modeling_deberta_v2 import (
    DisentangledSelfAttention,
    make_log_bucket_position,
)

from .configuration_encoder import VARIABLE_LENGTHS


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
    if query.is_cuda:
        if dropout or query.dtype not in (torch.bfloat16, torch.float16):
            raise ValueError(
                f"{VARIABLE_LENGTHS} needs bf16 or fp16, and attention without dropout"
            )
        from torch.nn.attention.varlen import varlen_attn

        reach = (-1, -1) if sliding_window is None else (sliding_window - 1, sliding_window - 1)
        q, k, v = (part[0].transpose(0, 1).contiguous() for part in (query, key, value))
        borders, longest = cu_seq_lens_q, max_length_q
        states: Any = varlen_attn(
            q, k, v, borders, borders, longest, longest, scale=scaling, window_size=reach
        )
        return states.unsqueeze(0), None
    pieces = []
    for start, end in pairwise(cu_seq_lens_q.tolist()):
        q, k, v = (part[:, :, start:end] for part in (query, key, value))
        mask = None if sliding_window is None else _near(end - start, sliding_window, q.device)
        pieces.append(
            functional.scaled_dot_product_attention(
                q, k, v, attn_mask=mask, dropout_p=dropout, scale=scaling
            )
        )
    return torch.cat(pieces, dim=2).transpose(1, 2).contiguous(), None


def _near(length: int, reach: int, device: Any) -> Tensor:
    """Return which tokens of a window are less than `reach` apart: (L, L)."""
    positions = torch.arange(length, device=device)
    return (positions.unsqueeze(0) - positions.unsqueeze(1)).abs() < reach


def _no_mask(*_: Any, **__: Any) -> None:
    """Make no mask: packed windows are separated by their lengths."""


class PackedRow(NamedTuple):
    """Where the windows of a packed row are.

    Attributes:
        borders: the first token of each window, and the row's end: (W + 1,).
        places: the position of each distance, from minus the longest window to it.
        blocks: which tokens attend to which; None on a CPU.
    """

    borders: Tensor
    places: Tensor
    blocks: Any


class PackedDisentangledAttention(DisentangledSelfAttention):
    """DeBERTa's attention, which reads the windows of a packed row as well as padded ones."""

    def forward(
        self, hidden_states: Tensor, attention_mask: Any, *rest: Any, **options: Any
    ) -> tuple[Tensor, Any]:
        """Attend; a `PackedRow` instead of a mask tells the windows of a row: (1, N, H)."""
        if isinstance(attention_mask, Tensor):
            found: tuple[Tensor, Any] = super().forward(
                hidden_states, attention_mask, *rest, **options
            )
            return found
        if attention_mask.blocks is not None:
            return self._fused(hidden_states, attention_mask, options["rel_embeddings"]), None
        everything = torch.ones(1, 1, 1, 1, dtype=torch.bool, device=hidden_states.device)
        pieces = [
            super(PackedDisentangledAttention, self).forward(
                hidden_states[:, start:end], everything, rel_embeddings=options["rel_embeddings"]
            )[0]
            for start, end in pairwise(attention_mask.borders.tolist())
            if end > start
        ]
        return torch.cat(pieces, dim=1), None

    def _fused(self, states: Tensor, row: PackedRow, embeddings: Tensor) -> Tensor:
        """Attend by torch's flex attention: the scores of pairs of tokens are never laid out."""
        if self.training and self.dropout.p:
            raise ValueError(f"{VARIABLE_LENGTHS} needs attention without dropout")
        query, key, value = (
            self._heads(project, states)
            for project in (self.query_proj, self.key_proj, self.value_proj)
        )
        kinds = {"c2p", "p2c"} & set(self.pos_att_type)
        scale = (query.shape[-1] * (1 + len(kinds))) ** -0.5
        distances = self.pos_dropout(embeddings)[: 2 * self.pos_ebd_size].unsqueeze(0)
        terms = []  # of each token and position: (heads, N, P), and whether it is the query's
        if "c2p" in kinds:
            project = self.key_proj if self.share_att_key else self.pos_key_proj
            terms.append(((query @ self._heads(project, distances).mT)[0] * scale, True))
        if "p2c" in kinds:
            project = self.query_proj if self.share_att_key else self.pos_query_proj
            terms.append(((key @ self._heads(project, distances).mT)[0] * scale, False))
        reach = row.places.shape[0] // 2

        def with_distance(score: Tensor, _: Any, head: Any, one: Any, other: Any) -> Tensor:
            place = row.places[(one - other).clamp(-reach, reach) + reach]
            for term, of_query in terms:
                score = score + term[head, one if of_query else other, place]
            return score

        attend = compiled_attention()
        attended = attend(query, key, value, with_distance, row.blocks, scale=scale)
        joined: Tensor = attended.transpose(1, 2).flatten(2)
        return joined

    def _heads(self, project: Any, states: Tensor) -> Tensor:
        """Map states and cut them into heads: (1, N, H) to (1, heads, N, D)."""
        cut: Tensor = project(states).unflatten(-1, (self.num_attention_heads, -1))
        return cut.transpose(1, 2)


@cache
def compiled_attention() -> Any:
    """Return torch's flex attention, compiled: otherwise it lays all scores out."""
    return torch.compile(flex_attention)


def let_distances_pack(backbone: Any) -> None:
    """Let a DeBERTa read packed rows too; any other backbone stays as it is."""
    for module in backbone.modules():
        if type(module) is DisentangledSelfAttention:
            module.__class__ = PackedDisentangledAttention


def packed_row(config: Any, borders: Tensor, longest: int, count: int) -> PackedRow:
    """Return where the windows of a row of so many tokens are, for a DeBERTa."""
    most, buckets = config.max_relative_positions, getattr(config, "position_buckets", -1)
    most = config.max_position_embeddings if most < 1 else most
    distances = torch.arange(-longest, longest + 1, device=borders.device)
    if buckets > 0:
        distances = make_log_bucket_position(distances, buckets, most).long()
    span = buckets if buckets > 0 else most
    places = (distances + span).clamp(0, 2 * span - 1)
    if not borders.is_cuda:
        return PackedRow(borders, places, None)
    return PackedRow(borders, places, window_blocks(borders, count))


def window_blocks(borders: Tensor, count: int) -> Any:
    """Return which tokens of a row attend to which, in blocks: those of the same window."""
    window = torch.bucketize(torch.arange(count, device=borders.device), borders, right=True)

    def together(_: Any, __: Any, one: Any, other: Any) -> Any:
        return window[one] == window[other]

    return create_block_mask(together, None, None, count, count, device=borders.device)


def read_packed(
    backbone: Any, inputs: Mapping[str, Tensor], borders: Tensor | None, longest: int
) -> Tensor:
    """Return the states of a packed row: (1, N, H).

    DeBERTa's own forward lays out all pairs of a row's tokens.
    """
    states: Tensor = backbone.embeddings(**inputs)
    if borders is None:
        raise ValueError("packed windows need window_borders")
    row = packed_row(backbone.config, borders, longest, states.shape[1])
    embeddings = backbone.encoder.get_rel_embedding()
    for layer in backbone.encoder.layer:
        states, _ = layer(states, row, rel_embeddings=embeddings)
    return states


AttentionInterface.register(VARIABLE_LENGTHS, varlen_attention)
AttentionMaskInterface.register(VARIABLE_LENGTHS, _no_mask)
