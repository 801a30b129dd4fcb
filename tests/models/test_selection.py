"""Selecting paragraphs: what the question names, then what that links to; nothing else decides."""

from __future__ import annotations

import pytest

from tests.small_encoder import settings
from tests.small_model import GOLD_Q1, examples
from twowiki.data.schema import Paragraph
from twowiki.models.processing_encoder import EncoderProcessor
from twowiki.models.selection import Selection, as_selector, select_paragraphs
from twowiki.training.evaluation import ceiling_predictions, score_predictions
from twowiki.training.selection import fit_selector, measure_selection

QUESTION = "Who is the father of the director of film Élan (1987 Film)?"
CONTEXT = (
    ("Élan", ("Élan is a 1950 film directed by Ada Orr.",)),
    ("Father of Film", ("He is the father of a director of film and the film's director.",)),
    ("Cy Venn", ("Cyril Venn was a painter.", " His father was Tor Venn.")),
    ("Mona Rast", ("Mona Rast is an actress.",)),
    ("Élan (1987 film)", ("Élan is a film directed by Cy Venn, with Mona Rast and Ada Orr.",)),
    ("Ada Orr", ("Ada Orr was an actress.",)),
)


@pytest.mark.parametrize("change", [str, str.upper, lambda text: text.replace("É", "E")])
def test_a_page_that_is_named_and_the_one_that_it_links_to_are_kept(change: object) -> None:
    context = [(change(t), [change(s) for s in texts]) for t, texts in CONTEXT]  # type: ignore[operator]
    assert select_paragraphs(QUESTION, context, Selection(2, 0.01, None)) == [2, 4]
    moved = context[::-1]
    assert select_paragraphs(QUESTION, moved, Selection(2, 0.01, None)) == [1, 3]


def test_at_most_so_many_are_kept_and_two_whatever_their_probability() -> None:
    assert len(select_paragraphs(QUESTION, CONTEXT, Selection(4, 0.0, None))) == 4
    assert select_paragraphs(QUESTION, CONTEXT, Selection(4, 1.0, None)) == [2, 4]
    assert select_paragraphs(QUESTION, CONTEXT[:2], Selection(4, 1.0, None)) == [0, 1]
    assert select_paragraphs(QUESTION, CONTEXT, Selection(1, 0.0, None)) == [4]
    assert select_paragraphs("?", [("", ()), ("", ("",)), ("a", ("",))], Selection(2, 0, None))
    with pytest.raises(ValueError, match="8 and 16 weights"):
        as_selector([[1.0], [2.0]])
    with pytest.raises(ValueError, match="weights"):
        settings(selector=[[1.0], [2.0]])


def test_weights_are_fitted_to_gold_and_what_is_lost_is_counted() -> None:
    given = examples()
    weights = fit_selector(given)
    assert weights is not None
    kept = measure_selection(given, Selection(4, 0.0, weights))
    assert kept["examples"] == len(given)
    assert kept["recall"] == kept["all_gold"] == 100.0
    backwards = [[-weight for weight in hop] for hop in weights]
    assert measure_selection(given, Selection(2, 0.0, backwards))["recall"] < 50
    assert fit_selector(one._replace(supporting_facts=()) for one in given) is None
    assert measure_selection([], Selection(4, 0.0, weights)) == {"examples": 0}


def test_places_are_those_of_the_whole_context_though_a_part_is_read() -> None:
    far = Paragraph("Nowhere", ("Nothing is here.", " Not at all."))
    example = GOLD_Q1._replace(context=(far, GOLD_Q1.context[1], far, GOLD_Q1.context[0], far))
    config, tokenizer = settings(select_paragraphs=2)
    processor = EncoderProcessor(config, tokenizer)
    (window,) = processor.encode(example)
    assert not processor.counts
    assert window.sentences[:, 2:].tolist() == [[1, 0], [1, 1], [3, 0]]
    read = [
        window.text[start:end]
        for start, end in zip(window.token_starts, window.token_ends, strict=True)
    ]
    assert "".join(read).replace(" ", "").startswith("DessaOrrelDessaOrrelwasapainter.")
    start, end = window.answer[1:]
    assert window.text[window.token_starts[start] : window.token_ends[end]] == "Brinmoor"
    said = ceiling_predictions([window], [example], config)
    assert score_predictions([example], said).metrics["joint_f1"] == 100.0
    (whole,) = EncoderProcessor(*settings()).encode(example)
    assert len(window.token_ids) < len(whole.token_ids)
    assert window.text == whole.text
