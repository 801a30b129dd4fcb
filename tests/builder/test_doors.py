"""The ways into `load_dataset` that people try first: a path, `dev`, one file, any import order."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import datasets
import pytest

import twowiki
from tests.made_up import write_array, write_lines, write_release
from twowiki.builder.builder import TwoWiki
from twowiki.data.schema import to_official
from twowiki.data.splits import split_expression, split_of_file
from twowiki.errors import DataError

Records = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("dev.json", "validation"),
        ("dev_x.json", "validation"),
        ("Dev-sample.jsonl.gz", "validation"),
        ("validation.sample.json", "validation"),
        ("val_100.json", "validation"),
        ("test_hard.parquet", "test"),
        ("train_100.json", "train"),
        ("train_for_dev.json", "train"),
        ("musique_ans_v1.0_dev.jsonl", "validation"),
        ("2wikimqa.jsonl", "train"),
        ("devices.json", "train"),
        ("test_and_dev.json", "test"),
        ("my_test_and_dev.json", "train"),
    ],
)
def test_a_files_name_tells_its_split(name: str, split: str) -> None:
    assert split_of_file(Path("train") / name) == split


@pytest.mark.parametrize(
    ("given", "known"),
    [
        ("dev", "validation"),
        ("dev[:10%]", "validation[:10%]"),
        ("train[:2]+dev[1:]", "train[:2]+validation[1:]"),
        (["dev", "test"], ["validation", "test"]),
        ("validation", "validation"),
        ("development", "development"),
        (None, None),
    ],
)
def test_dev_is_the_validation_split(given: Any, known: Any) -> None:
    assert split_expression(given) == known


def test_a_path_stands_in_the_place_of_a_config(
    tmp_path: Path, records: Records, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_array(tmp_path / "dev.json", records)
    for place in (str(path), path):
        rows = twowiki.load_dataset(place, split="dev")
        assert [to_official(row) for row in rows] == records
    assert "read as" not in capsys.readouterr().err
    odd = write_array(tmp_path / "dev_sample.json", records)
    for found in (twowiki.load_dataset(str(odd)), twowiki.load_dataset(data_files=odd)):
        assert {split: len(rows) for split, rows in found.items()} == {"validation": 8}
    assert "dev_sample.json: read as the split 'validation'" in capsys.readouterr().err
    release = write_release(tmp_path / "release", records)
    assert len(twowiki.load_dataset(str(release), split="dev+train[:1]")) == 4
    with pytest.raises(DataError, match=r"nothing\.json.*no such file"):
        twowiki.load_dataset(str(tmp_path / "nothing.json"))
    with pytest.raises(DataError, match="unknown config 'nothing'.*Known: data_ids_april7"):
        twowiki.load_dataset("nothing")


def test_dev_is_known_at_every_door(tmp_path: Path, records: Records) -> None:
    release = write_release(tmp_path / "release", records)
    files = {"dev": str(release / "dev.json")}
    builder = TwoWiki(data_dir=str(release))
    builder.download_and_prepare()
    doors = [
        twowiki.load_dataset(data_dir=release, split="dev"),
        twowiki.load_dataset(data_files=files, split="dev"),
        twowiki.load_dataset(data_dir=release, split="dev", streaming=True),
        datasets.load_dataset("twowiki", data_dir=str(release), split="dev"),
        builder.as_dataset("dev"),
    ]
    for rows in doors:
        assert [to_official(row) for row in rows] == records[5:]
    assert len(list(twowiki.read_examples(release, split="dev"))) == 3
    assert twowiki.score({"answer": {}}, release, split="dev").n == 3


def test_the_documented_order_of_imports(tmp_path: Path, records: Records) -> None:
    (tmp_path / "data").mkdir()
    write_lines(tmp_path / "data" / "dev.jsonl", records)
    code = (
        "import twowiki, datasets\n"
        "print(datasets.load_dataset('twowiki', data_dir='data', split='dev').num_rows)\n"
    )
    orders = (code, code.replace("twowiki, datasets", "datasets, twowiki"))
    for order in orders:
        out = subprocess.run(
            [sys.executable, "-c", order],
            cwd=tmp_path,
            env={**os.environ, "HF_HOME": str(tmp_path / "home")},
            capture_output=True,
            text=True,
            check=True,
        )
        assert out.stdout.strip() == "8"


@pytest.mark.slow
def test_a_world_loads_as_documented_with_its_hops(tmp_path: Path) -> None:
    code = (
        "import twowiki, datasets\n"
        "rows = datasets.load_dataset('twowiki', 'world', people=200, films=150, split='dev',\n"
        "                             limit_per_type=60)\n"
        "for row in rows:\n"
        "    hops = [one['hop'] for one in row['sub_questions']]\n"
        "    assert len(hops) == len(row['evidences']) and set(hops) <= {1, 2}, row\n"
        "    assert [tuple(one.values()) for one in row['sub_questions']] == "
        "[tuple(one) for one in twowiki.sub_questions(row)]\n"
        "print(rows.info.config_name, len(rows) > 10)\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "HF_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert out.stdout.splitlines()[-1:] == ["world True"], out.stderr[-2000:]


@pytest.mark.parametrize("how", ["folder", "file", "named"])
def test_a_folder_of_a_world_is_read_and_not_made_anew(
    how: str, tmp_path: Path, records: Records
) -> None:
    folder = tmp_path / "data"
    write_array(folder / "dev.json", records)
    (folder / ".twowiki.json").write_text('{"command": "generate"}', encoding="utf-8")
    (folder / "report.json").write_text('{"world": {"people": 60}}', encoding="utf-8")
    given: dict[str, Any] = {
        "folder": {"data_dir": folder},
        "file": {"data_files": str(folder / "dev.json")},
        "named": {"config": "world", "data_dir": folder},
    }[how]
    rows = twowiki.load_dataset(**given)["validation"]
    assert rows["id"] == [record["_id"] for record in records]
    with pytest.raises(DataError, match="files are named"):
        twowiki.load_dataset(**{"config": "world", **given}, people=60)
