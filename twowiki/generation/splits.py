"""Which split a sample goes to: solved ones to train, the rest in three, no entity chain in two.

In: samples with the chains of entities that they link, and the single-hop reader's F1. Out: a
split for each, and what a random split would have leaked. Pure.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from twowiki.generation.samples import QuestionInContext

TRAIN_MEDIUM, TRAIN_HARD, DEV, TEST = "train-medium", "train-hard", "dev", "test"
FILE_OF_SPLIT = {TRAIN_MEDIUM: "train", TRAIN_HARD: "train", DEV: "dev", TEST: "test"}
SOLVED_F1 = 0.5
_HARD = (TRAIN_HARD, DEV, TEST)


class SampleSplits(NamedTuple):
    """The split of each sample by id ("" drops it), and what the report shows of them."""

    of: dict[str, str]
    level: str
    leaks: dict[str, Any]
    dropped: Counter[str]


def chains_of(sample: QuestionInContext, level: str) -> list[tuple[int, ...]]:
    """Return what may not be in two splits: each link of two entities, or all gold entities."""
    if level == "whole chain":
        return [tuple(sorted(sample.gold))]
    return [tuple(sorted(chain)) for chain in sample.chains]


def _groups(samples: Sequence[QuestionInContext], level: str) -> list[list[int]]:
    """Group samples that share a chain, directly or through others."""
    parent = list(range(len(samples)))

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    first: dict[tuple[int, ...], int] = {}
    for place, sample in enumerate(samples):
        for chain in chains_of(sample, level):
            other = first.setdefault(chain, place)
            one, two = sorted((root(place), root(other)))
            parent[two] = one
    members: dict[int, list[int]] = defaultdict(list)
    for place in range(len(samples)):
        members[root(place)].append(place)
    return list(members.values())


def assign_splits(
    samples: Sequence[QuestionInContext],
    scores: Mapping[str, float],
    seed: str,
    *,
    keep_all: bool,
) -> SampleSplits:
    """Assign samples to train-medium, train-hard, dev and test.

    Args:
        samples: with id, type, gold and chains.
        scores: the single-hop reader's F1 by id.
        seed: what the order is drawn from.
        keep_all: drop nothing; else a solved sample whose chain is held out is dropped where dev
            or test would fall short of a type.
    """
    level = "link"
    groups = _groups(samples, level)
    if groups and max(map(len, groups)) > len(samples) / 2:
        level = "whole chain"  # single links connect nearly everything
        groups = _groups(samples, level)
    solved = [scores[sample.id] >= SOLVED_F1 for sample in samples]
    deal = _Deal(samples, solved)
    ordered = sorted(groups, key=lambda group: _draw(samples[group[0]].id, seed))
    mixed = []
    for group in ordered:
        if not any(solved[place] for place in group):
            deal.put(group, deal.neediest(group))
        else:
            mixed.append(group)
    dropped: Counter[str] = Counter()
    for group in mixed:
        rest = [place for place in group if not solved[place]]
        wanted = "" if keep_all or not rest else deal.short(rest)
        if wanted and len(rest) * 2 >= len(group):
            deal.put(rest, wanted)
            for place in group:
                if solved[place]:
                    deal.split[place] = ""
                    dropped["solved_but_its_chain_is_held_out"] += 1
        else:
            deal.put(rest, TRAIN_HARD)
            for place in group:
                if solved[place]:
                    deal.split[place] = TRAIN_MEDIUM
    of = {sample.id: split for sample, split in zip(samples, deal.split, strict=True)}
    return SampleSplits(of, level, _leaks(samples, deal.split, solved, seed), dropped)


def paper_splits(
    samples: Sequence[QuestionInContext], scores: Mapping[str, float], seed: str
) -> SampleSplits:
    """Assign samples as the paper does: what the reader solves to train-medium, the rest in three.

    Each type is dealt in turn, so that dev, test and train-hard have as many of it; chains of
    entities may be in several splits.
    """
    solved = [scores[sample.id] >= SOLVED_F1 for sample in samples]
    split = [TRAIN_MEDIUM if done else "" for done in solved]
    ranks: Counter[str] = Counter()
    for place in sorted(range(len(samples)), key=lambda one: _draw(samples[one].id, seed)):
        if not solved[place]:
            kind = samples[place].type
            split[place] = (DEV, TEST, TRAIN_HARD)[ranks[kind] % 3]
            ranks[kind] += 1
    of = {sample.id: name for sample, name in zip(samples, split, strict=True)}
    return SampleSplits(of, "nothing", _leaks(samples, split, solved, seed), Counter())


class _Deal:
    """Assigns groups of unsolved samples so that every type is spread evenly over three splits."""

    def __init__(self, samples: Sequence[QuestionInContext], solved: Sequence[bool]) -> None:
        self.types = [sample.type for sample in samples]
        self.split = [""] * len(samples)
        self.filled: dict[str, Counter[str]] = {name: Counter() for name in _HARD}
        unsolved = Counter(kind for kind, done in zip(self.types, solved, strict=True) if not done)
        self.third = {kind: count / 3 for kind, count in unsolved.items()}

    def put(self, group: Sequence[int], split: str) -> None:
        for place in group:
            self.split[place] = split
            self.filled[split][self.types[place]] += 1

    def neediest(self, group: Sequence[int]) -> str:
        """Return the split that lacks most of the group's types; ties go dev, test, train."""

        def lack(split: str) -> float:
            return sum(
                1 - self.filled[split][self.types[place]] / self.third[self.types[place]]
                for place in group
            )

        return max((DEV, TEST, TRAIN_HARD), key=lambda split: round(lack(split), 9))

    def short(self, group: Sequence[int]) -> str:
        """Return dev or test if it is short of every type in the group; "" if neither is."""
        for split in sorted((DEV, TEST), key=lambda name: sum(self.filled[name].values())):
            if all(
                self.filled[split][self.types[place]] < 0.8 * self.third[self.types[place]]
                for place in group
            ):
                return split
        return ""


def _draw(sample_id: str, seed: str) -> str:
    return hashlib.md5(f"{seed}|split|{sample_id}".encode()).hexdigest()


def _leaks(
    samples: Sequence[QuestionInContext],
    split: Sequence[str],
    solved: Sequence[bool],
    seed: str,
) -> dict[str, Any]:
    """Count held-out samples that share a link with train: in this split, and in a random one."""
    unsolved = sorted(
        (place for place, done in enumerate(solved) if not done),
        key=lambda place: _draw(samples[place].id, f"{seed}|random"),
    )
    random_split = ["train" if done else "" for done in solved]
    for rank, place in enumerate(unsolved):
        random_split[place] = _HARD[rank % 3]
    ours = [FILE_OF_SPLIT.get(name, "") for name in split]
    theirs = [FILE_OF_SPLIT.get(name, name) for name in random_split]
    return {
        "this split": _shared(samples, ours),
        "random split of the unsolved, as in the paper": _shared(samples, theirs),
    }


def _shared(samples: Sequence[QuestionInContext], files: Sequence[str]) -> dict[str, int]:
    trained = {level: set() for level in ("link", "whole chain")}  # type: dict[str, set[Any]]
    for sample, file in zip(samples, files, strict=True):
        if file == "train":
            for level, known in trained.items():
                known.update(chains_of(sample, level))
    held = [sample for sample, file in zip(samples, files, strict=True) if file in ("dev", "test")]
    found = {"held out": len(held)}
    for level, known in trained.items():
        found[f"share a {level} with train"] = sum(
            any(chain in known for chain in chains_of(sample, level)) for sample in held
        )
    return found
