"""The configuration of the baseline: sizes, vocabularies, and each correction as an option.

`TwoWikiBaselineConfig()` has every correction on; its method `reproduce` returns the published
baseline's settings: the same layers, losses and decoding. Each option is independent of the others.
"""

from __future__ import annotations

from typing import Any, ClassVar

from transformers import PretrainedConfig

from .labels import EncodingOptions, MultihopConfig

# what the published baseline does; the defaults of the fields below are the corrections
REPRODUCE: dict[str, Any] = {
    "layout": "reference",
    "ignore_case": False,
    "prefer_support": False,
    "ignore_missing": False,
    "title_support": True,
    "window_tokens": 0,
    "max_context_tokens": 2250,
    "max_question_tokens": 80,
    "max_sentences": 100,
    "match_features": False,
    "triple_slots": 0,
    "token_evidence": False,
    "pointer_chain": True,
    "mask_padding": False,
    "teacher_forcing": False,
    "narrow_scale": False,
    "freeze_word_vectors": True,
    "lower_case_words": False,
    "loss_reduction": "sum",
    "support_weight": 0.5,
    "evidence_weight": 0.5,
    "max_span_tokens": 16,
    "support_threshold": 0.3,
    "hidden_size": 80,
    "splitter": "spacy",
}


class TwoWikiBaselineConfig(MultihopConfig, PretrainedConfig):
    """Sizes, vocabularies and options of the baseline; the defaults are the corrected settings.

    Args:
        vocab_size: rows of the word embedding; 0 is padding, 1 unknown.
        word_dim: width of the word vectors.
        char_vocab: the characters, in id order from 2; 0 is padding, 1 unknown.
        char_dim: width of the character embedding.
        char_hidden: filters of the character convolution.
        char_limit: characters of a word that are read.
        hidden_size: width of each direction of each GRU.
        relations: relation names in id order (in reproduce settings the first two are specials).
        relation_dim: width of the relation embedding.
        dropout: of every GRU and attention input, one mask per example and channel.
        splitter: how text becomes words: "words" or "spacy" (the reference's).
        layout: how paragraphs become one text: "marked", or "reference" (no separators).
        lower_case_words: look words up whatever their case.
        ignore_case: look answers, subjects and objects up whatever their case.
        prefer_support: prefer occurrences in supporting sentences, and only whole words.
        ignore_missing: leave strings that are not found and absent relations out of the loss;
            otherwise they are trained towards tokens 0 and 1.
        title_support: titles are sentences that can be predicted as support (index -1).
        window_tokens: longest context of one window; longer ones are cut at sentences; 0 = never.
        window_stride: tokens that neighboring windows share.
        max_context_tokens: contexts longer than this are dropped; 0 = none is.
        max_question_tokens: questions longer than this are dropped; 0 = none is.
        max_sentences: sentences after these have no label and no prediction; 0 = all have.
        match_features: mark words that are in the question, in a title that the question
            names, or in another paragraph's title; unknown names have no vector to match by.
        triple_slots: triples that can be predicted, in order; 0 = one slot per relation.
        token_evidence: subject and object pointers see tokens, not one vector per sentence.
        pointer_chain: each pointer has a GRU of its own, fed with the one before.
        mask_padding: padding takes no part in attention and in pooling.
        teacher_forcing: the pointers are trained with the gold relations.
        narrow_scale: attention scales start at 1/sqrt(width), not in U(1/sqrt(width), 1).
        freeze_word_vectors: word vectors are not trained.
        loss_reduction: "mean" over labeled targets, or "sum" over targets by the batch size.
        answer_type_weight: weight of the answer type loss.
        support_weight: weight of the support loss.
        evidence_weight: weight of the evidence loss (relations, subjects, objects).
        max_span_tokens: longest span that is predicted.
        support_threshold: a sentence is support above this probability.
    """

    model_type = "twowiki_baseline"
    keys_to_ignore_at_inference: ClassVar[list[str]] = ["losses"]

    vocab_size: int = 2
    word_dim: int = 300
    char_vocab: str = ""
    char_dim: int = 8
    char_hidden: int = 100
    char_limit: int = 16
    hidden_size: int = 100
    relations: list[str] | None = None
    relation_dim: int = 100
    dropout: float = 0.0
    splitter: str = "words"
    layout: str = "marked"
    lower_case_words: bool = True
    ignore_case: bool = True
    prefer_support: bool = True
    ignore_missing: bool = True
    title_support: bool = False
    window_tokens: int = 2048
    window_stride: int = 256
    max_context_tokens: int = 0
    max_question_tokens: int = 0
    max_sentences: int = 0
    match_features: bool = True
    triple_slots: int = 6
    token_evidence: bool = True
    pointer_chain: bool = False
    mask_padding: bool = True
    teacher_forcing: bool = True
    narrow_scale: bool = True
    freeze_word_vectors: bool = False
    loss_reduction: str = "mean"
    answer_type_weight: float = 1.0
    support_weight: float = 1.0
    evidence_weight: float = 1.0
    max_span_tokens: int = 40
    support_threshold: float = 0.5

    def __post_init__(self, **kwargs: Any) -> None:
        self.check_choice("layout", "marked", "reference")
        self.check_choice("splitter", "words", "spacy")
        self.check_choice("loss_reduction", "mean", "sum")
        super().__post_init__(**kwargs)

    @classmethod
    def reproduce(cls, **sizes: Any) -> TwoWikiBaselineConfig:
        """Return the published baseline's settings, with the given sizes and vocabularies."""
        return cls(**{**REPRODUCE, **sizes})

    def encoding_options(self) -> EncodingOptions:
        """Return the options that affect an encoded example."""
        return EncodingOptions(*(getattr(self, name) for name in EncodingOptions._fields))

    @property
    def pointer_count(self) -> int:
        """Number of subject (and object) pointers: one per triple slot, or per relation."""
        return self.triple_slots or self.relation_count

    @property
    def char_vocab_size(self) -> int:
        """Rows of the character embedding: padding, unknown, then the known characters."""
        return 2 + len(self.char_vocab)


TwoWikiBaselineConfig.register_for_auto_class()
