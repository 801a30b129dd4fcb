"""The names under which language models give their answer, supporting sentences and triples. Pure.

One table for all forms: keys of JSON and YAML, tags, headings, arguments of a call.
"""

from __future__ import annotations

import re
from functools import lru_cache

ANSWER, FACTS, TRIPLES = "answer", "facts", "triples"
_NAMES = {
    FACTS: """
        supporting_facts supporting_fact supporting_sentences supporting_sentence support_sentences
        supporting_evidence_sentences supports support supporting sp facts fact evidence_sentences
        relevant_sentences cited_sentences citations citation sources references
    """,
    TRIPLES: """
        evidences evidence evidence_triples evidence_triple triples triple triplets triplet
        reasoning_triples reasoning_path reasoning_chain evidence_chain evidence_path
        chain_of_evidence supporting_triples knowledge_triples knowledge_graph kg relations paths
        path chain spo
    """,
}
_PART = {name: part for part, names in _NAMES.items() for name in names.split()}
_CLEAR = "supporting_facts supporting_sentences sp evidences evidence_triples triples".split()
_FINAL = "final_answer finalanswer final_short_answer final".split()
_ANSWERS = "answer answers short_answer ans prediction predicted_answer exact_answer".split()
# what may be an answer where nothing better is named
_WEAK = """
    response output result reply solution answer_text final_response final_output final_result
    action_input value box
""".split()
_NOT_THE_ANSWER = set(
    """
    intermediate sub question candidate candidates possible previous first reason reasoning
    rationale explanation type id ids confidence is sentence evidence wrong draft context score
    correct source partial initial aliases alias other length format has no steps process long
    """.split()
)
FINISHING = """
    finish final_answer submit submit_answer final answer respond give_answer return_answer
    output_answer provide_answer complete
""".split()
# "answer" in languages that models think in
_FOREIGN = """
    \u7b54\u6848 \u6700\u7ec8\u7b54\u6848 \u6700\u7d42\u7b54\u6848 \u56de\u7b54
    r\u00e9ponse antwort respuesta resposta risposta
    \u043e\u0442\u0432\u0435\u0442 \ub2f5\ubcc0
""".split()


def plain_name(name: object) -> str:
    """Return a name in one form: `Supporting-Facts` is `supporting_facts`."""
    return _plain(str(name)[:60])


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", text)
    return re.sub(r"[^a-z]+", "_", text.lower()).strip("_")


def part_of(name: object, *, weak: bool = False) -> tuple[str, int] | None:
    """Return the part that a name stands for, and the rank of the name: a higher one counts.

    Args:
        name: a key, tag or heading.
        weak: also names such as `response`, which may be an answer where none is named.
    """
    if isinstance(name, str) and name.strip().lower() in _FOREIGN:
        return ANSWER, 2
    plain = plain_name(name)
    if plain in _PART:
        return _PART[plain], 3 if plain in _CLEAR else 2
    if plain in _FINAL:
        return ANSWER, 3
    if plain in _ANSWERS:
        return ANSWER, 2
    words = plain.split("_")
    if "answer" in words and len(words) <= 4 and not _NOT_THE_ANSWER.intersection(words):
        return ANSWER, 3 if "final" in words else 1
    if weak and plain in _WEAK:
        return ANSWER, 0
    return None
