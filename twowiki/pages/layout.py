"""What every page shares: its head and foot, its style, and a policy that lets nothing else in.

In: a template that extends `layout.html`, and its values. Out: one HTML page that needs nothing
else. Style and script are in it; a Content-Security-Policy forbids everything but these two and
pictures inside the page, so that nothing in a prediction can load or run.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any

from twowiki._version import __version__
from twowiki.pages.evidence import evidence_style, page_templates


def render_layout(
    template: str, *, title: str, command: str | None, script: str = "", **values: Any
) -> str:
    """Return a page.

    Args:
        template: its name.
        title: the page's title.
        command: the command line that made it, for the page to name.
        script: a file of the folder `templates`, for a page that has a script of its own.
        **values: what the template uses.
    """
    style = f"\n{evidence_style()}{_resource('report.css')}"
    source = "".join(f"\n{_resource(name)}" for name in ("layout.js", script) if name)
    return (
        page_templates()
        .get_template(template)
        .render(
            title=title,
            version=__version__,
            policy=_policy(style, source),
            style=style,
            script=source,
            command=command,
            **values,
        )
    )


def _resource(name: str) -> str:
    """Return a file of the folder `templates` of this package."""
    return (files("twowiki.pages") / "templates" / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Allow the page's own style and script by their hashes, and pictures inside the page."""
    allowed = ["default-src 'none'", "base-uri 'none'", "form-action 'none'", "img-src data:"]
    for kind, text in (("style", style), ("script", script)):
        if text:
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            allowed.append(f"{kind}-src 'sha256-{digest}'")
    return "; ".join(allowed)
