"""Summaries of countries, towns, mountains, schools, companies, papers and prizes."""

from __future__ import annotations

from twowiki.worlds.calendar import NOW, write_date
from twowiki.worlds.person_pages import THINGS
from twowiki.worlds.random_draws import Chance
from twowiki.worlds.registry import Place
from twowiki.worlds.sentences import Page, Slot
from twowiki.worlds.vocabulary import P
from twowiki.worlds.world import World

_NUMBERS = ("two", "three", "four", "five", "six", "eight", "ten", "twelve")
_TOLD = {"country": 900, "founded": 720, "founder": 680, "editor": 600, "town": 350}
_PAPERS = ("magazine", "newspaper")
_OPENED = ("airport", "station", "school", "high school", "university", "museum", "church")


class PlaceWriter:
    """Writes the pages of a world's places and institutions."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.editors: dict[int, int] = {}
        careers = world.careers
        for person in careers.of("journalist"):
            if careers.employer[person] >= 0:
                self.editors.setdefault(careers.employer[person], careers.entity[person])

    def write(self, place: Place) -> Page:
        """Write a place's summary, with the statements of its entity."""
        page = Page(
            self.world.registry, place.entity, Chance(self.world.config.seed, "page", place.entity)
        )
        facts = self._facts(place, page)
        slots = self._words(place, page) | facts
        page.say(OPENINGS[place.kind], slots)
        self._body(place, page, slots)
        for slot in ("land", "founder", "editor"):
            fact = facts.get(slot)
            if fact is not None and page.chance.odds(850):
                page.add_quietly(fact.prop, (fact.entity,))
        if place.founded and all(claim[0] != P["founded"] for claim in page.claims):
            page.claims.append((P["founded"], 0, place.founded))
        return page

    def _facts(self, place: Place, page: Page) -> dict[str, Slot]:
        world, labels = self.world, self.world.registry.labels
        facts: dict[str, Slot] = {}
        country = world.countries[place.country]
        if place.kind != "country":
            facts["land"] = Slot(labels[country.entity], country.entity, P["country"])
            facts["nat"] = Slot(country.demonym, country.entity, P["country"])
        if place.founded:
            day_first = world.tongues[place.country].day_first
            text = write_date(place.founded, day_first, page.chance)
            if place.founded % 100 and page.chance.odds(300):
                text = str(place.founded // 10000)
            text = f"on {text}" if " " in text and place.founded % 100 else f"in {text}"
            facts["founded"] = Slot(text, prop=P["founded"], date=place.founded)
        for slot, prop, entity in (
            ("founder", "founder", place.founder),
            ("editor", "editor", self.editors.get(place.entity, -1)),
        ):
            if entity >= 0 and place.kind != "country":
                facts[slot] = Slot(labels[entity], entity, P[prop])
        return facts

    def _words(self, place: Place, page: Page) -> dict[str, Slot]:
        world, chance, labels = self.world, page.chance, self.world.registry.labels
        country = world.countries[place.country]
        texts = {
            "T": labels[place.entity], "number": str(chance.between(12, 95)),
            "few": chance.pick(_NUMBERS), "size": str(place.size),
            "side": chance.pick(SIDES), "things": chance.pick(THINGS),
        }  # fmt: skip
        start = place.founded // 10000 if place.founded else 1900
        if start + 5 < NOW:
            texts["late_year"] = str(chance.between(start + 3, min(NOW, start + 90)))
        if start + 3 < 1899:
            texts["old_year"] = str(chance.between(start + 2, 1899))
        slots = {name: Slot(text) for name, text in texts.items()}
        if place.town >= 0:
            slots["town"] = Slot(labels[place.town], place.town)
        if place.kind == "country":
            slots["capital"] = Slot(labels[country.cities[0]], country.cities[0])
            slots["alias"] = Slot(world.registry.aliases[place.entity][0])
        land = chance.pick(world.countries)
        town = chance.pick(land.cities)
        if town not in (place.town, place.entity):
            slots["other_town"] = Slot(labels[town], town)
        if land is not country:
            slots["other_land"] = Slot(labels[land.entity], land.entity)
        return slots

    def _body(self, place: Place, page: Page, slots: dict[str, Slot]) -> None:
        chance = page.chance
        told = [facet for facet, odds in _TOLD.items() if chance.odds(odds)]
        extras = ["trivia"] * chance.weighted((20, 45, 35))
        for facet in chance.shuffled(told if self.world.config.brief else told + extras):
            if len(page.sentences) > (2 if self.world.config.brief else 6):
                break
            if facet == "trivia":
                page.say(TRIVIA[TRIVIA_OF[place.kind]], slots)
            elif facet == "country":
                key = "published" if place.kind in _PAPERS else "country"
                page.say(FACETS[key], slots)
            elif facet == "founded" and place.kind in _OPENED and chance.odds(500):
                page.say(FACETS["opened"], slots)
            elif facet == "town" and TRIVIA_OF[place.kind] == "land":
                page.say(FACETS["near"], slots)
            elif facet != "town" or place.kind not in ("city", "village", *_PAPERS):
                page.say(FACETS[facet], slots)


OPENINGS: dict[str, tuple[str, ...]] = {
    "country": ("{T} is a country with {number} provinces.", "{T} is a sovereign state.",
                "{T}, officially the {alias}, is a country.",
                "{T} is a country whose capital is {capital}."),
    "city": ("{T} is a city in {land}.", "{T} is a city in the {side} of {land}.",
             "{T} is {a nat} city of {size} inhabitants.", "{T} is a port in {land}."),
    "village": ("{T} is a village in {land}.", "{T} is a village in {side} {land}.",
                "{T} is a small {nat} village with {size} inhabitants."),
    "mountain": ("{T} is a mountain in {land}.", "{T} is a mountain of {size} metres in {land}.",
                 "{T} is {a nat} mountain near {town}."),
    "river": ("{T} is a river in {land}.", "{T} is a river of {size} kilometres in {land}.",
              "{T} is {a nat} river that passes {town}."),
    "island": ("{T} is an island in {land}.", "{T} is an island that belongs to {land}.",
               "{T} is {a nat} island of {size} square kilometres."),
    "lake": ("{T} is a lake in {land}.", "{T} is a lake near {town} in {land}.",
             "{T} is {a nat} lake of {size} square kilometres."),
    "museum": ("{T} is a museum in {town}, {land}.", "{T} is a museum founded {founded}.",
               "{T} is {a nat} museum in {town}."),
    "airport": ("{T} is an airport in {land}.", "{T} is an airport that serves {town}, {land}.",
                "{T} is {a nat} airport opened {founded}."),
    "station": ("{T} is a railway station in {town}, {land}.",
                "{T} is a railway station opened {founded}.",
                "{T} is a railway station in {land}."),
    "church": ("{T} is a church in {town}, {land}.", "{T} is {a nat} church.",
               "{T} is a church built {founded}."),
    "building": ("{T} is a building in {town}, {land}.", "{T} is a building finished {founded}.",
                 "{T} is {a nat} landmark."),
    "prison": ("{T} is a prison in {town}, {land}.", "{T} is a former prison."),
    "cemetery": ("{T} is a cemetery in {town}.", "{T} is a burial ground in {land}."),
    "university": ("{T} is a university in {town}, {land}.", "{T} is a university in {land}.",
                   "{T} is a public university founded {founded}.",
                   "{T} is {a nat} university.", "{T} is a private university in {town}."),
    "high school": ("{T} is a high school in {town}, {land}.", "{T} is a high school in {land}.",
                    "{T} is {a nat} high school opened {founded}."),
    "school": ("{T} is a school in {town}, {land}.", "{T} is a school founded {founded}.",
               "{T} is {a nat} school."),
    "business": ("{T} is {a nat} company.", "{T} is a company based in {town}, {land}.",
                 "{T} is a company founded {founded} by {founder}.",
                 "{T} was a company from {land}.", "{T} is {a nat} manufacturer."),
    "studio": ("{T} is {a nat} film production company.",
               "{T} is a film production company founded by {founder}.",
               "{T} was a film company in {town}, {land}."),
    "magazine": ("{T} is {a nat} magazine.", "{T} is a magazine published in {land}.",
                 "{T} is a monthly magazine founded {founded}.",
                 "{T} was a magazine founded by {founder}.",
                 "{T} is a literary magazine from {land}."),
    "newspaper": ("{T} is {a nat} newspaper.", "{T} is a daily newspaper in {town}, {land}.",
                  "{T} is a newspaper founded {founded}.",
                  "{T} was a weekly paper from {land}."),
    "award": ("The {T} is {a nat} prize.", "The {T} is a prize first given {founded}.",
              "The {T} is an honour of {land}."),
}  # fmt: skip
FACETS: dict[str, tuple[str, ...]] = {
    "country": ("It is located in {land}.", "It lies in {land}.", "It belongs to {land}."),
    "published": ("It is published in {land}.", "It is sold all over {land}."),
    "founded": ("It was founded {founded}.", "It was established {founded}.",
                "Its history began {founded}."),
    "opened": ("It was opened {founded}.", "It was established {founded}."),
    "founder": ("It was founded by {founder}.", "Its founder was {founder}.",
                "{founder} founded it."),
    "editor": ("Its editor is {editor}.", "It is edited by {editor}."),
    "near": ("It lies near {town}.", "The nearest town is {town}."),
    "town": ("It stands in {town}.", "Its seat is {town}."),
}  # fmt: skip
TRIVIA: dict[str, tuple[str, ...]] = {
    "land": ("It is visited by many in summer.", "It is covered by snow for {number} days a year.",
             "A path of {number} kilometres leads there.", "It has given its name to a dance.",
             "The first map of it is from {late_year}.", "It is known for its {things}."),
    "town": ("A market has been held there since {old_year}.", "It has {number} bridges.",
             "A fire destroyed much of it in {old_year}.", "It is known for its {things}.",
             "Its festival draws visitors from {other_town}."),
    "house": ("It was damaged by fire in {old_year}.", "It has {number} rooms.",
              "It was restored in {late_year}.", "It is built of red brick.",
              "It holds a collection of {things}."),
    "school": ("It has about {number} teachers.", "It moved to a new building in {late_year}.",
               "Its library holds many old {things}.", "It is divided into {few} departments."),
    "firm": ("It employs {number} people.", "It was sold in {late_year}.",
             "It has offices in {other_town}.", "It began by making {things}."),
    "paper": ("It appears {few} times a year.", "Its first number had {few} pages.",
              "It was banned for some months in {late_year}.", "It has readers in {other_land}."),
    "prize": ("It is given every {few} years.", "It comes with a sum of money.",
              "The ceremony takes place in {other_town}."),
}  # fmt: skip
TRIVIA_OF = {
    **dict.fromkeys(("country", "mountain", "river", "island", "lake"), "land"),
    **dict.fromkeys(("city", "village"), "town"),
    **dict.fromkeys(
        ("museum", "airport", "station", "church", "building", "prison", "cemetery"), "house"
    ),
    **dict.fromkeys(("university", "high school", "school"), "school"),
    **dict.fromkeys(("business", "studio"), "firm"),
    **dict.fromkeys(("magazine", "newspaper"), "paper"),
    "award": "prize",
}
SIDES = ("north", "south", "east", "west")
