"""Every entity of a world by number: its kind, label, page title and other names."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from twowiki.worlds.vocabulary import CLASSES, FIRST_PAGE, FIRST_QID

_KINDS = tuple(CLASSES)
_NUMBER = {kind: number for number, kind in enumerate(_KINDS)}


class Registry:
    """Entities in the order of their making; a number names an entity throughout.

    Attributes:
        labels: names.
        titles: page titles; None where an entity has no page.
        aliases: other names, where there are any.
        inside: entities whose name is part of an entity's name ("University of X" names X).
    """

    def __init__(self) -> None:
        self.labels: list[str] = []
        self.titles: list[str | None] = []
        self.aliases: dict[int, tuple[str, ...]] = {}
        self.inside: dict[int, tuple[int, ...]] = {}
        self._kinds = bytearray()
        self._given: set[str] = set()

    def __len__(self) -> int:
        return len(self.labels)

    def add(
        self,
        kind: str,
        label: str,
        brackets: Iterable[str] = (),
        *,
        page: bool = True,
        waits: bool = False,
        title: str = "",
        aliases: tuple[str, ...] = (),
        inside: tuple[int, ...] = (),
    ) -> int:
        """Add an entity; return its number.

        Args:
            kind: one of `vocabulary.CLASSES`.
            label: its name.
            brackets: what distinguishes its page from others of that name, best first.
            page: whether it has a page.
            waits: whether `settle` gives its title, when all pages of that name are known.
            title: what its page is called instead of its name.
            aliases: other names.
            inside: entities named within its name.
        """
        number = len(self.labels)
        self.labels.append(label)
        given = title or label
        if page and not waits:
            given = self._give(given, brackets)
        self.titles.append(given if page else None)
        self._kinds.append(_NUMBER[kind])
        if aliases:
            self.aliases[number] = aliases
        if inside:
            self.inside[number] = inside
        return number

    def settle(
        self,
        numbers: Sequence[int],
        brackets_of: Callable[[int], Sequence[str]],
        always: Iterable[int] = (),
    ) -> None:
        """Decide the titles of pages that wait for them: all pages of one name get brackets.

        Of these a page has the first bracket that tells it from the others of its name.

        Args:
            numbers: the entities.
            brackets_of: returns what distinguishes an entity from others of its name, best first.
            always: entities whose title has a bracket in any case.
        """
        bracketed = set(always)
        shared = Counter(self.labels[number] for number in numbers)
        groups: dict[str, list[int]] = defaultdict(list)
        for number in numbers:
            base = self.titles[number] or ""
            alone = shared[base] < 2 and number not in bracketed
            if alone and base not in self._given:
                self._given.add(base)
            else:
                groups[base].append(number)
        for base, members in groups.items():
            brackets = {number: list(brackets_of(number)) for number in members}
            while clashing := self._clashing(base, brackets):
                for number in clashing:
                    del brackets[number][0]
            for number in members:
                self.titles[number] = self._give(base, brackets[number], bracketed=True)

    def _clashing(self, base: str, brackets: dict[int, list[str]]) -> list[int]:
        """Return the entities whose first bracket another one has too, while they have more."""
        first = Counter(texts[0] for texts in brackets.values())
        return [
            number
            for number, texts in brackets.items()
            if len(texts) > 1 and (first[texts[0]] > 1 or f"{base} ({texts[0]})" in self._given)
        ]

    def _give(self, base: str, brackets: Iterable[str], *, bracketed: bool = False) -> str:
        """Return a title that no page has: the name, or with the first bracket that is free."""
        titles = [] if bracketed else [base]
        titles += [f"{base} ({bracket})" for bracket in brackets]
        number = 2
        while all(title in self._given for title in titles):
            titles.append(f"{base} ({number})")
            number += 1
        title = next(title for title in titles if title not in self._given)
        self._given.add(title)
        return title

    def kind(self, number: int) -> str:
        """Return an entity's kind."""
        return _KINDS[self._kinds[number]]

    def has_title(self, title: str) -> bool:
        """Return whether a page has that title."""
        return title in self._given


def qid(number: int) -> str:
    """Return an entity's Wikidata id."""
    return f"Q{FIRST_QID + number}"


def page_id(number: int) -> str:
    """Return the id of an entity's page."""
    return str(FIRST_PAGE + number)


class Country(NamedTuple):
    """A country: its number among countries, its entity, demonym, cities and villages."""

    place: int
    entity: int
    demonym: str
    cities: list[int]
    villages: list[int]


class WorldPlace(NamedTuple):
    """A place or institution: its country, town (or -1), date of founding (or 0).

    `founder` is an entity or -1; `size` a number that the text may state.
    """

    entity: int
    kind: str
    country: int
    town: int
    founded: int
    founder: int
    size: int
