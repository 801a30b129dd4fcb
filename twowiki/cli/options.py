"""Options that several commands share."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from twowiki.data.schema import Example
from twowiki.errors import DataError
from twowiki.io.arguments import LARGEST_SEED, argument

# those of `llm.prompts`, which loads more
_FORMS = ("closed-book", "gold-context", "full-context", "retrieved")


@dataclass(frozen=True, kw_only=True)
class SplitOptions:
    """The options that choose a split of a data set."""

    config: str | None = argument(None, "config of a folder, zip or hub data set", metavar="NAME")
    split: str | None = argument(None, "split of it (default: validation)", metavar="NAME")


@dataclass(frozen=True, kw_only=True)
class RetrievedOptions:
    """The options of questions that are asked with retrieved paragraphs as their context."""

    rankings: str | None = argument(
        None,
        "what `twowiki retrieve` wrote: the paragraphs that questions are asked with",
        metavar="FILE",
        role="input",
    )
    corpus: str | None = argument(
        None, "of the rankings, where they have ids or titles alone", metavar="PATH", role="input"
    )
    paragraphs: int = argument(10, "the first N paragraphs of each ranking", minimum=1)

    def with_contexts(self, examples: Iterable[Example]) -> Iterator[Example]:
        """Yield examples, with retrieved paragraphs as their context where there are rankings."""
        if self.rankings is None:
            yield from examples
            return
        from twowiki.retrieval.rankings import read_rankings, with_retrieved

        rankings = read_rankings(self.rankings, self.corpus)
        yield from with_retrieved(examples, rankings, self.paragraphs)

    def ranked_titles(self) -> dict[str, list[str]] | None:
        """Return the titles that each question is asked with; None without rankings."""
        if self.rankings is None:
            return None
        from twowiki.retrieval.rankings import read_rankings, titles_of

        ranked = titles_of(read_rankings(self.rankings, self.corpus))
        return {name: titles[: self.paragraphs] for name, titles in ranked.items()}


@dataclass(frozen=True, kw_only=True)
class PromptOptions(RetrievedOptions):
    """The options of prompts for language models."""

    form: str = argument(
        "full-context",
        "the paragraphs that a prompt has; with --rankings those that are retrieved",
        choices=_FORMS,
    )
    shots: int = argument(0, "demonstrations before each question", minimum=0)
    shots_from: str | None = argument(
        None, "their source, e.g. train.json", metavar="FILE", role="input"
    )
    limit: int | None = argument(
        None, "only N questions: the first ones, of ARC-DA and ARC drawn by the seed", minimum=1
    )
    seed: int = argument(
        0, "seed of the choice of demonstrations and questions", minimum=0, maximum=LARGEST_SEED
    )

    def draw_examples(self, asked_for: Iterable[Example]) -> list[Example]:
        """Return demonstrations of 2WikiMultiHopQA, none of which is asked; say what was left out.

        Raises:
            DataError: there is no file of them, or too few.
        """
        from twowiki.data.sources import examples_of
        from twowiki.llm.shots import draw_shots

        if not self.shots_from:
            raise DataError("--shots needs a file", remedy="Name it with --shots-from")
        pool = list(examples_of(self.shots_from, getattr(self, "config", None), "train"))
        shots = draw_shots(pool, self.shots, self.seed, asked_for=asked_for)
        if shots.note:
            print(f"warning: {shots.note}", file=sys.stderr)
        return shots.chosen

    def prompt_form(self) -> str:
        """Return the form of the prompts.

        Raises:
            DataError: it has no use for rankings, or needs them.
        """
        if self.rankings is None and self.form == "retrieved":
            remedy = "Name the rankings with --rankings: `twowiki retrieve` writes them"
            raise DataError("the form retrieved needs rankings", field="form", remedy=remedy)
        if self.rankings is not None and self.form in ("closed-book", "gold-context"):
            remedy = "Leave --form or --rankings out"
            problem = f"the form {self.form} has no retrieved paragraphs"
            raise DataError(problem, field="form", remedy=remedy)
        return self.form if self.rankings is None else "retrieved"
