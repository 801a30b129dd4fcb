"""The encoder model's own layers: attention, a layer over tokens, slots that look at them."""

# B examples, T tokens of the memory, K slots, H width

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from .encoder_configuration import TwoWikiEncoderConfig


class Attention(nn.Module):
    """Many-headed attention of queries to a memory, through torch's fused kernels."""

    def __init__(self, config: TwoWikiEncoderConfig) -> None:
        super().__init__()
        width = config.width
        self.heads = heads_for(width, config.head_size)
        self.dropout = config.dropout
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.value, self.output = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, queries: Tensor, memory: Tensor, memory_mask: Tensor | None) -> Tensor:
        """Attend.

        Shape:
            queries: (B, N, H); memory: (B, T, H); memory_mask: (B, T), or None. Output: (B, N, H).
        """
        mask = None if memory_mask is None else memory_mask[:, None, None, :]
        seen = functional.scaled_dot_product_attention(
            self._split(self.query(queries)),
            self._split(self.key(memory)),
            self._split(self.value(memory)),
            attn_mask=mask,
            dropout_p=self.dropout if self.training else 0.0,
        )
        joined: Tensor = self.output(seen.transpose(1, 2).flatten(2))
        return joined

    def _split(self, states: Tensor) -> Tensor:
        return states.view(*states.shape[:-1], self.heads, -1).transpose(1, 2)


def heads_for(width: int, head_size: int) -> int:
    """Give the number of heads nearest to the wanted size that divides the width."""
    wanted = max(1, width // max(1, head_size))
    return next(count for count in range(wanted, 0, -1) if width % count == 0)


class Feed(nn.Module):
    """Two linear maps with GELU between."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor) -> Tensor:
        """Map each state: (..., H) to (..., H)."""
        narrowed: Tensor = self.narrow(self.dropout(functional.gelu(self.widen(states))))
        return narrowed


class FusionLayer(nn.Module):
    """All tokens of an example look at each other, also those of different windows."""

    def __init__(self, config: TwoWikiEncoderConfig) -> None:
        super().__init__()
        self.attention_norm, self.feed_norm = nn.LayerNorm(config.width), nn.LayerNorm(config.width)
        self.attention, self.feed = Attention(config), Feed(config.width, config.dropout)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Update states: (B, T, H) and (B, T) to (B, T, H)."""
        normed = self.attention_norm(states)
        states = states + self.dropout(self.attention(normed, normed, mask))
        updated: Tensor = states + self.dropout(self.feed(self.feed_norm(states)))
        return updated


class SlotLayer(nn.Module):
    """Slots look at each other, then at the text."""

    def __init__(self, config: TwoWikiEncoderConfig) -> None:
        super().__init__()
        self.slot_norm, self.text_norm = nn.LayerNorm(config.width), nn.LayerNorm(config.width)
        self.feed_norm = nn.LayerNorm(config.width)
        self.slot_attention, self.text_attention = Attention(config), Attention(config)
        self.feed = Feed(config.width, config.dropout)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, slots: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """Update slots: (B, K, H), (B, T, H), (B, T) to (B, K, H)."""
        normed = self.slot_norm(slots)
        slots = slots + self.dropout(self.slot_attention(normed, normed, None))
        seen = self.text_attention(self.text_norm(slots), memory, mask)
        slots = slots + self.dropout(seen)
        updated: Tensor = slots + self.dropout(self.feed(self.feed_norm(slots)))
        return updated


class Slots(nn.Module):
    """K slots for triples and one for the answer, each a query that looks at the text in turns."""

    def __init__(self, config: TwoWikiEncoderConfig) -> None:
        super().__init__()
        self.queries = nn.Parameter(torch.empty(config.triple_slots + 1, config.width))
        self.layers = nn.ModuleList(SlotLayer(config) for _ in range(config.slot_layers))
        self.norm = nn.LayerNorm(config.width)

    def forward(self, summary: Tensor, memory: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Give the triples' slots and the answer's.

        Shape:
            summary: (B, H), of the question; memory: (B, T, H); mask: (B, T). Output: (B, K, H),
            (B, H).
        """
        slots = self.queries.to(memory.dtype) + summary.unsqueeze(1)
        for layer in self.layers:
            slots = layer(slots, memory, mask)
        slots = self.norm(slots)
        return slots[:, :-1], slots[:, -1]


class Pointers(nn.Module):
    """Compares each slot with each token: one score for each of the named ends."""

    def __init__(self, width: int, names: tuple[str, ...]) -> None:
        super().__init__()
        self.names = names
        self.tokens = nn.Linear(width, width * len(names))
        self.slots = nn.Linear(width, width * len(names))

    def forward(self, slots: Tensor, tokens: Tensor) -> dict[str, Tensor]:
        """Score: (B, K, H) and (B, T, H) to (B, T, K) a name."""
        scale = tokens.shape[-1] ** -0.5
        of_slots = self.slots(slots).chunk(len(self.names), dim=-1)
        of_tokens = self.tokens(tokens).chunk(len(self.names), dim=-1)
        return {
            name: of_token @ of_slot.transpose(1, 2) * scale
            for name, of_token, of_slot in zip(self.names, of_tokens, of_slots, strict=True)
        }
