"""A paragraph into sentences: rules and abbreviations, nothing to download, no chance. Pure.

The sentences joined give the paragraph back; the space before a sentence belongs to it. Where a
full stop may end an abbreviation or a sentence, the next word decides. Splitting too little keeps
a fact with its subject, so doubt means no cut.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_END = re.compile(r"[.!?…]+[\"'”’»)\]]*(?=\s+[\"'“‘«(\[]*[^\W_])|\n+")
_NEXT = re.compile(r"\s*[\"'“‘«(\[]*([^\W_][\w'’]*)")
_LAST_WORD = re.compile(r"([^\W_][\w'’.&-]*)$")
_STARTERS = frozenset(
    "A After Although An And As At Because Before Both But By During Each For From Had He Her His "
    "However If In It Its Later Many Most No Of On Once One Other Others She Since Some Such That "
    "The Their Then There These They This Those Three Through To Two Under Until Upon Was Were "
    "When Where While With You I We Our My According Currently Today Previously Originally "
    "Additionally Following Prior Despite Between".split()
)
# After these a name follows: never a cut.
_TITLES = frozenset(
    "mr mrs ms dr prof st sts mt ft gen col lt capt cpt cmdr adm maj sgt cpl pvt rev revd fr hon "
    "pres gov sen rep amb msgr mgr messrs mme mlle vs ed eds trans cf c ca circa approx b d r fl "
    "e.g i.e viz nr bros jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri al "
    "art arts sec dept ave blvd lit orig abbr resp hr hz var subsp spp sp cit ibid bp brig supt "
    "insp const".split()
)
# After these a number follows, else it is a word of its own.
_NUMBERED = frozenset("no nos vol vols op opp pp p pt ch fig figs eq ref rd".split())
# After these a sentence may end: the next word decides.
_EITHER = frozenset(
    "jr sr inc ltd co corp llc plc bv ag esq etc u.s u.k d.c u.s.a l.a n.y a.m p.m b.c a.d b.c.e "
    "c.e ph.d m.d b.a m.a b.sc m.sc st ii iii est assn univ intl".split()
)


def split_sentences(text: str, names: Sequence[str] = ()) -> list[str]:
    """Cut a paragraph into sentences.

    Args:
        text: the paragraph; may be empty (no sentences).
        names: the page's title, link texts: full stops in them ("E.T.", "Help!") end nothing.
    """
    masked = _spans_of_names(text, names)
    sentences: list[str] = []
    start = 0
    for match in _END.finditer(text):
        cut = match.start() if match.group()[0] == "\n" else match.end()
        if cut > start and _is_end(text, match, masked):
            sentences.append(text[start:cut])
            start = cut
    if start < len(text):
        sentences.append(text[start:])
    if len(sentences) > 1 and not sentences[-1].strip():
        sentences[-2:] = ["".join(sentences[-2:])]
    return sentences


def _spans_of_names(text: str, names: Sequence[str]) -> list[tuple[int, int]]:
    spans = []
    for name in set(names):
        if not any(mark in name for mark in ".!?…"):
            continue
        start = text.find(name)
        while start >= 0:
            spans.append((start, start + len(name)))
            start = text.find(name, start + len(name))
    return spans


def _is_end(text: str, match: re.Match[str], masked: Sequence[tuple[int, int]]) -> bool:
    if match.group()[0] == "\n":
        return match.end() < len(text) and bool(text[: match.start()].strip())
    following = _NEXT.match(text, match.end())
    word = following[1] if following else ""
    starts = word in _STARTERS
    stop = match.start()
    for start, end in masked:
        if start <= stop < end - 1:
            return False
        if stop == end - 1 and not starts:
            return False
    if word[:1].islower():
        return False
    if match.group()[0] != ".":
        return True
    before = _LAST_WORD.search(text, max(0, stop - 30), stop)
    return before is None or _word_may_end(before[1], word[:1].isdigit(), starts)


def _word_may_end(word: str, number_follows: bool, starts: bool) -> bool:
    folded = word.casefold()
    if folded in _NUMBERED:
        return not number_follows
    if folded in _EITHER:
        return starts
    if folded in _TITLES:
        return False
    if len(word) == 1 and word.isupper():
        return starts and word != "I"
    if "." in word and all(len(part) <= 2 for part in word.split(".")):
        return starts
    return True
