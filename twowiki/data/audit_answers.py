"""Audit of questions and answers: is there one answer, and does it take the pages that it should?

A namesake is a page of the same name but for its bracket. A question that does not write the
bracket may mean either.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from twowiki.data.audit_support import Finding, facts_of, supported_triples, triples_of
from twowiki.data.audit_text import dates_in, name_key, parse_days, places_of, plain
from twowiki.data.schema import Example
from twowiki.models.text import bare_title

_CHAINS = ("compositional", "inference")
# relation -> the words before the name of its object
_BEFORE = {
    "director": r"directed by",
    "producer": r"produced by",
    "composer": r"(?:composed|scored|written) by|music by",
    "performer": r"(?:performed|recorded|sung) by",
    "screenwriter": r"written by",
    "editor": r"edited by",
    "creator": r"created by",
    "founder": r"founded by",
    "child": r"(?:father|mother|parents?) of",
}
_KINDS = frozenset(
    "film album song single novel book play opera series show magazine newspaper band village "
    "river mountain lake island school university airport station company".split()
)
_NOUN_TWICE = re.compile(
    r"\b(film|song|album|band|magazine)\b (?:(?! and | or )[^,?()])*\((?:\d{4} )?\1\)", re.I
)


def check_chain(example: Example) -> Iterator[Finding]:
    """Find chains whose answer is not what their last triple says."""
    if example.type in _CHAINS and triples_of(example) and example.answer:
        last = triples_of(example)[-1].object
        if name_key(last) != name_key(example.answer):
            yield "answer_not_in_chain", f"answer {example.answer!r}, last object {last!r}"


def check_first_paragraph(
    example: Example, names_of: Callable[[str], Iterable[str]] | None = None
) -> Iterator[Finding]:
    """Find chains whose answer stands in the first page already, in any spelling.

    Args:
        example: the question.
        names_of: returns the other names of a Wikidata id.
    """
    if example.type not in _CHAINS or not example.answer or not triples_of(example):
        return
    first = next(iter(supported_triples(example)))
    pages = dict(example.context)
    text = plain(" ".join(pages.get(first.title, ())))
    days = parse_days(example.answer)
    if days is not None:
        same = [words for found, words in dates_in(text) if days.contains(found)]
        if same:
            yield "answer_in_first_paragraph", f"{example.answer!r} as {same[0]!r}"
        return
    names = [example.answer]
    if names_of is not None and example.answer_id:
        names += names_of(example.answer_id)
    folded = name_key(f"{text} .")
    for name in names:
        if len(name) > 2 and any(places_of(name_key(name), folded)):
            how = "" if name == example.answer else f" as {name!r}"
            yield "answer_in_first_paragraph", f"{example.answer!r}{how}"
            return


def check_several(example: Example) -> Iterator[Finding]:
    """Find triples beside whose object the text names a second one ("directed by A and B")."""
    counts = Counter((triple.subject, triple.relation) for triple in triples_of(example))
    for one in supported_triples(example):
        triple = one.triple
        before = _BEFORE.get(triple.relation)
        if before is None or counts[triple.subject, triple.relation] > 1:
            continue
        found = filter(None, (_second(triple.object, before, text) for _, text in one.sentences))
        for text in found:
            yield "several_answers", f"{triple.relation}: {triple.object!r}, the text has {text!r}"


def _second(name: str, before: str, text: str) -> str:
    """Return the words that name another beside this one; "" if there are none."""
    for start, end in places_of(plain(bare_title(name)), text):
        names = re.search(rf"(?:{before}) ((?:[A-Z][\w'.]*,? )*(?:and )?)$", text[:start])
        if names is None:
            continue
        more = re.match(r",? and ((?:[A-Z][\w'.]+ ?){2,})", text[end:])
        if more or names[1].endswith("and "):
            return text[names.start() : end] + (more[0].rstrip() if more else "")
    return ""


def check_namesakes(example: Example) -> Iterator[Finding]:
    """Find gold pages that share their name with another page of the context.

    `namesake_in_context`: the question names the page and does not write its bracket.
    `namesake_of_bridge`: the question does not name it, so that nothing could tell the two apart.
    """
    titles = dict.fromkeys(title for title, _ in example.context)
    groups: dict[str, list[str]] = {}
    for title in titles:
        groups.setdefault(name_key(title), []).append(title)
    question = plain(example.question).casefold()
    folded = name_key(f"{question} .")
    for title in dict.fromkeys(fact.title for fact in facts_of(example)):
        group = groups.get(name_key(title), ())
        others = [
            one
            for one in group
            if one != title
            and not _is_other_kind(one, question)
            and not (one != bare_title(one) and plain(one).casefold() in question)
        ]
        if not others or (title != bare_title(title) and plain(title).casefold() in question):
            continue
        named = any(places_of(name_key(title), folded))
        kind = "namesake_in_context" if named else "namesake_of_bridge"
        yield kind, f"{title!r} and {others[0]!r}"


def _is_other_kind(title: str, question: str) -> bool:
    """Return whether a title's bracket names a kind, and the question asks about another kind."""
    bracket = plain(title)[len(bare_title(plain(title))) :].strip(" ()").casefold().split()
    wanted = _KINDS.intersection(re.findall(r"\w+", question.replace("films", "film")))
    return bool(bracket and bracket[-1] in _KINDS and wanted and bracket[-1] not in wanted)


def check_wording(example: Example) -> Iterator[Finding]:
    """Find questions that name the kind of a thing twice ("film X (film)")."""
    found = _NOUN_TWICE.search(example.question)
    if found:
        yield "noun_twice", repr(found[0])
