"""Wikipedia summaries to rows of `pages`, `sentences`, `mentions` and `redirects`.

In: the authors' `para_with_hyperlink` lines, lines or Parquet rows of `wikimedia/wikipedia`
({id, url, title, text}), or `<page>` elements of pages-articles XML. Out: rows, and counts of
what was left out and why. Sentences that the input has split already are kept.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import orjson

from twowiki.generation.tables import SkippedLine, TableRow, as_bigint
from twowiki.generation.text import normalize, page_key, unescape
from twowiki.generation.wikitext import render_summary
from twowiki.models.text import bare_title, split_sentences


class PageRows(NamedTuple):
    """The rows of a block of pages by table, and counts by reason."""

    tables: dict[str, list[TableRow]]
    counts: Counter[str]


class _Mention(NamedTuple):
    """A link: sentence index, characters half-open within that sentence, and where it leads."""

    sent_id: int
    start: int
    end: int
    target_qid: int | None
    target_title: str


def _empty() -> PageRows:
    names = ("pages", "sentences", "mentions", "redirects")
    return PageRows({name: [] for name in names}, Counter())


def parse_json_lines(block: bytes, left_out: list[SkippedLine] | None = None) -> PageRows:
    """Parse lines of either JSON form; the record's keys decide which one it is.

    Args:
        block: whole lines.
        left_out: gets the place of each line that cannot be read.
    """
    found = _empty()
    for number, line in enumerate(block.split(b"\n")):
        text = line.strip().rstrip(b",")
        if text in (b"", b"[", b"]"):
            continue
        try:
            record = orjson.loads(text)
        except ValueError:
            found.counts["undecodable line"] += 1
            if left_out is not None:
                left_out.append(SkippedLine(number, "undecodable line"))
            continue
        reason = _add_record(record, found)
        if reason and left_out is not None:
            left_out.append(SkippedLine(number, reason))
    return found


def parse_records(records: Iterable[Mapping[str, Any]]) -> PageRows:
    """Parse records that are decoded already (rows of a Parquet file)."""
    found = _empty()
    for record in records:
        _add_record(record, found)
    return found


def _add_record(record: Any, found: PageRows) -> str:
    """Add a record's rows; count and return the reason where it has none, else ""."""
    reason = _reason_against(record)
    if reason:
        found.counts[reason] += 1
        return reason
    page_id = _page_id(record["id"]) or 0
    sentences = record.get("sentences")
    if isinstance(sentences, list) and all(isinstance(text, str) for text in sentences):
        mentions = _given_mentions(record.get("mentions"), sentences)
        _add_page(page_id, record["title"], sentences, mentions, found)
    elif isinstance(record.get("text"), str):
        summary = summary_of_article(record["text"])
        cut = split_sentences(summary, [record["title"], bare_title(record["title"])])
        _add_page(page_id, record["title"], cut, [], found)
    else:
        reason = "record with neither sentences nor text"
        found.counts[reason] += 1
    return reason


def _reason_against(record: Any) -> str:
    if not isinstance(record, Mapping) or not isinstance(record.get("title"), str):
        return "record without a title"
    return "record without a page id" if _page_id(record.get("id")) is None else ""


def _page_id(value: object) -> int | None:
    text = str(value).strip() if isinstance(value, (int, str)) else ""
    return int(text) if text.isdecimal() and len(text) < 18 else None


def _given_mentions(given: object, sentences: list[str]) -> list[_Mention]:
    """Return the links that are within their sentence; offsets count from the sentence's start."""
    mentions = []
    for raw in given if isinstance(given, list) else []:
        try:
            sent_id, start, end = int(raw["sent_idx"]), int(raw["start"]), int(raw["end"])
            title = str(raw.get("ref_url") or "")
            ids = raw.get("ref_ids") or []
        except (KeyError, TypeError, ValueError, OverflowError):
            continue
        qid = str(ids[0])[1:] if isinstance(ids, list) and ids else ""
        if 0 <= sent_id < len(sentences) and 0 <= start < end <= len(sentences[sent_id]):
            target = as_bigint(qid) if qid.isdecimal() else None
            mentions.append(_Mention(sent_id, start, end, target, title))
    return mentions


def summary_of_article(text: str) -> str:
    """Return the summary of a whole article's plain text: what is above its first heading.

    A heading there is a short paragraph of one line without punctuation at its end.
    """
    kept: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text.replace("\r\n", "\n").strip()):
        line = paragraph.strip()
        heading = "\n" not in line and len(line) < 80 and line[-1:] not in ".!?:;\"')”’"
        if kept and heading:
            break
        first, newline, _ = line.partition("\n")
        if kept and newline and len(first) < 60 and first.strip()[-1:] not in ".!?:;,\"')”’":
            break  # a heading and its text in one paragraph
        if line:
            kept.append(line)
    return "\n".join(kept)


def _add_page(
    page_id: int,
    title: str,
    sentences: list[str],
    mentions: Iterable[_Mention],
    found: PageRows,
    *,
    faults: Iterable[str] = (),
) -> None:
    if not any(text.strip() for text in sentences):
        found.counts["page without a summary"] += 1
        return
    found.counts["pages"] += 1
    faults = [f"page with {fault}" for fault in faults]
    found.counts.update(faults)
    norms = [normalize(text) for text in sentences]
    # In one piece: a name that a bad sentence split has cut is still a name on the page.
    whole = f" {' '.join(' '.join(norms).split())} "
    found.tables["pages"].append(
        (
            page_id,
            title,
            page_key(title),
            normalize(bare_title(title)),
            whole,
            len(sentences),
            int(not faults),
        )
    )
    for sent_id, (text, norm) in enumerate(zip(sentences, norms, strict=True)):
        found.tables["sentences"].append((page_id, sent_id, text, norm))
    for mention in mentions:
        norm = normalize(sentences[mention.sent_id][mention.start : mention.end])
        key = page_key(mention.target_title)
        row = (page_id, mention.sent_id, mention.start, mention.end, norm, mention.target_qid, key)
        found.tables["mentions"].append(row)


_TITLE = re.compile(r"<title>(.*?)</title>", re.S)
_NAMESPACE = re.compile(r"<ns>\s*(-?\d+)\s*</ns>")
_ID = re.compile(r"<id>\s*(\d+)\s*</id>")
_REDIRECT = re.compile(r"<redirect\s+title=\"([^\"]*)\"")
_TEXT = re.compile(r"<text\b[^>]*?(?:/>|>(.*?)</text>)", re.S)
_REDIRECT_LINK = re.compile(r"^\s*#redirect\s*:?\s*\[\[([^\]|]+)", re.I)


def parse_xml_pages(block: bytes, left_out: list[SkippedLine] | None = None) -> PageRows:
    """Parse the `<page>` elements of a block of pages-articles XML.

    Args:
        block: whole elements.
        left_out: gets the line of each element that cannot be read.
    """
    found = _empty()
    line = 0
    for element in block.decode("utf-8", errors="replace").split("</page>"):
        start = element.find("<page>")
        if start >= 0 and not _add_element(element[start:], found):
            reason = "page without a title or an id"
            found.counts[reason] += 1
            if left_out is not None:
                left_out.append(SkippedLine(line + element.count("\n", 0, start), reason))
        line += element.count("\n")
    return found


def _add_element(element: str, found: PageRows) -> bool:
    """Add a page's rows; False for an element without a title, or an id that a table can hold."""
    title, number = _TITLE.search(element), _ID.search(element)
    if title is None or number is None or _page_id(number[1]) is None:
        return False
    namespace = _NAMESPACE.search(element)
    if namespace is not None and namespace[1] != "0":
        found.counts["page outside the article namespace"] += 1
        return True
    name = unescape(title[1])
    text = _TEXT.search(element)
    wikitext = unescape(text[1] or "") if text else ""
    target = _REDIRECT_LINK.match(wikitext)
    marked = _REDIRECT.search(element)
    if target or marked:
        goal = target[1] if target else unescape(marked[1] if marked else "")
        if "#" in goal:
            found.counts["redirect to a section"] += 1
        else:
            found.counts["redirects"] += 1
            found.tables["redirects"].append((page_key(name), page_key(goal)))
        return True
    summary = render_summary(wikitext)
    anchors = [summary.text[start:end] for start, end, _ in summary.links]
    sentences = split_sentences(summary.text, [name, bare_title(name), *anchors])
    mentions = _placed_links(sentences, summary.links)
    _add_page(int(number[1]), name, sentences, mentions, found, faults=summary.faults)
    return True


def _placed_links(
    sentences: list[str], links: Iterable[tuple[int, int, str]]
) -> Iterable[_Mention]:
    """Return links of the summary as links of its sentences."""
    starts = [0]
    for text in sentences:
        starts.append(starts[-1] + len(text))
    sent_id = 0
    for start, end, target in links:
        while sent_id + 1 < len(starts) - 1 and start >= starts[sent_id + 1]:
            sent_id += 1
        if starts and end <= starts[sent_id + 1]:
            offset = starts[sent_id]
            yield _Mention(sent_id, start - offset, end - offset, None, target)
