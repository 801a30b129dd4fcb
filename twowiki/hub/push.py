"""Push a folder to the hub in one commit: all of it arrives, or nothing does.

A folder that the repository already holds makes no commit. Files that a folder replaces as a
whole (shards, weights) and no longer has are deleted in the same commit. The folder on disk is
only read; a model's or data set's missing card is the one file that is written there. Whatever
fails on the way becomes one sentence without tokens.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from twowiki.errors import DataError
from twowiki.hub.folder_checks import (
    FOLDER_KINDS,
    CheckedFolder,
    LeftOut,
    check_folder,
    stale_paths,
)
from twowiki.hub.secret_scan import check_no_secrets, hide_secrets, own_tokens

PUSH_AGAIN = "Nothing is lost and nothing was committed: push again"
LOG_IN = "Log in (`hf auth login`), or set HF_TOKEN to a token that may write"
# HTTP status of the hub's answer -> problem, remedy
ANSWERS = {
    401: ("the hub refuses the token", LOG_IN),
    403: ("the token may not do this", f"Use one that may write there. {LOG_IN}"),
    404: ("there is no such repository or branch", "Check the name and the branch"),
    409: ("somebody else changed the repository meanwhile", PUSH_AGAIN),
    412: ("somebody else changed the repository meanwhile", PUSH_AGAIN),
    413: ("the hub takes no commit of this size", "Send fewer or smaller files"),
    429: ("the hub asks for fewer requests (429)", f"{PUSH_AGAIN} {{after}}"),
    500: ("the hub is in trouble ({status})", PUSH_AGAIN),
    0: ("the hub refuses it ({status})", "Fix what it names, and push again"),
}


class Pushed(NamedTuple):
    """What a push did.

    Attributes:
        address: of the repository.
        commit: id of the commit, or of the last one if nothing had changed.
        changed: whether a commit was made.
        files: paths sent.
        size: bytes of all files.
        deleted: paths of the repository that were deleted.
        pull_request: address of the pull request, if one was asked for and made.
        left_out: files of the folder that were not sent, and why.
    """

    address: str
    commit: str
    changed: bool
    files: tuple[str, ...]
    size: int
    deleted: tuple[str, ...]
    pull_request: str | None = None
    left_out: tuple[LeftOut, ...] = ()


def plan_push(folder: str | PathLike[str], repo: str, kind: str = "model") -> CheckedFolder:
    """Return what a push would send, after every check that needs no network.

    Raises:
        DataError: the name or the folder is not fit to be pushed; nothing is sent or written.
    """
    check_repo_name(repo)
    checked = check_folder(Path(folder), kind, repo)
    check_no_secrets(((file.path, file.content) for file in checked.files), own_tokens())
    return checked


def push(
    folder: str | PathLike[str],
    repo: str,
    kind: str = "model",
    *,
    private: bool = False,
    revision: str | None = None,
    create_pr: bool = False,
    message: str | None = None,
) -> Pushed:
    """Check a folder and upload it with the token of the login or of HF_TOKEN.

    Args:
        folder: what to push.
        repo: owner/name; made if it does not exist.
        kind: model, dataset, metric or demo (the last two are Spaces).
        private: make the repository private; one that is public already is refused.
        revision: branch to commit to, made from main if it does not exist.
        create_pr: open a pull request instead of committing to the branch.
        message: of the commit.

    Raises:
        DataError: what is wrong with the folder, the name, the token or the connection.
    """
    from huggingface_hub import HfApi

    checked = plan_push(folder, repo, kind)
    check_login()
    if revision and create_pr:
        raise DataError(
            "a pull request is opened against main: give no branch beside it", field="create-pr"
        )
    with suppress(DataError):  # a folder that cannot be written to is pushed nevertheless
        checked.write_card()
    client = HfApi(endpoint=os.environ.get("HF_ENDPOINT", "").rstrip("/") or None)
    made = False
    try:
        made = _prepare_repository(client, repo, checked, private, revision)
        with quiet_library():
            return _commit(
                client, repo, checked, message or f"Upload the {kind}", revision, create_pr
            )
    except DataError:
        raise
    except _library_errors() as error:
        raise _as_data_error(error, repo, made) from None


def check_login() -> None:
    """Raise if there is no token."""
    if not own_tokens():
        raise DataError("there is no token to push with", remedy=LOG_IN)


def check_repo_name(repo: str, field: str = "repo") -> None:
    """Raise for a name that is not owner/name."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    if repo.count("/") != 1 or not all(repo.split("/")):
        raise DataError(
            f"is {repo!r}, not owner/name",
            field=field,
            remedy="Give the owner too, such as my-name/my-model",
        )
    try:
        validate_repo_id(repo)
    except HFValidationError:
        raise DataError(
            f"is {repo!r}, which the hub does not accept",
            field=field,
            remedy="Use letters, digits, '-', '_' and '.', at most 96, with no '--' or '..'",
        ) from None


def _prepare_repository(
    client: Any, repo: str, checked: CheckedFolder, private: bool, revision: str | None
) -> bool:
    """Make the repository and the branch if they do not exist; return whether the first was."""
    from huggingface_hub.errors import RepositoryNotFoundError

    repo_type, made = FOLDER_KINDS[checked.kind], False
    try:
        present = client.repo_info(repo, repo_type=repo_type)
    except RepositoryNotFoundError:
        client.create_repo(
            repo, repo_type=repo_type, private=private or None, space_sdk=checked.sdk
        )
        made = True
    else:
        if private and present.private is False:
            raise DataError(
                "is public, but private was asked for",
                file=repo,
                remedy="Nothing was sent. Make it private on its settings page, or push elsewhere",
            )
    if revision:
        client.create_branch(repo, branch=revision, repo_type=repo_type, exist_ok=True)
    return made


def _commit(
    client: Any,
    repo: str,
    checked: CheckedFolder,
    message: str,
    revision: str | None,
    create_pr: bool,
) -> Pushed:
    # `upload_folder` may split a large folder into several commits; here all or nothing arrives
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    repo_type = FOLDER_KINDS[checked.kind]
    head = client.repo_info(repo, repo_type=repo_type, revision=revision)
    remote = [sibling.rfilename for sibling in head.siblings or ()]
    deleted = stale_paths(remote, checked)
    done = client.create_commit(
        repo,
        [
            *(CommitOperationAdd(file.path, file.content) for file in checked.files),
            *(CommitOperationDelete(path) for path in deleted),
        ],
        commit_message=message,
        repo_type=repo_type,
        revision=revision,
        create_pr=create_pr,
        parent_commit=head.sha,
    )
    address = f"{client.endpoint}/{'' if repo_type == 'model' else f'{repo_type}s/'}{repo}"
    return Pushed(
        hide_secrets(address),
        str(done.oid),
        done.pr_url is not None or done.oid != head.sha,
        tuple(file.path for file in checked.files),
        checked.size,
        tuple(deleted),
        done.pr_url and hide_secrets(str(done.pr_url)),
        checked.left_out,
    )


@contextmanager
def quiet_library() -> Iterator[None]:
    """Hide progress bars where nobody watches, and the library's notes but those of waiting.

    Other notes hold addresses with signatures, or repeat what is reported elsewhere.
    """
    from huggingface_hub.utils import (  # type: ignore[attr-defined]
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
    )

    hides = not sys.stderr.isatty() and not are_progress_bars_disabled()
    handlers = list(logging.getLogger("huggingface_hub").handlers)
    for handler in handlers:
        handler.addFilter(_is_about_waiting)
    if hides:
        disable_progress_bars()
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(_is_about_waiting)
        if hides:
            enable_progress_bars()


def _is_about_waiting(record: logging.LogRecord) -> bool:
    return record.getMessage().startswith(("Rate limited", "Retrying"))


def _library_errors() -> tuple[type[BaseException], ...]:
    """Return every error that the library's client raises for what is not our fault."""
    from huggingface_hub.errors import HfHubHTTPError

    # its bases are the HTTP client's own errors, whichever client the version uses; uploads of big
    # files raise RuntimeError from these
    return (*HfHubHTTPError.__bases__, OSError, ValueError, RuntimeError)


def _as_data_error(error: BaseException, repo: str, made: bool) -> DataError:
    """Return one sentence about an error; `made`: the repository was made for this push."""
    while isinstance(error, RuntimeError) and error.__cause__ is not None:
        error = error.__cause__
    problem, remedy = _explain(error)
    if made:
        remedy += f" (the repository {repo} was made for it, and is empty)"
    return DataError(hide_secrets(problem), file=repo, remedy=hide_secrets(remedy))


def _explain(error: BaseException) -> tuple[str, str]:
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    if isinstance(error, OfflineModeIsEnabled):
        return "HF_HUB_OFFLINE is set, so nothing is sent", "Unset it, and push again"
    response = getattr(error, "response", None)
    if isinstance(error, HfHubHTTPError) and response is not None:
        return _explain_answer(int(response.status_code), response, error)
    if isinstance(error, json.JSONDecodeError):
        return "the hub's answer cannot be read (it is not JSON)", PUSH_AGAIN
    if isinstance(error, ValueError):
        return f"was refused ({_first_lines(error, 2)})", "Fix that, and push again"
    name = type(error).__name__
    return f"the connection broke ({name}: {_first_lines(error) or 'no answer'})", PUSH_AGAIN


def _explain_answer(status: int, response: Any, error: Any) -> tuple[str, str]:
    problem, remedy = ANSWERS.get(status) or ANSWERS[500 if status >= 500 else 0]
    wait = str(response.headers.get("Retry-After", ""))
    after = f"after {wait} seconds" if wait.isdigit() else "in a few minutes"
    message = _first_lines(getattr(error, "server_message", "") or "")
    if message and status not in (401, 413, 429):
        problem += f", and answers: {message}"
    return problem.replace("{status}", str(status)), remedy.replace("{after}", after)


def _first_lines(text: Any, count: int = 1) -> str:
    lines = [line.strip(" -.") for line in str(text).splitlines() if line.strip(" -.")]
    return ": ".join(lines[:count])[:200]
