from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.generation.dumps import FILM, HUMAN, Dumps, by_relations, make, samples_of, statement


def films_of(*people: tuple[int, str, str, dict[str, Any]]) -> Dumps:
    """A film for each person, whose page says what is given."""
    dumps = Dumps().filler()
    for qid, name, page, claims in people:
        dumps.add(qid, name, [page], {"P31": [HUMAN], **claims})
        film = f"Reel of {qid}"
        sentence = f"{film} is a film directed by {name}."
        dumps.add(qid + 1000, film, [sentence], {"P31": [FILM], "P57": [qid]})
    return dumps


def test_ranks_and_values_decide_before_anything_is_asked(tmp_path: Path):
    best = [statement("P569", "+1900-01-01", "deprecated"), statement("P569", "+1907-03-05"),
            statement("P569", "+1908-04-06", "preferred")]  # fmt: skip
    two = [statement("P569", "+1907-03-05"), statement("P569", "+1908-04-06")]
    old = [statement("P569", "+1900-01-01", "deprecated")]
    page = "{} (5 March 1907 or 6 April 1908 or 1 January 1900) was a painter."
    dumps = films_of(
        (1, "Ala Best", page.format("Ala Best"), {"P569": best}),
        (2, "Bo Two", page.format("Bo Two"), {"P569": two}),
        (3, "Cy Old", page.format("Cy Old"), {"P569": old}),
    )
    make(dumps, tmp_path)
    born = [sample for sample in samples_of(tmp_path) if "date of birth" in sample["relations"]]
    assert [sample["answer"] for sample in born] == ["6 April 1908"]


def test_entities_without_an_english_label_are_never_named(tmp_path: Path):
    dumps = films_of(
        (1, "Ala Ton", "Ala Ton was the son of Lac Ton and of Mer Ton.", {"P22": [50], "P25": [51]})
    )
    dumps.add(50, "Lac Ton", (), {"P31": [HUMAN]}, language="fr", title="Lac Ton")
    dumps.page("Lac Ton", ["Lac Ton was a baker."])
    dumps.add(51, "Mer Ton", ["Mer Ton was a baker."], {"P31": [HUMAN]})
    make(dumps, tmp_path)
    assert {sample["answer"] for sample in samples_of(tmp_path)} == {"Mer Ton"}


def test_pages_join_by_sitelink_and_redirect_not_by_label(tmp_path: Path):
    dumps = Dumps().filler()
    mother = {"P31": [HUMAN], "P25": [2]}
    dumps.add(1, "Oru", [], mother, title="Oru &amp; Sons_(smith)")
    dumps.page("Oru & Sons (smith)", ["Oru was the son of Tala Moor."])
    dumps.add(2, "Tala Moor", ["Tala Moor died in Selmouth."], {"P31": [HUMAN], "P20": [3]})
    dumps.add(3, "Selmouth")
    dumps.add(4, "Nolink", [], mother)
    dumps.page("Nolink", ["Nolink was the son of Tala Moor."])
    make(dumps, tmp_path)
    chains = [sample for sample in samples_of(tmp_path) if sample["type"] == "compositional"]
    assert [sample["entities"][0] for sample in chains] == ["Q1"]
    sample = chains[0]
    assert "Oru & Sons (smith)" in dict(sample["context"])
    assert "Oru & Sons" in sample["question"]
    assert "(smith)" not in sample["question"]


def xml_page(number: int, title: str, text: str) -> str:
    return f"<page><title>{title}</title><ns>0</ns><id>{number}</id><text>{text}</text></page>"


def test_redirects_lead_to_pages_but_not_to_sections(tmp_path: Path):
    pages = [
        ("Ala Ton (poet)", "Ala Ton was the son of Tala Moor."),
        ("Bo Ton", "Bo Ton was the son of Tala Moor."),
        ("Tala Moor", "Tala Moor died in Selmouth."),
    ]
    pages += [(f"Filler {n}", f"Filler {n} was a baker.") for n in range(12)]
    xml = "".join(xml_page(number, *page) for number, page in enumerate(pages, 1))
    for number, (title, target) in enumerate(
        (("Ala Ton", "Ala Ton (poet)"), ("Bo T.", "Bo Ton#Life")), 50
    ):
        xml += xml_page(number, title, f"#REDIRECT [[{target}]]")
    dumps = Dumps()
    mother = {"P31": [HUMAN], "P25": [3]}
    dumps.add(1, "Ala Ton", [], mother, title="Ala Ton")
    dumps.add(2, "Bo Ton", [], mother, title="Bo T.")
    dumps.add(3, "Tala Moor", [], {"P31": [HUMAN], "P20": [9]}, title="Tala Moor")
    dumps.add(9, "Selmouth")
    for number in range(12):
        dumps.add(20 + number, f"Filler {number}", [], {"P31": [HUMAN]}, title=f"Filler {number}")
    wikidata, _ = dumps.write(tmp_path)
    paragraphs = tmp_path / "pages.xml"
    paragraphs.write_text(f"<mediawiki>{xml}</mediawiki>", "utf-8")
    make((wikidata, paragraphs), tmp_path)
    assert {sample["entities"][0] for sample in samples_of(tmp_path)} == {"Q1"}


def test_a_mention_is_a_whole_word(tmp_path: Path):
    dumps = films_of((1, "Ala Ton", "Ala Ton was born in Orun.", {"P19": [9]}))
    dumps.add(9, "Oru")
    report = make(dumps, tmp_path)
    assert report["types"]["compositional"]["samples"] == 0


@pytest.mark.parametrize(
    ("film", "person", "reason"),
    [
        ("{} is by {}, from Selmouth.", "{} was born in Selmouth.", "answer_in_first_paragraph"),
        ("{} is by {}.", "{} of Reel of 1 came from Selmouth.", "start_in_second_paragraph"),
        ("{} is by {}, from Selburg.", "{} was born in Selmouth.", "answer_in_first_paragraph"),
    ],
)  # fmt: skip
def test_the_four_paragraph_checks_name_their_reasons(
    tmp_path: Path, film: str, person: str, reason: str
):
    dumps = Dumps().filler()
    dumps.add(1, "Ala Ton", [person.format("Ala Ton")], {"P31": [HUMAN], "P19": [9]})
    dumps.add(2, "Reel of 1", [film.format("Reel of 1", "Ala Ton")], {"P31": [FILM], "P57": [1]})
    dumps.add(9, "Selmouth", aliases=["Selburg"])
    report = make(dumps, tmp_path, types=("compositional",))
    assert report["samples"] == 0
    assert report["dropped"]["chains"] == {reason: 1}


def test_support_is_the_first_sentence_that_holds_the_object(tmp_path: Path):
    dumps = Dumps().filler()
    pages = ["Ala Ton was a poet.", "She came from Selmouth.", "Selmouth was home."]
    dumps.add(1, "Ala Ton", pages, {"P31": [HUMAN], "P19": [9]})
    dumps.add(2, "Reel", ["Reel is short.", "Ala Ton made it."], {"P31": [FILM], "P57": [1]})
    dumps.add(9, "Selmouth")
    make(dumps, tmp_path)
    assert samples_of(tmp_path)[0]["supporting_facts"] == [["Reel", 1], ["Ala Ton", 1]]


def test_two_values_make_a_relation_ambiguous(tmp_path: Path):
    dumps = films_of(
        (1, "Ala Ton", "Ala Ton married Bo Ton and Cy Ton.", {"P26": [11, 12]}),
        (2, "Dee Ton", "Dee Ton married Ed Ton.", {"P26": [13, None]}),
    )
    for qid, name in ((11, "Bo Ton"), (12, "Cy Ton"), (13, "Ed Ton")):
        dumps.add(qid, name)
    report = make(dumps, tmp_path)
    assert report["types"]["compositional"]["samples"] == 0
    assert report["dropped"]["chains"] == {"several_values": 3}


def test_dates_that_cannot_be_told_apart_are_not_compared(tmp_path: Path):
    dumps = Dumps().filler()
    for qid, name, moment, text in (
        (1, "Ala Ton", "+1907-03-05/11", "5 March 1907"), (2, "Bo Ton", "+1907-00-00/9", "1907"),
        (3, "Cy Ton", "+1907-03-05/11", "March 5, 1907"), (4, "Dee Ton", "+1906-00-00/9", "1906"),
    ):  # fmt: skip
        dumps.add(qid, name, [f"{name} was born {text}."], {"P31": [HUMAN], "P569": [moment]})
    report = make(dumps, tmp_path, types=("comparison",))
    assert report["dropped"]["comparison"] == {"equal_values": 1, "incomparable_precision": 2}
    assert report["samples"] == 6  # each of three with the one of 1906, earlier and later


def test_works_may_show_the_year_alone_and_people_may_not(tmp_path: Path):
    dumps = Dumps().filler()
    for qid, year in ((1, 1950), (2, 1960)):
        dumps.add(qid, f"Reel {qid}", [f"Reel {qid} is a {year} film."],
                  {"P31": [FILM], "P577": [f"+{year}-05-06/11", f"+{year}-07-00/10"]})  # fmt: skip
        dumps.add(qid + 10, f"Ton {qid}", [f"Ton {qid} was born in {year}."],
                  {"P31": [HUMAN], "P569": [f"+{year}-05-06/11"]})  # fmt: skip
    make(dumps, tmp_path)
    found = by_relations(tmp_path)
    assert found == {"comparison publication date": 2}
    assert {row[2] for sample in samples_of(tmp_path) for row in sample["evidences"]} == {
        "1950",
        "1960",
    }


def test_countries_go_by_their_demonyms_and_shared_ones_count(tmp_path: Path):
    dumps = Dumps().filler()
    for qid, lands, text in (
        (1, [81], "a Veltrian"),
        (2, [82, 81], "a Tarnish and Veltrian"),
        (3, [82], "a Tarnish"),
    ):
        dumps.add(
            qid, f"Ton {qid}", [f"Ton {qid} was {text} poet."], {"P31": [HUMAN], "P27": lands}
        )
    dumps.add(81, "Veltria", (), {"P1549": ["Veltrian"]})
    dumps.add(82, "Tarnland", (), {"P1549": ["Tarnish"]})
    make(dumps, tmp_path)
    answers = {frozenset(sample["entities"]): sample["answer"] for sample in samples_of(tmp_path)}
    assert answers == {
        frozenset(("Q1", "Q2")): "yes",
        frozenset(("Q2", "Q3")): "yes",
        frozenset(("Q1", "Q3")): "no",
    }


def test_too_few_pages_fail_that_sample_alone(tmp_path: Path):
    dumps = films_of((1, "Ala Ton", "Ala Ton was born in Selmouth.", {"P19": [9]}))
    dumps.add(9, "Selmouth")
    dumps.entities = [one for one in dumps.entities if "Filler" not in str(one["labels"])]
    report = make(dumps, tmp_path)
    assert report["samples"] == 0
    assert report["dropped"]["compositional"] == {"too_few_distractors": 1}


def test_untyped_distractors_stand_in_and_are_told(tmp_path: Path):
    dumps = Dumps()
    dumps.add(1, "Ala Ton", ["Ala Ton was born in Selmouth."], {"P31": [HUMAN], "P19": [9]})
    dumps.add(2, "Reel", ["Reel is a film by Ala Ton."], {"P31": [FILM], "P57": [1]})
    dumps.add(9, "Selmouth")
    for number in range(9):
        dumps.add(30 + number, f"Stone {number}", [f"Stone {number} is a stone."], {"P31": [77]})
    make(dumps, tmp_path)
    (sample,) = samples_of(tmp_path)
    assert sample["distractor_tier"] == 2
    assert len(sample["context"]) == 10


def test_a_distractor_does_not_answer_the_question(tmp_path: Path):
    dumps = films_of((1, "Ala Ton", "Ala Ton was born in Selmouth.", {"P19": [9]}))
    dumps.add(9, "Selmouth")
    telling = "Reel of 1 Book tells that Ala Ton was born in Selmouth."
    dumps.add(7, "Reel of 1 Book", [telling], {"P31": [FILM]})
    make(dumps, tmp_path, types=("compositional",))
    for sample in samples_of(tmp_path):
        assert "Reel of 1 Book" not in dict(sample["context"])


def test_a_nationality_is_asked_for_as_the_page_writes_it(tmp_path: Path):
    dumps = films_of(
        (1, "Ala Ton", "Ala Ton was a Veltrian poet.", {"P27": [81]}),
        (2, "Bo Ton", "Bo Ton was a poet in Tarnland.", {"P27": [82]}),
    )
    dumps.add(81, "Veltria", (), {"P1549": ["Veltrian"]})
    dumps.add(82, "Tarnland", (), {"P1549": ["Tarnish"]})
    make(dumps, tmp_path, types=("compositional",))
    asked = {sample["answer"]: sample["wordings"] for sample in samples_of(tmp_path)}
    assert asked == {
        "Veltrian": ["What nationality is the director of film Reel of 1?"],
        "Tarnland": ["Which country is the director of film Reel of 2 from?"],
    }
