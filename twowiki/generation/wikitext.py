"""Wikitext of an article to the plain text of its summary, links kept. Pure.

What shows no prose is dropped: boxes, notes, pictures, tables, comments, links to the same article
in other languages. What cannot be rendered (an unknown template in running text, a formula, markup
that does not close) leaves `MARK`, with its reason, so that the page is not used as a faithful
summary. Time grows with the text's length alone, whatever the markup: unclosed marks are looked
for once, and nesting is followed `_DEEPEST` levels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import NamedTuple

from twowiki.generation.text import unescape
from twowiki.generation.wikipedia_templates import (
    parse_call,
    plain_formula,
    raised,
    render_call,
    wraps_prose,
)

MARK = "\ufffc"
# Control characters stand for what is found on the way; they are in no XML text.
_LINK_START, _LINK_MIDDLE, _LINK_END = "\x01", "\x02", "\x03"
_BOX = "\x04"  # an unknown template without prose: nothing, where it has its lines for itself
_REASONS = {
    "\x04": "an unrendered template",
    "\x05": "an unrendered template",
    "\x06": "an unrendered formula",
    "\x07": "unclosed markup",
    "\x08": "an unknown tag",
}
_TEMPLATE, _FORMULA, _UNCLOSED, _UNKNOWN_TAG = "\x05", "\x06", "\x07", "\x08"
# Signs inside `nowiki`, which are no markup.
_SIGNS = "[]{}|'<>=*#:;!"
_HIDDEN = {ord(sign): 0x0E + place for place, sign in enumerate(_SIGNS)}
_SHOWN = {chr(hidden): chr(sign) for sign, hidden in _HIDDEN.items()}
_CONTROL = re.compile("[\x01-\x08\x0e-\x1b]")

_DEEPEST = 40  # levels of nested marks, as many as MediaWiki itself follows
_COMMENT_END = "-->"
_LITERAL_TAGS = ("nowiki", "pre", "source", "syntaxhighlight")
_FORMULA_TAGS = ("math", "chem", "ce")
_DRAWN_TAGS = ("score", "hiero")
_SILENT_TAGS = (
    "ref", "references", "gallery", "timeline", "imagemap", "templatestyles", "templatedata",
    "graph", "mapframe", "indicator", "inputbox", "categorytree", "includeonly", "table",
)  # fmt: skip
_EXTENSION_TAGS = (*_LITERAL_TAGS, *_FORMULA_TAGS, *_DRAWN_TAGS, *_SILENT_TAGS)
_OPENING = re.compile(rf"<!--|<({'|'.join(_EXTENSION_TAGS)})(?=[\s/>])[^<>]*>", re.I)
_TEXT_TAGS = frozenset(
    "abbr b bdi bdo big blockquote br caption center cite code col colgroup data dd del dfn div dl "
    "dt em font h1 h2 h3 h4 h5 h6 hr i ins kbd li link mark meta nobr noinclude ol onlyinclude p "
    "poem q rb rbc rp rt rtc ruby s samp section small span strike strong sub sup td tbody tfoot "
    "th thead time tr tt u ul var wbr".split()
) | set(_EXTENSION_TAGS)
_TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9]*)[^<>]*>")
_RAISED = re.compile(r"<sup>([^<>]*)</sup>", re.I)
_BREAK = re.compile(r"<br\s*/?>", re.I)
_TABLE = re.compile(r"\{\|(?:(?!\{\|).)*?\|\}", re.S)
_HEADING = re.compile(r"^==.*==\s*$", re.M)
_HEADING_START = re.compile(r"^==", re.M)
_LINK = re.compile(r"\[\[([^\[\]|]*)(?:\|([^\[\]]*))?\]\]([a-z]*)")
_EXTERNAL = re.compile(r"\[(?=(?:(?:https?|ftp):)?//[^\s\]]|mailto:)", re.I)
_QUOTES = re.compile(r"'{2,}")
_MAGIC = re.compile(r"__[A-Z]+__")
_BLANK = re.compile(r"[ \t\u00a0]+")
_EMPTY_BRACKETS = re.compile(r" ?\(\s*(?:[;,–-]\s*)?\)")
_ANCHOR = re.compile("\x01([^\x01-\x03]*)\x02([^\x01-\x03]*)\x03")
_INNER = re.compile(r"\{\{([^{}]*)\}\}")
# Braces that never close hold a template's parameters, not prose.
_NEVER_CLOSED = re.compile(r"\{\{.*|\{\|.*", re.S)
_LEFT_OVER = re.compile(r"\[\[|\]\]|\}\}|\|\}|<!--|-->")
_INVISIBLE_LINK = re.compile(r"\s*(file|image|category)\s*:", re.I)
# Links to projects and pages that are no articles; a link in another language is not shown.
_OTHER_PAGE = re.compile(
    r":?\s*(?:(wikt|wiktionary|s|wikisource|q|wikiquote|b|wikibooks|n|wikinews|v|wikiversity|"
    r"voy|wikivoyage|species|wikispecies|d|c|commons|m|meta|mw|w|wikipedia|wp|project|help|"
    r"special|template|user|portal|talk|media|mediawiki|module|draft|book|file|image|category|"
    r"toollabs|phab|bugzilla|doi|imdbname|imdbtitle|iarchive|google)\s*:\s*)+", re.I,
)  # fmt: skip
_LANGUAGES = frozenset(
    "aa ab ace ady af ak als alt am ami an ang anp ar arc ary arz as ast atj av avk awa ay az azb "
    "ba ban bar bat-smg bbc bcl be be-tarask be-x-old bew bg bh bi bjn blk bm bn bo bpy br bs bug "
    "bxr ca cbk-zam cdo ce ceb ch cho chr chy ckb co cr crh cs csb cu cv cy da dag de dga din diq "
    "dsb dtp dty dv dz ee el eml en eo es et eu ext fa fat ff fi fiu-vro fj fo fon fr frp frr fur "
    "fy ga gag gan gcr gd gl glk gn gom gor got gpe gsw gu guc gur guw gv ha hak haw he hi hif ho "
    "hr hsb ht hu hy hyw hz ia iba id ie ig ii ik ilo inh io is it iu ja jam jbo jv ka kaa kab kbd "
    "kbp kcg kg kge ki kj kk kl km kn ko koi kr krc ks ksh ku kus kv kw ky la lad lb lbe lez lfn "
    "lg li lij lld lmo ln lo lrc lt ltg lv mad mai map-bms mdf mg mh mhr mi min mk ml mn mni mnw "
    "mo mr mrj ms mt mus mwl my myv mzn na nah nap nds nds-nl ne new ng nia nl nn no nov nqo nr "
    "nrm nso nv ny oc olo om or os pa pag pam pap pcd pcm pdc pfl pi pih pl pms pnb pnt ps pt pwn "
    "qu rm rmy rn ro roa-rup roa-tara rsk ru rue rw sa sah sat sc scn sco sd se sg sh shi shn shy "
    "si simple sk skr sl sm smn sn so sq sr srn ss st stq su sv sw szl szy ta tay tcy tdd te tet "
    "tg th ti tk tl tly tn to tpi tr trv ts tt tum tw ty tyv udm ug uk ur uz ve vec vep vi vls vo "
    "wa war wo wuu xal xh xmf yi yo yue za zea zgh zh zh-classical zh-min-nan zh-yue zu".split()
)
_LANGUAGE_LINK = re.compile(r"\s*([a-z]{2,8}(?:-[a-z]{1,9}){0,2})\s*:")


class PageSummary(NamedTuple):
    """A page's opening text and its links: (start, end, target title), characters half-open.

    `faults` are the reasons for which the text is not what the page shows.
    """

    text: str
    links: tuple[tuple[int, int, str], ...]
    faithful: bool
    faults: tuple[str, ...] = ()


def render_summary(wikitext: str) -> PageSummary:
    """Render what is above the first heading."""
    text = render_templates(_above_first_heading(wikitext))
    text = _inside_out(text, partial(_TABLE.sub, ""))
    text = "".join(_without_addresses(_BREAK.sub(" ", text)))
    text = _inside_out(text, partial(_LINK.sub, _render_link))
    text = _TAG.sub(_render_tag, _RAISED.sub(lambda match: raised(match[1]), text))
    text = _QUOTES.sub("", _MAGIC.sub("", text))
    text = _LEFT_OVER.sub(_UNCLOSED, _NEVER_CLOSED.sub(_UNCLOSED, text))
    lines = [_render_line(line) for line in text.split("\n")]
    return _with_links("\n".join(line for line in lines if line.strip()))


def _above_first_heading(text: str) -> str:
    """Return the text above the first heading that is in no comment, without comments and tags."""
    end = 0
    while True:
        line = _HEADING_START.search(text, end)
        following = text.find("\n", line.end()) if line else -1
        end = following if following >= 0 else len(text)
        plain = "".join(_outside_tags(_CONTROL.sub("", text[:end])))
        heading = _HEADING.search(plain)
        if heading or end == len(text):
            return plain[: heading.start()] if heading else plain
        end *= 2  # the next try costs as much as all before, at most


def _inside_out(text: str, replace: Callable[[str], str]) -> str:
    """Replace the innermost marks again and again; those that are nested too deeply stay."""
    for _ in range(_DEEPEST):
        replaced = replace(text)
        if replaced == text:
            break
        text = replaced
    return text


@cache
def _closing_tag(name: str) -> re.Pattern[str]:
    return re.compile(rf"</{re.escape(name)}\s*>", re.I)


def _outside_tags(text: str) -> Iterator[str]:
    """Yield a text without comments, with what is left of the tags whose inside is no wikitext."""
    at = 0
    unclosed: set[str] = set()
    while opening := _OPENING.search(text, at):
        yield text[at : opening.start()]
        at = opening.end()
        name = (opening[1] or "").casefold()
        if not name:
            end = text.find(_COMMENT_END, at)
            if end < 0:  # MediaWiki, too, takes the rest for a comment
                yield _UNCLOSED
                return
            at = end + len(_COMMENT_END)
        elif not opening[0].endswith("/>"):
            closing = None if name in unclosed else _closing_tag(name).search(text, at)
            if closing is None:  # nor is any later one closed
                unclosed.add(name)
                yield _UNCLOSED
            else:
                yield _inside_tag(name, text[at : closing.start()])
                at = closing.end()
    yield text[at:]


def _inside_tag(name: str, inner: str) -> str:
    if name in _SILENT_TAGS:
        return ""
    if name in _LITERAL_TAGS:
        return inner.translate(_HIDDEN)
    formula = plain_formula(inner) if name in _FORMULA_TAGS else None
    return _FORMULA if formula is None else formula.translate(_HIDDEN)


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


def _render_tag(match: re.Match[str]) -> str:
    return "" if match[1].casefold() in _TEXT_TAGS else _UNKNOWN_TAG


def _render_line(line: str) -> str:
    """Return a line as it is shown: a list's item without its sign, a box's line not at all."""
    if not line.replace(_BOX, "").strip():
        return ""
    if line.lstrip().startswith(("|", "}}")):
        return _UNCLOSED
    return _tidy(line.lstrip("*#:; "))


def _tidy(line: str) -> str:
    text = _BLANK.sub(" ", unescape(line)).strip()
    text = _EMPTY_BRACKETS.sub("", text)
    text = re.sub(r"\(\s*[;,]\s*", "(", text)
    return re.sub(r"(?<!\s)\s+([,.;:)])", r"\1", text)


def _with_links(text: str) -> PageSummary:
    faults = tuple(
        sorted({_REASONS[sign] for sign in _SUBSTITUTE.findall(text) if sign in _REASONS})
    )
    text = _SUBSTITUTE.sub(lambda match: _SUBSTITUTES[match[0]], text)
    plain: list[str] = []
    links: list[tuple[int, int, str]] = []
    length = last = 0
    for match in _ANCHOR.finditer(text):
        before = _CONTROL.sub("", text[last : match.start()])
        length += len(before)
        links.append((length, length + len(match[2]), match[1]))
        plain += (before, match[2])
        length += len(match[2])
        last = match.end()
    plain.append(_CONTROL.sub("", text[last:]))
    return PageSummary("".join(plain), tuple(links), not faults, faults)


_SUBSTITUTES = _SHOWN | dict.fromkeys(_REASONS, MARK)
_SUBSTITUTE = re.compile("[\x04-\x08\x0e-\x1b]")


def _render_link(match: re.Match[str]) -> str:
    """Return a link's text, with the target kept in control characters."""
    target, shown, tail = _ANCHOR.sub(r"\2", match[1]).strip(), match[2], match[3]
    language = _LANGUAGE_LINK.match(target)
    if _INVISIBLE_LINK.match(target) or (language and language[1] in _LANGUAGES):
        return tail
    if shown and _LINK_START in shown:
        shown = _ANCHOR.sub(r"\2", shown)
    elsewhere = _OTHER_PAGE.match(target)
    bare = (target[elsewhere.end() :] if elsewhere else target).removeprefix(":").strip()
    label = (shown or bare) + tail
    if not bare or elsewhere or target.startswith(":") or _REASONS.keys() & set(target):
        return label
    return f"{_LINK_START}{target}{_LINK_MIDDLE}{label}{_LINK_END}"


def render_templates(text: str) -> str:
    """Render templates from the inside out."""
    return _inside_out(text, partial(_INNER.sub, _render_template))


def _render_template(match: re.Match[str]) -> str:
    call = parse_call(match[1])
    rendered = render_call(call)
    if rendered is None:
        return _TEMPLATE if wraps_prose(call) else _BOX
    return rendered.translate(_HIDDEN) if "'" in call.name else rendered  # no quote of markup
