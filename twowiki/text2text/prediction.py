"""Ask a model all questions of a booklet, in batches of like length; every word is kept.

Prompts and outputs go into a journal as they come, so a run that was cut off goes on. The same
model, questions and settings give the same bytes.
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
from twowiki.text2text import loading as backbones
from twowiki.text2text.chat_format import Codec, read_format
from twowiki.text2text.generation import Decoding, generate
from twowiki.text2text.pairs import pad_inputs
from twowiki.text2text.prompting import Booklet, Prompt


class Speaker(NamedTuple):
    """A loaded model that answers, and the format that it was trained with, if it was here."""

    model: Any
    codec: Codec
    form: dict[str, Any] | None
    name: dict[str, Any]
    device: str


class LoadOptions(NamedTuple):
    """How a model is loaded.

    Attributes:
        revision: of a hub model.
        trust_remote_code: whether its own code may run.
        device: empty: a GPU if there is one.
        dtype: `auto` is bfloat16 on a GPU, float32 elsewhere.
        chat: `auto`, `yes` or `no`.
    """

    revision: str = ""
    trust_remote_code: bool = False
    device: str = ""
    dtype: str = "auto"
    chat: str = "auto"


def load_speaker(model: str, options: LoadOptions) -> Speaker:
    """Load a model to be asked.

    Raises:
        DataError: it cannot be loaded.
    """
    import torch
    from transformers.utils.logging import disable_progress_bar

    if not sys.stderr.isatty():
        disable_progress_bar()  # type: ignore[no-untyped-call]
    device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    dtype = options.dtype
    if dtype == "auto":
        dtype = "float32" if device == "cpu" else "bfloat16"
    form = read_format(model)
    config = backbones.read_config(model, options)
    tokenizer = backbones.load_tokenizer(model, options)
    loaded = backbones.load_model(model, options, dtype=dtype)
    chat = form.get("chat", options.chat) if form else options.chat
    codec = Codec(tokenizer, backbones.kind_of(config), chat)
    name = {
        "model": model,
        "revision": options.revision or getattr(config, "_commit_hash", None),
        "files": file_stamps(model),
        "dtype": dtype,
    }
    return Speaker(loaded.eval().to(device), codec, form, name, device)


def file_stamps(model: str) -> list[list[Any]]:
    """Name a local model's files with their sizes and times, so that another model is noticed."""
    place = Path(model)
    if not place.exists():
        return []
    files = (
        [place] if place.is_file() else sorted(path for path in place.iterdir() if path.is_file())
    )
    return [[path.name, path.stat().st_size, path.stat().st_mtime_ns] for path in files]


def longest_prompt(speaker: Speaker, decoding: Decoding, wanted: int) -> int:
    """Say how many tokens a prompt may have: as asked, and within the model's positions."""
    config = speaker.model.config
    limit = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
    if speaker.codec.kind == backbones.SEQ2SEQ or not isinstance(limit, int):
        return wanted or 1 << 30  # T5's positions are relative: any length can be read
    room = limit - decoding.max_new_tokens
    if room < 1:
        problem = f"leaves no room for a prompt within the model's {limit} positions"
        raise DataError(problem, field="max-new-tokens")
    return min(wanted, room) if wanted else room


def ask_all(
    speaker: Speaker,
    booklet: Booklet,
    path: Path,
    decoding: Decoding,
    *,
    batch_size: int,
    budget: int,
    restart: bool = False,
) -> dict[str, dict[str, Any]]:
    """Ask every question; give the records of the journal by question id.

    Args:
        speaker: who is asked.
        booklet: the questions.
        path: of the journal.
        decoding: how texts are found.
        batch_size: questions at a time.
        budget: tokens of a prompt, at most; a question that cannot fit gets an empty output.
        restart: throw away what an earlier run wrote.
    """
    asked = booklet.prompts(speaker.codec, budget)
    texts = {one.id: speaker.codec.prompt_text(one.source) for one in asked}
    identity = {
        **speaker.name,
        "style": booklet.style,
        "prompts": _hash(texts),
        "budget": budget,
        **decoding._asdict(),
    }
    journal = Journal(path, identity, key="id", restart=restart)
    ids = {one.id: speaker.codec.prompt_ids(one.source) for one in asked}
    order = sorted(asked, key=lambda one: -len(ids[one.id]))
    batches = [order[first : first + batch_size] for first in range(0, len(order), batch_size)]
    left = [batch for batch in batches if any(one.id not in journal.records for one in batch)]
    for batch in progress(left, what="asking", total=len(left)):
        todo = [one for one in batch if one.id not in journal.records]
        outputs = _speak(speaker, [one for one in todo if not one.too_long], ids, decoding)
        journal.add(_record(one, texts[one.id], outputs.get(one.id, "")) for one in todo)
    return {one.id: journal.records[one.id] for one in asked}


def _speak(
    speaker: Speaker, batch: Sequence[Prompt], ids: Mapping[str, list[int]], decoding: Decoding
) -> dict[str, str]:
    if not batch:
        return {}
    left = speaker.codec.kind != backbones.SEQ2SEQ
    pad = speaker.codec.tokenizer.pad_token_id or 0
    inputs = pad_inputs([ids[one.id] for one in batch], pad, left=left)
    inputs = {name: value.to(speaker.device) for name, value in inputs.items()}
    outputs = generate(speaker.model, speaker.codec, inputs, decoding)
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
