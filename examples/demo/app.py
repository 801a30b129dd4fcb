"""A page to ask a model: question and paragraphs in; answer, sentences and evidence graph out.

    python app.py runs/tiny/best      # or set TWOWIKI_MODEL to a folder or a hub repository
    python app.py runs/tiny/best --index INDEX --arc-da ARC_DA_MODEL

With an index of paragraphs (`twowiki index`) a question needs no paragraphs; with a model that was
trained on ARC-DA it answers science questions. It needs no network: models are in folders, fonts
are the system's, and nothing is reported.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

import gradio as gr
from starlette.middleware import Middleware

from twowiki import DataError
from twowiki.pages.answer import (
    PARAGRAPH_FORMAT,
    TRIPLE_COLUMNS,
    read_paragraphs,
    render_answer,
    render_answer_graph,
    render_message,
    render_paragraphs,
    render_science_answer,
    triple_rows,
)
from twowiki.pages.evidence import evidence_style
from twowiki.pages.limits import LimitedBody

HERE = Path(__file__).parent
# what one question may hold, in all its fields together, so that no visitor stops the page
MOST_CHARACTERS = 50_000
MOST_PARAGRAPHS = 100
WAITING = 20  # questions in the queue; those after them are asked to come back
UPLOAD_BYTES = 1  # the page has no upload
REQUEST_BYTES = 1_000_000  # of a request, with every letter escaped
TITLE = "Multi-hop questions with their evidence"
INTRODUCTION = (
    f"# {TITLE}\nAsk about several paragraphs. The model gives the answer, the sentences that it "
    "rests on, and the chain of facts (subject, relation, object) that leads to it."
)
NO_INDEX = (
    "There is no corpus yet. Index one with `twowiki index CORPUS INDEX`, and name it: "
    "`python app.py MODEL --index INDEX`, or in the environment variable `TWOWIKI_INDEX`."
)
NO_SCIENCE = (
    "There is no model of science questions yet. Train one (`accelerate launch -m twowiki.train "
    "--config arc_da_t5`), and name it: `python app.py MODEL --arc-da FOLDER`, or in the "
    "environment variable `TWOWIKI_ARC_DA`."
)
RETRIEVED = 10  # paragraphs of a corpus that a question is asked with
SCIENCE_EXAMPLES = (
    "Which gas do plants take in from the air?",
    "What do bees carry from flower to flower?",
)
NO_MODEL = (
    "There is no model yet. Name its folder: `python app.py FOLDER`, or set the environment "
    "variable `TWOWIKI_MODEL` to a folder or a repository of the hub (in a Space: under Settings, "
    "Variables), or put the folder here as `model`. `make demo` trains a small one into "
    "`runs/tiny/best`."
)
STYLE = """
.twowiki { color-scheme: light; color: var(--ink); }
.dark .twowiki { color-scheme: dark; }
.twowiki .answer { font-size: 1.35rem; font-weight: 650; margin: .2rem 0 .6rem; }
.twowiki ol { list-style: decimal; }
.gradio-container { overflow-wrap: anywhere; }
.gradio-container button[role=tab].selected { color: #1d4ed8; }
.dark .gradio-container button[role=tab].selected,
.gradio-container.dark button[role=tab].selected { color: #93c5fd; }
:focus-visible { outline: 3px solid #0b5cad !important; outline-offset: 2px; }
.dark :focus-visible { outline-color: #79b8ff !important; }
"""


def find_model(given: str | None) -> str | None:
    """Return where the model is: the argument, the variable, or the folder beside this file."""
    place = given or os.environ.get("TWOWIKI_MODEL")
    return place or (str(HERE / "model") if (HERE / "model").is_dir() else None)


def check_size(characters: int, paragraphs: int = 0) -> None:
    """Raise for more text than the page answers in a few seconds."""
    if characters > MOST_CHARACTERS or paragraphs > MOST_PARAGRAPHS:
        size = f"{paragraphs:,} paragraphs" if paragraphs else f"{characters:,} characters"
        raise DataError(
            f"this is too much text for the page ({size}); it takes {MOST_CHARACTERS:,} "
            f"characters and {MOST_PARAGRAPHS} paragraphs at once",
            remedy="Shorten it, or run the model on your machine",
        )


class Parts(NamedTuple):
    """What the page asks; None where there is none.

    Attributes:
        model: answers questions about paragraphs.
        notice: what to show without it.
        index: of paragraphs, to retrieve from.
        science: answers science questions.
    """

    model: Any = None
    notice: str = ""
    index: Any = None
    science: Any = None


Answer = tuple[str, str, list[list[Any]], str]


def answer_about(parts: Parts, question: str, context: Any) -> Answer:
    """Answer one question about paragraphs."""
    prediction = parts.model.predict(question, context)
    return (
        render_answer(context, prediction),
        render_answer_graph(prediction),
        triple_rows(prediction),
        json.dumps(prediction, ensure_ascii=False, indent=1),
    )


def answer_paragraphs(parts: Parts, question: str, paragraphs: str) -> Answer:
    """Answer one question about paragraphs that a person wrote."""
    if parts.model is None:
        raise DataError(parts.notice.replace("`", ""))
    question, paragraphs = question or "", paragraphs or ""
    characters = len(question) + len(paragraphs)
    check_size(characters)
    context = read_paragraphs(paragraphs)
    check_size(characters, len(context))
    return answer_about(parts, question, context)


def answer_from_corpus(parts: Parts, question: str) -> Answer:
    """Retrieve paragraphs in two hops, then answer one question about them."""
    if parts.model is None or parts.index is None:
        raise DataError((parts.notice or NO_INDEX).replace("`", ""))
    question = question or ""
    check_size(len(question))
    if not question.strip():
        raise DataError("the question is empty")
    from twowiki.retrieval.iterative import retrieve_by_hops

    (ranking,) = retrieve_by_hops(parts.index, [question], k=RETRIEVED, hops=2)
    if not ranking.hits:
        raise DataError("no paragraph of the corpus shares a word with the question")
    found = "\n\n".join(f"{hit.entry.title}\n{hit.entry.text}" for hit in ranking.hits)
    return answer_about(parts, question, read_paragraphs(found))


def answer_science(parts: Parts, question: str) -> str:
    """Answer one science question; return HTML."""
    if parts.science is None:
        raise DataError(NO_SCIENCE.replace("`", ""))
    question = question or ""
    check_size(len(question))
    return render_science_answer(parts.science.predict(question))


def with_message(work: Callable[..., Any], others: tuple[Any, ...] = ()) -> Callable[..., Any]:
    """Return a function that shows what is wrong with the input as one message in the first pane.

    Args:
        work: answers, or raises.
        others: what the other panes show then.
    """

    def in_panes(*values: str) -> Any:
        try:
            return work(*values)
        except (DataError, ValueError) as error:
            message = render_message(str(error))
            return (message, *others) if others else message

    return in_panes


def with_errors(work: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function for programs, which get what is wrong as an error."""

    def answer(question: str, paragraphs: str) -> Answer:
        try:
            return work(question, paragraphs)
        except (DataError, ValueError) as error:
            raise gr.Error(str(error), duration=None, print_exception=False) from None

    return answer


NOTHING = ("", [], "")


def make_demo(parts: Parts) -> gr.Blocks:
    """Build the page; it opens with the first example, answered.

    Args:
        parts: what the page asks.
    """
    examples = [
        (example["question"], render_paragraphs(example["context"]))
        for example in json.loads((HERE / "examples.json").read_text(encoding="utf-8"))
    ]
    with gr.Blocks(title=TITLE, analytics_enabled=False) as demo:
        gr.Markdown(INTRODUCTION)
        if parts.notice:
            gr.Markdown(f"**{parts.notice}**", elem_id="notice")
        with gr.Tab("Paragraphs"):
            make_paragraph_tab(parts, examples)
        with gr.Tab("Corpus"):
            make_corpus_tab(parts, [question for question, _ in examples])
        with gr.Tab("Science"):
            make_science_tab(parts)
    return demo


def make_panes(shown: Answer, prefix: str = "") -> list[Any]:
    """Build the panes of an answer."""
    gr.Markdown("## Answer and supporting sentences")
    sentences = gr.HTML(shown[0], elem_id=f"{prefix}sentences", padding=False)
    gr.Markdown("## Evidence")
    graph = gr.HTML(shown[1], elem_id=f"{prefix}graph", padding=False)
    with gr.Accordion("Triples with their scores", open=False):
        table = gr.Dataframe(
            shown[2] or None,
            headers=list(TRIPLE_COLUMNS),
            label="Triples",
            interactive=False,
            wrap=True,
            column_widths=["32%", "24%", "30%", "14%"],
        )
    with gr.Accordion("The whole prediction as JSON", open=False):
        raw = gr.Code(shown[3], language="json", label="Prediction", interactive=False)
    return [sentences, graph, table, raw]


def make_paragraph_tab(parts: Parts, examples: list[tuple[str, str]]) -> None:
    """Build the tab where a person writes question and paragraphs."""
    work = partial(answer_paragraphs, parts)
    ask = with_message(work, NOTHING)
    with gr.Row():
        with gr.Column(min_width=280):
            question = gr.Textbox(examples[0][0], label="Question", lines=2, elem_id="question")
            paragraphs = gr.Textbox(
                examples[0][1],
                label="Paragraphs",
                info=PARAGRAPH_FORMAT,
                lines=12,
                max_lines=24,
                elem_id="paragraphs",
            )
            button = gr.Button("Answer", variant="primary", elem_id="answer")
            gr.Markdown("Examples (made up); a click asks:")
            chosen = [
                gr.Button(example, size="sm", elem_id=f"example-{number}")
                for number, (example, _) in enumerate(examples)
            ]
        with gr.Column(min_width=280):
            outputs = make_panes(ask(*examples[0]))
    inputs = [question, paragraphs]
    for event in (button.click, question.submit):
        event(ask, inputs, outputs, api_visibility="private")
    for one, example in zip(chosen, examples, strict=True):
        one.click(partial(tuple, example), None, inputs, api_visibility="private").then(
            ask, inputs, outputs, api_visibility="private"
        )
    program = gr.Button(visible=False)
    program.click(with_errors(work), inputs, outputs, api_name="answer")


def make_corpus_tab(parts: Parts, examples: list[str]) -> None:
    """Build the tab where a question is asked of a corpus."""
    ask = with_message(partial(answer_from_corpus, parts), NOTHING)
    start = render_message(NO_INDEX.replace("`", "")) if parts.index is None else ""
    with gr.Row():
        with gr.Column(min_width=280):
            question = gr.Textbox(
                examples[0],
                label="Question",
                info=f"The {RETRIEVED} best paragraphs of the corpus are read, found in two hops.",
                lines=2,
                elem_id="corpus-question",
            )
            button = gr.Button("Find and answer", variant="primary", elem_id="corpus-answer")
        with gr.Column(min_width=280):
            outputs = make_panes((start, *NOTHING), "corpus-")
    for event in (button.click, question.submit):
        event(ask, [question], outputs, api_visibility="private")


def make_science_tab(parts: Parts) -> None:
    """Build the tab of science questions, which need no paragraphs."""
    ask = with_message(partial(answer_science, parts))
    with gr.Row():
        with gr.Column(min_width=280):
            question = gr.Textbox(
                SCIENCE_EXAMPLES[0], label="Question", lines=2, elem_id="science-question"
            )
            button = gr.Button("Answer", variant="primary", elem_id="science-answer")
            gr.Markdown("Examples; a click asks:")
            chosen = [gr.Button(example, size="sm") for example in SCIENCE_EXAMPLES]
        with gr.Column(min_width=280):
            gr.Markdown("## Answer")
            output = gr.HTML(ask(SCIENCE_EXAMPLES[0]), elem_id="science", padding=False)
    for event in (button.click, question.submit):
        event(ask, [question], [output], api_visibility="private")
    for one, example in zip(chosen, SCIENCE_EXAMPLES, strict=True):
        one.click(partial(str, example), None, [question], api_visibility="private").then(
            ask, [question], [output], api_visibility="private"
        )


def make_theme() -> gr.themes.Base:
    """Return a theme of the system's fonts, with enough contrast."""
    theme = gr.themes.Default(
        primary_hue="blue",
        font=["system-ui", "sans-serif"],
        font_mono=["ui-monospace", "monospace"],
    )
    return theme.set(
        block_info_text_color="*neutral_600",
        block_info_text_color_dark="*neutral_300",
        button_primary_background_fill="*primary_700",
        button_primary_background_fill_dark="*primary_700",
    )


def load(place: str | None) -> tuple[Any, str]:
    """Return the model, or None and why it cannot be loaded."""
    if place is None:
        return None, NO_MODEL
    from twowiki import load_model

    try:
        return load_model(place), ""
    except DataError as error:
        return None, f"The model: {error}"


def load_parts(args: argparse.Namespace) -> Parts:
    """Load what the page asks.

    Raises:
        DataError: an index or a science model that is named and cannot be loaded.
    """
    model, notice = load(find_model(args.model))
    index = args.index or os.environ.get("TWOWIKI_INDEX")
    science = args.arc_da or os.environ.get("TWOWIKI_ARC_DA")
    opened = None
    if index:
        from twowiki.retrieval import SentenceIndex

        opened = SentenceIndex(index)
    loaded = None
    if science:
        from twowiki import load_model

        loaded = load_model(science)
    return Parts(model, notice, opened, loaded)


def main() -> int:
    """Serve the page; without a model, print what to do (a Space shows it on the page)."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", help="a model's folder, or a repository of the hub")
    parser.add_argument("--index", help="an index of paragraphs, to retrieve from")
    parser.add_argument("--arc-da", help="a model that was trained on ARC-DA")
    parser.add_argument("--port", type=int, help="the port (default: 7860, or the next free one)")
    parser.add_argument("--host", help="the address to listen at (default: this machine alone)")
    args = parser.parse_args()
    try:
        parts = load_parts(args)
    except DataError as error:
        print(error, file=sys.stderr)
        return 2
    if parts.model is None and "SPACE_ID" not in os.environ:
        print(parts.notice.replace("`", ""), file=sys.stderr)
        return 2
    make_demo(parts).queue(max_size=WAITING).launch(
        max_file_size=UPLOAD_BYTES,
        app_kwargs={"middleware": [Middleware(LimitedBody, most_bytes=REQUEST_BYTES)]},
        server_name=args.host,
        server_port=args.port,
        theme=make_theme(),
        css=evidence_style() + STYLE,
        footer_links=[],
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
