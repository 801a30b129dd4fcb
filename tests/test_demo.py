"""The demo page: through its client, and in a browser; offline, with a model from a folder."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.browser import CONTRAST, VIEWS, Browser
from tests.joint_files import write_lines
from tests.small_model import examples, model_and_windows, setting
from tests.text2text.test_answering import trained
from twowiki.cli.main import main
from twowiki.data.schema import Paragraph
from twowiki.errors import DataError
from twowiki.pages.answer import (
    read_paragraphs,
    render_answer,
    render_answer_graph,
    render_message,
    render_paragraphs,
    render_science_answer,
    triple_rows,
)
from twowiki.pages.limits import LimitedBody

APP = Path(__file__).parent.parent / "examples" / "demo" / "app.py"
OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "OMP_NUM_THREADS": "1"}
PREDICTION = {
    "answer": "Brin<moor",
    "answer_type": "span",
    "sp": [("Dessa Orrel", 1)],
    "sentences": [{"title": "Dessa Orrel", "sent_id": 1, "score": 0.93}],
    "triples": [
        {"subject": "Dessa", "relation": "place of birth", "object": "Brin<moor", "score": 0.875}
    ],
}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_paragraphs_are_read_as_people_write_them(end: str) -> None:
    text = end.join(
        ["", "Tavik Orrel (runner)", "Tavik was a runner. He died", " in 1944.", "", " ", "Oru",
         "A town.", ""]
    )  # fmt: skip
    assert read_paragraphs(text) == [
        Paragraph("Tavik Orrel (runner)", ("Tavik was a runner.", " He died in 1944.")),
        Paragraph("Oru", ("A town.",)),
    ]


def test_paragraphs_of_a_record_may_be_pasted() -> None:
    context = [["Oru", ["A town.", " It is old."]]]
    for value in (context, {"context": context, "question": "?"}):
        assert read_paragraphs(json.dumps(value)) == [Paragraph("Oru", ("A town.", " It is old."))]
    example = examples()[0]
    again = read_paragraphs(render_paragraphs(example.context))
    assert [one.title for one in again] == [one.title for one in example.context]
    assert ["".join(one.sentences).split() for one in again] == [
        " ".join(one.sentences).split() for one in example.context
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no paragraphs"),
        ("\n \n", "no paragraphs"),
        ("Title alone", "no text below"),
        ("[1, 2", "but are not"),
        ("[]", "no paragraphs"),
        ("[[1, 2]]", "not a title"),
    ],
)
def test_what_is_no_paragraph_is_said(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_paragraphs(text)


def test_answers_are_shown_escaped() -> None:
    paragraphs = [
        Paragraph("Dessa Orrel", ("A painter.", " Born in Brin<moor.")),
        Paragraph("x", ("y",)),
    ]
    shown = render_answer(paragraphs, PREDICTION)
    assert "Brin&lt;moor" in shown
    assert "<moor" not in shown
    assert 'class="sentence found"' in shown
    assert "0.93" in shown
    assert "1 other paragraph" in shown
    graph = render_answer_graph(PREDICTION)
    assert 'place of birth <span class="score">0.88</span>' in graph
    assert "Brin&lt;moor" in graph
    assert triple_rows(PREDICTION) == [["Dessa", "place of birth", "Brin<moor", 0.875]]
    nothing = {**PREDICTION, "answer": "", "sp": [], "triples": [], "sentences": []}
    assert "No sentence was found" in render_answer(paragraphs, nothing)
    assert "score 0.71" in render_answer(paragraphs, {**PREDICTION, "answer_score": 0.714})
    assert "&lt;b&gt;" in render_message("<b>")
    science = render_science_answer({"answer": "<i>", "sentences": ["A cell is <small>."]})
    assert "&lt;i&gt;" in science
    assert "1 sentence that" in science
    assert "no triples" in render_answer_graph(nothing)


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "TWOWIKI_MODEL"}
    return {**kept, **OFFLINE, **more}


@pytest.mark.slow
def test_without_a_model_it_says_what_to_do(tmp_path: Path) -> None:
    pytest.importorskip("gradio")
    code = (
        "import os, runpy, sys\n"
        f"app = runpy.run_path({str(APP)!r})\n"
        "sys.argv = ['app.py']\n"
        "print(app['main']())\n"
        f"os.environ['TWOWIKI_MODEL'] = {str(tmp_path)!r}\n"
        "print(app['main']())\n"
        "for ask in (app['answer_from_corpus'], app['answer_science']):\n"
        "    message = app['with_message'](lambda text: ask(app['Parts'](), text))('What?')\n"
        "    print('--index' in message, '--arc-da' in message)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=400,
        check=True,
    )
    assert ran.stdout.split() == ["2", "2", "True", "False", "False", "True"]
    none, other = ran.stderr.strip().splitlines()[-2:]
    assert "TWOWIKI_MODEL" in none
    assert "make demo" in none
    assert "holds no saved model" in other


ASKED = examples()[4]
TEXT = render_paragraphs(ASKED.context)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the running demo."""
    pytest.importorskip("gradio")
    folder = tmp_path_factory.mktemp("demo")
    model, _ = model_and_windows(setting())
    model.save_pretrained(folder / "model")
    assert model.answer_tokenizer is not None
    model.answer_tokenizer.save_pretrained(folder / "model")
    corpus = [{"id": str(number), "title": one.title, "text": " ".join(one.sentences)}
              for number, one in enumerate(ASKED.context)]  # fmt: skip
    write_lines(folder / "corpus.jsonl", corpus)
    assert main(["index", str(folder / "corpus.jsonl"), str(folder / "index")]) == 0
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(
            [sys.executable, str(APP), "--port", str(port)],
            env=environment(
                TWOWIKI_MODEL=str(folder / "model"),
                TWOWIKI_INDEX=str(folder / "index"),
                TWOWIKI_ARC_DA=str(trained(folder / "science")),
            ),
            stdout=log,
            stderr=log,
            cwd=folder,
        )
        try:
            address = f"http://127.0.0.1:{port}/"
            for _ in range(1500):
                assert process.poll() is None, (folder / "log").read_text()
                try:
                    urlopen(address, timeout=5).close()
                    break
                except OSError:
                    time.sleep(0.2)
            yield address
        finally:
            process.terminate()
            process.wait(30)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_client_gets_answer_sentences_graph_and_triples(served: str) -> None:
    from gradio_client import Client

    client = Client(served, verbose=False)
    sentences, graph, table, raw = client.predict(ASKED.question, TEXT, api_name="/answer")
    prediction = json.loads(raw)
    assert {"answer", "sp", "evidence", "sentences"} <= set(prediction)
    assert ASKED.context[0].title in sentences
    assert "chain" in graph or "no triples" in graph
    assert table["headers"] == ["subject", "relation", "object", "score"]
    assert len(table["data"]) == len(prediction["triples"])
    again = client.predict(ASKED.question, TEXT, api_name="/answer")
    assert again[3] == raw


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("question", "paragraphs", "message"),
    [("", TEXT, "question is empty"), ("Who?", "", "no paragraphs"), ("Who?", "Oru", "no text")],
)
def test_bad_questions_are_told_in_words(
    served: str, question: str, paragraphs: str, message: str
) -> None:
    from gradio_client import Client
    from gradio_client.exceptions import AppError

    client = Client(served, verbose=False)
    with pytest.raises(AppError, match=message):
        client.predict(question, paragraphs, api_name="/answer")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("question", "paragraphs", "size"),
    [
        ("Who?", "Oru\n" + "a town. " * 100_000, "800,008 characters"),
        ("Who? " * 10_001, TEXT, "characters"),
        ("Who? " * 5_000, "Oru\n" + "a town. " * 3_200, "50,604 characters"),
        ("Who?", "\n\n".join(f"O{n}\nA town." for n in range(101)), "101 paragraphs"),
        ("Who?", json.dumps([[f"O{n}", ["A."]] for n in range(2_000)]), "2,000 paragraphs"),
    ],
    ids=["paragraphs", "question", "together", "number", "json"],
)
def test_too_much_text_is_refused_in_one_message(
    served: str, question: str, paragraphs: str, size: str
) -> None:
    from gradio_client import Client
    from gradio_client.exceptions import AppError

    client = Client(served, verbose=False)
    started = time.monotonic()
    with pytest.raises(AppError, match=f"too much text for the page .*{size}.*Shorten it"):
        client.predict(question, paragraphs, api_name="/answer")
    assert time.monotonic() - started < 20


@pytest.mark.slow
def test_nothing_can_be_uploaded(served: str) -> None:
    import httpx

    files = {"files": ("a.txt", b"x" * 1_000_000)}
    answer = httpx.post(f"{served}gradio_api/upload", files=files, timeout=60)
    assert answer.status_code == 413


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folder", "function", "fields"),
    [
        ("arc_da", "score", ["a " * 3_000, "b\n" * 2_500]),
        ("twowiki_joint", "read_output", ["a" * 10_001]),
        ("twowiki_joint", "compute", ["a" * 2_000] * 7 + ["1.1", "official"]),
    ],
)
def test_the_pages_of_the_metrics_take_as_much_text_as_they_can_score(
    folder: str, function: str, fields: list[str]
) -> None:
    pytest.importorskip("gradio")
    page = APP.parents[2] / "metrics" / folder / "app.py"
    code = (
        "import json, runpy, sys, gradio\n"
        f"page = runpy.run_path({str(page)!r})\n"
        "try:\n"
        f"    page[{function!r}](*json.load(sys.stdin))\n"
        "except gradio.Error as error:\n"
        "    print(error)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(fields),
        env=environment(),
        capture_output=True,
        text=True,
        timeout=400,
        check=True,
    )
    assert "too much text for the page" in ran.stdout
    assert len(ran.stdout.splitlines()) == 1


@pytest.mark.parametrize("app", ["examples/demo", "metrics/arc_da", "metrics/twowiki_joint"])
def test_every_page_has_a_short_queue_and_no_uploads(app: str) -> None:
    code = (APP.parents[2] / app / "app.py").read_text(encoding="utf-8")
    assert ".queue(max_size=WAITING).launch(" in code
    assert "max_file_size=UPLOAD_BYTES" in code


@pytest.mark.parametrize(("told", "sent", "status"), [(10, 10, 200), (11, 11, 413), (None, 11, 0)])
def test_a_long_request_is_not_read(told: int | None, sent: int, status: int) -> None:
    answers: list[int] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if (await receive())["type"] == "http.request":
            await send({"type": "http.response.start", "status": 200})

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"x" * sent}

    async def send(message: Any) -> None:
        answers.append(message.get("status", 0))

    headers = [] if told is None else [(b"content-length", str(told).encode())]
    limited = LimitedBody(app, most_bytes=10)
    asyncio.run(limited({"type": "http", "headers": headers}, receive, send))
    assert answers[:1] == ([status] if status else [])
    assert "LimitedBody, most_bytes=REQUEST_BYTES" in APP.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    one = Browser(tmp_path_factory.mktemp("profile"))
    yield one
    one.close()


def pane(browser: Browser, name: str = "sentences") -> str:
    """What a pane shows."""
    return str(browser.evaluate(f"document.querySelector('#{name}')?.innerText || ''"))


def open_demo(
    browser: Browser, served: str, width: int, *, dark: bool = False, **more: str
) -> None:
    browser.console.clear()
    browser.requests.clear()
    browser.size(width, dark=dark, **more)
    browser.go(served)
    browser.until(lambda: browser.evaluate("!!document.querySelector('#question textarea')"))


def write_into(browser: Browser, field: str, text: str) -> None:
    """Replace what a field holds."""
    browser.evaluate(
        f"(() => {{ const one = document.querySelector('#{field} textarea'); one.focus(); "
        "one.select(); })()"
    )
    if text:
        browser.type(text)
    else:
        browser.evaluate("document.execCommand('delete')")


def open_tab(browser: Browser, name: str) -> None:
    browser.evaluate(
        "Array.from(document.querySelectorAll('button[role=tab]')).find((one) => "
        f"one.textContent.includes({name!r})).click()"
    )


@pytest.mark.slow
def test_it_opens_with_an_example_answered(browser: Browser, served: str) -> None:
    open_demo(browser, served, 1400)
    browser.until(lambda: "score" in pane(browser))
    first = browser.evaluate("document.querySelector('#question textarea').value")
    assert first == browser.evaluate("document.querySelector('#example-0').innerText")
    assert browser.evaluate("document.querySelectorAll('#sentences .paragraph').length") > 0
    labels = browser.evaluate(
        "Array.from(document.querySelectorAll('label > span')).map((one) => one.textContent.trim())"
    )
    assert {"Question", "Paragraphs"} <= set(labels)


@pytest.mark.slow
def test_a_question_is_asked_by_keyboard_alone(browser: Browser, served: str) -> None:
    open_demo(browser, served, 1400)
    in_question = "!!document.activeElement.closest('#question')"
    for _ in range(30):
        browser.press("Tab")
        if browser.evaluate(in_question):
            break
    assert browser.evaluate(in_question)
    write_into(browser, "question", ASKED.question)
    browser.press("Tab")
    assert browser.evaluate("!!document.activeElement.closest('#paragraphs')")
    write_into(browser, "paragraphs", TEXT)
    browser.tab_to("answer", most=5)
    assert browser.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    browser.press("Enter")
    browser.until(lambda: ASKED.context[0].title in pane(browser))
    assert [text for text in browser.console if "Uncaught" in text or "Error" in text] == []
    host = served.split("/")[2]
    strangers = [url for url in browser.requests if f"//{host}/" not in url and "://" in url]
    assert [url for url in strangers if not url.startswith(("data:", "blob:"))] == []


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_fits_a_telephone_and_an_example_asks(browser: Browser, served: str, dark: bool) -> None:
    open_demo(browser, served, 400, dark=dark)
    assert browser.overflow() == 0
    before = pane(browser)
    browser.tab_to("example-2", most=40)
    browser.press("Enter")
    browser.until(lambda: pane(browser) not in (before, ""))
    assert "score" in pane(browser)
    assert browser.overflow() == 0
    browser.until(lambda: browser.violations() == [], seconds=20)  # once it has stopped fading


@pytest.mark.slow
def test_wrong_input_has_one_message(browser: Browser, served: str) -> None:
    open_demo(browser, served, 1400)
    write_into(browser, "paragraphs", "Title alone")
    browser.evaluate("document.querySelector('#answer').click()")
    browser.until(lambda: "no text below" in pane(browser))
    assert browser.evaluate("document.querySelectorAll('[role=alert]').length") == 1
    assert pane(browser, "graph").strip() == ""
    assert "Error" not in browser.evaluate("document.body.innerText")


def asked(browser: Browser, button: str, name: str, wanted: str) -> None:
    """Click a button, wait for the answer in a pane, and check how the page looks then."""
    browser.until(lambda: browser.evaluate(f"!!document.querySelector('#{button}')"))
    browser.evaluate(f"document.querySelector('#{button}').click()")
    browser.until(lambda: wanted in pane(browser, name))
    assert browser.overflow() == 0
    browser.until(lambda: browser.violations() == [], seconds=20)  # once it has stopped fading


@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "dark", "more"), [*((*view, {}) for view in VIEWS), (1400, False, CONTRAST)]
)
def test_every_tab_answers_and_fits(
    browser: Browser, served: str, width: int, dark: bool, more: dict[str, str]
) -> None:
    open_demo(browser, served, width, dark=dark, **more)
    title = "A town pasted here"  # a context as JSON, of which the example's pane knows nothing
    context = [[title, ["It is a town."]], *(map(list, ASKED.context))]
    write_into(browser, "question", ASKED.question)
    write_into(browser, "paragraphs", json.dumps(context))
    asked(browser, "answer", "sentences", title)
    open_tab(browser, "Corpus")
    browser.until(lambda: browser.evaluate("!!document.querySelector('#corpus-question textarea')"))
    write_into(browser, "corpus-question", ASKED.question)
    asked(browser, "corpus-answer", "corpus-sentences", "score")
    assert browser.evaluate("document.querySelectorAll('#corpus-sentences .paragraph').length") > 0
    open_tab(browser, "Science")
    browser.until(
        lambda: browser.evaluate("!!document.querySelector('#science-question textarea')")
    )
    write_into(browser, "science-question", "")
    asked(browser, "science-answer", "science", "not empty")
    write_into(browser, "science-question", "What melts ice?")
    asked(browser, "science-answer", "science", "Answered without any sentences")
    assert [text for text in browser.console if "Uncaught" in text or "Error" in text] == []
