"""Summaries of people: an opening sentence, then some of the known facts in a drawn order."""

from __future__ import annotations

import msgspec

from twowiki.models.text import bare_title
from twowiki.worlds.people import NOBODY
from twowiki.worlds.random_draws import NOW, Chance, write_date
from twowiki.worlds.sentences import NO_SLOT, NOTHING, Page, Slot
from twowiki.worlds.vocabulary import (
    FEMALE_ITEM,
    MALE_ITEM,
    PROPERTIES,
    read_word_list,
)
from twowiki.worlds.world import World


class _Texts(msgspec.Struct):
    openings_dead: tuple[str, ...]
    openings_living: tuple[str, ...]
    facets: dict[str, tuple[str, ...]]
    trivia: tuple[str, ...]
    trivia_dead: tuple[str, ...]
    career: tuple[str, ...]
    loose: tuple[str, ...]  # these name the object of a statement without stating it
    numbers: tuple[str, ...]
    known_for: tuple[str, ...]
    things: tuple[str, ...]
    sidelines: tuple[str, ...]
    ordinals: tuple[str, ...]


TEXTS = read_word_list("person_pages", _Texts)
# facet: how often (per mille) it is stated, where it is known
_STATED = {
    "parents": 260, "father": 330, "mother": 280, "spouse": 420, "child": 330, "sibling": 250,
    "birthplace": 330, "school": 420, "employer": 400, "award": 480, "advisor": 560,
    "student": 560, "teacher": 700, "field": 450, "religion": 800, "detention": 900,
}  # fmt: skip
# Whoever directed a film is a film director: Wikidata rarely states it, or nobody would ask.
_SHOWN = ("director", "producer", "composer", "singer", "musician", "presenter")
# relative, slot and its word, the age that the younger of both must have reached by then
_TOGETHER = (("father", "taught", "taught", 8), ("father", "under", "under", 22),
             ("mother", "read", "read", 6), ("sibling", "with", "with", 22))  # fmt: skip
_SHORT_ILLNESSES = ("pneumonia", "typhus", "influenza", "malaria", "scarlet fever", "sepsis")
_DIED_OF = {"a traffic collision": "in", "drowning": "by"}
_NEVER_RETIRE = ("nobleman", "philanthropist", "footballer", "cyclist")
_LATE = ("death", "cause", "burial")
_STATED_LATE = {"death": 420, "cause": 700, "burial": 800}
# relations that Wikidata often has where the summary does not (per mille)
_QUIET = {
    "father": 820, "mother": 760, "spouse": 700, "employer": 850, "school": 700, "field": 800,
    "birthplace": 750, "deathplace": 750, "advisor": 500, "student": 350, "award": 400,
}  # fmt: skip
_ALL_KNOWN = 420  # per mille: Wikidata has all children (siblings, marriages), not just one


class PersonWriter:
    """Writes the pages of a world's people."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.works_of: dict[int, tuple[int, int]] = {}
        self.first_awards = {place.entity: place.founded // 10000 for place in world.places
                             if place.kind == "award"}  # fmt: skip
        self.last_work: dict[int, int] = {}
        for work in world.works:
            for entities in work.roles.values():
                for entity in entities:
                    year = max(self.last_work.get(entity, 0), work.date // 10000)
                    self.last_work[entity] = year
            for role in ("director", "composer", "performer", "author", "cast"):
                for entity in work.roles.get(role, ())[:1]:
                    self.works_of.setdefault(entity, (work.entity, work.date // 10000))

    def write(self, person: int) -> Page:
        """Write a person's summary, with the statements of the entity."""
        world = self.world
        entity = world.careers.entity[person]
        page = Page(world.registry, entity, Chance(world.config.seed, "page", person))
        people = world.people
        sex = FEMALE_ITEM if people.female[person] else MALE_ITEM
        page.claims.append((PROPERTIES["sex"], -sex, 0))
        facts = self._facts(person, page)
        slots = self._words(person, page) | facts
        if facts.get("spouse", NO_SLOT).entity == self._entity(people.spouse[person]):
            slots["wed"] = Slot(str(people.wed[person]))
        openings = TEXTS.openings_dead if people.died[person] else TEXTS.openings_living
        page.add_sentence(openings, slots)
        self._body(page, slots, person)
        self._add_quiet(page, facts, person)
        return page

    def _entity(self, person: int) -> int:
        """Return a person's entity; `NOTHING` for nobody."""
        return NOTHING if person == NOBODY else self.world.careers.entity[person]

    def _name(self, page: Page, person: int, prop: str) -> Slot:
        """Return a person's name as a slot, sometimes another of their names."""
        registry, entity = self.world.registry, self.world.careers.entity[person]
        others = registry.aliases.get(entity, ())
        text = registry.labels[entity]
        if others and page.chance.percent(self.world.config.aliases):
            text = page.chance.pick(others)
        return Slot(text, entity, PROPERTIES[prop])

    def _facts(self, person: int, page: Page) -> dict[str, Slot]:
        """Return the facts about a person, by slot."""
        world, people, careers = self.world, self.world.people, self.world.careers
        chance, labels = page.chance, world.registry.labels
        facts: dict[str, Slot] = {}
        day_first = world.tongues[people.country[person]].day_first
        style = chance.below(100)
        for slot, date in (("born", people.born[person]), ("died", people.died[person])):
            if date and chance.per_mille(965):
                text = write_date(date, day_first, style)
                facts[slot] = Slot(text, prop=PROPERTIES[slot], date=date)
                if date % 100:
                    facts[f"{slot}_on"] = facts[slot]
        country = world.countries[people.country[person]]
        facts["nat"] = Slot(country.demonym, country.entity, PROPERTIES["citizenship"])
        facts["land"] = Slot(labels[country.entity], country.entity, PROPERTIES["citizenship"])
        if chance.per_mille(50):
            other = chance.pick(world.countries)
            if other is not country:
                facts["nat2"] = Slot(other.demonym, other.entity, PROPERTIES["citizenship"])
        for slot, name in zip(("occ", "occ2"), careers.occupation[person], strict=False):
            trade = world.trades[name]
            stated = name not in _SHOWN or chance.per_mille(250)
            facts[slot] = Slot(labels[trade], trade, PROPERTIES["occupation"] if stated else 0)
        for slot, prop, found in (
            ("birthplace", "birthplace", people.birthplace[person]),
            ("deathplace", "deathplace", careers.deathplace[person]),
            ("school", "education", careers.education[person]),
            ("employer", "employer", careers.employer[person]),
            ("award", "award", careers.award[person]),
            ("field", "field", careers.field[person]),
            ("religion", "religion", careers.religion[person]),
            ("detention", "detention", careers.detention[person]),
            ("cause", "cause", careers.cause[person]),
            ("burial", "burial", careers.burial[person]),
        ):  # fmt: skip
            if found >= 0:
                facts[slot] = Slot(labels[found], found, PROPERTIES[prop])
        if "cause" in facts and facts["cause"].text in _SHORT_ILLNESSES:
            facts["illness"] = facts["cause"]
        return facts | self._kin(person, page)

    def _kin(self, person: int, page: Page) -> dict[str, Slot]:
        people, careers, chance = self.world.people, self.world.careers, page.chance
        facts = {}
        spouse = people.spouse[person]
        if people.second_spouse[person] != NOBODY and chance.per_mille(500):
            spouse = people.second_spouse[person]
        children = people.children.get(person, [])
        siblings = people.siblings(person)
        students = careers.students.get(person, [])
        for slot, prop, who in (
            ("father", "father", people.father[person]),
            ("mother", "mother", people.mother[person]),
            ("spouse", "spouse", spouse),
            ("child", "child", chance.pick(children) if children else NOBODY),
            ("sibling", "sibling", chance.pick(siblings) if siblings else NOBODY),
            ("advisor", "advisor", careers.advisor[person]),
            ("student", "student", chance.pick(students) if students else NOBODY),
            ("teacher", "teacher", careers.teacher[person]),
        ):  # fmt: skip
            if who != NOBODY:
                facts[slot] = self._name(page, who, prop)
        return facts

    def _words(self, person: int, page: Page) -> dict[str, Slot]:
        """Return the words that state nothing, by slot."""
        world, people, chance = self.world, self.world.people, page.chance
        registry, entity = world.registry, page.entity
        female = people.female[person]
        born, last = people.birth_year(person), people.last_year(person)
        first = born + chance.between(20, 30)
        texts = {
            "was": "was" if people.died[person] else "is",
            "had": "had" if people.died[person] else "has",
            "speaks": "spoke" if people.died[person] else "speaks",
            "full": bare_title(registry.titles[entity] or ""),
            "s": "she" if female else "he", "his": "her" if female else "his",
            "him": "her" if female else "him", "His": "Her" if female else "His",
            "son": "daughter" if female else "son", "wife": "wife" if female else "husband",
            "husband": "husband" if female else "wife", "parent": "mother" if female else "father",
            "brother": "sister" if female else "brother",
            "number": str(chance.between(13, 96)), "few": chance.pick(TEXTS.numbers),
            "langs": chance.pick(TEXTS.numbers[:4]), "age": str(chance.between(4, 19)),
            "known": chance.pick(TEXTS.known_for),
            "things": chance.pick(TEXTS.things if last > 1890 else TEXTS.things[:-2]),
            "side": chance.pick(TEXTS.sidelines),
            "century": _century((born + 20 + max(last, born + 20)) // 2),
        }  # fmt: skip
        if first + 2 < last:
            texts["year1"] = str(first)
            texts["year2"] = str(chance.between(first + 1, min(last, born + 80)))
        texts |= self._late_years(person, first)
        founded = self.first_awards.get(world.careers.award[person], NOW)
        if max(founded + 1, born + 25) <= min(last, born + 85):
            earliest, latest = max(founded + 1, born + 25), min(last, born + 85)
            texts["award_year"] = str(chance.between(earliest, latest))
        texts |= self._order(person)
        slots = {name: Slot(text) for name, text in texts.items()}
        others = registry.aliases.get(entity, ())
        if others:
            slots["alias"] = Slot(others[0])
        return slots | self._strangers(person, page)

    def _late_years(self, person: int, first: int) -> dict[str, str]:
        """Return the years of what ends a life, or comes after it; of a person always the same."""
        people, chance = self.world.people, Chance(self.world.config.seed, "late", person)
        born, last = people.birth_year(person), people.last_year(person)
        found = {}
        if first + 5 < last:  # the last years may be spent elsewhere
            found["left"] = str(chance.between(first + 1, min(last - 4, born + 80)))
        worked = self.last_work.get(self.world.careers.entity[person], 0)
        works = self.world.careers.occupation[person][0] not in _NEVER_RETIRE
        if works and max(born + 54, worked) < min(last, born + 68):
            found["retired"] = str(chance.between(max(born + 50, worked), min(last, born + 68)))
            found["ex"] = "retired"
        if people.died[person] and last + 5 < NOW:
            found["shown"] = str(chance.between(last + 2, min(NOW - 1, last + 60)))
        return found

    def _order(self, person: int) -> dict[str, str]:
        """Return which child of both parents somebody is, if that has a word."""
        people = self.world.people
        father, mother = people.father[person], people.mother[person]
        children = [child for child in people.children.get(father, ())
                    if people.mother[child] == mother]  # fmt: skip
        if father == NOBODY or len(children) > len(TEXTS.ordinals):
            return {}
        return {"order": TEXTS.ordinals[children.index(person)]}

    def _strangers(self, person: int, page: Page) -> dict[str, Slot]:
        """Return people, towns and countries that no statement of the page is about."""
        world, chance = self.world, page.chance
        people, careers, labels = world.people, world.careers, world.registry.labels
        own = {people.birthplace[person], careers.deathplace[person]}
        town = chance.pick(chance.pick(world.countries).cities)
        land = chance.pick(world.countries)
        slots = {}
        if town not in own:
            slots["other_town"] = Slot(labels[town], town)
        if land.place != people.country[person]:
            slots["other_land"] = Slot(labels[land.entity], land.entity)
        friend = (
            person + chance.between(1, 40)
            if chance.per_mille(500)
            else person - chance.between(1, 40)
        )
        known = 0 <= friend < len(people) and friend not in self._family(person)
        if known and abs(people.birth_year(friend) - people.birth_year(person)) < 20:
            slots["friend"] = Slot(labels[careers.entity[friend]], careers.entity[friend])
        if page.entity in self.works_of:
            work, year = self.works_of[page.entity]
            slots["work"] = Slot(labels[work], work)
            slots["work_year"] = Slot(str(year))
        return slots

    def _family(self, person: int) -> set[int]:
        people, careers = self.world.people, self.world.careers
        kin = {
            people.father[person],
            people.mother[person],
            people.spouse[person],
            people.second_spouse[person],
            careers.advisor[person],
            careers.teacher[person],
        }
        return kin | {*people.children.get(person, ()), *people.siblings(person),
                      *careers.students.get(person, ())}  # fmt: skip

    def _body(self, page: Page, slots: dict[str, Slot], person: int) -> None:
        chance, config, people = page.chance, self.world.config, self.world.people
        stated = [facet for facet, odds in _STATED.items() if chance.per_mille(odds)]
        extras = ["trivia"] * chance.weighted((20, 45, 35))
        extras += ["career"] if chance.per_mille(160) else []
        extras = [] if config.brief else extras
        late = [facet for facet in _LATE if chance.per_mille(_STATED_LATE[facet])]
        trivia = TEXTS.trivia + (TEXTS.trivia_dead if people.died[person] else ())
        for facet in self._ordered(chance, stated + extras, late):
            if len(page.sentences) > (2 if config.brief else 7):
                break
            key = "deathplace" if facet == "death" else facet
            local = slots | self._about(person, page, slots)
            fact = slots.get(key)
            if fact is not None and page.fits(fact) and chance.percent(config.mismatch):
                page.add_sentence(TEXTS.loose, local | {"x": fact})
            elif facet == "trivia":
                page.add_sentence(trivia, local)
            elif facet == "career":
                page.add_sentence(TEXTS.career, local)
            else:
                page.add_sentence(TEXTS.facets[facet], local)
        if config.words:
            page.lengthen(trivia, lambda: self._filler(person, page), config.words)

    def _filler(self, person: int, page: Page) -> dict[str, Slot]:
        return self._words(person, page) | self._about(person, page, {})

    def _ordered(self, chance: Chance, stated: list[str], late: list[str]) -> list[str]:
        """Order the facets; the end of a life comes last, but anywhere in a brief summary."""
        if self.world.config.brief:
            return chance.shuffled(stated + late)
        return [*chance.shuffled(stated), *late]

    def _about(self, person: int, page: Page, slots: dict[str, Slot]) -> dict[str, Slot]:
        """Return the words that depend on whom a sentence is about."""
        world, careers = self.world, self.world.careers
        people, chance = world.people, page.chance
        label = world.registry.labels[page.entity]
        pronoun = "She" if people.female[person] else "He"
        draw = chance.below(10)
        subject = pronoun if draw < 6 else careers.surnames[person] if draw < 9 else label
        found = {"S": Slot(subject)}
        for slot, word, pair in (("child", "daughter", ("son", "daughter")),
                                 ("sibling", "sister", ("brother", "sister"))):  # fmt: skip
            if slot in slots:
                kin = slots[slot].entity - careers.entity[0]
                found[word] = Slot(pair[people.female[kin]])
        if "cause" in slots:
            found["of"] = Slot(_DIED_OF.get(slots["cause"].text, "of"))
        return found | self._together(person, slots)

    def _together(self, person: int, slots: dict[str, Slot]) -> dict[str, Slot]:
        """Return the words for what relatives did together, if they lived long enough."""
        people, first = self.world.people, self.world.careers.entity[0]
        found = {
            word: Slot(text)
            for name, word, text, age in _TOGETHER
            if name in slots and self._age_with(person, slots[name].entity - first) >= age
        }
        if "sibling" in slots:
            other = people.birth_year(slots["sibling"].entity - first)
            if abs(people.birth_year(person) - other) <= 12:
                found["beside"] = Slot("with")
        if "spouse" in slots:
            married = self._are_married(person, slots["spouse"].entity - first)
            found["wed_is"] = Slot("is" if married else "was")
        return found

    def _age_with(self, one: int, other: int) -> int:
        """Return the age of the younger of two people when the first of them dies."""
        people = self.world.people
        last = min(people.last_year(one), people.last_year(other))
        return last - max(people.birth_year(one), people.birth_year(other))

    def _are_married(self, one: int, other: int) -> bool:
        """Return whether two people are alive, and neither has married somebody else since."""
        people = self.world.people
        first, second = people.spouse, people.second_spouse
        last = [first[who] if second[who] == NOBODY else second[who] for who in (one, other)]
        return last == [other, one] and not (people.died[one] or people.died[other])

    def _add_quiet(self, page: Page, facts: dict[str, Slot], person: int) -> None:
        """Add the statements of Wikidata that the summary leaves out."""
        chance, people = page.chance, self.world.people
        for slot, odds in _QUIET.items():
            fact = facts.get(slot)
            if fact is not None and fact.entity != NOTHING and chance.per_mille(odds):
                page.add_quietly(fact.prop, (fact.entity,))
        claimed = {prop for prop, _, _ in page.claims}
        spouses = [people.spouse[person], people.second_spouse[person]]
        for prop, kin in (
            (PROPERTIES["child"], people.children.get(person, [])),
            (PROPERTIES["sibling"], people.siblings(person)),
            (PROPERTIES["spouse"], spouses),
        ):
            if chance.per_mille(_ALL_KNOWN) or (prop not in claimed and chance.per_mille(400)):
                entities = [self.world.careers.entity[one] for one in kin if one != NOBODY]
                page.add_quietly(prop, entities)


def _century(year: int) -> str:
    number = (year - 1) // 100 + 1
    return f"{number}{'st' if number % 10 == 1 else 'th'}"
