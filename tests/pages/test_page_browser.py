"""The report page in a real browser: by keyboard, at 400 pixels, in the dark, without a request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.browser import Browser
from tests.joint_files import gold, said, write
from tests.tiny_data import tiny_examples
from twowiki.cli.main import main
from twowiki.data.schema import to_official
from twowiki.io.files import sha256_of

VISIBLE = "Array.from(document.querySelectorAll('.example')).filter((one) => !one.hidden)"
LONG = "Averylongnamewithoutanyblankthatnolinecanhold" * 4


def spoil(examples: Any) -> dict[str, Any]:
    """Predictions with faults of every kind."""
    rng = Random(5)
    blocks: dict[str, Any] = {"answer": {}, "sp": {}, "evidence": {}}
    for number, example in enumerate(examples):
        if number % 11 == 10:
            continue
        triples = [list(triple) for triple in example.evidences]
        facts = [list(fact) for fact in example.supporting_facts]
        if number % 3 == 1:
            triples.pop(rng.randrange(len(triples)))
            triples.append([LONG, "place of birth of the grandfather", triples[0][0]])
        if number % 4 == 2:
            facts[0] = [example.context[-1].title, 0]
        blocks["answer"][example.id] = example.answer if number % 2 else LONG
        blocks["sp"][example.id] = facts
        blocks["evidence"][example.id] = triples * (9 if number == 7 else 1)
    return blocks


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("page")
    examples = list(tiny_examples(48, seed=3))
    write(folder / "gold.json", [to_official(example) for example in examples])
    write(folder / "said.json", spoil(examples))
    history = [{"step": n, "loss": 9 / n, "losses": {"span": 3 / n}} for n in range(1, 40)]
    history += [{"step": n, "metrics": {"joint_f1": n, "f1": 2 * n}} for n in (10, 20, 39)]
    write(folder / "run" / "report.json", {"history": history, "seed": 1, "command": LONG})
    digest = sha256_of(folder / "said.json")
    write(folder / "run" / "scores.json", {"files": {"predictions.json": digest}})
    files = [str(folder / name) for name in ("said.json", "gold.json", "report.html")]
    assert main(["report", *files, "--run", str(folder / "run"), "--resamples", "50"]) == 0
    return (folder / "report.html").as_uri()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    one = Browser(tmp_path_factory.mktemp("profile"))
    yield one
    one.close()


@pytest.fixture
def opened(browser: Browser, page: str) -> Browser:
    browser.console.clear()
    browser.requests.clear()
    browser.size(1200)
    browser.open(page)
    return browser


def count(browser: Browser) -> int:
    return int(browser.evaluate(f"{VISIBLE}.length"))


def choose(browser: Browser, field: str, letters: str) -> None:
    """Choose in a list by its first letters, as the keyboard does."""
    browser.tab_to(field)
    for letter in letters:
        common = {"key": letter, "text": letter, "unmodifiedText": letter}
        browser.send("Input.dispatchKeyEvent", type="keyDown", **common)
        browser.send("Input.dispatchKeyEvent", type="keyUp", key=letter)


def test_it_asks_for_nothing_and_complains_of_nothing(opened: Browser, page: str) -> None:
    opened.evaluate("document.querySelector('#unfold').click()")
    assert count(opened) == 48
    assert opened.requests == [page]
    assert opened.console == []


def test_what_a_file_holds_is_text(browser: Browser, tmp_path: Path) -> None:
    nasty = "<img src=x onerror=alert(1)></script><script>alert(2)</script><style>*{color:red}"
    facts, triples = [[nasty, 0]], [[nasty, nasty, nasty], [nasty, "\u202e", "\x00"]]
    record = gold(
        question=nasty, answer=nasty, context=[[nasty, [nasty]]], supporting_facts=facts,
        evidences=triples[:1],
    )  # fmt: skip
    write(tmp_path / "gold.json", [record])
    write(tmp_path / "said.json", said(nasty, facts, triples))
    files = [str(tmp_path / name) for name in ("said.json", "gold.json", "report.html")]
    assert main(["report", *files, "--title", nasty]) == 0
    browser.console.clear()
    browser.requests.clear()
    address = (tmp_path / "report.html").as_uri()
    browser.open(address)
    assert browser.evaluate("document.title") == nasty
    assert browser.evaluate("document.querySelector('.example h3').textContent") == nasty
    assert browser.evaluate("document.querySelectorAll('img, script, style').length") == 2
    assert (browser.requests, browser.console) == ([address], [])


def test_a_checker_finds_nothing(browser: Browser, page: str) -> None:
    browser.check(page)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [320, 400, 768, 1200])
def test_it_never_scrolls_sideways(browser: Browser, page: str, width: int, dark: bool) -> None:
    browser.size(width, dark=dark)
    browser.open(page)
    assert browser.overflow() == 0
    browser.evaluate("document.querySelector('#unfold').click()")
    browser.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    assert browser.overflow() == 0
    wide = browser.evaluate(
        "Array.from(document.querySelectorAll('main svg, main li, main p, main select'))"
        ".filter((one) => !one.closest('.scroll') && one.getBoundingClientRect().right > "
        "document.documentElement.clientWidth + 1).length"
    )
    assert wide == 0


def test_the_first_key_leads_past_the_tables(opened: Browser) -> None:
    opened.press("Tab")
    assert opened.focus() == "Skip to the examples"
    assert opened.evaluate("document.activeElement.getBoundingClientRect().left >= 0")
    opened.press("Enter")
    opened.until(lambda: opened.evaluate("location.hash") == "#examples")
    assert opened.focus() == "examples"


def test_filters_work_by_keyboard(opened: Browser) -> None:
    choose(opened, "type", "comp")
    kinds = opened.evaluate(f"{VISIBLE}.map((one) => one.dataset.type)")
    assert set(kinds) == {"comparison"}
    assert opened.evaluate("document.getElementById('count').textContent") == "12 of 48 examples"
    choose(opened, "outcome", "no p")
    outcomes = opened.evaluate(f"{VISIBLE}.map((one) => one.dataset.outcome)")
    assert set(outcomes) <= {"no_prediction"}
    opened.tab_to("reset")
    opened.press("Enter")
    assert count(opened) == 48


def test_words_are_looked_for(opened: Browser) -> None:
    word = str(opened.evaluate("document.querySelectorAll('.example h3')[5].textContent"))
    opened.tab_to("text")
    opened.type(word.lower())
    assert 1 <= count(opened) < 48
    assert opened.evaluate(f"{VISIBLE}.every((one) => one.textContent.includes({word!r}))")
    opened.type(" zzzz")
    assert count(opened) == 0
    assert "nothing fits" in opened.evaluate("document.getElementById('count').textContent")


def test_counts_lead_to_their_examples(opened: Browser) -> None:
    opened.tab_to("show 4 of: no prediction")
    opened.press("Space")
    assert count(opened) == 4
    assert opened.focus() == "count"
    assert set(opened.evaluate(f"{VISIBLE}.map((one) => one.dataset.outcome)")) == {"no_prediction"}


def test_examples_unfold_by_keyboard_and_the_focus_is_seen(opened: Browser) -> None:
    second = "document.querySelectorAll('.example > details')[1]"
    assert not opened.evaluate(f"{second}.open")
    title = str(opened.evaluate(f"{second}.querySelector('h3').textContent"))
    opened.tab_to(title, most=200)
    style = "getComputedStyle(document.activeElement)"
    assert opened.evaluate(f"{style}.outlineStyle") == "solid"
    assert float(opened.evaluate(f"parseFloat({style}.outlineWidth)")) >= 2
    opened.press("Enter")
    assert opened.evaluate(f"{second}.open")
    assert opened.evaluate(f"{second}.querySelectorAll('.chain').length") >= 1


def test_every_control_has_a_name_and_every_picture_says_what_it_shows(opened: Browser) -> None:
    nameless = (
        "Array.from(document.querySelectorAll('button, select, input, [tabindex=\"0\"]'))"
        ".filter((one) => !(one.textContent.trim() || one.getAttribute('aria-label') || "
        "(one.labels && one.labels.length))).length"
    )
    assert opened.evaluate(nameless) == 0
    assert opened.evaluate("document.querySelectorAll('[role=img]').length") == 2
    assert "loss" in opened.evaluate("document.querySelector('[role=img]').ariaLabel")


def test_texts_stand_out_from_their_ground(browser: Browser, page: str) -> None:
    """Contrast of at least 4.5 (WCAG AA) for what is written in colours, in both schemes."""
    script = """
    (() => {
      const paint = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
      const rgb = (colour) => {
        paint.clearRect(0, 0, 1, 1); paint.fillStyle = colour; paint.fillRect(0, 0, 1, 1);
        return Array.from(paint.getImageData(0, 0, 1, 1).data);
      };
      const light = (c) => c.slice(0, 3).map((v) => v / 255)
        .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
      const ground = (one) => {
        for (; one; one = one.parentElement) {
          const c = rgb(getComputedStyle(one).backgroundColor);
          if (c[3] === 255) return c;
        }
        return [255, 255, 255, 255];
      };
      const poor = [];
      for (const one of document.querySelectorAll(
        '.badge, .chip, .meaning, .interval, .lead, .note, .errors li, summary, label, th, mark, ' +
        '.chain .relation, .chain .name, dt')) {
        if (one.closest('[hidden]')) continue;
        const ink = rgb(getComputedStyle(one).color);
        const [a, b] = [light(ink), light(ground(one))].sort((x, y) => y - x);
        const ratio = (a + 0.05) / (b + 0.05);
        if (ratio < 4.5) poor.push(one.className + ' ' + one.textContent.slice(0, 20) + ratio);
      }
      return poor;
    })()
    """
    for dark in (False, True):
        browser.size(1200, dark=dark)
        browser.open(page)
        browser.evaluate("document.querySelector('#unfold').click()")
        assert browser.evaluate(script) == []
