"""The entities that selected candidates name: names, pages, classes and facts.

In: the tables of the `wanted_*` queries, sorted by entity. Out: look-ups by Q-id. They are on disk;
those that were asked for last are in memory.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq

from twowiki.generation.dates import DATE_BASE
from twowiki.generation.spool import RecordStore
from twowiki.generation.tables import parquet_files, rows_by
from twowiki.generation.text import spelling
from twowiki.models.text import bare_title


class Name(NamedTuple):
    """A name of an entity: its kind (label, title, alias, demonym), spelling and norm."""

    kind: str
    text: str
    norm: str


class Grounded(NamedTuple):
    """A fact whose object is named in a sentence of the subject's page."""

    subject: int
    relation: str
    object: int
    norm: str
    says: int
    sent_id: int
    statement: str


class Entity(NamedTuple):
    """An entity: English label, type and the parent relation of its sex; its page or None."""

    qid: int
    label: str
    page_id: int | None
    title: str | None
    n_same_name: int
    type: str
    parent: int


class _Known(NamedTuple):
    """All that is known of an entity; one that only an object names has names alone."""

    entity: Entity | None
    sentences: list[str]
    names: list[Name]
    classes: list[str]
    days: dict[int, tuple[int, int]]
    grounded: dict[str, list[Grounded]]


_SPELLINGS = 1 << 16  # facts whose spelling is kept: many candidates share one
_NOTHING = _Known(None, [], [], [], {}, {})
_KEYS = {"wanted_pages": "qid", "wanted_sentences": "qid", "wanted_names": "qid",
         "wanted_classes": "qid", "wanted_dates": "qid", "wanted_grounded": "s"}  # fmt: skip


_COLUMNS = {"comparison": ("s1", "s2"), "bridge_comparison": ("f1", "h1", "f2", "h2")}
_CHAIN = ("e", "b", "a")


def named_entities(
    folder: Path, question_type: str, surplus: int | None
) -> Iterator[Iterable[int]]:
    """Yield the entities of the first candidates of a type, some at a time; None yields all."""
    columns = list(_COLUMNS.get(question_type, _CHAIN))
    rules = [] if question_type in _COLUMNS else ["rule"]
    for file in parquet_files(folder):
        for batch in pq.ParquetFile(file).iter_batches(columns=columns + rules):
            rows = np.stack([batch.column(name).to_numpy() for name in columns], axis=1)
            for name in rules:
                inferred = batch.column(name).to_numpy() > 0
                rows = rows[inferred == (question_type == "inference")]
            rows = rows[:surplus]
            surplus = None if surplus is None else surplus - len(rows)
            yield rows[rows < DATE_BASE].tolist()  # the last object of a chain may be a date


class Entities:
    """The entities of the selected candidates.

    Args:
        folder: holds the outputs of the `wanted_*` queries.
    """

    def __init__(self, folder: Path) -> None:
        self._known = RecordStore(folder, _known_entities(folder), _Known).getter(_NOTHING)
        self.written = lru_cache(_SPELLINGS)(self._written)

    def __contains__(self, qid: int) -> bool:
        return self._known(qid).entity is not None

    def entity(self, qid: int) -> Entity:
        """Return an entity."""
        entity = self._known(qid).entity
        assert entity is not None, f"Q{qid} is not wanted"
        return entity

    def title(self, qid: int) -> str:
        """Return the title of an entity's page."""
        entity = self._known(qid).entity
        title = entity.title if entity is not None else None
        assert title is not None, f"Q{qid} has no page"
        return title

    def bare(self, qid: int) -> str:
        """Return the title of an entity's page without its bracket."""
        return bare_title(self.title(qid))

    def sentences(self, qid: int) -> list[str]:
        """Return the sentences of an entity's page."""
        return self._known(qid).sentences

    def names(self, qid: int) -> list[Name]:
        """Return an entity's names, preferred ones first."""
        return self._known(qid).names

    def classes(self, qid: int) -> list[str]:
        """Return the labels of the classes of an entity."""
        return self._known(qid).classes

    def days(self, qid: int) -> dict[int, tuple[int, int]]:
        """Return the first and last day of an entity's dates by property."""
        return self._known(qid).days

    def grounded(self, qid: int, relation: str) -> list[Grounded]:
        """Return the values of an entity's relation that its page states."""
        return self._known(qid).grounded.get(relation, [])

    def slot(self, qid: int, *, brackets: bool) -> str:
        """Return the page's title; its bracket only on request, or to tell it from a namesake."""
        title = self.title(qid)
        return title if brackets or self.entity(qid).n_same_name > 1 else bare_title(title)

    def _written(self, fact: Grounded) -> str | None:
        """Return a fact's object as its supporting sentence writes it.

        Where tokenization has split it ("Saxe- Lauenburg"), a name of the entity that differs
        in spaces alone is returned instead.
        """
        known: tuple[str, ...] = ()
        if fact.object < DATE_BASE:
            known = tuple(name.text for name in self.names(fact.object) if name.norm == fact.norm)
        text = spelling(self.sentences(fact.subject)[fact.sent_id], fact.norm, known)
        if text is None:
            return None
        plain = "".join(text.split())
        return next((name for name in known if "".join(name.split()) == plain), text)


def _known_entities(folder: Path) -> Iterator[tuple[int, _Known]]:
    """Join the tables by entity; each is read once, in order."""

    def rows_of(table: str) -> Iterator[tuple[int, str, list[dict[str, Any]]]]:
        return ((qid, table, rows) for qid, rows in rows_by(folder / table, _KEYS[table]))

    merged = heapq.merge(*map(rows_of, _KEYS), key=itemgetter(0, 1))
    for qid, parts in groupby(merged, key=itemgetter(0)):
        yield qid, _of_rows({table: rows for _, table, rows in parts})


def _of_rows(rows: dict[str, list[dict[str, Any]]]) -> _Known:
    grounded: dict[str, list[Grounded]] = defaultdict(list)
    for row in rows.get("wanted_grounded", ()):
        fact = Grounded(
            row["s"], row["relation"], row["o"], row["norm"], row["says"], row["sent_id"],
            row["stmt_id"],
        )  # fmt: skip
        grounded[fact.relation].append(fact)
    return _Known(
        entity=next((Entity(**row) for row in rows.get("wanted_pages", ())), None),
        sentences=[row["text"] for row in rows.get("wanted_sentences", ())],
        names=[Name(row["kind"], row["name"], row["norm"]) for row in rows.get("wanted_names", ())],
        classes=[row["label"] for row in rows.get("wanted_classes", ())],
        days={row["p"]: (row["low"], row["high"]) for row in rows.get("wanted_dates", ())},
        grounded=dict(grounded),
    )
