"""Supporting sentences and triples as lines of text: bullets, tables, arrows, brackets. Pure.

In: a line, or a text of lines. Out: facts `(title, sent_id)` or triples `(subject, relation,
object)`. A name may hold the mark that separates the parts: the relations of the data set show
where its ends are. Sentences of prose are not taken for entries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from twowiki.data.relations import RELATIONS, RULES
from twowiki.llm.lenient_json import read_json

PartEntry = tuple[Any, ...]
_LONGEST_LINE = 500
_MOST_LINES = 500
_ANGLES = {ord(odd): plain for odd, plain in zip("\u27e8\u3008\u27e9\u3009", "<<>>", strict=True)}
_MOST_WORDS = 12  # of a name in a line that only commas divide
_KNOWN = {*RELATIONS.values()}.union(*(rule.word.split("/") for rule in RULES))
_SQUASHED = {re.sub("[^a-z]", "", name): name for name in _KNOWN}
_BULLET = re.compile(r"^\s*(?:[-*+\u2022\u2013\u25e6]|\d{1,3}[.)]|\(\d{1,2}\)"
                     r"|\[\d{1,3}\](?=\s+[^\W\d]))\s+")  # fmt: skip
_LABEL = re.compile(
    r"^(?:(?:supporting[ _])?(?:fact|sentence|triple|triplet|evidence|hop|step|source|citation)"
    r"[ _]?#?\d{0,3}|t\d{1,2})\s*[:\uff1a]\s*(?=\S)",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"^\[?(?:(?:paragraph|passage|doc(?:ument)?|article|page|title)\s*(?:[\[(]?#?\d{1,3}[\])]?\s*[:.\u2013-]?\s*"
    r"(?:\(?title\s*:?\s*)?|:\s*|(?=[\"'\u201c*\[`])))(?=[\"'\u201c*`]|[^\W\d])",
    re.IGNORECASE,
)
_SENT = r"(?:sentences?|sent(?:ence)?[_ ]?(?:ids?|idx|index|no)?|s|idx|index|line|no|number)"
_FACT_START = (
    r"^(?P<title>.+?)\s*(?:(?:::|->|\u2192|\s/\s|[,;:|#@_\t\u2013\u2014-])\s*"
    rf"(?:\[|\()?\s*(?:{_SENT}\s*[.:=#]?)?\s*#?"
    rf"|[\[(]\s*(?:{_SENT}\s*[.:=#]?)?\s*#?|\s{_SENT}\s*[.:=#]?\s*#?|(?<=[\"'\u201d*`])\s+)"
    r"\s*[\"']?"
    r"(?P<indices>\d{1,3}(?:\s*(?:,|&|and|\]\s*,?\s*\[)\s*\d{1,3}){0,20})[\"']?\s*[\])}]{0,2}"
    r"[\s.,;\])]*"
)
_FACT = re.compile(_FACT_START + "$", re.IGNORECASE)
_FACT_WITH_TEXT = re.compile(
    _FACT_START + r"(?:[:\u2013\u2014-]\s*[\"'\u201c]|:\s+|\s[-\u2013\u2014]\s+).*$", re.IGNORECASE
)
_OF = re.compile(
    r"^(?:sentence|sent\.?|s)\s*#?(?P<indices>\d{1,3})\s*(?:of|in|from)\s+(?P<title>.+)$",
    re.IGNORECASE,
)
_RANGE = re.compile(r"(\bsentences?\s+)(\d{1,3})\s*[-\u2013]\s*(\d{1,3})\b", re.IGNORECASE)
_ROW = re.compile(r"[^|]+\|\s*\d{1,3}\s*\|[^|]+$")
_NAMED_FACT = re.compile(
    r"^\W{0,3}(?:title|paragraph|document|page)\W{0,3}[:=]\s*(?P<title>.+?)\s*[,;|/]\s*\W{0,2}"
    rf"{_SENT}\W{{0,3}}[:=]\s*(?P<indices>\d{{1,3}})\W*$",
    re.IGNORECASE,
)
_NAMED_TRIPLE = re.compile(
    r"^\W{0,3}(?:subject|subj|head|s|h)\W{0,4}[:=]\s*(.+?)\s*[,;|/]\s*\W{0,2}"
    r"(?:relation(?:ship)?|predicate|property|rel|r|p)\W{0,4}[:=]\s*(.+?)\s*[,;|/]\s*\W{0,2}"
    r"(?:object|obj|tail|o|t)\W{0,4}[:=]\s*(.+)$",
    re.IGNORECASE,
)
_EDGE = re.compile(
    r"^(?P<s>.+?)\s*[-\u2013\u2014]{1,3}\s*\[\s*:?(?P<r>[^\]]+)\]\s*[-\u2013\u2014]{1,3}>?\s*"
    r"(?P<o>.+)$"
)
_DASHED = re.compile(
    r"^(?P<s>.+?)\s+(?:--+|\u2014)\s*(?P<r>[^->\u2014]+?)\s*(?:--+>|\u2014?[>\u2192])\s*(?P<o>.+)$"
)
_NODE = r"(?:\w{1,12}[\[({]{1,2})?\"?"
_MERMAID = re.compile(
    rf"^{_NODE}(?P<s>[^\[\]{{}}|]+?)\"?[\])}}]*\s*[-=]+>\s*\|\"?(?P<r>[^|]+?)\"?\|\s*{_NODE}"
    r"(?P<o>[^\[\]{}|]+?)\"?[\])}]*;?$"
)
_GRAPHVIZ = re.compile(
    r"^\"?(?P<s>[^\"]+?)\"?\s*->\s*\"?(?P<o>[^\"]+?)\"?\s*\[\s*label\s*=\s*\"?(?P<r>[^\"\]]+?)\"?\s*\]$"
)
_THREE = re.compile(r"^(?:<([^<>]+)>\s*<([^<>]+)>\s*<([^<>]+)>"
                    r"|\[([^\[\]]+)\]\s*\[([^\[\]]+)\]\s*\[([^\[\]]+)\])\s*\.?$")  # fmt: skip
_POSSESSIVE = re.compile(
    r"^(?P<s>[^.:;|]+?)['\u2019]s? (?P<r>[a-z]+(?: [a-z]+){0,2}) (?:is|was) (?P<o>[^.:;|]+\.?)$"
)
_OF_WHOM = re.compile(
    r"^The (?P<r>[a-z]+(?: [a-z]+){0,2}) of (?P<s>[^.:;|]+?) (?:is|was) (?P<o>[^.:;|]+\.?)$"
)
_BETWEEN = re.compile(r"^(?P<s>.*[\w)\]\"'.!?])\s+\[(?P<r>[^\[\]]+)\]\s+(?P<o>[\w(\"'].*)$")
_PREDICATE = re.compile(r"^(?P<r>[A-Za-z][A-Za-z_ ]{1,40})\((?P<rest>.+)\)\.?$")
_ANY_SEPARATOR = re.compile(
    r"[\t<|>\u2192\u27f6\u21d2\u279c\u2794\u27a1:;\uff1b,\uff0c\u3001\u2013\u2014/-]"
)
_SEPARATORS = tuple(
    re.compile(rf"\s*(?:{mark})\s*")
    for mark in (
        *(
            r"\t",
            r"<\|>|<SEP>",
            r"\|\|?",
            r"[-=]+>|[\u2192\u27f6\u21d2\u279c\u2794\u27a1]",
            "::",
            r"[;\uff1b]",
        ),
        *(r"[,\uff0c\u3001](?=\s*\S)", r"\s[-\u2013\u2014]\s", r"\s/\s", r">>", r"\s:\s"),
    )
)
_CHAINS, _COMMAS = _SEPARATORS[3], _SEPARATORS[6]
_FIELD = re.compile(
    r"^\s*(?P<bullet>(?:[-*\u2022]|\d{1,3}[.)])\s+)?[\"'*_`]{0,3}(?P<name>title|paragraph|document|page|sent_?id|sentence"
    r"(?:[ _]?(?:id|index|number))?|index|subject|subj|head|relation(?:ship)?|predicate|property"
    r"|object|obj|tail)[\"'*_`]{0,3}\s*[:=][*_ \t]*(?P<value>.+?)[\s,]*$",
    re.IGNORECASE,
)
_NAMES = (
    r"(?:title|paragraph|document|page|sent(?:ence)?(?:[ _]?(?:id|index|number))?|subject|head"
    r"|relation|predicate|property|object|tail|#)"
)
_HEAD = re.compile(
    rf"^\s*\|?\s*{_NAMES}(?:\s*[,;|\t]\s*{_NAMES}){{1,3}}\s*\|?\s*$|^\s*(?:graph|flowchart|digraph)\b",
    re.IGNORECASE,
)
_NOTHING = re.compile(r"(?:none|n/a|nothing|empty|null|\[\s*\])?[.\s]*", re.IGNORECASE)
_RULE = re.compile(r"^[\s|:+=-]+$")
_INDEX = re.compile(
    r"\W{0,2}(?:sentences?|sent|s|idx|index|#)?[ _.:#]{0,3}(\d{1,6})\W{0,2}", re.IGNORECASE
)


def indices(value: Any) -> list[int] | None:
    """Return sentence numbers: a number, a text of one, or a list of them; None for others."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return [value]
    if isinstance(value, float):
        return [int(value)] if value.is_integer() else None
    if isinstance(value, str):
        match = _INDEX.fullmatch(value.strip())
        return [int(match[1])] if match else None
    if isinstance(value, list | tuple) and value:
        read = [indices(one) for one in value if not isinstance(one, list | tuple)]
        if len(read) == len(value) and None not in read:
            return [number for numbers in read for number in numbers or ()]
    return None


def read_entry_lines(
    text: str, of_line: Callable[[str], list[PartEntry] | None]
) -> tuple[list[PartEntry], int] | list[Any] | dict[str, Any]:
    """Return the entries of a text and the number of those that could not be read.

    A text that is JSON is returned parsed instead.
    """
    plain = re.sub(r"^\s*```\w*\s*$", "", text, flags=re.MULTILINE).strip()
    if plain[:1] in ("[", "{", "\uff3b", "\uff5b"):
        found = read_json(plain)
        rest = "" if found is None else plain[found.end :].strip(" \n\t.;")
        if found is not None and isinstance(found.value, list | dict) and "\n" not in rest:
            value = found.value
            if _is_json(value) and rest[:1] not in ("[", "{", ",", "("):
                return value
    entries: list[PartEntry] = []
    refused = 0
    for line in _records(plain.splitlines()[:_MOST_LINES]):
        read = _several(line, of_line) or of_line(line)
        entries += read or []
        refused += read is None and _looks_like_entry(line)
    return entries, refused or int(not entries and not _NOTHING.fullmatch(plain))


def _is_json(value: list[Any] | dict[str, Any]) -> bool:
    """Return whether a parsed text was meant as JSON; a line in brackets is not."""
    return isinstance(value, dict) or not value or isinstance(value[0], list | dict)


def _records(lines: Sequence[str]) -> list[str]:
    """Return one line per entry: fields on lines of their own are joined, rules are dropped."""
    found: list[str] = []
    fields: dict[str, str] = {}
    for line in lines:
        match = None if line.count(":") + line.count("=") != 1 else _FIELD.match(line)
        if fields and (match is None or match["bullet"] or match["name"].lower() in fields):
            found.append(_joined(fields))
            fields = {}
        if match:
            fields[match["name"].lower()] = match["value"].strip("\"'`*")
        elif found and _RULE.match(line) and line.count("|") > 1 and "|" in found[-1]:
            found.pop()  # the head of a table
        elif _HEAD.match(line):
            continue
        elif line.strip() and not _RULE.match(line) and len(line) <= _LONGEST_LINE:
            found.append(line)
    return [*found, _joined(fields)] if fields else found


def _joined(fields: dict[str, str]) -> str:
    return "\t".join(fields.values())


def _several(line: str, of_line: Callable[[str], list[PartEntry] | None]) -> list[PartEntry] | None:
    """Return the entries of a line that holds several; None if any of them is none."""
    plain = _plain(line)
    for divider in (r"(?<=[\])>}])\s*[,;.]?\s*(?:and\s+)?(?=[\[(<{])", r"\s*[;\uff1b]\s*",
                    r"\s*\|\s*", r"(?<=[\])>\d])\s*(?:,|and)\s+"):  # fmt: skip
        parts = [part for part in re.split(divider, plain) if part.strip()]
        if len(parts) > 1:
            read = [of_line(part) for part in parts[:_MOST_LINES]]
            if None not in read:
                return [one for items in read for one in items or ()]
    return None


def _looks_like_entry(line: str) -> bool:
    """Return whether a line that could not be read was meant as an entry."""
    return bool(_BULLET.match(line)) or line.strip()[:1] in ("[", "(", "{", "|", "<")


def fact_of_line(line: str) -> list[PartEntry] | None:
    """Return the supporting sentences of a line (`Title, 0`, `Title [0]`, ...)."""
    if len(line) > _LONGEST_LINE:
        return None
    text = _RANGE.sub(_listed, _plain(line))
    text = text[1:-1] if text[:1] + text[-1:] == "<>" else text
    if text.startswith("|") or text.endswith("|") or _ROW.match(text):
        text = _cells(text)
    unlabeled = _LABEL.sub("", text)
    for plain in dict.fromkeys((_PLACE.sub("", unlabeled), text, unlabeled)):
        patterns = (_NAMED_FACT, _OF, _FACT, _FACT_WITH_TEXT)
        match = next(filter(None, (pattern.match(plain) for pattern in patterns)), None)
        if match:
            title = _LABEL.sub("", unwrapped(match["title"]))
            title = title[:-1] if title.count(")") > title.count("(") else title
            numbers = [int(number) for number in re.findall(r"\d+", match["indices"])]
            return [(unwrapped(title), number) for number in numbers] if title else None
    return None


def _listed(match: re.Match[str]) -> str:
    """Return a range of sentences as their numbers: `sentences 0-2` is `sentences 0, 1, 2`."""
    first, last = int(match[2]), int(match[3])
    numbers = range(first, min(last, first + 20) + 1)
    return match[1] + ", ".join(map(str, numbers)) if numbers else match[0]


def _cells(text: str) -> str:
    """Return a row of a table as title and number; a count of the rows goes, and so does text."""
    cells = [cell.strip() for cell in text.strip("|").split("|")]
    while len(cells) > 2 and not cells[1].isdigit():
        cells = cells[1:] if re.fullmatch(r"[#\d.]*", cells[0]) else cells[:-1]
    return "\t".join(cells[:2])


def triple_of_line(line: str) -> list[PartEntry] | None:
    """Return the triples of a line (`(s, r, o)`, `s | r | o`, `s -> r -> o`, `r(s, o)`, ...)."""
    if len(line) > _LONGEST_LINE:
        return None
    text = _plain(line)
    bare = not _BULLET.match(line) and text[:1] not in ("(", "[", "<")
    unlabeled = _LABEL.sub("", text)
    for plain in dict.fromkeys((unlabeled, unwrapped(unlabeled.strip(" ."), quotes=""))):
        match = _NAMED_TRIPLE.match(plain.strip("(){}[]")) or _THREE.match(plain)
        if match:
            return [tuple(unwrapped(part) for part in match.groups() if part is not None)]
        if edge := _edge(plain):
            return [edge]
    if stated := _statement(unlabeled):
        return [stated]
    match = _PREDICATE.match(unlabeled)
    if match and (relation := _SQUASHED.get(re.sub("[^a-z]", "", match["r"].lower()))):
        parts = re.split(r"\s*,\s+", match["rest"])
        names = [unwrapped(part, brackets="") for part in parts]
        return [(names[0], relation, names[1])] if len(names) == 2 else None
    inner = unwrapped(unlabeled.strip(" <>."), quotes="").strip(" <>.|")
    return _separated(inner, bare=bare)


def _edge(text: str) -> PartEntry | None:
    """Return the triple of an edge as graphs are written: `(s)-[r]->(o)`, `s --r--> o`."""
    if not any(mark in text for mark in ("[", "->", "--", "\u2014", ">|")):
        return None
    patterns = (_GRAPHVIZ, _MERMAID, _EDGE, _DASHED)
    match = next(filter(None, (pattern.match(text) for pattern in patterns)), None)
    if match is None:
        return None
    relation = unwrapped(match["r"])
    if relation.isupper() or "_" in relation:
        relation = _SQUASHED.get(re.sub("[^a-z]", "", relation.lower()), relation)
    return unwrapped(match["s"]), relation, unwrapped(match["o"])


def _statement(text: str) -> PartEntry | None:
    """Return the triple of a statement with a relation of the data set: `X's mother is Y`."""
    patterns = [_POSSESSIVE, _OF_WHOM] if " is " in text or " was " in text else []
    patterns = [_BETWEEN] if " [" in text else patterns
    match = next(filter(None, (pattern.match(text) for pattern in patterns)), None)
    if match is None or match["r"].lower() not in _KNOWN:
        return None
    return unwrapped(match["s"]), match["r"].lower(), unwrapped(match["o"].rstrip("."))


def _separated(text: str, *, bare: bool) -> list[PartEntry] | None:
    """Return the triples of a text at the first separator that gives three parts, or a chain."""
    for separator in _SEPARATORS if _ANY_SEPARATOR.search(text) else ():
        parts = separator.split(text)
        if len(parts) < 3 or not all(part.strip() for part in parts):
            continue
        cells = [unwrapped(part, brackets="[") for part in parts]
        known = [at for at in range(1, len(cells) - 1) if cells[at].lower() in _KNOWN]
        if len(cells) == 3:
            return None if separator is _COMMAS and bare and _is_prose(cells) else [tuple(cells)]
        if separator is _CHAINS and len(cells) % 2:
            return [tuple(cells[at : at + 3]) for at in range(0, len(cells) - 2, 2)]
        if len(cells) == 4 and re.fullmatch(r"[#\d.]+", cells[0]):  # a table that counts its rows
            return [tuple(cells[1:])]
        if len(known) == 1:
            ends = [match.span() for match in separator.finditer(text)]
            before, after = ends[known[0] - 1], ends[known[0]]
            subject, object_ = text[: before[0]], text[after[1] :]
            return [(unwrapped(subject, brackets=""), cells[known[0]],
                     unwrapped(object_, brackets=""))]  # fmt: skip
    return None


def _is_prose(cells: Sequence[str]) -> bool:
    """Return whether three parts between commas are a sentence instead of a triple."""
    if cells[1].lower() in _KNOWN:
        return False
    return len(cells[1].split()) > 4 or any(len(cell.split()) > _MOST_WORDS for cell in cells)


def unwrapped(text: str, quotes: str = "\"'`", brackets: str = "([{") -> str:
    """Drop marks around a text, but not those of a name: `(500) Days`, `Say "Farewell"`."""
    before = None
    while before != text and text:
        before, text = text, text.strip(" \t*_`")
        first, last = text[:1], text[-1:]
        if first and first in quotes and first == last and len(text) > 1:
            doubled = text.startswith(2 * first) or text.endswith(2 * first)
            text = text[1:-1] if text.count(first) == 2 or doubled else text
        elif first in ("\u201c", "\u201e") and last in ("\u201d", "\u201c") and len(text) > 1:
            text = text[1:-1]
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
    opening, closing = text[0], {"(": ")", "[": "]", "{": "}"}[text[0]]
    depth = 0
    for position, letter in enumerate(text):
        depth += (letter == opening) - (letter == closing)
        if depth == 0:
            return position
    return -1


def _plain(line: str) -> str:
    """Drop a bullet and emphasis from a line."""
    line = line.translate(_ANGLES)
    return _BULLET.sub("", line).strip().rstrip(",;# ").strip("*`").strip()
