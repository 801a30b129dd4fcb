"""Real questions with their names replaced by coined ones: what a model knows by heart is no help.

In: examples with gold. Out: the same examples in which people, works, places and institutions have
other names, everywhere alike (question, titles, sentences, triples, answer), and an audit. The
words of a person's name are replaced one by one, since texts use a surname alone; other names as a
whole. Dates, numbers, words in lower case, ids and the numbers of sentences stay.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from twowiki.data.dates import DATE
from twowiki.data.schema import Example, Fact, Paragraph, Triple
from twowiki.generation.text import paper_case
from twowiki.models.text import bare_title
from twowiki.worlds.names import FLAVORS, coin_land, coin_place, coin_surname, title_words
from twowiki.worlds.random_draws import Chance

PEOPLE_RELATIONS = frozenset(
    "director producer composer performer creator editor presenter screenwriter author father "
    "mother spouse child sibling student".split()
) | {"founded by", "doctoral advisor", "student of", "doctoral student", "cast member"}
_PLACES = frozenset(("place of birth", "place of death", "place of burial", "place of detention"))
_COUNTRIES = frozenset(("country of citizenship", "country", "country of origin"))
_LIFE = re.compile(r"\((?:[^()]*\b)?(?:born|b\.|died|c\.|\d{3,4}\s*[–-])", re.I)
# words of names that stay, and words that are no name on their own
_GENERIC = frozenset(
    "University College School Institute Academy Award Prize Medal Order Company Records Studios "
    "Pictures Films Church Cathedral Saint St St. River Mount Mountain Lake Island Islands County "
    "North South East West New Old Upper Lower Port City Town Village High Museum Airport Station "
    "Railway Magazine Newspaper Group Band Orchestra The A An Of In And For On At To By With From "
    "I II III IV V VI VII VIII Jr Jr. Sr Sr. Mr Mr. Mrs Dr Dr. Sir Lord Lady King Queen Prince "
    "Princess Duke Duchess Count Countess Earl Baron Baroness Pope Emperor January February March "
    "April May June July August September October November December Monday Tuesday Wednesday "
    "Thursday Friday Saturday Sunday He She It His Her They Who What When Where Which Film Song "
    "Album".split()
)
_WORD = re.compile(r"[^\W\d_][\w'’.-]*")


class Renamed(NamedTuple):
    """An example with other names, and what an audit of it found."""

    example: Example
    left: tuple[str, ...]  # names that still stand somewhere
    lost: int  # objects of triples that stood in a gold sentence and do not stand there now


class Renamer:
    """One map of names for a whole file: the same name becomes the same one everywhere.

    Args:
        seed: what the new names are drawn from.
    """

    def __init__(self, seed: str) -> None:
        self.seed = seed
        self.names: dict[str, dict[str, str]] = {"people": {}, "places": {}, "works": {}}
        self._taken: set[str] = set()

    def rename(self, example: Example) -> Renamed:
        """Return an example with other names."""
        people, places, works = _names_of(example)
        self._taken |= {word for name in people for word in _words(name)}  # nobody gets a real one
        for name in sorted(people):
            for word in _words(name):
                self._coin("people", word, _person_word)
        for name in sorted(places):
            for part in name.split(", "):
                self._coin("places", part, _place)
        for name in sorted(works):
            self._coin("works", name, _work)
        phrases = {part for name in places for part in name.split(", ")} | works
        words = {word for name in people for word in _words(name)}
        change = self._changer(phrases, words)
        renamed = _mapped(example, change)
        original = {name for name in phrases | words if self._new(name) != name}
        return Renamed(renamed, _left(renamed, original), _lost(example, renamed))

    def _coin(self, kind: str, name: str, coin: Callable[[str, Chance], str]) -> None:
        if self._new(name) != name or not _is_name(name):
            return
        for turn in range(50):
            new = coin(name, Chance(self.seed, "rename", name, turn))
            if new not in self._taken or new == name:
                break
        self._taken.add(new)
        self.names[kind][name] = new

    def _new(self, name: str) -> str:
        return next((names[name] for names in self.names.values() if name in names), name)

    def _changer(self, phrases: Iterable[str], words: Iterable[str]) -> Callable[[str], str]:
        """Return the function that replaces names in a text, the longest ones first."""
        known = {name: self._new(name) for name in {*phrases, *words}}
        known = {name: new for name, new in known.items() if new != name}
        cased = {paper_case(name): paper_case(new) for name, new in known.items()}
        known = cased | known
        folded = {name.casefold(): name for name in known if " " in name}
        if not known:
            return lambda text: text
        ordered = sorted(known, key=lambda name: (-len(name), name))
        parts = [f"(?i:{re.escape(n)})" if " " in n else re.escape(n) for n in ordered]
        pattern = re.compile(rf"(?<!\w)(?:{'|'.join(parts)})(?!\w)")

        def replace(match: re.Match[str]) -> str:
            text = match[0]
            if text in known:
                return known[text]
            name = folded[text.casefold()]  # written as the released questions write titles
            return paper_case(known[name]) if text == paper_case(name) else known[name]

        return lambda text: pattern.sub(replace, text)

    def rename_aliases(self, texts: Sequence[str]) -> list[str]:
        """Return other names of an entity, with the names that are known replaced."""
        phrases = [name for kind in ("places", "works") for name in self.names[kind]]
        known = self.names["people"]
        found = []
        for text in texts:
            inside = [name for name in phrases if name in text]
            change = self._changer(inside, [word for word in _words(text) if word in known])
            found.append(change(text))
        return found

    def audit(self, renamed: Iterable[Renamed]) -> dict[str, Any]:
        """Return what was renamed, and what was not."""
        left: Counter[str] = Counter()
        lost = total = 0
        for one in renamed:
            total += 1
            left.update(one.left)
            lost += one.lost
        return {
            "examples": total,
            "renamed": {kind: len(names) for kind, names in self.names.items()},
            "objects lost from their sentences": lost,
            "names left": dict(left.most_common()),
            "names": self.names,
        }


def _names_of(example: Example) -> tuple[set[str], set[str], set[str]]:
    """Return the names of people, of places and countries, and of works and the rest."""
    people, places, others = set(), set(), set()
    for triple in example.triples:
        if triple.relation in PEOPLE_RELATIONS:
            people.add(triple.object)
        elif triple.relation in _PLACES | _COUNTRIES:
            places.add(triple.object)
        elif not DATE.fullmatch(triple.object):
            others.add(triple.object)
    for title, sentences in example.context:
        name = bare_title(title)
        if name in people or name in places:
            continue
        (people if sentences and _LIFE.search(sentences[0][:300]) else others).add(name)
    others = {name for name in others - people - places if _is_name(name)}
    return people, {name for name in places if _is_name(name)}, others


def _is_name(name: str) -> bool:
    return any(word[:1].isupper() and word not in _GENERIC for word in _WORD.findall(name))


def _words(name: str) -> list[str]:
    """Return the words of a person's name that are replaced."""
    return [
        word
        for word in _WORD.findall(name)
        if word[:1].isupper() and len(word.rstrip(".")) > 1 and word not in _GENERIC
    ]


def _person_word(word: str, chance: Chance) -> str:
    for flavor in FLAVORS:
        for sex in ("men", "women"):
            if word in getattr(flavor, sex):  # a given name becomes another of the same sex
                stock: tuple[str, ...] = getattr(chance.pick(FLAVORS), sex)
                return chance.pick([name for name in stock if name != word])
    return coin_surname(_readable(chance)._replace(particle=""), chance)


def _readable(chance: Chance) -> Any:
    return chance.pick(FLAVORS)._replace(clusters=())


def _place(name: str, chance: Chance) -> str:
    if name.endswith(("an", "ish", "ese", "ch", "ic")) and " " not in name:
        return coin_land(_readable(chance), chance)[1]
    return _kept_words(name, lambda word: coin_place(_readable(chance), chance))


def _work(name: str, chance: Chance) -> str:
    nouns = title_words()
    return _kept_words(name, lambda word: chance.pick(nouns))


def _kept_words(name: str, coin: Callable[[str], str]) -> str:
    """Return a name in which all words but generic ones and those in lower case are new."""
    return _WORD.sub(
        lambda match: (
            match[0]
            if match[0] in _GENERIC or not match[0][:1].isupper()
            else coin(match[0]) + ("'s" if match[0].endswith(("'s", "’s")) else "")
        ),
        name,
    )


def _mapped(example: Example, change: Callable[[str], str]) -> Example:
    return example._replace(
        question=change(example.question),
        context=tuple(
            Paragraph(change(title), tuple(map(change, sentences)))
            for title, sentences in example.context
        ),
        supporting_facts=tuple(Fact(change(title), sent) for title, sent in example.facts),
        evidences=tuple(
            Triple(change(one.subject), one.relation, change(one.object)) for one in example.triples
        ),
        answer=None if example.answer is None else change(example.answer),
    )


def _texts(example: Example) -> Iterator[str]:
    yield example.question
    for title, sentences in example.context:
        yield title
        yield from sentences


def _left(example: Example, names: set[str]) -> tuple[str, ...]:
    text = " ".join(_texts(example))
    return tuple(
        name for name in sorted(names) if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)
    )


def _lost(before: Example, after: Example) -> int:
    """Count the objects that stood in the gold sentences before, and do not stand there now."""
    return sum(
        old.object in _gold_text(before) and new.object not in _gold_text(after)
        for old, new in zip(before.triples, after.triples, strict=True)
    )


def _gold_text(example: Example) -> str:
    pages = dict(example.context)
    found: list[str] = []
    for title, sent in example.facts:
        sentences = pages.get(title, ())
        found += sentences[sent : sent + 1]
    return " ".join(found)
