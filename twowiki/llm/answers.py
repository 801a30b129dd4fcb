"""The answer inside what a model wrote for it: mark-up off, introductions off. Pure."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

_NAMES = ("text", "value", "answer", "final_answer", "short_answer", "name", "content", "span")
_DEEPEST = 8  # marks around one another
_LONGEST = 5_000  # characters of an answer in marks
_MOST = 50  # marks of one kind that are looked at, the last ones
_BOX = re.compile(r"(?:\\{1,2}(?:boxed|fbox|framebox)|\x08oxed|\bboxed)\s*(?=\{)")
_WRAPS = (
    re.compile(r"<\|?([\w.\-]{1,40})(?:\s[^<>]{0,200})?\|?>(.*)<\|?/\s*\1\s*\|?>", re.DOTALL),
    re.compile(r"```(\w*)\s(.*?)```", re.DOTALL),
    re.compile(r"\\(text|textbf|textit|mathrm|mathbf|mathit|textrm|emph|mbox)\s*\{([^{}]*)\}"),
    re.compile(r"(\*{1,3}|_{2,3}|`{1,2}|\$\$?)(?=\S)(.*?\S)\1", re.DOTALL),
    re.compile(r"(\\[(\[])(.*?)\\[)\]]", re.DOTALL),
    re.compile(r"(\[\[?|<<?|\{)([^\[\]<>{}]+)(?:\]\]?|>>?|\})"),
)
_PLACEHOLDER = re.compile(
    r"and|\.{2,}|\u2026|(?:your|the|short|final|insert) ?(?:short |final )?answer(?: here)?"
    r"|answer here|\[(?:your |the )?answer\]",
    re.IGNORECASE,
)
_INTRODUCTION = re.compile(
    r"^(?:so |thus |therefore |hence )?,?\s*(?:the |my |final |short |correct )*answer"
    r"(?: is\s*[:\-]?\s+(?:that )?|\s*[:\uff1a=]\s*)(?=\S)",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"\s+(?:[|;,/\u2013\u2014-]\s+)?[(\[]?(?:\*\*)?(?:(?:Brief |Short )?(?:Explanation"
    r"|Reasoning|Rationale|Justification)|[Cc]onfidence(?: (?:level|score))?)\s*(?:\*\*)?[:=].*",
    re.DOTALL,
)
_SOURCE = r"(?:doc(?:ument)?|passage|paragraph|source|ref(?:erence)?|sentence|context|citation)s?"
_CITED = re.compile(
    rf"(?<=\S)\s*(?:\^?\[(?:\^?\d{{1,2}}(?:\s?[,;\u2013-]\s?\^?\d{{1,2}}){{0,9}}"
    rf"|{_SOURCE}\s*[:#]?\s*\d[^\[\]]{{0,30}}|{_SOURCE}:[^\[\]]{{1,60}})\]"
    r"|\u3010[^\u3010\u3011]{1,30}\u3011|\(\[[^\[\]]{1,80}\]\(https?:[^()\s]{1,200}\)\)"
    rf"|\((?:{_SOURCE}\s*[:#]?\s*\d{{1,2}}|see |cf\.|source: "
    rf"|from (?:the )?{_SOURCE}\b|according to |as (?:stated|mentioned) )[^()]{{0,80}}\))+(?=\.?$)",
    re.IGNORECASE,
)
_LINK = re.compile(r"\[([^\[\]]{1,200})\]\((?:https?:|/|#)[^()\s]{0,200}(?:\([^()]*\)[^()\s]*)?\)")
_EMPHASIZED = re.compile(
    r"(?P<mark>\*\*|__|`)(?P<name>[^*`]{1,200}?)(?P=mark)(?=[.!](?:\s|$)|,?\s(?:because|since|as|who"
    r"|which|where|whose|while)\b|\s\(|\s[-\u2013\u2014]\s)"
)
_YES_NO = re.compile(
    r"(?P<name>(?i:yes|no))\b(?:,\s+(?=[a-z]|(?:Both|They|The|He|She|It|Neither|Only)\b)|\s+because\b"
    r"|(?:[.;:!]|\s?[\u2013\u2014]|\s-)\s*(?=\S+(?:\s+\S+){2})"
    r"|\s\((?![^()]*(?:film|song|album|novel|band|series|\d{4})))",
)
_BOLD_YES_NO = re.compile(r"(\*\*|__|\*)(?P<name>(?i:yes|no))[.,:;!]?\1(?=[\s.,;:!])")
_STATED = re.compile(  # what a sentence says, and hardly a name
    r"\b(?:is|was|are|were|has|had|have|did|does|born|died|directed|wrote|produced|founded|states?"
    r"|says|mentions?|shows?|indicates?|lived|married|worked)\b"
)
_REASON = re.compile(r",\s(?:because|since|as|who|which|where|whose|while|whereas)\s|\sbecause\s")
_SENTENCE_END = re.compile(r"(\S+?)[\"'*`)\u201d]*([.!?])(?=\s+([A-Z]\w*)|\s*$)")
_QUOTED = re.compile(r"(\*\*|[\"`])[^*\"`\n]{1,200}\1|\u201c[^\u201d\n]{1,200}\u201d")
_ABBREVIATED = re.compile(
    r"(?:[^\W\d]|(?:\w\.)+\w|St|Mt|Ft|Mrs?|Ms|Dr|Jr|Sr|Lt|Gen|Col|Capt|Prof|Rev|Hon|Sgt|Maj|No|vs|Inc"
    r"|Co|Ltd|Bros|Esq)"
)
_OPENERS = {"She", "He", "It", "They", "The", "This", "That", "His", "Her", "Its", "As", "Because",
            "Since", "I", "We", "So", "In", "According", "Both", "Their", "However"}  # fmt: skip
_STOP = re.compile(r"(?<=[\w)\]\"'*]{2})\.$")
_LATEX = re.compile(r"\\([&%$#_{} ])")
_TEXT_IN_MATH = re.compile(
    r"\\(?:text|textbf|textit|mathrm|mathbf|textrm|emph|mbox)\s*\{([^{}]*)\}"
)
_INVISIBLE = dict.fromkeys((0x200B, 0x2060, 0xFEFF))
_QUOTES = (
    '""',
    "''",
    "\u201c\u201d",
    "\u2018\u2019",
    "\u300c\u300d",
    "\u300a\u300b",
    "\u00ab\u00bb",
)
_LEFT_OVER = re.compile(
    r"</?[A-Za-z|][\w|:.\-]{0,30}[^<>]{0,60}>|\\(?:boxed|text|mathrm|begin)|```|\*\*\S|\{\s*[\"']"
    r"|\[/[A-Za-z]+\]|^\s*[\[{]|\x00"
)


def answer_of_value(value: Any) -> str | None:
    """Return an answer from JSON as text: booleans are yes and no, several answers are listed."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        text = value.strip()
        return plain_answer(text) if is_marked(text) else text
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, Mapping):
        low = {str(name).lower(): entry for name, entry in value.items()}
        inner = next((low[name] for name in _NAMES if low.get(name) is not None), None)
        if inner is None and len(low) == 1:
            inner = next(iter(low.values()))
        return None if isinstance(inner, Mapping) else answer_of_value(inner)
    if isinstance(value, list | tuple) and value:
        texts = [answer_of_value(entry) for entry in value]
        return None if None in texts else ", ".join(text for text in texts if text is not None)
    return None


def is_marked(text: str) -> bool:
    """Return whether a text has marks of its own around the answer: tags, a box."""
    return ("<" in text and "</" in text) or "boxed" in text


def plain_answer(text: str) -> str | None:
    """Return an answer written as text without what stands around it; None if nothing is left."""
    text = (html.unescape(text) if "&" in text else text).translate(_INVISIBLE)
    text = " ".join(text.split()).lstrip(":\uff1a ")
    for _ in range(_DEEPEST if len(text) < _LONGEST else 0):
        before = text
        box = last_box(text)
        text = text if box is None else box
        for wrap in _WRAPS:
            match = wrap.fullmatch(text)
            text = match[2].strip() if match and match[1] not in match[2] else text
        text = _AFTER.sub("", _INTRODUCTION.sub("", text) if box is None else text)
        text = _LINK.sub(r"\1", _CITED.sub("", text))
        if len(text) > 1 and text[0] + text[-1] in _QUOTES:
            text = text[1:-1].strip() if text.count(text[0]) <= 2 else text
        text = _STOP.sub("", text)
        if text == before:
            break
    if "\\" in text:
        text = _LATEX.sub(r"\1", without_math(text).replace("~", " ")).strip()
    if not text.strip("*_`.\"' ") or _PLACEHOLDER.fullmatch(text):
        return None
    if text.endswith(")") and text.count(")") > text.count("("):
        text = text[:-1].rstrip()
    return text


def without_math(text: str) -> str:
    r"""Return a text without the marks of text in formulas: `March` of `\text{March}`."""
    return " ".join(_TEXT_IN_MATH.sub(r"\1", text).split())


def first_sentence(text: str) -> str:
    """Return a statement up to the end of its sentence: `Brinmoor` of `Brinmoor. She was ...`."""
    quoted = _QUOTED.match(text)
    for match in _SENTENCE_END.finditer(text, quoted.end() - 1 if quoted else 0):
        last, sign, word = match.groups()
        ends = word is None or (sign == "." and last[-1:] != ".")  # no name: `Stop! Or My Mom`
        if word in _OPENERS or (ends and not _ABBREVIATED.fullmatch(last.strip("*\"'`(\u201c"))):
            return text[: match.end() - 1].strip()
    return text.strip()


def without_reason(answer: str) -> str:
    """Return the name, date, or yes or no that a line states, without why it is right.

    A line has no mark where the answer ends, but `Brinmoor, where she was born.` goes on with a
    clause, and `Yes, both are poets.` with a sentence.
    """
    emphasized = _EMPHASIZED.match(answer)
    if emphasized:
        return emphasized["name"].strip()
    decided = _YES_NO.match(answer) or _BOLD_YES_NO.match(answer)
    if decided is None and answer[:4].lower() in ("yes,", "no, ") and _STATED.search(answer):
        return answer.partition(",")[0]
    if decided:
        return decided["name"]
    reason = _REASON.search(answer)
    if reason and (answer[:1].isupper() or answer[:1].isdigit()):
        answer = answer[: reason.start()]
    sentence = first_sentence(answer)
    goes_on = not sentence.endswith(".") and _STATED.search(answer, len(sentence))
    return _STOP.sub("", sentence if goes_on else answer)


def is_odd(answer: str) -> bool:
    """Return whether mark-up is left in an answer."""
    return bool(_LEFT_OVER.search(answer))


def boxes(text: str) -> list[tuple[int, int, str]]:
    r"""Return start, end and content of each closed `\boxed{...}`."""
    found = []
    for match in list(_BOX.finditer(text))[-_MOST:]:
        end = bracket_end(text, match.end())
        if end is not None:
            found.append((match.start(), end, text[match.end() + 1 : end - 1]))
        elif inner := _TEXT_IN_MATH.match(text, match.end() + 1):  # its own brace is missing
            found.append((match.start(), inner.end(), inner[0]))
    return found


def last_box(text: str) -> str | None:
    r"""Return the content of the last `\boxed{...}`, without the boxes inside it."""
    found = boxes(text) if "box" in text or "\x08" in text else []
    return found[-1][2].strip() if found else None


def bracket_end(text: str, start: int) -> int | None:
    """Return the position after the bracket that closes the one at `start`."""
    opening = text[start]
    partner = {"{": "}", "(": ")", "[": "]"}[opening]
    depth = 0
    for at in range(start, min(len(text), start + 2000)):
        letter = text[at]
        if letter in (opening, partner) and text[at - 1 : at] != "\\":
            depth += 1 if letter == opening else -1
            if depth == 0:
                return at + 1
    return None
