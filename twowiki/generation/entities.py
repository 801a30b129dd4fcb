"""The entities that selected candidates name, in memory: names, pages, classes and facts.

In: the small tables of the `wanted_*` queries. Out: look-ups by Q-id.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from twowiki.generation.dates import DATE_BASE
from twowiki.generation.tables import read_rows
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


class Entities:
    """The entities of the selected candidates.

    Args:
        folder: holds the outputs of the `wanted_*` queries.
    """

    def __init__(self, folder: Path) -> None:
        self._entities = {row["qid"]: Entity(**row) for row in read_rows(folder / "wanted_pages")}
        self._sentences: dict[int, list[str]] = defaultdict(list)
        for row in read_rows(folder / "wanted_sentences"):
            self._sentences[row["qid"]].append(row["text"])
        self._names: dict[int, list[Name]] = defaultdict(list)
        for row in read_rows(folder / "wanted_names"):
            self._names[row["qid"]].append(Name(row["kind"], row["name"], row["norm"]))
        self._classes: dict[int, list[str]] = defaultdict(list)
        for row in read_rows(folder / "wanted_classes"):
            self._classes[row["qid"]].append(row["label"])
        self._days: dict[int, dict[int, tuple[int, int]]] = defaultdict(dict)
        for row in read_rows(folder / "wanted_dates"):
            self._days[row["qid"]][row["p"]] = row["low"], row["high"]
        self._grounded: dict[tuple[int, str], list[Grounded]] = defaultdict(list)
        for row in read_rows(folder / "wanted_grounded"):
            fact = Grounded(
                row["s"], row["relation"], row["o"], row["norm"], row["says"], row["sent_id"],
                row["stmt_id"],
            )  # fmt: skip
            self._grounded[fact.subject, fact.relation].append(fact)

    def __contains__(self, qid: int) -> bool:
        return qid in self._entities

    def entity(self, qid: int) -> Entity:
        """Return an entity."""
        return self._entities[qid]

    def title(self, qid: int) -> str:
        """Return the title of an entity's page."""
        title = self._entities[qid].title
        assert title is not None, f"Q{qid} has no page"
        return title

    def bare(self, qid: int) -> str:
        """Return the title of an entity's page without its bracket."""
        return bare_title(self.title(qid))

    def sentences(self, qid: int) -> list[str]:
        """Return the sentences of an entity's page."""
        return self._sentences[qid]

    def names(self, qid: int) -> list[Name]:
        """Return an entity's names, preferred ones first."""
        return self._names[qid]

    def classes(self, qid: int) -> list[str]:
        """Return the labels of the classes of an entity."""
        return self._classes[qid]

    def days(self, qid: int) -> dict[int, tuple[int, int]]:
        """Return the first and last day of an entity's dates by property."""
        return self._days[qid]

    def grounded(self, qid: int, relation: str) -> list[Grounded]:
        """Return the values of an entity's relation that its page states."""
        return self._grounded[qid, relation]

    def slot(self, qid: int, *, brackets: bool) -> str:
        """Return the page's title; its bracket only on request, or to tell it from a namesake."""
        title = self.title(qid)
        return title if brackets or self._entities[qid].n_same_name > 1 else bare_title(title)

    def written(self, fact: Grounded) -> str | None:
        """Return a fact's object as its supporting sentence writes it.

        Where tokenization has split it ("Saxe- Lauenburg"), a name of the entity that differs
        in spaces alone is returned instead.
        """
        known: tuple[str, ...] = ()
        if fact.object < DATE_BASE:
            known = tuple(name.text for name in self._names[fact.object] if name.norm == fact.norm)
        text = spelling(self._sentences[fact.subject][fact.sent_id], fact.norm, known)
        if text is None:
            return None
        plain = "".join(text.split())
        return next((name for name in known if "".join(name.split()) == plain), text)
