"""A fictional world as an endless environment: a stream of fresh questions with prompts and gold.

In: the options of a world, a seed, a prompt form. Out: an `IterableDataset` of `datasets` whose
rows are prompts with their gold as columns, which `twowiki.rewards` reads. Each chunk of the stream
is a world of its own, made when the stream comes to it and forgotten after it: the same options
and seed give the same stream, and no chunk holds a name of another on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from twowiki.data.schema import Example
from twowiki.data.sources import examples_of
from twowiki.llm.prompts import FULL_CONTEXT, instructions, messages_for
from twowiki.worlds.dataset import world_files

if TYPE_CHECKING:
    from datasets import IterableDataset

SMALL = {"people": 300, "films": 200}  # about 700 questions, made in seconds


def world_questions(
    *, form: str = FULL_CONTEXT, seed: int | str = 0, shards: int = 1, **options: Any
) -> IterableDataset:
    """Return an endless data set of questions about fictional worlds.

    Args:
        form: the prompt's form: full-context, gold-context or closed-book.
        seed: of the stream; chunk n of shard s is the world of the seed "SEED/s/n".
        shards: parts that the workers and processes of a loader share.
        options: of the config `world` (`people`, `films`, `mix`, `limit_per_type`, ...).

    Returns:
        Rows `{"prompt", "id", "type", "question", "answer", "supporting_facts", "evidences",
        "context"}`; the prompt is a chat.

    Raises:
        DataError: an option that cannot be used (when the first row is drawn).
    """
    from datasets import IterableDataset

    instructions(form)
    given = {**SMALL, **options}
    numbers = [f"{seed}/{shard}" for shard in range(max(1, shards))]
    return IterableDataset.from_generator(
        _rows, features=_features(), gen_kwargs={"seeds": numbers, "form": form, "options": given}
    )


def _rows(seeds: Sequence[str], form: str, options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the questions of one world after the other, each in an order of its own."""
    for number in count():
        for seed in seeds:
            examples = world_examples({**options, "seed": f"{seed}/{number}"})
            Random(f"{seed}/{number}").shuffle(examples)
            for example in examples:
                yield _row(example, form)


def world_examples(options: dict[str, Any]) -> list[Example]:
    """Return all questions of a world, which is made in a folder that is removed again."""
    with TemporaryDirectory(prefix="twowiki-world-") as folder:
        files = world_files(options, Path(folder), "")
        return [example for paths in files.values() for example in examples_of(paths[0])]


def _row(example: Example, form: str) -> dict[str, Any]:
    return {
        "prompt": messages_for(example, form),
        "id": example.id,
        "type": example.type,
        "question": example.question,
        "answer": example.answer,
        "supporting_facts": [fact._asdict() for fact in example.facts],
        "evidences": [triple._asdict() for triple in example.triples],
        "context": [
            {"title": title, "sentences": list(sentences)} for title, sentences in example.context
        ],
    }


def _features() -> Any:
    from datasets import Features, Value

    text = Value("string")
    return Features(
        {
            "prompt": [{"role": text, "content": text}],
            **{name: text for name in ("id", "type", "question", "answer")},
            "supporting_facts": [{"title": text, "sent_id": Value("int32")}],
            "evidences": [{"subject": text, "relation": text, "object": text}],
            "context": [{"title": text, "sentences": [text]}],
        }
    )
