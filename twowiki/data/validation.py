"""What is odd in raw records, counted by kind, with the ids.

In: files of any layout, or raw records. Out: a `Findings` of kinds, counts, ids and details.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from twowiki.data.layouts import as_release
from twowiki.data.relations import RELATIONS
from twowiki.data.schema import DEFAULT_CONFIG, HOTPOT_CONFIG, Example, parse_record, types_of
from twowiki.data.sources import read_raw
from twowiki.data.splits import find_splits, guess_config
from twowiki.errors import DataError, printable
from twowiki.io.files import progress
from twowiki.io.records import sniff

ODDITIES = {
    "broken_file": "files that end early or hold no records",
    "unreadable_record": "records whose fields have another form than in the release",
    "repeated_key": "keys that stand twice in a record, of which the last counts",
    "missing_id": "records without an id",
    "two_ids": "records whose `_id` and `id` differ",
    "duplicate_id": "ids that occur more than once in a split",
    "shared_id": "ids that another split has too",
    "unknown_type": "question types that the config does not have",
    "unknown_relation": "relations that are not in the paper's list",
    "dangling_title": "supporting titles that the context lacks",
    "sentence_index_out_of_range": "supporting sentence ids past the paragraph's end",
    "empty_paragraph": "paragraphs without text",
    "duplicate_title": "titles that two paragraphs of one context share",
    "evidence_support_count": "records with another number of evidences than supporting facts",
    "evidence_id_mismatch": "evidences_id that disagree with the evidences",
    "missing_answer": "records with evidences but without an answer",
    "hidden_gold": "records without an answer",
}

UNREADABLE = {"broken_file", "unreadable_record"}
# hidden gold of test splits; ages (two dates a sentence) and people of two countries
_BY_NATURE = {"hidden_gold", "evidence_support_count"}


@dataclass
class Findings:
    """What was found: how often each kind occurred, in which records, with which values.

    Attributes:
        records: records read, by split.
        counts: kind -> occurrences (kinds without any are absent).
        ids: kind -> the ids of the records, in order, each once.
        details: kind -> value (a relation, a type, a message) -> occurrences.
        kinds: what each kind means, in the order of the table.
    """

    records: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    ids: dict[str, list[str]] = field(default_factory=dict)
    details: dict[str, dict[str, int]] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=lambda: ODDITIES)

    @property
    def clean(self) -> bool:
        """Whether nothing is odd; what some questions have by nature is listed, but not odd."""
        return not set(self.counts) - _BY_NATURE

    def add(self, kind: str, record: str, detail: str | None = None, times: int = 1) -> None:
        """Count an occurrence in a record."""
        self.counts[kind] = self.counts.get(kind, 0) + times
        known = self.ids.setdefault(kind, [])
        if not known or known[-1] != record:
            known.append(record)
        if detail is not None:
            values = self.details.setdefault(kind, {})
            values[detail] = values.get(detail, 0) + times

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as JSON values, kinds in a fixed order."""
        return {
            "records": self.records,
            "clean": self.clean,
            "findings": {
                kind: {
                    "what": what,
                    "count": self.counts[kind],
                    "ids": self.ids[kind],
                    "details": dict(
                        sorted(self.details.get(kind, {}).items(), key=lambda x: (-x[1], x[0]))
                    ),
                }
                for kind, what in self.kinds.items()
                if kind in self.counts
            },
        }

    def render(self, most: int = 5) -> str:
        """Return a table for people, with the first ids of each kind."""
        total = ", ".join(f"{split} {count:,}" for split, count in self.records.items())
        lines = [f"records: {total or 'none'}"]
        for kind, found in self.to_dict()["findings"].items():
            ids = found["ids"]
            more = f" ... (+{len(ids) - most:,})" if len(ids) > most else ""
            lines.append(f"{found['count']:>8,}  {kind}: {found['what']}")
            lines.append(f"{'':10}in {', '.join(ids[:most])}{more}")
            lines += [
                f"{'':10}{count:,} x {value}"
                for value, count in list(found["details"].items())[:most]
            ]
        if self.clean:
            lines.append("nothing odd found")
        return printable("\n".join(lines))


def validate(
    source: str | PathLike[str] | Iterable[Mapping[str, Any]], config: str | None = None
) -> Findings:
    """Read raw records and report what is odd in them.

    Args:
        source: a file, zip or folder, or raw records.
        config: a release's name or `hotpotqa`; by default decided by the source.

    Raises:
        DataError: only where there is nothing to read (no such path, no data file in a folder).
    """
    findings, others = Findings(), dict[str, str]()
    if not isinstance(source, str | PathLike):
        types_of(config or DEFAULT_CONFIG)
        streams = [("records", source)]
        _split_into(findings, "records", streams, config or DEFAULT_CONFIG, others, [])
        return findings
    config = config or guess_config(source)
    if config == "arc_da":
        raise DataError(
            "ARC-DA has other fields", file=source, remedy="Use twowiki.arc_da.validate_questions"
        )
    types_of(config)
    for split, files in find_splits(source, config).items():
        repeated: list[str] = []
        streams = []
        for path in files:
            member = split if sniff(path) == "zip" else None
            streams.append((path, read_raw(path, member, repeated=repeated)))
        _split_into(findings, split, streams, config, others, repeated)
    return findings


def _split_into(
    findings: Findings,
    split: str,
    streams: Iterable[tuple[str, Iterable[Any]]],
    config: str,
    others: dict[str, str],
    repeated: list[str],
) -> None:
    """Add what is odd in a split.

    Args:
        findings: gets what is found.
        split: its name.
        streams: raw records by file.
        config: the release.
        others: the split of each id; gets those of this one.
        repeated: the keys that stand twice in the record read last; emptied here.
    """
    seen: Counter[str] = Counter()
    number = 0
    for path, stream in streams:
        try:
            for raw in progress(stream, what=split):
                name = f"{split} number {number} (from 0)"
                example = _read(findings, raw, name, config)
                for key in repeated:
                    findings.add("repeated_key", example.id if example else name, key)
                repeated.clear()
                number += 1
                if example is None:
                    continue
                seen[example.id] += 1
                if seen[example.id] == 2:
                    findings.add("duplicate_id", example.id)
                elif seen[example.id] == 1 and example.id in others:
                    findings.add("shared_id", example.id, f"{others[example.id]} and {split}")
                check_example(example, findings, config)
        except DataError as error:
            findings.add("broken_file", path, str(error))
    others |= dict.fromkeys(seen, split)
    findings.records[split] = findings.records.get(split, 0) + number


def _read(findings: Findings, raw: Any, name: str, config: str) -> Example | None:
    """Parse a record; set aside what is odd, so that the rest is still looked at."""
    with suppress(DataError):  # what is wrong with another layout is found when it is parsed
        raw = as_release(raw) if isinstance(raw, Mapping) else raw
    if isinstance(raw, Mapping) and not (raw.get("_id") or raw.get("id")):
        findings.add("missing_id", name)
        raw = {**raw, "_id": name}
    if isinstance(raw, Mapping) and raw.get("_id") and raw.get("id") not in (None, raw["_id"]):
        findings.add("two_ids", str(raw["_id"]), str(raw["id"]))
    try:
        return parse_record(raw, config)
    except DataError as error:
        record = error.record or name
        if error.field == "type" and raw.get("type") is not None:
            findings.add("unknown_type", record, str(raw["type"]))
            return _read(findings, {**raw, "type": None}, name, config)
        findings.add("unreadable_record", record, f"{error.field or 'record'}: {error.problem}")
        return None


def check_example(example: Example, findings: Findings, config: str = DEFAULT_CONFIG) -> None:
    """Add what is odd in one example."""
    lengths: dict[str, int] = {}
    for title, sentences in example.context:
        if title in lengths:
            findings.add("duplicate_title", example.id, title)
        lengths[title] = max(len(sentences), lengths.get(title, 0))
        if not any(sentence.strip() for sentence in sentences):
            findings.add("empty_paragraph", example.id, title)
    titles = dict.fromkeys(fact.title for fact in example.facts)
    for title in titles:
        if title not in lengths:
            findings.add("dangling_title", example.id, title)
    for title, sent_id in example.facts:
        if title in lengths and not 0 <= sent_id < lengths[title]:
            findings.add("sentence_index_out_of_range", example.id)
    if not example.answer and example.evidences:
        findings.add("missing_answer", example.id)
    if not example.has_gold:
        findings.add("hidden_gold", example.id)
    if config != HOTPOT_CONFIG and example.has_gold:
        _check_evidences(example, findings)


def _check_evidences(example: Example, findings: Findings) -> None:
    known = RELATIONS.values()
    for triple in example.triples:
        if triple.relation not in known:
            findings.add("unknown_relation", example.id, triple.relation)
    if None in (example.evidences, example.supporting_facts):
        return
    if len(example.triples) != len(example.facts):
        findings.add("evidence_support_count", example.id)
    if example.evidences_id and [triple.relation for triple in example.evidences_id] != [
        triple.relation for triple in example.triples
    ]:
        findings.add("evidence_id_mismatch", example.id)
