"""Every entity of a world by number: its kind, label, page title and other names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from twowiki.worlds.names import Titles
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
        self._given = Titles()

    def __len__(self) -> int:
        return len(self.labels)

    def add(
        self,
        kind: str,
        label: str,
        brackets: Iterable[str] = (),
        *,
        page: bool = True,
        always: bool = False,
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
            always: whether its title always has a bracket.
            title: what its page is called instead of its name.
            aliases: other names.
            inside: entities named within its name.
        """
        number = len(self.labels)
        self.labels.append(label)
        given = self._given.give(title or label, brackets, always=always) if page else None
        self.titles.append(given)
        self._kinds.append(_NUMBER[kind])
        if aliases:
            self.aliases[number] = aliases
        if inside:
            self.inside[number] = inside
        return number

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
