"""Upload a saved model's folder, through the library's own client and login."""

from __future__ import annotations

from pathlib import Path

from twowiki.errors import DataError


def push(folder: Path, repo: str) -> str:
    """Make the repository if needed and upload the folder; give its address.

    The token is the login's or HF_TOKEN's; it is read by the client and shown nowhere.
    """
    from httpx import HTTPError
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    if "/" not in repo:
        raise DataError(f"is {repo!r}, not owner/name", field="hub_repo")
    client = HfApi()
    try:
        address = client.create_repo(repo, exist_ok=True)
        client.upload_folder(repo_id=repo, folder_path=folder, commit_message="Upload the model")
    except (HfHubHTTPError, HTTPError, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(
            f"could not be pushed to {repo} ({reason})",
            file=folder,
            remedy="Nothing is lost: log in (`hf auth login`), check the name and push again",
        ) from error
    return str(address)
