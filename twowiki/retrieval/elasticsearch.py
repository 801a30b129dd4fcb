"""A search server (Elasticsearch or OpenSearch) as the engine, over HTTP.

In: a store of sentences, then questions. Out: sentence numbers with scores. The paper retrieved
with Elasticsearch. Both servers have what is used here: one index with BM25 (k1 1.2, b 0.75),
`_bulk` and `_msearch`; a client library would refuse the other's server. The password or key comes
from the environment or the address and is never stored.
"""

from __future__ import annotations

import base64
import json
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from twowiki.errors import DataError
from twowiki.io.files import progress
from twowiki.retrieval.engines import SLACK, Found
from twowiki.retrieval.postings import K1, B
from twowiki.retrieval.sentence_store import SentenceStore

KEY_VARIABLE = "TWOWIKI_SEARCH_API_KEY"
ANALYZER_OF = {"std": "standard", "en": "english"}  # the servers' own names
BULK, QUERIES = 2_000, 50  # sentences and questions of one request
TRIES, PAUSE = 5, 1.0  # requests to a busy server; seconds before the second, then doubled
TIMEOUT = 120.0
_BUSY = (429, 502, 503, 504)
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,200}")


class SearchServer:
    """An index of sentences by number on a server.

    Args:
        url: `http(s)://host:port`; a `user:password@` in it is used and not stored.
        index: the index's name there.
        analyzer: `en` (the server's `english`) or `std` (its `standard`).
    """

    def __init__(self, url: str, index: str, analyzer: str) -> None:
        if not _NAME.fullmatch(index):
            remedy = "Use lower-case letters, digits, '-', '_' and '.'"
            raise DataError(f"is {index!r}, not an index name", field="server-index", remedy=remedy)
        self.url, self.headers = _connection(url)
        self.index, self.analyzer = index, analyzer

    def build(self, store: SentenceStore) -> None:
        """Send a store's sentences under their numbers; sending again changes nothing."""
        path = f"/{quote(self.index)}"
        if self._request("HEAD", path, missing=True) is None:
            self._request("PUT", path, self._settings())
        done = self._count()
        if done > len(store):
            problem = f"the index {self.index!r} has {done} sentences of another corpus"
            raise DataError(problem, file=self.url, remedy="Name another --server-index")
        numbered = enumerate(store.entries())
        bar = iter(progress(numbered, what="sending", total=len(store)))
        skipped = max(0, done - BULK)  # numbers are in order; the last request may be incomplete
        for _ in islice(bar, skipped):
            pass
        while block := list(islice(bar, BULK)):
            self._send([(number, entry.indexed) for number, entry in block])
        if (done := self._count()) != len(store):
            problem = f"the index {self.index!r} has {done} of {len(store)} sentences"
            raise DataError(problem, file=self.url, remedy="Remove the index there and run again")

    def search(self, questions: Sequence[str], k: int) -> list[list[Found]]:
        """Search for sentences that share a word with each question."""
        starts = range(0, len(questions), QUERIES)
        parts = [questions[start : start + QUERIES] for start in starts]
        return [found for part in parts for found in self._search(part, k)]

    def _settings(self) -> dict[str, Any]:
        similarity = {"type": "BM25", "k1": K1, "b": B}
        text = {
            "type": "text",
            "analyzer": ANALYZER_OF[self.analyzer],
            "similarity": "bm25_of_paper",
        }
        return {
            "settings": {
                "number_of_shards": 1,  # each shard would score by its own counts
                "number_of_replicas": 0,
                "similarity": {"bm25_of_paper": similarity},
            },
            "mappings": {"dynamic": False, "properties": {"text": text}},
        }

    def _count(self) -> int:
        self._request("POST", f"/{quote(self.index)}/_refresh")
        return int((self._request("GET", f"/{quote(self.index)}/_count") or {})["count"])

    def _send(self, block: Sequence[tuple[int, str]]) -> None:
        lines: list[Any] = []
        for number, text in block:
            lines += [{"index": {"_id": str(number)}}, {"text": text}]
        answer = self._request("POST", f"/{quote(self.index)}/_bulk", lines) or {}
        if answer.get("errors"):
            wrong = next(
                one["index"] for one in answer["items"] if one["index"].get("error") is not None
            )
            reason = wrong["error"].get("reason", wrong["error"])
            problem = f"the server refused sentence {wrong['_id']}: {reason}"
            raise DataError(problem, file=self.url)

    def _search(self, questions: Sequence[str], k: int) -> Iterator[list[Found]]:
        lines: list[Any] = []
        for question in questions:
            query = {"match": {"text": {"query": question}}}
            lines += [{}, {"query": query, "size": k + SLACK, "_source": False}]
        answer = self._request("POST", f"/{quote(self.index)}/_msearch", lines) or {}
        for one in answer["responses"]:
            if "error" in one:
                reason = one["error"].get("reason", one["error"])
                raise DataError(f"the server refused a question: {reason}", file=self.url)
            found = [Found(int(hit["_id"]), float(hit["_score"])) for hit in one["hits"]["hits"]]
            yield sorted(found, key=lambda hit: (-hit.score, hit.number))[:k]

    def _request(
        self, method: str, path: str, body: Any = None, *, missing: bool = False
    ) -> dict[str, Any] | None:
        """Send one request, and again while the server is busy.

        Args:
            method: HTTP's.
            path: below the server's address.
            body: an object, or a list of objects (then one per line).
            missing: return None if the server has no such thing.
        """
        headers, data = dict(self.headers), None
        if isinstance(body, list):
            data = "".join(json.dumps(line) + "\n" for line in body).encode()
            headers["Content-Type"] = "application/x-ndjson"
        elif body is not None:
            data, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        for attempt in range(TRIES):
            try:
                with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
                    return json.loads(response.read() or b"{}") or {}
            except urllib.error.HTTPError as error:
                if error.code == 404 and missing:
                    return None
                problem, again = _reason(error), error.code in _BUSY
            except (OSError, ValueError) as error:
                problem, again = f"the server does not answer ({error})", True
            if not again or attempt == TRIES - 1:
                break
            time.sleep(PAUSE * 2**attempt)
        remedy = f"Is it running there? A key is read from {KEY_VARIABLE}"
        raise DataError(problem, file=self.url, remedy=remedy) from None


def without_login(url: str) -> str:
    """Return a server's address without user and password.

    Raises:
        DataError: it is not the address of a server.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise DataError(f"{parts.hostname or url!r} is not an address", field="server",
                        remedy="Write http://host:9200 or https://host:9200")  # fmt: skip
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _connection(url: str) -> tuple[str, dict[str, str]]:
    plain = without_login(url).rstrip("/")
    parts = urlsplit(url)
    if key := os.environ.get(KEY_VARIABLE):
        return plain, {"Authorization": f"ApiKey {key}"}
    if parts.username:
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        return plain, {"Authorization": f"Basic {base64.b64encode(login.encode()).decode()}"}
    return plain, {}


def _reason(error: urllib.error.HTTPError) -> str:
    try:
        found = json.loads(error.read())["error"]
        reason = found["reason"] if isinstance(found, dict) else found
    except (ValueError, KeyError, TypeError, OSError):
        reason = error.reason
    return f"the server answers {error.code}: {reason}"
