"""A world is consistent: families, dates, careers, names, texts and statements."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.test_prose import BRITISH
from twowiki import worlds
from twowiki.errors import DataError
from twowiki.generation.text import normalize
from twowiki.worlds.dumps import time_value, write_world
from twowiki.worlds.names import (
    FLAVORS,
    coin_land,
    coin_place,
    coin_surname,
    has_mark,
    may_be_real,
)
from twowiki.worlds.people import NOBODY
from twowiki.worlds.person_pages import PersonWriter
from twowiki.worlds.random_draws import NOW, Chance, draw_date, write_date
from twowiki.worlds.registry import Registry
from twowiki.worlds.settings import WorldConfig, make_world_config, parse_world
from twowiki.worlds.vocabulary import PROPERTIES
from twowiki.worlds.work_pages import WorkWriter
from twowiki.worlds.world import World, build_world

CONFIG = WorldConfig(people=700, films=500, seed="spring")


@pytest.fixture(scope="module")
def world() -> World:
    return build_world(CONFIG)


class Dump:
    """A written world, read back."""

    def __init__(self, folder: Path) -> None:
        lines = (folder / "wikidata.json").read_text("utf-8").splitlines()
        assert lines[0] == "["
        assert lines[-1] == "]"
        self.entities = {e["id"]: e for e in (json.loads(x.rstrip(",")) for x in lines[1:-1])}
        pages = (folder / "paragraphs.jsonl").read_text("utf-8").splitlines()
        self.pages = {page["title"]: page for page in map(json.loads, pages)}
        self.of_title = {
            e["sitelinks"]["enwiki"]["title"]: e for e in self.entities.values() if e["sitelinks"]
        }

    def values(self, entity: dict[str, Any], relation: str) -> list[Any]:
        """Give the objects of a relation: Q-ids, or times."""
        claims = entity["claims"].get(f"P{PROPERTIES[relation]}", [])
        found = [claim["mainsnak"]["datavalue"]["value"] for claim in claims]
        return [value.get("id") or value.get("time") or value["text"] for value in found]

    def names(self, item: str) -> list[str]:
        """Give all spellings of an entity: label, aliases, demonyms."""
        entity = self.entities[item]
        aliases = [alias["value"] for alias in entity["aliases"].get("en", [])]
        demonyms = self.values(entity, "demonym")
        return [entity["labels"]["en"]["value"], *aliases, *demonyms]


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Dump:
    folder = tmp_path_factory.mktemp("world")
    write_world(CONFIG, folder)
    return Dump(folder)


# ---- chance and dates


def test_draws_are_the_same_on_every_machine():
    chance = Chance("seed", "person", 7)
    assert [chance.below(1000) for _ in range(5)] == [726, 685, 958, 843, 182]
    assert Chance("a", 1).shuffled("abcdef") == Chance("a", 1).shuffled("abcdef")
    assert Chance("a", 1).below(1 << 60) != Chance("a", 2).below(1 << 60)


@given(seed=st.integers(), size=st.integers(1, 10**9), low=st.integers(-50, 50))
def test_draws_keep_within_their_range(seed: int, size: int, low: int):
    chance = Chance(seed)
    assert 0 <= chance.below(size) < size
    assert low <= chance.between(low, low + 9) <= low + 9
    assert chance.pick_early([4, 5, 6]) in (4, 5, 6)
    assert chance.weighted((0, 3, 0)) == 1


@given(year=st.integers(1100, 2020), seed=st.integers(0, 10**6), exact=st.sampled_from([0, 1000]))
def test_dates_are_days_that_there_are(year: int, seed: int, exact: int):
    from twowiki.generation.dates import parse_wikidata_time, written_forms

    date = draw_date(year, Chance(seed), exact=exact)
    value = time_value(date)
    parsed = parse_wikidata_time(value["time"], value["precision"], value["calendarmodel"])
    assert parsed is not None
    assert parsed.precision == value["precision"]
    text = write_date(date, bool(seed % 2), seed % 100)
    assert normalize(text) in [norm for norm, says in written_forms(parsed) if says == parsed]


# ---- names


@given(flavor=st.sampled_from(FLAVORS), seed=st.integers(0, 10**9))
def test_every_coined_name_holds_a_mark(flavor: Any, seed: int):
    chance = Chance(seed)
    assert has_mark(coin_surname(flavor, chance))
    assert has_mark(coin_place(flavor, chance))
    assert all(map(has_mark, coin_land(flavor, chance)))


@given(flavor=st.sampled_from(FLAVORS), seed=st.integers(0, 10**9))
def test_no_readable_name_of_a_family_or_place_is_in_the_list_of_names(flavor: Any, seed: int):
    chance, readable = Chance(seed), flavor._replace(clusters=())
    coined = [coin_surname(readable, chance), coin_place(readable, chance)]
    assert not any(map(may_be_real, [*coined, *coin_land(readable, chance)]))
    assert all(name.isascii() and name.isprintable() for name in coined)


@pytest.mark.parametrize(
    "name",
    ["Smith", "Kurosawa", "Schwarzenegger", "Nguyễn", "Ivanov", "Delacroix", "Oppenheimer",
     "Hitchcock", "Szczepański", "Mbappé", "Xochitl", "Chakrabarti"],
)  # fmt: skip
def test_real_names_hold_no_mark(name: str):
    assert not has_mark(name)


@pytest.mark.parametrize(
    "name",
    ["Smith", "Lindgren", "di Rossini", "Johnson", "Kurosawa", "Nguyễn", "Ivanov", "Delacroix",
     "Oppenheimer", "Hitchcock", "Almodóvar", "Bergman", "Fellini", "Kubrick"],
)  # fmt: skip
def test_real_surnames_are_known(name: str):
    assert may_be_real(name)


def test_every_page_is_of_somebody_or_something_coined(world: World):
    titles = [title for title in world.registry.titles if title is not None]
    assert len(set(titles)) == len(titles)
    assert [name for name in world.careers.surnames if may_be_real(name)] == []
    marked = build_world(WorldConfig(people=300, films=200, names="marked"))
    titles = [title for title in marked.registry.titles if title is not None]
    assert [title for title in titles if not has_mark(title)] == []


def test_nobody_has_a_given_name_twice(world: World):
    for entity in world.careers.entity:
        words = world.registry.labels[entity].split()
        assert len(set(words)) == len(words)


def test_all_pages_of_a_name_get_brackets():
    registry = Registry()
    registry.add("city", "X")
    films = [registry.add("film", "Y", waits=True) for _ in range(3)]
    song, alone, town = (registry.add("song", name, waits=True) for name in ("Y", "Z", "X"))
    brackets = {
        films[0]: ("film", "1999 film"), films[1]: ("film", "2001 film"),
        films[2]: ("film", "2001 film", "2001 Oru film"),
    }  # fmt: skip
    registry.settle([*films, song, alone, town], lambda number: brackets.get(number, ("song",)))
    assert registry.titles == [
        "X", "Y (1999 film)", "Y (2001 film)", "Y (2001 Oru film)", "Y (song)", "Z", "X (song)",
    ]  # fmt: skip
    assert registry.has_title("Y (song)")
    registry.settle([registry.add("song", "Q", waits=True)], lambda _: ("song",), always=[7])
    assert registry.titles[7] == "Q (song)"


def test_names_are_shared_unless_unique_ones_are_asked_for(world: World):
    labels = [world.registry.labels[entity] for entity in world.careers.entity]
    assert len(set(labels)) < len(labels)
    other = build_world(WorldConfig(people=700, films=50, seed="spring", unique_names=True))
    labels = [other.registry.labels[entity] for entity in other.careers.entity]
    assert len(set(labels)) == len(labels)
    assert len(set(world.careers.surnames)) < len(labels) // 3  # families and namesakes


# ---- families and careers


def test_parents_are_older_and_alive(world: World):
    people = world.people
    assert len(people) == CONFIG.people
    for child in range(len(people)):
        father, mother = people.father[child], people.mother[child]
        assert (father == NOBODY) == (mother == NOBODY)
        if father == NOBODY:
            continue
        for parent in (father, mother):
            assert 18 <= people.birth_year(child) - people.birth_year(parent) <= 75
            assert child in people.children[parent]
        assert people.birth_year(child) <= people.last_year(mother)
        assert people.birth_year(child) <= people.last_year(father)
        assert people.birth_year(child) - people.birth_year(mother) <= 45
        assert (people.female[father], people.female[mother]) == (0, 1)


def test_lives_end_after_they_begin(world: World):
    people = world.people
    for person in range(len(people)):
        assert people.died[person] == 0 or people.died[person] > people.born[person]
        assert people.last_year(person) <= NOW
        assert people.last_year(person) - people.birth_year(person) <= 110


def test_spouses_know_each_other_and_are_no_kin(world: World):
    people = world.people
    for person in range(len(people)):
        for spouse in (people.spouse[person], people.second_spouse[person]):
            if spouse == NOBODY:
                continue
            assert person in (people.spouse[spouse], people.second_spouse[spouse])
            assert people.female[person] != people.female[spouse]
            assert spouse not in people.siblings(person)
            assert spouse not in (people.father[person], people.mother[person])
    assert sum(spouse != NOBODY for spouse in people.second_spouse) > 10


def test_generations_reach_back(world: World):
    people = world.people

    def depth(person: int) -> int:
        if people.father[person] == NOBODY:
            return 0
        return 1 + max(depth(people.father[person]), depth(people.mother[person]))

    assert max(depth(person) for person in range(len(people))) >= 5


def test_works_are_made_by_people_of_working_age(world: World):
    born = {e: world.people.birth_year(p) for p, e in enumerate(world.careers.entity)}
    last = {e: world.people.last_year(p) for p, e in enumerate(world.careers.entity)}
    checked = 0
    for work in world.works:
        year = work.date // 10000
        for role in ("director", "producer", "composer", "cast", "creator", "author"):
            for entity in work.roles.get(role, ()):
                checked += 1
                assert born[entity] + 20 <= year <= last[entity], (work, role)
                assert year - born[entity] <= 71
    assert checked > 1500


def test_nobles_are_named_by_rank_number_and_seat_everywhere(tmp_path: Path):
    config = WorldConfig(people=700, films=60, seed="noble", nobles=60)
    world = build_world(config)
    people, names = world.people, world.careers.short_names
    labels, titles = world.registry.labels, world.registry.titles
    entity = world.careers.entity
    assert 0.3 < len(names) / len(people) < 0.9
    for person in range(len(people)):
        father = people.father[person]
        if father != NOBODY:
            assert (person in names) == (father in names)
        if person in names:  # as texts write it: the page's title, or that without a bracket
            title = titles[entity[person]] or ""
            assert title == labels[entity[person]] or title.startswith(labels[entity[person]])
    kings = [labels[entity[one]] for one in names if re.search(r" I[IVX]*, ", labels[entity[one]])]
    assert len(set(kings)) == len(kings) > 20
    assert any(re.search(r", 2nd (Baron|Earl|Viscount|Marquess|Duke) of ", one) for one in labels)
    write_world(config, tmp_path)
    pages = (tmp_path / "paragraphs.jsonl").read_text("utf-8")
    assert re.search(r"(son|daughter|child) of [A-Z][\w ]+ I+, (Count|Duke|Prince|King) of ", pages)
    assert "nobles=60" in config.text


def test_founders_were_of_age(world: World):
    persons = {entity: person for person, entity in enumerate(world.careers.entity)}
    founded = [place for place in world.places if place.founder != NOBODY and place.founded]
    assert len(founded) > 40
    for place in founded:
        person = persons[place.founder]
        year = place.founded // 10000
        assert world.people.birth_year(person) + 20 <= year <= world.people.last_year(person)


def test_a_student_was_where_the_advisor_taught(world: World):
    careers, people = world.careers, world.people
    pairs = [(p, careers.advisor[p]) for p in range(len(people)) if careers.advisor[p] != NOBODY]
    assert len(pairs) > 20
    for student, advisor in pairs:
        assert careers.education[student] == careers.employer[advisor]
        assert student in careers.students[advisor]
        assert people.birth_year(advisor) + 16 <= people.birth_year(student)


# ---- what is written


def test_every_link_names_what_it_leads_to(dump: Dump):
    links = 0
    for page in dump.pages.values():
        for number, mention in enumerate(page["mentions"]):
            links += 1
            assert mention["id"] == number
            (item,) = mention["ref_ids"]
            text = page["sentences"][mention["sent_idx"]][mention["start"] : mention["end"]]
            assert text in dump.names(item), page["title"]
            assert dump.of_title[mention["ref_url"]]["id"] == item
    assert links > 5000


def test_pages_and_entities_belong_together(dump: Dump):
    assert set(dump.of_title) == set(dump.pages)
    for title, page in dump.pages.items():
        label = dump.of_title[title]["labels"]["en"]["value"]
        assert normalize(label) in normalize(page["sentences"][0]), title
        assert all(text == text.strip() and text[-1] in ".?!" for text in page["sentences"])
        assert all(text[:1].isupper() or text[:1] in '"0123456789' for text in page["sentences"])
        assert "{" not in " ".join(page["sentences"])


def test_the_first_sentence_that_names_an_object_is_the_one_that_links_it(dump: Dump):
    """A statement is either said where its object first stands, or its object is not there."""
    said = wrong = silent = 0
    for title, page in dump.pages.items():
        norms = [normalize(text) for text in page["sentences"]]
        first_link: dict[str, int] = {}
        for mention in page["mentions"]:
            first_link.setdefault(mention["ref_ids"][0], mention["sent_idx"])
        for relation in ("father", "mother", "spouse", "birthplace", "director", "education"):
            for item in dump.values(dump.of_title[title], relation):
                forms = [normalize(name) for name in dump.names(item)]
                places = [n for n, norm in enumerate(norms) if any(form in norm for form in forms)]
                if not places:
                    silent += 1
                elif first_link.get(item) == places[0]:
                    said += 1
                else:
                    wrong += 1
    assert said > 1000
    assert silent > 300
    assert wrong <= said // 40  # namesakes, and middle names that make one


def test_statements_agree_with_the_world(dump: Dump, world: World):
    people, careers, labels = world.people, world.careers, world.registry.labels
    seen: Counter[str] = Counter()
    for person in range(len(people)):
        title = world.registry.titles[careers.entity[person]]
        assert title is not None
        entity = dump.of_title[title]
        for relation, who in (("father", people.father), ("mother", people.mother)):
            for item in dump.values(entity, relation):
                seen[relation] += 1
                assert (
                    dump.entities[item]["labels"]["en"]["value"]
                    == labels[careers.entity[who[person]]]
                )
        for time in dump.values(entity, "born"):
            assert int(time[1:5]) == people.birth_year(person)
        assert dump.values(entity, "sex") == [("Q6581097", "Q6581072")[people.female[person]]]
    assert min(seen.values()) > 200


def test_missing_links_aliases_and_mismatch_do_what_they_say(tmp_path: Path):
    def written(name: str, **options: int) -> Dump:
        config = WorldConfig(people=300, films=200, seed="1", **options)
        write_world(config, tmp_path / name)
        return Dump(tmp_path / name)

    def statements(dump: Dump) -> int:
        return sum(len(v) for e in dump.entities.values() for v in e["claims"].values())

    def loose(dump: Dump) -> int:
        text = " ".join(" ".join(page["sentences"]) for page in dump.pages.values())
        return text.count("mentioned together with") + text.count("compared with")

    plain = written("plain", missing=0, aliases=0)
    assert statements(written("missing", missing=30, aliases=0)) < 0.85 * statements(plain)
    assert loose(written("mismatch", missing=0, aliases=0, mismatch=30)) > 3 * loose(plain) + 10

    def by_alias(dump: Dump) -> int:
        return sum(
            page["sentences"][m["sent_idx"]][m["start"] : m["end"]]
            != dump.entities[m["ref_ids"][0]]["labels"]["en"]["value"]
            for page in dump.pages.values()
            for m in page["mentions"]
            if dump.entities[m["ref_ids"][0]]["claims"]["P31"][0]["mainsnak"]["datavalue"]["value"][
                "id"
            ]
            == "Q5"
        )

    lengths = {
        dump: [len(page["sentences"]) for page in dump.pages.values()]
        for dump in (plain, written("brief", brief=True))
    }
    most, fewest = (max(counts) for counts in lengths.values())
    assert (most > 6, fewest <= 4) == (True, True)
    assert by_alias(plain) == 0
    assert by_alias(written("aliases", missing=0, aliases=60)) > 100


def test_the_same_settings_give_the_same_bytes(tmp_path: Path):
    config = "people=120,films=60,seed=ü7"
    code = (
        "import sys; from pathlib import Path; from twowiki.worlds.settings import parse_world; "
        "from twowiki.worlds.dumps import write_world; "
        "write_world(parse_world(sys.argv[1]).world, Path(sys.argv[2]))"
    )
    for hashing in ("0", "4711"):
        subprocess.run(
            [sys.executable, "-c", code, config, str(tmp_path / hashing)],
            check=True,
            env={"PYTHONHASHSEED": hashing, "PATH": "", "PYTHONPATH": str(Path.cwd())},
        )
    write_world(parse_world("people=120,films=60,seed=other").world, tmp_path / "other")
    for name in ("wikidata.json", "paragraphs.jsonl", "world.json"):
        one, two = ((tmp_path / hashing / name).read_bytes() for hashing in ("0", "4711"))
        assert one == two
        assert one != (tmp_path / "other" / name).read_bytes()


def test_a_world_has_the_bytes_that_it_had(tmp_path: Path):
    """If this changes, raise `WORLD_VERSION` and tell it in the changelog."""
    write_world(WorldConfig(people=60, films=20, seed="golden"), tmp_path)
    digests = [
        hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()[:16]
        for name in ("wikidata.json", "paragraphs.jsonl")
    ]
    assert digests == ["c7856db5bad827b6", "88592258e7c406c2"]


_LIVED = re.compile(r"\((?:born )?([^()]*?\d{4})[^()]*? – [^()]*?(\d{4})")


def test_years_on_a_page_agree(tmp_path: Path):
    write_world(WorldConfig(people=400, films=300, seed="years", words=90), tmp_path)
    seen: Counter[str] = Counter()
    for line in (tmp_path / "paragraphs.jsonl").read_text("utf-8").splitlines():
        sentences = json.loads(line)["sentences"]
        text = " ".join(sentences)
        retired = {*re.findall(r"until (\d{4})\.", sentences[0]),
                   *re.findall(r"retired in (\d{4})", text)}  # fmt: skip
        assert len(retired) <= 1, text
        seen["retired"] += len(retired)
        assert len(re.findall(r"lived in .* from \d{4} to \d{4}", text)) <= 1, text
        life = _LIVED.search(sentences[0])
        if life is None:
            continue
        born, died = int(life[1][-4:]), int(life[2])
        for year in map(int, re.findall(r"lived in [^.]* from \d{4} to (\d{4})", text)):
            assert year <= died - 4, text
            seen["lived"] += 1
        for number in map(int, re.findall(r"of the (\d\d)(?:st|th) century", sentences[0])):
            assert born + 20 <= 100 * number, text
            assert 100 * (number - 1) < max(died, born + 20), text
            seen["century"] += 1
        for year in map(int, re.findall(r"exhibition on [^.]* in (\d{4})", text)):
            assert year > died, text
    assert min(seen[name] for name in ("retired", "lived", "century")) >= 5


def test_pages_are_in_american_spelling():
    for path in sorted((Path(worlds.__file__).parent / "data").glob("*.yaml")):
        text = path.read_text("utf-8")
        assert not BRITISH.findall(text), path.name
        assert "harbour" not in text.lower(), path.name


_SLIPS = (
    r"(?:^|\b(?:at|in|from|of|to) )(?:University|Church|Isle) of",
    r"is a close friend of",
    r"lots of \w+ (?:Pictures|Film|Studios)",
    r"Live in .* is a studio album",
    r"\b(?:190\d|191\d|192\d) (?:\w+ )?musical film",
    r"died from (?:a traffic collision|drowning)|died of (?:a traffic collision|drowning)",
    r"\bare boiled sweets",
    r"is a retired \w+ aristocrat",
    r"\b(?:[Aa] Heiress|a (?:heir|honor))\b",
    r"\bbuilt on \d|\bbuilt on [A-Z]",  # not on one day
    r"\d(?:st|nd|rd|th) (?:January|February|March|April|May|June|July|August|September)",
    r"[a-z] [A-Z][a-z]+ \d{1,2}, \d{4} (?:in|at) ",  # May 4, 1950, in
    r"^\S+ .*, \w+ is (?:an?|the) \w+ (?:church|school) ",  # St. Ana's Church, Brod, is
    r"won the Order of",
    r"has [1-9] tracks",
    r"^The (\w+) .*Prize is an? \1",
)
_ONE_OF = (  # a page says only one of them
    "tells of|plot follows|story takes place|It is about|lyrics describe",
    "was shot|scenes were filmed",
    "shown again|restored version",
    "success with the public|Critics praised",
    r"collect(?:s|ed) \w|fondness for|left a collection",
    "is the (?:son|daughter) of|was an? (?:son|daughter) of|was the (?:son|daughter) of",
    "corresponded with|close friend of|compared with|guest at the house",
    "is based in",
)


def test_prose_has_none_of_the_slips_that_readers_found(dump: Dump):
    titles = [title for title in dump.pages if re.search(r"\(\d+\)$", title)]
    assert not titles
    slips = re.compile("|".join(_SLIPS), re.MULTILINE)
    for page in dump.pages.values():
        text = "\n".join(page["sentences"])
        assert not slips.search(text), text
        if re.search(r" (?:is|are) an? .*\b(?:band|group)\b", page["sentences"][0]):
            assert "released" not in text, text
            assert len(re.findall(r"formed|came together in", text)) <= 1, text
        if re.search(r"\b(?:1[0-8]\d\d|19[0-3]\d)\b", page["sentences"][0]):
            assert "in the charts" not in text, text
        if "animated" in page["sentences"][0]:
            assert not re.search(r"sets were|was shot|were filmed", text), text


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """Give the sentences of 3,000 pages, many of them long."""
    folder = tmp_path_factory.mktemp("pages")
    write_world(WorldConfig(people=1100, films=800, seed="prose", words=50), folder)
    lines = (folder / "paragraphs.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["sentences"] for line in lines]


def test_no_page_says_a_thing_twice_or_two_that_exclude_each_other(pages: list[list[str]]):
    assert len(pages) > 2900
    slips, one_of = re.compile("|".join(_SLIPS), re.MULTILINE), [re.compile(x) for x in _ONE_OF]
    for sentences in pages:
        text = "\n".join(sentences)
        assert not slips.search(text), text
        for choice in one_of:
            assert sum(bool(choice.search(sentence)) for sentence in sentences) <= 1, text
        deeds = [m[1] for s in sentences if (m := re.match(r"It was (\w+ed|built) ", s))]
        assert len({*deeds}) == len(deeds), text
        dates = re.findall(r"\b(?:\d{1,2} [A-Z][a-z]+ \d{4}|[A-Z][a-z]+ \d{1,2}, \d{4})", text)
        assert len({*dates}) == len(dates), text
        if "village" in sentences[0]:
            assert "town hall" not in text, text
        if "drowning" in text or "traffic collision" in text:
            assert not re.search(r"\bdied at", text), text


_DEEDS = re.compile("traveled|debates of|lectures in|journey through|article on|converted|won the|"
                    "honored with")  # fmt: skip


def test_the_living_are_in_the_present_and_the_dead_did_it_while_they_lived(
    pages: list[list[str]],
):
    seen: Counter[str] = Counter()
    for sentences in pages:
        text = "\n".join(sentences)
        if re.match(
            r".*\(born [^()]*\d{4}(?: in [^()]*|, [^()0-9]*)?\)[^.]* is an? ", sentences[0]
        ):
            seen["living"] += 1
            assert not re.search(r" (?:collected|spoke|belonged|worked in) ", text), text
            born = int(re.findall(r"\d{4}", sentences[0])[0])
            if re.search(r" is an? \w+ (?:footballer|cyclist)", sentences[0]):
                assert born >= NOW - 42, text
        life = _LIVED.search(sentences[0])
        if life is None:
            continue
        born, died = int(life[1][-4:]), int(life[2])
        for sentence in filter(_DEEDS.search, sentences[1:]):
            for year in map(int, re.findall(r"\b\d{4}\b", sentence)):
                seen["deeds"] += 1
                assert born + 20 <= year < died, text
    assert min(seen["living"], seen["deeds"]) > 100


def test_lives_are_possible_in_their_time(world: World):
    people, careers, labels = world.people, world.careers, world.registry.labels
    founded = {place.entity: place.founded // 10000 for place in world.places}
    seen: Counter[str] = Counter()
    for person in range(len(people)):
        last = people.last_year(person)
        if people.female[person] and people.birth_year(person) < 1930:
            men = {"priest", "officer", "footballer", "cyclist"}
            assert not men & {*careers.occupation[person]}
        first = labels[careers.entity[person]].split()[0]
        for other in people.siblings(person):
            assert labels[careers.entity[other]].split()[0] != first
        cause = careers.cause[person]
        if cause >= 0 and labels[cause] in ("typhus", "scarlet fever", "malaria"):
            assert last <= 1955
        for what, place in (("grave", careers.burial), ("work", careers.employer)):
            if place[person] >= 0:
                seen[what] += 1
                assert founded[place[person]] < last
        award = careers.award[person]
        if award >= 0 and labels[award].endswith(("Film Award", "Book Prize")):
            seen["award"] += 1
            assert careers.occupation[person][0] not in ("chemist", "footballer", "priest")
    assert min(seen[what] for what in ("grave", "work", "award")) >= 3


def test_what_continues_a_work_is_later_than_it(world: World):
    first: dict[str, int] = {}
    for work in world.works:
        label, year = world.registry.labels[work.entity], work.date // 10000
        first[label] = min(year, first.get(label, year))
    later = [name for name in first if name.endswith((" II", " Again", " Revisited"))]
    assert len(later) >= 3
    for name in later:
        assert first[name.rsplit(" ", 1)[0]] < first[name], name
    stories = WorkWriter(world)
    for work in world.works:
        text = " ".join(stories.write(work).sentences)
        if work.date // 10000 < 1940:
            assert "television presenter" not in text, text
        assert work.kind == "film" or "runs for 1" not in text or "runs for 10" in text, text


def test_companies_make_what_their_names_say(dump: Dump):
    for title, entity in dump.of_title.items():
        for relation, names in (
            ("publisher", ("Publishing", "Books", "Press")),
            ("manufacturer", ("Foods", "Sons", "Brothers", "Works")),
        ):
            for item in dump.values(entity, relation):
                assert dump.names(item)[0].endswith(names), (title, item)


def test_what_relatives_did_together_they_lived_to_do(world: World):
    people = world.people
    writer = PersonWriter(world)
    seen: Counter[str] = Counter()
    for person in range(len(people)):
        text = " ".join(writer.write(person).sentences)
        father, spouses = (
            people.father[person],
            (people.spouse[person], people.second_spouse[person]),
        )
        if "worked for some years under" in text:
            assert people.last_year(father) >= people.birth_year(person) + 22, text
            seen["father"] += 1
        if re.search(r"is married to|is the (?:wife|husband) of|(?:wife|husband) is", text):
            last = [who for who in spouses if who != NOBODY][-1]
            assert (people.died[person], people.died[last]) == (0, 0), text
            seen["spouse"] += 1
    assert min(seen["father"], seen["spouse"]) >= 3


# ---- settings


@settings(max_examples=30)
@given(people=st.integers(50, 10**7), films=st.integers(10, 10**7), missing=st.integers(0, 100))
def test_settings_are_read_as_they_are_written(people: int, films: int, missing: int):
    config = WorldConfig(people=people, films=films, seed="a b", missing=missing)
    assert parse_world(config.text).world == config


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("people=2000,filmz=3", "Did you mean films"),
        ("people", "sets nothing"),
        ("people=", "sets nothing"),
        ("people=many", "not an integer"),
        ("people=-5", "from 50"),
        ("people=3", "from 50"),
        ("people=100,people=200", "given twice"),
        ("missing=101", "from 0 to 100"),
        ("unique_names=2", "not true or false"),
    ],
)
def test_unusable_settings_are_refused(text: str, says: str):
    with pytest.raises(DataError, match=says):
        parse_world(text)


def test_settings_by_name_are_typed():
    assert make_world_config({"brief": 1, "seed": 7}) == WorldConfig(brief=True, seed="7")
    named = parse_world("people=1_000,unique-names=1").world
    assert named == WorldConfig(people=1000, unique_names=True)
    assert parse_world("") == (WorldConfig(), {"seed": "0"})
    request = parse_world("seed=7,limit_per_type=all,mix=even")
    assert request.questions == {"seed": "7", "limit_per_type": None, "mix": "even"}
    with pytest.raises(DataError, match="not an integer"):
        make_world_config({"people": 2.5})
