"""One model on HotpotQA and on 2WikiMultiHopQA, without the evidence branch (the paper's Table 4).

In: a file of each data set, and the settings of a run. Both files are cut to the same number of
questions, drawn by a seed, and a part of each is held out. The same training (`evidence_weight` 0,
joint = answer x support) runs on both. Out: the table, and the signatures.

    python bench/compare_data_sets.py --hotpotqa train_100.json --two_wiki dev250.json --config tiny
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Any

COLUMNS = ("em", "f1", "sp_em", "sp_f1", "joint_em", "joint_f1")
DATA_SETS = {"hotpotqa": "hotpotqa", "two_wiki": "data_ids_april7"}
WITHOUT_EVIDENCE = ("--evidence_weight", "0", "--score_parts", "answer", "support")


def split_file(path: str, count: int, held_out: int, seed: int, folder: Path) -> tuple[Path, Path]:
    """Write a training and a validation file of a draw of the records."""
    records: list[dict[str, Any]] = json.loads(Path(path).read_text(encoding="utf-8"))
    records.sort(key=lambda record: str(record["_id"]))
    drawn = Random(seed).sample(records, min(count, len(records)))
    files = folder / "train.json", folder / "dev.json"
    for file, part in zip(files, (drawn[held_out:], drawn[:held_out]), strict=True):
        file.write_text(json.dumps(part), encoding="utf-8")
    return files


def train_on(name: str, path: str, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Train on one data set; return the scores of its best model."""
    folder.mkdir()
    train, dev = split_file(path, options.questions, options.held_out, options.seed, folder)
    command = [sys.executable, "-m", "twowiki.train", "--config", options.config]
    command += ["--world", "", "--data_config", DATA_SETS[name], "--seed", str(options.seed)]
    command += ["--train_file", str(train), "--validation_file", str(dev)]
    command += ["--output_dir", str(folder / "run"), *WITHOUT_EVIDENCE, *options.settings]
    subprocess.run(command, check=True, stdout=sys.stderr)
    scores: dict[str, Any] = json.loads((folder / "run" / "scores.json").read_text("utf-8"))
    return scores


def main() -> None:
    """Train on both, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--hotpotqa", required=True, help="a file of HotpotQA with gold")
    parser.add_argument("--two_wiki", required=True, help="a file of 2WikiMultiHopQA with gold")
    parser.add_argument("--config", default="tiny", help="configuration of the runs")
    parser.add_argument("--questions", type=int, default=100, help="questions of each data set")
    parser.add_argument("--held_out", type=int, default=40, help="of them, not trained on")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("settings", nargs=argparse.REMAINDER, help="further settings of the runs")
    options = parser.parse_args()
    options.settings = [one for one in options.settings if one != "--"]
    with tempfile.TemporaryDirectory() as folder:
        rows = {
            name: train_on(name, getattr(options, name), options, Path(folder) / name)
            for name in DATA_SETS
        }
    print("| data | n | " + " | ".join(COLUMNS) + " |\n|" + "---|" * (len(COLUMNS) + 2))
    for name, scores in rows.items():
        values = " | ".join(f"{scores['metrics'][column]:.2f}" for column in COLUMNS)
        print(f"| {name} | {scores['n']} | {values} |")
    for name, scores in rows.items():
        print(f"\n{name}: {scores['signature']}")


if __name__ == "__main__":
    main()
