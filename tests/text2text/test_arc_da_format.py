"""What a text-to-text model reads and says on ARC-DA: formats byte by byte, draws, leaks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twowiki.arc_da.schema import Choice, MultipleChoice, Question, parse_question
from twowiki.errors import DataError
from twowiki.text2text.arc_da_format import (
    _PRESETS,
    Format,
    fit_question,
    parse_answer,
    parse_option,
    parse_slots,
    render_source,
    render_target,
    unifiedqa_normalize,
)
from twowiki.text2text.arc_da_instances import (
    draw_answers,
    draw_items,
    exclude_leaks,
    mixed_counts,
    read_training_record,
    trained_on,
    training_record,
)

OPTIONS = ("melt", "Freeze")
FACTS = ("Ice is\nfrozen Water.", "Heat melts ice.")
ARCDA, MACAW, UQA, PLAIN = (Format(name) for name in _PRESETS)


@pytest.mark.parametrize(
    ("form", "options", "context", "expected"),
    [
        (ARCDA, (), (), "$question$ = What is Ice?"),
        (
            ARCDA, (), FACTS,
            "$question$ = What is Ice? ; $context$ = Ice is frozen Water. Heat melts ice.",
        ),
        (ARCDA, OPTIONS, (), "$question$ = What is Ice? ; $mcoptions$ = (A) melt (B) Freeze"),
        (
            ARCDA, OPTIONS, FACTS[:1],
            "$question$ = What is Ice? ; $mcoptions$ = (A) melt (B) Freeze ; "
            "$context$ = Ice is frozen Water.",
        ),
        (MACAW, (), (), "$answer$ ; $question$ = What is Ice?"),
        (
            MACAW, OPTIONS, FACTS[:1],
            "$answer$ ; $mcoptions$ = (A) melt (B) Freeze ; $question$ = What is Ice? ; "
            "$context$ = Ice is frozen Water.",
        ),
        (UQA, (), (), "what is ice? \\n"),
        (UQA, (), FACTS[:1], "what is ice? \\n ice is frozen water."),
        (UQA, OPTIONS, (), "what is ice? \\n (a) melt (b) freeze"),
        (
            UQA, OPTIONS, FACTS[:1],
            "what is ice? \\n (a) melt (b) freeze \\n ice is frozen water.",
        ),
        (
            PLAIN, (), (),
            "Answer the science question with a short answer, not a sentence.\n\n"
            "Question: What is Ice?\nAnswer:",
        ),
        (
            PLAIN, OPTIONS, FACTS[:1],
            "Answer the science question with the right option.\n\n"
            "Facts that may help: Ice is frozen Water.\n\nQuestion: What is Ice?\n"
            "(A) melt\n(B) Freeze\nAnswer:",
        ),
    ],
)  # fmt: skip
def test_each_format_byte_by_byte(
    form: Format, options: tuple[str, ...], context: tuple[str, ...], expected: str
) -> None:
    assert render_source("What is\n Ice?", form, options=options, context=context) == expected


def test_unifiedqa_writes_no_line_end() -> None:
    text = render_source("What is Ice?", UQA, context=["Ice is\nfrozen Water."])
    assert "\n" not in text
    assert text.count("\\n") == 1


def test_unifiedqa_drops_the_first_and_the_last_quote_of_the_whole_text() -> None:
    assert unifiedqa_normalize("The Earth's pull and the Moon's") == "the earths pull and the moons"
    assert unifiedqa_normalize("one 'a' two 'b'") == "one a' two 'b"
    assert unifiedqa_normalize("the Earth's pull") == "the earth's pull"


def test_the_best_sentence_first_or_last() -> None:
    assert render_source("Q?", ARCDA, context=["best", "next"]).endswith("best next")
    last = Format("arcda", order="best_last")
    assert render_source("Q?", last, context=["best", "next"]).endswith("next best")


@pytest.mark.parametrize("form", [ARCDA, MACAW, UQA, PLAIN])
def test_blank_context_is_the_form_without_retrieval(form: Format) -> None:
    assert render_source("Q?", form, context=["", " \n"]) == render_source("Q?", form)


@pytest.mark.parametrize(
    ("form", "place", "expected"),
    [
        (ARCDA, None, "The Sun"),
        (MACAW, None, "$answer$ = The Sun"),
        (UQA, None, "the sun"),
        (Format("arcda", "label"), 1, "B"),
        (Format("arcda", "label_text"), 1, "(B) The Sun"),
        (Format("macaw", "label"), 0, "$answer$ = A"),
        (Format("arcda", "label"), None, "The Sun"),
    ],
)
def test_targets(form: Format, place: int | None, expected: str) -> None:
    assert render_target(" The\nSun ", form, position=place) == expected


@pytest.mark.parametrize(
    ("output", "form", "expected"),
    [
        (" heat ", ARCDA, "heat"),
        ("$Answer$ = heat ; $explanation$ = It is hot.", MACAW, "heat"),
        ("$explanation$ = It is hot ; $answer$ = heat", MACAW, "heat"),
        ("heat", MACAW, "heat"),
        ("$explanation$ = It is hot.", MACAW, ""),
        ("$answer$ = a ; b", MACAW, "a ; b"),
        ("$answer$ = heat", ARCDA, "heat"),
        ("Answer: heat", PLAIN, "heat"),
        ("it costs $5", ARCDA, "it costs $5"),
        ("", UQA, ""),
    ],
)
def test_reading_an_output(output: str, form: Format, expected: str) -> None:
    assert parse_answer(output, form) == expected


@pytest.mark.parametrize(
    ("output", "expected"), [("(B) melt", "B"), ("b. melt", "B"), ("(b)", "(b)"), ("melt", "melt")]
)
def test_reading_an_option(output: str, expected: str) -> None:
    assert parse_option(output, Format("arcda", "label_text")) == expected


@given(st.dictionaries(st.sampled_from(["answer", "question", "context"]), st.text("ab .;")))
def test_slots_are_read_as_they_were_written(slots: dict[str, str]) -> None:
    plain = {name: " ".join(text.split()).strip(" ;") for name, text in slots.items()}
    written = " ; ".join(f"${name}$ = {text}" for name, text in plain.items())
    assert parse_slots(written) == (plain or {"answer": ""})


@given(
    st.text("what ice?", min_size=1, max_size=30),
    st.lists(st.text("sentence ", max_size=20), max_size=12),
    st.integers(1, 300),
    st.sampled_from(_PRESETS),
)
def test_whole_sentences_fit_and_the_question_is_never_cut(
    question: str, context: list[str], budget: int, preset: str
) -> None:
    form = Format(preset)
    fitted = fit_question(question, form, context=context, budget=budget, measure=len)
    told = [text for text in context if text.split()]
    assert fitted.text == render_source(question, form, context=told[: fitted.sentences])
    assert (len(fitted.text) > budget) == fitted.too_long
    if fitted.sentences < len(told):
        more = render_source(question, form, context=told[: fitted.sentences + 1])
        assert len(more) > budget


def test_unknown_formats_are_refused() -> None:
    with pytest.raises(DataError, match="arcda, macaw, unifiedqa, plain"):
        Format("t5").checked()
    with pytest.raises(DataError, match="no letter"):
        render_source("Q?", ARCDA, options=["x"] * 27)


def test_a_draw_depends_on_seed_id_and_epoch_alone() -> None:
    golds = [f"g{n}" for n in range(9)]
    first = draw_answers("q1", golds, seed=1)
    assert len(set(first)) == 4
    assert first == draw_answers("q1", golds, seed=1)
    assert first == sorted(first)
    others = [
        draw_answers("q2", golds, seed=1),
        draw_answers("q1", golds, seed=2),
        draw_answers("q1", golds, seed=1, epoch=1),
    ]
    assert sum(other != first for other in others) >= 2
    assert draw_answers("q1", golds, limit=0) == golds
    assert draw_answers("q1", golds[:3]) == golds[:3]


@pytest.mark.parametrize(
    ("mixing", "expected"), [("equal", 100), ("proportional", 400), ("temperature", 200)]
)
def test_mixing(mixing: str, expected: int) -> None:
    assert mixed_counts(100, 400, mixing) == (100, expected)
    assert mixed_counts(0, 400, mixing) == (0, 400)
    assert mixed_counts(100, 0, mixing) == (100, 0)


def test_drawing_passes_over_everything_before_it_repeats() -> None:
    drawn = draw_items("abc", 8, Random(0))
    assert {drawn.count(one) for one in "abc"} == {2, 3}
    assert draw_items([], 5, Random(0)) == []
    with pytest.raises(DataError, match="temperature"):
        mixed_counts(1, 2, "temperature", 0.5)
    with pytest.raises(DataError, match="equal, proportional, temperature"):
        mixed_counts(1, 2, "even")


def asked(record: str, text: str, tag: str = "EASY-TRAIN") -> Question:
    return Question(record, tag, text, ("gold",))


def test_what_is_evaluated_is_not_trained_on() -> None:
    dev = [asked("ARCEZ_7", "What is ice?", "EASY-DEV")]
    fine = asked("ARCEZ_1", "What is snow?")
    kept = exclude_leaks([fine, asked("ARCEZ_2", "what is ICE")], [], dev)
    assert [one.question_id for one in kept.questions] == ["ARCEZ_1"]
    assert kept.dropped == {"same_text": ["ARCEZ_2"]}
    with pytest.raises(DataError, match="ARCEZ_2.*has the text of an evaluated"):
        exclude_leaks([asked("ARCEZ_2", "what is ICE")], [], dev, leaks="error")
    with pytest.raises(DataError, match="ARCEZ_7.*is evaluated, and"):
        exclude_leaks([asked("ARCEZ_7", "Reworded?")], [], dev)
    with pytest.raises(DataError, match="ARCCH_9.*dev or test question"):
        exclude_leaks([asked("ARCCH_9", "Other?", "CHALLENGE-TEST")], [], dev)


def test_texts_of_all_splits_and_of_the_originals_are_kept_out() -> None:
    choices = (Choice("A", "ice"), Choice("B", "steam"))
    originals = {
        "7": MultipleChoice("7", "Which is ice?", choices, "A", "easy", "dev"),
        "2": MultipleChoice("2", "WHICH is ice", choices, "A", "easy", "train"),
    }
    dev = [asked("ARCEZ_7", "What do we call frozen water?", "EASY-DEV")]
    test = [asked("ARCEZ_9", "What is steam?", "EASY-TEST")]
    train = [
        asked("ARCEZ_1", "What is snow?"),
        asked("ARCEZ_2", "Name frozen water."),  # its original asks what the evaluated one's does
        asked("ARCEZ_3", "what is STEAM"),  # of the test split, which is not evaluated now
    ]
    kept = exclude_leaks(train, [], dev, others=test, originals=originals)
    assert [one.question_id for one in kept.questions] == ["ARCEZ_1"]
    assert kept.dropped == {"same_text": ["ARCEZ_2"], "of_another_splits_text": ["ARCEZ_3"]}
    multiple = [MultipleChoice("5", "What do we call frozen water", choices, "A", "easy", "train")]
    kept = exclude_leaks([], multiple, dev, others=test, originals=originals)
    assert kept.dropped == {"same_text": ["ARCEZ_5"]}
    with pytest.raises(DataError, match="ARCEZ_3.*of another split"):
        exclude_leaks(train[2:], [], dev, others=test, leaks="error")


def test_a_record_tells_what_was_trained_on(tmp_path: Path) -> None:
    record = training_record([asked("ARCEZ_1", "What is snow?")], {})
    again = [asked("ARCEZ_1", "Reworded?"), asked("ARCEZ_8", "what is Snow"), asked("ARCEZ_9", "?")]
    assert trained_on(again, record) == ["ARCEZ_1", "ARCEZ_8"]
    assert read_training_record(str(tmp_path)) is None
    (tmp_path / "best").mkdir()
    path = tmp_path / "best" / "training_questions.json"
    path.write_text(json.dumps(record), encoding="utf-8")
    assert read_training_record(str(tmp_path)) == record
    path.write_text('{"ids": 3}', encoding="utf-8")
    with pytest.raises(DataError, match="needs the lists ids and texts"):
        read_training_record(str(tmp_path))


def test_multiple_choice_of_an_evaluated_question_is_refused() -> None:
    choices = (Choice("1", "ice"), Choice("2", "steam"))
    dev = [asked("ARCEZ_7", "What is ice?", "EASY-DEV")]
    with pytest.raises(DataError, match="ARCEZ_7"):
        exclude_leaks(
            [], [MultipleChoice("7", "Which is ice?", choices, "1", "easy", "train")], dev
        )
    leaky = [MultipleChoice("8", "Which is ice?", choices, "1", "easy", "dev")]
    with pytest.raises(DataError, match="dev or test"):
        exclude_leaks([], leaky, dev)
    kept = exclude_leaks([], leaky, dev, leaks="keep")
    assert kept.multiple_choice == leaky
    assert kept.dropped == {"of_another_split": ["ARCEZ_8"]}


def test_on_the_real_questions_gold_answers_stay_out_and_one_text_is_in_both_splits(
    shared: Path,
) -> None:
    splits = {}
    for name in ("train", "dev"):
        lines = (shared / "data/arc_da" / f"{name}.jsonl").read_text("utf-8").splitlines()
        splits[name] = [parse_question(json.loads(line)) for line in lines]
    kept = exclude_leaks(splits["train"], [], splits["dev"])
    assert {reason: len(ids) for reason, ids in kept.dropped.items()} == {"same_text": 1}
    assert sum(min(len(q.answers), 4) for q in splits["train"]) == sum(
        len(draw_answers(q.question_id, q.answers)) for q in splits["train"]
    )
    for question in splits["dev"]:
        written = render_source(question.question, ARCDA)
        for answer in question.answers:
            inside = re.sub(r"\s+", " ", answer).strip() in written
            assert not inside or answer.strip() in re.sub(r"\s+", " ", question.question)
