"""Cut a question into sentences, and find the question sentence: the last one.

In: the text of a question. Out: sentences as they stand. Made for exam questions: it does not cut
after "U.S.", "Dr." or an initial, nor within "3.5 kg", and a bulleted list stays in its sentence.
"""

from __future__ import annotations

import re

# A sentence ends with . ? or !, maybe a closing quote or bracket, before a space and a start.
_BREAK = re.compile(
    r"(?P<end>[.?!]+[\"'\u201d\u2019)\]]*)\s+(?=[\"'\u201c\u2018(\[]?[A-Z0-9_]|[\"\u201c\u2018])"
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"'\u201c])(?:[A-Z]|(?:[A-Za-z]\.)+[A-Za-z]"
    r"|Dr|Mr|Mrs|Ms|Mt|Ft|St|Prof|Jr|Sr|No|Fig|vs|etc|approx|ca|cf|e\.g|i\.e)\.$"
)
_SPACE = re.compile(r"\s+")
# After these a capital letter begins a sentence all the same: "... in the U.S. What is ...?"
_OPENERS = re.compile(r"(?:What|Which|How|Why|When|Where|Who|Name|Describe|If|The|This|These)\b")


def split_question_sentences(text: str) -> list[str]:
    """Cut a text into sentences; spaces between words become one space, nothing else changes."""
    flat = _SPACE.sub(" ", text).strip()
    sentences: list[str] = []
    start = 0
    for match in _BREAK.finditer(flat):
        head = flat[start : match.end("end")]
        if _ABBREVIATION.search(head) and not _OPENERS.match(flat, match.end()):
            continue
        sentences.append(head)
        start = match.end()
    if start < len(flat):
        sentences.append(flat[start:])
    return sentences


def question_sentence(text: str) -> str:
    """Give the last sentence, which an exam question asks with; empty for an empty text."""
    sentences = split_question_sentences(text)
    return sentences[-1] if sentences else ""


def asks_earlier(text: str) -> bool:
    """Whether the last sentence is no question but an earlier one is."""
    sentences = split_question_sentences(text)
    return (
        len(sentences) > 1
        and not _is_question(sentences[-1])
        and any(_is_question(sentence) for sentence in sentences[:-1])
    )


def _is_question(sentence: str) -> bool:
    return sentence.rstrip("\"'\u201d\u2019)] ").endswith("?")
