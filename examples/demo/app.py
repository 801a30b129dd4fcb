"""A page to ask a model: question and paragraphs in; answer, sentences and evidence graph out.

    python app.py runs/tiny/best        # or set TWOWIKI_MODEL to a folder or a hub repository

It needs no network: the model is in a folder, fonts are the system's, and nothing is reported.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

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
    render_paragraphs,
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


def make_demo(model: Any, notice: str = "") -> gr.Blocks:
    """Build the page.

    Args:
        model: what `twowiki.load_model` returned, or None.
        notice: what to show if there is no model.
    """

    def answer(question: str, paragraphs: str) -> tuple[str, str, list[list[Any]], str]:
        """Answer one question about paragraphs."""
        if model is None:
            raise gr.Error(notice.replace("`", ""), duration=None)
        question, paragraphs = question or "", paragraphs or ""
        characters = len(question) + len(paragraphs)
        try:
            check_size(characters)
            context = read_paragraphs(paragraphs)
            check_size(characters, len(context))
            prediction = model.predict(question, context)
        except (DataError, ValueError) as error:
            raise gr.Error(str(error), duration=None, print_exception=False) from None
        return (
            render_answer(context, prediction),
            render_answer_graph(prediction),
            triple_rows(prediction),
            json.dumps(prediction, ensure_ascii=False, indent=1),
        )

    examples = [
        (example["question"], render_paragraphs(example["context"]))
        for example in json.loads((HERE / "examples.json").read_text(encoding="utf-8"))
    ]
    with gr.Blocks(title=TITLE, analytics_enabled=False) as demo:
        gr.Markdown(INTRODUCTION)
        if notice:
            gr.Markdown(f"**{notice}**", elem_id="notice")
        with gr.Row():
            with gr.Column(min_width=280):
                question = gr.Textbox(label="question", lines=2, elem_id="question")
                paragraphs = gr.Textbox(
                    label="paragraphs",
                    info=PARAGRAPH_FORMAT,
                    lines=12,
                    max_lines=24,
                    elem_id="paragraphs",
                )
                button = gr.Button("Answer", variant="primary", elem_id="answer")
                gr.Markdown("Examples (made up):")
                for number, (example, about) in enumerate(examples):
                    gr.Button(example, size="sm", elem_id=f"example-{number}").click(
                        partial(tuple, (example, about)),
                        None,
                        [question, paragraphs],
                        api_visibility="private",
                    )
            with gr.Column(min_width=280):
                gr.Markdown("## Answer and supporting sentences")
                sentences = gr.HTML(
                    '<p class="note">No question yet.</p>', elem_id="sentences", padding=False
                )
                gr.Markdown("## Evidence")
                graph = gr.HTML(elem_id="graph", padding=False)
                table = gr.Dataframe(
                    headers=list(TRIPLE_COLUMNS),
                    label="triples",
                    interactive=False,
                    wrap=True,
                    column_widths=["32%", "24%", "30%", "14%"],
                )
                with gr.Accordion("The whole prediction as JSON", open=False):
                    raw = gr.Code(language="json", label="prediction", interactive=False)
        outputs = [sentences, graph, table, raw]
        button.click(answer, [question, paragraphs], outputs, api_name="answer")
        question.submit(answer, [question, paragraphs], outputs, api_visibility="private")
    return demo


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


def main() -> int:
    """Serve the page; without a model, print what to do (a Space shows it on the page)."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", help="a model's folder, or a repository of the hub")
    parser.add_argument("--port", type=int, help="the port (default: 7860, or the next free one)")
    parser.add_argument("--host", help="the address to listen at (default: this machine alone)")
    args = parser.parse_args()
    model, problem = load(find_model(args.model))
    if model is None and "SPACE_ID" not in os.environ:
        print(problem.replace("`", ""), file=sys.stderr)
        return 2
    make_demo(model, problem).queue(max_size=WAITING).launch(
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
