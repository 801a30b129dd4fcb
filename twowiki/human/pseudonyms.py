"""Replace people's ids by keyed hashes: the same person, the same name, no way back.

In: ids, and a secret in a file. Out: pseudonyms. A fingerprint of the secret is kept beside the
data, and another secret is refused: one person would become two.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from pathlib import Path

from twowiki.errors import DataError
from twowiki.io.files import write_text


def pseudonym(person: str, key: bytes) -> str:
    """Return a person's pseudonym."""
    return "w" + hmac.new(key, person.strip().encode(), "sha256").hexdigest()[:12]


def read_secret(own: Path, *, given: str | None, used: bool) -> bytes:
    """Read the secret of the pseudonyms, or make one where no pseudonym was written yet.

    Args:
        own: where the folder keeps its secret.
        given: a file of the user's, to be read instead.
        used: whether the folder holds pseudonyms already.

    Raises:
        DataError: there is none and none may be made, it is empty, or another one was used.
    """
    path = own if given is None else Path(given)
    if not path.exists():
        if given is not None or used:
            problem = "no such key file" if given else "the key of the pseudonyms is gone"
            remedy = "Write any secret text into it" if given else "Restore it"
            raise DataError(problem, file=path, remedy=remedy)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as stream:
            stream.write(secrets.token_hex(32) + "\n")
    if not path.is_file():
        raise DataError("is not a file", file=path, remedy="Name a file that holds the secret")
    key = path.read_bytes().strip()
    if not key:
        raise DataError("the key file is empty", file=path, remedy="Write any secret text into it")
    mark = own.with_name(own.name + ".fingerprint")
    fingerprint = hashlib.sha256(b"twowiki key\n" + key).hexdigest()[:16]
    before = mark.read_text(encoding="utf-8").strip() if used and mark.is_file() else None
    if before not in (None, fingerprint):
        problem = "another key made the pseudonyms of this folder, so one person would become two"
        remedy = f"Use the key that was used before (its fingerprint is in {mark})"
        raise DataError(problem, file=path, remedy=remedy)
    if before is None:
        write_text(mark, fingerprint + "\n")
    return key
