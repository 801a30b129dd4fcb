"""What the GPU benches share: lines that are kept at once, rows that may fail, an exit status."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch


def arguments(description: str | None, minutes: float) -> argparse.ArgumentParser:
    """The options that every bench has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--minutes", type=float, default=minutes, help="begin no row after these")
    parser.add_argument("--device", default="cuda", help="cpu shows that the script runs")
    parser.add_argument("--quick", action="store_true", help="tiny, no meaning")
    parser.add_argument("--output", type=Path, help="file for what is printed, too")
    return parser


class Report:
    """Prints a bench's lines and writes them to a file, each when it is known.

    Args:
        given: the options of the bench.
    """

    def __init__(self, given: argparse.Namespace) -> None:
        if given.device == "cuda" and not torch.cuda.is_available():
            raise SystemExit("no GPU here (--quick --device cpu shows that the script runs)")
        self.device, self.output, self.failed = given.device, given.output, False
        seconds = 3600.0 if given.quick and given.minutes > 0 else 60 * given.minutes
        self.deadline = time.monotonic() + seconds
        if self.output:
            self.output.write_text("", encoding="utf-8")

    def head(self, columns: str, *, about: str) -> None:
        """Name the card, and begin a table."""
        self.line(f"{card(self.device)}, torch {torch.__version__}, {about}\n")
        self.line(f"| {columns} |\n|{'---|' * (columns.count('|') + 1)}")

    def line(self, text: str) -> None:
        """Print and keep a line."""
        print(text, flush=True)
        if self.output:
            with self.output.open("a", encoding="utf-8") as stream:
                stream.write(text + "\n")

    def row(self, name: str, work: Callable[[], str]) -> bool:
        """Add the cells of a row; whether it makes sense to go on with larger ones."""
        if time.monotonic() > self.deadline:
            self.line(f"| {name} | no time left, not run |")
            return False
        try:
            self.line(f"| {name} | {work()} |")
            return True
        except torch.OutOfMemoryError:
            self.line(f"| {name} | does not fit |")
        except Exception as error:  # whatever it is: the other rows are still of use
            said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            self.line(f"| {name} | failed: {said} |")
            self.failed = True
        if self.device == "cuda":
            torch.cuda.empty_cache()
        return False

    @property
    def status(self) -> int:
        """The exit status: 1 if a row failed."""
        return int(self.failed)


def card(device: str) -> str:
    """Name the device."""
    return torch.cuda.get_device_name(0) if device == "cuda" else "CPU"


def rate(work: Callable[[], Any], size: int, given: argparse.Namespace) -> float:
    """Return examples per second, after a warm-up, over about three seconds."""
    for _ in range(1 if given.quick else 3):
        work()
    wait(given.device)
    started, rounds, goal = time.perf_counter(), 0, 0.0 if given.quick else 3.0
    while rounds < 2 or time.perf_counter() - started < goal:
        for _ in range(2):  # a step waits for no other
            work()
        wait(given.device)
        rounds += 2
    return size * rounds / (time.perf_counter() - started)


def wait(device: str) -> None:
    """Wait until the device has done everything."""
    if device == "cuda":
        torch.cuda.synchronize()


def peak(device: str) -> float:
    """Return the most memory so far in GiB; 0 on a CPU."""
    return torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else 0.0


def reset_peak(device: str) -> None:
    """Measure the most memory from here."""
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
