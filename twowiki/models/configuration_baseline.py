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

    A loss is summed over its targets and divided by the batch, or averaged over labeled targets
    (`loss_reduction`). Strings that are not found and absent relations are left out of it
    (`ignore_missing`), or trained towards tokens 0 and 1.
    """

    model_type = "twowiki_baseline"
    keys_to_ignore_at_inference: ClassVar[list[str]] = ["losses"]

    vocab_size: int = 2  # rows of the word embedding; 0 is padding, 1 unknown
    word_dim: int = 300  # width of the word vectors
    char_vocab: str = ""  # the characters, in id order from 2; 0 is padding, 1 unknown
    char_dim: int = 8  # width of the character embedding
    char_hidden: int = 100  # filters of the character convolution
    char_limit: int = 16  # characters of a word that are read
    hidden_size: int = 100  # width of each direction of each GRU
    relations: list[str] | None = None  # in id order; when reproducing, the first two are special
    relation_dim: int = 100  # width of the relation embedding
    dropout: float = 0.0  # of every GRU and attention input, one mask per example and channel
    splitter: str = "words"  # how text becomes words: "words" or "spacy" (the reference's)
    layout: str = "marked"  # how paragraphs become one text: "marked", or "reference"
    lower_case_words: bool = True  # look words up whatever their case
    ignore_case: bool = True  # look answers, subjects and objects up whatever their case
    prefer_support: bool = True  # prefer places in supporting sentences, and only whole words
    ignore_missing: bool = True  # leave what is not found out of the loss
    title_support: bool = False  # titles are sentences that can be predicted as support (index -1)
    window_tokens: int = 2048  # longest window; longer contexts are cut at sentences; 0 = never
    window_stride: int = 256  # tokens that neighboring windows share
    max_context_tokens: int = 0  # contexts longer than this are dropped; 0 = none is
    max_question_tokens: int = 0  # questions longer than this are dropped; 0 = none is
    max_sentences: int = 0  # sentences after these have no label and no prediction; 0 = all have
    match_features: bool = True  # mark words that question or other titles repeat, see `matches`
    triple_slots: int = 6  # triples that can be predicted, in order; 0 = one slot per relation
    token_evidence: bool = True  # subject and object pointers see tokens, not a vector per sentence
    pointer_chain: bool = False  # each pointer has a GRU of its own, fed with the one before
    mask_padding: bool = True  # padding takes no part in attention and in pooling
    teacher_forcing: bool = True  # the pointers are trained with the gold relations
    narrow_scale: bool = True  # attention scales start at 1/sqrt(width), not in U(1/sqrt(width), 1)
    freeze_word_vectors: bool = False  # word vectors are not trained
    loss_reduction: str = "mean"  # "mean" over labeled targets, or "sum" by the batch size
    answer_type_weight: float = 1.0
    support_weight: float = 1.0
    evidence_weight: float = 1.0  # of the losses of relations, subjects and objects
    max_span_tokens: int = 40  # longest span that is predicted
    support_threshold: float = 0.5  # a sentence is support above this probability

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
        own = [name for name in EncodingOptions._fields if hasattr(self, name)]
        return EncodingOptions(**{name: getattr(self, name) for name in own})

    @property
    def pointer_count(self) -> int:
        """Number of subject (and object) pointers: one per triple slot, or per relation."""
        return self.triple_slots or self.relation_count

    @property
    def char_vocab_size(self) -> int:
        """Rows of the character embedding: padding, unknown, then the known characters."""
        return 2 + len(self.char_vocab)


TwoWikiBaselineConfig.register_for_auto_class()
