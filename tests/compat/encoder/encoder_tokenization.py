"""Any fast tokenizer's tokens with exact character offsets, and how it frames two texts.

Each title and sentence is cut on its own, so that no token crosses a border. Offsets are
positions in the text as given, without the blanks that some tokenizers take into a token; a
token that is nothing but blanks has no width. Marker tokens that stand in a text are text.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray
from tokenizers import AddedToken, Tokenizer

Ints = NDArray[numpy.int32]
TITLE_MARKER, SENTENCE_MARKER = "[title]", "[sentence]"


class Tokens(NamedTuple):
    """Token ids with the characters `[start, end)` of each, both never falling."""

    ids: Ints
    starts: Ints
    ends: Ints


class SubwordReader:
    """Cuts pieces of text with a fast tokenizer.

    Args:
        tokenizer: any fast tokenizer of transformers.

    Raises:
        ValueError: the tokenizer has no fast backend.
    """

    def __init__(self, tokenizer: Any) -> None:
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None:
            raise ValueError(
                f"{type(tokenizer).__name__} is no fast tokenizer: character offsets need one "
                "(AutoTokenizer.from_pretrained(..., use_fast=True))"
            )
        self.backend = Tokenizer.from_str(backend.to_str())
        self.backend.no_truncation()
        self.backend.no_padding()
        self.backend.encode_special_tokens = True
        self.prefix = " " if _needs_blank(self.backend) else ""

    def __getstate__(self) -> dict[str, Any]:
        return {"backend": self.backend.to_str(), "prefix": self.prefix}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.backend, self.prefix = Tokenizer.from_str(state["backend"]), state["prefix"]
        self.backend.encode_special_tokens = True

    def read(self, pieces: Sequence[str]) -> list[Tokens]:
        """Cut pieces; the offsets of each are its own."""
        shift = len(self.prefix)
        encoded = self.backend.encode_batch(
            [self.prefix + piece.encode("utf-8", "replace").decode() for piece in pieces],
            add_special_tokens=False,
        )
        return [
            trimmed(piece, found.ids, found.offsets, shift)
            for piece, found in zip(pieces, encoded, strict=True)
        ]


def trimmed(text: str, ids: list[int], offsets: list[tuple[int, int]], shift: int) -> Tokens:
    """Take a prefix and outer blanks off the tokens' offsets."""
    places = numpy.array(offsets, numpy.int32).reshape(-1, 2) - shift
    places = places.clip(0, len(text))
    rows = places.tolist()
    for row, (start, end) in enumerate(rows):
        while start < end and text[start].isspace():
            start += 1
        while start < end and text[end - 1].isspace():
            end -= 1
        places[row] = start, end
    if len(places):
        places = numpy.maximum.accumulate(places, axis=0)
    return Tokens(numpy.array(ids, numpy.int32), places[:, 0].copy(), places[:, 1].copy())


def _needs_blank(backend: Any) -> bool:
    """Say whether a word at a text's start is cut as another token than after a blank."""

    def ids(text: str) -> list[int]:
        found: list[int] = backend.encode(text, add_special_tokens=False).ids
        return found

    alone, after, both = ids("a"), ids(" a"), ids("a a")
    return alone != after and both == [*alone, *after]


def add_markers(tokenizer: Any) -> None:
    """Add the two marker tokens to a tokenizer that lacks them."""
    tokenizer.add_tokens(
        [
            AddedToken(marker, special=True, normalized=False)
            for marker in (TITLE_MARKER, SENTENCE_MARKER)
        ]
    )


def frame_of(tokenizer: Any, backbone_config: Any) -> dict[str, Any]:
    """Give the fields of the configuration that say how a tokenizer frames a pair of texts."""
    ids, special = _pair(tokenizer)
    content = [number for number, is_special in enumerate(special) if not is_special]
    gap = next(i for i, j in pairwise(content) if j > i + 1)
    after = next(number for number in content if number > gap)
    has_types = int(getattr(backbone_config, "type_vocab_size", 0) or 0) > 1
    padding = tokenizer.pad_token_id
    return {
        "prefix_ids": ids[: content[0]],
        "middle_ids": ids[gap + 1 : after],
        "suffix_ids": ids[content[-1] + 1 :],
        "context_segment": 1 if has_types else -1,
        "padding_id": int(padding if padding is not None else 0),
        "title_marker_id": int(tokenizer.convert_tokens_to_ids(TITLE_MARKER)),
        "sentence_marker_id": int(tokenizer.convert_tokens_to_ids(SENTENCE_MARKER)),
    }


def _pair(tokenizer: Any) -> tuple[list[int], list[int]]:
    encoded = tokenizer("a", "a", return_special_tokens_mask=True)
    ids, special = list(encoded["input_ids"]), list(encoded["special_tokens_mask"])
    inner = special[next((i for i, s in enumerate(special) if not s), 0) :]
    if sum(special) < 2 or 1 not in inner[: len(inner) - inner[::-1].index(0)]:
        raise ValueError(
            f"{type(tokenizer).__name__} puts no special token between two texts: "
            "give the tokenizer of an encoder"
        )
    return ids, special
