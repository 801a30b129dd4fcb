"""First stage: ARC's questions as records, and the question filter with its reasons.

In: multiple-choice questions, rules. Out: one record per question, kept or removed, with every
hit of a rule; counts by rule. The paper removed about 50% of all questions here. It refuses rules
with unknown keys or values, and questions whose difficulty or split is not known.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from twowiki.arc_da.schema import MultipleChoice, Question
from twowiki.arc_da.sentences import asks_earlier, question_sentence, split_question_sentences
from twowiki.errors import DataError
from twowiki.metric.tables import render_table

PAPER_FILTERED = 50  # percent of ARC's questions, by the paper's initial question filter


class SourceChoice(msgspec.Struct, frozen=True):
    """An option of a source question."""

    label: str
    text: str


class SourceQuestion(msgspec.Struct, frozen=True):
    """A question of ARC with the tag that the release will carry."""

    question_id: str
    arc_id: str
    split: str
    tag: str
    stem: str
    choices: list[SourceChoice]
    answer_key: str | None
    hash: str = ""

    @property
    def key_text(self) -> str | None:
        """The right option's text, found by its label."""
        return next((one.text for one in self.choices if one.label == self.answer_key), None)


class RuleHit(msgspec.Struct, frozen=True):
    """Where a rule applies: characters half-open within the sentence."""

    rule: str
    sentence: str
    char_start: int
    char_end: int


class FilteredQuestion(msgspec.Struct, frozen=True):
    """What the filter decided: kept, or removed for the first rule that hit."""

    question_id: str
    split: str | None
    question: str
    kept: bool
    reason: str | None
    hits: list[RuleHit]
    asks_earlier: bool
    suggestion: str | None


def source_question(question: MultipleChoice, set_name: str = "") -> SourceQuestion:
    """Return a question as the first stage's record.

    Args:
        question: of ARC, or of another set.
        set_name: of another set, for the tag instead of the difficulty.

    Raises:
        DataError: its difficulty or split is not known, so it cannot be tagged.
    """
    kind = question.difficulty or set_name
    if not kind or question.split is None:
        remedy = (
            "Keep ARC's file names (ARC-Easy-Train.jsonl), or pass --difficulty (--set-name for "
            "another set) and --assume-split"
        )
        raise DataError("difficulty or split is not known", record=question.id, remedy=remedy)
    record = SourceQuestion(
        question.question_id,
        question.id,
        question.split,
        f"{kind}-{question.split}".upper(),
        question.stem,
        [SourceChoice(*choice) for choice in question.choices],
        question.answer_key,
    )
    content = msgspec.to_builtins(record)
    del content["hash"]
    text = json.dumps(content, ensure_ascii=False, sort_keys=True)
    return msgspec.structs.replace(record, hash=hashlib.sha256(text.encode()).hexdigest()[:16])


def filter_question(
    question_id: str, split: str | None, stem: str, rules: RuleSet, *, tagger: Tagger | None = None
) -> FilteredQuestion:
    """Apply the rules to one question."""
    question = normalize_stem(stem)
    hits = find_hits(question, rules, tagger=tagger)
    return FilteredQuestion(
        question_id,
        split,
        question,
        kept=not hits,
        reason=hits[0].rule if hits else None,
        hits=hits,
        asks_earlier=asks_earlier(question),
        suggestion=None if hits else suggest_rewording(question),
    )


def count_filtered(records: Iterable[FilteredQuestion]) -> dict[str, Any]:
    """Count what each rule removes: all its hits, those it hit first, those it alone hit."""
    listed = list(records)
    names = [[hit.rule for hit in record.hits] for record in listed]
    hits = Counter(name for found in names for name in found)
    first = Counter(found[0] for found in names if found)
    alone = Counter(found[0] for found in names if len(found) == 1)
    return {
        "questions": len(listed),
        "kept": sum(record.kept for record in listed),
        "removed": sum(not record.kept for record in listed),
        "asks_earlier": sum(record.asks_earlier for record in listed),
        "by_rule": {
            name: {"hits": count, "first": first[name], "alone": alone[name]}
            for name, count in sorted(hits.items(), key=lambda item: (-item[1], item[0]))
        },
    }


def render_filtered(counts: Mapping[str, Any], title: str) -> str:
    """Return the counts as a table, with the paper's share beside the total."""
    total = counts["questions"]
    rows = [[title, "hits", "first", "alone", "% of all"]]
    for name, found in counts["by_rule"].items():
        cells = [str(found[count]) for count in ("hits", "first", "alone")]
        rows.append([name, *cells, _percent(found["hits"], total)])
    removed = _percent(counts["removed"], total)
    return (
        f"{render_table(rows)}\nremoved {counts['removed']:,} of {total:,} questions ({removed}; "
        f"the paper says about {PAPER_FILTERED}%), kept {counts['kept']:,}\n"
    )


def audit_rules(
    originals: Sequence[MultipleChoice], released: Sequence[Question], rules: RuleSet
) -> dict[str, Any]:
    """Check a rule set against released questions, joined by id with their originals.

    A violation is a released question that the rules would have removed.

    Returns:
        Counts over the originals and, of them, the training split; the released questions found
        among the originals; every violation with its hits.
    """
    records = [filter_question(q.question_id, q.split, q.stem, rules) for q in originals]
    by_id = {record.question_id: record for record in records}
    joined = [by_id[q.question_id] for q in released if q.question_id in by_id]
    violating = [record for record in joined if not record.kept]
    return {
        "rules": rules.name,
        "all": count_filtered(records),
        "train": count_filtered(record for record in records if record.split == "train"),
        "released": len(released),
        "joined": len(joined),
        "violations": len(violating),
        "survive": 1 - len(violating) / len(joined) if joined else None,
        "violating": [
            {
                "question_id": record.question_id,
                "rules": [hit.rule for hit in record.hits],
                "sentence": record.hits[0].sentence,
            }
            for record in violating
        ],
    }


def render_audit(found: Mapping[str, Any], *, listed: int = 10) -> str:
    """Return an audit as text: shares removed, shares of released questions that survive."""
    lines = [render_filtered(found["all"], f"rules '{found['rules']}'").rstrip("\n")]
    if found["train"]["questions"]:
        train = found["train"]
        share = _percent(train["removed"], train["questions"])
        lines.append(f"of the training split: removed {train['removed']:,} ({share})")
    survive = "-" if found["survive"] is None else f"{100 * found['survive']:.2f}%"
    lines.append(
        f"released questions joined by id: {found['joined']:,} of {found['released']:,}; "
        f"{found['violations']} would have been removed, {survive} survive"
    )
    for entry in found["violating"][:listed]:
        lines.append(f"  {entry['question_id']}  {', '.join(entry['rules'])}: {entry['sentence']}")
    if len(found["violating"]) > listed:
        lines.append(f"  ... and {len(found['violating']) - listed} more (--list, or --json)")
    return "\n".join(lines) + "\n"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "-"


RULE_PRESETS = ("released", "paper_literal")
_CHOICES = {
    "match": ("word", "substring", "suffix", "start"),
    "scope": ("last_sentence", "any_sentence"),
    "requires": ("none", "starts_with_which", "contains_which"),
}
_SHAPE = "Write {name: ..., rules: [{id: ..., pattern: [...]}]}"
_FIELDS = {"id", "pattern", "except", *_CHOICES}
_QUOTES = "\"'\u201c\u2018([ "
_VERB_TAGS = ("VB", "VERB", "AUX", "MD")

Tagger = Callable[[Sequence[str]], Sequence[str]]


class FilterRule(NamedTuple):
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
    rules: tuple[FilterRule, ...]


def load_rules(name: str) -> RuleSet:
    """Read a preset by its name, or a YAML file by its path.

    Raises:
        DataError: no such file, not valid YAML, an unknown key or an unknown value.
    """
    import yaml

    if name in RULE_PRESETS:
        text = (files(__package__) / "rules" / f"{name}.yaml").read_text(encoding="utf-8")
    else:
        path = Path(name)
        if not path.is_file():
            remedy = f"Name a preset ({', '.join(RULE_PRESETS)}) or a YAML file"
            raise DataError("no such rules", file=name, remedy=remedy)
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise DataError("is not UTF-8 text", file=name, remedy="Save it as UTF-8") from None
    try:
        return parse_rules(yaml.safe_load(text), default_name=Path(name).stem)
    except yaml.YAMLError as error:
        raise DataError(f"is not valid YAML ({' '.join(str(error).split())})", file=name) from None
    except DataError as error:
        raise error.at(name) from None


def parse_rules(raw: Any, *, default_name: str = "rules") -> RuleSet:
    """Make a rule set of a mapping `{name, rules: [{id, pattern, match, scope, requires}]}`.

    Raises:
        DataError: an unknown key, an unknown value, or an id twice.
    """
    if not isinstance(raw, dict) or not isinstance(raw.get("rules"), list):
        raise DataError("must hold a list named 'rules'", remedy=_SHAPE)
    if unknown := set(raw) - {"name", "rules"}:
        raise DataError(f"unknown keys {sorted(unknown)}")
    rules = tuple(_parse_rule(entry) for entry in raw["rules"])
    if len({rule.id for rule in rules}) != len(rules):
        raise DataError("a rule id comes twice", field="id")
    return RuleSet(str(raw.get("name", default_name)), rules)


def find_hits(text: str, rules: RuleSet, *, tagger: Tagger | None = None) -> list[RuleHit]:
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
    everything = split_question_sentences(text)
    hits: list[RuleHit] = []
    for rule in rules.rules:
        sentences = [last] if rule.scope == "last_sentence" else everything
        hits += islice(chain.from_iterable(_hits_in(one, rule) for one in sentences), 1)
    if tagger is not None and not any(hit.rule == "which_verb" for hit in hits):
        hits += _tagged(last, tagger)
    return hits


def _hits_in(sentence: str, rule: FilterRule) -> Iterator[RuleHit]:
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
        yield RuleHit(rule.id, sentence, match.start(), match.end())


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


def _tagged(sentence: str, tagger: Tagger) -> Iterator[RuleHit]:
    words = sentence.split()
    if len(words) > 1 and words[0].strip(_QUOTES).lower() == "which":
        tags = tagger(words)
        if tags[1].upper().startswith(_VERB_TAGS):
            end = sentence.index(words[1], len(words[0])) + len(words[1])
            yield RuleHit("which_verb", sentence, 0, end)


def _parse_rule(raw: Any) -> FilterRule:
    if not isinstance(raw, dict) or not isinstance(raw.get("id"), str):
        raise DataError("a rule must be a mapping with an 'id'", field="rules", remedy=_SHAPE)
    name = raw["id"]
    if unknown := set(raw) - _FIELDS:
        raise DataError(f"unknown keys {sorted(unknown)}", record=name, field="rules")
    for field, allowed in _CHOICES.items():
        if field in raw and raw[field] not in allowed:
            problem = f"must be one of {', '.join(allowed)}, not {raw[field]!r}"
            raise DataError(problem, record=name, field=field)
    pattern = _texts(raw.get("pattern"), name, "pattern")
    if not pattern or not all(phrase.strip() for phrase in pattern):
        raise DataError("needs at least one phrase", record=name, field="pattern")
    exceptions = _texts(raw.get("except", []), name, "except")
    values = {field: raw[field] for field in _CHOICES if field in raw}
    return FilterRule(name, pattern, exceptions=frozenset(map(str.lower, exceptions)), **values)


def _texts(raw: Any, record: str, field: str) -> tuple[str, ...]:
    """Flatten a text, a list of texts, or a list of lists of texts."""
    if isinstance(raw, str):
        return (raw,)
    if not isinstance(raw, list):
        raise DataError("must be a text or a list of texts", record=record, field=field)
    return tuple(text for entry in raw for text in _texts(entry, record, field))


_BLANK = re.compile(r"\s*(?:_{2,}|\u2014)\s*\.?$")
_DETERMINER = re.compile(r"\s+(?:a|an|the|its|their|his|her|your|our|some)$", re.IGNORECASE)
_PREPOSITIONS = "of by from with in on for at as into through about like than between among during"
_TRANSITIVE = (  # verbs whose object is asked for
    "be is are was were call use cause make produce provide contain become have has need form show "
    "include absorb release receive measure increase decrease reduce require represent give carry "
    "transport remove store create obtain"
)
_OBJECT_END = re.compile(
    rf"\b(?:{'|'.join(_PREPOSITIONS.split())}|because of|due to"
    rf"|(?:{'|'.join(_TRANSITIVE.split())})(?:s|d|ed)?|(?:by|of|for|in|from|without) \w{{2,}}ing)$",
    re.IGNORECASE,
)
_INFINITIVE_END = re.compile(r"\b(?:to|will|would|can|could|should|must|may|might)$", re.IGNORECASE)
_NO_VERB = re.compile(  # `similar to` and `due to` want a noun
    r"\b(?:similar|due|equal|close|next|related|compared|identical|relative|attached|connected|"
    r"adapted|according|exposed|opposite|belong|belongs|refer|refers|lead|leads|led|respond|"
    r"responds|converted|changed|transformed|transferred|contribute|contributes|react|reacts) to$",
    re.IGNORECASE,
)


def normalize_stem(stem: str) -> str:
    """Collapse runs of spaces and line ends; case and blanks (`___`) stay."""
    return re.sub(r"\s+", " ", stem).strip()


def suggest_rewording(question: str) -> str | None:
    """Suggest a full question for an unfinished sentence, or return None where there is none.

    "... are forms of" -> "... are forms of what?"; "... is called the" -> "... is called what?";
    "... by adding" -> "... by adding what?"; "... helps a plant to" -> "... to do what?";
    "... because" -> "... because of what?". What needs another order of words is left to people,
    and so is every question that ends in "?".
    """
    text = normalize_stem(question)
    if not text or text.endswith("?"):
        return None
    cut = _BLANK.sub("", text.rstrip(" :")).rstrip(" .,:")
    has_blank = cut != text.rstrip(" .,:")
    bare = _DETERMINER.sub("", cut)
    if re.search(r"\bbecause$", bare, re.IGNORECASE):
        return f"{bare} of what?"
    if _INFINITIVE_END.search(bare) and not _NO_VERB.search(bare):
        return f"{bare} do what?"
    if has_blank or bare != cut or _OBJECT_END.search(bare) or _NO_VERB.search(bare):
        return f"{bare} what?"
    return None
