"""Wikitext of an article to the plain text of its summary, links kept. Pure.

Templates that carry values (dates, conversions, numbers, languages, quotes) are rendered; those
that carry none (infoboxes, notes, citations) go; any other one in running text leaves `MARK`, so
that the page is not taken for a faithful summary.
"""

from __future__ import annotations

import re
from html import unescape
from typing import NamedTuple

from twowiki.generation.wikitext_templates import MARK, render_templates

_COMMENT = re.compile(r"<!--.*?-->", re.S)
_DROPPED_TAG = re.compile(
    r"<(ref|gallery|math|score|timeline|imagemap|nowiki|source|syntaxhighlight|chem|hiero)\b"
    r"(?:[^<>]*/>|[^<>]*>.*?</\1\s*>)", re.S | re.I,
)  # fmt: skip
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_BREAK = re.compile(r"<br\s*/?>", re.I)
_TABLE = re.compile(r"\{\|(?:(?!\{\|).)*?\|\}", re.S)
_HEADING = re.compile(r"^==.*==\s*$", re.M)
_LINK = re.compile(r"\[\[([^\[\]|]*)(?:\|([^\[\]]*))?\]\]([a-z]*)")
_EXTERNAL = re.compile(r"\[(?:https?:)?//[^\s\]]+(?:\s+([^\]]*))?\]")
_QUOTES = re.compile(r"'{2,}")
_MAGIC = re.compile(r"__[A-Z]+__")
_BLANK = re.compile(r"[ \t\u00a0]+")
_EMPTY_BRACKETS = re.compile(r" ?\(\s*[;,–-]?\s*\)")
_ANCHOR = re.compile("\x01([^\x02]*)\x02([^\x03]*)\x03")
_MEDIA = re.compile(r"^\s*:?(file|image|category|media|wikipedia|template|portal)\s*:", re.I)


class Summary(NamedTuple):
    """A page's opening text and its links: (start, end, target title), characters half-open."""

    text: str
    links: tuple[tuple[int, int, str], ...]
    faithful: bool


def render_summary(wikitext: str) -> Summary:
    """Render what stands above the first heading."""
    text = _COMMENT.sub("", wikitext)
    text = _DROPPED_TAG.sub("", text)
    heading = _HEADING.search(text)
    text = text[: heading.start()] if heading else text
    text = render_templates(text)
    previous = ""
    while previous != text:
        previous, text = text, _TABLE.sub("", text)
    text = _render_links(_BREAK.sub(" ", text))
    text = _TAG.sub("", _EXTERNAL.sub(lambda match: match[1] or "", text))
    text = _QUOTES.sub("", _MAGIC.sub("", text))
    # Braces that never closed hold a template's parameters, not prose.
    text = re.sub(r"\{\{.*|\{\|.*", MARK, text, flags=re.S)
    lines = [line for line in text.split("\n") if not line.lstrip().startswith(("|", "!", "}}"))]
    paragraphs = [_tidy(line.lstrip("*#:; ")) for line in lines]
    return _with_links("\n".join(line for line in paragraphs if line.strip()))


def _tidy(line: str) -> str:
    text = _BLANK.sub(" ", unescape(line)).strip()
    text = _EMPTY_BRACKETS.sub("", text)
    text = re.sub(r"\(\s*[;,]\s*", "(", text)
    return re.sub(r"\s+([,.;:)])", r"\1", text)


def _with_links(text: str) -> Summary:
    plain: list[str] = []
    links: list[tuple[int, int, str]] = []
    length = last = 0
    for match in _ANCHOR.finditer(text):
        plain.append(text[last : match.start()])
        length += match.start() - last
        links.append((length, length + len(match[2]), match[1]))
        plain.append(match[2])
        length += len(match[2])
        last = match.end()
    plain.append(text[last:])
    joined = "".join(plain)
    return Summary(joined, tuple(links), MARK not in joined)


def _render_links(text: str) -> str:
    """Turn links into their texts, with the target kept in control characters."""

    def render(match: re.Match[str]) -> str:
        target, shown, tail = match[1].strip(), match[2], match[3]
        if _MEDIA.match(target):
            return "" if not target.startswith(":") else (shown or target[1:]) + tail
        if "\x01" in (shown or ""):
            shown = _ANCHOR.sub(r"\2", shown or "")
        label = (shown if shown is not None else target.lstrip(":")) + tail
        return f"\x01{target}\x02{label}\x03" if target and label else label

    previous = ""
    while previous != text:
        previous, text = text, _LINK.sub(render, text)
    return text
