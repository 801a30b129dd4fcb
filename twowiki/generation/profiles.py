"""What the questions of a data set are like, so that others are drawn to match (`--like`).

A profile holds the shares of question types, of relations within a type, of yes and no, and of
names with a bracket, and the lengths of questions and pages. In: examples, or a profile's JSON; the
one of the release is shipped, each figure with its source. Out: a `Profile`, and distances between
two: half the sum of absolute differences of shares (0 to 100), or a difference of means.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

import msgspec

from twowiki.data.schema import TWO_WIKI_TYPES, Fact, Paragraph, Triple
from twowiki.errors import DataError

RELEASE_PROFILE = "release"
_NOUN = re.compile(r"\b(film|movie|album|song|band)s?\b", re.I)


class Questioned(Protocol):
    """An example, or a sample that becomes one."""

    @property
    def type(self) -> str | None: ...  # noqa: D102
    @property
    def question(self) -> str: ...  # noqa: D102
    @property
    def answer(self) -> str | None: ...  # noqa: D102
    @property
    def context(self) -> tuple[Paragraph, ...]: ...  # noqa: D102
    @property
    def evidences(self) -> tuple[Triple, ...] | None: ...  # noqa: D102
    @property
    def supporting_facts(self) -> tuple[Fact, ...] | None: ...  # noqa: D102


class TypeProfile(msgspec.Struct, kw_only=True):
    """One question type: its share, those of its relations and of names with a bracket.

    `yes` is the share of yes among yes and no; `question_words` an average.
    """

    share: float
    relations: dict[str, float]
    bracketed: float = 0.2
    yes: float = 0.5
    question_words: float = 0.0


class Profile(msgspec.Struct, kw_only=True):
    """What the questions of a data set are like."""

    source: str
    types: dict[str, TypeProfile]
    paragraphs: int = 10
    page_words: float = 0.0
    sources: dict[str, str] = {}


def relations_of(example: Questioned) -> str:
    """Return the relations that a question is about, joined by "|"."""
    relations = [triple.relation for triple in example.evidences or ()]
    if example.type in ("inference", "compositional"):
        pair = [relations[0], relations[-1]] if len(relations) > 1 else relations
        return "|".join(pair)
    unique = sorted(dict.fromkeys(relations), key=lambda name: name not in ("director", "producer"))
    if example.type == "comparison" and unique == ["publication date"]:
        noun = _NOUN.search(example.question)
        word = noun[1].lower() if noun else "film"
        return f"publication date of {'film' if word == 'movie' else word}"
    return "|".join(unique if example.type == "bridge_comparison" else sorted(unique))


def is_bracketed(example: Questioned) -> bool:
    """Return whether the page that a question begins with has a bracket in its title."""
    facts = example.supporting_facts or ()
    return bool(facts) and facts[0].title.endswith(")")


def profile_of(examples: Iterable[Questioned], source: str) -> Profile:
    """Return the profile of examples with gold.

    Raises:
        DataError: there is none.
    """
    kinds: dict[str, _Tally] = defaultdict(_Tally)
    pages = words = paragraphs = 0
    for example in examples:
        if example.type and example.evidences:
            kinds[example.type].add(example)
            paragraphs += len(example.context)
            for page in example.context:
                pages += 1
                words += sum(len(sentence.split()) for sentence in page.sentences)
    total = sum(tally.size for tally in kinds.values())
    if not total:
        raise DataError(
            "has no question with evidences", file=source, remedy="Name a file with gold"
        )
    return Profile(
        source=source,
        types={kind: kinds[kind].profile(total) for kind in TWO_WIKI_TYPES if kind in kinds},
        paragraphs=round(paragraphs / total) or 10,
        page_words=round(words / pages, 1) if pages else 0.0,
    )


class _Tally:
    """Counts over the questions of one type."""

    def __init__(self) -> None:
        self.size = self.bracketed = self.words = 0
        self.relations: Counter[str] = Counter()
        self.closed: Counter[str] = Counter()

    def add(self, example: Questioned) -> None:
        self.size += 1
        self.bracketed += is_bracketed(example)
        self.words += len(example.question.split())
        self.relations[relations_of(example)] += 1
        if example.answer in ("yes", "no"):
            self.closed[example.answer] += 1

    def profile(self, total: int) -> TypeProfile:
        return TypeProfile(
            share=self.size / total,
            relations={name: n / self.size for name, n in self.relations.most_common()},
            bracketed=self.bracketed / self.size,
            yes=self.closed["yes"] / self.closed.total() if self.closed else 0.5,
            question_words=self.words / self.size,
        )


def load_profile(name: str) -> Profile:
    """Return the profile of "release", of a profile's JSON file, or of a data file or folder.

    Raises:
        DataError: a file that is neither.
    """
    if name == RELEASE_PROFILE:
        text = (files("twowiki.generation") / "profiles" / "release.json").read_bytes()
        return msgspec.json.decode(text, type=Profile)
    path = Path(name).expanduser()
    if not path.exists():
        raise DataError(
            "no such file", file=name, remedy=f"Name a data file, a profile, or {RELEASE_PROFILE!r}"
        )
    if path.is_file() and path.suffix == ".json":
        with open(path, "rb") as stream:
            start = stream.read(1)
        if start == b"{":
            try:
                return msgspec.json.decode(path.read_bytes(), type=Profile)
            except msgspec.DecodeError as error:
                remedy = "`twowiki world --profile DATA` prints a profile"
                raise DataError(f"is no profile: {error}", file=path, remedy=remedy) from None
    from twowiki.generation.difficulty import read_gold_examples

    return profile_of(read_gold_examples(path), path.name)


def distances(one: Profile, two: Profile) -> dict[str, float]:
    """Return how far two profiles are apart, each from 0 to 100 or in words."""
    kinds = sorted({*one.types, *two.types})
    relations = yes = bracketed = length = 0.0
    for kind in kinds:
        if kind not in one.types or kind not in two.types:
            relations += 100 * (one.types.get(kind) or two.types[kind]).share
            continue
        a, b = one.types[kind], two.types[kind]
        relations += b.share * _distance(a.relations, b.relations)
        yes = max(yes, 100 * abs(a.yes - b.yes))
        bracketed += 100 * b.share * abs(a.bracketed - b.bracketed)
        length += b.share * abs(a.question_words - b.question_words)
    found = {
        "types": _distance({k: v.share for k, v in one.types.items()},
                           {k: v.share for k, v in two.types.items()}),
        "relations": relations,
        "yes among yes/no": yes,
        "names with a bracket": bracketed,
        "words of a question": length,
    }  # fmt: skip
    if one.page_words and two.page_words:
        found["words of a page"] = abs(one.page_words - two.page_words)
        found["paragraphs"] = abs(one.paragraphs - two.paragraphs)
    return {name: round(value, 2) for name, value in found.items()}


def _distance(one: Mapping[str, float], two: Mapping[str, float]) -> float:
    return 50 * sum(abs(one.get(key, 0.0) - two.get(key, 0.0)) for key in {*one, *two})


def render_distances(found: Mapping[str, Any]) -> str:
    """Render the distances before and after as a table of text."""
    lines = [f"{'distance from ' + found['source']:38}{'before':>10}{'after':>10}"]
    for name, value in found["after"].items():
        before = found["before"].get(name)
        shown = "-" if before is None else f"{before:.2f}"
        lines.append(f"{name:38}{shown:>10}{value:>10.2f}")
    return "\n".join(lines)
