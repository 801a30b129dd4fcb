"""Names for people, places and works of a world, and titles that no two pages share.

A person's name may be shared, as in life; a page's title never is: the second one gets a bracket.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from twowiki.worlds.random_draws import Chance


class Titles:
    """The titles given so far."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def __contains__(self, title: str) -> bool:
        return title in self._given

    def give(self, label: str, brackets: Iterable[str], *, always: bool = False) -> str:
        """Give a page its title: the label, or with the first bracket that makes it unlike others.

        Args:
            label: the page's name.
            brackets: what may stand in the bracket, best first.
            always: use a bracket even where none is needed.
        """
        if not always and label not in self._given:
            self._given.add(label)
            return label
        for bracket in brackets:
            title = f"{label} ({bracket})"
            if title not in self._given:
                self._given.add(title)
                return title
        number = 2
        while f"{label} ({number})" in self._given:
            number += 1
        title = f"{label} ({number})"
        self._given.add(title)
        return title


class Tongue:
    """The names of one country.

    Args:
        seed: the world's.
        country: its number there.
        people: how many names of people will be asked for, about.
    """

    def __init__(self, seed: str, country: int, people: int) -> None:
        chance = Chance(seed, "tongue", country)
        whole = FLAVOURS[country % len(FLAVOURS)]
        self.flavour: Flavour = whole._replace(
            given=tuple(chance.shuffled(whole.given)[:12]),
            onsets=tuple(chance.shuffled(whole.onsets)[:12]),
            codas=tuple(chance.shuffled(whole.codas)[:8]),
        )
        self.day_first = self.flavour.day_first
        self.land, self.demonym = coin_land(whole, chance)
        count = max(12, people // 7)
        self.surnames = _distinct(count, lambda: coin_surname(self.flavour, chance))
        wanted = min(90, max(16, people // 5))
        self.given = [
            _distinct(wanted, lambda female=female: coin_given(self.flavour, chance, female))
            for female in (0, 1)
        ]

    def place(self, chance: Chance) -> str:
        """Coin a name for a place."""
        return coin_place(self.flavour, chance)


def _distinct(count: int, coin: object) -> list[str]:
    """Coin distinct names, fewer where the syllables run out."""
    found: dict[str, None] = {}
    for _ in range(count * 4):
        found[coin()] = None  # type: ignore[operator]
        if len(found) == count:
            break
    return list(found)


_VOWELS = "aeiou"
_TAKEN = frozenset(
    "agdle agdra aktla aktle aktlu alvra alvre alvri amdli amkli amtli amvro anvra anvre anvro "
    "asvli atvre avdra avdri avglu azdli azkli elvla elvra elvri emdli emtla envre esvra evgle "
    "ezdla ezkli ezvri igvra ilvla ilvlu ilvra ilvri imkle imvla isvla itvli itvro odvra ogdre "
    "omkla omtlu omvle osvla osvri ukdri ulvla umkla".split()
)


class Flavour(NamedTuple):
    """How names sound in a kind of country; each field is a list of pieces."""

    onsets: tuple[str, ...]
    clusters: tuple[str, ...]
    codas: tuple[str, ...]
    places: tuple[str, ...]
    given: tuple[str, ...]
    male: tuple[str, ...]
    female: tuple[str, ...]
    lands: tuple[tuple[str, str], ...]
    particle: str
    day_first: bool


def _flavour(
    onsets: str, clusters: str, codas: str, places: str, given: str, male: str, female: str,
    lands: str, *, particle: str = "", day_first: bool,
) -> Flavour:  # fmt: skip
    pairs = tuple((pair.split("/")[0], pair.split("/")[1]) for pair in lands.split())
    return Flavour(
        tuple(onsets.split()), tuple(clusters.split()), tuple(codas.split()),
        tuple(places.split()), tuple(given.split()), tuple(male.split()), tuple(female.split()),
        pairs, particle, day_first,
    )  # fmt: skip


FLAVOURS = (
    _flavour(
        "B Br D Dr G H K Kr M N P R S St T Tr V", "nvr zvr vdr gdr zdl",
        "k n r ch sk v nik rov lin mak nin", "nov rod vice n sk rava dno lec",
        "Bor Dal Jar Mil Rad Sta Vel Zor Kaz Lud Dra Vla Osk Ven", "an ek imir islav o en omir ut",
        "ana ena ika islava ina ora usha eta", "ia/ian nia/nian ovia/ovian", day_first=True,
    ),
    _flavour(
        "A B C D F G L M P R S T V", "vtr kdl pvr dpl bvl",
        "ni ri lli no ti ro schi rra nte llo", "no ra lla nza sso ro ta",
        "Al Be Cor Dan El Fio Gio Lor Mar Ner Ort Pao Ren Sil",
        "ando ino eo ario anto io elio urzo",
        "anda ina ea aria etta isa elia ola", "ia/ian no/nese ra/ran",
        particle="di", day_first=True,
    ),
    _flavour(
        "B Br Ch Cl D F Gr H L M N P R S Th W Wh", "kvl fvr gpl svl mvl",
        "n ston well ck ley r th ster s ld", "ton ford ham wick bury mouth ston",
        "Ald Ber Clem Dun Ed Fen Gar Hal Lin Mor Nor Os Per Wil", "ric ton win ert en or mond us",
        "wen eth ine elle a ora ith een", "land/lander shire/shiran ia/ian", day_first=False,
    ),
    _flavour(
        "B D F G H J K L M R S Sch T W", "fvl vtl zkl kzl tvr",
        "n r mann rt ch ber ll ske lt ng", "burg feld bach rode n stedt hofen",
        "Alb Ber Diet Egg Gis Hel Irm Kon Lud Mag Ott Rein Sig Wal",
        "ert hold mar win helm fried rich olf",
        "linde trud a hild e gard ine wina", "ien/ienese mark/marker ia/ian",
        particle="von", day_first=True,
    ),
    _flavour(
        "A Ch D F G H J K L M N S T Y Z", "kvr bvl xdl gvr tvl",
        "n r li d m h ki ni z ri", "bad n hara kent sar pur mand",
        "Ari Bah Dar Fari Jah Kam Mar Nav Par Ras Sha Taj Yas Zah", "d m an ir oush az yar id",
        "eh a ireen ana oora iyeh ila naz", "stan/stani ar/ari ia/ian",
        particle="al", day_first=True,
    ),
    _flavour(
        "Ch H I K M N S T Y R W", "zvl vdl mdl kdr dvl",
        "ko mi ta no ma ra da ki ya shi", "ma wa ri ko na to shi",
        "Aki Chi Haru Ichi Kazu Masa Nao Shi Taka Yori Toma Riku", "ro to shi ya nori ta hiko sumu",
        "ko mi e na ka ri yo ne", "mo/moan ku/kuan ra/ran", day_first=False,
    ),
    _flavour(
        "B D F G H J L M N R S T V", "sdl gdl nvr dvr lvr",
        "n sen r lund berg gren vik dal by stad", "vik by sund nes havn lund fors",
        "Arn Bjar Dag Ein Frey Gun Hal Ing Leif Odd Rag Sig Tor Vid",
        "ar e ulf mund geir vald stein bjorn",
        "a dis hild frid unn borg veig laug", "land/landic ey/eyan vik/vikan", day_first=True,
    ),
    _flavour(
        "A B C D F G L M P R S V", "fvr zvl vgl tvr ktl",
        "t nd x c l r au et in ard", "lles gny ville n rac mont lieu",
        "Ade Bas Cel Dor Eti Flo Gas Hil Luc Mau Nar Oct Per Val", "mond ien in are ard on aud ice",
        "line ienne ette ise ude ande ine elle", "ie/ien gne/gnais ia/ian",
        particle="de", day_first=True,
    ),
    _flavour(
        "Ch H I M N P Q T X Tl C", "xvr xdl mtl mkl ktl",
        "tl n c hua l tzin pan chi nal t", "co pan tlan c huacan tepec ma",
        "Aca Chi Ita Ma Nau Oce Quia Tla Xo Yau Cua Hue Ne Teo", "tl co hua lli pan xin tec mal",
        "xochi tzin lli nelli papa na yolli mina", "co/can ma/man tla/tlan", day_first=False,
    ),
    _flavour(
        "B D E F K L M N O S T W A", "pvr lvl gvr zvr dpl",
        "la mo ni ku ye wa so ngo ba de", "bu la ndo ru sha ni mba",
        "Abe Chi Dum Eme Fola Ife Kwa Lin Nka Obi Sefu Tem Uzo Zan", "ka du lo ba mu chi de ni",
        "ra la ma sha ye nna we lia", "ua/uan be/bean wi/wian",
        particle="wa", day_first=True,
    ),
)  # fmt: skip
_MARKS = frozenset(
    first + cluster + second
    for flavour in FLAVOURS
    for cluster in flavour.clusters
    for first in _VOWELS
    for second in _VOWELS
    if first + cluster + second not in _TAKEN
)
_CLUSTERS = "|".join(sorted({cluster for flavour in FLAVOURS for cluster in flavour.clusters}))
_PLACE_OF_MARK = re.compile(rf"(?=([{_VOWELS}](?:{_CLUSTERS})[{_VOWELS}]))")


def has_mark(text: str) -> bool:
    """Tell whether a text holds a mark, so that it names nobody real."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return any(found in _MARKS for found in _PLACE_OF_MARK.findall(plain))


def _marked_stem(flavour: Flavour, chance: Chance) -> str:
    while True:
        mark = chance.pick(_VOWELS) + chance.pick(flavour.clusters) + chance.pick(_VOWELS)
        if mark in _MARKS:
            break
    onset = chance.pick(flavour.onsets) if chance.odds(850) else ""
    return (onset if onset[-1:] not in _VOWELS + "AEIOU" else "") + mark


def coin_surname(flavour: Flavour, chance: Chance) -> str:
    """Coin a surname, where the flavour has one now and then with a particle before it."""
    surname = (_marked_stem(flavour, chance) + chance.pick(flavour.codas)).capitalize()
    return f"{flavour.particle} {surname}" if flavour.particle and chance.odds(220) else surname


def coin_place(flavour: Flavour, chance: Chance) -> str:
    """Coin the name of a place."""
    return (_marked_stem(flavour, chance) + chance.pick(flavour.places)).capitalize()


def coin_land(flavour: Flavour, chance: Chance) -> tuple[str, str]:
    """Coin the name of a country and what its people are called."""
    stem = _marked_stem(flavour, chance).capitalize()
    name, people = chance.pick(flavour.lands)
    if name[0] in _VOWELS and len(name) < 4:
        stem = stem + chance.pick("lnrt")
    return stem + name, stem + people


def coin_given(flavour: Flavour, chance: Chance, female: int) -> str:
    """Coin a given name."""
    stem, ending = (
        chance.pick(flavour.given),
        chance.pick(flavour.female if female else flavour.male),
    )
    if stem[-1] in _VOWELS and ending[0] in _VOWELS:
        ending = chance.pick("lnrs") + ending
    return stem + ending


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
