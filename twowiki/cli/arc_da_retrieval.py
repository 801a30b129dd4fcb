"""Commands of retrieval for ARC-DA: index a corpus of sentences, and retrieve for questions."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from twowiki.arc_da.schema import MultipleChoice, Question
from twowiki.arc_da.sources import read_gold_questions, read_multiple_choice
from twowiki.cli.retrieval import IndexCommand
from twowiki.data.splits import split_named
from twowiki.errors import DataError
from twowiki.io.arguments import argument, positional
from twowiki.io.files import progress, write_json, write_json_lines
from twowiki.io.journal import Journal
from twowiki.retrieval.arc_da_contexts import (
    ContextSettings,
    context_record,
    find_contexts,
    render_quality,
    report_quality,
)
from twowiki.retrieval.index import SentenceIndex


@dataclass(frozen=True, kw_only=True)
class SentenceIndexCommand(IndexCommand):
    """Index a corpus of sentences, in which `twowiki arc-da retrieve` looks questions up.

    CORPUS may be text (one sentence per line), JSON lines, a JSON array of {title, text}, Parquet,
    a table, compressed, in a zip, or a folder of these; ARC's corpus and GenericsKB are found in
    their releases. Equal sentences are kept once. An interrupted run continues when started again.

      twowiki arc-da index GenericsKB-Best.tsv science_index
      twowiki arc-da index ARC-V1-Feb2018-2.zip arc_index --engine tantivy
      twowiki arc-da index corpus.jsonl served --engine server --server http://localhost:9200

    The engines are those of `twowiki index`.
    """

    unit: str = argument("sentence", flag=False)
    server_index: str = argument("arc_da", "the index there", metavar="NAME")


@dataclass(frozen=True, kw_only=True)
class RetrieveSentencesCommand:
    """Retrieve sentences for each question from an index: ten per question, near-equal ones once.

    QUESTIONS are ARC-DA's (a file, the release's folder or zip; all splits unless --split), or with
    --kind mc ARC's multiple choice. OUT is the JSON lines file that training and prediction take as
    `contexts`. Sentences that contain the question itself are skipped: they are pages of test
    banks. The report says how often the sentences contain a gold answer, and how often by chance.

      twowiki arc-da retrieve science_index ARC-DA-v1.1 contexts.jsonl --report retrieval.json
    """

    index: Path = positional("folder that `twowiki arc-da index` wrote", role="input")
    questions: str = positional("ARC-DA, or ARC with --kind mc", role="input")
    out: Path = positional("file to write (JSON lines)", role="output", writes=(".unfinished",))
    kind: str = argument("da", "direct answers or multiple choice", choices=("da", "mc"))
    split: str | None = argument(None, "only train, dev or test")
    query: str = argument(
        "question",
        "what is looked up; options only for multiple choice",
        choices=("question", "question_options"),
    )
    sentences: int = argument(10, "sentences per question", minimum=1)
    near: float = argument(
        0.9,
        "share of common words from which a sentence repeats another",
        above=0,
        maximum=1,
        metavar="SHARE",
    )
    keep_copies: bool = argument(False, "keep sentences that contain the question")
    batch: int = argument(100, "questions at a time", minimum=1)
    server: str = argument("", "where the server is now", metavar="URL")
    restart: bool = argument(False, "discard what an interrupted run kept")
    report: Path | None = argument(None, "write the quality report as JSON", role="output")

    def run(self) -> int:
        settings = ContextSettings(self.query, self.sentences, self.near, self.keep_copies)
        index = SentenceIndex(self.index, server=self.server)
        items = self._read_items()
        records = self._retrieve(index, items, settings)
        texts = {one["question_id"]: [s["text"] for s in one["sentences"]] for one in records}
        direct = [_as_direct(item) for item in items]
        report = {"index": index.manifest, **settings._asdict(), **report_quality(direct, texts)}
        print(render_quality(report), end="")
        passed: Counter[str] = Counter()
        for record in records:
            passed.update(record["passed_over"])
        for reason, count in sorted(passed.items()):
            print(f"passed over: {reason.replace('_', ' ')}: {count}")
        if self.report:
            write_json(self.report, {**report, "passed_over": passed})
        return 0

    def _retrieve(self, index: Any, items: list[Any], settings: Any) -> list[dict[str, Any]]:
        """Return each question's record, those that an interrupted run kept included."""
        identity = {**settings._asdict(), "kind": self.kind, "index": index.short_hash}
        path = Path(f"{self.out}.unfinished")
        journal = Journal(path, identity, key="question_id", restart=self.restart)
        try:
            left = [item for item in items if item.question_id not in journal.records]
            stream = iter(progress(left, what="retrieving", total=len(left)))
            while block := list(islice(stream, self.batch)):
                contexts = find_contexts(index, block, settings)
                journal.add(
                    context_record(context, settings, index.short_hash) for context in contexts
                )
        finally:
            index.close()
        records = [journal.records[item.question_id] for item in items]
        write_json_lines(self.out, records)
        path.unlink()
        return records

    def _read_items(self) -> list[Question | MultipleChoice]:
        """Return the questions that are looked up, each id once.

        Raises:
            DataError: there is none.
        """
        if self.kind == "da":
            return list(read_gold_questions(self.questions, split=self.split).values())
        wanted = {"validation": "dev"}.get(split_named(self.split or ""), self.split)
        items = [one for one in read_multiple_choice(self.questions) if wanted in (None, one.split)]
        if not items:
            raise DataError("has no such question", file=self.questions, remedy="Check --split")
        return list(items)


def _as_direct(item: Question | MultipleChoice) -> Question:
    """Return a question with gold answers for the report: of multiple choice the right option."""
    if isinstance(item, Question):
        return item
    key = item.key_text
    return Question(item.question_id, None, item.stem, () if key is None else (key,))
