"""Measure the selection of paragraphs: fitted to other items of a file, and to a world alone.

  python bench/measure_selection.py dev.json --train world/train.json

Of each item the selector keeps at most --most paragraphs. In cross-validation it has not seen the
items that it is measured on; with --train it has seen that file alone, whose weights are printed
(those of a world are the default of a model that was fitted to nothing).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from twowiki.data.schema import Example
from twowiki.data.sources import read_examples
from twowiki.models.selection import DEFAULT_SELECTOR, Selection, select_paragraphs
from twowiki.training.selection import fit_selector, selection_row

COLUMNS = ("recall", "all gold", "nothing else", "paragraphs kept")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="official file of the items that are measured")
    parser.add_argument("--train", type=Path, help="official file to fit to, such as of a world")
    parser.add_argument("--most", type=int, default=4)
    parser.add_argument("--folds", type=int, default=5)
    given = parser.parse_args()
    items = list(read_examples(given.file))
    weights: dict[str, list[Any]] = {f"{given.folds} folds": [None] * given.folds}
    for fold in range(given.folds):
        rest = [item for number, item in enumerate(items) if number % given.folds != fold]
        weights[f"{given.folds} folds"][fold] = fit_selector(rest)
    weights["default"] = [DEFAULT_SELECTOR]
    if given.train:
        fitted = fit_selector(read_examples(given.train))
        print(f"weights of {given.train}: {fitted}\n")
        weights[str(given.train)] = [fitted]
    print(f"| fitted to | threshold | {' | '.join(COLUMNS)} |\n|---|---|{'---|' * len(COLUMNS)}")
    for name, fits in weights.items():
        for threshold in (0.0, 0.01, 0.05):
            show(name, [Selection(given.most, threshold, one) for one in fits], items)


def show(name: str, selections: list[Selection], items: list[Example]) -> None:
    """Print a line: item i is selected from by selector i modulo their number."""
    rows = []
    for number, item in enumerate(items):
        selection = selections[number % len(selections)]
        rows.append(selection_row(item, select_paragraphs(item.question, item.context, selection)))
    *shares, kept = (sum(column) / len(rows) for column in zip(*rows, strict=True))
    figures = " | ".join(f"{100 * share:.2f}" for share in shares)
    print(f"| {name} | {selections[0].threshold} | {figures} | {kept:.2f} |")


if __name__ == "__main__":
    main()
