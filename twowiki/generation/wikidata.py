"""Wikidata entity lines to rows of `entities`, `names`, `claims`, `dates`, `uncertain`.

In: lines of a JSON dump, one entity each. Out: rows, and counts of what was left out and why.
A date with a qualifier that marks it as uncertain also gives the days that it may mean.
Only the relations of `relations` are decoded; everything else of an entity is skipped unread.
An entity of an unusual shape is read statement by statement, which is slower.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from twowiki.data.relations import DEMONYM, INSTANCE_OF, ITEM_RELATIONS, SEX, TIME_RELATIONS
from twowiki.generation.dates import (
    WikidataDate,
    date_of_key,
    interval,
    parse_wikidata_time,
)
from twowiki.generation.tables import SkippedLine, TableRow, as_bigint
from twowiki.generation.text import STOP_NAMES, normalize, page_key
from twowiki.models.text import bare_title

LANGUAGES = ("en", "mul", "en-gb", "en-ca")
_RANKS = {"preferred": 2, "normal": 1}
_ITEMS = (*ITEM_RELATIONS, INSTANCE_OF, SEX)
_DECODED = {f"P{number}" for number in (*_ITEMS, *TIME_RELATIONS, DEMONYM)}


class _Text(msgspec.Struct):
    value: str


class _Title(msgspec.Struct):
    title: str


class _Value(msgspec.Struct):
    id: str | None = None
    numeric: int | None = msgspec.field(default=None, name="numeric-id")
    time: str | None = None
    precision: int | None = None
    calendarmodel: str = ""
    before: int = 0
    after: int = 0
    text: str | None = None
    language: str = ""


class _Datavalue(msgspec.Struct):
    value: _Value


class _Snak(msgspec.Struct):
    snaktype: str = "value"
    datavalue: _Datavalue | None = None


_Marks = list[dict[str, Any]]


class _Qualifiers(msgspec.Struct):
    end: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw, name="P582")
    circumstances: _Marks = msgspec.field(default_factory=list, name="P1480")
    nature: _Marks = msgspec.field(default_factory=list, name="P5102")
    heuristic: _Marks = msgspec.field(default_factory=list, name="P887")
    floruit: _Marks = msgspec.field(default_factory=list, name="P1317")
    earliest: list[_Snak] = msgspec.field(default_factory=list, name="P1319")
    latest: list[_Snak] = msgspec.field(default_factory=list, name="P1326")


class _Claim(msgspec.Struct):
    mainsnak: _Snak
    rank: str = "normal"
    id: str = ""
    qualifiers: _Qualifiers | None = None


_Claims = msgspec.defstruct(
    "_Claims",
    [
        (f"P{number}", list[_Claim], msgspec.field(default_factory=list))
        for number in (*_ITEMS, *TIME_RELATIONS, DEMONYM)
    ],
)
_Labels = msgspec.defstruct(
    "_Labels",
    [
        (f"l{place}", _Text | None, msgspec.field(default=None, name=code))
        for place, code in enumerate(LANGUAGES)
    ],
)
_Aliases = msgspec.defstruct(
    "_Aliases",
    [
        (f"l{place}", list[_Text], msgspec.field(default_factory=list, name=code))
        for place, code in enumerate(LANGUAGES[:2])
    ],
)


class _Sites(msgspec.Struct):
    enwiki: _Title | None = None


class _Entity(msgspec.Struct):
    id: str
    type: str = "item"
    labels: _Labels = msgspec.field(default_factory=_Labels)  # type: ignore[valid-type]
    aliases: _Aliases = msgspec.field(default_factory=_Aliases)  # type: ignore[valid-type]
    claims: _Claims = msgspec.field(default_factory=_Claims)  # type: ignore[valid-type]
    sitelinks: _Sites = msgspec.field(default_factory=_Sites)


_decoder = msgspec.json.Decoder(_Entity)


class UnreadableLine(ValueError):
    """A line of which no row is made, with the reason that is counted."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class WikidataRows(NamedTuple):
    """The rows of a block of lines by table, and counts by reason."""

    tables: dict[str, list[TableRow]]
    counts: Counter[str]


def parse_lines(block: bytes, left_out: list[SkippedLine] | None = None) -> WikidataRows:
    """Parse entity lines; count every line and statement that is not usable.

    Args:
        block: whole lines.
        left_out: gets the place of each line that cannot be read.
    """
    tables: dict[str, list[TableRow]] = {
        name: [] for name in ("entities", "names", "claims", "dates", "uncertain")
    }
    counts: Counter[str] = Counter()
    dates: set[int] = set()
    for number, line in enumerate(block.split(b"\n")):
        try:
            entity = _parse_line(line, counts)
            if entity is not None:
                _add_entity(entity, tables, counts, dates)
        except UnreadableLine as error:
            counts[error.reason] += 1
            if left_out is not None:
                left_out.append(SkippedLine(number, error.reason))
    return WikidataRows(tables, counts)


def _parse_line(line: bytes, counts: Counter[str]) -> _Entity | None:
    text = line.strip().rstrip(b",")
    if text in (b"", b"[", b"]"):
        return None
    try:
        entity = _decoder.decode(text)
    except (msgspec.DecodeError, RecursionError, ValueError):
        entity = _parse_odd(text, counts)
    counts["entity lines"] += 1
    if entity.type != "item" or entity.id[:1] != "Q" or not entity.id[1:].isdecimal():
        counts["not an item"] += 1
        return None
    return entity


def _parse_odd(text: bytes, counts: Counter[str]) -> _Entity:
    """Read an entity of another shape (`[]` for empty maps, values of another kind)."""
    try:
        raw = json.loads(text.decode("utf-8", errors="replace").strip("[]\t\r ,") or "null")
    except ValueError:
        raise UnreadableLine("undecodable line") from None
    except RecursionError:
        raise UnreadableLine("line nested too deeply") from None
    if not isinstance(raw, dict) or not isinstance(raw.get("id"), str):
        raise UnreadableLine("line is no entity")
    counts["entity read the slow way"] += 1
    plain: dict[str, Any] = {"id": raw["id"], "type": str(raw.get("type", "item"))}
    shapes = {"labels": _Labels, "aliases": _Aliases, "sitelinks": _Sites}
    for part, shape in shapes.items():
        kept = {}
        for key, value in _as_map(raw.get(part)).items():
            if _converts({key: value}, shape):
                kept[key] = value
        plain[part] = kept
    plain["claims"] = {
        key: _sound_claims(value, counts)
        for key, value in _as_map(raw.get("claims")).items()
        if key in _DECODED
    }
    entity = msgspec.convert(plain, _Entity)
    try:
        msgspec.json.encode(entity)
    except UnicodeEncodeError:  # only this reader lets such escapes pass
        raise UnreadableLine("half a surrogate pair in a text") from None
    return entity


def _sound_claims(statements: object, counts: Counter[str]) -> list[Any]:
    kept = []
    for statement in statements if isinstance(statements, list) else []:
        if not isinstance(statement, dict):
            counts["statement of unknown shape"] += 1
            continue
        plain = {key: statement[key] for key in ("mainsnak", "rank", "id") if key in statement}
        qualifiers = _as_map(statement.get("qualifiers"))
        plain["qualifiers"] = {
            key: msgspec.Raw(b"[]") if key == "P582" else value
            for key, value in qualifiers.items()
            if key == "P582" or _converts({key: value}, _Qualifiers)
        }
        if _converts(plain, _Claim):
            kept.append(msgspec.convert(plain, _Claim))
        elif _converts(plain | {"mainsnak": {"snaktype": "somevalue"}}, _Claim):
            # A value of a kind that the relation cannot have: present, but not usable.
            kept.append(_Claim(_Snak("somevalue"), str(plain.get("rank", "normal"))))
        else:
            counts["statement of unknown shape"] += 1
    return kept


def _as_map(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _converts(value: object, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


def _label(entity: _Entity) -> str | None:
    for place in range(len(LANGUAGES)):
        text: _Text | None = getattr(entity.labels, f"l{place}")
        if text is not None and text.value.strip():
            return text.value.strip()
    return None


def _add_entity(
    entity: _Entity, tables: dict[str, list[TableRow]], counts: Counter[str], dates: set[int]
) -> None:
    qid = as_bigint(entity.id[1:])
    if qid is None:
        raise UnreadableLine("entity id out of range")
    label = _label(entity)
    if label is None:
        counts["no English label"] += 1
    else:
        site = entity.sitelinks.enwiki
        title = None if site is None or "#" in site.title else site.title
        key = page_key(title) if title else None
        tables["entities"].append((qid, label, normalize(label), key or None))
        tables["names"].extend(_names(qid, entity, label, title))
    _add_claims(qid, entity, tables, counts, dates)


def _names(qid: int, entity: _Entity, label: str, title: str | None) -> Iterator[TableRow]:
    """Return each distinct name once: label, page title, aliases, demonyms in this order."""
    given = [("label", label)]
    if title:
        given.append(("title", bare_title(title.replace("_", " "))))
    for place in range(2):
        given += [("alias", text.value) for text in getattr(entity.aliases, f"l{place}")]
    for claim in getattr(entity.claims, f"P{DEMONYM}"):
        value = claim.mainsnak.datavalue and claim.mainsnak.datavalue.value
        if value and value.text and value.language in ("en", "mul") and claim.rank in _RANKS:
            given.append(("demonym", value.text))
    seen: set[tuple[str, bool]] = set()
    for prio, (kind, name) in enumerate(given):
        norm = normalize(name)
        unsafe = kind != "label" and (len(norm) < 4 or norm.strip().isdecimal())
        unsafe = unsafe or (kind != "label" and norm.strip() in STOP_NAMES)
        if norm and not unsafe and (norm, kind == "demonym") not in seen:
            seen.add((norm, kind == "demonym"))
            yield qid, norm, name.strip(), kind, prio


def _add_claims(
    qid: int,
    entity: _Entity,
    tables: dict[str, list[TableRow]],
    counts: Counter[str],
    dates: set[int],
) -> None:
    for number in (*_ITEMS, *TIME_RELATIONS):
        statements: list[_Claim] = getattr(entity.claims, f"P{number}")
        if not statements:
            continue
        ranks = [_RANKS.get(claim.rank, 0) for claim in statements]
        best = max(ranks)
        for place, (claim, rank) in enumerate(zip(statements, ranks, strict=True)):
            if rank == 0:
                counts["statement deprecated"] += 1
                continue
            if rank < best:
                counts["statement below the best rank"] += 1
            target = _object(claim, number in TIME_RELATIONS, tables, counts, dates)
            ended = int(claim.qualifiers is not None and bool(bytes(claim.qualifiers.end)))
            stmt = claim.id or f"Q{qid}-P{number}-{place}"
            tables["claims"].append((qid, number, target, int(rank == best), stmt, ended))
            if number in TIME_RELATIONS and target is not None and rank == best:
                doubt = doubtful_days(claim.mainsnak, claim.qualifiers, date_of_key(target))
                if doubt is not None:
                    counts["date marked as uncertain"] += 1
                    tables["uncertain"].append((qid, number, *doubt))


def _object(
    claim: _Claim,
    timed: bool,
    tables: dict[str, list[TableRow]],
    counts: Counter[str],
    dates: set[int],
) -> int | None:
    snak = claim.mainsnak
    if snak.snaktype != "value" or snak.datavalue is None:
        counts[
            f"statement with {snak.snaktype if snak.snaktype != 'value' else 'no datavalue'}"
        ] += 1
        return None
    value = snak.datavalue.value
    if not timed:
        number: int | str | None = value.numeric if value.id is None else None
        if value.id and value.id[0] == "Q" and value.id[1:].isdecimal():
            number = value.id[1:]
        if number is None:
            counts["statement value of another kind"] += 1
            return None
        target = as_bigint(number)
        if target is None:
            counts["statement with an id out of range"] += 1
        return target
    date = parse_wikidata_time(value.time or "", value.precision or 0, value.calendarmodel)
    if date is None:
        counts["date coarser than a year or out of range"] += 1
        return None
    _add_date(date, tables, dates)
    return date.key


def _add_date(date: WikidataDate, tables: dict[str, list[TableRow]], seen: set[int]) -> None:
    """Add a date and its year, once per block."""
    for one in dict.fromkeys((date, date.at(9))):
        if one.key in seen:
            continue
        seen.add(one.key)
        low, high = interval(one)
        tables["dates"].append((one.key, one.year, one.at(9).key, low, high, one.precision))


_UNSURE_DAYS = 3653  # ten years around a date of "circa" and the like
_UNITS = {11: 1, 10: 31, 9: 366}  # days of a unit of `before` and `after`, by precision


def doubtful_days(
    snak: _Snak, qualifiers: _Qualifiers | None, date: WikidataDate
) -> tuple[int, int] | None:
    """Return the days that an uncertain date may mean; None for a date that nothing doubts.

    An earliest and a latest date bound it; without them it may be ten years off.
    """
    low, high = interval(date)
    value = snak.datavalue.value if snak.datavalue else _Value()
    unit = _UNITS[date.precision]
    low, high = low - unit * max(0, value.before), high + unit * max(0, value.after)
    if qualifiers is None:
        return (low, high) if value.before > 0 or value.after > 0 else None
    bounds = [
        [interval(day) for snak in snaks if (day := _day_of(snak)) is not None]
        for snaks in (qualifiers.earliest, qualifiers.latest)
    ]
    marks = (qualifiers.circumstances, qualifiers.nature, qualifiers.heuristic, qualifiers.floruit)
    if not (any(marks) or any(bounds)):
        return (low, high) if value.before > 0 or value.after > 0 else None
    first = min((one[0] for one in bounds[0]), default=low - _UNSURE_DAYS)
    last = max((one[1] for one in bounds[1]), default=high + _UNSURE_DAYS)
    return min(low, first), max(high, last)


def _day_of(snak: _Snak) -> WikidataDate | None:
    value = snak.datavalue.value if snak.datavalue else None
    if value is None or value.time is None:
        return None
    return parse_wikidata_time(value.time, value.precision or 0, value.calendarmodel)
