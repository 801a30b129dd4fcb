"""Names for people, places and works of a world: names of families and places are coined.

In the names `marked`, each coined name has a mark, a cluster of letters between vowels that no
real name has. In `readable` ones, given names are real ones, and a coined name is in no list of
the first and last names of names-dataset 3.3.1 (`names.filter`: one bit for each of their
hashes), so that no full name is that of a real person.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable
from functools import cache, partial
from importlib.resources import files
from typing import Any, NamedTuple

import msgspec

from twowiki.worlds.random_draws import Chance
from twowiki.worlds.vocabulary import read_word_list


class Tongue:
    """The names of one country.

    Args:
        seed: the world's.
        country: its number there.
        people: about how many people will need a name.
    """

    def __init__(self, seed: str, country: int, people: int, readable: bool) -> None:
        chance = Chance(seed, "tongue", country)
        whole = FLAVORS[country % len(FLAVORS)]
        if readable:
            whole = whole._replace(clusters=())
        self.flavor: Flavor = whole._replace(
            given=tuple(chance.shuffled(whole.given)[:12]),
            onsets=tuple(chance.shuffled(whole.onsets)[:12]),
            codas=tuple(chance.shuffled(whole.codas)[:8]),
        )
        self.day_first = self.flavor.day_first
        self.land, self.demonym = coin_land(whole, chance)
        count = max(12, people // 7)
        self.surnames = _distinct(count, partial(coin_surname, self.flavor, chance))
        wanted = min(90, max(16, people // 5))
        self.given = (
            [chance.shuffled(whole.men)[:wanted], chance.shuffled(whole.women)[:wanted]]
            if readable
            else [
                _distinct(wanted, partial(coin_given, self.flavor, chance, female))
                for female in (0, 1)
            ]
        )

    def place(self, chance: Chance) -> str:
        """Coin a name for a place."""
        return coin_place(self.flavor, chance)


def _distinct(count: int, coin: Callable[[], str]) -> list[str]:
    """Coin distinct names, fewer where the syllables run out."""
    found: dict[str, None] = {}
    for _ in range(count * 4):
        found[coin()] = None
        if len(found) == count:
            break
    return list(found)


_VOWELS = "aeiou"
_FILTERED = 6, 11  # the lengths of the names that the filter knows


class Flavor(NamedTuple):
    """How names sound in a kind of country; each field is a list of pieces.

    Without `clusters` names are readable ones, of `middles`; `men` and `women` are given names.
    """

    onsets: tuple[str, ...]
    clusters: tuple[str, ...]
    codas: tuple[str, ...]
    places: tuple[str, ...]
    given: tuple[str, ...]
    male: tuple[str, ...]
    female: tuple[str, ...]
    lands: tuple[tuple[str, str], ...]
    middles: tuple[str, ...]
    men: tuple[str, ...]
    women: tuple[str, ...]
    particle: str
    day_first: bool


def _flavor(lands: str, particle: str = "", *, day_first: bool, **pieces: str) -> Flavor:
    split = {name: tuple(text.split()) for name, text in pieces.items()}
    pairs = tuple((pair.split("/")[0], pair.split("/")[1]) for pair in lands.split())
    return Flavor(lands=pairs, particle=particle, day_first=day_first, **split)


_SOUNDS: dict[str, Any] = read_word_list("names", dict)
FLAVORS = tuple(_flavor(**entry) for entry in _SOUNDS["flavors"])
_TAKEN = frozenset(_SOUNDS["taken"].split())
_MARKS = frozenset(
    first + cluster + second
    for flavor in FLAVORS
    for cluster in flavor.clusters
    for first in _VOWELS
    for second in _VOWELS
    if first + cluster + second not in _TAKEN
)
_CLUSTERS = "|".join(sorted({cluster for flavor in FLAVORS for cluster in flavor.clusters}))
_PLACE_OF_MARK = re.compile(rf"(?=([{_VOWELS}](?:{_CLUSTERS})[{_VOWELS}]))")


def has_mark(text: str) -> bool:
    """Return whether a text has a mark, so that it is not the name of a real person."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return any(found in _MARKS for found in _PLACE_OF_MARK.findall(plain))


@cache
def _filter() -> bytes:
    return (files("twowiki.worlds") / "data" / "names.filter").read_bytes()


def may_be_real(name: str) -> bool:
    """Return whether a name may be a real person's first or last name.

    It is whenever a list has it, and for a third of all other names. Its particle does not count.
    """
    last = unicodedata.normalize("NFKD", name.split()[-1]).encode("ascii", "ignore")
    bits = _filter()
    digest = hashlib.blake2b(last.lower(), digest_size=4).digest()
    place = int.from_bytes(digest, "big") % (8 * len(bits))
    return not _FILTERED[0] <= len(last) <= _FILTERED[1] or bool(
        bits[place >> 3] >> (place & 7) & 1
    )


def _stem(flavor: Flavor, chance: Chance) -> str:
    """Coin the first part of a name: its mark, or a readable syllable or two."""
    if not flavor.clusters:
        onset = chance.pick(flavor.onsets)
        start = onset if onset[-1] in _VOWELS + "AEIOU" else onset + chance.pick(_VOWELS)
        middles = [chance.pick(flavor.middles) for _ in range(2 if chance.per_mille(350) else 1)]
        return start + "".join(middle + chance.pick(_VOWELS) for middle in middles)
    while True:
        mark = chance.pick(_VOWELS) + chance.pick(flavor.clusters) + chance.pick(_VOWELS)
        if mark in _MARKS:
            break
    onset = chance.pick(flavor.onsets) if chance.per_mille(850) else ""
    return (onset if onset[-1:] not in _VOWELS + "AEIOU" else "") + mark


def _coin(flavor: Flavor, chance: Chance, endings: tuple[str, ...]) -> str:
    while True:
        name = (_stem(flavor, chance) + chance.pick(endings)).capitalize()
        if flavor.clusters or not may_be_real(name):
            return name


def coin_surname(flavor: Flavor, chance: Chance) -> str:
    """Coin a surname, sometimes with the flavor's particle before it."""
    surname = _coin(flavor, chance, flavor.codas)
    return f"{flavor.particle} {surname}" if flavor.particle and chance.per_mille(220) else surname


def coin_place(flavor: Flavor, chance: Chance) -> str:
    """Coin the name of a place."""
    return _coin(flavor, chance, flavor.places)


def coin_land(flavor: Flavor, chance: Chance) -> tuple[str, str]:
    """Coin the name of a country and its demonym."""
    while True:
        stem = _stem(flavor, chance).capitalize()
        name, people = chance.pick(flavor.lands)
        if name[0] in _VOWELS and (len(name) < 4 or not flavor.clusters):
            stem = stem + chance.pick("lnrt")
        if flavor.clusters or not (may_be_real(stem + name) or may_be_real(stem + people)):
            return stem + name, stem + people


def coin_given(flavor: Flavor, chance: Chance, female: int) -> str:
    """Coin a given name."""
    stem, ending = (
        chance.pick(flavor.given),
        chance.pick(flavor.female if female else flavor.male),
    )
    if stem[-1] in _VOWELS and ending[0] in _VOWELS:
        ending = chance.pick("lnrs") + ending
    return stem + ending


class _Forms(msgspec.Struct):
    kinds: tuple[str, ...]
    forms: tuple[str, ...]


class _Titles(msgspec.Struct):
    nouns: tuple[str, ...]
    qualities: tuple[str, ...]
    forms: tuple[_Forms, ...]


_TITLES = read_word_list("titles", _Titles)


def title_words() -> tuple[str, ...]:
    """Return the nouns and qualities of which titles are made."""
    return _TITLES.nouns + _TITLES.qualities


_FORMS = {kind: entry.forms for entry in _TITLES.forms for kind in entry.kinds}
_TOWNS_IN_TITLES = 6  # of ten places in titles, so many are towns of the country
_CONTINUED = ("film", "animated film", "song", "album", "literary work")


class Titler:
    """Coins titles; keeps some, to make similar ones."""

    def __init__(self) -> None:
        self._known: dict[str, list[tuple[str, int]]] = {}

    def coin(
        self, kind: str, tongue: Tongue, towns: list[str], year: int, chance: Chance
    ) -> tuple[str, str]:
        """Coin a title; return it with the town in it, or "".

        Args:
            kind: the kind of work.
            tongue: the names of its country.
            towns: names of real towns of the world, for some of the titles.
            year: of the work; what has a similar title is later than the first of that title.
            chance: to draw from.
        """
        known = self._known.setdefault(kind, [])
        if len(known) > 8 and chance.per_mille(110):
            for _ in range(6):
                title, before = chance.pick(known)
                if before < year:
                    return _alike(title, chance) if kind in _CONTINUED else title, ""
        town = chance.pick(towns) if chance.below(10) < _TOWNS_IN_TITLES else ""
        noun = town or tongue.place(chance)
        form, noun_of_title = chance.pick(_FORMS[kind]), chance.pick(_TITLES.nouns)
        title = form.format(
            n=noun, w=noun_of_title, ws=_plural(chance.pick(_TITLES.nouns)),
            q=chance.pick(_TITLES.qualities), a=_article(noun_of_title),
            s=chance.pick_early(tongue.surnames),
            g=chance.pick(tongue.given[chance.below(2)]),
        )  # fmt: skip
        if "{n}" not in form and "{s}" not in form:
            title = f"{title} of {noun}"
        title = title[:1].upper() + title[1:]
        if len(known) < 4000:
            known.append((title, year))
        return title, town if town in title else ""


def _article(word: str) -> str:
    return "An" if word[0] in "AEIOU" or word == "Heiress" else "A"


def _plural(noun: str) -> str:
    if noun.endswith("s"):
        return noun + "es"
    return noun[:-1] + "ves" if noun.endswith("f") else noun + "s"


def _alike(title: str, chance: Chance) -> str:
    """Return the same title or a similar one."""
    draw = chance.below(4)
    words = title.split()
    if draw == 0 or len(words) < 2:
        return title
    if draw == 1 and words[0] != "Return" and words[-2] in ("of", "in", "from", "to"):
        return f"Return to {words[-1]}"
    if draw == 2 and words[0] == "The" and words[1] in _TITLES.nouns:
        return " ".join(["The", _plural(words[1]), *words[2:]])
    if words[0] in ("The", "A", "An") and words[1] not in _TITLES.qualities:
        quality = chance.pick(_TITLES.qualities)
        article = "The" if words[0] == "The" else _article(quality)
        return " ".join([article, quality, *words[1:]])
    return title if title[-1] in "?!" else f"{title} {chance.pick(('II', 'Again', 'Revisited'))}"
