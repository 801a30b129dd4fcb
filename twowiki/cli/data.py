"""Commands on data sets: export, validate, stats."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twowiki.data.answer_kinds import wanted_entities
from twowiki.data.schema import types_of
from twowiki.data.sources import read_examples
from twowiki.data.splits import find_splits, guess_config, split_named
from twowiki.data.statistics import compute_statistics
from twowiki.data.validation import UNREADABLE, validate
from twowiki.errors import DataError
from twowiki.io.arguments import argument, positional
from twowiki.io.files import progress, write_json

_FORMS = ("closed-book", "gold-context", "full-context")
EXPORT_FORMATS = ("parquet", "flashrag", "beir", "squad", "sft", "sft-messages", "rl",
                  "sub-questions")  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ExportCommand:
    """Write typed Parquet shards and a dataset card: a folder that load_dataset reads by itself.

      twowiki export data_ids_april7.zip out
      python -c 'from datasets import load_dataset; print(load_dataset("out", "data_ids_april7"))'
      twowiki export dev.json flashrag --format flashrag

    An interrupted export continues where it stopped; other configs in OUT are kept. Other formats
    need a folder of their own: flashrag, beir (corpus, queries, judgments), squad (version 2.0),
    sft (prompt and completion), sft-messages (chats), rl (prompts with their gold as columns) and
    sub-questions (each hop as a question, to be answered and scored with `score --sub-answers`).
    What a format cannot hold is left out and counted in OUT/report.json.
    """

    source: str = positional("a release's zip, a file, or a folder of files", role="input")
    out: Path = positional("the folder to write", role="output_folder")
    config: str | None = argument(
        None,
        "data_ids_april7, data_ids, data, hotpotqa, generated, multihop or arc_da (default: by the "
        "source's name and first record, else data_ids_april7)",
    )
    format: str = argument("parquet", "the format", choices=EXPORT_FORMATS)
    form: str = argument("full-context", "the paragraphs of prompts", choices=_FORMS)
    arc_dir: str | None = argument(
        None, "arc_da: folder of ARC's files, for the choices", role="input"
    )
    amend: str | None = argument(
        None, "amendments of the gold (docs/audit.md)", metavar="FILE", role="input"
    )
    shard_rows: int | None = argument(
        None, "rows per shard, a multiple of 1000 (default: 50000)", minimum=1000
    )

    def run(self) -> int:
        from twowiki.builder.export import SHARD_ROWS, export

        if self.format != "parquet" and self.amend is None:
            return self._export_format()
        shard_rows = self.shard_rows or SHARD_ROWS
        counts = export(
            self.source,
            self.out,
            self.config,
            format=self.format,
            arc_dir=self.arc_dir,
            shard_rows=shard_rows,
            amendments=self.amend,
        )
        for split, rows in counts.items():
            print(f"{split}: {rows:,} rows")
        print(f"written to {self.out}")
        return 0

    def _export_format(self) -> int:
        from twowiki.builder.formats import export_format

        written = export_format(self.source, self.out, self.format, self.config, form=self.form)
        for split, rows in written.rows.items():
            print(f"{split}: {rows:,} records")
            for reason, count in written.left_out[split].items():
                print(f"{split}: left out, {reason.replace('_', ' ')}: {count:,}")
        print(f"written to {self.out}")
        return 0


@dataclass(frozen=True, kw_only=True)
class ValidateCommand:
    """Report problems in raw records, by kind, with counts and ids.

      twowiki validate data_ids_april7.zip
      twowiki validate dev.json --output findings.json

    It looks for: truncated files, unreadable records, repeated keys, missing and duplicate ids,
    unknown types and relations, supporting titles that the context lacks, sentence ids past a
    paragraph's end, empty paragraphs, repeated titles, different numbers of evidences and
    supporting facts, ids that disagree with the evidences, hidden gold; in ARC-DA for repeated
    questions and answers, blank answers, tags that disagree. Findings are not errors: the
    exit code is 0 unless a file or a record cannot be read, or --strict is set (then for every
    finding but what is normal in some questions: hidden gold, another number of evidences).
    """

    source: str = positional("a release's zip, a file, or a folder of files", role="input")
    config: str | None = argument(None, "the release, or hotpotqa", metavar="NAME")
    output: Path | None = argument(
        None, "also write the findings, with all ids, as JSON", role="output"
    )
    strict: bool = argument(False, "exit with 1 if anything was found")

    def run(self) -> int:
        if (self.config or guess_config(self.source)) == "arc_da":
            from twowiki.arc_da.validation import validate_questions

            findings = validate_questions(self.source)
        else:
            findings = validate(self.source, self.config)
        print(findings.render())
        if self.output:
            write_json(self.output, findings.to_dict())
        broken = not UNREADABLE.isdisjoint(findings.counts)
        return 1 if broken or (self.strict and not findings.clean) else 0


@dataclass(frozen=True, kw_only=True)
class StatsCommand:
    """Print the paper's tables for any split: types, lengths, answer classes, relations.

      twowiki stats data_ids_april7.zip
      twowiki stats dev.json --output stats.json

    Lengths are whitespace words. Splits are read one after the other, as streams. With a Wikidata
    dump, answers that have an id are counted by their "instance of", as in the paper's section 3.3:

      twowiki stats dev.json --wikidata latest-all.json.bz2
    """

    source: str = positional("a release's zip, a file, or a folder of files", role="input")
    config: str | None = argument(None, "the release, or hotpotqa (default: guessed)")
    split: str | None = argument(None, "train, validation or test (default: all)", metavar="NAME")
    wikidata: str | None = argument(
        None, "Wikidata's JSON dump: kinds of answers by their class", metavar="FILE", role="input"
    )
    output: Path | None = argument(None, "also write the tables as JSON", role="output")

    def run(self) -> int:
        config = self.config or guess_config(self.source)
        if config == "arc_da":
            raise DataError("ARC-DA has tables of its own", remedy="Use `twowiki arc-da stats`")
        types_of(config)
        splits = find_splits(self.source, config)
        chosen = split_named(self.split) if self.split else None
        if chosen and chosen not in splits:
            problem = f"has no split {self.split!r}; it has {', '.join(splits)}"
            raise DataError(problem, file=self.source)
        names = [chosen] if chosen else list(splits)

        def examples(split: str) -> Iterator[Any]:
            return read_examples(splits[split], config, split)

        classes = None
        if self.wikidata is not None:
            from twowiki.generation.classes import read_classes

            wanted = set[str]().union(*(wanted_entities(examples(split)) for split in names))
            classes = read_classes(self.wikidata, wanted)
        results = {}
        for split in names:
            result = compute_statistics(progress(examples(split), what=split), classes)
            results[split] = result.to_dict()
            print(result.render(split))
        if self.output:
            write_json(self.output, results)
        return 0
