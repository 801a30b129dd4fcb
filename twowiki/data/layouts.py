"""Records of other tools, told by their keys and brought to the release's keys.

| layout | told by | source |
|---|---|---|
| FlashRAG | `golden_answers` | its data sets of RAG; `metadata` holds what the original had |
| LongBench | `input`, `answers`, `context` as one text | its tasks 2wikimqa, hotpotqa, musique |
| IRCoT | `question_text`, `contexts`, `answers_objects` | its `processed_data` |
| MuSiQue, HippoRAG | `paragraphs`, or a list `contexts` | MuSiQue's files; HippoRAG's samples |

In: a raw record. Out: a record with the release's keys. What a layout lacks is None, never an empty
list, which would state that there are no facts. A paragraph without a cut into sentences is one
sentence; its mark as support stays a mark of the paragraph. Refused: gold under a name that no
layout has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from twowiki.data.configs import HOTPOT_TYPES, KNOWN_FIELDS, TWO_WIKI_TYPES
from twowiki.data.fields import check_spelling, json_type, listed
from twowiki.errors import DataError

_Raw = Mapping[str, Any]
_TYPES = {*TWO_WIKI_TYPES, *HOTPOT_TYPES}
_TEXT_NAMES = ("paragraph_text", "text", "contents", "content")
_RELEASE_FIELDS = ("context", "supporting_facts", "evidences")
_HIPPORAG_ANSWERS = ("answer", "gold_ans", "reference", "obj")  # the first one that is there
_ALIASES = ("answer_aliases", "possible_answers")
_PASSAGE = re.compile(r"^Passage \d+:[ \t]*\n", re.MULTILINE)
_REFERENCE = re.compile(r"(#\d+)")
# columns of Parquet files that hold records of another layout
LAYOUT_FIELDS = frozenset(
    (
        *("golden_answers", "metadata", "input", "answers", "question_id", "question_text"),
        *("contexts", "answers_objects", "paragraphs", "question_decomposition", "gold_ans"),
        *("reference", "obj", "possible_answers"),
    )
)
# names, without case and signs, under which files keep gold answers
_GOLD_NAMES = frozenset(
    (
        *("answers", "goldenanswer", "goldenanswers", "goldanswer", "goldanswers", "gold", "golds"),
        *("goldans", "goldlabel", "groundtruth", "groundtruths", "groundtruthanswer", "gt"),
        *("groundtruthanswers", "gtanswer", "label", "labels", "target", "targets", "reference"),
        *("references", "referenceanswer", "referenceanswers", "correctanswer", "correctanswers"),
        *("expectedanswer", "expectedanswers", "trueanswer", "finalanswer", "answertext"),
        *("possibleanswers", "acceptableanswers", "validanswers", "shortanswer", "shortanswers"),
        *("solution", "solutions", "answersobjects"),
    )
)


def as_release(raw: _Raw) -> _Raw:
    """Return a record with the release's keys; one that has them already comes back as it is.

    Raises:
        DataError: a value of another form than its layout has.
    """
    layout = layout_of(raw)
    if layout is None:
        return raw
    record = {"supporting_facts": None, "evidences": None, **_READERS[layout](raw)}
    if record["_id"] is None:
        fields = ", ".join(map(repr, raw))
        remedy = f"Give each record an 'id'; this one, of {layout}'s layout, has {fields}"
        raise DataError("no id", field="id", remedy=remedy)
    if type(record["_id"]) is int:
        record["_id"] = str(record["_id"])
    return record


def check_fields(raw: _Raw) -> None:
    """Raise for a misspelled field, or for gold under a name that is not read."""
    if not KNOWN_FIELDS.issuperset(raw):
        check_spelling(raw, KNOWN_FIELDS)
    check_gold_names(raw)


def layout_of(raw: Any) -> str | None:
    """Return the name of a record's layout; None for the release's own, and for all others."""
    if not isinstance(raw, Mapping):
        return None
    has_own = any(raw.get(name) is not None for name in _RELEASE_FIELDS)
    flash = raw.get("golden_answers") is not None or raw.get("metadata") is not None
    if "golden_answers" in raw and "question" in raw and flash and not has_own:
        return "FlashRAG"
    if raw.get("question_text") is not None:
        return "IRCoT"
    contexts = raw.get("contexts")  # of objects; anything else is `context`, misspelled
    objects = isinstance(contexts, list) and contexts and isinstance(contexts[0], Mapping)
    if "question" in raw and (raw.get("paragraphs") is not None or objects):
        return "MuSiQue"
    has_input = raw.get("input") is not None and raw.get("answers") is not None
    return "LongBench" if has_input and isinstance(raw.get("context"), str) else None


def is_gold_name(name: Any) -> bool:
    """Return whether a key is one under which other files keep gold answers."""
    return isinstance(name, str) and re.sub(r"[^a-z]", "", name.lower()) in _GOLD_NAMES


def check_gold_names(raw: _Raw) -> None:
    """Raise where a record has gold, but no answer where it is looked for.

    Hidden gold is a record whose `answer` is blank or absent and that has no gold at all.
    """
    if raw.get("answer"):
        return
    absent = "answer" not in raw
    for name, value in raw.items():
        if is_gold_name(name) and (absent or value not in (None, "", [])):
            raise DataError(
                "gold under a name that is not read, while "
                + ("'answer' is missing" if absent else "'answer' is blank"),
                field=str(name),
                remedy="Rename the field to 'answer' (one text; further right answers go into the "
                "list 'answer_aliases'), or remove it if the gold is hidden",
            )
    for name in ("supporting_facts", "evidences"):
        if absent and raw.get(name) not in (None, "", "[]", []):
            raise DataError(
                f"the field is missing, while the record has gold {name}",
                field="answer",
                remedy="Add the answer; a record whose gold is hidden has neither",
            )


# ---- one function per layout


def _of_flashrag(raw: _Raw) -> dict[str, Any]:
    metadata = _mapping(raw.get("metadata"), "metadata")
    record = {
        name: metadata[name]
        for name in ("supporting_facts", "evidences", "evidences_id", "answer_id", "entity_ids",
                     "sub_questions", "level", "answerable", "supporting_paragraphs")
        if metadata.get(name) is not None
    }  # fmt: skip
    if metadata.get("paragraphs") is not None:
        record |= _of_paragraphs(listed(metadata["paragraphs"], "metadata"), "metadata")
    else:
        record["context"] = metadata.get("context") or []
    if metadata.get("question_decomposition") is not None:
        record["sub_questions"] = _steps(metadata["question_decomposition"])
    return {
        **record,
        "_id": raw.get("id", raw.get("_id")),
        "question": raw.get("question"),
        "type": _type(metadata.get("type", raw.get("type"))),
        **_answers(_texts(raw["golden_answers"] or [], "golden_answers")),
    }


def _of_longbench(raw: _Raw) -> dict[str, Any]:
    paragraphs = []
    text = raw["context"].replace("\r\n", "\n")
    for number, passage in enumerate(_PASSAGE.split(text)):
        title, _, content = passage.strip().partition("\n")
        if number and passage.strip():
            paragraphs.append([title.strip(), [content.strip()]])
    if not paragraphs and text.strip():
        paragraphs = [["", [text.strip()]]]
    return {
        "_id": raw.get("_id", raw.get("id")),
        "question": raw["input"],
        "context": paragraphs,
        **_answers(_texts(raw["answers"], "answers")),
    }


def _of_ircot(raw: _Raw) -> dict[str, Any]:
    answers = [
        text
        for one in listed(raw.get("answers_objects") or [], "answers_objects")
        if (text := _answer_of(_mapping(one, "answers_objects")))
    ]
    return {
        **_of_paragraphs(listed(raw.get("contexts") or [], "contexts"), "contexts"),
        "_id": raw.get("question_id", raw.get("id", raw.get("_id"))),
        "question": raw["question_text"],
        "type": _type(raw.get("type")),
        "level": raw.get("level"),
        **_answers(answers),
    }


def _answer_of(one: _Raw) -> str:
    """Return an answer of IRCoT's form: its spans, or a number, or a date in its parts."""
    spans = _texts(one.get("spans") or [], "answers_objects")
    date = _mapping(one.get("date"), "answers_objects")
    parts = [str(date.get(part) or "") for part in ("day", "month", "year")]
    return ", ".join(spans) or str(one.get("number") or "") or " ".join(filter(None, parts))


def _of_musique(raw: _Raw) -> dict[str, Any]:
    names = [name for name in _HIPPORAG_ANSWERS if raw.get(name) is not None][:1]
    answers = [raw[name] for name in names if isinstance(raw[name], str)]
    answers = answers or [text for name in names for text in _texts(raw[name], name)]
    aliases = [text for name in _ALIASES for text in _texts(raw.get(name) or [], name)]
    answerable = raw.get("answerable")
    field = "contexts" if raw.get("paragraphs") is None else "paragraphs"
    if not answers:
        check_gold_names(raw)
    steps = raw.get("question_decomposition")
    return {
        **_of_paragraphs(listed(raw[field], field), field),
        "_id": raw.get("id", raw.get("_id")),
        "question": raw["question"],
        "type": _type(raw.get("type")),
        "sub_questions": None if steps is None else _steps(steps),
        "answerable": answerable if isinstance(answerable, bool) else None,
        **_answers([] if answerable is False else [*answers, *aliases]),
    }


_READERS: dict[str, Callable[[_Raw], dict[str, Any]]] = {
    "FlashRAG": _of_flashrag,
    "LongBench": _of_longbench,
    "IRCoT": _of_ircot,
    "MuSiQue": _of_musique,
}


# ---- parts of a record


def _of_paragraphs(entries: list[Any], field: str) -> dict[str, Any]:
    """Return the context, and the positions of the paragraphs that are marked as support."""
    paragraphs, marks = [], []
    for number, entry in enumerate(entries):
        one = _mapping(entry, field)
        title = one.get("title")
        text = next((one[name] for name in _TEXT_NAMES if one.get(name) is not None), None)
        sentences = _sentences(one.get("sentences") if text is None else [text])
        if not isinstance(title, str) or sentences is None:
            raise DataError(
                f"paragraph {number} is not a title with a text",
                field=field,
                remedy='Write {"title": ..., "paragraph_text": ...}',
            )
        paragraphs.append([title, sentences])
        marks.append(one.get("is_supporting"))
    marked = any(isinstance(mark, bool) or mark in (0, 1) for mark in marks)
    positions = [number for number, mark in enumerate(marks) if mark in (True, 1)]
    return {"context": paragraphs, "supporting_paragraphs": positions if marked else None}


def _sentences(value: Any) -> list[str] | None:
    is_texts = isinstance(value, list) and all(isinstance(one, str) for one in value)
    return list(value) if is_texts else None


def _steps(value: Any) -> list[dict[str, Any]]:
    """Return a decomposition as sub-questions; `#1` becomes the answer of the first one."""
    steps: list[dict[str, Any]] = []
    for entry in listed(value, "question_decomposition"):
        one = _mapping(entry, "question_decomposition")
        question, answer = one.get("question"), one.get("answer")
        if not isinstance(question, str) or not isinstance(answer, str):
            problem = f"step {len(steps)} is not a question with an answer"
            raise DataError(problem, field="question_decomposition")
        before = {f"#{number}": step for number, step in enumerate(steps, 1)}
        parts = _REFERENCE.split(question)  # every second one is a reference
        named = [before[part] for part in parts[1::2] if part in before]
        parts[1::2] = [before[part]["answer"] if part in before else part for part in parts[1::2]]
        hop = 1 + max((step["hop"] for step in named), default=0)
        steps.append({"hop": hop, "question": "".join(parts), "answer": answer})
    return steps


def _answers(answers: list[str]) -> dict[str, Any]:
    """Return the answer and its other spellings; none of both where the gold is hidden."""
    distinct = list(dict.fromkeys(filter(str.strip, answers)))
    return {"answer": distinct[0] if distinct else None, "answer_aliases": distinct[1:] or None}


def _texts(value: Any, field: str) -> list[str]:
    """Return a text, or the texts of a list; numbers as they are written."""
    if isinstance(value, str) and not value.lstrip().startswith("["):
        return [value]
    texts = listed(value, field)
    if not all(isinstance(text, str | int | float) for text in texts):
        raise DataError("expected a list of texts", field=field)
    return [str(text) for text in texts]


def _mapping(value: Any, field: str) -> _Raw:
    if value is None:
        return {}
    if isinstance(value, str):
        found = listed(f"[{value or '{}'}]", field)
        value = found[0] if len(found) == 1 else found
    if not isinstance(value, Mapping):
        raise DataError(f"expected an object, got {json_type(value)}", field=field)
    return value


def _type(value: Any) -> str | None:
    """Return a question type that is known; another tool's own is none of ours."""
    name = value.replace("-", "_") if isinstance(value, str) else None
    return name if name in _TYPES else None
