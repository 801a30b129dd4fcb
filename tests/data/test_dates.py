from __future__ import annotations

import pytest

from twowiki.data.dates import DATE


@pytest.mark.parametrize(
    "text",
    ["44 BC", "AD 300", "1907", "March 1907", "19 July", "July 19", "5 March 1907",
     "5th March 1907", "March 5, 1907"],
)  # fmt: skip
def test_ways_to_write_a_date(text: str):
    assert DATE.fullmatch(text)
    assert [match.group() for match in DATE.finditer(f"It came out on {text}.")] == [text]


@pytest.mark.parametrize(
    "text", ["12", "May", "March on", "yes", "", "19th century", "5 March Street"]
)
def test_what_is_not_a_date(text: str):
    assert DATE.fullmatch(text) is None
