"""The question filter and the texts it looks at: rules as data, sentences, rewordings."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.arc_da_files import ARC, RELEASE, arc_da, read_lines
from twowiki.arc_da.conversion.filter import (
    RULE_PRESETS,
    audit_rules,
    filter_question,
    find_hits,
    load_rules,
    normalize_stem,
    parse_rules,
    source_question,
    suggest_rewording,
)
from twowiki.arc_da.schema import MultipleChoice
from twowiki.arc_da.sentences import asks_earlier, question_sentence, split_question_sentences
from twowiki.arc_da.sources import read_multiple_choice, read_questions
from twowiki.errors import DataError

RELEASED, LITERAL = (load_rules(name) for name in RULE_PRESETS)

# a question, the first rule of each preset that removes it
VERDICTS = [
    ("Which of these holds only a liquid?", "which_of", "which_of"),
    ("Which of\nthese is a fern?", "which_of", "which_of"),
    ("How are the stems most similar?", None, "most"),
    ("What is the cause of most floods?", None, "most"),
    ("What factor has the greatest influence?", None, "est"),
    ("What grows in a forest?", None, "est"),
    ("Which plant grows in the forest?", None, "est"),
    ("Which planet is the largest?", "superlative", "est"),
    ("Which tool best measures a pond?", "best", "best"),
    ("Which explains the tides?", "which_verb", "which_verb"),
    ("Which is a mammal?", "which_verb", "which_is"),
    ("A pond dries up. Which object floats the least?", "which_object", "least"),
    ("Which object floats? The pond is best.", None, "best"),
    ("Which gas do animals breathe out?", None, None),
    ("Whichever gas is most common, name it.", None, "most"),
    ("\u201cWhich statement is true?\u201d", "which_statement", "which_statement"),
    ("All of these are metals EXCEPT", "except", None),
    ("The order of the planets is set by what?", None, "order"),
    ("Which color is in the bordered flag?", None, "order"),
    ("In the U.S. Which law supports clean water?", "supports", "supports"),
    ("What keeps the 3.5 kg kite down?", None, None),
    ("", None, None),
]


@pytest.mark.parametrize(("question", "released", "literal"), VERDICTS)
def test_presets_on_our_own_questions(
    question: str, released: str | None, literal: str | None
) -> None:
    for rules, expected in ((RELEASED, released), (LITERAL, literal)):
        hits = find_hits(question, rules)
        assert (hits[0].rule if hits else None) == expected
        for hit in hits:
            assert hit.sentence[hit.char_start : hit.char_end]


def test_every_hit_is_told_with_its_place() -> None:
    hits = find_hits("Ponds dry. Which of these is the best example?", RELEASED)
    assert [hit.rule for hit in hits] == ["which_of", "best", "example"]
    assert [hit.sentence[hit.char_start : hit.char_end] for hit in hits] == [
        "Which of", "best", "example"]  # fmt: skip


def test_scope_and_requirement() -> None:
    def rules(**fields: object) -> object:
        return parse_rules({"rules": [{"id": "r", "pattern": "order", **fields}]})

    text = "The order matters. In which pond is it kept?"
    assert not find_hits(text, rules())  # type: ignore[arg-type]
    assert find_hits(text, rules(scope="any_sentence"))  # type: ignore[arg-type]
    assert not find_hits("In order: which pond?", rules(requires="starts_with_which"))  # type: ignore[arg-type]
    assert find_hits("In order: which pond?", rules(requires="contains_which"))  # type: ignore[arg-type]


def test_a_tagger_finds_verbs_beyond_the_list() -> None:
    def tagger(words: list[str]) -> list[str]:
        return ["VBZ" if word == "dances" else "NN" for word in words]

    assert not find_hits("Which dances in the wind?", RELEASED)
    (hit,) = find_hits("Which dances in the wind?", RELEASED, tagger=tagger)  # type: ignore[arg-type]
    assert (hit.rule, hit.sentence[: hit.char_end]) == ("which_verb", "Which dances")
    assert not find_hits("Which dancer spins?", RELEASED, tagger=tagger)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rules: 3", "list named 'rules'"),
        ("rules:\n  - {id: a, pattern: b, mach: word}", "unknown keys"),
        ("rules:\n  - {id: a, pattern: b, match: words}", "must be one of"),
        ("rules:\n  - {id: a}", "must be a text or a list"),
        ("rules:\n  - {id: a, pattern: ' '}", "at least one phrase"),
        ("rules:\n  - {id: a, pattern: b}\n  - {id: a, pattern: c}", "comes twice"),
        ("rules: [", "is not valid YAML"),
        ("colour: red\nrules: []", "unknown keys"),
    ],
)
def test_bad_rules_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message) as caught:
        load_rules(str(path))
    assert "mine.yaml" in str(caught.value)


def test_unknown_rules_name_the_presets() -> None:
    with pytest.raises(DataError, match="released, paper_literal"):
        load_rules("nothing")


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two? Three!", ["One.", "Two?", "Three!"]),
        ("It weighs 3.5 kg. Why?", ["It weighs 3.5 kg.", "Why?"]),
        ("Dr. Ash of the U.S. Navy asks: how?", ["Dr. Ash of the U.S. Navy asks: how?"]),
        ("A list: \u2022 one. \u2022 two. Which?", ["A list: \u2022 one. \u2022 two.", "Which?"]),
        ('She said "Go." Then what?', ['She said "Go."', "Then what?"]),
        ("J. Moss found it. 2 ponds dry up.", ["J. Moss found it.", "2 ponds dry up."]),
        ("  spaces\n and\tlines ", ["spaces and lines"]),
        ("", []),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    assert split_question_sentences(text) == sentences
    assert question_sentence(text) == (sentences[-1] if sentences else "")


@given(st.text(st.sampled_from("ab A.?!\"'\u2022 0")))
def test_sentences_lose_nothing(text: str) -> None:
    assert " ".join(split_question_sentences(text)) == " ".join(text.split())


def test_a_question_asked_earlier_is_noticed() -> None:
    assert asks_earlier("Why does it rain? 2H + O -> H2O")
    assert not asks_earlier("Why does it rain?")
    assert not asks_earlier("It rains. Why does it?")


@pytest.mark.parametrize(
    ("question", "suggestion"),
    [
        ("Rain and snow are forms of", "Rain and snow are forms of what?"),
        ("The bud is called the", "The bud is called what?"),
        ("The bud is called the ____.", "The bud is called what?"),
        ("The motion is due to", "The motion is due to what?"),
        ("Moss grows because", "Moss grows because of what?"),
        ("Soil is made richer by adding", "Soil is made richer by adding what?"),
        ("Roots help a plant to", "Roots help a plant to do what?"),
        ("Light is converted to", "Light is converted to what?"),
        ("A fern is similar to", "A fern is similar to what?"),
        ("Color is determined most by its", "Color is determined most by what?"),
        ("The leaves mostly contain", "The leaves mostly contain what?"),
        ("Moss grows because it", None),
        ("What is moss?", None),
        ("", None),
    ],
)
def test_suggestions(question: str, suggestion: str | None) -> None:
    assert suggest_rewording(question) == suggestion
    assert normalize_stem(" a\n\tb ") == "a b"


def test_audit_counts_released_questions() -> None:
    originals, released = read_multiple_choice(ARC), list(read_questions(RELEASE))
    fine = audit_rules(originals, released, RELEASED)
    assert (fine["joined"], fine["violations"], fine["survive"]) == (7, 0, 1.0)
    assert fine["train"]["by_rule"]["except"] == {"hits": 1, "first": 1, "alone": 1}
    literal = audit_rules(originals, released, LITERAL)
    assert [entry["question_id"] for entry in literal["violating"]] == [
        "ARCEZ_Pond_1", "ARCCH_Glade_1"]  # fmt: skip


def test_audit_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert arc_da("audit-filter", ARC, RELEASE) == 0
    assert "0 would have been removed, 100.00% survive" in capsys.readouterr().out
    out = tmp_path / "audit.json"
    assert arc_da("audit-filter", ARC, RELEASE, "--rules", "paper_literal", "--json", out) == 1
    assert "ARCCH_Glade_1" in capsys.readouterr().out
    assert arc_da("audit-filter", ARC / "ARC-Easy-Dev.jsonl", RELEASE / "train.jsonl") == 2
    assert "none of its ids" in capsys.readouterr().err


def test_a_question_of_unknown_place_is_refused() -> None:
    with pytest.raises(DataError, match="not known"):
        source_question(MultipleChoice("x", "What?", ()))
    (question,) = (q for q in read_multiple_choice(ARC) if q.id == "Pond_1")
    source = source_question(question)
    assert (source.tag, source.question_id) == ("EASY-TRAIN", "ARCEZ_Pond_1")
    kept = filter_question(source.question_id, source.split, source.stem, RELEASED)
    assert kept.kept
    assert (kept.suggestion or "").endswith("is an example of what?")


def test_filter_removes_a_third_and_keeps_the_released(shared: Path) -> None:
    """The real ARC training split and the released train and dev questions."""
    arc = read_multiple_choice(shared / "data" / "arc")
    released = [q for name in ("train", "dev")
                for q in read_questions(shared / "data" / "arc_da" / f"{name}.jsonl")]  # fmt: skip
    found = audit_rules(arc, released, RELEASED)
    assert found["joined"] == 1588
    assert found["survive"] >= 0.99
    assert 0.35 <= found["train"]["removed"] / found["train"]["questions"] <= 0.40
    literal = audit_rules(arc, released, LITERAL)
    assert literal["violations"] > 400


def test_conversion_of_arc_train_tells_its_counts(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = shared / "data" / "arc"
    assert arc_da("filter", tmp_path, "--arc", place, "--part", "train") == 0
    text = capsys.readouterr().out
    assert "of 3,370 questions" in text
    assert "the paper says about 50%" in text
    records = read_lines(tmp_path / "10_filtered.jsonl")
    assert len(records) == 3370
    assert all(record["kept"] or record["reason"] for record in records)
