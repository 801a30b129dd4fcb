"""Parts of an output between tags: `<answer>X</answer>`, `[ANSWER]X[/ANSWER]`, XML. Pure.

In: a text. Out: each tag that names a part, with its content; and the structure of XML inside one.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from twowiki.llm.part_names import ANSWER, part_of, plain_name

_TAG = re.compile(
    r"<\|?(?:begin_of_|start_of_|begin_|start_)?(?P<name>[A-Za-z][\w.\-]{0,40}?)(?:_start|_begin)?"
    r"(?P<rest>(?:\s|=)[^<>]{0,300})?\s*/?\|?>|\[(?P<bracket>[A-Za-z][\w \-]{1,30})\](?!\()"
)
_NAMING = {"parameter", "param", "arg", "argument", "field", "item", "invoke", "function",
           "property", "section", "part", "tool"}  # fmt: skip
_NAME = re.compile(r"(?:^\s*=|\b(?:name|key|id|type)\s*=)\s*[\"']?([\w \-]{1,40})")
_ARGUMENT = re.compile(
    r"<arg_key>\s*(\w+)\s*</arg_key>\s*<arg_value>(.{0,2000}?)</arg_value>", re.DOTALL
)
_DELIMITED = re.compile(
    r"\[(?:BEGIN|START)[ _](\w{1,20})\](.{0,1000}?)\[(?:END|STOP)[ _]\1\]",
    re.DOTALL | re.IGNORECASE,
)
_ORPHAN = re.compile(r"</(?:final_)?answer\s*>", re.IGNORECASE)
_OPENED = re.compile(r"^(?:final_)?answer\s*>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"([\w\-:]+)\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s\"'>]+)")
_CHILD = re.compile(
    r"<(?P<name>[A-Za-z][\w.\-]{0,40})(?P<rest>\s[^<>]*?)?(?:/>|>(?P<content>.*?)</(?P=name)\s*>)",
    re.DOTALL,
)
_STOP = re.compile(r"<\|?/?[A-Za-z|]|\n\s*\n")
_MOST = 200


class Tagged(NamedTuple):
    """A tag: where it is, the part that it names, the rank of its name, its content."""

    start: int
    end: int
    name: str
    part: str
    rank: int
    content: str
    closed: bool


def tagged(text: str) -> list[Tagged]:
    """Return the outermost tags that name a part; of two openings the inner one counts."""
    text = _DELIMITED.sub(_same_length, _ARGUMENT.sub(_same_length, text))
    found: list[Tagged] = []
    endless: set[str] = set()
    at = 0
    for _ in range(_MOST):
        tag = _next(text, at, endless)
        if tag is None:
            break
        found.append(tag)
        at = tag.end
    if not any(tag.part == ANSWER for tag in found) and (end := _ORPHAN.search(text)):
        start = max([tag.end for tag in found if tag.end <= end.start()], default=0)
        lines = text[start : end.start()].strip().split("\n")  # the opening was given to the model
        line = _OPENED.sub("", lines[-1])
        found.append(Tagged(start, end.end(), "answer", ANSWER, 2, line, closed=True))
    closed = {tag.part for tag in found if tag.closed}
    return [tag for tag in found if tag.closed or tag.part not in closed]


def _same_length(match: re.Match[str]) -> str:
    """Return an argument of a call as a tag of its name, as long as before."""
    name, value = match[1], match[2]
    new = f"<{name}>{value}</{name}>"
    return new + " " * (len(match[0]) - len(new))


def _next(text: str, at: int, endless: set[str]) -> Tagged | None:
    """Return the first tag after a position; `endless` collects names that are closed no more."""
    last_open: re.Match[str] | None = None
    for match in _TAG.finditer(text, at):
        name, given = _names(match)
        known = part_of(given, weak=True)
        if known is None or (match["bracket"] and known[1] < 1):
            continue
        content_at = match.end()
        if match[0].rstrip("|>").endswith("/"):  # <answer value="X"/>
            values = {key: html.unescape(value.strip("\"'")) for key, value in
                      _ATTRIBUTE.findall(match["rest"] or "")}  # fmt: skip
            content = next(
                (values[key] for key in ("value", "text", "content") if key in values), ""
            )
            content = content if known[0] == ANSWER else match[0]
            return Tagged(match.start(), content_at, given, *known, content, closed=True)
        end = None
        if name not in endless:
            end = _closing(name, bool(match["bracket"])).search(text, content_at)
        again = _opening(name, bool(match["bracket"])).search(text, content_at)
        if end is None:
            endless.add(name)
            if again is not None or match["bracket"]:
                last_open = match
                continue
            if last_open and last_open["name"] == name and not text[content_at:].strip():
                content = text[last_open.end() : match.start()]  # closed by a second opening
                return Tagged(last_open.start(), content_at, given, *known, content, closed=False)
            stop = _STOP.search(text, content_at)
            last = stop.start() if stop else len(text)
            content = text[content_at:last]
            return Tagged(match.start(), last, given, *known, content, closed=False)
        if again is not None and again.start() < end.start():
            continue
        content = text[content_at : end.start()]
        return Tagged(match.start(), end.end(), given, *known, content, closed=True)
    return None


def _names(match: re.Match[str]) -> tuple[str, str]:
    """Return the tag's own name, and the name that it gives."""
    name = match["name"] or match["bracket"]
    if plain_name(name) in _NAMING:
        given = _NAME.search(match["rest"] or "")
        return name, given[1] if given else name
    return name, name


@cache
def _closing(name: str, bracket: bool) -> re.Pattern[str]:
    word = re.escape(name)
    if bracket:
        return re.compile(rf"\[\s*/\s*{word}\s*\]", re.IGNORECASE)
    return re.compile(
        rf"<\|?\s*[/\\]\s*{word}\s*\|?>|<\|?end_(?:of_)?{word}\|?>|<\|?{word}_end\|?>",
        re.IGNORECASE,
    )


@cache
def _opening(name: str, bracket: bool) -> re.Pattern[str]:
    word = re.escape(name)
    return re.compile(rf"\[{word}\]" if bracket else rf"<\|?(?:begin_of_)?{word}(?:\s[^<>]*)?\|?>",
                      re.IGNORECASE)  # fmt: skip


def structure(content: str) -> Any:
    """Return the value of a tag's content: XML as lists and objects, anything else as text."""
    children = [*_children(content)]
    if not children:
        return html.unescape(content).strip()
    names = [name for name, _ in children]
    fields = {plain_name(name) for name in names}
    if len(fields) == len(names) and fields <= _FIELDS and len(names) > 1:
        return dict(children)
    return [value for _, value in children]


_FIELDS = {"title", "sent_id", "sentence_id", "sentence", "sent", "index", "paragraph", "document",
           "subject", "subj", "head", "relation", "predicate", "property", "relationship", "object",
           "obj", "tail", "s", "p", "r", "o", "h", "t", "text", "page", "id", "idx",
           "sentence_index"}  # fmt: skip


def _children(content: str) -> Iterator[tuple[str, Any]]:
    for match in _CHILD.finditer(content):
        fields: dict[str, Any] = {
            key: html.unescape(value.strip("\"'"))
            for key, value in _ATTRIBUTE.findall(match["rest"] or "")
        }
        value = structure(match["content"] or "")
        if not fields:
            yield match["name"], value
            continue
        lacking = "sent_id" if "title" in fields else "title"
        if isinstance(value, str) and value:
            fields.setdefault(lacking, value)
        yield match["name"], fields
