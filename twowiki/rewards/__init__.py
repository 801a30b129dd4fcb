"""Rewards for reinforcement learning: the whole chain is scored, not only the last string.

`answer`, `support`, `evidence`, `joint`, `format` and `grounded` are functions that TRL's trainers
take as `reward_funcs` and that a rubric of `verifiers` takes; `world_questions` is an endless data
set. The names of `__init__.pyi` load their modules when they are first used.
"""

from twowiki.io.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
