"""The card of a trained text-to-text model, written from what the run knows. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import yaml

from twowiki._version import __version__

_NAMES = {"arc_da": "ARC-DA", "two_wiki": "2WikiMultiHopQA"}


def render_card(
    model: Mapping[str, Any],
    form: Mapping[str, Any],
    data: Mapping[str, Any],
    metrics: Mapping[str, float],
) -> str:
    """Write a model's card.

    Args:
        model: where it started.
        form: the format that belongs to it.
        data: what it was trained and evaluated on.
        metrics: of the validation, empty before the first evaluation.
    """
    name = _NAMES.get(str(form.get("task")), str(form.get("task")))
    seq2seq = model.get("kind") == "seq2seq"
    head: dict[str, Any] = {
        "library_name": "transformers",
        "pipeline_tag": "text2text-generation" if seq2seq else "text-generation",
        "tags": ["question-answering", "text-to-text", "twowiki"],
    }
    start = str(model.get("start", ""))
    if "/" in start and not start.startswith((".", "/")):
        head["base_model"] = start
    lines = [f"---\n{yaml.safe_dump(head, sort_keys=False)}---", "", f"# {name}, text to text", ""]
    lines += [f"Started from `{start}` ({model.get('model_type')}) and trained on {name}", ""]
    lines += ["It understands the format that it was trained with, and no other:", ""]
    lines += ["```json", json.dumps(dict(form), indent=2), "```", ""]
    lines += ["```", f"twowiki predict --model FOLDER --task {form.get('task')} DATA OUT", "```"]
    lines += ["", "## Validation", ""]
    if metrics:
        lines += ["| figure | value |", "|---|---|"]
        lines += [f"| {figure} | {value:.2f} |" for figure, value in metrics.items()]
    else:
        lines.append("Not evaluated yet.")
    lines += ["", "## Data", "", "```json"]
    lines += [json.dumps(dict(data), indent=2, ensure_ascii=False), "```", ""]
    lines += ["Scores on the validation split chose this checkpoint; they are not test scores.", ""]
    return "\n".join([*lines, f"Written by twowiki {__version__}.", ""])
