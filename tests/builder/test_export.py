"""An export is typed, complete, resumable, atomic, and says in its card what it holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from datasets import load_dataset

import twowiki
from tests.made_up import ALIASES, write_array, write_release, write_zip
from twowiki.builder import export as exporting
from twowiki.builder.dataset_card import write_dataset_card
from twowiki.data.schema import parse_record, to_official
from twowiki.data.sources import read_examples
from twowiki.errors import DataError

Records = list[dict[str, Any]]


def many(records: Records, count: int) -> Records:
    return [{**records[n % len(records)], "_id": f"id-{n}"} for n in range(count)]


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_plain_parquet_with_card_and_aliases(tmp_path: Path, records: Records) -> None:
    out = tmp_path / "out"
    counts = twowiki.export(write_zip(tmp_path / "data_ids_april7.zip", records), out)
    assert counts == {"train": 5, "validation": 3, "test": 3}
    table = pq.read_table(out / "data_ids_april7" / "train-00000-of-00001.parquet")
    assert table["supporting_facts"][0].as_py() == [
        {"title": "Tavik Orrel", "sent_id": 0},
        {"title": "Dessa Orrel", "sent_id": 1},
    ]
    assert not any("arrow.json" in str(field.type) for field in table.schema)
    assert (out / "id_aliases.json").read_text(encoding="utf-8") == ALIASES
    card = yaml.safe_load((out / "README.md").read_text(encoding="utf-8").split("---\n")[1])
    assert card["license"] == "apache-2.0"
    assert [split["num_examples"] for split in card["dataset_info"][0]["splits"]] == [5, 3, 3]
    assert sorted(path.name for path in out.iterdir()) == [
        ".twowiki.json",
        "README.md",
        "data_ids_april7",
        "id_aliases.json",
    ]


def test_the_cards_snippet_runs(
    tmp_path: Path, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    twowiki.export(write_release(tmp_path / "r", records), tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    snippet = card.split("```python\n")[1].split("```")[0]
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(snippet.replace("path/or/repo", "out"), names)
    assert len(names["rows"]) == 5


def test_shards_and_rows_keep_their_order(tmp_path: Path, records: Records) -> None:
    source = write_array(tmp_path / "train.json", many(records, 3500))
    twowiki.export(source, tmp_path / "out", shard_rows=1000)
    folder = tmp_path / "out" / "data_ids_april7"
    shards = sorted(path.name for path in folder.iterdir())
    assert shards == [f"train-0000{n}-of-00004.parquet" for n in range(4)]
    assert pq.read_metadata(folder / shards[3]).num_rows == 500
    rows = load_dataset(str(tmp_path / "out"), split="train")
    assert [to_official(row) for row in rows] == many(records, 3500)
    read = list(read_examples(tmp_path / "out"))
    assert read == [parse_record(record) for record in many(records, 3500)]


def test_a_killed_export_goes_on_and_gives_the_same_bytes(
    tmp_path: Path, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_array(tmp_path / "train.json", many(records, 3500))
    twowiki.export(source, tmp_path / "whole", shard_rows=1000)
    written: list[int] = []
    groups = exporting._row_groups

    def dying(stream: Any, schema: Any) -> Any:
        for number, group in enumerate(groups(stream, schema)):
            if number == 2 and not written:
                raise KeyboardInterrupt
            yield group

    monkeypatch.setattr(exporting, "_row_groups", dying)
    with pytest.raises(KeyboardInterrupt):
        twowiki.export(source, tmp_path / "out", shard_rows=1000)
    partial = tmp_path / "out" / ".data_ids_april7.partial"
    assert [path.name for path in sorted(partial.glob("*.parquet"))] == ["train-00000.parquet"]
    before = (partial / "train-00000.parquet").stat().st_mtime_ns
    written.append(1)
    twowiki.export(source, tmp_path / "out", shard_rows=1000)
    assert files(tmp_path / "out") == files(tmp_path / "whole")
    final = tmp_path / "out" / "data_ids_april7" / "train-00000-of-00004.parquet"
    assert final.stat().st_mtime_ns == before


def test_a_changed_source_is_not_mixed_with_what_was_begun(
    tmp_path: Path, records: Records
) -> None:
    source = write_array(tmp_path / "train.json", [*many(records, 1500), {"_id": "broken"}])
    with pytest.raises(DataError, match="broken"):
        twowiki.export(source, tmp_path / "out", shard_rows=1000)
    write_array(source, many(records[:1], 1200))
    assert twowiki.export(source, tmp_path / "out", shard_rows=1000) == {"train": 1200}


def test_bad_input_loses_nothing_of_an_earlier_export(tmp_path: Path, records: Records) -> None:
    source = write_array(tmp_path / "train.json", records)
    twowiki.export(source, tmp_path / "out")
    before = files(tmp_path / "out")
    write_array(source, [{**records[0], "type": "riddle"}])
    with pytest.raises(DataError, match="riddle"):
        twowiki.export(source, tmp_path / "out")
    kept = {name: data for name, data in files(tmp_path / "out").items() if ".partial" not in name}
    assert kept == before


def test_exporting_again_replaces_splits_and_keeps_other_configs(
    tmp_path: Path, records: Records
) -> None:
    out = tmp_path / "out"
    twowiki.export(write_release(tmp_path / "r", records), out)
    twowiki.export(write_array(tmp_path / "dev.json", records[:2]), out)
    twowiki.export(write_array(tmp_path / "train.json", records[2:4]), out, "data")
    assert set(load_dataset(str(out))) == {"validation"}
    assert len(load_dataset(str(out), "data", split="train")) == 2
    card = yaml.safe_load((out / "README.md").read_text(encoding="utf-8").split("---\n")[1])
    assert [entry["config_name"] for entry in card["configs"]] == ["data_ids_april7", "data"]


def test_a_cards_own_words_stay(tmp_path: Path, records: Records) -> None:
    out = tmp_path / "out"
    twowiki.export(write_array(tmp_path / "dev.json", records), out)
    readme = out / "README.md"
    text = readme.read_text(encoding="utf-8")
    readme.write_text(
        text.replace("license: apache-2.0", "license: mit") + "\nMy words.\n", encoding="utf-8"
    )
    twowiki.export(write_array(tmp_path / "dev.json", records[:3]), out)
    again = readme.read_text(encoding="utf-8")
    assert again.endswith("My words.\n")
    assert "license: mit" in again
    assert "| data_ids_april7 | validation | 3 |" in again
    readme.write_text("---\n: [\n---\n", encoding="utf-8")
    with pytest.raises(DataError, match="header is broken"):
        write_dataset_card(out)


def test_the_upload_folder_still_loads(tmp_path: Path, records: Records) -> None:
    import shutil

    folder = tmp_path / "loading_script"
    shutil.copytree(Path(__file__).parents[2] / "loading_script", folder)
    twowiki.export(write_release(tmp_path / "r", records), folder)
    found = load_dataset(str(folder), "data_ids_april7")
    assert [to_official(row) for row in found["train"]] == records[:5]
    assert len(load_dataset(str(folder))["validation"]) == 3
    assert "Known oddities" in (folder / "README.md").read_text(encoding="utf-8")


def test_the_upload_folders_card_tells_the_features() -> None:
    from datasets import Features

    from twowiki.builder.features import FEATURES

    text = (Path(__file__).parents[2] / "loading_script" / "README.md").read_text("utf-8")
    card = yaml.safe_load(text.split("---\n")[1])
    for info in card["dataset_info"]:
        assert Features._from_yaml_list(info["features"]) == FEATURES
        assert [s["num_examples"] for s in info["splits"]] == [167454, 12576, 12576]


@pytest.mark.parametrize("rows", [0, -1000, 1500])
def test_odd_shard_sizes_are_refused(rows: int, tmp_path: Path, records: Records) -> None:
    source = write_array(tmp_path / "dev.json", records)
    with pytest.raises(DataError, match="multiple of 1000"):
        twowiki.export(source, tmp_path / "out", shard_rows=rows)
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="is a file"):
        twowiki.export(source, tmp_path / "file")


def test_an_empty_split_is_left_out(tmp_path: Path, records: Records) -> None:
    write_array(tmp_path / "r" / "train.json", [])
    write_array(tmp_path / "r" / "dev.json", records)
    assert twowiki.export(tmp_path / "r", tmp_path / "out") == {"train": 0, "validation": 8}
    assert set(load_dataset(str(tmp_path / "out"))) == {"validation"}
    with pytest.raises(DataError, match=r"train\.json: no records"):
        twowiki.load_dataset(data_dir=tmp_path / "r")
    (tmp_path / "r" / "dev.json").unlink()
    with pytest.raises(DataError, match="no records"):
        twowiki.export(tmp_path / "r", tmp_path / "out")
