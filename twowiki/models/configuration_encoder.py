"""The configuration of the encoder model: its backbone's configuration, its heads, its decoding.

`backbone_config` is the configuration of any encoder that transformers knows. The fields that
describe how the backbone's tokenizer frames a text (`prefix_ids` ...) are filled by
`processing_encoder.frame_of`, so that batches need no tokenizer.
"""

from __future__ import annotations

from typing import Any, ClassVar

from transformers import AutoConfig, PretrainedConfig

from .labels import EncodingOptions, MultihopConfig
from .selection import Selection, as_selector

# backbones whose position table begins after the padding token's id
_POSITIONS_AFTER_PADDING = frozenset(
    "roberta xlm-roberta xlm-roberta-xl camembert mpnet longformer data2vec-text ibert".split()
)
VARIABLE_LENGTHS = "twowiki_varlen"  # the attention of `backbone` that reads packed windows
DISENTANGLED = "deberta-v2"  # the type of DeBERTa-v2 and v3, which has an attention of its own
# backbones whose forward passes the lengths on to their attention
_PACKABLE = frozenset("bert roberta xlm-roberta electra modernbert".split())
# backbones whose attention uses distances only, so that longer windows than trained on work
_RELATIVE_POSITIONS = frozenset("deberta deberta-v2 modernbert nomic_bert".split())
_DROPOUTS = (
    "attention_probs_dropout_prob", "hidden_dropout_prob", "attention_dropout", "mlp_dropout",
    "embedding_dropout", "dropout",
)  # fmt: skip
MAX_SLOTS = 10  # the optimal assignment considers 2 ** slots sets


class TwoWikiEncoderConfig(MultihopConfig, PretrainedConfig):
    """Backbone, heads and decoding options of `TwoWikiEncoderForMultihopQA`."""

    model_type = "twowiki_encoder"
    sub_configs: ClassVar[dict[str, Any]] = {"backbone_config": AutoConfig}
    keys_to_ignore_at_inference: ClassVar[list[str]] = ["losses"]
    layout: ClassVar[str] = "marked"  # type: ignore[misc]
    loss_reduction: ClassVar[str] = "mean"  # type: ignore[misc]

    backbone_config: Any = None  # of the encoder, or its dict with `model_type`
    backbone_name: str = ""  # what the encoder was started from
    relations: list[str] | None = None  # in id order
    title_marker_id: int = 1  # token before each title
    sentence_marker_id: int = 2  # token before each sentence
    prefix_ids: list[int] | None = None  # tokens before the question
    middle_ids: list[int] | None = None  # tokens between the question and the context
    suffix_ids: list[int] | None = None  # tokens after the context
    context_segment: int = -1  # token type of the context; -1 where the backbone has no token types
    padding_id: int = 0  # token of padding
    backbone_dropout: float = -1.0  # in the backbone, attention included; below 0 = what it has
    window_tokens: int = 0  # longest input of the backbone, all included; 0 = its longest
    window_stride: int = 64  # tokens that two windows share where a paragraph is cut
    max_question_tokens: int = 0  # longer questions are cut; 0 = a third of a window
    select_paragraphs: int = 0  # paragraphs that are read, see `selection`; 0 = all
    select_threshold: float = 0.01  # least probability of a paragraph beyond the best two
    selector: list[list[float]] | None = None  # weights of the selection; None = those of a world
    triple_slots: int = 8  # triples that can be predicted, in no order
    slot_layers: int = 2  # layers in which the slots attend to each other and to the text
    fusion_layers: int = 1  # attention over all windows of an example, after the backbone
    fuse_single_windows: bool = True  # of one window too; new models leave it out: no key is older
    head_size: int = 64  # width of an attention head in fusion and slot layers
    match_features: bool = True  # mark tokens that question or other titles repeat, see `matches`
    input_matches: bool = True  # the backbone reads these marks too, beside the tokens
    assignment: str = "optimal"  # of triples to slots in training: "optimal", or "ordered"
    dropout: float = 0.1  # in the fusion and slot layers
    answer_type_weight: float = 1.0
    support_weight: float = 1.0
    evidence_weight: float = 1.0  # of the losses of relations, subjects and objects
    max_span_tokens: int = 64  # longest span that is predicted
    support_threshold: float = 0.5  # a sentence is support above this probability
    max_object_tokens: int = 16  # longest object of a triple, with `chain_consistency`
    span_candidates: int = 6  # objects in a page that the decoder considers
    chain_consistency: bool = True  # triples agree with titles, pages and each other
    chain_margin: float = 12.0  # what a subject costs that nothing names or links to, in logits
    support_from_triples: bool = True  # the sentences that state the triples are support
    derive_answers: bool = True  # answers of comparisons follow from the predicted triples' values
    chain_answers: bool = True  # the answer of a chain of two triples is the last one's object
    initializer_range: float = 0.02  # spread of the heads' first weights

    def __post_init__(self, **kwargs: Any) -> None:
        if isinstance(self.backbone_config, dict):
            values = dict(self.backbone_config)
            if "model_type" not in values:
                raise ValueError("backbone_config has no model_type")
            self.backbone_config = AutoConfig.for_model(values.pop("model_type"), **values)
        for name in ("prefix_ids", "middle_ids", "suffix_ids"):
            setattr(self, name, list(getattr(self, name) or []))
        self.check_choice("assignment", "optimal", "ordered")
        if not 1 <= self.triple_slots <= MAX_SLOTS:
            raise ValueError(f"triple_slots is 1 to {MAX_SLOTS}, not {self.triple_slots}")
        if self.selector is not None:
            as_selector(self.selector)
        self.settle()
        super().__post_init__(**kwargs)

    def settle(self) -> None:
        """Set the backbone's dropout and check its windows; call it after a field is changed.

        Raises:
            ValueError: the backbone cannot read such windows; with the numbers.
        """
        if self.backbone_config is None:
            return
        for name in _DROPOUTS:
            if self.backbone_dropout >= 0 and hasattr(self.backbone_config, name):
                setattr(self.backbone_config, name, self.backbone_dropout)
        longest = _longest_input(self.backbone_config)
        if longest and self.window_tokens > longest:
            raise ValueError(
                f"window_tokens is {self.window_tokens}, and the {self.backbone_config.model_type} "
                f"backbone takes {longest} tokens at most"
            )
        room = self.window_limit - self.question_limit
        if not 0 <= self.window_stride < room:
            raise ValueError(
                f"a window of {self.window_limit} tokens with a question of {self.question_limit} "
                f"leaves {room}, which must be more than the stride of {self.window_stride}"
            )

    @property
    def window_limit(self) -> int:
        """Longest input of the backbone in tokens, special tokens included."""
        return self.window_tokens or _default_input(self.backbone_config)

    @property
    def question_limit(self) -> int:
        """Most tokens of a question."""
        return self.max_question_tokens or max(1, self.window_limit // 3)

    @property
    def reads_matches(self) -> bool:
        """Whether the backbone reads the marks of matches."""
        return self.match_features and self.input_matches

    def _selection(self) -> Selection | None:
        """Return what decides which paragraphs are read; None where all are."""
        if not self.select_paragraphs:
            return None
        weights = [weights.tolist() for weights in as_selector(self.selector)]
        return Selection(self.select_paragraphs, self.select_threshold, weights)

    @property
    def packs(self) -> bool:
        """Whether windows are laid out in one row, without padding."""
        return packs(self.backbone_config)

    @property
    def first_position(self) -> int:
        """Position of a window's first token."""
        after_padding = self.backbone_config.model_type in _POSITIONS_AFTER_PADDING
        return int(self.backbone_config.pad_token_id or 0) + 1 if after_padding else 0

    @property
    def width(self) -> int:
        """Width of the backbone's states."""
        return int(self.backbone_config.hidden_size)

    def encoding_options(self) -> EncodingOptions:
        """Return the options that affect an encoded example."""
        return EncodingOptions(
            relation_ids=self.relation_ids,
            match_features=self.match_features,
            triple_slots=self.triple_slots,
            max_question_tokens=self.question_limit,
            selection=self._selection(),
        )


def can_pack(backbone: Any) -> bool:
    """Return whether a backbone could read windows without padding."""
    if backbone.model_type == DISENTANGLED:  # a convolution would reach over the windows' borders
        return backbone.relative_attention and not getattr(backbone, "conv_kernel_size", 0)
    return backbone.model_type in _PACKABLE


def packs(backbone: Any) -> bool:
    """Return whether a backbone reads windows without padding, by its attention."""
    attention = str(getattr(backbone, "_attn_implementation", ""))
    return can_pack(backbone) and (attention == VARIABLE_LENGTHS or "flash" in attention)


def _longest_input(backbone: Any) -> int:
    """Return the most tokens that a backbone can read at all; 0 if it has no such limit."""
    if backbone.model_type in _RELATIVE_POSITIONS and not getattr(
        backbone, "position_biased_input", False
    ):
        return 0
    return _default_input(backbone)


def _default_input(backbone: Any) -> int:
    """Return the most tokens that a backbone was trained to read."""
    positions = int(getattr(backbone, "max_position_embeddings", 0) or 0)
    if positions <= 0:
        return 512
    if backbone.model_type in _POSITIONS_AFTER_PADDING:
        positions -= int(backbone.pad_token_id or 0) + 1
    return positions


TwoWikiEncoderConfig.register_for_auto_class()
