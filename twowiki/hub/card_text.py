"""The text of a model's card, from the report of its run and its configuration. Pure.

Nothing is said that the two do not say: what a run did not measure has no line. Places on the
machine that trained are cut to their names.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from twowiki.hub.card_metadata import (
    Facts,
    card_metadata,
    figures_of,
    invented_data,
    name_of,
    run_config_of,
    start_of,
)

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
