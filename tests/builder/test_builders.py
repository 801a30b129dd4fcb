"""Every door of `load_dataset` gives the same typed rows, never stale ones."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import datasets
import pytest
from datasets import load_dataset

import twowiki
from tests.made_up import hidden, write_array, write_lines, write_release, write_zip
from twowiki.builder import builder as builders
from twowiki.builder.features import FEATURES, features
from twowiki.data import releases
from twowiki.data.arrow import tables, to_table
from twowiki.data.schema import CONFIGS, parse_record, to_official, to_row
from twowiki.errors import DataError

Records = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(datasets.config, "DOWNLOADED_DATASETS_PATH", tmp_path / "downloads")


@pytest.fixture
def release(tmp_path: Path, records: Records) -> Path:
    return write_release(tmp_path / "release", records)


def official(rows: Any, config: str = "data_ids_april7") -> Records:
    return [to_official(row, config) for row in rows]


def check_release(found: Any, records: Records) -> None:
    wanted = {"train": records[:5], "validation": records[5:]}
    wanted["test"] = [hidden(record) for record in records[:3]]
    assert set(found) == set(wanted)
    for split, expected in wanted.items():
        assert found[split].features == FEATURES
        assert official(found[split]) == expected


def test_features_are_typed_lists_of_structs() -> None:
    text = repr(FEATURES)
    assert "Json" not in text
    assert FEATURES["supporting_facts"] == datasets.List(
        {"title": datasets.Value("string"), "sent_id": datasets.Value("int32")}
    )


@pytest.mark.parametrize("config", CONFIGS)
def test_columns_agree_with_features(config: str, records: Records) -> None:
    kind = "bridge" if config == "hotpotqa" else "inference"
    examples = [parse_record({**records[0], "type": kind}, config)]
    wanted = features(config).arrow_schema
    for batch in (examples, []):
        assert to_table(batch, config).schema.remove_metadata() == wanted.remove_metadata()
    assert to_table(examples, config).to_pylist() == [to_row(examples[0], config)]


def test_tables_start_small_and_lose_nothing(records: Records) -> None:
    example = parse_record(records[0])
    sizes = [table.num_rows for table in tables([example] * 3000)]
    assert sum(sizes) == 3000
    assert sizes[0] <= 16
    assert max(sizes) <= 256


def test_the_short_door(release: Path, records: Records) -> None:
    check_release(twowiki.load_dataset(data_dir=release), records)


def test_the_registered_door(release: Path, records: Records) -> None:
    (release / "dev_pred.json").write_text('{"answer": {}}')
    check_release(load_dataset("twowiki", data_dir=str(release)), records)
    check_release(load_dataset("twowiki", "data_ids_april7", data_dir=str(release)), records)


def test_the_class_itself(release: Path, records: Records) -> None:
    builder = builders.TwoWiki(data_dir=str(release))
    builder.download_and_prepare()
    check_release(builder.as_dataset(), records)


def test_the_exported_folder(release: Path, tmp_path: Path, records: Records) -> None:
    twowiki.export(release, tmp_path / "out")
    check_release(load_dataset(str(tmp_path / "out"), "data_ids_april7"), records)
    check_release(load_dataset(str(tmp_path / "out")), records)


def test_streaming_gives_the_same_rows(release: Path, records: Records) -> None:
    stored = twowiki.load_dataset(data_dir=release)
    twowiki.export(release, release.parent / "out")
    doors = [
        twowiki.load_dataset(data_dir=release, streaming=True),
        load_dataset("twowiki", data_dir=str(release), streaming=True),
        load_dataset(str(release.parent / "out"), streaming=True),
    ]
    for door in doors:
        for split in stored:
            assert list(door[split]) == list(stored[split])


def test_zips_and_single_files(tmp_path: Path, records: Records) -> None:
    archive = write_zip(tmp_path / "data_ids_april7.zip", records)
    check_release(twowiki.load_dataset(data_dir=archive), records)
    check_release(twowiki.load_dataset(data_dir=archive, streaming=True), records)
    (tmp_path / "folder").mkdir()
    moved = archive.rename(tmp_path / "folder" / archive.name)
    check_release(load_dataset("twowiki", data_dir=str(moved.parent)), records)
    splits = {"train": str(moved), "validation": str(moved), "test": str(moved)}
    check_release(load_dataset("twowiki", data_files=splits), records)
    single = write_array(tmp_path / "dev_sample.json", records)
    assert official(twowiki.load_dataset(data_dir=single)["validation"]) == records
    assert official(twowiki.load_dataset(data_files={"validation": single})["validation"]) == (
        records
    )
    assert official(load_dataset("twowiki", data_files=str(single), split="train")) == records
    packed = write_lines(tmp_path / "dev.jsonl.gz", records)
    assert official(twowiki.load_dataset(data_dir=packed, split="validation")) == records


def test_explicit_files_go_before_what_the_folder_holds(release: Path, records: Records) -> None:
    write_array(release / "sample.json", records[:2])
    found = load_dataset("twowiki", data_dir=str(release), data_files={"validation": "sample.json"})
    assert official(found["validation"]) == records[:2]


def test_slices_and_file_lists(release: Path, records: Records) -> None:
    both = twowiki.load_dataset(data_dir=release, split="train[:2]+validation")
    assert official(both) == [*records[:2], *records[5:]]
    files = [str(release / "train.json"), str(release / "dev.json")]
    assert official(twowiki.load_dataset(data_files=files, split="train")) == records
    again = twowiki.load_dataset(data_files=files, split="train", num_proc=2)
    assert official(again) == records


def test_config_kwargs_and_names(release: Path) -> None:
    assert datasets.get_dataset_config_names("twowiki", data_dir=str(release))[:4] == list(CONFIGS)
    info = twowiki.load_dataset("data", data_dir=release, split="train").info
    other = twowiki.load_dataset("data_ids", data_dir=release, split="train").info
    assert (info.config_name, other.config_name) == ("data", "data_ids")
    assert info.version != other.version
    assert info.features == other.features
    with pytest.raises(DataError, match="unknown config 'datas'.*data_ids"):
        twowiki.load_dataset("datas", data_dir=release)
    with pytest.raises(DataError, match=r"dat_files.*Did you mean data_files\?"):
        twowiki.load_dataset("data", dat_files=str(release))
    with pytest.raises(DataError, match="zzz.*docstring"):
        twowiki.load_dataset(data_dir=release, zzz=1)


@pytest.mark.parametrize("door", ["short", "registered", "class", "stream"])
def test_no_door_gives_stale_rows(door: str, tmp_path: Path, records: Records) -> None:
    path = tmp_path / "data" / "dev.json"

    def load() -> Any:
        if door == "short":
            return twowiki.load_dataset(data_dir=path.parent, split="validation")
        if door == "stream":
            return list(
                twowiki.load_dataset(data_dir=path.parent, split="validation", streaming=True)
            )
        if door == "registered":
            return load_dataset("twowiki", data_dir=str(path.parent), split="validation")
        builder = builders.TwoWiki(data_dir=str(path.parent))
        builder.download_and_prepare()
        return builder.as_dataset("validation")

    write_array(path, records[:1])
    assert len(load()) == 1
    write_array(path, records[:2])
    assert official(load()) == records[:2]


def test_hidden_then_full_splits_share_one_schema(tmp_path: Path, records: Records) -> None:
    bare = {"_id": "t1", "question": "?", "type": "inference", "context": [["A", ["s"]]]}
    write_array(tmp_path / "d" / "train.json", records)
    write_array(tmp_path / "d" / "test.json", [bare])
    found = twowiki.load_dataset(data_dir=tmp_path / "d")
    assert found["test"][0]["answer"] is None
    assert found["test"][0]["evidences"] == []
    assert found["train"].features == found["test"].features
    assert twowiki.data.has_gold(found["train"])
    assert not twowiki.data.has_gold(found["test"])


def test_rows_survive_saving(release: Path, tmp_path: Path, records: Records) -> None:
    rows = twowiki.load_dataset(data_dir=release, split="train")
    rows.save_to_disk(str(tmp_path / "saved"))
    assert official(datasets.load_from_disk(str(tmp_path / "saved"))) == records[:5]
    rows.to_parquet(str(tmp_path / "rows.parquet"))
    again = datasets.Dataset.from_parquet(str(tmp_path / "rows.parquet"))
    assert official(again) == records[:5]
    assert official(pickle.loads(pickle.dumps(rows))) == records[:5]


def test_iterable_datasets_resume_and_pickle(release: Path, records: Records) -> None:
    stream = twowiki.load_dataset(data_dir=release, split="train", streaming=True)
    assert official(stream.skip(2)) == records[2:5]
    iterator = iter(stream)
    next(iterator)
    state = stream.state_dict()
    stream.load_state_dict(state)
    assert official(stream) == records[1:5]
    fresh = twowiki.load_dataset(data_dir=release, split="train", streaming=True)
    assert official(pickle.loads(pickle.dumps(fresh))) == records[:5]


def first_title(row: dict[str, Any]) -> dict[str, str]:
    return {"first": row["context"][0]["title"]}


def test_map_gives_the_same_whatever_the_workers(release: Path) -> None:
    rows = twowiki.load_dataset(data_dir=release, split="train")
    assert list(rows.map(first_title, num_proc=2)) == list(rows.map(first_title))


@pytest.mark.parametrize("streaming", [False, True])
def test_a_bad_record_is_one_clear_error(streaming: bool, tmp_path: Path, records: Records) -> None:
    path = write_array(tmp_path / "d" / "dev.json", [*records, {**records[0], "type": "riddle"}])
    with pytest.raises(DataError) as caught:
        list(twowiki.load_dataset(data_dir=path.parent, streaming=streaming)["validation"])
    message = str(caught.value)
    for words in (str(path), records[0]["_id"], "'type'", "comparison, inference"):
        assert words in message


def test_a_truncated_array_streams_its_first_rows(tmp_path: Path, records: Records) -> None:
    many = [{**records[n % 8], "_id": str(n)} for n in range(2000)]
    path = write_array(tmp_path / "d" / "dev.json", many)
    path.write_bytes(path.read_bytes()[:-100])
    stream = twowiki.load_dataset(data_dir=path.parent, split="validation", streaming=True)
    assert next(iter(stream))["id"] == "0"
    got: list[Any] = []
    with pytest.raises(DataError, match="truncated.*character"):
        got.extend(stream)
    assert len(got) == 1999
    with pytest.raises(DataError, match="truncated.*character"):
        twowiki.load_dataset(data_dir=path.parent)


def test_a_code_file_in_place_of_data_says_what_to_do(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("print()")
    with pytest.raises(DataError, match="twowiki.load_dataset"):
        load_dataset("twowiki", data_files={"train": str(script)})


def test_the_hook_says_when_it_cannot_work(monkeypatch: pytest.MonkeyPatch) -> None:
    from datasets import packaged_modules

    monkeypatch.delattr(packaged_modules, "_PACKAGED_DATASETS_MODULES")
    with pytest.raises(ImportError, match=r"exported folder.*no registration"):
        twowiki.register()


def test_an_old_datasets_is_named() -> None:
    code = (
        "import datasets; datasets.__version__ = '2.14.0'\n"
        "try:\n    import twowiki.builder.builder\n"
        "except ImportError as error:\n    print(error)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "2.14.0" in out.stdout
    assert "3.6" in out.stdout


class Downloads:
    """A download manager that hands out a local file, as if it had been fetched."""

    is_streaming = False

    def __init__(self, path: Path) -> None:
        self.path = path

    def download(self, url: str) -> str:
        assert url.startswith("https://")
        return str(self.path)


def test_a_download_is_checked_and_a_bad_one_removed(
    tmp_path: Path, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = write_zip(tmp_path / "data_ids_april7.zip", records)
    with pytest.raises(DataError, match="258,968,175.*removed.*data_dir"):
        releases.fetch("data_ids_april7", Downloads(good))
    assert not good.exists()
    page = tmp_path / "page"
    page.write_text("<html>")
    (tmp_path / "page.json").write_text("{}")
    with pytest.raises(DataError, match="got a web page, not a zip"):
        releases.fetch("data", Downloads(page))
    assert not page.exists()
    assert not (tmp_path / "page.json").exists()
    other = write_zip(tmp_path / "data.zip", records)
    fetched = releases.fetch("data", Downloads(other))
    assert set(fetched) == {"train", "validation", "test"}
    assert {path for paths in fetched.values() for path in paths} == {str(other)}
    size = other.stat().st_size
    archive = releases.Archive("https://example.org/data.zip", size, "0" * 64)
    monkeypatch.setitem(releases.ARCHIVES, "data", archive)
    with pytest.raises(DataError, match="SHA-256"):
        releases.fetch("data", Downloads(other))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder and the loopback address under which it is served."""
    folder = tmp_path / "served"
    folder.mkdir()

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_release_is_downloaded_once_and_loaded(
    served: tuple[Path, str], records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, address = served
    page = folder / "data.zip"
    page.write_text("<!DOCTYPE html><html>quota exceeded</html>")
    monkeypatch.setitem(releases.ARCHIVES, "data", releases.Archive(f"{address}/data.zip"))
    with pytest.raises(DataError, match="got a web page, not a zip"):
        twowiki.load_dataset("data")
    write_zip(page, records)
    found = twowiki.load_dataset("data")
    assert official(found["train"])[0]["_id"] == records[0]["_id"]
    page.unlink()
    assert len(list(twowiki.load_dataset("data", split="train", streaming=True))) == 5


def test_configs_without_an_address_ask_for_a_folder() -> None:
    with pytest.raises(DataError, match="no download is known.*data_dir"):
        twowiki.load_dataset("hotpotqa")


def test_offline_says_what_to_do(tmp_path: Path) -> None:
    code = "import twowiki; twowiki.load_dataset()"
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    out = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **offline},
        timeout=60,
        check=False,
    )
    assert out.returncode != 0
    assert "cannot download the release" in out.stderr
    assert 'data_dir="path/to/data_ids_april7.zip"' in out.stderr


def test_reference_files_through_each_door(shared: Path, tmp_path: Path) -> None:
    path = shared / "data/two_wiki/dev250.json"
    raw = json.loads(path.read_text(encoding="utf-8"))
    builder = builders.TwoWiki(data_dir=str(path))
    builder.download_and_prepare()
    twowiki.export(path, tmp_path / "out")
    doors = [
        twowiki.load_dataset(data_dir=path)["validation"],
        twowiki.load_dataset(data_dir=path.parent, split="validation"),
        load_dataset("twowiki", data_dir=str(path.parent), split="validation"),
        load_dataset("twowiki", data_files={"validation": str(path)}, split="validation"),
        builder.as_dataset("validation"),
        load_dataset(str(tmp_path / "out"), "data_ids_april7", split="validation"),
        twowiki.load_dataset(data_dir=path, split="validation", streaming=True),
    ]
    for rows in doors:
        assert rows.features == FEATURES
        assert official(rows) == raw
    for split, name in (("train", "train_100"), ("validation", "dev_fullwiki_100")):
        hotpot = json.loads((shared / f"data/hotpotqa/{name}.json").read_text(encoding="utf-8"))
        rows = twowiki.load_dataset("hotpotqa", shared / "data/hotpotqa", split=split)
        assert rows.features["type"].names == ["bridge", "comparison"]
        assert official(rows, "hotpotqa") == hotpot
