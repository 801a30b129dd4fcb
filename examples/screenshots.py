"""Draw the pictures of README and docs: pages on a fictional world, photographed by Chromium.

    python examples/screenshots.py [FOLDER]                    # docs/images by default
    python examples/screenshots.py --model runs/tiny/best      # and the demo with this model

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
import time
from contextlib import chdir
from pathlib import Path
from random import Random
from typing import Any
from urllib.request import urlopen

from twowiki.cli.main import main as twowiki

ROOT = Path(__file__).parents[1]
WORLD = "people=300,films=200,seed=7"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
LARGEST = 200_000  # bytes of a picture
PORT = 7989
SHOWN = 'data-type="compositional" data-outcome="all_wrong"'  # the example of the second picture


def predict(
    records: list[dict[str, Any]], seed: int = 3, *, easier: float = 1.0
) -> dict[str, dict[str, Any]]:
    """Return predictions in the official form, with errors of several kinds; fewer if easier."""
    rng = Random(seed)
    predictions: dict[str, dict[str, Any]] = {"answer": {}, "sp": {}, "evidence": {}}
    for record in records:
        facts, triples = list(record["supporting_facts"]), list(record["evidences"])
        answer, chance = record["answer"], easier * rng.random()
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


def make_report(*names: str) -> str:
    """Return the report of made-up predictions of one system, or of two."""
    title = "Predictions on a fictional world" if len(names) == 1 else "Two readers of a world"
    files = [f"{name}.json" for name in names]
    named = [] if len(names) == 1 else ["--names", *names]
    run(["report", *files, "dev.json", "report.html", "--title", title, *named])
    return Path("report.html").read_text(encoding="utf-8")


def make_world() -> str:
    """Generate a world, its questions and predictions here; return the page of the data set."""
    run(["generate", "--world", WORLD, "--out", "data"])
    records = json.loads(Path("data", "dev.json").read_text(encoding="utf-8"))
    Path("dev.json").write_text(json.dumps(records), encoding="utf-8")
    for name, easier in (("one-hop reader", 1.0), ("two-hop reader", 1.5)):
        predictions = predict(records, easier=easier)
        Path(f"{name}.json").write_text(json.dumps(predictions), encoding="utf-8")
    return Path("data", "report.html").read_text(encoding="utf-8")


def only_example(page: str) -> str:
    """Return the page with one example alone, unfolded."""
    found = re.search(
        rf'<article class="example" data-row="\d+" {SHOWN}.*?</article>', page, re.DOTALL
    )
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
    place = Path("shown.html").resolve()
    place.write_text(page, encoding="utf-8")
    photograph_address(place.as_uri(), out, width, height)


def photograph_address(address: str, out: Path, width: int, height: int, wait: int = 3) -> None:
    """Save what a window of a size shows of an address, some seconds after it has loaded."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SystemExit(f"no browser found (looked for {', '.join(BROWSERS)})")
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    options += [f"--user-data-dir={Path('profile').resolve()}", f"--window-size={width},{height}"]
    options += [f"--virtual-time-budget={1000 * wait}", f"--screenshot={out}"]
    subprocess.run([browser, *options, address], check=True, capture_output=True)
    size = out.stat().st_size
    print(f"{out}: {size:,} bytes")
    if size > LARGEST:
        raise SystemExit(f"{out} is larger than {LARGEST:,} bytes")


def photograph_demo(model: str, out: Path) -> None:
    """Save what the demo shows with a model when it opens."""
    app = ROOT / "examples" / "demo" / "app.py"
    server = subprocess.Popen([sys.executable, str(app), model, "--port", str(PORT)])
    try:
        address = f"http://127.0.0.1:{PORT}/"
        for _ in range(120):
            try:
                urlopen(address, timeout=5).close()
                break
            except OSError:
                time.sleep(1)
        photograph_address(address, out, 1200, 860, wait=15)
    finally:
        server.terminate()
        server.wait(30)


def main() -> int:
    """Draw the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "docs" / "images")
    parser.add_argument("--model", help="a model's folder, for a picture of the demo")
    options = parser.parse_args()
    folder = options.folder.resolve()
    model = options.model and str(Path(options.model).resolve())
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, chdir(place):
        photograph(make_world(), folder / "data_set.png", 1200, 1000)
        page = make_report("one-hop reader", "two-hop reader")
        photograph(page, folder / "report.png", 1200, 1010)
        page = make_report("one-hop reader")
        photograph(only_example(page), folder / "evidence.png", 1000, 1130)
        if model:
            photograph_demo(model, folder / "demo.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
