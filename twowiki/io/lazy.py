"""Namespaces whose names load their modules when they are first used.

The stub beside a package (`__init__.pyi`) is the only list of its names: type checkers read it, and
`lazy_names` returns `__all__`, `__getattr__` and `__dir__` of the package from it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from twowiki.errors import extras_named

LazyNames = tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]


def lazy_names(package: str, file: str) -> LazyNames:
    """Return `__all__`, `__getattr__` and `__dir__` of a package.

    Args:
        package: its `__name__`.
        file: its `__file__`; the stub is beside it.
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    modules = {
        alias.name: str(node.module)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if modules[name] == package:  # a package inside it, with names of its own
            return import_module(f"{package}.{name}")
        with extras_named():
            return getattr(import_module(modules[name]), name)

    def listing() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules})

    return list(modules), load, listing
