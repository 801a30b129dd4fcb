"""The paper's requirements of a sample, checked on the sample alone: what the queries promise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from twowiki.generation.samples import BRIDGE_TYPES
from twowiki.generation.text import normalize
from twowiki.models.text import bare_title


def fault_of(sample: Mapping[str, Any], paragraphs: int) -> str:
    """Name what is wrong with a sample in the authors' form; "" if nothing is.

    Args:
        sample: question, answer, context, supporting_facts, evidences, type.
        paragraphs: how many its context has to have.
    """
    pages: dict[str, Sequence[str]] = dict(sample["context"])
    if len(pages) != len(sample["context"]):
        return "repeated_title"
    if len(pages) != paragraphs:
        return "number_of_paragraphs"
    if any(not 0 <= sent_id < len(pages.get(title, ())) for title, sent_id in _support(sample)):
        return "unresolved_support"
    sentences = [pages[title][sent_id] for title, sent_id in _support(sample)]
    if not all(_is_in(target, sentences) for _, _, target in sample["evidences"]):
        return "unsupported_object"
    return _bridge_fault(sample, pages) if sample["type"] in BRIDGE_TYPES else _pair_fault(sample)


def _support(sample: Mapping[str, Any]) -> list[tuple[str, int]]:
    return [(title, sent_id) for title, sent_id in sample["supporting_facts"]]


def _is_in(text: str, sentences: Sequence[str]) -> bool:
    """Whether words are in a sentence; spaces inside names may differ."""
    if any(normalize(text) in normalize(sentence) for sentence in sentences):
        return True
    plain = "".join(text.split())
    return any(plain in "".join(sentence.split()) for sentence in sentences)


def _bridge_fault(sample: Mapping[str, Any], pages: Mapping[str, Sequence[str]]) -> str:
    """Check the paper's requirements that keep a question from being answered in one hop."""
    first, second = (" ".join(pages[title]) for title, _ in _support(sample)[:2])
    if sample["answer"] != sample["evidences"][-1][2]:
        return "answer_is_not_the_last_object"
    if normalize(sample["answer"]) in normalize(first):
        return "answer_in_first_paragraph"
    start = sample["evidences"][0][0]
    names = {normalize(start), normalize(bare_title(_support(sample)[0][0]))}
    if any(name in normalize(second) for name in names):
        return "start_in_second_paragraph"
    return ""


def _pair_fault(sample: Mapping[str, Any]) -> str:
    if sample["answer"] in ("yes", "no"):
        return ""
    named = normalize(sample["answer"]) in normalize(sample["question"])
    return "" if named else "answer_not_in_question"
