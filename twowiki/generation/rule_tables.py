"""The small tables of relations, rules and settings that the queries read. Pure."""

from __future__ import annotations

import pyarrow as pa

from twowiki.data.relations import (
    COMPARABLES,
    COUNTRY_RELATIONS,
    ENTITY_TYPES,
    FEMALE_KINDS,
    FIRST_RELATIONS,
    MALE_KINDS,
    RELATIONS,
    RULES,
    SECOND_RELATIONS,
    TIME_RELATIONS,
    YEAR_RELATIONS,
    P,
)


def _table(columns: str, rows: list[tuple[object, ...]]) -> pa.Table:
    names = columns.split()
    return pa.table(
        {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    )


def _relations() -> pa.Table:
    rows: list[tuple[object, ...]] = [
        (
            number,
            name,
            int(number in TIME_RELATIONS),
            int(number in COUNTRY_RELATIONS),
            int(number in YEAR_RELATIONS),
        )
        for number, name in sorted(RELATIONS.items())
    ]
    return _table("p name timed country yearly", rows)


def _relation_pairs(*, drop_unstated: bool) -> pa.Table:
    """Return the pairs of relations that questions use; rule 0 is the compositional type."""
    rows: list[tuple[object, ...]] = []
    ruled = set()
    for number, rule in enumerate(RULES, 1):
        ruled.add((rule.r1, rule.r2))
        drop_contradicted = int(bool(rule.direct) and not rule.otherwise)
        must = int(rule.must_be_stated or (drop_unstated and bool(rule.direct)))
        direct = P.get(rule.direct, 0)
        rows.append(
            (P[rule.r1], P[rule.r2], number, direct, int(rule.inverse), drop_contradicted, must)
        )
    for r1 in FIRST_RELATIONS:
        for r2 in SECOND_RELATIONS:
            if (r1, r2) not in ruled:
                rows.append((P[r1], P[r2], 0, 0, 0, 0, 0))
    return _table("r1 r2 rule direct inverse drop_if_contradicted drop_if_unstated", rows)


def _class_types() -> pa.Table:
    rows: list[tuple[object, ...]] = [
        (qid, kind.name, prio) for prio, kind in enumerate(ENTITY_TYPES) for qid in kind.classes
    ]
    return _table("class type prio", rows)


def rule_tables(
    *,
    seed: str,
    exhaustive: bool,
    buckets: int = 1,
    cells: int = 1,
    share: int = 1,
    cap: int = 1,
    drop_unstated: bool = False,
    dense: bool = False,
) -> dict[str, pa.Table]:
    """Return every small table by name.

    Args:
        seed: what the sampling order is drawn from.
        exhaustive: all pairs of entities instead of neighbors in a shuffled order.
        buckets: the number of parts that subjects are divided into.
        cells: the number of parts that films are paired within.
        share: candidates of one pair of relations that come first, so that none dominates a type.
        cap: the most candidates that are kept for one pair of relations.
        drop_unstated: whether a rule that can fail needs a statement in Wikidata.
        dense: compare more pairs of each group, to choose from.
    """
    sexes: list[tuple[object, ...]] = [(kind, P["father"]) for kind in MALE_KINDS]
    sexes += [(kind, P["mother"]) for kind in FEMALE_KINDS]
    return {
        "relations": _relations(),
        "relation_pairs": _relation_pairs(drop_unstated=drop_unstated),
        "class_types": _class_types(),
        "comparables": _table("type relation kind", [tuple(row) for row in COMPARABLES]),
        "sexes": _table("sex parent", sexes),
        "settings": _table(
            "seed exhaustive dense buckets cells share cap",
            [(seed, int(exhaustive), int(dense), buckets, cells, share, cap)],
        ),
    }
