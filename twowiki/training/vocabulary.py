"""The vocabulary of the training examples: words, characters, relations, and word vectors.

In: examples, and a file of vectors. Out: the tokenizer, the vocabulary's fields of the model's
configuration, and a matrix of vectors. A file whose vectors differ in width is refused.
"""

from __future__ import annotations

import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from io import TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from twowiki.data.schema import Example
from twowiki.errors import DataError, existing_file
from twowiki.io.files import progress
from twowiki.io.processes import map_parts, numbered_parts
from twowiki.io.stages import key_of, run_stage
from twowiki.models import text, tokenization_baseline
from twowiki.models.configuration_baseline import TwoWikiBaselineConfig
from twowiki.models.text import REFERENCE_TITLE_END, REFERENCE_TITLE_START, TITLE_END, TITLE_START
from twowiki.models.tokenization_baseline import TwoWikiTokenizer, build_tokenizer, count_words
from twowiki.training.data import Source
from twowiki.training.encoding import PART_ITEMS
from twowiki.training.feature_store import code_of

SPECIAL_RELATIONS = ("--NULL--", "--OOV--")  # the published baseline's slots 0 and 1


class Counts(NamedTuple):
    """How often each word, character and relation occurs in the training examples."""

    words: Counter[str]
    characters: Counter[str]
    relations: Counter[str]


class _PartCounter(NamedTuple):
    """Counts words, characters and relations of a part of the examples."""

    config: TwoWikiBaselineConfig

    def count_part(self, part: tuple[int, list[Example]]) -> Counts:
        relations: Counter[str] = Counter()

        def texts() -> Iterator[str]:
            for example in part[1]:
                relations.update(triple.relation.strip() for triple in example.triples)
                yield example.question
                for title, sentences in example.context:
                    yield title
                    yield from sentences

        config = self.config
        words, characters = count_words(
            texts(), splitter=config.splitter, lower_case_words=config.lower_case_words
        )
        return Counts(words, characters, relations)


def count_vocabulary(
    examples: Iterable[Example], config: TwoWikiBaselineConfig, workers: int = 1
) -> Counts:
    """Count words, characters and relations of examples, with so many processes (0 = all cores)."""
    found = Counts(Counter(), Counter(), Counter())
    parts = numbered_parts(progress(examples, what="vocabulary"), PART_ITEMS)
    for part in map_parts(_PartCounter(config).count_part, parts, workers):
        for counter, counted in zip(found, part, strict=True):
            counter.update(counted)
    return found


def stored_counts(
    source: Source, content: str, config: TwoWikiBaselineConfig, folder: Path, workers: int = 1
) -> Counts:
    """Return the counts of a split from the folder of all stored splits, counted there once.

    Args:
        source: the split.
        content: a hash of its content.
        config: decides how text becomes words.
        folder: the folder.
        workers: see `count_vocabulary`.
    """
    parts = {
        "content": content,
        "splitter": config.splitter,
        "lower_case_words": config.lower_case_words,
        "code": code_of((sys.modules[__name__], text, tokenization_baseline)),
    }
    key = key_of(parts)

    def work(_: Path) -> dict[str, Any]:
        return dict(count_vocabulary(source.examples(), config, workers)._asdict())

    stored = run_stage(folder / f"vocabulary-{key}", key, work, shared=True, quiet=True)
    return Counts(*(Counter(stored[name]) for name in Counts._fields))


def stored_relations(source: Source, content: str, folder: Path) -> list[str]:
    """Return the relation names of a split's triples, in order; read once for a content.

    Raises:
        DataError: the split has no examples.
    """
    key = key_of({"content": content, "code": code_of((sys.modules[__name__],))})

    def work(_: Path) -> dict[str, Any]:
        names: set[str] = set()
        empty = True
        for example in progress(source.examples(), what="relations"):
            empty = False
            names.update(triple.relation.strip() for triple in example.triples)
        return {"relations": sorted(names), "empty": empty}

    found = run_stage(folder / f"relations-{key}", key, work, shared=True, quiet=True)
    if found["empty"]:
        raise DataError("has no examples", file=source.name, field="train")
    return list(found["relations"])


def make_vocabulary(
    counts: Counts,
    config: TwoWikiBaselineConfig,
    *,
    min_count: int = 1,
    known: Iterable[str] | None = None,
) -> tuple[TwoWikiTokenizer, dict[str, Any]]:
    """Return the tokenizer and the vocabulary's fields of the configuration.

    Args:
        counts: those of the training examples.
        config: the model's configuration.
        min_count: words rarer than this are unknown.
        known: words that have a vector, in their file's order. With frozen vectors (as
            published) a training word without one is unknown; otherwise these words are known too.
    """
    markers = (REFERENCE_TITLE_START, REFERENCE_TITLE_END)
    if config.layout == "marked":
        markers = (TITLE_START, TITLE_END)
    order = sorted(counts.words, key=lambda word: (-counts.words[word], word))
    words = [word for word in order if counts.words[word] >= min_count]
    if known is not None and config.freeze_word_vectors:
        vectored = dict.fromkeys(known)
        words = [word for word in vectored if word in counts.words]
    else:
        words = [*markers, *words, *(known or ())]
    tokenizer = build_tokenizer(
        words,
        "".join(sorted(counts.characters)),
        splitter=config.splitter,
        lower_case_words=config.lower_case_words,
    )
    relations = sorted(counts.relations)
    if not config.triple_slots:
        relations = [*SPECIAL_RELATIONS, *relations]
    return tokenizer, {
        "vocab_size": len(tokenizer.get_vocab()),
        "char_vocab": tokenizer.char_vocab,
        "relations": relations,
    }


def read_vectors(
    path: str, wanted: Callable[[str], bool] | None = None, extra: int = 0
) -> dict[str, NDArray[numpy.float32]]:
    """Read word vectors: GloVe's text lines, a zip of them, or .npy beside a .txt of words.

    A line is split at its last spaces, so that words of several parts keep their spaces.

    Args:
        path: the file.
        wanted: whether to keep a word; all by default.
        extra: number of the file's first words to keep too, which are the most frequent.
    """
    file = existing_file(path, "Name a file of word vectors, such as glove.840B.300d.txt")
    found = _read_array(file) if file.suffix == ".npy" else _read_lines(file)
    vectors: dict[str, NDArray[numpy.float32]] = {}
    width = None
    for number, (word, vector) in enumerate(progress(found, what="vectors")):
        if width is not None and len(vector) != width:
            raise DataError(
                f"has vectors of {width} and of {len(vector)} numbers", file=path, record=word
            )
        width = len(vector)
        kept = wanted is None or number < extra or wanted(word)
        if kept and word not in vectors:
            vectors[word] = vector
    if width is None:
        raise DataError("has no vectors", file=path)
    return vectors


def _read_array(file: Path) -> Iterator[tuple[str, NDArray[numpy.float32]]]:
    names = existing_file(file.with_suffix(".txt"), "Write the words there, one per line")
    matrix = numpy.load(file, mmap_mode="r", allow_pickle=False)
    words = names.read_text(encoding="utf-8").split("\n")
    if words and not words[-1]:
        words.pop()
    if matrix.ndim != 2 or len(words) != len(matrix):
        raise DataError(
            f"has the shape {matrix.shape}, but {names.name} has {len(words)} words", file=file
        )
    for word, vector in zip(words, matrix, strict=True):
        yield word.rstrip("\r"), numpy.asarray(vector, dtype=numpy.float32)


def _read_lines(file: Path) -> Iterator[tuple[str, NDArray[numpy.float32]]]:
    with ExitStack() as stack:
        if zipfile.is_zipfile(file):
            archive = stack.enter_context(zipfile.ZipFile(file))
            members = [name for name in archive.namelist() if name.endswith((".txt", ".vec"))]
            if not members:
                raise DataError("has no .txt of vectors", file=file)
            raw: Any = stack.enter_context(archive.open(members[0]))
        else:
            raw = stack.enter_context(open(file, "rb"))
        lines = TextIOWrapper(raw, encoding="utf-8", newline="\n")
        width = 0
        for number, line in enumerate(lines, start=1):
            parts = line.rstrip("\r\n").split(" ")
            if number == 1 and len(parts) == 2:  # word2vec's first line: count and width
                continue
            if not width:
                width = sum(1 for _ in _numbers_at_end(parts))
            word, values = " ".join(parts[:-width]), parts[-width:]
            try:
                vector = numpy.array(values, dtype=numpy.float32)
            except ValueError:
                vector = numpy.empty(0, numpy.float32)
            if not width or not word or len(vector) != width:
                raise DataError(
                    f"line {number} is not a word and {width or 'some'} numbers", file=file
                )
            yield word, vector


def _numbers_at_end(parts: list[str]) -> Iterator[str]:
    """Yield the last parts of the first line, as long as they are numbers."""
    for part in reversed(parts[1:]):
        try:
            float(part)
        except ValueError:
            return
        yield part


def vector_matrix(
    tokenizer: TwoWikiTokenizer, vectors: dict[str, NDArray[numpy.float32]], seed: int
) -> NDArray[numpy.float32]:
    """Return the matrix of vectors by word id.

    Padding and unknown are zeros; words without a vector are small and drawn from the seed.
    """
    width = len(next(iter(vectors.values())))
    rng = numpy.random.default_rng(seed)
    vocab = tokenizer.get_vocab()
    matrix = rng.normal(0.0, 0.1, (len(vocab), width)).astype(numpy.float32)
    matrix[:2] = 0.0
    for word, number in vocab.items():
        vector = vectors.get(word)
        if vector is not None:
            matrix[number] = vector
    return matrix
