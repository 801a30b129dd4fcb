"""Find keys and passwords in files that are to be sent, and keep tokens out of every message.

In: files, and the login's own tokens. A text file is read to its end, by blocks, in each encoding
that a key could stand in: UTF-8, UTF-16, with NUL bytes, base64. Other files (weights, shards,
images) are searched for the own tokens alone. Out: an error that names the file, the form of the
key and the line; never the key. Keys of a service that is not listed are not recognized.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from twowiki.errors import DataError

REDACTED = "[hidden]"
BLOCK = 1 << 20  # bytes read at a time
OVERLAP = 1 << 16  # bytes of a block that are read again with the next one; no key is longer
# the types that hold no text; whatever else is sent is searched for the forms of keys
BINARY_TYPES = (".safetensors", ".parquet", ".model", ".spm", ".png", ".jpg", ".jpeg", ".gif",
                ".webp", ".ico")  # fmt: skip
# what may stand before a key: no letter or digit, but for the end of an escape (\n, %3D)
_START = rb"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2}))"


class KeyForm(NamedTuple):
    """How the keys of a service look: what each begins with, and the whole."""

    marks: tuple[bytes, ...]
    pattern: re.Pattern[bytes]


def _form(marks: str, pattern: bytes) -> KeyForm:
    return KeyForm(tuple(marks.encode().split()), re.compile(_START + pattern))


KEY_FORMS = {
    "a Hugging Face token": _form("hf_ api_org_", rb"(?:hf|api_org)_[A-Za-z0-9]{30,}"),
    "an Anthropic key": _form("sk-ant-", rb"sk-ant-[\w-]{20,}"),
    "an OpenAI key": _form(
        "sk-", rb"sk-(?:(?:proj|svcacct|admin|None|or-v1)-[\w-]{20,}|[A-Za-z0-9_]{32,})"
    ),
    "a GitHub token": _form(
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        rb"(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_\w{50,})",
    ),
    "a GitLab token": _form("gl", rb"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|oas)-[\w-]{20,}"),
    "a Google key": _form("AIza ya29. GOCSPX-", rb"(?:AIza|ya29\.|GOCSPX-)[\w-]{24,}"),
    "an npm token": _form("npm_", rb"npm_[A-Za-z0-9]{36}"),
    "a PyPI token": _form("pypi-", rb"pypi-[\w-]{40,}"),
    "a Stripe key": _form("sk_ rk_ whsec_", rb"(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{16,}"),
    "an AWS key": _form("AKIA ASIA", rb"A(?:KI|SI)A[0-9A-Z]{16}(?![A-Za-z0-9])"),
    "a W&B key": _form("wandb_v1_", rb"wandb_v1_\w{30,}"),
    "a Slack token": _form("xox xapp-", rb"(?:xox[a-z]|xapp)-[A-Za-z0-9-]{20,}"),
    "a Slack webhook": _form(
        "hooks.slack.com/", rb"hooks\.slack\.com/(?:services|workflows|triggers)/[\w/+-]{20,}"
    ),
    "a JSON web token": _form("eyJ", rb"eyJ[\w-]{8,}\.[\w-]{16,}\.[\w-]{16,}"),
}
_PRIVATE_KEY = re.compile(rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY")
_PASSWORD = re.compile(rb"""://[^/\s:@?#"'`<>]{0,200}:([^/\s@?#"'`<>]{1,200})@""")
_PLACEHOLDER = re.compile(rb"(?i)pass(?:word|wd)?|pwd|secret|token|[$%{*\[.].*|(.)\1*")
# keys without a beginning of their own: known by what they are assigned to
_LONG_RUN = re.compile(rb"[A-Za-z0-9+/_-]{40,}")
_ASSIGNED_TO = re.compile(rb"""([\w.-]+)["'\]]*\s*[=:(]+\s*[("']*\Z""")
_AWS_SECRET = re.compile(rb"(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[A-Za-z0-9+/]{40}")
_WANDB_KEY = re.compile(rb"[0-9a-f]{40}")
# what 40 hexadecimal digits are elsewhere: a commit, a hash, an id
_OF_A_COMMIT = re.compile(
    rb"(?i)rev|commit|sha|hash|digest|checksum|etag|ref|oid|git|version|fingerprint|content|id\Z"
)


def check_no_secrets(files: Iterable[tuple[str, Path | bytes]], tokens: Iterable[str]) -> None:
    """Raise for the first file that holds a token, a key or a password.

    Args:
        files: path to show, and content (a path, or the bytes themselves), of what is to be sent.
        tokens: the login's own tokens; they are looked for in every file, text or not.
    """
    own = [token.encode() for token in tokens if len(token) >= 8]
    for name, content in files:
        shown = content if isinstance(content, Path) else name
        try:
            secret = _find_secret(content, name.lower().endswith(BINARY_TYPES), own)
        except OSError as error:
            raise DataError(f"cannot be read ({error.strerror})", file=shown) from None
        if secret:
            raise DataError(
                f"holds what looks like {secret}",
                file=shown,
                remedy="Nothing was sent. Remove it, and revoke it if others may have seen it",
            )


def _find_secret(content: Path | bytes, is_binary: bool, own: Sequence[bytes]) -> str:
    lines = 1
    for block, new in _blocks(content):
        for view in _views(block, is_binary):
            if any(token in view for token in own):
                return "your token"
            if not is_binary and (found := _find_key(view)):
                name, position = found
                return f"{name} (line {lines + view.count(10, 0, position)})"
        lines += block.count(10, 0, new)
    return ""


def _blocks(content: Path | bytes) -> Iterator[tuple[bytes, int]]:
    """Yield blocks that overlap, each with the number of bytes before the next one."""
    with content.open("rb") if isinstance(content, Path) else BytesIO(content) as stream:
        block = stream.read(BLOCK)
        while block:
            more = stream.read(BLOCK)
            new = max(0, len(block) - OVERLAP) if more else len(block)
            yield block, new
            block = block[new:] + more if more else b""


def _views(block: bytes, is_binary: bool) -> Iterator[bytes]:
    """Yield what a block may be read as; without NUL bytes it is no UTF-16 of ASCII."""
    yield block
    if not is_binary and b"\0" in block:
        yield block.replace(b"\0", b"")
        for first in (0, 1):  # big-endian text is little-endian text from the next byte on
            text = block[first:].decode("utf-16-le", "replace")
            yield text.encode("ascii", "replace").replace(b"\0", b"")


def _find_key(view: bytes) -> tuple[str, int] | None:
    """Find a key in text, written out or in base64; return its form and position."""
    if found := _find_plain_key(view):
        return found
    for run in _LONG_RUN.finditer(view):
        if name := _form_by_assignment(view, run):
            return name, run.start()
        if found := _find_in_base64(run[0]):
            return f"{found[0]} in base64", run.start()
    return None


def _find_plain_key(view: bytes) -> tuple[str, int] | None:
    for name, form in KEY_FORMS.items():
        for mark in form.marks:
            for position in _positions(view, mark):
                match = form.pattern.match(view, position)
                if match and not _is_example(match[0]):
                    return name, position
    for position in _positions(view, b"-----BEGIN "):
        if _PRIVATE_KEY.match(view, position):
            return "a private key", position
    for position in _positions(view, b"://"):
        match = _PASSWORD.match(view, position)
        if match and not _PLACEHOLDER.fullmatch(match[1]):
            return "a password in an address", position
    return None


def _positions(view: bytes, mark: bytes) -> Iterator[int]:
    position = view.find(mark)
    while position >= 0:
        yield position
        position = view.find(mark, position + 1)


def _is_example(key: bytes) -> bool:
    """Whether a key is a placeholder, such as hf_xxxxxxxx or the one of AWS's manual."""
    return len(set(key[-24:])) < 8 or b"EXAMPLE" in key


def _form_by_assignment(view: bytes, run: re.Match[bytes]) -> str:
    """Return the form of a key that has no beginning of its own, by what stands before it."""
    before = view[max(0, run.start() - 80) : run.start()].rpartition(b"\n")[2]
    assigned = _ASSIGNED_TO.search(before)
    if len(run[0]) != 40 or _is_example(run[0]):
        return ""
    if _WANDB_KEY.fullmatch(run[0]):
        is_value = assigned is not None and not _OF_A_COMMIT.search(assigned[1])
        return "a W&B key" if is_value or b"wandb" in before.lower() else ""
    is_value = assigned is not None or b"aws" in before.lower()
    return "an AWS secret key" if is_value and _AWS_SECRET.fullmatch(run[0]) else ""


def _find_in_base64(run: bytes) -> tuple[str, int] | None:
    run = run.replace(b"-", b"+").replace(b"_", b"/")
    for first in range(4):  # a run that a block cuts off begins anywhere in a group of four
        part = run[first:]
        found = _find_plain_key(base64.b64decode(part[: len(part) // 4 * 4] + _rest(part)))
        if found:
            return found
    return None


def _rest(part: bytes) -> bytes:
    """Return the last group of a run, filled up; one digit alone is no byte."""
    rest = part[len(part) // 4 * 4 :]
    return rest + b"=" * (4 - len(rest)) if len(rest) > 1 else b""


def own_tokens() -> list[str]:
    """Return the tokens of the environment and the login, to be kept out of every output."""
    from huggingface_hub import get_token

    names = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACE_TOKEN")
    found = [os.environ.get(name, "").strip() for name in names]
    return [token for token in dict.fromkeys([*found, get_token() or ""]) if token]


def hide_secrets(text: str) -> str:
    """Hide tokens, and in addresses also user names, passwords and signatures."""
    for token in own_tokens():
        text = text.replace(token, REDACTED)
    text = re.sub(r"(?<![A-Za-z0-9])(?:hf|api_org)_[A-Za-z0-9]{8,}", REDACTED, text)
    text = re.sub(r"(https?://)[^/\s@]+@", r"\1", text)
    return re.sub(r"(https?://[^\s?]+)\?\S+", r"\1", text)
