"""Time and memory of a world: is the cost of an entity the same in a small and a large one?

  .venv/bin/python bench/bench_worlds.py            # 13 thousand and 130 thousand entities
  .venv/bin/python bench/bench_worlds.py --million  # and 1.15 million (about 10 minutes)

Each world is written by a process of its own; ratios are of processor seconds, side by side.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from typing import NamedTuple

_CHILD = """
import json, resource, sys
from pathlib import Path
from twowiki.worlds.settings import parse_world
from twowiki.worlds.dumps import write_world
report = write_world(parse_world(sys.argv[1]).world, Path(sys.argv[2]))
used = resource.getrusage(resource.RUSAGE_SELF)
size = sum(path.stat().st_size for path in Path(sys.argv[2]).iterdir())
print(json.dumps([report["counts"]["entities"], used.ru_utime + used.ru_stime,
                  used.ru_maxrss / 1024, size]))
"""


class Cost(NamedTuple):
    """What a world took: its entities, processor seconds, peak memory (MiB), bytes written."""

    entities: int
    seconds: float
    memory: float
    size: int


def cost_of(world: str) -> Cost:
    """Write a world in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="bench_worlds_") as folder:
        done = subprocess.run(
            [sys.executable, "-c", _CHILD, world, folder],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
    return Cost(*json.loads(done.stdout))


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--million", action="store_true", help="a world of a million as well")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    small = "people=5000,films=3750,seed=7"
    large = "people=50000,films=37500,seed=7"
    costs = [(cost_of(small), cost_of(large)) for _ in range(args.rounds)]
    one, two = costs[-1]
    ratios = [(b.seconds / b.entities) / (a.seconds / a.entities) for a, b in costs]
    print(f"{one.entities:,} and {two.entities:,} entities, {two.size / 1e6:.0f} MB written")
    print(f"cost of an entity, large over small: {statistics.median(ratios):.2f}")
    more = (two.memory - one.memory) / (two.entities - one.entities) * 1024
    print(f"memory: {one.memory:.0f} and {two.memory:.0f} MiB, {more:.2f} KiB an entity more")
    if args.million:
        whole = cost_of("people=600000,films=215000,seed=7")
        print(
            f"{whole.entities:,} entities: peak {whole.memory:.0f} MiB (limit 2048), cost of an "
            f"entity {whole.seconds / whole.entities / (one.seconds / one.entities):.2f} of small"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
