"""Rewards of completions: how many a processor second, function by function and all six together.

Made-up questions with ten paragraphs, and completions in 30 forms, right and wrong ones; eight
completions a question, as GRPO draws them. Each function reads the completions anew; all six
together read them once.

    python bench/bench_rewards.py [--questions 500]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.llm.output_forms import FULL
from twowiki import rewards
from twowiki.rewards import functions

NAMES = ("answer", "support", "evidence", "joint", "format", "grounded")
GENERATIONS = 8


def made_up(questions: int) -> tuple[list[str], dict[str, list[Any]]]:
    forms = list(FULL.values())
    completions: list[str] = []
    columns: dict[str, list[Any]] = {
        name: [] for name in ("answer", "supporting_facts", "evidences", "context")
    }
    for number in range(questions):
        titles = [f"Person {number}", f"Town {number}, Veltria"]
        triples = [(titles[0], "mother", f"Dessa {number}"),
                   (f"Dessa {number}", "place of birth", titles[1])]  # fmt: skip
        facts = [(titles[0], 0), (f"Dessa {number}", 1)]
        context = [
            [title, [f"{title} is a page. ", "It has some sentences of some words. " * 4]]
            for title in (*titles, f"Dessa {number}", *(f"Other {n}" for n in range(7)))
        ]
        for generation in range(GENERATIONS):
            form = forms[(number + generation) % len(forms)]
            answer = titles[1] if generation % 2 else "Oru"
            completions.append(form(answer, facts[: 1 + generation % 2], triples))
            for name, value in zip(columns, (titles[1], facts, triples, context), strict=True):
                columns[name].append(value)
    return completions, columns


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--questions", type=int, default=500)
    completions, columns = made_up(parser.parse_args().questions)
    print(f"{len(completions)} completions")
    whole = 0.0
    for again in (True, False):
        for name in NAMES:
            if again or name == NAMES[0]:
                functions._parsed.cache_clear()
            start = time.process_time()
            found = getattr(rewards, name)(completions=completions, **columns)
            seconds = time.process_time() - start
            assert len(found) == len(completions)
            if again:
                print(f"{name:10} {len(completions) / seconds:8.0f} a processor second")
            else:
                whole += seconds
    print(f"{'all six':10} {len(completions) / whole:8.0f} a processor second")


if __name__ == "__main__":
    main()
