"""The files of a generated data set: the authors' JSON, aliases, provenance, report.

Everything here depends on the stages alone, not on time, path, engine or machine.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

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


class _Array:
    """A JSON array of official records in a file, one per line."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._before = stream, b"\n"
        stream.write(b"[")

    def add(self, example: Example) -> None:
        """Write a record."""
        self._stream.write(self._before + msgspec.json.encode(to_official(example)))
        self._before = b",\n"


@contextmanager
def _arrays(out: Path) -> Iterator[dict[str, _Array]]:
    """Open the files of the splits; end the arrays."""
    with ExitStack() as stack:
        files = [stack.enter_context(replacing(out / f"{name}.json", "wb")) for name in SPLIT_FILES]
        yield dict(zip(SPLIT_FILES, map(_Array, files), strict=True))
        for file in files:
            file.write(b"\n]\n")


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

    def write_all() -> Iterator[dict[str, Any]]:
        with _arrays(out) as arrays:
            for sample in samples():
                split = splits[sample.id]
                arrays[FILE_OF_SPLIT[split]].add(sample.to_example())
                yield _provenance(sample, split, scores[sample.id])

    write_lines(out / PROVENANCE, write_all())
    shutil.copyfile(work / "samples" / "aliases.jsonl", out / ".aliases.tmp")
    (out / ".aliases.tmp").replace(out / "id_aliases.json")
    report = summarize_run(run, examples, splits)
    write_report(out, report)
    return report
