"""The faults for which a candidate is dropped: made-up dumps of two hops, one fault each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.generation.dumps import FILM, HUMAN, JULIAN, Dumps, make, samples_of, statement
from twowiki.errors import DataError
from twowiki.generation.cues import words_of_relation
from twowiki.generation.faults import CANDIDATE_FAULTS
from twowiki.generation.lives import Years, contradicts, years_of
from twowiki.generation.rivals import page_names_several
from twowiki.generation.support import ObjectName, SubjectPage, best_hit, is_coarse
from twowiki.generation.text import TextWords, normalize

BORN, DIED, PLACE, COUNTRY = "P569", "P570", "P19", "P27"


def chain(film: list[str], person: list[str], *, names: tuple[str, ...] = (), **more: Any) -> Dumps:
    """A film, its director, and the place of the director's birth."""
    dumps = Dumps().filler()
    dumps.add(3, more.pop("place", "Selmouth"), aliases=names)
    dumps.add(1, "Grey Reel", film, {"P31": [FILM], "P57": [2], **more.pop("film_claims", {})})
    dumps.add(2, "Ala Ton", person, {"P31": [HUMAN], PLACE: [3], **more.pop("claims", {})})
    return dumps


FILM_PAGE = ["Grey Reel is a 1970 film directed by Ala Ton."]
BIRTH = ["Ala Ton is a poet.", "She was born in Selmouth."]


def dropped(dumps: Dumps, folder: Path, **settings: Any) -> dict[str, int]:
    """Return what was dropped of the compositional candidates."""
    report = make(dumps, folder, types=("compositional",), **settings)
    counts = report["dropped"].get("compositional", {})
    return counts | ({"kept": report["samples"]} if report["samples"] else {})


@pytest.mark.parametrize(
    ("dumps", "expected"),
    [
        (chain(FILM_PAGE, BIRTH), {"kept": 1}),
        (
            chain(FILM_PAGE, ["Ala Ton is a poet, born near the Tower of Selmouth."]),
            {"object_in_a_longer_name": 1},
        ),
        (
            chain(FILM_PAGE, ["Ala Ton was born in Selmouth Springs."]),
            {"object_in_a_longer_name": 1},
        ),
        (
            chain(FILM_PAGE, ["Ala Selmouth Ton (born 1930) is a poet."]),
            {"object_in_the_subjects_own_name": 1},
        ),
        (
            chain(["Grey Reel is a 1970 film directed by Ala Ton and Bo Rill."], BIRTH),
            {"several_answers_in_the_text": 1},
        ),
        (
            chain(["Grey Reel is a 1970 film directed by Bo Rill, Cai Dun and Ala Ton."], BIRTH),
            {"several_answers_in_the_text": 1},
        ),
        (
            chain(FILM_PAGE, BIRTH, claims={DIED: ["+1902-05-01"]}),
            {"dates_contradict_each_other": 1},
        ),
        (chain(FILM_PAGE, BIRTH, claims={DIED: ["+1968-05-01"]}), {"kept": 1}),
        (
            chain(FILM_PAGE, ["Ala Ton (1850 – 1902) was a poet.", "She was born in Selmouth."]),
            {"dates_contradict_each_other": 1},
        ),
        (
            chain(
                [*FILM_PAGE, "It is set in Zelmoúth."],
                ["Ala Ton is a poet born in Zelmouth."],
                place="Zelmouth",
            ),
            {"answer_in_first_paragraph_spelled_otherwise": 1},
        ),
    ],
)
def test_each_fault_drops_its_candidate(tmp_path: Path, dumps: Dumps, expected: dict[str, int]):
    assert dropped(dumps, tmp_path) == expected


def test_an_allowed_fault_drops_nothing(tmp_path: Path):
    dumps = chain(FILM_PAGE, ["Ala Ton was born in Selmouth Springs."])
    assert dropped(dumps, tmp_path, allow=("object_in_a_longer_name",)) == {"kept": 1}
    with pytest.raises(DataError, match="unknown fault 'oddness'"):
        dropped(dumps, tmp_path / "x", allow=("oddness",))


def test_the_sentence_with_the_relations_words_wins(tmp_path: Path):
    page = ["Ala Ton is a poet who sang in Selmouth.", "She was born in Selmouth."]
    for support, sentence in (("worded", 1), ("first", 0)):
        make(chain(FILM_PAGE, page), tmp_path / support, types=("compositional",), support=support)
        (sample,) = samples_of(tmp_path / support)
        assert sample["supporting_facts"][1] == ["Ala Ton", sentence]


def test_a_drawn_set_has_no_sentence_without_the_relation(tmp_path: Path):
    page = ["Ala Ton is a poet who sang in Selmouth."]
    for limit, expected in ((None, {"kept": 1}), (5, {"relation_not_in_the_sentence": 1})):
        folder = tmp_path / str(limit)
        assert dropped(chain(FILM_PAGE, page), folder, limit_per_type=limit) == expected
    (sample,) = samples_of(tmp_path / "None")
    assert sample["worded"] is False


def people(one: list[Any], two: list[Any], texts: tuple[str, str]) -> Dumps:
    """Two people with a date of birth each."""
    dumps = Dumps().filler()
    for qid, name, dates, text in ((1, "Ala Ton", one, texts[0]), (2, "Bo Rill", two, texts[1])):
        dumps.add(qid, name, [text], {"P31": [HUMAN], BORN: dates})
    return dumps


@pytest.mark.parametrize(
    ("days", "reason"),
    [
        (("+1700-01-01", "1 January 1700", "+1700-01-05", "5 January 1700"), True),
        (("+1918-01-31", "31 January 1918", "+1918-02-05", "5 February 1918"), True),
        (("+1700-12-28", "28 December 1700", "+1701-01-03", "3 January 1701"), True),
        (("+1700-01-01", "1 January 1700", "+1700-03-05", "5 March 1700"), False),
    ],
)
def test_no_question_where_calendars_turn_the_written_order(
    tmp_path: Path, days: tuple[str, str, str, str], reason: bool
):
    julian = statement(BORN, f"{days[0]}/11", calendar=JULIAN)
    dumps = people([julian], [days[2]], (f"Ala Ton, {days[1]}.", f"Bo Rill, {days[3]}."))
    report = make(dumps, tmp_path, types=("comparison",))
    found = report["dropped"].get("comparison", {}).get("written_dates_in_another_order", 0)
    assert (found, report["samples"] == 0) == (int(reason), reason)


def test_a_date_that_the_text_doubts_is_compared_from_afar_alone(tmp_path: Path):
    for year, kept in ((1512, False), (1580, True)):
        texts = ("Ala Ton (born c. 1510) was a poet.", f"Bo Rill (born 3 May {year}) was a poet.")
        dumps = people(["+1510-00-00/9"], [f"+{year}-05-03"], texts)
        dumps.entities[-2]["claims"][BORN] = [statement(BORN, "+1510-06-01")]
        dumps.pages[-2]["sentences"] = ["Ala Ton (born c. 1 June 1510) was a poet."]
        report = make(dumps, tmp_path / str(year), types=("comparison",))
        assert (report["samples"] > 0) == kept


def test_no_where_the_other_value_is_in_the_text_is_no_question(tmp_path: Path):
    dumps = Dumps().filler()
    dumps.add(8, "Veltria", (), {"P1549": ["Veltrian"]})
    dumps.add(9, "Oru", (), {"P1549": ["Oruan"]})
    dumps.add(1, "Ala Ton", ["Ala Ton is a Veltrian poet of Oruan birth."],
              {"P31": [HUMAN], COUNTRY: [8]})  # fmt: skip
    dumps.add(2, "Bo Rill", ["Bo Rill is an Oruan poet."], {"P31": [HUMAN], COUNTRY: [9]})
    report = make(dumps, tmp_path, types=("comparison",))
    assert report["dropped"]["comparison"] == {"values_may_agree_by_the_text": 1}


# ---- single rules


def hit_of(text: str, name: str, relation: str, own: str = "Ala Ton", demonym: bool = False) -> Any:
    names = [ObjectName(name, normalize(name), demonym)]
    return best_hit(SubjectPage(["-", text], [own]).hits(relation, names), names, worded=True)


@pytest.mark.parametrize(
    ("relation", "text", "name", "fault", "worded"),
    [
        ("father", "She was the daughter of Christian Orrel.", "Orrel", True, True),
        ("father", "She was the daughter of King Orrel.", "Orrel", False, True),
        ("father", "She was the daughter of Orrel I.", "Orrel", True, True),
        ("father", "She was the granddaughter of Tavik Orrel.", "Tavik Orrel", False, False),
        ("spouse", "She led the Tavik Orrel Foundation.", "Tavik Orrel", True, False),
        ("employer", "She worked at the Sel School of Arts.", "Sel", False, True),
        ("place of birth", "Born in Oru, she moved to Selmouth.", "Selmouth", False, False),
        ("place of birth", "She was born and raised in Selmouth.", "Selmouth", False, True),
        ("place of birth", "(3 May 1901, Oru – 2 July 1950, Selmouth)", "Selmouth", False, False),
        ("place of death", "(3 May 1901, Oru – 2 July 1950, Selmouth)", "Selmouth", False, True),
        ("place of death", "She moved to Selmouth, where she died.", "Selmouth", False, True),
        ("country of citizenship", "She led Bo's Oruan collective.", "Oruan", True, False),
        ("country of citizenship", "She is from Oru.", "Oru", False, True),
        ("country", "It lies on an island of American Oru.", "American", True, True),
        ("country", "It is an American Lutheran church.", "American", False, True),
        ("director", "It was directed, written and cut by Bo Rill.", "Bo Rill", False, True),
        ("director", "Bo Rill directed it.", "Bo Rill", False, True),
        ("director", "It was written by Bo Rill.", "Bo Rill", False, False),
        ("award received", "He was nominated for the Oru Prize.", "Oru Prize", False, False),
        ("award received", "She received 5 Oru Prize nominations.", "Oru Prize", False, False),
        ("occupation", "She is a Veltrian poet.", "poet", False, True),
        (
            "country of origin",
            "It is a film of the National Reel Board of Oru.",
            "Oru",
            False,
            False,
        ),
        ("country of origin", "It is a film made in the Kingdom of Oru.", "Oru", False, True),
        ("country", "It is part of the Royal Bank of the Oru.", "Oru", False, False),
        ("country", "It is part of the Sel Highlands of Oru.", "Oru", False, True),
        ("country", "It is one of Page's Oru's Best High Schools.", "Oru", False, False),
        ("country", "It is listed in Oru's Best High Schools.", "Oru", False, False),
        ("country", "It is a town in Oru's Sel Valley.", "Oru", False, True),
        ("country of citizenship", "She was Oru's first ambassador to Ton.", "Oru", False, False),
        ("country of citizenship", "She was the first ambassador of Oru.", "Oru", False, False),
        ("country of citizenship", "She was ambassador to Oru.", "Oru", False, False),
        ("country of citizenship", "She is a citizen and a poet of Oru.", "Oru", False, True),
        ("director", "It was directed by the Friends of Bo Rill.", "Bo Rill", False, False),
    ],
)
def test_names_and_words_of_relations(
    relation: str, text: str, name: str, fault: bool, worded: bool
):
    demonym = relation.startswith("country") and name.endswith("an")
    hit = hit_of(text, name, relation, demonym=demonym)
    assert (bool(hit.fault), hit.worded) == (fault, worded)


SCHOOL, SPOUSE, ATTENDED = "educated at", "spouse", "She attended Sel College, Oru."


@pytest.mark.parametrize(
    ("relation", "name", "page", "several"),
    [
        (SPOUSE, "Bo Rill", ["She was married to Bo Rill and later married Cai Dun."], True),
        (SPOUSE, "Bo Rill", ["She married Bo Rill.", "In 1950 she wed the poet Cai Dun."], True),
        (SPOUSE, "Bo Rill", ["Her first husband was Bo Rill."], True),
        (SPOUSE, "Bo Rill", ["She married Bo Rill.", "She was married three times."], True),
        (SPOUSE, "Bo Rill", ["She was the second wife of Bo Rill."], False),
        (SPOUSE, "Bo Rill", ["In May 1950 she married Bo Rill.", "Rill was a poet."], False),
        (SPOUSE, "Bo Rill", ["She was married to and worked with the poet Bo Rill."], False),
        (SCHOOL, "Sel College", ["She left Sel College with a degree of Ton Academy."], True),
        (SCHOOL, "Sel College", [ATTENDED, "She graduated from the University of Oru."], True),
        (SCHOOL, "Sel College", [ATTENDED, "She taught at the University of Oru."], False),
        (SCHOOL, "Sel College", [ATTENDED, "She left Sel College in 1950."], False),
        ("award received", "Oru Prize", ["She won the Oru Prize and the Sel Medal."], True),
        ("award received", "Oru Prize", ["She won the Oru Prize in 1950."], False),
        ("place of birth", "Oru", ["She was born in Oru and married Bo Rill."], False),
    ],
)  # fmt: skip
def test_a_page_that_names_another_answer(relation: str, name: str, page: list[str], several: bool):
    sentences = [TextWords(line) for line in page]
    ((first, last),) = sentences[0].find(normalize(name).split())
    assert page_names_several(sentences, 0, first, last, relation) is several


def test_a_drawn_set_has_no_question_that_a_page_answers_twice(tmp_path: Path):
    page = ["Ala Ton married Bo Rill in 1950.", "She later married Cai Dun."]
    for limit, expected in ((None, {"kept": 1}), (5, {"several_answers_on_the_page": 1})):
        dumps = Dumps().filler()
        dumps.add(1, "Grey Reel", FILM_PAGE, {"P31": [FILM], "P57": [2]})
        dumps.add(2, "Ala Ton", page, {"P31": [HUMAN], "P26": [3]})
        dumps.add(3, "Bo Rill", ["Bo Rill is a poet."], {"P31": [HUMAN]})
        assert dropped(dumps, tmp_path / str(limit), limit_per_type=limit) == expected


def test_every_relation_of_items_has_a_pattern_that_compiles():
    for relation in ("director", "father", "country", "religion"):
        assert words_of_relation(relation) is not None
    assert words_of_relation("date of birth") is None
    assert len(set(CANDIDATE_FAULTS)) == len(CANDIDATE_FAULTS)


@pytest.mark.parametrize(
    ("text", "months", "coarse"),
    [
        ("born on 6 January 1975 in Oru", False, True),
        ("born January 6, 1975", False, True),
        ("released in January 1975", True, True),
        ("released in January 1975", False, False),
        ("a 1975 film", True, False),
    ],
)
def test_a_bare_year_is_coarse_beside_its_day(text: str, months: bool, coarse: bool):
    assert is_coarse(TextWords(text), normalize("1975"), months=months) is coarse


def test_lives_rule_out_some_relations():
    person = years_of({}, "Ala Ton (1850 – 1902) was a poet.")
    assert person == Years((1850, 1850), (1902, 1902), True)
    film = years_of({}, "Grey Reel is a 1970 film.")
    assert contradicts("director", film, person)
    assert not contradicts("composer", film, person)
    child = Years((1855, 1855), None, True)
    assert contradicts("father", child, person)
    assert contradicts("child", person, child)
    assert not contradicts("father", Years((1880, 1880), None, True), person)
    assert contradicts("spouse", Years((1903, 1903), None, True), person)
    band = Years((1962, 1962), None)
    assert not contradicts("performer", Years((1961, 1961), None), band)


# ---- dates that Wikidata marks as uncertain

CIRCA = {"P1480": [{"snaktype": "value", "property": "P1480"}]}


def bound(prop: str, day: str) -> dict[str, Any]:
    return {prop: [statement(prop, day)["mainsnak"]]}


@pytest.mark.parametrize(
    ("qualifiers", "other", "kept"),
    [
        ({}, 1512, True),
        (CIRCA, 1512, False),
        ({"P5102": CIRCA["P1480"]}, 1512, False),
        (CIRCA, 1580, True),
        (bound("P1319", "+1500-01-01/9") | bound("P1326", "+1511-01-01/9"), 1512, True),
        (bound("P1319", "+1500-01-01/9") | bound("P1326", "+1513-01-01/9"), 1512, False),
        (bound("P1326", "+1510-12-31"), 1505, False),
    ],
)
def test_no_question_that_an_uncertain_date_can_turn(
    tmp_path: Path, qualifiers: dict[str, Any], other: int, kept: bool
):
    doubted = statement(BORN, "+1510-06-01", qualifiers=qualifiers)
    texts = ("Ala Ton, 1 June 1510.", f"Bo Rill, 3 May {other}.")
    dumps = people([doubted], [f"+{other}-05-03"], texts)
    report = make(dumps, tmp_path, types=("comparison",))
    assert (report["samples"] > 0) == kept
    assert report["dropped"].get("comparison", {}) == ({} if kept else {"uncertain_date": 1})
    assert report["read"]["wikidata"].get("date marked as uncertain", 0) == bool(qualifiers)


def test_a_bridge_comparison_minds_uncertain_dates(tmp_path: Path):
    doubted = statement(BORN, "+1910-06-01", qualifiers=CIRCA)
    dumps = people([doubted], ["+1912-05-03"], ("Ala Ton, 1 June 1910.", "Bo Rill, 3 May 1912."))
    for qid, name, person in ((11, "Grey Reel", "Ala Ton"), (12, "Red Reel", "Bo Rill")):
        text = f"{name} is a 1970 film directed by {person}."
        dumps.add(qid, name, [text], {"P31": [FILM], "P57": [qid - 10]})
    report = make(dumps, tmp_path, types=("bridge_comparison",))
    assert report["dropped"]["bridge_comparison"] == {"uncertain_date": 1}
