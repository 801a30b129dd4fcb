"""Proposals for new questions: rules of two relations, and forms of comparison questions.

In: the statement tables of a run, or questions with gold. Out: horn rules (x, r1, y), (y, r2, z) =>
(x, r, z) with support and confidence, as AMIE counts them; patterns with open slots and how often
each occurs. The paper found its 28 rules and its comparison templates so (sections 2.2 and A).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from twowiki.data.relations import RELATIONS
from twowiki.data.schema import Example
from twowiki.errors import DataError
from twowiki.generation.engines import DuckDBEngine, query
from twowiki.generation.queries import tables_in
from twowiki.generation.run import stages_folder
from twowiki.generation.tables import read_rows
from twowiki.models.text import bare_title

MINED_RULES = "facts relations"
_MOSTLY_PEOPLE = 0.5


class MinedRule(NamedTuple):
    """A proposed rule; `relation` is "" for pairs of people that no property of Wikidata names.

    Confidence is the share of the pairs (0 to 1) of which the relation is stated; PCA confidence
    counts only pairs whose subject states that relation of anything.
    """

    r1: str
    r2: str
    relation: str
    pairs: int
    support: int
    confidence: float
    pca_confidence: float


class MinedPattern(NamedTuple):
    """A form of a question with `#1` and `#2` for its two names, and how many questions have it."""

    text: str
    questions: int
    example_id: str


def mine_rules(
    run: Path, *, min_support: int = 5, min_confidence: float = 0.3, work: Path | None = None
) -> list[MinedRule]:
    """Propose rules from the statement tables of a run, those with most support first.

    Args:
        run: the --out of `twowiki generate`, or `work` of it; only its first stages are read.
        min_support: the least pairs of a rule that are stated, or pairs of people without a name.
        min_confidence: the least PCA confidence of a named relation.
        work: the run's --work, if it was not `run/work`.

    Raises:
        DataError: a folder without the tables of a run.
    """
    folder = stages_folder(run, work)
    stage = folder / "select"
    tables = tables_in([stage]) if stage.is_dir() else {}
    if "facts" not in tables or "relations" not in tables:
        raise DataError(
            "no statement tables", file=folder, remedy="Name the --out of `twowiki generate`."
        )
    inputs = {name: tables[name] for name in MINED_RULES.split()}
    with (
        TemporaryDirectory(prefix="twowiki-") as scratch,
        closing(DuckDBEngine(Path(scratch, "scratch"))) as engine,
    ):
        out = Path(scratch, "mined_rules")
        engine.sql(query("mined_rules"), inputs, out)
        rows = read_rows(out)
    return rules_of(rows, min_support, min_confidence)


def rules_of(
    rows: Iterable[dict[str, int]], min_support: int, min_confidence: float
) -> list[MinedRule]:
    """Return the rules that rows of `mined_rules` support, and pairs of people without a name."""
    named: list[MinedRule] = []
    unnamed: dict[tuple[int, int], MinedRule] = {}
    done: set[tuple[int, int]] = set()
    for row in rows:
        pair, support = (row["r1"], row["r2"]), row["support"]
        r1, r2 = RELATIONS[row["r1"]], RELATIONS[row["r2"]]
        pca = support / row["stated"] if row["stated"] else 0.0
        if support >= min_support and pca >= min_confidence:
            share = support / row["pairs"]
            name = RELATIONS[row["r"]]
            named.append(MinedRule(r1, r2, name, row["pairs"], support, share, pca))
            done.add(pair)
        elif row["people"] >= max(min_support, _MOSTLY_PEOPLE * row["pairs"]):
            unnamed[pair] = MinedRule(r1, r2, "", row["pairs"], row["people"], 0.0, 0.0)
    rules = named + [rule for pair, rule in unnamed.items() if pair not in done]
    return sorted(rules, key=lambda rule: (-rule.support, rule.r1, rule.r2, rule.relation))


def render_rules(rules: Sequence[MinedRule]) -> str:
    """Return rules as a table."""
    lines = [f"{'r1':24}{'r2':24}{'relation':24}{'pairs':>9}{'support':>9}{'conf.':>8}{'PCA':>8}"]
    for rule in rules:
        lines.append(
            f"{rule.r1:24}{rule.r2:24}{rule.relation or '(no name)':24}{rule.pairs:>9,}"
            f"{rule.support:>9,}{rule.confidence:>8.3f}{rule.pca_confidence:>8.3f}"
        )
    return "\n".join(lines)


def mine_templates(examples: Iterable[Example], *, min_count: int = 1) -> list[MinedPattern]:
    """Return the forms of comparison questions, the most frequent first.

    A question whose two supporting titles are both in it gives a form; titles are found without
    their brackets and whatever their case.
    """
    counts: Counter[str] = Counter()
    first: dict[str, str] = {}
    for example in examples:
        if example.type != "comparison":
            continue
        titles = list(dict.fromkeys(fact.title for fact in example.supporting_facts or ()))
        pattern = _pattern(example.question, titles)
        if pattern is not None:
            counts[pattern] += 1
            first.setdefault(pattern, example.id)
    found = [MinedPattern(text, n, first[text]) for text, n in counts.items() if n >= min_count]
    return sorted(found, key=lambda one: (-one.questions, one.text))


def _pattern(question: str, titles: Sequence[str]) -> str | None:
    """Return a question with slots for two titles; None if they are not both in it."""
    if len(titles) != 2:
        return None
    spans = []
    for title in titles:
        names = sorted({title, bare_title(title)}, key=lambda name: (-len(name), name))
        options = "|".join(re.escape(name) for name in names)
        found = re.search(rf"(?<!\w)(?:{options})(?!\w)", question, re.IGNORECASE)
        if found is None:
            return None
        spans.append(found.span())
    (start1, end1), (start2, end2) = sorted(spans)
    if start2 < end1:
        return None
    return f"{question[:start1]}#1{question[end1:start2]}#2{question[end2:]}".strip()


def render_patterns(patterns: Sequence[MinedPattern]) -> str:
    """Return forms with their counts, one a line."""
    return "\n".join(f"{one.questions:>6,}  {one.text}  [{one.example_id}]" for one in patterns)
