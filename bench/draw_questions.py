"""Questions of a generated data set for a person to read: is the support right, and the answer?

  twowiki generate --wikidata DUMP --paragraphs FILE --limit-per-type 45 --out RUN
  python bench/draw_questions.py RUN --number 150 --seed 1 --out questions.jsonl

Draws from all four types in turn, by the seed alone. Each line has the id, type, question, answer,
evidences and the supporting sentences; the reader answers with the id and "right", "wrong support"
or "wrong answer".
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import defaultdict
from itertools import zip_longest
from pathlib import Path
from typing import Any

from twowiki.data.schema import TWO_WIKI_TYPES


def read_run(folder: Path) -> list[dict[str, Any]]:
    """Read the records of all splits of a run."""
    names = ("train", "dev", "test")
    return [one for name in names for one in json.loads((folder / f"{name}.json").read_bytes())]


def draw(records: list[dict[str, Any]], number: int, seed: str) -> list[dict[str, Any]]:
    """Draw from the types in turn, each in an order that the seed decides."""
    by_type: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        by_type[record["type"]].append(record)
    for rows in by_type.values():
        rows.sort(key=lambda row: hashlib.md5(f"{seed}|{row['_id']}".encode()).hexdigest())
    turns = zip_longest(*(by_type[kind] for kind in TWO_WIKI_TYPES))
    return [row for turn in turns for row in turn if row is not None][:number]


def to_line(record: dict[str, Any]) -> str:
    """Return what a reader needs of a record."""
    pages = dict(record["context"])
    support = [[title, pages[title][sent_id]] for title, sent_id in record["supporting_facts"]]
    kept = {key: record[key] for key in ("_id", "type", "question", "answer", "evidences")}
    return json.dumps(kept | {"support": support}, ensure_ascii=False) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run", type=Path, help="the --out of `twowiki generate`")
    parser.add_argument("--number", type=int, default=150)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--out", type=Path, default=Path("questions.jsonl"))
    options = parser.parse_args()
    drawn = draw(read_run(options.run), options.number, options.seed)
    options.out.write_text("".join(map(to_line, drawn)), encoding="utf-8")
    print(f"{len(drawn)} questions: {options.out}")


if __name__ == "__main__":
    main()
