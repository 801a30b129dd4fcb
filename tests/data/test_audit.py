"""An audit finds each kind of fault in made-up records, and nothing in sound ones."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

import twowiki
from twowiki import DataError
from twowiki.cli.main import main
from twowiki.data.audit import AMENDED_FIELD, FAULTS, Audit, audit
from twowiki.data.audit_text import Days, life_in, name_key, parse_days, plain, work_year
from twowiki.data.schema import Example, parse_record

FILM = "Salt Choir is a 1931 film directed by Tavik Orrel."
PERSON = "Tavik Orrel (5 March 1880 – 2 May 1940) was a director born in Brinmoor."
CHAIN = [["Salt Choir", "director", "Tavik Orrel"], ["Tavik Orrel", "place of birth", "Brinmoor"]]
DATES = [
    ["Tavik Orrel", "date of birth", "5 March 1880"],
    ["Dessa Slater", "date of birth", "7 June 1891"],
]


def record(**changes: Any) -> dict[str, Any]:
    """A sound compositional record."""
    return {
        "_id": "q1",
        "type": "compositional",
        "question": "Where was the director of film Salt Choir born?",
        "context": [["Salt Choir", [FILM]], ["Tavik Orrel", [PERSON]], ["Oru", ["A river."]]],
        "supporting_facts": [["Salt Choir", 0], ["Tavik Orrel", 0]],
        "evidences": CHAIN,
        "answer": "Brinmoor",
        **changes,
    }


def comparison(answer: str, question: str = "Who was born first, {} or {}?") -> dict[str, Any]:
    """A comparison of two dates of birth."""
    return record(
        type="comparison",
        question=question.format("Tavik Orrel", "Dessa Slater"),
        context=[["Tavik Orrel", [PERSON]], ["Dessa Slater", ["Dessa Slater (born 7 June 1891)."]]],
        supporting_facts=[["Tavik Orrel", 0], ["Dessa Slater", 0]],
        evidences=DATES,
        answer=answer,
    )


def pages(film: str = FILM, person: str = PERSON, **changes: Any) -> dict[str, Any]:
    """A compositional record with other sentences."""
    context = [["Salt Choir", [film]], ["Tavik Orrel", [person]]]
    return record(context=context, **changes)


def kinds_of(one: dict[str, Any], config: str = "data_ids_april7", **options: Any) -> list[str]:
    """The kinds of faults that an audit finds in a record."""
    return list(audit([parse_record(one, config)], **options).cases)


SOUND = [
    record(),
    comparison("Tavik Orrel"),
    comparison("Dessa Slater", "Who is younger, {} or {}?"),
    pages(person=PERSON.replace("Brinmoor", "the city of Brinmoor")),
    pages(film="Salt Choir is a film directed by King Tavik Orrel."),
    pages(film="Salt Choir is a film directed by American Tavik Orrel and starring Dessa."),
    pages(person="Tavik Orrel( c. 1940 – 2 May 1942) was born in Brinmoor."),
    pages(person="Tavik Orrel was born on 5 March 1880 in Brinmoor , Veltria ."),
    record(context=[*record()["context"], ["Salt Choir (album)", ["An album."]]]),
    record(context=[["Salt Choir", [FILM]], ["Tavik Orrel", [PERSON]], ["Orrel", ["A."]]]),
    record(
        question="Where was the presenter of Tavik Orrel (talk show) born?",
        context=[*record()["context"], ["Tavik Orrel (talk show)", ["A show."]]],
    ),
]
FAULTY = [
    ("object_not_in_support", pages(person="Tavik Orrel was a director.")),
    ("object_in_longer_name", pages(person="Tavik Orrel worked at Brinmoor Castle.")),
    ("object_in_longer_name", pages(person="Tavik Orrel saw the Tower of Brinmoor.")),
    ("object_in_own_name", pages(person="Tavik Brinmoor Orrel was a director.")),
    (
        "object_in_own_name",
        pages(
            film="Goodbye, Tavik Orrel is a film.",
            evidences=[["Goodbye, Tavik Orrel", *CHAIN[0][1:]], CHAIN[1]],
        ),
    ),
    ("coarse_object", record(evidences=[CHAIN[0], ["Tavik Orrel", "date of birth", "1880"]])),
    ("answer_not_in_chain", record(answer="Oru")),
    ("answer_in_first_paragraph", pages(film=f"{FILM} It was shot in brinmoor.")),
    ("answer_against_dates", comparison("Dessa Slater")),
    ("answer_against_dates", comparison("Tavik Orrel", "Who was born later, {} or {}?")),
    (
        "undecided_comparison",
        {
            **comparison("Tavik Orrel"),
            "evidences": [DATES[0], ["Dessa Slater", DATES[0][1], "1880"]],
        },
    ),
    ("dates_contradict", pages(film=FILM.replace("1931", "1958"))),
    ("dates_contradict", pages(film=FILM.replace("1931", "1882"))),
    (
        "dates_contradict",
        record(evidences=[CHAIN[0], ["Tavik Orrel", "date of death", "3 May 1940"]]),
    ),
    (
        "dates_contradict",
        record(
            context=[
                ["Salt Choir", ["Salt Choir (born 1950) was a son."]],
                ["Tavik Orrel", [PERSON]],
            ],
            evidences=[["Salt Choir", "father", "Tavik Orrel"], CHAIN[1]],
        ),
    ),
    ("several_answers", pages(film="Salt Choir is directed by Tavik Orrel and Dessa Slater.")),
    ("several_answers", pages(film="Salt Choir is directed by Dessa Slater and Tavik Orrel.")),
    (
        "namesake_in_context",
        record(context=[*record()["context"], ["Salt Choir (1960 film)", ["A."]]]),
    ),
    ("namesake_of_bridge", record(context=[*record()["context"], ["Tavik Orrel (poet)", ["A."]]])),
    ("broken_support", pages(film="Salt Choir.")),
    ("support_past_end", record(supporting_facts=[["Salt Choir", 1], ["Tavik Orrel", 0]])),
    ("support_title_missing", record(supporting_facts=[["Salt", 0], ["Tavik Orrel", 0]])),
    ("noun_twice", record(question="Where was the director of film Salt Choir (Film) born?")),
]
HOTPOT = {
    **{key: record()[key] for key in ("_id", "question", "context", "supporting_facts")},
    "type": "bridge",
    "level": "hard",
}


@pytest.mark.parametrize("sound", SOUND)
def test_sound_records_have_no_finding(sound: dict[str, Any]) -> None:
    found = audit([parse_record(sound)])
    assert found.to_dict()["findings"] == {}
    assert found.flagged == 0


@pytest.mark.parametrize(("kind", "faulty"), FAULTY)
def test_each_fault_is_found(kind: str, faulty: dict[str, Any]) -> None:
    assert kind in kinds_of(faulty)
    assert kinds_of(faulty, kinds=[kind]) == [kind]


def test_every_kind_has_a_case_and_a_field() -> None:
    assert {kind for kind, _ in FAULTY} | {"answer_not_in_support"} == set(FAULTS)
    assert set(AMENDED_FIELD) == set(FAULTS)


def test_data_without_triples_is_checked_by_its_sentences() -> None:
    assert kinds_of({**HOTPOT, "answer": "Brinmoor"}, "hotpotqa") == []
    assert kinds_of({**HOTPOT, "answer": "Oru Falls"}, "hotpotqa") == ["answer_not_in_support"]
    assert kinds_of({**HOTPOT, "answer": "yes"}, "hotpotqa") == []


def test_other_names_of_an_answer_are_looked_for() -> None:
    one = pages(film=f"{FILM} It was shot in Old Brin.", answer_id="Q1")
    assert kinds_of(one) == []
    assert kinds_of(one, names_of=lambda name: ["Old Brin"]) == ["answer_in_first_paragraph"]


def test_hidden_gold_is_counted_and_unknown_kinds_are_refused() -> None:
    found = audit([parse_record(record(answer=""))])
    assert (found.hidden, found.total) == (1, 0)
    with pytest.raises(DataError, match="Did you mean noun_twice"):
        audit([], kinds=["noun_twise"])


def test_a_question_without_an_answer_in_its_context_has_no_support_to_check() -> None:
    twin = parse_record(record(context=[["Salt Choir", [FILM]]], answer="unanswerable"))
    assert audit([twin]).flagged == 1
    assert audit([twin._replace(answerable=False)]).flagged == 0


def test_audits_are_joined() -> None:
    faulty = [parse_record(record(_id=f"q{n}", answer="Oru")) for n in range(3)]
    whole = Audit.joined([audit(faulty[:1], shown=1), audit(faulty[1:], shown=1)])
    assert whole.ids("answer_not_in_chain") == ["q0", "q1", "q2"]
    assert (whole.total, whole.flagged, len(whole.shown["answer_not_in_chain"])) == (3, 3, 2)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("5 March 1907", Days(19070305, 19070305)),
        ("March 5, 1907", Days(19070305, 19070305)),
        ("March 1907", Days(19070301, 19070331)),
        ("1907", Days(19070101, 19071231)),
        ("44 BC", Days(-439899, -438769)),
        ("19 July", None),
        ("Brinmoor", None),
    ],
)
def test_dates_are_days(text: str, days: Days | None) -> None:
    assert parse_days(text) == days


def test_text_is_read_whatever_its_typography() -> None:
    assert (
        plain("He ( born 1907 ) is of Saxe- Oru\u2013Tavik .")
        == "He (born 1907) is of Saxe-Oru-Tavik."
    )
    assert name_key("Órrel (poet)") == "orrel"
    assert life_in("Tavik (died before 953) was a ruler.") == (None, None)
    assert work_year("Salt Choir (1931 film)", "Salt Choir is a film.") == 1931


def test_the_figures_of_the_docs_are_those_of_real_questions() -> None:
    shared = os.environ.get("TWOWIKI_SHARED")
    if not shared:
        pytest.skip("TWOWIKI_SHARED is not set")
    found = audit(twowiki.read_examples(Path(shared, "data", "two_wiki", "dev250.json")))
    page = (Path(__file__).parents[2] / "docs" / "audit.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| (\w+) \| (\d+) \|", page, re.MULTILINE))
    assert table == {kind: str(len(found.ids(kind))) for kind in FAULTS}
    assert f"{found.flagged} of 250" in page


def test_the_command_writes_findings_a_page_and_amendments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "dev.json"
    odd = record(_id="q2", answer="<b>Oru</b>")
    source.write_text(json.dumps([record(), odd, record(_id="q3", answer="")]))
    names = ("f.json", "a.html", "amend.jsonl")
    output, page, fill_in = (tmp_path / name for name in names)
    flags = ["--output", str(output), "--page", str(page), "--amendments", str(fill_in)]
    assert main(["audit", str(source), *flags]) == 0
    assert "answer_not_in_chain" in capsys.readouterr().out
    found = json.loads(output.read_text())["splits"]["validation"]
    assert (found["records"], found["without_gold"], found["flagged"]) == (2, 1, 1)
    assert found["findings"]["answer_not_in_chain"]["cases"][0]["id"] == "q2"
    text = page.read_text(encoding="utf-8")
    assert "answer not in chain" in text
    assert "<b>Oru</b>" not in text
    amendment = json.loads(fill_in.read_text())
    assert (amendment["id"], amendment["field"], amendment["was"]) == ("q2", "answer", "<b>Oru</b>")
    assert main(["audit", str(source), "--only", "noun_twise"]) == 2
    assert "Did you mean noun_twice" in capsys.readouterr().err


def test_the_same_function_stands_in_the_first_namespace() -> None:
    examples: list[Example] = [parse_record(record(answer="Oru"))]
    assert twowiki.audit(examples).ids("answer_not_in_chain") == ["q1"]
