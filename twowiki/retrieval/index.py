"""An index of a corpus of sentences or paragraphs: built in a folder, resumable, opened again.

In: a corpus and settings. Out: a folder, and `SentenceIndex`, which retrieves its entries. The
folder is an index once it has `manifest.json`, which records what was indexed and how; before
that it is an unfinished build that can continue. A folder of other settings, files or versions is
refused, never mixed; it is marked, and held by one process at a time.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from twowiki._version import __version__
from twowiki.errors import DataError
from twowiki.io.files import check_no_pipes, write_json
from twowiki.io.journal import Journal
from twowiki.io.ownership import open_folder
from twowiki.retrieval.analysis import ANALYZER_VERSION, check_analyzer
from twowiki.retrieval.dense import DENSE_ENGINES, DenseEngine, Encoder, build_dense
from twowiki.retrieval.elasticsearch import SearchServer, without_login
from twowiki.retrieval.engines import UNFINISHED, Bm25sEngine, SentenceEngine, TantivyEngine
from twowiki.retrieval.postings import K1, B
from twowiki.retrieval.sentence_store import (
    PART_SIZE,
    PARTS_FILE,
    SentenceStore,
    TextCorpus,
    fill_store,
)

ENGINES = ("auto", "bm25s", "tantivy", "server", *DENSE_ENGINES)
TANTIVY_FROM = 2_000_000  # entries
_FORMAT = 2
_INDEX_AGAIN = "Index the corpus again, with --restart"
_LONGEST = 200  # characters of a library's message
_MANIFEST, _ENTRIES = "manifest.json", "entries"
DENSE_FOLDER = "dense"
FOLDERS = ("bm25s", "tantivy", DENSE_FOLDER)
_LOCAL: dict[str, type[Bm25sEngine] | type[TantivyEngine]] = {
    "bm25s": Bm25sEngine,
    "tantivy": TantivyEngine,
}


class IndexSettings(NamedTuple):
    """How an index is built.

    Attributes:
        engine: one of `ENGINES`; `auto` is bm25s, and tantivy for many entries.
        analyzer: `en` or `std`.
        server, server_index: the address of a search server, and the index's name there.
        encoder: of the dense engines: a folder, or a name on the hub, which is downloaded.
        device: where the encoder runs; by default a GPU if there is one.
        part: entries of a part of the store.
        tantivy_from: number of entries above which `auto` is tantivy.
    """

    engine: str = "auto"
    analyzer: str = "en"
    server: str = ""
    server_index: str = "arc_da"
    encoder: str = ""
    device: str = ""
    part: int = PART_SIZE
    tantivy_from: int = TANTIVY_FROM


class Hit(NamedTuple):
    """A retrieved entry, a sentence or a document, with its number and score."""

    number: int
    score: float
    entry: Any


def build_index(
    corpus: TextCorpus, folder: Path, settings: IndexSettings, *, restart: bool = False
) -> dict[str, Any]:
    """Index a corpus, or continue an interrupted build; return the manifest.

    Args:
        corpus: sentences or paragraphs.
        folder: the folder to write; it holds nothing else.
        settings: how to index.
        restart: remove first what an earlier build wrote there.

    Raises:
        DataError: the folder holds something else, or an index of something else.
    """
    _check_settings(settings)
    identity = _identity(corpus, settings)
    inputs = [Path(name.rpartition("::")[2]) for name in corpus.files]
    with open_folder(folder, "index", {}, restart=restart, inputs=inputs) as owned:
        owned.claim(*(f"{name}/" for name in (_ENTRIES, UNFINISHED, *FOLDERS)), _MANIFEST)
        store = _open_store(corpus, folder, identity, settings.part)
        try:
            if (folder / _MANIFEST).is_file():
                return read_manifest(folder)
            engine = settings.engine
            if engine == "auto":
                engine = "tantivy" if len(store) > settings.tantivy_from else "bm25s"
            built = _build_engine(engine, store, folder, settings)
            manifest = _manifest_of(corpus, store, settings, engine, identity["files"]) | built
        finally:
            store.close()
        write_json(folder / _MANIFEST, manifest)
    return manifest


def _check_settings(settings: IndexSettings) -> None:
    check_analyzer(settings.analyzer)
    if settings.engine not in ENGINES:
        remedy = f"It is one of {', '.join(ENGINES)}"
        raise DataError(f"is {settings.engine!r}", field="engine", remedy=remedy)
    if settings.engine == "server" and not settings.server:
        raise DataError("the engine 'server' needs an address", remedy="Name it with --server URL")
    dense = settings.engine in DENSE_ENGINES
    if dense and not settings.encoder:
        remedy = "Name a folder or a hub model with --encoder"
        raise DataError(f"the engine {settings.engine!r} needs an encoder", remedy=remedy)
    if settings.encoder and not dense:
        remedy = f"Use it with --engine {' or '.join(DENSE_ENGINES)}"
        problem = f"the engine {settings.engine!r} has no encoder"
        raise DataError(problem, field="encoder", remedy=remedy)
    if settings.engine != "auto":
        _check_package(settings.engine)


def _build_engine(
    engine: str, store: SentenceStore, folder: Path, settings: IndexSettings
) -> dict[str, Any]:
    """Build the engine's part of an index; return what the manifest says of it."""
    _check_package(engine)
    if engine == "server":
        SearchServer(settings.server, settings.server_index, settings.analyzer).build(store)
        return {"server": without_login(settings.server), "server_index": settings.server_index}
    if engine in DENSE_ENGINES:
        encoder = Encoder(settings.encoder, settings.device)
        return build_dense(store, folder / DENSE_FOLDER, encoder, approximate=engine == "faiss")
    _LOCAL[engine].build(store, folder / engine, settings.analyzer)
    return {}


class SentenceIndex:
    """A finished index: questions in, sentences or paragraphs out.

    Args:
        folder: where `build_index` wrote.
        server: the address of the server, where it needs a login or has moved.
        encoder: the folder of the encoder, where it has moved.
        device: where the encoder runs; by default a GPU if there is one.

    Raises:
        DataError: there is no finished index, or one of another version.
    """

    def __init__(
        self,
        folder: str | PathLike[str],
        *,
        server: str = "",
        encoder: str = "",
        device: str = "",
    ) -> None:
        self.folder = folder = Path(folder)
        check_no_pipes(folder)
        self.manifest = read_manifest(folder)
        with _damage_named(folder):
            self.store = SentenceStore(folder / _ENTRIES)
            if len(self.store) != self.manifest["entries"]:
                parts = folder / _ENTRIES / PARTS_FILE
                raise DataError("entries are missing", file=parts, remedy=_INDEX_AGAIN)
            self.engine = _open_engine(self.manifest, folder, server, encoder, device)
            found = getattr(self.engine, "count", len(self.store))
            if found != len(self.store):
                problem = f"holds {found:,} of {len(self.store):,} entries"
                raise DataError(problem, file=folder / "tantivy", remedy=_INDEX_AGAIN)

    @property
    def short_hash(self) -> str:
        """The name of this index in files that were made with it."""
        encoder = self.manifest.get("encoder_weights", "")[:12]
        return f"{self.manifest['content'][:12]}-{encoder or self.manifest['analyzer']}"

    @property
    def unit(self) -> str:
        """`sentence` or `paragraph`."""
        return str(self.manifest["unit"])

    def search(self, questions: list[str], k: int) -> list[list[Hit]]:
        """Return the k best entries of each question; by words, fewer if fewer share one."""
        with _damage_named(self.folder):
            return [
                [Hit(one.number, one.score, self.store[one.number]) for one in found]
                for found in self.engine.search(questions, k)
            ]

    def close(self) -> None:
        """Close open files; the end of a `with` block does so too."""
        self.store.close()

    def __enter__(self) -> SentenceIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def _damage_named(folder: Path) -> Iterator[None]:
    """Turn what the libraries raise about damaged files into one error that names the file."""
    try:
        yield
    except (DataError, ImportError):
        raise
    except Exception as error:
        reason = (str(error) or type(error).__name__).splitlines()[0][:_LONGEST]
        file = _damaged_file(folder) or _named_file(folder, str(error))
        if file is None and isinstance(error, OSError):
            raise
        problem = f"is damaged ({reason})"
        raise DataError(problem, file=file or folder, remedy=_INDEX_AGAIN) from error


def _named_file(folder: Path, text: str) -> Path | None:
    """Return the file of an index that a library's message names."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return next((path for path in files if path.name in text), None)


def _damaged_file(folder: Path) -> Path | None:
    """Return the file of an index that cannot be read; None if each can by itself."""
    for path in sorted(path for path in folder.rglob("*.*") if path.is_file()):
        try:
            if path.suffix == ".npy":
                np.load(path, mmap_mode="r")
            elif path.suffix == ".json":
                json.loads(path.read_bytes())
            elif path.suffix == ".jsonl":
                for line in path.read_bytes().splitlines():
                    json.loads(line)
        except (OSError, ValueError, EOFError, RecursionError):
            return path
    return None


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a finished index.

    Raises:
        DataError: there is none, or it was written under other rules.
    """
    path = folder / _MANIFEST
    if not path.is_file():
        unfinished = (folder / _ENTRIES / PARTS_FILE).is_file()
        problem = "the index is not finished" if unfinished else "no index here"
        remedy = f"Run `twowiki index CORPUS {folder}`" + (" again" if unfinished else "")
        raise DataError(problem, file=folder, remedy=remedy)
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        rules = manifest["format"], manifest["analyzer_version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        problem = "is not the manifest of an index"
        raise DataError(problem, file=path, remedy=_INDEX_AGAIN) from None
    if rules != (_FORMAT, ANALYZER_VERSION):
        problem = "was made under the rules of another version"
        raise DataError(problem, file=folder, remedy="Index the corpus again")
    return manifest


def _identity(corpus: TextCorpus, settings: IndexSettings) -> dict[str, Any]:
    """Return all that the index depends on."""
    files, stamps = [], []
    for name in corpus.files:
        member, _, path = name.rpartition("::")
        try:
            found = os.stat(path)
        except FileNotFoundError:
            raise DataError("no such file", file=path, remedy="Check the path") from None
        files.append([os.path.basename(path), member or path, found.st_size])
        stamps.append(found.st_mtime_ns)
    return {
        "files": files,
        "stamps": stamps,
        **corpus.settings,
        "engine": settings.engine,
        "analyzer": settings.analyzer,
        "encoder": settings.encoder,
        "server": without_login(settings.server) if settings.server else "",
        "server_index": settings.server_index if settings.server else "",
        "part": settings.part,
        "rules": [_FORMAT, ANALYZER_VERSION],
    }


def _open_store(
    corpus: TextCorpus, folder: Path, identity: dict[str, Any], part: int
) -> SentenceStore:
    """Return the store of a folder, filled; raise if the folder holds another index."""
    entries = folder / _ENTRIES
    try:
        if (folder / _MANIFEST).is_file():
            Journal(entries / PARTS_FILE, identity, key="part")
            return SentenceStore(entries)
        return fill_store(corpus, entries, part=part, identity=identity)
    except DataError as error:
        if error.file != str(entries / PARTS_FILE):
            raise
        problem = error.problem.replace("belongs to another run", "is an index of something else")
        remedy = "Name another folder, or start over with --restart"
        raise DataError(problem, file=folder, remedy=remedy) from None


def _manifest_of(
    corpus: TextCorpus,
    store: SentenceStore,
    settings: IndexSettings,
    engine: str,
    files: list[Any],
) -> dict[str, Any]:
    return {
        "format": _FORMAT,
        "engine": engine,
        "engine_version": _version(engine),
        "analyzer": settings.analyzer,
        "analyzer_version": ANALYZER_VERSION,
        "k1": K1,
        "b": B,
        "entries": len(store),
        "dropped": store.dropped(corpus),
        "content": store.content(),
        "corpus": files,
        **corpus.settings,
        "twowiki": __version__,
    }


def _open_engine(
    manifest: dict[str, Any], folder: Path, server: str, encoder: str, device: str
) -> SentenceEngine:
    name = manifest["engine"]
    _check_package(name)
    if name in DENSE_ENGINES:
        model = Encoder(encoder or manifest["encoder"], device)
        model.check(manifest)
        return DenseEngine(folder / DENSE_FOLDER, model, approximate=name == "faiss")
    if name == "server":
        address = server or manifest["server"]
        return SearchServer(address, manifest["server_index"], manifest["analyzer"])
    if name not in _LOCAL:
        raise DataError(f"was made by an unknown engine {name!r}", file=folder)
    return _LOCAL[name](folder / name, manifest["analyzer"])


def _check_package(engine: str) -> None:
    """Raise with the install command if an engine's package is missing."""
    packages = {"server": (), "dense": ("sentence_transformers",)}.get(engine, (engine,))
    if engine == "faiss":
        packages = ("sentence_transformers", "faiss")
    for package in packages:
        if find_spec(package) is None:
            extra = "dense" if engine in DENSE_ENGINES else "retrieval"
            remedy = f"Install it with: pip install 'twowiki[{extra}]'"
            raise DataError(f"this index needs the package {package!r}", remedy=remedy)


def _version(engine: str) -> str | None:
    try:
        return version({"dense": "sentence-transformers", "faiss": "faiss-cpu"}.get(engine, engine))
    except PackageNotFoundError:
        return None
