"""The hops of a question as questions of their own, made from its triples. Pure.

A triple (subject, relation, object) is a question about the subject whose answer is the object: the
first hop of a chain names what the second one asks about, and a comparison asks two questions side
by side. Facts that share subject and relation (two countries of one person) share their question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from twowiki.data.hops import hops_of_subjects
from twowiki.data.schema import Example, SubQuestion, config_of, parse_record

_WHO = "Who is the {relation} of {name}?"
_FORMS = {
    "place of birth": "Where was {name} born?",
    "place of death": "Where did {name} die?",
    "place of burial": "Where is {name} buried?",
    "place of detention": "Where was {name} detained?",
    "date of birth": "When was {name} born?",
    "date of death": "When did {name} die?",
    "publication date": "When was {name} released?",
    "inception": "When was {name} founded?",
    "cause of death": "What was the cause of death of {name}?",
    "country of citizenship": "What nationality is {name}?",
    "country of origin": "Which country is {name} from?",
    "country": "Which country is {name} in?",
    "occupation": "What is the occupation of {name}?",
    "educated at": "Where did {name} study?",
    "award received": "Which award did {name} receive?",
    "field of work": "What is the field of work of {name}?",
    "religion": "What is the religion of {name}?",
    "student of": "Who was the teacher of {name}?",
    "founded by": "Who founded {name}?",
    "has part": "Who is a member of {name}?",
    "publisher": "Who published {name}?",
    "manufacturer": "Who makes {name}?",
    **dict.fromkeys(
        ("director", "producer", "composer", "performer", "creator", "editor", "presenter",
         "father", "mother", "spouse", "child", "sibling", "employer", "doctoral advisor",
         "doctoral student"),
        _WHO,
    ),
}  # fmt: skip
_OTHER = "What is the {relation} of {name}?"


def sub_questions(record: Example | Mapping[str, Any]) -> list[SubQuestion]:
    """Return the hops of a question as questions with answers, in the order of its triples.

    Args:
        record: an example, a row of a data set or an official record.

    Returns:
        Those that the record has itself (MuSiQue's decomposition, generated data), else one for
        each triple; an empty list where the gold is hidden or has no triples.
    """
    example = record if isinstance(record, Example) else parse_record(record, config_of(record))
    if example.sub_questions is not None:
        return list(example.sub_questions)
    links = [(triple.subject, triple.object) for triple in example.triples]
    hops = hops_of_subjects(links, example.type)
    return [
        SubQuestion(hops[subject], question_about(subject, relation), object_)
        for subject, relation, object_ in example.triples
    ]


def sub_id(example_id: str, number: int) -> str:
    """Return the id of a question's sub-question, numbered from 1."""
    return f"{example_id}#{number}"


def question_about(name: str, relation: str) -> str:
    """Return the question that asks for the object of a relation."""
    form = _FORMS.get(relation.strip(), _OTHER)
    return form.format(name=name.strip(), relation=relation.strip())


def with_sub_questions(examples: Iterable[Example]) -> Iterator[Example]:
    """Yield examples with their sub-questions; those without triples have none."""
    for example in examples:
        yield example._replace(sub_questions=tuple(sub_questions(example)) or None)
