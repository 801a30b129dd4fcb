"""The report page of a whole dev set: how long it takes to write, how large it is, when it opens.

A made-up release of 12,576 questions with a middling system's predictions. The page is opened in a
headless Chromium; it is open when all rows are unpacked and the list can be filtered. On a busy
machine the time is longer than on an idle one; the processor time of the page's process is not.

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


def spent_by_page(browser: Browser) -> float:
    """Return the processor seconds of the process that shows the page."""
    metrics = browser.send("Performance.getMetrics")["metrics"]
    return next(float(one["value"]) for one in metrics if one["name"] == "ProcessTime")


def open_page(browser: Browser, address: str) -> tuple[float, float]:
    """Open a page; return the seconds until it is ready, and the processor seconds."""
    browser.go("about:blank")
    spent, start = spent_by_page(browser), time.perf_counter()
    browser.open(address)
    return time.perf_counter() - start, spent_by_page(browser) - spent


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
            browser.send("Performance.enable")
            opened = [open_page(browser, out.as_uri()) for _ in range(options.opens)]
            count = browser.evaluate("document.querySelector('#scope option[value=all]').text")
        finally:
            browser.close()
        times, spent_times = (
            ", ".join(f"{seconds:.2f}" for seconds in column)
            for column in zip(*opened, strict=True)
        )
        print(f"opens in {times} seconds (limit 2); {count}")
        print(f"CPU seconds of its process: {spent_times}")


if __name__ == "__main__":
    main()
