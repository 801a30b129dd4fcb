"""The relations of the paper with their Wikidata ids, the logical rules, the entity types.

Sources: the paper's Tables 9 and 10 and appendix A.4. Data only; the queries read these tables.
"""

from __future__ import annotations

from typing import NamedTuple

INSTANCE_OF, SEX, DEMONYM = 31, 21, 1549
MALE, FEMALE, HUMAN = 6581097, 6581072, 5
FEMALE_KINDS = (FEMALE, 1052281)  # female, trans woman
MALE_KINDS = (MALE, 2449503)  # male, trans man

ITEM_RELATIONS = {
    57: "director",
    162: "producer",
    86: "composer",
    175: "performer",
    170: "creator",
    98: "editor",
    371: "presenter",
    123: "publisher",
    176: "manufacturer",
    527: "has part",
    112: "founded by",
    22: "father",
    25: "mother",
    26: "spouse",
    40: "child",
    3373: "sibling",
    19: "place of birth",
    20: "place of death",
    119: "place of burial",
    2632: "place of detention",
    509: "cause of death",
    27: "country of citizenship",
    17: "country",
    495: "country of origin",
    106: "occupation",
    69: "educated at",
    1066: "student of",
    108: "employer",
    166: "award received",
    184: "doctoral advisor",
    185: "doctoral student",
    101: "field of work",
    140: "religion",
}
TIME_RELATIONS = {
    569: "date of birth",
    570: "date of death",
    577: "publication date",
    571: "inception",
}
RELATIONS = {**ITEM_RELATIONS, **TIME_RELATIONS}
P = {name: number for number, name in RELATIONS.items()}
COUNTRY_RELATIONS = (P["country of citizenship"], P["country"], P["country of origin"])
# Works say the year of their release; a bare year is no birthday.
YEAR_RELATIONS = (P["publication date"], P["inception"])

FIRST_RELATIONS = (
    "composer", "creator", "director", "editor", "father", "founded by", "has part",
    "manufacturer", "mother", "performer", "presenter", "producer", "spouse", "publisher",
)  # fmt: skip
SECOND_RELATIONS = (
    "date of birth", "date of death", "place of birth", "country of citizenship",
    "place of death", "cause of death", "spouse", "occupation", "educated at", "award received",
    "father", "place of burial", "child", "employer", "religion", "field of work", "mother",
    "inception", "country", "founded by", "student of", "place of detention",
)  # fmt: skip


class Rule(NamedTuple):
    """One line of Table 10: (e, r1, b) and (b, r2, a) give (e, word, a).

    `direct` is the relation that e may state about a; `inverse` says that a's own father or
    mother decides instead. Confirmed gives `word`, contradicted gives `otherwise` ("" drops it),
    unstated gives `word`, or drops the candidate when `must_be_stated`. A "/" parts the male from
    the female word.
    """

    r1: str
    r2: str
    word: str
    direct: str = ""
    otherwise: str = ""
    inverse: bool = False
    must_be_stated: bool = False


RULES = (
    Rule("spouse", "spouse", "co-husband/co-wife"),
    Rule("spouse", "father", "father-in-law"),
    Rule("spouse", "mother", "mother-in-law"),
    Rule("spouse", "sibling", "sibling-in-law"),
    Rule("spouse", "child", "child", "child", "stepchild", inverse=True),
    Rule("father", "father", "paternal grandfather"),
    Rule("father", "mother", "paternal grandmother"),
    Rule("father", "spouse", "mother", "mother", "stepmother"),
    Rule("father", "child", "sibling"),
    Rule("father", "sibling", "uncle/aunt"),
    Rule("mother", "mother", "maternal grandmother"),
    Rule("mother", "father", "maternal grandfather"),
    Rule("mother", "spouse", "father", "father", "stepfather"),
    Rule("mother", "child", "sibling"),
    Rule("mother", "sibling", "uncle/aunt"),
    Rule("child", "child", "grandchild"),
    Rule("child", "sibling", "child", "child", "", inverse=True),
    Rule("child", "mother", "wife", "spouse"),
    Rule("child", "father", "husband", "spouse"),
    Rule("child", "spouse", "child-in-law"),
    Rule("sibling", "sibling", "sibling"),
    Rule("sibling", "spouse", "sibling-in-law"),
    Rule("sibling", "mother", "mother", "mother"),
    Rule("sibling", "father", "father", "father"),
    Rule("doctoral student", "educated at", "employer", "employer", must_be_stated=True),
    Rule("doctoral student", "field of work", "field of work", "field of work",
         must_be_stated=True),
    Rule("doctoral advisor", "employer", "educated at", "educated at", must_be_stated=True),
    Rule("doctoral advisor", "field of work", "field of work", "field of work",
         must_be_stated=True),
)  # fmt: skip


class EntityType(NamedTuple):
    """A kind of entity that templates know: its nouns and the Wikidata classes that are it."""

    name: str
    plural: str
    classes: tuple[int, ...]


ENTITY_TYPES = (
    EntityType("human", "people", (HUMAN,)),
    EntityType("animated feature film", "animated feature films", (29168811, 202866)),
    EntityType(
        "film",
        "films",
        (11424, 24862, 506240, 226730, 93204, 24869, 20442589, 24856, 17517379, 21191270),
    ),
    EntityType("song", "songs", (7366, 134556, 105543609, 207628, 55850593)),
    EntityType("album", "albums", (482994, 208569, 169930, 209939, 222910, 4176708)),
    EntityType("musical group", "bands", (215380, 5741069, 2088357, 281643, 641066, 9212979)),
    EntityType("television program", "television programs", (15416, 5398426, 1259759, 581714)),
    EntityType("university", "universities", (3918, 902104, 875538, 23002054, 23002039, 15936437)),
    EntityType("high school", "high schools", (9826, 159334)),
    EntityType("school", "schools", (3914, 9842, 38723, 1244442, 423208)),
    EntityType("film production company", "film production companies", (1762059, 375336)),
    EntityType("magazine", "magazines", (41298, 737498, 1002697)),
    EntityType("newspaper", "newspapers", (11032, 1110794, 2305295)),
    EntityType("candy", "candies", (134041, 185583)),
    EntityType("literary work", "literary works", (7725634, 8261, 571, 49084, 277759, 149537)),
    EntityType("written work", "written works", (47461344,)),
    EntityType("museum", "museums", (33506, 207694, 17431399)),
    EntityType("airport", "airports", (1248784, 644371, 62447, 695850)),
    EntityType("railway station", "stations", (55488, 55678, 928830, 22808403)),
    EntityType("church building", "churches", (16970, 120560, 2977, 163687)),
    EntityType("business", "businesses", (4830453, 783794, 891723, 6881511, 18127, 167037)),
    EntityType("building", "buildings", (41176, 811979, 1021645, 3947)),
    EntityType("mountain", "mountains", (8502, 46831, 207326)),
    EntityType("river", "rivers", (4022, 355304, 47521)),
    EntityType("island", "islands", (23442, 33837)),
    EntityType("lake", "lakes", (23397, 131681)),
    EntityType("village", "villages", (532, 5084, 13100073, 56436498, 486972)),
)
TYPE_OF_CLASS = {qid: kind.name for kind in ENTITY_TYPES for qid in kind.classes}
PLURALS = {kind.name: kind.plural for kind in ENTITY_TYPES}
# The types whose members carry a noun in a compositional question ("the director of film X").
START_TYPES = (
    "human", "film", "animated feature film", "album", "university", "film production company",
    "business", "television program", "candy", "written work", "literary work", "musical group",
    "song", "magazine", "newspaper",
)  # fmt: skip

PLACE_TYPES = ("high school", "school", "university", "mountain", "river", "island", "lake",
               "village", "museum", "airport", "railway station", "business", "building",
               "church building")  # fmt: skip
INCEPTION_TYPES = ("museum", "airport", "magazine", "railway station", "business", "building",
                   "church building", "musical group", "school", "high school", "university",
                   "newspaper")  # fmt: skip


class Comparable(NamedTuple):
    """One cell of Table 9: members of a type may be compared by this property."""

    type: str
    relation: str
    kind: str  # date, age, same, count


COMPARABLES = (
    Comparable("human", "date of birth", "date"),
    Comparable("human", "date of death", "date"),
    Comparable("human", "age", "age"),
    Comparable("human", "occupation", "same"),
    Comparable("human", "country of citizenship", "same"),
    Comparable("human", "place of birth", "same"),
    Comparable("film", "publication date", "date"),
    Comparable("film", "director", "count"),
    Comparable("film", "producer", "count"),
    Comparable("film", "country of origin", "same"),
    Comparable("album", "publication date", "date"),
    Comparable("album", "producer", "count"),
    Comparable("musical group", "inception", "date"),
    Comparable("musical group", "country of origin", "same"),
    Comparable("song", "publication date", "date"),
    Comparable("magazine", "country", "same"),
    *(Comparable(kind, "inception", "date") for kind in INCEPTION_TYPES if kind != "musical group"),
    *(Comparable(kind, "country", "same") for kind in PLACE_TYPES),
    # Groups outside the table that are popular enough are compared by what every place has.
    Comparable("", "country", "same"),
    Comparable("", "inception", "date"),
)
