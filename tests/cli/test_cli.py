"""Every command explains itself, fast and without heavy imports; errors are one line."""

from __future__ import annotations

import subprocess
import sys

import pytest

from twowiki.cli.main import ARC_DA, COMMANDS, command_parser, main

HEAVY = ("torch", "transformers", "datasets", "evaluate", "duckdb", "pyarrow", "scipy")


PATHS = [[name] for name in COMMANDS if name != "arc-da"] + [["arc-da", name] for name in ARC_DA]


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
