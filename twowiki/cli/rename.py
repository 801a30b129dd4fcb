"""Commands that change questions: other names, and twins with a page or a fact that differs."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twowiki.errors import DataError
from twowiki.io.arguments import argument, positional


@dataclass(frozen=True, kw_only=True)
class RenameCommand:
    """Replace the names in real questions: what a model remembers of the world is then no help.

      twowiki rename dev.json renamed.json --seed 1
      twowiki rename dev.json renamed.json --aliases id_aliases.json

    People, works, places and institutions get other names, the same ones in the whole file: in
    questions, titles, sentences, triples and answers. Sentence numbers, ids and dates stay. The
    audit (OUT.audit.json) lists every name with its new one, and what could not be replaced. The
    drop of a score between SOURCE and OUT is the share that was remembered.
    """

    source: Path = positional("a file of questions", metavar="SOURCE", role="input")
    out: Path = positional(
        "the file to write, in the authors' format",
        metavar="OUT",
        role="output",
        writes=(".audit.json", ".aliases.json"),
    )
    seed: str = argument("0", "what the new names are drawn from", metavar="SEED")
    aliases: Path | None = argument(
        None, "id_aliases.json of SOURCE; OUT.aliases.json gets the new names", role="input"
    )

    def run(self) -> int:
        from twowiki.data.aliases import read_aliases
        from twowiki.data.schema import to_official
        from twowiki.data.sources import read_examples
        from twowiki.data.splits import guess_config
        from twowiki.io.files import replacing, write_json
        from twowiki.worlds.renaming import Renamed, Renamer

        _check_earlier(Path(f"{self.out}.audit.json"), {"examples", "renamed", "names"})
        if self.aliases is not None:
            _check_earlier(Path(f"{self.out}.aliases.json"), {"Q_id", "aliases", "demonyms"})
        renamer = Renamer(self.seed)
        found: list[Renamed] = []
        config = guess_config(self.source)
        with replacing(self.out) as stream:
            for example in read_examples(self.source, config):
                renamed = renamer.rename(example)
                record = json.dumps(to_official(renamed.example, config), ensure_ascii=False)
                stream.write(("[\n" if not found else ",\n") + record)
                found.append(renamed._replace(example=example._replace(context=())))
            if not found:
                raise DataError("has no records", file=self.source, remedy="Check the file")
            stream.write("\n]\n")
        audit = renamer.audit(found)
        write_json(Path(f"{self.out}.audit.json"), audit)
        if self.aliases is not None:
            table = read_aliases(self.aliases)
            with replacing(Path(f"{self.out}.aliases.json")) as stream:
                for qid in table:
                    names = renamer.rename_aliases(table.aliases_of(qid))
                    line = {"Q_id": qid, "aliases": names, "demonyms": []}
                    stream.write(json.dumps(line, ensure_ascii=False) + "\n")
        counts = ", ".join(f"{count:,} {kind}" for kind, count in audit["renamed"].items())
        print(f"{audit['examples']:,} questions; new names of {counts}")
        print(
            f"names left in {len(audit['names left']):,} cases, "
            f"{audit['objects lost from their sentences']:,} objects lost from their sentences"
        )
        return 0


def _check_earlier(path: Path, fields: set[str]) -> None:
    """Raise where a file beside OUT is not what this command writes there."""
    from twowiki.io.records import read_records

    if not os.path.lexists(path):
        return
    try:
        written = path.is_file() and all(fields <= set(one) for _, one in read_records(path))
    except (DataError, TypeError):
        written = False
    if not written:
        remedy = "Move it away, or choose another name for OUT"
        raise DataError("exists, and this command did not write it", file=path, remedy=remedy)


@dataclass(frozen=True, kw_only=True)
class TwinsCommand:
    """Write questions with their twins, which only a reader of the context answers alike.

      twowiki twins dev.json twins.json
      twowiki score predictions.json twins.json

    OUT has the questions of SOURCE, each followed by its twins: one where the page of the last fact
    is missing (ID-unanswerable, with `answerable: false` and the answer "unanswerable"), and one
    where that page states something else (ID-changed: another object of the same relation, or two
    dates swapped). `score` prints how many pairs have both answers right.
    """

    source: Path = positional("a file of questions", metavar="SOURCE", role="input")
    out: Path = positional(
        "the file to write, in the authors' format", metavar="OUT", role="output"
    )
    seed: str = argument("0", "what the changes are drawn from", metavar="SEED")

    def run(self) -> int:
        from collections import Counter

        from twowiki.data.sources import read_examples
        from twowiki.data.splits import guess_config
        from twowiki.io.files import replacing
        from twowiki.metric.consistency import CHANGED, UNANSWERABLE
        from twowiki.worlds.twins import make_twins, twin_record

        config = guess_config(self.source)
        examples = [one for one in read_examples(self.source, config) if one.has_gold]
        if not examples:
            raise DataError(
                "has no records with gold", file=self.source, remedy="Name a split with answers"
            )
        counts: Counter[str] = Counter()
        twins: dict[str, list[Any]] = {}
        for twin in make_twins(examples, self.seed):
            key, _, kind = twin.id.rpartition("-")
            counts[kind] += 1
            twins.setdefault(key, []).append(twin)
        with replacing(self.out) as stream:
            records = (one for example in examples for one in (example, *twins.get(example.id, ())))
            for number, one in enumerate(records):
                record = json.dumps(twin_record(one, config), ensure_ascii=False)
                stream.write((",\n" if number else "[\n") + record)
            stream.write("\n]\n")
        print(
            f"{len(examples):,} questions, {counts[UNANSWERABLE]:,} unanswerable and "
            f"{counts[CHANGED]:,} changed twins"
        )
        return 0
