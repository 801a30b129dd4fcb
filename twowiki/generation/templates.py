"""Question templates: read from data, filled with names. Pure.

Every function returns all forms that fit, in a fixed order; which one is used is drawn elsewhere.
A form that was released in odd English has two wordings; the style selects one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

import yaml

from twowiki.data.relations import PLURALS

PAPER, CLEAN = "paper", "clean"
_NOUNS = {"animated feature film": "film", "church building": "church", "musical group": "band",
          "railway station": "station"}  # fmt: skip


class Form(NamedTuple):
    """One form of a question with open slots.

    `id` names it in reports; `pick` is "low", "high", or "" for yes/no and bridge questions.
    """

    id: str
    text: str
    pick: str = ""


@cache
def _data(name: str) -> Any:
    text = (files("twowiki.generation") / "templates" / f"{name}.yaml").read_text("utf-8")
    return yaml.safe_load(text)


def _wording(text: str | list[str], style: str) -> str:
    return text if isinstance(text, str) else text[0 if style == PAPER else 1]


def _forms(section: str, block: Mapping[str, Any], label: str, style: str) -> Iterator[Form]:
    for number, form in enumerate(block["forms"], 1):
        yield Form(
            f"{section}/{label}/{number}", _wording(form["text"], style), form.get("pick", "")
        )


def comparison_forms(relation: str, kind: str, style: str) -> list[Form]:
    """Return the forms for a property of a type of entity; "" is any other popular type."""
    for block in _data("comparison"):
        if block["relation"] == relation and kind in block["types"]:
            return list(_forms("comparison", block, f"{kind or 'other'}/{relation}", style))
    return []


@cache
def bridge_comparison_forms(role: str, relation: str, style: str) -> list[Form]:
    """Return the forms for a property of two films' directors or producers."""
    for block in _data("bridge_comparison"):
        if block["relation"] == relation:
            return [
                form._replace(text=form.text.replace("#role", role))
                for form in _forms("bridge_comparison", block, f"{role}/{relation}", style)
            ]
    return []


def inference_forms(word: str, style: str) -> list[Form]:
    """Return the forms for the word of an inferred relation."""
    blocks = _data("inference")
    fitting = [block for block in blocks if word in block["words"]] or blocks[-1:]
    return [
        form._replace(text=form.text.replace("#word", word))
        for form in _forms("inference", fitting[0], word, style)
    ]


def compositional_forms(first: str, second: str, kind: str, style: str) -> list[Form]:
    """Return the forms for a phrase over the first relation and a question over the second.

    Args:
        first: the first relation, or "husband"/"wife" for a spouse.
        second: the second relation.
        kind: the start entity's type; "" where it is not known.
        style: "paper" or "clean".
    """
    data = _data("compositional")
    noun = data["nouns"].get(kind, "")
    named = f"{noun} #x" if noun else "#x"
    forms = []
    seen = set()
    for place, phrase in enumerate(data["phrases"].get(first, ()), 1):
        np = phrase.replace("#1", named)
        bare = np.removeprefix("the ")
        for number, text in enumerate(data["questions"].get(second, ()), 1):
            filled = _wording(text, style).replace("#np", np).replace("#bare", bare)
            if filled not in seen:
                seen.add(filled)
                label = f"compositional/{kind or 'other'}/{first}/{place}/{second}/{number}"
                forms.append(Form(label, filled))
    return forms


def phrases_of(relation: str) -> list[str]:
    """Return the phrases for what a relation leads to; none where there are no words for it."""
    return list(_data("compositional")["phrases"].get(relation, ()))


def chain_phrase(steps: Sequence[str], kind: str) -> str:
    """Return the phrase for what steps lead to from #x, an entity of a type."""
    noun = _data("compositional")["nouns"].get(kind, "")
    phrase = f"{noun} #x" if noun else "#x"
    for step in steps:
        form = phrases_of(step)[-1]  # "the father of", which can be repeated
        phrase = form.replace("#1" if "#1" in form else "#x", phrase)
    return phrase


def chain_forms(steps: Sequence[str], last: str, kind: str, style: str) -> list[Form]:
    """Return the forms of a chain: its steps as one phrase, and a question over the last relation.

    Args:
        steps: the relations before the last one, "husband" or "wife" for a spouse.
        last: the last relation.
        kind: the start entity's type; "" where it is not known.
        style: "paper" or "clean".
    """
    data = _data("compositional")
    phrase = chain_phrase(steps, kind)
    return [
        Form(
            f"chain/{len(steps) + 1}/{last}/{number}",
            _wording(text, style)
            .replace("#np", phrase)
            .replace("#bare", phrase.removeprefix("the ")),
        )
        for number, text in enumerate(data["questions"].get(last, ()), 1)
    ]


def listed_relations(form: str) -> list[str]:
    """Return the relations of questions over listed pages.

    Args:
        form: "intersection", "count" or "superlative".
    """
    return [block["relation"] for block in _data("listed")[form]]


def listed_forms(form: str, relation: str, kind: str) -> list[Form]:
    """Return the forms of a question over listed pages of a kind."""
    return [
        found
        for block in _data("listed")[form]
        if block["relation"] == relation and kind in block["types"]
        for found in _forms("listed", block, f"{form}/{relation}", CLEAN)
    ]


def noun_of(kind: str) -> str:
    """Return the noun that a question uses for a type."""
    return _NOUNS.get(kind, kind)


def plural_of(kind: str) -> str:
    """Return the plural noun of a type; "" for an unknown one."""
    return PLURALS.get(kind, "")


_ODD_END = re.compile(r"^\s|(?:\?\?|\s)$")  # what a clean question does not begin or end with


class _Parsed(NamedTuple):
    """A form's text: its start, each slot with the text after it, and the slots it needs.

    `format` is the text for the operator `%`.
    """

    start: str
    pieces: tuple[tuple[str, str], ...] | None
    needed: tuple[str, ...]
    format: str = ""


@lru_cache(maxsize=1 << 14)
def _parse(text: str, slots: tuple[str, ...]) -> _Parsed:
    """Parse a form's text; without pieces where it has a slot that is not known."""
    # In one pass, so that a name that contains a slot's name is not changed.
    start, *rest = text.split("#")
    names = sorted(slots, key=len, reverse=True)
    needed = tuple(slot for slot in slots if f"#{slot}" in text)
    found = []
    for piece in rest:
        slot = next((name for name in names if piece.startswith(name)), None)
        if slot is None:
            return _Parsed(start, None, needed)
        found.append((slot, piece[len(slot) :]))
    quoted = [f"%({slot})s{after.replace('%', '%%')}" for slot, after in found]
    return _Parsed(start, tuple(found), needed, "".join([start.replace("%", "%%"), *quoted]))


def is_filled(form: Form, slots: Mapping[str, str]) -> bool:
    """Return whether every slot that a form needs is known and not empty."""
    parsed = _parse(form.text, tuple(slots))
    return parsed.pieces is not None and all(map(slots.__getitem__, parsed.needed))


def fill(form: Form, slots: Mapping[str, str], style: str) -> str | None:
    """Fill a form's slots; None where a slot that it needs is empty.

    Clean questions end in one question mark, contain no double space, and no noun before a name
    whose bracket ends in it.
    """
    if not is_filled(form, slots):
        return None
    parsed = _parse(form.text, tuple(slots))
    if style == PAPER:
        return parsed.format % slots
    bracketed = any(name.endswith(")") for name in slots.values())
    question = _without_nouns(parsed, slots) if bracketed else parsed.format % slots
    question = question.strip()
    while question.endswith(("??", "!?", ".?")) and question[-2] == "?":
        question = question[:-1]
    return question


@lru_cache(maxsize=1 << 14)
def _parse_all(texts: tuple[str, ...], slots: tuple[str, ...]) -> str:
    """Return the texts of forms as one for the operator `%`, which zeros separate."""
    return "\0".join(_parse(text, slots).format for text in texts)


def fill_all(forms: Sequence[Form], slots: Mapping[str, str], style: str) -> list[str]:
    """Fill forms whose slots are all known, as `fill` does each of them."""
    if forms and (style == PAPER or not any(name.endswith(")") for name in slots.values())):
        texts = tuple([form.text for form in forms])
        questions = (_parse_all(texts, tuple(slots)) % slots).split("\0")
        if style == PAPER or not any(map(_ODD_END.search, questions)):
            return questions
    return [fill(form, slots, style) or "" for form in forms]


def _without_nouns(parsed: _Parsed, slots: Mapping[str, str]) -> str:
    """Fill a form, without a noun before a name whose bracket ends in it."""
    filled = [parsed.start]
    for slot, after in parsed.pieces or ():
        name = slots[slot]
        if name.endswith(")"):
            before, _, noun = filled[-1].rstrip().rpartition(" ")
            if noun and name.endswith((f"({noun})", f" {noun})")):
                filled[-1] = f"{before} "  # "the director of X (film)", not "of film X (film)"
        filled.append(name + after)
    return "".join(filled)
