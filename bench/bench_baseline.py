"""The baseline's speed on the CPU, against the published algorithm in the same run.

Both sides run the same mathematics (reproduce settings) on made-up batches of the published size:
24 contexts of 634 to 1,199 tokens, 38 relation slots, one thread. Theirs is a batch as it comes;
so is ours in training, while `twowiki predict` puts windows of like length together, and so does
this. Prints examples per CPU second and their ratio for training steps and predictions, examples
encoded per CPU second (corrected settings against spaCy and padded records), and bytes per encoded
example on disk. `--quick` uses small batches, to see
that it runs.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import string
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import torch
from reference_baseline import ReferenceBaseline, decode, losses

from twowiki.data.schema import Example, Fact, Paragraph, Triple
from twowiki.models.configuration_baseline import TwoWikiBaselineConfig
from twowiki.models.convert_baseline import (
    convert_weights,
    model_of,
    reference_inputs,
    reference_labels,
)
from twowiki.models.decoding import best_spans
from twowiki.models.processing_baseline import BaselineProcessor
from twowiki.models.tokenization_baseline import spacy_offsets
from twowiki.training.encoding import encode_windows
from twowiki.training.feature_store import ROWS_FILE
from twowiki.training.memory import keep_freed_memory
from twowiki.training.vocabulary import count_vocabulary, make_vocabulary

WORDS, CHARACTERS, RELATIONS = 5000, 74, 38
SENTENCE_TOKENS = 25


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small batch, no meaning")
    parser.add_argument("--rounds", type=int, default=3, help="measured rounds of each side")
    parser.add_argument("--batch", type=int, default=24, help="examples a batch, both sides")
    given = parser.parse_args()
    torch.set_num_threads(1)
    shortest, longest = (30, 60) if given.quick else (634, 1199)
    size = 4 if given.quick else given.batch
    batch, labels = make_batch(torch.linspace(shortest, longest, size))
    pool = torch.linspace(shortest, longest, 4 * size).chunk(4)
    torch.manual_seed(0)
    theirs = ReferenceBaseline(WORDS, CHARACTERS, relations=RELATIONS)
    ours = model_of(convert_weights(theirs.state_dict(), "made up"))
    print(f"{'':22}{'published':>12}{'ours':>12}{'ratio':>9}")
    predicting = median(lambda: predict_theirs(theirs, batch), given.rounds) / size
    training = median(lambda: losses(theirs(batch), labels).backward(), given.rounds) / size
    keep_freed_memory()  # as train.py and `twowiki predict` do
    alike = [make_batch(lengths)[0] for lengths in pool]
    mine = median(lambda: [predict_ours(ours, one) for one in alike], given.rounds) / (4 * size)
    show("predict, examples/s", predicting, mine)
    ours.train()
    mine = median(lambda: train_ours(ours, batch, labels), given.rounds) / size
    show("train, examples/s", training, mine)
    encode(200 if given.quick else 2000)


def median(work: Callable[[], Any], rounds: int) -> float:
    """Give the median CPU seconds of a piece of work."""
    spent = []
    for _ in range(rounds):
        started = time.process_time()
        work()
        spent.append(time.process_time() - started)
    return statistics.median(spent)


def show(what: str, theirs: float, ours: float) -> None:
    print(f"{what:22}{1 / theirs:12.2f}{1 / ours:12.2f}{theirs / ours:8.1f}x")


def predict_theirs(model: ReferenceBaseline, batch: dict[str, torch.Tensor]) -> None:
    """Predict without gradients: kinder to the published code than it is to itself."""
    with torch.no_grad():
        decode(model(batch))


def predict_ours(model: Any, batch: dict[str, torch.Tensor]) -> None:
    with torch.no_grad():
        output = model(**reference_inputs(batch))
        best_spans(output.start_logits.unsqueeze(-1), output.end_logits.unsqueeze(-1), None, 16)
        for who in ("subject", "object"):
            best_spans(output[f"{who}_start_logits"], output[f"{who}_end_logits"], None, 16)


def train_ours(model: Any, batch: dict[str, torch.Tensor], labels: dict[str, torch.Tensor]) -> None:
    inputs = {
        **reference_inputs(batch),
        **reference_labels(labels, {"relations": labels["relations"]}),
    }
    model(**inputs).loss.backward()


def make_batch(wanted: torch.Tensor) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Invent a batch of contexts of these ascending lengths, with its labels."""
    lengths = wanted.long()
    size, shortest, longest = len(lengths), int(lengths[0]), int(lengths[-1])
    generator = torch.Generator().manual_seed(1)

    def numbers(high: int, *shape: int, low: int = 0) -> torch.Tensor:
        return torch.randint(low, high, shape, generator=generator)

    context = numbers(WORDS, size, longest, low=1)
    context[torch.arange(longest) >= lengths.unsqueeze(1)] = 0
    count = longest // SENTENCE_TOKENS
    starts = (torch.arange(count) * SENTENCE_TOKENS).expand(size, -1)
    ends = torch.minimum(starts + SENTENCE_TOKENS, lengths.unsqueeze(1))
    bounds = torch.stack([starts, torch.maximum(ends, starts)], dim=-1)
    words = numbers(CHARACTERS, WORDS, 16)  # equal words are spelled equally
    questions = numbers(WORDS, size, 25, low=1)
    batch = {
        "context_idxs": context,
        "context_char_idxs": words[context],
        "ques_idxs": questions,
        "ques_char_idxs": words[questions],
        "sentence_bounds": bounds,
    }
    labels = {
        "answer_type": numbers(3, size),
        "start_positions": numbers(shortest, size),
        "end_positions": numbers(shortest, size),
        "support": numbers(2, size, count),
        "relations": numbers(2, size, RELATIONS),
    }
    for name in ("subject_start", "subject_end", "object_start", "object_end"):
        labels[name] = numbers(shortest, size, RELATIONS)
    return batch, labels


def made_up_examples(count: int) -> list[Example]:
    """Invent examples of the real sizes: ten paragraphs, about 600 words and 35 sentences."""
    rng = random.Random(2)
    words = [
        "".join(rng.choices(string.ascii_lowercase, k=rng.randrange(2, 10))) for _ in range(9000)
    ]
    examples = []
    for number in range(count):
        context = tuple(
            Paragraph(
                " ".join(rng.choices(words, k=3)).title(),
                tuple(
                    " ".join(rng.choices(words, k=rng.randrange(10, 25))).capitalize() + ", 1907."
                    for _ in range(rng.randrange(2, 6))
                ),
            )
            for _ in range(10)
        )
        gold = context[:2]
        evidences = tuple(
            Triple(p.title, "director", " ".join(p.sentences[0].split(" ")[1:3])) for p in gold
        )
        question = f"Who is the father of the director of {gold[0].title}?"
        facts = tuple(Fact(paragraph.title, 0) for paragraph in gold)
        answer = evidences[1].object
        examples.append(
            Example(str(number), question, "compositional", context, facts, evidences, (), answer)
        )
    return examples


def published_record(example: Example) -> list[Any]:
    """Make a record as the published preprocessing does: spaCy, search again, pad to the limits.

    Kinder than the original, which did 93 to 143 examples per second on another machine.
    """
    pieces = [
        piece for title, sentences in example.context for piece in (f"<t> {title} </t>", *sentences)
    ]
    words = [word for piece in pieces for word in split_as_published(piece)]
    question = split_as_published(example.question)
    text, place, starts, ends = "".join(pieces), 0, [], []
    for word in words:
        place = text.find(word, place)
        starts.append(place)
        place += len(word)
        ends.append(place)
    named = [example.answer or ""]
    for triple in example.evidences:
        named += [triple.subject, triple.object]
    for name in named:  # the nearest borders among all words
        for found in re.finditer(re.escape(name), text):
            min(abs(start - found.start()) for start in starts)
            min(abs(end - found.end()) for end in ends)
    record = []
    for tokens, limit in ((words, 2250), (question, 80)):
        ids = numpy.zeros(limit, numpy.int64)
        characters = numpy.zeros((limit, 16), numpy.int64)
        for row, word in enumerate(tokens[:limit]):
            ids[row] = len(word)
            for column, character in enumerate(word[:16]):
                characters[row, column] = ord(character)
        record += [ids, characters]
    return record


def split_as_published(text: str) -> list[str]:
    """Cut a text by spaCy's blank English tokenizer."""
    starts, ends = spacy_offsets(text)
    return [text[start:end] for start, end in zip(starts, ends, strict=True)]


def encode(count: int) -> None:
    """Measure encoding in the corrected settings, and its size on disk."""
    examples = made_up_examples(count)
    counts = count_vocabulary(examples, TwoWikiBaselineConfig())
    tokenizer, sizes = make_vocabulary(counts, TwoWikiBaselineConfig())
    encoder = BaselineProcessor(TwoWikiBaselineConfig(**sizes), tokenizer)
    windows = [window for example in examples for window in encoder.encode(example)]
    tokens = sum(len(window.token_ids) for window in windows) / len(examples)

    def work() -> None:
        for example in examples:
            encoder.encode(example)

    spent = median(work, 3)
    rate = len(examples) / spent
    some = examples[: max(1, len(examples) // 20)]
    theirs = median(lambda: [published_record(example) for example in some], 3) / len(some)
    show("encode, examples/s", theirs, 1 / rate)
    with tempfile.TemporaryDirectory() as folder:
        store = encode_windows(examples, encoder, Path(folder), "bench")
        size = (store.folder / ROWS_FILE).stat().st_size / len(examples)
    published = (2250 + 2250 * 16 + 80 + 80 * 16) * 8 + 5 * RELATIONS * 8 + 15_700
    print(f"  of {tokens:.0f} tokens each")
    sizes_kb = f"{size / 1000:.1f} kB an example; the published records {published / 1000:.0f} kB"
    print(f"on disk: {sizes_kb}: 1/{published / size:.1f}")


if __name__ == "__main__":
    main()
