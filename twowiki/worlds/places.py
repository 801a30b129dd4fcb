"""Countries with their languages' names, cities, villages, mountains, rivers, islands, lakes."""

from __future__ import annotations

from twowiki.worlds.names import Tongue
from twowiki.worlds.random_draws import Chance, draw_date
from twowiki.worlds.registry import Country, Registry, WorldPlace
from twowiki.worlds.settings import WorldConfig

_FORMS = ("Republic of {}", "Kingdom of {}", "Federation of {}", "Commonwealth of {}")
_SIZES = {
    "mountain": (700, 5200), "river": (40, 900), "island": (3, 2400), "lake": (2, 600),
    "city": (9_000, 1_900_000), "village": (90, 4800),
}  # fmt: skip


def build_tongues(config: WorldConfig) -> list[Tongue]:
    """Coin the countries' names and the stock of names of each; no two countries share theirs."""
    count = min(60, 8 + config.people // 700)
    tongues: list[Tongue] = []
    lands: set[str] = set()
    place = 0
    while len(tongues) < count:
        readable = config.names == "readable"
        tongue = Tongue(config.seed, place, config.people // count, readable)
        if tongue.land not in lands and tongue.demonym not in lands:
            tongues.append(tongue)
            lands |= {tongue.land, tongue.demonym}
        place += 1
    return tongues


def build_countries(
    config: WorldConfig, tongues: list[Tongue], registry: Registry, places: list[WorldPlace]
) -> list[Country]:
    """Make the countries and their towns."""
    countries = []
    for number, tongue in enumerate(tongues):
        chance = Chance(config.seed, "country", number)
        form = chance.pick(_FORMS).format(tongue.land)
        entity = registry.add("country", tongue.land, aliases=(form,))
        country = Country(number, entity, tongue.demonym, [], [])
        founded = draw_date(chance.between(1100, 1890), chance, exact=300)
        places.append(WorldPlace(entity, "country", number, -1, founded, -1, 0))
        countries.append(country)
    towns = 40 + config.people // 35
    for kind, share in (("city", 60), ("village", 40)):
        for number in range(max(3 * len(tongues), towns * share // 100)):
            _add_town(config, kind, number, tongues, countries, registry, places)
    return countries


def _fresh(tongue: Tongue, chance: Chance, registry: Registry) -> str:
    """Coin a name that no page has, if the syllables allow it."""
    for _ in range(50):
        name = tongue.place(chance)
        if not registry.has_title(name):
            return name
    return name


def _add_town(
    config: WorldConfig, kind: str, number: int, tongues: list[Tongue],
    countries: list[Country], registry: Registry, places: list[WorldPlace],
) -> None:  # fmt: skip
    chance = Chance(config.seed, kind, number)
    country = countries[number % len(countries)]
    land = registry.labels[country.entity]
    name = _fresh(tongues[country.place], chance, registry)
    if kind == "village" and chance.per_mille(60):  # a namesake of a town elsewhere
        name = registry.labels[chance.pick(chance.pick(countries).cities)]
    if kind == "city" and chance.per_mille(60):
        name = f"{chance.pick(('New', 'Upper', 'Lower', 'Port', 'Old'))} {name}"
    entity = registry.add(kind, name, (land, f"{kind} in {land}"))
    (country.cities if kind == "city" else country.villages).append(entity)
    founded = (
        draw_date(chance.between(1050, 1830), chance, exact=120) if chance.per_mille(550) else 0
    )
    low, high = _SIZES[kind]
    places.append(
        WorldPlace(entity, kind, country.place, -1, founded, -1, chance.between(low, high))
    )


def build_nature(
    config: WorldConfig, tongues: list[Tongue], countries: list[Country], registry: Registry,
    places: list[WorldPlace],
) -> None:  # fmt: skip
    """Make mountains, rivers, islands and lakes."""
    shapes = {
        "mountain": ("Mount {}", "{} Peak", "{}", "{} Horn"),
        "river": ("{}", "{} River", "{}", "Little {}"),
        "island": ("{} Island", "{}", "Isle of {}"),
        "lake": ("Lake {}", "{} Lake", "Lake {}"),
    }
    for kind, forms in shapes.items():
        for number in range(24 + config.people // 90):
            chance = Chance(config.seed, kind, number)
            country = chance.pick(countries)
            name = chance.pick(forms).format(_fresh(tongues[country.place], chance, registry))
            land = registry.labels[country.entity]
            entity = registry.add(kind, name, (kind, land, f"{kind} in {land}"))
            town = chance.pick(country.cities + country.villages)
            low, high = _SIZES[kind]
            places.append(
                WorldPlace(entity, kind, country.place, town, 0, -1, chance.between(low, high))
            )
