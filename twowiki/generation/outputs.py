"""The files of a generated data set: the authors' JSON, aliases, provenance, report.

Everything here depends on the stages alone; no time, path, engine or host is in it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from twowiki.generation.report import make_report, render_html
from twowiki.generation.run import Run
from twowiki.generation.sampling import read_json_lines, write_lines
from twowiki.generation.splits import FILES
from twowiki.io.files import replacing, write_json, write_text

SPLIT_FILES = ("train", "dev", "test")
PROVENANCE = "provenance.jsonl"
_FIELDS = ("_id", "type", "question", "context", "entity_ids", "supporting_facts", "evidences",
           "answer", "evidences_id", "answer_id")  # fmt: skip


def official(sample: Mapping[str, Any]) -> dict[str, Any]:
    """Give a sample as a record of the authors' files."""
    record = dict(sample)
    record["entity_ids"] = "_".join(f"Q{qid}" for qid in sample["gold"])
    return {name: record[name] for name in _FIELDS}


def _write_array(path: Path, records: Iterable[Mapping[str, Any]]) -> int:
    """Write a JSON array, a record at a time."""
    count = 0
    with replacing(path, "wb") as stream:
        stream.write(b"[")
        for record in records:
            stream.write(b",\n" if count else b"\n")
            stream.write(orjson.dumps(record))
            count += 1
        stream.write(b"\n]\n")
    return count


def _provenance(sample: Mapping[str, Any], split: str, score: float) -> dict[str, Any]:
    return {
        "_id": sample["_id"],
        "split": split,
        "type": sample["type"],
        "question": sample["question"],
        "answer": sample["answer"],
        "entities": [f"Q{qid}" for qid in sample["gold"]],
        **sample["provenance"],
        "evidences": sample["evidences"],
        "supporting_facts": sample["supporting_facts"],
        "distractor_tier": sample["tier"],
        "probe_f1": score,
        "wordings": sample["wordings"],
    }


def write_outputs(run: Run, out: Path) -> dict[str, Any]:
    """Write every file of the data set; give the report."""
    work = run.resources.work
    splits: dict[str, str] = json.loads((work / "splits" / "splits.json").read_text("utf-8"))
    scores: dict[str, float] = json.loads((work / "splits" / "scores.json").read_text("utf-8"))
    examples = work / "contexts" / "examples.jsonl"
    out.mkdir(parents=True, exist_ok=True)

    def of_split(name: str) -> Iterator[dict[str, Any]]:
        for sample in read_json_lines(examples):
            if FILES.get(splits[sample["_id"]]) == name:
                yield official(sample)

    for name in SPLIT_FILES:
        _write_array(out / f"{name}.json", of_split(name))
    write_lines(
        out / PROVENANCE,
        (
            _provenance(sample, splits[sample["_id"]], scores[sample["_id"]])
            for sample in read_json_lines(examples)
            if splits[sample["_id"]]
        ),
    )
    shutil.copyfile(work / "samples" / "aliases.jsonl", out / ".aliases.tmp")
    (out / ".aliases.tmp").replace(out / "id_aliases.json")
    report = make_report(run, of_split, splits)
    write_json(out / "report.json", report)
    write_text(out / "report.html", render_html(report))
    return report
