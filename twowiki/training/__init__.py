"""Training: settings, data, features on disk, batches, the parts of the loop, evaluation, reports.

`BaselineArguments` and `EncoderArguments` are the settings of a run; `twowiki.train` runs one.
`joint_metrics` scores an evaluation of `transformers.Trainer`. The names of `__init__.pyi` load
their modules when they are first used.
"""

from twowiki.io.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
