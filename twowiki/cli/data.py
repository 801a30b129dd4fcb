"""Commands on data sets: export, validate, stats, and the corpus and judgments for retrieval."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twowiki.cli.options import SplitOptions
from twowiki.data.schema import types_of
from twowiki.data.sources import examples_of, read_examples
from twowiki.data.splits import find_splits, guess_config
from twowiki.data.statistics import compute_statistics
from twowiki.data.validation import validate
from twowiki.errors import DataError
from twowiki.io.arguments import argument, positional
from twowiki.io.files import progress, write_json, write_json_lines, write_text
from twowiki.retrieval.corpus import build_corpus, build_qrels
from twowiki.retrieval.rankings import read_rankings, score_rankings

CORPUS_FILES = ("/corpus.jsonl", "/queries.jsonl", "/contexts.jsonl", "/report.json")


@dataclass(frozen=True, kw_only=True)
class ExportCommand:
    """Write typed Parquet shards and a dataset card: a folder that load_dataset reads by itself.

      twowiki export data_ids_april7.zip out
      python -c 'from datasets import load_dataset; print(load_dataset("out", "data_ids_april7"))'

    An interrupted export continues where it stopped; other configs in OUT are kept.
    """

    source: str = positional("a release's zip, a file, or a folder of files", role="input")
    out: Path = positional("the folder to write", role="output_folder")
    config: str | None = argument(
        None,
        "data_ids_april7, data_ids, data, hotpotqa or arc_da (default: guessed from the source's "
        "name, else data_ids_april7)",
    )
    arc_dir: str | None = argument(
        None, "arc_da: folder of ARC's files, for the choices", role="input"
    )
    shard_rows: int | None = argument(
        None, "rows per shard, a multiple of 1000 (default: 50000)", minimum=1000
    )

    def run(self) -> int:
        from twowiki.builder.export import SHARD_ROWS, export

        shard_rows = self.shard_rows or SHARD_ROWS
        counts = export(
            self.source, self.out, self.config, arc_dir=self.arc_dir, shard_rows=shard_rows
        )
        for split, rows in counts.items():
            print(f"{split}: {rows:,} rows")
        print(f"written to {self.out}")
        return 0


@dataclass(frozen=True, kw_only=True)
class ValidateCommand:
    """Report problems in raw records, by kind, with counts and ids.

      twowiki validate data_ids_april7.zip
      twowiki validate dev.json --output findings.json

    It looks for: truncated files, unreadable records, missing and duplicate ids, unknown types and
    relations, supporting titles that the context lacks, sentence ids past a paragraph's end, empty
    paragraphs, repeated titles, different numbers of evidences and supporting facts, ids that
    disagree with the evidences, hidden gold. Findings are not errors: the exit code is 0 unless a
    file cannot be read to its end, or --strict is set (then also for what is normal in some
    questions: hidden gold, another number of evidences).
    """

    source: str = positional("a release's zip, a file, or a folder of files", role="input")
    config: str | None = argument(None, "the release, or hotpotqa", metavar="NAME")
    output: Path | None = argument(
        None, "also write the findings, with all ids, as JSON", role="output"
    )
    strict: bool = argument(False, "exit with 1 if anything was found")

    def run(self) -> int:
        findings = validate(self.source, self.config)
        print(findings.render())
        if self.output:
            write_json(self.output, findings.to_dict())
        broken = "broken_file" in findings.counts
        return 1 if broken or (self.strict and not findings.clean) else 0


@dataclass(frozen=True, kw_only=True)
class StatsCommand:
    """Print the paper's tables for any split: types, lengths, answer classes, relations.

      twowiki stats data_ids_april7.zip
      twowiki stats dev.json --output stats.json

    Lengths are whitespace words. Splits are read one after the other, as streams.
    """

    source: str = positional("a release's zip, a file, or a folder of files", role="input")
    config: str | None = argument(None, "the release, or hotpotqa (default: guessed)")
    split: str | None = argument(None, "train, validation or test (default: all)", metavar="NAME")
    output: Path | None = argument(None, "also write the tables as JSON", role="output")

    def run(self) -> int:
        config = self.config or guess_config(self.source)
        if config == "arc_da":
            raise DataError("ARC-DA has tables of its own", remedy="Use `twowiki arc-da stats`")
        types_of(config)
        splits = find_splits(self.source, config)
        if self.split and self.split not in splits:
            problem = f"has no split {self.split!r}; it has {', '.join(splits)}"
            raise DataError(problem, file=self.source)
        results = {}
        for split in [self.split] if self.split else splits:
            examples = read_examples(splits[split], config, split)
            result = compute_statistics(progress(examples, what=split))
            results[split] = result.to_dict()
            print(result.render(split))
        if self.output:
            write_json(self.output, results)
        return 0


@dataclass(frozen=True, kw_only=True)
class CorpusCommand(SplitOptions):
    """Write a retrieval corpus: the distinct paragraphs of a split's contexts, in the BEIR layout.

    OUT becomes a folder with corpus.jsonl ({"_id", "title", "text"}), queries.jsonl ({"_id",
    "text"}), contexts.jsonl (each question's own paragraphs, {"_id", "documents"}) and report.json
    (counts). A document's id is a hash of its title and text, the same in every run and in any
    order. Two paragraphs with one title and different texts are two documents.

      twowiki corpus dev.json corpus/
    """

    source: str = positional("a file, a release's zip, or a folder", role="input")
    output: Path = positional(
        "the folder to write", metavar="OUT", role="output_folder", writes=CORPUS_FILES
    )

    def run(self) -> int:
        queries: list[dict[str, str]] = []

        def examples() -> Iterator[Any]:
            for example in examples_of(self.source, self.config, self.split):
                queries.append({"_id": example.id, "text": example.question})
                yield example

        corpus = build_corpus(examples())
        documents = (
            {"_id": document.id, "title": document.title, "text": document.text}
            for document in corpus.documents.values()
        )
        contexts = (
            {"_id": example_id, "documents": found} for example_id, found in corpus.contexts.items()
        )
        write_json_lines(self.output / "corpus.jsonl", documents)
        write_json_lines(self.output / "queries.jsonl", queries)
        write_json_lines(self.output / "contexts.jsonl", contexts)
        write_json(self.output / "report.json", corpus.report)
        _print_counts(corpus.report)
        return 0


@dataclass(frozen=True, kw_only=True)
class QrelsCommand(SplitOptions):
    """Write relevance judgments: the paragraphs that the supporting facts name, no distractors.

    Two documents per question, four for a bridge-comparison question. Document ids are those of
    `twowiki corpus`. The file is BEIR's tab-separated table (query-id, corpus-id, score), or with
    --trec a TREC qrels file.

      twowiki qrels dev.json corpus/qrels/validation.tsv
    """

    source: str = positional("a file, a release's zip, or a folder, with gold", role="input")
    output: Path = positional("the file to write", metavar="OUT", role="output")
    trec: bool = argument(False, "write TREC's form (id 0 document 1)")

    def run(self) -> int:
        qrels = build_qrels(examples_of(self.source, self.config, self.split))
        pairs = [(query, document) for query, found in qrels.relevant.items() for document in found]
        if self.trec:
            lines = [f"{query} 0 {document} 1" for query, document in pairs]
        else:
            lines = ["query-id\tcorpus-id\tscore", *(f"{query}\t{doc}\t1" for query, doc in pairs)]
        write_text(self.output, "\n".join(lines) + "\n")
        _print_counts(qrels.report)
        return 0


@dataclass(frozen=True, kw_only=True)
class RetrievalCommand(SplitOptions):
    """Score rankings of paragraphs: title_recall@k and all_gold@k.

    title_recall@k is the percentage of a question's gold titles among its first k ranked titles,
    and all_gold@k the share of questions whose gold titles are all there; both are means over
    all gold questions. RANKED is {"id": ["best title", ...]}, lines of {"id", "titles"}, or a TREC
    run with --corpus.

      twowiki retrieval ranked.jsonl dev.json --k 2 5 10
    """

    ranked: str = positional("the rankings", role="input")
    gold: str = positional("a file, a release's zip, or a folder, with gold", role="input")
    k: list[int] = argument([2, 5, 10], "cutoffs", minimum=1, nargs="+")
    corpus: str | None = argument(
        None, "corpus.jsonl, for a TREC run", metavar="FILE", role="input"
    )
    output: Path | None = argument(None, "write the metrics as JSON", role="output")

    def run(self) -> int:
        ranked = read_rankings(self.ranked, self.corpus)
        gold = examples_of(self.gold, self.config, self.split)
        metrics = score_rankings(ranked, gold, self.k)
        if self.output:
            write_json(self.output, metrics)
        for name, value in metrics.items():
            print(f"{name}  {value:.2f}" if isinstance(value, float) else f"{name}  {value}")
        return 0


def _print_counts(report: dict[str, int]) -> None:
    for name, count in report.items():
        print(f"{name.replace('_', ' ')}: {count:,}")
