"""Encode with `datasets.map`: a picklable function of rows, with a hash that depends on no process.

The training script does not need it (see `features`); a notebook that has a `Dataset` does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from twowiki.modeling.configuration import TwoWikiConfig
from twowiki.modeling.encoding import Encoder
from twowiki.modeling.tokenization import TwoWikiTokenizer
from twowiki.schema import parse_record


class EncodeRows:
    """Turns a batch of the data set's rows into columns of windows: `rows.map(this, batched=True)`.

    Use it with `remove_columns=rows.column_names`; a row may give several windows, or none.
    `example` is the row's number in its batch.
    """

    def __init__(self, config: TwoWikiConfig, tokenizer: TwoWikiTokenizer) -> None:
        self.state = config.to_json_string(), tokenizer.backend_tokenizer.to_str()
        self.init = {
            name: tokenizer.init_kwargs.get(name)
            for name in ("char_vocab", "splitter", "lower_case_words")
        }
        self._encoder: Encoder | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"state": self.state, "init": self.init, "_encoder": None}

    def encoder(self) -> Encoder:
        """Give the encoder, made once a process."""
        if self._encoder is None:
            import json

            from tokenizers import Tokenizer

            from twowiki.modeling.tokenization import PAD, UNKNOWN

            made: Any = TwoWikiTokenizer
            tokenizer = made(
                tokenizer_object=Tokenizer.from_str(self.state[1]),
                pad_token=PAD,
                unk_token=UNKNOWN,
                **self.init,
            )
            self._encoder = Encoder(TwoWikiConfig(**json.loads(self.state[0])), tokenizer)
        return self._encoder

    def __call__(self, rows: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """Encode a batch of columns."""
        columns: dict[str, list[Any]] = {}
        names = list(rows)
        for number, values in enumerate(zip(*rows.values(), strict=True)):
            example = parse_record(dict(zip(names, values, strict=True)))
            for window in self.encoder().encode(example, number):
                for name, value in window._asdict().items():
                    columns.setdefault(name, []).append(
                        value.tolist() if hasattr(value, "tolist") else value
                    )
        return columns
