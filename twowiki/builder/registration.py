"""How `datasets.load_dataset("twowiki", ...)` finds the builder: the library's private parts.

It works because the builder's module is in the library's table of packaged modules, the only way
that `datasets` has had since it dropped loading scripts. The table is private, and stable from 2.15
to 5.2; where it is missing or changed, `register` says so. Importing this module loads nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
else:  # `importlib.abc` alone would double the time of `import twowiki`
    Loader = object

NAME, BUILDER = "twowiki", "twowiki.builder.builder"


def register() -> None:
    """Make `datasets.load_dataset("twowiki", config, data_dir=...)` work in this process.

    `import twowiki` does so already; repeating it is harmless.

    Raises:
        ImportError: this version of `datasets` has another table than expected.
    """
    from twowiki.builder.fingerprint import code_hash

    try:
        from datasets.packaged_modules import _PACKAGED_DATASETS_MODULES as table
    except ImportError:
        table = None
    if not isinstance(table, dict) or not all(
        isinstance(entry, tuple) and len(entry) == 2 for entry in table.values()
    ):
        import datasets

        version = getattr(datasets, "__version__", "")
        raise ImportError(
            f"datasets {version} has another table of packaged modules than the one that "
            f'load_dataset("{NAME}") relies on. Use twowiki.load_dataset(...), or load an exported '
            "folder, which needs no registration"
        )
    table[NAME] = (BUILDER, code_hash())
    _allow_empty_folder()


def _allow_empty_folder() -> None:
    """Let `load_dataset("twowiki", config)` run where the working directory holds no files.

    The library searches that directory for data before it asks the builder, which may need none.
    """
    from datasets import load

    factory = getattr(load, "PackagedDatasetModuleFactory", None)
    search = getattr(factory, "get_module", None)
    if factory is None or search is None or getattr(search, "allows_empty", False):
        return

    def get_module(self: Any) -> Any:
        try:
            return search(self)
        except FileNotFoundError:
            if self.name != NAME or self.data_files is not None or self.data_dir is not None:
                raise
            self.data_files = str(Path(__file__).resolve())  # a file that no config takes for data
            return search(self)

    get_module.allows_empty = True  # type: ignore[attr-defined]
    factory.get_module = get_module


def register_when_imported() -> None:
    """Register now if `datasets` is imported, else as soon as it is; without importing it."""
    if "datasets" in sys.modules:
        _try_to_register()
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def _try_to_register() -> None:
    """Register, unless this `datasets` is another one; `register` itself says why."""
    try:
        register()
    except ImportError:
        return


class _Finder:
    """Find `datasets` as the other finders do, with a loader that registers afterwards.

    Looking for it without importing it, as `transformers` does, changes nothing.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "datasets":
            return None
        from importlib.util import find_spec

        sys.meta_path.remove(self)  # while the other finders are asked
        try:
            spec = find_spec(fullname)
        finally:
            sys.meta_path.insert(0, self)
        if spec is not None and spec.loader is not None:
            spec.loader = _RegisteringLoader(spec.loader)
        return spec


class _RegisteringLoader(Loader):
    """Load a module by its own loader, then register the builder."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        sys.meta_path[:] = [one for one in sys.meta_path if not isinstance(one, _Finder)]
        _try_to_register()
