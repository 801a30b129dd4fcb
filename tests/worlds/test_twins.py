"""Twins differ from their questions in one page or one fact; `score` counts pairs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from twowiki import score
from twowiki.cli.main import main
from twowiki.data.schema import Example, Fact, Paragraph, Triple
from twowiki.metric.consistency import consistency_of
from twowiki.worlds.twins import make_twins

PAGES = (
    Paragraph("Oru", ("Oru is a 1931 film by Ann Sund.",)),
    Paragraph("Ann Sund", ("Ann Sund is a director.", "She was born in Brin.")),
    Paragraph("Bo Holt", ("Bo Holt (1 May 1901 – 1950) was a poet.",)),
    Paragraph("Cy Vale", ("Cy Vale (2 June 1890 – 1960) was a poet.",)),
)
CHAIN = Example(
    "a", "Where was the director of film Oru born?", "compositional", PAGES[:3],
    (Fact("Oru", 0), Fact("Ann Sund", 1)),
    (Triple("Oru", "director", "Ann Sund"), Triple("Ann Sund", "place of birth", "Brin")),
    answer="Brin",
)  # fmt: skip
OTHER = CHAIN._replace(
    id="b", context=(Paragraph("X", ("X is a film by Y.",)), Paragraph("Y", ("Y is from Tal.",))),
    supporting_facts=(Fact("X", 0), Fact("Y", 0)),
    evidences=(Triple("X", "director", "Y"), Triple("Y", "place of birth", "Tal")), answer="Tal",
)  # fmt: skip
PAIR = Example(
    "c", "Who was born first, Bo Holt or Cy Vale?", "comparison", PAGES,
    (Fact("Bo Holt", 0), Fact("Cy Vale", 0)),
    (Triple("Bo Holt", "date of birth", "1 May 1901"),
     Triple("Cy Vale", "date of birth", "2 June 1890")),
    answer="Cy Vale",
)  # fmt: skip


def test_a_page_is_missing_or_a_fact_is_another() -> None:
    twins = {twin.id: twin for twin in make_twins([CHAIN, OTHER, PAIR], "1")}
    assert set(twins) == {f"{key}-{kind}" for key in "abc" for kind in ("unanswerable", "changed")}
    lacking = twins["a-unanswerable"]
    assert (lacking.answer, lacking.answerable) == ("unanswerable", False)
    assert "Ann Sund" not in [title for title, _ in lacking.context]
    assert len(lacking.context) == len(CHAIN.context)
    assert lacking.triples == CHAIN.triples[:1]
    assert lacking.facts == CHAIN.facts[:1]
    changed = twins["a-changed"]
    assert (changed.answer, changed.triples[1].object) == ("Tal", "Tal")
    assert dict(changed.context)["Ann Sund"][1] == "She was born in Tal."
    assert changed.question == CHAIN.question
    swapped = twins["c-changed"]
    assert swapped.answer == "Bo Holt"
    assert dict(swapped.context)["Bo Holt"] == ("Bo Holt (2 June 1890 – 1950) was a poet.",)
    assert [one.object for one in swapped.triples] == ["2 June 1890", "1 May 1901"]


def test_what_cannot_be_changed_has_no_twin() -> None:
    hidden = CHAIN._replace(evidences=(), supporting_facts=(), answer=None)
    assert list(make_twins([hidden], "1")) == []
    alone = [twin.id for twin in make_twins([CHAIN], "1")]
    assert alone == ["a-unanswerable"]  # no other place is known
    twice = PAIR._replace(context=(*PAGES[:2], PAGES[2]._replace(
        sentences=("Bo Holt, born 1 May 1901 (1 May 1901).",)), PAGES[3]))  # fmt: skip
    assert [twin.id for twin in make_twins([twice], "1")] == ["c-unanswerable"]


def _predictions(records: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "answer": {one["_id"]: one["answer"] for one in records},
        "sp": {one["_id"]: one["supporting_facts"] for one in records},
        "evidence": {one["_id"]: one["evidences"] for one in records},
    }


def test_a_file_of_twins_and_its_consistency(tmp_path: Path, capsys: Any) -> None:
    from twowiki.data.schema import to_official

    source, out = tmp_path / "dev.json", tmp_path / "twins.json"
    source.write_text(json.dumps([to_official(one) for one in (CHAIN, OTHER, PAIR)]), "utf-8")
    assert main(["twins", str(source), str(out), "--seed", "3"]) == 0
    assert "3 questions, 3 unanswerable and 3 changed twins" in capsys.readouterr().out
    records = json.loads(out.read_text("utf-8"))
    assert [one["_id"] for one in records[:3]] == ["a", "a-unanswerable", "a-changed"]
    assert records[1]["answerable"] is False
    assert "answerable" not in records[0]
    path = tmp_path / "predictions.json"
    predictions = _predictions(records)
    predictions["answer"]["a-changed"] = "Brin"  # by heart
    path.write_text(json.dumps(predictions), "utf-8")
    report = score(str(path), str(out))
    assert report.consistency["unanswerable"] == {
        "pairs": 3, "question": 100, "twin": 100, "both": 100,
    }  # fmt: skip
    assert round(report.consistency["changed"]["both"], 2) == 66.67
    assert main(["score", str(path), str(out)]) == 0
    assert "changed twins" in capsys.readouterr().out
    assert score(_predictions(records[:1]), records[:1]).consistency == {}
    assert consistency_of([]) == {}
