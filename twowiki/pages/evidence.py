"""Turn texts, sentences and triples into what the templates show. Pure.

In: paragraphs, facts, answers and triples, whatever a gold or a prediction holds. Out: named
tuples for `templates/evidence.html`, which escapes every text. Control characters and lone
surrogates become U+FFFD, and long texts are cut.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from jinja2 import Environment

from twowiki.data.schema import Paragraph
from twowiki.io.templates import template_environment
from twowiki.metric.normalization import as_index
from twowiki.models.text import Span, find_text

LONGEST_NAME = 300  # characters of a name or an answer that are shown
MOST_EDGES = 24  # triples that are drawn; the others are listed
BADGES = {
    "both": "gold, predicted",
    "gold": "gold, not predicted",
    "predicted": "predicted, not gold",
    "found": "supporting",
}
MARK_SIGNS = {"right": "✓", "wrong": "✗", "missed": "○"}
MARK_WORDS = {"right": "right", "wrong": "wrong", "missed": "not found"}
_UNSHOWABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_ABSOLUTE = re.compile(r"(?<![\w./])(?:[A-Za-z]:[\\/]|~?/|\.\./)[^\s'\"=]+")
Position = tuple[int, int]  # paragraph, sent_id


@cache
def page_templates() -> Environment:
    """Return the environment of the pages' templates."""
    environment = template_environment("twowiki.pages")
    environment.filters |= {"shown": as_text, "spaced": lambda text: text.replace("_", " ")}
    environment.filters |= {"file_name": file_name, "command_text": command_text}
    environment.globals |= {"badges": BADGES, "signs": MARK_SIGNS, "words": MARK_WORDS}
    return environment


def evidence_style() -> str:
    """Return the style of sentences and graphs, for pages with them in a `twowiki` element."""
    return page_templates().get_template("evidence.css").render()


def as_text(value: Any, longest: int = LONGEST_NAME) -> str:
    """Return any value as a text of bounded length that a page can hold."""
    if isinstance(value, str) and len(value) <= longest and value.isprintable():
        return value
    text = value if isinstance(value, str) else repr(value)
    text = _UNSHOWABLE.sub("\ufffd", text)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def file_name(path: Any) -> str:
    """Return the name of a file, without the folders of the machine that it lies on."""
    return as_text(re.split(r"[/\\]", str(path).rstrip("/\\"))[-1] or str(path))


def command_text(command: Any, longest: int = 1000) -> str:
    """Return a command line as a page shows it, with names for paths from a machine's root."""
    words = [
        _ABSOLUTE.sub(lambda found: file_name(found[0]), word) for word in str(command).split(" ")
    ]
    return as_text(" ".join(words), longest)


class MarkedText(NamedTuple):
    """A stretch of a sentence; a marked one has CSS classes and a label that says why."""

    text: str
    kinds: str = ""
    label: str = ""


def mark_answers(text: str, answers: Sequence[tuple[str, str, Any]]) -> list[MarkedText]:
    """Cut a sentence at the answers in it.

    Args:
        text: the sentence.
        answers: (CSS class, label, answer); marks of one span are joined.
    """
    text = _UNSHOWABLE.sub("\ufffd", text)
    spans: dict[Span, list[tuple[str, str]]] = {}
    for kind, label, answer in answers:
        if (span := _find_word(text, answer)) is not None:
            spans.setdefault(span, []).append((kind, label))
    segments, at = [], 0
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if span.start < at:
            continue  # inside a longer mark
        kinds = " ".join(kind for kind, _ in spans[span])
        label = ", ".join(label for _, label in spans[span])
        segments += [
            MarkedText(text[at : span.start]),
            MarkedText(text[span.start : span.end], kinds, label),
        ]
        at = span.end
    return [segment for segment in (*segments, MarkedText(text[at:])) if segment.text]


def _find_word(text: str, answer: Any) -> Span | None:
    """Find an answer as a whole word, whatever its case."""
    wanted = answer.strip() if isinstance(answer, str) else ""
    if not wanted or len(wanted) > LONGEST_NAME:
        return None
    start = 0
    while (found := find_text(text[start:], wanted, ignore_case=True)) is not None:
        span = Span(start + found.start, start + found.end)
        before, after = text[: span.start][-1:], text[span.end :][:1]
        if not (before.isalnum() and wanted[0].isalnum()) and not (
            after.isalnum() and wanted[-1].isalnum()
        ):
            return span
        start = span.start + 1
    return None


def locate_facts(
    paragraphs: Sequence[Paragraph], facts: Iterable[Any]
) -> tuple[list[Position], list[Any]]:
    """Return the positions of facts, and the facts that point at no sentence.

    A title is looked for as it is written, then whatever its case and outer spaces.
    """
    exact: dict[str, int] = {}
    loose: dict[str, int] = {}
    for number, paragraph in enumerate(paragraphs):
        exact.setdefault(paragraph.title, number)
        loose.setdefault(paragraph.title.strip().lower(), number)
    found, lost = [], []
    for fact in facts:
        position = _position_of(fact, exact, loose)
        if position and 0 <= position[1] < len(paragraphs[position[0]].sentences):
            found.append(position)
        else:
            lost.append(fact)
    return found, lost


def _position_of(fact: Any, exact: Mapping[str, int], loose: Mapping[str, int]) -> Position | None:
    if not isinstance(fact, list | tuple) or len(fact) != 2 or not isinstance(fact[0], str):
        return None
    sent_id = as_index(fact[1])
    paragraph = exact.get(fact[0], loose.get(fact[0].strip().lower()))
    if paragraph is None or type(sent_id) is not int:
        return None
    return paragraph, sent_id


class MarkedSentence(NamedTuple):
    """A sentence: its segments, its mark (a key of `BADGES`, or empty), its score as a text."""

    segments: list[MarkedText]
    mark: str
    score: str


class MarkedParagraph(NamedTuple):
    """A paragraph; one with a marked sentence is shown, others are folded away."""

    title: str
    sentences: list[MarkedSentence]
    is_marked: bool


def mark_paragraphs(
    paragraphs: Sequence[Paragraph],
    marks: Mapping[Position, str],
    answers: Sequence[tuple[str, str, Any]],
    score_of: Callable[[int, int], str] = lambda paragraph, sent_id: "",
) -> Iterator[MarkedParagraph]:
    """Mark sentences and answers.

    Args:
        paragraphs: the context.
        marks: keys of `BADGES` by position.
        answers: (CSS class, label, answer) to mark in the sentences.
        score_of: returns what to write behind a sentence.
    """
    for number, paragraph in enumerate(paragraphs):
        sentences = [
            MarkedSentence(
                mark_answers(sentence.strip(), answers),
                marks.get((number, sent_id), ""),
                score_of(number, sent_id),
            )
            for sent_id, sentence in enumerate(paragraph.sentences)
        ]
        yield MarkedParagraph(paragraph.title, sentences, any(one.mark for one in sentences))


class Edge(NamedTuple):
    """A triple to draw; `mark` is right, wrong, missed or empty, `note` follows the relation.

    Of what is not a triple the subject holds the value, and the object is None.
    """

    subject: Any
    relation: Any = ""
    object: Any = None
    mark: str = ""
    note: str = ""


class Graph(NamedTuple):
    """Chains of edges to draw, and edges to list as text."""

    chains: list[list[Edge]]
    others: list[Edge]


def make_graph(triples: Iterable[Any], marks: Sequence[str] = ()) -> Graph:
    """Make a graph of triples; what is repeated, or is not three values, is listed.

    Args:
        triples: whatever a gold or a prediction holds.
        marks: right, wrong, missed or empty of each.
    """
    drawn: dict[Edge, None] = {}
    others = []
    for number, triple in enumerate(triples):
        mark = marks[number] if number < len(marks) else ""
        if not isinstance(triple, list | tuple) or len(triple) != 3:
            others.append(Edge(triple, mark=mark))
            continue
        subject, relation, object_ = map(as_text, triple)
        edge = Edge(subject, relation, object_, mark)
        if edge in drawn or len(drawn) == MOST_EDGES:
            others.append(edge)
        else:
            drawn[edge] = None
    return Graph(join_chains(drawn), others)


def join_chains(edges: Iterable[Edge]) -> list[list[Edge]]:
    """Join edges into chains: the object of one is the subject of the next, each edge once."""
    left, chains = list(edges), []
    while left:
        objects = [edge.object for edge in left if edge.object != edge.subject]
        edge = next((edge for edge in left if edge.subject not in objects), left[0])
        chain: list[Edge] = []
        following: Edge | None = edge
        while following is not None:
            left.remove(following)
            chain.append(following)
            following = next((one for one in left if one.subject == chain[-1].object), None)
        chains.append(chain)
    return chains


def render_graph(triples: Iterable[Any], marks: Sequence[str] = ()) -> str:
    """Return triples as an HTML graph; its style is `evidence_style()`.

    Args:
        triples: subject, relation and object each.
        marks: right, wrong, missed or empty of each.
    """
    template = page_templates().get_template("graph.html")
    return template.render(graph=make_graph(triples, marks))
