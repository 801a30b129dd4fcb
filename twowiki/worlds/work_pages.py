"""Summaries of films, songs, books, shows and sweets."""

from __future__ import annotations

from twowiki.worlds.calendar import NOW, write_date
from twowiki.worlds.person_pages import ORDINALS
from twowiki.worlds.random_draws import Chance
from twowiki.worlds.sentences import Page, Slot
from twowiki.worlds.vocabulary import OCCUPATIONS, P
from twowiki.worlds.works import Work
from twowiki.worlds.world import World

_NUMBERS = ("two", "three", "four", "five", "six", "seven", "nine", "ten")
_TRADES = tuple(OCCUPATIONS.values())
# facet: how often of a thousand it is told, where it is known
_TOLD = {
    "director": 900, "producer": 620, "composer": 520, "performer": 900, "editor": 620,
    "publisher": 620, "creator": 600, "presenter": 750, "part": 900, "founder": 600,
    "founded": 700, "manufacturer": 900, "released": 560, "origin": 380, "cast": 450,
    "studio": 180,
}  # fmt: skip
_ROLES = ("director", "producer", "composer", "performer", "editor", "publisher", "creator",
          "presenter", "part", "founder", "manufacturer", "author", "studio")  # fmt: skip
# Roles that one page may have several values of; the text must name them all to compare numbers.
_COUNTED = ("director", "producer")


class WorkWriter:
    """Writes the pages of a world's works."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.people_from = world.careers.entity[0] if len(world.people) else 0

    def write(self, work: Work) -> Page:
        """Write a work's summary, with the statements of its entity."""
        page = Page(
            self.world.registry, work.entity, Chance(self.world.config.seed, "page", work.entity)
        )
        facts = self._facts(work, page)
        slots = self._words(work, page) | facts
        page.say(self._openings(work, slots), slots)
        self._body(work, page, slots)
        self._add_quiet(work, page)
        return page

    def _openings(self, work: Work, slots: dict[str, Slot]) -> tuple[str, ...]:
        """Give the openings that fit the time: films were silent until 1929."""
        openings = OPENINGS[work.kind]
        if work.date // 10000 > 1929:
            openings = tuple(text for text in openings if "silent" not in text)
        several = "director2" in slots
        return tuple(
            text for text in openings
            if not several or "{director}" not in text or "{director2}" in text
        )  # fmt: skip

    def _name(self, page: Page, entity: int, prop: int) -> Slot:
        registry = self.world.registry
        text, others = registry.labels[entity], registry.aliases.get(entity, ())
        if others and page.chance.below(100) < self.world.config.aliases:
            text = page.chance.pick(others)
        return Slot(text, entity, prop)

    def _facts(self, work: Work, page: Page) -> dict[str, Slot]:
        world, chance = self.world, page.chance
        facts: dict[str, Slot] = {}
        for role in _ROLES:
            who = work.roles.get(role, ())
            for place, entity in enumerate(who[:2]):
                name = role if place == 0 else f"{role}{place + 1}"
                facts[name] = self._name(page, entity, P.get(role, 0))
        country = world.countries[work.country]
        place = P["origin"]
        facts["nat"] = Slot(country.demonym, country.entity, place)
        facts["land"] = Slot(world.registry.labels[country.entity], country.entity, place)
        year = work.date // 10000
        prop = P["founded"] if work.kind == "band" else P["released"]
        facts["year"] = Slot(str(year), prop=prop, date=work.date)
        facts["founded"] = facts["year"]._replace(text=f"in {year}")
        if work.date % 100:
            day_first = world.tongues[work.country].day_first
            text = write_date(work.date, day_first, chance)
            facts["released"] = Slot(text, prop=prop, date=work.date)
        return facts

    def _words(self, work: Work, page: Page) -> dict[str, Slot]:
        """Give the words that state nothing, by slot."""
        world, chance = self.world, page.chance
        labels = world.registry.labels
        year = work.date // 10000
        texts = {
            "T": labels[work.entity], "genre": work.genre, "music": chance.pick(MUSIC),
            "number": str(chance.between(11, 140)), "few": chance.pick(_NUMBERS),
            "trade": chance.pick(_TRADES), "trade2": chance.pick(_TRADES),
            "ordinal": chance.pick(ORDINALS[:4]),
        }  # fmt: skip
        if year + 2 < NOW:
            texts["late_year"] = str(chance.between(year + 1, min(NOW, year + 70)))
        slots = {name: Slot(text) for name, text in texts.items()}
        for place, entity in enumerate(work.roles.get("cast", ()), 1):
            slots[f"cast{place}"] = Slot(labels[entity], entity, P["cast"])
        land, town = chance.pick(world.countries), 0
        town = chance.pick(land.cities)
        slots["other_town"] = Slot(labels[town], town)
        if land.place != work.country:
            slots["other_land"] = Slot(labels[land.entity], land.entity)
        friend = self.people_from + chance.below(len(world.people))
        if all(friend not in who for who in work.roles.values()):
            slots["friend"] = Slot(labels[friend], friend)
        return slots

    def _body(self, work: Work, page: Page, slots: dict[str, Slot]) -> None:
        chance = page.chance
        told = [facet for facet, odds in _TOLD.items() if facet in FACETS and chance.odds(odds)]
        if chance.odds(150):  # a summary with little in it
            told = told[:2]
        extras = ["trivia"] * chance.weighted((20, 45, 35))
        for facet in chance.shuffled(told if self.world.config.brief else told + extras):
            if len(page.sentences) > (2 if self.world.config.brief else 5):
                break
            local = slots | {"S": Slot(self._subject(work, chance))}
            fact = slots.get(facet)
            if fact is not None and page.fits(fact) and self._is_loose(chance):
                page.say(LOOSE, local | {"x": fact})
            elif facet == "trivia":
                page.say(TRIVIA[TRIVIA_OF[work.kind]], local)
            elif f"{facet}2" in slots:
                if facet == "producer":
                    page.say(FACETS["producers"], local)
            elif facet != "founded" or work.kind == "band":
                page.say(FACETS[facet], local)

    def _is_loose(self, chance: Chance) -> bool:
        return chance.below(100) < self.world.config.mismatch

    def _subject(self, work: Work, chance: Chance) -> str:
        draw = chance.below(10)
        if draw < 4:
            return "It" if work.kind != "band" else "The band"
        return SUBJECTS[work.kind] if draw < 8 else self.world.registry.labels[work.entity]

    def _add_quiet(self, work: Work, page: Page) -> None:
        """State in Wikidata what the summary leaves out, all values of what it compares."""
        chance = page.chance
        for role, who in work.roles.items():
            if role in P and chance.odds(800 if role not in _COUNTED else 950):
                page.add_quietly(P[role], who)
        if chance.odds(800):
            country = self.world.countries[work.country]
            page.add_quietly(P["origin"], (country.entity,))
        prop = P["founded"] if work.kind == "band" else P["released"]
        if all(claim[0] != prop for claim in page.claims):
            page.claims.append((prop, 0, work.date))


OPENINGS: dict[str, tuple[str, ...]] = {
    "film": (
        "{T} is {a year} {nat} {genre} film directed by {director}.",
        "{T} is {a year} {genre} film directed by {director}.",
        "{T} is {a year} {genre} film directed by {director} and starring {cast1} and {cast2}.",
        "{T} is {a year} {nat} film directed by {director} and produced by {producer}.",
        "{T} is {a nat} {genre} film from {year}.",
        "{T} is {a year} film directed by {director} and {director2}.",
        "{T} is {a year} {nat} {genre} film.",
        "{T} is {a genre} film released in {year}.",
        "{T} is {a year} {genre} film produced by {producer} and directed by {director}.",
        "{T} is {a year} silent film by {director}.",
        "{T} is {a year} {nat} {genre} film starring {cast1}.",
    ),
    "animated film": (
        "{T} is {a year} {nat} animated film directed by {director}.",
        "{T} is {a year} animated {genre} film directed by {director}.",
        "{T} is {a nat} animated feature film released in {year}.",
        "{T} is {a year} animated film produced by {producer}.",
        "{T} is {a year} animated film directed by {director} and {director2}.",
    ),
    "song": (
        '"{T}" is a song by {performer}.',
        '"{T}" is a song recorded by {nat} artist {performer}.',
        '"{T}" is {a year} song by {performer}.',
        '"{T}" is a song performed by {performer}, released in {year}.',
        '"{T}" is a single by {performer}.',
        '"{T}" is a song composed by {composer}.',
        '"{T}" is a song written by {composer} and first sung by {performer}.',
        '"{T}" is {a nat} song from {year}.',
    ),
    "album": (
        "{T} is an album by {performer}.",
        "{T} is {a year} album by {performer}.",
        "{T} is the {ordinal} studio album by {performer}.",
        "{T} is a live album by {performer}, released in {year}.",
        "{T} is {a ordinal} album by {nat} artist {performer}.",
        "{T} is an album released in {year}.",
    ),
    "band": (
        "{T} is {a nat} band formed {founded}.",
        "{T} is {a nat} {music} band.",
        "{T} were {a nat} {music} group formed {founded}.",
        "{T} is {a music} band formed by {founder} {founded}.",
        "{T} was {a music} band from {land}, formed {founded}.",
    ),
    "literary work": (
        "{T} is a novel by {author}.",
        "{T} is {a year} novel by {nat} author {author}.",
        "{T} is a book of stories by {author}, published in {year}.",
        "{T} is {a year} novel.",
        "{T} is {a nat} novel written by {creator}.",
    ),
    "written work": (
        "{T} is a work of reference by {author}.",
        "{T} is {a year} book by {author}.",
        "{T} is {a nat} handbook first printed in {year}.",
        "{T} is a treatise from {year}.",
    ),
    "television program": (
        "{T} is {a nat} television series created by {creator}.",
        "{T} is a television programme presented by {presenter}.",
        "{T} is {a nat} television programme that was first shown in {year}.",
        "{T} is {a genre} series created by {creator}.",
    ),
    "candy": (
        "{T} is a brand of candy made by {manufacturer}.",
        "{T} is {a nat} candy.",
        "{T} is a sweet sold since {year}.",
        "{T} are boiled sweets produced by {manufacturer} since {year}.",
    ),
}
FACETS: dict[str, tuple[str, ...]] = {
    "director": ("It was directed by {director}.", "{S} was directed by {director}.",
                 "{director} directed the film.", "The direction was by {director}."),
    "producer": ("It was produced by {producer}.", "{S} was produced by {producer}.",
                 "{producer} produced it.", "{producer} served as producer."),
    "producers": ("It was produced by {producer} and {producer2}.",
                  "{producer} and {producer2} produced it."),
    "composer": ("The music was composed by {composer}.", "{composer} composed the music.",
                 "It has music by {composer}.", "Its score was written by {composer}."),
    "performer": ("It was performed by {performer}.", "It was recorded by {performer}.",
                  "{performer} performed it first."),
    "editor": ("It was edited by {editor}.", "Its editor was {editor}.",
               "{editor} has edited it."),
    "publisher": ("It was published by {publisher}.", "Its publisher was {publisher}.",
                  "{publisher} brought it out."),
    "creator": ("It was created by {creator}.", "{creator} created it.",
                "The idea came from {creator}."),
    "presenter": ("It was presented by {presenter}.", "Its presenter was {presenter}.",
                  "{presenter} presented it."),
    "part": ("Its best known member was {part}.", "The band included {part}.",
             "{part} was a member from the start."),
    "founder": ("It was founded by {founder}.", "Its founder was {founder}."),
    "founded": ("It was formed {founded}.", "The group came together {founded}."),
    "manufacturer": ("It is made by {manufacturer}.", "Its manufacturer is {manufacturer}."),
    "released": ("It was released on {released}.", "{S} was released on {released}.",
                 "Its release was on {released}.", "It came out on {released}."),
    "origin": ("It was made in {land}.", "It is {a nat} production.",
               "The {nat} censors shortened it."),
    "cast": ("It stars {cast1}.", "The cast includes {cast1} and {cast2}.",
             "{cast1} and {cast2} play the leading parts.", "{cast3} has a small part in it.",
             "It stars {cast1}, {cast2} and {cast3}."),
    "studio": ("{studio} distributed it.", "It was shot at the lots of {studio}.",
               "{studio} paid for it."),
}  # fmt: skip
TRIVIA: dict[str, tuple[str, ...]] = {
    "film": ("It was shot in {other_town}.", "Its sets were built in {number} days.",
             "It tells of {a trade} who returns home after {few} years.",
             "It was shown again in {late_year}.", "Its plot follows {a trade} and {a trade2}.",
             "A print was found in {other_town} in {late_year}.", "It runs for {number} minutes.",
             "It was a success with the public but not with critics.",
             "{friend} praised it in a review."),
    "song": ("It reached number {few} in the charts.", "It was recorded in {other_town}.",
             "It is about {a trade} in {other_town}.", "It was sung again in {late_year}.",
             "{friend} has covered it."),
    "album": ("It was recorded in {other_town}.", "It has {few} tracks.",
              "It reached number {number} in the charts.", "It was issued again in {late_year}."),
    "band": ("They played {number} concerts in {other_land}.", "Their songs tell of the sea.",
             "They rehearsed in {other_town}.", "They came together again in {late_year}."),
    "book": ("It is set in {other_town}.", "It tells the life of {a trade}.",
             "It has {number} chapters.", "A translation appeared in {late_year}.",
             "{friend} wrote a preface to it."),
    "show": ("It ran for {few} seasons.", "It was recorded in {other_town}.",
             "It was taken up again in {late_year}.", "Each episode lasts {number} minutes."),
    "candy": ("It is sold in {few} flavours.", "Its wrapper shows {a trade}.",
              "It is popular in {other_land}."),
}  # fmt: skip
TRIVIA_OF = {
    "film": "film", "animated film": "film", "song": "song", "album": "album", "band": "band",
    "literary work": "book", "written work": "book", "television program": "show",
    "candy": "candy",
}  # fmt: skip
SUBJECTS = {
    "film": "The film", "animated film": "The film", "song": "The song", "album": "The album",
    "band": "The band", "literary work": "The novel", "written work": "The book",
    "television program": "The series", "candy": "The sweet",
}  # fmt: skip
LOOSE = ("It is often named together with {x}.", "It was compared with {x}.",
         "A poster mentions {x}.")  # fmt: skip
MUSIC = ("rock", "folk", "jazz", "pop", "blues", "punk", "brass")
