"""Pages of several systems, and what every report page offers: rows, permalinks, keys, sorting."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser import CONTRAST, VIEWS, Browser
from tests.joint_files import TRIPLES, several, write
from tests.pages.test_page_browser import spoil
from tests.pages.test_pages import findings_of, read
from tests.tiny_data import tiny_examples
from twowiki.cli.main import main
from twowiki.data.schema import to_official
from twowiki.metric.gold_sources import open_gold
from twowiki.metric.predictions import read_predictions
from twowiki.metric.score import ScoreRun, score
from twowiki.metric.settings import ScoreSettings
from twowiki.pages.collect import ReportFindings, collect_findings, system_names
from twowiki.pages.evidence import command_text, file_name
from twowiki.pages.page import render_page
from twowiki.pages.rows import RowPacker


def blocks_of(examples: Any, answer: str | None = None) -> dict[str, Any]:
    """Right predictions; of every third question another answer where one is given."""
    return {
        "answer": {one.id: answer if answer and number % 3 == 0 else one.answer
                   for number, one in enumerate(examples)},
        "sp": {one.id: [list(fact) for fact in one.supporting_facts] for one in examples},
        "evidence": {one.id: [list(triple) for triple in one.evidences] for one in examples},
    }  # fmt: skip


def compared(golds: Any, *systems: Any, most: int = 100) -> ReportFindings:
    settings = ScoreSettings(by_type=True, confidence=0.95, resamples=50, rounds=200)
    sets = [read_predictions(one) for one in systems]
    readers = open_gold(golds).in_step(len(sets))
    runs = [ScoreRun(one, gold, settings) for one, gold in zip(sets, readers, strict=True)]
    names = ["small", "large", "other"][: len(runs)]
    return collect_findings(*runs, most=most, seed=0, names=names)


def words_of(page: str) -> str:
    """A page's texts, those of one element apart from those of the next."""
    return " ".join(re.sub("<[^>]*>", " ", page).split())


def unpacked(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(text)))
    return found


def test_each_system_has_the_scores_that_it_has_alone() -> None:
    golds, first = several(12)
    second = {part: dict(values) for part, values in first.items()}
    second["answer"] |= {f"q{number}": "Brinmoor" for number in range(9)}
    findings = compared(golds, first, second, {**second, "sp": first["sp"]})
    same = {"confidence": 0.95, "resamples": 50, "rounds": 200, "by_type": True}
    for system, predictions in zip(findings.systems, (first, second), strict=False):
        assert system.report.to_dict() == score(predictions, golds, **same).to_dict()
    comparison = score(first, golds, compare_with=second, **same).comparison
    assert comparison is not None
    one = comparison.differences["joint_f1"]
    text = " ".join("".join(read(render_page(findings, title="t", seed=0)).text).split())
    assert "small − large" in text
    assert f"{one.difference:+.2f}" in text
    assert f"p {min(1, 3 * one.p):.4f}" in text, "adjusted for three pairs"
    assert "small, largeanswer6 0 4 show" in text


def test_slopes_lead_from_system_to_system() -> None:
    golds, half = several(12)
    right = {part: {f"q{number}": values["q0"] for number in range(12)}
             for part, values in half.items()}  # fmt: skip
    findings = compared(golds, half, right)
    page = render_page(findings, title="t", seed=0)
    text = words_of(page)
    first = findings.systems[0].report
    assert f"all {first.metrics['joint_f1']:.1f} → 100.0" in text
    assert f"bridge comparison {first.types['bridge_comparison'].metrics['joint_f1']:.1f} →" in text
    assert "sentences, hop 2 50.0 → 100.0" in text
    assert 'points="25.00,50.00 75.00,0.00"' in page, "half, then all, on a scale from 0 to 100"
    many = compared(golds, half, right, half)
    many = many._replace(systems=(*many.systems, *many.systems[:2]), shown=[])
    numbered = words_of(render_page(many, title="t", seed=0))
    assert "1: small; 2: large; 3: other; 4: small; 5: large" in numbered


def test_steps_and_twins_are_on_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    golds, predictions = several(6)
    golds.append({**golds[0], "_id": "q0-changed"})
    steps = {"answer": {f"q{number}#{step}": TRIPLES[step - 1][2] for number in range(4)
                        for step in (1, 2)}}  # fmt: skip
    steps["answer"]["q0#1"] = "Oru"
    steps |= {"sp": {}, "evidence": {}}
    values = {"g": golds, "p": predictions, "s": steps}
    gold, made, hops = (str(write(tmp_path / f"{name}.json", one)) for name, one in values.items())
    arguments = ["report", made, gold, str(tmp_path / "o.html"), "--sub-answers", hops]
    assert main(arguments) == 0
    text = words_of((tmp_path / "o.html").read_text("utf-8"))
    report = score(predictions, golds, sub_answers=steps, by_type=True)
    assert report.hops is not None
    for hop, one in report.hops.means():
        assert f"{hop} {one.n} {one.em:.2f} {one.f1:.2f}" in text
    (twin,) = report.consistency.values()
    assert f"changed 1 {twin['question']:.2f} {twin['twin']:.2f} {twin['both']:.2f}" in text
    assert "count as wrong: 6" in text
    assert main([*arguments, hops]) == 2
    assert "--sub-answers has 2 files for 1" in capsys.readouterr().err


def test_rows_hold_every_question_and_only_some_have_sentences() -> None:
    golds, predictions = several(30)
    findings = findings_of(golds, predictions, most=6)
    data = unpacked(findings.rows)
    assert [row[0] for row in data["rows"]] == [f"q{number}" for number in range(30)]
    row = data["rows"][1]
    assert row[1:4] == ["inference", "Where was the mother of Tavik Orrel born?", "Brinmoor"]
    answer, facts, triples, outcome, errors, scores, marks = row[6]
    assert (answer, facts, triples, outcome) == ("Oru", [["Tavik Orrel", 0]], [], "all_wrong")
    assert "no_triples" in errors
    assert dict(zip(data["metrics"], scores, strict=True))["sp_recall"] == 50
    assert marks == "10,1,00,"
    assert [one.row for one in findings.shown] == [int(one.gold.id[1:]) for one in findings.shown]


def test_very_many_rows_are_cut_and_examples_keep_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    golds, predictions = several(30)
    monkeypatch.setattr("twowiki.pages.collect.RowPacker", lambda: RowPacker(most=4))
    findings = findings_of(golds, predictions, most=6)
    rows = unpacked(findings.rows)["rows"]
    assert [rows[one.row][0] for one in findings.shown] == [one.gold.id for one in findings.shown]
    assert 4 < len(rows) == findings.packed < 11
    assert "the page has no row" in render_page(findings, title="t", seed=0)


def test_names_are_those_of_files_and_no_paths() -> None:
    assert system_names(["a/x.json", "b/y.json"]) == ["x.json", "y.json"]
    assert system_names(["/home/me/a/p.json", "/home/me/b/p.json"]) == ["a/p.json", "b/p.json"]
    assert system_names(["p.json", "p.json"]) == ["p.json (1)", "p.json (2)"]
    assert file_name("/home/me/data/") == "data"
    told = "twowiki report /home/me/p.json ../g.json runs/a.html --run=/tmp/x ~/y 'C:\\me\\z'"
    assert command_text(told) == "twowiki report p.json g.json runs/a.html --run=x y 'z'"


def test_a_page_names_no_folder_of_the_machine(tmp_path: Path) -> None:
    golds, predictions = several(4)
    gold, first = write(tmp_path / "g.json", golds), write(tmp_path / "p.json", predictions)
    assert main(["report", str(first), str(gold), str(tmp_path / "o.html")]) == 0
    assert str(tmp_path) not in (tmp_path / "o.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("names", [["one"], ["one", "one"]])
def test_names_fit_the_files(
    names: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    golds, predictions = several(4)
    files = [write(tmp_path / "p.json", predictions)] * 2 + [write(tmp_path / "g.json", golds)]
    arguments = [*map(str, files), str(tmp_path / "o.html"), "--names", *names]
    assert main(["report", *arguments]) == 2
    assert "--names has" in capsys.readouterr().err


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("systems")
    examples = list(tiny_examples(48, seed=3))
    files = [
        write(folder / "first.json", spoil(examples)),
        write(folder / "second.json", blocks_of(examples, answer="Oru")),
        write(folder / "third.json", blocks_of(examples)),
        write(folder / "gold.json", [to_official(example) for example in examples]),
    ]
    out = folder / "page.html"
    more = ["--resamples", "50", "--rounds", "100", "--examples", "12"]
    assert main(["report", *map(str, files), str(out), *more]) == 0
    return out.as_uri()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    one = Browser(tmp_path_factory.mktemp("profile"))
    yield one
    one.close()


def told(browser: Browser) -> str:
    return str(browser.evaluate("document.getElementById('count').textContent"))


def set_field(browser: Browser, field: str, value: str) -> None:
    browser.evaluate(
        f"(() => {{ const one = document.getElementById({field!r}); one.value = {value!r}; "
        "one.dispatchEvent(new Event('change')); })()"
    )


@pytest.mark.parametrize(("width", "dark"), VIEWS)
def test_it_fits(browser: Browser, page: str, width: int, dark: bool) -> None:
    browser.console.clear()
    browser.size(width, dark=dark)
    browser.open(f"{page}#scope=all")
    browser.evaluate("document.getElementById('unfold').click()")
    browser.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    assert browser.overflow() == 0
    wide = "document.querySelectorAll('.scroll.wide').length"
    browser.until(lambda: (browser.evaluate(wide) > 0) == (width == 400))  # a sign that it scrolls
    assert browser.evaluate("document.querySelectorAll('.chart polyline').length") == 9
    assert browser.console == []


@pytest.mark.parametrize(
    ("width", "dark", "more"),
    [
        *((width, dark, {}) for width, dark in VIEWS),
        (1400, False, CONTRAST),
    ],
)
def test_a_checker_finds_nothing(
    browser: Browser, page: str, width: int, dark: bool, more: dict[str, str]
) -> None:
    browser.size(width, dark=dark, **more)
    browser.open(f"{page}#scope=all&error=on_the_way")
    for kind in ("", "not"):
        first = f".example:{kind or 'is'}(:has(.paragraph)) > details"
        browser.evaluate(f"document.querySelector('{first}').open = true")
    assert browser.violations() == []


def test_the_head_of_a_row_stays_in_a_narrow_window(browser: Browser, page: str) -> None:
    browser.size(400)
    browser.open(page)
    browser.until(lambda: browser.evaluate("!!document.querySelector('.scroll.wide')"))
    left = browser.evaluate(
        "(() => { const frame = document.querySelector('.scroll.wide'); frame.scrollLeft = 200;"
        "return frame.querySelector('tbody th').getBoundingClientRect().left - "
        "frame.getBoundingClientRect().left })()"
    )
    assert abs(left) < 2
    assert browser.evaluate("document.querySelector('thead th:nth-child(2)').textContent") == (
        "joint F1"
    )


def test_what_changed_side_is_listed(browser: Browser, page: str) -> None:
    browser.size(1400)
    browser.open(page)
    assert told(browser) == "12 of 12 examples"
    browser.evaluate(
        "Array.from(document.querySelectorAll('button[data-field=change]')).find((one) => "
        "one.textContent.includes('the answer right in third.json, not in second.json')).click()"
    )
    assert told(browser) == "16 of 48 questions"
    assert browser.focus() == "count"
    assert browser.evaluate("location.hash") == "#scope=all&change=a2-1"


def test_filters_have_an_address(browser: Browser, page: str) -> None:
    browser.open(page)
    set_field(browser, "scope", "all")
    set_field(browser, "type", "comparison")
    set_field(browser, "system", "2")
    set_field(browser, "outcome", "all_right")
    before = told(browser)
    assert before == "12 of 48 questions"
    address = browser.evaluate("location.href")
    assert address.endswith("#scope=all&type=comparison&system=2&outcome=all_right")
    browser.open(address)
    assert told(browser) == before
    browser.evaluate("document.getElementById('reset').click()")
    assert browser.evaluate("location.hash") == ""


def test_every_question_has_an_address(browser: Browser, page: str) -> None:
    browser.open(f"{page}#scope=all")
    number = browser.evaluate(
        "Number(Array.from(document.querySelectorAll('.example')).find((one) => "
        "one.querySelector('details').childElementCount === 1).dataset.row)"
    )
    one = f"document.querySelector('.example[data-row=\"{number}\"]')"
    browser.evaluate(f"{one}.querySelector('details').open = true")
    browser.until(lambda: browser.evaluate(f"!!{one}.querySelector('dl a')"))
    assert "not of this one" in browser.evaluate(f"{one}.textContent")
    link = browser.evaluate(f"{one}.querySelector('dl a').href")
    browser.open(link)
    assert browser.evaluate(f"{one}.querySelector('details').open")
    assert browser.evaluate(f"{one}.contains(document.activeElement)")


def test_scores_sort_and_keys_lead_on(browser: Browser, page: str) -> None:
    browser.open(page)
    set_field(browser, "scope", "all")
    set_field(browser, "sort", "joint_f1")
    browser.evaluate("document.activeElement.blur()")
    scores = []
    for key in ("n", "n", "n", "p"):
        browser.send("Input.dispatchKeyEvent", type="keyDown", key=key, text=key)
        browser.send("Input.dispatchKeyEvent", type="keyUp", key=key)
        opened = "document.activeElement.closest('.example')"
        assert browser.evaluate(f"{opened}.querySelector('details').open")
        assert browser.evaluate("document.querySelectorAll('.example > details[open]').length") < 3
        scores.append(
            browser.evaluate(f"Array.from({opened}.parentElement.children).indexOf({opened})")
        )
    assert scores == [0, 1, 2, 1]
    assert "question=" in browser.evaluate("location.hash")


def test_rows_are_downloaded_as_json_lines(browser: Browser, page: str, tmp_path: Path) -> None:
    browser.open(f"{page}#scope=all&type=inference")
    browser.evaluate("URL.createObjectURL = (blob) => { window.saved = blob; return '#' }; 0")
    browser.evaluate("document.getElementById('download').click()")
    lines = str(browser.evaluate("window.saved.text()")).splitlines()
    rows = [json.loads(line) for line in lines]
    assert len(rows) == 12
    assert {row["type"] for row in rows} == {"inference"}
    third = rows[0]["predictions"][2]
    assert (third["system"], third["outcome"], third["scores"]["joint_f1"]) == (
        *("third.json", "all_right"), 100,
    )  # fmt: skip


def test_it_prints_without_cutting(browser: Browser, page: str) -> None:
    assert browser.check_print(page).count(b"/Type /Page\n") > 3
