"""Every command explains itself, fast and without heavy imports; errors are one line."""

from __future__ import annotations

import argparse
import subprocess
import sys
from importlib import import_module

import pytest

from twowiki.cli.main import COMMANDS, main

HEAVY = ("torch", "transformers", "datasets", "evaluate", "duckdb", "pyarrow", "scipy")


def parsers(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    """The parser and all its sub-command parsers."""
    found = [parser]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                found += parsers(inner)
    return found


@pytest.mark.parametrize("command", COMMANDS)
def test_every_flag_has_a_help_text(command: str) -> None:
    module = import_module(COMMANDS[command][0])
    parser = argparse.ArgumentParser(prog=command, description=module.__doc__)
    module.add_arguments(parser)
    assert module.__doc__
    for each in parsers(parser):
        for action in each._actions:
            if isinstance(action, argparse._SubParsersAction):
                continue
            assert action.help, f"{each.prog}: {action.option_strings or action.dest}"
        assert each.format_help()


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys, contextlib, io\n"
        "from twowiki.cli.main import COMMANDS, main\n"
        "import twowiki\n"
        "for command in COMMANDS:\n"
        "    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        "        main([command, '--help'])\n"
        f"    print(command, [name for name in {HEAVY} if name in sys.modules])\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = out.stdout.splitlines()
    assert len(lines) == len(COMMANDS)
    assert all(line.endswith("[]") for line in lines), out.stdout


def test_overview_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    printed = capsys.readouterr().out
    assert all(command in printed for command in COMMANDS)
    with pytest.raises(SystemExit):
        main([])
    with pytest.raises(SystemExit) as caught:
        main(["nonsense"])
    assert caught.value.code == 2


def test_a_reader_that_goes_away_is_no_error(tmp_path: object) -> None:
    script = "from twowiki.cli.main import main; import sys; sys.exit(main(['stats', sys.argv[1]]))"
    from tests.made_up import RECORDS

    code = f'"{sys.executable}" -c "{script}" "{RECORDS}" | head -1'
    out = subprocess.run(["bash", "-c", f"set -o pipefail; {code}"], capture_output=True, text=True)
    assert out.stderr == ""
    assert out.returncode == 0
