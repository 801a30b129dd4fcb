"""The scores of rankings as one HTML page that needs nothing else.

In: the report of rankings, the rankings, and the questions with their gold. Out: the page: scores
with intervals, by question type and by hop, and sample questions with the place of each gold page,
as many with all pages found as with some and with none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from twowiki.data.schema import Example
from twowiki.metric.blame import Ranked
from twowiki.metric.results import UNTYPED
from twowiki.models.text import fold
from twowiki.pages.collect import EvenSample
from twowiki.pages.layout import render_layout
from twowiki.pages.systems import Scale
from twowiki.retrieval.rankings import titles_of
from twowiki.retrieval.report import RetrievalReport, pages_by_hop

BANDS = ("all pages found", "some pages found", "no page found")


def draw_cases(
    ranked: Ranked, examples: Iterable[Example], *, k: int, most: int, seed: int
) -> list[dict[str, Any]]:
    """Return sample questions, with the place of each gold page in the ranking.

    Args:
        ranked: question id to a ranking, or to titles, best first.
        examples: the questions with gold.
        k: a page counts as found among the first so many.
        most: largest number of questions.
        seed: of their draw.
    """
    titles = titles_of(ranked)
    sample: EvenSample[tuple[str, dict[str, Any]]] = EvenSample(most, seed)
    counts = dict.fromkeys(BANDS, 0)
    for example in examples:
        case = _case(example, titles.get(example.id, ()))
        if not case["pages"]:
            continue
        hits = [page["place"] is not None and page["place"] <= k for page in case["pages"]]
        band = BANDS[0 if all(hits) else 1 if any(hits) else 2]
        counts[band] += 1
        sample.add(band, example.id, (band, case))
    found = sample.items()
    return [
        {"name": band, "count": counts[band], "cases": [one for name, one in found if name == band]}
        for band in BANDS
    ]


def _case(example: Example, ranking: Sequence[str]) -> dict[str, Any]:
    places: dict[str, int] = {}
    for place, title in enumerate(ranking, 1):
        places.setdefault(fold(title), place)
    return {
        "id": example.id,
        "type": example.type or UNTYPED,
        "question": example.question,
        "pages": [
            {"title": title, "hop": hop, "place": places.get(fold(title))}
            for hop, pages in pages_by_hop(example).items()
            for title in pages
        ],
        "first": list(ranking[:5]),
    }


def render_retrieval_page(
    report: RetrievalReport,
    cases: Sequence[Mapping[str, Any]] = (),
    *,
    title: str,
    k: int,
    seed: int = 0,
    command: str | None = None,
) -> str:
    """Return the page.

    Args:
        report: the scores.
        cases: what `draw_cases` returned; none where the gold is a table of judgments.
        title: the page's title.
        k: the cutoff of the sample questions.
        seed: of their draw.
        command: the command line that made it, for the page to name.
    """
    ends = report.summary.intervals or {}
    scale = Scale(0.0, 100.0)
    return render_layout(
        "retrieval.html",
        title=title,
        command=command,
        report=report,
        rows=[
            (name, mean, ends.get(name), scale.place(mean, ends.get(name)))
            for name, mean in report.summary.metrics.items()
        ],
        bands=[band for band in cases if band["cases"]],
        k=k,
        seed=seed,
    )
