"""Tidy a question's text, and suggest how an unfinished one could be asked in full.

Suggestions are for the reviewer's table: nothing is reworded without a person's word.
"""

from __future__ import annotations

import re

_BLANK = re.compile(r"\s*(?:_{2,}|\u2014)\s*\.?$")
_ARTICLE = re.compile(r"\s+(?:a|an|the)$", re.IGNORECASE)
_OPEN_ENDS = (
    *("of", "to", "by", "from", "with", "in", "on", "for", "at", "as", "into", "through", "about"),
    *("is", "are", "was", "were", "be", "called", "uses", "use", "has", "have", "causes", "cause"),
    *("makes", "produces", "produce", "provides", "contains", "becomes", "become", "like", "than"),
    *("because of", "due to"),
)
_OPEN_END = re.compile(rf"\b(?:{'|'.join(map(re.escape, _OPEN_ENDS))})$", re.IGNORECASE)


def normalise_stem(stem: str) -> str:
    """Make runs of spaces and line ends one space; case and blanks (`___`) stay."""
    return re.sub(r"\s+", " ", stem).strip()


def suggest_rewording(question: str) -> str | None:
    """Suggest a full question for an unfinished sentence, or None where there is nothing to say.

    "... are forms of" -> "... are forms of what?"; "... is called the" -> "... is called what?";
    "... because" -> "Why ...?" is left to people, and so is every question that ends in "?".
    """
    text = normalise_stem(question)
    if not text or text.endswith("?"):
        return None
    cut = _BLANK.sub("", text.rstrip(" :")).rstrip(" .,:")
    cut = _ARTICLE.sub("", cut)
    if cut != text.rstrip(" .,:") or _OPEN_END.search(cut):
        return f"{cut} what?"
    return None
