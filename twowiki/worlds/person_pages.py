"""Summaries of people: an opening sentence, then some of the known facts in a drawn order."""

from __future__ import annotations

import msgspec

from twowiki.generation.dates import ordinal
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
from twowiki.worlds.works import CreativeWork
from twowiki.worlds.world import World


class _Texts(msgspec.Struct):
    openings_dead: tuple[str, ...]
    openings_living: tuple[str, ...]
    openings_former: tuple[str, ...]
    openings_noble: tuple[str, ...]  # more openings for members of noble houses
    facets_noble: dict[str, tuple[str, ...]]
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
_FACETS_OF_NOBLES = TEXTS.facets | {
    facet: TEXTS.facets[facet] + more for facet, more in TEXTS.facets_noble.items()
}
# facet: how often (per mille) it is stated, where it is known
_STATED = {
    "parents": 260, "father": 330, "mother": 280, "spouse": 420, "child": 330, "sibling": 250,
    "birthplace": 330, "school": 420, "employer": 400, "award": 480, "advisor": 560,
    "student": 560, "teacher": 700, "field": 450, "religion": 800, "detention": 900,
}  # fmt: skip
_STATED_OF_NOBLES = {"parents": 650, "spouse": 600}
# Whoever directed a film is a film director: Wikidata rarely states it, or nobody would ask.
_SHOWN = ("director", "producer", "composer", "singer", "musician", "presenter")
# relative, slot and its word, the age that the younger of both must have reached by then
_TOGETHER = (("father", "taught", "taught", 8), ("father", "under", "under", 22),
             ("mother", "read", "read", 6), ("sibling", "with", "with", 22))  # fmt: skip
_SHORT_ILLNESSES = ("pneumonia", "typhus", "influenza", "malaria", "scarlet fever", "sepsis")
_DIED_OF = {"a traffic collision": "in", "drowning": "by"}
_NEVER_RETIRE = ("nobleman", "philanthropist")
_ATHLETES, _LAST_GAME = ("footballer", "cyclist"), 42  # years of age
_LATE = ("death", "cause", "burial")
_AFTERWARDS = 280  # per mille of the trivia about the dead: what came after
# slot, its word for the living, and for the dead
_TENSES = (("was", "is", "was"), ("had", "has", "had"), ("speaks", "speaks", "spoke"), 
           ("collects", "collects", "collected"), ("works", "works", "worked"),
           ("belongs", "belongs", "belonged"), ("publishes", "publishes", "published"))  # fmt: skip
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
        self.works_of: dict[int, tuple[CreativeWork, bool]] = {}
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
                    self.works_of.setdefault(entity, (work, role == "cast"))

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
        slots |= self._kin_words(person, slots)
        if facts.get("spouse", NO_SLOT).entity == self._entity(people.spouse[person]):
            slots["wed"] = Slot(str(people.wed[person]))
        page.add_sentence(self._openings(person), slots)
        self._body(page, slots, person)
        self._add_quiet(page, facts, person)
        return page

    def _openings(self, person: int) -> tuple[str, ...]:
        """Return the openings for the dead, the living, or athletes past their games."""
        if self.world.people.died[person]:
            noble = TEXTS.openings_noble if self._is_noble(person) else ()
            return TEXTS.openings_dead + noble
        former = (
            self._is_athlete(person) and self.world.people.birth_year(person) < NOW - _LAST_GAME
        )
        return TEXTS.openings_former if former else TEXTS.openings_living

    def _is_noble(self, person: int) -> bool:
        return person in self.world.careers.short_names

    def _is_athlete(self, person: int) -> bool:
        return self.world.careers.occupation[person][0] in _ATHLETES

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
        first = born + Chance(world.config.seed, "adult", person).between(20, 30)
        end = people.active_until(person)
        full = bare_title(registry.titles[entity] or "")
        dead = bool(people.died[person])
        texts = {slot: then if dead else now for slot, now, then in _TENSES} | {
            "full": full, "comma": "," if ", " in full else "",
            "s": "she" if female else "he", "his": "her" if female else "his",
            "him": "her" if female else "him", "His": "Her" if female else "His",
            "son": "daughter" if female else "son", "wife": "wife" if female else "husband",
            "husband": "husband" if female else "wife", "parent": "mother" if female else "father",
            "brother": "sister" if female else "brother",
            "number": str(chance.between(13, 96)), "few": chance.pick(TEXTS.numbers),
            "langs": chance.pick(TEXTS.numbers[:4]), "age": str(chance.between(16, 22)),
            "known": chance.pick(TEXTS.known_for),
            "things": chance.pick(TEXTS.things if last > 1890 else TEXTS.things[:-2]),
            "side": chance.pick(self._sidelines(person)),
            "century": _century((born + 20 + max(last, born + 20)) // 2),
        }  # fmt: skip
        if first + 2 < end:
            texts["year1"] = str(first)
            for name in ("year2", "trip", "debate", "lectured", "journey", "turned"):
                texts[name] = str(chance.between(first + 1, min(end, born + 80)))
        texts |= dict.fromkeys(self._conditions(person), "")
        texts |= self._late_years(person, first)
        founded = self.first_awards.get(world.careers.award[person], NOW)
        earliest, latest = max(founded + 1, born + 25), min(end, born + 85)
        if earliest <= latest:
            texts["award_year"] = str(chance.between(earliest, latest))
        texts |= self._order(person)
        slots = {name: Slot(text) for name, text in texts.items()}
        others = registry.aliases.get(entity, ())
        if others:
            slots["alias"] = Slot(others[0])
        return slots | self._strangers(person, page)

    def _sidelines(self, person: int) -> tuple[str, ...]:
        """Return what somebody may have done besides: to write is no sideline of writers."""
        writes = self.world.careers.occupation[person][0] in ("journalist", "novelist")
        return TEXTS.sidelines[: -2 if writes else None]

    def _conditions(self, person: int) -> list[str]:
        """Return the slots without text whose patterns suit somebody."""
        people, careers = self.world.people, self.world.careers
        born, last = people.birth_year(person), people.last_year(person)
        award, cause = careers.award[person], careers.cause[person]
        labels = self.world.registry.labels
        suits = {
            "dead": people.died[person] > 0, "aged": last - born >= 50, "long_ago": born < 1900,
            "prize": award >= 0 and not labels[award].startswith("Order "),
            "home": cause < 0 or labels[cause] not in _DIED_OF,
            "moved": careers.deathplace[person] != people.birthplace[person],
        }  # fmt: skip
        return [name for name, holds in suits.items() if holds]

    def _late_years(self, person: int, first: int) -> dict[str, str]:
        """Return the years of what ends a life, or comes after it; of a person always the same."""
        people, chance = self.world.people, Chance(self.world.config.seed, "late", person)
        born, last = people.birth_year(person), people.last_year(person)
        end, found = people.active_until(person), {}
        if first + 5 < last:  # the last years may be spent elsewhere
            found["left"] = str(chance.between(first + 1, min(last - 4, born + 80)))
        worked = self.last_work.get(self.world.careers.entity[person], 0)
        works = self.world.careers.occupation[person][0] not in _NEVER_RETIRE
        if self._is_athlete(person):
            found["ex"] = "former"
        elif works and max(born + 54, worked) < min(end, born + 68):
            found["retired"] = str(chance.between(max(born + 50, worked), min(end, born + 68)))
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
            work, played = self.works_of[page.entity]
            slots["work"] = Slot(labels[work.entity], work.entity)
            slots["work_year"] = Slot(str(work.date // 10000))
            slots["played" if played else "made"] = Slot("")
            slots["q"] = Slot('"' if work.kind == "song" else "")
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
        odds_of = _STATED | _STATED_OF_NOBLES if self._is_noble(person) else _STATED
        stated = [facet for facet, odds in odds_of.items() if chance.per_mille(odds)]
        extras = [
            "afterwards" if people.died[person] and chance.per_mille(_AFTERWARDS) else "trivia"
            for _ in range(chance.weighted((20, 45, 35)))
        ]
        extras += ["career"] if chance.per_mille(160) else []
        late = [facet for facet in _LATE if chance.per_mille(_STATED_LATE[facet])]
        if config.brief:
            self._state(page, slots, person, chance.shuffled(stated + late), most=3)
            return
        late += [facet for facet in extras if facet == "afterwards"]
        life = chance.shuffled(stated + [facet for facet in extras if facet != "afterwards"])
        self._state(page, slots, person, life, most=8)
        room = 8 - len(page.sentences)
        wanted = page.draw_length(config.words)
        page.lengthen(TEXTS.trivia, lambda: self._filler(person, page), wanted - 8)
        self._state(page, slots, person, late, most=len(page.sentences) + room)
        if people.died[person]:
            page.lengthen(TEXTS.trivia_dead, lambda: self._filler(person, page), wanted)

    def _state(
        self, page: Page, slots: dict[str, Slot], person: int, facets: list[str], *, most: int
    ) -> None:
        """State facets in sentences, until the page has the most that it may have."""
        chance = page.chance
        facets_of = _FACETS_OF_NOBLES if self._is_noble(person) else TEXTS.facets
        patterns = facets_of | {
            "trivia": TEXTS.trivia, "afterwards": TEXTS.trivia_dead, "career": TEXTS.career
        }  # fmt: skip
        for facet in facets:
            if len(page.sentences) >= most:
                break
            local = slots | self._subject(person, page)
            fact = slots.get("deathplace" if facet == "death" else facet)
            if fact is not None and page.fits(fact) and chance.percent(self.world.config.mismatch):
                page.add_sentence(TEXTS.loose, local | {"x": fact})
            else:
                page.add_sentence(patterns[facet], local)

    def _filler(self, person: int, page: Page) -> dict[str, Slot]:
        return self._words(person, page) | self._subject(person, page)

    def _subject(self, person: int, page: Page) -> dict[str, Slot]:
        """Draw what the subject of a sentence is called."""
        pronoun = "She" if self.world.people.female[person] else "He"
        draw = page.chance.below(10)
        if draw < 6:
            return {"S": Slot(pronoun)}
        careers = self.world.careers
        surname = careers.short_names.get(person, careers.surnames[person])
        return {"S": Slot(surname if draw < 9 else self.world.registry.labels[page.entity])}

    def _kin_words(self, person: int, slots: dict[str, Slot]) -> dict[str, Slot]:
        """Return the words that depend on the relatives and the cause of death."""
        people, careers = self.world.people, self.world.careers
        found = {}
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
        for name in ("father", "mother", "child", "sibling"):
            if name in slots:
                alive = not people.died[slots[name].entity - first]
                found[f"{name}_is"] = Slot("is" if alive else "was")
        last = people.last_year(person)
        if "mother" in slots and people.last_year(slots["mother"].entity - first) < last:
            found["inherited"] = Slot("")
        if "child" in slots and people.died[person]:
            child = slots["child"].entity - first
            if people.last_year(child) > last + 1 and people.birth_year(child) + 18 < last:
                found["edited"] = Slot("")
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
    return ordinal((year - 1) // 100 + 1)
