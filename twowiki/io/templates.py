"""Jinja2 templates of the package: what is written for people, in files of its own.

Templates are in the folder `templates` of a package. Values that go into HTML are escaped; a name
that a template uses and nobody passes is an error.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape


@cache
def template_environment(package: str) -> Environment:
    """Return the environment of a package's templates."""
    return Environment(
        loader=PackageLoader(package),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def render_template(package: str, name: str, **values: Any) -> str:
    """Render a template of a package.

    Args:
        package: its full name, such as `twowiki.hub`.
        name: the file in the package's folder `templates`.
        **values: what the template uses.
    """
    return template_environment(package).get_template(name).render(**values)
