"""What text-to-text models must learn, and what they must not be able to: small closed worlds."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.arc_da_files import write_lines
from tests.science_world import write_world
from tests.text_runs import metrics, run_training

pytestmark = pytest.mark.slow
STEPS = 300


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_world(tmp_path_factory.mktemp("world"))


def learn(output: Path, world: dict[str, Path], steps: int, **settings: Any) -> dict[str, float]:
    given = {"train_file": world["train"], "validation_file": world["dev"], "max_steps": steps}
    run_training(output, task="arc_da", **{**given, **settings})
    return metrics(output)


def test_questions_are_learnt_by_heart_whichever_answer_is_drawn(tmp_path: Path) -> None:
    rng = Random(3)
    syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
    words = list(dict.fromkeys("".join(rng.choices(syllables, k=2)) for _ in range(400)))
    questions = [
        {
            "question_id": f"ARCEZ_{number}",
            "question": f"What is the {words[number]}?",
            "answers": rng.sample(words[64:200], rng.randint(1, 4)),
        }
        for number in range(64)
    ]
    train = write_lines(tmp_path / "train.jsonl", questions)
    asked = [{**one, "question_id": f"ARCEZ_again_{n}"} for n, one in enumerate(questions)]
    world = {"train": train, "dev": write_lines(tmp_path / "dev.jsonl", asked)}
    assert learn(tmp_path / "out", world, STEPS, leaks="keep")["f1"] >= 95


def test_unseen_facts_are_not_known_without_retrieval(
    tmp_path: Path, world: dict[str, Path]
) -> None:
    assert learn(tmp_path / "out", world, STEPS)["f1"] <= 20


def test_the_right_sentence_is_read(tmp_path: Path, world: dict[str, Path]) -> None:
    assert learn(tmp_path / "out", world, STEPS, contexts=world["contexts"])["f1"] >= 95


def test_among_three_sentences_retrieval_still_helps(tmp_path: Path) -> None:
    world = write_world(tmp_path, distractors=2)
    without = learn(tmp_path / "without", world, 400)["f1"]
    with_three = learn(tmp_path / "with", world, 400, contexts=world["contexts"])["f1"]
    assert with_three >= 28
    assert with_three > without + 15


def test_both_kinds_are_learnt_together(tmp_path: Path, world: dict[str, Path]) -> None:
    found = learn(tmp_path / "out", world, 600, contexts=world["contexts"], arc=world["arc"])
    assert found["f1"] >= 95
    assert found["mc_accuracy"] >= 90


def test_neither_kind_is_known_without_retrieval(tmp_path: Path, world: dict[str, Path]) -> None:
    found = learn(tmp_path / "out", world, STEPS, arc=world["arc"])
    assert found["f1"] <= 20
    assert 15 <= found["mc_accuracy"] <= 40


def test_a_start_on_multiple_choice_learns_direct_answers_sooner_and_forgets(
    tmp_path: Path, world: dict[str, Path]
) -> None:
    told = {"contexts": world["contexts"], "learning_rate": 3e-3}
    both = {**told, "arc": world["arc"]}
    start = learn(
        tmp_path / "start",
        world,
        300,
        direct_answers="no",
        metric_for_best_model="mc_accuracy",
        **both,
    )
    assert start["mc_accuracy"] >= 90
    model = tmp_path / "start" / "best"
    sooner = learn(tmp_path / "sooner", world, 10, model_name_or_path=model, **told)["f1"]
    random = learn(tmp_path / "random", world, 10, **told)["f1"]
    assert sooner >= 80
    assert random <= 30
    alone = learn(
        tmp_path / "alone", world, 40, model_name_or_path=model, multiple_choice="no", **both
    )
    together = learn(tmp_path / "together", world, 160, model_name_or_path=model, **both)
    assert alone["mc_accuracy"] <= 50
    assert together["mc_accuracy"] >= 90
