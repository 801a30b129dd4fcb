"""Dates in English text: the names of the months, and one pattern for all ways to write a date."""

from __future__ import annotations

import re

MONTH_NAMES = (
    "January February March April May June July August September October November December"
).split()
_MONTH = f"(?:{'|'.join(MONTH_NAMES)})"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"(?:\d{1,4}\s(?:BCE?|AD|CE)\b|AD\s\d{1,4}\b|\d{3,4}\b)"
# "5 March 1907", "March 5, 1907", "March 1907", "19 July", "1907", "44 BC"; "12" is not a date
DATE = re.compile(
    rf"\b(?:{_DAY}\s+{_MONTH}\b(?:,?\s+{_YEAR})?"
    rf"|{_MONTH}\s+(?:{_DAY},?\s+{_YEAR}|{_YEAR}|{_DAY}\b)|{_YEAR})"
)
