"""The commands that take long, with small inputs: each may be killed at any moment.

`prepare` makes the inputs; `LONG` has a command line for each, and which of its files hold times or
memory. `run_killed` starts one and kills it after some seconds; `results` reads what a run wrote.
"""

from __future__ import annotations

import fnmatch
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

from tests.arc_da_files import ARC, RELEASE
from tests.hub.folders import model_folder
from tests.hub.loopback_hub import OWNER, WRITE, Hub, serving
from tests.models.test_conversion import write_checkpoint
from tests.small_model import model_and_windows, setting
from tests.tiny_data import tiny_examples, tiny_files
from tests.training.runs import save_backbone, small_flags
from twowiki.data.schema import to_official
from twowiki.io.ownership import names_below

ROOT = Path(__file__).parents[2]
WORLD = ROOT / "tests" / "data" / "world"
ENVIRONMENT = {
    **os.environ,
    "ACCELERATE_USE_CPU": "true",
    "CUDA_VISIBLE_DEVICES": "",
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "PYTHONPATH": str(ROOT),
    "PYTHONWARNINGS": "ignore",
}
TEXT = (
    "--task arc_da --model_name_or_path tiny-t5 --tiny_width 16 --tiny_layers 1 --optim adamw "
    "--learning_rate 2e-3 --weight_decay 0 --per_device_train_batch_size 4 --num_train_epochs 2 "
    "--early_stopping_patience 0 --max_new_tokens 4 --save_steps 3 --logging_steps 2"
).split()


class LongCommand(NamedTuple):
    """A command on prepared inputs.

    Attributes:
        line: from the folder of inputs and the folder of outputs to the command line.
        changing: patterns of files that hold times, memory or the output's own path.
    """

    line: Callable[[Path, Path], list[str]]
    changing: tuple[str, ...] = ()


def twowiki(*words: object) -> list[str]:
    return [sys.executable, "-m", "twowiki", *map(str, words)]


def train(out: Path, *words: object) -> list[str]:
    resumed = ["--output_dir", str(out / "run"), "--resume_from_checkpoint", "auto"]
    return [sys.executable, "-m", "twowiki.train", *resumed, *map(str, words)]


def _train_small(task: str) -> Callable[[Path, Path], list[str]]:
    def line(given: Path, out: Path) -> list[str]:
        files = ["--train_file", given / "train.json", "--validation_file", given / "small.json"]
        model = ["--model_name_or_path", given / "backbone"] if task == "encoder" else []
        steps = ["--save_steps", 3, "--logging_steps", 2]  # checkpoints between two logs
        return train(out, *small_flags(task), *files, *model, *steps)

    return line


# config.json of a run and its mark name the folder
_TIMES = (
    "*/_manifest.json", "*/report.json", "*/curves.png", "*/scores.json", "*/README.md",
    "*/run.json", "run/config.json", "run/.twowiki.json", "*/trainer_state.json",
)  # fmt: skip
LONG: dict[str, LongCommand] = {
    "export": LongCommand(lambda g, o: twowiki("export", g / "dev.json", o / "data")),
    "generate": LongCommand(
        lambda g, o: twowiki(
            *("generate", "--wikidata", WORLD / "wikidata.json", "--workers", 1),
            *("--paragraphs", WORLD / "paragraphs.jsonl", "--out", o / "out"),
            *("--limit-per-type", 10),
        ),
        ("*/_manifest.json", "*/_key", "*.parquet"),
    ),
    "generate world": LongCommand(
        lambda g, o: twowiki(
            *("generate", "--world", "people=150,films=100", "--out", o / "out"),
            *("--limit-per-type", 10, "--workers", 1),
        ),
        ("*/_manifest.json", "*/_key", "*.parquet"),
    ),
    "export squad": LongCommand(
        lambda g, o: twowiki("export", g / "dev.json", o / "data", "--format", "squad")
    ),
    "corpus": LongCommand(lambda g, o: twowiki("corpus", g / "dev.json", o / "corpus")),
    "twins": LongCommand(lambda g, o: twowiki("twins", g / "dev.json", o / "twins.json")),
    "rename": LongCommand(
        lambda g, o: twowiki(
            *("rename", g / "dev.json", o / "new.json", "--aliases", g / "aliases.json"),
        )
    ),
    "world": LongCommand(
        lambda g, o: twowiki("world", "--people", 3000, "--films", 2000, "--out", o / "world")
    ),
    "score": LongCommand(
        lambda g, o: twowiki(
            *("score", g / "predictions.json", g / "dev.json", "--output", o / "r.json"),
            *("--per-example", o / "e.jsonl"),
        ),
        ("r.json",),
    ),
    "report": LongCommand(
        lambda g, o: twowiki("report", g / "predictions.json", g / "dev.json", o / "r.html"),
        ("r.html",),
    ),
    "predict": LongCommand(
        lambda g, o: twowiki(
            *("predict", g / "model", g / "dev.json", o / "p.json", "--scores", o / "s.jsonl"),
            *("--part", 5, "--batch-size", 8),
        )
    ),
    "predict text": LongCommand(
        lambda g, o: twowiki(
            *("predict", "--model", g / "t5", "--task", "arc_da", "--split", "dev"),
            *(RELEASE, o / "p.jsonl", "--batch-size", 1, "--max-new-tokens", 4),
        )
    ),
    "predict choices": LongCommand(
        lambda g, o: twowiki(
            *("predict", "--model", g / "t5", "--task", "arc_mc", "--choose-by", "likelihood"),
            *("--batch-size", 1, ARC, o / "p.jsonl"),
        )
    ),
    "index": LongCommand(
        lambda g, o: twowiki("arc-da", "index", g / "corpus.txt", o / "index"),
    ),
    "index vectors": LongCommand(
        lambda g, o: twowiki(
            *("index", g / "dev.json", o / "index", "--engine", "faiss"),
            *("--encoder", g / "encoder"),
        )
    ),
    "retrieve pages": LongCommand(
        lambda g, o: twowiki(
            *("retrieve", g / "pages", g / "dev.json", o / "r.jsonl"),
            *("--k", 3, "--hops", 2, "--batch", 10),
        )
    ),
    "retrieve": LongCommand(
        lambda g, o: twowiki(
            *("arc-da", "retrieve", g / "index", RELEASE, o / "c.jsonl", "--batch", 1),
        )
    ),
    "convert-baseline": LongCommand(
        lambda g, o: twowiki("convert-baseline", g / "authors" / "model.pt", o / "model")
    ),
    "train baseline": LongCommand(_train_small("baseline"), _TIMES),
    "train encoder": LongCommand(_train_small("encoder"), _TIMES),
    "train text": LongCommand(
        lambda g, o: train(o, *TEXT, "--data_dir", RELEASE), _TIMES
    ),
}  # fmt: skip


def prepare(folder: Path) -> Path:
    """Make the inputs of all commands."""
    folder.mkdir(parents=True, exist_ok=True)
    records = [to_official(one, config="data") for one in tiny_examples(120, seed=3)]
    (folder / "dev.json").write_text(json.dumps(records), encoding="utf-8")
    predictions = {
        "answer": {one["_id"]: one["answer"] for one in records},
        "sp": {one["_id"]: one["supporting_facts"] for one in records},
        "evidence": {one["_id"]: one["evidences"][:1] for one in records},
    }
    (folder / "predictions.json").write_text(json.dumps(predictions), encoding="utf-8")
    tiny_files(folder, train=24, validation=8)
    (folder / "dev.json").write_text(json.dumps(records), encoding="utf-8")
    (folder / "small.json").write_text(json.dumps(records[:8]), encoding="utf-8")
    model, _ = model_and_windows(setting())
    model.save_pretrained(folder / "model")
    model.answer_tokenizer.save_pretrained(folder / "model")
    save_backbone(folder / "backbone")
    save_text_model(folder / "t5")
    write_checkpoint(folder / "authors")
    lines = "".join(f"A plant number {n} grows in soil {n % 97} near water.\n" for n in range(3000))
    (folder / "corpus.txt").write_text(lines, encoding="utf-8")
    save_sentence_encoder(folder / "encoder", "a plant number grows in soil near water".split())
    line = {"Q_id": "Q1", "aliases": ["Dessa Orrel"], "demonyms": []}
    (folder / "aliases.json").write_text(json.dumps(line) + "\n", encoding="utf-8")
    finish(LONG["index"].line(folder, folder))
    finish(twowiki("index", folder / "dev.json", folder / "pages"))
    return folder


def save_sentence_encoder(folder: Path, words: list[str]) -> Path:
    """Save an encoder that averages a vector for each of some words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.models import StaticEmbedding
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    words = ["[UNK]", *dict.fromkeys(words)]
    made = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, "[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    SentenceTransformer(modules=[StaticEmbedding(made, embedding_dim=32)]).save(str(folder))
    return folder


def save_text_model(folder: Path) -> None:
    from tests import text_models

    tokenizer = text_models.tokenizer()
    text_models.model_of("tiny-t5", tokenizer).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def finish(line: list[str], environment: Mapping[str, str] = ENVIRONMENT) -> float:
    """Run a command to its end; return its seconds."""
    started = time.monotonic()
    done = subprocess.run(
        line, env=environment, capture_output=True, text=True, timeout=600, check=False, cwd=ROOT
    )
    assert done.returncode == 0, f"{line}\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
    assert "Traceback" not in done.stderr, done.stderr
    return time.monotonic() - started


def run_killed(
    line: list[str], seconds: float, environment: Mapping[str, str] = ENVIRONMENT
) -> bool:
    """Start a command and kill it after some seconds; return whether it was still running."""
    process = subprocess.Popen(
        line, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True, cwd=ROOT,
    )  # fmt: skip
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True
    return False


def results(folder: Path, changing: tuple[str, ...] = ()) -> dict[str, bytes]:
    """Return the files below a folder; of those that change with time only the names."""
    names = names_below(folder) if folder.is_dir() else []
    return {
        name: b""
        if any(fnmatch.fnmatch(name, pattern) for pattern in changing)
        else (folder / name).read_bytes()
        for name in names
    }


def curves(folder: Path) -> list[dict[str, Any]]:
    """Return the history of a training run; nothing for other commands."""
    report = folder / "run" / "report.json"
    history = json.loads(report.read_text("utf-8"))["history"] if report.is_file() else []
    return [{name: one.get(name) for name in ("step", "loss", "metrics")} for one in history]


def kill_and_finish(
    name: str, given: Path, out: Path, moments: list[float], mine: Mapping[str, str]
) -> tuple[dict[str, bytes], int]:
    """Kill a command at each moment, then let it finish; return its files and the kills.

    Args:
        name: of the command.
        given: the folder of inputs.
        out: the folder of outputs.
        moments: seconds after the start of each kill.
        mine: files of a user, by name, which lie in the output folder before and after.
    """
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    for file, text in mine.items():
        (out / file).parent.mkdir(parents=True, exist_ok=True)
        (out / file).write_text(text, encoding="utf-8")
    line = LONG[name].line(given, out)
    before = results(given)
    kills = sum(run_killed(line, moment) for moment in moments)
    finish(line)
    for file, text in mine.items():
        assert (out / file).read_text(encoding="utf-8") == text, f"{file} was changed"
    assert results(given) == before, "an input was changed"
    return results(out, LONG[name].changing), kills


class Served(AbstractContextManager["Served"]):
    """A hub on the loopback interface, and a model folder to push there."""

    def __init__(self, folder: Path) -> None:
        self.model, self.repo = folder / "run", f"{OWNER}/a-model"
        shutil.rmtree(folder, ignore_errors=True)
        model_folder(self.model)
        self._serving = serving()

    def __enter__(self) -> Served:
        self.hub: Hub = self._serving.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._serving.__exit__(*error)

    @property
    def environment(self) -> dict[str, str]:
        """What makes a process a client of this hub."""
        here = {"HF_ENDPOINT": self.hub.address, "HF_TOKEN": WRITE, "HF_HUB_DISABLE_XET": "1"}
        return {**ENVIRONMENT, **here, "HF_HUB_OFFLINE": "0", "HF_TOKEN_PATH": "/nowhere/token"}


def kill_pushes(served: Served, moments: list[float]) -> int:
    """Kill pushes at each moment, then let one finish; return the number of kills.

    The repository has nothing or everything after each kill, and one commit in the end.
    """
    line = twowiki("push", "model", served.model, served.repo)
    before = results(served.model)
    kills = 0
    for moment in moments:
        kills += run_killed(line, moment, served.environment)
        if ("model", served.repo) in served.hub.repositories:
            commits = served.hub.commits("model", served.repo)
            assert commits <= 1
            assert len(served.hub.tree("model", served.repo)) > 5 or not commits
    finish(line, served.environment)
    finish(line, served.environment)
    assert served.hub.commits("model", served.repo) == 1
    tree = served.hub.tree("model", served.repo)
    for name in ("config.json", "model.safetensors"):
        assert tree[name] == (served.model / "best" / name).read_bytes()
    after = results(served.model)
    assert {name: after[name] for name in before} == before
    return kills
