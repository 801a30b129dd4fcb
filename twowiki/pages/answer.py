"""The demo's texts: paragraphs as people write them in, a model's answer as HTML out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from twowiki.data.fields import parse_context
from twowiki.data.schema import Paragraph
from twowiki.errors import DataError
from twowiki.io.records import parse_json
from twowiki.models.text import split_sentences
from twowiki.pages.evidence import (
    Edge,
    Graph,
    as_text,
    join_chains,
    locate_facts,
    mark_paragraphs,
    page_templates,
)

PARAGRAPH_FORMAT = (
    "Write each paragraph as its title on a line of its own and its text below, with an empty "
    "line between paragraphs; or paste a record's context as JSON: [[title, [sentence, ...]], ...]"
)
TRIPLE_COLUMNS = ("subject", "relation", "object", "score")


def read_paragraphs(text: str) -> list[Paragraph]:
    """Parse paragraphs that a person wrote or pasted.

    Args:
        text: blocks between empty lines, each a title and below it the text, which is cut into
            sentences; or the JSON of a context.

    Raises:
        DataError: there are none, or a title has no text.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    if text.startswith(("[", "{")):
        paragraphs = _parse_json_context(text)
    else:
        paragraphs = [_parse_block(block) for block in re.split(r"\n\s*\n", text) if block]
    if not paragraphs:
        raise DataError("there are no paragraphs", remedy=PARAGRAPH_FORMAT)
    return paragraphs


def _parse_json_context(text: str) -> list[Paragraph]:
    try:
        value = parse_json(text.encode("utf-8", "surrogatepass"))
    except DataError as error:
        problem = f"the paragraphs look like JSON, but are not ({error.problem})"
        raise DataError(problem, remedy=PARAGRAPH_FORMAT) from None
    if isinstance(value, Mapping) and "context" in value:
        value = value["context"]
    return [Paragraph(*one) for one in parse_context(value)]


def _parse_block(block: str) -> Paragraph:
    title, *lines = [" ".join(line.split()) for line in block.split("\n")]
    if not lines:
        problem = f"the paragraph {title!r} has no text below its title"
        raise DataError(problem, remedy=PARAGRAPH_FORMAT)
    return Paragraph(title, tuple(split_sentences(" ".join(lines), [title])))


def render_paragraphs(paragraphs: Sequence[Paragraph]) -> str:
    """Return paragraphs as a person would write them, so that `read_paragraphs` reads them."""
    return "\n\n".join(
        f"{title}\n{' '.join(sentence.strip() for sentence in sentences)}"
        for title, sentences in paragraphs
    )


def render_answer(paragraphs: Sequence[Paragraph], prediction: Mapping[str, Any]) -> str:
    """Return HTML of the answer, and of the paragraphs with the supporting sentences marked.

    Args:
        paragraphs: what the question was about.
        prediction: what `predict` returned.
    """
    found, _ = locate_facts(paragraphs, prediction["sp"])
    scores = {(one["title"], one["sent_id"]): one["score"] for one in prediction["sentences"]}

    def score_of(paragraph: int, sent_id: int) -> str:
        score = scores.get((paragraphs[paragraph].title, sent_id))
        return "" if score is None else f"{score:.2f}"

    answer = prediction["answer"]
    answers = [("predicted", "answer", answer)] if prediction["answer_type"] == "span" else []
    marks = dict.fromkeys(found, "found")
    return (
        page_templates()
        .get_template("answer.html")
        .render(
            answer=answer,
            score=prediction.get("answer_score"),
            is_supported=bool(found),
            context=list(mark_paragraphs(paragraphs, marks, answers, score_of)),
        )
    )


def render_message(text: str) -> str:
    """Return HTML of a message in place of an answer."""
    return page_templates().get_template("message.html").render(text=text)


def render_science_answer(found: Mapping[str, Any]) -> str:
    """Return HTML of a science answer, with the sentences that the model was shown.

    Args:
        found: what `predict` of a text model returned.
    """
    return (
        page_templates()
        .get_template("science.html")
        .render(answer=found["answer"], sentences=found["sentences"])
    )


def render_answer_graph(prediction: Mapping[str, Any]) -> str:
    """Return HTML of the evidence, each relation with its score."""
    edges = [
        Edge(
            as_text(triple["subject"]),
            as_text(triple["relation"]),
            as_text(triple["object"]),
            note=f"{triple['score']:.2f}",
        )
        for triple in prediction["triples"]
    ]
    graph = page_templates().get_template("graph.html").render(graph=Graph(join_chains(edges), []))
    return f'<div class="twowiki">{graph}</div>'


def triple_rows(prediction: Mapping[str, Any]) -> list[list[Any]]:
    """Return the evidence as rows of `TRIPLE_COLUMNS`."""
    return [
        [triple["subject"], triple["relation"], triple["object"], round(triple["score"], 3)]
        for triple in prediction["triples"]
    ]
