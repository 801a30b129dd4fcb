"""Wikitext of an article to the plain text of its summary, links kept. Pure.

Templates with values (dates, conversions, numbers, languages, quotes) are rendered; those without
(infoboxes, notes, citations) are dropped; any other one in running text leaves `MARK`, so that the
page is not used as a faithful summary. Time grows with the text's length alone, whatever the
markup: unclosed marks are looked for once, and nesting is followed `_DEEPEST` levels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import NamedTuple

from twowiki.data.dates import MONTH_NAMES
from twowiki.generation.text import unescape

_DEEPEST = 40  # levels of nested marks, as many as MediaWiki itself follows
_COMMENT, _COMMENT_END = "<!--", "-->"
_DROPPED_TAG = re.compile(
    r"<(ref|gallery|math|score|timeline|imagemap|nowiki|source|syntaxhighlight|chem|hiero)\b"
    r"[^<>]*>", re.I,
)  # fmt: skip
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_BREAK = re.compile(r"<br\s*/?>", re.I)
_TABLE = re.compile(r"\{\|(?:(?!\{\|).)*?\|\}", re.S)
_HEADING = re.compile(r"^==.*==\s*$", re.M)
_LINK = re.compile(r"\[\[([^\[\]|]*)(?:\|([^\[\]]*))?\]\]([a-z]*)")
_EXTERNAL = re.compile(r"\[(?:https?:)?//(?=[^\s\]])")
_QUOTES = re.compile(r"'{2,}")
_MAGIC = re.compile(r"__[A-Z]+__")
_BLANK = re.compile(r"[ \t\u00a0]+")
_EMPTY_BRACKETS = re.compile(r" ?\(\s*(?:[;,–-]\s*)?\)")
_CONTROLS = {1: None, 2: None, 3: None}  # around a link's target and label
_ANCHOR = re.compile("\x01([^\x01-\x03]*)\x02([^\x01-\x03]*)\x03")
_MEDIA = re.compile(r"^\s*:?(file|image|category|media|wikipedia|template|portal)\s*:", re.I)


class PageSummary(NamedTuple):
    """A page's opening text and its links: (start, end, target title), characters half-open."""

    text: str
    links: tuple[tuple[int, int, str], ...]
    faithful: bool


def render_summary(wikitext: str) -> PageSummary:
    """Render what is above the first heading."""
    text = "".join(_outside_comments(wikitext.translate(_CONTROLS)))
    text = "".join(_outside_dropped_tags(text))
    heading = _HEADING.search(text)
    text = text[: heading.start()] if heading else text
    text = render_templates(text)
    text = _inside_out(text, partial(_TABLE.sub, ""))
    text = _inside_out(_BREAK.sub(" ", text), partial(_LINK.sub, _render_link))
    text = _TAG.sub("", "".join(_without_addresses(text)))
    text = _QUOTES.sub("", _MAGIC.sub("", text))
    # Braces that never close hold a template's parameters, not prose.
    text = re.sub(r"\{\{.*|\{\|.*", MARK, text, flags=re.S)
    lines = [line for line in text.split("\n") if not line.lstrip().startswith(("|", "!", "}}"))]
    paragraphs = [_tidy(line.lstrip("*#:; ")) for line in lines]
    return _with_links("\n".join(line for line in paragraphs if line.strip()))


def _inside_out(text: str, replace: Callable[[str], str]) -> str:
    """Replace the innermost marks again and again; those that are nested too deeply stay."""
    for _ in range(_DEEPEST):
        replaced = replace(text)
        if replaced == text:
            break
        text = replaced
    return text


def _outside_comments(text: str) -> Iterator[str]:
    at = 0
    while (start := text.find(_COMMENT, at)) >= 0:
        end = text.find(_COMMENT_END, start + len(_COMMENT))
        if end < 0:
            break
        yield text[at:start]
        at = end + len(_COMMENT_END)
    yield text[at:]


@cache
def _closing_tag(name: str) -> re.Pattern[str]:
    return re.compile(rf"</{re.escape(name)}\s*>", re.I)


def _outside_dropped_tags(text: str) -> Iterator[str]:
    at, look = 0, 0
    unclosed: set[str] = set()
    while tag := _DROPPED_TAG.search(text, look):
        look, name = tag.end(), tag[1].casefold()
        if not tag[0].endswith("/>"):
            closing = None if name in unclosed else _closing_tag(name).search(text, tag.end())
            if closing is None:  # nor is any later one closed
                unclosed.add(name)
                continue
            look = closing.end()
        yield text[at : tag.start()]
        at = look
    yield text[at:]


def _without_addresses(text: str) -> Iterator[str]:
    """Yield a text with the words of `[http://... words]` in its place."""
    at = look = 0
    while opening := _EXTERNAL.search(text, look):
        end = text.find("]", opening.end())
        if end < 0:
            break
        yield text[at : opening.start()]
        yield "".join(text[opening.end() : end].split(None, 1)[1:])
        at = look = end + 1
    yield text[at:]


def _tidy(line: str) -> str:
    text = _BLANK.sub(" ", unescape(line)).strip()
    text = _EMPTY_BRACKETS.sub("", text)
    text = re.sub(r"\(\s*[;,]\s*", "(", text)
    return re.sub(r"(?<!\s)\s+([,.;:)])", r"\1", text)


def _with_links(text: str) -> PageSummary:
    plain: list[str] = []
    links: list[tuple[int, int, str]] = []
    length = last = 0
    for match in _ANCHOR.finditer(text):
        before = text[last : match.start()].translate(_CONTROLS)
        length += len(before)
        links.append((length, length + len(match[2]), match[1]))
        plain += (before, match[2])
        length += len(match[2])
        last = match.end()
    plain.append(text[last:].translate(_CONTROLS))
    joined = "".join(plain)
    return PageSummary(joined, tuple(links), MARK not in joined)


def _render_link(match: re.Match[str]) -> str:
    """Return a link's text, with the target kept in control characters."""
    target, shown, tail = _ANCHOR.sub(r"\2", match[1]).strip(), match[2], match[3]
    if _MEDIA.match(target):
        return "" if not target.startswith(":") else (shown or target[1:]) + tail
    if "\x01" in (shown or ""):
        shown = _ANCHOR.sub(r"\2", shown or "")
    label = (shown if shown is not None else target.lstrip(":")) + tail
    return f"\x01{target}\x02{label}\x03" if target and label else label


MARK = "\ufffc"
_INNER = re.compile(r"\{\{([^{}]*)\}\}")
_SILENT = re.compile(
    r"^(infobox|taxobox|automatic taxobox|speciesbox|chembox|drugbox|short description|use .* "
    r"(dates|english)|use (dmy|mdy) dates|about|for|other uses|other people|redirect|hatnote|see|"
    r"main|distinguish|pp|good article|featured article|cite|citation|sfn|efn|refn|rp|r|notelist|"
    r"reflist|cn|fact|dubious|clarify|when|who|which|by whom|according to whom|vague|"
    r"better source|better source needed|citation needed|failed verification|page needed|clear|toc|"
    r"tocright|toclimit|coord|coords|italic title|displaytitle|lowercase title|lowercase|bots|"
    r"multiple issues|more citations needed|unreferenced|orphan|stub|refimprove|blp|update|tone|"
    r"notability|primary sources|campaignbox|sidebar|navbox|politics of|history of|portal|"
    r"commons|sister|wikt|wikiquote|authority control|defaultsort|multiple image|listen|"
    r"external media|audio|respell|pronunciation|ipac?-?\w*|ipa|usdollar|same name|shy|zwj|"
    r"sic|anchor|visible anchor|clade|family name|chinese name|spaced ndash ref|contains|"
    r"copy edit|lead|expand|technical|cleanup|original research|pov|neutrality|inuse|under|"
    r"largest|location map|external links|success|failure|small caps ref|self ref|inline)\b",
    re.I,
)


def render_templates(text: str) -> str:
    """Render templates from the inside out; a whole line of an unknown one is dropped."""
    return _inside_out(text, partial(_INNER.sub, _render_one))


def _render_one(match: re.Match[str]) -> str:
    text = match.string
    name, *given = _split_arguments(match[1])
    name = re.sub(r"[\s_]+", " ", name).strip().casefold()
    named = {}
    values = []
    for argument in given:
        key, equals, value = argument.partition("=")
        if equals and re.fullmatch(r"[\w\s-]+", key):
            if key.strip().isdecimal():
                values.append(value.strip())
            else:
                named[key.strip().casefold()] = value.strip()
        else:
            values.append(argument.strip())
    rendered = _render_known(name, values, named)
    if rendered is not None:
        return rendered
    if _SILENT.match(name):
        return ""
    return "" if _is_alone(text, match.start(), match.end()) else MARK


def _is_alone(text: str, start: int, end: int) -> bool:
    """Whether the rest of the line is blank; only the blanks beside the span are looked at."""
    while start and text[start - 1].isspace() and text[start - 1] != "\n":
        start -= 1
    while end < len(text) and text[end].isspace() and text[end] != "\n":
        end += 1
    return text[start - 1 : start] in ("", "\n") and text[end : end + 1] in ("", "\n")


def _split_arguments(inner: str) -> list[str]:
    """Split at the bars between arguments, not at those inside links."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(inner):
        if inner.startswith("[[", place):
            depth += 1
        elif inner.startswith("]]", place):
            depth = max(0, depth - 1)
        elif letter == "|" and depth == 0:
            parts.append(inner[start:place])
            start = place + 1
    parts.append(inner[start:])
    return parts


def _render_known(name: str, values: list[str], named: dict[str, str]) -> str | None:
    """Render a template with a value; None for one that is not known."""
    if name in _DATES:
        return _render_date(values, named, _DATES[name])
    if name in ("convert", "cvt"):
        return _render_conversion(values)
    if name in _FIRST_VALUE or name.startswith("lang-"):
        return values[0] if values else named.get("text", "")
    if name in _LAST_VALUE:
        return values[-1] if values else ""
    if name.startswith("formatnum:"):
        return ",".join([name.partition(":")[2].strip(), *values])
    if name == "formatnum":
        return values[0] if values else ""
    if name in ("circa", "c.", "ca", "c"):
        return "c. " + " – ".join(values[:2]) if values else "c."
    if name in ("reign", "r."):
        return "r. " + " – ".join(values[:2])
    if name in ("floruit", "fl."):
        return "fl. " + "–".join(values[:2])
    if name in _TEXTS:
        return _TEXTS[name]
    if name in ("age", "age in years"):
        return None
    if name in ("hlist", "flatlist", "plainlist", "unbulleted list", "ubl"):
        return ", ".join(value for value in values if value)
    if name in ("us$", "usd", "gbp", "£", "euro", "€", "$"):
        sign = {"gbp": "£", "euro": "€", "usd": "US$", "us$": "US$"}.get(name, name)
        return sign + (values[0] if values else "")
    if name in ("frac", "fraction", "sfrac"):
        return " ".join(values[:1] if len(values) > 2 else []) + "/".join(values[-2:])
    if name in ("ill", "interlanguage link", "ill-wd"):
        return values[0] if values else ""
    return None


_FIRST_VALUE = {
    "nowrap", "nobr", "quote", "blockquote", "cquote", "small", "big", "smaller", "nobold", "em",
    "strong", "abbr", "tooltip", "sc", "smallcaps", "center", "as of", "quote box", "nihongo",
    "noitalic", "mono", "ship", "val", "number", "sup", "sub", "kbd", "code", "q", "rq", "title",
}  # fmt: skip
_LAST_VALUE = {"lang", "langx", "transl", "transliteration", "script", "color", "font color",
               "fontcolor", "not a typo", "linktext", "wikt-lang", "sortname full"}  # fmt: skip
_TEXTS = {
    "ndash": "–", "mdash": "—", "snd": " – ", "spnd": " – ", "spaced ndash": " – ", "nbsp": " ",
    "dash": " – ", "endash": "–", "emdash": "—", "'": "'", "!": "|", "=": "=", "·": " · ",
    "middot": " · ", "bull": " • ", "spaces": " ", "space": " ", "pipe": "|", "'s": "'s", "-": "",
    "thinsp": " ", "thin space": " ", "zwsp": "", "wbr": "", "pound": "£",
    "okina": "\u02bb", "hamza": "\u02bc",
}  # fmt: skip
_DATES = {
    "birth date": "date", "birth date and age": "date", "death date": "date", "bda": "date",
    "death date and age": "first", "dda": "first", "birth-date": "free", "death-date": "free",
    "birth-date and age": "free", "death-date and age": "free", "start date": "date",
    "end date": "date", "start date and age": "date", "film date": "date", "date": "free",
    "dob": "date", "birth year": "date", "birth year and age": "date", "death year": "date",
    "death year and age": "first year", "oldstyledate": "old", "dts": "date",
    "release date": "date", "death date and given age": "date", "launch date": "date",
    "dmy": "free", "mdy": "free",
}  # fmt: skip


def _render_date(values: list[str], named: dict[str, str], kind: str) -> str:
    given = [value for value in values if value]
    if kind == "free":
        return given[0] if given else ""
    if kind == "old":
        return " ".join(given[:2])
    count = {"first": 3, "first year": 1}.get(kind, 3)
    numbers = []
    for value in given[:count]:
        if not re.fullmatch(r"-?\d{1,4}", value):
            break
        numbers.append(int(value))
    if not numbers:
        return given[0] if given else ""
    if len(numbers) == 1:
        return str(numbers[0])
    if not 1 <= numbers[1] <= 12:
        return str(numbers[0])
    month = MONTH_NAMES[numbers[1] - 1]
    if len(numbers) == 2:
        return f"{month} {numbers[0]}"
    if named.get("df", "").casefold() in ("y", "yes") or "mf" not in named:
        return f"{numbers[2]} {month} {numbers[0]}"
    return f"{month} {numbers[2]}, {numbers[0]}"


_UNITS = {
    "mi": "mi", "km": "km", "m": "m", "ft": "ft", "in": "in", "cm": "cm", "mm": "mm", "kg": "kg",
    "lb": "lb", "acre": "acres", "ha": "ha", "sqmi": "square miles", "km2": "km²", "m2": "m²",
    "sqft": "square feet", "mph": "mph", "km/h": "km/h", "yd": "yd", "nmi": "nautical miles",
    "t": "t", "ST": "short tons", "LT": "long tons", "C": "°C", "F": "°F", "kn": "knots",
}  # fmt: skip
_RANGES = {
    "-": "–",
    "–": "–",
    "to": " to ",
    "and": " and ",
    "x": " \u00d7 ",
    "by": " by ",
    "or": " or ",
}


def _render_conversion(values: list[str]) -> str:
    if not values:
        return ""
    amounts, at = [values[0]], 1
    while len(values) - at >= 2 and values[at] in _RANGES:
        amounts.append(_RANGES[values[at]] + values[at + 1])
        at += 2
    amount, unit = "".join(amounts), values[at] if at < len(values) else ""
    return f"{amount} {_UNITS.get(unit, unit)}".strip()
