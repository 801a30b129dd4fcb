"""The heads that point at subjects and objects: where each starts and ends, a slot at a time."""

from __future__ import annotations

import math

from torch import Tensor, nn

from .configuration import TwoWikiConfig
from .recurrence import BiGRU

POINTERS = ("subject_start", "subject_end", "object_start", "object_end")


class EvidencePointers(nn.Module):
    """Four pointers over the tokens, each with K slots.

    With `pointer_chain` each pointer reads the states of the one before through a GRU of its
    own. With triple slots a pointer compares tokens with the slot's state; without, each
    relation has a weight vector of its own.
    """

    def __init__(self, config: TwoWikiConfig) -> None:
        super().__init__()
        states = 2 * config.hidden_size
        self.chained, self.compares = config.pointer_chain, bool(config.triple_slots)
        if self.chained:
            self.encoders = nn.ModuleDict(
                {name: BiGRU(states, config.hidden_size, config.dropout) for name in POINTERS}
            )
        width = states if self.compares else config.relation_count
        self.heads = nn.ModuleDict({name: nn.Linear(states, width) for name in POINTERS})

    def forward(
        self, evidence: Tensor, memory: Tensor, context_mask: Tensor
    ) -> tuple[dict[str, Tensor], Tensor]:
        """Give each pointer's logits, and the last states.

        Shape:
            evidence: (B, T, 2H); memory: (B, K, 2H); context_mask: (B, T).
            Output: (B, T, K) a pointer; (B, T, 2H).
        """
        logits = {}
        for name in POINTERS:
            if self.chained:
                evidence = self.encoders[name](evidence, context_mask)
            scores = self.heads[name](evidence)
            if self.compares:
                scores = scores @ memory.transpose(1, 2) / math.sqrt(memory.shape[-1])
            logits[name] = scores
        return logits, evidence
