"""Write a dataset card from the Parquet files that it describes, and check that the two agree.

The YAML header holds configs, typed features and sizes; `load_dataset(folder)` reads it.
"""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from twowiki.builder.dataset_origin import PRETTY_NAMES, origin_in
from twowiki.data import releases
from twowiki.data.amendments import AMENDED_MARK
from twowiki.data.configs import (
    HOTPOT_CONFIG,
    LAYOUT_CONFIG,
    PAGES_CONFIG,
    QUESTION_CONFIGS,
    WORLD_CONFIG,
)
from twowiki.data.schema import DEFAULT_CONFIG, SPLITS
from twowiki.data.splits import split_of
from twowiki.errors import DataError
from twowiki.io.files import write_text
from twowiki.io.templates import render_template

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (10**6, "100K<n<1M"))
_FRONT = re.compile(r"---[ \t]*\n(?P<yaml>.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.S | re.M)
_START, _END = "<!-- sizes -->", "<!-- /sizes -->"


class ExportedSplit(NamedTuple):
    """One split of an exported config: rows, stored bytes, bytes in memory, files, amendments."""

    rows: int
    stored: int
    size: int
    files: list[str]
    amended: str = ""


def write_dataset_card(folder: str | PathLike[str], origin: str | None = None) -> None:
    """Write or renew `README.md` for a folder's exported configs; see `render_dataset_card`."""
    write_text(Path(folder) / "README.md", render_dataset_card(folder, origin))


def render_dataset_card(folder: str | PathLike[str], origin: str | None = None) -> str:
    """Return the text of the card for the exported configs in a folder.

    In an existing card only configs, features, sizes and the origin are replaced.

    Args:
        folder: of the exported configs.
        origin: of generated data, see `dataset_origin`; by default that of the present card.
    """
    import yaml

    root = Path(folder)
    configs = [(path.name, *_read_config(path)) for path in _config_folders(root)]
    if not configs:
        raise DataError("no exported config", file=folder, remedy="Run `twowiki export` first")
    names = [name for name, _, _ in configs]
    first = DEFAULT_CONFIG if DEFAULT_CONFIG in names else names[0]
    header, body = read_card(root / "README.md")
    sizes = _sizes(configs)
    if body is None:
        header, body = (
            _header(names),
            _body(names, first, next(iter(configs[names.index(first)][2])), origin or ""),
        )
    elif origin is not None and (before := origin_in(body)):
        body = body.replace(before, origin)
    elif origin:
        start = max(0, body.find("```"))  # before the first block of code
        body = f"{body[:start]}{origin}\n\n{body[start:]}"
    rows = sum(split.rows for _, _, splits in configs for split in splits.values())
    header |= {
        "size_categories": [next((text for limit, text in _SIZES if rows < limit), "n>1M")],
        "configs": [_yaml_config(name, splits, name == first) for name, _, splits in configs],
        "dataset_info": [_yaml_info(name, features, splits) for name, features, splits in configs],
    }
    front = yaml.safe_dump(header, sort_keys=False, allow_unicode=True, width=100)
    if _START in body and _END in body:
        body = body[: body.index(_START)] + sizes + body[body.index(_END) + len(_END) :]
    return f"---\n{front}---\n{body}"


def check_dataset_card(folder: str | PathLike[str]) -> None:
    """Raise if a folder's card describes other columns, sizes or files than are there.

    A card without them is left to `datasets`, which then reads the files' own.
    """
    root = Path(folder)
    header, _ = read_card(root / "README.md")
    patterns = {str(one.get("config_name")): _patterns(one) for one in _dicts(header, "configs")}
    for paths in patterns.values():
        if missing := [path for path in paths if not any(root.glob(path))]:
            raise _stale(root, f"the card names {missing[0]}, which does not exist")
    for described in _dicts(header, "dataset_info"):
        name = str(described.get("config_name"))
        if any(not path.startswith(f"{name}/") for path in patterns.get(name, [""])):
            continue  # not laid out by an export
        features, splits = _read_config(root / name)
        actual = _yaml_info(name, features, splits)
        for part in ("features", "splits"):
            if described.get(part) != actual[part]:
                raise _stale(root, f"the card has other {part} of {name!r} than its files")
    named = {path.partition("/")[0] for paths in patterns.values() for path in paths}
    left = sorted({path.name for path in _config_folders(root)} - named)
    if patterns and left:
        raise _stale(root, f"the card does not list the files in {left[0]}")


def _dicts(header: dict[str, Any], key: str) -> list[dict[str, Any]]:
    value = header.get(key)
    listed = value if isinstance(value, list) else [value]
    return [one for one in listed if isinstance(one, dict)]


def _patterns(config: dict[str, Any]) -> list[str]:
    """List the paths of a config's files in a card, whatever form they have there."""
    files = config.get("data_files")
    paths = [one.get("path") if isinstance(one, dict) else one for one in _listed(files)]
    return [str(path) for given in paths for path in _listed(given) if path]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _stale(root: Path, problem: str) -> DataError:
    remedy = "Run `twowiki export` again, which renews both"
    return DataError(problem, file=root / "README.md", remedy=remedy)


def read_card(path: Path) -> tuple[dict[str, Any], str | None]:
    """Read a card's YAML header and its text; no text where there is no card yet.

    Raises:
        DataError: the card is not text, or its header is broken; nothing is guessed.
    """
    import yaml

    if not path.exists():
        return {}, None
    remedy = "Fix it, or remove the file to have a new card written"
    if not path.is_file():  # a pipe would make it wait
        raise DataError("is not a file", file=path, remedy=remedy)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"the card cannot be read ({error})", file=path, remedy=remedy) from None
    parts = _FRONT.match(text)
    if parts is None:
        return {}, "\n" + text
    try:
        header = yaml.safe_load(parts["yaml"]) or {}
    except yaml.YAMLError as error:
        header = str(error).splitlines()[0]
    if not isinstance(header, dict):
        problem = f"the card's YAML header is broken ({header!r})"
        raise DataError(problem, file=path, remedy=remedy)
    return header, text[parts.end() :]


def _header(names: list[str]) -> dict[str, Any]:
    made = [name for name in names if name in PRETTY_NAMES]
    synthetic = len(made) == len(names)
    texts, annotations = _creators(names)
    return {
        "language": ["en"],
        "license": _license(names),
        "pretty_name": _title(names),
        "language_creators": texts,
        "annotations_creators": annotations,
        "source_datasets": ["extended|ai2_arc" if names == ["arc_da"] else "original"],
        "task_categories": ["question-answering"],
        "tags": ["science"] if names == ["arc_da"] else _tags(names, synthetic),
    }


_TITLES = {
    **PRETTY_NAMES,
    "arc_da": "ARC-DA",
    HOTPOT_CONFIG: "HotpotQA, typed",
    LAYOUT_CONFIG: "Multi-hop questions, typed",
    PAGES_CONFIG: "Wikipedia summaries with their links, typed",
}


def _title(names: list[str]) -> str:
    """Return what the data is: the name of a data set, or what was generated."""
    titles = {_TITLES.get(name, "2WikiMultiHopQA") for name in names}
    return titles.pop() if len(titles) == 1 else "Multi-hop questions, typed"


def _creators(names: list[str]) -> tuple[list[str], list[str]]:
    """Return who wrote the texts and who annotated them, in the hub's words."""
    if names[0] in (LAYOUT_CONFIG, PAGES_CONFIG):
        return ["found"], ["found"]
    if names[0] in ("arc_da", HOTPOT_CONFIG):
        return ["found", "crowdsourced"], ["crowdsourced"]
    texts = ["machine-generated"] if WORLD_CONFIG in names else ["found", "machine-generated"]
    return texts, ["machine-generated"]


def _tags(names: list[str], synthetic: bool) -> list[str]:
    if names == [LAYOUT_CONFIG]:
        return ["multi-hop"]
    if names == [PAGES_CONFIG]:
        return ["retrieval", "wikipedia"]
    if not synthetic:
        return ["multi-hop", "evidence", "wikidata"]
    return ["multi-hop", "evidence", "synthetic", *(["fictional"] if WORLD_CONFIG in names else [])]


def _config_folders(root: Path) -> list[Path]:
    found = {path.parent for path in root.glob("*/*.parquet") if path.is_file()}
    order = list(releases.CONFIG_VERSIONS)
    return sorted(
        (path for path in found if not path.name.startswith(".")),
        key=lambda path: (order.index(path.name) if path.name in order else len(order), path.name),
    )


def _read_config(folder: Path) -> tuple[Any, dict[str, ExportedSplit]]:
    """Read features and sizes of one config from its files' footers."""
    import pyarrow.parquet
    from datasets import Features

    features, splits = None, {}
    for split in SPLITS:
        files = sorted(path for path in folder.glob("*.parquet") if _is_split(path, split))
        rows = stored = size = 0
        amended = ""
        for path in files:
            footer = pyarrow.parquet.read_metadata(path)
            rows += footer.num_rows
            stored += path.stat().st_size
            size += sum(footer.row_group(n).total_byte_size for n in range(footer.num_row_groups))
            schema = pyarrow.parquet.read_schema(path)
            features = Features.from_arrow_schema(schema)
            amended = (schema.metadata or {}).get(AMENDED_MARK, b"").decode()
        if files:
            names = [path.name for path in files]
            splits[split] = ExportedSplit(rows, stored, size, names, amended)
    return features, splits


def _is_split(path: Path, split: str) -> bool:
    named = split_of(path)
    return named is not None and named.split == split and path.is_file()


def _license(names: list[str]) -> str:
    found = {releases.LICENSES.get(name, "") for name in names}
    return found.pop() or "unknown" if len(found) == 1 else "other"


def _yaml_config(name: str, splits: dict[str, ExportedSplit], first: bool) -> dict[str, Any]:
    files = [{"split": split, "path": f"{name}/{split}-*.parquet"} for split in splits]
    config: dict[str, Any] = {"config_name": name, "data_files": files}
    return {**config, "default": True} if first else config


def _yaml_info(name: str, features: Any, splits: dict[str, ExportedSplit]) -> dict[str, Any]:
    return {
        "config_name": name,
        "features": features._to_yaml_list(),
        "splits": [
            {"name": split, "num_bytes": found.size, "num_examples": found.rows}
            for split, found in splits.items()
        ],
        "download_size": sum(found.stored for found in splits.values()),
        "dataset_size": sum(found.size for found in splits.values()),
    }


def _sizes(configs: list[tuple[str, Any, dict[str, ExportedSplit]]]) -> str:
    lines = [_START, "| config | split | rows | Parquet bytes |", "|---|---|---|---|"]
    for name, _, splits in configs:
        lines += [
            f"| {name} | {split} | {s.rows:,} | {s.stored:,} |" for split, s in splits.items()
        ]
    for name, _, splits in configs:
        for amended in dict.fromkeys(s.amended for s in splits.values() if s.amended):
            lines += ["", f"The gold of `{name}` is amended by {amended}."]
    return "\n".join([*lines, _END])


def _body(names: list[str], first: str, split: str, origin: str) -> str:
    citations = (releases.CITATIONS[name] for name in names if releases.CITATIONS.get(name))
    title = _title(names)
    return render_template(
        "twowiki.builder",
        "dataset_card.md",
        title="2WikiMultiHopQA, typed" if title == "2WikiMultiHopQA" else title,
        descriptions=[
            text
            for name in names
            if (text := PRETTY_NAMES.get(name) or releases.DESCRIPTIONS.get(name, name)) != title
        ],
        origin=origin,
        synthetic=all(name in PRETTY_NAMES for name in names),
        config=first,
        split=split,
        has_multihop=any(name in QUESTION_CONFIGS for name in names),
        has_science="arc_da" in names,
        citations=list(dict.fromkeys(citations)),
    )
