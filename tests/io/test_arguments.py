"""Dataclasses as flags, YAML and help: round trips, refusals, and the texts."""

from __future__ import annotations

import io
import json
import math
import subprocess
import sys
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from twowiki.errors import DataError
from twowiki.io.arguments import (
    CommandParser,
    add_arguments,
    argument,
    check_values,
    from_values,
    parse_flags,
    read_settings_file,
    to_dict,
)


@dataclass(frozen=True, kw_only=True)
class Optimization:
    """Settings of one kind of each type."""

    learning_rate: float = argument(1e-3, "highest rate", above=0, group="optimization")
    max_steps: int = argument(0, "steps", minimum=0, group="optimization")
    share: float = argument(0.5, "a share", minimum=0, below=1)
    bf16: bool = argument(False, "half precision")
    shuffle: bool = argument(True, "draw an order")
    optim: str = argument("adamw", "optimizer", choices=("adamw", "sgd"))
    kind: Literal["long", "short"] = argument("long", "which kind")
    report_to: list[str] = argument([], "trackers")
    steps: list[int] = argument([1], "each step", minimum=1)
    limit: int | None = argument(None, "at most", minimum=1)
    output: Path | None = argument(None, "where to write")
    options: dict[str, Any] = argument({}, "of the model")
    note: str = argument("", "any text; 100%")


@dataclass(frozen=True, kw_only=True)
class Command(Optimization):
    """The same after positional arguments."""

    gold: Path = argument(help="the gold", positional=True)
    aliases: str | None = argument(None, "names", positional=True)
    source: list[str] = argument([], "sources", flag=("source", "source-dir"), nargs=1)


def parse(text: str | list[str], cls: Any = Optimization) -> Any:
    parser = CommandParser("tool")
    add_arguments(parser, cls)
    words = text.split() if isinstance(text, str) else text
    return from_values(cls, parse_flags(parser, cls, words), flags=True)


def flags_of(settings: Any) -> list[str]:
    flags = []
    for one in fields(settings):
        value = getattr(settings, one.name)
        if isinstance(value, bool):
            flags.append(f"--{'' if value else 'no-'}{one.name}")
        elif isinstance(value, list):
            flags += [f"--{one.name}", *map(str, value)]
        elif isinstance(value, dict):
            flags += [f"--{one.name}", json.dumps(value)]
        elif value is not None:
            flags.append(f"--{one.name}={value}")
    return flags


WORDS = st.text("abcdefg._/ é", min_size=1).filter(str.strip)
SETTINGS = st.builds(
    Optimization,
    learning_rate=st.floats(1e-9, 1e9),
    max_steps=st.integers(0, 2**63 - 1),
    share=st.floats(0, 1, exclude_max=True),
    bf16=st.booleans(),
    shuffle=st.booleans(),
    optim=st.sampled_from(["adamw", "sgd"]),
    kind=st.sampled_from(["long", "short"]),
    report_to=st.lists(WORDS),
    steps=st.lists(st.integers(1, 2**63 - 1)),
    limit=st.none() | st.integers(1, 2**63 - 1),
    output=st.none() | WORDS.map(Path),
    options=st.dictionaries(WORDS, st.integers() | st.booleans() | WORDS),
    note=st.text().filter(lambda text: "\x00" not in text),
)


@given(SETTINGS)
def test_flags_give_the_settings_back(settings: Optimization) -> None:
    assert parse(flags_of(settings)) == settings
    assert parse([flag.replace("_", "-", 2) for flag in flags_of(settings)[:2]]).max_steps >= 0


@given(SETTINGS)
def test_yaml_gives_the_settings_back(settings: Optimization) -> None:
    values = yaml.safe_load(yaml.safe_dump(to_dict(settings)))
    assert from_values(Optimization, values) == settings
    check_values(settings)


def test_flags_win_over_a_file(tmp_path: Path) -> None:
    path = tmp_path / "settings.yaml"
    path.write_text("learning_rate: 1e-5\nmax_steps: 7\noutput: null\nreport_to: wandb\n")
    parser = CommandParser("tool")
    parser.add_argument("--config")
    add_arguments(parser, Optimization, style="_")
    given = parse_flags(parser, Optimization, ["--max-steps", "3", "--config", str(path)])
    assert given.pop("config") == str(path)
    settings = from_values(Optimization, {**read_settings_file(path, Optimization), **given})
    assert (settings.learning_rate, settings.max_steps) == (1e-5, 3)
    assert settings.report_to == ["wandb"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("--max_steps 3", {"max_steps": 3}),
        ("--max-steps=3", {"max_steps": 3}),
        ("--bf16 true --shuffle False", {"bf16": True, "shuffle": False}),
        ("--bf16=yes --no-shuffle", {"bf16": True, "shuffle": False}),
        ("--no_shuffle=false", {"shuffle": True}),
        ("--limit none", {"limit": None}),
        ("--options a=1 b=x,c=0.5", {"options": {"a": 1, "b": "x", "c": 0.5}}),
        ("--steps 3 --steps 4 5", {"steps": [3, 4, 5]}),
    ],
)
def test_spellings(text: str, expected: dict[str, Any]) -> None:
    found = to_dict(parse(text))
    assert {name: found[name] for name in expected} == expected


def test_positions_and_flags_mix() -> None:
    found = parse("--source a --bf16 gold.json --source-dir b --max-steps 2 names.json", Command)
    assert (found.gold, found.aliases, found.source) == (
        Path("gold.json"),
        "names.json",
        ["a", "b"],
    )
    assert found.bf16
    assert parse("gold.json", Command).aliases is None
    assert parse("--bf16 -- -gold.json", Command).gold == Path("-gold.json")
    assert parse("--bf16 false gold.json", Command).bf16 is False


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("--max-step 3", ["--max-step", "--max-steps"]),
        ("--learning_rte 3", ["--learning_rte", "--learning-rate"]),
        ("--max-steps x", ["--max-steps", "'x'", "integer"]),
        ("--max-steps -1", ["--max-steps", "-1", "at least 0"]),
        ("--learning-rate nan", ["--learning-rate", "nan", "above 0"]),
        ("--learning-rate inf", ["--learning-rate", "inf", "a finite number above 0"]),
        ("--learning-rate 0", ["--learning-rate", "0", "above 0"]),
        ("--share 1", ["--share", "1", "at least 0 and below 1"]),
        ("--optim adam", ["--optim", "'adam'", "adamw, sgd"]),
        ("--kind none", ["--kind", "'none'", "long, short"]),
        ("--steps 1 0", ["--steps", "0", "at least 1"]),
        ("--bf16=maybe", ["--bf16", "maybe"]),
        ("--options x", ["--options", "'x'", "name=value"]),
        ("--options {a", ["--options", "{a"]),
        ("--max-steps", ["--max-steps", "expected one argument"]),
        ("extra", ["extra"]),
    ],
)
def test_what_is_wrong_is_one_sentence(text: str, words: list[str]) -> None:
    with pytest.raises(DataError) as caught:
        parse(text)
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_required_argument_is_named() -> None:
    with pytest.raises(DataError, match="GOLD"):
        parse("--bf16", Command)
    with pytest.raises(DataError, match="gold is required"):
        from_values(Command, {})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("max_step: 3", ["max_step", "Did you mean max_steps"]),
        ("max_steps: true", ["max_steps", "True", "integer"]),
        ("max_steps: '3'", ["max_steps", "'3'", "integer"]),
        ("max_steps: -3", ["max_steps", "at least 0"]),
        ("learning_rate: .nan", ["learning_rate", "is nan"]),
        ("bf16: 1", ["bf16", "true or false"]),
        ("batch_size: 3", ["batch_size", "It is now per_device_train_batch_size"]),
        ("warmup_ratio: 3", ["warmup_ratio", "Write warmup_steps below 1."]),
        ("- a", ["not a mapping"]),
        ("a: [", ["not valid YAML"]),
    ],
)
def test_what_is_wrong_in_a_file(text: str, words: list[str], tmp_path: Path) -> None:
    path = tmp_path / "settings.yaml"
    path.write_text(text)
    renamed = {
        "batch_size": "per_device_train_batch_size",
        "warmup_ratio": "Write warmup_steps below 1.",
    }
    with pytest.raises(DataError) as caught:
        read_settings_file(path, Optimization, renamed=renamed)
    assert all(word in str(caught.value) for word in [*words, str(path)]), str(caught.value)


def test_a_retired_flag_names_the_new_one() -> None:
    parser = CommandParser("tool")
    add_arguments(parser, Optimization, style="_")
    with pytest.raises(DataError, match="It is now max_steps"):
        parse_flags(
            parser, Optimization, ["--most-steps", "3"], renamed={"most_steps": "max_steps"}
        )


def test_a_value_set_in_python_is_checked_too() -> None:
    with pytest.raises(DataError, match="share"):
        check_values(Optimization(share=math.nan))


def helped(style: Any) -> str:
    parser = CommandParser("tool", "What it does.")
    add_arguments(parser, Command, style)
    stream = io.StringIO()
    with redirect_stdout(stream), suppress(SystemExit):
        parser.parse_args(["--help"])
    return " ".join(stream.getvalue().split())


def test_help_has_groups_and_defaults() -> None:
    text = helped("-")
    assert text.startswith("usage: tool [options] GOLD [ALIASES] What it does.")
    assert "optimization: --learning-rate X highest rate (default: 0.001)" in text
    assert "--no-shuffle draw an order (default: on)" in text
    assert "--optim {adamw,sgd} optimizer (default: adamw)" in text
    assert "100%" in text
    assert "--max_steps N" in helped("_")
    assert "--no_shuffle" in helped("_")


def test_it_costs_little_to_load() -> None:
    code = "import sys, twowiki.io.arguments; print({'yaml', 'torch'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "set()"
