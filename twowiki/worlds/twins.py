"""Twins of questions: the same question where a page is missing, or where one fact is another.

In: examples with gold. Out: twins that a reader answers alike only by reading: an `unanswerable`
twin lacks the page that the answer stands in; in a `changed` twin that page states another object.
A twin's id is its question's with the kind behind it (see `twowiki.metric.consistency`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from twowiki.data.schema import Example, Paragraph, to_official
from twowiki.metric.consistency import CHANGED, UNANSWERABLE, twin_id
from twowiki.metric.normalization import normalize_answer
from twowiki.models.text import bare_title
from twowiki.worlds.random_draws import Chance

_NO_ANSWER = "unanswerable"
_CHAINS = ("inference", "compositional")
_DATES = frozenset(("date of birth", "date of death", "publication date", "inception"))


def make_twins(examples: Sequence[Example], seed: str) -> Iterator[Example]:
    """Yield the twins of examples, after each other those of one; some questions have none."""
    objects: dict[str, list[str]] = defaultdict(list)
    for example in examples:
        if example.type in _CHAINS and example.triples:
            objects[example.triples[-1].relation].append(example.triples[-1].object)
    pages = [page for example in examples for page in example.context]
    for example in examples:
        chance = Chance(seed, "twins", example.id)
        for twin in (_without_page(example, pages, chance), _changed(example, objects, chance)):
            if twin is not None:
                yield twin


def _without_page(example: Example, pages: Sequence[Paragraph], chance: Chance) -> Example | None:
    """Return an example without the page of its last fact; another page takes its place."""
    if len(example.facts) < 2 or not example.triples:
        return None
    missing = example.facts[-1].title
    titles = {page.title for page in example.context}
    if missing not in titles:
        return None
    answer, name = normalize_answer(example.answer or ""), bare_title(missing)
    context = [page for page in example.context if page.title != missing]
    for _ in range(20):
        other = chance.pick(pages)
        text = " ".join(other.sentences)
        if other.title not in titles and name not in text and answer not in normalize_answer(text):
            context.append(other)
            break
    subjects = {missing, name}
    return example._replace(
        id=twin_id(example.id, UNANSWERABLE),
        context=tuple(chance.shuffled(context)),
        supporting_facts=tuple(fact for fact in example.facts if fact.title != missing),
        evidences=tuple(one for one in example.triples if one.subject not in subjects),
        evidences_id=(),
        answer=_NO_ANSWER,
        answer_id=None,
        sub_questions=None,
        answerable=False,
    )


def _changed(example: Example, objects: dict[str, list[str]], chance: Chance) -> Example | None:
    """Return an example whose last fact has another object, and so another answer."""
    if not example.triples or not example.facts:
        return None
    if example.type in _CHAINS:
        return _other_object(example, objects[example.triples[-1].relation], chance)
    return _swapped(example)


def _other_object(example: Example, objects: Sequence[str], chance: Chance) -> Example | None:
    last = example.triples[-1]
    text = " ".join(" ".join(page.sentences) for page in example.context)
    others = [other for other in dict.fromkeys(objects) if other not in text]
    if not others or example.answer != last.object:
        return None
    new = chance.pick(others)
    context = _replaced(example, example.facts[-1].title, last.object, new)
    if context is None:
        return None
    return example._replace(
        id=twin_id(example.id, CHANGED),
        context=context,
        evidences=(*example.triples[:-1], last._replace(object=new)),
        evidences_id=(),
        answer=new,
        answer_id=None,
        sub_questions=None,
    )


def _swapped(example: Example) -> Example | None:
    """Return a comparison of two dates with the dates swapped: the other one is the answer."""
    pair = [one for one in example.triples if one.relation in _DATES]
    names = _names_in_question(example)
    if len(pair) != 2 or len(names) != 2 or pair[0].object == pair[1].object:
        return None
    if pair[0].relation != pair[1].relation:
        return None
    answer = normalize_answer(example.answer or "")
    other = [name for name in names if normalize_answer(name) != answer]
    if len(other) != 1:
        return None
    one, two = pair
    changed = example
    for triple, new in ((one, two.object), (two, one.object)):
        title = next((t for t, _ in changed.context
                      if triple.subject in (t, bare_title(t))), "")  # fmt: skip
        context = _replaced(changed, title, triple.object, new)
        if context is None:
            return None
        changed = changed._replace(context=context)
    return changed._replace(
        id=twin_id(example.id, CHANGED),
        evidences=tuple(
            triple._replace(object=(two if triple == one else one).object)
            if triple in pair
            else triple
            for triple in example.triples
        ),
        evidences_id=(),
        answer=other[0],
        answer_id=None,
        sub_questions=None,
    )


def _names_in_question(example: Example) -> list[str]:
    """Return the two compared names as the question writes them."""
    folded = example.question.casefold()
    found = []
    for title in dict.fromkeys(triple.subject for triple in example.triples):
        for name in (title, bare_title(title)):
            place = folded.find(name.casefold())
            if place >= 0:
                found.append(example.question[place : place + len(name)])
                break
    return found


def _replaced(example: Example, title: str, old: str, new: str) -> tuple[Paragraph, ...] | None:
    """Return the context in which one page names another object; None if that is not certain."""
    context = []
    count = 0
    for page in example.context:
        if page.title == title:
            count = " ".join(page.sentences).count(old)
            sentences = tuple(sentence.replace(old, new) for sentence in page.sentences)
            page = Paragraph(page.title, sentences)
        context.append(page)
    return tuple(context) if count == 1 else None


def twin_record(example: Example, config: str) -> dict[str, Any]:
    """Return an example in the authors' format; one without an answer is marked as such."""
    record = to_official(example._replace(answerable=None), config)
    return record | ({"answerable": False} if example.answerable is False else {})
