"""A ledger of named shortcuts: rules that answer questions without the reasoning that they ask for.

In: examples with their contexts. Out: each shortcut's answers, how often it is right, and a
certificate: no known shortcut is right in more than 55% of the two-way choices (two names, or yes
and no) of a question type. A shortcut reads the question and the context alone; where it does not
apply, its answer is "".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from twowiki.data.configs import SET_TYPES
from twowiki.data.dates import DATE
from twowiki.data.schema import HOTPOT_TYPES, TWO_WIKI_TYPES, Example, Paragraph
from twowiki.metric.normalization import normalize_answer
from twowiki.models.text import bare_title

CHANCE_BOUND = 55.0  # percent
_FEWEST = 30  # answers below which a share says nothing
_YEAR = re.compile(r"\b1\d{3}\b|\b20\d\d\b")
_PICKS = re.compile(r"(?:which|who|was .* or .* born first|does .* or .*)\b", re.I)
LATER = ("later", "more recently", "younger", "longer", "greater age", "more directors",
         "more producers")  # fmt: skip
_DEMONYM = re.compile(r"\b(?:is|was|are|were) an? (?:\w+ )??(?:\d{4} )?([A-Z][a-z]+)")
_NAME = re.compile(
    r"[A-ZÀ-Þ][\w'’-]*(?: (?:of|the|de|di|von|van|al|wa) | )?(?:[A-ZÀ-Þ][\w'’-]* ?)*"
)


class Asked(Protocol):
    """What a shortcut sees: an example, or a sample whose context holds its gold pages."""

    @property
    def question(self) -> str: ...  # noqa: D102
    @property
    def context(self) -> tuple[Paragraph, ...]: ...  # noqa: D102


class _Reading(NamedTuple):
    """A question in lower case, whether it picks one of two, and the paragraphs that it names."""

    question: str
    picks: bool
    named: tuple[Paragraph, ...]
    context: tuple[Paragraph, ...]

    def choose(self, values: Sequence[int]) -> str:
        """Return the name of the lower value, or of the higher one where the question asks so."""
        if not self.picks or len(values) != 2 or values[0] == values[1] or 0 in values:
            return ""
        later = any(word in self.question for word in LATER)
        return self._name((values[0] < values[1]) == later)

    def _name(self, second: bool) -> str:
        title = self.named[int(second)].title
        return title if title.casefold() in self.question else bare_title(title)


def named_paragraphs(question: str, context: Sequence[Paragraph]) -> tuple[Paragraph, ...]:
    """Return the paragraphs whose title, or its name alone, stands in a question, in its order."""
    left = question.casefold()
    found: list[tuple[int, Paragraph]] = []
    for paragraph in sorted(context, key=lambda one: -len(one.title)):
        whole = paragraph.title.casefold()
        name = bare_title(whole)  # the start of it
        if name and name in left:
            name = whole if whole in left else name
            place = left.find(name)
            left = left[:place] + "#" * len(name) + left[place + len(name) :]
            found.append((place, paragraph))
    return tuple(paragraph for _, paragraph in sorted(found, key=lambda entry: entry[0]))


def _read(item: Asked) -> _Reading:
    named = named_paragraphs(item.question, item.context)
    lower = item.question.casefold()
    return _Reading(lower, bool(_PICKS.match(lower)), named, item.context)


def _first_year(paragraph: Paragraph) -> int:
    match = _YEAR.search(" ".join(paragraph.sentences[:2]))
    return int(match[0]) if match else 0


def _film_year(reading: _Reading) -> str:
    """Of two films, the older one has the older director."""
    if not re.search(r"\b(?:director|producer)s?\b", reading.question):
        return ""
    if " more directors" in reading.question or " more producers" in reading.question:
        return ""
    return reading.choose([_first_year(paragraph) for paragraph in reading.named])


def _birth_year(reading: _Reading) -> str:
    """Of two people, the one who was born first died first, and the other one lived longer."""
    if not re.search(r"\b(?:died|lived|age)\b", reading.question) or "film" in reading.question:
        return ""
    return reading.choose([_first_year(paragraph) for paragraph in reading.named])


def _same_demonym(reading: _Reading) -> str:
    """Directors of films of one nationality have it too."""
    if reading.picks or not re.search(r"\b(?:director|producer)s?\b", reading.question):
        return ""
    found = [_DEMONYM.search(page.sentences[0]) for page in reading.named if page.sentences]
    words = [match[1] for match in found if match]
    return ("yes" if words[0] == words[1] else "no") if len(words) == 2 else ""


def _shared_surname(reading: _Reading) -> str:
    """Whoever shares the last name is the answer; two who share it have everything in common."""
    if len(reading.named) == 2 and not reading.picks:
        one, two = (set(bare_title(page.title).split()) for page in reading.named)
        return "yes" if any(len(word) > 3 for word in one & two) else "no"
    if len(reading.named) != 1:
        return ""
    last = bare_title(reading.named[0].title).split(",")[0].split()[-1]
    others = (page.title for page in reading.context if page is not reading.named[0])
    shared = [bare_title(title) for title in others if last in bare_title(title).split()]
    return shared[0] if shared else ""


def _first_sentence(reading: _Reading) -> str:
    """Return the first date or name in the first sentence of the page that the question names."""
    if len(reading.named) != 1:
        return ""
    return _first_value(reading, reading.named[0])


def _linked_title(reading: _Reading) -> str:
    """Return the first date or name of the only other page that the named page mentions."""
    if len(reading.named) != 1:
        return ""
    text = " ".join(reading.named[0].sentences).casefold()
    others = (page for page in reading.context if page is not reading.named[0])
    linked = [page for page in others if bare_title(page.title).casefold() in text]
    return _first_value(reading, linked[0]) if len(linked) == 1 else ""


def _first_value(reading: _Reading, page: Paragraph) -> str:
    text = " ".join(page.sentences)[:600]
    if reading.question.startswith("when") or "date of" in reading.question:
        date = DATE.search(text)
        return date[0] if date else ""
    own = bare_title(page.title).casefold()
    for match in _NAME.finditer(text):
        name = match[0].strip()
        known = {"he", "she", "it", "his", "her", "the", "in", "a"}
        if (
            name.casefold() not in own
            and name.casefold() not in known
            and (name.casefold() not in reading.question)
        ):
            return name
    return ""


def _first_named(reading: _Reading) -> str:
    """Return the name that the question names first, or yes."""
    if len(reading.named) != 2:
        return ""
    return reading._name(False) if reading.picks else "yes"


SHORTCUTS: dict[str, Callable[[_Reading], str]] = {
    "film year": _film_year,
    "birth year": _birth_year,
    "same demonym": _same_demonym,
    "shared surname": _shared_surname,
    "linked title": _linked_title,
    "first sentence": _first_sentence,
    "first named": _first_named,
}
_KINDS = tuple(dict.fromkeys((*TWO_WIKI_TYPES, *SET_TYPES, *HOTPOT_TYPES)))
TWO_WAY = ("comparison", "bridge_comparison")


def shortcut_answers(item: Asked, names: Iterable[str] = tuple(SHORTCUTS)) -> dict[str, str]:
    """Return what each shortcut, or each of some, answers; "" where it does not apply."""
    reading = _read(item)
    return {name: SHORTCUTS[name](reading) for name in names}


def measure_shortcuts(
    examples: Sequence[Example], learned: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Return how often each shortcut is right where it answers, and the certificate.

    Args:
        examples: with gold.
        learned: the answers of other shortcuts, by name, one for each of the first examples.

    Returns:
        `shortcuts`: by name and question type, the number of `answered` questions and the percent
        of them that are `right`; `certificate`: see `_certificate`.
    """
    answers: dict[str, list[str]] = {name: [] for name in SHORTCUTS}
    for example in examples:
        for name, text in shortcut_answers(example).items():
            answers[name].append(text)
    golds = [normalize_answer(example.answer or "") for example in examples]
    ledger: dict[str, Any] = {}
    for name, texts in {**answers, **learned}.items():
        answered: Counter[str | None] = Counter()
        right: Counter[str | None] = Counter()
        for text, one, gold in zip(texts, examples, golds, strict=False):
            if text:
                answered[one.type] += 1
                right[one.type] += normalize_answer(text) == gold
        ledger[name] = {
            kind: {
                "answered": answered[kind],
                "right": round(100 * right[kind] / answered[kind], 2),
            }
            for kind in _KINDS
            if answered[kind]
        }
    return {"shortcuts": ledger, "certificate": _certificate(ledger)}


def _certificate(ledger: Mapping[str, Mapping[str, Mapping[str, float]]]) -> dict[str, Any]:
    """Return the best shortcut on two-way choices, and whether it stays within the bound."""
    shares = [
        (row["right"], name, kind)
        for name, rows in ledger.items()
        for kind, row in rows.items()
        if kind in TWO_WAY and row["answered"] >= _FEWEST
    ]
    if not shares:
        return {"bound": CHANCE_BOUND, "holds": False, "highest": None}
    right, name, kind = max(shares)
    return {
        "bound": CHANCE_BOUND,
        "holds": right <= CHANCE_BOUND,
        "highest": {"shortcut": name, "type": kind, "right": right},
    }


def render_shortcuts(measured: Mapping[str, Any]) -> str:
    """Render the ledger as a table of text, and the certificate as a line."""
    rows = measured["shortcuts"].values()
    kinds = [kind for kind in _KINDS if any(kind in row for row in rows)]
    heads = "".join(f"{kind:>19}" for kind in kinds)
    lines = [f"{'right of answered':18}{heads}"]
    for name, rows in measured["shortcuts"].items():
        cells = [
            f"{rows[kind]['right']:.1f} of {rows[kind]['answered']:,}" if kind in rows else "-"
            for kind in kinds
        ]
        lines.append(f"{name:18}" + "".join(f"{cell:>19}" for cell in cells))
    return "\n".join([*lines, certificate_line(measured["certificate"])])


def certificate_line(certificate: Mapping[str, Any]) -> str:
    """Return the certificate as a sentence."""
    highest = certificate["highest"]
    if highest is None:
        return "certificate: too few two-way choices to measure shortcuts"
    state = "no known shortcut" if certificate["holds"] else "NOT GIVEN: a known shortcut is"
    return (
        f"certificate: {state} above {certificate['bound']:.0f}% on two-way choices (highest: "
        f"{highest['shortcut']}, {highest['right']:.1f}% of {highest['type']})"
    )
