"""The answer of a chain from its triples: what the last one leads to.

In: a question and its predicted triples. Out: the triple that ends a chain of two, or None. Real
questions of one hop after another are all answered so; comparisons name both subjects.
"""

from __future__ import annotations

from collections.abc import Sequence

from .comparison_answers import is_named, same_thing
from .decoding import ScoredTriple


def last_of_chain(question: str, triples: Sequence[ScoredTriple]) -> ScoredTriple | None:
    """Return the triple that a chain of two ends in; None where the triples are no such chain.

    The chain begins with the subject that the folded question names; where it names neither, with
    the triple whose object is the other's subject.
    """
    if len(triples) != 2:
        return None
    named = [is_named(triple.subject, question) for triple in triples]
    if all(named):
        return None
    if not any(named):
        named = [
            same_thing(one.object, other.subject)
            for one, other in zip(triples, reversed(triples), strict=True)
        ]
    return triples[named.index(False)] if any(named) and not all(named) else None
