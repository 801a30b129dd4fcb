"""Random small models with a tokenizer trained on the spot: to try a run, and for tests.

Byte-level pieces give every text back as it was, in any script. Nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

NAMES = ("tiny-t5", "tiny-causal")
PAD, END, UNKNOWN = "<pad>", "</s>", "<unk>"


def make_tokenizer(texts: Iterable[str], size: int, *, ends: bool) -> Any:
    """Train a byte-level tokenizer.

    Args:
        texts: to train on.
        size: of the vocabulary, at most.
        ends: put the end mark after each text, as T5's tokenizers do.
    """
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=max(size, 259),
        special_tokens=[PAD, END, UNKNOWN],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    core.train_from_iterator(texts, trainer)
    if ends:
        core.post_processor = processors.TemplateProcessing(
            single=f"$A {END}", special_tokens=[(END, core.token_to_id(END))]
        )
    kind: Any = transformers.PreTrainedTokenizerFast
    return kind(tokenizer_object=core, pad_token=PAD, eos_token=END, unk_token=UNKNOWN)


def make_model(name: str, tokenizer: Any, *, width: int, layers: int, dropout: float) -> Any:
    """Make a random model of the given size from torch's random state.

    Args:
        name: `tiny-t5` or `tiny-causal` (a small Llama).
        tokenizer: whose vocabulary it has.
        width: of its states; heads are 16 wide.
        layers: of the encoder (the decoder has half as many) or of the language model.
        dropout: below 0: none.
    """
    import transformers

    heads = max(1, width // 16)
    marks: dict[str, Any] = {
        "pad_token_id": tokenizer.pad_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }
    if name == "tiny-t5":
        config: Any = transformers.T5Config(
            vocab_size=len(tokenizer),
            d_model=width,
            d_kv=16,
            d_ff=2 * width,
            num_layers=layers,
            num_decoder_layers=max(1, layers // 2),
            num_heads=heads,
            dropout_rate=max(0.0, dropout),
            **marks | {"decoder_start_token_id": tokenizer.pad_token_id},
        )
        return transformers.T5ForConditionalGeneration(config)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        max_position_embeddings=4096,
        attention_dropout=max(0.0, dropout),
        bos_token_id=None,
        tie_word_embeddings=True,
        **marks,
    )
    return transformers.LlamaForCausalLM(config)
