"""Commands on models: predict, push, card, and the conversion of the authors' checkpoint."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twowiki.cli.predict_text import PredictOptions, predict_with_text
from twowiki.errors import DataError
from twowiki.hub.run_record import made_by
from twowiki.io.arguments import argument, positional
from twowiki.io.files import (
    progress,
    read_text,
    replacing,
    sha256_of,
    write_json,
    write_json_lines,
    write_text,
)
from twowiki.io.journal import Journal
from twowiki.io.ownership import OwnedFolder, open_folder
from twowiki.io.stages import file_stamps

if TYPE_CHECKING:
    from twowiki.hub.folder_checks import CheckedFolder, LeftOut

WINDOWS_PER_BATCH = 48
_FINISHED = "run.jsonl"  # which parts are finished
LISTED = 12  # files that are left out, listed by name after a push; a dry run lists all


@dataclass(frozen=True, kw_only=True)
class PredictCommand(PredictOptions):
    """Predict with a saved model on a split, and write the official prediction file.

      twowiki predict MODEL DATA OUT
      twowiki predict --model DIR --task arc_da|arc_mc|two_wiki DATA OUT
      twowiki predict MODEL DATA OUT --rankings rankings.jsonl       over retrieved paragraphs

    MODEL is a folder that training or `twowiki convert-baseline` wrote, or a hub repository of this
    package's models. DATA is any official file, archive or data folder (with --split). OUT is the
    JSON that `twowiki score` and the leaderboard take.

    With --task any encoder-decoder or language model is prompted: one that was trained here in the
    format of its training, any other zero-shot or with --shots demonstrations. DIR is a folder, a
    .gguf file or a hub name. Prompts and outputs are kept beside OUT (.outputs.jsonl); where there
    is gold the scores are printed.

    An interrupted run continues where it stopped. What a run with other settings kept is refused,
    and discarded with --restart.
    """

    def __post_init__(self) -> None:
        paths = ([] if self.model is None else [self.model]) + self.paths
        if len(paths) != 3:
            found = "no --model" if self.model is None else f"--model {self.model}"
            remedy = "Write: twowiki predict MODEL DATA OUT, or --model MODEL DATA OUT"
            raise DataError(f"{len(self.paths)} paths and {found}", remedy=remedy)
        for name, path in zip(("model", "data", "out"), paths, strict=True):
            object.__setattr__(self, name, path)

    def run(self) -> int:
        return predict_with_text(self) if self.task else _predict_windows(self)


def _predict_windows(options: PredictOptions) -> int:
    """Predict with a model of this package, window by window, and keep finished parts."""
    import torch

    from twowiki.data.sources import read_examples
    from twowiki.models.auto import load_extractive_model
    from twowiki.training.memory import keep_freed_memory

    examples = options.with_contexts(read_examples(options.data, options.config, options.split))
    first = next(examples, None)  # before the model, which takes long to load
    if first is None:
        raise DataError("has no examples", file=options.data)
    keep_freed_memory()
    model = load_extractive_model(
        str(options.model),
        revision=options.revision or None,
        device=options.device or ("cuda" if torch.cuda.is_available() else "cpu"),
        trust_remote_code=options.trust_remote_code,
        allow_missing=options.allow_missing,
    )
    folder = Path(f"{options.out}.parts")
    identity = _identity(options, model)
    inputs = [Path(options.data)]
    with open_folder(
        folder, "predict", {}, beside=True, restart=options.restart, inputs=inputs
    ) as owned:
        owned.claim(_FINISHED)
        done = Journal(folder / _FINISHED, identity, key="part")
        finished = False
        try:
            listed = iter(progress(chain([first], examples), what="predicting"))
            _predict_parts(options, model, listed, owned, done)
            parts = [folder / f"{number}.json" for number in sorted(done.records, key=int)]
            count = _write_predictions(options, parts)
            finished = True
        finally:
            done.close()
            if finished or not done.records:
                owned.remove()
    print(f"{options.out}: {count} predictions", file=sys.stderr)
    return 0


def _predict_parts(
    options: PredictOptions,
    model: Any,
    examples: Iterator[Any],
    owned: OwnedFolder,
    done: Journal,
) -> None:
    """Predict the parts that are not done."""
    for number, part in enumerate(_batched(examples, options.part)):
        if str(number) not in done.records:
            answers = model.answer(part, batch_size=options.batch_size or WINDOWS_PER_BATCH)
            owned.claim(f"{number}.json")
            records = list(map(_to_record, part, answers))
            write_json(owned.path / f"{number}.json", records, indent=None)
            done.add([{"part": str(number)}])


def _batched(examples: Iterator[Any], size: int) -> Iterator[list[Any]]:
    """Yield a stream in lists of one size; the last may be shorter."""
    while part := list(islice(examples, size)):
        yield part


def _identity(options: PredictOptions, model: Any) -> dict[str, Any]:
    """Return what a run's parts depend on."""
    weights = hashlib.sha256()
    for name, value in sorted(model.state_dict().items()):
        weights.update(name.encode())
        weights.update(value.detach().cpu().contiguous().numpy().tobytes())
    return {
        "weights": weights.hexdigest(),
        "config": json.loads(model.config.to_json_string()),
        "data": [os.path.realpath(options.data), file_stamps(options.data)],
        "split": [options.split, options.config],
        "part": options.part,
        **_retrieved(options),
    }


def _retrieved(options: PredictOptions) -> dict[str, Any]:
    """Return what the retrieved paragraphs depend on; nothing without them."""
    if options.rankings is None:
        return {}
    return {"rankings": [sha256_of(options.rankings), options.corpus, options.paragraphs]}


def _to_record(example: Any, answer: Any) -> dict[str, Any]:
    """Return everything that was predicted for one question."""
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


def _read_parts(parts: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """Yield the records of the parts in order, one part in memory at a time."""
    for path in parts:
        yield from json.loads(path.read_text(encoding="utf-8"))


def _write_predictions(options: PredictOptions, parts: Sequence[Path]) -> int:
    """Write the prediction file, and the scores with --scores; return the number of predictions."""
    if options.scores:
        write_json_lines(options.scores, _read_parts(parts))
    with replacing(options.out) as stream:
        stream.writelines(_official_lines(parts, made_by(str(options.model))))
    return sum(1 for _ in _read_parts(parts))


def _official_lines(parts: Sequence[Path], run: Mapping[str, Any]) -> Iterator[str]:
    """Yield the official file, one question per line, and which run's model predicted."""
    for key, before in (("answer", "{"), ("sp", ","), ("evidence", ",")):
        yield f'{before}\n  "{key}": {{'
        comma = ""
        for record in _read_parts(parts):
            name, value = (json.dumps(record[part], ensure_ascii=False) for part in ("id", key))
            yield f"{comma}\n    {name}: {value}"
            comma = ","
        yield "\n  }"
    if run:
        yield f',\n  "made_by": {json.dumps(dict(run))}'
    yield "\n}\n"


@dataclass(frozen=True, kw_only=True)
class PushCommand:
    """Push a folder to the Hugging Face hub: a model, data set, metric or the demo.

      twowiki push model runs/tiny my-name/my-model
      twowiki push dataset out my-name/my-data
      twowiki push metric metrics/twowiki_joint my-name/twowiki_joint
      twowiki push demo examples/demo my-name/my-demo

    The folder is checked first: a model must load where this package is not installed, a data set's
    card must describe its files, a Space must start; no pickles, logs, hidden files or tokens are
    sent. Everything goes in one commit, and an unchanged folder makes none. The token is that of
    `hf auth login` or of HF_TOKEN; it is never shown. A metric and a demo become Spaces.
    """

    kind: str = positional(
        "what the folder contains",
        choices=("model", "dataset", "metric", "demo"),
    )
    folder: str = positional(
        "the folder (of a model, or of a run with a model in best/)", role="input"
    )
    repo: str = positional("repository as owner/name; created if it does not exist")
    private: bool = argument(False, "make the repository private")
    revision: str | None = argument(None, "branch to commit to (default: main)")
    create_pr: bool = argument(False, "open a pull request instead of committing")
    message: str | None = argument(None, "of the commit (default: Upload the KIND)")
    dry_run: bool = argument(False, "check, and list what would be sent; send nothing")

    def run(self) -> int:
        from twowiki.hub.push import plan_push, push

        if self.dry_run:
            checked = plan_push(self.folder, self.repo, self.kind)
            print("\n".join(_planned_lines(checked, self.repo)))
            return 0
        done = push(
            self.folder,
            self.repo,
            self.kind,
            private=self.private,
            revision=self.revision,
            create_pr=self.create_pr,
            message=self.message,
        )
        if not done.changed:
            print(f"nothing has changed at {done.address} (commit {done.commit[:12]})")
            return 0
        print(f"pushed {len(done.files)} files, {_size_text(done.size)}, to {done.address}")
        for path in done.deleted:
            print(f"deleted there: {path}")
        for line in _left_out_lines(done.left_out):
            print(line)
        print(done.pull_request or f"commit {done.commit}")
        return 0


def _planned_lines(checked: CheckedFolder, repo: str) -> Iterator[str]:
    """Yield what would be sent, and what is left out and why."""
    from twowiki.hub.folder_checks import FOLDER_KINDS

    yield f"would push to {repo}, a {FOLDER_KINDS[checked.kind]}:"
    for file in checked.files:
        yield f"  {_size_text(file.size):>10}  {file.path}"
    yield f"  {_size_text(checked.size):>10}  in all"
    yield from _left_out_lines(checked.left_out, len(checked.left_out))
    yield from (f"note: {note}" for note in checked.notes)


def _left_out_lines(left_out: Sequence[LeftOut], most: int = LISTED) -> Iterator[str]:
    if left_out:
        yield f"left out ({len(left_out)}):"
    for path, reason in left_out[:most]:
        yield f"  {path}: {reason}"
    if len(left_out) > most:
        yield f"  and {len(left_out) - most} more, listed by --dry-run"


def _size_text(count: int) -> str:
    """Return a number of bytes as people write it."""
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


@dataclass(frozen=True, kw_only=True)
class CardCommand:
    """Write the card of a trained model from the report of its run.

      twowiki card runs/tiny                    # into runs/tiny/best/README.md
      twowiki card runs/tiny model_card.md      # into a file of its own

    Training and `twowiki push model` write the same card. A card that was edited since is kept,
    unless it is named as OUT.
    """

    run_dir: Path = positional("folder of a run, or of a saved model", metavar="RUN", role="input")
    out: Path | None = positional(
        "file to write instead of the model's README.md", None, role="output", keeps=".md"
    )
    repo: str | None = argument(None, "repository that the card's examples load, as owner/name")

    def run(self) -> int:
        from twowiki.hub.model_card import (
            REPO_PLACEHOLDER,
            is_unedited,
            make_card,
            write_model_card,
        )
        from twowiki.models.auto import model_folder

        folder = model_folder(self.run_dir)
        repo = self.repo or REPO_PLACEHOLDER
        if self.out:
            edited = self.out.is_file() and not is_unedited(read_text(self.out))
            write_text(self.out, make_card(folder, repo))
            print(f"written to {self.out}{', which had been edited' if edited else ''}")
            return 0
        written = write_model_card(folder, repo=repo)
        path = folder / "README.md"
        print(f"written to {path}" if written else f"{path} is up to date, or was edited")
        return 0


@dataclass(frozen=True, kw_only=True)
class ConvertCommand:
    """Turn a checkpoint of the authors' baseline into a model folder.

      twowiki convert-baseline model.pt OUT
      twowiki convert-baseline --check FILE ...     # compare with the authors' outputs

    CHECKPOINT is the model.pt that their training writes (a state dict; it is read without running
    any code in it). The index files are those of their preprocessing. OUT becomes a folder that
    `from_pretrained` opens; predicting with it needs spaCy, whose tokenizer theirs is.
    """

    checkpoint: Path | None = positional("their model.pt", None, role="input")
    out: Path | None = positional("folder to write", None, role="output_folder")
    word_index: str | None = argument(
        None,
        "their word2idx file (default: word2idx.json, or idx_word2idx.json, beside CHECKPOINT or "
        "in its parent folder); the others alike",
        metavar="FILE",
        role="input",
    )
    char_index: str | None = argument(None, "their char2idx file", metavar="FILE", role="input")
    relation_index: str | None = argument(
        None, "their relation2idx file", metavar="FILE", role="input"
    )
    check: list[Path] = argument(
        [],
        "compare this package's outputs with those in files of weights, inputs and outputs",
        metavar="FILE",
        nargs="+",
    )

    def run(self) -> int:
        if self.check:
            return _compare_outputs(self.check)
        if self.checkpoint is None or self.out is None:
            remedy = "Name CHECKPOINT and OUT, or files to --check"
            raise DataError("there is nothing to convert", remedy=remedy)
        from twowiki.models.convert_baseline import convert_checkpoint

        near = self.checkpoint
        model = convert_checkpoint(
            str(self.checkpoint),
            str(self.out),
            words=self.word_index or _find_index(near, "word"),
            characters=self.char_index or _find_index(near, "char"),
            relations=self.relation_index or _find_index(near, "relation"),
        )
        weights = sum(p.numel() for n, p in model.named_parameters() if "word_embeddings" not in n)
        words, relations = model.config.vocab_size, model.config.relation_count
        print(
            f"{self.out}: {words:,} words, {relations} relations, "
            f"{weights:,} weights beside the word vectors"
        )
        return 0


def _find_index(checkpoint: Path, name: str) -> str:
    """Return the path of an index file near a checkpoint, by its usual names."""
    for folder in (checkpoint.parent, checkpoint.parent.parent):
        for usual in (f"{name}2idx.json", f"idx_{name}2idx.json"):
            if (folder / usual).is_file():
                return str(folder / usual)
    remedy = f"Name it with --{name}-index"
    raise DataError(f"there is no {name}2idx.json near it", file=checkpoint, remedy=remedy)


def _compare_outputs(files: Sequence[Path]) -> int:
    """Print how far this package's outputs are from the reference's; return 1 if too far."""
    from twowiki.models.convert_baseline import TOLERANCE, check_file

    passed = True
    for path in files:
        differences = check_file(path)
        print(path)
        for name, largest, close in differences:
            print(f"  {name:24} {largest:.2e}  {'ok' if close else 'DIFFERS'}")
            passed &= close
    problem = f"some outputs differ by more than {TOLERANCE:g}"
    print(f"all within {TOLERANCE:g}" if passed else problem)
    return 0 if passed else 1
