"""The baseline for multi-hop QA: answer, supporting sentences and evidence triples in one pass.

In: token ids, characters and sentence bounds of a batch (see `BaselineCollator`). Out: a
`TwoWikiOutput` with every head's logits, and with labels every part of the loss. The layers are
those of the published 2Wiki baseline; `TwoWikiBaselineConfig` names what its corrections change.
It decodes nothing; `decoding` does.
"""

# B examples, T context tokens, Q question tokens, S sentences, C characters of a word, H hidden
# width of a direction, R relations, K pointer slots (triples in order, or one per relation)

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers import initialization as init
from transformers.utils.generic import can_return_tuple

from .configuration_baseline import TwoWikiBaselineConfig
from .decoding import decode_windows, score_windows
from .gru import BiAttention, BiGRU
from .labels import POINTERS
from .outputs import TwoWikiOutput, add_losses, gather_states, mask_tokens, unpack_bits
from .prediction import MultihopPredictionMixin
from .processing_baseline import BaselineCollator, BaselineProcessor
from .tokenization_baseline import TwoWikiTokenizer
from .words import MATCH_BITS


class WordEncoder(nn.Module):
    """Word vectors beside the strongest responses of a convolution over the characters."""

    def __init__(self, config: TwoWikiBaselineConfig) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(config.vocab_size, config.word_dim, padding_idx=0)
        self.word_embeddings.weight.requires_grad_(not config.freeze_word_vectors)
        self.char_embeddings = nn.Embedding(config.char_vocab_size, config.char_dim)
        self.char_convolution = nn.Conv1d(config.char_dim, config.char_hidden, 5)
        self.match_width = MATCH_BITS if config.match_features else 0
        self.width = config.word_dim + config.char_hidden + self.match_width

    def forward(self, input_ids: Tensor, char_ids: Tensor, matches: Tensor | None) -> Tensor:
        """Encode words; the characters of equal words are convolved once.

        Shape:
            input_ids: (B, T); char_ids: (B, T, C); matches: (B, T), see `matches`.
            Output: (B, T, width).
        """
        words, index = char_ids.flatten(0, 1), None
        if not words.is_cuda:
            words, index = torch.unique(words, dim=0, return_inverse=True)
        responses = self.char_convolution(self.char_embeddings(words).transpose(1, 2)).amax(dim=2)
        spelled = responses if index is None else responses.index_select(0, index)
        parts = [self.word_embeddings(input_ids), spelled.view(*input_ids.shape, -1)]
        if self.match_width:
            if matches is None:
                matches = torch.zeros_like(input_ids)
            parts.append(unpack_bits(matches, self.match_width, spelled.dtype))
        return torch.cat(parts, dim=-1)


class TwoWikiBaselineForMultihopQA(MultihopPredictionMixin, PreTrainedModel):  # type: ignore[misc]
    """The published baseline, with each correction as an option of its configuration."""

    config_class = TwoWikiBaselineConfig
    base_model_prefix = "twowiki"
    main_input_name = "input_ids"
    processor_class, collator_class = BaselineProcessor, BaselineCollator
    score_outputs, decode_scores = staticmethod(score_windows), staticmethod(decode_windows)

    def __init__(self, config: TwoWikiBaselineConfig) -> None:
        super().__init__(config)
        hidden, states = config.hidden_size, 2 * config.hidden_size
        self.words = WordEncoder(config)
        self.encoder = BiGRU(self.words.width, hidden, config.dropout)
        self.question_attention = self._attention(states)
        self.question_reduction = nn.Linear(4 * states, hidden)
        self.context_encoder = BiGRU(hidden, hidden, config.dropout)
        self.self_attention = self._attention(states)
        self.self_reduction = nn.Linear(4 * states, hidden)
        self.support_encoder = BiGRU(hidden, hidden, config.dropout)
        self.support_head = nn.Linear(states, 1)
        self.relations = TripleSlots(config) if config.triple_slots else RelationIndex(config)
        self.relation_attention = self._attention(states)
        self.relation_reduction = nn.Linear(4 * states, hidden)
        self.evidence_encoder = BiGRU(hidden, hidden, config.dropout)
        self.pointers = EvidencePointers(config)
        self.start_encoder = BiGRU(hidden + states, hidden, config.dropout)
        if config.pointer_chain:
            self.end_encoder = BiGRU(hidden + states, hidden, config.dropout)
            self.type_encoder = BiGRU(hidden + states, hidden, config.dropout)
        self.start_head = nn.Linear(states, 1)
        self.end_head = nn.Linear(states, 1)
        self.type_head = nn.Linear(states, 3)
        self.post_init()

    def _attention(self, width: int) -> BiAttention:
        return BiAttention(
            width,
            dropout=self.config.dropout,
            mask_inputs=self.config.mask_padding,
            narrow_scale=self.config.narrow_scale,
        )

    def load_tokenizer(self, source: str, **options: Any) -> TwoWikiTokenizer:
        """Load the tokenizer that is saved beside the model."""
        tokenizer: TwoWikiTokenizer = TwoWikiTokenizer.from_pretrained(source, **options)
        return tokenizer

    def get_input_embeddings(self) -> nn.Embedding:
        """Return the word embedding."""
        return self.words.word_embeddings

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Replace the word embedding."""
        assert isinstance(value, nn.Embedding)
        self.words.word_embeddings = value

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """Initialize as torch does, through functions that leave loaded tensors alone."""
        if isinstance(module, (nn.Linear, nn.Conv1d)):
            fan_in = module.weight[0].numel()
            init.uniform_(module.weight, -1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in))
            if module.bias is not None:
                init.uniform_(module.bias, -1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in))
        elif isinstance(module, nn.GRU):
            bound = 1 / math.sqrt(module.hidden_size)
            for parameter in module.parameters():
                init.uniform_(parameter, -bound, bound)
        elif isinstance(module, nn.Embedding):
            init.normal_(module.weight, 0.0, 0.1)
            if module.padding_idx is not None:
                init.zeros_(module.weight[module.padding_idx])
        elif isinstance(module, BiGRU):
            init.zeros_(module.initial_state)
        elif isinstance(module, BiAttention):
            narrow = 1 / math.sqrt(module.scale.numel())
            init.uniform_(module.scale, narrow, narrow if module.narrow_scale else 1.0)
        elif isinstance(module, TripleSlots):
            init.normal_(module.queries, 0.0, 0.1)
            init.normal_(module.slot_states, 0.0, 0.1)

    @can_return_tuple  # type: ignore[untyped-decorator]
    def forward(
        self,
        input_ids: Tensor,
        char_ids: Tensor,
        context_mask: Tensor,
        question_ids: Tensor,
        question_char_ids: Tensor,
        question_mask: Tensor,
        sentence_starts: Tensor,
        sentence_ends: Tensor,
        sentence_mask: Tensor,
        matches: Tensor | None = None,
        question_matches: Tensor | None = None,
        start_positions: Tensor | None = None,
        end_positions: Tensor | None = None,
        answer_type_labels: Tensor | None = None,
        support_labels: Tensor | None = None,
        relation_labels: Tensor | None = None,
        subject_start_positions: Tensor | None = None,
        subject_end_positions: Tensor | None = None,
        object_start_positions: Tensor | None = None,
        object_end_positions: Tensor | None = None,
        loss_counts: Tensor | None = None,
    ) -> TwoWikiOutput:
        """Score answers, sentences and triples; with labels return the loss and its parts too.

        Shape:
            input_ids, context_mask, matches: (B, T); char_ids: (B, T, C); question_ids,
            question_mask, question_matches: (B, Q); question_char_ids: (B, Q, C).
            sentence_starts, sentence_ends (the last token), sentence_mask, support_labels:
            (B, S); an empty sentence ends before its start. start_positions, end_positions,
            answer_type_labels: (B,). relation_labels: (B, K). The pointers' positions: (B, K).
            Labels of -100 are ignored. loss_counts: (9,), see `outputs.count_labels`.
        """
        context = self.encoder(self.words(input_ids, char_ids, matches), context_mask)
        question_words = self.words(question_ids, question_char_ids, question_matches)
        question = self.encoder(question_words, question_mask)
        states = self._attend(context, context_mask, question, question_mask)  # (B, T, H)

        token_states = self.support_encoder(states, context_mask)  # (B, T, 2H)
        sentences = self._sentence_vectors(token_states, sentence_starts, sentence_ends)
        support_logits = self.support_head(sentences).squeeze(-1)  # (B, S)
        spread = spread_sentences(sentences, sentence_starts, sentence_ends, input_ids.shape[1])

        teacher = relation_labels if self.training and self.config.teacher_forcing else None
        relation_logits, memory, active = self.relations(question, question_mask, teacher)
        seen = spread + token_states if self.config.token_evidence else spread
        evidence = self.relation_attention(seen, memory, active, context_mask)
        evidence = self.relation_reduction(evidence).relu()
        if self.config.token_evidence:
            evidence = evidence + states
        evidence = self.evidence_encoder(evidence, context_mask)  # (B, T, 2H)
        pointer_logits, evidence = self.pointers(evidence, memory, context_mask)

        start_states, end_states, pooled = self._answer_states(states, evidence, context_mask)
        output = TwoWikiOutput(
            start_logits=mask_tokens(self.start_head(start_states), context_mask).squeeze(-1),
            end_logits=mask_tokens(self.end_head(end_states), context_mask).squeeze(-1),
            answer_type_logits=self.type_head(pooled).float(),
            support_logits=support_logits.float(),
            relation_logits=relation_logits.float(),
        )
        for name, logits in pointer_logits.items():
            output[f"{name}_logits"] = mask_tokens(logits, context_mask)
        labels = (
            start_positions, end_positions, answer_type_labels, support_labels, relation_labels,
            subject_start_positions, subject_end_positions,
            object_start_positions, object_end_positions,
        )  # fmt: skip
        return add_losses(output, labels, sentence_mask, self.config, loss_counts=loss_counts)

    def _attend(
        self, context: Tensor, context_mask: Tensor, question: Tensor, question_mask: Tensor
    ) -> Tensor:
        """Let the context attend to the question, then to itself: (B, T, H)."""
        with_question = self.question_attention(context, question, question_mask, context_mask)
        with_question = self.question_reduction(with_question).relu()  # (B, T, H)
        states = self.context_encoder(with_question, context_mask)
        with_itself = self.self_attention(states, states, context_mask, context_mask)
        attended: Tensor = with_question + self.self_reduction(with_itself).relu()
        return attended

    def _answer_states(
        self, states: Tensor, evidence: Tensor, context_mask: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return what the start, the end and the type of the answer are read from."""
        start_states = self.start_encoder(torch.cat([states, evidence], dim=-1), context_mask)
        end_states = type_states = start_states
        if self.config.pointer_chain:
            end_states = self.end_encoder(torch.cat([states, start_states], -1), context_mask)
            type_states = self.type_encoder(torch.cat([states, end_states], -1), context_mask)
        pooled = masked_maximum(type_states, context_mask if self.config.mask_padding else None)
        return start_states, end_states, pooled

    def _sentence_vectors(self, states: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
        """Join the backward state at a sentence's first token and the forward one at its last."""
        forward_states, backward_states = states.chunk(2, dim=-1)
        filled = ends >= starts
        first = gather_states(backward_states, starts, filled)
        return torch.cat([first, gather_states(forward_states, ends, filled)], dim=-1)


def spread_sentences(sentences: Tensor, starts: Tensor, ends: Tensor, tokens: int) -> Tensor:
    """Spread each sentence's vector over its tokens, zeros outside of all sentences.

    Shape:
        sentences: (B, S, D); starts and ends: (B, S). Output: (B, T, D).
    """
    position = torch.arange(tokens, device=starts.device)
    inside = (starts.unsqueeze(-1) <= position) & (position <= ends.unsqueeze(-1))  # (B, S, T)
    which, found = inside.int().argmax(dim=1), inside.any(dim=1)
    return gather_states(sentences, which, found)


def masked_maximum(states: Tensor, mask: Tensor | None) -> Tensor:
    """Take the maximum over time; rows without a real step give zeros.

    Shape:
        states: (B, T, D); mask: (B, T), or None to let padding take part. Output: (B, D).
    """
    if mask is None:
        return states.amax(dim=1)
    lowest = torch.finfo(states.dtype).min
    highest = states.masked_fill(~mask.unsqueeze(-1), lowest).amax(dim=1)
    return torch.where(mask.any(dim=1, keepdim=True), highest, torch.zeros_like(highest))


Relations = tuple[Tensor, Tensor, Tensor]


class RelationIndex(nn.Module):
    """The published head: each relation is on or off, so no relation can occur twice."""

    def __init__(self, config: TwoWikiBaselineConfig) -> None:
        super().__init__()
        states = 2 * config.hidden_size
        self.question_encoder = BiGRU(states, config.hidden_size, config.dropout)
        self.head = nn.Linear(states, config.relation_count)
        self.embeddings = nn.Embedding(config.relation_count, config.relation_dim)
        self.memory_encoder = BiGRU(config.relation_dim, config.hidden_size, config.dropout)

    def forward(self, question: Tensor, question_mask: Tensor, labels: Tensor | None) -> Relations:
        """Return logits (B, R), memory (B, R, 2H) and the relations that are on (B, R)."""
        states = self.question_encoder(question, question_mask)
        logits = self.head(last_states(states, question_mask))
        active = logits.detach().float().sigmoid() >= 0.5
        if labels is not None:
            active = torch.where(labels >= 0, labels == 1, active)
        embedded = self.embeddings.weight * active.unsqueeze(-1).to(logits.dtype)  # (B, R, D)
        memory = self.memory_encoder(embedded, torch.ones_like(active))
        return logits, memory, active


class TripleSlots(nn.Module):
    """Slots for the triples in order; each attends to its own part of the question.

    One learned query per slot attends to the question's states; what it finds and the slot's
    position decide the relation, or none. The slots are then read in both directions, so that
    the second hop depends on the first.
    """

    def __init__(self, config: TwoWikiBaselineConfig) -> None:
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
        """Return logits (B, K, R + 1), memory (B, K, 2H) and the slots that are on (B, K)."""
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


class EvidencePointers(nn.Module):
    """Four pointers over the tokens, each with K slots.

    With `pointer_chain` each pointer reads the states of the one before through a GRU of its
    own. With triple slots a pointer compares tokens with the slot's state; without, each
    relation has a weight vector of its own.
    """

    def __init__(self, config: TwoWikiBaselineConfig) -> None:
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
        """Return each pointer's logits, and the last states.

        Shape:
            evidence: (B, T, 2H); memory: (B, K, 2H); context_mask: (B, T).
            Output: (B, T, K) per pointer; (B, T, 2H).
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


TwoWikiBaselineForMultihopQA.register_for_auto_class("AutoModel")
