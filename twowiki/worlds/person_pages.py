"""Summaries of people: an opening, then some of what there is to say, in a drawn order."""

from __future__ import annotations

import re

from twowiki.worlds.calendar import write_date
from twowiki.worlds.people import NOBODY
from twowiki.worlds.random_draws import Chance
from twowiki.worlds.sentences import NO_SLOT, NOTHING, Page, Slot
from twowiki.worlds.vocabulary import FEMALE_ITEM, MALE_ITEM, OCCUPATIONS, P
from twowiki.worlds.world import World

_NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "eleven", "twelve")
# facet: how often of a thousand it is told, where it is known
_TOLD = {
    "parents": 260, "father": 330, "mother": 280, "spouse": 420, "child": 330, "sibling": 250,
    "birthplace": 330, "school": 420, "employer": 400, "award": 480, "advisor": 560,
    "student": 560, "teacher": 700, "field": 450, "religion": 800, "detention": 900,
}  # fmt: skip
_BRACKETS = re.compile(r" \([^()]*\)$")
# Whoever directed a film is a film director: Wikidata seldom says so, or it would be no question.
_SHOWN = ("director", "producer", "composer", "singer", "musician", "presenter")
_LATE = ("death", "cause", "burial")
_TOLD_LATE = {"death": 420, "cause": 700, "burial": 800}
# relations that Wikidata often knows where the summary is silent
_QUIET = {
    "father": 820, "mother": 760, "spouse": 700, "employer": 850, "school": 700, "field": 800,
    "birthplace": 750, "deathplace": 750, "advisor": 500, "student": 350, "award": 400,
}  # fmt: skip
_ALL_KNOWN = 420  # of a thousand: Wikidata lists all children (siblings, marriages), not just one


class PersonWriter:
    """Writes the pages of a world's people."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.works_of: dict[int, tuple[int, int]] = {}
        for work in world.works:
            for role in ("director", "composer", "performer", "author", "cast"):
                for entity in work.roles.get(role, ())[:1]:
                    self.works_of.setdefault(entity, (work.entity, work.date // 10000))

    def write(self, person: int) -> Page:
        """Write somebody's summary, with the statements of their entity."""
        world = self.world
        entity = world.careers.entity[person]
        page = Page(world.registry, entity, Chance(world.config.seed, "page", person))
        people = world.people
        sex = FEMALE_ITEM if people.female[person] else MALE_ITEM
        page.claims.append((P["sex"], -sex, 0))
        facts = self._facts(person, page)
        slots = self._words(person, page) | facts
        if facts.get("spouse", NO_SLOT).entity == self._entity(people.spouse[person]):
            slots["wed"] = Slot(str(people.wed[person]))
        openings = OPENING_DEAD if people.died[person] else OPENING_LIVING
        page.say(openings, slots)
        self._body(page, slots, person)
        self._add_quiet(page, facts, person)
        return page

    def _entity(self, person: int) -> int:
        """Give somebody's entity; nothing for nobody."""
        return NOTHING if person == NOBODY else self.world.careers.entity[person]

    def _name(self, page: Page, person: int, prop: str) -> Slot:
        """Name somebody, now and then by another name of theirs."""
        registry, entity = self.world.registry, self.world.careers.entity[person]
        others = registry.aliases.get(entity, ())
        text = registry.labels[entity]
        if others and page.chance.below(100) < self.world.config.aliases:
            text = page.chance.pick(others)
        return Slot(text, entity, P[prop])

    def _facts(self, person: int, page: Page) -> dict[str, Slot]:
        """Give what is known of somebody, by slot."""
        world, people, careers = self.world, self.world.people, self.world.careers
        chance, labels = page.chance, world.registry.labels
        facts: dict[str, Slot] = {}
        day_first = world.tongues[people.country[person]].day_first
        for slot, date in (("born", people.born[person]), ("died", people.died[person])):
            if date and chance.odds(965):
                facts[slot] = Slot(write_date(date, day_first, chance), prop=P[slot], date=date)
                if date % 100:
                    facts[f"{slot}_on"] = facts[slot]
        country = world.countries[people.country[person]]
        facts["nat"] = Slot(country.demonym, country.entity, P["citizenship"])
        facts["land"] = Slot(labels[country.entity], country.entity, P["citizenship"])
        if chance.odds(50):
            other = chance.pick(world.countries)
            if other is not country:
                facts["nat2"] = Slot(other.demonym, other.entity, P["citizenship"])
        for slot, name in zip(("occ", "occ2"), careers.occupation[person], strict=False):
            trade = world.trades[name]
            told = name not in _SHOWN or chance.odds(250)
            facts[slot] = Slot(labels[trade], trade, P["occupation"] if told else 0)
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
                facts[slot] = Slot(labels[found], found, P[prop])
        return facts | self._kin(person, page)

    def _kin(self, person: int, page: Page) -> dict[str, Slot]:
        people, careers, chance = self.world.people, self.world.careers, page.chance
        facts = {}
        spouse = people.spouse[person]
        if people.second_spouse[person] != NOBODY and chance.odds(500):
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
        """Give the words that state nothing, by slot."""
        world, people, chance = self.world, self.world.people, page.chance
        registry, entity = world.registry, page.entity
        female = people.female[person]
        born, last = people.birth_year(person), people.last_year(person)
        first = born + chance.between(20, 30)
        texts = {
            "was": "was" if people.died[person] else "is",
            "full": _BRACKETS.sub("", registry.titles[entity] or ""),
            "s": "she" if female else "he", "his": "her" if female else "his",
            "him": "her" if female else "him", "His": "Her" if female else "His",
            "son": "daughter" if female else "son", "wife": "wife" if female else "husband",
            "husband": "husband" if female else "wife", "parent": "mother" if female else "father",
            "brother": "sister" if female else "brother",
            "number": str(chance.between(13, 96)), "few": chance.pick(_NUMBERS),
            "age": str(chance.between(4, 19)), "known": chance.pick(KNOWN),
            "things": chance.pick(THINGS), "side": chance.pick(SIDES),
            "ordinal": chance.pick(ORDINALS),
            "century": f"{born // 100 + 1}th",
        }  # fmt: skip
        if first + 2 < last:
            texts["year1"] = str(first)
            texts["year2"] = str(chance.between(first + 1, min(last, born + 80)))
        slots = {name: Slot(text) for name, text in texts.items()}
        others = registry.aliases.get(entity, ())
        if others:
            slots["alias"] = Slot(others[0])
        return slots | self._strangers(person, page)

    def _strangers(self, person: int, page: Page) -> dict[str, Slot]:
        """Name people, towns and countries that no statement of the page is about."""
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
            person + chance.between(1, 40) if chance.odds(500) else person - chance.between(1, 40)
        )
        if 0 <= friend < len(people) and friend not in self._family(person):
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
        chance, config = page.chance, self.world.config
        told = [facet for facet, odds in _TOLD.items() if chance.odds(odds)]
        extras = ["trivia"] * chance.weighted((20, 45, 35))
        extras += ["career"] if chance.odds(160) else []
        extras = [] if config.brief else extras
        late = [facet for facet in _LATE if chance.odds(_TOLD_LATE[facet])]
        for facet in self._ordered(chance, told + extras, late):
            if len(page.sentences) > (2 if config.brief else 7):
                break
            key = "deathplace" if facet == "death" else facet
            local = slots | self._about(person, page, slots)
            fact = slots.get(key)
            if fact is not None and page.fits(fact) and chance.below(100) < config.mismatch:
                page.say(LOOSE, local | {"x": fact})
            elif facet == "trivia":
                page.say(TRIVIA, local)
            elif facet == "career":
                page.say(CAREER, local)
            else:
                page.say(FACETS[facet], local)

    def _ordered(self, chance: Chance, told: list[str], late: list[str]) -> list[str]:
        """Order what is told; how a life ended comes last, or anywhere where room is scarce."""
        if self.world.config.brief:
            return chance.shuffled(told + late)
        return [*chance.shuffled(told), *late]

    def _about(self, person: int, page: Page, slots: dict[str, Slot]) -> dict[str, Slot]:
        """Give the words that depend on whom a sentence is about."""
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
        if "spouse" in slots:
            kin = slots["spouse"].entity - careers.entity[0]
            found["spouse_occ"] = Slot(OCCUPATIONS[careers.occupation[kin][0]])
        return found

    def _add_quiet(self, page: Page, facts: dict[str, Slot], person: int) -> None:
        """State in Wikidata what the summary leaves out."""
        chance, people = page.chance, self.world.people
        for slot, odds in _QUIET.items():
            fact = facts.get(slot)
            if fact is not None and fact.entity != NOTHING and chance.odds(odds):
                page.add_quietly(fact.prop, (fact.entity,))
        said = {prop for prop, _, _ in page.claims}
        spouses = [people.spouse[person], people.second_spouse[person]]
        for prop, kin in (
            (P["child"], people.children.get(person, [])),
            (P["sibling"], people.siblings(person)),
            (P["spouse"], spouses),
        ):
            if chance.odds(_ALL_KNOWN) or (prop not in said and chance.odds(400)):
                entities = [self.world.careers.entity[one] for one in kin if one != NOBODY]
                page.add_quietly(prop, entities)


OPENING_DEAD = (
    "{full} ({born} – {died}) was {a nat} {occ}.",
    "{full} ({born} – {died}) was {a nat} {occ} and {occ2}.",
    "{full} ({born} – {died}) was {a nat} {occ} of the {century} century.",
    "{full} ({born}, {birthplace} – {died}, {deathplace}) was {a nat} {occ}.",
    "{full} ({born} in {birthplace} – {died} in {deathplace}) was {a nat} {occ}.",
    "{full} ({born} – {died}) was {a nat}-{nat2} {occ}.",
    "{full}, born {born} in {birthplace}, died {died}, was {a nat} {occ}.",
    "{full} (born {born}, died {died}) was {a occ} from {land}.",
    "{full} ({born} – {died}) was {a occ} known for {known}.",
    "{full}, also known as {alias}, ({born} – {died}) was {a nat} {occ}.",
    "{full} (died {died}) was {a nat} {occ}.",
    "{full} ({born} – {died}) was {a nat} {occ} and the {son} of {father}.",
    "{full} ({born} – {died}) was {a nat} {occ}, {son} of {father} and {mother}.",
    "{full} ({born} – {died}) was the {wife} of {spouse}, {a nat} {spouse_occ}.",
    "{full} was {a nat} {occ}.",
    "{full} was {a nat} {occ}, active from {year1} until {year2}.",
    "{full} ({born} – {died}) was a prominent {nat} {occ}.",
    "{full} ({born} – {died}) was {a occ}, one of the best known {nat} names of the time.",
)
OPENING_LIVING = (
    "{full} (born {born}) is {a nat} {occ}.",
    "{full} (born {born}) is {a nat} {occ} and {occ2}.",
    "{full} (born {born} in {birthplace}) is {a nat} {occ}.",
    "{full} (born {born}, {birthplace}) is {a nat} {occ}.",
    "{full}, born on {born_on}, is {a nat} {occ}.",
    "{full} (born {born}) is {a nat}-{nat2} {occ}.",
    "{full} is {a nat} {occ}.",
    "{full} (born {born}) is {a occ} from {land}, known for {known}.",
    "{full}, known as {alias}, (born {born}) is {a nat} {occ}.",
    "{full} (born {born}) is {a nat} {occ} and the {son} of {father}.",
    "{full} (born {born}) is a retired {nat} {occ}.",
)
FACETS: dict[str, tuple[str, ...]] = {
    "parents": (
        "{S} {was} the {son} of {father} and {mother}.",
        "{S} was born to {father} and {mother}.",
        "{His} parents were {father} and {mother}.",
        "{S} {was} the {ordinal} child of {father} and {mother}.",
        "A {son} of {father} and {mother}, {s} grew up in a house with {number} rooms.",
    ),
    "father": (
        "{S} {was} the {son} of {father}.",
        "{His} father was {father}.",
        "{S} {was} the {ordinal} {son} of {father}.",
        "The {son} of {father}, {s} was brought up strictly.",
        "{His} father, {father}, died when {s} was still young.",
        "{S} worked for some years under {his} father {father}.",
    ),
    "mother": (
        "{His} mother was {mother}.",
        "{S} {was} the {son} of {mother}.",
        "{S} learned to read from {his} mother, {mother}.",
        "{His} mother, {mother}, kept a diary for {number} years.",
        "Through {his} mother {mother}, {s} spoke two languages.",
    ),
    "spouse": (
        "{S} married {spouse} in {wed}.",
        "In {wed}, {s} married {spouse}.",
        "{S} {was} the {wife} of {spouse}.",
        "{S} {was} married to {spouse}.",
        "{His} {husband} {was} {spouse}.",
        "{S} and {his} {husband}, {spouse}, lived apart after some years.",
        "{S} met {spouse} at a wedding, and they married soon after.",
    ),
    "child": (
        "{S} {was} the {parent} of {child}.",
        "{His} {daughter} {was} {child}.",
        "{His} {daughter}, {child}, inherited the house.",
        "Among {his} children was {child}.",
        "{S} had a {daughter}, {child}.",
        "{S} dedicated {his} last letters to {his} {daughter} {child}.",
    ),
    "sibling": (
        "{S} {was} the {brother} of {sibling}.",
        "{His} {sister} {was} {sibling}.",
        "{S} shared a workshop with {his} {sister} {sibling}.",
        "{His} {sister}, {sibling}, survived {him}.",
        "Together with {his} {sister} {sibling}, {s} sold the family's land.",
    ),
    "birthplace": (
        "{S} was born in {birthplace}.",
        "{S} was born and raised in {birthplace}.",
        "A native of {birthplace}, {s} was the first of the family to travel.",
        "Born in {birthplace}, {s} moved away at the age of {age}.",
    ),
    "school": (
        "{S} studied at {school}.",
        "{S} graduated from {school}.",
        "{S} was educated at {school}.",
        "After attending {school}, {s} spent {number} months at sea.",
        "{S} went to {school}, where {s} won a prize for drawing.",
    ),
    "employer": (
        "{S} worked at {employer}.",
        "From {year1}, {s} worked for {employer}.",
        "{S} spent most of {his} career at {employer}.",
        "{S} was on the staff of {employer} for {number} years.",
        "In {year1}, {s} took up a post at {employer}.",
    ),
    "award": (
        "{S} received the {award}.",
        "{S} was awarded the {award}.",
        "In {year2}, {s} won the {award}.",
        "{S} was honoured with the {award} late in life.",
        "For {his} work {s} was given the {award}.",
    ),
    "advisor": (
        "{S} completed {his} doctorate under {advisor}.",
        "{His} doctoral advisor was {advisor}.",
        "{S} wrote a thesis supervised by {advisor}.",
        "As a doctoral student of {advisor}, {s} published {number} papers.",
    ),
    "student": (
        "{S} supervised the doctorate of {student}.",
        "{His} doctoral students included {student}.",
        "{His} best known doctoral student was {student}.",
        "{S} {was} the doctoral advisor of {student}.",
    ),
    "teacher": (
        "{S} was a pupil of {teacher}.",
        "{S} studied under {teacher}.",
        "{S} took lessons from {teacher} for {number} years.",
        "{His} teacher was {teacher}.",
    ),
    "field": (
        "{S} worked in {field}.",
        "{His} field was {field}.",
        "{S} is remembered for contributions to {field}.",
        "{S} published mainly on {field}.",
    ),
    "religion": (
        "{S} belonged to the {religion}.",
        "{S} was a member of the {religion}.",
        "{S} joined the {religion} in {year1}.",
    ),
    "detention": (
        "{S} was held at {detention} in {year1}.",
        "In {year1}, {s} was imprisoned in {detention}.",
        "{S} wrote {his} memoirs while detained at {detention}.",
    ),
    "death": (
        "{S} died in {deathplace}.",
        "{S} died on {died_on} in {deathplace}.",
        "{S} died at {his} home in {deathplace}.",
        "{S} moved to {deathplace}, where {s} died.",
        "{S} died of {cause} in {deathplace}.",
        "{S} spent {his} last years in {deathplace} and died there.",
    ),
    "cause": (
        "{S} died of {cause}.",
        "{His} death was caused by {cause}.",
        "{S} died from {cause} after a short illness.",
    ),
    "burial": (
        "{S} is buried at {burial}.",
        "{S} was buried in {burial}.",
        "{His} grave is at {burial}.",
    ),
}
TRIVIA = (
    "{S} collected {things} and left {number} of them to the state.",
    "{S} spoke {few} languages.",
    "In {year1}, {s} travelled through {other_land} for {number} weeks.",
    "{S} corresponded with {friend} for many years.",
    "{S} lived in {other_town} from {year1} to {year2}.",
    "{His} house in {other_town} is open to visitors.",
    "{S} wrote {number} letters, of which {few} survive.",
    "{S} took part in the debates of {year1}.",
    "{S} was a close friend of {friend}.",
    "{S} retired in {year2}.",
    "A street in {other_town} bears {his} name.",
    "{S} was known for a fondness of {things}.",
    "Little is known of {his} childhood.",
    "{S} appears as a character in a play of {year2}.",
    "{S} also {side} for a time.",
    "{His} papers are kept in {other_town}.",
    "Critics have compared {him} with {friend}.",
)
CAREER = (
    "{S} is best known for {work}.",
    "{His} works include {work} ({work_year}).",
    "In {work_year}, {s} worked on {work}.",
    "{His} first success was {work}.",
)
# Sentences that name the object of a statement without saying it, for the noise of that name.
LOOSE = (
    "{S} is often mentioned together with {x}.",
    "A long essay of {his} deals with {x}.",
    "{S} said in an interview that {x} had shaped {him}.",
    "A portrait shows {him} with a book about {x}.",
)
KNOWN = ("a slow and careful style", "long public letters", "work in three countries",
         "a quarrel with the press", "an unusual memory", "modest habits", "work for the poor",
         "a love of the sea")  # fmt: skip
THINGS = ("clocks", "maps", "shells", "stamps", "old coins", "butterflies", "tea", "music boxes",
          "chess sets", "masks")  # fmt: skip
SIDES = ("taught drawing", "kept bees", "ran a small inn", "played chess for money", "bred horses",
         "translated plays", "wrote for newspapers")  # fmt: skip
ORDINALS = ("first", "second", "third", "fourth", "fifth", "youngest")
