"""What a model says about one question as HTML: answer, sentences, evidence graph. Pure.

In: the paragraphs, and what `predict` returns. Out: pieces for a page, and rows for a table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from twowiki.errors import DataError
from twowiki.fields import parse_context
from twowiki.pages.graph import Edge, draw_graph
from twowiki.pages.markup import as_text, name_html
from twowiki.pages.sentences import paragraphs_html, place_facts
from twowiki.schema import Paragraph
from twowiki.sentences import split_sentences

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
