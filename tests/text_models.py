"""Small random text-to-text models, their tokenizer, pairs and settings, shared by the tests."""

from __future__ import annotations

from typing import Any

import torch

from twowiki.io.arguments import from_values
from twowiki.text2text.loading import make_model, make_tokenizer
from twowiki.text2text.pairs import Pair
from twowiki.text2text.settings import ArcDaArguments

TEXTS = ["What melts ice? heat", "Where do plants grow? soil", "gravity pulls things down 水 é"]
TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def tokenizer(*, ends: bool = True, chat: bool = False) -> Any:
    made = make_tokenizer(TEXTS, 400, ends=ends)
    if chat:
        made.add_special_tokens({"additional_special_tokens": ["<|end|>", "<|assistant|>"]})
        made.chat_template = TEMPLATE
    return made


def model_of(name: str, made: Any, seed: int = 0) -> Any:
    torch.manual_seed(seed)
    return make_model(name, made, width=32, layers=2, dropout=-1).eval()


def pairs() -> list[Pair]:
    return [
        Pair(0, 0, "What melts ice?", "heat", ("context is cut",)),
        Pair(0, 0, "What melts ice?", "a warm and sunny day in spring"),
        Pair(1, 1, "水?", ""),
    ]


def config(**settings: Any) -> ArcDaArguments:
    return from_values(ArcDaArguments, {"data_dir": "x", **settings})
