"""The configs of multi-hop questions: their question types, and the keys of their records."""

from __future__ import annotations

from typing import Any

from twowiki.errors import DataError

TWO_WIKI_TYPES = ("comparison", "inference", "compositional", "bridge_comparison")
SET_TYPES = ("intersection", "count")  # of fictional worlds alone: questions over listed pages
HOTPOT_TYPES = ("bridge", "comparison")
HOTPOT_CONFIG = "hotpotqa"
DEFAULT_CONFIG = "data_ids_april7"
RELEASES = ("data_ids_april7", "data_ids", "data")
CONFIGS = (*RELEASES, HOTPOT_CONFIG)
# made by this package: about a fictional world, and from dumps
WORLD_CONFIG, GENERATED_CONFIG = "world", "generated"
MADE_CONFIGS = (WORLD_CONFIG, GENERATED_CONFIG)
LAYOUT_CONFIG = "multihop"  # files of other tools, in their layouts
PAGES_CONFIG = "para_with_hyperlink"  # Wikipedia summaries with their links
QUESTION_CONFIGS = (*CONFIGS, WORLD_CONFIG, GENERATED_CONFIG, LAYOUT_CONFIG)
SPLITS = ("train", "validation", "test")

KNOWN_FIELDS = frozenset(
    (
        *("_id", "id", "type", "question", "context", "supporting_facts", "evidences"),
        *("evidences_id", "answer", "answer_id", "entity_ids", "level", "sub_questions"),
        *("answer_aliases", "supporting_paragraphs", "answerable"),
    )
)
# keys that a record of the configs below has only where its source does
OPTIONAL_KEYS = ("sub_questions", "level", "answer_aliases", "supporting_paragraphs", "answerable")
_PLAIN = ("_id", "type", "question", "context", "entity_ids", "supporting_facts", "evidences",
          "answer")  # fmt: skip
_WITH_IDS = (*_PLAIN, "evidences_id", "answer_id")
OFFICIAL_KEYS = {
    "data_ids_april7": _WITH_IDS,
    "data_ids": _WITH_IDS,
    "data": _PLAIN,
    HOTPOT_CONFIG: ("_id", "answer", "question", "supporting_facts", "context", "type", "level"),
    WORLD_CONFIG: (*_WITH_IDS, "sub_questions"),
    GENERATED_CONFIG: (*_WITH_IDS, "sub_questions"),
    LAYOUT_CONFIG: (*_WITH_IDS, *OPTIONAL_KEYS),
}  # fmt: skip
HOTPOT_HIDDEN = ("_id", "question", "context")


def types_of(config: str) -> tuple[str, ...]:
    """Return the question types of a config, in class-label order."""
    if config not in QUESTION_CONFIGS:
        known = ", ".join(QUESTION_CONFIGS)
        raise DataError(f"unknown config {config!r}", remedy=f"Known: {known}")
    if config == LAYOUT_CONFIG:
        return (*TWO_WIKI_TYPES, "bridge")
    if config == WORLD_CONFIG:
        return (*TWO_WIKI_TYPES, *SET_TYPES)
    return HOTPOT_TYPES if config == HOTPOT_CONFIG else TWO_WIKI_TYPES


def type_named(value: Any, config: str) -> str | None:
    """Return the question type that a name or a class label's number stands for."""
    known = types_of(config)
    if value is None:
        return None
    if type(value) is int and 0 <= value < len(known):
        return known[value]
    name = value.replace("-", "_") if isinstance(value, str) else None
    if name in known:
        return name
    remedy = f"The types of config {config!r} are {', '.join(known)}"
    if config != HOTPOT_CONFIG and value in HOTPOT_TYPES:
        remedy += f"; for HotpotQA's files use the config {HOTPOT_CONFIG!r}"
    if value in SET_TYPES:
        remedy += f"; for the questions of a fictional world use the config {WORLD_CONFIG!r}"
    raise DataError(f"unknown question type {value!r}", field="type", remedy=remedy)
