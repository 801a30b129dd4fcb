"""A whole world in memory, before its dumps are written."""

from __future__ import annotations

from typing import NamedTuple

from twowiki.worlds.careers import Careers, choose_occupations, name_ends, name_people, teach
from twowiki.worlds.institutions import Institutions, found_awards, give_awards
from twowiki.worlds.names import Tongue
from twowiki.worlds.people import People, build_people
from twowiki.worlds.places import build_countries, build_nature, build_tongues
from twowiki.worlds.registry import Country, Registry, WorldPlace
from twowiki.worlds.settings import WorldConfig
from twowiki.worlds.vocabulary import OCCUPATIONS
from twowiki.worlds.works import CreativeWork, Works


class World(NamedTuple):
    """Everything in a world; numbers are entities of the registry.

    `trades` are the entities of the occupations.
    """

    config: WorldConfig
    registry: Registry
    tongues: list[Tongue]
    countries: list[Country]
    people: People
    careers: Careers
    places: list[WorldPlace]
    works: list[CreativeWork]
    trades: dict[str, int]


def build_world(config: WorldConfig) -> World:
    """Build a world; the same settings give the same one everywhere."""
    registry = Registry()
    places: list[WorldPlace] = []
    tongues = build_tongues(config)
    countries = build_countries(config, tongues, registry, places)
    build_nature(config, tongues, countries, registry, places)
    people = build_people(config, countries)
    careers = choose_occupations(config, people)
    trades = {name: registry.add("occupation", known.label, page=False)
              for name, known in OCCUPATIONS.items()}  # fmt: skip
    name_people(config, people, careers, tongues, countries, registry)
    institutions = Institutions(config, people, careers, tongues, countries, registry)
    standing = institutions.build(places)
    teach(config, people, careers, registry, standing)
    name_ends(config, people, careers, countries, registry, standing)
    awards = found_awards(config, tongues, countries, registry, places)
    give_awards(config, people, careers, awards, registry)
    works = Works(config, people, careers, tongues, countries, registry, standing).build()
    return World(config, registry, tongues, countries, people, careers, places, works, trades)
