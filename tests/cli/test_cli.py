"""Every command explains itself, fast and without heavy imports; errors are one line."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import twowiki
from twowiki.cli.main import COMMANDS, command_class, command_parser, command_paths, main
from twowiki.cli.options import PromptOptions
from twowiki.cli.score import ReportCommand, ScoreCommand
from twowiki.errors import EXTRA_OF
from twowiki.generation.settings import GenerateConfig, Resources
from twowiki.llm.prompts import PROMPT_FORMS
from twowiki.metric.settings import ScoreSettings
from twowiki.worlds.settings import WorldConfig

HEAVY = ("torch", "transformers", "datasets", "evaluate", "duckdb", "pyarrow", "scipy")


PATHS = list(command_paths())


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_every_argument_has_a_help_text(path: list[str]) -> None:
    parser = command_parser(path)
    assert parser.description
    for action in parser._actions:
        assert action.help, action.option_strings or action.dest
    assert parser.format_help()


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys, contextlib, io\n"
        "from twowiki.cli.main import main\n"
        "import twowiki\n"
        f"for path in {PATHS}:\n"
        "    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        "        main([*path, '--help'])\n"
        f"    print(path, [name for name in {HEAVY} if name in sys.modules])\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = out.stdout.splitlines()
    assert len(lines) == len(PATHS)
    assert all(line.endswith("[]") for line in lines), out.stdout


def test_overview_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    printed = capsys.readouterr().out
    assert all(command in printed for command in COMMANDS)
    with pytest.raises(SystemExit):
        main([])
    assert main(["nonsense"]) == 2
    assert "unknown command 'nonsense'" in capsys.readouterr().err
    assert main(["scores"]) == 2
    assert "Did you mean score?" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_error(tmp_path: object) -> None:
    script = "from twowiki.cli.main import main; import sys; sys.exit(main(['stats', sys.argv[1]]))"
    from tests.made_up import RECORDS

    code = f'"{sys.executable}" -c "{script}" "{RECORDS}" | head -1'
    out = subprocess.run(["bash", "-c", f"set -o pipefail; {code}"], capture_output=True, text=True)
    assert out.stderr == ""
    assert out.returncode == 0


def test_the_page_on_the_command_line_names_every_command() -> None:
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    for path in PATHS:
        assert f"`{' '.join(path)}`" in page


@pytest.mark.parametrize(
    ("command", "settings"),
    [
        ("score", ScoreSettings),
        ("report", ScoreSettings),
        ("generate", GenerateConfig),
        ("generate", Resources),
        ("world", WorldConfig),
    ],
)
def test_flags_are_those_of_the_settings(command: str, settings: type) -> None:
    own = command_class([command]).__annotations__
    assert issubclass(command_class([command]), settings)
    declared_again = {one.name for one in fields(settings)} & set(own)
    defaults = {"report": {"confidence", "by_type", "rounds", "contains"}, "generate": {"seed"}}
    assert declared_again <= defaults.get(command, set())


def test_prompt_forms_are_those_of_the_prompts() -> None:
    forms = {one.name: one for one in fields(PromptOptions)}["form"]
    assert forms.metadata["choices"] == PROMPT_FORMS


def test_a_report_without_intervals(tmp_path: Path) -> None:
    common = {"predictions": "p", "gold": "g", "out": tmp_path / "r.html"}
    assert ReportCommand(**common, confidence=0).confidence is None
    assert ReportCommand(**common).confidence == 0.95
    assert ScoreCommand(predictions="p", gold="g").confidence is None


def test_a_missing_package_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(self: object) -> int:
        raise ModuleNotFoundError("No module named 'duckdb'", name="duckdb")

    monkeypatch.setattr(command_class(["verify"]), "run", run)
    assert main(["verify", "a", "b"]) == 2
    assert "pip install 'twowiki[generate]'" in capsys.readouterr().err
    monkeypatch.setitem(EXTRA_OF, "duckdb", None)
    assert main(["verify", "a", "b"]) == 2
    assert "unexpected ModuleNotFoundError" in capsys.readouterr().err


def test_python_names_the_extra_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    for name in ("load_model", "pipeline"):
        with pytest.raises(ModuleNotFoundError, match=r"pip install 'twowiki\[train\]'"):
            getattr(twowiki, name)(model="x")


def test_an_interrupted_command_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(self: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(command_class(["verify"]), "run", run)
    assert main(["verify", "a", "b"]) == 130
    assert capsys.readouterr().err == "twowiki verify: stopped\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["score", "p.json"], ["GOLD"]),
        (["score", "p", "g", "--by-typ"], ["unknown option --by-typ", "--by-type"]),
        (["score", "p", "g", "--confidence", "nan"], ["--confidence", "above 0 and below 1"]),
        (["score", "p", "g", "--resamples", "0"], ["--resamples", "from 1 to 1000000"]),
        (["generate", "--world", "people=100"], ["--out is required"]),
        (["convert-baseline"], ["CHECKPOINT and OUT"]),
        (["push", "models", "dir", "a/b"], ["KIND", "model, dataset, metric, demo"]),
        (["arc-da"], ["no command is given"]),
        (["arc-da", "scroe"], ["Did you mean score?"]),
        (["arc-da", "score", "p", "g", "--golds", "some"], ["--golds", "all, no_mc"]),
        (["--by-type"], ["unrecognized arguments: --by-type"]),
    ],
)
def test_wrong_arguments_are_one_sentence(
    arguments: list[str], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert all(word in err for word in words), err
