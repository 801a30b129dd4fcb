"""Looks for tokens and keys in what is to be sent. What it finds, it never shows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from twowiki.errors import DataError
from twowiki.hub.contents import File

TEXT_LIMIT = 20_000_000  # bytes; a longer file is searched for the login's own token alone
PATTERNS = {
    "a Hugging Face token": rb"(?<![A-Za-z0-9])(?:hf|api_org)_[A-Za-z0-9]{30,}",
    "an OpenAI key": rb"(?<![A-Za-z0-9])sk-(?:proj-|svcacct-)?[A-Za-z0-9_]{32,}",
    "a GitHub token": rb"(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_\w{50,})",
    "an AWS key": rb"(?<![A-Za-z0-9])AKIA[0-9A-Z]{16}(?![A-Za-z0-9])",
    "a Slack token": rb"(?<![A-Za-z0-9])xox[abprs]-[A-Za-z0-9-]{20,}",
    "a private key": rb"-----BEGIN [A-Z ]*PRIVATE KEY-----",
}
_KNOWN = {name: re.compile(pattern) for name, pattern in PATTERNS.items()}
_BLOCK = 1 << 22
HIDDEN = "[hidden]"


def refuse_leaks(files: Iterable[File], tokens: Iterable[str]) -> None:
    """Raise for the first file that holds a token or a key.

    Args:
        files: what is to be sent.
        tokens: the login's own tokens; they are looked for in every file, texts or not.
    """
    own = [token.encode() for token in tokens if len(token) >= 8]
    for file in files:
        found = _own_token(file, own) or _known_key(file)
        if found:
            raise DataError(
                f"holds what looks like {found}",
                file=file.content if isinstance(file.content, Path) else file.path,
                remedy="Nothing was sent. Take it out, and revoke it if others may have seen it",
            )


def _own_token(file: File, own: list[bytes]) -> str:
    if not own:
        return ""
    longest = max(map(len, own))
    if isinstance(file.content, bytes):
        return "your token" if any(token in file.content for token in own) else ""
    with file.content.open("rb") as stream:
        before = b""
        while block := stream.read(_BLOCK):
            if any(token in before + block for token in own):
                return "your token"
            before = block[-longest:]
    return ""


def _known_key(file: File) -> str:
    if file.size > TEXT_LIMIT:
        return ""
    content = file.content if isinstance(file.content, bytes) else file.content.read_bytes()
    if b"\0" in content[:8192]:
        return ""
    for name, pattern in _KNOWN.items():
        for match in pattern.finditer(content):
            if len(set(match[0][-24:])) >= 8:  # hf_xxxxxxxx is an example, not a token
                return f"{name} (line {content.count(10, 0, match.start()) + 1})"
    return ""


def own_tokens() -> list[str]:
    """Give the tokens of the environment and the login, to be kept out of every output."""
    from huggingface_hub import get_token

    names = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACE_TOKEN")
    found = [os.environ.get(name, "").strip() for name in names]
    return [token for token in dict.fromkeys([*found, get_token() or ""]) if token]


def without_tokens(text: str, tokens: Iterable[str]) -> str:
    """Hide tokens, and names and passwords in addresses."""
    for token in tokens:
        text = text.replace(token, HIDDEN)
    text = re.sub(r"(?<![A-Za-z0-9])(?:hf|api_org)_[A-Za-z0-9]{8,}", HIDDEN, text)
    text = re.sub(r"(https?://)[^/\s@]+@", r"\1", text)
    return re.sub(r"(https?://[^\s?]+)\?\S+", r"\1", text)
