"""Make an index of a corpus, resumable, and open it again.

A folder is an index once it has `manifest.json`, which says what was indexed and how; before that
it is a build that can go on. An index of other rules, files or versions is refused, never mixed.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from twowiki._version import __version__
from twowiki.errors import DataError
from twowiki.io.files import write_json
from twowiki.retrieval.analysis import VERSION, checked_analyzer
from twowiki.retrieval.corpora import Corpus, Sentence
from twowiki.retrieval.elasticsearch import Server, without_login
from twowiki.retrieval.engines import K1, B, Bm25s, Engine, Tantivy
from twowiki.retrieval.sentence_store import PART, Store, dropped_counts, fill_store

ENGINES = ("auto", "bm25s", "tantivy", "server")
MANY = 2_000_000  # sentences from which on `auto` takes tantivy
FORMAT = 1
_MANIFEST, _BUILD = "manifest.json", "build.json"


class Setting(NamedTuple):
    """How an index is made.

    Attributes:
        engine: one of `ENGINES`; `auto` takes bm25s, and tantivy for many sentences.
        analyzer: `en` or `std`.
        server, server_index: the address of a search server, and the index's name there.
        part: sentences a part of the store.
        many: sentences from which on `auto` takes tantivy.
    """

    engine: str = "auto"
    analyzer: str = "en"
    server: str = ""
    server_index: str = "arc_da"
    part: int = PART
    many: int = MANY


class Hit(NamedTuple):
    """A sentence found: its number, score, text and title."""

    number: int
    score: float
    sentence: Sentence


def build_index(corpus: Corpus, folder: Path, setting: Setting) -> dict[str, Any]:
    """Index a corpus, or go on where a build was cut off; give the manifest.

    Raises:
        DataError: the folder holds something else, or a finished index of something else.
    """
    checked_analyzer(setting.analyzer)
    if setting.engine not in ENGINES:
        remedy = f"It is one of {', '.join(ENGINES)}"
        raise DataError(f"is {setting.engine!r}", field="engine", remedy=remedy)
    if setting.engine == "server" and not setting.server:
        raise DataError("the engine 'server' needs an address", remedy="Give it with --server URL")
    identity = _identity(corpus, setting)
    _claim(folder, identity)
    if (folder / _MANIFEST).is_file():
        return read_manifest(folder)
    store = fill_store(corpus, folder / "sentences", part=setting.part)
    try:
        chosen = setting.engine
        if chosen == "auto":
            chosen = "tantivy" if len(store) > setting.many else "bm25s"
        _build_engine(chosen, store, folder, setting)
        manifest = {
            "format": FORMAT,
            "engine": chosen,
            "engine_version": _version(chosen),
            "analyzer": setting.analyzer,
            "analyzer_version": VERSION,
            "k1": K1,
            "b": B,
            "sentences": len(store),
            "dropped": dropped_counts(store, corpus),
            "content": store.content(),
            "corpus": identity["files"],
            "splitting": corpus.splitting,
            "title_first": corpus.title_first,
            "twowiki": __version__,
        }
    finally:
        store.close()
    if chosen == "server":
        manifest |= {"server": without_login(setting.server), "server_index": setting.server_index}
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
        self.manifest = read_manifest(folder)
        self.store = Store(folder / "sentences")
        if len(self.store) != self.manifest["sentences"]:
            remedy = "Remove the folder and index the corpus again"
            raise DataError("sentences are missing", file=folder, remedy=remedy)
        self.engine = _open_engine(self.manifest, folder, server)

    @property
    def short_hash(self) -> str:
        """What names this index in files that were made with it."""
        return f"{self.manifest['content'][:12]}-{self.manifest['analyzer']}"

    def search(self, questions: list[str], k: int) -> list[list[Hit]]:
        """Give each question its k best sentences, best first; fewer if fewer share a word."""
        return [
            [Hit(one.number, one.score, self.store[one.number]) for one in found]
            for found in self.engine.search(questions, k)
        ]

    def close(self) -> None:
        """Let go of files and connections."""
        self.engine.close()
        self.store.close()


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read a finished index's manifest.

    Raises:
        DataError: there is none, or its rules are not today's.
    """
    path = folder / _MANIFEST
    if not path.is_file():
        unfinished = (folder / _BUILD).is_file()
        problem = "the index is not finished" if unfinished else "no index here"
        remedy = f"Run `twowiki arc-da index CORPUS {folder}`" + (" again" if unfinished else "")
        raise DataError(problem, file=folder, remedy=remedy)
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        made_by = manifest["format"], manifest["analyzer_version"]
    except (ValueError, KeyError, TypeError):
        raise DataError("is no manifest of an index", file=path) from None
    if made_by != (FORMAT, VERSION):
        remedy = "Index the corpus again"
        raise DataError("was made by other rules than today's", file=folder, remedy=remedy)
    return manifest


def _identity(corpus: Corpus, setting: Setting) -> dict[str, Any]:
    files = []
    for name in corpus.files:
        path = name.rpartition("::")[2]
        try:
            found = os.stat(path)
        except FileNotFoundError:
            raise DataError("no such file", file=path, remedy="Check the path") from None
        files.append([os.path.basename(path), name.partition("::")[0], found.st_size])
    return {
        "files": json.loads(json.dumps(files)),
        "stamps": [os.stat(name.rpartition("::")[2]).st_mtime_ns for name in corpus.files],
        "splitting": corpus.splitting,
        "title_first": corpus.title_first,
        "engine": setting.engine,
        "analyzer": setting.analyzer,
        "server": without_login(setting.server) if setting.server else "",
        "server_index": setting.server_index if setting.server else "",
        "part": setting.part,
        "rules": [FORMAT, VERSION],
    }


def _claim(folder: Path, identity: dict[str, Any]) -> None:
    """Make a folder the place of this build, or refuse it."""
    path = folder / _BUILD
    if path.is_file():
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            found = None
        if found == identity:
            return
        changed = [name for name in identity if (found or {}).get(name) != identity[name]]
        problem = f"holds an index of something else (other {', '.join(changed)})"
        remedy = "Name another folder, or remove this one"
        raise DataError(problem, file=folder, remedy=remedy)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        remedy = "Name a new folder for the index"
        raise DataError("is not empty, and no index", file=folder, remedy=remedy)
    write_json(path, identity)


def _build_engine(name: str, store: Store, folder: Path, setting: Setting) -> None:
    _need(name)
    if name == "server":
        Server(setting.server, setting.server_index, setting.analyzer).build(store)
    elif name == "tantivy":
        Tantivy.build(store, folder / name, setting.analyzer)
    elif not (folder / name).is_dir():
        shutil.rmtree(folder / f".{name}.tmp", ignore_errors=True)
        Bm25s.build(store, folder / name, setting.analyzer)


def _open_engine(manifest: dict[str, Any], folder: Path, server: str) -> Engine:
    name = manifest["engine"]
    _need(name)
    if name == "server":
        address = server or manifest["server"]
        return Server(address, manifest["server_index"], manifest["analyzer"])
    kinds: dict[str, type[Bm25s] | type[Tantivy]] = {"bm25s": Bm25s, "tantivy": Tantivy}
    if name not in kinds:
        raise DataError(f"was made by an unknown engine {name!r}", file=folder)
    return kinds[name](folder / name, manifest["analyzer"])


def _need(name: str) -> None:
    """Say how to get an engine's package where it is missing."""
    from importlib.util import find_spec

    if name != "server" and find_spec(name) is None:
        remedy = "Install it with: pip install 'twowiki[retrieval]'"
        raise DataError(f"this index needs the package {name!r}", remedy=remedy)


def _version(name: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None
