"""Cards of generated data say what it is: never that it is the release."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from tests.hub.folders import data_folder
from twowiki.builder.dataset_card import write_dataset_card
from twowiki.builder.dataset_origin import find_origin, origin_in, render_origin
from twowiki.cli.main import main
from twowiki.hub.push import plan_push

REPORT = {
    "settings": {"limit_per_type": 30, "seed": "7", "types": ["comparison", "inference"]},
    "world": {"people": 300, "films": 220, "seed": "7", "like": ""},
    "difficulty": {"all": {"samples": 120, "majority": 8.57, "two hops": 100.0}},
    "certificate": {
        "bound": 55.0, "holds": False,
        "highest": {"shortcut": "question only", "type": "bridge_comparison", "right": 60.0},
    },
}  # fmt: skip


def header_of(card: Path) -> dict[str, object]:
    header: dict[str, object] = yaml.safe_load(card.read_text("utf-8").split("---\n")[1])
    return header


def test_an_origin_tells_a_world_from_dumps() -> None:
    world = render_origin(REPORT)
    for text in ("a fictional world", "people=300, films=220, seed=7`", "| all | 120 | 8.57 |",
                 "types=comparison,inference", "Certificate: NOT GIVEN",
                 "60.0% of bridge_comparison"):  # fmt: skip
        assert text in world
    assert "like=" not in world
    dumps = render_origin({"settings": {"seed": "3"}}, ["latest-all.json.gz", "para.jsonl"])
    assert "| dumps | `latest-all.json.gz`, `para.jsonl` |" in dumps
    assert "generated from dumps" in dumps
    assert "fictional" not in dumps
    assert "shortcut" not in dumps
    assert origin_in(f"before\n{dumps}\nafter") == dumps
    assert origin_in("<!-- /origin --> <!-- origin -->") == ""


@pytest.mark.parametrize(
    ("config", "name", "tags"),
    [
        ("world", "Multi-hop questions about a fictional world", {"synthetic", "fictional"}),
        ("generated", "Multi-hop questions generated from Wikidata and Wikipedia", {"synthetic"}),
    ],
)
def test_a_card_of_generated_data_does_not_claim_to_be_the_release(
    config: str, name: str, tags: set[str], tmp_path: Path
) -> None:
    folder = data_folder(tmp_path / "out")
    shutil.move(folder / "data", folder / config)
    for path in (folder / config).iterdir():  # no folder of the release, no card of it
        assert path.suffix == ".parquet"
    (folder / "README.md").unlink()
    write_dataset_card(folder, render_origin(REPORT))
    header, text = header_of(folder / "README.md"), (folder / "README.md").read_text("utf-8")
    assert header["pretty_name"] == name
    assert set(header["tags"]) == {"multi-hop", "evidence", *tags}  # type: ignore[call-overload]
    assert [one["config_name"] for one in header["configs"]] == [config]  # type: ignore[attr-defined]
    assert header["annotations_creators"] == ["machine-generated"]
    for claim in ("2WikiMultiHopQA, typed", "release of April 2021", "Hidden gold of test splits"):
        assert claim not in text
    assert f"# {name}" in text
    assert find_origin(folder) == render_origin(REPORT)
    # another data set in its place: the origin is the new one's
    other = render_origin({**REPORT, "world": {"people": 99}})
    write_dataset_card(folder, other)
    assert find_origin(folder) == other
    assert (folder / "README.md").read_text("utf-8").count("## Origin") == 1


@pytest.mark.slow
def test_a_world_is_generated_exported_and_pushed_under_its_own_name(tmp_path: Path) -> None:
    data, again = tmp_path / "data", tmp_path / "again"
    flags = ["--limit-per-type", "10", "--out", str(data)]
    assert main(["generate", "--world", "people=150,films=110,seed=3", *flags]) == 0
    card = data / "parquet" / "README.md"
    assert "people=150, films=110, seed=3" in card.read_text("utf-8")
    assert "| comparison | 10 |" in card.read_text("utf-8")
    assert plan_push(data / "parquet", "me/data", "dataset").files
    assert main(["export", str(data), str(again)]) == 0
    assert find_origin(again) == find_origin(data / "parquet") != ""
    assert header_of(again / "README.md")["pretty_name"] == header_of(card)["pretty_name"]
