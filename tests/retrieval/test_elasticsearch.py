"""The search server as the engine, against a small server that answers as the real ones do."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.arc_da_files import arc_da, read_lines, write_lines
from twowiki.errors import DataError
from twowiki.retrieval import elasticsearch as server
from twowiki.retrieval.corpora import SentenceCorpus
from twowiki.retrieval.elasticsearch import SearchServer, without_login
from twowiki.retrieval.sentence_store import fill_store

FACTS = ["Salt melts ice.", "Ice is frozen water.", "Plants make food."]


class Stub(ThreadingHTTPServer):
    """What the server was sent, and how it answers."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.created: dict[str, Any] = {}
        self.texts: dict[str, str] = {}
        self.requests: list[tuple[str, str, str | None]] = []
        self.busy = 0
        self.refuse: str | None = None
        self.login: str | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    """Index, count, bulk, multi-search."""

    server: Stub

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self.answer()

    do_GET = do_PUT = do_POST = do_HEAD

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        stub, kind = self.server, self.path.rpartition("/")[2]
        stub.requests.append((self.command, self.path, self.headers.get("Authorization")))
        if stub.login is not None and self.headers.get("Authorization") != stub.login:
            return self.send(401, {"error": {"reason": "missing authentication"}, "status": 401})
        if stub.busy:
            stub.busy -= 1
            return self.send(503, {"error": "busy"})
        if self.command == "HEAD":
            return self.send(200 if stub.created else 404, {})
        if self.command == "PUT":
            stub.created = json.loads(body)
            return self.send(200, {"acknowledged": True})
        if kind == "_count":
            return self.send(200, {"count": len(stub.texts)})
        if kind == "_bulk":
            return self.send(200, self.bulk([json.loads(line) for line in body.splitlines()]))
        if kind == "_msearch":
            return self.send(200, self.search([json.loads(line) for line in body.splitlines()]))
        return self.send(200, {})

    def bulk(self, lines: list[Any]) -> dict[str, Any]:
        assert self.headers["Content-Type"] == "application/x-ndjson"
        items = []
        for action, document in zip(lines[::2], lines[1::2], strict=True):
            name = action["index"]["_id"]
            if self.server.refuse == name:
                error = {"type": "mapper_parsing_exception", "reason": "too odd"}
                items.append({"index": {"_id": name, "error": error}})
                continue
            self.server.texts[name] = document["text"]
            items.append({"index": {"_id": name}})
        return {"errors": any("error" in one["index"] for one in items), "items": items}

    def search(self, lines: list[Any]) -> dict[str, Any]:
        responses = []
        for request in lines[1::2]:
            words = request["query"]["match"]["text"]["query"].lower().rstrip("?").split()
            hits = [
                {"_id": name, "_score": float(sum(word in text.lower() for word in words))}
                for name, text in self.server.texts.items()
            ]
            hits = [hit for hit in hits if hit["_score"]][: request["size"]]
            responses.append({"hits": {"hits": hits}})
        return {"responses": responses}

    def send(self, code: int, value: Any) -> None:
        data = b"" if self.command == "HEAD" else json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    monkeypatch.setattr(server, "PAUSE", 0.001)
    monkeypatch.delenv(server.KEY_VARIABLE, raising=False)
    made = Stub()
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(FACTS) + "\n", encoding="utf-8")
    return path


def test_index_and_retrieve_through_a_server(
    stub: Stub, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "BULK", 2)
    stub.busy = 2
    address = stub.url.replace("http://", "http://kim:secret%21@")
    flags = ("--engine", "server", "--server", address, "--server-index", "facts")
    assert arc_da("index", corpus, tmp_path / "index", *flags) == 0
    assert list(stub.texts.values()) == FACTS
    mapping = stub.created["mappings"]["properties"]["text"]
    settings = stub.created["settings"]
    assert mapping["analyzer"] == "english"
    assert settings["similarity"][mapping["similarity"]] == {"type": "BM25", "k1": 1.2, "b": 0.75}
    assert settings["number_of_shards"] == 1
    assert stub.requests[-1][2] == "Basic a2ltOnNlY3JldCE="
    kept = "".join(p.read_text("utf-8") for p in (tmp_path / "index").glob("*.json"))
    assert "secret" not in kept
    assert "kim" not in kept
    questions = write_lines(
        tmp_path / "dev.jsonl", [{"question_id": "q", "question": "What melts ice?", "answers": []}]
    )
    assert arc_da("retrieve", tmp_path / "index", questions, tmp_path / "o.jsonl") == 0
    texts = [one["text"] for one in read_lines(tmp_path / "o.jsonl")[0]["sentences"]]
    assert texts == FACTS[:2]


def test_sending_goes_on_after_what_is_there(stub: Stub, corpus: Path, tmp_path: Path) -> None:
    store = fill_store(SentenceCorpus([corpus]), tmp_path / "s")
    made = SearchServer(stub.url, "facts", "std")
    made.build(store)
    made.build(store)
    assert len(stub.texts) == 3
    assert stub.created["mappings"]["properties"]["text"]["analyzer"] == "standard"
    stub.texts |= {str(n): "other" for n in range(9)}
    with pytest.raises(DataError, match="another corpus"):
        made.build(store)
    store.close()


def test_faults_of_a_server_are_one_sentence(
    stub: Stub, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def index(*flags: str) -> int:
        return arc_da("index", corpus, tmp_path / "index", "--engine", "server", *flags)

    stub.refuse = "1"
    assert index("--server", stub.url) == 2
    assert "refused sentence 1: too odd" in capsys.readouterr().err
    stub.refuse, stub.login = None, "ApiKey right"
    assert index("--server", stub.url) == 2
    assert "401: Unauthorized" in capsys.readouterr().err
    stub.login, stub.busy = None, 99
    assert index("--server", stub.url) == 2
    assert "the server answers 503" in capsys.readouterr().err
    assert arc_da("index", corpus, tmp_path / "i2", "--engine", "server", "--server", "host") == 2
    assert "is not an address" in capsys.readouterr().err
    closed = "http://127.0.0.1:9"
    assert arc_da("index", corpus, tmp_path / "i3", "--engine", "server", "--server", closed) == 2
    assert "does not answer" in capsys.readouterr().err
    bad = ("--server", stub.url, "--server-index", "Facts!")
    assert arc_da("index", corpus, tmp_path / "i4", "--engine", "server", *bad) == 2
    assert "not an index name" in capsys.readouterr().err


def test_a_key_of_the_environment_is_used(
    stub: Stub, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(server.KEY_VARIABLE, "right")
    stub.login = "ApiKey right"
    flags = ("--engine", "server", "--server", stub.url)
    assert arc_da("index", corpus, tmp_path / "index", *flags) == 0


def test_addresses_without_login() -> None:
    assert without_login("https://kim:pw@host:9200/path?x=1") == "https://host:9200/path"
    with pytest.raises(DataError, match="http://host:9200"):
        without_login("ftp://kim:pw@host")
