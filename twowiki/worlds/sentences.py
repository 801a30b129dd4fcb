"""Patterns filled into sentences, with their links and the statements they make.

A `Page` keeps what its sentences have named so far: a fact is stated only where its object has not
been named before, so that the first sentence that names an object is the one that states it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from twowiki.worlds.random_draws import Chance
from twowiki.worlds.registry import Registry

_SLOT = re.compile(r"\{(a )?(\w+)\}")
_TAG = re.compile(r"\[\w+\] ")
_AN = re.compile(r"[AEIOUaeio]|[Hh](?:eir|onor)|8|1[18]\d\d\b|1[18]\b")  # an 1890 film
_WITH_THE = re.compile(r"(?:University|Church|Isle|Order) of ")  # studied at the University of X
# percent of the average length, each for a twelfth of the pages
_SPREAD = (30, 35, 45, 50, 60, 70, 80, 100, 120, 150, 190, 270)
NOTHING = -1
# Words that state nothing; what one of them says is not said again on the page.
_FILLERS = frozenset(("late_year", "old_year", "women", "number", "other_town", "other_land",
                      "friend", "trade", "trade2"))  # fmt: skip


class Slot(NamedTuple):
    """What may fill a slot: its text; the entity or the date that it names; its property."""

    text: str
    entity: int = NOTHING
    prop: int = 0
    date: int = 0


NO_SLOT = Slot("", NOTHING - 1)


class Pattern(NamedTuple):
    """A parsed pattern: literals and slots in turn ("a" before a slot is its article).

    A page has one sentence of each `key`: a pattern's text, or the tag before it.
    """

    key: str
    pieces: tuple[tuple[str, bool, str], ...]
    slots: frozenset[str]
    fillers: frozenset[str]


class Mention(NamedTuple):
    """A link: the sentence, characters half-open within it, and the entity named."""

    sent_id: int
    start: int
    end: int
    entity: int


@cache
def parse_pattern(text: str) -> Pattern:
    """Parse a pattern."""
    pieces = []
    tag = _TAG.match(text)
    place = tag.end() if tag else 0
    for match in _SLOT.finditer(text, place):
        pieces.append((text[place : match.start()], bool(match[1]), match[2]))
        place = match.end()
    pieces.append((text[place:], False, ""))
    slots = frozenset(slot for _, _, slot in pieces if slot)
    return Pattern(tag[0] if tag else text, tuple(pieces), slots, slots & _FILLERS)


@cache
def _parse_all(patterns: tuple[str, ...]) -> tuple[tuple[Pattern, ...], tuple[str, ...]]:
    """Return the patterns, parsed, and the slots that one of them has."""
    parsed = tuple(map(parse_pattern, patterns))
    return parsed, tuple(sorted({slot for pattern in parsed for slot in pattern.slots}))


class Page:
    """One summary that is being written.

    Attributes:
        sentences: the sentences so far.
        mentions: the links in it.
        claims: (property, entity or 0, date or 0) that the entity has; a number below 0 is
            Wikidata's own item of that number.
        named: entities in the text, in whatever role.
    """

    def __init__(self, registry: Registry, entity: int, chance: Chance) -> None:
        self.registry, self.entity, self.chance = registry, entity, chance
        self.sentences: list[str] = []
        self.mentions: list[Mention] = []
        self.claims: list[tuple[int, int, int]] = []
        self.named: set[int] = {entity, *registry.inside.get(entity, ())}
        self._years: set[int] = set()
        self._days: set[int] = set()
        self._used: set[str] = set()
        self._said: set[str] = set()

    @property
    def words(self) -> int:
        """The number of words so far."""
        return sum(sentence.count(" ") + 1 for sentence in self.sentences)

    def draw_length(self, words: int) -> int:
        """Draw a number of words around an average.

        Few summaries are long, and most are shorter than the average, as in Wikipedia.
        """
        return words * self.chance.pick(_SPREAD) // 100

    def lengthen(
        self, patterns: Sequence[str], slots_of: Callable[[], Mapping[str, Slot]], wanted: int
    ) -> None:
        """Add sentences until the page has about a number of words.

        Args:
            patterns: to draw from.
            slots_of: draws the words of the next sentence.
            wanted: the number of words.
        """
        while self.words < wanted and self.add_sentence(patterns, slots_of()):
            pass

    def fits(self, slot: Slot) -> bool:
        """Return whether a fact is new: its object has not been named before."""
        if not slot.prop:
            return True
        if slot.entity != NOTHING:
            return slot.entity not in self.named
        if slot.date % 10000:
            return slot.date not in self._days
        return slot.date // 10000 not in self._years

    def add_sentence(self, patterns: Sequence[str], slots: Mapping[str, Slot]) -> bool:
        """Add a sentence of one of the patterns; return whether one fits.

        Args:
            patterns: to draw from.
            slots: the known words and facts.
        """
        used = self._used
        parsed, wanted = _parse_all(tuple(patterns))
        known = {
            name
            for name in wanted
            if (slot := slots.get(name)) is not None
            and (not slot.prop or self.fits(slot))
            and not (name in _FILLERS and slot.text in self._said)
        }
        fitting = [
            pattern for pattern in parsed if pattern.slots <= known and pattern.key not in used
        ]
        if not fitting:
            return False
        chosen = self.chance.pick(fitting)
        self._used.add(chosen.key)
        self._said.update(slots[name].text for name in chosen.fillers)
        self._write(chosen, slots)
        return True

    def _write(self, pattern: Pattern, slots: Mapping[str, Slot]) -> None:
        sent_id = len(self.sentences)
        written: list[str] = []
        length = 0
        comma = False
        for literal, article, name in pattern.pieces:
            if comma and literal[:1] == " " and literal[1:2].isalpha():
                literal = "," + literal  # on May 4, 1950, in
            if not name:
                written.append(literal)
                break
            slot = slots[name]
            comma = slot.date > 0 and ", " in slot.text
            if article:
                literal += "an " if _AN.match(slot.text) else "a "
            elif _WITH_THE.match(slot.text) and not literal.lower().endswith("the "):
                literal += "the "
            written += [literal, slot.text]
            start = length + len(literal)
            length = start + len(slot.text)
            self._note(slot, sent_id, start, length)
        text = "".join(written)
        self.sentences.append(text[:1].upper() + text[1:])

    def _note(self, slot: Slot, sent_id: int, start: int, end: int) -> None:
        """Record what a slot names and states."""
        if slot.entity != NOTHING:
            if self.registry.titles[slot.entity] is not None and slot.entity != self.entity:
                self.mentions.append(Mention(sent_id, start, end, slot.entity))
            self.named.add(slot.entity)
            self.named.update(self.registry.inside.get(slot.entity, ()))
        if slot.date:
            self._years.add(slot.date // 10000)
            if " " in slot.text:
                self._days.add(slot.date)
        if slot.prop:
            claim = (slot.prop, max(slot.entity, 0), slot.date)
            if claim not in self.claims:
                self.claims.append(claim)

    def add_quietly(self, prop: int, entities: Iterable[int]) -> None:
        """Add statements that no sentence makes, except about what a sentence names."""
        for entity in entities:
            if entity not in self.named and (prop, entity, 0) not in self.claims:
                self.claims.append((prop, entity, 0))
