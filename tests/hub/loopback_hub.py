"""A hub on the loopback interface: what its client calls, kept in memory, with faults on demand.

Repositories have branches of commits; each commit is a whole tree. Big files go through large file
storage, checked by their hash. Tokens have a role; what a call carried is logged.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlparse

WRITE = "hf_" + "WriteTokenOfTheTests123456789Abcdef"
READ = "hf_" + "ReadTokenOfTheTests1234567890Abcdef"
ROLES = {WRITE: "write", READ: "read"}
OWNER = "tester"
BIG = ("safetensors", "parquet", "bin")
Tree = dict[str, bytes]


class Call(NamedTuple):
    """A request that was answered (status 0: the connection was dropped)."""

    method: str
    path: str
    status: int
    token: str


@dataclass
class Fault:
    """What goes wrong with the next requests whose `METHOD path` the pattern finds."""

    pattern: str
    status: int = 0  # 0: the connection is dropped
    times: int = 10**9
    after: bool = False  # drop only after the request was carried out
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None


class Repository:
    """Branches of commits, the oldest first; each is an id with a whole tree."""

    def __init__(self, private: bool) -> None:
        self.private = private
        self.branches: dict[str, list[tuple[str, Tree]]] = {"main": []}
        self.commit("main", {".gitattributes": b"*.safetensors filter=lfs\n"})

    def commit(self, branch: str, tree: Tree) -> str:
        history = self.branches[branch]
        seed = f"{branch}{len(history)}{sorted((k, oid(v)) for k, v in tree.items())}"
        history.append((hashlib.sha1(seed.encode()).hexdigest(), dict(tree)))
        return history[-1][0]

    def at(self, revision: str) -> tuple[str, Tree] | None:
        if revision in self.branches:
            return self.branches[revision][-1]
        every = (commit for history in self.branches.values() for commit in history)
        return next((commit for commit in every if commit[0] == revision), None)


def oid(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def is_big(path: str) -> bool:
    return path.rpartition(".")[2] in BIG


class Hub:
    """The hub's state; `address` is where it listens."""

    def __init__(self) -> None:
        self.repositories: dict[tuple[str, str], Repository] = {}
        self.stored: dict[str, bytes] = {}
        self.calls: list[Call] = []
        self.faults: list[Fault] = []
        self.address = ""
        self.lock = threading.Lock()

    def tree(self, kind: str, name: str, revision: str = "main") -> Tree:
        found = self.repositories[kind, name].at(revision)
        assert found is not None
        return found[1]

    def commits(self, kind: str, name: str, branch: str = "main") -> int:
        return len(self.repositories[kind, name].branches[branch]) - 1

    def wrote(self) -> list[Call]:
        return [call for call in self.calls if call.method != "GET" and call.method != "HEAD"]


@contextmanager
def serving() -> Iterator[Hub]:
    """Run a hub until the block ends."""
    hub = Hub()
    handler = type("Bound", (Handler,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    hub.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def point_at(hub: Hub, patch: Any, token: str = WRITE) -> None:
    """Make this process a client of the hub, through a pytest.MonkeyPatch."""
    import huggingface_hub.constants

    for name, value in (("HF_HUB_DISABLE_XET", True), ("HF_HUB_OFFLINE", False)):
        patch.setattr(huggingface_hub.constants, name, value)
    patch.setattr(huggingface_hub.constants, "HF_TOKEN_PATH", "/nowhere/token")
    patch.setattr("huggingface_hub.utils._http.time.sleep", lambda _: None)
    patch.setenv("HF_TOKEN", token)
    patch.setenv("HF_ENDPOINT", hub.address)


class Refusal(Exception):
    """An answer with a status of 400 or more."""

    def __init__(self, status: int, error: str, code: str = "", **headers: str) -> None:
        super().__init__(error)
        self.status, self.error = status, error
        self.headers = headers | ({"X-Error-Code": code} if code else {})


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:
            self.close_connection = True

    def answer(self) -> None:
        parsed = urlparse(self.path)
        self.place, self.options = unquote(parsed.path), parse_qs(parsed.query)
        self.body = self.read_body()
        self.token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        fault = self.next_fault()
        if fault and fault.status == 0 and not fault.after:
            self.drop()
            return
        if fault and fault.status:
            self.send(fault.status, fault.body or {"error": "a fault"}, fault.headers)
            return
        try:
            with self.hub.lock:
                status, value, headers = self.routed()
        except Refusal as refusal:
            said = {"X-Error-Message": str(refusal), **refusal.headers}
            status, value, headers = refusal.status, {"error": str(refusal)}, said
        if fault:
            self.drop()
            return
        self.send(status, value, headers)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = answer

    def read_body(self) -> bytes:
        if "chunked" not in (self.headers.get("Transfer-Encoding") or ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline().strip() or b"0", 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def next_fault(self) -> Fault | None:
        for fault in self.hub.faults:
            if fault.times > 0 and re.search(fault.pattern, f"{self.command} {self.place}"):
                fault.times -= 1
                return fault
        return None

    def note(self, status: int) -> None:
        self.hub.calls.append(Call(self.command, self.place, status, self.token))

    def drop(self) -> None:
        self.note(0)
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def send(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
        self.note(status)
        raw = isinstance(value, bytes)
        data = value if raw else json.dumps(value).encode()
        whole = len(data)
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        extra = dict(headers or {})
        if raw and wanted and status == 200:
            first = int(wanted[1])
            data = data[first : int(wanted[2]) + 1 if wanted[2] else None]
            extra["Content-Range"] = f"bytes {first}-{first + len(data) - 1}/{whole}"
            status = 206
        self.send_response(status)
        self.send_header("Content-Type", "application/octet-stream" if raw else "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Accept-Ranges", "bytes")
        for name, text in extra.items():
            self.send_header(name, text)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def role(self) -> str:
        if not self.token:
            return ""
        if self.token not in ROLES:
            raise Refusal(401, "Invalid credentials in Authorization header")
        return ROLES[self.token]

    def may_write(self, name: str) -> None:
        role = self.role()
        if not role:
            raise Refusal(401, "Invalid username or password.")
        if role != "write" or not name.startswith(f"{OWNER}/"):
            raise Refusal(403, "You don't have the rights to write there")

    def routed(self) -> tuple[int, Any, dict[str, str]]:
        place = self.place
        if place == "/api/repos/create":
            return self.create()
        if place == "/api/validate-yaml":
            return self.validate()
        if found := re.match(r"/api/(model|dataset|space)s/([^/]+/[^/]+)(?:/(.*))?$", place):
            return self.api(found[1], found[2], found[3] or "")
        if found := re.match(r"/(?:(dataset|space)s/)?([^/]+/[^/]+)/resolve/([^/]+)/(.*)$", place):
            return self.resolve(found[1] or "model", found[2], found[3], found[4])
        if place.endswith(".git/info/lfs/objects/batch"):
            return self.batch()
        if place.startswith("/_store/"):
            if hashlib.sha256(self.body).hexdigest() != place[8:]:
                raise Refusal(400, "the content has another hash")
            self.hub.stored[place[8:]] = self.body
            return 200, {}, {}
        if place == "/_verify":
            if json.loads(self.body)["oid"] not in self.hub.stored:
                raise Refusal(404, "not stored")
            return 200, {}, {}
        raise Refusal(404, f"no such page: {place}")

    def validate(self) -> tuple[int, Any, dict[str, str]]:
        import yaml

        content = json.loads(self.body)["content"]
        header = content.split("---\n")[1] if content.startswith("---\n") else ""
        try:
            value = yaml.safe_load(header)
        except yaml.YAMLError:
            value = None
        if header and not isinstance(value, dict):
            return 400, {"errors": [{"message": "the metadata is no YAML"}], "warnings": []}, {}
        return 200, {"errors": [], "warnings": []}, {}

    def create(self) -> tuple[int, Any, dict[str, str]]:
        given = json.loads(self.body)
        kind = given.get("type", "model")
        name = f"{given.get('organization') or OWNER}/{given['name']}"
        self.may_write(name)
        address = f"{self.hub.address}/{'' if kind == 'model' else kind + 's/'}{name}"
        if (kind, name) in self.hub.repositories:
            raise Refusal(409, "You already created this repository")
        if kind == "space" and not given.get("sdk"):
            raise Refusal(400, "a Space needs an sdk")
        private = given.get("visibility") == "private" or bool(given.get("private"))
        self.hub.repositories[kind, name] = Repository(private)
        return 200, {"url": address, "id": name, "name": name}, {}

    def repository(self, kind: str, name: str) -> Repository:
        found = self.hub.repositories.get((kind, name))
        role = self.role()
        if found is None or (found.private and not role):
            raise Refusal(404 if role else 401, "Repository not found", "RepoNotFound")
        return found

    def commit_at(self, repository: Repository, revision: str) -> tuple[str, Tree]:
        found = repository.at(unquote(revision))
        if found is None:
            raise Refusal(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return found

    def api(self, kind: str, name: str, rest: str) -> tuple[int, Any, dict[str, str]]:
        repository = self.repository(kind, name)
        verb, _, tail = rest.partition("/")
        if verb in ("", "revision"):
            return 200, self.info(repository, name, tail or "main"), {}
        if verb == "preupload":
            self.may_write(name)
            return 200, self.preupload(self.commit_at(repository, tail)[1]), {}
        if verb == "commit":
            self.may_write(name)
            return self.commit(kind, name, repository, tail)
        if verb == "branch":
            self.may_write(name)
            if tail in repository.branches:
                raise Refusal(409, "Reference already exists")
            repository.branches[tail] = list(repository.branches["main"])
            return 200, {}, {}
        if verb == "tree":
            revision, _, below = tail.partition("/")
            return self.listing(self.commit_at(repository, revision)[1], below)
        if verb == "paths-info":
            tree = self.commit_at(repository, tail)[1]
            paths = json.loads(self.body)["paths"]
            return 200, [entry(path, tree[path]) for path in paths if path in tree], {}
        if verb == "refs":
            heads = [
                {"name": branch, "ref": f"refs/heads/{branch}", "targetCommit": history[-1][0]}
                for branch, history in repository.branches.items()
            ]
            return 200, {"branches": heads, "tags": [], "converts": []}, {}
        raise Refusal(404, f"no such call: {rest}")

    def info(self, repository: Repository, name: str, revision: str) -> dict[str, Any]:
        sha, tree = self.commit_at(repository, revision)
        return {
            "_id": "0",
            "id": name,
            "modelId": name,
            "sha": sha,
            "private": repository.private,
            "siblings": [{"rfilename": path} for path in tree],
            "tags": [],
            "lastModified": "2026-01-01T00:00:00.000Z",
            "createdAt": "2026-01-01T00:00:00.000Z",
            "downloads": 0,
            "likes": 0,
            "gated": False,
            "disabled": False,
        }

    def preupload(self, tree: Tree) -> dict[str, Any]:
        listed = []
        for file in json.loads(self.body)["files"]:
            path = file["path"]
            big = is_big(path)
            one = {
                "path": path,
                "uploadMode": "lfs" if big else "regular",
                "shouldIgnore": False,
            }
            if path in tree:
                content = tree[path]
                one["oid"] = hashlib.sha256(content).hexdigest() if big else oid(content)
            listed.append(one)
        return {"files": listed}

    def commit(
        self, kind: str, name: str, repository: Repository, branch: str
    ) -> tuple[int, Any, dict[str, str]]:
        sha, tree = self.commit_at(repository, branch)
        tree = dict(tree)
        for line in filter(bytes.strip, self.body.splitlines()):
            item = json.loads(line)
            value = item["value"]
            if item["key"] == "header":
                if value.get("parentCommit") not in (None, sha):
                    raise Refusal(412, "A commit has happened since")
            elif item["key"] == "file":
                tree[value["path"]] = base64.b64decode(value["content"])
            elif item["key"] == "lfsFile":
                if value["oid"] not in self.hub.stored:
                    raise Refusal(400, "the file's content was not uploaded")
                tree[value["path"]] = self.hub.stored[value["oid"]]
            elif item["key"] == "deletedFile":
                if value["path"] not in tree:
                    raise Refusal(404, "A file with this name doesn't exist", "EntryNotFound")
                del tree[value["path"]]
            else:
                raise Refusal(400, f"unknown operation {item['key']}")
        address = f"{self.hub.address}/{'' if kind == 'model' else kind + 's/'}{name}"
        done = {"success": True, "hookOutput": ""}
        if "create_pr" in self.options:
            number = sum(name.startswith("refs/pr/") for name in repository.branches) + 1
            branch = f"refs/pr/{number}"
            repository.branches[branch] = list(repository.branches["main"])
            done["pullRequestUrl"] = f"{address}/discussions/{number}"
        sha = repository.commit(branch, tree)
        return 200, {**done, "commitOid": sha, "commitUrl": f"{address}/commit/{sha}"}, {}

    def listing(self, tree: Tree, below: str) -> tuple[int, Any, dict[str, str]]:
        prefix = f"{below.strip('/')}/" if below.strip("/") else ""
        recursive = self.options.get("recursive", ["false"])[0].lower() == "true"
        found: dict[str, Any] = {}
        for path, content in tree.items():
            if not path.startswith(prefix):
                continue
            first, slash, _ = path[len(prefix) :].partition("/")
            if slash:
                folder = prefix + first
                found[folder] = {"type": "directory", "path": folder, "size": 0, "oid": "0" * 40}
            if recursive or not slash:
                found[path] = entry(path, content)
        if prefix and not found:
            raise Refusal(404, f"{below} does not exist", "EntryNotFound")
        return 200, list(found.values()), {}

    def resolve(
        self, kind: str, name: str, revision: str, path: str
    ) -> tuple[int, Any, dict[str, str]]:
        sha, tree = self.commit_at(self.repository(kind, name), revision)
        if path not in tree:
            raise Refusal(404, "Entry not found", "EntryNotFound", **{"X-Repo-Commit": sha})
        tag = f'"{oid(tree[path])}"'
        return 200, tree[path], {"ETag": tag, "X-Repo-Commit": sha}

    def batch(self) -> tuple[int, Any, dict[str, str]]:
        objects: list[dict[str, Any]] = []
        for one in json.loads(self.body)["objects"]:
            described = {"oid": one["oid"], "size": one["size"]}
            if one["oid"] not in self.hub.stored:
                store, verify = f"/_store/{one['oid']}?signature=do-not-show", "/_verify"
                described["actions"] = {
                    "upload": {"href": self.hub.address + store, "header": {}},
                    "verify": {"href": self.hub.address + verify, "header": {}},
                }
            objects.append(described)
        return 200, {"transfer": "basic", "objects": objects}, {}


def entry(path: str, content: bytes) -> dict[str, Any]:
    return {"type": "file", "path": path, "size": len(content), "oid": oid(content)}
