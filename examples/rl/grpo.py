"""Train a language model by GRPO with rewards for the whole chain: answer, sentences, triples.

The questions are those of `twowiki export DATA OUT --format rl` (a file or its folder), or an
endless stream of fictional worlds. Settings are those below and all of TRL's `GRPOConfig`, as
flags or in a YAML file:

    pip install "twowiki[rl]"
    python examples/rl/grpo.py --config examples/rl/gpu.yaml
    python examples/rl/grpo.py --config examples/rl/gpu.yaml --data world --max_steps 2000
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer, TrlParser

from twowiki import rewards


@dataclass
class Arguments:
    """What is trained on what, and for what."""

    model: str = field(metadata={"help": "a folder, or a model of the hub"})
    data: str = field(default="world", metadata={"help": "a .jsonl or its folder, or `world`"})
    rewards: list[str] = field(
        default_factory=lambda: ["answer", "support", "evidence", "joint", "format"],
        metadata={"help": "functions of twowiki.rewards; --reward_weights weighs them"},
    )
    form: str = field(default="full-context", metadata={"help": "of prompts, with `world`"})
    world: str = field(default="", metadata={"help": "its options: people=300,films=200"})


def questions(arguments: Arguments, seed: int) -> Any:
    """Return the training questions: prompts, with their gold as columns."""
    if arguments.data == "world":
        pairs = (pair.split("=") for pair in arguments.world.split(",") if pair)
        options = {name: int(value) for name, value in pairs}
        return rewards.world_questions(form=arguments.form, seed=seed, **options)
    path = Path(arguments.data)
    file = path / "train.jsonl" if path.is_dir() else path
    return load_dataset("json", data_files=str(file), split="train")


def main() -> None:
    """Train, and save the model."""
    arguments, config = TrlParser((Arguments, GRPOConfig)).parse_args_and_config()
    trainer = GRPOTrainer(
        model=arguments.model,
        reward_funcs=[getattr(rewards, name) for name in arguments.rewards],
        args=config,
        train_dataset=questions(arguments, config.seed),
    )
    trainer.train()
    trainer.save_model()


if __name__ == "__main__":
    main()
