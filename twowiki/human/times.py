"""Times of answers and ratings, as the tools write them, in one form that sorts."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import mktime_tz, parsedate_tz

_ZONES = frozenset("UT UTC GMT Z EST EDT CST CDT MST MDT PST PDT".split())
_ZONE = re.compile(r"(?<![A-Za-z])[A-Z]{1,5}(?![A-Za-z])")


def parse_time(text: str) -> str:
    """Return a time in UTC with microseconds (`2026-11-29T18:00:00.000000+00:00`).

    Read are ISO 8601, and the forms of e-mail and of Mechanical Turk (`Sun Nov 29 10:00:00 PST
    2026`). A time without a zone is taken as UTC. An empty text stays empty.

    Raises:
        ValueError: it is no such time, or its zone is not known.
    """
    tidy = " ".join(text.split())
    if not tidy:
        return ""
    try:
        found = datetime.fromisoformat(tidy)
    except ValueError:
        parts = parsedate_tz(tidy)
        if parts is None or not _ZONES.issuperset(_ZONE.findall(tidy)):
            raise ValueError(f"{text!r} is not a time") from None
        found = datetime.fromtimestamp(mktime_tz(parts), UTC)
    if found.tzinfo is None:
        found = found.replace(tzinfo=UTC)
    return found.astimezone(UTC).isoformat(timespec="microseconds")


def is_older(text: str, other: str) -> bool:
    """Whether one time is before another; False where either is missing or cannot be read."""
    try:
        first, second = parse_time(text), parse_time(other)
    except (ValueError, OverflowError):
        return False
    return bool(first and second) and first < second
