"""The authors' summaries with links load as a typed data set."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import datasets
import pytest

import twowiki
from tests.made_up import write_lines
from twowiki.data.splits import guess_config
from twowiki.errors import DataError

PAGES: list[dict[str, Any]] = [
    {
        "id": "12",
        "title": "Dessa Orrel",
        "sentences": ["Dessa Orrel is a poet.", "She was born in Brinmoor."],
        "mentions": [
            {"id": 0, "start": 16, "end": 24, "ref_url": "Brinmoor", "ref_ids": ["9"],
             "sent_idx": 1}
        ],
    },
    {"id": 13, "title": "Brinmoor", "sentences": ["Brinmoor is a town."], "mentions": []},
]  # fmt: skip


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


@pytest.mark.parametrize("name", ["para_with_hyperlink.jsonl", "pages.jsonl", "zip", "folder"])
def test_pages_load_by_every_name(name: str, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "para_with_hyperlink.jsonl", PAGES)
    if name == "zip":
        place = tmp_path / "packed" / "para_with_hyperlink.zip"
        place.parent.mkdir()
        with zipfile.ZipFile(place, "w") as archive:
            archive.write(path, path.name)
    elif name == "folder":
        place = tmp_path / "folder"
        place.mkdir()
        path.rename(place / path.name)
    else:
        place = path.rename(tmp_path / name)
    config = "para_with_hyperlink" if name == "folder" else None
    rows = twowiki.load_dataset(config, place, split="train")
    assert rows.info.config_name == "para_with_hyperlink"
    assert rows["id"][:] == ["12", "13"]
    assert rows[0]["sentences"] == PAGES[0]["sentences"]
    (mention,) = rows[0]["mentions"]
    sentence = rows[0]["sentences"][mention["sent_idx"]]
    assert sentence[mention["start"] : mention["end"]] == mention["ref_url"] == "Brinmoor"
    assert list(twowiki.load_dataset(config, place, split="train", streaming=True)) == list(rows)


def test_pages_are_exported_and_read_back(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "para_with_hyperlink.jsonl", PAGES)
    assert guess_config(path) == "para_with_hyperlink"
    assert twowiki.export(path, tmp_path / "out") == {"train": 2}
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "pretty_name: Wikipedia summaries" in card
    assert "supporting_facts" not in card
    rows = datasets.load_dataset(str(tmp_path / "out"), split="train")
    assert list(rows) == list(twowiki.load_dataset(path, split="train"))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"title": None}, "title"),
        ({"sentences": "text"}, "sentences"),
        ({"mentions": [{"start": "0"}]}, "mentions"),
        ({"id": None}, "id"),
    ],
)
def test_a_bad_page_is_named(change: dict[str, Any], field: str, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "para_with_hyperlink.jsonl", [PAGES[0], {**PAGES[1], **change}])
    with pytest.raises(DataError) as caught:
        twowiki.load_dataset(path)
    assert str(path) in str(caught.value)
    assert f"'{field}'" in str(caught.value)
    stream = iter(twowiki.load_dataset(path, split="train", streaming=True))
    assert next(stream)["id"] == "12"
