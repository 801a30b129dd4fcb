"""Which sentence supports a fact, and what speaks against it.

In: the sentences of the subject's page, the object's names and the relation. Out: the sentence and
the name that state the fact best, or the fault of the best one. The queries find the first sentence
that has the object's words; here capitals, punctuation and the words around them are read. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from twowiki.data.relations import COUNTRY_RELATIONS, RELATIONS
from twowiki.generation.cues import words_of_relation
from twowiki.generation.faults import LONGER_NAME, OWN_NAME
from twowiki.generation.text import TextWords

COUNTRIES = {RELATIONS[number] for number in COUNTRY_RELATIONS}
_PLACES = {"place of birth", "place of death", "place of burial", "place of detention"}
_PEOPLE = {
    "director", "producer", "composer", "performer", "creator", "editor", "presenter",
    "founded by", "father", "mother", "child", "spouse", "sibling", "student of",
    "doctoral advisor", "doctoral student", "has part",
}  # fmt: skip
_WHERE = re.compile(r",? where\b")
_LISTED = re.compile(r"^,? (?:and|&|followed by) (?:later |then )?(?:at |from )?(?:the )?[A-Z]")
_CLAUSE = 80  # characters
_JOINT = re.compile(r"^ ?(?:\.|['’]|)? ?-? ?$")  # what stands between the words of one name
_TITLES = re.compile(
    r"^(?:King|Queen|Prince|Princess|Infante|Infanta|Duke|Duchess|Archduke|Archduchess|Count|"
    r"Countess|Emperor|Empress|Sultan|Tsar|Tsarina|Czar|Shah|Khan|Emir|Sir|Dame|Lord|Lady|Baron|"
    r"Baroness|Earl|Marquess|Viscount|Landgrave|Margrave|Elector|Saint|St|Pope|Bishop|Archbishop|"
    r"Cardinal|Father|Rev|Reverend|Dr|Mr|Mrs|Ms|Miss|Professor|Captain|Colonel|General|Major|"
    r"Lieutenant|Admiral|Sergeant|President|Senator|Governor|Chief|Caliph|Maharaja|Rani|DJ|MC)$"
)
_PARTS = re.compile(r"^(?:School|College|Faculty|Department|Institute|Medical|Law|Business|Press)$")
_AREAS = re.compile(
    r"^(?:Province|City|Republic|County|Kingdom|State|Town|Village|District|Island|Isle|Region|"
    r"Municipality|Territory|Duchy|Colony|Principality|Department|Port|Canton|Battle|Siege|Empire|"
    r"Governorate|Commonwealth|Union|Borough|Parish|Commune|Prefecture|Castle|Palace|Château|Fall)$"
)
_REGIONS = re.compile(
    r"^(?:North|South|East|West|Coast|Highlands?|Midlands|Lowlands|Plains?|Valley|Mountains?|Hills|"
    r"Alps|Gulf|Lake|River|Bay|Basin|Desert|Forest|Isles|Islands|Provinces?|Voivodeship|Oblast|"
    r"Diocese|Archdiocese|District|Division|Capital|Federation|Dominion|Mandate|Sultanate|Emirate|"
    r"Realm|Crown|Republics|Regions|Districts|Counties|Cities|States|Peninsula|Area|Riviera|"
    r"Consort|Dowager|Daughter|Son|Wife|Mother|Father|Widow|Brother|Sister)$"
)
_OFFICE = (
    r"(?:ambassador|envoy|consul|minister|chancellor|president|premier|governor|delegate|"
    r"representative|commissioner|attach[ée]|king|queen|emperor|empress|tsar|sultan|monarch|ruler|"
    r"coach|judge|justice|secretary|viceroy|regent|prince|princess|duke|duchess|embassy|legation)"
)
_OFFICE_AFTER = re.compile(rf"^['’]s (?:[\w-]+ ){{0,3}}{_OFFICE}\b", re.IGNORECASE)
_OFFICE_BEFORE = re.compile(
    rf"\b{_OFFICE}s?(?: [\w-]+){{0,3}} (?:of|to|from|for|in) (?:the )?$", re.IGNORECASE
)
_NOMINATED = re.compile(r"^(?: \w+){0,2} (?:nomina|nominee|shortlist)", re.IGNORECASE)
_WITHIN = re.compile(r"\b(?:in|of|at|near|on|within|across|along)(?: the)? $")
_BOASTS = re.compile(
    r"^(?:Best|Top|Most|Greatest|Largest|Next|Got|Funniest|Finest|First|Favou?rite|Leading|Choice|"
    r"Sweetheart|\d+)$"
)
_FEATURES = re.compile(
    r"^(?:Castle|Palace|Abbey|Manor|Hospital|Prison|Monastery|Fortress|Ocean|Sea|Valley|City|Island)$"
)
_INSTITUTIONS = re.compile(
    r"^(?:Foundation|Museum|Institute|Awards?|Prize|Trust|University|College|School|Library|Park|"
    r"Street|Orchestra|Ensemble|Cent(?:er|re)|Theat(?:er|re)|Stadium|Memorial|Society|Fund)$"
)
_QUARTERS = re.compile(r"^(?:South|North|Latin|Central|New|Papua|Equatorial)$")
_ORDINALS = re.compile(
    r"^(?:First|Second|Third|Fourth|Fifth|Old|Middle|Late|Early|The|In|At|From)$"
)
_PARTICLES = {"of", "the", "de", "von", "van", "da", "di", "la", "le", "du", "del", "der", "den",
              "and", "ibn", "bin", "al", "el", "y", "zu", "af"}  # fmt: skip
_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
)
_DAY_BEFORE = re.compile(rf"(?:\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}|{_MONTH} \d{{1,2}}),? $")
_MONTH_BEFORE = re.compile(rf"{_MONTH},? (?:of )?$")
_LIFE_DASH = re.compile(r"[–—]|(?<=[\w.,])-\s|\s-|(?<=[^\W\d])-(?=[A-Z]\w+ \d)")


class ObjectName(NamedTuple):
    """A name of the object: spelling, normalized words, and whether it is a demonym."""

    text: str
    norm: str
    demonym: bool


class ObjectHit(NamedTuple):
    """A name found in a sentence: the first and last word of it, and its fault ("" if none)."""

    sent_id: int
    first: int
    last: int
    name: ObjectName
    worded: bool
    fault: str

    @property
    def norm(self) -> str:
        """The normalized words."""
        return self.name.norm


class SubjectPage:
    """The sentences of a subject's page, read once.

    Args:
        sentences: the page's sentences.
        own_names: what the subject is called: label, title, title without its bracket.
    """

    def __init__(self, sentences: Sequence[str], own_names: Iterable[str]) -> None:
        self.sentences = [TextWords(text) for text in sentences]
        self._own_names = [TextWords(name).words for name in own_names]
        self._own: dict[int, list[tuple[int, int]]] = {}

    def hits(self, relation: str, names: Sequence[ObjectName]) -> Iterator[ObjectHit]:
        """Find every place of the page that names the object."""
        for sent_id, sentence in enumerate(self.sentences):
            for name in names:
                for first, last in sentence.find(name.norm.split()):
                    fault = self._fault(sent_id, first, last, name, relation, names)
                    worded = _is_worded(sentence, first, last, sent_id, relation)
                    yield ObjectHit(sent_id, first, last, name, worded, fault)

    def _fault(
        self,
        sent_id: int,
        first: int,
        last: int,
        name: ObjectName,
        relation: str,
        names: Sequence[ObjectName],
    ) -> str:
        if any(one <= first and last <= two for one, two in self._own_spans(sent_id)):
            return OWN_NAME
        sentence = self.sentences[sent_id]
        if not sentence.raw(first)[:1].isupper():
            return ""  # a common noun
        return LONGER_NAME if _in_longer_name(sentence, first, last, name, relation, names) else ""

    def _own_spans(self, sent_id: int) -> list[tuple[int, int]]:
        """Return where a sentence has the subject's own name, by its first and last word."""
        spans = self._own.get(sent_id)
        if spans is None:
            sentence = self.sentences[sent_id]
            spans = [span for name in self._own_names if name for span in sentence.find(name)]
            if sent_id == 0:
                spans.append((0, _heading_end(sentence)))
            self._own[sent_id] = spans
        return spans


def _heading_end(sentence: TextWords) -> int:
    """Return the last word of the name that begins a summary ("Robin Hugh Gibb (born ...")."""
    end = -1
    for place in range(len(sentence.words)):
        raw = sentence.raw(place)
        joined = place == 0 or bool(re.fullmatch(r"[ .'’\"“”-]*", sentence.gap(place)))
        if not joined or not (raw[:1].isupper() or raw in _PARTICLES):
            break
        if raw[:1].isupper():
            end = place
    return end


def _in_longer_name(
    sentence: TextWords,
    first: int,
    last: int,
    name: ObjectName,
    relation: str,
    names: Sequence[ObjectName],
) -> bool:
    """Whether a hit is part of a longer name that is not the object's own."""
    adjective = name.demonym or relation in COUNTRIES
    before, after = _name_start(sentence, first), _name_end(sentence, last)
    if (before, after) != (first, last):
        longer = "".join(sentence.words[before : after + 1])
        if any("".join(other.norm.split()) == longer for other in names):
            return False
    if after > last and not _is_apart(sentence, last, after, name, relation):
        return True
    if relation not in _PEOPLE | {"country"} and _possessed_name(sentence, last):
        return True
    if relation == "country of citizenship" and sentence.raw(first - 1) == "s":
        return True  # "of Oru's British collective"
    if before < first and adjective:
        return _QUARTERS.match(sentence.raw(first - 1)) is not None
    if before < first and (first == last or relation in _PLACES):
        previous = sentence.raw(first - 1)
        return not (_TITLES.match(previous) or _ORDINALS.match(previous))
    return relation in _PLACES and _named_after(sentence, first, relation)


def _name_start(sentence: TextWords, first: int) -> int:
    while first > 1 and sentence.raw(first - 1)[:1].isupper() and _JOINT.match(sentence.gap(first)):
        first -= 1
    return first


def _name_end(sentence: TextWords, last: int) -> int:
    while last + 1 < len(sentence.words):
        gap = sentence.gap(last + 1)
        if not sentence.raw(last + 1)[:1].isupper() or not _JOINT.match(gap) or "'" in gap:
            break
        last += 1
    return last


def _is_apart(sentence: TextWords, last: int, after: int, name: ObjectName, relation: str) -> bool:
    """Whether the capitalized words after a hit are not of its name."""
    following = sentence.raw(last + 1)
    if _TITLES.match(following) or "-" in sentence.gap(last + 1):
        return True
    if relation in ("employer", "educated at"):
        return _PARTS.match(following) is not None
    if relation in _PLACES:
        return _FEATURES.match(following) is not None
    if relation == "award received":
        return following == "Award"
    if relation in _PEOPLE:  # "Simon Yuen Siu-tien": a fuller name; "Antiochus I": another one
        fuller = " " in name.norm.strip() and not following.isupper()
        return fuller and _INSTITUTIONS.match(following) is None
    if name.demonym or relation in COUNTRIES:
        # "an American Congregational clergyman" is an adjective, "American Samoa." a name
        follows = after + 1 < len(sentence.words) and sentence.gap(after + 1) in (" ", "- ", "-")
        return follows and sentence.raw(after + 1) not in _PARTICLES | {"in", "at", "on", "from"}
    return False


def _possessed_name(sentence: TextWords, last: int) -> bool:
    """Whether "'s" and a capitalized word follow ("Oru's Best High Schools")."""
    if last + 2 >= len(sentence.words) or sentence.raw(last + 1) != "s":
        return False
    return sentence.gap(last + 1) in ("'", "’") and sentence.raw(last + 2)[:1].isupper()


def _named_after(sentence: TextWords, first: int, relation: str) -> bool:
    """Whether a capitalized word and "of" stand before a name ("Tower of London")."""
    of = first - 2 if first > 1 and sentence.raw(first - 1) == "the" else first - 1
    if of < 2 or sentence.raw(of) not in ("of", "de", "for", "du", "del"):
        return False
    head, later = sentence.raw(of - 1), range(of, first + 1)
    if not head[:1].isupper() or any(sentence.gap(place) != " " for place in later):
        return False
    if _AREAS.match(head):
        return False
    return relation in _PLACES or not (_REGIONS.match(head) or _TITLES.match(head))


def _is_worded(sentence: TextWords, first: int, last: int, sent_id: int, relation: str) -> bool:
    """Whether the words around a hit state the relation."""
    start, end = sentence.span(first, last)
    text = sentence.text
    if _is_listed(sentence, first, last, relation):
        return False
    if relation in _PEOPLE and _passive(relation).search(text, 0, start):
        return True
    if _is_of_another(sentence, first, last, relation):
        return False
    if relation in COUNTRIES and sent_id == 0:
        return True
    pattern = words_of_relation(relation)
    if pattern is None:
        return True
    nearest = None
    for match in pattern.finditer(text, 0, start):
        nearest = match
    opened = text.rfind("(", 0, start)
    if opened > max(text.rfind(")", 0, start), nearest.start() if nearest else -1) and re.search(
        r"\d{3}", text[opened : text.find(")", opened) + 1 or len(text)]
    ):  # the years of a life: its place of birth before the dash, that of its death after it
        dead = _LIFE_DASH.search(text, opened, start) is not None
        return relation == ("place of death" if dead else "place of birth")
    reach = 40 if nearest is None else 60 if _WHERE.match(text, end) else 2
    following = pattern.search(text, end, end + reach)
    if nearest is None or following is not None:
        return following is not None and following[1] is not None
    if nearest[1] is None or relation not in _PLACES:
        return nearest[1] is not None
    between = text[nearest.end() : start]  # of the same clause, not of a parenthesis before it
    return len(between) <= _CLAUSE and between.count(")") <= between.count("(")


def _is_of_another(sentence: TextWords, first: int, last: int, relation: str) -> bool:
    """Whether the object is named for another thing's sake: of its name, or of an office."""
    start, end = sentence.span(first, last)
    before, after = sentence.text[:start], sentence.text[end:]
    if relation not in COUNTRIES | _PEOPLE:
        return relation == "award received" and _NOMINATED.match(after) is not None
    if _named_after(sentence, _name_start(sentence, first), relation):
        return True  # "the National Film Board of Oru"
    if relation == "country" and _possessed_name(sentence, last):
        boasts = _BOASTS.match(sentence.raw(last + 2)) is not None
        return boasts or not _WITHIN.search(before)  # "in Oru's Sel Valley" is a place
    if relation == "country of citizenship":  # "Oru's first ambassador"
        return bool(_OFFICE_AFTER.match(after) or _OFFICE_BEFORE.search(before))
    return False


def _is_listed(sentence: TextWords, first: int, last: int, relation: str) -> bool:
    """Whether the object is one of several, of which the text may name more than Wikidata."""
    start, end = sentence.span(first, last)
    text = sentence.text
    if relation == "has part":
        return " and " in text[end:]
    if relation == "country of citizenship":  # "a French-American director"
        ends = text[max(0, start - 3) : start], text[end : end + 3]
        return bool(re.search(r"[a-z]- ?$", ends[0]) or re.match(r"- ?[A-Z]", ends[1]))
    if relation in ("educated at", "employer", "award received"):
        return bool(
            _LISTED.match(text[end:]) or re.search(r"[A-Z]\w+,? and (?:the )?$", text[:start])
        )
    return False


@cache
def _passive(relation: str) -> re.Pattern[str]:
    """Return the pattern of "directed, written and produced by" before a name."""
    words = words_of_relation(relation)
    own = words.pattern.split(")")[0].removeprefix("\\b(") if words else relation
    return re.compile(rf"\b(?:{own})\w*(?:,? and [a-z-]+|, (?:and )?[a-z-]+)+ by (?:\S+ )?$")


def best_hit(
    hits: Iterable[ObjectHit], names: Sequence[ObjectName], *, worded: bool
) -> ObjectHit | None:
    """Return the hit that supports a fact best: sound, in the relation's words, early.

    Args:
        hits: all hits.
        names: the object's names, preferred ones first.
        worded: whether the relation's own words count before the order of the sentences.
    """
    order = {name: place for place, name in enumerate(names)}
    return min(
        hits,
        key=lambda hit: (
            bool(hit.fault), worded and not hit.worded, hit.sent_id, hit.first, order[hit.name],
            -len(hit.norm), hit.norm,
        ),
        default=None,
    )  # fmt: skip


def is_coarse(sentence: TextWords, norm: str, *, months: bool) -> bool:
    """Whether the text writes a fuller date around a bare year.

    Args:
        sentence: the supporting sentence.
        norm: the words of the date.
        months: whether a month alone makes the date fuller.
    """
    if not norm.strip().isdecimal():
        return False
    for first, last in sentence.find(norm.split())[:1]:
        before = sentence.text[: sentence.span(first, last)[0]]
        return bool(_DAY_BEFORE.search(before) or (months and _MONTH_BEFORE.search(before)))
    return False
