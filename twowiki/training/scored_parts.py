"""The parts of an answer that a run scores, and the metric that selects its best model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twowiki.data.configs import LAYOUT_CONFIG
from twowiki.errors import DataError
from twowiki.metric.parts import GoldForm, present_names
from twowiki.training.data import Source
from twowiki.training.settings import MultihopSettings


def present(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Return the metrics that there are: those of a part that the gold lacks are left out."""
    return {name: value for name, value in metrics.items() if value is not None}


def check_selection(config: MultihopSettings, source: Source) -> None:
    """Raise where the metric that selects the best model does not exist on the data."""
    name = config.metric_for_best_model
    form = GoldForm.of_config(source.config) or GoldForm()
    if source.config == LAYOUT_CONFIG:  # other tools' files have what their first record has
        form = next((GoldForm.of_record(example) for example in source.examples()), form)
    form = form.restricted(config.score_parts)
    if name in form.absent:
        raise DataError(
            f"is {name!r}, which {source.config} does not have (joint: {form.words})",
            field="metric_for_best_model",
            remedy=f"Use one of {', '.join(present_names(form))}",
        )
