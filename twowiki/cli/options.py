"""Options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass

from twowiki.io.arguments import LARGEST_SEED, argument

_FORMS = ("closed-book", "gold-context", "full-context")  # those of `llm.prompts`, which loads more


@dataclass(frozen=True, kw_only=True)
class SplitOptions:
    """The options that choose a split of a data set."""

    config: str | None = argument(None, "config of a folder, zip or hub data set", metavar="NAME")
    split: str | None = argument(None, "split of it (default: validation)", metavar="NAME")


@dataclass(frozen=True, kw_only=True)
class PromptOptions:
    """The options of prompts for language models."""

    form: str = argument("full-context", "the paragraphs that a prompt has", choices=_FORMS)
    shots: int = argument(0, "demonstrations before each question", minimum=0)
    shots_from: str | None = argument(
        None, "their source, e.g. train.json", metavar="FILE", role="input"
    )
    limit: int | None = argument(None, "only the first N questions", minimum=1)
    seed: int = argument(0, "seed of the demonstrations' choice", minimum=0, maximum=LARGEST_SEED)
