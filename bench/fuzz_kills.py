"""Long commands, killed at random moments; what they then finish equals an unbroken run."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

from fuzz_commands import Wrong

from tests.hostile.long_commands import (
    LONG,
    Served,
    finish,
    kill_and_finish,
    kill_pushes,
    prepare,
    results,
)

PUSH = "push"


class Kills:
    """Unbroken runs of all long commands, and trials that kill one of them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.given = folder, prepare(folder / "given")
        self.unbroken: dict[str, tuple[float, dict[str, bytes]]] = {}
        self.count = 0

    def trial(self, rng: Random) -> str:
        """Kill a command one to three times and let it finish; return its name.

        Raises:
            Wrong: the result differs, a file of the user changed, or it does not finish.
        """
        name = rng.choice([*LONG, PUSH])
        try:
            if name == PUSH:
                with Served(self.folder / "push") as served:
                    self.count += kill_pushes(served, [rng.uniform(0, 4) for _ in range(2)])
                return name
            self._kill(name, rng)
        except AssertionError as error:
            raise Wrong("loss", f"{name}: {error}"[:3000]) from error
        return name

    def _kill(self, name: str, rng: Random) -> None:
        if name not in self.unbroken:
            out = self.folder / "whole"
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()
            seconds = finish(LONG[name].line(self.given, out))
            self.unbroken[name] = seconds, results(out, LONG[name].changing)
        seconds, whole = self.unbroken[name]
        moments = [rng.uniform(0, seconds) for _ in range(rng.randint(1, 3))]
        mine = {"notes.txt": "mine"}
        found, kills = kill_and_finish(name, self.given, self.folder / "out", moments, mine)
        self.count += kills
        found = {file: value for file, value in found.items() if file not in mine}
        different = [one for one in whole.keys() | found.keys() if whole.get(one) != found.get(one)]
        assert not different, f"killed at {moments}: {sorted(different)[:5]} differ"
