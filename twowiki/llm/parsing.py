"""The output of a language model as answer, supporting sentences and triples. Tolerant, pure.

In: a model's text, in any form in which today's models mark what they answer: JSON, YAML, TOML
(fenced, in prose, oddly quoted, cut off), tags and XML, boxes, calls of a tool, headings, "the
answer is". Out: a `ParsedOutput` with the form that was found. Thinking and retrieved texts are
skipped, and of several answers the last one counts. What cannot be read is None and named, never
guessed; nothing is raised. An answer that nothing marks is taken only if it is all of the text.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any, NamedTuple

import yaml

from twowiki.data.schema import Prediction
from twowiki.llm import text_marks
from twowiki.llm.answers import (
    answer_of_value,
    first_sentence,
    is_marked,
    is_odd,
    plain_answer,
    without_math,
    without_reason,
)
from twowiki.llm.entries import Entries, read_facts, read_triples
from twowiki.llm.final_text import final_text, without_control
from twowiki.llm.json_parts import parts_of_entries, parts_of_mapping
from twowiki.llm.lenient_json import objects, read_json
from twowiki.llm.part_names import ANSWER, FACTS, TRIPLES
from twowiki.llm.tags import structure, tagged

JSON, CUT, HEADINGS, BARE, UNPARSED = "json", "cut_json", "headings", "bare", "unparsed"
TAGS, BOXED, CALL, YAML, TOML = "tags", "boxed", "call", "yaml", "toml"
MARKUP = "markup"
_NAMES = {FACTS: "supporting_facts", TRIPLES: "evidences"}
_MARKED, _STATED, _ALONE = 2, 1, 0
_LONGEST_BARE = 12  # words of a text without any form that still counts as an answer
_LONGEST = 20_000  # characters of a mark that may hold others
_DEEPEST = 3  # marks inside marks


class ParsedOutput(NamedTuple):
    """The parts of a model's output; None for a part that it leaves out.

    Attributes:
        answer, facts, triples: the parts.
        form: how the answer was marked.
        unread: what was there and could not be read, in whole or in part (`supporting_facts`,
            `evidences`), and `markup` if some is left in the answer.
    """

    answer: str | None
    facts: list[tuple[Any, ...]] | None
    triples: list[tuple[Any, ...]] | None
    form: str
    unread: tuple[str, ...] = ()

    @property
    def prediction(self) -> Prediction:
        """The output as a prediction; entries may be malformed, which the scorer accepts."""
        parts: tuple[Any, ...] = (self.answer, self.facts, self.triples)
        return Prediction(*parts)

    @property
    def is_marked(self) -> bool:
        """Whether the answer, or that there is none, was marked as such."""
        return self.form not in (BARE, UNPARSED)


_NOTHING = ParsedOutput(None, None, None, UNPARSED)


def parse_llm_output(text: Any) -> ParsedOutput:
    """Parse one output.

    Args:
        text: the raw text, an object that was parsed already, or messages of a chat, of which the
            last one of the assistant counts.
    """
    parsed = _parsed(text)
    if parsed.answer is None or parsed.form not in (HEADINGS, BARE):
        return parsed
    answer = without_reason(parsed.answer)
    odd = parsed.unread if is_odd(answer) else tuple(one for one in parsed.unread if one != MARKUP)
    return parsed._replace(answer=answer, unread=odd)


def _parsed(text: Any) -> ParsedOutput:
    """Parse one output; the answer of a line is the line, with the reason that it may give."""
    marks = _Marks()
    try:
        text = last_message(text) if isinstance(text, list | tuple | Mapping) else text
        if isinstance(text, Mapping):
            marks.offer_all(parts_of_mapping(text) or {}, 0, JSON)
        elif isinstance(text, str):
            marks.read(final_text(text))
    except (ValueError, RecursionError):  # numbers too long to write, lists too deep
        return _NOTHING
    return marks.output()


def last_message(completion: Any) -> Any:
    """Return the text of the last message of the assistant; of a call of a tool, the message.

    What is not a message, or a list of them, is returned as it is.
    """
    messages = completion if isinstance(completion, list | tuple) else [completion]
    if messages and all(isinstance(one, Mapping) and "from" in one for one in messages):
        messages = [{"role": one["from"], "content": one.get("value")} for one in messages]
    if not messages or not all(isinstance(one, Mapping) and "role" in one for one in messages):
        return completion
    if not any("content" in one or "tool_calls" in one for one in messages):
        return completion
    for message in reversed(messages):
        if message["role"] in ("assistant", "model", "ai", "gpt", "bot"):
            content = message.get("content")
            if isinstance(content, list | tuple):  # parts, of text and other things
                parts = [one for one in content if isinstance(one, Mapping)]
                texts = (one.get("text") for one in parts)
                content = "".join(text for text in texts if isinstance(text, str))
                calls = [one for one in parts if one.get("type") == "tool_use"]
                content = content if content or not calls else calls[-1]
            return content if content or "tool_calls" not in message else message
    return None


def parse_science_answer(output: Any) -> str:
    """Return the short answer of an output to a science question; "" if it says none.

    What is marked as the answer, or else the first line, for the prompt asks for nothing more.
    """
    parsed = _parsed(output)
    if parsed.is_marked or not isinstance(output := last_message(output), str):
        return parsed.answer or ""
    reply = text_marks.without_fences(without_control(final_text(output)))
    lines = (line for line in reply.splitlines() if line.strip("*_`\"' \t"))
    line = text_marks.plain_line(text_marks.without_lead(next(lines, "").strip()))
    return plain_answer(line.partition(" Question:")[0]) or ""


class _Mark(NamedTuple):
    """What a mark gives for a part: how much it counts, its form, its value."""

    key: tuple[bool, int, int]
    form: str
    value: Any


class _Marks:
    """The marks of a text: for each part the one that counts, and what could not be read."""

    def __init__(self) -> None:
        self.best: dict[str, _Mark] = {}

    def read(self, reply: str) -> None:
        """Take what a reply says before it goes on with a question of its own, or all of it."""
        first = text_marks.before_next_question(reply)
        if first is not None:
            self.collect(first)
            if ANSWER not in self.best and not text_marks.is_preamble(first):
                self.alone(first)
        if not self.best.get(ANSWER):
            self.best = {}
            self.collect(reply)
            if ANSWER not in self.best:
                self.alone(reply)

    def offer(self, part: str, value: Any, at: int, form: str, rank: int = _MARKED) -> None:
        """Take a value for a part if no better or later one is there."""
        usable = True
        if part != ANSWER:
            entries = value if isinstance(value, Entries) else _entries(part, value)
            usable, value = entries.items is not None, entries
            if not usable and not entries.refused:
                return
        mark = _Mark((usable, rank, at), form, value)
        if part not in self.best or mark.key >= self.best[part].key:
            self.best[part] = mark

    def offer_all(self, parts: Mapping[str, tuple[Any, int]], at: int, form: str) -> None:
        """Take the parts of an object; a name of rank 0 is only a hint."""
        for part, (value, rank) in parts.items():
            if part != ANSWER:
                self.offer(part, value, at, form)
            elif isinstance(value, str) and is_marked(value):
                self.nested(final_text(value), at, form, _MARKED if rank else _STATED)
            elif rank or not isinstance(value, str):
                self.offer(part, answer_of_value(value), at, form, _MARKED if rank else _STATED)
            else:
                self.nested(value, at, form, _STATED)

    def nested(self, content: str, at: int, form: str, rank: int, depth: int = 1) -> None:
        """Take what is marked inside a mark, or else its content as the answer."""
        inner = _Marks()
        if depth < _DEEPEST and len(content) < _LONGEST:
            inner.collect(content, depth + 1)
        if ANSWER not in inner.best:
            found = read_json(content.strip()) if content.strip()[:1] in ("{", "[") else None
            whole = found is not None and not content.strip()[found.end :].strip()
            value = answer_of_value(found.value) if found and whole else None
            value = value or plain_answer(content)
            if rank != _STATED or value is None or len(value.split()) <= _LONGEST_BARE:
                self.offer(ANSWER, value, at, form, rank)
        for part, mark in inner.best.items():
            taken = mark.form if mark.form in (JSON, CUT) else form
            self.offer(part, mark.value, at, taken, max(rank, mark.key[1]))

    def collect(self, text: str, depth: int = 0) -> None:
        """Take all marks of a text."""
        text = self._structured(text_marks.unescaped(text))
        if "<" in text or "[" in text:
            text = self._tags(text, depth)
        for start, end, content in text_marks.calls(text):
            self._call(content, start)
            text = text_marks.masked(text, start, end)
        for start, end, content in text_marks.boxed(text):
            self.offer(ANSWER, plain_answer(content), start, BOXED)
            text = text_marks.masked(text, start, end)
        self._headings(text)
        for at, statement, final in text_marks.statements(text):
            answer = plain_answer(first_sentence(statement))
            self.offer(ANSWER, answer, at, HEADINGS, _MARKED if final else _STATED)

    def _structured(self, text: str) -> str:
        """Take objects of JSON, or a text that is JSON, YAML or TOML as a whole."""
        masked, loose = text, []
        for at, read in objects(text) if "{" in text or "\uff5b" in text else ():
            parts = parts_of_mapping(read.value)
            if parts:
                self.offer_all(parts, at, JSON if read.whole else CUT)
                masked = text_marks.masked(masked, at, read.end)
            elif parts is not None:
                loose.append(read.value)
        if masked is not text:
            return without_control(masked)
        text = without_control(text)
        plain = text_marks.without_fences(text)
        if plain[:1] in "[\uff3b" and (found := read_json(plain)) and isinstance(found.value, list):
            parts = parts_of_entries(found.value)
            self.offer_all(parts, 0, JSON if found.whole else CUT)
            return "" if parts else text
        if loose and plain[:1] == "{":
            self.offer_all(parts_of_entries(loose), 0, JSON)
        for form, block in text_marks.documents(text):
            if self._document(form, block):
                return ""
        return text

    def _document(self, form: str, block: str) -> bool:
        """Take the parts of a text in YAML or TOML."""
        try:
            value = tomllib.loads(block) if form == TOML else yaml.load(block, _Loader)
        except (ValueError, yaml.YAMLError, RecursionError):
            return False
        parts = parts_of_mapping(value) if isinstance(value, Mapping) else None
        if parts:
            self.offer_all({part: (None if value in ("null", "~", "") else value, rank)
                            for part, (value, rank) in parts.items()}, 0, form)  # fmt: skip
        return bool(parts)

    def _tags(self, text: str, depth: int) -> str:
        lists: dict[tuple[str, str], list[Any]] = {}
        for tag in tagged(text):
            outer, content = text, text_marks.unmasked(tag.content)
            text = text_marks.masked(text, tag.start, tag.end)
            if tag.part != ANSWER:
                lists.setdefault((tag.part, tag.name.lower()), []).append(structure(content or ""))
                values = lists[tag.part, tag.name.lower()]
                self._entries_of_tags(tag.part, values, tag.start, tag.rank)
            elif content is None and tag.rank:  # what is inside was taken already
                continue
            elif tag.rank or not self.best:
                inner = content if tag.closed else (content or "").strip().split("\n")[0]
                self.nested(inner or "", tag.start, TAGS, _MARKED if tag.rank else _STATED, depth)
            else:
                text = outer
        return text

    def _entries_of_tags(self, part: str, values: list[Any], at: int, rank: int) -> None:
        """Take the entries of tags of one name: all of them if each has one, else the last."""
        read = [_entries(part, value) for value in values]
        single = len(read) > 1 and all(one.items and len(one.items) == 1 for one in read)
        items = [item for one in read for item in one.items or ()]
        entries = Entries(list(dict.fromkeys(items))) if single else read[-1]
        self.offer(part, entries, at, TAGS, _MARKED if rank > 2 else _STATED)

    def _call(self, content: str, at: int) -> None:
        """Take the arguments of a call that ends the work, such as `finish(answer="X")`."""
        found = read_json(content) if content[:1] in ("{", '"', "'", "\u201c") else None
        if found is None and text_marks.ARGUMENTS.match(content):
            found = read_json("{" + content + "}")
        value = content if found is None else found.value
        if isinstance(value, Mapping):
            parts = parts_of_mapping(value)
            if parts:
                self.offer_all(parts, at, CALL)
            elif len(value) == 1:
                self.offer(ANSWER, answer_of_value(value), at, CALL)
        elif isinstance(value, str):
            self.nested(value, at, CALL, _MARKED)

    def _headings(self, text: str) -> None:
        """Take `Answer: ...`, `Supporting facts:` and `Evidence:` with the lines that follow them.

        A text whose lines under a heading cannot all be read may be YAML.
        """
        found = text_marks.headings(text)
        lists = {at: _entries(part, text) for part, at, text, _ in found if part != ANSWER}
        if any(entries.refused or entries.items is None for entries in lists.values()):
            block = text[min(at for _, at, _, _ in found) :]
            kept, other = dict(self.best), _Marks()
            if other._document(YAML, block) and other.reads_all():
                self.best = {**kept, **other.best}
                return
        for part, at, value, rank in found:
            if part != ANSWER:
                self.offer(part, lists[at], at, HEADINGS, _MARKED if rank > 2 else _STATED)
            elif "\x00" not in value:
                answer = plain_answer(value) if value.strip() else None
                self.offer(ANSWER, answer, at, HEADINGS, _MARKED if rank else _STATED)

    def reads_all(self) -> bool:
        """Return whether every list was read without loss."""
        return all(part == ANSWER or (mark.value.items is not None and not mark.value.refused)
                   for part, mark in self.best.items())  # fmt: skip

    def alone(self, text: str) -> None:
        """Take a short text of one line as the answer, or the line before an explanation."""
        plain = text_marks.without_fences(text_marks.unescaped(without_control(text)))
        line = text_marks.first_line(plain, before=bool(self.best))
        if (
            line is not None
            and len(line.split()) <= _LONGEST_BARE
            and "{" not in without_math(line)
        ):
            answer = plain_answer(text_marks.plain_line(line))
            if answer is not None:
                self.offer(ANSWER, answer, 0, BARE, _ALONE)

    def output(self) -> ParsedOutput:
        """Return what was read."""
        if not self.best:
            return _NOTHING
        answer = self.best.get(ANSWER)
        form = (answer or next(iter(self.best.values()))).form
        unread, lists = [], []
        for part, name in _NAMES.items():
            entries = self.best[part].value if part in self.best else Entries(None)
            lists.append(entries.items)
            unread += [name] if entries.refused else []
        text = answer.value if answer else None
        unread += [MARKUP] if text and form not in (JSON, YAML, TOML) and is_odd(text) else []
        return ParsedOutput(text, lists[0], lists[1], form, tuple(unread))


_Loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def _entries(part: str, value: Any) -> Entries:
    return read_facts(value) if part == FACTS else read_triples(value)
