"""The authors' evaluators, versions 1.0 and 1.1, as algorithms: the yardstick of speed and parity.

Written from their description, operation by operation and without any shortcut: every name and
every product of names is normalised again for every example, the set of punctuation characters is
made anew at each call, and the figures are summed in the order of the gold file. It rewrites its
inputs in place and dies on malformed ones, as the originals do. Run as a program it is the whole
process that a user would run: `reference_evaluator.py PREDICTIONS GOLD [ALIASES]`.
"""

from __future__ import annotations

import json
import re
import string
import sys
from collections import Counter
from itertools import product
from typing import Any

try:
    import ujson as reader  # what the originals read with
except ImportError:
    import json as reader

KEYS = ("em", "f1", "prec", "recall")
PARTS = ("", "sp_", "evi_", "joint_")


def without_punctuation(text: str) -> str:
    exclude = set(string.punctuation)
    return "".join(letter for letter in text if letter not in exclude)


def normal_answer(text: str) -> str:
    bare = without_punctuation(text.lower())
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())


def normal_name(text: str) -> str:
    return " ".join(without_punctuation(text.lower()).split())


def normalise_in_place(values: list[Any]) -> list[Any]:
    for place in range(len(values)):
        if isinstance(values[place], str):
            values[place] = normal_name(values[place])
        else:
            normalise_in_place(values[place])
    return values


def answer_f1(prediction: str, gold: str) -> tuple[float, float, float]:
    said, true = normal_answer(prediction), normal_answer(gold)
    if said in ("yes", "no", "noanswer") and said != true:
        return 0.0, 0.0, 0.0
    if true in ("yes", "no", "noanswer") and said != true:
        return 0.0, 0.0, 0.0
    said_tokens, true_tokens = said.split(), true.split()
    same = sum((Counter(said_tokens) & Counter(true_tokens)).values())
    if same == 0:
        return 0.0, 0.0, 0.0
    precision, recall = same / len(said_tokens), same / len(true_tokens)
    return 2 * precision * recall / (precision + recall), precision, recall


def score_answer(prediction: str, golds: list[str]) -> tuple[float, float, float, float]:
    em = f1 = precision = recall = 0.0
    for gold in golds:
        em = max(em, float(normal_answer(prediction) == normal_answer(gold)))
        found = answer_f1(prediction, gold)
        f1, precision, recall = max(f1, found[0]), max(precision, found[1]), max(recall, found[2])
    return em, f1, precision, recall


def from_counts(tp: float, fp: float, fn: float) -> tuple[float, float, float, float]:
    precision = tp / (tp + fp) if tp + fp > 0 else 0.0
    recall = tp / (tp + fn) if tp + fn > 0 else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0
    return float(fp + fn == 0), f1, precision, recall


def lowered(facts: list[Any]) -> list[list[Any]]:
    return [[fact[0].lower(), *fact[1:]] for fact in set(map(tuple, facts))]


def score_facts(prediction: list[Any], gold: list[Any]) -> tuple[float, float, float, float]:
    said, true = lowered(prediction), lowered(gold)
    tp = sum(fact in true for fact in said)
    return from_counts(tp, len(said) - tp, sum(fact not in said for fact in true))


def score_triples_v1_0(prediction: list[Any], gold: list[Any]) -> tuple[float, ...]:
    said = set(map(tuple, normalise_in_place(prediction)))
    true = set(map(tuple, normalise_in_place(gold)))
    tp = sum(triple in true for triple in said)
    return from_counts(tp, len(said) - tp, len(true - said))


def alias_sets(record: dict[str, Any], aliases: dict[str, Any], demonyms: dict[str, Any]):
    golds = []
    if record["evidences_id"] != []:
        assert len(record["evidences_id"]) == len(record["evidences"])
        for ids, triple in zip(record["evidences_id"], record["evidences"], strict=True):
            assert ids[1] == triple[1]
            names = [{triple[0]}, {triple[2]}]
            for group, name in zip(names, (ids[0], ids[2]), strict=True):
                group.update(aliases.get(name, ()))
                group.update(demonyms.get(name, ()))
            golds.append([list(way) for way in product(names[0], [triple[1]], names[1])])
    else:
        golds = [[list(triple)] for triple in record["evidences"]]
    return [set(map(tuple, normalise_in_place(ways))) for ways in golds]


def score_triples_v1_1(prediction: list[Any], golds: list[Any]) -> tuple[float, ...]:
    said = set(map(tuple, normalise_in_place(prediction)))
    matches = 0
    for triple in said:
        for gold in golds:
            if triple in gold:
                matches += 1
                break
    precision = matches / len(said) if said else 0.0
    recall = matches / len(golds) if golds else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0
    return float(matches == len(said) == len(golds)), f1, precision, recall


def evaluate(
    prediction: dict[str, Any],
    gold: list[dict[str, Any]],
    alias_lines: list[dict[str, Any]] | None = None,
    version: str = "1.1",
) -> dict[str, float]:
    """Give the 16 figures, 0-100, unrounded."""
    aliases = {line["Q_id"]: line["aliases"] for line in alias_lines or ()}
    demonyms = {line["Q_id"]: line["demonyms"] for line in alias_lines or ()}
    sums = {part + key: 0.0 for part in PARTS for key in KEYS}
    for record in gold:
        name, figures = record["_id"], {}
        if name in prediction["answer"]:
            golds = {record["answer"]}
            if version == "1.1" and record["answer_id"] is not None:
                golds.update(aliases.get(record["answer_id"], ()))
                golds.update(demonyms.get(record["answer_id"], ()))
            figures[""] = score_answer(prediction["answer"][name], list(golds))
        if name in prediction["sp"]:
            figures["sp_"] = score_facts(prediction["sp"][name], record["supporting_facts"])
        if name in prediction["evidence"]:
            triples = prediction["evidence"][name]
            if version == "1.1":
                ways = alias_sets(record, aliases, demonyms)
                figures["evi_"] = score_triples_v1_1(triples, ways)
            else:
                figures["evi_"] = score_triples_v1_0(triples, record["evidences"])
        if len(figures) == 3:
            figures["joint_"] = joint(figures)
        for part, values in figures.items():
            for key, value in zip(KEYS, values, strict=True):
                sums[part + key] += value
    return {key: value / len(gold) * 100 for key, value in sums.items()}


def joint(figures: dict[str, tuple[float, ...]]) -> tuple[float, float, float, float]:
    em = precision = recall = 1.0
    for values in (figures[""], figures["sp_"], figures["evi_"]):
        em, precision, recall = em * values[0], precision * values[2], recall * values[3]
    f1 = 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0
    return em, f1, precision, recall


def main(prediction_file: str, gold_file: str, alias_file: str | None = None) -> None:
    with open(prediction_file, encoding="utf-8") as stream:
        prediction = reader.load(stream)
    with open(gold_file, encoding="utf-8") as stream:
        gold = reader.load(stream)
    lines = []
    if alias_file:
        with open(alias_file, encoding="utf-8") as stream:
            lines = [reader.loads(line) for line in stream]
    figures = evaluate(prediction, gold, lines, "1.1" if alias_file else "1.0")
    print(json.dumps({key: round(value, 2) for key, value in figures.items()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
