"""Load a saved model that answers questions, from a folder or a repository of the hub.

In: the folder of a model or of a training run, or a repository as owner/name. Out: the model, or
a transformers pipeline. Raises `DataError` for anything that is not a model with `predict`.
Credentials come from the login or the environment; none is read or shown here.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from twowiki.errors import DataError, extras_named, unless_here


@cache
def register_models() -> None:
    """Register both models and their pipeline, so that no code of a saved folder has to run."""
    from transformers import AutoConfig, AutoModel, AutoModelForQuestionAnswering, AutoTokenizer
    from transformers.pipelines import PIPELINE_REGISTRY

    from twowiki.models.configuration_baseline import TwoWikiBaselineConfig
    from twowiki.models.configuration_encoder import TwoWikiEncoderConfig
    from twowiki.models.modeling_baseline import TwoWikiBaselineForMultihopQA
    from twowiki.models.modeling_encoder import TwoWikiEncoderForMultihopQA
    from twowiki.models.pipeline import MultihopQAPipeline
    from twowiki.models.prediction import PIPELINE
    from twowiki.models.tokenization_baseline import TwoWikiTokenizer

    models: dict[Any, Any] = {
        TwoWikiBaselineConfig: TwoWikiBaselineForMultihopQA,
        TwoWikiEncoderConfig: TwoWikiEncoderForMultihopQA,
    }
    for config, model in models.items():
        AutoConfig.register(config.model_type, config, exist_ok=True)
        AutoModel.register(config, model, exist_ok=True)
        AutoModelForQuestionAnswering.register(config, model, exist_ok=True)
    AutoTokenizer.register(
        TwoWikiBaselineConfig, fast_tokenizer_class=TwoWikiTokenizer, exist_ok=True
    )
    if PIPELINE not in PIPELINE_REGISTRY.get_supported_tasks():
        PIPELINE_REGISTRY.register_pipeline(PIPELINE, MultihopQAPipeline, pt_model=AutoModel)


def load_extractive_model(
    model: str | Path,
    *,
    revision: str | None = None,
    device: str | None = None,
    trust_remote_code: bool = False,
    allow_missing: bool = False,
) -> Any:
    """Load a model of this package: `load_extractive_model(folder).predict(question, paragraphs)`.

    Args:
        model: folder of a saved model or of a run, or a repository as owner/name.
        revision: branch, tag or commit of the repository.
        device: cpu, cuda, cuda:1, ...; by default where torch loads it, the CPU.
        trust_remote_code: run the code of a repository whose model this package does not have.
        allow_missing: also load a model that lacks weights (they are random then) or the
            tokenizer, or of which some weight is no number.

    Raises:
        DataError: there is no model, it is damaged, or it cannot answer questions about paragraphs.
    """
    from transformers import AutoModel

    register_models()
    source = str(model)
    folder = Path(source).expanduser()
    options: dict[str, Any] = {} if revision is None else {"revision": revision}
    if folder.exists():
        folder, options = model_folder(folder), {}
        source = str(folder)
    elif source.count("/") != 1 or source.startswith((".", "~", "/")):
        raise DataError("no such folder", file=source, remedy="Give a folder, or owner/name")
    try:
        loaded, info = AutoModel.from_pretrained(
            source, trust_remote_code=trust_remote_code, output_loading_info=True, **options
        )
    except ImportError:
        raise
    except Exception as error:  # damaged files make the libraries raise many kinds
        raise DataError(
            f"{unless_here(folder)}cannot be loaded ({_first_line(error)})",
            file=_damaged_file(folder) or source,
            remedy="Give the folder of a saved model, or a repository of this package's models",
        ) from error
    if not hasattr(loaded, "predict"):
        raise DataError(f"is a {type(loaded).__name__}, not a model of this package", file=source)
    if not allow_missing:
        check_weights(loaded, info, source)
        if folder.exists():
            _check_tokenizer(loaded, folder)
    if device is not None:
        try:
            loaded.to(device)
        except (RuntimeError, AssertionError) as error:
            raise DataError(
                f"is not available ({_first_line(error)})", field="device", remedy="Use cpu"
            ) from error
    return loaded.eval()


def check_weights(model: Any, info: Any, source: str) -> None:
    """Raise for a model that would answer with random weights, or with none at all."""
    remedy = "Copy the whole folder again; --allow-missing (allow_missing=True) loads it as it is"
    missing = sorted(info["missing_keys"]) if isinstance(info, dict) else []
    if missing and not hasattr(model, "peft_config"):
        problem = f"{len(missing)} of the model's weights are missing, {missing[0]!r} for one"
        raise DataError(problem, file=source, remedy=remedy)
    for name, value in model.state_dict().items():
        if value.is_floating_point() and bool(value.isnan().any()):
            raise DataError(f"the weight {name!r} holds NaN", file=source, remedy=remedy)


def _check_tokenizer(model: Any, folder: Path) -> None:
    try:
        model.own_tokenizer()
    except ImportError:
        raise
    except Exception as error:  # the libraries raise many kinds
        file = folder / "tokenizer.json"
        problem = f"is damaged ({_first_line(error)})" if file.is_file() else "no such file"
        remedy = "Copy the tokenizer's files from where the model was trained"
        raise DataError(problem, file=file, remedy=remedy) from error


def _damaged_file(folder: Path) -> Path | None:
    """Return the file of a model's folder that cannot be read; None if each can by itself."""
    import torch
    from safetensors import safe_open
    from transformers import AutoConfig, AutoModel

    for path in sorted(folder.glob("*.safetensors")):
        try:
            with safe_open(path, "pt") as weights:
                weights.keys()
        except Exception:  # whatever the library raises
            return path
    if (folder / "config.json").is_file():
        try:
            with torch.device("meta"):
                AutoModel.from_config(AutoConfig.from_pretrained(str(folder)))
        except Exception:
            return folder / "config.json"
    return None


@extras_named()
def pipeline(task: str = "multihop-qa", model: Any = None, **options: Any) -> Any:
    """Make a transformers pipeline, by default of the task that this package registers.

    Args:
        task: "multihop-qa", or any that transformers knows.
        model: a folder (also of a run), a repository as owner/name, or a loaded model.
        **options: as for `transformers.pipeline`: device, batch_size, revision, ...
    """
    import transformers

    register_models()
    if isinstance(model, (str, Path)) and Path(model).expanduser().is_dir():
        model = str(model_folder(Path(model).expanduser()))
    make: Any = transformers.pipeline
    return make(task, model=model, **options)


def model_folder(folder: Path) -> Path:
    """Return the folder of a saved model: itself, or `best` in the folder of a run.

    Raises:
        DataError: neither holds a model.
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
