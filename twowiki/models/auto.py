"""Load a saved model to ask it: a folder, or a repository of the hub.

Tokens are those of the login or the environment; none is taken or shown here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from twowiki.errors import DataError, unless_here


def load_model(
    place: str | Path,
    *,
    revision: str | None = None,
    device: str | None = None,
    trust_remote_code: bool = False,
) -> Any:
    """Load a model that answers questions: `load_model(place).predict(question, paragraphs)`.

    Args:
        place: folder of a saved model or of a run, or a repository as owner/name.
        revision: branch, tag or commit of the repository.
        device: cpu, cuda, cuda:1, ...; by default where torch loads it, the CPU.
        trust_remote_code: run the code of a repository whose model this package does not have.

    Raises:
        DataError: there is no model, or none of this package.
    """
    from transformers import AutoModel

    import twowiki.models.registration  # noqa: F401

    place = str(place)
    folder = Path(place).expanduser()
    if folder.exists():
        folder = model_folder(folder)
        place = str(folder)
    elif place.count("/") != 1 or place.startswith((".", "~", "/")):
        raise DataError("no such folder", file=place, remedy="Give a folder, or owner/name")
    options = {} if revision is None or folder.exists() else {"revision": revision}
    try:
        model = AutoModel.from_pretrained(place, trust_remote_code=trust_remote_code, **options)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise DataError(
            f"{unless_here(folder)}cannot be loaded ({_first_line(error)})",
            file=place,
            remedy="Give the folder of a saved model, or a repository of this package's models",
        ) from error
    if not hasattr(model, "predict"):
        raise DataError(f"is a {type(model).__name__}, no model of this package", file=place)
    if device is not None:
        try:
            model.to(device)
        except (RuntimeError, AssertionError) as error:
            raise DataError(
                f"is not there ({_first_line(error)})", field="device", remedy="Give cpu"
            ) from error
    return model.eval()


def pipeline(task: str = "multihop-qa", model: Any = None, **options: Any) -> Any:
    """Make a transformers pipeline, of our own task unless another is named.

    Args:
        task: "multihop-qa", or any that transformers knows.
        model: a folder (also of a run), a repository as owner/name, or a loaded model.
        **options: as for `transformers.pipeline`: device, batch_size, revision, ...
    """
    import transformers

    import twowiki.models.registration  # noqa: F401

    if isinstance(model, (str, Path)) and Path(model).expanduser().is_dir():
        model = str(model_folder(Path(model).expanduser()))
    make: Any = transformers.pipeline
    return make(task, model=model, **options)


def model_folder(folder: Path) -> Path:
    """Give the folder of a saved model: itself, or `best` in the folder of a run.

    Raises:
        DataError: neither is one.
    """
    best = folder / "best"
    if (best / "config.json").is_file() and not any(folder.glob("*.safetensors")):
        return best  # a run's folder has a config.json too, of other settings
    for name in ("config.json", "adapter_config.json"):
        if (folder / name).is_file():
            return folder
    raise DataError(
        "is a file, not a folder" if folder.is_file() else "holds no saved model (no config.json)",
        file=folder,
        remedy="Give a folder that training or `twowiki convert-baseline` wrote",
    )


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
