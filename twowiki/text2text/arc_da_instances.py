"""Training instances: N_a gold answers per question, with multiple choice, without leaks.

In: questions, an epoch's number, a seed. Out: which answers an epoch trains on. A draw depends on
the seed, the question's id and the epoch alone, never on the order of a file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple, TypeVar

from twowiki.arc_da.schema import MultipleChoice, Question
from twowiki.errors import DataError
from twowiki.io.records import read_object

N_A = 4  # gold answers per question and epoch (paper, section on training)
MIXINGS = ("equal", "proportional", "temperature")
LEAKS = ("drop", "error", "keep")
OF_OTHERS = "of_another_splits_text"
QUESTIONS_FILE = "training_questions.json"
_WORD = re.compile(r"\w+")

_Item = TypeVar("_Item")


class Guarded(NamedTuple):
    """The questions to train on, and the ids of those left out, by reason."""

    questions: list[Question]
    multiple_choice: list[MultipleChoice]
    dropped: dict[str, list[str]]


def draw_answers(
    question_id: str, answers: Sequence[_Item], *, limit: int = N_A, seed: int = 0, epoch: int = 0
) -> list[_Item]:
    """Draw answers to train on, without replacement, in the data's order.

    Args:
        question_id: decides the draw together with the seed and the epoch.
        answers: all there are.
        limit: most answers; 0 = all.
        seed: of the run.
        epoch: 0 for a draw that stays the same.
    """
    if limit <= 0 or len(answers) <= limit:
        return list(answers)
    rng = Random(f"{seed}:{question_id}:{epoch}")
    return [answers[number] for number in sorted(rng.sample(range(len(answers)), limit))]


def mixed_counts(
    direct: int, choice: int, mixing: str = "equal", temperature: float = 2.0
) -> tuple[int, int]:
    """Return how many instances of each kind an epoch has; direct answers all come once.

    Args:
        direct: number of direct-answer instances.
        choice: number of multiple-choice instances.
        mixing: `equal` (as UnifiedQA mixes its tasks), `proportional` to the sizes, or
            `temperature` (sizes to the power of 1/temperature).
        temperature: 1 is proportional, large values are nearly equal.

    Raises:
        DataError: the mixing is unknown or the temperature below 1.
    """
    if mixing not in MIXINGS:
        remedy = f"Use one of {', '.join(MIXINGS)}"
        raise DataError(f"is {mixing!r}", field="mixing", remedy=remedy)
    if temperature < 1:
        raise DataError(f"is {temperature}, below 1", field="temperature")
    if not direct or not choice:
        return direct, choice
    power = {"equal": 0.0, "proportional": 1.0}.get(mixing, 1 / temperature)
    return direct, max(1, round(direct * (choice / direct) ** power))


def draw_items(items: Sequence[_Item], count: int, rng: Random) -> list[_Item]:
    """Draw a number of items: whole passes over them, then a sample without replacement."""
    if not items:
        return []
    whole, rest = divmod(count, len(items))
    return [*list(items) * whole, *(rng.sample(list(items), rest) if rest else [])]


def draw_in_order(items: Sequence[_Item], most: int, seed: int) -> list[_Item]:
    """Draw at most so many items, in the data's order; files hold one kind after the other."""
    if not most or len(items) <= most:
        return list(items)
    chosen = Random(f"{seed}:limit").sample(range(len(items)), most)
    return [items[place] for place in sorted(chosen)]


def exclude_leaks(
    questions: Iterable[Question],
    multiple_choice: Iterable[MultipleChoice],
    evaluated: Iterable[Question | MultipleChoice],
    *,
    others: Iterable[Question | MultipleChoice] = (),
    originals: Mapping[str, MultipleChoice] | None = None,
    leaks: str = "drop",
) -> Guarded:
    """Return the training questions without those that are evaluated.

    A training item that is evaluated too (ARC's id), or that belongs to dev or test in ARC itself,
    is an error. The release has a few questions of equal text in two splits; these are left out,
    also where the other split is not evaluated now, and where the originals have equal texts.

    Args:
        questions: direct-answer questions to train on.
        multiple_choice: multiple-choice questions to train on.
        evaluated: the questions that the run evaluates on, of both kinds.
        others: questions of splits that are at hand and may be evaluated later.
        originals: multiple-choice originals by id, whose texts count too.
        leaks: `drop` does the above, `error` refuses equal texts too, `keep` trains on everything
            and only lists the leaks.

    Raises:
        DataError: a question that must not be trained on, with its id.
    """
    if leaks not in LEAKS:
        raise DataError(f"is {leaks!r}", field="leaks", remedy=f"Use one of {', '.join(LEAKS)}")
    held_out = list(evaluated)
    ids = {_arc_id(item) for item in held_out}
    known = originals or {}
    texts = {
        words: reason
        for reason, items in ((OF_OTHERS, others), ("same_text", held_out))
        for item in items
        for words in _wordings(item, known)
    }
    dropped: dict[str, list[str]] = {}

    def kept(items: Iterable[_Item]) -> list[_Item]:
        found: list[_Item] = []
        for item in items:
            reason = _leak(item, ids, texts, known)  # type: ignore[arg-type]
            if reason:
                dropped.setdefault(reason, []).append(item.question_id)  # type: ignore[attr-defined]
                _check_leak(reason, item.question_id, leaks)  # type: ignore[attr-defined]
            if reason is None or leaks == "keep":
                found.append(item)
        return found

    return Guarded(kept(questions), kept(multiple_choice), dropped)


def _leak(
    item: Question | MultipleChoice,
    ids: set[str],
    texts: Mapping[str, str],
    originals: Mapping[str, MultipleChoice],
) -> str | None:
    split = item.source_split if isinstance(item, Question) else item.split
    if _arc_id(item) in ids:
        return "is_evaluated"
    if split in ("dev", "test"):
        return "of_another_split"
    found = {texts[words] for words in _wordings(item, originals) if words in texts}
    return max(found, default=None)  # `same_text` before `of_another_splits_text`


def _check_leak(reason: str, record: str, leaks: str) -> None:
    if leaks == "keep" or (leaks == "drop" and reason in ("same_text", OF_OTHERS)):
        return
    meaning = {
        "is_evaluated": "is evaluated, and would be trained on too",
        "of_another_split": "is a dev or test question of ARC, and would be trained on",
        "same_text": "has the text of an evaluated question",
        OF_OTHERS: "has the text of a question of another split",
    }
    remedy = "Remove it from the training files, or set leaks: keep and report no scores"
    raise DataError(meaning[reason], record=record, field="leaks", remedy=remedy)


def _arc_id(item: Question | MultipleChoice) -> str:
    return item.arc_id if isinstance(item, Question) else item.id


def _wordings(item: Question | MultipleChoice, originals: Mapping[str, MultipleChoice]) -> set[str]:
    """Return a question's words, and its original's, without punctuation and case."""
    texts = [item.question if isinstance(item, Question) else item.stem]
    original = originals.get(item.question_id) or originals.get(_arc_id(item))
    texts += [original.stem] if original is not None else []
    return {" ".join(_WORD.findall(text.casefold())) for text in texts} - {""}


def training_record(
    items: Iterable[Question | MultipleChoice], originals: Mapping[str, MultipleChoice]
) -> dict[str, list[str]]:
    """Return what tells later whether a question was trained on: ids, and hashes of texts."""
    listed = list(items)
    texts = {words for item in listed for words in _wordings(item, originals)}
    return {
        "ids": sorted({_arc_id(item) for item in listed}),
        "texts": sorted(map(_text_hash, texts)),
    }


def trained_on(
    items: Iterable[Question | MultipleChoice], record: Mapping[str, Sequence[str]]
) -> list[str]:
    """List the ids of questions that a model was trained on, by `training_record`."""
    ids, texts = set(record["ids"]), set(record["texts"])
    return [
        item.question_id
        for item in items
        if _arc_id(item) in ids or not texts.isdisjoint(map(_text_hash, _wordings(item, {})))
    ]


def read_training_record(model: str) -> dict[str, list[str]] | None:
    """Read the record of a model's folder, or of the run that it is in; None without one.

    Raises:
        DataError: the file is damaged.
    """
    for folder in (Path(model), Path(model) / "best"):
        path = folder / QUESTIONS_FILE
        if path.is_file():
            found = read_object(path, "Copy it from where the model was trained")
            if not all(isinstance(found.get(name), list) for name in ("ids", "texts")):
                remedy = "Copy it from where the model was trained"
                raise DataError("needs the lists ids and texts", file=path, remedy=remedy)
            return dict(found)
    return None


def describe_trained(found: Sequence[str], count: int) -> str:
    """Return a line on questions that were trained on."""
    return (
        f"trained on: {len(found)} of these {count} questions (first: {found[0]}), so the scores "
        "say little; leave them out or take another split"
    )


def _text_hash(words: str) -> str:
    return hashlib.sha256(words.encode()).hexdigest()[:12]
