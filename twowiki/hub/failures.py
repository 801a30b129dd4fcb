"""What can go wrong between here and the hub, each as one sentence with what to do about it.

Never an address with a signature, never a token: only what the server says, cleaned.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from twowiki.errors import DataError
from twowiki.hub.leaks import without_tokens

AGAIN = "Nothing is lost and nothing was committed: push again"
LOG_IN = "Log in (`hf auth login`), or set HF_TOKEN to a token that may write"


def library_errors() -> tuple[type[BaseException], ...]:
    """Give every error that the library's client raises for what is not our fault."""
    from huggingface_hub.errors import HfHubHTTPError

    # its bases are the HTTP client's own errors, whichever client the version uses; uploads of big
    # files raise RuntimeError from these
    return (*HfHubHTTPError.__bases__, OSError, ValueError, RuntimeError)


def as_data_error(error: BaseException, repo: str, tokens: Sequence[str], made: bool) -> DataError:
    """Say what happened to a push.

    Args:
        error: what the client raised.
        repo: the repository.
        tokens: what must not be shown.
        made: whether the repository was made for this push, and so is empty.
    """
    while isinstance(error, RuntimeError) and error.__cause__ is not None:
        error = error.__cause__
    problem, remedy = _said(error)
    if made:
        remedy += f" (the repository {repo} was made for it, and is empty)"
    return DataError(
        without_tokens(problem, tokens), file=repo, remedy=without_tokens(remedy, tokens)
    )


def _said(error: BaseException) -> tuple[str, str]:
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    if isinstance(error, OfflineModeIsEnabled):
        return "HF_HUB_OFFLINE is set, so nothing is sent", "Unset it, and push again"
    response = getattr(error, "response", None)
    if isinstance(error, HfHubHTTPError) and response is not None:
        return _refused(int(response.status_code), response, _server_message(error))
    if isinstance(error, json.JSONDecodeError):
        return "the hub's answer cannot be read (no JSON)", AGAIN
    if isinstance(error, ValueError):
        return f"was refused ({_first_line(str(error), 2)})", "Mend that, and push again"
    name = type(error).__name__
    return f"the connection broke ({name}: {_first_line(str(error)) or 'no answer'})", AGAIN


def _refused(status: int, response: Any, said: str) -> tuple[str, str]:
    note = f", and says: {said}" if said else ""
    if status == 401:
        return "the hub refuses the token", LOG_IN
    if status == 403:
        return f"the token may not do this{note}", f"Use one that may write there. {LOG_IN}"
    if status == 404:
        return f"there is no such repository or branch{note}", "Check the name and the branch"
    if status in (409, 412):
        return f"somebody else changed the repository meanwhile{note}", AGAIN
    if status == 413:
        return f"the hub takes no commit of this size{note}", "Send fewer or smaller files"
    if status == 429:
        wait = str(response.headers.get("Retry-After", ""))
        after = f"after {wait} seconds" if wait.isdigit() else "in a few minutes"
        return "the hub asks for fewer requests (429)", f"{AGAIN} {after}"
    if status >= 500:
        return f"the hub is in trouble ({status}){note}", AGAIN
    return f"the hub refuses it ({status}){note}", "Mend what it names, and push again"


def _server_message(error: Any) -> str:
    return _first_line(str(getattr(error, "server_message", "") or ""))


def _first_line(text: str, count: int = 1) -> str:
    lines = [line.strip(" -.") for line in text.splitlines() if line.strip(" -.")]
    return ": ".join(lines[:count])[:200]
