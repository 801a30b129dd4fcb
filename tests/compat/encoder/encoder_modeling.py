"""The encoder model for multi-hop QA: answer, supporting sentences and a set of triples at once.

In: the backbone's windows of a batch of examples, and where each example's tokens are in them
(see `encoder_collation`). Out: a `TwoWikiOutput` as the baseline's, over each example's whole
context. The backbone reads each window; `fusion_layers` let all windows of an example look at
each other; slots then point at the triples and at the answer. It decodes nothing;
`encoder_decoding` does.
"""

# W windows of L tokens; B examples, T context tokens, Q question tokens, S sentences, H width,
# R relations, K slots

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedModel
from transformers import initialization as init
from transformers.utils.generic import can_return_tuple

from .attention import gather_states
from .encoder_answering import PredictsByEncoder
from .encoder_assignment import match_slots
from .encoder_backbone import build_backbone, load_backbone, read_windows
from .encoder_configuration import TwoWikiEncoderConfig
from .encoder_layers import FusionLayer, Pointers, Slots
from .losses import baseline_losses
from .modeling import TwoWikiOutput, mask_tokens
from .pointers import POINTERS

MATCH_KINDS = 3  # bits of a match, see `matching`


class TwoWikiForMultihopQA(PredictsByEncoder, PreTrainedModel):  # type: ignore[misc]
    """Any pretrained encoder, with heads for answer, support and a set of evidence triples."""

    config_class = TwoWikiEncoderConfig
    base_model_prefix = "backbone"
    main_input_name = "input_ids"
    supports_gradient_checkpointing = True
    _supports_sdpa = True
    _supports_flash_attn = True
    _supports_flex_attn = True
    _supports_attention_backend = True

    def __init__(self, config: TwoWikiEncoderConfig) -> None:
        super().__init__(config)
        width = config.width
        self.backbone = build_backbone(config)
        if config.match_features:
            self.match_embedding = nn.Linear(MATCH_KINDS, width, bias=False)
        if config.reads_matches:
            embedded = self.backbone.get_input_embeddings().embedding_dim
            self.match_input = nn.Linear(MATCH_KINDS, embedded, bias=False)
        self.fusion = nn.ModuleList(FusionLayer(config) for _ in range(config.fusion_layers))
        self.norm = nn.LayerNorm(width)
        self.slots = Slots(config)
        self.relation_head = nn.Linear(width, config.relation_count + 1)
        self.pointers = Pointers(width, POINTERS)
        self.answer_pointers = Pointers(width, ("start", "end"))
        self.type_hidden, self.type_head = nn.Linear(2 * width, width), nn.Linear(width, 3)
        self.support_hidden, self.support_head = nn.Linear(3 * width, width), nn.Linear(width, 1)
        self.post_init()

    @classmethod
    def from_backbone(
        cls,
        backbone: str,
        *,
        relations: list[str],
        attn_implementation: str | None = None,
        revision: str | None = None,
        **options: Any,
    ) -> TwoWikiForMultihopQA:
        """Start from a pretrained encoder; the heads are new, drawn from torch's generator.

        Args:
            backbone: name or folder of any encoder with a fast tokenizer.
            relations: relation names that triples can have.
            attn_implementation: sdpa, flash_attention_2, ...; by default the library's choice.
            revision: of the encoder's repository.
            options: fields of `TwoWikiEncoderConfig`.

        Raises:
            ValueError: the model has no fast tokenizer, or is no encoder of pairs of texts.
        """
        body, tokenizer, fields = load_backbone(backbone, attn_implementation, revision)
        config = TwoWikiEncoderConfig(relations=list(relations), **{**fields, **options})
        model = cls(config)
        missing, _ = model.backbone.load_state_dict(body.state_dict(), strict=False)
        if missing:
            raise ValueError(f"{backbone} lacks {len(missing)} weights ({missing[0]}, ...)")
        model.answer_tokenizer = tokenizer
        return model

    def get_input_embeddings(self) -> nn.Module:
        """Give the backbone's token embedding."""
        found: nn.Module = self.backbone.get_input_embeddings()
        return found

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Replace the backbone's token embedding."""
        self.backbone.set_input_embeddings(value)

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """Initialise the heads, through functions that leave loaded tensors alone."""
        super()._init_weights(module)
        if isinstance(module, Slots):
            init.normal_(module.queries, 0.0, 0.5)
        elif module is getattr(self, "match_embedding", None):  # as large as the states
            init.normal_(module.weight, 0.0, 0.5)
        elif module is getattr(self, "match_input", None):  # as large as the embeddings
            init.normal_(module.weight, 0.0, 0.05)
        elif isinstance(module, FusionLayer):  # starts as if it were not there
            init.zeros_(module.attention.output.weight)
            init.zeros_(module.feed.narrow.weight)

    @can_return_tuple  # type: ignore[untyped-decorator]
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        question_window_mask: Tensor,
        context_places: Tensor,
        context_mask: Tensor,
        span_mask: Tensor,
        question_places: Tensor,
        question_mask: Tensor,
        sentence_starts: Tensor,
        sentence_mask: Tensor,
        token_type_ids: Tensor | None = None,
        matches: Tensor | None = None,
        window_matches: Tensor | None = None,
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
            input_ids, attention_mask, question_window_mask, token_type_ids, window_matches:
            (W, L). context_places (into the W * L states), context_mask, span_mask (no markers),
            matches: (B, T). question_places, question_mask: (B, Q). sentence_starts (a
            sentence's marker), sentence_mask, support_labels: (B, S). start_positions,
            end_positions, answer_type_labels: (B,). relation_labels and the pointers'
            positions: (B, K), in any order. Labels of -100 are ignored.
        """
        added = None
        if self.config.reads_matches and window_matches is not None:
            added = self.match_input(kinds_of(window_matches, self.match_input.weight.dtype))
        states = read_windows(
            self.backbone, input_ids, attention_mask, token_type_ids, question_window_mask, added
        )
        question = take(states, question_places)  # (B, Q, H)
        context = self._with_matches(take(states, context_places), matches)  # (B, T, H)
        memory = torch.cat([question, context], dim=1)
        mask = torch.cat([question_mask, context_mask], dim=1)
        for layer in self.fusion:
            memory = layer(memory, mask)
        memory = self.norm(memory)
        question, context = memory.split([question.shape[1], context.shape[1]], dim=1)
        summary = masked_mean(question, question_mask)  # (B, H)
        slots, answer = self.slots(summary, memory, mask)  # (B, K, H), (B, H)

        pointed = self.pointers(slots, context)
        answered = self.answer_pointers(answer.unsqueeze(1), context)
        sentences = read_sentences(context, span_mask, sentence_starts, sentence_mask)
        asked = summary.unsqueeze(1).expand_as(sentences)  # (B, S, H)
        compared = torch.cat([sentences, asked, sentences * asked], dim=-1)
        support = functional.gelu(self.support_hidden(compared))
        kind = functional.gelu(self.type_hidden(torch.cat([answer, summary], dim=-1)))
        output = TwoWikiOutput(
            start_logits=mask_tokens(answered["start"], span_mask).squeeze(-1),
            end_logits=mask_tokens(answered["end"], span_mask).squeeze(-1),
            answer_type_logits=self.type_head(kind).float(),
            support_logits=self.support_head(support).squeeze(-1).float(),
            relation_logits=self.relation_head(slots).float(),
        )
        for name, logits in pointed.items():
            output[f"{name}_logits"] = mask_tokens(logits, span_mask)
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
        known = {name: label for name, label in labels.items() if label is not None}
        if len(known) == len(labels):
            if self.config.assignment == "optimal":
                known = match_slots(output, known)
            output.losses = baseline_losses(output, known, sentence_mask, self.config)
            output.loss = output.losses.pop("total")
        return output

    def _with_matches(self, context: Tensor, matches: Tensor | None) -> Tensor:
        """Add what a token matches elsewhere to its state."""
        if matches is None or not self.config.match_features:
            return context
        added: Tensor = self.match_embedding(kinds_of(matches, context.dtype))
        return context + added


def kinds_of(matches: Tensor, dtype: torch.dtype) -> Tensor:
    """Spread the bits of matches: (..., T) to (..., T, 3)."""
    bits = torch.arange(MATCH_KINDS, device=matches.device)
    return (matches.unsqueeze(-1).long() >> bits & 1).to(dtype)


def take(states: Tensor, places: Tensor) -> Tensor:
    """Take states by their place: (N, H) and (B, T) to (B, T, H)."""
    return states.index_select(0, places.flatten()).view(*places.shape, -1)


def read_sentences(
    context: Tensor, span_mask: Tensor, starts: Tensor, sentence_mask: Tensor
) -> Tensor:
    """Give each sentence its marker's state and the mean of its tokens' states.

    A token belongs to the marker before it: a sentence's, or a title's.

    Shape:
        context: (B, T, H); span_mask, false at markers: (B, T); starts, sentence_mask: (B, S).
        Output: (B, S, H).
    """
    segment = (~span_mask).cumsum(dim=1)  # (B, T)
    own = segment.gather(1, starts).unsqueeze(2) == segment.unsqueeze(1)  # (B, S, T)
    shares = (own & span_mask.unsqueeze(1)).to(context.dtype)
    means = shares @ context / shares.sum(dim=2, keepdim=True).clamp(min=1)
    return means + gather_states(context, starts, sentence_mask)


def masked_mean(states: Tensor, mask: Tensor) -> Tensor:
    """Average the real states: (B, T, H) and (B, T) to (B, H)."""
    weights = mask.unsqueeze(-1).to(states.dtype)
    return (states * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1)


TwoWikiForMultihopQA.register_for_auto_class("AutoModel")
