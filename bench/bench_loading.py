"""Reading official JSON into a typed data set: ratios against what a user would run instead.

Each way runs in a process of its own on the same generated file, in turn; medians are printed. CPU
seconds are user + system of the process, import included; memory is its peak resident size.

    python bench/bench_loading.py [--items 20000] [--rounds 3] [--large]

--large adds a file as long as the real train.json (708 MB) for the builder alone.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORDS = [
    f"{a}{b}" for a in ("ka", "tor", "vel", "min", "dra", "so") for b in ("", "n", "ra", "tis")
]


def sentence(rng: random.Random) -> str:
    """Make a sentence of about 20 words."""
    return " ".join(rng.choices(WORDS, k=rng.randint(12, 28))).capitalize() + "."


def record(number: int, rng: random.Random) -> dict[str, object]:
    """Make a record of the real one's shape: ten paragraphs, about 4.4 kB of JSON."""
    titles = [f"{rng.choice(WORDS).title()} {rng.choice(WORDS).title()} {n}" for n in range(10)]
    context = [[title, [sentence(rng) for _ in range(rng.randint(1, 5))]] for title in titles]
    return {
        "_id": f"{number:032x}",
        "type": "compositional",
        "question": f"Who is the mother of the director of film {titles[0]}?",
        "context": context,
        "entity_ids": "Q1_Q2",
        "supporting_facts": [[titles[0], 0], [titles[1], 0]],
        "evidences": [[titles[0], "director", titles[1]], [titles[1], "mother", titles[2]]],
        "answer": titles[2],
        "evidences_id": [["Q1", "director", "Q2"], ["Q2", "mother", "Q3"]],
        "answer_id": "Q3",
    }


def write_items(path: Path, count: int, least_bytes: int = 0) -> int:
    """Write a JSON array of `count` items, or as many as fill `least_bytes`."""
    rng = random.Random(0)
    number = written = 0
    with open(path, "w", encoding="utf-8") as stream:
        stream.write("[")
        while number < count or written < least_bytes:
            text = (", " if number else "") + json.dumps(record(number, rng))
            stream.write(text)
            written += len(text)
            number += 1
        stream.write("]")
    return number


WAYS = {
    "twowiki": """
import twowiki
rows = twowiki.load_dataset(data_files={"train": PATH}, split="train", cache_dir=CACHE)
""",
    "load_dataset('json')": """
import datasets
rows = datasets.load_dataset("json", data_files={"train": PATH}, split="train", cache_dir=CACHE)
""",
    "builder over json.load": """
import json, datasets
from twowiki.builder.features import FEATURES
from twowiki.data.schema import TWO_WIKI_TYPES
class Plain(datasets.GeneratorBasedBuilder):
    VERSION = datasets.Version("1.0.0")
    def _info(self):
        return datasets.DatasetInfo(features=FEATURES)
    def _split_generators(self, manager):
        return [datasets.SplitGenerator(name="train")]
    def _generate_examples(self):
        with open(PATH, encoding="utf-8") as stream:
            records = json.load(stream)
        for number, r in enumerate(records):
            yield number, {
                "id": r["_id"], "question": r["question"], "type": r["type"],
                "context": [{"title": t, "sentences": s} for t, s in r["context"]],
                "supporting_facts": [{"title": t, "sent_id": n} for t, n in r["supporting_facts"]],
                "evidences": [dict(zip(("subject", "relation", "object"), e))
                              for e in r["evidences"]],
                "evidences_id": [dict(zip(("subject_id", "relation", "object_id"), e))
                                 for e in r["evidences_id"]],
                "answer": r["answer"], "answer_id": r["answer_id"],
                "entity_ids": r["entity_ids"].split("_"),
            }
builder = Plain(cache_dir=CACHE)
builder.download_and_prepare()
rows = builder.as_dataset("train")
""",
}


def measure(code: str, path: Path, cache: Path) -> tuple[float, float, float, int]:
    """Run code in a process; give CPU s, wall s, peak MB and rows."""
    script = (
        "import resource, sys\n"
        f"PATH, CACHE = {str(path)!r}, {str(cache)!r}\n{code}\n"
        "usage = resource.getrusage(resource.RUSAGE_SELF)\n"
        "print('\\n', usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, len(rows))\n"
    )
    begin = time.perf_counter()
    out = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=True
    )
    wall = time.perf_counter() - begin
    cpu, peak, rows = out.stdout.split()[-3:]
    return float(cpu), wall, float(peak), int(rows)


def second_load(code: str, path: Path, cache: Path) -> tuple[float, float]:
    """Load once more from the cache; give wall seconds of the load and of its whole process."""
    begin = time.perf_counter()
    script = f"PATH, CACHE = {str(path)!r}, {str(cache)!r}\n{code}"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return float(out.stdout.split()[-1]), time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--large", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        path = place / "train.json"
        write_items(path, args.items)
        print(f"{args.items:,} items, {path.stat().st_size / 1e6:.0f} MB")
        found: dict[str, list[tuple[float, float, float, int]]] = {name: [] for name in WAYS}
        for number in range(args.rounds):
            for name, code in WAYS.items():
                found[name].append(measure(code, path, place / f"cache-{number}-{len(name)}"))
        ours = [statistics.median(run[part] for run in found["twowiki"]) for part in (0, 2)]
        print(f"{'way':<24}{'CPU s':>8}{'peak MB':>9}{'CPU ratio':>11}{'memory ratio':>14}")
        for name, runs in found.items():
            cpu, peak = (statistics.median(run[part] for run in runs) for part in (0, 2))
            print(f"{name:<24}{cpu:>8.2f}{peak:>9.0f}{cpu / ours[0]:>11.2f}{ours[1] / peak:>14.2f}")
        timed = (
            f"import time, twowiki.builder.builder\nbegin = time.perf_counter()\n{WAYS['twowiki']}"
        )
        timed += "print(time.perf_counter() - begin)"
        seconds, whole = second_load(timed, path, place / "cache-0-7")
        print(f"second load from the cache: {seconds:.2f} s ({whole:.2f} s with start and imports)")
        five = place / "five.json"
        write_items(five, 5 * args.items)
        grown = measure(WAYS["twowiki"], five, place / "cache-five")
        print(f"{5 * args.items:,} items: peak {grown[2]:.0f} MB (x{grown[2] / ours[1]:.2f})")
        if args.large:
            large = place / "large.json"
            count = write_items(large, 0, 707_810_660)
            run = measure(WAYS["twowiki"], large, place / "cache-large")
            print(f"{count:,} items, 708 MB: {run[0]:.1f} CPU s, peak {run[2]:.0f} MB")


if __name__ == "__main__":
    sys.exit(main())
