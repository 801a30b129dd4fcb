"""Tiny random encoders of six kinds, each with a tokenizer trained on the spot; no hub."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from tokenizers import trainers as t

from tests.small_model import GOLD_Q1, examples
from twowiki.data.schema import Example

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from twowiki.models.configuration_encoder import TwoWikiEncoderConfig
    from twowiki.models.features import Window
    from twowiki.models.modeling_encoder import TwoWikiEncoderForMultihopQA

SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 48,
}
OPTIONS: dict[str, Any] = {
    "head_size": 16, "triple_slots": 6, "slot_layers": 2, "fuse_single_windows": False,
}  # fmt: skip
WORDPIECE, BYTES, UNIGRAM = "wordpiece", "bytes", "unigram"
# kind of backbone -> (tokenizer, fields of its configuration)
BACKBONES: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": (WORDPIECE, {"max_position_embeddings": 512}),
    "mpnet": (WORDPIECE, {"max_position_embeddings": 514, "pad_token_id": 1}),
    "roberta": (BYTES, {"max_position_embeddings": 514, "type_vocab_size": 1, "pad_token_id": 1}),
    "longformer": (
        BYTES,
        {"max_position_embeddings": 1026, "attention_window": 32, "pad_token_id": 1,
         "type_vocab_size": 1},
    ),
    "modernbert": (
        BYTES,
        {"max_position_embeddings": 2048, "pad_token_id": 1, "local_attention": 32,
         "global_attn_every_n_layers": 2, "reference_compile": False},
    ),
    "deberta-v2": (
        UNIGRAM,
        {"max_position_embeddings": 512, "relative_attention": True, "type_vocab_size": 0,
         "pos_att_type": ["p2c", "c2p"], "position_buckets": 16, "position_biased_input": False,
         "share_att_key": True, "norm_rel_ebd": "layer_norm"},
    ),
}  # fmt: skip

# more kinds, for the one test that they train at all
OTHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "electra": (WORDPIECE, {"max_position_embeddings": 512, "embedding_size": 16}),
    "distilbert": (
        WORDPIECE,
        {"max_position_embeddings": 512, "dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 48},
    ),
    "albert": (UNIGRAM, {"max_position_embeddings": 512, "embedding_size": 16}),
    "xlm-roberta": (UNIGRAM, {"max_position_embeddings": 514, "type_vocab_size": 1}),
    "big_bird": (
        WORDPIECE,
        {"max_position_embeddings": 1024, "attention_type": "block_sparse", "block_size": 16,
         "num_random_blocks": 2},
    ),
}  # fmt: skip

HARD = "Élan  Dovré’s  “Ash…” (1907–1944) was filmed."


def texts() -> list[str]:
    """What the tokenizers are trained on."""
    found = [HARD]
    for example in [*examples(), GOLD_Q1]:
        found.append(example.question)
        for title, sentences in example.context:
            found += [title, *sentences]
    return found


@cache
def tokenizer_json(kind: str) -> str:
    """Train a tokenizer of a kind; its backend as JSON."""
    specials = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"]
    if kind == WORDPIECE:
        backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        backend.normalizer = normalizers.BertNormalizer(lowercase=True)
        backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer: Any = t.WordPieceTrainer(vocab_size=400, special_tokens=specials)
    elif kind == BYTES:
        backend = Tokenizer(models.BPE())
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        backend.decoder = decoders.ByteLevel()
        trainer = t.BpeTrainer(
            vocab_size=600,
            special_tokens=specials,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        )
    else:
        backend = Tokenizer(models.Unigram())
        backend.normalizer = normalizers.NFKC()
        backend.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = t.UnigramTrainer(vocab_size=400, special_tokens=specials, unk_token="[UNK]")
    backend.train_from_iterator(texts(), trainer)
    middle = "[SEP]:0 [SEP]:0" if kind == BYTES else "[SEP]:0"
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair=f"[CLS]:0 $A:0 {middle} $B:1 [SEP]:1",
        special_tokens=[(name, backend.token_to_id(name)) for name in ("[CLS]", "[SEP]")],
    )
    return str(backend.to_str())


def make_tokenizer(kind: str) -> PreTrainedTokenizerFast:
    """Make a fast tokenizer with the markers."""
    from transformers import PreTrainedTokenizerFast

    from twowiki.models.processing_encoder import add_markers

    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(tokenizer_json(kind)),
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        unk_token="[UNK]",
        mask_token="[MASK]",
    )
    add_markers(tokenizer)
    return tokenizer


def settings(kind: str = "bert", **options: Any) -> tuple[TwoWikiEncoderConfig, Any]:
    """A tiny configuration with its tokenizer."""
    from transformers import AutoConfig

    from twowiki.models.configuration_encoder import TwoWikiEncoderConfig
    from twowiki.models.processing_encoder import frame_of

    family, fields = {**BACKBONES, **OTHERS}[kind]
    tokenizer = make_tokenizer(family)
    backbone = AutoConfig.for_model(
        kind, vocab_size=len(tokenizer), **{**SIZES, "pad_token_id": 1, **fields}
    )
    relations = sorted({t.relation for e in [*examples(), GOLD_Q1] for t in e.evidences})
    config = TwoWikiEncoderConfig(
        backbone_config=backbone,
        relations=relations,
        **{**frame_of(tokenizer, backbone), **OPTIONS, **options},
    )
    return config, tokenizer


def model_and_records(
    kind: str = "bert", given: list[Example] | None = None, seed: int = 0, **options: Any
) -> tuple[TwoWikiEncoderForMultihopQA, list[Window]]:
    """A model from a seed, in evaluation mode, and the records of examples."""
    import torch

    from twowiki.models.modeling_encoder import TwoWikiEncoderForMultihopQA
    from twowiki.models.processing_encoder import EncoderProcessor

    config, tokenizer = settings(kind, **options)
    encoder = EncoderProcessor(config, tokenizer)
    records = [
        record
        for number, example in enumerate(given or examples())
        for record in encoder.encode(example, number)
    ]
    torch.manual_seed(seed)
    model = TwoWikiEncoderForMultihopQA(config)
    model.answer_tokenizer = tokenizer
    return model.eval(), records
