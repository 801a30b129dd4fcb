"""Whether a folder is whole: what its readers will need is there, and nothing contradicts it.

A model loads where this package is not; a data set's card says what its files hold; a Space
starts. Every fault is named before anything is sent.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from twowiki.errors import DataError
from twowiki.files import write_text
from twowiki.hub.contents import KINDS, Contents, list_contents

TOKENIZERS = ("tokenizer.json", "tokenizer.model", "spiece.model", "vocab.txt", "vocab.json")
MAX_HEADER = 100_000_000  # bytes; safetensors' own limit
_RELATIVE = re.compile(r"^\s*from\s+\.(\w+)\s+import|^\s*import\s+\.(\w+)", re.M)


class Checked(NamedTuple):
    """A folder that may be pushed.

    Attributes:
        kind: model, dataset, metric or demo.
        folder: what was checked.
        contents: what is sent, the card included.
        card: the card's text where one is to be written into the folder.
        sdk: of a Space.
        notes: what the pusher should know.
    """

    kind: str
    folder: Path
    contents: Contents
    card: str | None = None
    sdk: str | None = None
    notes: tuple[str, ...] = ()

    def write_card(self) -> None:
        """Write the card that the folder lacks."""
        if self.card is not None:
            write_text(self.folder / "README.md", self.card)


def check_folder(folder: Path, kind: str, repo: str) -> Checked:
    """Check a folder of a kind that is to go to `repo`.

    Raises:
        DataError: what is missing or contradicts itself.
    """
    if kind not in KINDS:
        raise DataError(f"is {kind!r}, not one of {', '.join(KINDS)}", field="kind")
    if kind == "model":
        return check_model(folder, repo)
    if kind == "dataset":
        return check_dataset(folder)
    return check_space(folder, kind, repo)


def check_model(folder: Path, repo: str) -> Checked:
    """Check that a model's folder loads on its own, and find or write its card."""
    from twowiki.hub.model_card import card_for
    from twowiki.loading import model_folder

    if folder.is_dir():
        folder = model_folder(folder)
    contents = list_contents(folder, "model")
    names = contents.names()
    adapter = "adapter_config.json" in names
    _check_weights(folder, names, "adapter_model" if adapter else "model")
    if not names.intersection(TOKENIZERS):
        raise DataError(
            "holds no tokenizer", file=folder, remedy="Save the tokenizer beside the model"
        )
    for setting in ("config.json", "tokenizer_config.json"):
        if setting in names:
            _check_code(folder, setting, names)
    card = card_for(folder, repo)
    if card is not None:
        contents = contents.with_file("README.md", card.encode())
    notes = () if card is None else ("the card was written from what the folder and its run say",)
    return Checked("model", folder, contents, card, notes=notes)


def _check_weights(folder: Path, names: set[str], stem: str) -> None:
    index = f"{stem}.safetensors.index.json"
    if index in names:
        shards = sorted(set(read_object(folder / index).get("weight_map", {}).values()))
        if missing := [name for name in shards if name not in names]:
            raise DataError(f"names {missing[0]}, which is not there", file=folder / index)
    else:
        shards = [f"{stem}.safetensors"]
    for name in shards:
        if name not in names:
            raise DataError(
                f"holds no weights ({name})",
                file=folder,
                remedy="Save them with save_pretrained, as safetensors; pickles are not sent",
            )
        check_safetensors(folder / name)


def check_safetensors(path: Path) -> None:
    """Refuse a file that is cut off, or no safetensors, by its header alone."""
    broken = DataError("is cut off, or no safetensors file", file=path, remedy="Save it again")
    size = path.stat().st_size
    with path.open("rb") as stream:
        start = stream.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else MAX_HEADER + 1
        if length > min(MAX_HEADER, size):
            raise broken
        try:
            header = json.loads(stream.read(length))
            ends = [entry["data_offsets"][1] for name, entry in header.items() if name[:2] != "__"]
        except (ValueError, TypeError, KeyError, IndexError, AttributeError):
            raise broken from None
    if size != 8 + length + max(ends, default=0):
        raise broken


def _check_code(folder: Path, setting: str, names: set[str]) -> None:
    """Check that code which a configuration names is there, with all that it imports."""
    values = read_object(folder / setting)
    named = [value for value in _references(values.get("auto_map")) if value]
    pipelines = values.get("custom_pipelines")
    for pipeline in pipelines.values() if isinstance(pipelines, dict) else ():
        named += _references(pipeline.get("impl"))
    for reference in named:
        if "--" in reference:
            raise DataError(
                f"points to the code of another repository ({reference})",
                file=folder / setting,
                remedy="Save the model again with its code",
            )
    own = setting == "config.json" and str(values.get("model_type", "")).startswith("twowiki")
    if own and "AutoModel" not in (values.get("auto_map") or {}):
        raise DataError(
            "names no code in auto_map, so it would not load without this package",
            file=folder / setting,
            remedy="Save the model again with save_pretrained",
        )
    modules = [reference.rpartition(".")[0] for reference in named]
    seen: set[str] = set()
    while modules:
        module = modules.pop()
        if module in seen or not module:
            continue
        seen.add(module)
        if f"{module}.py" not in names:
            raise DataError(
                f"needs {module}.py, which is not there",
                file=folder,
                remedy="Save the model again with save_pretrained: it copies the code",
            )
        text = read_text(folder / f"{module}.py")
        modules += [first or second for first, second in _RELATIVE.findall(text)]


def _references(value: Any) -> Sequence[str]:
    """List the code references in what an auto_map may hold: texts, lists, None."""
    if isinstance(value, dict):
        return [reference for part in value.values() for reference in _references(part)]
    if isinstance(value, list):
        return [reference for part in value for reference in _references(part)]
    return [value] if isinstance(value, str) else []


def check_dataset(folder: Path) -> Checked:
    """Check that a data set's folder is Parquet with a card that says the same."""
    from twowiki.cards import check_dataset_card, read_card, render_dataset_card

    contents = list_contents(folder, "dataset")
    shards = [file for file in contents.files if file.path.endswith(".parquet")]
    if not shards:
        raise DataError(
            "holds no Parquet files", file=folder, remedy="Write them with `twowiki export`"
        )
    for file in shards:
        assert isinstance(file.content, Path)
        _check_parquet(file.content)
    if read_card(folder / "README.md")[1] is None:
        card = render_dataset_card(folder)
        contents = contents.with_file("README.md", card.encode())
        note = "the card was written from what the files say"
        return Checked("dataset", folder, contents, card, notes=(note,))
    check_dataset_card(folder)
    return Checked("dataset", folder, contents)


def _check_parquet(path: Path) -> None:
    import pyarrow.parquet

    try:
        pyarrow.parquet.read_metadata(path)
    except (pyarrow.ArrowException, OSError) as error:
        said = str(error).splitlines()[0]
        raise DataError(
            f"is cut off, or no Parquet file ({said})", file=path, remedy="Export it again"
        ) from None


def check_space(folder: Path, kind: str, repo: str) -> Checked:
    """Check that a Space starts: its card, its app, what it needs; a metric also its module."""
    from twowiki.cards import read_card

    contents = list_contents(folder, kind)
    names = contents.names()
    header, body = read_card(folder / "README.md")
    if body is None:
        raise DataError("holds no README.md with the Space's settings", file=folder)
    sdk, app = header.get("sdk"), header.get("app_file")
    if sdk not in ("gradio", "streamlit", "docker", "static"):
        raise DataError(
            f"says sdk: {sdk!r}", file=folder / "README.md", remedy="Write sdk: gradio there"
        )
    if sdk in ("gradio", "streamlit"):
        for needed in (str(app or "app.py"), "requirements.txt"):
            if needed not in names:
                raise DataError(f"holds no {needed}, which the Space needs", file=folder)
    if kind == "metric":
        module = f"{repo.rpartition('/')[2]}.py"
        modules = sorted(set(_modules(names)))
        if module not in names:
            others = ", ".join(modules) or "none"
            raise DataError(
                f"holds no {module}: evaluate.load({repo!r}) looks for it (there is {others})",
                file=folder,
                remedy="Name the repository like the metric's module",
            )
    return Checked(kind, folder, contents, sdk=str(sdk))


def _modules(names: set[str]) -> Iterator[str]:
    return (name for name in names if name.endswith(".py") and name != "app.py")


def read_text(path: Path) -> str:
    """Read a text file."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"is no UTF-8 text ({error.reason})", file=path) from None


def read_object(path: Path) -> dict[str, Any]:
    """Read a JSON object."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"is no JSON ({error})", file=path) from None
    if not isinstance(value, dict):
        raise DataError("holds no JSON object", file=path)
    return value
