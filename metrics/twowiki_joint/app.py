"""A page to try the metric: one prediction and its gold in, the figures of the four parts out."""

import gradio as gr

from twowiki import DataError, score
from twowiki.llm.parsing import parse_llm_output

PARTS = {"answer": "", "supporting facts": "sp_", "evidence": "evi_", "joint": "joint_"}
FIGURES = ("em", "f1", "prec", "recall")
HELP = (
    "Facts one a line as `title | sentence number`, triples as `subject | relation | object`. "
    "Other names of an entity, one a line: `name in the gold = other name`."
)

MOST_CHARACTERS = 10_000  # of all fields together, so that no visitor stops the page
WAITING = 20  # tries in the queue
UPLOAD_BYTES = 1  # the page has no upload


def check_size(*texts):
    """Raise for more text than the page scores in a few seconds."""
    size = sum(map(len, texts))
    if size > MOST_CHARACTERS:
        raise gr.Error(
            f"This is too much text for the page ({size:,} characters); it takes "
            f"{MOST_CHARACTERS:,} at once. Shorten it, or run the metric on your machine"
        )


def facts_of(text):
    """Read `title | number` lines."""
    facts = []
    for line in filter(str.strip, text.splitlines()):
        title, _, number = line.rpartition("|")
        if not title.strip() or not number.strip().isdigit():
            raise gr.Error(f"Not `title | sentence number`: {line}")
        facts.append([title.strip(), int(number)])
    return facts


def triples_of(text):
    """Read `subject | relation | object` lines."""
    triples = [
        [part.strip() for part in line.split("|")] for line in text.splitlines() if line.strip()
    ]
    for triple in triples:
        if len(triple) != 3:
            raise gr.Error(f"Not `subject | relation | object`: {' | '.join(triple)}")
    return triples


def aliases_of(text):
    """Read `name = other name` lines; a name stands for its own id here."""
    names = {}
    for line in filter(str.strip, text.splitlines()):
        name, sign, other = line.partition("=")
        if not sign or not other.strip():
            raise gr.Error(f"Not `name in the gold = other name`: {line}")
        names.setdefault(name.strip(), []).append(other.strip())
    return names


def compute(
    answer, facts, triples, gold_answer, gold_facts, gold_triples, names, version, matching
):
    """Score one prediction; return the table and the notes."""
    check_size(answer, facts, triples, gold_answer, gold_facts, gold_triples, names)
    triples_of_gold = triples_of(gold_triples)
    gold = {
        "_id": "this question",
        "answer": gold_answer.strip(),
        "answer_id": gold_answer.strip(),
        "supporting_facts": facts_of(gold_facts),
        "evidences": triples_of_gold,
        "evidences_id": triples_of_gold,
    }
    prediction = {
        "id": "this question",
        "answer": answer.strip(),
        "supporting_facts": facts_of(facts),
        "evidences": triples_of(triples),
    }
    try:
        report = score([prediction], [gold], aliases_of(names), version=version, matching=matching)
    except DataError as error:
        raise gr.Error(str(error)) from None
    rows = [
        [part, *(round(report.metrics[prefix + figure], 2) for figure in FIGURES)]
        for part, prefix in PARTS.items()
    ]
    return rows, "\n".join([*(f"- {text}" for text in report.warnings), f"\n`{report.signature}`"])


def read_output(text):
    """Fill the prediction from a language model's raw text."""
    check_size(text)
    parsed = parse_llm_output(text)
    facts = "\n".join(f"{title} | {number}" for title, number in parsed.facts or ())
    triples = "\n".join(" | ".join(triple) for triple in parsed.triples or ())
    return parsed.answer or "", facts, triples


with gr.Blocks(title="2WikiMultiHopQA: the joint metric") as demo:
    gr.Markdown(f"# 2WikiMultiHopQA: the joint metric\n{HELP}")
    with gr.Accordion("Fill the prediction from a model's raw text", open=False):
        raw = gr.Textbox(label="model output", lines=4)
        fill = gr.Button("Read it")
    with gr.Row():
        with gr.Column():
            predicted = [
                gr.Textbox(label="predicted answer"),
                gr.Textbox(label="predicted supporting facts", lines=3),
                gr.Textbox(label="predicted evidence", lines=3),
            ]
        with gr.Column():
            golds = [
                gr.Textbox(label="gold answer"),
                gr.Textbox(label="gold supporting facts", lines=3),
                gr.Textbox(label="gold evidence", lines=3),
            ]
    others = gr.Textbox(label="other names", lines=2)
    version = gr.Radio(["1.1", "1.0"], value="1.1", label="evaluator")
    matching = gr.Radio(["official", "one_to_one"], value="official", label="matching of triples")
    button = gr.Button("Score", variant="primary")
    figures = gr.Dataframe(headers=["part", *FIGURES], label="0-100")
    notes = gr.Markdown()
    inputs = [*predicted, *golds, others, version, matching]
    button.click(compute, inputs, [figures, notes], api_name="compute")
    fill.click(read_output, raw, predicted, api_name="read_output")
    gr.Examples(
        [
            [
                "brinmoor", "Tavik Orrel | 0", "Tavik Orrel | mother | Dessa Orrel",
                "Brinmoor", "Tavik Orrel | 0\nDessa Orrel | 1",
                "Tavik Orrel | mother | Dessa Orrel\nDessa Orrel | place of birth | Brinmoor",
                "", "1.1", "official",
            ],
            [
                "Brinmoor", "Tavik Orrel | 0\nDessa Orrel | 1",
                "Tavik Orrel | mother | Dessa Orrel\nTavik Orrel | mother | Lady Dessa",
                "Brinmoor", "Tavik Orrel | 0\nDessa Orrel | 1",
                "Tavik Orrel | mother | Dessa Orrel",
                "Dessa Orrel = Lady Dessa", "1.1", "one_to_one",
            ],
        ],
        inputs,
    )  # fmt: skip

if __name__ == "__main__":
    demo.queue(max_size=WAITING).launch(max_file_size=UPLOAD_BYTES)
