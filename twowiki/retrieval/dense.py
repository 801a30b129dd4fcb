"""Engines that retrieve by vectors of a sentence encoder: exact (`dense`) or by FAISS (`faiss`).

In: a store of entries, then questions. Out: entry numbers with scores, best first. Any model that
`sentence_transformers` loads is an encoder: a folder works without a network, and a name is looked
up on the hub. Its own prompts for queries and documents are used, and its own similarity (cosine,
or dot product). Weights are read from safetensors alone; code of a repository is never run.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from twowiki.errors import DataError
from twowiki.io.files import progress, write_text
from twowiki.retrieval.engines import Found
from twowiki.retrieval.sentence_store import SentenceStore

DENSE_ENGINES = ("dense", "faiss")
ENCODED = 1_024  # entries that are encoded together, and numbers of questions and rows of a product
BATCH = 32
NEIGHBORS, SEARCHED = 32, 256  # of the graph that FAISS builds, and of its search
_ROWS = 1 << 17  # vectors that are compared at a time
_VECTORS, _GRAPH, _MADE_BY = "vectors.f32", "hnsw.faiss", "encoder.sha256"

Vectors = np.ndarray[Any, np.dtype[np.float32]]


class Encoder:
    """A sentence encoder, loaded.

    Args:
        name: a folder, or a name on the hub.
        device: `cpu`, `cuda`, ...; by default a GPU if there is one.

    Raises:
        DataError: it cannot be loaded.
    """

    def __init__(self, name: str, device: str = "") -> None:
        from sentence_transformers import SentenceTransformer

        self.name = name
        local = os.path.isdir(name)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.model: Any = SentenceTransformer(
                    name,
                    device=device or None,
                    local_files_only=local,
                    model_kwargs={"use_safetensors": True},
                )
        except Exception as error:
            reason = (str(error) or type(error).__name__).splitlines()[0]
            remedy = "Name a folder that sentence-transformers saved, or a model on the hub"
            problem = f"the encoder cannot be loaded ({reason})"
            raise DataError(problem, file=name, remedy=remedy) from error
        self.model.eval()
        self.dot = self.model.similarity_fn_name == "dot"
        self.width = int(self.model.get_embedding_dimension() or len(self.model.encode_query("a")))
        self.weights = _hash_of(self.model)

    def documents(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of entries, (n, width)."""
        return self._encode(self.model.encode_document, texts)

    def queries(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of questions, (n, width)."""
        return self._encode(self.model.encode_query, texts)

    def _encode(self, encode: Any, texts: Sequence[str]) -> Vectors:
        made = encode(
            list(texts),
            batch_size=BATCH,
            show_progress_bar=False,
            normalize_embeddings=not self.dot,
        )
        return np.ascontiguousarray(made, dtype=np.float32).reshape(len(texts), self.width)

    def check(self, manifest: Mapping[str, Any]) -> None:
        """Raise where an index was made with another encoder."""
        if manifest["encoder_weights"] != self.weights:
            problem = f"is another encoder than the one that indexed ({manifest['encoder']})"
            remedy = "Name that one with --encoder, or index the corpus again"
            raise DataError(problem, file=self.name, remedy=remedy)


def build_dense(
    store: SentenceStore, folder: Path, encoder: Encoder, *, approximate: bool
) -> dict[str, Any]:
    """Encode a store; blocks that this encoder has completed are kept. Return what describes it."""
    folder.mkdir(parents=True, exist_ok=True)
    path, made_by = folder / _VECTORS, folder / _MADE_BY
    if not (made_by.is_file() and made_by.read_text("utf-8") == encoder.weights):
        for name in (_VECTORS, _GRAPH):  # of another encoder
            (folder / name).unlink(missing_ok=True)
        write_text(made_by, encoder.weights)
    row = 4 * encoder.width
    done = path.stat().st_size // row if path.is_file() else 0
    done = done if done == len(store) else done // ENCODED * ENCODED
    with path.open("r+b" if path.is_file() else "wb") as stream:
        stream.truncate(done * row)
        stream.seek(done * row)
        for block in _blocks(store, done):
            stream.write(encoder.documents(block).tobytes())
            stream.flush()
    if approximate:
        _build_graph(_open_vectors(folder, encoder.width), folder, dot=encoder.dot)
    return {
        "encoder": encoder.name,
        "encoder_weights": encoder.weights,
        "similarity": "dot" if encoder.dot else "cosine",
        "width": encoder.width,
    }


def _blocks(store: SentenceStore, done: int) -> Iterator[list[str]]:
    bar = iter(progress(store.entries(done), what="encoding", total=len(store) - done))
    while block := [entry.indexed for entry in islice(bar, ENCODED)]:
        yield block


def _build_graph(vectors: Vectors, folder: Path, *, dot: bool) -> None:
    import faiss

    path = folder / _GRAPH
    if path.is_file():
        return
    graph: Any = faiss.IndexHNSWFlat(vectors.shape[1], NEIGHBORS, faiss.METRIC_INNER_PRODUCT)
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)  # the same graph on every machine
    try:
        for start in progress(range(0, len(vectors), ENCODED), what="building the graph"):
            graph.add(np.ascontiguousarray(vectors[start : start + ENCODED]))
    finally:
        faiss.omp_set_num_threads(threads)
    aside = path.with_name(f".{path.name}.tmp")
    faiss.write_index(graph, str(aside))
    aside.rename(path)


class DenseEngine:
    """Vectors on disk, of which blocks are compared with a question; or a graph of FAISS.

    Args:
        folder: where `build_dense` wrote.
        encoder: the encoder that it used.
        approximate: search the graph.
    """

    def __init__(self, folder: Path, encoder: Encoder, *, approximate: bool) -> None:
        self.encoder = encoder
        self.vectors = _open_vectors(folder, encoder.width)
        self.graph: Any = None
        if approximate:
            import faiss

            self.graph = faiss.read_index(str(folder / _GRAPH))

    def search(self, questions: Sequence[str], k: int) -> list[list[Found]]:
        """Return the k nearest entries of each question; ties are ordered by number."""
        if not questions:
            return []
        queries = self.encoder.queries(questions)
        k = min(k, len(self.vectors))
        search = self._exact if self.graph is None else self._by_graph
        starts = range(0, len(queries), ENCODED)
        return [found for at in starts for found in search(queries[at : at + ENCODED], k)]

    def _exact(self, queries: Vectors, k: int) -> list[list[Found]]:
        best: list[list[Found]] = [[] for _ in queries]
        for start in range(0, len(self.vectors), _ROWS):
            scores = queries @ self.vectors[start : start + _ROWS].T
            for row, found in enumerate(best):
                numbers = _largest(scores[row], k)
                found += _found(numbers + start, scores[row][numbers])
        return [_ordered(found)[:k] for found in best]

    def _by_graph(self, queries: Vectors, k: int) -> list[list[Found]]:
        self.graph.hnsw.efSearch = max(SEARCHED, 2 * k)
        scores, numbers = self.graph.search(queries, k)
        rows = zip(numbers, scores, strict=True)
        return [_ordered(_found(row[row >= 0], score[row >= 0])) for row, score in rows]


def _largest(scores: Vectors, k: int) -> Any:
    """Return the numbers of the k largest scores, and of those that equal the last one."""
    if len(scores) <= k:
        return np.arange(len(scores))
    return np.flatnonzero(scores >= np.partition(scores, len(scores) - k)[len(scores) - k])


def _found(numbers: Any, scores: Any) -> list[Found]:
    return [Found(*pair) for pair in zip(numbers.tolist(), scores.tolist(), strict=True)]


def _ordered(found: Sequence[Found]) -> list[Found]:
    return sorted(found, key=lambda one: (-one.score, one.number))


def _open_vectors(folder: Path, width: int) -> Vectors:
    return np.memmap(folder / _VECTORS, dtype=np.float32, mode="r").reshape(-1, width)


def _hash_of(model: Any) -> str:
    digest = hashlib.sha256()
    for name, value in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(value.detach().float().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
