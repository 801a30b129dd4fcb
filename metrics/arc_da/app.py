"""A page to try the metric: one answer, its gold answers, the metrics and what they do not see."""

import gradio as gr

from twowiki.arc_da.metric.lists import score_lists
from twowiki.arc_da.metric.report import PITFALLS
from twowiki.arc_da.metric.scoring import EXTRAS

MOST_CHARACTERS = 10_000  # of both fields together, so that no visitor stops the page
WAITING = 20  # tries in the queue
UPLOAD_BYTES = 1  # the page has no upload


def score(prediction, golds):
    """Return the metrics as a table, and the pitfalls as text."""
    size = len(prediction) + len(golds)
    if size > MOST_CHARACTERS:
        raise gr.Error(
            f"This is too much text for the page ({size:,} characters); it takes "
            f"{MOST_CHARACTERS:,} at once. Shorten it, or run the metric on your machine"
        )
    listed = [line.strip() for line in golds.splitlines() if line.strip()]
    if not listed:
        raise gr.Error("Write at least one gold answer, one per line")
    result = score_lists([prediction], [listed], list(EXTRAS))
    rows = [[name, round(result[name], 2)] for name in ("f1", "rougeL", *EXTRAS)]
    pitfalls = "\n".join(f"- {PITFALLS[name]}" for name in result["pitfalls"])
    return rows, pitfalls or "Nothing that the metrics do not see."


demo = gr.Interface(
    fn=score,
    inputs=[gr.Textbox(label="answer"), gr.Textbox(label="gold answers, one per line", lines=4)],
    outputs=[gr.Dataframe(headers=["metric", "0-100"], label="metrics"), gr.Markdown()],
    title="ARC-DA: F1 and ROUGE-L",
    description="The best gold answer counts, for each metric on its own. "
    "f1 and rougeL are the paper's; the others are reported beside them.",
    examples=[
        ["from solid to liquid", "from liquid to solid"],
        ["frozen lake water", "ice\nfrozen water"],
    ],
)

if __name__ == "__main__":
    demo.queue(max_size=WAITING).launch(max_file_size=UPLOAD_BYTES)
