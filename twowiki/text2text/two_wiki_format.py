"""A multi-hop question as text, and its answer, supporting sentences and triples as text. Pure.

In: `$question$ = Q ; $context$ = Title: [1] sentence [2] sentence Title: [3] ...`, sentences
numbered through all paragraphs. Out: `$answer$ = A ; $support$ = 1 3 ; $evidence$ = S | R | O ||
S | R | O`. An output is parsed part by part, even where some of it is broken; a number without a
sentence or an incomplete triple is dropped and counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from twowiki.data.schema import Example, Fact, Prediction, Triple
from twowiki.text2text.arc_da_format import largest_fit, one_line

_SLOT = re.compile(r"\$\s*(answer|support|evidence)\s*\$\s*=?", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")
_BAR, _BROKEN_BAR = "|", "\u00a6"  # a bar within a name is written as a broken one
_MOST_DIGITS = 6


class FittedExample(NamedTuple):
    """A question as text, its number of sentences, whether some are left out, whether it fits."""

    text: str
    sentences: int
    is_cut: bool
    too_long: bool


class Parsed(NamedTuple):
    """A prediction, and what of the output could not be used, by reason."""

    prediction: Prediction
    faults: Counter[str]


def render_example(example: Example, kept: int | None = None) -> str:
    """Return a question with its context.

    Args:
        example: the question; its gold and its id are left out.
        kept: most sentences: first ones of all paragraphs, then second ones, ...
    """
    order = _reading_order(example)
    shown = set(order if kept is None else order[:kept])
    parts: list[str] = []
    number = 0
    for paragraph in example.context:
        written = []
        for sentence in paragraph.sentences:
            number += 1
            if number in shown:
                written.append(f"[{number}] {one_line(sentence)}")
        parts.append(" ".join([f"{one_line(paragraph.title)}:", *written]))
    return f"$question$ = {one_line(example.question)} ; $context$ = {' '.join(parts)}".rstrip()


def fit_example(example: Example, *, budget: int, measure: Callable[[str], int]) -> FittedExample:
    """Return a question with as much of its context as fits.

    The first sentences of a summary matter most, so the last ones of long paragraphs go first.

    Args:
        example: the question.
        budget: most tokens.
        measure: returns the tokens of an input.
    """
    total = len(_reading_order(example))
    kept = largest_fit(total, lambda count: measure(render_example(example, count)) <= budget)
    text = render_example(example, kept)
    return FittedExample(text, kept, kept < total, kept == 0 and measure(text) > budget)


def render_gold(example: Example) -> str:
    """Return the gold as a model's target.

    Supporting facts that are not sentences of the context cannot be predicted, and are left out.
    """
    numbers = {fact: number for number, fact in enumerate(numbered_facts(example), start=1)}
    support = [str(numbers[fact]) for fact in example.facts if fact in numbers]
    triples = [f" {_BAR} ".join(map(_written, triple)) for triple in example.triples]
    return (
        f"$answer$ = {_plain(example.answer or '')} ; $support$ = {' '.join(support)} ; "
        f"$evidence$ = {f' {_BAR}{_BAR} '.join(triples)}"
    ).rstrip()


def parse_prediction(output: str, example: Example) -> Parsed:
    """Return the prediction in a model's output.

    Args:
        output: its text.
        example: the question; its context gives the sentence numbers their meaning.

    Returns:
        The prediction; missing parts are empty, and a text without any slot is the answer alone.
    """
    faults: Counter[str] = Counter()
    slots = _slots(output)
    if slots is None:
        faults["no form"] += 1
        return Parsed(Prediction(one_line(output)), faults)
    for name in ("answer", "support", "evidence"):
        faults[f"no {name}"] += name not in slots
    facts = numbered_facts(example)
    support: dict[Fact, None] = {}
    for digits in _NUMBER.findall(slots.get("support", "")):
        number = int(digits) if len(digits) <= _MOST_DIGITS else 0
        if 1 <= number <= len(facts):
            support[facts[number - 1]] = None
        else:
            faults["support without a sentence"] += 1
    triples: dict[Triple, None] = {}
    for part in re.split(r"\|\s*\|", slots.get("evidence", "")):
        cells = [one_line(cell).replace(_BROKEN_BAR, _BAR) for cell in part.split(_BAR)]
        if len(cells) == 3 and all(cells):
            triples[Triple(*cells)] = None
        elif any(cells):
            faults["incomplete triple"] += 1
    prediction = Prediction(slots.get("answer", ""), tuple(support), tuple(triples))
    return Parsed(prediction, +faults)


def numbered_facts(example: Example) -> list[Fact]:
    """Return the sentences as facts, in the order of their numbers, which start at 1."""
    return [
        Fact(paragraph.title, position)
        for paragraph in example.context
        for position in range(len(paragraph.sentences))
    ]


def _reading_order(example: Example) -> list[int]:
    """Return the numbers of sentences with a word, in the order in which they are kept."""
    ranked: list[tuple[int, int]] = []
    number = 0
    for paragraph in example.context:
        for position, sentence in enumerate(paragraph.sentences):
            number += 1
            if sentence.strip():
                ranked.append((position, number))
    return [number for _, number in sorted(ranked)]


def _slots(output: str) -> dict[str, str] | None:
    marks = list(_SLOT.finditer(output))
    if not marks:
        return None
    ends = [mark.start() for mark in marks[1:]] + [len(output)]
    found: dict[str, str] = {}
    for mark, end in zip(marks, ends, strict=True):
        value = one_line(output[mark.end() : end])
        last = end == len(output)
        found.setdefault(mark[1].lower(), value if last else value.removesuffix(";").strip())
    return found


def _plain(text: str) -> str:
    """Return a value that is not parsed as the name of a slot."""
    return _SLOT.sub(lambda mark: mark[0].replace("$", "$ ", 1), one_line(text))


def _written(cell: str) -> str:
    return _plain(cell).replace(_BAR, _BROKEN_BAR)
