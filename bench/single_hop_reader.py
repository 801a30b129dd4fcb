"""The fine-tuned single-hop reader on a generated data set, beside the lexical one.

  python bench/single_hop_reader.py RUN MODEL --epochs 4

RUN is the --out of `twowiki generate`, MODEL a folder or the name of a Hugging Face encoder. Prints
the share of solved questions and the mean F1 by type, of five-fold cross-validation, and the CPU
minutes. The paper's BERT, trained on all 192,606 questions, has a mean F1 of 86.7.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from twowiki.generation.run import stages_folder
from twowiki.generation.samples import QuestionInContext
from twowiki.generation.sampling import read_json_lines
from twowiki.generation.single_hop import lexical_scores
from twowiki.generation.single_hop_encoder import ReaderSettings, encoder_scores
from twowiki.generation.splits import SOLVED_F1


def print_row(name: str, scores: Mapping[str, float], samples: list[QuestionInContext]) -> None:
    by_type: dict[str, list[float]] = defaultdict(list)
    for sample in samples:
        by_type["all"].append(scores[sample.id])
        by_type[sample.type].append(scores[sample.id])
    for kind, values in sorted(by_type.items()):
        solved = sum(value >= SOLVED_F1 for value in values) / len(values)
        mean = sum(values) / len(values)
        print(
            f"{name:10} {kind:20} {len(values):6} F1 {100 * mean:6.2f} solved {100 * solved:6.2f}%"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("model")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--learning-rate", type=float, default=1e-4)
    parser.add_argument("--max-length", type=int, default=256)
    options = parser.parse_args()
    path = stages_folder(options.run, None) / "contexts" / "examples.jsonl"
    samples = list(read_json_lines(path, QuestionInContext))
    print_row("lexical", lexical_scores(samples, "0"), samples)
    settings = ReaderSettings(
        epochs=options.epochs, learning_rate=options.learning_rate, max_length=options.max_length
    )
    start = time.process_time()
    scores = encoder_scores(samples, "0", options.model, settings)
    minutes = (time.process_time() - start) / 60
    print_row("encoder", scores, samples)
    print(f"{minutes:.1f} CPU minutes")


if __name__ == "__main__":
    main()
