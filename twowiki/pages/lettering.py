"""Lines of text in SVG: cut to a width, measured without a font, written. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from html import escape

LINE = 17  # pixels from a line to the next
LETTER = 8.2  # pixels of an average letter, in the widest of the usual fonts


def text_svg(
    lines: Sequence[tuple[str, str]],
    x: float,
    top: float,
    *,
    anchor: str = "middle",
    halo: bool = False,
) -> str:
    """Write lines below each other.

    Args:
        lines: (text, class) of each.
        x: where the anchor stands.
        top: the first line's upper edge.
        anchor: start, middle or end.
        halo: keep the lines readable on an arrow.
    """
    ring = ' class="halo" paint-order="stroke" stroke-width="5" stroke-linejoin="round"'
    side = "" if anchor == "middle" else f' text-anchor="{anchor}"'
    spans = "".join(
        f'<tspan class="{kind or "letters"}" x="{x:g}" y="{top + 12.5 + number * LINE:g}" '
        f'fill="currentColor">{escape(line)}</tspan>'
        for number, (line, kind) in enumerate(lines)
    )
    return f"<text{ring if halo else ''}{side}>{spans}</text>"


def wrap(text: str, width: int, most: int) -> list[str]:
    """Cut a text into lines of about equal pixel width; what is too long ends in an ellipsis."""
    lines: list[str] = []
    rest = " ".join(text.split()) or "(empty)"
    while rest and len(lines) < most:
        fits = _fitting(rest, width)
        if fits < len(rest):
            blank = rest.rfind(" ", 1, fits + 1)
            fits = blank if blank > fits // 3 else fits
        lines.append(rest[:fits].strip())
        rest = rest[fits:].strip()
    if rest:
        last = lines[-1]
        lines[-1] = last[: _fitting(last, width - 1)].rstrip() + "…"
    return lines


def _fitting(text: str, width: int) -> int:
    """Give how many characters of a text fit; wide ones count twice, combining ones nothing."""
    used = 0.0
    for number, letter in enumerate(text):
        if unicodedata.combining(letter):
            continue
        used += _width(letter)
        if used > width:
            return max(number, 1)
    return len(text)


def units(text: str) -> float:
    """Give a text's width in average letters."""
    return sum(0.0 if unicodedata.combining(letter) else _width(letter) for letter in text)


def _width(letter: str) -> float:
    return 1.8 if unicodedata.east_asian_width(letter) in "WF" else _share(letter)


def _share(letter: str) -> float:
    if letter in "mwMW@%":
        return 1.35
    return 1.15 if letter.isupper() else 0.55 if letter in "iljtf.,:;'|! " else 0.95
