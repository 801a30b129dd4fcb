"""The one error that users meet: it names the file, the record, the field and the remedy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any


class DataError(ValueError):
    """Input that cannot be used, described in one sentence that a person can act on.

    Args:
        problem: what is wrong, without a trailing full stop.
        file: the file it was found in.
        record: the record's id (or its number where it has none).
        field: the field of that record.
        remedy: what to do about it.
    """

    def __init__(
        self,
        problem: str,
        *,
        file: str | PathLike[str] | None = None,
        record: str | int | None = None,
        field: str | None = None,
        remedy: str | None = None,
    ) -> None:
        self.problem, self.field, self.remedy = problem, field, remedy
        self.file = None if file is None else str(file)
        self.record = None if record is None else str(record)
        super().__init__(str(self))

    def __str__(self) -> str:
        places = [
            self.file,
            None if self.record is None else f"record {self.record}",
            None if self.field is None else f"field {self.field!r}",
        ]
        where = ", ".join(place for place in places if place)
        text = f"{where}: {self.problem}" if where else self.problem
        return printable(f"{text}. {self.remedy}" if self.remedy else text)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (self.problem, self.file, self.record, self.field, self.remedy))

    def at(self, file: str | PathLike[str]) -> DataError:
        """Return the same error with the file filled in, where it was not known yet."""
        if self.file is not None:
            return self
        return DataError(
            self.problem, file=file, record=self.record, field=self.field, remedy=self.remedy
        )

    def of(self, record: str | None) -> DataError:
        """Return the same error with the record filled in, where it was not known yet."""
        return DataError(
            self.problem,
            file=self.file,
            record=self.record or record,
            field=self.field,
            remedy=self.remedy,
        )


def _rebuild(
    problem: str, file: str | None, record: str | None, field: str | None, remedy: str | None
) -> DataError:
    return DataError(problem, file=file, record=record, field=field, remedy=remedy)


def check_encodable(text: str, field: str) -> None:
    """Raise where a text has half a surrogate pair, which no UTF-8 file can hold."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = ascii(text[error.start])
        raise DataError(f"half a character ({half}) in the text", field=field) from None


_CONTROLS = {
    code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"
}


def printable(text: str) -> str:
    """Return a text as a terminal may show it: control characters of data are written out."""
    return text.translate(_CONTROLS)


# package -> the extra that installs it
EXTRA_OF = {
    **dict.fromkeys(("torch", "transformers", "accelerate", "safetensors", "matplotlib"), "train"),
    **dict.fromkeys(("evaluate", "rouge_score", "nltk"), "metric"),
    **dict.fromkeys(("duckdb", "scipy", "isal", "orjson"), "generate"),
    **dict.fromkeys(("bm25s", "tantivy"), "retrieval"),
    **dict.fromkeys(("sentence_transformers", "faiss"), "dense"),
    **dict.fromkeys(("peft", "gguf", "sentencepiece"), "text"),
    "spacy": "spacy",
    "pyspark": "spark",
    "gradio": "demo",
}


def missing_package(error: ImportError) -> str:
    """Return the sentence on a package that an extra installs; empty for any other one."""
    extra = EXTRA_OF.get((error.name or "").split(".")[0])
    if extra is None:
        return ""
    return f"it needs the package {error.name!r}. Install it with: pip install 'twowiki[{extra}]'"


@contextmanager
def extras_named() -> Iterator[None]:
    """Name the extra that installs a package which is missing; a decorator, too."""
    try:
        yield
    except ModuleNotFoundError as error:
        if sentence := missing_package(error):
            raise ModuleNotFoundError(sentence, name=error.name) from None
        raise


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most like a misspelled one, or None."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, sorted(known), n=1)), None)


def import_extra(module: str, extra: str) -> Any:
    """Import a module of an optional extra.

    Raises:
        DataError: it is not installed; the remedy names the command that installs it.
    """
    try:
        return import_module(module)
    except ImportError:
        problem = f"this needs the package {module.partition('.')[0]!r}, which is not installed"
        remedy = f"Install it with: pip install 'twowiki[{extra}]'"
        raise DataError(problem, remedy=remedy) from None


def existing_file(path: str | PathLike[str], remedy: str) -> Path:
    """Return the path if it is a file, else raise with the remedy."""
    found = Path(path)
    if not found.is_file():
        other = "is a folder, not a file" if found.is_dir() else "is a pipe or device, not a file"
        problem = other if found.exists() else "no such file"
        raise DataError(problem, file=path, remedy=remedy)
    return found


def unless_here(place: str | PathLike[str]) -> str:
    """Return what comes before "cannot be loaded" for a name that is not a local folder."""
    return "" if Path(place).exists() else "is not a folder here, and as a repository "
