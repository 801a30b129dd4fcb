"""Check a folder before it is pushed: that it is whole, and which of its files belong there.

In: the folder of a model, data set, metric or demo. Out: the files to send, those left out with
the reason, and the card where one is to be written. A model must load where this package is not
installed; `load_dataset` must find a data set's rows as its card counts them; a Space must have
what it starts with. Only files on the list of the kind are sent, whatever the case of their
names, and never a pickle, a log, a hidden file or a link out of the folder. What the files hold
is the matter of `secret_scan`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from twowiki._version import __version__
from twowiki.errors import DataError
from twowiki.hub.model_card import card_for
from twowiki.hub.run_record import check_run_files
from twowiki.io.files import read_text, write_text
from twowiki.io.records import read_object

FOLDER_KINDS = {"model": "model", "dataset": "dataset", "metric": "space", "demo": "space"}
TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "spiece.model", "vocab.txt", "vocab.json")
LEGAL_FILES = ("license", "license*.txt", "license*.md", "notice", "notice*.txt", "notice*.md")
IMAGES = ("*.png", "*.jpg", "*.jpeg", "*.gif", "*.webp", "*.svg", "*.ico")
# what belongs to a folder of a kind, by file names in small letters; nothing else is sent
ALLOWED = {
    "model": (
        "config.json", "generation_config.json", "*.safetensors", "*.safetensors.index.json",
        "adapter_config.json", "tokenizer*.json", "tokenizer.model", "spiece.model",
        "sentencepiece*.model", "source.spm", "target.spm", "special_tokens_map.json",
        "added_tokens.json", "vocab.json", "vocab.txt", "merges.txt", "chat_template*.jinja",
        "processor_config.json", "preprocessor_config.json", "text_format.json", "*.py",
        "readme.md", *LEGAL_FILES,
    ),
    "dataset": ("*.parquet", "readme.md", *LEGAL_FILES, "id_aliases.json", "*.bib"),
    "metric": (
        "readme.md", *LEGAL_FILES, "requirements.txt", "packages.txt", "pre-requirements.txt",
        "dockerfile", "config.yaml", "config.json", "labels.json", "labels.csv",
        "twowiki-*.whl",
    ),
}  # fmt: skip
ALLOWED["demo"] = ALLOWED["metric"]
SPACE_CODE = ("*.py", "*.js", "*.html")  # sent from the folder of the Space's app alone
SPACE_PAGES = (*IMAGES, "*.css", "example*.json")  # sent from any folder of a Space
SPACE_MODEL = "model"  # the folder of a Space that may hold a model; its files are a model's
# files of the repository that a push replaces as a whole: those no longer in the folder go
REPLACED = {
    "model": ("*.safetensors", "*.safetensors.index.json"),
    "dataset": ("*.parquet",),
}
# name patterns of files and folders, in small letters, and why they are never sent
NEVER_SENT = (
    ((".*",), "hidden"),
    (("__pycache__", "*.pyc", "node_modules", "*.egg-info"), "a cache"),
    (("venv", "env", "virtualenv", "site-packages"), "installed packages"),
    (("*.log", "logs", "wandb", "mlruns", "events.out.tfevents*", "trackio"), "a log"),
    (("checkpoints", "checkpoint-*", "step_*", "features"), "a run's own state"),
    (("*.tmp", "*.lock", "*~", "*.swp", "*.bak", "*.orig", "*.partial"), "temporary"),
    (
        (
            "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.env",
            "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "token", "token.*", "tokens.*",
            "secret*", "client_secret*", "credential*", "password*", "kaggle.json",
            "service-account*", "service_account*",
        ),
        "perhaps secret",
    ),
    (("*.db", "*.sqlite*"), "a database"),
    (
        ("*.bin", "*.pt", "*.pth", "*.pkl", "*.pickle", "*.ckpt", "*.joblib", "*.npy", "*.npz"),
        "a pickle, or perhaps one: weights are sent as safetensors",
    ),
    (("optimizer*.safetensors", "trainer_state.json"), "training state"),
)  # fmt: skip
_RELATIVE_IMPORT = re.compile(r"^\s*from\s+\.(\w+)\s+import|^\s*import\s+\.(\w+)", re.M)
_BARE_NAME = re.compile(r"twowiki(?:\[[\w,-]*\])?\s*(?:[<>=!~].*)?")  # no address, no file
_EXPORT_AGAIN = "Write it again with `twowiki export`, which renews the card too"
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
        warnings: what will not work there.
    """

    kind: str
    folder: Path
    files: tuple[SentFile, ...]
    left_out: tuple[LeftOut, ...]
    card: str | None = None
    sdk: str | None = None
    warnings: tuple[str, ...] = ()

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
        card = "the card is written from the folder and its run"
        return (*([card] if self.card else []), *self.warnings)

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
    if folder.resolve().name == "best":
        check_run_files(folder.resolve().parent)
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
    shards = [path for path in checked.paths if path.lower().endswith(".parquet")]
    if not shards:
        raise DataError(
            "has no Parquet files", file=folder, remedy="Write them with `twowiki export`"
        )
    for path in sorted(shards):
        _check_parquet(folder / path)
    if read_card(folder / "README.md")[1] is None:
        checked = checked.with_card(render_dataset_card(folder))
    else:
        check_dataset_card(folder)
    check_loading(checked)
    return checked


def check_loading(checked: CheckedFolder) -> None:
    """Check that `load_dataset` finds every shard of a data set, with the card's counts.

    `datasets` itself resolves the card, in a folder of links to exactly what is sent.

    Raises:
        DataError: a shard belongs to no config, or differs from the card or its split.
    """
    from datasets import get_dataset_config_names, load_dataset_builder

    unread = {path for path in checked.paths if path.lower().endswith(".parquet")}
    with TemporaryDirectory(prefix="twowiki-") as place:
        root = Path(place).resolve() / "data"
        for path, content, _ in checked.files:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, Path):
                (root / path).symlink_to(content.resolve())
            else:
                (root / path).write_bytes(content)
        try:
            builders = [
                load_dataset_builder(str(root), name, cache_dir=f"{place}/cache")
                for name in get_dataset_config_names(str(root))
            ]
        except Exception as error:  # of the library, which has no error of its own for a bad card
            problem = f"load_dataset would refuse it ({str(error).strip().splitlines()[0]})"
            problem = problem.replace(f"{root}/", "")
            raise DataError(problem, file=checked.folder, remedy=_EXPORT_AGAIN) from None
        for builder in builders:
            splits = {
                str(split): [Path(path).relative_to(root).as_posix() for path in paths]
                for split, paths in builder.config.data_files.items()
            }
            _check_splits(checked.folder, builder.config.name, builder.info, splits)
            unread -= {path for paths in splits.values() for path in paths}
    if unread:
        problem = "belongs to no config of the card, so load_dataset would not read it"
        raise DataError(problem, file=checked.folder / min(unread), remedy=_EXPORT_AGAIN)


def _check_splits(folder: Path, config: str, info: Any, splits: dict[str, list[str]]) -> None:
    """Compare rows and columns of a config's shards with the card's, and with each other's."""
    import pyarrow.parquet
    from datasets import Features

    card, features = folder / "README.md", info.features
    if info.splits and set(info.splits) != set(splits):
        problem = f"lists the splits {', '.join(info.splits)} of {config!r}, not those of its files"
        raise DataError(problem, file=card, remedy=_EXPORT_AGAIN)
    for split, paths in splits.items():
        rows = 0
        for path in paths:
            rows += pyarrow.parquet.read_metadata(folder / path).num_rows
            present = Features.from_arrow_schema(pyarrow.parquet.read_schema(folder / path))
            features = features or present
            if present != features:
                raise DataError(
                    f"has other columns than the card or the other files of {config!r}",
                    file=folder / path,
                    remedy=_EXPORT_AGAIN,
                )
        if info.splits and info.splits[split].num_examples != rows:
            raise DataError(
                f"has {rows:,} rows in the files of {config}/{split} ({', '.join(paths[:3])}), "
                f"but {info.splits[split].num_examples:,} in its card",
                file=folder,
                remedy=_EXPORT_AGAIN,
            )


def _check_parquet(path: Path) -> None:
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as shard:
            for _ in shard.iter_batches():
                pass
    except (pyarrow.ArrowException, OSError) as error:
        problem = f"is cut off, or not a Parquet file ({str(error).splitlines()[0]})"
        raise DataError(problem, file=path, remedy=_EXPORT_AGAIN) from None


def _check_space(folder: Path, kind: str, repo: str) -> CheckedFolder:
    """Check that a Space starts: card, app, requirements; of a metric also its module."""
    from twowiki.builder.dataset_card import read_card

    header, body = read_card(folder / "README.md")
    code_folder = str(Path(str(header.get("app_file") or "app.py")).parent)
    checked = list_files(folder, kind, code_folder)
    paths = checked.paths
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
    return checked._replace(sdk=str(sdk), warnings=_requirement_warnings(folder))


def _requirement_warnings(folder: Path) -> tuple[str, ...]:
    """Return a warning where a Space asks an index for this package, which none has."""
    path = folder / "requirements.txt"
    lines = read_text(path).splitlines() if path.is_file() else []
    if not any(_BARE_NAME.fullmatch(line.strip()) for line in lines):
        return ()
    return (
        f"{path.name} asks the package index for twowiki, which is not there: the Space cannot be "
        "built, or runs the code of whoever takes the name. Run `pip wheel --no-deps -w "
        f"{folder} DIR` with a checkout's DIR, and write ./twowiki-{__version__}-py3-none-any.whl "
        "there instead, or an address (twowiki @ git+https://...)",
    )


def list_files(folder: Path, kind: str, code_folder: str = ".") -> CheckedFolder:
    """List what a folder of a kind sends, and what is left out.

    Args:
        folder: what is to be pushed.
        kind: model, dataset, metric or demo.
        code_folder: of a Space, where its app is.

    Raises:
        DataError: there is no such folder, or nothing in it belongs to the kind.
    """
    if not folder.is_dir():
        problem = "is a file, not a folder" if folder.exists() else "no such folder"
        raise DataError(problem, file=folder, remedy=f"Give the folder of a {kind}")
    files: list[SentFile] = []
    left_out: list[LeftOut] = []
    for path, reason in _walk(folder, folder.resolve()):
        name = path.relative_to(folder)
        if reason := reason or _reason_by_kind(name, kind, Path(code_folder)):
            left_out.append(LeftOut(name.as_posix(), reason))
        else:
            files.append(SentFile(name.as_posix(), path, path.stat().st_size))
    if not files:
        raise DataError(f"holds no file of a {kind}", file=folder, remedy="Give another folder")
    return CheckedFolder(kind, folder, tuple(files), tuple(left_out))


def _walk(folder: Path, root: Path) -> Iterator[tuple[Path, str]]:
    """Yield every file, and each folder that is left out as a whole, with the reason."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        path = Path(entry.path)
        reason = _reason_to_leave_out(path, root)
        if not reason and path.is_dir():
            yield from _walk(path, root)
        else:
            yield path, reason


def _reason_to_leave_out(path: Path, root: Path) -> str:
    for patterns, reason in NEVER_SENT:
        if _matches(path.name, patterns):
            return reason
    if not path.exists():
        return "a broken link"
    if not path.resolve().is_relative_to(root):
        return "a link that leads out of the folder"
    if path.is_dir():
        if path.is_symlink():
            return "a link to a folder"
        return "installed packages" if (path / "pyvenv.cfg").exists() else ""
    return "" if path.is_file() else "not a plain file"


def _reason_by_kind(name: Path, kind: str, code_folder: Path) -> str:
    """Return why a file, by its path in the folder, does not belong to a kind; or nothing."""
    if kind in ("metric", "demo"):
        if name.parts[0] == SPACE_MODEL and len(name.parts) > 1:
            return _reason_by_kind(Path(*name.parts[1:]), "model", code_folder)
        if _matches(name.name, SPACE_PAGES):
            return ""
        if _matches(name.name, SPACE_CODE):
            return "" if name.parent in (Path(), code_folder) else "code in another folder"
    if not _matches(name.name, ALLOWED[kind]):
        return f"not part of a {kind}"
    if kind == "model" and len(name.parts) > 1:
        return "in a folder below the model"
    return ""


def _matches(name: str, patterns: Sequence[str]) -> bool:
    """Whether a file's name has one of the forms, whatever its case."""
    return any(fnmatchcase(name.lower(), pattern) for pattern in patterns)


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
