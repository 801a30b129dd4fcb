"""The one typed example that every part meets in, and its way to and from the official JSON.

In: a raw record (the authors' JSON, a mirror's layout, a row of the data set). Out: an `Example`.
It refuses records whose fields have another meaning than the release gives them, and names the
record and the field. Nothing is repaired: strings keep their spaces and tokenisation scars.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

TWO_WIKI_TYPES = ("comparison", "inference", "compositional", "bridge_comparison")
HOTPOT_TYPES = ("bridge", "comparison")
HOTPOT_CONFIG = "hotpotqa"
DEFAULT_CONFIG = "data_ids_april7"
RELEASES = ("data_ids_april7", "data_ids", "data")
CONFIGS = (*RELEASES, HOTPOT_CONFIG)
SPLITS = ("train", "validation", "test")


class Paragraph(NamedTuple):
    """One paragraph of the context: the page's title and its summary, cut into sentences."""

    title: str
    sentences: tuple[str, ...]


class Fact(NamedTuple):
    """A sentence named by its paragraph's title and its index there, from 0."""

    title: str
    sent_id: int


class Triple(NamedTuple):
    """One step of the evidence: subject, relation text, object."""

    subject: str
    relation: str
    object: str


class TripleIds(NamedTuple):
    """A triple's Wikidata ids; the relation stays text, a date is `date_information`."""

    subject_id: str
    relation: str
    object_id: str


class Example(NamedTuple):
    """One question with its context and gold. Hidden gold is `None` or an empty tuple.

    `id` leaks the question type in the released data; never show it to a model.
    """

    id: str
    question: str
    type: str | None
    context: tuple[Paragraph, ...]
    supporting_facts: tuple[Fact, ...] = ()
    evidences: tuple[Triple, ...] = ()
    evidences_id: tuple[TripleIds, ...] = ()
    answer: str | None = None
    answer_id: str | None = None
    entity_ids: tuple[str, ...] = ()
    level: str | None = None

    @property
    def has_gold(self) -> bool:
        """Whether the answer is known; test splits hide it."""
        return self.answer is not None


class Prediction(NamedTuple):
    """What a system says about one question; `None` where it says nothing for that part."""

    answer: str | None
    supporting_facts: tuple[Fact, ...] | None = ()
    evidences: tuple[Triple, ...] | None = ()


def types_of(config: str) -> tuple[str, ...]:
    """Give the question types of a config, in class-label order."""
    return HOTPOT_TYPES if config == HOTPOT_CONFIG else TWO_WIKI_TYPES
