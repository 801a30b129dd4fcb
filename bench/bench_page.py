"""The report page of a whole dev set: how long it takes to write, how large it is, when it opens.

A made-up release of 12,576 questions with a middling system's predictions. The page is opened in a
headless Chromium; it is open when all rows are unpacked and the list can be filtered.

    python bench/bench_page.py [--questions 12576] [--opens 3]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from made_up_release import DEV_SIZE, write_release

from tests.browser import Browser
from twowiki.cli.main import main as twowiki


def open_seconds(browser: Browser, address: str) -> float:
    """Return the seconds from the request of a page until it is ready."""
    browser.go("about:blank")
    start = time.perf_counter()
    browser.open(address)
    return time.perf_counter() - start


def main() -> None:
    """Write the page and open it several times."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--questions", type=int, default=DEV_SIZE)
    parser.add_argument("--opens", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        release = write_release(place, options.questions)
        out = place / "page.html"
        start = time.process_time()
        twowiki(
            ["report", str(release.predictions), str(release.gold), str(out),
             "--aliases", str(release.aliases)]
        )  # fmt: skip
        spent = time.process_time() - start
        size = out.stat().st_size / 1e6
        print(f"written in {spent:.1f} CPU seconds, {size:.2f} MB (limit 5)")
        browser = Browser(place / "profile")
        try:
            opened = [open_seconds(browser, out.as_uri()) for _ in range(options.opens)]
            count = browser.evaluate("document.getElementById('scope').textContent")
        finally:
            browser.close()
        times = ", ".join(f"{seconds:.2f}" for seconds in opened)
        print(f"opens in {times} seconds (limit 2): {count}")


if __name__ == "__main__":
    main()
