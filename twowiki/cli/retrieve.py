"""The command that ranks paragraphs for each question, and scores the rankings where it can."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twowiki.cli.options import SplitOptions
from twowiki.errors import DataError
from twowiki.io.arguments import argument, positional
from twowiki.io.files import progress, replacing, text_hash, write_json
from twowiki.io.journal import Journal

if TYPE_CHECKING:
    from twowiki.retrieval.index import SentenceIndex
    from twowiki.retrieval.iterative import HopRanking, Reader


@dataclass(frozen=True, kw_only=True)
class RetrieveCommand(SplitOptions):
    """Rank the paragraphs of an index for each question of a split.

    INDEX is a folder of `twowiki index`. QUESTIONS is a data set, or queries.jsonl of a test set.
    OUT gets one JSON line per question: {"id", "queries", "index", "paragraphs": [{"_id", "title",
    "score", "hop", "sentences"}]}, which `twowiki prompt`, `predict`, `score` and `report` take as
    --rankings. With --hops 2 it retrieves again with the names that the best paragraphs add to the
    question, or with what --reader finds in them. Where the questions have gold the scores are
    printed: those of `twowiki retrieval`.

      twowiki retrieve pages_index dev.json rankings.jsonl --k 10 --hops 2

    An interrupted run continues where it stopped.
    """

    index: Path = positional("folder that `twowiki index` wrote", role="input")
    questions: str = positional("a data set, or queries.jsonl", role="input")
    out: Path = positional(
        "file to write (JSON lines)",
        metavar="OUT",
        role="output",
        writes=(".unfinished", ".unfinished.lines"),
    )
    k: int = argument(10, "paragraphs per question", minimum=1)
    hops: int = argument(1, "queries per question, one a hop", minimum=1, maximum=6)
    reader: str | None = argument(
        None,
        "a model of this package that reads between hops (default: the names are read)",
        metavar="MODEL",
        role="input",
    )
    batch: int = argument(100, "questions at a time", minimum=1)
    server: str = argument("", "where the server is now", metavar="URL")
    encoder: str = argument("", "where the encoder's folder is now", metavar="MODEL")
    device: str = argument("", "where encoder and reader run: cpu, cuda, ...")
    restart: bool = argument(False, "discard what an interrupted run kept")
    report: Path | None = argument(None, "write the scores as JSON", role="output")

    def run(self) -> int:
        from twowiki.retrieval.index import SentenceIndex

        with SentenceIndex(
            self.index, server=self.server, encoder=self.encoder, device=self.device
        ) as index:
            count = self._retrieve(index)
        print(f"{count:,} rankings written to {self.out}")
        self._score()
        return 0

    def _retrieve(self, index: SentenceIndex) -> int:
        """Write each question's ranking, block after block; return their number."""
        from twowiki.retrieval.iterative import retrieve_by_hops

        read = self._reader()
        settings = {name: getattr(self, name) for name in ("k", "hops", "reader", "batch")}
        path, lines = Path(f"{self.out}.unfinished"), Path(f"{self.out}.unfinished.lines")
        identity = {**settings, "index": index.short_hash}
        if os.path.lexists(lines) and (lines.is_symlink() or not path.is_file()):
            remedy = "Move it away, or choose another name for OUT"
            raise DataError("exists, and no run wrote it", file=lines, remedy=remedy)
        journal = Journal(path, identity, key="block", restart=self.restart)
        done = max((record["size"] for record in journal.records.values()), default=0)
        count = 0
        with open(lines, "r+b" if done else "wb") as stream:
            stream.truncate(done)
            stream.seek(done)
            for block, questions in enumerate(self._blocks()):
                record = {"block": str(block), "questions": text_hash(repr(questions))}
                if record["block"] in journal.records:
                    self._check_block(record, journal.records[record["block"]])
                else:
                    texts = [text for _, text in questions]
                    rankings = retrieve_by_hops(index, texts, k=self.k, hops=self.hops, read=read)
                    pairs = zip(questions, rankings, strict=True)
                    stream.writelines(
                        _line(name, one, index.short_hash) for (name, _), one in pairs
                    )
                    stream.flush()
                    journal.add([{**record, "size": stream.tell()}])
                count += len(questions)
        if not count:
            raise DataError("has no questions", file=self.questions)
        with replacing(self.out, "wb") as out, open(lines, "rb") as whole:
            shutil.copyfileobj(whole, out)
        lines.unlink()
        path.unlink()
        return count

    def _check_block(self, record: Mapping[str, Any], kept: Mapping[str, Any]) -> None:
        if record["questions"] != kept["questions"]:
            problem = "has other questions than when the run was interrupted"
            remedy = "Start over with --restart"
            raise DataError(problem, file=self.questions, remedy=remedy)

    def _blocks(self) -> Iterator[list[tuple[str, str]]]:
        stream = iter(progress(self._questions(), what="retrieving"))
        while block := list(islice(stream, self.batch)):
            yield block

    def _reader(self) -> Reader | None:
        """Return the model that reads between hops; None where there is none to load."""
        if self.reader is None:
            return None
        if self.hops == 1:
            raise DataError("a single hop has no reader", field="reader", remedy="Add --hops 2")
        import torch

        from twowiki.models.auto import load_extractive_model
        from twowiki.retrieval.iterative import triple_reader

        device = self.device or ("cuda" if torch.cuda.is_available() else "cpu")
        return triple_reader(load_extractive_model(self.reader, device=device))

    def _questions(self) -> Iterator[tuple[str, str]]:
        from twowiki.data.sources import examples_of
        from twowiki.io.records import read_records

        if Path(self.questions).name.startswith("queries."):
            for number, record in read_records(self.questions):
                name, text = record.get("_id"), record.get("text")
                if not isinstance(name, str) or not isinstance(text, str):
                    problem = "a query without _id or text"
                    raise DataError(problem, file=self.questions, record=number)
                yield name, text
            return
        for example in examples_of(self.questions, self.config, self.split):
            yield example.id, example.question

    def _score(self) -> None:
        from twowiki.data.schema import gold_paragraphs
        from twowiki.data.sources import examples_of
        from twowiki.retrieval.rankings import read_rankings
        from twowiki.retrieval.report import score_rankings

        if Path(self.questions).name.startswith("queries."):
            print("scores: twowiki retrieval OUT qrels/SPLIT.tsv")
            return
        if not Path(self.out).is_file():  # a pipe or a device: what was written is gone
            print("no scores: the rankings went into a pipe or a device")
            return
        examples = examples_of(self.questions, self.config, self.split)
        gold = [example for example in examples if any(gold_paragraphs(example))]
        if not gold:
            print("no gold, so no scores")
            return
        ks = sorted({k for k in (2, 5, 10, 20, 50, 100) if k < self.k} | {self.k})
        scored = score_rankings(read_rankings(self.out), gold, ks)
        if self.report:
            write_json(self.report, scored.to_dict())
        print(scored.render())


def _line(name: str, ranking: HopRanking, index: str) -> bytes:
    """Return a line of the rankings file; `index` is the index's short hash."""
    paragraphs = []
    for hit, hop in zip(ranking.hits, ranking.hops, strict=True):
        paragraph = hit.entry.paragraph
        paragraphs.append(
            {
                "_id": hit.entry.id,
                "title": paragraph.title,
                "score": round(hit.score, 6),
                "hop": hop,
                "sentences": list(paragraph.sentences),
            }
        )
    record = {"id": name, "queries": ranking.queries, "index": index, "paragraphs": paragraphs}
    return (json.dumps(record, ensure_ascii=False) + "\n").encode("utf-8", "replace")
