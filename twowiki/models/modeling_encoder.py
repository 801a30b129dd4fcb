"""The encoder model for multi-hop QA: answer, supporting sentences and a set of triples at once.

In: the backbone's windows of a batch of examples, and where each example's tokens are in them
(see `EncoderCollator`). Out: a `TwoWikiOutput` as the baseline's, over each example's whole
context. The backbone reads each window; `fusion_layers` let all windows of an example attend to
each other; slots then point at the triples and at the answer. It decodes nothing;
`decoding_encoder` does.
"""

# W windows of L tokens; B examples, T context tokens, Q question tokens, S sentences, H width,
# R relations, K slots

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoTokenizer, PreTrainedModel
from transformers import initialization as init
from transformers.utils.generic import can_return_tuple

from .backbone import Windows, build_backbone, load_backbone, read_windows, set_attention
from .configuration_encoder import TwoWikiEncoderConfig
from .decoding_encoder import decode_record, score_records
from .labels import IGNORED, POINTERS
from .outputs import TwoWikiOutput, add_losses, gather_states, mask_tokens, unpack_bits
from .prediction import MultihopPredictionMixin
from .processing_encoder import EncoderCollator, EncoderProcessor
from .words import MATCH_BITS


class TwoWikiEncoderForMultihopQA(MultihopPredictionMixin, PreTrainedModel):  # type: ignore[misc]
    """Any pretrained encoder, with heads for answer, support and a set of evidence triples."""

    config_class = TwoWikiEncoderConfig
    base_model_prefix = "backbone"
    main_input_name = "input_ids"
    supports_gradient_checkpointing = True
    _supports_sdpa = True
    _supports_flash_attn = True
    _supports_flex_attn = True
    _supports_attention_backend = True
    processor_class, collator_class = EncoderProcessor, EncoderCollator
    score_outputs, decode_scores = staticmethod(score_records), staticmethod(decode_record)

    def __init__(self, config: TwoWikiEncoderConfig) -> None:
        super().__init__(config)
        width = config.width
        self.backbone = build_backbone(config)
        if config.match_features:
            self.match_embedding = nn.Linear(MATCH_BITS, width, bias=False)
        if config.reads_matches:
            embedded = self.backbone.get_input_embeddings().embedding_dim
            self.match_input = nn.Linear(MATCH_BITS, embedded, bias=False)
        self.fusion = nn.ModuleList(FusionLayer(config) for _ in range(config.fusion_layers))
        self.norm = nn.LayerNorm(width)
        self.slots = TripleQueries(config)
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
    ) -> TwoWikiEncoderForMultihopQA:
        """Start from a pretrained encoder; the heads are new, drawn from torch's generator.

        Args:
            backbone: name or folder of any encoder with a fast tokenizer.
            relations: relation names that triples can have.
            attn_implementation: sdpa, flash_attention_2, ...; by default the library's choice.
            revision: of the encoder's repository.
            options: fields of `TwoWikiEncoderConfig`.

        Raises:
            ValueError: the model has no fast tokenizer, or is not an encoder of pairs of texts.
        """
        body, tokenizer, fields = load_backbone(backbone, attn_implementation, revision)
        fields["fuse_single_windows"] = False
        config = TwoWikiEncoderConfig(relations=list(relations), **{**fields, **options})
        model = cls(config)
        missing, _ = model.backbone.load_state_dict(body.state_dict(), strict=False)
        if missing:
            raise ValueError(f"{backbone} lacks {len(missing)} weights ({missing[0]}, ...)")
        model.answer_tokenizer = tokenizer
        if attn_implementation:  # the library chooses anew for a model that holds another
            set_attention(model, attn_implementation)
        return model

    def load_tokenizer(self, source: str, **options: Any) -> Any:
        """Load the backbone's tokenizer; with the configuration at hand no code has to run."""
        return AutoTokenizer.from_pretrained(source, config=self.config, **options)

    def get_input_embeddings(self) -> nn.Module:
        """Return the backbone's token embedding."""
        embeddings: nn.Module = self.backbone.get_input_embeddings()
        return embeddings

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Replace the backbone's token embedding."""
        self.backbone.set_input_embeddings(value)

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """Initialize the heads, through functions that leave loaded tensors alone."""
        super()._init_weights(module)
        if isinstance(module, TripleQueries):
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
        context_positions: Tensor,
        context_mask: Tensor,
        span_mask: Tensor,
        question_positions: Tensor,
        question_mask: Tensor,
        sentence_starts: Tensor,
        sentence_mask: Tensor,
        attention_mask: Tensor | None = None,
        question_window_mask: Tensor | None = None,
        window_borders: Tensor | None = None,
        window_positions: Tensor | None = None,
        position_ids: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        matches: Tensor | None = None,
        window_matches: Tensor | None = None,
        fused_rows: Tensor | None = None,
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
            The windows: see `Windows`; window_matches as input_ids. context_positions (into
            their states), context_mask, span_mask (no markers), matches: (B, T). fused_rows, the
            examples whose windows attend to each other: (M,); all without it.
            question_positions, question_mask: (B, Q). sentence_starts (a sentence's marker),
            sentence_mask, support_labels: (B, S). start_positions, end_positions,
            answer_type_labels: (B,). relation_labels and the pointers' positions: (B, K), in any
            order. Labels of -100 are ignored. loss_counts: (9,), see `outputs.count_labels`.
        """
        states = read_windows(self.backbone, Windows(
            input_ids, attention_mask, question_window_mask, token_type_ids, position_ids,
            window_borders, window_positions, self._match_inputs(window_matches),
        ))  # fmt: skip
        mask = torch.cat([question_mask, context_mask], dim=1)
        text = self._text(states, question_positions, context_positions, matches)
        memory = self._fuse(text, mask, fused_rows)
        question, context = memory.split([question_mask.shape[1], context_mask.shape[1]], dim=1)
        summary = masked_mean(question, question_mask)  # (B, H)
        slots, answer = self.slots(summary, memory, mask)  # (B, K, H), (B, H)

        ends = self.answer_pointers(answer.unsqueeze(1), context)
        sentences = read_sentences(context, span_mask, sentence_starts, sentence_mask)
        answer_type = functional.gelu(self.type_hidden(torch.cat([answer, summary], dim=-1)))
        output = TwoWikiOutput(
            start_logits=mask_tokens(ends["start"], span_mask).squeeze(-1),
            end_logits=mask_tokens(ends["end"], span_mask).squeeze(-1),
            answer_type_logits=self.type_head(answer_type).float(),
            support_logits=self._support_logits(sentences, summary).float(),
            relation_logits=self.relation_head(slots).float(),
        )
        for name, logits in self.pointers(slots, context).items():
            output[f"{name}_logits"] = mask_tokens(logits, span_mask)
        labels = (
            start_positions, end_positions, answer_type_labels, support_labels, relation_labels,
            subject_start_positions, subject_end_positions,
            object_start_positions, object_end_positions,
        )  # fmt: skip
        reorder = match_slots if self.config.assignment == "optimal" else None
        return add_losses(output, labels, sentence_mask, self.config, reorder, loss_counts)

    def _match_inputs(self, matches: Tensor | None) -> Tensor | None:
        """Return what the backbone reads beside its token embeddings, if anything."""
        if matches is None or not self.config.reads_matches:
            return None
        added: Tensor = self.match_input(
            unpack_bits(matches, MATCH_BITS, self.match_input.weight.dtype)
        )
        return added

    def _text(
        self, states: Tensor, question: Tensor, context: Tensor, matches: Tensor | None
    ) -> Tensor:
        """Take the states at the positions of question and context: (B, Q + T, H)."""
        text = gather_tokens(states, context)
        if self.config.match_features and matches is not None:
            text = text + self.match_embedding(unpack_bits(matches, MATCH_BITS, text.dtype))
        return torch.cat([gather_tokens(states, question), text], dim=1)

    def _fuse(self, memory: Tensor, mask: Tensor, rows: Tensor | None) -> Tensor:
        """Let all windows of an example attend to each other: (B, Q + T, H)."""
        if rows is not None and not rows.shape[0]:  # a weight without a gradient stops some loops
            unused = [weight.sum() for weight in self.fusion.parameters()]
            fused = memory + 0 * sum(unused) if torch.is_grad_enabled() else memory
        else:
            fused = memory if rows is None else memory.index_select(0, rows)
            mask = mask if rows is None else mask.index_select(0, rows)
            for layer in self.fusion:
                fused = layer(fused, mask)
            if rows is not None:
                fused = memory.index_copy(0, rows, fused.to(memory.dtype))
        normed: Tensor = self.norm(fused)
        return normed

    def _support_logits(self, sentences: Tensor, question: Tensor) -> Tensor:
        """Score each sentence by itself, the question, and their product: (B, S)."""
        question = question.unsqueeze(1).expand_as(sentences)
        compared = torch.cat([sentences, question, sentences * question], dim=-1)
        logits: Tensor = self.support_head(functional.gelu(self.support_hidden(compared)))
        return logits.squeeze(-1)


def gather_tokens(states: Tensor, positions: Tensor) -> Tensor:
    """Take the states of an example's tokens: (W * L, H) and (B, T) to (B, T, H)."""
    return states.index_select(0, positions.flatten()).view(*positions.shape, -1)


def read_sentences(
    context: Tensor, span_mask: Tensor, starts: Tensor, sentence_mask: Tensor
) -> Tensor:
    """Sum each sentence's marker state and the mean of its tokens' states.

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


class Attention(nn.Module):
    """Multi-head attention of queries to a memory, through torch's fused kernels."""

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
        attended = functional.scaled_dot_product_attention(
            self._split(self.query(queries)),
            self._split(self.key(memory)),
            self._split(self.value(memory)),
            attn_mask=mask,
            dropout_p=self.dropout if self.training else 0.0,
        )
        joined: Tensor = self.output(attended.transpose(1, 2).flatten(2))
        return joined

    def _split(self, states: Tensor) -> Tensor:
        return states.view(*states.shape[:-1], self.heads, -1).transpose(1, 2)


def heads_for(width: int, head_size: int) -> int:
    """Return the number of heads nearest to the wanted size that divides the width."""
    wanted = max(1, width // max(1, head_size))
    return next(count for count in range(wanted, 0, -1) if width % count == 0)


class FeedForward(nn.Module):
    """Two linear maps with GELU between them."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor) -> Tensor:
        """Map each state: (..., H) to (..., H)."""
        narrowed: Tensor = self.narrow(self.dropout(functional.gelu(self.widen(states))))
        return narrowed


class FusionLayer(nn.Module):
    """Attention among all tokens of an example, also those of different windows."""

    def __init__(self, config: TwoWikiEncoderConfig) -> None:
        super().__init__()
        self.attention_norm, self.feed_norm = nn.LayerNorm(config.width), nn.LayerNorm(config.width)
        self.attention, self.feed = Attention(config), FeedForward(config.width, config.dropout)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Update states: (B, T, H) and (B, T) to (B, T, H)."""
        normed = self.attention_norm(states)
        states = states + self.dropout(self.attention(normed, normed, mask))
        updated: Tensor = states + self.dropout(self.feed(self.feed_norm(states)))
        return updated


class SlotLayer(nn.Module):
    """Attention of the slots to each other, then to the text."""

    def __init__(self, config: TwoWikiEncoderConfig) -> None:
        super().__init__()
        self.slot_norm, self.text_norm = nn.LayerNorm(config.width), nn.LayerNorm(config.width)
        self.feed_norm = nn.LayerNorm(config.width)
        self.slot_attention, self.text_attention = Attention(config), Attention(config)
        self.feed = FeedForward(config.width, config.dropout)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, slots: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """Update slots: (B, K, H), (B, T, H), (B, T) to (B, K, H)."""
        normed = self.slot_norm(slots)
        slots = slots + self.dropout(self.slot_attention(normed, normed, None))
        seen = self.text_attention(self.text_norm(slots), memory, mask)
        slots = slots + self.dropout(seen)
        updated: Tensor = slots + self.dropout(self.feed(self.feed_norm(slots)))
        return updated


class TripleQueries(nn.Module):
    """K queries for triples and one for the answer, which attend to the text in turns."""

    def __init__(self, config: TwoWikiEncoderConfig) -> None:
        super().__init__()
        self.queries = nn.Parameter(torch.empty(config.triple_slots + 1, config.width))
        self.layers = nn.ModuleList(SlotLayer(config) for _ in range(config.slot_layers))
        self.norm = nn.LayerNorm(config.width)

    def forward(self, summary: Tensor, memory: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return the triples' slots and the answer's.

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
    """Scores of each slot with each token, one for each of the named ends."""

    def __init__(self, width: int, names: tuple[str, ...]) -> None:
        super().__init__()
        self.names = names
        self.tokens = nn.Linear(width, width * len(names))
        self.slots = nn.Linear(width, width * len(names))

    def forward(self, slots: Tensor, tokens: Tensor) -> dict[str, Tensor]:
        """Score: (B, K, H) and (B, T, H) to (B, T, K) per name.

        The slots are mapped, not the tokens, of which there are a hundred times as many: the
        product of a mapped token and a slot is that of the token and the slot mapped back.
        """
        count, width = len(self.names), tokens.shape[-1]
        of_slots = self.slots(slots).unflatten(-1, (count, width)) * width**-0.5  # (B, K, N, H)
        back = self.tokens.weight.unflatten(0, (count, width))  # (N, H, H)
        bias = self.tokens.bias.unflatten(0, (count, width))  # (N, H)
        mapped = torch.einsum("bknh,nhw->bnkw", of_slots, back)
        added = torch.einsum("bknh,nh->bnk", of_slots, bias)
        scores = tokens.unsqueeze(1) @ mapped.transpose(2, 3) + added.unsqueeze(2)  # (B, N, T, K)
        return dict(zip(self.names, scores.unbind(1), strict=True))


def assign(costs: Tensor) -> Tensor:
    """Find the permutation of least total cost.

    Shape:
        costs: (B, K, K), of putting triple j into slot k. Output: (B, K), the triple of each slot.
    """
    batch, count, _ = costs.shape
    sets = torch.arange(2**count, device=costs.device)
    members = torch.arange(count, device=costs.device)
    inside = (sets.unsqueeze(1) >> members & 1).bool()  # (2^K, K)
    without = torch.where(inside, sets.unsqueeze(1) - (1 << members), 0)  # (2^K, K)
    finite = costs.nan_to_num(nan=1e30, posinf=1e30, neginf=-1e30)
    finite = finite.double().clamp(-1e30, 1e30)
    least = torch.full((batch, 2**count), torch.inf, dtype=torch.double, device=costs.device)
    least[:, 0] = 0.0
    chosen = []
    for slot in range(count):
        totals = least[:, without] + finite[:, slot].unsqueeze(1)  # (B, 2^K, K)
        least, last = totals.masked_fill(~inside, torch.inf).min(dim=-1)
        chosen.append(last)
    left = torch.full((batch, 1), 2**count - 1, device=costs.device)
    given = []
    for last in reversed(chosen):
        triple = last.gather(1, left)
        given.append(triple)
        left = left - (1 << triple)
    return torch.cat(given[::-1], dim=1)


@torch.no_grad()
def slot_costs(output: Any, labels: Mapping[str, Tensor]) -> Tensor:
    """Return minus the log probability of triple j in slot k: (B, K, K); ignored parts cost 0."""
    relations = labels["relation_labels"]
    costs = -pick(output.relation_logits.log_softmax(-1).transpose(1, 2), relations)
    for name in POINTERS:
        spread = output[f"{name}_logits"].log_softmax(dim=1)  # (B, T, K)
        costs = costs - pick(spread, labels[f"{name}_positions"])
    return costs


def pick(spread: Tensor, targets: Tensor) -> Tensor:
    """Take each slot's value at each target: (B, N, K) and (B, J) to (B, K, J); 0 if ignored."""
    positions = targets.clamp(min=0).unsqueeze(-1).expand(-1, -1, spread.shape[-1])
    found = spread.gather(1, positions).masked_fill((targets == IGNORED).unsqueeze(-1), 0.0)
    return found.transpose(1, 2)


def match_slots(output: Any, labels: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Reorder the triples' labels so that the output fits them best."""
    order = assign(slot_costs(output, labels))
    names = ("relation_labels", *(f"{name}_positions" for name in POINTERS))
    return {**labels, **{name: labels[name].gather(1, order) for name in names}}


TwoWikiEncoderForMultihopQA.register_for_auto_class("AutoModel")
