"""The baseline for multi-hop QA: answer, supporting sentences and evidence triples in one pass.

In: token ids, characters and sentence bounds of a batch of windows (see `collation`). Out: a
`TwoWikiOutput` with every head's logits, and with labels every part of the loss. The layers are
those of the published 2Wiki baseline; what its corrections change is named in `TwoWikiConfig`.
It decodes nothing; `decoding` does.
"""

# B examples, T context tokens, Q question tokens, S sentences, C characters of a word, H hidden
# width of a direction, R relations, K pointer slots (triples in order, or one a relation)

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers import initialization as init
from transformers.utils.generic import ModelOutput, can_return_tuple

from .answering import PredictsAnswers
from .attention import BiAttention, gather_states, masked_maximum
from .configuration import TwoWikiConfig
from .losses import baseline_losses
from .pointers import EvidencePointers
from .recurrence import BiGRU
from .relations import RelationIndex, TripleSlots


@dataclass
class TwoWikiOutput(ModelOutput):
    """What the heads say, before softmax or sigmoid, and the loss with its parts.

    Shape:
        start_logits, end_logits: (B, T), the lowest number at padding. answer_type_logits:
        (B, 3): span, yes, no. support_logits: (B, S). relation_logits: (B, K, R + 1), the last
        class none, or (B, R) with one slot a relation. subject_/object_ start_/end_logits:
        (B, T, K).
    """

    loss: Tensor | None = None
    start_logits: Tensor | None = None
    end_logits: Tensor | None = None
    answer_type_logits: Tensor | None = None
    support_logits: Tensor | None = None
    relation_logits: Tensor | None = None
    subject_start_logits: Tensor | None = None
    subject_end_logits: Tensor | None = None
    object_start_logits: Tensor | None = None
    object_end_logits: Tensor | None = None
    losses: dict[str, Tensor] | None = None


class WordEncoder(nn.Module):
    """Word vectors beside the strongest responses of a convolution over the characters."""

    def __init__(self, config: TwoWikiConfig) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(config.vocab_size, config.word_dim, padding_idx=0)
        self.word_embeddings.weight.requires_grad_(not config.freeze_word_vectors)
        self.char_embeddings = nn.Embedding(config.char_vocab_size, config.char_dim)
        self.char_convolution = nn.Conv1d(config.char_dim, config.char_hidden, 5)
        self.match_width = 3 if config.match_features else 0
        self.width = config.word_dim + config.char_hidden + self.match_width

    def forward(self, input_ids: Tensor, char_ids: Tensor, matches: Tensor | None) -> Tensor:
        """Encode words; the characters of equal words are convolved once.

        Shape:
            input_ids: (B, T); char_ids: (B, T, C); matches: (B, T), one bit a kind of match.
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
            bits = torch.arange(self.match_width, device=input_ids.device)
            parts.append((matches.unsqueeze(-1).long() >> bits & 1).to(spelled.dtype))
        return torch.cat(parts, dim=-1)


class TwoWikiBaselineForMultihopQA(PredictsAnswers, PreTrainedModel):  # type: ignore[misc]
    """The published baseline, with each correction as an option of its configuration."""

    config_class = TwoWikiConfig
    base_model_prefix = "twowiki"
    main_input_name = "input_ids"

    def __init__(self, config: TwoWikiConfig) -> None:
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

    def get_input_embeddings(self) -> nn.Embedding:
        """Give the word embedding."""
        return self.words.word_embeddings

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Replace the word embedding."""
        assert isinstance(value, nn.Embedding)
        self.words.word_embeddings = value

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """Initialise as torch does, through functions that leave loaded tensors alone."""
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
        return_dict: bool | None = None,
    ) -> TwoWikiOutput:
        """Score answers, sentences and triples; with labels give the loss and its parts.

        Shape:
            input_ids, context_mask, matches: (B, T); char_ids: (B, T, C); question_ids,
            question_mask, question_matches: (B, Q); question_char_ids: (B, Q, C).
            sentence_starts, sentence_ends (the last token), sentence_mask, support_labels:
            (B, S); an empty sentence ends before its start. start_positions, end_positions,
            answer_type_labels: (B,). relation_labels: (B, K). The pointers' positions: (B, K).
            Labels of -100 are ignored.
        """
        context = self.encoder(self.words(input_ids, char_ids, matches), context_mask)
        question_words = self.words(question_ids, question_char_ids, question_matches)
        question = self.encoder(question_words, question_mask)
        asked = self.question_attention(context, question, question_mask, context_mask)
        asked = self.question_reduction(asked).relu()  # (B, T, H)
        read = self.context_encoder(asked, context_mask)
        related = self.self_attention(read, read, context_mask, context_mask)
        states = asked + self.self_reduction(related).relu()  # (B, T, H)

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

        start_states = self.start_encoder(torch.cat([states, evidence], dim=-1), context_mask)
        end_states = type_states = start_states
        if self.config.pointer_chain:
            end_states = self.end_encoder(torch.cat([states, start_states], -1), context_mask)
            type_states = self.type_encoder(torch.cat([states, end_states], -1), context_mask)
        pooled = masked_maximum(type_states, context_mask if self.config.mask_padding else None)
        output = TwoWikiOutput(
            start_logits=mask_tokens(self.start_head(start_states), context_mask).squeeze(-1),
            end_logits=mask_tokens(self.end_head(end_states), context_mask).squeeze(-1),
            answer_type_logits=self.type_head(pooled).float(),
            support_logits=support_logits.float(),
            relation_logits=relation_logits.float(),
        )
        for name, logits in pointer_logits.items():
            output[f"{name}_logits"] = mask_tokens(logits, context_mask)
        labels = {
            "start_positions": start_positions,
            "end_positions": end_positions,
            "answer_type_labels": answer_type_labels,
            "support_labels": support_labels,
            "relation_labels": relation_labels,
            "subject_start_positions": subject_start_positions,
            "subject_end_positions": subject_end_positions,
            "object_start_positions": object_start_positions,
            "object_end_positions": object_end_positions,
        }
        if all(label is not None for label in labels.values()):
            output.losses = baseline_losses(output, labels, sentence_mask, self.config)
            output.loss = output.losses.pop("total")
        return output

    def _sentence_vectors(self, states: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
        """Join the backward state at a sentence's first token and the forward one at its last."""
        forward_states, backward_states = states.chunk(2, dim=-1)
        filled = ends >= starts
        first = gather_states(backward_states, starts, filled)
        return torch.cat([first, gather_states(forward_states, ends, filled)], dim=-1)


def mask_tokens(logits: Tensor, context_mask: Tensor) -> Tensor:
    """Give padding the lowest logit: (B, T, K) by (B, T), in single precision."""
    logits = logits.float()
    return logits.masked_fill(~context_mask.unsqueeze(-1), torch.finfo(logits.dtype).min)


def spread_sentences(sentences: Tensor, starts: Tensor, ends: Tensor, tokens: int) -> Tensor:
    """Give each token its sentence's vector, zeros outside of all sentences.

    Shape:
        sentences: (B, S, D); starts and ends: (B, S). Output: (B, T, D).
    """
    position = torch.arange(tokens, device=starts.device)
    inside = (starts.unsqueeze(-1) <= position) & (position <= ends.unsqueeze(-1))  # (B, S, T)
    which, found = inside.int().argmax(dim=1), inside.any(dim=1)
    return gather_states(sentences, which, found)


TwoWikiBaselineForMultihopQA.register_for_auto_class("AutoModel")
