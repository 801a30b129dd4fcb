"""The files of a generated data set: the authors' JSON, aliases, provenance, report.

Everything here depends on the stages alone, not on time, path, engine or machine.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from twowiki.data.schema import Example, to_official
from twowiki.generation.report import summarize_run, write_report
from twowiki.generation.run import GenerationRun
from twowiki.generation.samples import GeneratedSample
from twowiki.generation.sampling import read_json_lines, write_lines
from twowiki.generation.splits import FILE_OF_SPLIT
from twowiki.io.files import replacing

SPLIT_FILES = ("train", "dev", "test")
PROVENANCE = "provenance.jsonl"


def _write_array(path: Path, examples: Iterable[Example]) -> None:
    """Write a JSON array of official records, one per line."""
    first = True
    with replacing(path, "wb") as stream:
        stream.write(b"[")
        for example in examples:
            stream.write(b"\n" if first else b",\n")
            stream.write(msgspec.json.encode(to_official(example)))
            first = False
        stream.write(b"\n]\n")


def _provenance(sample: GeneratedSample, split: str, score: float) -> dict[str, Any]:
    return {
        "_id": sample.id,
        "split": split,
        "type": sample.type,
        "question": sample.question,
        "answer": sample.answer,
        "entities": [f"Q{qid}" for qid in sample.gold],
        **msgspec.to_builtins(sample.provenance),
        "evidences": sample.evidences,
        "supporting_facts": sample.supporting_facts,
        "distractor_tier": sample.tier,
        "probe_f1": score,
        "wordings": sample.wordings,
    }


def write_outputs(run: GenerationRun, out: Path) -> dict[str, Any]:
    """Write every file of the data set; return the report."""
    work = run.work
    splits: dict[str, str] = json.loads((work / "splits" / "splits.json").read_text("utf-8"))
    scores: dict[str, float] = json.loads((work / "splits" / "scores.json").read_text("utf-8"))
    out.mkdir(parents=True, exist_ok=True)

    def samples() -> Iterator[GeneratedSample]:
        for sample in read_json_lines(work / "contexts" / "examples.jsonl", GeneratedSample):
            if splits[sample.id]:
                yield sample

    def examples(name: str) -> Iterator[Example]:
        for sample in samples():
            if FILE_OF_SPLIT[splits[sample.id]] == name:
                yield sample.to_example()

    for name in SPLIT_FILES:
        _write_array(out / f"{name}.json", examples(name))
    write_lines(
        out / PROVENANCE,
        (_provenance(sample, splits[sample.id], scores[sample.id]) for sample in samples()),
    )
    shutil.copyfile(work / "samples" / "aliases.jsonl", out / ".aliases.tmp")
    (out / ".aliases.tmp").replace(out / "id_aliases.json")
    report = summarize_run(run, examples, splits)
    write_report(out, report)
    return report
