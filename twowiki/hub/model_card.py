"""A model's card: written from its folder and its run's report, and left alone once edited.

The last line of a written card holds a hash of the text above it: a card whose text still fits
may be written anew, any other is its author's.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from twowiki.hub.folder_checks import read_object, read_text
from twowiki.io.files import write_text

_MARK = re.compile(r"\n<!-- written by twowiki (?P<hash>[0-9a-f]{16}) -->\n?\Z")
PLACE = "path/or/owner/name"  # what the snippets load until a repository is known


def write_model_card(
    folder: Path, report: Mapping[str, Any] | None = None, *, repo: str = PLACE
) -> bool:
    """Write the card of a saved model into its folder; say whether it was written.

    Args:
        folder: of the saved model.
        report: of its run; by default that of the run whose folder it lies in.
        repo: what the snippets load.
    """
    card = card_for(folder, repo, report)
    if card is None:
        return False
    write_text(folder / "README.md", card)
    return True


def card_for(
    folder: Path, repo: str = PLACE, report: Mapping[str, Any] | None = None
) -> str | None:
    """Give the card that a model's folder should have; None if the one it has may stay."""
    place = folder / "README.md"
    there = read_text(place) if place.is_file() else None
    if there is not None and not is_unedited(there):
        return None
    report = report or find_report(folder)
    if there is not None and report is None:
        return None
    card = make_card(folder, repo, report)
    return None if card == there else card


def make_card(folder: Path, repo: str = PLACE, report: Mapping[str, Any] | None = None) -> str:
    """Give the card of a model's folder, whatever card it has."""
    found = report or find_report(folder) or {}
    return signed(render_card(found, _config(folder), repo))


def find_report(folder: Path) -> dict[str, Any] | None:
    """Read the report of the run that a model's folder, or a folder of a run, belongs to."""
    for place in (folder / "report.json", folder.resolve().parent / "report.json"):
        if place.is_file() and (place.parent == folder or folder.resolve().name == "best"):
            return read_object(place)
    return None


def signed(text: str) -> str:
    """Put the hash of a card's text under it."""
    return f"{text}\n<!-- written by twowiki {_hash(text)} -->\n"


def is_unedited(card: str) -> bool:
    """Tell whether a card is as it was written by code."""
    found = _MARK.search(card)
    return found is not None and found["hash"] == _hash(card[: found.start()])


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _config(folder: Path) -> dict[str, Any]:
    for name in ("config.json", "adapter_config.json"):
        if (folder / name).is_file():
            return read_object(folder / name)
    return {}


MEANINGS = {
    "em": "answer, exact match",
    "f1": "answer, word F1",
    "sp_em": "supporting sentences, exact match",
    "sp_f1": "supporting sentences, F1",
    "evi_em": "evidence triples, exact match",
    "evi_f1": "evidence triples, F1",
    "joint_em": "all three together, exact match",
    "joint_f1": "all three together, F1",
    "rougeL": "ROUGE-L",
}


def render_card(report: Facts, config: Facts, repo: str) -> str:
    """Give the card's text: metadata, use, training, scores, limits."""
    name = name_of(report, config)
    parts = [
        f"---\n{card_metadata(report, config, name)}\n---\n",
        f"# {name}\n",
        _summary(report, config),
        _use(config, repo),
        _training(report, config),
        _scores(report),
        _limits(report, config),
    ]
    return "\n".join(part for part in parts if part).rstrip("\n") + "\n"


def _answers_questions(config: Facts) -> bool:
    return str(config.get("model_type", "")).startswith("twowiki")


def _summary(report: Facts, config: Facts) -> str:
    said = (
        "Reads a question and a few paragraphs, and gives the answer, the supporting sentences and "
        "the evidence triples in one pass.\n"
        if _answers_questions(config)
        else "Answers questions from text to text.\n"
    )
    if invented := invented_data(report):
        said += (
            f"\n**Trained on {invented}**: it knows nothing of the real world, and its scores "
            "say that the machinery works, nothing about real questions.\n"
        )
    return said


def _use(config: Facts, repo: str) -> str:
    if not _answers_questions(config):
        architecture = next(iter(config.get("architectures") or ()), "AutoModel")
        return (
            "## Use\n\n```python\nfrom transformers import AutoTokenizer, "
            f'{architecture}\n\nmodel = {architecture}.from_pretrained("{repo}")\n'
            f'tokenizer = AutoTokenizer.from_pretrained("{repo}")\n```\n'
        )
    return f'''\
## Use

With transformers alone; the code is in the folder:

```python
from transformers import AutoModel

model = AutoModel.from_pretrained("{repo}", trust_remote_code=True)
said = model.predict(
    "Where was the mother of Tavik Orrel born?",
    [
        ("Tavik Orrel", "Tavik Orrel was a runner, the son of Dessa Orrel."),
        ("Dessa Orrel", ["Dessa Orrel was a painter.", "She was born in Brinmoor."]),
    ],
)
said["answer"], said["supporting_sentences"], said["triples"]
```

`pipeline("multihop-qa", model="{repo}", trust_remote_code=True)` takes many questions in
batches. With the package `twowiki` no code of the folder is run:
`twowiki.load_model("{repo}")`, or for whole files `twowiki predict {repo} dev.json out.json`.
'''


def _training(report: Facts, model: Facts) -> str:
    rows = list(_training_rows(report, model))
    if not rows:
        return ""
    lines = [f"| {what} | {said} |" for what, said in rows]
    return "\n".join(["## Training", "", "| | |", "|---|---|", *lines, ""])


def _training_rows(report: Facts, model: Facts) -> Iterator[tuple[str, str]]:
    config = run_config_of(report)
    if start := start_of(report, model):
        yield "started from", _public(start)
    for split, data in (report.get("data") or {}).items():
        if isinstance(data, Mapping) and (line := _data_line(data)):
            yield f"{split} data", line
    if report.get("weights"):
        beside = " beside the word vectors" if "vectors" in config else ""
        yield "size", f"{report['weights']:,} weights{beside}"
    steps = [
        f"{report[name]:,} {name}" for name in ("epochs", "steps") if report.get(name) is not None
    ]
    if report.get("stopped", "the end") != "the end":
        steps.append(f"stopped early: {report['stopped']}")
    if steps:
        names = ("optimizer", "learning_rate", "schedule", "mixed_precision")
        settings = [f"{name} {config[name]}" for name in names if config.get(name)]
        batch = [f"batches of {report['batch_size']}"] if report.get("batch_size") else []
        seed = [f"seed {report['seed']}"] if report.get("seed") is not None else []
        yield "run", ", ".join([*steps, *batch, *settings, *seed])
    if config.get("metric"):
        yield "chosen by", f"{config['metric']} on the validation data"
    if hardware := report.get("hardware"):
        yield "hardware", _hardware_line(hardware, report.get("cpu_seconds"))
    if versions := report.get("versions"):
        yield "versions", ", ".join(f"{name} {number}" for name, number in versions.items())
    if report.get("commit"):
        yield "commit", str(report["commit"])
    if report.get("command"):
        yield "command", f"`{public_command(report['command'])}`"


def _data_line(data: Facts) -> str:
    parts = [PurePath(str(data.get("source") or "")).name, str(data.get("config") or "")]
    for name in ("examples", "questions", "windows", "instances"):
        if isinstance(data.get(name), int):
            parts.append(f"{data[name]:,} {name}")
    if data.get("content"):
        parts.append(f"content {str(data['content'])[:12]}")
    dropped = data.get("not_encoded") or {}
    parts += [f"{count:,} {reason}" for reason, count in dropped.items()]
    return ", ".join(filter(None, parts))


def _hardware_line(hardware: Facts, seconds: Any) -> str:
    parts = [str(hardware.get("device", ""))]
    for name, one in (("processes", "process"), ("threads", "thread")):
        if name in hardware:
            parts.append(f"{hardware[name]} {one if hardware[name] == 1 else name}")
    if seconds:
        parts.append(f"{seconds:,.0f} CPU seconds of training")
    return ", ".join(filter(None, parts))


def public_command(arguments: Sequence[str]) -> str:
    """Write a command with absolute places cut to their names."""
    return shlex.join(_public(str(one)) for one in arguments)


def _public(argument: str) -> str:
    flag, sign, value = argument.partition("=") if argument[:2] == "--" else ("", "", argument)
    if sign == "" and flag:
        return argument
    if re.match(r"[/~]|[A-Za-z]:[\\/]", value):
        value = re.split(r"[/\\]", value.rstrip("/\\"))[-1]
    return f"{flag}{sign}{value}"


def _scores(report: Facts) -> str:
    scores = report.get("scores") or {}
    metrics = scores.get("metrics")
    if not metrics:
        return "## Scores\n\nNone are known: the folder came without the report of its run.\n"
    figures = figures_of(metrics)
    lines = ["## Scores", "", *_score_table(scores, figures)]
    if ceiling := (report.get("ceiling") or {}).get("metrics"):
        cells = [f"{ceiling[name]:.2f}" for name in figures if name in ceiling]
        lines.append(_row("ceiling", "", [*cells, *([""] if scores.get("type_intervals") else [])]))
    lines += ["", _legend(figures, "intervals" in scores, bool(report.get("ceiling")))]
    if scores.get("signature"):
        lines += ["", f"Signature: `{scores['signature']}`"]
    return "\n".join([*lines, ""])


def _score_table(scores: Facts, figures: Sequence[str]) -> Iterator[str]:
    """Write a row a question type, then all, then the intervals of all."""
    counts, spread = scores.get("counts") or {}, scores.get("intervals") or {}
    spreads = scores.get("type_intervals") or {}
    last = figures[-1]
    added = [f"{last}, 95%"] if spreads else []
    yield _row("type", "n", [*figures, *added])
    yield _row("---", "---", ["---"] * len([*figures, *added]))
    for kind, values in (scores.get("by_type") or {}).items():
        ends = [_ends(spreads[kind][last])] if spreads else []
        cells = [f"{values[name]:.2f}" for name in figures]
        yield _row(kind, counts.get(kind, ""), [*cells, *ends])
    total = scores.get("n", sum(counts.values()) or "")
    cells = [f"{scores['metrics'][name]:.2f}" for name in figures]
    yield _row("all", total, [*cells, *([_ends(spread[last])] if added else [])])
    if spread:
        ends = [_ends(spread[name]) for name in figures]
        yield _row("95% interval", "", [*ends, *([""] if added else [])])


def _ends(interval: Sequence[float]) -> str:
    return "-".join(f"{end:.1f}" for end in interval)


def _row(*cells: Any) -> str:
    *first, values = cells
    return "| " + " | ".join(map(str, [*first, *values])) + " |"


def _legend(figures: Sequence[str], intervals: bool, ceiling: bool) -> str:
    said = "; ".join(f"{name}: {MEANINGS[name]}" for name in figures if name in MEANINGS)
    parts = [f"0-100. {said}." if said else "0-100."]
    if intervals:
        parts.append("Intervals are percentile bootstrap over the questions, 1,000 resamples.")
    if ceiling:
        parts.append("The ceiling is what gold labels give when decoded as a model's output.")
    return " ".join(parts)


def _limits(report: Facts, config: Facts) -> str:
    lines = ["## Limits", "", "English. It reads no more than it is given, and may be wrong."]
    if _answers_questions(config):
        lines.append(
            "Answers and triples are cut out of the paragraphs: an answer or a date that they "
            "write otherwise cannot be produced. The data's ids tell the question type; they are "
            "never shown to the model."
        )
    if report.get("scores"):
        lines.append("The scores are those of the data that chose the best step: they flatter it.")
    if invented_data(report):
        lines.append("Invented questions are more alike than real ones are.")
    return "\n".join([*lines, ""])


Facts = Mapping[str, Any]
JOINT = ("em", "f1", "sp_em", "sp_f1", "evi_em", "evi_f1", "joint_em", "joint_f1")
# how a run's report begins the name of data that is not about the real world, and what it is
INVENTED = {"made-up examples": "made-up questions", "world ": "questions on a fictional world"}


def card_metadata(report: Facts, config: Facts, name: str) -> str:
    """Write the YAML header, with the scores as the hub's `model-index`."""
    from huggingface_hub import EvalResult, ModelCardData

    scores = report.get("scores") or {}
    metrics = scores.get("metrics") or {}
    validation = validation_of(report)
    science = "rougeL" in metrics
    data = "ARC-DA" if science else "2WikiMultiHopQA"
    shown = invented_data(report) or data
    results = [
        EvalResult(
            task_type="question-answering",
            dataset_type="twowiki",
            dataset_name=shown,
            dataset_config=validation.get("config") or None,
            dataset_split="validation",
            dataset_args={"content": str(validation["content"])[:12]}
            if validation.get("content")
            else None,
            metric_type="exact_match" if figure.endswith("em") else figure.rpartition("_")[2],
            metric_name=figure,
            metric_value=round(float(metrics[figure]), 4),
            metric_config=scores.get("signature"),
        )
        for figure in figures_of(metrics)
    ]
    base = start_of(report, config)
    published = re.fullmatch(r"[\w.-]+/[\w.-]+", base)
    card = ModelCardData(
        language="en",
        license=None if base else "apache-2.0",  # else that of the model that it started from
        library_name="transformers",
        pipeline_tag="question-answering",
        tags=[data, "science"] if science else [data, "multi-hop", "evidence-triples"],
        base_model=base if published else None,
        model_name=name if results else None,
        eval_results=results or None,
    )
    return str(card.to_yaml())


def figures_of(metrics: Facts) -> list[str]:
    """Name the figures to show: the joint metric's eight, or all that there are."""
    if "joint_f1" in metrics:
        return [name for name in JOINT if name in metrics]
    return [name for name, value in metrics.items() if isinstance(value, (int, float))]


def start_of(report: Facts, config: Facts) -> str:
    """Name the pretrained model that training started from; empty if from nothing."""
    run = run_config_of(report)
    names = (
        config.get("backbone_name"),
        config.get("base_model_name_or_path"),
        run.get("backbone"),
        report.get("model"),
    )
    return next((str(name) for name in names if name), "")


def name_of(report: Facts, config: Facts) -> str:
    """Name the model: its class and its settings."""
    architecture = next(iter(config.get("architectures") or ()), "")
    settings = str(run_config_of(report).get("settings") or "")
    return ", ".join(filter(None, [architecture or "twowiki model", settings]))


def run_config_of(report: Facts) -> Facts:
    """Give the settings of the run."""
    return report.get("config") or {}


def validation_of(report: Facts) -> Facts:
    """Give what the report says of the validation data."""
    found: Facts = (report.get("data") or {}).get("validation") or {}
    return found


def invented_data(report: Facts) -> str:
    """Say what the data is if it is not about the real world; empty if it is."""
    source = str(validation_of(report).get("source", ""))
    return next((what for start, what in INVENTED.items() if source.startswith(start)), "")
