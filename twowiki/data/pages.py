"""Wikipedia summaries with their links: the config `para_with_hyperlink`, in the authors' form.

In: JSON lines of {id, title, sentences, mentions}, packed or not, or Parquet of the same columns.
Out: Arrow tables. Offsets of mentions are kept as they are written; a link without an address or
ids has None.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twowiki.data.configs import PAGES_CONFIG
from twowiki.errors import DataError
from twowiki.io.records import Opener, read_records

if TYPE_CHECKING:
    import datasets

_NUMBERS = ("id", "start", "end", "sent_idx")
_FORM = 'Write {"id": ..., "title": ..., "sentences": [...], "mentions": [...]}'


def find_pages(place: str | PathLike[str]) -> dict[str, list[str]]:
    """Return the files of pages: a file, or those of a folder whose names begin as the config's.

    Raises:
        DataError: no such path, or none in the folder.
    """
    path = Path(place)
    if path.is_file():
        return {"train": [str(path)]}
    found = sorted(map(str, path.glob(f"{PAGES_CONFIG}*"))) if path.is_dir() else []
    found = found or sorted(map(str, path.glob(f"{PAGES_CONFIG}/*.parquet")))
    files = [name for name in found if Path(name).is_file()]
    if not files:
        remedy = f"Name the file, or a folder with {PAGES_CONFIG}.jsonl or .zip"
        raise DataError("no file of pages", file=place, remedy=remedy)
    return {"train": files}


def page_features() -> datasets.Features:
    """Return the typed columns of a page."""
    from datasets import Features, Value

    from twowiki.data.arrow import list_of

    text, number = Value("string"), Value("int32")
    mention = {**dict.fromkeys(_NUMBERS, number), "ref_url": text, "ref_ids": list_of(text)}
    return Features(
        {"id": text, "title": text, "sentences": list_of(text), "mentions": list_of(mention)}
    )


def page_tables(files: Iterable[str], opener: Opener = open) -> Iterator[Any]:
    """Yield the pages of files as Arrow tables; those before an error come first."""
    import pyarrow

    from twowiki.data.arrow import bounded_batches

    schema = page_features().arrow_schema
    rows = (_row(one, path, n) for path in files for n, one in read_records(path, opener))
    for batch in bounded_batches(rows, lambda row: sum(map(len, row["sentences"]))):
        yield pyarrow.Table.from_pylist(batch, schema)


def _row(record: Any, path: str, number: int) -> dict[str, Any]:
    page_id = record.get("id") if isinstance(record, Mapping) else None
    if not isinstance(page_id, str | int):
        raise DataError("no id", file=path, record=f"number {number}", field="id", remedy=_FORM)
    where: dict[str, Any] = {"file": path, "record": page_id, "remedy": _FORM}
    title, sentences = record.get("title"), record.get("sentences")
    if not isinstance(title, str):
        raise DataError("the title is not a text", field="title", **where)
    if not isinstance(sentences, list) or not all(isinstance(one, str) for one in sentences):
        raise DataError("the sentences are not a list of texts", field="sentences", **where)
    mentions = record.get("mentions") or []
    if not isinstance(mentions, list) or not all(map(_is_mention, mentions)):
        raise DataError("a mention has no whole numbers as offsets", field="mentions", **where)
    return {
        "id": str(page_id),
        "title": title,
        "sentences": sentences,
        "mentions": [_mention(one) for one in mentions],
    }


def _is_mention(mention: Any) -> bool:
    return isinstance(mention, Mapping) and all(
        type(mention.get(name)) is int for name in ("start", "end", "sent_idx")
    )


def _mention(mention: Mapping[str, Any]) -> dict[str, Any]:
    ids, number = mention.get("ref_ids"), mention.get("id")
    return {
        "id": number if type(number) is int else None,
        **{name: mention[name] for name in ("start", "end", "sent_idx")},
        "ref_url": None if mention.get("ref_url") is None else str(mention["ref_url"]),
        "ref_ids": [str(one) for one in ids] if isinstance(ids, list) else None,
    }
