"""Multi-hop questions as SQuAD rows: one text, one question, and answers with their positions.

The text is all paragraphs, each title on a line of its own above its sentences. An answer is looked
for in the supporting sentences, then in the gold paragraphs, then anywhere, as whole words; it is
written as the text writes it. A yes/no question, and an answer that no paragraph holds, has no
answer, as an impossible question of SQuAD 2.0; or, as in SQuAD 1.1, it is left out and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from twowiki.data.schema import Example, config_of, parse_record
from twowiki.errors import DataError
from twowiki.models.text import fold

ANSWERED, HIDDEN, YES_NO, NOT_FOUND = "answered", "hidden_gold", "yes_no", "not_in_context"
SQUAD_VERSIONS = ("2.0", "1.1")


class SquadRows(list[dict[str, Any]]):
    """Rows with the columns of the `squad` data sets.

    Attributes:
        counts: by reason, the questions with and without an answer in the text.
    """

    counts: Counter[str]


class Part(NamedTuple):
    """Characters `[start, end)` of the whole text, and how soon an answer is looked for there."""

    rank: int  # 0 a supporting sentence, 1 another sentence of its paragraph, 2 the rest
    start: int
    end: int


def to_squad(rows: Iterable[Example | Mapping[str, Any]], *, version: str = "2.0") -> SquadRows:
    """Return questions as SQuAD rows, which `datasets.Dataset.from_list` and QA scripts take.

    Args:
        rows: rows of a data set, official records or examples.
        version: "2.0" keeps a question without an answer in the text, with empty lists; "1.1"
            leaves it out, unless its gold is hidden.

    Returns:
        Rows of `id`, `title`, `context`, `question` and `answers` {`text`, `answer_start`}; a text
        starts at its number of characters. `counts` has the numbers by reason.
    """
    if version not in SQUAD_VERSIONS:
        remedy = f"It is one of {', '.join(SQUAD_VERSIONS)}"
        raise DataError(f"unknown version {version!r} of SQuAD", remedy=remedy)
    found = SquadRows()
    found.counts = Counter()
    for row in rows:
        made, reason = squad_row(
            row if isinstance(row, Example) else parse_record(row, config_of(row))
        )
        found.counts[reason] += 1
        if version == "2.0" or reason in (ANSWERED, HIDDEN):
            found.append(made)
    return found


def squad_row(example: Example) -> tuple[dict[str, Any], str]:
    """Return a question's row, and `answered` or why it has no answer."""
    text, parts = _text_of(example)
    texts, starts, reason = [], [], HIDDEN
    if example.answer is not None:
        reason = YES_NO if example.answer.strip().lower() in ("yes", "no") else NOT_FOUND
        if reason == NOT_FOUND:
            for answer in dict.fromkeys((example.answer, *(example.answer_aliases or ()))):
                start = _position(answer.strip(), text, parts)
                if start is not None:
                    texts.append(text[start : start + len(answer.strip())])
                    starts.append(start)
            reason = ANSWERED if texts else NOT_FOUND
    row = {
        "id": example.id,
        "title": "",
        "context": text,
        "question": example.question.strip(),
        "answers": {"text": texts, "answer_start": starts},
    }
    return row, reason


def _text_of(example: Example) -> tuple[str, list[Part]]:
    """Return the whole text, and its sentences in the order in which they are searched."""
    facts = {tuple(fact) for fact in example.facts}
    titles = {title for title, _ in facts}
    marked = set(example.supporting_paragraphs or ())
    pieces: list[str] = []
    parts: list[Part] = []
    length = 0
    for place, (title, sentences) in enumerate(example.context):
        piece = f"\n\n{title}\n" if pieces else f"{title}\n"
        near = 1 if title in titles or place in marked else 2
        pieces.append(piece)
        length += len(piece)
        for number, sentence in enumerate(sentences):
            joined = pieces[-1][-1:].isspace() or sentence[:1].isspace()
            glue = "" if joined or not sentence else " "
            pieces.append(glue + sentence)
            rank = 0 if (title, number) in facts else near
            parts.append(Part(rank, length + len(glue), length + len(glue) + len(sentence)))
            length += len(glue) + len(sentence)
    return "".join(pieces), sorted(parts, key=lambda part: part.rank)


def _position(answer: str, text: str, parts: Iterable[Part]) -> int | None:
    """Return where an answer starts; as it is written first, then whatever its case."""
    if not answer:
        return None
    parts = list(parts)
    for wanted, searched in ((answer, text), (fold(answer), fold(text))):
        for part in parts:
            for start in _found(wanted, searched, part):
                return start
    return next(_found(answer, text, Part(2, 0, len(text))), None)


def _found(wanted: str, text: str, part: Part) -> Iterator[int]:
    """Yield the starts of a text as whole words within a part."""
    start = text.find(wanted, part.start, part.end)
    while start >= 0:
        before, after = text[start - 1 : start], text[start + len(wanted) : start + len(wanted) + 1]
        word = (before[-1:].isalnum() and wanted[0].isalnum()) or (
            after.isalnum() and wanted[-1].isalnum()
        )
        if not word:
            yield start
        start = text.find(wanted, start + 1, part.end)
