"""Marks in plain text: headings, statements, calls of a tool, boxes, documents. Pure.

In: a text in which what was read already is masked by NUL characters. Out: positions and contents.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from twowiki.llm.answers import boxes, bracket_end
from twowiki.llm.part_names import ANSWER, part_of

MASK = "\x00"
_HEADING = re.compile(
    r"^(?:[^\w\n\x00]|[\d_]){0,12}(?P<name>[^\W\d_](?:[^\W\d_]|[ _-]){0,40}?)"
    r"\s{0,3}(?:\([^()\n]{0,60}\))?\s{0,3}[*_\])]{0,3}(?:\s{0,3}(?:=>|[-=]>|[:\uff1a=\u2192\u21d2])|\s[-\u2013\u2014]\s|\t)"
    r"[ \t]*(?:[*_]{1,3}(?=[ \t]|$))?[ \t]*(?P<rest>.*)$"
)
_BRACKETED = re.compile(
    r"^\W{0,6}[\[\u3010](?P<name>[^\[\]\u3010\u3011\n]{2,30})[\]\u3011]\*{0,3}\s*[:\uff1a]?\s*\*{0,3}"
    r"(?P<rest>\S.*)$"
)
_TITLE = re.compile(
    r"^\s*(?P<marks>#{1,6}\s*|\*{1,3}|_{2}|={2,6}\s*|-{2,6}\s*|\[\[\s*##\s*|\[|)"
    r"(?P<name>[A-Za-z][A-Za-z _-]{0,40}?)\s*(?:\([^()\n]{0,60}\))?\s*"
    r"(?:#{1,6}|\*{1,3}|_{2}|={2,6}|-{2,6}|##\s*\]\]|\])?\s*$"
)
_INLINE = re.compile(
    r"(?:[ \t]*\|\|?[ \t]*|[.;][ \t]+)(?=\*{0,2}(?:supporting[ _](?:facts?|sentences?)"
    r"|(?:final )?answer|evidences?(?: triples?)?|triples)\*{0,2}[ \t]?:)",
    re.IGNORECASE,
)
_SECTION = re.compile(r"^\s*(?:\[\[\s*##|#{1,6}\s|={3,}|-{3,}\s*$)")
_LETTER = re.compile(
    r"^[\s>*_]{0,4}A\s?[*_]{0,3}:[ \t]*[*_]{0,3}[ \t]*(?P<rest>\S.*)$", re.MULTILINE
)
_OPTION = re.compile(r"^[\s>*_]{0,4}B\s?[*_]{0,3}[:.)]", re.MULTILINE)
_STATEMENT = re.compile(
    r"\b(?P<kind>(?:the|my|our)\s+(?:\w+\s+){0,2}?|(?:final|correct)\s+(?=answer\s+(?:is|was|should|would|must)\b))answer(?:\s+to\s+(?:the|this|your)\s+(?:\w+\s+){0,2}?"
    r"question(?:\s*[\"\u201c][^\"\u201d\n]{0,300}[\"\u201d])?)?\s*(?:(?:is|was|should\s+be|would\s+be|must\s+be)\b\s*(?:therefore|thus|then|simply)?"
    r"\s*,?\s*:?|[=:\uff1a])[ \t]*(?:\*{1,3}(?=\s))?(?:[ \t]*\n){0,2}[ \t]*",
    re.IGNORECASE,
)
_NOT_AN_ANSWER = re.compile(
    r"(?:correct|wrong|right|not|that|based|in (?:the|this|that|paragraph|sentence)|either|"
    r"unclear|hard|difficult|still|going to|to be|given|supported|clear|unknown whether|as follows"
    r"|the same|found|below|above|one of|likely|probably|provided)\b"
)
_SIGN = re.compile(r"^\s*####\s+(?P<rest>[^\n#]{1,120})\s*\Z", re.MULTILINE)
_CALL = re.compile(
    r"(?:\b(?:finish|final[_ ]answer|submit(?:[_ ](?:final[_ ])?answer)?|return_answer|give_answer"
    r"|provide_answer|output_answer)(?:\.call)?\s?[\[(]"
    r"|(?:^|:)[ \t]*(?:answer|respond|complete)[\[(])",
    re.IGNORECASE | re.MULTILINE,
)
ARGUMENTS = re.compile(r"\s*(?:[A-Za-z_]\w{0,40}\s*=|answer\s*:)\s*\S")
_ACTION = re.compile(
    r"^[ \t]*Action[ \t]*\d{0,3}[ \t]*:[ \t]*(?:finish|final[_ ]?answer|submit|answer|respond)"
    r"[ \t]*\n"
    r"\s*Action[ \t]*Input[ \t]*\d{0,3}[ \t]*:[ \t]*(?P<rest>[^\n]+)",
    re.IGNORECASE | re.MULTILINE,
)
_QUESTION = re.compile(r"^[ \t]*(?:Question|Q|User|Human)[ \t]*:", re.MULTILINE)
_NEXT_PROMPT = re.compile(
    r"^[ \t]*(?:(?:Context|Documents?|Passages?|Background|Paragraphs?)\b.*:"
    r"|#{3,}[ \t]*$|-{3,}[ \t]*$)",
    re.MULTILINE | re.IGNORECASE,
)
_FENCE = re.compile(r"```[ \t]*(?P<name>\w*)[ \t]*\n(?P<text>.*?)(?:\n[ \t]*```|\Z)", re.DOTALL)
_TOML = re.compile(r"^[ \t]*(?:final_)?answer[ \t]*=[ \t]*[\"'\[]", re.MULTILINE)
_TOML_START = re.compile(r"^(?:\[|\w+[ \t]*=)", re.MULTILINE)
_FRAGMENT = re.compile(r"[\"\u201c](?:final_)?(?:answer|supporting_facts|evidences?)[\"\u201d]\s*:")
_ASIDE = re.compile(
    r"^[\W\d_]{0,6}(?:(?:brief |short |step[- ]by[- ]step )?(?:explanation|reasoning|rationale"
    r"|justification|analysis)|references?|sources?|citations?|confidence|notes?)\s*[*_]{0,3}\s*"
    r"(?:[:\uff1a]|[*_#]{0,3}\s*$)",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"^\W{0,4}(?:(?:final )?(?:result|output|response)|solution|prediction)\W{0,3}[:=]\s*(?=\S)",
    re.IGNORECASE,
)
_PREAMBLE = re.compile(
    r"(?:sure|okay|ok|certainly|of course|alright|great|here|let|to|i|we|first|based|given|step"
    r"|according|looking|thank|below)\b|.*:$",
    re.IGNORECASE,
)
_NO_CONTENT = re.compile(r"^\s*(?:```.*|[|>][-+]?|[-=]{3,})\s*$")
_REVERSED = re.compile(
    r"^(?:\s|,|so|thus|hence|therefore|and|then)*(?P<rest>\S[^\n]{0,200}?)\s+(?:is|was)\s+(?:the|my)\s+"
    r"(?:(?:final|correct|right)\s+)?answer\b[ .!*]*$",
    re.IGNORECASE | re.MULTILINE,
)
_NO_NAME = re.compile(r"(?:what|which|that|this|it|here|there|where|who)\b", re.IGNORECASE)
_BULLET = re.compile(r"^\s*(?:[-*\u2022\u2013]|\d{1,3}[.)])\s+")
_SYMBOL = re.compile(r"^[\u2190-\u21ff\u2600-\u27bf\U0001f300-\U0001faff]+\ufe0f?\s*")
_STARS = re.compile(r"\*+")
_MOST = 50  # marks of one kind that are looked at, the last ones
_LONGEST = 500  # characters of a statement

YES_NO = ("yes", "no")
Heading = tuple[str, int, str, int]


def masked(text: str, start: int, end: int) -> str:
    """Return a text with a stretch of it taken out of sight."""
    return text[:start] + MASK * (end - start) + text[end:]


def unmasked(content: str) -> str | None:
    """Return what is left in sight; None if all that was there is masked."""
    if MASK not in content:
        return content
    left = content.replace(MASK, "").strip(" \t\n`:")
    return None if not left or left.lower() in ("json", "yaml") else left


def before_next_question(text: str) -> str | None:
    """Return a text up to where it goes on with a question of its own; None if it does not."""
    match = _QUESTION.search(text) if ":" in text else None
    first = "" if match is None else _NEXT_PROMPT.split(text[: match.start()])[0]
    return first if first.strip() else None


def first_line(text: str, *, before: bool) -> str | None:
    """Return a text of one line, or the line before an explanation or a list; None for others.

    Args:
        text: the text.
        before: a text that is only one line does not count.
    """
    lines: list[str] = []
    for line in text.splitlines():
        heading = _named(line) if lines else None
        if lines and (_ASIDE.match(line) or (heading and heading[0] != ANSWER)):
            return None if len(lines) > 1 or is_preamble(lines[0]) else lines[0]
        lines += [line] if line.strip() else []
    if lines and _NO_CONTENT.match(lines[-1]):
        lines.pop()  # a rule at the end
    once = len({line.strip() for line in lines}) == 1  # or one line again and again
    return without_lead(lines[0]) if once and not before else None


def without_lead(line: str) -> str:
    """Return a line without a name such as `Output:` before what it says."""
    return _LEAD.sub("", line)


def is_preamble(line: str) -> bool:
    """Return whether a line only leads to what follows it: `Here is the answer`, `Sure!`."""
    return bool(_PREAMBLE.match(line.strip(" *_#")))


def unescaped(text: str) -> str:
    """Return the text that a JSON string holds, or an object whose quotes are escaped."""
    plain = text.strip()
    if plain[:1] == '"' and plain[-1:] == '"' and len(plain) > 2 and "\\" in plain:
        try:
            return str(json.loads(plain, strict=False))
        except ValueError:
            return text
    if _FRAGMENT.match(plain):  # the brace was given to the model
        return "{" + plain
    return plain.replace('\\"', '"') if plain[:3] == '{\\"' else text


def without_fences(text: str) -> str:
    """Return a text without the code fence around it."""
    match = _FENCE.fullmatch(text.strip())
    return (match["text"] if match else text).strip()


def documents(text: str) -> Iterator[tuple[str, str]]:
    """Yield stretches that may be a document in YAML or TOML, with the name of its form."""
    fences = [(match["name"].lower(), match["text"]) for match in _FENCE.finditer(text)]
    for name, block in fences:
        if name in ("yaml", "yml"):
            yield "yaml", block
        if name == "toml" or _TOML.search(block):
            yield "toml", block
    if not fences and _TOML.search(text) and (start := _TOML_START.search(text)):
        yield "toml", text[start.start() :]


def calls(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and arguments of calls that end the work: `Finish[X]`, `submit("X")`."""
    last = 0
    for match in list(_CALL.finditer(text))[-_MOST:]:
        start = match.end() - 1
        if start < last:
            continue
        end = bracket_end(text, start)
        stop = last = end or start + len(text[start : start + _LONGEST].split("\n")[0])
        content = text[start + 1 : stop - 1 if end else stop].strip()
        quoted = content[:1] in ("'", '"', "{", "\u201c") or ARGUMENTS.match(content)
        acted = text[: match.start()].rstrip(" \t").endswith(":")  # `Action: Finish(X)`
        if text[start] == "[" or quoted or (acted and end):
            yield match.start(), stop, content
    for match in _ACTION.finditer(text):
        yield match.start(), match.end(), match["rest"].strip()


def boxed(text: str) -> Iterator[tuple[int, int, str]]:
    r"""Yield start, end and content of boxes: `\boxed{X}`."""
    if "box" in text or "\x08" in text:
        yield from (one for one in boxes(text) if MASK not in one[2])


def headings(text: str) -> list[Heading]:
    """Return part, position, content and rank of each heading that names a part.

    The content of an answer is the first line that is not empty.
    """
    text = _INLINE.sub(lambda match: "\n".ljust(len(match[0])), text) if ":" in text else text
    found: list[tuple[str, int, int, list[str]]] = []
    lines: list[str] | None = None  # of the section at hand
    at, length = 0, len(text.rstrip())
    for line in text.split("\n"):
        named = _named(line)
        if named and named[0] != ANSWER and not named[2] and at + len(line) >= length:
            named = None  # a last line is no heading, but may be an answer: `support`
        if named is not None:
            lines = [named[2]]
            found.append((named[0], at, named[1], lines))
        elif lines is not None and _SECTION.match(line) and "".join(lines).strip():
            lines = None
        elif lines is not None:
            lines.append(line)
        at += len(line) + 1
    result = [
        (part, at, _content(part, lines, rank), rank) for part, at, rank, lines in found[-_MOST:]
    ]
    return result if any(one[0] == ANSWER for one in result) else result + _last_signs(text)


def _last_signs(text: str) -> list[Heading]:
    """Return answers after `A:` and, as the last line, after `####`."""
    letters = [] if _OPTION.search(text) else list(_LETTER.finditer(text))
    found = [(ANSWER, match.start(), match["rest"], 0) for match in letters[-1:]]
    sign = _SIGN.search(text)
    if sign and (_named(sign[0]) or "x")[0] != ANSWER and len(sign["rest"].split()) <= 12:
        found.append((ANSWER, sign.start(), sign["rest"], 1))
    return found


def _named(line: str) -> tuple[str, int, str] | None:
    """Return the part that a line is the heading of, the rank of the name, the rest of the line."""
    if len(line) > 5000 or not line.strip(f" \t{MASK}"):
        return None
    cells = [cell.strip(" *") for cell in line.strip().strip("|").split("|")]
    if line.lstrip()[:1] == "|" and len(cells) == 2 and (known := part_of(cells[0])):
        return known[0], known[1], cells[1]
    match = _TITLE.match(line) if len(line) < 120 else None
    decorated = match is not None and bool(match["marks"].strip())
    known = part_of(match["name"], weak=decorated) if match else None
    if known and (decorated or known[1] > 1):
        return known[0], known[1], ""
    match = _HEADING.match(line) or _BRACKETED.match(line)
    known = part_of(match["name"], weak=line.lstrip()[:1] == "#") if match else None
    return (known[0], known[1], match["rest"]) if match and known else None


def _content(part: str, lines: list[str], rank: int) -> str:
    if part != ANSWER:
        return "\n".join(lines)
    kept = [line for line in lines if line.strip() and not _NO_CONTENT.match(line)]
    if not rank and len(kept) != 1:  # `### Response` over a whole text
        return MASK
    return plain_line(kept[0]) if kept else ""


def plain_line(line: str) -> str:
    """Return a line without a bullet and one-sided emphasis."""
    text = _BULLET.sub("", line.lstrip("> ") if line.lstrip()[:1] == ">" else line).strip()
    text = _SYMBOL.sub("", text)
    return text if len(_STARS.findall(text)) % 2 == 0 else text.strip("*").strip()


def statements(text: str) -> Iterator[tuple[int, str, bool]]:
    """Yield position and rest of "the answer is ..."; and whether it is the final answer's name."""
    found = list(_STATEMENT.finditer(text)) if "nswer" in text or "NSWER" in text else []
    for match in found[-_MOST:]:
        rest = text[match.end() : match.end() + _LONGEST].split("\n")[0].strip()
        if not rest or MASK in rest or _NOT_AN_ANSWER.match(rest):
            continue
        if " be" in match[0] and rest[:1].islower() and rest.lower().rstrip(".!") not in YES_NO:
            continue  # "the answer should be a place"
        named = rest[:1].isupper() or rest[:1].isdigit() or rest[:1] in "\"'*`_\u201c$"
        sure = named or rest.lower().rstrip(".!") in YES_NO
        yield match.start(), rest, sure and "final" in match["kind"].lower()
    for match in (
        list(_REVERSED.finditer(text))[-_MOST:] if found == [] and "answer" in text else ()
    ):
        if MASK not in match["rest"] and not _NO_NAME.match(match["rest"]):
            yield match.start(), match["rest"], False
