"""Training: settings, data, features on disk, batches, the parts of the loop, evaluation, reports.

`BaselineArguments` and `EncoderArguments` are the settings of a run; `twowiki.train` runs one.
`joint_metrics` scores an evaluation of `transformers.Trainer`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twowiki.training.settings import BaselineArguments, EncoderArguments

if TYPE_CHECKING:
    from twowiki.training.hf_trainer import joint_metrics

__all__ = ["BaselineArguments", "EncoderArguments", "joint_metrics"]


def __getattr__(name: str) -> Any:
    """Import `joint_metrics`, which needs torch, when it is used."""
    if name == "joint_metrics":
        from twowiki.training.hf_trainer import joint_metrics

        return joint_metrics
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
