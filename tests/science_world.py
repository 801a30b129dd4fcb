"""A closed world of coloured things: what colour a thing is can be looked up, never guessed."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

from tests.arc_da_files import write_lines

COLOURS = "red blue green black white pink gold gray brown teal".split()
THINGS = "hat car door cup boat lamp kite drum coat bell".split()
NAMES = (
    "anna bert carl dora emil fred gina hans iris jack kate liam mona nils olga paul rosa sven "
    "tina udo vera walt xena yuri zoe abel bria cole dean elsa finn gwen hugo ines joel kurt lena "
    "maud noel otto"
).split()


def write_world(folder: Path, *, distractors: int = 0, seed: int = 1) -> dict[str, Path]:
    """Write training and unseen questions, their sentences, and the same as multiple choice.

    Args:
        folder: where to.
        distractors: sentences about other things beside the right one.
        seed: of the world.
    """
    rng = Random(seed)
    pairs = [(thing, name) for thing in THINGS for name in NAMES]
    colour = {pair: rng.choice(COLOURS) for pair in pairs}
    rng.shuffle(pairs)
    parts = {"train": pairs[:320], "dev": pairs[320:]}
    contexts: list[dict[str, Any]] = []
    files: dict[str, Path] = {}
    for split, listed in parts.items():
        tag = f"EASY-{split.upper()}"
        direct, choice = [], []
        for number, (thing, name) in enumerate(listed):
            question, answer = f"What color is the {thing} of {name}?", colour[thing, name]
            told = [(thing, name), *rng.sample(pairs, distractors)]
            rng.shuffle(told)
            sentences = [f"the {t} of {n} is {colour[t, n]}" for t, n in told]
            record = f"ARCEZ_{split}_{number}"
            contexts.append({"question_id": record, "sentences": sentences})
            asked = {"question_id": record, "tag": tag, "question": question, "answers": [answer]}
            if split == "train" or number < 80:
                direct.append(asked)
            others = rng.sample([one for one in COLOURS if one != answer], 3)
            options = [answer, *others]
            rng.shuffle(options)
            choices = [{"label": str(n + 1), "text": one} for n, one in enumerate(options)]
            key = str(options.index(answer) + 1)
            # multiple choice asks of dev what direct answers do not
            if split == "train" or number >= 40:
                stem = {"stem": f"Which color has the {thing} of {name}?", "choices": choices}
                choice.append({"id": f"{split}_mc_{number}", "question": stem, "answerKey": key})
                contexts.append({"question_id": f"ARCEZ_{split}_mc_{number}",
                                 "sentences": sentences})  # fmt: skip
        files[split] = write_lines(folder / f"{split}.jsonl", direct)
        write_lines(folder / "arc" / f"ARC-Easy-{split.title()}.jsonl", choice)
    files["contexts"] = write_lines(folder / "contexts.jsonl", contexts)
    return {**files, "arc": folder / "arc"}
