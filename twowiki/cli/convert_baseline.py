"""Turn a checkpoint of the authors' baseline into a model folder.

CHECKPOINT is the model.pt that their training writes (a state dict; it is read without running
any code it may hold). The index files are those of their preprocessing. OUT becomes a folder that
`from_pretrained` opens; predicting with it needs spaCy, whose tokenizer theirs is.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from twowiki.errors import DataError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("checkpoint", help="their model.pt")
    parser.add_argument("out", help="folder to write")
    for name, usual in (("word", "word2idx"), ("char", "char2idx"), ("relation", "relation2idx")):
        parser.add_argument(
            f"--{name}-index",
            help=f"their {usual} file (default: {usual}.json, or idx_{name}2idx.json, beside "
            "CHECKPOINT or in its parent folder)",
        )


def run(args: argparse.Namespace) -> int:
    """Convert; give the exit status."""
    from twowiki.models.convert_baseline import convert_checkpoint

    indices = {
        name: getattr(args, f"{name}_index") or find_index(Path(args.checkpoint), name)
        for name in ("word", "char", "relation")
    }
    model = convert_checkpoint(
        args.checkpoint,
        args.out,
        words=indices["word"],
        characters=indices["char"],
        relations=indices["relation"],
    )
    weights = sum(p.numel() for n, p in model.named_parameters() if "word_embeddings" not in n)
    print(
        f"{args.out}: {model.config.vocab_size:,} words, {model.config.relation_count} relations, "
        f"{weights:,} weights beside the word vectors"
    )
    return 0


def find_index(checkpoint: Path, name: str) -> str:
    """Find an index file near a checkpoint by its usual names."""
    for folder in (checkpoint.parent, checkpoint.parent.parent):
        for usual in (f"{name}2idx.json", f"idx_{name}2idx.json"):
            if (folder / usual).is_file():
                return str(folder / usual)
    raise DataError(
        f"no {name}2idx.json lies near it",
        file=checkpoint,
        remedy=f"Give it with --{name}-index",
    )
