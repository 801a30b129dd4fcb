"""Predict with a saved model on a split and write the official prediction file.

  twowiki predict MODEL DATA OUT
  twowiki predict --model DIR --task arc_da|two_wiki DATA OUT

MODEL is a folder that training or `twowiki convert-baseline` wrote, or a hub repository of this
package's models. DATA is any official file, archive or data folder (with --split). OUT is the
JSON that `twowiki score` and the leaderboard take. Finished parts are kept beside OUT until the
end, so that a run that was cut off goes on where it stopped.

With --task any encoder-decoder or language model is asked in words: one that was trained here in
the format that it was trained with, any other zero-shot or with --shots demonstrations. DIR is a
folder, a .gguf file or a hub name. Prompts and outputs are kept beside OUT (.outputs.jsonl), where
a run that was cut off goes on; where there is gold the scores are printed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from twowiki.cli.predict_text import add_text_arguments, run_text
from twowiki.errors import DataError
from twowiki.io.files import progress, replacing, write_json

BATCH_SIZE = 48
INTERMIXED = True  # MODEL DATA OUT are one list of paths, wherever flags stand


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", help="MODEL DATA OUT; or DATA OUT after --model MODEL"
    )
    parser.add_argument("--model", help="folder of a saved model, or a hub repository")
    parser.add_argument("--split", help="split of DATA, where it holds several")
    parser.add_argument("--config", help="release of DATA, where its name does not tell")
    parser.add_argument(
        "--batch-size", type=int, help="windows (default 48) or questions (8) at once"
    )
    parser.add_argument("--part", type=int, default=480, help="examples of a part (default 480)")
    parser.add_argument(
        "--scores", help="also write every score and span, one JSON line a question"
    )
    parser.add_argument("--device", help="cpu, cuda, cuda:1, ... (default: cuda if there is one)")
    parser.add_argument(
        "--trust-remote-code", action="store_true", help="run the code of a hub repository's model"
    )
    add_text_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Predict; give the exit status."""
    name_paths(args)
    return run_windows(args) if args.task is None else run_text(args)


def name_paths(args: argparse.Namespace) -> None:
    """Tell MODEL, DATA and OUT by their order."""
    paths = ([] if args.model is None else [args.model]) + args.paths
    if len(paths) != 3:
        found = "no --model" if args.model is None else f"--model {args.model}"
        remedy = "Write: twowiki predict MODEL DATA OUT, or --model MODEL DATA OUT"
        raise DataError(f"{len(args.paths)} paths and {found}", remedy=remedy)
    args.model, args.data, args.out = paths


def run_windows(args: argparse.Namespace) -> int:
    """Predict with a model of this package, window by window."""
    import torch

    from twowiki.data.sources import read_examples
    from twowiki.models.auto import load_model
    from twowiki.training.loop import keep_freed_memory

    args.batch_size = BATCH_SIZE if args.batch_size is None else args.batch_size
    if args.part < 1 or args.batch_size < 1:
        raise DataError("must be at least 1", field="part" if args.part < 1 else "batch-size")
    found = iter(read_examples(args.data, args.config, args.split))
    first = next(found, None)  # before the model, which takes long to load
    if first is None:
        raise DataError("holds no examples", file=args.data)
    keep_freed_memory()
    device = args.device or ("cuda" if torch.cuda.is_available() else "cpu")
    model = load_model(
        args.model,
        revision=args.revision or None,
        device=device,
        trust_remote_code=args.trust_remote_code,
    )
    parts = Path(f"{args.out}.parts")
    done = open_parts(parts, identify(args, model))
    try:
        examples = iter(progress(chain([first], found), what="predicting"))
        for number, part in enumerate(parts_of(examples, args.part)):
            if number not in done:
                answers = model.answer(part, batch_size=args.batch_size)
                records = list(map(to_record, part, answers))
                write_json(parts / f"{number}.json", records, indent=None)
                done.add(number)
        count = finish(args, [parts / f"{number}.json" for number in sorted(done)])
        done.clear()
    finally:
        if not done:  # nothing to go on from
            shutil.rmtree(parts)
    print(f"{args.out}: {count} predictions", file=sys.stderr)
    return 0


def identify(args: argparse.Namespace, model: Any) -> dict[str, Any]:
    """Say what a run's parts depend on; parts of another run are not used."""
    weights = hashlib.sha256()
    for name, value in sorted(model.state_dict().items()):
        weights.update(name.encode())
        weights.update(value.detach().cpu().contiguous().numpy().tobytes())
    place = Path(args.data)
    stamps = sorted(
        (str(path.relative_to(place)), path.stat().st_size, path.stat().st_mtime_ns)
        for path in ([place] if place.is_file() else place.rglob("*"))
        if path.is_file()
    )
    return {
        "weights": weights.hexdigest(),
        "config": json.loads(model.config.to_json_string()),
        "data": [str(place.resolve()), json.loads(json.dumps(stamps))],
        "split": [args.split, args.config],
        "part": args.part,
    }


def open_parts(folder: Path, identity: dict[str, Any]) -> set[int]:
    """Give the parts that are done; a folder of another run is emptied."""
    note = folder / "run.json"
    folder.mkdir(parents=True, exist_ok=True)
    if note.is_file() and json.loads(note.read_text(encoding="utf-8")) == identity:
        return {int(path.stem) for path in folder.glob("*.json") if path.stem.isdigit()}
    for path in folder.glob("*.json"):
        path.unlink()
    write_json(note, identity)
    return set()


def parts_of(examples: Iterator[Any], size: int) -> Iterator[list[Any]]:
    """Cut a stream into lists of one size; the last may be shorter."""
    while part := list(islice(examples, size)):
        yield part


def to_record(example: Any, answer: Any) -> dict[str, Any]:
    """Keep all that is said about one question."""
    return {
        "id": example.id,
        "answer": answer.answer,
        "answer_type": answer.answer_type,
        "answer_score": round(answer.answer_score, 6),
        "answer_span": answer.answer_span,
        "sp": answer.supporting_facts,
        "sentences": [[t, n, round(score, 6)] for t, n, score in answer.sentence_scores],
        "evidence": [list(triple[:3]) for triple in answer.evidences],
        "triples": [
            {"score": round(triple.score, 6), "spans": [triple.subject_span, triple.object_span]}
            for triple in answer.evidences
        ],
    }


def read_parts(parts: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """Yield the records of the parts in order, one part in memory at a time."""
    for path in parts:
        yield from json.loads(path.read_text(encoding="utf-8"))


def finish(args: argparse.Namespace, parts: Sequence[Path]) -> int:
    """Write the prediction file, and the scores if they are asked for; give the predictions."""
    from twowiki.io.files import write_json_lines

    if args.scores:
        write_json_lines(args.scores, read_parts(parts))
    with replacing(args.out) as stream:
        stream.writelines(official_lines(parts))
    return sum(1 for _ in read_parts(parts))


def official_lines(parts: Sequence[Path]) -> Iterator[str]:
    """Yield the official file, a question a line."""
    for key, before in (("answer", "{"), ("sp", ","), ("evidence", ",")):
        yield f'{before}\n  "{key}": {{'
        comma = ""
        for record in read_parts(parts):
            said = json.dumps(record[key], ensure_ascii=False)
            yield f"{comma}\n    {json.dumps(record['id'], ensure_ascii=False)}: {said}"
            comma = ","
        yield "\n  }"
    yield "\n}\n"
