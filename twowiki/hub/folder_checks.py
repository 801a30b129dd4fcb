"""Check a folder before it is pushed: that it is whole, and that it holds nothing secret.

In: the folder of a model, data set, metric or demo. Out: the files to send, those left out with
the reason, and the card where one is to be written. A model must load where this package is not
installed; a data set's card must describe its files; a Space must start. Only what belongs to the
kind is sent, and never a pickle, a log, a hidden file or a link out of the folder. A file that
holds a token or a private key is an error.
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from twowiki.errors import DataError
from twowiki.hub.model_card import card_for
from twowiki.io.files import read_text, write_text
from twowiki.io.records import read_object

FOLDER_KINDS = {"model": "model", "dataset": "dataset", "metric": "space", "demo": "space"}
TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "spiece.model", "vocab.txt", "vocab.json")
# what belongs to a folder of a kind; Spaces take any file
ALLOWED = {
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
NEVER_SENT = (
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
SECRET_PATTERNS = {
    "a Hugging Face token": rb"(?<![A-Za-z0-9])(?:hf|api_org)_[A-Za-z0-9]{30,}",
    "an OpenAI key": rb"(?<![A-Za-z0-9])sk-(?:proj-|svcacct-)?[A-Za-z0-9_]{32,}",
    "a GitHub token": rb"(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_\w{50,})",
    "an AWS key": rb"(?<![A-Za-z0-9])AKIA[0-9A-Z]{16}(?![A-Za-z0-9])",
    "a Slack token": rb"(?<![A-Za-z0-9])xox[abprs]-[A-Za-z0-9-]{20,}",
    "a private key": rb"-----BEGIN [A-Z ]*PRIVATE KEY-----",
}
TEXT_LIMIT = 20_000_000  # bytes; a longer file is searched for the login's own token alone
REDACTED = "[hidden]"
_RELATIVE_IMPORT = re.compile(r"^\s*from\s+\.(\w+)\s+import|^\s*import\s+\.(\w+)", re.M)
_SAVE_AGAIN = "Save the model again with save_pretrained: it copies the code"


class SentFile(NamedTuple):
    """A file to send: its path there, its content (a path, or the bytes themselves), its size."""

    path: str
    content: Path | bytes
    size: int


class LeftOut(NamedTuple):
    """A file or folder that is not sent, and why."""

    path: str
    reason: str


class CheckedFolder(NamedTuple):
    """A folder that may be pushed.

    Attributes:
        kind: model, dataset, metric or demo.
        folder: what was checked.
        files: what is sent, the card included, in the order of the paths.
        left_out: what is not sent.
        card: the card's text if one is to be written into the folder.
        sdk: of a Space.
    """

    kind: str
    folder: Path
    files: tuple[SentFile, ...]
    left_out: tuple[LeftOut, ...]
    card: str | None = None
    sdk: str | None = None

    @property
    def size(self) -> int:
        """Bytes to send."""
        return sum(file.size for file in self.files)

    @property
    def paths(self) -> set[str]:
        """The paths of the files to send."""
        return {file.path for file in self.files}

    @property
    def notes(self) -> tuple[str, ...]:
        """What the pusher should know."""
        return ("the card is written from the folder and its run",) if self.card else ()

    def with_card(self, card: str) -> CheckedFolder:
        """Add the card that the folder lacks."""
        content = card.encode()
        kept = [file for file in self.files if file.path != "README.md"]
        files = sorted([*kept, SentFile("README.md", content, len(content))])
        return self._replace(files=tuple(files), card=card)

    def write_card(self) -> None:
        """Write the card that the folder lacks."""
        if self.card is not None:
            write_text(self.folder / "README.md", self.card)


def check_folder(folder: Path, kind: str, repo: str) -> CheckedFolder:
    """Check a folder of a kind that is to be pushed to `repo`.

    Raises:
        DataError: something is missing, or contradicts something else.
    """
    if kind not in FOLDER_KINDS:
        raise DataError(f"is {kind!r}, not one of {', '.join(FOLDER_KINDS)}", field="kind")
    if kind == "model":
        return _check_model(folder, repo)
    if kind == "dataset":
        return _check_dataset(folder)
    return _check_space(folder, kind, repo)


def _check_model(folder: Path, repo: str) -> CheckedFolder:
    """Check that a model's folder loads on its own, and find or write its card."""
    from twowiki.models.auto import model_folder

    if folder.is_dir():
        folder = model_folder(folder)
    checked = list_files(folder, "model")
    paths = checked.paths
    _check_weights(folder, paths)
    if not paths.intersection(TOKENIZER_FILES):
        raise DataError(
            "has no tokenizer", file=folder, remedy="Save the tokenizer beside the model"
        )
    for setting in ("config.json", "tokenizer_config.json"):
        if setting in paths:
            _check_code(folder, setting, paths)
    card = card_for(folder, repo)
    return checked if card is None else checked.with_card(card)


def _check_weights(folder: Path, paths: set[str]) -> None:
    stem = "adapter_model" if "adapter_config.json" in paths else "model"
    index = f"{stem}.safetensors.index.json"
    shards = [f"{stem}.safetensors"]
    if index in paths:
        shards = sorted(set(read_object(folder / index).get("weight_map", {}).values()))
        if missing := [name for name in shards if name not in paths]:
            raise DataError(f"names {missing[0]}, which does not exist", file=folder / index)
    for name in shards:
        if name not in paths:
            raise DataError(
                f"has no weights ({name})",
                file=folder,
                remedy="Save them with save_pretrained, as safetensors; pickles are not sent",
            )
        _check_safetensors(folder / name)


def _check_safetensors(path: Path) -> None:
    """Raise for a file that is cut off, or not safetensors, by its header alone."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy"):
            pass
    except SafetensorError as error:
        raise DataError(
            f"is cut off, or not a safetensors file ({error})", file=path, remedy="Save it again"
        ) from None


def _check_code(folder: Path, setting: str, paths: set[str]) -> None:
    """Check that the code a configuration names is present, with everything that it imports."""
    values = read_object(folder / setting)
    references = list(_references(values.get("auto_map")))
    pipelines = values.get("custom_pipelines")
    for pipeline in pipelines.values() if isinstance(pipelines, dict) else ():
        references += _references(pipeline.get("impl"))
    if foreign := [reference for reference in references if "--" in reference]:
        raise DataError(
            f"points to the code of another repository ({foreign[0]})",
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
    modules = [reference.rpartition(".")[0] for reference in references]
    seen: set[str] = set()
    while modules:
        module = modules.pop()
        if module and module not in seen:
            seen.add(module)
            if f"{module}.py" not in paths:
                problem = f"needs {module}.py, which does not exist"
                raise DataError(problem, file=folder, remedy=_SAVE_AGAIN)
            code = read_text(folder / f"{module}.py")
            modules += [first or second for first, second in _RELATIVE_IMPORT.findall(code)]


def _references(value: Any) -> Iterator[str]:
    """Yield the code references in what an auto_map may hold: texts, lists, None."""
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _references(part)
    elif isinstance(value, str) and value:
        yield value


def _check_dataset(folder: Path) -> CheckedFolder:
    """Check that a data set's folder is Parquet with a card that describes it."""
    from twowiki.builder.dataset_card import check_dataset_card, read_card, render_dataset_card

    checked = list_files(folder, "dataset")
    shards = [path for path in checked.paths if path.endswith(".parquet")]
    if not shards:
        raise DataError(
            "has no Parquet files", file=folder, remedy="Write them with `twowiki export`"
        )
    for path in sorted(shards):
        _check_parquet(folder / path)
    if read_card(folder / "README.md")[1] is None:
        return checked.with_card(render_dataset_card(folder))
    check_dataset_card(folder)
    return checked


def _check_parquet(path: Path) -> None:
    import pyarrow.parquet

    try:
        pyarrow.parquet.read_metadata(path)
    except (pyarrow.ArrowException, OSError) as error:
        problem = f"is cut off, or not a Parquet file ({str(error).splitlines()[0]})"
        raise DataError(problem, file=path, remedy="Export it again") from None


def _check_space(folder: Path, kind: str, repo: str) -> CheckedFolder:
    """Check that a Space starts: card, app, requirements; of a metric also its module."""
    from twowiki.builder.dataset_card import read_card

    checked = list_files(folder, kind)
    paths = checked.paths
    header, body = read_card(folder / "README.md")
    if body is None:
        raise DataError("has no README.md with the Space's settings", file=folder)
    sdk, app = header.get("sdk"), header.get("app_file")
    if sdk not in ("gradio", "streamlit", "docker", "static"):
        raise DataError(
            f"has sdk: {sdk!r}", file=folder / "README.md", remedy="Write sdk: gradio there"
        )
    if sdk in ("gradio", "streamlit"):
        for needed in (str(app or "app.py"), "requirements.txt"):
            if needed not in paths:
                raise DataError(f"has no {needed}, which the Space needs", file=folder)
    module = f"{repo.rpartition('/')[2]}.py"
    if kind == "metric" and module not in paths:
        others = sorted(path for path in paths if path.endswith(".py") and path != "app.py")
        raise DataError(
            f"has no {module}, which evaluate.load({repo!r}) needs "
            f"(its modules: {', '.join(others) or 'none'})",
            file=folder,
            remedy="Name the repository like the metric's module",
        )
    return checked._replace(sdk=str(sdk))


def list_files(folder: Path, kind: str) -> CheckedFolder:
    """List what a folder of a kind sends, and what is left out.

    Raises:
        DataError: there is no such folder, or nothing in it belongs to the kind.
    """
    if not folder.is_dir():
        problem = "is a file, not a folder" if folder.exists() else "no such folder"
        raise DataError(problem, file=folder, remedy=f"Give the folder of a {kind}")
    files: list[SentFile] = []
    left_out: list[LeftOut] = []
    for path, reason in _walk(folder, folder.resolve(), kind):
        name = path.relative_to(folder).as_posix()
        if reason:
            left_out.append(LeftOut(name, reason))
        else:
            files.append(SentFile(name, path, path.stat().st_size))
    if not files:
        raise DataError(f"holds no file of a {kind}", file=folder, remedy="Give another folder")
    return CheckedFolder(kind, folder, tuple(files), tuple(left_out))


def _walk(folder: Path, root: Path, kind: str) -> Iterator[tuple[Path, str]]:
    """Yield every file, and each folder that is left out as a whole, with the reason."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        path = Path(entry.path)
        reason = _reason_to_leave_out(path, root, kind)
        if not reason and path.is_dir():
            yield from _walk(path, root, kind)
        else:
            yield path, reason


def _reason_to_leave_out(path: Path, root: Path, kind: str) -> str:
    for patterns, reason in NEVER_SENT:
        if _matches(path.name, patterns):
            return reason
    if not path.exists():
        return "a broken link"
    if not path.resolve().is_relative_to(root):
        return "a link that leads out of the folder"
    if path.is_dir():
        return "a link to a folder" if path.is_symlink() else ""
    if not path.is_file():
        return "not a plain file"
    if kind in ALLOWED and not _matches(path.name, ALLOWED[kind]):
        return f"not part of a {kind}"
    if kind == "model" and path.parent.resolve() != root:
        return "in a folder below the model"
    return ""


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def stale_paths(remote: Iterable[str], checked: CheckedFolder) -> list[str]:
    """Return the repository's files that the folder replaces and no longer has.

    Of a data set only shards in the folders that are sent: other configs stay.
    """
    folders = {""}
    if checked.kind == "dataset":
        folders = {path.rpartition("/")[0] for path in checked.paths if path.endswith(".parquet")}
    patterns = REPLACED.get(checked.kind, ())
    return sorted(
        path
        for path in remote
        if path not in checked.paths
        and path.rpartition("/")[0] in folders
        and _matches(path.rpartition("/")[2], patterns)
    )


def check_no_secrets(files: Iterable[SentFile], tokens: Iterable[str]) -> None:
    """Raise for the first file that holds a token or a key.

    Args:
        files: what is to be sent.
        tokens: the login's own tokens; they are looked for in every file, text or not.
    """
    own = [token.encode() for token in tokens if len(token) >= 8]
    for file in files:
        if secret := _find_secret(file, own):
            raise DataError(
                f"holds what looks like {secret}",
                file=file.content if isinstance(file.content, Path) else file.path,
                remedy="Nothing was sent. Remove it, and revoke it if others may have seen it",
            )


def _find_secret(file: SentFile, own: Sequence[bytes]) -> str:
    content: bytes | mmap.mmap
    if isinstance(file.content, bytes) or not file.size:
        content = b"" if isinstance(file.content, Path) else file.content
    else:
        with file.content.open("rb") as stream:
            content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    return _secret_in(content, own)


def _secret_in(content: bytes | mmap.mmap, own: Sequence[bytes]) -> str:
    if any(content.find(token) >= 0 for token in own):
        return "your token"
    if len(content) > TEXT_LIMIT or b"\0" in content[:8192]:
        return ""
    for name, pattern in SECRET_PATTERNS.items():
        for match in re.finditer(pattern, content):
            if len(set(match[0][-24:])) >= 8:  # hf_xxxxxxxx is an example, not a token
                return f"{name} (line {content[: match.start()].count(10) + 1})"
    return ""


def own_tokens() -> list[str]:
    """Return the tokens of the environment and the login, to be kept out of every output."""
    from huggingface_hub import get_token

    names = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACE_TOKEN")
    found = [os.environ.get(name, "").strip() for name in names]
    return [token for token in dict.fromkeys([*found, get_token() or ""]) if token]


def hide_secrets(text: str) -> str:
    """Hide tokens, and in addresses also user names, passwords and signatures."""
    for token in own_tokens():
        text = text.replace(token, REDACTED)
    text = re.sub(r"(?<![A-Za-z0-9])(?:hf|api_org)_[A-Za-z0-9]{8,}", REDACTED, text)
    text = re.sub(r"(https?://)[^/\s@]+@", r"\1", text)
    return re.sub(r"(https?://[^\s?]+)\?\S+", r"\1", text)
