"""Judge whether a direct answer means the same as a gold answer, with any local model.

In: questions, answers and gold answers. Out: a value from 0 to 1 for each answer, the best over its
gold answers. The model's folder shows what kind of judge it is:

- `similarity`: a sentence encoder (sentence-transformers); the mean of the cosine and the word F1.
- `entailment`: a classifier with a label that begins with "entail"; the mean of the probabilities
  that gold entails answer and answer entails gold, each after the question.
- `paraphrase`: a classifier with one output, or with a label such as "paraphrase" or "equivalent".
- `yes_no`: any other language model; the share of "yes" among "yes" and "no" after a question.

A judge is one more figure beside F1 and ROUGE-L; it changes neither.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from twowiki.arc_da.metric.scoring import f1_score
from twowiki.errors import DataError, import_extra
from twowiki.io.files import progress, sha256_of
from twowiki.text2text.loading import SEQ2SEQ, find_model

PAIRS = 64  # of a batch
_SAME = ("paraphrase", "equivalent", "duplicate", "is_duplicate", "similar")
_ASK = (
    "Question: {question}\nRight answer: {gold}\nStudent's answer: {answer}\n"
    "Does the student's answer mean the same as the right answer? Answer yes or no.\nAnswer:"
)


class Judgment(NamedTuple):
    """An answer to be judged."""

    question: str
    answer: str
    golds: tuple[str, ...]


class AnswerPair(NamedTuple):
    """An answer beside one gold answer, and the question of both."""

    question: str
    answer: str
    gold: str


class AnswerJudge(NamedTuple):
    """A loaded judge.

    Attributes:
        kind: similarity, entailment, paraphrase or yes_no.
        model: its name and a hash of its weights, for the signature.
        values: returns a value from 0 to 1 for each pair of a batch.
    """

    kind: str
    model: str
    values: Callable[[Sequence[AnswerPair]], Sequence[float]]

    @property
    def signature(self) -> str:
        """The judge's part of a signature."""
        return f"judge:{self.kind}({self.model})"

    def judge(self, answers: Iterable[Judgment]) -> list[float]:
        """Return a value from 0 to 1 for each answer, the best over its gold answers.

        An answer without a letter or digit has 0.
        """
        wanted = list(answers)
        pairs = {
            AnswerPair(one.question, one.answer, gold): 0.0
            for one in wanted
            for gold in one.golds
            if any(letter.isalnum() for letter in one.answer)
        }
        ordered = sorted(pairs, key=lambda pair: (len("".join(pair)), pair))
        batches = [ordered[first : first + PAIRS] for first in range(0, len(ordered), PAIRS)]
        for batch in progress(batches, what="judging", total=len(batches)):
            pairs.update(zip(batch, map(float, self.values(batch)), strict=True))
        return [
            max(pairs.get(AnswerPair(one.question, one.answer, gold), 0.0) for gold in one.golds)
            for one in wanted
        ]


def load_judge(model: str, *, device: str = "") -> AnswerJudge:
    """Load a judge from a folder, a .gguf file or a name on the hub.

    Raises:
        DataError: it cannot be loaded, or a package is missing.
    """
    torch = import_extra("torch", "train")
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    name = f"{Path(model).name}@{_weights_hash(Path(model))}"
    if _is_sentence_encoder(model):
        return AnswerJudge("similarity", name, _similarity(model, device))
    config = {} if model.endswith(".gguf") else _read_config(model)
    labels = {int(key): str(value).lower() for key, value in config.get("id2label", {}).items()}
    if any("SequenceClassification" in kind for kind in config.get("architectures") or ()):
        return _classifier_judge(model, name, labels, device)
    return AnswerJudge("yes_no", name, _yes_no(model, device))


def _is_sentence_encoder(model: str) -> bool:
    folder = Path(model)
    return (folder / "modules.json").is_file() or model.startswith("sentence-transformers/")


def _read_config(model: str) -> dict[str, Any]:
    from transformers import AutoConfig

    source = find_model(model)
    try:
        found: dict[str, Any] = AutoConfig.from_pretrained(source.name).to_dict()
    except (OSError, ValueError, KeyError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        remedy = "Name a local folder, a .gguf file, or a reachable hub model"
        raise DataError(f"cannot be loaded ({reason})", file=model, remedy=remedy) from None
    return found


def _weights_hash(path: Path) -> str:
    """Return 12 hex digits over the weights of a local model; `hub` for one that is not here."""
    if not path.exists():
        return "hub"
    suffixes = (".safetensors", ".bin", ".gguf", ".json")
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.suffix in suffixes)
    digest = hashlib.sha256()
    for file in files:
        digest.update(bytes.fromhex(sha256_of(file)))
    return digest.hexdigest()[:12]


def _similarity(model: str, device: str) -> Callable[[Sequence[AnswerPair]], Sequence[float]]:
    package = import_extra("sentence_transformers", "dense")
    try:
        encoder = package.SentenceTransformer(model, device=device)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise DataError(f"is no sentence encoder ({reason})", file=model) from None

    def values(pairs: Sequence[AnswerPair]) -> list[float]:
        texts = list(dict.fromkeys(text for pair in pairs for text in (pair.answer, pair.gold)))
        vectors = encoder.encode(texts, batch_size=PAIRS, normalize_embeddings=True)
        rows = dict(zip(texts, vectors, strict=True))
        return [
            (max(0.0, float(rows[p.answer] @ rows[p.gold])) + f1_score(p.answer, p.gold)) / 2
            for p in pairs
        ]

    return values


def _classifier_judge(model: str, name: str, labels: dict[int, str], device: str) -> AnswerJudge:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    loaded = AutoModelForSequenceClassification.from_pretrained(model).eval().to(device)
    entail = [number for number, label in labels.items() if label.startswith("entail")]
    same = [number for number, label in labels.items() if label in _SAME]
    if not entail and not same and len(labels) > 1:
        found = ", ".join(labels.values())
        problem = f"has no label for the same meaning (labels {found})"
        remedy = "Name a model for entailment or paraphrases"
        raise DataError(problem, file=model, remedy=remedy)
    kind = "entailment" if entail else "paraphrase"

    @torch.no_grad()
    def probabilities(first: list[str], second: list[str]) -> Any:
        inputs = tokenizer(first, second, padding=True, truncation=True, return_tensors="pt")
        logits = loaded(**inputs.to(device)).logits.float()
        if logits.shape[1] == 1:
            return logits.sigmoid()[:, 0]
        return logits.softmax(-1)[:, (entail or same)[0]]

    def values(pairs: Sequence[AnswerPair]) -> list[float]:
        golds = [f"{pair.question} {pair.gold}".strip() for pair in pairs]
        answers = [f"{pair.question} {pair.answer}".strip() for pair in pairs]
        both = (probabilities(golds, answers) + probabilities(answers, golds)) / 2
        return [float(value) for value in both]

    return AnswerJudge(kind, name, values)


def _yes_no(model: str, device: str) -> Callable[[Sequence[AnswerPair]], Sequence[float]]:
    from twowiki.text2text.likelihood import sum_likelihoods
    from twowiki.text2text.prediction import LoadOptions, load_generator

    generator = load_generator(model, LoadOptions(device=device, chat="no"))
    words = ("yes", "no") if generator.codec.kind == SEQ2SEQ else (" yes", " no")

    def values(pairs: Sequence[AnswerPair]) -> list[float]:
        rows = [(_ASK.format(**pair._asdict()), word) for pair in pairs for word in words]
        found = sum_likelihoods(generator, rows)
        return [
            1 / (1 + math.exp(min(60.0, no - yes)))
            for yes, no in zip(found[::2], found[1::2], strict=True)
        ]

    return values
