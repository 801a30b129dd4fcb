"""The hop at which each gold page is needed: the first pages, then those they lead to. Pure.

The release's types fix the hops of their triples: one after the other, or two chains side by side.
Elsewhere the page of a triple whose subject is another triple's object is needed one hop later.
Pages and subjects are matched by name, then without brackets, then in their order, for names may
differ ("Le trio en si bémol" states a triple of "Le Trio en mi bémol").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from twowiki.models.text import bare_title, fold

if TYPE_CHECKING:
    from twowiki.data.schema import Example

_CHAINS = ("compositional", "inference")


def hops_of(
    facts: Iterable[Sequence[object]], triples: Sequence[Sequence[object]], type: str | None = None
) -> dict[str, int]:
    """Return the hop, from 1, of each gold page by its title.

    Args:
        facts: gold facts (title, sent_id), in their order.
        triples: gold triples (subject, relation, object), in their order.
        type: the question type.
    """
    titles = list(dict.fromkeys(str(title) for title, *_ in facts))
    depths = hops_of_subjects([(str(first), str(last)) for first, *_, last in triples], type)
    hops: dict[str, int] = {}
    for form in (_plain, _bare):
        names = {form(subject): subject for subject in reversed(depths)}
        for title in titles:
            if title not in hops and names.get(form(title)) in depths:
                hops[title] = depths.pop(names[form(title)])
    left = iter(depths.values())
    return {title: hops[title] if title in hops else next(left, 1) for title in titles}


def count_hops(example: Example) -> int | None:
    """Return how many steps lead to a question's answer; None where its evidence is hidden."""
    hops = hops_of(example.facts, example.triples, example.type)
    return max(hops.values()) if hops and example.triples else None


def hops_of_subjects(links: Sequence[tuple[str, str]], type: str | None) -> dict[str, int]:
    """Return the hop, from 1, of each subject of (subject, object) pairs."""
    subjects = list(dict.fromkeys(subject for subject, _ in links))
    count = len(subjects)
    if type in _CHAINS and count == len(links):
        return {subject: number for number, subject in enumerate(subjects, 1)}
    if type == "bridge_comparison" and count == len(links) == 4:
        return {subject: 1 + number // 2 for number, subject in enumerate(subjects)}
    hops = dict.fromkeys(subjects, 1)
    by_name = {_bare(subject): subject for subject in subjects}
    for _ in subjects:  # no chain is longer; one that goes on is a circle
        for subject, object_ in links:
            led_to = by_name.get(_bare(object_))
            if led_to is not None and led_to != subject:
                hops[led_to] = max(hops[led_to], min(hops[subject] + 1, count))
    return hops


@lru_cache(maxsize=1 << 14)  # names of pages, which questions share
def _plain(name: str) -> str:
    return " ".join(fold(name).split())


@lru_cache(maxsize=1 << 14)
def _bare(name: str) -> str:
    return _plain(bare_title(name))
