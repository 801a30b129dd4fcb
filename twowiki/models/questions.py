"""What a question's words say: which pages it names, what it compares, what kin it asks for.

The answer of a comparison follows from its triples: the question's words, without the names,
decide what is compared (the first or the last date, the longer life, or whether both have one
country), and dates and countries are compared by code; None where anything is missing or undecided.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from .decoding import ScoredTriple
from .text import Span, bare_title, fold, occurrences
from .values import DATED, OF_LIFE, PLACED, compare_dates, country_of, find_date

_SAME = re.compile(r"\b(same|common|share[sd]?)\b.*\b(country|nationalit\w+|citizenship)\b")
_LONGER = re.compile(r"\blived?\b.*\blonger\b")
_LATE = re.compile(r"\b(later|last|latest|younger|youngest|more recently|most recently|newer)\b")
_EARLY = re.compile(r"\b(first|earlier|earliest|older|oldest|before)\b")
_DEATH = re.compile(r"\b(die[sd]?|death|passed away)\b")
# chains of the release's inference rules (Table 10) that a word of kinship asks for
_KIN = tuple(
    (re.compile(rf"\b({words})\b"), tuple(tuple(chain.split()) for chain in chains))
    for words, *chains in (
        ("paternal grandfather", "father father"),
        ("paternal grandmother", "father mother"),
        ("maternal grandfather", "mother father"),
        ("maternal grandmother", "mother mother"),
        ("grandfather", "father father", "mother father"),
        ("grandmother", "father mother", "mother mother"),
        ("grandchild|grandson|granddaughter", "child child"),
        ("father-in-law", "spouse father"),
        ("mother-in-law", "spouse mother"),
        ("(?:sibling|brother|sister)-in-law", "spouse sibling", "sibling spouse"),
        ("(?:child|son|daughter)-in-law", "child spouse"),
        ("uncle|aunt", "father sibling", "mother sibling"),
        ("stepmother", "father spouse"),
        ("stepfather", "mother spouse"),
        ("stepchild|stepson|stepdaughter", "spouse child"),
        ("co-husband|co-wife", "spouse spouse"),
    )
)


def derive_answer(question: str, triples: Sequence[ScoredTriple]) -> tuple[str, int | None] | None:
    """Answer a comparison from its triples.

    Returns:
        "yes" or "no" with None, or the winning subject with the number of its triple; None if
        the question is not a comparison, or the triples do not decide it.
    """
    roots = compared(question, triples)
    if len(roots) != 2:
        return None
    words = without_names(question, [triples[number].subject for number in roots])
    if _SAME.search(words):
        return same_country([values_of(triples, number, PLACED) for number in roots])
    if _LONGER.search(words):
        lives = [life(triples, number) for number in roots]
        if None in lives or lives[0] == lives[1]:
            return None
        winner = int(lives[1] > lives[0])  # type: ignore[operator]
    elif bool(_LATE.search(words)) != bool(_EARLY.search(words)):
        relations = _dates_compared(words)
        dates = [values_of(triples, number, relations) for number in roots]
        order = compare_dates(*(find_date(values[0]) if values else None for values in dates))
        if not order:
            return None
        winner = int((order > 0) != bool(_LATE.search(words)))
    else:
        return None
    return triples[roots[winner]].subject, roots[winner]


def compared(question: str, triples: Sequence[ScoredTriple]) -> list[int]:
    """Return the first triple of each subject that the question names."""
    folded = fold(question)
    first: dict[str, int] = {}
    for number, triple in enumerate(triples):
        if is_named(triple.subject, folded):
            first.setdefault(fold(triple.subject).strip(), number)
    return list(first.values())


def kin_chain(words: str, relations: Sequence[str]) -> Sequence[str]:
    """Return the relations of a chain of two: those that a word of kinship asks for, else as given.

    Args:
        words: the folded question without the names in it.
        relations: what the model takes them for; where a word has several chains, the likest wins.
    """
    chains = next((chains for pattern, chains in _KIN if pattern.search(words)), ())

    def likeness(chain: Sequence[str]) -> int:
        return sum(one == other for one, other in zip(chain, relations, strict=True))

    return max(chains, key=likeness, default=relations)


def is_named(name: str, question: str) -> bool:
    """Return whether a folded question names something as whole words, its brackets aside."""
    return any(_whole_words(question, form) for form in _forms(name))


def named_titles(titles: Sequence[str], question: str) -> list[bool]:
    """Return which titles a folded question names; a name within a longer one does not count."""
    owners: defaultdict[str, list[int]] = defaultdict(list)
    for number, title in enumerate(titles):
        for form in {*_forms(title)} - {""}:
            owners[form].append(number)
    named = [False] * len(titles)
    for form in sorted(owners, key=len, reverse=True):
        for span in _whole_words(question, form):
            question = question[: span.start] + "|" * len(form) + question[span.end :]
            for number in owners[form]:
                named[number] = True
    return named


def _whole_words(question: str, form: str) -> list[Span]:
    def apart(span: Span) -> bool:
        before, after = question[: span.start][-1:], question[span.end :][:1]
        inside = form[0].isalnum() and before.isalnum(), form[-1].isalnum() and after.isalnum()
        return not any(inside)

    return [span for span in occurrences(question, form) if apart(span)]


def without_names(question: str, names: Sequence[str]) -> str:
    """Take names out of a folded question, so that their words do not count."""
    words = fold(question)
    for name in sorted(names, key=len, reverse=True):
        for form in _forms(name):
            words = words.replace(form, " ") if form else words
    return words


def without_brackets(question: str) -> str:
    """Take brackets out of a question: what stands in them tells things of one name apart."""
    return re.sub(r"\s*\([^()]*\)", "", question)


def _forms(name: str) -> tuple[str, str]:
    return fold(name).strip(), fold(bare_title(name)).strip()


def same_thing(one: str, other: str) -> bool:
    """Return whether two names are one, brackets at their ends aside."""
    return fold(bare_title(one.strip())) == fold(bare_title(other.strip()))


def values_of(triples: Sequence[ScoredTriple], root: int, relations: Sequence[str]) -> list[str]:
    """Return the values of a subject under relations: its own, or those of what it points to."""
    subject = triples[root].subject
    own = [triple for triple in triples if same_thing(triple.subject, subject)]
    found = [triple.object for triple in own if triple.relation in relations]
    if found:
        return found
    return [
        triple.object
        for hop in own
        for triple in triples
        if triple.relation in relations and same_thing(triple.subject, hop.object)
    ]


def same_country(values: Sequence[Sequence[str]]) -> tuple[str, None] | None:
    """Return whether two things have a country in common."""
    first, second = ({country_of(value) for value in found} for found in values)
    if not first or not second:
        return None
    return ("yes" if first & second else "no"), None


def life(triples: Sequence[ScoredTriple], root: int) -> float | None:
    """Return how long a subject lived, in years."""
    ends = []
    for relation in OF_LIFE:
        values = values_of(triples, root, (relation,))
        date = find_date(values[0]) if values else None
        if date is None:
            return None
        ends.append(date[0] + max(date[1] - 1, 0) / 12 + max(date[2] - 1, 0) / 366)
    return ends[1] - ends[0]


def _dates_compared(words: str) -> tuple[str, ...]:
    if _DEATH.search(words):
        return ("date of death",)
    if re.search(r"\b(born|birth|older|younger|oldest|youngest)\b", words):
        return ("date of birth",)
    return DATED[2:]
