"""Write a model's card from its folder and the report of its run.

In: the folder of a saved model, the `report.json` of the run that made it, and the repository
that the examples name. Out: `README.md`, whose header holds the scores as the hub's `model-index`.
The last line of a written card holds a hash of the text above it: a card that was edited since
belongs to its author and is not overwritten.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from twowiki.data.configs import WORLD_CONFIG
from twowiki.data.releases import CITATIONS
from twowiki.data.schema import HOTPOT_CONFIG
from twowiki.io.files import read_text, write_text
from twowiki.io.records import read_object
from twowiki.io.templates import render_template

REPO_PLACEHOLDER = "path/or/owner/name"  # what the examples load until a repository is known
JOINT_METRICS = ("em", "f1", "sp_em", "sp_f1", "evi_em", "evi_f1", "joint_em", "joint_f1")
# configs of data that is not about the real world, and what it is
INVENTED = {WORLD_CONFIG: "questions on a fictional world"}
# configs, and the repository of the hub with the data
HUB_DATA = {
    **dict.fromkeys(("data_ids_april7", "data_ids", "data"), "xanhho/2WikiMultihopQA"),
    HOTPOT_CONFIG: "hotpotqa/hotpot_qa",
}
HUB_METRICS = {"em": "exact_match", "rougeL": "rouge", "mc_accuracy": "accuracy"}
RANDOM_START = "tiny-"  # how the names of models that start from random weights begin
_MARK = re.compile(r"\n<!-- written by twowiki (?P<hash>[0-9a-f]{16}) -->\n?\Z")
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")


def write_model_card(
    folder: Path, report: Mapping[str, Any] | None = None, *, repo: str = REPO_PLACEHOLDER
) -> bool:
    """Write the card of a saved model into its folder; return whether it was written.

    Args:
        folder: of the saved model.
        report: of its run; by default that of the run whose folder the model is in.
        repo: what the examples load.
    """
    card = card_for(folder, repo, report)
    if card is None:
        return False
    write_text(folder / "README.md", card)
    return True


def card_for(
    folder: Path, repo: str = REPO_PLACEHOLDER, report: Mapping[str, Any] | None = None
) -> str | None:
    """Return the card that a model's folder should have; None if the one it has may stay."""
    path = folder / "README.md"
    present = read_text(path) if path.is_file() else None
    if present is not None and not is_unedited(present):
        return None
    report = report or find_report(folder)
    if present is not None and report is None:
        return None
    card = make_card(folder, repo, report)
    return None if card == present else card


def make_card(
    folder: Path, repo: str = REPO_PLACEHOLDER, report: Mapping[str, Any] | None = None
) -> str:
    """Return the card of a model's folder, whatever card it has."""
    names = ("config.json", "adapter_config.json")
    config = next((read_object(folder / name) for name in names if (folder / name).is_file()), {})
    path = folder / "text_format.json"
    text_format = read_object(path) if path.is_file() else {}
    return signed(render_model_card(report or find_report(folder) or {}, config, repo, text_format))


def find_report(folder: Path) -> dict[str, Any] | None:
    """Read the report of the run that a model's folder, or a folder of a run, belongs to."""
    for path in (folder / "report.json", folder.resolve().parent / "report.json"):
        if path.is_file() and (path.parent == folder or folder.resolve().name == "best"):
            return read_object(path)
    return None


def signed(text: str) -> str:
    """Append the hash of a card's text."""
    return f"{text}\n<!-- written by twowiki {_hash(text)} -->\n"


def is_unedited(card: str) -> bool:
    """Return whether a card is as it was written by code."""
    found = _MARK.search(card)
    return found is not None and found["hash"] == _hash(card[: found.start()])


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def render_model_card(
    report: Mapping[str, Any],
    config: Mapping[str, Any],
    repo: str,
    text_format: Mapping[str, Any] | None = None,
) -> str:
    """Return a card's text: metadata, use, training, scores, limits.

    Args:
        report: of the run; empty if it is unknown.
        config: of the model.
        repo: what the examples load.
        text_format: what a text-to-text model was trained with.
    """
    facts = _Facts(report, config, text_format or {})
    data = report.get("data") or {}
    return render_template(
        "twowiki.hub",
        "model_card.md",
        facts=facts,
        report=report,
        repo=repo,
        metadata=_metadata(facts),
        text_format=json.dumps(dict(facts.text_format), indent=2),
        start=_public(facts.start),
        data=[(name, line) for name, value in data.items() if (line := _data_line(value))],
        steps=_steps_line(facts),
        citation=CITATIONS.get(facts.data_config, ""),
        data_page=HUB_DATA.get(facts.data_config, ""),
        hardware=_hardware_line(report.get("hardware") or {}, report.get("cpu_seconds")),
        command=public_command(report.get("command") or ()),
        scores=_score_table(facts) if facts.metric_names else [],
    )


class _Facts(NamedTuple):
    """What a card is written from: the run's report, the model's configuration, its text format."""

    report: Mapping[str, Any]
    config: Mapping[str, Any]
    text_format: Mapping[str, Any]

    @property
    def run(self) -> Mapping[str, Any]:
        """The run's settings."""
        return self.report.get("config") or {}

    @property
    def scores(self) -> Mapping[str, Any]:
        """The scores of the best step; those of ARC-DA hold counts and intervals one level down."""
        scores = self.report.get("scores") or {}
        return {**(scores.get("report") or {}), **scores}

    @property
    def metric_names(self) -> list[str]:
        """The metrics to show: the eight of the joint metric, or all that there are."""
        metrics = self.scores.get("metrics") or {}
        if "joint_f1" in metrics:
            return [name for name in JOINT_METRICS if name in metrics]
        return [name for name, value in metrics.items() if isinstance(value, int | float)]

    @property
    def validation(self) -> Mapping[str, Any]:
        """What the report records of the validation data."""
        return (self.report.get("data") or {}).get("validation") or {}

    @property
    def invented(self) -> str:
        """What the data is if it is not about the real world; otherwise empty."""
        named = str(self.validation.get("source", "")).partition(" ")[0]
        return INVENTED.get(self.data_config, INVENTED.get(named, ""))

    @property
    def data_config(self) -> str:
        """The config of the validation data; empty if it is unknown."""
        science = "arc_da" if self.data_name == "ARC-DA" else ""
        return str(self.validation.get("config") or science)

    @property
    def is_multihop(self) -> bool:
        """Whether the model is one of this package's own."""
        return str(self.config.get("model_type", "")).startswith("twowiki")

    @property
    def data_name(self) -> str:
        """The name of the data set."""
        science = self.text_format.get("task") == "arc_da" or "rougeL" in self.metric_names
        if science:
            return "ARC-DA"
        return "HotpotQA" if self.validation.get("config") == HOTPOT_CONFIG else "2WikiMultiHopQA"

    @property
    def architecture(self) -> str:
        """The model's class; empty if it is unknown."""
        return next(iter(self.config.get("architectures") or ()), "")

    @property
    def title(self) -> str:
        """The model's class with its preset, or with the data set of a text-to-text model."""
        detail = str(self.run.get("settings") or (self.data_name if self.text_format else ""))
        parts = [self.architecture or "twowiki model", detail]
        return ", ".join(filter(None, parts))

    @property
    def start(self) -> str:
        """The pretrained model that training started from; empty if there is none."""
        names = (
            self.config.get("backbone_name"),
            self.config.get("base_model_name_or_path"),
            self.run.get("model_name_or_path"),
            self.report.get("model"),
        )
        start = next((str(name) for name in names if name), "")
        return "" if start.startswith(RANDOM_START) else start


def _metadata(facts: _Facts) -> str:
    """Return the YAML header, with the scores as the hub's `model-index`."""
    from huggingface_hub import EvalResult, ModelCardData

    metrics = facts.scores.get("metrics") or {}
    content = facts.validation.get("content")
    results = [
        EvalResult(
            task_type="question-answering",
            dataset_type=HUB_DATA.get(facts.data_config) or facts.data_config or facts.data_name,
            dataset_name=facts.invented or facts.data_name,
            dataset_config=facts.validation.get("config") or None,
            dataset_split="validation",
            dataset_args={"content": str(content)[:12]} if content else None,
            metric_type=_hub_metric(name),
            metric_name=name,
            metric_value=round(float(metrics[name]), 4),
            metric_config=facts.scores.get("signature"),
        )
        for name in facts.metric_names
    ]
    topics = ["science"] if facts.data_name == "ARC-DA" else ["multi-hop", "evidence-triples"]
    card = ModelCardData(
        language="en",
        license="other" if facts.start else "apache-2.0",
        license_name="that-of-the-base-model" if facts.start else None,
        datasets=[HUB_DATA[facts.data_config]] if facts.data_config in HUB_DATA else None,
        metrics=sorted({_hub_metric(name) for name in facts.metric_names}) or None,
        library_name="transformers",
        pipeline_tag=_pipeline_tag(facts),
        tags=[facts.data_name, *topics, *(["text-to-text"] if facts.text_format else [])],
        base_model=facts.start if _REPOSITORY.fullmatch(facts.start) else None,
        model_name=facts.title if results else None,
        eval_results=results or None,
    )
    return str(card.to_yaml())


def _hub_metric(name: str) -> str:
    """Return the hub's name of a metric."""
    last = name.rpartition("_")[2]
    return HUB_METRICS.get(name) or HUB_METRICS.get(last, last)


def _pipeline_tag(facts: _Facts) -> str:
    if not facts.text_format:
        return "question-answering"
    causal = facts.architecture.endswith("ForCausalLM")
    return "text-generation" if causal else "text2text-generation"


def _steps_line(facts: _Facts) -> str:
    report, run = facts.report, facts.run
    parts = [
        f"{report[name]:,} {name}" for name in ("epochs", "steps") if report.get(name) is not None
    ]
    if report.get("stopped", "the end") != "the end":
        parts.append(f"stopped early: {report['stopped']}")
    if not parts:
        return ""
    if report.get("batch_size"):
        parts.append(f"batches of {report['batch_size']}")
    names = ("optim", "learning_rate", "lr_scheduler_type", "mixed_precision")
    parts += [f"{name} {run[name]}" for name in names if run.get(name)]
    if report.get("seed") is not None:
        parts.append(f"seed {report['seed']}")
    return ", ".join(parts)


def _data_line(data: Any) -> str:
    if not isinstance(data, Mapping):
        return data if isinstance(data, str) else ""
    parts = [PurePath(str(data.get("source") or "")).name, str(data.get("config") or "")]
    for name in ("examples", "questions", "multiple_choice", "windows", "instances"):
        if isinstance(data.get(name), int):
            parts.append(f"{data[name]:,} {name.replace('_', ' ')}")
    parts += [f"{name} {str(data[name])[:12]}" for name in ("content", "gold") if data.get(name)]
    for counts in (data.get("not_encoded"), data.get("notes")):
        parts += [f"{count:,} {reason}" for reason, count in (counts or {}).items()]
    return ", ".join(filter(None, parts))


def _hardware_line(hardware: Mapping[str, Any], seconds: Any) -> str:
    parts = [str(hardware.get("device", ""))]
    for name, one in (("processes", "process"), ("threads", "thread")):
        if name in hardware:
            parts.append(f"{hardware[name]} {one if hardware[name] == 1 else name}")
    if seconds:
        parts.append(f"{seconds:,.0f} CPU seconds of training")
    return ", ".join(filter(None, parts))


def public_command(arguments: Sequence[str]) -> str:
    """Return a command with absolute paths cut to their names."""
    return shlex.join(_public(str(argument)) for argument in arguments)


def _public(argument: str) -> str:
    flag, sign, value = argument.partition("=") if argument[:2] == "--" else ("", "", argument)
    if flag and not sign:
        return argument
    if re.match(r"[/~]|[A-Za-z]:[\\/]", value):
        value = re.split(r"[/\\]", value.rstrip("/\\"))[-1]
    return f"{flag}{sign}{value}"


def _score_table(facts: _Facts) -> list[list[str]]:
    """Return the head of the table, one row per question type, all, intervals and ceiling."""
    names, scores = facts.metric_names, facts.scores
    counts, intervals = scores.get("counts") or {}, scores.get("intervals") or {}
    by_type = scores.get("type_intervals") or {}
    last = names[-1]
    rows = [["type", "n", *names, *([f"{last}, 95%"] if by_type else [])]]
    for name, metrics in (scores.get("by_type") or {}).items():
        ends = [_ends(by_type[name], last)] if by_type else []
        rows.append([name, str(counts.get(name, "")), *_values(metrics, names), *ends])
    total = str(scores.get("n") or sum(counts.values()) or "")
    ends = [_ends(intervals, last)] if by_type else []
    rows.append(["all", total, *_values(scores["metrics"], names), *ends])
    blank = [""] if by_type else []
    if intervals:
        rows.append(["95% interval", "", *(_ends(intervals, name) for name in names), *blank])
    if ceiling := (facts.report.get("ceiling") or {}).get("metrics"):
        rows.append(["ceiling", "", *_values(ceiling, names), *blank])
    return rows


def _values(metrics: Mapping[str, float], names: Sequence[str]) -> list[str]:
    return [f"{metrics[name]:.2f}" if name in metrics else "" for name in names]


def _ends(intervals: Mapping[str, Sequence[float]], name: str) -> str:
    return "-".join(f"{end:.1f}" for end in intervals.get(name, ()))
