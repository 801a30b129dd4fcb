"""Load any encoder-decoder or language model with its tokenizer, or make a small random one.

In: a folder, a .gguf file, a hub name, or the name of a random model. Out: the model and its
tokenizer. What cannot be loaded is a one-sentence error; models that only point at text are
refused. Weights are float32 unless another type is given.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from twowiki.errors import DataError, unless_here
from twowiki.models.auto import check_weights

SEQ2SEQ, CAUSAL = "seq2seq", "causal"


class LoadingOptions(Protocol):
    """The options that loading needs."""

    @property
    def revision(self) -> str:
        """Revision of a hub model."""

    @property
    def trust_remote_code(self) -> bool:
        """Whether a model's own code may run."""


class ModelSource(NamedTuple):
    """The source of a model: a folder or hub name, and the file in it if it is a GGUF."""

    name: str
    gguf: str | None

    def arguments(self, options: LoadingOptions) -> dict[str, Any]:
        """Return the arguments of `from_pretrained` beside the name."""
        given: dict[str, Any] = {"trust_remote_code": options.trust_remote_code}
        if options.revision:
            given["revision"] = options.revision
        return given | ({"gguf_file": self.gguf} if self.gguf else {})


def find_model(model: str) -> ModelSource:
    """Return the source of a model.

    Raises:
        DataError: it is a folder without a model, or a file that is not a model.
    """
    path = Path(model)
    if path.suffix.lower() == ".gguf":
        if not path.is_file():
            raise DataError("no such file", file=model, remedy="Check the path")
        return ModelSource(str(path.parent), path.name)
    if path.is_dir():
        if not (path / "config.json").is_file():
            found = sorted(path.glob("*.gguf"))
            if len(found) == 1:
                return ModelSource(model, found[0].name)
            remedy = "Name a folder that `save_pretrained` or training wrote, or a .gguf file"
            raise DataError("holds no model (no config.json)", file=model, remedy=remedy)
        check_not_extractive(path / "config.json", model)
    elif path.exists():
        remedy = "Name its folder, or a .gguf file"
        raise DataError("is a file, not a model's folder", file=model, remedy=remedy)
    elif model.startswith((".", "/", "~")) or model.count("/") > 1:
        raise DataError("no such folder", file=model, remedy="Check the path")
    return ModelSource(model, None)


def check_not_extractive(config: Path, model: str) -> None:
    """Raise on a model that points at text and generates none, such as the baseline.

    Raises:
        DataError: it is one, or the file is not a configuration.
    """
    try:
        kind = str(json.loads(config.read_text(encoding="utf-8")).get("model_type"))
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        remedy = "Save the model again"
        raise DataError("is not a model configuration", file=config, remedy=remedy) from error
    if kind.startswith("twowiki"):
        raise DataError(
            "is a model that points at text and generates none",
            file=model,
            remedy="Use it without --task: twowiki predict MODEL DATA OUT",
        )


def read_model_config(model: str, options: LoadingOptions) -> Any:
    """Read a model's configuration."""
    from transformers import AutoConfig

    source = find_model(model)
    return _loaded(AutoConfig, model, source, options)


def model_type_of(model: str, options: LoadingOptions) -> str:
    """Return a model's family, such as `t5` or `llama`."""
    if model in NAMES:
        return "t5" if model == "tiny-t5" else "llama"
    return str(read_model_config(model, options).model_type)


def model_kind(config: Any) -> str:
    """Return whether a model is an encoder-decoder or a language model."""
    return SEQ2SEQ if getattr(config, "is_encoder_decoder", False) else CAUSAL


def kind_of_start(model: str, options: LoadingOptions) -> str:
    """Return the kind of a model by its name: that of its configuration, or of a random model."""
    if model in NAMES:
        return SEQ2SEQ if model == "tiny-t5" else CAUSAL
    return model_kind(read_model_config(model, options))


def load_tokenizer(
    model: str, options: LoadingOptions, texts: Iterable[str] = (), size: int = 0
) -> Any:
    """Load a model's tokenizer, or train one for a random model; it has a padding token.

    Args:
        model: as in `find_model`, or the name of a random model.
        options: revision and trust.
        texts: to train on.
        size: of the trained vocabulary.
    """
    if model in NAMES:
        return make_tokenizer(texts, size, ends=model == "tiny-t5")
    from transformers import AutoTokenizer

    tokenizer = _loaded(AutoTokenizer, model, find_model(model), options)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
    return tokenizer


def load_text_model(
    model: str,
    options: LoadingOptions,
    *,
    dtype: str = "float32",
    dropout: float = -1,
    allow_missing: bool = True,
) -> Any:
    """Load a model with the head that its kind generates with.

    Args:
        model: as in `find_model`.
        options: revision and trust.
        dtype: type of the weights.
        dropout: replaces the model's own, unless below 0.
        allow_missing: whether weights may be missing, or hold NaN.

    Raises:
        DataError: it cannot be loaded.
    """
    import torch
    import transformers

    config = read_model_config(model, options)
    if dropout >= 0:
        set_dropout(config, dropout)
    seq2seq = model_kind(config) == SEQ2SEQ
    auto: Any = transformers.AutoModelForSeq2SeqLM if seq2seq else transformers.AutoModelForCausalLM
    source = find_model(model)
    given: dict[str, Any] = {"dtype": getattr(torch, dtype)}
    if source.gguf is None:
        whole = {"config": config, "output_loading_info": True}
        loaded, info = _loaded(auto, model, source, options, **whole, **given)
        if not allow_missing:
            check_weights(loaded, info, model)
        return loaded
    unpack = getattr(transformers, "GgufConfig", None)  # newer versions can keep weights packed
    if unpack is not None:
        given["quantization_config"] = unpack(dequantize=True)
    loaded = _loaded(auto, model, source, options, **given)
    quantizer = getattr(loaded, "hf_quantizer", None)
    if quantizer is not None:  # the weights are plain ones now: they can be trained and saved
        quantizer.remove_quantization_config(loaded)
    if dropout >= 0:
        set_dropout(loaded.config, dropout)
    return loaded


def set_dropout(config: Any, value: float) -> None:
    """Set every dropout that a configuration has; families name theirs differently."""
    for name in ("dropout_rate", "dropout", "hidden_dropout", "attention_dropout", "resid_pdrop"):
        if isinstance(getattr(config, name, None), int | float):
            setattr(config, name, value)


def _loaded(
    auto: Any, model: str, source: ModelSource, options: LoadingOptions, **more: Any
) -> Any:
    try:
        return auto.from_pretrained(source.name, **source.arguments(options), **more)
    except Exception as error:  # of damaged files the libraries raise many kinds
        if isinstance(error, ImportError) and "gguf" in str(error).lower():
            remedy = "Install it with: pip install 'twowiki[text]'"
            raise DataError("needs the package 'gguf'", file=model, remedy=remedy) from None
        reason = next((line for line in str(error).splitlines() if line.strip()), repr(error))
        raise DataError(
            f"{unless_here(source.name)}cannot be loaded ({reason.strip()})",
            file=model,
            remedy="Name a local folder, a .gguf file, or a reachable hub model",
        ) from None


NAMES = ("tiny-t5", "tiny-causal")
PAD, END, UNKNOWN = "<pad>", "</s>", "<unk>"


def make_tokenizer(texts: Iterable[str], size: int, *, ends: bool) -> Any:
    """Train a byte-level tokenizer.

    Args:
        texts: to train on.
        size: of the vocabulary, at most.
        ends: put the end token after each text, as T5's tokenizers do.
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
        width: width of its states; heads are 16 wide.
        layers: of the encoder (the decoder has half as many) or of the language model.
        dropout: below 0: none.
    """
    import transformers

    heads = max(1, width // 16)
    tokens: dict[str, Any] = {
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
            **tokens | {"decoder_start_token_id": tokenizer.pad_token_id},
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
        **tokens,
    )
    return transformers.LlamaForCausalLM(config)
