"""Multi-hop questions as text and back: what is written is read, and what is broken is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.small_model import GOLD_Q1
from tests.tiny_data import tiny_examples
from twowiki.data.schema import Example, Fact, Paragraph, Prediction, Triple
from twowiki.data.sources import read_examples
from twowiki.text2text.two_wiki_format import (
    fit_example,
    numbered_facts,
    parse_prediction,
    render_example,
    render_gold,
)
from twowiki.training.evaluation import score_predictions

SOURCE = (
    "$question$ = Where was the mother of Tavik Orrel born? ; $context$ = Tavik Orrel: [1] Tavik "
    "Orrel was a runner, the son of Dessa Orrel. Dessa Orrel: [2] Dessa Orrel was a painter. "
    "[3] She was born in Brinmoor."
)
TARGET = (
    "$answer$ = Brinmoor ; $support$ = 1 3 ; $evidence$ = Tavik Orrel | mother | Dessa Orrel || "
    "Dessa Orrel | place of birth | Brinmoor"
)
NAMES = st.text("ab |;$éN=", min_size=1, max_size=8).filter(lambda text: text.strip())


def test_a_question_and_its_gold_as_text() -> None:
    assert render_example(GOLD_Q1) == SOURCE
    assert render_gold(GOLD_Q1) == TARGET
    assert GOLD_Q1.id not in render_example(GOLD_Q1)


def test_gold_as_text_is_read_as_gold() -> None:
    said = parse_prediction(TARGET, GOLD_Q1)
    assert said.prediction == Prediction("Brinmoor", GOLD_Q1.supporting_facts, GOLD_Q1.evidences)
    assert not said.faults


@given(st.lists(st.tuples(NAMES, NAMES, NAMES), max_size=4), NAMES, st.sets(st.integers(0, 3)))
def test_whatever_names_hold_is_read_as_it_was_written(
    triples: list[tuple[str, str, str]], answer: str, sentences: set[int]
) -> None:
    def one_line(text: str) -> str:
        return " ".join(text.split())

    evidences = tuple(dict.fromkeys(Triple(*map(one_line, triple)) for triple in triples))
    context = (Paragraph("T", ("a.", " b.")), Paragraph("U", ("c.", " d.")))
    example = Example("x", "Q?", None, context, answer=one_line(answer).rstrip("; "),
                      evidences=evidences)  # fmt: skip
    facts = tuple(numbered_facts(example)[place] for place in sorted(sentences))
    example = example._replace(supporting_facts=facts)
    said = parse_prediction(render_gold(example), example).prediction
    assert said.answer == example.answer
    assert said.supporting_facts == facts
    assert said.evidences == evidences


@pytest.mark.parametrize(
    ("output", "answer", "facts", "triples", "faults"),
    [
        ("Brinmoor", "Brinmoor", (), (), {"no form": 1}),
        ("", "", (), (), {"no form": 1}),
        ("$answer$ = Brinmoor", "Brinmoor", (), (), {"no support": 1, "no evidence": 1}),
        (
            "$SUPPORT$ = 3 99 0 3 ; $Answer$ Brinmoor ; $evidence$ = a | b", "Brinmoor",
            (Fact("Dessa Orrel", 1),), (),
            {"support without a sentence": 2, "incomplete triple": 1},
        ),
        (
            "$answer$ = x ; $support$ = [1], [2] ; $evidence$ = a|b|c||a | b | c || | | || d|e|f|g",
            "x", (Fact("Tavik Orrel", 0), Fact("Dessa Orrel", 0)), (Triple("a", "b", "c"),),
            {"incomplete triple": 1},
        ),
        (
            "$answer$ = one $answer$ = two ; $support$ = 999999999999999999999 ; $evidence$ =",
            "one", (), (), {"support without a sentence": 1},
        ),
    ],
)  # fmt: skip
def test_broken_outputs_give_what_is_whole(
    output: str,
    answer: str,
    facts: tuple[Fact, ...],
    triples: tuple[Triple, ...],
    faults: dict[str, int],
) -> None:
    said = parse_prediction(output, GOLD_Q1)
    assert said.prediction.answer == answer
    assert (said.prediction.supporting_facts or ()) == facts
    assert (said.prediction.evidences or ()) == triples
    assert dict(said.faults) == faults


@given(st.text("$answersupotvidnc= |;0123456789\n", max_size=80))
def test_no_output_is_too_odd(output: str) -> None:
    parse_prediction(output, GOLD_Q1)


def test_last_sentences_of_long_paragraphs_go_first() -> None:
    context = (Paragraph("A", ("a1", "a2", "a3")), Paragraph("B", ("b1", "  ")), Paragraph("C", ()))
    example = Example("x", "Q?", None, context)
    whole = render_example(example)
    assert whole == "$question$ = Q? ; $context$ = A: [1] a1 [2] a2 [3] a3 B: [4] b1 C:"
    cut = fit_example(example, budget=len(whole) - 1, measure=len)
    assert cut.text == "$question$ = Q? ; $context$ = A: [1] a1 [2] a2 B: [4] b1 C:"
    assert (cut.sentences, cut.is_cut, cut.too_long) == (3, True, False)
    nothing = fit_example(example, budget=3, measure=len)
    assert nothing.too_long
    assert "[1]" not in nothing.text
    assert fit_example(example, budget=10_000, measure=len).text == whole
    empty = fit_example(example._replace(context=()), budget=10_000, measure=len)
    assert empty.text == "$question$ = Q? ; $context$ ="


def test_the_form_loses_nothing_of_made_up_examples() -> None:
    examples = list(tiny_examples(40, seed=5))
    said = [parse_prediction(render_gold(example), example).prediction for example in examples]
    assert score_predictions(examples, said).metrics["joint_em"] == 100.0


def test_the_form_loses_nothing_of_real_examples(shared: Path) -> None:
    folder = shared / "data/two_wiki"
    examples = list(read_examples(folder / "dev250.json", "data_ids_april7", "validation"))
    said = [parse_prediction(render_gold(example), example) for example in examples]
    scored = score_predictions(
        examples, [one.prediction for one in said], str(folder / "id_aliases.json")
    )
    assert not any(one.faults for one in said)
    # a fact that names no sentence of its context cannot be said
    sayable = sum(set(e.supporting_facts) <= set(numbered_facts(e)) for e in examples)
    assert sayable == 249
    assert scored.metrics["joint_em"] == pytest.approx(100 * sayable / 250)
