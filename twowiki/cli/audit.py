"""Commands on gold: audit it, with amendments to fill in, and write what a person should review."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twowiki.cli.options import SplitOptions
from twowiki.data.aliases import read_aliases
from twowiki.data.audit import AMENDED_FIELD, Audit, audit
from twowiki.data.pair_review import COLUMNS, pairs_to_review
from twowiki.data.schema import Example, types_of
from twowiki.data.sources import read_examples
from twowiki.data.splits import find_splits, guess_config
from twowiki.errors import DataError
from twowiki.human.task_files import to_csv
from twowiki.io.arguments import argument, positional
from twowiki.io.files import progress, write_json, write_json_lines, write_text


@dataclass(frozen=True, kw_only=True)
class AuditCommand:
    """Look for gold that does not stand inspection: ids and reasons, by kind of fault.

    SOURCE is an official file, a zip, a folder, an exported or generated data set, HotpotQA's
    file: whatever `twowiki validate` takes. Every record is checked by itself, streamed. What is
    found is a reason to look, not a verdict; docs/audit.md has each kind's share of false alarms.

      twowiki audit dev.json --output findings.json --page audit.html
      twowiki audit dev.json --only object_not_in_support --amendments to_check.jsonl

    --amendments writes a record for each finding with the field that it is about, as it is now.
    Correct the value, write the reason, delete what is right; `twowiki score --amend FILE` and
    `load_dataset(..., amendments=FILE)` then use it.
    """

    source: str = positional("a file, a release's zip, or a folder", role="input")
    config: str | None = argument(None, "the release, or hotpotqa (default: guessed)")
    split: str | None = argument(None, "train, validation or test (default: all)", metavar="NAME")
    aliases: str | None = argument(
        None, "id_aliases.json: other names of answers", metavar="FILE", role="input"
    )
    only: list[str] = argument([], "only these kinds of fault", metavar="KIND", nargs="+")
    output: Path | None = argument(None, "write all findings as JSON", role="output")
    page: Path | None = argument(None, "write an HTML page", role="output", keeps=".html")
    amendments: Path | None = argument(
        None, "write amendments to fill in (JSON lines)", role="output"
    )
    examples: int = argument(10, "questions of each kind on the page", minimum=0)
    command: tuple[str, ...] = argument((), flag=False)

    def run(self) -> int:
        found = {split: self._audit(split) for split in self.splits()}
        for split, one in found.items():
            print(f"{split}: {one.render()}")
        if self.output:
            results = {split: one.to_dict() for split, one in found.items()}
            write_json(self.output, {"source": Path(self.source).name, "splits": results})
        if self.page:
            from twowiki.pages.audit_page import render_audit_page

            whole = Audit.joined(found.values())
            title = f"Audit of {Path(self.source).name}"
            command = shlex.join(self.command) or None
            write_text(self.page, render_audit_page(whole, title=title, command=command))
        if self.amendments:
            write_json_lines(self.amendments, self._to_fill_in(found))
        return 0

    def _config(self) -> str:
        config = self.config or guess_config(self.source)
        if config == "arc_da":
            raise DataError("ARC-DA has no sentences or triples to audit", file=self.source)
        types_of(config)
        return config

    def splits(self) -> list[str]:
        """Return the splits to read."""
        splits = find_splits(self.source, self._config())
        if self.split and self.split not in splits:
            problem = f"has no split {self.split!r}; it has {', '.join(splits)}"
            raise DataError(problem, file=self.source)
        return [self.split] if self.split else list(splits)

    def read(self, split: str) -> Iterator[Example]:
        """Read the examples of a split."""
        config = self._config()
        return read_examples(find_splits(self.source, config)[split], config, split)

    def _audit(self, split: str) -> Audit:
        names = None if self.aliases is None else read_aliases(self.aliases).aliases_of
        return audit(
            progress(self.read(split), what=split),
            kinds=self.only,
            names_of=names,
            shown=self.examples if self.page else 0,
        )

    def _to_fill_in(self, found: Mapping[str, Audit]) -> Iterator[dict[str, Any]]:
        """Yield amendments without reasons; the data is read once more."""
        for split, one in found.items():
            cases: dict[str, list[tuple[str, str]]] = {}
            for kind, listed in one.cases.items():
                for case in listed:
                    cases.setdefault(case.id, []).append((kind, case.found))
            for example in self.read(split) if cases else ():
                fields: dict[str, list[tuple[str, str]]] = {}
                for kind, text in cases.get(example.id, ()):
                    fields.setdefault(AMENDED_FIELD[kind], []).append((kind, text))
                for name, reasons in fields.items():
                    yield _amendment(example, name, reasons)


@dataclass(frozen=True, kw_only=True)
class ReviewCommand(SplitOptions):
    """Write the questions that a person should look at before generated data is released.

    OUT is a table (CSV): questions about occupations, and those with a triple whose subject and
    object have names alike, as the paper's authors checked by hand; each with its sentences. Write
    accept or reject into the column decision. The filled table is an amendments file: rejected
    questions are left out, and a row without a decision is refused.

      twowiki review generated review.csv --split train
      twowiki export generated out --amend review.csv
    """

    source: str = positional("a file, a release's zip, or a folder", role="input")
    out: Path = positional("the table to write (.csv)", role="output")
    split: str | None = argument(None, "train, validation or test (default: all)", metavar="NAME")

    def run(self) -> int:
        command = AuditCommand(source=self.source, config=self.config, split=self.split)
        rows = [
            row
            for split in command.splits()
            for row in pairs_to_review(progress(command.read(split), what=split))
        ]
        if self.out.exists() and self.out.stat().st_size:
            remedy = "Name another file: decisions in this one would be lost"
            raise DataError("already exists", file=self.out, remedy=remedy)
        write_text(self.out, to_csv([COLUMNS, *rows]))
        print(f"{len(rows)} questions to review in {self.out}")
        return 0


def _amendment(example: Example, name: str, reasons: list[tuple[str, str]]) -> dict[str, Any]:
    value = getattr(example, name)
    value = [list(entry) for entry in value] if isinstance(value, tuple) else value
    return {
        "id": example.id,
        "field": name,
        "value": value,
        "was": value,
        "kind": ", ".join(dict.fromkeys(kind for kind, _ in reasons)),
        "found": "; ".join(text for _, text in reasons),
        "reason": "",
    }
