"""An inspect-ai task: any language model on a split, scored with the joint metric.

    inspect eval twowiki/two_wiki -T source=dev.json -T aliases=id_aliases.json --model openai/...

The prompts are those of `twowiki prompt`, the outputs are parsed as `twowiki score --from-llm`
does, and the metrics are those of `twowiki score`: a sample has the 16 of its example, the task
their means (0-100), by question type too. `outputs_of` returns a log's outputs for the commands.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from os import PathLike
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import read_eval_log
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
)
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import TaskState, generate
from rich.markup import escape

from twowiki.data.aliases import read_aliases
from twowiki.data.configs import SET_TYPES
from twowiki.data.schema import HOTPOT_TYPES, TWO_WIKI_TYPES, Example
from twowiki.data.sources import examples_of
from twowiki.errors import DataError
from twowiki.io.arguments import from_values
from twowiki.llm.parsing import UNPARSED, parse_llm_output
from twowiki.llm.prompts import FULL_CONTEXT, RETRIEVED, messages_for
from twowiki.llm.shots import draw_shots
from twowiki.metric.error_analysis import ErrorClassifier
from twowiki.metric.gold import parse_gold, record_of
from twowiki.metric.parts import GoldForm
from twowiki.metric.report import metric_names
from twowiki.metric.results import UNTYPED, no_aliases
from twowiki.metric.scoring import Scorer as JointScorer
from twowiki.metric.settings import ScoreSettings
from twowiki.retrieval.rankings import read_rankings, with_retrieved

try:  # the one error that inspect-ai shows without a traceback
    from inspect_ai._util.error import PrerequisiteError
except ImportError:
    PrerequisiteError = Exception  # type: ignore[misc, assignment]

BY_TYPE = ("f1", "sp_f1", "evi_f1", "joint_em", "joint_f1")
_UNREAD = "unread"
_MESSAGES = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}


class TaskError(DataError, PrerequisiteError):
    """A `DataError` that inspect-ai shows in one line, without a traceback."""

    def __init__(self, error: DataError) -> None:
        DataError.__init__(self, error.problem, **_details(error))
        self.message = escape(str(self))

    def __reduce__(self) -> tuple[object, ...]:
        return TaskError, (DataError(self.problem, **_details(self)),)


def _details(error: DataError) -> dict[str, Any]:
    return {name: getattr(error, name) for name in ("file", "record", "field", "remedy")}


@contextmanager
def _in_one_line() -> Iterator[None]:
    try:
        yield
    except DataError as error:
        raise TaskError(error) from None


@task
@_in_one_line()
def two_wiki(
    source: str,
    split: str | None = None,
    config: str | None = None,
    aliases: str | None = None,
    form: str = FULL_CONTEXT,
    shots: int = 0,
    shots_from: str | None = None,
    questions: int | None = None,
    seed: int = 0,
    rankings: str | None = None,
    paragraphs: int = 10,
    **options: Any,
) -> Task:
    """Ask a model the questions of a split.

    Args:
        source: the questions: a file, a release's zip, or a folder.
        split: the split of it (default: validation, or the only one).
        config: the config of a folder or zip.
        aliases: the release's id_aliases.json.
        form: closed-book, gold-context, full-context, or retrieved (with rankings).
        shots: the number of demonstrations before each question.
        shots_from: where they come from, e.g. train.json.
        questions: the number of questions, from the first on.
        seed: of the demonstrations' choice.
        rankings: what `twowiki retrieve` wrote, in place of each question's own context.
        paragraphs: the largest number of retrieved paragraphs.
        options: further fields of `ScoreSettings`: version, matching, strict, unicode, ...

    Raises:
        DataError: no such data, no gold, no demonstrations, or an unknown option.
    """
    examples = list(islice(examples_of(source, config, split), questions))
    if not examples:
        raise DataError("has no examples", file=source)
    shown, left_out = _shots(shots, shots_from, config, seed, examples)
    if (rankings is None) == (form == RETRIEVED):
        remedy = "Set both: -T form=retrieved -T rankings=FILE"
        raise DataError("rankings belong to the form retrieved", field="form", remedy=remedy)
    if rankings is not None:
        examples = list(with_retrieved(examples, read_rankings(rankings), paragraphs))
    return Task(
        dataset=MemoryDataset(
            [sample_of(example, number, form, shown) for number, example in enumerate(examples, 1)],
            name="two_wiki",
            location=str(source),
        ),
        solver=generate(),
        scorer=joint_scorer(aliases=aliases, options=options),
        metadata={"form": form, "shots": shots, "source": str(source), "n": len(examples),
                  "shots_left_out": left_out},
    )  # fmt: skip


def _as_text(options: dict[str, Any]) -> dict[str, Any]:
    """Return options with the version as text, which inspect reads as a number."""
    return {name: str(value) if name == "version" else value for name, value in options.items()}


def _shots(
    count: int, source: str | None, config: str | None, seed: int, asked_for: Sequence[Example]
) -> tuple[Sequence[Example], list[str]]:
    """Return the demonstrations, and the ids of those left out since they are asked."""
    if not count:
        return (), []
    if not source:
        raise DataError("no demonstrations given", remedy="Name a file with -T shots_from=FILE")
    pool = list(examples_of(source, config, "train"))
    shots = draw_shots(pool, count, seed, asked_for=asked_for)
    if shots.note:
        print(f"warning: {shots.note}", file=sys.stderr)
    return shots.chosen, shots.left_out


def sample_of(example: Example, number: int, form: str, shots: Sequence[Example] = ()) -> Sample:
    """Return a sample: a chat, and the gold as metadata. The question's id is not shown.

    Args:
        example: the question.
        number: the sample's id; logs want numbers.
        form: one of `PROMPT_FORMS`.
        shots: demonstrations.

    Raises:
        DataError: a question whose gold is hidden.
    """
    if not example.has_gold:
        remedy = "Use a split with gold"
        raise DataError("no gold answer", record=example.id, field="answer", remedy=remedy)
    chat: list[ChatMessage] = [
        _MESSAGES[message["role"]](content=message["content"])
        for message in messages_for(example, form, shots)
    ]
    fields = ("id", "type", "answer", "answer_id", "level")
    gold = {name: getattr(example, name) for name in fields}
    for name in ("supporting_facts", "evidences", "evidences_id"):
        value = getattr(example, name)
        gold[name] = None if value is None else [list(entry) for entry in value]
    return Sample(input=chat, target=example.answer or "", id=number, metadata={"gold": gold})


@metric
def joint_means() -> Metric:
    """Return the means of the metrics, some by question type, and the number of unread outputs."""

    def compute(scores: list[SampleScore]) -> Value:
        ordered = sorted(scores, key=lambda one: str(one.sample_id).zfill(12))
        names = [name for name in (_value(ordered[0]) if ordered else ()) if name != _UNREAD]
        means: dict[str, float] = {name: _mean(ordered, name) for name in names}
        for type_ in dict.fromkeys((*TWO_WIKI_TYPES, *SET_TYPES, *HOTPOT_TYPES, UNTYPED)):
            part = [one for one in ordered if _type_of(one) == type_]
            if part and len(part) < len(ordered):
                means |= {f"{type_}_{name}": _mean(part, name) for name in BY_TYPE if name in names}
        means[_UNREAD] = float(sum(_value(one)[_UNREAD] for one in ordered))
        return means

    return compute


def _mean(scores: Sequence[SampleScore], name: str) -> float:
    return sum(_value(one)[name] for one in scores) / len(scores)


def _value(score: SampleScore) -> dict[str, float]:
    value: Any = score.score.value
    return dict(value)


def _type_of(score: SampleScore) -> str:
    gold = (score.sample_metadata or {}).get("gold", {})
    return gold.get("type") or UNTYPED


@scorer(metrics=[joint_means()], name="joint")
def joint_scorer(aliases: str | None = None, options: dict[str, Any] | None = None) -> Scorer:
    """Return the scorer of a model's output: answer, sentences, triples, and the three together.

    Args:
        aliases: the release's id_aliases.json.
        options: fields of `ScoreSettings`.
    """
    settings = from_values(ScoreSettings, _as_text(options or {}))
    inner = JointScorer(
        settings, no_aliases if aliases is None else read_aliases(aliases).aliases_of
    )
    classifier, names = ErrorClassifier(inner), metric_names(settings)

    async def score(state: TaskState, target: Target) -> Score:
        parsed = parse_llm_output(state.output.completion)
        prediction = parsed.prediction
        number = int(state.sample_id) - 1
        record = record_of(state.metadata["gold"], number)
        gold, known = parse_gold(record, number), GoldForm.of_config(settings.config)
        inner.adopt((known or GoldForm.of_record(record)).restricted(settings.parts))
        result = inner.score_example(prediction, gold)
        label = classifier.classify(prediction, gold, result)
        shares = zip(names, result.metrics, strict=True)
        absent = inner.form.absent
        metrics = {name: share * 100 for name, share in shares if name not in absent}
        errors = ", ".join(label.error_types)
        return Score(
            value={**metrics, _UNREAD: float(parsed.form == UNPARSED)},
            answer=parsed.answer,
            explanation=f"read as {parsed.form}; {label.outcome}: {errors}"
            + (f"; could not be read: {', '.join(parsed.unread)}" if parsed.unread else ""),
            metadata={
                "outcome": label.outcome,
                "error_types": list(label.error_types),
                "supporting_facts": parsed.facts,
                "evidences": parsed.triples,
            },
        )

    return score


def outputs_of(log: str | PathLike[str]) -> Iterator[dict[str, str]]:
    """Yield the raw outputs of a log as `twowiki.read_llm_outputs` reads them: id and output.

    Args:
        log: a file that `inspect eval` wrote.
    """
    for sample in read_eval_log(str(log)).samples or ():
        yield {"id": sample.metadata["gold"]["id"], "output": sample.output.completion}
