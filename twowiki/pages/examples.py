"""One example as HTML: question, answers, sentences and both evidence graphs. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any

from twowiki.data.fields import parse_context
from twowiki.data.schema import Paragraph
from twowiki.errors import DataError
from twowiki.metric.error_analysis import OUTCOMES, SIGNS, Checked, entries_of
from twowiki.metric.normalization import CLOSED_ANSWERS, as_index, normalise_answer
from twowiki.metric.report import UNTYPED
from twowiki.models.text import split_sentences
from twowiki.pages.collect import Shown, paragraphs_of, question_of
from twowiki.pages.evidence_graph import Edge, draw_graph, figure_html
from twowiki.pages.html import as_text, html_of, marked, name_html

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


BOTH, GOLD, SAID = "both", "gold", "said"
BADGES = {
    BOTH: "gold, predicted",
    GOLD: "gold, not predicted",
    SAID: "predicted, not gold",
    "found": "supporting",
}
Places = dict[tuple[int, int], str]  # (paragraph, sent_id) -> badge


def place_facts(
    paragraphs: Sequence[Paragraph], facts: Iterable[Any]
) -> tuple[list[tuple[int, int]], list[Any]]:
    """Find facts in the paragraphs, and give those that point at no sentence there.

    A title is looked for as it stands, then whatever its case and outer blanks.
    """
    exact: dict[str, int] = {}
    loose: dict[str, int] = {}
    for number, paragraph in enumerate(paragraphs):
        exact.setdefault(paragraph.title, number)
        loose.setdefault(paragraph.title.strip().lower(), number)
    found, lost = [], []
    for fact in facts:
        place = _place(fact, exact, loose)
        if place is not None and 0 <= place[1] < len(paragraphs[place[0]].sentences):
            found.append(place)
        else:
            lost.append(fact)
    return found, lost


def _place(fact: Any, exact: Mapping[str, int], loose: Mapping[str, int]) -> tuple[int, int] | None:
    if not isinstance(fact, list | tuple) or len(fact) != 2 or not isinstance(fact[0], str):
        return None
    sent_id = as_index(fact[1])
    paragraph = exact.get(fact[0], loose.get(fact[0].strip().lower()))
    if paragraph is None or type(sent_id) is not int:
        return None
    return paragraph, sent_id


def badges_of(gold: Iterable[tuple[int, int]], said: Iterable[tuple[int, int]]) -> Places:
    """Say of each place who points at it."""
    true, given = set(gold), set(said)
    places = dict.fromkeys(true - given, GOLD) | dict.fromkeys(given - true, SAID)
    return places | dict.fromkeys(true & given, BOTH)


def paragraphs_html(
    paragraphs: Sequence[Paragraph],
    places: Places,
    answers: Sequence[tuple[str, str, Any]],
    *,
    scores: Callable[[int, int], str] | None = None,
) -> str:
    """Write the paragraphs: those with marked sentences first, the others folded away.

    Args:
        paragraphs: the context.
        places: who points at which sentence.
        answers: (class, what a reader is told, answer) to mark in the texts.
        scores: gives what to write behind a sentence.
    """
    touched = {paragraph for paragraph, _ in places}
    open_: list[str] = []
    folded: list[str] = []
    for number, paragraph in enumerate(paragraphs):
        block = _paragraph(number, paragraph, places, answers, scores)
        (open_ if number in touched else folded).append(block)
    if not folded:
        return "".join(open_)
    noun = "paragraph" if len(folded) == 1 else "paragraphs"
    count = f"{len(folded)} {'other ' if open_ else ''}{noun}"
    return (
        f'{"".join(open_)}<details class="others"><summary>{count}</summary>'
        f"{''.join(folded)}</details>"
    )


def _paragraph(
    number: int,
    paragraph: Paragraph,
    places: Places,
    answers: Sequence[tuple[str, str, Any]],
    scores: Callable[[int, int], str] | None,
) -> str:
    lines = []
    for sent_id, sentence in enumerate(paragraph.sentences):
        kind = places.get((number, sent_id))
        badge = f'<b class="badge">{escape(BADGES[kind])}</b> ' if kind else ""
        score = f' <span class="score">{escape(scores(number, sent_id))}</span>' if scores else ""
        lines.append(
            f'<li class="sentence{" " + kind if kind else ""}">{badge}'
            f"<bdi>{marked(sentence.strip(), answers)}</bdi>{score}</li>"
        )
    return (
        f'<div class="paragraph"><h4>{name_html(paragraph.title)}</h4>'
        f'<ol start="0">{"".join(lines)}</ol></div>'
    )


def facts_html(facts: Iterable[Any], what: str) -> str:
    """List facts that point at no sentence of the context, "" where there are none."""
    entries = "".join(
        f"<li>{name_html(fact[0])}, sentence {html_of(fact[1])}</li>"
        if isinstance(fact, list | tuple) and len(fact) == 2
        else f"<li>{html_of(fact)}</li>"
        for fact in facts
    )
    return f'<p class="lost">{escape(what)}:</p><ul class="lost">{entries}</ul>' if entries else ""


FORMAT = (
    "Write each paragraph as its title on a line of its own and its text below, with an empty "
    "line between paragraphs; or paste a record's context as JSON: [[title, [sentence, ...]], ...]"
)
TABLE = ("subject", "relation", "object", "score")


def parse_paragraphs(text: str) -> list[Paragraph]:
    """Read paragraphs that a person wrote or pasted.

    Args:
        text: blocks between empty lines, each a title and below it the text, which is cut into
            sentences; or the JSON of a context.

    Raises:
        DataError: there are none, or a title without a text.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    if text.startswith(("[", "{")):
        return _of_json(text)
    paragraphs = []
    for block in _blocks(text):
        title, *lines = block
        if not lines:
            raise DataError(f"the paragraph {title!r} has no text below its title", remedy=FORMAT)
        paragraphs.append(Paragraph(title, tuple(split_sentences(" ".join(lines), [title]))))
    if not paragraphs:
        raise DataError("there are no paragraphs", remedy=FORMAT)
    return paragraphs


def _of_json(text: str) -> list[Paragraph]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        problem = f"the paragraphs look like JSON and are none ({error})"
        raise DataError(problem, remedy=FORMAT) from None
    if isinstance(value, Mapping) and "context" in value:
        value = value["context"]
    paragraphs = [Paragraph(*one) for one in parse_context(value)]
    if not paragraphs:
        raise DataError("there are no paragraphs", remedy=FORMAT)
    return paragraphs


def _blocks(text: str) -> list[list[str]]:
    blocks: list[list[str]] = [[]]
    for line in text.split("\n"):
        if line.strip():
            blocks[-1].append(" ".join(line.split()))
        elif blocks[-1]:
            blocks.append([])
    return [block for block in blocks if block]


def render_paragraphs(paragraphs: Sequence[Paragraph]) -> str:
    """Write paragraphs as a person would, so that `parse_paragraphs` reads them."""
    return "\n\n".join(
        f"{title}\n{' '.join(sentence.strip() for sentence in sentences)}"
        for title, sentences in paragraphs
    )


def answer_html(paragraphs: Sequence[Paragraph], said: Mapping[str, Any]) -> str:
    """Write the answer, and the paragraphs with the supporting sentences marked.

    Args:
        paragraphs: what was asked about.
        said: what `predict` returned.
    """
    found, _ = place_facts(paragraphs, said["sp"])
    scores = {(one["title"], one["sent_id"]): one["score"] for one in said["sentences"]}

    def score_of(paragraph: int, sent_id: int) -> str:
        score = scores.get((paragraphs[paragraph].title, sent_id))
        return "" if score is None else f"{score:.2f}"

    answers = [("said", "answer", said["answer"])] if said["answer_type"] == "span" else []
    body = paragraphs_html(paragraphs, dict.fromkeys(found, "found"), answers, scores=score_of)
    none = "" if found else '<p class="note">No sentence was found to support it.</p>'
    return (
        f'<div class="twowiki"><p class="answer">{name_html(said["answer"])}</p>{none}{body}</div>'
    )


def graph_html(said: Mapping[str, Any]) -> str:
    """Draw the evidence, each relation with its score."""
    edges = [
        Edge(
            as_text(triple["subject"]),
            as_text(triple["relation"]),
            as_text(triple["object"]),
            note=f"{triple['score']:.2f}",
        )
        for triple in said["triples"]
    ]
    drawn = draw_graph(edges, ident="evidence", title="evidence") if edges else ""
    none = '<p class="none">no triples</p>'
    return f'<div class="twowiki"><figure class="evidence">{drawn or none}</figure></div>'


def triple_rows(said: Mapping[str, Any]) -> list[list[Any]]:
    """Give the evidence as rows: subject, relation, object, score."""
    return [
        [triple["subject"], triple["relation"], triple["object"], round(triple["score"], 3)]
        for triple in said["triples"]
    ]
