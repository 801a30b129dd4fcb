"""The oldest supported `datasets` still loads: the script, the folder, the short door."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

from tests.made_up import write_release

ROOT = Path(__file__).parents[2]
CHECK = """
import sys
import datasets
from datasets import load_dataset
import twowiki
from twowiki.data.schema import to_official

script, release, out, folder = sys.argv[1:]
doors = [
    load_dataset(script, data_dir=release, trust_remote_code=True),
    load_dataset(script, "data_ids_april7", data_dir=release, trust_remote_code=True,
                 streaming=True),
    twowiki.load_dataset(data_dir=release),
    load_dataset("twowiki", data_dir=release),
    load_dataset(out),
    load_dataset(folder),
]
first = [to_official(row) for row in doors[0]["train"]]
assert len(first) == 5
for door in doors[1:]:
    assert [to_official(row) for row in door["train"]] == first
print("same through", len(doors), "doors of", datasets.__version__)
"""


@pytest.mark.slow
def test_the_oldest_datasets_loads_it(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    import twowiki

    release = write_release(tmp_path / "release", records)
    twowiki.export(release, tmp_path / "out")
    folder = tmp_path / "loading_script"
    shutil.copytree(ROOT / "loading_script", folder)
    twowiki.export(release, folder)
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    source = tmp_path / "source"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(".*", "build", "*.egg-info"))
    for wanted in (
        ["datasets==3.6.0", "orjson", "numpy", "pyyaml", "msgspec", "jinja2", "filelock"],
        ["--no-deps", str(source)],
    ):
        done = subprocess.run(
            [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *wanted],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            pytest.skip(f"no environment with datasets 3.6.0 here: {done.stderr[-300:]}")
    script = folder / "two_wiki_multihop_qa.py"
    out = subprocess.run(
        [python, "-c", CHECK, script, release, tmp_path / "out", folder],
        capture_output=True,
        text=True,
        env={**os.environ, "HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "1"},
        cwd=tmp_path,
        check=False,
    )
    assert out.returncode == 0, out.stderr
    assert "same through 6 doors of 3.6.0" in out.stdout
