"""Split exam questions into sentences, and find the question sentence: the last one.

In: the text of a question. Out: its sentences, unchanged. There is no break after "U.S.", "Dr." or
an initial, nor within "3.5 kg", and a bulleted list stays in its sentence. (The sentences of
Wikipedia paragraphs are split in `models.text`, by other rules.)
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
    """Split a text into sentences; runs of white space become one space, nothing else changes."""
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
    """Return the last sentence, which holds an exam's question; empty for an empty text."""
    sentences = split_question_sentences(text)
    return sentences[-1] if sentences else ""


def asks_earlier(text: str) -> bool:
    """Return whether the last sentence is not a question but an earlier one is."""
    sentences = split_question_sentences(text)
    return (
        len(sentences) > 1
        and not _is_question(sentences[-1])
        and any(_is_question(sentence) for sentence in sentences[:-1])
    )


def _is_question(sentence: str) -> bool:
    return sentence.rstrip("\"'\u201d\u2019)] ").endswith("?")
