"""Commands of retrieval: a corpus with judgments, an index, rankings, and their scores."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twowiki.cli.options import SplitOptions
from twowiki.data.schema import Example
from twowiki.errors import DataError
from twowiki.io.arguments import argument, positional
from twowiki.io.files import write_json, write_text
from twowiki.io.ownership import check_owner, open_folder

if TYPE_CHECKING:
    from twowiki.metric.blame import Ranked
    from twowiki.retrieval.corpus import Document
    from twowiki.retrieval.report import RetrievalReport

CORPUS_FILES = ("/corpus.jsonl", "/queries.jsonl", "/contexts.jsonl", "/report.json")
QUESTIONS = "questions"


@dataclass(frozen=True, kw_only=True)
class CorpusCommand(SplitOptions):
    """Write a retrieval test set in the BEIR layout: a corpus, queries and judgments.

    OUT becomes a folder with corpus.jsonl ({"_id", "title", "text", "metadata"}: where sentences
    start), queries.jsonl ({"_id", "text", "metadata"}), qrels/SPLIT.tsv for splits with gold,
    contexts.jsonl (each question's own paragraphs) and report.json (counts). A document's id is a
    hash of its title and text, the same in every corpus. Two paragraphs with one title and
    different texts are two documents.

      twowiki corpus dev.json OUT                             the paragraphs of the contexts
      twowiki corpus generated OUT --all                      all pages of a generated world
      twowiki corpus dev.json OUT --pages para_with_hyperlink.zip
      twowiki corpus para_with_hyperlink.zip OUT              pages alone, without questions
      twowiki corpus --world "people=300,films=200,seed=7" OUT

    The last one makes a fictional world first; its questions are in OUT/questions, all pages are
    the corpus, and all three splits have judgments. Files of others in OUT stay as they are; those
    of an earlier run are replaced once the new ones are whole.
    """

    paths: list[str] = positional("SOURCE OUT; or OUT after --world", metavar="PATH")
    all: bool = argument(False, "all pages of SOURCE's world, not only those of contexts")
    pages: str | None = argument(
        None, "all pages of this file (para_with_hyperlink's form)", metavar="FILE", role="input"
    )
    world: str | None = argument(
        None, "make this world: people, films, seed, ... (see twowiki world)", metavar="SETTINGS"
    )
    source: str = argument("", flag=False, role="input")
    out: str = argument("", flag=False, role="output_folder", writes=CORPUS_FILES)

    def __post_init__(self) -> None:
        expected = 2 if self.world is None else 1
        if len(self.paths) != expected:
            remedy = "Write: twowiki corpus SOURCE OUT, or twowiki corpus --world SETTINGS OUT"
            raise DataError(f"{len(self.paths)} paths for {expected}", remedy=remedy)
        object.__setattr__(self, "out", self.paths[-1])
        object.__setattr__(self, "source", "" if self.world is not None else self.paths[0])

    def run(self) -> int:
        from twowiki.retrieval.beir import write_test_set

        out = Path(self.out)
        inputs = [Path(path) for path in (self.source, self.pages) if path]
        check_owner(out, "corpus", beside=True, inputs=inputs)
        splits, pages = self._of_world(out) if self.world is not None else self._of_source()
        with (
            open_folder(out, "corpus", {}, beside=True, inputs=inputs) as owned,
            owned.staged() as aside,
        ):
            made = write_test_set(aside, splits, pages)
        _print_counts(made.report)
        for split in made.judged:
            print(f"judgments: {out / 'qrels' / split}.tsv")
        return 0

    def _of_world(self, out: Path) -> tuple[dict[str, Iterator[Example]], Iterator[Document]]:
        from twowiki.cli.generate import GenerateCommand
        from twowiki.data.sources import read_examples
        from twowiki.data.splits import find_splits

        folder = out / QUESTIONS
        if self.all or self.pages or self.config or self.split:
            problem = "--world takes all pages and splits"
            raise DataError(problem, remedy="Leave --all, --pages, --config and --split out")
        if GenerateCommand(world=self.world, out=folder).run():
            raise DataError("the world has no questions", remedy="Give more people and films")
        splits = {name: read_examples(folder, split=name) for name in find_splits(folder)}
        return splits, _pages_of(_world_pages(folder))

    def _of_source(self) -> tuple[dict[str, Iterator[Example]], Iterator[Document] | None]:
        from twowiki.data.sources import examples_of
        from twowiki.data.splits import find_splits, guess_config

        if _is_pages(self.source):
            return {}, _pages_of(Path(self.source))
        config = self.config or guess_config(self.source)
        splits = list(find_splits(self.source, config))
        split = self.split or (splits[0] if len(splits) == 1 else "validation")
        examples = {split: examples_of(self.source, config, split)}
        if self.pages is not None:
            return examples, _pages_of(Path(self.pages))
        if not self.all:
            return examples, None
        pages = _world_pages(Path(self.source))
        if not pages.is_file():
            remedy = "Name them with --pages FILE, or generate again with --world"
            raise DataError("the pages of its world are not there", file=pages, remedy=remedy)
        return examples, _pages_of(pages)


def _is_pages(source: str) -> bool:
    """Return whether the first record of a file is a page, not a question."""
    from twowiki.io.archives import is_zip
    from twowiki.io.records import read_records
    from twowiki.retrieval.corpora import corpus_files
    from twowiki.retrieval.paragraphs import is_question

    if not Path(source).is_file():
        return False
    try:
        file = corpus_files(source)[0] if is_zip(source) else source
        _, record = next(read_records(file), (0, {}))
    except DataError:
        return False
    return isinstance(record, Mapping) and "title" in record and not is_question(record)


def _world_pages(folder: Path) -> Path:
    """Return the pages of the world of a folder that `twowiki generate --world` wrote."""
    from twowiki.generation.run import stages_folder
    from twowiki.worlds.dumps import PARAGRAPHS

    return stages_folder(folder, None) / "world" / PARAGRAPHS


def _pages_of(path: Path) -> Iterator[Document]:
    from twowiki.retrieval.paragraphs import ParagraphCorpus

    return iter(ParagraphCorpus([path]))


@dataclass(frozen=True, kw_only=True)
class QrelsCommand(SplitOptions):
    """Write relevance judgments: the paragraphs that the supporting facts name, no distractors.

    Two documents per question, four for a bridge-comparison question. Document ids are those of
    `twowiki corpus`, which writes the same table into its folder. The file is BEIR's tab-separated
    table (query-id, corpus-id, score), or with --trec a TREC qrels file.

      twowiki qrels dev.json corpus/qrels/validation.tsv
    """

    source: str = positional("a file, a release's zip, or a folder, with gold", role="input")
    output: Path = positional("the file to write", metavar="OUT", role="output")
    trec: bool = argument(False, "write TREC's form (id 0 document 1)")

    def run(self) -> int:
        from twowiki.data.sources import examples_of
        from twowiki.retrieval.beir import render_qrels
        from twowiki.retrieval.corpus import build_qrels

        qrels = build_qrels(examples_of(self.source, self.config, self.split))
        judged = {name: dict.fromkeys(found, 1) for name, found in qrels.relevant.items()}
        write_text(self.output, render_qrels(judged, trec=self.trec))
        _print_counts(qrels.report)
        return 0


@dataclass(frozen=True, kw_only=True)
class IndexCommand:
    """Index a corpus, in which `twowiki retrieve` looks questions up.

    CORPUS may be a folder of `twowiki corpus` or in BEIR's layout, pages in the form of
    para_with_hyperlink, lists of {title, text}, Parquet, a data set (its contexts), compressed, in
    a zip, or a folder of these. Equal paragraphs are kept once. With --unit sentence it may be any
    text, one sentence per line. An interrupted run continues when started again.

      twowiki index corpus/ pages_index
      twowiki index corpus/ dense_index --engine dense --encoder FOLDER_OR_HUB_NAME
      twowiki index corpus/ served --engine server --server http://localhost:9200

    By words (BM25): bm25s holds up to about two million entries, tantivy any number; server sends
    them to Elasticsearch or OpenSearch (a key is read from TWOWIKI_SEARCH_API_KEY). By meaning:
    dense compares the vectors of any sentence-transformers model exactly, faiss by a graph. A
    model's folder needs no network; a name is downloaded from the hub.
    """

    corpus: list[str] = positional("files, folders or zips", role="input")
    out: Path = positional("folder of the index, new or interrupted", role="output_folder")
    unit: str = argument("paragraph", "what an entry is", choices=("paragraph", "sentence"))
    engine: str = argument(
        "auto",
        "auto: bm25s, above two million entries tantivy",
        choices=("auto", "bm25s", "tantivy", "server", "dense", "faiss"),
    )
    analyzer: str = argument(
        "en",
        "en: no stop words, stemmed; std: words as they are, in lower case",
        choices=("en", "std"),
    )
    split: str = argument(
        "auto",
        "sentences: cut texts into them; auto: only documents, not lines",
        choices=("auto", "yes", "no"),
    )
    title_first: bool = argument(False, "sentences: put a document's title before each")
    server: str = argument("", "address of Elasticsearch or OpenSearch", metavar="URL")
    server_index: str = argument("two_wiki", "the index there", metavar="NAME")
    encoder: str = argument(
        "", "of dense and faiss: a folder, or a name on the hub", metavar="MODEL"
    )
    device: str = argument("", "where the encoder runs: cpu, cuda, ...")
    restart: bool = argument(False, "remove what an earlier run wrote to the folder")

    def run(self) -> int:
        from twowiki.retrieval.corpora import SentenceCorpus
        from twowiki.retrieval.index import IndexSettings, build_index
        from twowiki.retrieval.paragraphs import ParagraphCorpus

        corpus: Any
        if self.unit == "sentence":
            corpus = SentenceCorpus(self.corpus, splitting=self.split, title_first=self.title_first)
        elif self.split != "auto" or self.title_first:
            remedy = "Add --unit sentence, or leave --split and --title-first out"
            raise DataError("paragraphs are indexed whole, with their titles", remedy=remedy)
        else:
            corpus = ParagraphCorpus(self.corpus)
        settings = IndexSettings(
            engine=self.engine,
            analyzer=self.analyzer,
            server=self.server,
            server_index=self.server_index,
            encoder=self.encoder,
            device=self.device,
        )
        manifest = build_index(corpus, self.out, settings, restart=self.restart)
        version = f" {manifest['engine_version']}" if manifest["engine_version"] else ""
        how = manifest.get("encoder") or f"analyzer {manifest['analyzer']}"
        print(f"{manifest['entries']:,} {self.unit}s, {manifest['engine']}{version}, {how}")
        for reason, count in manifest["dropped"].items():
            print(f"  left out: {reason}: {count}")
        print(f"written to {self.out}")
        return 0


@dataclass(frozen=True, kw_only=True)
class RetrievalCommand(SplitOptions):
    """Score rankings of paragraphs: recall@k, all_gold@k, MRR and nDCG@10, all 0-100.

    recall@k is the share of a question's gold pages among its first k, all_gold@k how often all of
    them are there; with 95% intervals, by question type, and by hop: the pages that a question
    starts from, and those that these lead to. Equal to trec_eval.

    RANKED is what `twowiki retrieve` writes, {"id": ["best title", ...]}, {"id": {"document":
    score}}, lines of {"id", "titles"} or FlashRAG's and DPR's forms, or a TREC run. GOLD is a data
    set, whose titles count, or a table of judgments (or a folder with qrels/), whose document ids
    count. A run has ids: with a data set as GOLD name its --corpus.

      twowiki retrieval ranked.jsonl dev.json --k 2 5 10
      twowiki retrieval run.trec corpus/qrels/validation.tsv
    """

    ranked: str = positional("the rankings", role="input")
    gold: str = positional("a data set with gold, or a table of judgments", role="input")
    k: list[int] = argument([2, 5, 10], "cutoffs", minimum=1, nargs="+")
    corpus: str | None = argument(
        None, "corpus.jsonl, for a TREC run", metavar="FILE", role="input"
    )
    confidence: float = argument(
        0.95, "of the intervals; 0 leaves them out", minimum=0, below=1, metavar="SHARE"
    )
    output: Path | None = argument(None, "write the scores as JSON", role="output")
    page: Path | None = argument(
        None, "write an HTML page of scores and sample questions", role="output", keeps=".html"
    )
    examples: int = argument(60, "questions on the page", minimum=0)
    command: tuple[str, ...] = argument((), flag=False)

    def run(self) -> int:
        from twowiki.data.sources import examples_of
        from twowiki.retrieval.beir import find_qrels, read_qrels
        from twowiki.retrieval.rankings import read_rankings
        from twowiki.retrieval.report import score_judged, score_rankings

        table = find_qrels(self.gold, self.split)
        confidence = self.confidence or None
        ranked = read_rankings(self.ranked, self.corpus)
        if table is not None:
            report = score_judged(ranked, read_qrels(table), self.k, confidence=confidence)
        else:
            gold = examples_of(self.gold, self.config, self.split)
            report = score_rankings(ranked, gold, self.k, confidence=confidence)
        if self.output:
            write_json(self.output, report.to_dict())
        if self.page:
            self._write_page(report, ranked, judged=table is not None)
        print(report.render())
        return 0

    def _write_page(self, report: RetrievalReport, ranked: Ranked, *, judged: bool) -> None:
        from twowiki.data.sources import examples_of
        from twowiki.retrieval.page import draw_cases, render_retrieval_page

        cases: Any = ()
        if not judged:  # the data is read once more
            gold = examples_of(self.gold, self.config, self.split)
            cases = draw_cases(ranked, gold, k=max(self.k), most=self.examples, seed=0)
        title = f"Rankings of {Path(self.ranked).name}"
        command = shlex.join(self.command) or None
        page = render_retrieval_page(report, cases, title=title, k=max(self.k), command=command)
        write_text(Path(self.page or ""), page)


def _print_counts(report: Mapping[str, int]) -> None:
    for name, count in report.items():
        print(f"{name.replace('_', ' ')}: {count:,}")
