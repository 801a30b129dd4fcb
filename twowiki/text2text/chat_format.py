"""Texts to token ids and back, in the same way in training, evaluation and prediction.

An encoder-decoder reads the text as it is. A language model reads it as the user's turn of its
chat template, or followed by a line end where it has none, and its target ends with the token
that ends its turn. The format that a model was trained with is kept with it in `text_format.json`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from twowiki.errors import DataError
from twowiki.io.files import write_json
from twowiki.text2text.loading import SEQ2SEQ

FORMAT_FILE = "text_format.json"
_PROBE = "ready"


class Codec:
    """A tokenizer, with what a kind of model has around a text.

    Args:
        tokenizer: the model's.
        kind: `seq2seq` or `causal`.
        chat: `auto` uses the chat template if there is one, `yes` requires it, `no` uses none.
    """

    def __init__(self, tokenizer: Any, kind: str, chat: str = "auto") -> None:
        self.tokenizer, self.kind = tokenizer, kind
        has_template = bool(getattr(tokenizer, "chat_template", None))
        if chat == "yes" and not has_template:
            raise DataError("the tokenizer has no chat template", field="chat")
        self.uses_chat = kind != SEQ2SEQ and has_template and chat != "no"
        self.end_ids = self._end_ids()

    def prompt_text(self, source: str | Sequence[Mapping[str, str]]) -> str:
        """Return the text that the model reads; messages need a chat template."""
        if not self.uses_chat:
            if not isinstance(source, str):
                raise ValueError("messages without a chat template")
            return source if self.kind == SEQ2SEQ else f"{source}\n"
        messages = [{"role": "user", "content": source}] if isinstance(source, str) else source
        return str(self._render(messages, add_generation_prompt=True))

    def prompt_ids(self, source: str | Sequence[Mapping[str, str]]) -> list[int]:
        """Encode an input."""
        text = self.prompt_text(source)
        if self.uses_chat:  # the template writes the special marks
            return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])
        ids = list(self.tokenizer(text)["input_ids"])
        if self.kind != SEQ2SEQ and ids and ids[-1] == self.tokenizer.eos_token_id:
            ids.pop()  # the text goes on
        return ids

    def target_ids(self, target: str) -> list[int]:
        """Encode a target, with the token that ends it."""
        ids = list(self.tokenizer(target, add_special_tokens=False)["input_ids"])
        return [*ids, *self.end_ids[:1]]

    def measure(self, source: str) -> int:
        """Count the tokens of an input."""
        return len(self.prompt_ids(source))

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of generated ids, up to the end token; -100 is not a token."""
        kept: list[int] = []
        for one in ids:
            if one in self.end_ids:
                break
            if one >= 0:
                kept.append(int(one))
        return str(self.tokenizer.decode(kept, skip_special_tokens=True)).strip()

    def _end_ids(self) -> list[int]:
        """Return the tokens that end an output, the one to train on first."""
        ends = [] if self.tokenizer.eos_token_id is None else [self.tokenizer.eos_token_id]
        if not self.uses_chat:
            return ends
        question = [{"role": "user", "content": "?"}]
        whole = self._render([*question, {"role": "assistant", "content": _PROBE}])
        after = whole.rpartition(_PROBE)[2].strip()
        ids = self.tokenizer(after, add_special_tokens=False)["input_ids"] if after else []
        special = [one for one in ids if one in self.tokenizer.all_special_ids]
        return list(dict.fromkeys([*special[:1], *ends]))

    def _render(self, messages: Sequence[Mapping[str, str]], **options: Any) -> str:
        # templates of reasoning models leave the reasoning out on request; others ignore the option
        return str(
            self.tokenizer.apply_chat_template(
                list(messages), tokenize=False, enable_thinking=False, **options
            )
        )


def write_text_format(folder: Path, content: Mapping[str, Any]) -> None:
    """Write the format that a model was trained with."""
    write_json(folder / FORMAT_FILE, dict(content))


def read_text_format(model: str) -> dict[str, Any] | None:
    """Return the format that a model was trained with; None for one that was not trained here."""
    path = Path(model) / FORMAT_FILE
    if not path.is_file():
        return None
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        found["task"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DataError("is not a model's text format", file=path) from None
    return found
