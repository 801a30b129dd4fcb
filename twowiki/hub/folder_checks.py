"""Whether a folder is whole: what its readers will need is there, and nothing contradicts it.

A model loads where this package is not; a data set's card says what its files hold; a Space
starts. Every fault is named before anything is sent.
"""

from __future__ import annotations

import json
import os
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from twowiki.errors import DataError
from twowiki.io.files import write_text

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
    from twowiki.models.auto import model_folder

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
    from twowiki.builder.dataset_card import check_dataset_card, read_card, render_dataset_card

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
    from twowiki.builder.dataset_card import read_card

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


KINDS = {"model": "model", "dataset": "dataset", "metric": "space", "demo": "space"}
# what belongs to a folder of a kind; Spaces take any file
BELONGS = {
    "model": (
        "config.json", "generation_config.json", "*.safetensors", "*.safetensors.index.json",
        "adapter_config.json", "tokenizer*.json", "*.model", "special_tokens_map.json",
        "added_tokens.json", "vocab.json", "vocab.txt", "merges.txt", "chat_template*.jinja",
        "processor_config.json", "preprocessor_config.json", "text_format.json", "*.py",
        "README.md", "LICENSE*", "NOTICE*",
    ),
    "dataset": ("*.parquet", "README.md", "LICENSE*", "NOTICE*", "id_aliases.json", "*.bib"),
}  # fmt: skip
# files of the repository that a push replaces as a whole: those no longer in the folder go
REPLACED = {
    "model": ("*.safetensors", "*.safetensors.index.json"),
    "dataset": ("*.parquet",),
}
# name patterns of files and folders, and why they are never sent
NEVER = (
    ((".*",), "hidden"),
    (("__pycache__", "*.pyc", "node_modules", "*.egg-info"), "a cache"),
    (("*.log", "logs", "wandb", "mlruns", "events.out.tfevents*", "trackio"), "a log"),
    (("checkpoints", "checkpoint-*", "step_*", "features"), "a run's own state"),
    (("*.tmp", "*.lock", "*~", "*.swp", "*.bak", "*.orig", "*.partial"), "temporary"),
    (("*.pem", "*.key", "id_rsa*", "id_ed25519*", "*.env", "token", "secrets*"), "perhaps secret"),
    (
        ("*.bin", "*.pt", "*.pth", "*.pkl", "*.pickle", "*.ckpt", "*.joblib", "*.npy", "*.npz"),
        "a pickle, or perhaps one: weights are sent as safetensors",
    ),
    (("optimizer*.safetensors", "trainer_state.json"), "training state"),
)


class File(NamedTuple):
    """A file to send: where it goes, its bytes (a path, or the bytes themselves), its size."""

    path: str
    content: Path | bytes
    size: int


class LeftOut(NamedTuple):
    """A file or folder that is not sent, and why."""

    path: str
    reason: str


class Contents(NamedTuple):
    """What a push sends and what it leaves out, in the order of the paths."""

    files: tuple[File, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def size(self) -> int:
        """Bytes to send."""
        return sum(file.size for file in self.files)

    def names(self) -> set[str]:
        """Give the paths of the files to send."""
        return {file.path for file in self.files}

    def with_file(self, path: str, content: bytes) -> Contents:
        """Add a file, or replace the one of that path."""
        kept = [file for file in self.files if file.path != path]
        added = sorted([*kept, File(path, content, len(content))])
        return Contents(tuple(added), self.left_out)


def list_contents(folder: Path, kind: str) -> Contents:
    """List what a folder of a kind sends.

    Raises:
        DataError: there is no such folder, or nothing in it belongs to the kind.
    """
    if not folder.is_dir():
        problem = "is a file, not a folder" if folder.exists() else "no such folder"
        raise DataError(problem, file=folder, remedy=f"Give the folder of a {kind}")
    files: list[File] = []
    left_out: list[LeftOut] = []
    for path, reason in _walk(folder, folder.resolve(), kind):
        name = path.relative_to(folder).as_posix()
        if reason:
            left_out.append(LeftOut(name, reason))
        else:
            files.append(File(name, path, path.stat().st_size))
    if not files:
        raise DataError(f"holds nothing of a {kind}", file=folder, remedy="Give another folder")
    return Contents(tuple(files), tuple(left_out))


def _walk(place: Path, root: Path, kind: str) -> Iterator[tuple[Path, str]]:
    """Give every file, and each folder that is left out as a whole, with the reason."""
    for entry in sorted(os.scandir(place), key=lambda entry: entry.name):
        path = Path(entry.path)
        if reason := _never(entry.name):
            yield path, reason
        elif not path.exists():
            yield path, "a broken link"
        elif not path.resolve().is_relative_to(root):
            yield path, "a link that leads out of the folder"
        elif path.is_dir():
            if entry.is_symlink():
                yield path, "a link to a folder"
            else:
                yield from _walk(path, root, kind)
        elif not path.is_file():
            yield path, "no plain file"
        elif kind in BELONGS and not matches(entry.name, BELONGS[kind]):
            yield path, f"not part of a {kind}"
        elif kind == "model" and path.parent.resolve() != root:
            yield path, "in a folder below the model"
        else:
            yield path, ""


def _never(name: str) -> str:
    return next((reason for patterns, reason in NEVER if matches(name, patterns)), "")


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Tell whether a file's name fits one of the patterns."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def stale_paths(remote: Sequence[str], contents: Contents, kind: str) -> list[str]:
    """Give the repository's files that the folder replaces and no longer has.

    Of a data set only shards in the folders that are sent: other configs stay.
    """
    mine = contents.names()
    places = {path.rpartition("/")[0] for path in mine if path.endswith(".parquet")}
    return sorted(
        path
        for path in remote
        if path not in mine
        and matches(path.rpartition("/")[2], REPLACED.get(kind, ()))
        and path.rpartition("/")[0] in (places if kind == "dataset" else {""})
    )


TEXT_LIMIT = 20_000_000  # bytes; a longer file is searched for the login's own token alone
PATTERNS = {
    "a Hugging Face token": rb"(?<![A-Za-z0-9])(?:hf|api_org)_[A-Za-z0-9]{30,}",
    "an OpenAI key": rb"(?<![A-Za-z0-9])sk-(?:proj-|svcacct-)?[A-Za-z0-9_]{32,}",
    "a GitHub token": rb"(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_\w{50,})",
    "an AWS key": rb"(?<![A-Za-z0-9])AKIA[0-9A-Z]{16}(?![A-Za-z0-9])",
    "a Slack token": rb"(?<![A-Za-z0-9])xox[abprs]-[A-Za-z0-9-]{20,}",
    "a private key": rb"-----BEGIN [A-Z ]*PRIVATE KEY-----",
}
_KNOWN = {name: re.compile(pattern) for name, pattern in PATTERNS.items()}
_BLOCK = 1 << 22
HIDDEN = "[hidden]"


def refuse_leaks(files: Iterable[File], tokens: Iterable[str]) -> None:
    """Raise for the first file that holds a token or a key.

    Args:
        files: what is to be sent.
        tokens: the login's own tokens; they are looked for in every file, texts or not.
    """
    own = [token.encode() for token in tokens if len(token) >= 8]
    for file in files:
        found = _own_token(file, own) or _known_key(file)
        if found:
            raise DataError(
                f"holds what looks like {found}",
                file=file.content if isinstance(file.content, Path) else file.path,
                remedy="Nothing was sent. Take it out, and revoke it if others may have seen it",
            )


def _own_token(file: File, own: list[bytes]) -> str:
    if not own:
        return ""
    longest = max(map(len, own))
    if isinstance(file.content, bytes):
        return "your token" if any(token in file.content for token in own) else ""
    with file.content.open("rb") as stream:
        before = b""
        while block := stream.read(_BLOCK):
            if any(token in before + block for token in own):
                return "your token"
            before = block[-longest:]
    return ""


def _known_key(file: File) -> str:
    if file.size > TEXT_LIMIT:
        return ""
    content = file.content if isinstance(file.content, bytes) else file.content.read_bytes()
    if b"\0" in content[:8192]:
        return ""
    for name, pattern in _KNOWN.items():
        for match in pattern.finditer(content):
            if len(set(match[0][-24:])) >= 8:  # hf_xxxxxxxx is an example, not a token
                return f"{name} (line {content.count(10, 0, match.start()) + 1})"
    return ""


def own_tokens() -> list[str]:
    """Give the tokens of the environment and the login, to be kept out of every output."""
    from huggingface_hub import get_token

    names = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACE_TOKEN")
    found = [os.environ.get(name, "").strip() for name in names]
    return [token for token in dict.fromkeys([*found, get_token() or ""]) if token]


def without_tokens(text: str, tokens: Iterable[str]) -> str:
    """Hide tokens, and names and passwords in addresses."""
    for token in tokens:
        text = text.replace(token, HIDDEN)
    text = re.sub(r"(?<![A-Za-z0-9])(?:hf|api_org)_[A-Za-z0-9]{8,}", HIDDEN, text)
    text = re.sub(r"(https?://)[^/\s@]+@", r"\1", text)
    return re.sub(r"(https?://[^\s?]+)\?\S+", r"\1", text)
