"""What people did: occupations, names, studies, employers, teachers, religions, prizes, deaths.

In: families and places. Out: `Careers`, one column per fact, by person. Somebody is a scholar's
student only if both were alive and the student graduated from the scholar's university.
"""

from __future__ import annotations

from array import array
from collections import defaultdict

from twowiki.worlds.names import Tongue
from twowiki.worlds.nobles import Houses
from twowiki.worlds.people import NOBODY, People
from twowiki.worlds.random_draws import Chance
from twowiki.worlds.registry import Country, Registry, WorldPlace
from twowiki.worlds.settings import WorldConfig
from twowiki.worlds.vocabulary import CAUSES, OCCUPATIONS

_NAMES = tuple(OCCUPATIONS)
_LATE_FOR_WOMEN = dict.fromkeys(
    ("priest", "officer", "footballer", "cyclist"), 1930
)  # the first years of birth
ARTISTS = ("painter", "sculptor", "composer", "pianist", "singer")
_NOWHERE = -1
_FIRST_CARS = 1905
_CURED = ("typhus", "scarlet fever", "malaria", "tuberculosis"), 1955  # rarely fatal since


class Careers:
    """Columns by person, of entities but for advisor and teacher; -1 where there is none."""

    def __init__(self, people: int) -> None:
        self.entity = array("i", [NOBODY]) * people
        self.occupation: list[tuple[str, ...]] = []
        self.surnames: list[str] = []
        self.short_names: dict[int, str] = {}  # of members of noble houses
        self.education = array("i", [_NOWHERE]) * people
        self.employer = array("i", [_NOWHERE]) * people
        self.field = array("i", [_NOWHERE]) * people
        self.advisor = array("i", [NOBODY]) * people  # persons
        self.teacher = array("i", [NOBODY]) * people  # persons
        self.award = array("i", [_NOWHERE]) * people
        self.deathplace = array("i", [_NOWHERE]) * people
        self.burial = array("i", [_NOWHERE]) * people
        self.detention = array("i", [_NOWHERE]) * people
        self.cause = array("i", [_NOWHERE]) * people
        self.religion = array("i", [_NOWHERE]) * people
        self.students: dict[int, list[int]] = {}
        self.by_occupation: dict[str, list[int]] = defaultdict(list)

    def of(self, *occupations: str) -> list[int]:
        """Return everyone whose first occupation is one of these, by birth."""
        if len(occupations) == 1:
            return self.by_occupation[occupations[0]]
        return sorted(person for name in occupations for person in self.by_occupation[name])


def choose_occupations(config: WorldConfig, people: People) -> Careers:
    """Draw everyone's occupation; children sometimes have a parent's."""
    careers = Careers(len(people))
    weights = [occupation.weight for occupation in OCCUPATIONS.values()]
    for person in range(len(people)):
        chance = Chance(config.seed, "occupation", person)
        born = people.birth_year(person)
        parent = people.father[person] if chance.per_mille(600) else people.mother[person]
        chosen = ""
        if parent != NOBODY and chance.per_mille(180):
            chosen = careers.occupation[parent][0]
        female = people.female[person]
        while not chosen or born < _first_birth(chosen, female):
            chosen = _NAMES[chance.weighted(weights)]
        also = OCCUPATIONS[chosen].also
        second = chance.pick(also) if also and chance.per_mille(280) else ""
        if second and born < _first_birth(second, female):
            second = ""
        careers.occupation.append((chosen, second) if second else (chosen,))
        careers.by_occupation[chosen].append(person)
    return careers


def _first_birth(occupation: str, female: int) -> int:
    """Return the first year of birth of those who have an occupation."""
    earliest = OCCUPATIONS[occupation].earliest
    return max(earliest, _LATE_FOR_WOMEN.get(occupation, 0)) if female else earliest


def name_people(
    config: WorldConfig,
    people: People,
    careers: Careers,
    tongues: list[Tongue],
    countries: list[Country],
    registry: Registry,
) -> None:
    """Name everyone: the father's surname, one or two given names of the country."""
    labels: set[str] = set()
    houses = Houses(config, people, countries, registry)
    for person in range(len(people)):
        chance = Chance(config.seed, "name", person)
        tongue = tongues[people.country[person]]
        father = people.father[person]
        known = father != NOBODY
        surname = careers.surnames[father] if known else chance.pick_early(tongue.surnames)
        careers.surnames.append(surname)
        stock = tongue.given[people.female[person]]
        given = _given_name(stock, _names_at_home(person, people, careers, registry), chance)
        while config.unique_names and f"{given} {surname}" in labels:
            given = _with_another(given, stock, chance)
        label = f"{given} {surname}"
        labels.add(label)
        if person in houses.of:
            careers.entity[person] = _add_noble(person, given, houses, careers, registry, chance)
            continue
        occupation = OCCUPATIONS[careers.occupation[person][0]].label
        country = countries[people.country[person]]
        seat = (
            chance.pick(country.cities) if occupation == OCCUPATIONS["nobleman"].label else NOBODY
        )
        title = _styled(label, seat, people.female[person], registry, chance)
        careers.entity[person] = registry.add(
            "human",
            label,
            waits=True,
            title=title,
            aliases=_other_names(person, given, people, careers, chance),
            inside=() if seat == NOBODY else (seat,),
        )
    first = careers.entity[0]

    def brackets_of(entity: int) -> tuple[str, ...]:
        person = entity - first
        occupation = OCCUPATIONS[careers.occupation[person][0]].label
        demonym, year = countries[people.country[person]].demonym, people.birth_year(person)
        return (occupation, f"{demonym} {occupation}", f"{occupation}, born {year}",
                f"{demonym} {occupation}, born {year}")  # fmt: skip

    registry.settle(careers.entity, brackets_of)


def _add_noble(
    person: int, given: str, houses: Houses, careers: Careers, registry: Registry, chance: Chance
) -> int:
    """Add a member of a house, named by rank and seat in every text; return the entity."""
    name = houses.name(person, given, careers.surnames[person], chance)
    careers.short_names[person] = name.short
    return registry.add(
        "human", name.full, waits=True, aliases=name.aliases, inside=(houses.of[person].seat,)
    )


def _names_at_home(
    person: int, people: People, careers: Careers, registry: Registry
) -> tuple[set[str], set[str]]:
    """Return the names of somebody's parents, and the first names of older siblings."""
    parents = [who for who in (people.father[person], people.mother[person]) if who != NOBODY]
    older = [child for parent in parents for child in people.children[parent] if child < person]
    labels = registry.labels
    return (
        {labels[careers.entity[who]].split(" " + careers.surnames[who])[0] for who in parents},
        {labels[careers.entity[child]].split()[0] for child in older},
    )


def _given_name(stock: list[str], at_home: tuple[set[str], set[str]], chance: Chance) -> str:
    """Draw one or two given names: neither a parent's, nor those of an older sibling."""
    parents, siblings = at_home
    for _ in range(20):
        given = chance.pick(stock)
        first = given
        if chance.per_mille(370):
            given = _with_another(given, stock, chance)
        if given not in parents and first not in siblings:
            break
    return given


def _with_another(given: str, stock: list[str], chance: Chance) -> str:
    """Return given names with one more: another one, as long as there are others."""
    others = [name for name in stock if name not in given.split()]
    return f"{given} {chance.pick(others or stock)}"


_RANKS = (("Count", "Countess"), ("Duke", "Duchess"), ("Baron", "Baroness"), ("Prince", "Princess"))


def _styled(label: str, seat: int, female: int, registry: Registry, chance: Chance) -> str:
    """Return the title of a person's page: the name, an aristocrat's with rank and seat."""
    if seat == NOBODY:
        return label
    number = ("", "", "2nd ", "3rd ", "4th ")[chance.below(5)]
    return f"{label}, {number}{chance.pick(_RANKS)[female]} of {registry.labels[seat]}"


def _other_names(
    person: int, given: str, people: People, careers: Careers, chance: Chance
) -> tuple[str, ...]:
    """Return initials, a married name: names that texts may use instead."""
    surname, (first, *middle) = careers.surnames[person], given.split()
    other = f"{first[0]}. {surname}"
    if middle and chance.per_mille(500):
        other = f"{first} {middle[0][0]}. {surname}"
    spouse = people.spouse[person]
    if people.female[person] and NOBODY < spouse < person and chance.per_mille(300):
        return (other, f"{first} {careers.surnames[spouse]}")
    return (other,) if chance.per_mille(400) else ()


def name_ends(
    config: WorldConfig, people: People, careers: Careers, countries: list[Country],
    registry: Registry, standing: dict[str, dict[int, list[WorldPlace]]],
) -> None:  # fmt: skip
    """Draw where and why people died, where they are buried, their religion."""
    causes = [registry.add("cause of death", name, page=False) for name in CAUSES]
    faiths = _found_religions(countries, registry)
    for person in range(len(people)):
        chance = Chance(config.seed, "end", person)
        if chance.per_mille(70):
            careers.religion[person] = chance.pick(faiths)
        country = people.country[person]
        if chance.per_mille(18):
            year = people.birth_year(person) + 22
            careers.detention[person] = _one_of(standing["prison"], country, year, chance)
        if not people.died[person]:
            continue
        last = people.last_year(person)
        if chance.per_mille(170):
            country = chance.below(len(countries))
        careers.deathplace[person] = chance.pick(countries[country].cities)
        if chance.per_mille(130):
            careers.cause[person] = chance.pick(_causes_of(last, causes))
        if chance.per_mille(140):
            kind = "cemetery" if chance.per_mille(600) else "church"
            careers.burial[person] = _one_of(standing[kind], country, last, chance)


def _causes_of(year: int, causes: list[int]) -> list[int]:
    """Return the causes of which people died in a year: of typhus long ago, by cars since."""
    old, until = _CURED
    return [
        cause
        for cause, name in zip(causes, CAUSES, strict=True)
        if (year <= until or name not in old) and (year > _FIRST_CARS or cause != causes[-1])
    ]


def _found_religions(countries: list[Country], registry: Registry) -> list[int]:
    kinds = ("Old {} Rite", "{} Reformed Church", "{} Orthodox Church")
    return [
        registry.add("religion", form.format(country.demonym), page=False, inside=(country.entity,))
        for country, form in zip(countries, kinds * len(countries), strict=False)
    ]


def _one_of(places: dict[int, list[WorldPlace]], country: int, year: int, chance: Chance) -> int:
    """Return a place of the country that was there in a year."""
    near = [place for place in places.get(country, ()) if place.founded // 10000 < year]
    return chance.pick(near).entity if near else _NOWHERE


def teach(
    config: WorldConfig, people: People, careers: Careers, registry: Registry,
    standing: dict[str, dict[int, list[WorldPlace]]],
) -> None:  # fmt: skip
    """Draw schools, employers and fields, and the students of scholars and artists."""
    fields = {name: registry.add("field of work", name, page=False)
              for known in OCCUPATIONS.values() for name in known.fields}  # fmt: skip
    for person in range(len(people)):
        chance = Chance(config.seed, "study", person)
        occupation = careers.occupation[person][0]
        year, country = people.birth_year(person), people.country[person]
        hired = min(year + 32, people.last_year(person) - 1)
        if OCCUPATIONS[occupation].fields:
            careers.employer[person] = _open(standing["university"], country, hired, chance)
            _find_advisor(person, people, careers, chance)
            if careers.advisor[person] != NOBODY and chance.per_mille(700):
                careers.field[person] = careers.field[careers.advisor[person]]
            else:
                careers.field[person] = fields[chance.pick(OCCUPATIONS[occupation].fields)]
        elif occupation == "journalist" or (occupation == "novelist" and chance.per_mille(200)):
            kind = "newspaper" if chance.per_mille(500) else "magazine"
            careers.employer[person] = _open(standing[kind], country, hired - 2, chance)
        elif occupation in ("lawyer", "entrepreneur") and chance.per_mille(350):
            careers.employer[person] = _open(standing["business"], country, hired, chance)
        if occupation in ARTISTS and chance.per_mille(330):
            _find_teacher(person, people, careers, chance)
        if careers.education[person] == _NOWHERE and chance.per_mille(480):
            kind = ("university", "high school", "school")[chance.weighted((5, 3, 2))]
            careers.education[person] = _open(standing[kind], country, year + 18, chance)


def _open(places: dict[int, list[WorldPlace]], country: int, year: int, chance: Chance) -> int:
    """Return a place that was open then, mostly in the country."""
    if chance.per_mille(200) and places:
        country = chance.pick(sorted(places))
    near = [place for place in places.get(country, ()) if place.founded // 10000 < year]
    return chance.pick(near).entity if near else _NOWHERE


def _find_advisor(person: int, people: People, careers: Careers, chance: Chance) -> None:
    """Draw an older scholar of the same field who taught when the person was in their twenties."""
    year = people.birth_year(person)
    occupation = careers.occupation[person][0]
    peers = careers.by_occupation[occupation]
    for _ in range(12):
        other = chance.pick(peers)
        fits = 16 <= year - people.birth_year(other) <= 45 and people.last_year(other) > year + 26
        if fits and careers.employer[other] != _NOWHERE:
            pupils = careers.students.setdefault(other, [])
            if len(pupils) < 4:
                pupils.append(person)
                careers.advisor[person] = other
                careers.education[person] = careers.employer[other]
            return


def _find_teacher(person: int, people: People, careers: Careers, chance: Chance) -> None:
    year = people.birth_year(person)
    kin = (people.father[person], people.mother[person], people.spouse[person])
    peers = careers.by_occupation[careers.occupation[person][0]]
    for _ in range(8):
        other = chance.pick(peers)
        fits = 12 <= year - people.birth_year(other) <= 50 and people.last_year(other) > year + 20
        if fits and other not in kin:
            careers.teacher[person] = other
            return
