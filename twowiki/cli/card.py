"""Write the card of a trained model from the report of its run.

  twowiki card runs/tiny                    # into runs/tiny/best/README.md
  twowiki card runs/tiny model_card.md      # into a file of its own

Training and `twowiki push model` write the same card. One that was edited since is left alone,
unless it is named as OUT.
"""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("run", help="folder of a run, or of a saved model")
    parser.add_argument("out", nargs="?", help="file to write instead of the model's README.md")
    parser.add_argument("--repo", help="repository that the card's examples load, as owner/name")


def run(args: argparse.Namespace) -> int:
    """Write the card; give the exit status."""
    from twowiki.hub.model_card import REPO_PLACEHOLDER, make_card, write_model_card
    from twowiki.io.files import write_text
    from twowiki.models.auto import model_folder

    folder = model_folder(Path(args.run))
    repo = args.repo or REPO_PLACEHOLDER
    if args.out:
        write_text(args.out, make_card(folder, repo))
        print(f"written to {args.out}")
        return 0
    written = write_model_card(folder, repo=repo)
    place = folder / "README.md"
    print(f"written to {place}" if written else f"{place} is as it should be, or was edited")
    return 0
