"""Tables and scores as text, for people."""

from __future__ import annotations

from collections.abc import Sequence


def render_table(rows: Sequence[Sequence[str]]) -> str:
    """Return a table as text: the first column is aligned left, the others right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def format_score(
    value: float | None, interval: tuple[float, float] | None = None, *, sign: str = ""
) -> str:
    """Return a score with two decimals, and its interval in brackets; `-` where there is none.

    `sign="+"` shows a plus.
    """
    if value is None:
        return "-"
    if interval is None:
        return f"{value:{sign}.2f}"
    return f"{value:{sign}.2f} [{interval[0]:{sign}.2f}, {interval[1]:{sign}.2f}]"
