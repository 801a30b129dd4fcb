"""Compare two runs, or a run with expected samples.

In: two output folders. Out: what is equal and what differs, file by file, then table by table,
whatever the engines; for differing samples, the first ones that only one run has. With expected
samples: which ones the run has, and for every missing one the reason that dropped it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.compute as pc
import pyarrow.dataset as ds

from twowiki.data.relations import P
from twowiki.data.sources import read_raw
from twowiki.errors import DataError
from twowiki.generation.outputs import PROVENANCE, SPLIT_FILES
from twowiki.generation.run import stages_folder
from twowiki.generation.sampling import read_json_lines
from twowiki.generation.tables import digest_rows, parquet_files, read_rows
from twowiki.io.files import sha256_of
from twowiki.io.stages import MANIFEST
from twowiki.models.text import bare_title

_COMPARED = ("train.json", "dev.json", "test.json", "id_aliases.json", PROVENANCE, "report.json",
         "report.html")  # fmt: skip
_SHOWN = 5
_STAGES = stages_folder(Path(), None)  # below a run's folder
# `dates` has a date once per part, and engines cut different parts; `days` has it once.
_UNCOMPARED = {"dates"}


class RunDifference(NamedTuple):
    """One comparison: what, whether it is equal, and details of a difference."""

    what: str
    equal: bool
    detail: str = ""


def compare_runs(one: Path, two: Path) -> Iterator[RunDifference]:
    """Compare the files of two runs, then the tables that both still have.

    Raises:
        DataError: when a folder is not a finished run.
    """
    for folder in (one, two):
        if not (folder / "report.json").is_file():
            raise DataError(
                "not a finished run", file=folder, remedy="Name the --out of `twowiki generate`."
            )
    for name in _COMPARED:
        equal = sha256_of(one / name) == sha256_of(two / name)
        yield RunDifference(name, equal, "" if equal else _difference(one, two, name))
    parquet = [
        {
            str(path.relative_to(folder)): sha256_of(path)
            for path in sorted(folder.rglob("*.parquet"))
        }
        for folder in (one / "parquet", two / "parquet")
    ]
    yield RunDifference("parquet", parquet[0] == parquet[1])
    stages = sorted(_stages(one) & _stages(two))
    for stage in stages:
        for table in sorted(_tables(one / _STAGES / stage) & _tables(two / _STAGES / stage)):
            path = _STAGES / stage / table
            equal = digest_rows(one / path) == digest_rows(two / path)
            yield RunDifference(f"work/{stage}/{table}", equal)


def _stages(run: Path) -> set[str]:
    return {path.parent.name for path in (run / _STAGES).glob(f"*/{MANIFEST}")}


def _tables(stage: Path) -> set[str]:
    manifest = json.loads((stage / MANIFEST).read_text("utf-8"))
    return set(manifest["tables"]) - _UNCOMPARED


def _difference(one: Path, two: Path, name: str) -> str:
    if name != PROVENANCE:
        return ""
    known = [
        {record["_id"]: record["question"] for record in read_json_lines(folder / name, dict)}
        for folder in (one, two)
    ]
    lines = []
    one_way, other_way = known
    for label, mine, other in (
        ("first", one_way, other_way),
        ("second", other_way, one_way),
    ):
        alone = sorted(set(mine) - set(other))
        lines += [f"only in the {label}: {key} {mine[key]}" for key in alone[:_SHOWN]]
        if len(alone) > _SHOWN:
            lines.append(f"only in the {label}: {len(alone) - _SHOWN:,} more")
    return "\n".join(lines)


class Missing(NamedTuple):
    """An expected sample that the run does not have."""

    record: Mapping[str, Any]
    reason: str


class Recovery(NamedTuple):
    """What the run has: counts, samples with another question, and the missing ones."""

    expected: int
    found: int
    worded: int
    unworded: list[Mapping[str, Any]]
    missing: list[Missing]


def _ids(record: Mapping[str, Any]) -> list[int]:
    return [int(part[1:]) for part in str(record["entity_ids"]).split("_") if part[1:].isdecimal()]


class Recovered:
    """A finished run, in which expected samples are looked up.

    Args:
        out: the run's folder.
        work: the folder of its stages, for the reasons; by default `work` in it.
    """

    def __init__(self, out: Path, work: Path | None = None) -> None:
        if not (out / PROVENANCE).is_file():
            raise DataError(
                "not a finished run",
                file=out,
                remedy="GenerationRun `twowiki generate --out` first.",
            )
        self.out, self.work = out, stages_folder(out, work)
        if not (self.work / "samples" / "dropped.jsonl").is_file():
            raise DataError(
                "the stages of the run are missing",
                file=self.work,
                remedy="Name the --work of `twowiki generate`, or run it again.",
            )
        self.wordings = {
            row["_id"]: row["wordings"] for row in read_json_lines(out / PROVENANCE, dict)
        }
        self.by_form: dict[Any, list[Mapping[str, Any]]] = {}
        self.by_entities: dict[Any, list[Mapping[str, Any]]] = {}
        for name in SPLIT_FILES:
            for record in json.loads((out / f"{name}.json").read_bytes()):
                self.by_form.setdefault(self._form(record), []).append(record)
                key = (record["type"], frozenset(_ids(record)))
                self.by_entities.setdefault(key, []).append(record)

    @cached_property
    def _labels(self) -> dict[str, str]:
        rows = read_rows(self.work / "select" / "linked")
        return {row["title"]: row["label"] for row in rows}

    def _form(self, record: Mapping[str, Any]) -> tuple[Any, ...]:
        evidences = frozenset(
            (self._labels.get(subject, subject).casefold(), relation, target.casefold())
            for subject, relation, target in record["evidences"]
        )
        support = frozenset((title, sent_id) for title, sent_id in record["supporting_facts"])
        return record["type"], record["answer"].casefold(), support, evidences

    def check(self, expected: Path) -> Recovery:
        """Look up every expected record."""
        records = list(read_raw(expected))
        worded, unworded, missing = 0, [], []
        for record in records:
            found = self.by_form.get(self._form(record), [])
            if not found:
                missing.append(Missing(record, self._reason(record)))
            elif any(record["question"] in self.wordings[one["_id"]] for one in found):
                worded += 1
            else:
                unworded.append(record)
        found_count = len(records) - len(missing)
        return Recovery(len(records), found_count, worded, unworded, missing)

    def _reason(self, record: Mapping[str, Any]) -> str:
        """Return the first reason that a sample is missing."""
        ids = _ids(record)
        relations = [relation for _, relation, _ in record["evidences"]]
        near = [
            other
            for other in self.by_entities.get((record["type"], frozenset(ids)), [])
            if {relation for _, relation, _ in other["evidences"]} == set(relations)
        ]
        if near:
            return self._difference(record, near)
        return (
            self._dropped_row(record["type"], ids, relations)
            or self._fact_missing(record, ids)
            or "not_paired"
        )

    def _difference(self, record: Mapping[str, Any], near: list[Mapping[str, Any]]) -> str:
        _, answer, support, evidences = self._form(record)
        forms = [self._form(other) for other in near]
        if all(form[3] != evidences for form in forms):
            subjects = {(subject, relation) for subject, relation, _ in evidences}
            same = any({(s, r) for s, r, _ in form[3]} == subjects for form in forms)
            return "object_written_otherwise" if same else "subject_named_otherwise"
        if all(form[2] != support for form in forms):
            return "other_support_sentence"
        return "other_answer" if all(form[1] != answer for form in forms) else "other_combination"

    def _dropped_row(self, kind: str, ids: list[int], relations: list[str]) -> str:
        """Return the reason in the candidate's row; "" if it has no row."""
        numbers = [P[name] for name in relations if name in P]
        if kind in ("inference", "compositional") and len(ids) > 1 and len(numbers) > 1:
            table, test = "chains", {"e": ids[0], "b": ids[1], "r1": numbers[0], "r2": numbers[1]}
            return self._row_reason(table, [test])
        if kind == "comparison" and len(ids) > 1:
            name = "age" if len(set(relations)) > 1 else relations[0]
            pairs = (ids[:2], ids[1::-1])
            return self._row_reason(
                "comparison", [{"s1": one, "s2": two, "relation": name} for one, two in pairs]
            )
        if kind == "bridge_comparison" and len(ids) > 1:
            pairs = (ids[:2], ids[1::-1])
            return self._row_reason(
                "bridge_comparison",
                [{"f1": one, "f2": two, "r2": relations[-1]} for one, two in pairs],
            )
        return ""

    def _row_reason(self, table: str, tests: list[dict[str, Any]]) -> str:
        folder = self.work / "candidates" / table
        if not folder.is_dir():
            return "type_not_asked_for"
        source = ds.dataset([str(path) for path in parquet_files(folder)], format="parquet")
        for test in tests:
            condition = None
            for name, value in test.items():
                clause = pc.field(name) == value
                condition = clause if condition is None else condition & clause
            rows = source.to_table(filter=condition).to_pylist()
            if rows:
                return rows[0]["reason"] or self._later_reason(test)
        return ""

    def _later_reason(self, test: Mapping[str, Any]) -> str:
        for entry in read_json_lines(self.work / "samples" / "dropped.jsonl", dict):
            if all(entry["candidate"].get(name) == value for name, value in test.items()):
                return str(entry["reason"])
        return "too_few_distractors_or_beyond_the_limit"

    @cached_property
    def _facts(self) -> dict[tuple[int, int], list[Mapping[str, Any]]]:
        found: dict[tuple[int, int], list[Mapping[str, Any]]] = {}
        for row in read_rows(self.work / "select" / "facts"):
            found.setdefault((row["s"], row["p"]), []).append(row)
        return found

    @cached_property
    def _grounded(self) -> set[tuple[int, int, int]]:
        rows = read_rows(self.work / "ground" / "grounded")
        return {(row["s"], row["p"], row["o"]) for row in rows}

    @cached_property
    def _pages(self) -> dict[str, int]:
        rows = read_rows(self.work / "select" / "linked")
        names = {row["label"]: row["qid"] for row in rows}
        return (
            names
            | {bare_title(row["title"]): row["qid"] for row in rows}
            | {row["title"]: row["qid"] for row in rows}
        )

    def _fact_missing(self, record: Mapping[str, Any], ids: list[int]) -> str:
        """Return the reason of the first evidence that the dumps do not support; "" if all are."""
        linked = set(self._pages.values())
        if any(qid not in linked for qid in ids):
            return "entity_without_a_page"
        for place, (subject, relation, _) in enumerate(record["evidences"]):
            given = record.get("evidences_id") or []
            qid = int(given[place][0][1:]) if place < len(given) else self._pages.get(subject)
            if qid is None or relation not in P:
                return "subject_without_a_page"
            facts = self._facts.get((qid, P[relation]), [])
            if not facts:
                return "no_statement"
            if any((row["s"], row["p"], row["o"]) not in self._grounded for row in facts):
                return "object_not_in_summary"
            linked_to = [row["o"] for row in facts]
            if relation in ("director", "producer") and not set(linked_to) & set(ids):
                return "bridge_entity_without_a_page"
        return ""


def missing_lines(recovery: Recovery) -> Iterator[str]:
    """Return one line per missing sample."""
    for record, reason in recovery.missing:
        yield f"{record['_id']}  {record['type']}  {reason}  {record['question']}"
