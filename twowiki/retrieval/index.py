"""An index of a corpus of sentences: built in a folder, resumable, and opened again.

In: a corpus and settings. Out: a folder, and `SentenceIndex`, which retrieves sentences. The
folder is an index once it has `manifest.json`, which records what was indexed and how; before
that it is an unfinished build that can continue. A folder of other settings, files or versions is
refused, never mixed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from twowiki._version import __version__
from twowiki.errors import DataError
from twowiki.io.files import write_json
from twowiki.io.journal import Journal
from twowiki.retrieval.analysis import ANALYZER_VERSION, check_analyzer
from twowiki.retrieval.corpora import Sentence, SentenceCorpus
from twowiki.retrieval.elasticsearch import SearchServer, without_login
from twowiki.retrieval.engines import K1, B, Bm25sEngine, SentenceEngine, TantivyEngine
from twowiki.retrieval.sentence_store import PART_SIZE, PARTS_FILE, SentenceStore, fill_store

ENGINES = ("auto", "bm25s", "tantivy", "server")
TANTIVY_FROM = 2_000_000  # sentences
_FORMAT = 1
_INDEX_AGAIN = "Remove the folder and index the corpus again"
_MANIFEST, _SENTENCES = "manifest.json", "sentences"
_LOCAL: dict[str, type[Bm25sEngine] | type[TantivyEngine]] = {
    "bm25s": Bm25sEngine,
    "tantivy": TantivyEngine,
}


class IndexSettings(NamedTuple):
    """How an index is built.

    Attributes:
        engine: one of `ENGINES`; `auto` is bm25s, and tantivy for many sentences.
        analyzer: `en` or `std`.
        server, server_index: the address of a search server, and the index's name there.
        part: sentences of a part of the store.
        tantivy_from: number of sentences above which `auto` is tantivy.
    """

    engine: str = "auto"
    analyzer: str = "en"
    server: str = ""
    server_index: str = "arc_da"
    part: int = PART_SIZE
    tantivy_from: int = TANTIVY_FROM


class RetrievedSentence(NamedTuple):
    """A retrieved sentence: its number, score, text and title."""

    number: int
    score: float
    sentence: Sentence


def build_index(corpus: SentenceCorpus, folder: Path, settings: IndexSettings) -> dict[str, Any]:
    """Index a corpus, or continue an interrupted build; return the manifest.

    Raises:
        DataError: the folder holds something else, or an index of something else.
    """
    check_analyzer(settings.analyzer)
    if settings.engine not in ENGINES:
        remedy = f"It is one of {', '.join(ENGINES)}"
        raise DataError(f"is {settings.engine!r}", field="engine", remedy=remedy)
    if settings.engine == "server" and not settings.server:
        raise DataError("the engine 'server' needs an address", remedy="Name it with --server URL")
    identity = _identity(corpus, settings)
    store = _open_store(corpus, folder, identity, settings.part)
    try:
        if (folder / _MANIFEST).is_file():
            return read_manifest(folder)
        engine = settings.engine
        if engine == "auto":
            engine = "tantivy" if len(store) > settings.tantivy_from else "bm25s"
        _check_package(engine)
        if engine == "server":
            server = SearchServer(settings.server, settings.server_index, settings.analyzer)
            server.build(store)
        else:
            _LOCAL[engine].build(store, folder / engine, settings.analyzer)
        manifest = _manifest_of(corpus, store, settings, engine, identity["files"])
    finally:
        store.close()
    write_json(folder / _MANIFEST, manifest)
    return manifest


class SentenceIndex:
    """A finished index: questions in, sentences out.

    Args:
        folder: where `build_index` wrote.
        server: the address of the server, where it needs a login or has moved.

    Raises:
        DataError: there is no finished index, or one of another version.
    """

    def __init__(self, folder: Path, *, server: str = "") -> None:
        self.folder = folder
        self.manifest = read_manifest(folder)
        with _damage_named(folder):
            self.store = SentenceStore(folder / _SENTENCES)
            if len(self.store) != self.manifest["sentences"]:
                parts = folder / _SENTENCES / PARTS_FILE
                raise DataError("sentences are missing", file=parts, remedy=_INDEX_AGAIN)
            self.engine = _open_engine(self.manifest, folder, server)

    @property
    def short_hash(self) -> str:
        """The name of this index in files that were made with it."""
        return f"{self.manifest['content'][:12]}-{self.manifest['analyzer']}"

    def search(self, questions: list[str], k: int) -> list[list[RetrievedSentence]]:
        """Return the k best sentences of each question; fewer if fewer share a word with it."""
        with _damage_named(self.folder):
            return [
                [RetrievedSentence(one.number, one.score, self.store[one.number]) for one in found]
                for found in self.engine.search(questions, k)
            ]

    def close(self) -> None:
        """Close open files."""
        self.store.close()


@contextmanager
def _damage_named(folder: Path) -> Iterator[None]:
    """Turn what the libraries raise about damaged files into one error that names the file."""
    try:
        yield
    except (DataError, ImportError):
        raise
    except Exception as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        file = _damaged_file(folder)
        if file is None and isinstance(error, OSError):
            raise
        problem = f"is damaged ({reason})"
        raise DataError(problem, file=file or folder, remedy=_INDEX_AGAIN) from error


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
        except (OSError, ValueError, EOFError):
            return path
    return None


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a finished index.

    Raises:
        DataError: there is none, or it was written under other rules.
    """
    path = folder / _MANIFEST
    if not path.is_file():
        unfinished = (folder / _SENTENCES / PARTS_FILE).is_file()
        problem = "the index is not finished" if unfinished else "no index here"
        remedy = f"Run `twowiki arc-da index CORPUS {folder}`" + (" again" if unfinished else "")
        raise DataError(problem, file=folder, remedy=remedy)
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        rules = manifest["format"], manifest["analyzer_version"]
    except (ValueError, KeyError, TypeError):
        problem = "is not the manifest of an index"
        raise DataError(problem, file=path, remedy=_INDEX_AGAIN) from None
    if rules != (_FORMAT, ANALYZER_VERSION):
        problem = "was made under the rules of another version"
        raise DataError(problem, file=folder, remedy="Index the corpus again")
    return manifest


def _identity(corpus: SentenceCorpus, settings: IndexSettings) -> dict[str, Any]:
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
        "splitting": corpus.splitting,
        "title_first": corpus.title_first,
        "engine": settings.engine,
        "analyzer": settings.analyzer,
        "server": without_login(settings.server) if settings.server else "",
        "server_index": settings.server_index if settings.server else "",
        "part": settings.part,
        "rules": [_FORMAT, ANALYZER_VERSION],
    }


def _open_store(
    corpus: SentenceCorpus, folder: Path, identity: dict[str, Any], part: int
) -> SentenceStore:
    """Return the store of a folder, filled; raise if the folder holds something else."""
    sentences = folder / _SENTENCES
    begun = (sentences / PARTS_FILE).is_file()
    if folder.exists() and not begun and (not folder.is_dir() or any(folder.iterdir())):
        remedy = "Name a new folder for the index"
        raise DataError("is not empty, and not an index", file=folder, remedy=remedy)
    try:
        if begun and (folder / _MANIFEST).is_file():
            Journal(sentences / PARTS_FILE, identity, key="part")
            return SentenceStore(sentences)
        return fill_store(corpus, sentences, part=part, identity=identity)
    except DataError as error:
        if error.file != str(sentences / PARTS_FILE):
            raise
        problem = error.problem.replace("belongs to another run", "is an index of something else")
        remedy = "Name another folder, or remove this one"
        raise DataError(problem, file=folder, remedy=remedy) from None


def _manifest_of(
    corpus: SentenceCorpus,
    store: SentenceStore,
    settings: IndexSettings,
    engine: str,
    files: list[Any],
) -> dict[str, Any]:
    manifest = {
        "format": _FORMAT,
        "engine": engine,
        "engine_version": _version(engine),
        "analyzer": settings.analyzer,
        "analyzer_version": ANALYZER_VERSION,
        "k1": K1,
        "b": B,
        "sentences": len(store),
        "dropped": store.dropped(corpus),
        "content": store.content(),
        "corpus": files,
        "splitting": corpus.splitting,
        "title_first": corpus.title_first,
        "twowiki": __version__,
    }
    if engine == "server":
        address = without_login(settings.server)
        manifest |= {"server": address, "server_index": settings.server_index}
    return manifest


def _open_engine(manifest: dict[str, Any], folder: Path, server: str) -> SentenceEngine:
    name = manifest["engine"]
    _check_package(name)
    if name == "server":
        address = server or manifest["server"]
        return SearchServer(address, manifest["server_index"], manifest["analyzer"])
    if name not in _LOCAL:
        raise DataError(f"was made by an unknown engine {name!r}", file=folder)
    return _LOCAL[name](folder / name, manifest["analyzer"])


def _check_package(engine: str) -> None:
    """Raise with the install command if an engine's package is missing."""
    if engine != "server" and find_spec(engine) is None:
        remedy = "Install it with: pip install 'twowiki[retrieval]'"
        raise DataError(f"this index needs the package {engine!r}", remedy=remedy)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
