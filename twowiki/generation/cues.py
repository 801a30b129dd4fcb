"""The words by which English states a relation, for choosing the sentence that supports a fact.

In: a relation. Out: a pattern of its words, and one of words that speak of something else: in "born
in Oru, he moved to Ton" the last word before Ton is "moved", so Ton is no place of birth. Data.
"""

from __future__ import annotations

import re
from functools import cache

_PARENT = "son|daughter|child|father|mother|parent|heir|offspring|issue|born to|born as"
_KIN = "grand|great-|nephew|niece|uncle|aunt|cousin|descend|successor|succeeded by"
_MARRIAGE = "marri|marry|wife|husband|spouse|consort|wed|widow|empress|queen of|partner"
_SIBLING = "brother|sister|sibling|twin"
_BIRTH = "born and (?:raised|brought up|grew up)|born|birth|native|hail"
_DEATH = "died|dies|death|dead|killed|drown|execut|assassin|murder"
_BURIAL = "buried|burial|interred|grave|cemetery|tomb|mausoleum"
_PRISON = "prison|held|jail|detain|detention|incarcerat|held captive|camp"
_STUDY = "stud|went to|educat|graduat|attend|degree|alumn|enrol|school|college|pupil"
_ADVICE = "doctora|advis|supervis|thesis|dissertation|ph\\.? ?d|under"
_MOVES = (
    "rais|grew|grow|mov|emigrat|immigrat|lived|lives|living|settle|fled|based|theatre|rul|reign|"
    "king of|queen of|work|buses|appear|farm|career"
)
_CREDITS = "starr|stars|written|writ|wrote|screenplay|novel|based on|photograph|edited|distribut"
_WORDS = {
    "director": "direct|filmmak|film-? ?mak|helm|film by|documentary by|shot by|made by|artist",
    "producer": "produc",
    "composer": "compos|music|score|soundtrack|written|writ|wrote|song by|theme",
    "performer": "perform|sung|sing|song|record|single|album|track|releas|hit|artist|band|debut",
    "creator": "creat|written|writ|wrote|author|design|paint|sculpt|made by|develop",
    "editor": "edit",
    "presenter": "present|host|anchor|moderat",
    "publisher": "publish|issued",
    "manufacturer": "manufactur|made by|produc|built",
    "has part": "member|form|consist|compris|includ|trio|duo|quartet|band|vocal|guitar|drum|bass|"
    "keyboard|lineup|line-up|compos",
    "founded by": "found|establish|creat|start|launch|set up",
    "father": _PARENT,
    "mother": _PARENT,
    "child": _PARENT,
    "spouse": _MARRIAGE,
    "sibling": _SIBLING,
    "place of birth": _BIRTH,
    "place of death": _DEATH,
    "place of burial": _BURIAL,
    "place of detention": _PRISON,
    "cause of death": f"{_DEATH}|disease|illness|suicide|diagnos|cancer|succumb|suffer|had",
    "educated at": _STUDY,
    "student of": f"{_STUDY}|taught|train|disciple|apprentice|under",
    "employer": "work|career|spent|employ|profess|taught|teach|edit|lectur|dean|staff|report|join|"
    "serv|faculty|critic|research|coach|journalist|correspondent|associated with|president",
    "award received": "award|won|win|receiv|earn|prize|hono|medal|laureate|recipient|knighted",
    "doctoral advisor": _ADVICE,
    "doctoral student": f"{_ADVICE}|student",
    "field of work": "work|publish|field|research|known|speciali|is|was|stud",
    "religion": "religi|convert|faith|church|is|was",
    "occupation": "is|was|work|career|as",
    "country": "is an?|lies|lie|located|situated|stands|in|of|country|authorities",
    "country of origin": "film|movie|production|produc|made|shot|from|origin|written",
    "country of citizenship": "citizen|national|born|from|country|passport|as an?|is an?|was an?",
}
_BESIDE = {
    "director": f"{_CREDITS}|produc|music|score",
    "producer": f"{_CREDITS}|direct|music|score",
    "composer": "starr|stars|direct|screenplay|novel|produc|sung|perform",
    "performer": "written|writ|wrote|compos|produc|cover",
    "father": f"{_KIN}|{_MARRIAGE}|{_SIBLING}",
    "mother": f"{_KIN}|{_SIBLING}",
    "child": f"{_KIN}|{_SIBLING}",
    "spouse": f"{_KIN}|{_PARENT}|{_SIBLING}",
    "sibling": f"{_KIN}|{_PARENT}|{_MARRIAGE}",
    "place of birth": f"{_MOVES}|{_DEATH}|{_BURIAL}|{_STUDY}",
    "place of death": f"{_MOVES}|{_BIRTH}|{_BURIAL}|{_STUDY}",
    "place of burial": f"{_MOVES}|{_BIRTH}|{_DEATH}",
    "place of detention": f"{_MOVES}|{_BIRTH}|{_DEATH}",
    "award received": "nominat",
    "country": "scheduled|abroad|world",
    "country of origin": "scheduled|distribut|premier|screened",
    "country of citizenship": "first|tour|film|visit|member of|his|her",
    "educated at": "taught|teach|lectur|profess|born|died",
}


@cache
def words_of_relation(relation: str) -> re.Pattern[str] | None:
    """Return the pattern of a relation's words; None where any sentence that names both does.

    Group 1 is empty where the words are of something else.
    """
    words = _WORDS.get(relation)
    if words is None:
        return None
    own = "|".join(f"{word}\\b" if word in ("is", "was", "as", "had", "in", "of", "lie") else word
                   for word in words.split("|"))  # fmt: skip
    beside = _BESIDE.get(relation)
    rest = f"|\\b(?:{beside})" if beside else ""
    return re.compile(f"\\b({own}){rest}", re.IGNORECASE)
