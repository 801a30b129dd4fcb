"""The command that encodes a run's data before the run, where no GPU waits for it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields

from twowiki.errors import DataError
from twowiki.io.arguments import argument, check_values, positional


@dataclass(frozen=True)
class EncodeCommand:
    """Encode the data of a training run, with all cores, before the run.

    The run itself, with the same settings, then finds everything encoded: vocabulary, relations
    and examples. Do this where processors are cheap, or before a job on several GPUs. Nothing is
    encoded twice: what is there already is only opened.
    """

    config: str = positional(
        "configuration of the run: a name that `python -m twowiki.train --help` lists, or a file",
        "",
    )
    data_dir: str = argument("", "folder (or archive) of the data set, or `download`", role="input")
    train_file: str = argument("", "file of training examples", role="input")
    validation_file: str = argument("", "file of validation examples", role="input")
    model_name_or_path: str = argument("", "model that the run starts from")
    output_dir: str = argument("", "the run's folder; empty = runs/ and the configuration's name")
    cache_dir: str = argument("", "folder for what is encoded; empty = in output_dir")
    set: list[str] = argument([], "further settings of the run", metavar="NAME=VALUE")

    def run(self) -> int:
        """Encode; print what was encoded, and where."""
        from twowiki.training.checkpoints import find_start
        from twowiki.training.task import make_task, read_settings

        settings = read_settings(self._flags())
        check_values(settings)  # no more: there may be no GPU here
        task = make_task(settings)
        for line in task.announce():
            print(line, file=sys.stderr)
        task.prepare(find_start(settings, None))
        print(*task.describe(), sep="\n")
        return 0

    def _flags(self) -> list[str]:
        """Return the command line of the run."""
        flags = []
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name != "set" and value:
                flags.append(f"--{one.name}={value}")
        for pair in self.set:
            name, equals, value = pair.partition("=")
            if not (equals and name):
                raise DataError(f"--set takes NAME=VALUE, not {pair!r}")
            flags.append(f"--{name}={value}")
        return flags
