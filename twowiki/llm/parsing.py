"""The output of a language model as answer, supporting sentences and triples. Tolerant, pure.

In: a model's text: JSON (fenced, in prose, single-quoted, cut off), or text with headings such as
`Answer:`. Out: a `ParsedOutput` with the form that was found. Reasoning between <think> tags is
skipped, and of several answers in one text the last one counts. What cannot be read is None,
never guessed; nothing is raised.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from twowiki.data.schema import Prediction
from twowiki.metric.normalization import as_index

JSON, CUT, HEADINGS, BARE, UNPARSED = "json", "cut_json", "headings", "bare", "unparsed"
_NAMES = {
    "answer": ("answer", "final_answer", "finalanswer", "short_answer", "prediction"),
    "facts": ("supporting_facts", "supporting_sentences", "supporting_fact", "sp", "supports",
              "support", "facts"),
    "triples": ("evidences", "evidence", "evidence_triples", "triples", "reasoning_triples"),
}  # fmt: skip
_PART = {name: part for part, names in _NAMES.items() for name in names}
_FACT_NAMES = (
    ("title", "paragraph", "document", "page"),
    ("sent_id", "sentence_id", "sentence_index", "sentence", "index", "sent", "id"),
)
_TRIPLE_NAMES = (("subject", "head", "s", "fact"), ("relation", "predicate", "property", "r", "p"),
                 ("object", "tail", "o", "entity", "value"))  # fmt: skip
_THINKING = re.compile(r"<(think|thinking|reasoning)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_END_OF_THINKING = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)
_HEADING = re.compile(
    r"^[\s>#*_\-\d.]{0,8}(?P<name>[A-Za-z][A-Za-z _]{1,40}?)\s*[*_]{0,3}\s*:[ \t]*[*_]{0,3}"
    r"(?P<rest>.*)$",
    re.MULTILINE,
)
_ANSWER_IS = re.compile(r"\b(?:the|my) (?:final |short )?answer is:?\s+(.+)", re.IGNORECASE)
_BULLET = re.compile(r"^\s*(?:[-*\u2022\u2013]|\d{1,3}[.)])\s+")
_FACT = re.compile(
    r"^(?P<title>.+?)\s*(?:[,:|#\u2013-]\s*(?:sentence|sent)?\.?\s*#?|[\[(]\s*(?:sentence|sent)?\.?\s*#?"
    r"|\s(?:sentence|sent)\.?\s*#?)(?P<index>\d{1,2})\s*[\])]?[\s.,;\])]*$",
    re.IGNORECASE,
)
_QUOTED = re.compile(r'"answer"\s*:\s*"((?:[^"\\]|\\.)*)"', re.IGNORECASE)
_NO_MORE = re.compile(r",\s*(?=[}\]])")
_LONGEST_BARE = 12  # words of a text without any form that still counts as an answer
_LONGEST_LINE = 500  # characters of a supporting sentence or a triple written as text
_MOST_TRIES = 50  # opening braces in a text that do not open an object
_LONGEST_OBJECT = 50_000  # characters of an object that is not valid JSON


class ParsedOutput(NamedTuple):
    """The parts of a model's output; None for a part that it leaves out."""

    answer: str | None
    facts: list[tuple[Any, ...]] | None
    triples: list[tuple[Any, ...]] | None
    form: str

    @property
    def prediction(self) -> Prediction:
        """The output as a prediction; entries may be malformed, which the scorer accepts."""
        parts: tuple[Any, ...] = (self.answer, self.facts, self.triples)
        return Prediction(*parts)


def parse_llm_output(text: Any) -> ParsedOutput:
    """Parse one output.

    Args:
        text: the raw text, or an object that was parsed already.
    """
    if isinstance(text, Mapping):
        found = _of_mapping(text, JSON)
        return found or ParsedOutput(None, None, None, UNPARSED)
    if not isinstance(text, str):
        return ParsedOutput(None, None, None, UNPARSED)
    reply = _END_OF_THINKING.split(_THINKING.sub(" ", text))[-1].strip()
    found = _of_json(reply) or _of_headings(reply) or _of_bare(reply)
    return found or ParsedOutput(None, None, None, UNPARSED)


def _of_json(text: str) -> ParsedOutput | None:
    """Parse the last object in the text that has a known field."""
    last = None
    for value in _objects(text):
        last = _of_mapping(value, JSON) or last
    if last is not None:
        return last
    quoted = _QUOTED.findall(text)
    if not quoted:
        return None
    try:
        answer = json.loads(f'"{quoted[-1]}"', strict=False)
    except ValueError:
        answer = quoted[-1]
    return ParsedOutput(answer.strip(), None, None, CUT)


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield the outermost objects of a text, in order."""
    decoder, at, tries = json.JSONDecoder(strict=False), text.find("{"), 0
    while at >= 0 and tries < _MOST_TRIES:
        value, end = None, None
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = _closing(text, at)
            value = None if end is None else _leniently(text[at:end])
        if isinstance(value, Mapping):
            yield value
        else:
            tries += 1
        at = text.find("{", at + 1 if value is None or end is None else end)


def _closing(text: str, start: int) -> int | None:
    """Return the position after the brace that closes the one at `start`, quotes respected."""
    depth, quote, at = 0, "", start
    stop = min(len(text), start + _LONGEST_OBJECT)
    while at < stop:
        letter = text[at]
        if quote:
            if letter == "\\":
                at += 1
            elif letter == quote:
                quote = ""
        elif letter == '"':
            quote = letter
        elif letter in "{[":
            depth += 1
        elif letter in "}]":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return None


def _leniently(text: str) -> Any:
    """Parse an object with trailing commas, or one in Python's notation."""
    try:
        return json.loads(_NO_MORE.sub("", text), strict=False)
    except (ValueError, RecursionError):
        pass
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd escapes in the model's text
            value = ast.literal_eval(text)
            str(value)  # integers with more digits than Python writes are refused
            return value
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _of_mapping(value: Mapping[Any, Any], form: str) -> ParsedOutput | None:
    parts: dict[str, Any] = {}
    for name, entry in value.items():
        plain = re.sub(r"[^a-z]+", "_", str(name).lower()).strip("_")
        part = _PART.get(plain)
        if part is not None and part not in parts:
            parts[part] = entry
    if not parts:
        return None
    try:
        return ParsedOutput(
            _answer(parts.get("answer")),
            _entries(parts.get("facts"), _fact),
            _entries(parts.get("triples"), _triple),
            form,
        )
    except (ValueError, RecursionError):  # integers too long to write, lists too deep
        return None


def _answer(value: Any) -> str | None:
    """Return an answer as text: booleans are yes and no, several answers are listed."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list | tuple) and value:
        texts = [_answer(entry) for entry in value]
        return None if None in texts else ", ".join(text for text in texts if text is not None)
    return None


def _entries(value: Any, read: Any) -> list[tuple[Any, ...]] | None:
    """Parse each entry of a list, a text of lines, or a single entry."""
    if value is None:
        return None
    if isinstance(value, str):
        value = [line for line in value.splitlines() if line.strip()]
    elif isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, list | tuple):
        return None
    if value and all(isinstance(entry, str | int) for entry in value) and _is_one(value):
        value = [value]
    found = [read(entry) for entry in value]
    return list(dict.fromkeys(entry for entry in found if entry is not None))


def _is_one(value: Sequence[Any]) -> bool:
    """Return whether a list is one fact or triple, `["Title", 0]` or `["s", "r", "o"]`."""
    return (len(value) == 2 and isinstance(value[1], int)) or (
        len(value) == 3 and not any(_separated(str(entry)) for entry in value)
    )


def _fact(entry: Any) -> tuple[Any, ...] | None:
    """Parse a supporting sentence: a pair, an object, or a text (`Title, 0`, `Title [0]`)."""
    if isinstance(entry, Mapping):
        entry = _by_names(entry, _FACT_NAMES)
    if isinstance(entry, list | tuple) and len(entry) == 2 and isinstance(entry[0], str):
        index = as_index(entry[1])
        return (entry[0], index) if isinstance(index, int) else None
    if isinstance(entry, str) and len(entry) <= _LONGEST_LINE:
        match = _FACT.match(_plain(entry))
        if match:
            return _unwrapped(match["title"]), int(match["index"])
    return None


def _triple(entry: Any) -> tuple[Any, ...] | None:
    """Parse a triple: a list, an object, or a text (`(s, r, o)`, `s | r | o`, `s -> r -> o`)."""
    if isinstance(entry, Mapping):
        entry = _by_names(entry, _TRIPLE_NAMES)
    if isinstance(entry, str) and len(entry) <= _LONGEST_LINE:
        entry = _separated(_unwrapped(_plain(entry).strip(" <>."), quotes="").strip(" <>."))
    if not isinstance(entry, list | tuple) or len(entry) != 3:
        return None
    texts = tuple(_answer(part) for part in entry)
    return None if None in texts else texts


def _separated(text: str) -> list[str] | None:
    """Split a text in three, at the first separator that does so."""
    for separator in (r"\s*\|\s*", r"\s*(?:-+>|\u2192|\t)\s*", r"\s*;\s*", r"\s*,\s+"):
        parts = re.split(separator, text)
        if len(parts) == 3 and all(parts):
            return [_unwrapped(part, brackets="") for part in parts]
    return None


def _unwrapped(text: str, quotes: str = "\"'", brackets: str = "([") -> str:
    """Drop marks around a text, but not those of a name: `(500) Days`, `Say "Farewell"`."""
    before = None
    while before != text and text:
        before, text = text, text.strip(" \t*_")
        first, last = text[:1], text[-1:]
        if first and first in quotes and first == last and len(text) > 1:
            doubled = text.startswith(2 * first) or text.endswith(2 * first)
            text = text[1:-1] if text.count(first) == 2 or doubled else text
        elif '"' in quotes and text.count('"') % 2 and '"' in (first, last):
            text = text[1:] if first == '"' else text[:-1]
        elif first and first in brackets:
            end = _partner(text)
            text = text[1 : end if end > 0 else None] if end in (-1, len(text) - 1) else text
        elif last and last in brackets:
            text = text[:-1]
    return text


def _partner(text: str) -> int:
    """Return the position of the bracket that closes the first one; -1 if there is none."""
    opening, closing = text[0], ")" if text[0] == "(" else "]"
    depth = 0
    for position, letter in enumerate(text):
        depth += (letter == opening) - (letter == closing)
        if depth == 0:
            return position
    return -1


def _by_names(entry: Mapping[str, Any], names: Sequence[Sequence[str]]) -> list[Any] | None:
    low = {str(name).lower(): value for name, value in entry.items()}
    values = [next((low[name] for name in group if name in low), None) for group in names]
    return None if None in values else values


def _plain(line: str) -> str:
    """Drop a bullet and emphasis from a line."""
    return _BULLET.sub("", line).strip().strip("*_`").strip()


def _of_headings(text: str) -> ParsedOutput | None:
    """Parse `Answer: ...`, `Supporting facts:` and `Evidence:` with the lines that follow them."""
    parts: dict[str, list[str]] = {}
    current = None
    for line in text.splitlines():
        match = _HEADING.match(line)
        plain = re.sub(r"[^a-z]+", "_", match["name"].lower()).strip("_") if match else ""
        part = _PART.get(plain)
        if match and part:
            parts[part], current = [match["rest"]], part
        elif current:
            parts[current].append(line)
    if "answer" not in parts:
        stated = _ANSWER_IS.findall(text)
        if stated:
            parts["answer"] = [stated[-1].rstrip(". ")]
    if not parts:
        return None
    lines = [line for line in parts.get("answer", ()) if line.strip()]
    return ParsedOutput(
        _plain(lines[0]).strip("\"'") if lines else None,
        _lines(parts.get("facts"), _fact),
        _lines(parts.get("triples"), _triple),
        HEADINGS,
    )


def _lines(lines: Sequence[str] | None, read: Any) -> list[tuple[Any, ...]] | None:
    """Parse the lines under a heading; a list in JSON is parsed as such."""
    if lines is None:
        return None
    joined = "\n".join(lines).strip()
    if joined.startswith("["):
        try:
            return _entries(json.JSONDecoder(strict=False).raw_decode(joined)[0], read)
        except (ValueError, RecursionError):
            pass
    return _entries(joined, read)


def _of_bare(text: str) -> ParsedOutput | None:
    """Return a short text of one line as the answer."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) != 1 or len(lines[0].split()) > _LONGEST_BARE or "{" in lines[0]:
        return None
    return ParsedOutput(_plain(lines[0]).strip("\"'").rstrip("."), None, None, BARE)
