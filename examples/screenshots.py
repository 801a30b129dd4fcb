"""Draw the pictures of the README: a report on a fictional world, photographed by Chromium.

    python examples/screenshots.py [FOLDER]      # docs/images by default

The predictions are gold with some answers, sentences and triples taken away or replaced.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import chdir
from pathlib import Path
from random import Random
from typing import Any

from twowiki.cli.main import main as twowiki

ROOT = Path(__file__).parents[1]
WORLD = "people=300,films=200,seed=7"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
SHOWN = 'data-type="compositional" data-outcome="all_wrong"'  # the example of the second picture


def predict(records: list[dict[str, Any]], seed: int = 3) -> dict[str, dict[str, Any]]:
    """Return predictions in the official form, with errors of several kinds."""
    rng = Random(seed)
    predictions: dict[str, dict[str, Any]] = {"answer": {}, "sp": {}, "evidence": {}}
    for record in records:
        facts, triples = list(record["supporting_facts"]), list(record["evidences"])
        answer, chance = record["answer"], rng.random()
        if chance < 0.25:
            subject, relation, _ = triples.pop()
            triples.append([subject, relation, triples[0][0] if triples else subject])
        if 0.15 < chance < 0.3:
            answer = {"yes": "no", "no": "yes"}.get(answer, triples[0][0])
        if 0.2 < chance < 0.5:
            facts[-1] = [record["context"][0][0], 0]
        for part, value in (("answer", answer), ("sp", facts), ("evidence", triples)):
            predictions[part][record["_id"]] = value
    return predictions


def make_report() -> str:
    """Generate a world and its questions here, and return the report of made-up predictions."""
    run(["generate", "--world", WORLD, "--out", "data"])
    records = json.loads(Path("data", "dev.json").read_text(encoding="utf-8"))
    Path("dev.json").write_text(json.dumps(records), encoding="utf-8")
    Path("predictions.json").write_text(json.dumps(predict(records)), encoding="utf-8")
    title = "Predictions on a fictional world"
    run(["report", "predictions.json", "dev.json", "report.html", "--title", title])
    return Path("report.html").read_text(encoding="utf-8")


def only_example(page: str) -> str:
    """Return the page with one example alone, unfolded."""
    found = re.search(f'<article class="example" {SHOWN}.*?</article>', page, re.DOTALL)
    if found is None:
        raise SystemExit(f"no example has {SHOWN}")
    example = found[0].replace("<details>", "<details open>", 1)
    return re.sub("<a class=.skip.*</main>", lambda _: f"<main>{example}</main>", page, flags=re.S)


def run(arguments: list[str]) -> None:
    """Run a command of the package."""
    if twowiki(arguments) != 0:
        raise SystemExit(f"twowiki {arguments[0]} failed")


def photograph(page: str, out: Path, width: int, height: int) -> None:
    """Save what a window of a size shows of a page."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SystemExit(f"no browser found (looked for {', '.join(BROWSERS)})")
    place = Path("shown.html").resolve()
    place.write_text(page, encoding="utf-8")
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    options += [f"--user-data-dir={place.with_name('profile')}", f"--window-size={width},{height}"]
    subprocess.run(
        [browser, *options, f"--screenshot={out}", place.as_uri()], check=True, capture_output=True
    )
    print(f"{out}: {out.stat().st_size:,} bytes")


def main() -> int:
    """Draw both pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "docs" / "images")
    folder = parser.parse_args().folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, chdir(place):
        page = make_report()
        photograph(page, folder / "report.png", 1200, 1010)
        photograph(only_example(page), folder / "evidence.png", 1000, 1130)
    return 0


if __name__ == "__main__":
    sys.exit(main())
