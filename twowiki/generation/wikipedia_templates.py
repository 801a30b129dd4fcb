"""English Wikipedia's templates to the text that they show. Pure.

In: a template's name and arguments. Out: the text that a reader sees; "" for one that shows no
prose (boxes, notes, citations, pronunciations); None for one that is not known. Names are matched
as a whole, or as a listed family. A template that wraps prose is rendered, never dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from twowiki.data.dates import MONTH_NAMES


class TemplateCall(NamedTuple):
    """A template's name in lower case, its values by place, and its values by name."""

    name: str
    values: tuple[str, ...]
    named: dict[str, str]

    def value(self, *keys: str | int) -> str:
        """Return the first value that is given under some keys; numbers are places from 1."""
        for key in keys:
            if isinstance(key, str):
                found = self.named.get(key, "")
            else:
                found = self.values[key - 1] if key <= len(self.values) else ""
            if found:
                return found
        return ""


_HIGHEST_PLACE = 100
_KEY = re.compile(r"[\w \t\n-]+")
_PREFIX = re.compile(r"^\s*:?\s*(template|msg|subst|safesubst)\s*:", re.I)


def parse_call(inner: str) -> TemplateCall:
    """Parse what is between the braces."""
    name, *given = _split_arguments(inner)
    name = re.sub(r"[\s_]+", " ", _PREFIX.sub("", name)).strip().casefold()
    named: dict[str, str] = {}
    places: dict[int, str] = {}
    unnamed = 0
    for argument in given:
        key, equals, value = argument.partition("=")
        if not equals or not _KEY.fullmatch(key):
            unnamed += 1
            places[unnamed] = argument.strip()
        elif key.strip().isdecimal() and len(key.strip()) < 4:
            places[int(key)] = value.strip()
        else:
            named[key.strip().casefold()] = value.strip()
    highest = min(_HIGHEST_PLACE, max(places, default=0))
    return TemplateCall(
        name, tuple(places.get(place, "") for place in range(1, highest + 1)), named
    )


def _split_arguments(inner: str) -> list[str]:
    """Split at the bars between arguments, not at those inside links."""
    parts, depth, start = [], 0, 0
    for mark in re.finditer(r"\[\[|\]\]|\|", inner):
        if mark[0] == "[[":
            depth += 1
        elif mark[0] == "]]":
            depth = max(0, depth - 1)
        elif depth == 0:
            parts.append(inner[start : mark.start()])
            start = mark.end()
    parts.append(inner[start:])
    return parts


def render_call(call: TemplateCall) -> str | None:
    """Return what a template shows; None for one that is not known."""
    renderer = _RENDERERS.get(call.name)
    if renderer is not None:
        return renderer(call)
    if call.name in _NO_PROSE or _NO_PROSE_FAMILY.match(call.name):
        return ""
    if call.name in _REMARKS:
        return _render_remark(call)
    if _LANGUAGE.match(call.name):
        return call.value(1, "text")
    name, colon, value = call.name.partition(":")
    if colon:
        return _render_function(name.strip(), value.strip(), call)
    return None


def wraps_prose(call: TemplateCall) -> bool:
    """Whether a template that cannot be rendered shows words, even on a line of its own."""
    known = call.name in _RENDERERS or call.name in _REMARKS
    return known or any(len(value.split()) >= _WORDS_OF_PROSE for value in call.values)


_WORDS_OF_PROSE = 5

# ---- templates that show no prose


def _names(text: str) -> frozenset[str]:
    return frozenset(" ".join(name.split()) for name in text.split(";"))


# Boxes, citations, pronunciations, marks of protection and of an article's spelling.
_NO_PROSE_FAMILY = re.compile(
    r"(?:(?:infobox|taxobox|geobox|cite|vcite|campaignbox|location map)[ /].*|ipac?-[\w-]+|"
    r"pp-[\w-]+|use [\w -]+ (?:dates|english|spelling)|#tag:ref|defaultsort:.*|displaytitle:.*|"
    r".+[ -](?:infobox|taxobox|navbox|sidebar|stub))$"
)
_LANGUAGE = re.compile(r"lang-[a-z]{2,3}(-[a-z0-9]+)*$")
_NO_PROSE = _names(
    # hatnotes
    "about; about2; for; for2; for multi; other uses; other uses2; other uses of; other people; "
    "other people2; other persons; other places; other ships; other hurricanes; otheruses; "
    "otheruses2; otheruses4; otherpeople; otherplaces; redirect; redirect2; redirect3; redirect4; "
    "redirect-several; redirect-multi; redirect-synonym; redirect-distinguish; hatnote; dablink; "
    "rellink; see; see also; seealso; see introduction; further; further information; main; "
    "main article; mainarticle; main list; details; more; more citations; broader; distinguish; "
    "distinguish2; distinguish-redirect; not to be confused with; confused; confuse; selfref; "
    "self reference; this; "
    "disambig; disambiguation; dab; hndis; geodis; surname; given name; set index article; "
    "technical reasons; correct title; lowercase title; lowercase; italic title; italictitle; "
    "italics title; short description; shortdesc; family name; family name hatnote; "
    "chinese name; korean name; japanese name; vietnamese name; hungarian name; spanish name; "
    "portuguese name; indonesian name; icelandic name; eastern slavic name; malay name; "
    "patronymic name; contains special characters; special characters; contains chinese text; "
    "contains japanese text; contains korean text; contains indic text; contains arabic text; "
    "chinese; contains cyrillic text; contains ipa; same name; "
    # states of the article
    "good article; featured article; featured list; ga icon; fa icon; pp; pp-protected; "
    "protected; pending changes; spoken wikipedia; bots; nobots; use dmy dates; use mdy dates; "
    "dmy; mdy; engvarb; toc; tocleft; tocright; toc left; toc right; toc limit; toclimit; "
    "toc hidden; clear; clear left; clear right; -; clr; anchor; anchors; shortcut; "
    "refimprove; more citations needed; unreferenced; unsourced; multiple issues; issues; "
    "article issues; cleanup; cleanup rewrite; cleanup reorganize; tone; copy edit; copyedit; "
    "orphan; stub; update; updated; out of date; outdated; inuse; in use; under construction; "
    "underlinked; overlinked; notability; primary sources; one source; third-party; no footnotes; "
    "more footnotes; more footnotes needed; morefootnotes; citations missing; citation style; "
    "original research; synthesis; pov; pov check; neutrality; npov; advert; peacock; weasel; "
    "fansite; coi; autobiography; blp sources; blp unsourced; blp sources needed; blp refimprove; "
    "expand; expand section; expand language; expert needed; expert; confusing; technical; "
    "too technical; jargon; very long; overly detailed; lead too short; lead too long; "
    "lead rewrite; lead missing; lead extra info; inadequate lead; globalize; recentism; prose; "
    "essay-like; plot; in-universe; all plot; fiction; unbalanced; undue; undue weight; disputed; "
    "accuracy; merge; merge to; merge from; mergeto; mergefrom; split; move; requested move; "
    "current; current event; recent death; historical; "
    # boxes, pictures and lists of links
    "infobox; taxobox; automatic taxobox; speciesbox; subspeciesbox; infraspeciesbox; "
    "hybridbox; virusbox; ichnobox; oobox; paraphyletic group; mycomorphbox; chembox; drugbox; "
    "geobox; protein; enzyme; nobox; portal; portal bar; portal inline; portalbar; commons; "
    "commonscat; commons category; commons category-inline; sister project links; "
    "sisterlinks; wiktionary; wikt; wikiquote; wikisource; wikibooks; wikispecies; wikivoyage; "
    "authority control; defaultsort; multiple image; multiple images; image frame; css image crop; "
    "annotated image; double image; triple image; listen; external media; external image; "
    "external video; video; audio file; location map; mapframe; osm location map; "
    "campaignbox; sidebar; navbox; navboxes; navigation bar; succession box; s-start; end; "
    "clade; cladogram; largest cities; weather box; climate chart; "
    "flagicon; flagdeco; flagicon image; flag icon; fb flag; "
    "flagathlete icon; coord; coords; coor; coord missing; "
    "coordinates; oscoor; gbgridref; "
    # notes and citations
    "cite; citation; ref; refn; efn; efn-ua; efn-lr; efn-la; efn-lg; notetag; note; ref label; "
    "reflist; references; notelist; notelist-ua; refbegin; refend; sfn; sfnp; sfnm; sfnmp; rp; r; "
    "ran; cref; cref2; cnote; dead link; deadlink; webarchive; wayback; cbignore; bare url; "
    "harvid; sfnref; dmoz; curlie; "
    "unbulleted list citebundle; "
    # how a name is said
    "ipa; ipac; ipac-en; ipa-en; ipa audio link; respell; pronunciation; pronunciation-needed; "
    "pronunciation needed; pron-en; pron; audio-ipa; ipa-all; usdict; "
    # signs without a width
    "shy; zwj; zwnj; zwsp; wbr; zero width joiner; spaced ndash ref; thin space ref; hsp; "
    "void; null; empty"
)
# Remarks on a sentence. They show nothing of it, unless it is given as `text`.
_REMARKS = _names(
    "cn; fact; citation needed; citation needed lead; citation requested; uncited; unreferenced "
    "inline; dubious; clarify; clarify me; clarification needed; when; when?; who; who?; which; "
    "which?; where; where?; by whom; by whom?; by who; according to whom; according to who; "
    "according to; whom; whose; vague; vague-inline; why; why?; how; how?; what; what?; how often; "
    "for whom; to whom; from whom; like whom?; better source; better source needed; "
    "failed verification; verification failed; not in source; not in citation given; nicg; "
    "page needed; pages needed; page number; page number needed; page?; "
    "verify source; verification needed; verify inline; cross-reference needed; "
    "full citation needed; full; citation incomplete; incomplete citation; specify; "
    "example needed; examples; needs update; update inline; update after; update-inline; "
    "old info; as of?; date missing; year needed; time needed; timeframe; season needed; "
    "month needed; "
    "pov-inline; pov statement; npov inline; peacock inline; peacock term; weasel inline; "
    "weasel-inline; weasel word; weasel words; or; or?; original research inline; "
    "original research?; synthesis inline; syn; undue weight inline; undue-inline; undue inline; "
    "neutrality inline; editorializing; editorial; opinion; unbalanced opinion; disputed inline; "
    "disputed-inline; importance inline; importance?; relevance inline; relevance; relevance?; "
    "non-primary source needed; primary source inline; primary source needed; psi; "
    "third-party inline; third-party source needed; self-published inline; "
    "self-published source; sps; unreliable source?; unreliable source; unreliable source inline; "
    "rs?; verify credibility; medcn; medical citation needed; mcn; medrs; scholarly source needed; "
    "tertiary source inline; obsolete source; elucidate; ambiguous; quantify; explain; "
    "contradictory inline; contradict-inline; inconsistent; jargon inline; jargon-inline; "
    "define; definition needed; expand acronym; acronym needed; disambiguation needed; dn; "
    "needs disambiguation; link disambiguate; lead citation; clarify link; improper synthesis?; "
    "attribution needed; attribution; request quotation; quote needed; cite quote; "
    "chronology citation needed; globalize inline; nonspecific; volume needed; isbn missing; "
    "tone inline; buzz; awkward; copy edit inline; copyedit inline; sentence fragment; "
    "speculation inline; speculation?; anachronism inline; where-inline; citation style inline; "
    "sfn error; harv error; circular reference; circular; citation broken; broken citation; "
    "non sequitur; off-topic inline; excessive detail inline; clarify timeframe; "
    "retracted; unsourced inline; citation needed span ref; better ref needed; bcn; "
    "attribution required; ill defined; misleading; failed reference"
)
_MONTH_AND_YEAR = re.compile(rf"(?:date|(?:{'|'.join(MONTH_NAMES)})? ?\d{{1,4}})?", re.I)


def _render_remark(call: TemplateCall) -> str | None:
    if text := call.value("text"):
        return text
    # A value may be the words remarked on, the page of a discussion, or a reason: who knows.
    return "" if all(map(_MONTH_AND_YEAR.fullmatch, call.values)) else None


# ---- templates that show one of their values

_Renderer = Callable[[TemplateCall], str | None]


def _sign(call: TemplateCall) -> str | None:
    return _SHOWN_AS_IS[call.name]


def _first(call: TemplateCall) -> str | None:
    return call.value(1, "text", "content", "quote")


def _second(call: TemplateCall) -> str | None:
    return call.value(2, "text")


def _last(call: TemplateCall) -> str | None:
    return next((value for value in reversed(call.values) if value), "")


def _wrapped(call: TemplateCall) -> str | None:
    """Return the words that a remark is on."""
    return call.value("text", 1) or None


def _joined(call: TemplateCall) -> str | None:
    return "".join(call.values)


def _listed(call: TemplateCall) -> str | None:
    return ", ".join(value for value in call.values if value)


def _render_function(name: str, value: str, call: TemplateCall) -> str | None:
    """Render a magic word with a colon."""
    if name in ("formatnum", "formatnumber"):
        return None if call.values else value
    return None


_FIRST_VALUE = _names(
    "nowrap; nobr; nowr; quote; blockquote; cquote; quotation; quote box; rquote; bquote; bq; "
    "poemquote; poem; small; smaller; big; large; larger; normal; resize; nobold; em; strong; "
    "abbr; tooltip; h:title; hover title; sc; sc1; sc2; smallcaps; smallcaps all; small caps; "
    "center; noitalic; mono; number; nts; formatnum; sub; kbd; code; tt; mvar; q; rq; "
    "visible anchor; vanchor; "
    "strikethrough; u; underline; bold; b; italic; i; not a typo; typo; as written; keypress; key; "
    "samp; dfn; legend inline; verse translation; highlight; epigraph; pull quote; longitem; "
    "allow wrap; no wrap; interlanguage link multi; ill-wd; illm; nastaliq; nq"
)
_SECOND_VALUE = _names("langx; lang; script; color; font color; fontcolor; wikt-lang")
_LAST_VALUE = _names(
    "transl; transliteration; translit; linktext; rtl-lang; script/hebrew; hebrew; script/arabic; "
    "script/greek; polytonic; unicode; iast; runic; aut"
)
_WRAPPING_REMARKS = _names(
    "citation needed span; cn-span; cnspan; cn span; citation-needed span; fact span; fact-span; "
    "clarify span; clarify-span; clarification needed span; dubious span; dubious-span; "
    "vague span; which span; when span; who span; disputed span; contradict-span; "
    "not verified span; failed verification span; original research span; or span; "
    "better source needed span; citation needed-span; peacock span; weasel span; pov span; "
    "reference necessary; refnec"
)
_LISTS = _names("hlist; flatlist; plainlist; plain list; unbulleted list; ubl; ublist; ubil; "
                "bulleted list; blist; ordered list; vunblist; cslist; comma separated entries; "
                "comma-separated entries; csv; indented plainlist")  # fmt: skip
_SHOWN_AS_IS = {
    "ndash": "–", "mdash": "—", "snd": " – ", "snds": " – ", "spnd": " – ", "sndash": " – ",
    "spaced ndash": " – ", "spaced en dash": " – ", "nbsp": " ", "nbs": " ", "dash": " – ",
    "endash": "–", "emdash": "—", "em dash": "—", "en dash": "–", "'": "'", "!": "|", "=": "=",
    "·": " · ", "middot": " · ", "dot": " · ", "•": " • ", "bull": " • ", "bullet": " • ",
    "\\": " / ", "spaces": " ", "space": " ", "pipe": "|", "'s": "'s", "' \"": "' \"",
    "\" '": "\" '", "'\"": "'\"", "\"'": "\"'", "thinsp": " ", "thin space": " ", "hair space": " ",
    "okina": "\u02bb", "okina2": "\u02bb", "hamza": "\u02bc", "ayin": "\u02bf", "ain": "\u02bf",
    "pi": "π", "dagger": "†", "double dagger": "‡", "prime": "\u2032", "pprime": "\u2033",
    "times": "\u00d7", "minus": "−", "degree": "°", "deg": "°", "pound": "£", "sharp": "♯",
    "flat": "♭", "natural": "♮", "ellipsis": "...", "...": "...",
    "yes": "Yes", "no": "No",
}  # fmt: skip
_MONEY = {
    "us$": "US$", "usd": "US$", "usdollar": "US$", "gbp": "£", "£": "£", "pound sterling": "£",
    "eur": "€", "euro": "€", "€": "€", "$": "$", "au$": "A$", "aud": "A$", "a$": "A$",
    "aus$": "A$", "ca$": "CA$", "cad": "CA$", "can$": "CA$", "c$": "CA$", "nz$": "NZ$",
    "nzd": "NZ$", "hk$": "HK$", "hkd": "HK$", "inr": "₹", "indian rupee": "₹", "jpy": "¥",
    "yen": "¥", "cny": "CN¥", "krw": "₩", "rub": "₽",
}  # fmt: skip
_SHIPS = ("uss", "hms", "ss", "rms", "ms", "mv", "hmas", "hmcs", "hmnzs", "hmt", "ins", "usns",
          "uscgc", "sms", "rv", "hnlms")  # fmt: skip

# ---- templates that compose a text


_RAISED = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")


def raised(text: str) -> str:
    """Return a number as an exponent (10⁶ for 10<sup>6</sup>); other words as they are."""
    return text.translate(_RAISED) if re.fullmatch(r"[-+−]?\d+[-+−]?|[-+−]", text) else text


def _superscript(call: TemplateCall) -> str | None:
    return raised(call.value(1))


def _sic(call: TemplateCall) -> str | None:
    words = "".join(call.values[:2])
    if call.value("hide").casefold() in ("y", "yes"):
        return words
    return f"{words} [sic]".strip()


def _audio(call: TemplateCall) -> str | None:
    label = call.value(2)
    return "" if label.casefold() in ("", "listen", "pronunciation", "play") else label


def _circa(call: TemplateCall) -> str | None:
    return "c. " + " – ".join(call.values[:2]) if call.values else "c."


def _reign(call: TemplateCall) -> str | None:
    return "r. " + " – ".join(call.values[:2])


def _floruit(call: TemplateCall) -> str | None:
    return "fl. " + "–".join(call.values[:2])


def _fraction(call: TemplateCall) -> str | None:
    whole = f"{call.values[0]} " if len(call.values) > 2 else ""
    return whole + "/".join(call.values[-2:])


def _money(call: TemplateCall) -> str | None:
    return _MONEY[call.name] + call.value(1) if call.values else _MONEY[call.name].strip()


def _nihongo(call: TemplateCall) -> str | None:
    return call.value(1, 2)


def _flag(call: TemplateCall) -> str | None:
    name = call.value("name", 1)
    return None if name.isupper() else name  # a code for a country's name


def _interlanguage(call: TemplateCall) -> str | None:
    return call.value("lt", "text", 1)


def _ship(call: TemplateCall) -> str | None:
    prefix = call.name.upper() if call.name in _SHIPS else call.value(1)
    name, number, *form = (*call.values, "", "", "")[0 if call.name in _SHIPS else 1 :]
    if any(form) or not name:
        return None
    return f"{prefix} {name} ({number})".strip() if number else f"{prefix} {name}".strip()


def _web_address(call: TemplateCall) -> str | None:
    return call.value(2, 1)


def _as_of(call: TemplateCall) -> str | None:
    if call.value("alt"):
        return call.value("alt")
    words = [] if call.value("bare") else ["since" if call.value("since") else "as of"]
    day_first = call.value("df").casefold() not in ("us", "mdy")
    words += [call.value("pre"), _written_date(call.values, day_first=day_first)]
    text = " ".join(word for word in words if word)
    small = call.value("lc").casefold() in ("y", "yes", "1", "on")
    return (text if small or call.value("bare") else text[:1].upper() + text[1:]) + call.value(
        "post"
    )


def _height(call: TemplateCall) -> str | None:
    known = ("ft", "in", "m", "cm")
    text = " ".join(f"{call.named[unit]} {unit}" for unit in known if call.named.get(unit))
    return text or None


def _formula(call: TemplateCall) -> str | None:
    return plain_formula(call.value(1))


def _value(call: TemplateCall) -> str | None:
    """Render `val`: a number with its uncertainty and its unit."""
    unit = call.value("u", "ul")
    strange = {"e", "up", "upl", "t", "long scale", "ut"} & {
        key for key, v in call.named.items() if v
    }
    if strange or len(call.values) > 2 or not call.values or not _UNIT.fullmatch(unit):
        return None
    if any(re.search(r"[^\d.,+−-]", value) for value in call.values):
        return None
    number = "±".join(value for value in call.values if value)
    gap = "" if unit in ("", "%", "°") else " "
    parts = (call.value("p"), number, call.value("s"), gap, unit, call.value("end"))
    return "".join(parts)


_UNIT = re.compile(r"[A-Za-zµμΩ°%$€£ ]*")
_PLAIN_FORMULA = re.compile(r"[\w\s+=.,:;()<>/!−·\u00d7≤≥≠-]*")


def plain_formula(text: str) -> str | None:
    """Return a formula that reads the same as text; None for one that must be drawn."""
    plain = text.strip()
    return plain if _PLAIN_FORMULA.fullmatch(plain) and "_" not in plain else None


# ---- dates and measures

_DATES = {
    "birth date": "date", "birth date and age": "date", "death date": "date", "bda": "date",
    "death date and age": "date", "dda": "date", "birth-date": "free", "death-date": "free",
    "birth-date and age": "free", "death-date and age": "free", "start date": "date",
    "end date": "date", "start date and age": "date", "film date": "date", "date": "free",
    "dob": "date", "birth year": "date", "birth year and age": "date", "death year": "date",
    "death year and age": "year", "oldstyledate": "old", "oldstyledatedy": "old", "dts": "date",
    "release date": "date", "death date and given age": "date", "launch date": "date",
    "start-date": "free", "end-date": "free",
}  # fmt: skip


def _date(call: TemplateCall) -> str | None:
    kind = _DATES[call.name]
    given = [value for value in call.values if value]
    if kind == "free":
        return given[0] if given else ""
    if kind == "old":
        return " ".join(given[:2])
    numbers = given[: 1 if kind == "year" else 3]
    return _written_date(numbers, day_first=bool(call.value("df")) or "mf" not in call.named)


def _written_date(values: Iterable[str], *, day_first: bool) -> str:
    given = [value for value in values if value][:3]
    numbers: list[int] = []
    for value in given:
        if not re.fullmatch(r"-?\d{1,4}", value):
            break
        numbers.append(int(value))
    if not numbers:
        return " ".join(given[:1])
    if len(numbers) == 1 and len(given) > 1:  # {{as of|2020|March}}
        day = f" {given[2]}" if len(given) > 2 else ""
        return f"{given[1]}{day} {numbers[0]}" if not day else f"{day[1:]} {given[1]} {numbers[0]}"
    if len(numbers) == 1 or not 1 <= numbers[1] <= 12:
        return str(numbers[0])
    month = MONTH_NAMES[numbers[1] - 1]
    if len(numbers) == 2:
        return f"{month} {numbers[0]}"
    if day_first:
        return f"{numbers[2]} {month} {numbers[0]}"
    return f"{month} {numbers[2]}, {numbers[0]}"


_UNITS = {
    "mi": "mi", "km": "km", "m": "m", "ft": "ft", "in": "in", "cm": "cm", "mm": "mm", "yd": "yd",
    "nmi": "nautical miles", "kg": "kg", "g": "g", "mg": "mg", "lb": "lb", "lbs": "lb", "oz": "oz",
    "st": "st", "t": "t", "ST": "short tons", "LT": "long tons", "acre": "acres", "ha": "ha",
    "sqmi": "square miles", "mi2": "square miles", "sqkm": "km²", "km2": "km²", "m2": "m²",
    "sqm": "m²", "sqft": "square feet", "ft2": "square feet", "m3": "m³", "km3": "km³",
    "cuft": "cubic feet", "ft3": "cubic feet", "cumi": "cubic miles", "L": "litres",
    "l": "litres", "mph": "mph", "km/h": "km/h", "kph": "km/h", "m/s": "m/s", "kn": "knots",
    "knot": "knots", "C": "°C", "F": "°F", "hp": "hp", "kW": "kW", "MW": "MW", "ly": "light-years",
}  # fmt: skip
_RANGES = {
    "-": "–", "–": "–", "to": " to ", "and": " and ", "x": " \u00d7 ", "by": " by ", "or": " or ",
    "to(-)": "–", "+/-": " ± ", "±": " ± ", "xx": " \u00d7 ", "*": " \u00d7 ",
}  # fmt: skip
_SMALL_UNITS = {"ft": ("in",), "lb": ("oz",), "st": ("lb",), "yd": ("ft",), "mi": ("yd", "ft")}
_KEEPS_ORDER = ("", "or", "comma", "b", "br", "sqbr", "x", "s")


def _conversion(call: TemplateCall) -> str | None:
    """Render the measure that was given, without the one that it is converted to."""
    values = call.values
    if not values or call.value("disp") not in _KEEPS_ORDER or call.value("order") == "flip":
        return None
    amounts, at = [values[0]], 1
    while len(values) - at >= 2 and values[at] in _RANGES:
        amounts.append(_RANGES[values[at]] + values[at + 1])
        at += 2
    if values[at : at + 1] and values[at] not in _UNITS:
        return None
    amounts += [f" {_UNITS[unit]}" for unit in values[at : at + 1]]
    if values[at + 2 : at + 3] and values[at + 2] in _SMALL_UNITS.get(values[at], ()):
        amounts.append(f" {values[at + 1]} {values[at + 2]}")
    return "".join(amounts)


def _all(names: Iterable[str], renderer: _Renderer) -> dict[str, _Renderer]:
    return dict.fromkeys(names, renderer)


_RENDERERS: dict[str, _Renderer] = {
    **dict.fromkeys(_SHOWN_AS_IS, _sign),
    **_all(_FIRST_VALUE, _first),
    **_all(_SECOND_VALUE, _second),
    **_all(_LAST_VALUE, _last),
    **_all(_WRAPPING_REMARKS, _wrapped),
    **_all(_LISTS, _listed),
    **_all(_MONEY, _money),
    **_all(_DATES, _date),
    **_all((*_SHIPS, "ship"), _ship),
    **_all(("convert", "cvt"), _conversion),
    **_all(("frac", "fraction", "sfrac"), _fraction),
    **_all(("circa", "c.", "ca", "c", "ca."), _circa),
    **_all(("reign", "r."), _reign),
    **_all(("floruit", "fl."), _floruit),
    **_all(("nihongo", "nihongo2", "nihongo3"), _nihongo),
    **_all(("flag", "flagu", "flagcountry", "flag country"), _flag),
    **_all(("ill", "interlanguage link", "link-interwiki"), _interlanguage),
    **_all(("chem", "gaps"), _joined),
    **_all(("chem2", "ce", "math"), _formula),
    **_all(("url",), _web_address),
    **_all(("as of", "asof"), _as_of),
    **_all(("sup", "superscript"), _superscript),
    "sic": _sic,
    "audio": _audio,
    "val": _value,
    "height": _height,
}
