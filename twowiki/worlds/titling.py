"""Titles of films, songs, books and albums: common words around a coined one. Data, and how.

Every title holds a coined word or a person's name, so that it is no real work's. Some titles are
near-doubles of earlier ones ("The Bell of X", "The Bells of X"), some are shared by two works.
"""

from __future__ import annotations

from twowiki.worlds.chance import Chance
from twowiki.worlds.names import Tongue
from twowiki.worlds.syllables import has_mark

_NOUNS = (
    "Bell", "Harbour", "Lantern", "Orchard", "River", "Winter", "Garden", "Mirror", "Bridge",
    "Stranger", "Daughter", "Son", "Captain", "Widow", "Clock", "Letter", "Night", "Road",
    "Shadow", "Summer", "Tower", "Wolf", "Thief", "Promise", "Island", "Ghost", "Crown", "Forest",
    "Secret", "Train", "Dancer", "Doctor", "Heiress", "Miller", "Gambler", "Storm", "Song",
    "Street", "House", "Window", "Horse", "King", "Return", "Affair", "Case", "Voyage",
)  # fmt: skip
_QUALITIES = (
    "Last", "Silent", "Golden", "Lost", "Broken", "Little", "Red", "Hidden", "Long", "Cold",
    "Second", "Burning", "Distant", "Blind", "White", "Old", "Strange", "Brave", "Quiet", "Wild",
)  # fmt: skip
_SONGS = (
    "Dancing in {n}", "Goodbye, {n}", "Letters from {n}", "{n} Tonight", "My {n} Girl",
    "Come Back to {n}", "{n}", "Rain over {n}", "Nobody in {n}", "{g}", "Oh {g}", "Say {n}",
    "{n} Blues", "Waiting for {g} {s}", "The {w} of {n}", "{q} {n}",
)  # fmt: skip
_FILMS = (
    "The {w} of {n}", "The {q} {w} of {n}", "{q} {w} in {n}", "Return to {n}", "{s}'s {w}",
    "The {n} {w}", "{n}", "A {w} in {n}", "The {w} from {n}", "{g} {s}", "One {w} in {n}",
    "Who Is {g} {s}?", "{n}, My {w}", "The {q} {s}", "{w} over {n}", "The Road to {n}",
    "Goodbye, {g} {s}", "{g}'s {w} in {n}", "The Man from {n}", "The {q} Days of {n}",
)  # fmt: skip
_BOOKS = (
    "The {w} of {n}", "{n}", "The {s} Papers", "A History of {n}", "{q} {n}", "The {s} {w}",
    "Letters to {g} {s}", "The {q} {w} of {n}",
)  # fmt: skip
_ALBUMS = (
    "{n}", "The {n} Sessions", "Live in {n}", "{q} {w} in {n}", "Songs from {n}", "{n} Nights",
    "The {q} {n}", "{w} of {n}",
)  # fmt: skip
_SHOWS = (
    "The {g} {s} Show", "{n} Tonight", "The {n} Files", "Good Morning {n}", "{s}'s {w}",
    "The {w} of {n}", "Quiz {n}",
)  # fmt: skip
_FORMS = {
    "film": _FILMS, "animated film": _FILMS, "song": _SONGS, "album": _ALBUMS,
    "literary work": _BOOKS, "written work": _BOOKS, "television program": _SHOWS,
    "band": ("The {n} {ws}", "{n}", "The {n}s", "{q} {n}", "{n} Quartet", "The {s} Brothers"),
    "candy": ("{n}", "{s} Drops", "{n} Bar", "{n} Mints", "{g} {s} Toffees"),
}  # fmt: skip
_COMMON_COINS = 6  # of ten coined words, so many are names of the country's towns


class Titler:
    """Coins titles; remembers some, to make others like them."""

    def __init__(self) -> None:
        self._known: dict[str, list[str]] = {}

    def coin(self, kind: str, tongue: Tongue, towns: list[str], chance: Chance) -> tuple[str, str]:
        """Coin a title; give the town in it too, or "".

        Args:
            kind: the kind of work.
            tongue: of its country.
            towns: names of real towns of the world, for some of the titles.
            chance: to draw from.
        """
        known = self._known.setdefault(kind, [])
        if len(known) > 8 and chance.odds(110):
            return _alike(chance.pick(known), chance), ""
        town = chance.pick(towns) if chance.below(10) < _COMMON_COINS else ""
        noun = town or tongue.place(chance)
        form = chance.pick(_FORMS[kind])
        title = form.format(
            n=noun, w=chance.pick(_NOUNS), ws=_plural(chance.pick(_NOUNS)),
            q=chance.pick(_QUALITIES), s=chance.pick_early(tongue.surnames),
            g=chance.pick(tongue.given[chance.below(2)]),
        )  # fmt: skip
        if "{n}" not in form and "{s}" not in form:
            title = f"{title} of {noun}"
        title = title[:1].upper() + title[1:]
        if len(known) < 4000:
            known.append(title)
        return title, town if town in title else ""


def _plural(noun: str) -> str:
    if noun.endswith("s"):
        return noun + "es"
    return noun[:-1] + "ves" if noun.endswith("f") else noun + "s"


def _alike(title: str, chance: Chance) -> str:
    """Give the same title or one that is nearly the same."""
    draw = chance.below(4)
    words = title.split()
    if draw == 0 or len(words) < 2:
        return title
    if draw == 1 and words[0] != "Return" and has_mark(words[-1]):
        return f"Return to {words[-1]}"
    if draw == 2 and words[0] == "The" and words[1] in _NOUNS:
        return " ".join(["The", _plural(words[1]), *words[2:]])
    if words[0] in ("The", "A"):
        return " ".join([words[0], chance.pick(_QUALITIES), *words[1:]])
    return f"{title} {chance.pick(('II', 'Again', 'Revisited'))}"
