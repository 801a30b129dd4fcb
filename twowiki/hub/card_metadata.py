"""The metadata of a model's card: what the hub reads of it, scores as its `model-index`. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

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
