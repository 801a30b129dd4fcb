"""Outputs of every command: no input is overwritten, and links, pipes and devices stay."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import Field, fields
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from twowiki.arc_da.conversion.workspace import STAGES
from twowiki.cli.main import command_class, command_paths, main
from twowiki.errors import DataError
from twowiki.io.arguments import argument_name
from twowiki.io.files import replacing, write_json, write_text

# command -> its output files, by argument; an output folder ends in a slash
OUTPUTS = {
    "score": "--output --per-example",
    "audit": "--amendments --output --page",
    "people export": "OUT/",
    "people import": "--output FOLDER/",
    "review": "OUT",
    "rename": "OUT",
    "twins": "OUT",
    "report": "OUT",
    "leaderboard": "OUT",
    "submission": "OUT",
    "prompt": "OUT",
    "validate": "--output",
    "stats": "--output",
    "corpus": "OUT/",
    "qrels": "OUT",
    "index": "OUT/",
    "retrieve": "OUT --report",
    "retrieval": "--output --page",
    "predict": "OUT --scores",
    "card": "OUT",
    "export": "OUT/",
    "convert-baseline": "OUT/",
    "arc-da stats": "--json",
    "arc-da score": "--out --page --rows",
    "arc-da mc-score": "--out --page --rows",
    "arc-da convert audit-filter": "--json",
    **dict.fromkeys([f"arc-da convert {stage}" for stage in [*STAGES, "status"]], "WORK/"),
    "arc-da rate-export": "OUT/",
    "arc-da rate-import": "FOLDER/",
    "arc-da genie": "--out",
    "arc-da expert": "--out",
    "arc-da metric-agreement": "--out",
    "arc-da index": "OUT/",
    "arc-da retrieve": "OUT --report",
}
FILES = [(name, out) for name, outs in OUTPUTS.items() for out in outs.split() if out[-1] != "/"]
FOLDERS = [name for name, outs in OUTPUTS.items() if outs[-1] == "/" and " " not in outs]
PAIRS = [
    (name, *two)
    for name, outs in OUTPUTS.items()
    for two in combinations([out for out in outs.split() if out[-1] != "/"], 2)
]
GARBAGE = b"\x00 not data"


def with_role(command: str, *roles: str) -> dict[str, Field[Any]]:
    listed = fields(command_class(command.split()))
    return {argument_name(one): one for one in listed if one.metadata.get("role") in roles}


def argv_of(command: str, values: dict[str, str]) -> list[str]:
    """Return a command line; a path stands for each argument."""
    places: list[str] = []
    flags: list[str] = []
    for name, one in with_role(command, "input", "output", "output_folder").items():
        if name in values:
            text = values[name]
            pair = f"one={text}" if one.metadata.get("metavar") == "NAME=FILE" else text
            place = one.metadata["positional"] or name in PLACES.get(command, ())
            (places if place else flags).extend([pair] if place else [name, pair])
    if command in PLACES:
        places = [values[name] for name in PLACES[command]]
    return [*command.split(), *places, *flags]


PLACES = {"predict": ("--model", "DATA", "OUT"), "corpus": ("SOURCE", "OUT")}


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], dict[str, str]]:
    """Files of garbage for every input, and new names for the outputs that must be named."""
    monkeypatch.chdir(tmp_path)

    def values(command: str) -> dict[str, str]:
        result = {}
        for number, name in enumerate(with_role(command, "input")):
            path = tmp_path / f"input{number}.json"
            path.write_bytes(GARBAGE)
            result[name] = str(path)
        for name, one in with_role(command, "output", "output_folder").items():
            if one.metadata["positional"] or name in PLACES.get(command, ()):
                result[name] = str(tmp_path / "new-output")
        return result

    return values


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def refused(argv: list[str], capsys: pytest.CaptureFixture[str], *words: str) -> None:
    before = contents(Path.cwd())
    assert main(argv) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1, error
    for word in words:
        assert word in error, error
    assert contents(Path.cwd()) == before


def test_every_output_has_its_role() -> None:
    commands = [" ".join(path) for path in command_paths()]
    found = {}
    for command in commands:
        if command not in ("generate", "world"):  # these mark their folders as their own
            files = with_role(command, "output")
            folders = [f"{name}/" for name in with_role(command, "output_folder")]
            if files or folders:
                found[command] = sorted([*files, *folders])
    assert found == {command: sorted(outs.split()) for command, outs in OUTPUTS.items()}


@pytest.mark.parametrize(("command", "out"), FILES)
@pytest.mark.parametrize("name", ["same", "link", "hard link", "dotted"])
def test_an_output_is_no_input(
    command: str,
    out: str,
    name: str,
    given: Callable[[str], dict[str, str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    for read in with_role(command, "input"):
        values = given(command)
        path = Path(values[read])
        other = Path("other-name")
        if name == "link":
            other.symlink_to(path)
        elif name == "hard link":
            os.link(path, other)
        elif name == "dotted":
            other = Path(f"../{Path.cwd().name}/./{path.name}")
        values[out] = str(path if name == "same" else other)
        refused(argv_of(command, values), capsys, out, read, "Choose another name")
        Path("other-name").unlink(missing_ok=True)


@pytest.mark.parametrize(("command", "out"), FILES)
def test_an_output_is_no_file_of_an_input_folder(
    command: str,
    out: str,
    given: Callable[[str], dict[str, str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    for read in with_role(command, "input"):
        values = given(command)
        folder = Path("folder/deep")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "dev.json").write_bytes(GARBAGE)
        Path("linked.json").write_bytes(GARBAGE)
        (folder / "link.json").unlink(missing_ok=True)
        (folder / "link.json").symlink_to(Path("linked.json").resolve())
        for path in (folder / "dev.json", Path("linked.json")):
            values |= {read: "folder", out: str(path)}
            refused(argv_of(command, values), capsys, out, read, "a file in")


@pytest.mark.parametrize(("command", "first", "second"), PAIRS)
def test_two_outputs_are_two_files(
    command: str,
    first: str,
    second: str,
    given: Callable[[str], dict[str, str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    values = given(command) | {first: "x/out.json", second: "./x/../x/out.json"}
    refused(argv_of(command, values), capsys, first, second, "one of the two would be lost")
    Path("old.json").write_bytes(GARBAGE)
    Path("link.json").symlink_to("old.json")
    values |= {first: "old.json", second: "link.json"}
    refused(argv_of(command, values), capsys, first, second)
    assert main(argv_of(command, values | {first: "/dev/null", second: "/dev/null"})) == 2
    assert "would be lost" not in capsys.readouterr().err


@pytest.mark.parametrize("command", FOLDERS)
def test_an_output_folder_is_no_input(
    command: str, given: Callable[[str], dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("folder").mkdir()
    Path("folder/train.json").write_bytes(GARBAGE)
    for read in with_role(command, "input"):
        out = OUTPUTS[command].rstrip("/")
        values = given(command) | {read: "folder", out: "./folder"}
        refused(argv_of(command, values), capsys, out, read)


@pytest.mark.parametrize("command", [*FOLDERS, "generate", "world"])
@pytest.mark.parametrize("name", ["a\x00b", "\ud800/x", "file", "file/x", "x" * 300])
def test_names_that_are_no_folders(
    command: str,
    name: str,
    given: Callable[[str], dict[str, str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("file").write_bytes(GARBAGE)
    out = OUTPUTS.get(command, "--out").rstrip("/")
    refused(argv_of(command, given(command) | {out: name}), capsys)


@pytest.mark.parametrize(
    ("command", "read", "name"),
    [
        ("arc-da convert import-answers", "FILES", "30_crowd.jsonl"),
        ("arc-da convert filter", "--arc", "00_source.jsonl"),
        ("arc-da rate-import", "FILES", "ratings.jsonl"),
    ],
)
def test_a_file_that_a_folder_gets_is_no_input(
    command: str,
    read: str,
    name: str,
    given: Callable[[str], dict[str, str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("folder").mkdir()
    (Path("folder") / name).write_bytes(GARBAGE)
    out = OUTPUTS[command].rstrip("/")
    refused(argv_of(command, given(command) | {read: f"folder/{name}", out: "folder"}), capsys, out)


def test_a_corpus_does_not_replace_its_source(
    given: Callable[[str], dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("folder").mkdir()
    Path("folder/corpus.jsonl").write_bytes(GARBAGE)
    refused(["corpus", "folder/corpus.jsonl", "folder"], capsys, "OUT", "SOURCE")


@pytest.mark.parametrize(("command", "out"), FILES)
@pytest.mark.parametrize("name", [".", "/", "folder", "a\x00b", "\ud800.json", "input0.json/x"])
def test_names_that_cannot_be_written(
    command: str,
    out: str,
    name: str,
    given: Callable[[str], dict[str, str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    values = given(command) | {out: name}
    Path("folder").mkdir()
    refused(argv_of(command, values), capsys)


@pytest.mark.parametrize(("command", "out"), FILES)
def test_what_is_no_file_stays(
    command: str,
    out: str,
    given: Callable[[str], dict[str, str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    values = given(command)
    for read in with_role(command, "input"):
        Path(values[read]).unlink()
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDWR | os.O_NONBLOCK)  # else opening it waits for a reader
    Path("private.json").write_bytes(GARBAGE)
    Path("private.json").chmod(0o600)
    Path("link.json").symlink_to("private.json")
    names = ["pipe", "private.json", "link.json", *device(Path("device"))]
    before = {name: os.lstat(name) for name in names}
    for name in names:
        refused(argv_of(command, values | {out: name}), capsys)
    for name in names:
        assert os.lstat(name).st_ino == before[name].st_ino
        assert os.lstat(name).st_mode == before[name].st_mode
    os.close(reader)


def device(path: Path) -> list[str]:
    """Make a copy of /dev/null where that is allowed."""
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    except (OSError, AttributeError):
        return []
    return [str(path)]


def test_a_pipe_is_written_into(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_json(pipe, {"a": 1})
    reader.join(10)
    assert json.loads(received[0]) == {"a": 1}
    assert stat.S_ISFIFO(os.lstat(pipe).st_mode)
    assert os.listdir(tmp_path) == ["pipe"]


def test_devices_stay_devices(tmp_path: Path) -> None:
    for name in ["/dev/null", *device(tmp_path / "null")]:
        write_text(name, "text")
        assert stat.S_ISCHR(os.lstat(name).st_mode)
    if Path("/dev/full").exists():
        with pytest.raises(DataError, match="/dev/full: cannot be written .*No space left"):
            write_text("/dev/full", "text")
        assert stat.S_ISCHR(os.lstat("/dev/full").st_mode)


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
@pytest.mark.parametrize("to", ["pipe", "file"])
def test_standard_output_is_written_into(name: str, to: str, tmp_path: Path) -> None:
    code = (
        "from twowiki.io.files import write_text; import sys; print('before');"
        f"write_text({name!r}, 'text\\n'); print('after')"
    )
    with open(tmp_path / "out", "w+", encoding="utf-8") as file:
        target: Any = file if to == "file" else subprocess.PIPE
        done = subprocess.run([sys.executable, "-c", code], stdout=target, check=True, text=True)
        file.seek(0)
        assert (file.read() if to == "file" else done.stdout) == "before\ntext\nafter\n"
    assert os.listdir(tmp_path) == ["out"]


def test_process_substitution() -> None:
    code = "import sys; from twowiki.io.files import write_text; write_text(sys.argv[1], 'text')"
    script = f'{sys.executable} -c "{code}" >(cat); wait'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("text", "")


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/r.json").write_text("old")
    link = tmp_path / "link.json"
    link.symlink_to("real/r.json")
    (tmp_path / "new.json").symlink_to("real/new/n.json")
    for path, target in ((link, "real/r.json"), (tmp_path / "new.json", "real/new/n.json")):
        write_text(path, "new")
        assert path.is_symlink()
        assert (tmp_path / target).read_text() == "new"
        assert not (tmp_path / target).is_symlink()
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    with pytest.raises(DataError, match="loop: cannot be written"):
        write_text(loop, "new")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o755])
def test_permissions_stay(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    path.chmod(mode)
    write_text(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_new_files_have_the_usual_permissions(mask: int, tmp_path: Path) -> None:
    old = os.umask(mask)
    try:
        write_text(tmp_path / "a.json", "new")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "a.json").stat().st_mode) == 0o666 & ~mask


def test_long_names(tmp_path: Path) -> None:
    path = tmp_path / ("é" * 127)
    write_text(path, "text")
    assert path.read_text() == "text"
    with pytest.raises(DataError, match="cannot be written"):
        write_text(tmp_path / ("x" * 300), "text")


def test_a_planted_link_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    drawn = iter(["00000000", "11111111"])
    monkeypatch.setattr("secrets.token_hex", lambda _: next(drawn))
    (tmp_path / ".a.json.twowiki-00000000.tmp").symlink_to(victim)
    write_text(tmp_path / "a.json", "new")
    assert victim.read_text() == "precious"
    assert (tmp_path / "a.json").read_text() == "new"


WRITER = """
import sys
from twowiki.io.files import replacing
with replacing(sys.argv[1]) as stream:
    stream.write("half")
    stream.flush()
    print("ready", flush=True)
    sys.stdin.read()
"""


def test_a_kill_leaves_nothing_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    others = ["deadbeef.tmp", ".a.json.twowiki-notes.tmp", ".a.json.17519.tmp", "a.json.tmp"]
    for name in others:
        (tmp_path / name).write_text("of the user")
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for _ in range(2)
    ]
    killed, alive = processes
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    for end in (killed.stdin, killed.stdout):
        assert end is not None
        end.close()
    assert path.read_text() == "old"
    assert len(os.listdir(tmp_path)) == len(others) + 3
    with replacing(path) as stream:
        stream.write("new")
        assert len(os.listdir(tmp_path)) == len(others) + 3  # the living one's, and this one's
    assert path.read_text() == "new"
    alive.communicate(timeout=60)
    assert alive.returncode == 0
    assert path.read_text() == "half"
    assert sorted(os.listdir(tmp_path)) == sorted(["a.json", *others])


def test_many_writers_of_one_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    end = time.monotonic() + 2

    def write(number: int) -> None:
        while time.monotonic() < end:
            write_text(path, str(number) * 10_000)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    while time.monotonic() < end:
        if path.exists():
            assert len(path.read_text()) == 10_000
    for thread in threads:
        thread.join()
    assert os.listdir(tmp_path) == ["a.json"]


def test_outputs_of_real_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "dev.json"
    source.write_text("[]")
    findings = tmp_path / "findings.json"
    findings.write_text("old")
    findings.chmod(0o600)
    link = tmp_path / "link.json"
    link.symlink_to("findings.json")
    for name in (link, Path("/dev/null"), *map(Path, device(tmp_path / "null"))):
        assert main(["validate", str(source), "--output", str(name)]) == 0, capsys.readouterr()
    assert link.is_symlink()
    assert isinstance(json.loads(findings.read_text()), dict)
    assert stat.S_IMODE(findings.stat().st_mode) == 0o600


def test_a_page_or_card_is_renewed_in_its_folder(tmp_path: Path) -> None:
    from twowiki.cli.models import CardCommand
    from twowiki.io.outputs import check_outputs

    (tmp_path / "README.md").write_text("old")
    check_outputs(CardCommand(run_dir=tmp_path, out=tmp_path / "README.md"))
    (tmp_path / "model.safetensors").write_text("weights")
    with pytest.raises(DataError, match=r"OUT is a file in RUN"):
        check_outputs(CardCommand(run_dir=tmp_path, out=tmp_path / "model.safetensors"))
