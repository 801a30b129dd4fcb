"""Push a folder to the Hugging Face hub: a model, a data set, a metric or the demo.

  twowiki push model runs/tiny my-name/my-model
  twowiki push dataset out my-name/my-data
  twowiki push metric metrics/twowiki_joint my-name/twowiki_joint
  twowiki push demo examples/demo my-name/my-demo

The folder is checked first: a model must load where this package is not, a data set's card must
say what its files hold, a Space must start; no pickles, logs, hidden files or tokens are sent. All
goes in one commit, and a folder that has not changed makes none. The token is that of
`hf auth login` or of HF_TOKEN; it is never shown. A metric and a demo become Spaces.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from twowiki.hub.folder_checks import FOLDER_KINDS, CheckedFolder

SHOWN = 12  # files that are left out, listed by name


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("kind", choices=list(FOLDER_KINDS), help="what the folder holds")
    parser.add_argument("dir", help="the folder (of a model, or of a run with a model in best/)")
    parser.add_argument("repo", help="repository as owner/name; made if there is none")
    parser.add_argument("--private", action="store_true", help="make the repository private")
    parser.add_argument("--revision", help="branch to commit to (default: main)")
    parser.add_argument(
        "--create-pr", action="store_true", help="open a pull request instead of committing"
    )
    parser.add_argument("--message", help="of the commit (default: Upload the KIND)")
    parser.add_argument(
        "--dry-run", action="store_true", help="check, and list what would be sent; send nothing"
    )


def run(args: argparse.Namespace) -> int:
    """Push, or say what would be pushed; give the exit status."""
    from twowiki.hub.push import plan_push, push

    if args.dry_run:
        print("\n".join(described(plan_push(args.dir, args.repo, args.kind), args.repo)))
        return 0
    done = push(
        args.dir,
        args.repo,
        args.kind,
        private=args.private,
        revision=args.revision,
        create_pr=args.create_pr,
        message=args.message,
    )
    if not done.changed:
        print(f"nothing has changed at {done.address} (commit {done.commit[:12]})")
        return 0
    print(f"pushed {len(done.files)} files, {size_of(done.size)}, to {done.address}")
    for path in done.deleted:
        print(f"deleted there: {path}")
    print(done.pull_request or f"commit {done.commit}")
    return 0


def described(checked: CheckedFolder, repo: str) -> Iterator[str]:
    """Say what would be sent, and what is left out and why."""
    contents = checked.contents
    yield f"would push to {repo}, a {FOLDER_KINDS[checked.kind]}:"
    for file in contents.files:
        yield f"  {size_of(file.size):>10}  {file.path}"
    yield f"  {size_of(contents.size):>10}  in all"
    if contents.left_out:
        yield f"left out ({len(contents.left_out)}):"
    for path, reason in contents.left_out[:SHOWN]:
        yield f"  {path}: {reason}"
    if len(contents.left_out) > SHOWN:
        yield f"  and {len(contents.left_out) - SHOWN} more"
    yield from (f"note: {note}" for note in checked.notes)


def size_of(count: int) -> str:
    """Write a number of bytes for people."""
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
