"""Generate a model's outputs for all prompts of a set, in batches of similar length.

In: a model's name and a prompt set. Out: prompts and outputs, in a journal as they are made, so
that a run that was interrupted continues. The same model, questions and settings give the same
bytes; a journal of other ones is refused.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from twowiki.errors import DataError
from twowiki.io.files import progress
from twowiki.io.journal import Journal
from twowiki.io.stages import file_stamps
from twowiki.text2text import loading
from twowiki.text2text.chat_format import Codec, read_text_format
from twowiki.text2text.generation import GenerationSettings, generate_texts
from twowiki.text2text.pairs import pad_inputs
from twowiki.text2text.prompting import Prompt, PromptSet


class TextGenerator(NamedTuple):
    """A loaded model, and the format that it was trained with if it was trained here."""

    model: Any
    codec: Codec
    form: dict[str, Any] | None
    name: dict[str, Any]
    device: str


class LoadOptions(NamedTuple):
    """The options of loading a model.

    Attributes:
        revision: of a hub model.
        trust_remote_code: whether its own code may run.
        device: a GPU if there is one, where empty.
        dtype: `auto` is bfloat16 on a GPU, float32 elsewhere.
        chat: `auto`, `yes` or `no`.
        allow_missing: whether weights may be missing, or hold NaN.
    """

    revision: str = ""
    trust_remote_code: bool = False
    device: str = ""
    dtype: str = "auto"
    chat: str = "auto"
    allow_missing: bool = False


def load_generator(model: str, options: LoadOptions) -> TextGenerator:
    """Load a model for predictions.

    Raises:
        DataError: it cannot be loaded.
    """
    import torch
    from transformers.utils.logging import disable_progress_bar

    if not sys.stderr.isatty():
        disable_progress_bar()  # type: ignore[no-untyped-call]
    device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    stamps = stamps_of(model, options)
    form = read_text_format(model)
    config = loading.read_model_config(model, options)
    tokenizer = loading.load_tokenizer(model, options)
    loaded = loading.load_text_model(
        model, options, dtype=stamps["dtype"], allow_missing=options.allow_missing
    )
    chat = form.get("chat", options.chat) if form else options.chat
    codec = Codec(tokenizer, loading.model_kind(config), chat)
    name = {**stamps, "revision": options.revision or getattr(config, "_commit_hash", None)}
    return TextGenerator(loaded.eval().to(device), codec, form, name, device)


def stamps_of(model: str, options: LoadOptions) -> dict[str, Any]:
    """Return what names a model before it is loaded: its path, its files, the type of weights."""
    import torch

    dtype = options.dtype
    if dtype == "auto":
        on_gpu = torch.cuda.is_available() if not options.device else options.device != "cpu"
        dtype = "bfloat16" if on_gpu else "float32"
    return {"model": model, "files": file_stamps(model), "dtype": dtype}


def longest_prompt(generator: TextGenerator, decoding: GenerationSettings, wanted: int) -> int:
    """Return the most tokens of a prompt: as wanted, and within the model's positions."""
    config = generator.model.config
    limit = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
    if generator.codec.kind == loading.SEQ2SEQ or not isinstance(limit, int):
        return wanted or 1 << 30  # T5's positions are relative: any length can be read
    room = limit - decoding.max_new_tokens
    if room < 1:
        problem = f"leaves no room for a prompt within the model's {limit} positions"
        raise DataError(problem, field="max-new-tokens")
    return min(wanted, room) if wanted else room


def generate_all(
    generator: TextGenerator,
    prompt_set: PromptSet,
    path: Path,
    decoding: GenerationSettings,
    *,
    batch_size: int,
    budget: int,
    restart: bool = False,
) -> dict[str, dict[str, Any]]:
    """Generate all outputs; return the records of the journal by question id.

    Args:
        generator: the model.
        prompt_set: the questions.
        path: of the journal.
        decoding: the settings of generation.
        batch_size: questions per batch.
        budget: most tokens of a prompt; a question that cannot fit has an empty output.
        restart: discard what an earlier run wrote.
    """
    prompts = prompt_set.prompts(generator.codec, budget)
    texts = {one.id: generator.codec.prompt_text(one.source) for one in prompts}
    identity = {
        **generator.name,
        "style": prompt_set.style,
        "prompts": _hash(texts),
        "budget": budget,
        **decoding._asdict(),
    }
    journal = Journal(path, identity, key="id", restart=restart)
    ids = {one.id: generator.codec.prompt_ids(one.source) for one in prompts}
    order = sorted(prompts, key=lambda one: -len(ids[one.id]))
    batches = [order[first : first + batch_size] for first in range(0, len(order), batch_size)]
    left = [batch for batch in batches if any(one.id not in journal.records for one in batch)]
    for batch in progress(left, what="predicting", total=len(left)):
        todo = [one for one in batch if one.id not in journal.records]
        outputs = _generate(generator, [one for one in todo if not one.too_long], ids, decoding)
        journal.add(_record(one, texts[one.id], outputs.get(one.id, "")) for one in todo)
    return {one.id: journal.records[one.id] for one in prompts}


def generate_prompts(
    generator: TextGenerator, batch: Sequence[Prompt], decoding: GenerationSettings
) -> dict[str, str]:
    """Return a model's outputs for one batch of prompts, by id."""
    ids = {one.id: generator.codec.prompt_ids(one.source) for one in batch}
    return _generate(generator, batch, ids, decoding)


def _generate(
    generator: TextGenerator,
    batch: Sequence[Prompt],
    ids: Mapping[str, list[int]],
    decoding: GenerationSettings,
) -> dict[str, str]:
    if not batch:
        return {}
    left = generator.codec.kind != loading.SEQ2SEQ
    pad = generator.codec.tokenizer.pad_token_id or 0
    inputs = pad_inputs([ids[one.id] for one in batch], pad, left=left)
    inputs = {name: value.to(generator.device) for name, value in inputs.items()}
    outputs = generate_texts(generator.model, generator.codec, inputs, decoding)
    return {one.id: text for one, text in zip(batch, outputs, strict=True)}


def _record(prompt: Prompt, text: str, output: str) -> dict[str, Any]:
    return {
        "id": prompt.id,
        "prompt": text,
        "output": output,
        "shots": prompt.shots,
        "sentences": prompt.sentences,
        "too_long": prompt.too_long,
    }


def _hash(texts: Mapping[str, str]) -> str:
    digest = hashlib.sha256()
    for name, text in texts.items():
        digest.update(f"{name}\n{text}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:24]
