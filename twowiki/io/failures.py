"""The last line of defense: whatever ends a command ends it with one sentence and an exit code.

In: the work of a command. Out: its exit code. Errors that are meant for people are printed as they
are. Any other one is named in a sentence, with its traceback in a log file; `--traceback`, or
`TWOWIKI_TRACEBACK=1` in the environment, prints the traceback instead. Ctrl-C and SIGTERM end the
work in one line, inside a library's code as well.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from twowiki.errors import DataError, missing_package
from twowiki.io.files import HALF_CHARACTER, NO_ROOM

TRACEBACK_FLAG = "--traceback"
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_LONGEST = 300


class Stopped(KeyboardInterrupt):
    """SIGTERM, which ends the work as Ctrl-C does."""


def run_guarded(
    program: Callable[[], str],
    work: Callable[[list[str]], int],
    arguments: Sequence[str] | None = None,
    *,
    expected: tuple[type[Exception], ...] = (),
) -> int:
    """Run a command's work; return its exit code, or print the sentence that says why it ended.

    Args:
        program: returns the command's name, when it is needed.
        work: what the command does with its arguments.
        arguments: the command line (default: that of the process).
        expected: exceptions whose text is the sentence, beyond `DataError` and `OSError`.
    """
    argv, show_traceback = _without_flag(sys.argv[1:] if arguments is None else arguments)
    received: list[int] = []
    with _signals_noted(received):
        try:
            return work(argv)
        except BrokenPipeError:  # the reader (`| head`) has closed the pipe
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        except (Exception, KeyboardInterrupt) as error:
            if received or isinstance(error, KeyboardInterrupt):
                terminated = received[:1] == [signal.SIGTERM]
                code, sentence = (143, "terminated") if terminated else (130, "stopped")
            else:
                code, sentence = 2, _sentence(error, expected, show_traceback)
            print(f"{program()}: {sentence}", file=sys.stderr)
            return code


@contextmanager
def damage_named(path: Path, remedy: str) -> Iterator[None]:
    """Turn what libraries raise about files of ours that were damaged into one error.

    Args:
        path: the file, or the folder of the files.
        remedy: what to do about it.
    """
    try:
        yield
    except (DataError, ImportError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        problem = f"is damaged ({_short(error)})"
        raise DataError(problem, file=path, remedy=remedy) from error


def _short(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _without_flag(argv: Sequence[str]) -> tuple[list[str], bool]:
    """Return a command line without `--traceback`, and whether tracebacks are printed."""
    argv = list(argv)
    end = argv.index("--") if "--" in argv else len(argv)
    kept = [word for word in argv[:end] if word != TRACEBACK_FLAG]
    shown = len(kept) < end or os.environ.get("TWOWIKI_TRACEBACK", "") not in ("", "0")
    return [*kept, *argv[end:]], shown


@contextmanager
def _signals_noted(received: list[int]) -> Iterator[None]:
    """Note signals and raise: a library may turn the exception into one of its own."""
    owner = os.getpid()

    def note(number: int, frame: FrameType | None) -> None:
        if os.getpid() != owner:  # a forked worker ends without a word
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        received.append(number)
        raise Stopped if number == signal.SIGTERM else KeyboardInterrupt

    defaults = (signal.SIG_DFL, signal.default_int_handler)
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.getsignal(number) for number in _SIGNALS}
        for number, handler in before.items():
            if handler in defaults:
                signal.signal(number, note)
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler in defaults:
                signal.signal(number, handler)


def _sentence(
    error: BaseException, expected: tuple[type[Exception], ...], show_traceback: bool
) -> str:
    """Return what a person should know of an exception."""
    if isinstance(error, ModuleNotFoundError) and (sentence := missing_package(error)):
        return sentence
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        return f"{error}. Make room, and start it again"
    if isinstance(error, (DataError, OSError, *expected)):
        return str(error)
    if isinstance(error, MemoryError):
        return "out of memory. Use smaller batches, fewer processes or a machine with more memory"
    if isinstance(error, UnicodeEncodeError) and HALF_CHARACTER.match(error.object, error.start):
        text = ascii(error.object[max(0, error.start - 80) : error.start + 20])
        return f"{text} is no UTF-8 text: it holds half a character. Rename or correct it"
    if isinstance(error, RuntimeError) and str(error).startswith("Symlink loop"):
        return f"{_short(error)}. Name a file that the link should point to"
    problem = f"unexpected {type(error).__name__}: {_short(error) if str(error) else 'no message'}"
    if show_traceback:
        traceback.print_exception(error)
        return problem
    with suppress(OSError):
        return f"{problem}. The traceback is in {_write_log(error)}; {TRACEBACK_FLAG} prints it"
    return f"{problem}. {TRACEBACK_FLAG} prints the traceback"


def _write_log(error: BaseException) -> str:
    """Write the traceback to a file of its own in the system's temporary folder."""
    with tempfile.NamedTemporaryFile(
        "w", prefix="twowiki-", suffix=".log", delete=False, encoding="utf-8",
        errors="backslashreplace",
    ) as stream:  # fmt: skip
        stream.write(f"{' '.join(sys.argv)}\n\n")
        stream.writelines(traceback.format_exception(error))
    return stream.name
