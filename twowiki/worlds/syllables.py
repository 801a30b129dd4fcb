"""The syllables that names are coined from, one flavour a country. Data, and how to coin. Pure.

Why no name is a real person's: every surname, and every name of a place, holds a *mark*: a vowel,
one of the clusters of three consonants below, a vowel. Not one of the 1,143,006 first and last
names of the names-dataset 3.3.1 (folded to a-z, y as i, spaces and hyphens left out) holds a mark;
the few vowel pairs that some name does hold are in `_TAKEN` and are never coined. Given names
are free: no person goes without a surname.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from twowiki.worlds.chance import Chance

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
