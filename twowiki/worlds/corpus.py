"""All pages of a world as a retrieval corpus: the config `world_corpus`.

In: a world's dumps and the questions generated from them. Out: a JSON line for each page with its
entity's id and other names, and the questions for which it is relevant.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twowiki.io.files import replacing

if TYPE_CHECKING:
    import datasets

CORPUS_CONFIG = "world_corpus"
CORPUS_FILE = "corpus.jsonl"
_BATCH = 1000


def write_corpus(wikidata: Path, paragraphs: Path, out: Path) -> int:
    """Write a world's pages into the folder of its questions; return their number."""
    relevant: dict[str, list[dict[str, str]]] = defaultdict(list)
    for split in ("train", "dev", "test"):
        for record in json.loads((out / f"{split}.json").read_text("utf-8")):
            for title in dict.fromkeys(title for title, _ in record["supporting_facts"]):
                relevant[title].append({"split": split, "question_id": record["_id"]})
    count = 0
    with replacing(out / CORPUS_FILE) as stream, open(paragraphs, encoding="utf-8") as lines:
        # both dumps list the entities that have pages in one order
        for entity, page in zip(
            _entities_with_pages(wikidata), map(json.loads, lines), strict=True
        ):
            names = [alias["value"] for alias in entity["aliases"].get("en", ())]
            row = {
                "id": page["id"],
                "title": page["title"],
                "sentences": page["sentences"],
                "entity_id": entity["id"],
                "aliases": names,
                "relevant_for": relevant.get(page["title"], []),
            }
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count


def _entities_with_pages(wikidata: Path) -> Iterator[Any]:
    with open(wikidata, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("{"):
                entity = json.loads(line.rstrip("\n,"))
                if entity["sitelinks"]:
                    yield entity


def corpus_features() -> datasets.Features:
    """Return the columns of the config `world_corpus`."""
    from datasets import Features, Value

    from twowiki.data.arrow import list_of

    text = Value("string")
    return Features(
        {
            "id": text,
            "title": text,
            "sentences": list_of(text),
            "entity_id": text,
            "aliases": list_of(text),
            "relevant_for": list_of({"split": text, "question_id": text}),
        }
    )


def corpus_tables(files: Iterable[str]) -> Iterator[Any]:
    """Yield the pages of a corpus as Arrow tables."""
    import pyarrow as pa

    schema = corpus_features().arrow_schema
    for file in files:
        with open(file, encoding="utf-8") as lines:
            rows: list[Any] = []
            for line in lines:
                rows.append(json.loads(line))
                if len(rows) == _BATCH:
                    yield pa.Table.from_pylist(rows, schema)
                    rows = []
            if rows:
                yield pa.Table.from_pylist(rows, schema)
