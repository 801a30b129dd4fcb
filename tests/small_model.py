"""A small tokenizer, configuration and model over made-up examples, shared by the models' tests.

torch is loaded when a model is made.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from tests.tiny_data import tiny_examples
from twowiki.data.schema import Example, Fact, Paragraph, Triple

if TYPE_CHECKING:
    from twowiki.models.configuration_baseline import TwoWikiBaselineConfig
    from twowiki.models.features import Window
    from twowiki.models.modeling_baseline import TwoWikiBaselineForMultihopQA
    from twowiki.models.tokenization_baseline import TwoWikiTokenizer

SIZES = {"word_dim": 12, "char_hidden": 6, "char_dim": 4, "hidden_size": 8, "relation_dim": 6}

GOLD_Q1 = Example(
    id="q1",
    type="compositional",
    question="Where was the mother of Tavik Orrel born?",
    answer="Brinmoor",
    supporting_facts=(Fact("Tavik Orrel", 0), Fact("Dessa Orrel", 1)),
    evidences=(
        Triple("Tavik Orrel", "mother", "Dessa Orrel"),
        Triple("Dessa Orrel", "place of birth", "Brinmoor"),
    ),
    context=(
        Paragraph("Tavik Orrel", ("Tavik Orrel was a runner, the son of Dessa Orrel.",)),
        Paragraph("Dessa Orrel", ("Dessa Orrel was a painter.", " She was born in Brinmoor.")),
    ),
)


@cache
def examples() -> list[Example]:
    """Twelve made-up examples, three of each type."""
    return list(tiny_examples(12, seed=3))


def setting(**options: Any) -> TwoWikiBaselineConfig:
    """Small settings, corrected but for the options given."""
    from twowiki.models.configuration_baseline import TwoWikiBaselineConfig

    return TwoWikiBaselineConfig(**{**SIZES, **options})


def reproduced(**options: Any) -> TwoWikiBaselineConfig:
    """Small reproduce settings that need no spaCy."""
    from twowiki.models.configuration_baseline import TwoWikiBaselineConfig

    return TwoWikiBaselineConfig.reproduce(**{**SIZES, "splitter": "words", **options})


def with_vocabulary(
    config: TwoWikiBaselineConfig, given: list[Example] | None = None
) -> tuple[TwoWikiBaselineConfig, TwoWikiTokenizer]:
    """Fill a configuration's vocabularies from examples."""
    from twowiki.models.configuration_baseline import TwoWikiBaselineConfig
    from twowiki.training.vocabulary import count_vocabulary, make_vocabulary

    counts = count_vocabulary([*(given or examples()), GOLD_Q1], config)
    tokenizer, sizes = make_vocabulary(counts, config)
    fields = {name: getattr(config, name) for name in TwoWikiBaselineConfig.__annotations__}
    return TwoWikiBaselineConfig(**{**fields, **sizes}), tokenizer


def model_and_windows(
    config: TwoWikiBaselineConfig | None = None, given: list[Example] | None = None, seed: int = 0
) -> tuple[TwoWikiBaselineForMultihopQA, list[Window]]:
    """Make a model from a seed and the encoded windows of examples."""
    import torch

    from twowiki.models.modeling_baseline import TwoWikiBaselineForMultihopQA
    from twowiki.models.processing_baseline import BaselineProcessor

    config, tokenizer = with_vocabulary(config or setting(), given)
    encoder = BaselineProcessor(config, tokenizer)
    windows = [
        window
        for number, example in enumerate(given or examples())
        for window in encoder.encode(example, number)
    ]
    torch.manual_seed(seed)
    model = TwoWikiBaselineForMultihopQA(config)
    model.answer_tokenizer = tokenizer
    return model, windows


def batch_of(model: TwoWikiBaselineForMultihopQA, windows: list[Window]) -> dict[str, Any]:
    """Collate windows for a model."""
    return model.collator_class(model.config)(windows)
