"""Kinds of answers by Wikidata's "instance of" (the paper's section 3.3), wherever ids are there.

The id of an answer is `answer_id`, or in a comparison the id of the gold page that the answer
names. In: examples, and the class of each id (`twowiki.generation.classes` reads it from a dump).
Out: yes/no, date, the label of the class, or why there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from twowiki.data.dates import DATE
from twowiki.data.schema import Example
from twowiki.models.text import bare_title, fold

NO_ID, NO_CLASS = "without an id", "without a class"


def answer_entity(example: Example) -> str | None:
    """Return the Wikidata id of the answer; None where the record has none."""
    if example.answer_id:
        return example.answer_id
    answer = fold(example.answer or "").strip()
    titles = list(dict.fromkeys(fact.title for fact in example.supporting_facts or ()))
    if not answer or len(titles) != len(example.entity_ids):
        return None
    for title, entity in zip(titles, example.entity_ids, strict=True):
        if answer in (fold(title), fold(bare_title(title))):
            return entity
    return None


def wanted_entities(examples: Iterable[Example]) -> set[str]:
    """Return the ids whose classes decide the kinds of these examples' answers."""
    return {entity for example in examples if (entity := answer_entity(example))}


def answer_kind(example: Example, classes: Mapping[str, str]) -> str | None:
    """Return the kind of an answer: yes/no, date, its class; None where the gold is hidden.

    Args:
        example: the question.
        classes: the label of the class of each id.
    """
    if example.answer is None:
        return None
    text = example.answer.strip()
    if text.lower() in ("yes", "no"):
        return "yes/no"
    entity = answer_entity(example)
    if entity is None:
        return "date" if DATE.fullmatch(text) else NO_ID
    return classes.get(entity, NO_CLASS)
