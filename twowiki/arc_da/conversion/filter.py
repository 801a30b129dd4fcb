"""First stage: ARC's questions as records, and the question filter with its reasons.

In: multiple-choice questions, rules. Out: one record a question, kept or removed, with every rule
hit; counts by rule. The paper removed about 50% of all questions here.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from twowiki.arc_da.schema import Choice, MultipleChoice, Question, option_text
from twowiki.arc_da.sentences import asks_earlier, question_sentence, split_question_sentences
from twowiki.errors import DataError

PAPER_REMOVED = 50  # percent of ARC's questions, by the paper's initial question filter


def source_record(question: MultipleChoice) -> dict[str, Any]:
    """Write a question as the first stage's record, with the tag that the release will carry.

    Raises:
        DataError: its difficulty or split is not known, so it cannot be tagged.
    """
    if question.difficulty is None or question.split is None:
        remedy = (
            "Keep ARC's file names (ARC-Easy-Train.jsonl), or give --difficulty and --assume-split"
        )
        raise DataError("difficulty or split is not known", record=question.id, remedy=remedy)
    content = {
        "question_id": question.question_id,
        "arc_id": question.id,
        "split": question.split,
        "tag": f"{question.difficulty}-{question.split}".upper(),
        "stem": question.stem,
        "choices": [choice._asdict() for choice in question.choices],
        "answer_key": question.answer_key,
    }
    text = json.dumps(content, ensure_ascii=False, sort_keys=True)
    return {**content, "hash": hashlib.sha256(text.encode()).hexdigest()[:16]}


def key_text(record: Mapping[str, Any]) -> str | None:
    """Give the right option's text of a source record, found by its label."""
    choices = [Choice(entry["label"], entry["text"]) for entry in record["choices"]]
    return option_text(choices, record["answer_key"])


def filter_record(
    source: Mapping[str, Any], rules: RuleSet, *, tagger: Tagger | None = None
) -> dict[str, Any]:
    """Apply the rules to one question: kept, or removed for the first rule that hit."""
    question = normalise_stem(source["stem"])
    hits = find_hits(question, rules, tagger=tagger)
    return {
        "question_id": source["question_id"],
        "split": source["split"],
        "question": question,
        "kept": not hits,
        "reason": hits[0].rule if hits else None,
        "hits": [hit._asdict() for hit in hits],
        "asks_earlier": asks_earlier(question),
        "suggestion": None if hits else suggest_rewording(question),
    }


def count_filtered(records: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Count what each rule removes: all its hits, those it hit first, those it alone hit."""
    listed = list(records)
    hits: Counter[str] = Counter()
    first: Counter[str] = Counter()
    alone: Counter[str] = Counter()
    for record in listed:
        names = [hit["rule"] for hit in record["hits"]]
        hits.update(names)
        first.update(names[:1])
        alone.update(names if len(names) == 1 else [])
    return {
        "questions": len(listed),
        "kept": sum(record["kept"] for record in listed),
        "removed": sum(not record["kept"] for record in listed),
        "asks_earlier": sum(record["asks_earlier"] for record in listed),
        "by_rule": {
            name: {"hits": count, "first": first[name], "alone": alone[name]}
            for name, count in sorted(hits.items(), key=lambda item: (-item[1], item[0]))
        },
    }


def render_filtered(counts: Mapping[str, Any], title: str) -> str:
    """Write the counts as a table, with the paper's figure beside the total."""
    total = counts["questions"]
    lines = [f"{title:<28}{'hits':>8}{'first':>8}{'alone':>8}{'% of all':>10}"]
    for name, found in counts["by_rule"].items():
        share = _percent(found["hits"], total)
        lines.append(
            f"{name:<28}{found['hits']:>8}{found['first']:>8}{found['alone']:>8}{share:>10}"
        )
    removed = _percent(counts["removed"], total)
    lines.append(
        f"removed {counts['removed']:,} of {total:,} questions ({removed}; "
        f"the paper says about {PAPER_REMOVED}%), kept {counts['kept']:,}"
    )
    return "\n".join(lines) + "\n"


def audit(
    originals: Sequence[MultipleChoice], released: Sequence[Question], rules: RuleSet
) -> dict[str, Any]:
    """Check a rule set against released questions, joined by id with their originals.

    A violation is a released question that the rules would have removed.

    Returns:
        Counts over the originals and, of them, the training split; the released questions found
        among the originals; every violation with its hits.
    """
    records = [
        filter_record({"question_id": q.question_id, "split": q.split, "stem": q.stem}, rules)
        for q in originals
    ]
    by_id = {record["question_id"]: record for record in records}
    joined = [q for q in released if q.question_id in by_id]
    broken = [by_id[q.question_id] for q in joined if not by_id[q.question_id]["kept"]]
    train = [record for record in records if record["split"] == "train"]
    return {
        "rules": rules.name,
        "all": count_filtered(records),
        "train": count_filtered(train),
        "released": len(released),
        "joined": len(joined),
        "violations": len(broken),
        "survive": 1 - len(broken) / len(joined) if joined else None,
        "violating": [
            {
                "question_id": r["question_id"],
                "rules": [h["rule"] for h in r["hits"]],
                "sentence": r["hits"][0]["sentence"],
            }
            for r in broken
        ],
    }


def render_audit(found: Mapping[str, Any], *, listed: int = 10) -> str:
    """Write an audit as text: shares removed, shares of released questions that survive."""
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
    everything = split_question_sentences(text)
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


_BLANK = re.compile(r"\s*(?:_{2,}|\u2014)\s*\.?$")
_ARTICLE = re.compile(r"\s+(?:a|an|the)$", re.IGNORECASE)
_OPEN_ENDS = (
    *("of", "to", "by", "from", "with", "in", "on", "for", "at", "as", "into", "through", "about"),
    *("is", "are", "was", "were", "be", "called", "uses", "use", "has", "have", "causes", "cause"),
    *("makes", "produces", "produce", "provides", "contains", "becomes", "become", "like", "than"),
    *("because of", "due to"),
)
_OPEN_END = re.compile(rf"\b(?:{'|'.join(map(re.escape, _OPEN_ENDS))})$", re.IGNORECASE)


def normalise_stem(stem: str) -> str:
    """Make runs of spaces and line ends one space; case and blanks (`___`) stay."""
    return re.sub(r"\s+", " ", stem).strip()


def suggest_rewording(question: str) -> str | None:
    """Suggest a full question for an unfinished sentence, or None where there is nothing to say.

    "... are forms of" -> "... are forms of what?"; "... is called the" -> "... is called what?";
    "... because" -> "Why ...?" is left to people, and so is every question that ends in "?".
    """
    text = normalise_stem(question)
    if not text or text.endswith("?"):
        return None
    cut = _BLANK.sub("", text.rstrip(" :")).rstrip(" .,:")
    cut = _ARTICLE.sub("", cut)
    if cut != text.rstrip(" .,:") or _OPEN_END.search(cut):
        return f"{cut} what?"
    return None
