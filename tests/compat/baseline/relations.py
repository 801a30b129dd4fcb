"""Which relations the evidence has: one switch a relation, or an ordered row of triple slots.

Both give the relation logits, a memory of slot states that tokens attend to, and which slots
are on. The relation of a slot is the gold one where labels are given (teacher forcing), else the
model's own choice; no gradient passes through that choice.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from .attention import gather_states
from .configuration import TwoWikiConfig
from .recurrence import BiGRU

Relations = tuple[Tensor, Tensor, Tensor]


class RelationIndex(nn.Module):
    """The published head: each relation is on or off, so no relation can occur twice."""

    def __init__(self, config: TwoWikiConfig) -> None:
        super().__init__()
        states = 2 * config.hidden_size
        self.question_encoder = BiGRU(states, config.hidden_size, config.dropout)
        self.head = nn.Linear(states, config.relation_count)
        self.embeddings = nn.Embedding(config.relation_count, config.relation_dim)
        self.memory_encoder = BiGRU(config.relation_dim, config.hidden_size, config.dropout)

    def forward(self, question: Tensor, question_mask: Tensor, labels: Tensor | None) -> Relations:
        """Give logits (B, R), memory (B, R, 2H) and the relations that are on (B, R)."""
        states = self.question_encoder(question, question_mask)
        logits = self.head(last_states(states, question_mask))
        active = logits.detach().float().sigmoid() >= 0.5
        if labels is not None:
            active = torch.where(labels >= 0, labels == 1, active)
        embedded = self.embeddings.weight * active.unsqueeze(-1).to(logits.dtype)  # (B, R, D)
        memory = self.memory_encoder(embedded, torch.ones_like(active))
        return logits, memory, active


class TripleSlots(nn.Module):
    """Slots for the triples in order; each looks at its own part of the question.

    The question's states are attended to by one learnt query a slot; what a slot sees and where
    it stands decide its relation, or none. The slots are then read in both directions, so that
    the second hop knows the first.
    """

    def __init__(self, config: TwoWikiConfig) -> None:
        super().__init__()
        states = 2 * config.hidden_size
        self.question_encoder = BiGRU(states, config.hidden_size, config.dropout)
        self.queries = nn.Parameter(torch.empty(config.triple_slots, states))
        self.slot_states = nn.Parameter(torch.empty(config.triple_slots, states))
        self.slot_reduction = nn.Linear(2 * states, states)
        self.head = nn.Linear(states, config.relation_count + 1)
        self.embeddings = nn.Embedding(config.relation_count + 1, config.relation_dim)
        self.memory_encoder = BiGRU(
            config.relation_dim + states, config.hidden_size, config.dropout
        )

    def forward(self, question: Tensor, question_mask: Tensor, labels: Tensor | None) -> Relations:
        """Give logits (B, K, R + 1), memory (B, K, 2H) and the slots that are on (B, K)."""
        states = self.question_encoder(question, question_mask)  # (B, Q, 2H)
        scores = states @ self.queries.t() / math.sqrt(states.shape[-1])  # (B, Q, K)
        scores = scores.masked_fill(~question_mask.unsqueeze(-1), torch.finfo(scores.dtype).min)
        seen = scores.softmax(dim=1).transpose(1, 2) @ states  # (B, K, 2H)
        last = last_states(states, question_mask).unsqueeze(1).expand_as(seen)
        slots = self.slot_reduction(torch.cat([seen, last], dim=-1)) + self.slot_states
        slots = slots.tanh()
        logits = self.head(slots)
        relations = logits.detach().argmax(dim=-1)
        if labels is not None:
            relations = torch.where(labels >= 0, labels, relations)
        active = relations < logits.shape[-1] - 1
        embedded = torch.cat([self.embeddings(relations), slots], dim=-1)
        memory = self.memory_encoder(embedded, torch.ones_like(active))
        return logits, memory, active


def last_states(states: Tensor, mask: Tensor) -> Tensor:
    """Join the last state of each direction: (B, T, 2H) to (B, 2H)."""
    forward_states, backward_states = states.chunk(2, dim=-1)
    last = mask.sum(dim=1, keepdim=True).clamp(min=1) - 1
    final = gather_states(forward_states, last, torch.ones_like(last, dtype=torch.bool))
    return torch.cat([final.squeeze(1), backward_states[:, 0]], dim=-1)
