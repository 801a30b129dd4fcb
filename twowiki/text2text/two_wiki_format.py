"""A multi-hop question as text, and its answer, supporting sentences and triples as text. Pure.

In: `$question$ = Q ; $context$ = Title: [1] sentence [2] sentence Title: [3] ...`, sentences
numbered through all paragraphs. Out: `$answer$ = A ; $support$ = 1 3 ; $evidence$ = S | R | O ||
S | R | O`. What a model says is read part by part, whatever of it is broken; a number that names
no sentence or a triple that is none is dropped and counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from twowiki.data.schema import Example, Fact, Prediction, Triple
from twowiki.text2text.arc_da_format import flat

_SLOT = re.compile(r"\$\s*(answer|support|evidence)\s*\$\s*=?", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")
_BAR, _BROKEN_BAR = "|", "\u00a6"  # a bar within a name is written as a broken one
_MOST_DIGITS = 6


class Linear(NamedTuple):
    """A question as text: how many sentences stand in it, how many there are, whether it fits."""

    text: str
    kept: int
    sentences: int
    too_long: bool


class Parsed(NamedTuple):
    """What a text says, and what in it could not be used, by reason."""

    prediction: Prediction
    faults: Counter[str]


def source_of(example: Example, kept: int | None = None) -> str:
    """Write a question with its context.

    Args:
        example: the question; its gold and its id stay out.
        kept: write only so many sentences: first ones of all paragraphs, then second ones, ...
    """
    order = _reading_order(example)
    shown = set(order if kept is None else order[:kept])
    parts: list[str] = []
    number = 0
    for paragraph in example.context:
        told = []
        for sentence in paragraph.sentences:
            number += 1
            if number in shown:
                told.append(f"[{number}] {flat(sentence)}")
        parts.append(" ".join([f"{flat(paragraph.title)}:", *told]))
    return f"$question$ = {flat(example.question)} ; $context$ = {' '.join(parts)}".rstrip()


def fit_source(example: Example, *, budget: int, measure: Callable[[str], int]) -> Linear:
    """Write a question with as much of its context as fits.

    A summary's first sentences say most, so the last ones of the longest paragraphs go first.

    Args:
        example: the question.
        budget: what `measure` may give at most.
        measure: the length of an input, in tokens.
    """
    total = len(_reading_order(example))
    low, high = 0, total
    if measure(source_of(example)) <= budget:
        low = total
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (
            (middle, high) if measure(source_of(example, middle)) <= budget else (low, middle - 1)
        )
    text = source_of(example, low)
    return Linear(text, low, total, low == 0 and measure(text) > budget)


def target_of(example: Example) -> str:
    """Write the gold that a model is to say.

    Supporting facts that name no sentence of the context cannot be said, and are left out.
    """
    numbers = {fact: number for number, fact in enumerate(facts_of(example), start=1)}
    support = [str(numbers[fact]) for fact in example.supporting_facts if fact in numbers]
    triples = [f" {_BAR} ".join(map(_written, triple)) for triple in example.evidences]
    return (
        f"$answer$ = {_plain(example.answer or '')} ; $support$ = {' '.join(support)} ; "
        f"$evidence$ = {f' {_BAR}{_BAR} '.join(triples)}"
    ).rstrip()


def parse_output(output: str, example: Example) -> Parsed:
    """Read what a model said about a question.

    Args:
        output: its text.
        example: the question, whose context gives the sentence numbers their meaning.

    Returns:
        The prediction; parts that the text does not have are empty, as a text that follows no
        form is the answer alone.
    """
    faults: Counter[str] = Counter()
    slots = _slots(output)
    if slots is None:
        faults["no form"] += 1
        return Parsed(Prediction(flat(output)), faults)
    for name in ("answer", "support", "evidence"):
        faults[f"no {name}"] += name not in slots
    facts = facts_of(example)
    support: dict[Fact, None] = {}
    for digits in _NUMBER.findall(slots.get("support", "")):
        number = int(digits) if len(digits) <= _MOST_DIGITS else 0
        if 1 <= number <= len(facts):
            support[facts[number - 1]] = None
        else:
            faults["support that is no sentence"] += 1
    triples: dict[Triple, None] = {}
    for part in re.split(r"\|\s*\|", slots.get("evidence", "")):
        cells = [flat(cell).replace(_BROKEN_BAR, _BAR) for cell in part.split(_BAR)]
        if len(cells) == 3 and all(cells):
            triples[Triple(*cells)] = None
        elif any(cells):
            faults["evidence that is no triple"] += 1
    prediction = Prediction(slots.get("answer", ""), tuple(support), tuple(triples))
    return Parsed(prediction, +faults)


def facts_of(example: Example) -> list[Fact]:
    """Give each sentence's name, in the order in which they are numbered from 1."""
    return [
        Fact(paragraph.title, place)
        for paragraph in example.context
        for place in range(len(paragraph.sentences))
    ]


def _reading_order(example: Example) -> list[int]:
    """Give the numbers of sentences that hold a word, in the order in which they are let in."""
    ranked: list[tuple[int, int]] = []
    number = 0
    for paragraph in example.context:
        for place, sentence in enumerate(paragraph.sentences):
            number += 1
            if sentence.strip():
                ranked.append((place, number))
    return [number for _, number in sorted(ranked)]


def _slots(output: str) -> dict[str, str] | None:
    marks = list(_SLOT.finditer(output))
    if not marks:
        return None
    ends = [mark.start() for mark in marks[1:]] + [len(output)]
    found: dict[str, str] = {}
    for mark, end in zip(marks, ends, strict=True):
        value = flat(output[mark.end() : end])
        last = end == len(output)
        found.setdefault(mark[1].lower(), value if last else value.removesuffix(";").strip())
    return found


def _plain(text: str) -> str:
    """Keep a value from being read as the name of a slot."""
    return _SLOT.sub(lambda mark: mark[0].replace("$", "$ ", 1), flat(text))


def _written(cell: str) -> str:
    return _plain(cell).replace(_BAR, _BROKEN_BAR)
