"""Push a folder to the hub in one commit: all of it arrives, or nothing does.

A folder that the repository already holds makes no commit. Files that a folder replaces as a
whole (shards, weights) and no longer has are deleted in the same commit. The folder on disk is
only read; a model's missing card is the one thing that is written there.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from twowiki.errors import DataError
from twowiki.hub.folder_checks import (
    KINDS,
    Checked,
    check_folder,
    own_tokens,
    refuse_leaks,
    stale_paths,
    without_tokens,
)


class Pushed(NamedTuple):
    """What a push did.

    Attributes:
        address: of the repository.
        commit: id of the commit, or of the last one if nothing had changed.
        changed: whether a commit was made.
        files: paths sent, bytes of them all included in `size`.
        deleted: paths of the repository that were deleted.
        pull_request: address of the pull request, if one was asked for and made.
    """

    address: str
    commit: str
    changed: bool
    files: tuple[str, ...]
    size: int
    deleted: tuple[str, ...]
    pull_request: str | None = None


def plan(folder: str | PathLike[str], repo: str, kind: str = "model") -> Checked:
    """Say what a push would send, after every check that needs no network.

    Raises:
        DataError: the name or the folder will not do; nothing is sent or written.
    """
    check_name(repo)
    checked = check_folder(Path(folder), kind, repo)
    refuse_leaks(checked.contents.files, own_tokens())
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
    """Check a folder and upload it; the token is the login's or HF_TOKEN's.

    Args:
        folder: what to push.
        repo: owner/name; made if there is none.
        kind: model, dataset, metric or demo (the last two are Spaces).
        private: make the repository private; one that is public already is refused.
        revision: branch to commit to, made from main if there is none.
        create_pr: open a pull request instead of committing to the branch.
        message: of the commit.

    Raises:
        DataError: what is wrong with the folder, the name, the token or the connection.
    """
    checked = plan(folder, repo, kind)
    tokens = check_login()
    if revision and create_pr:
        raise DataError(
            "a pull request is opened against main: give no branch beside it", field="create-pr"
        )
    with suppress(DataError):  # a folder that cannot be written to is pushed all the same
        checked.write_card()
    upload = _Upload(repo, kind, checked, message or f"Upload the {kind}")
    try:
        return upload.run(private, revision, create_pr, tokens)
    except DataError:
        raise
    except library_errors() as error:
        raise as_data_error(error, repo, tokens, upload.made) from None


def check_login() -> list[str]:
    """Give the tokens there are; refuse to go on without any."""
    tokens = own_tokens()
    if not tokens:
        raise DataError("there is no token to push with", remedy=LOG_IN)
    return tokens


def check_name(repo: str, field: str = "repo") -> None:
    """Refuse a name that is no owner/name."""
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
            f"is {repo!r}, which the hub does not take",
            field=field,
            remedy="Use letters, digits, '-', '_' and '.', at most 96, with no '--' or '..'",
        ) from None


class _Upload:
    """One upload; remembers whether it made the repository."""

    def __init__(self, repo: str, kind: str, checked: Checked, message: str) -> None:
        from huggingface_hub import HfApi

        self.repo, self.kind, self.type = repo, kind, KINDS[kind]
        self.checked, self.message, self.made = checked, message, False
        self.client = HfApi(endpoint=os.environ.get("HF_ENDPOINT", "").rstrip("/") or None)

    def run(
        self, private: bool, revision: str | None, create_pr: bool, tokens: list[str]
    ) -> Pushed:
        """Make what is missing, and commit once."""
        self._make_repository(private)
        if revision:
            self._make_branch(revision)
        head = self.client.repo_info(self.repo, repo_type=self.type, revision=revision)
        contents = self.checked.contents
        deleted = stale_paths(
            [sibling.rfilename for sibling in getattr(head, "siblings", None) or []],
            contents,
            self.kind,
        )
        with quiet():
            done = self.client.create_commit(
                self.repo,
                self._operations(deleted),
                commit_message=self.message,
                repo_type=self.type,
                revision=revision,
                create_pr=create_pr,
                parent_commit=head.sha,
            )
        changed = done.pr_url is not None or done.oid != head.sha
        kinds = "" if self.type == "model" else f"{self.type}s/"
        address = f"{self.client.endpoint}/{kinds}{self.repo}"
        return Pushed(
            without_tokens(address, tokens),
            str(done.oid),
            changed,
            tuple(file.path for file in contents.files),
            contents.size,
            tuple(deleted),
            done.pr_url and without_tokens(str(done.pr_url), tokens),
        )

    def _operations(self, deleted: list[str]) -> list[Any]:
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        added = [
            CommitOperationAdd(file.path, file.content) for file in self.checked.contents.files
        ]
        return [*added, *(CommitOperationDelete(path) for path in deleted)]

    def _make_repository(self, private: bool) -> None:
        from huggingface_hub.errors import RepositoryNotFoundError

        try:
            found = self.client.repo_info(self.repo, repo_type=self.type)
        except RepositoryNotFoundError:
            self.client.create_repo(
                self.repo, repo_type=self.type, private=private or None, space_sdk=self.checked.sdk
            )
            self.made = True
            return
        if private and found.private is False:
            raise DataError(
                "is public, and was asked to be private",
                file=self.repo,
                remedy="Nothing was sent. Make it private on its settings page, or push elsewhere",
            )

    def _make_branch(self, revision: str) -> None:
        from huggingface_hub.errors import RevisionNotFoundError

        try:
            self.client.repo_info(self.repo, repo_type=self.type, revision=revision)
        except RevisionNotFoundError:
            self.client.create_branch(self.repo, branch=revision, repo_type=self.type)


@contextmanager
def quiet() -> Iterator[None]:
    """Show no progress bars where nobody watches, and of the library's notes only the waits.

    Others hold addresses with signatures, or tell of empty commits that are said elsewhere.
    """
    from huggingface_hub.utils import (  # type: ignore[attr-defined]
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
    )

    hides = not sys.stderr.isatty() and not are_progress_bars_disabled()
    handlers = list(logging.getLogger("huggingface_hub").handlers)
    for handler in handlers:
        handler.addFilter(_tells_a_wait)
    if hides:
        disable_progress_bars()
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(_tells_a_wait)
        if hides:
            enable_progress_bars()


def _tells_a_wait(record: logging.LogRecord) -> bool:
    return record.getMessage().startswith(("Rate limited", "Retrying"))


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
