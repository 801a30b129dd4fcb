"""The question filter: phrases that make a question depend on its options, as data.

In: a YAML file of rules (a preset's name or a path) and a question's text. Out: every hit, with the
rule's id and its place. Two presets: `released` fits the released data and is the default;
`paper_literal` is the paper's printed list, which would remove hundreds of released questions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from twowiki.arc_da.sentences import question_sentence, split_sentences
from twowiki.errors import DataError

PRESETS = ("released", "paper_literal")
CHOICES = {
    "match": ("word", "substring", "suffix", "start"),
    "scope": ("last_sentence", "any_sentence"),
    "requires": ("none", "starts_with_which", "contains_which"),
}
_SHAPE = "Write {name: ..., rules: [{id: ..., pattern: [...]}]}"
_FIELDS = {"id", "pattern", "except", *CHOICES}
_QUOTES = "\"'\u201c\u2018([ "
_VERB_TAGS = ("VB", "VERB", "AUX", "MD")

Tagger = Callable[[Sequence[str]], Sequence[str]]


class Rule(NamedTuple):
    """One rule of the filter.

    Attributes:
        id: its name in reports.
        pattern: phrases; a space stands for any white space, case does not matter.
        match: `word` (whole words), `substring`, `suffix` (of a longer word), or `start` (whole
            words at the sentence's beginning).
        scope: the question sentence (the last one), or any sentence.
        requires: what the sentence must have besides.
        exceptions: words that a suffix does not count in.
    """

    id: str
    pattern: tuple[str, ...]
    match: str = "word"
    scope: str = "last_sentence"
    requires: str = "none"
    exceptions: frozenset[str] = frozenset()


class RuleSet(NamedTuple):
    """Rules in order, under a name."""

    name: str
    rules: tuple[Rule, ...]


class Hit(NamedTuple):
    """Where a rule applies: characters half-open within the sentence."""

    rule: str
    sentence: str
    char_start: int
    char_end: int


def load_rules(name: str) -> RuleSet:
    """Read a preset by its name, or a YAML file by its path.

    Raises:
        DataError: no such file, no YAML, an unknown key, or a value that means nothing.
    """
    import yaml

    if name in PRESETS:
        text = (files(__package__) / "rules" / f"{name}.yaml").read_text(encoding="utf-8")
    else:
        path = Path(name)
        if not path.is_file():
            remedy = f"Name a preset ({', '.join(PRESETS)}) or a YAML file"
            raise DataError("no such rules", file=name, remedy=remedy)
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise DataError("not UTF-8 text", file=name, remedy="Save it as UTF-8") from None
    try:
        return parse_rules(yaml.safe_load(text), default_name=Path(name).stem)
    except yaml.YAMLError as error:
        raise DataError(f"no YAML ({' '.join(str(error).split())})", file=name) from None
    except DataError as error:
        raise error.at(name) from None


def parse_rules(raw: Any, *, default_name: str = "rules") -> RuleSet:
    """Make a rule set of a mapping `{name, rules: [{id, pattern, match, scope, requires}]}`.

    Raises:
        DataError: an unknown key, a value that means nothing, or an id twice.
    """
    if not isinstance(raw, dict) or not isinstance(raw.get("rules"), list):
        raise DataError("must hold a list named 'rules'", remedy=_SHAPE)
    if unknown := set(raw) - {"name", "rules"}:
        raise DataError(f"unknown keys {sorted(unknown)}")
    rules = tuple(_parse_rule(entry) for entry in raw["rules"])
    if len({rule.id for rule in rules}) != len(rules):
        raise DataError("a rule id comes twice", field="id")
    return RuleSet(str(raw.get("name", default_name)), rules)


def find_hits(text: str, rules: RuleSet, *, tagger: Tagger | None = None) -> list[Hit]:
    """Apply all rules to a question; the first place of each rule counts.

    Args:
        text: the question, maybe of several sentences.
        rules: the rule set.
        tagger: gives a part-of-speech tag for each of the words it is given. With it, a verb
            after an opening "Which" is found beyond the rule `which_verb`'s list.

    Returns:
        Hits in the order of the rules; empty if the question stays.
    """
    last = question_sentence(text)
    everything = split_sentences(text)
    hits = []
    for rule in rules.rules:
        sentences = [last] if rule.scope == "last_sentence" else everything
        hits += list(_first(_hits_in(sentence, rule) for sentence in sentences))
    if tagger is not None and not any(hit.rule == "which_verb" for hit in hits):
        hits += list(_tagged(last, tagger))
    return hits


def _first(found: Iterator[Iterator[Hit]]) -> Iterator[Hit]:
    for hits in found:
        for hit in hits:
            yield hit
            return


def _hits_in(sentence: str, rule: Rule) -> Iterator[Hit]:
    opening = sentence.lstrip(_QUOTES).lower()
    if rule.requires == "starts_with_which" and not re.match(r"which\b", opening):
        return
    if rule.requires == "contains_which" and not re.search(r"\bwhich\b", opening):
        return
    for match in _compile(rule.pattern, rule.match).finditer(sentence):
        if rule.match == "start" and sentence[: match.start()].strip(_QUOTES):
            continue
        if rule.match == "suffix" and match.group().lower() in rule.exceptions:
            continue
        yield Hit(rule.id, sentence, match.start(), match.end())


@lru_cache(maxsize=1024)
def _compile(phrases: tuple[str, ...], match: str) -> re.Pattern[str]:
    written = "|".join(r"\s+".join(map(re.escape, phrase.split())) for phrase in phrases)
    form = {
        "word": rf"\b(?:{written})\b",
        "start": rf"\b(?:{written})\b",
        "substring": rf"(?:{written})",
        "suffix": rf"\b\w+(?:{written})\b",
    }[match]
    return re.compile(form, re.IGNORECASE)


def _tagged(sentence: str, tagger: Tagger) -> Iterator[Hit]:
    words = sentence.split()
    if len(words) > 1 and words[0].strip(_QUOTES).lower() == "which":
        tags = tagger(words)
        if tags[1].upper().startswith(_VERB_TAGS):
            end = sentence.index(words[1], len(words[0])) + len(words[1])
            yield Hit("which_verb", sentence, 0, end)


def _parse_rule(raw: Any) -> Rule:
    if not isinstance(raw, dict) or not isinstance(raw.get("id"), str):
        raise DataError("a rule must be a mapping with an 'id'", field="rules", remedy=_SHAPE)
    name = raw["id"]
    if unknown := set(raw) - _FIELDS:
        raise DataError(f"unknown keys {sorted(unknown)}", record=name, field="rules")
    for field, allowed in CHOICES.items():
        if field in raw and raw[field] not in allowed:
            problem = f"must be one of {', '.join(allowed)}, not {raw[field]!r}"
            raise DataError(problem, record=name, field=field)
    pattern = _texts(raw.get("pattern"), name, "pattern")
    if not pattern or not all(phrase.strip() for phrase in pattern):
        raise DataError("needs at least one phrase", record=name, field="pattern")
    exceptions = _texts(raw.get("except", []), name, "except")
    values = {field: raw[field] for field in CHOICES if field in raw}
    return Rule(name, pattern, exceptions=frozenset(map(str.lower, exceptions)), **values)


def _texts(raw: Any, record: str, field: str) -> tuple[str, ...]:
    """Flatten a text, a list of texts, or a list of lists of texts."""
    if isinstance(raw, str):
        return (raw,)
    if not isinstance(raw, list):
        raise DataError("must be a text or a list of texts", record=record, field=field)
    return tuple(text for entry in raw for text in _texts(entry, record, field))
