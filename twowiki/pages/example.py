"""One example as HTML: question, answers, sentences and both evidence graphs. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from twowiki.normalization import CLOSED_ANSWERS, normalise_answer
from twowiki.pages.gathering import Shown, paragraphs_of, question_of
from twowiki.pages.markup import html_of, name_html
from twowiki.pages.outcomes import OUTCOMES, SIGNS, Checked, entries_of
from twowiki.pages.sentences import badges_of, facts_html, paragraphs_html, place_facts
from twowiki.pages.triples import figure_html
from twowiki.report import UNTYPED

NAMES = {kind.key: kind.name for kind in (*OUTCOMES, *SIGNS)}
_FIGURES = (("answer", 0), ("sentences", 4), ("evidence", 8), ("joint", 12))


def example_html(shown: Shown, checked: Checked, number: int) -> str:
    """Write an example.

    Args:
        shown: the example.
        checked: its entries, each with whether the other side has it.
        number: from 1, for its place and its elements' names.
    """
    gold, kind = shown.gold, shown.gold.type or UNTYPED
    question = question_of(shown) or f"question {gold.id}"
    chips = [f'<span class="chip">{escape(kind.replace("_", " "))}</span>']
    right = shown.outcome == "all_right"
    chips.append(
        f'<span class="chip {"good" if right else "bad"}">{escape(NAMES[shown.outcome])}</span>'
    )
    return (
        f'<article class="example" data-type="{escape(kind)}" data-outcome="{shown.outcome}" '
        f'data-signs="{" ".join(shown.signs)}"><details><summary>'
        f'<h3>{html_of(question, 1000)}</h3><span class="chips">{"".join(chips)}</span></summary>'
        f"{_answers(shown)}{_signs(shown.signs)}{_sentences(shown, checked)}"
        f'<h4 class="part">Evidence</h4>{_graphs(shown, checked, number)}</details></article>'
    )


def _answers(shown: Shown) -> str:
    said, true = shown.prediction.answer, shown.gold.answer
    if said is None:
        answer = '<i class="none">nothing said</i>'
    else:
        answer = f"{name_html(said)} ({'right' if shown.row.figures[0] == 1.0 else 'wrong'})"
    figures = ", ".join(
        f"{name} {shown.row.figures[place + 1] * 100:.1f}" for name, place in _FIGURES
    )
    return (
        f'<dl class="facts"><div><dt>gold answer</dt><dd>{name_html(true)}</dd></div>'
        f"<div><dt>predicted answer</dt><dd>{answer}</dd></div>"
        f"<div><dt>F1</dt><dd>{figures}</dd></div>"
        f"<div><dt>id</dt><dd><code>{html_of(shown.gold.id)}</code></dd></div></dl>"
    )


def _signs(signs: Sequence[str]) -> str:
    entries = "".join(f"<li>{escape(NAMES[sign])}</li>" for sign in signs)
    return f'<ul class="signs" aria-label="what went wrong">{entries}</ul>' if entries else ""


def _sentences(shown: Shown, checked: Checked) -> str:
    paragraphs = paragraphs_of(shown)
    true, lost_true = place_facts(paragraphs, [fact for fact, _ in checked.true_facts])
    said, lost_said = place_facts(paragraphs, [fact for fact, _ in checked.said_facts])
    pair = (("gold", "gold answer", shown.gold.answer),
            ("said", "predicted answer", shown.prediction.answer))  # fmt: skip
    answers = [one for one in pair if normalised(one[2]) not in CLOSED_ANSWERS]
    text = paragraphs_html(paragraphs, badges_of(true, said), answers)
    if not paragraphs:
        text = '<p class="note">The gold file holds no paragraphs for this question.</p>'
    where = "that point at no sentence here" if paragraphs else ""
    return (
        f'<h4 class="part">Sentences</h4>{text}'
        f"{facts_html(lost_true, f'gold sentences {where}'.strip())}"
        f"{facts_html(lost_said, f'predicted sentences {where}'.strip())}"
    )


def normalised(answer: Any) -> str:
    """Level an answer, to tell yes and no, which stand in no text."""
    return normalise_answer(answer) if isinstance(answer, str) else ""


def _graphs(shown: Shown, checked: Checked, number: int) -> str:
    found = sum(hit for _, hit in checked.true_triples)
    right = sum(hit for _, hit in checked.said_triples)
    all_said = len(entries_of(shown.prediction.evidences))
    nothing = shown.prediction.evidences is None
    true = figure_html(
        [triple for triple, _ in checked.true_triples],
        ["right" if hit else "missed" for _, hit in checked.true_triples],
        ident=f"g{number}",
        caption=f"gold: {found} of {len(checked.true_triples)} predicted",
        title="gold evidence",
    )
    said = figure_html(
        [triple for triple, _ in checked.said_triples],
        ["right" if hit else "wrong" for _, hit in checked.said_triples],
        ident=f"p{number}",
        caption="predicted: nothing said" if nothing else f"predicted: {right} of {all_said} right",
        title="predicted evidence",
    )
    return f'<div class="graphs">{true}{said}</div>'
