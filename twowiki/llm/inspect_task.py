"""An inspect-ai task: any language model on a split, scored with the joint metric.

    inspect eval twowiki/two_wiki -T source=dev.json -T aliases=id_aliases.json --model openai/...

The prompts are those of `twowiki prompt`, the texts are read as `twowiki score --from-llm` reads
them, and the figures are those of `twowiki score`: a sample has the 16 of its row, the task their
means (0-100), by question type too. `outputs_of` takes a log's texts back to the commands.
"""

from __future__ import annotations

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
from twowiki.data.schema import TWO_WIKI_TYPES, Example, Prediction
from twowiki.data.sources import examples_of
from twowiki.errors import DataError
from twowiki.llm.parsing import UNPARSED, parse_llm_output
from twowiki.llm.prompts import FULL_CONTEXT, draw_shots, messages_for
from twowiki.metric.error_analysis import Judge
from twowiki.metric.gold import gold_of
from twowiki.metric.report import UNTYPED
from twowiki.metric.results import KEYS, no_names
from twowiki.metric.scoring import Scorer as JointScorer
from twowiki.metric.settings import ScoreSettings

try:  # the one error that inspect-ai shows without a traceback
    from inspect_ai._util.error import PrerequisiteError
except ImportError:
    PrerequisiteError = Exception  # type: ignore[misc, assignment]

BY_TYPE = ("f1", "sp_f1", "evi_f1", "joint_em", "joint_f1")
_MESSAGES = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}


class TaskError(DataError, PrerequisiteError):
    """A `DataError` that inspect-ai shows in one line, without a traceback."""

    def __init__(self, error: DataError) -> None:
        DataError.__init__(
            self,
            error.problem,
            file=error.file,
            record=error.record,
            field=error.field,
            remedy=error.remedy,
        )
        self.message = escape(str(self))

    def __reduce__(self) -> tuple[object, ...]:
        plain = DataError(
            self.problem,
            file=self.file,
            record=self.record,
            field=self.field,
            remedy=self.remedy,
        )
        return TaskError, (plain,)


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
    version: str | float = "1.1",
    matching: str = "official",
) -> Task:
    """Ask a model the questions of a split.

    Args:
        source: the questions: a file, a release's zip, or a folder.
        split: which split of it (default: validation, or the only one).
        config: which config of a folder or zip.
        aliases: the release's id_aliases.json.
        form: closed-book, gold-context or full-context.
        shots: demonstrations before each question.
        shots_from: where they come from, e.g. train.json.
        questions: the first questions alone.
        seed: of the demonstrations' choice.
        version: the evaluator's.
        matching: official or one_to_one.

    Raises:
        DataError: no such data, no gold, or no demonstrations.
    """
    examples = list(islice(examples_of(source, config, split), questions))
    if not examples:
        raise DataError("holds no examples", file=source)
    shown = _shots(shots, shots_from, config, seed)
    return Task(
        dataset=MemoryDataset(
            [sample_of(example, number, form, shown) for number, example in enumerate(examples, 1)],
            name="two_wiki",
            location=str(source),
        ),
        solver=generate(),
        scorer=joint(aliases=aliases, version=str(version), matching=matching),
        metadata={"form": form, "shots": shots, "source": str(source), "n": len(examples)},
    )


def _shots(count: int, source: str | None, config: str | None, seed: int) -> Sequence[Example]:
    if not count:
        return ()
    if not source:
        raise DataError("no demonstrations given", remedy="Name a file with -T shots_from=FILE")
    return draw_shots(list(examples_of(source, config, "train")), count, seed)


def sample_of(example: Example, number: int, form: str, shots: Sequence[Example] = ()) -> Sample:
    """Make a sample: a chat, and the gold as metadata. The id of the question is not shown.

    Args:
        example: the question.
        number: the sample's id; logs want numbers.
        form: closed-book, gold-context or full-context.
        shots: demonstrations.

    Raises:
        DataError: a question whose gold is hidden.
    """
    if not example.has_gold:
        raise DataError(
            "no gold answer", record=example.id, field="answer", remedy="Take a split with gold"
        )
    chat: list[ChatMessage] = [
        _MESSAGES[message["role"]](content=message["content"])
        for message in messages_for(example, form, shots)
    ]
    gold = {
        "id": example.id,
        "type": example.type,
        "answer": example.answer,
        "answer_id": example.answer_id,
        "supporting_facts": [list(fact) for fact in example.supporting_facts],
        "evidences": [list(triple) for triple in example.evidences],
        "evidences_id": [list(triple) for triple in example.evidences_id],
    }
    return Sample(input=chat, target=example.answer or "", id=number, metadata={"gold": gold})


@metric
def joint_means() -> Metric:
    """Means of the 16 figures, some by question type, and how many texts could not be read."""

    def compute(scores: list[SampleScore]) -> Value:
        ordered = sorted(scores, key=lambda one: str(one.sample_id).zfill(12))
        figures: dict[str, float] = {key: _mean(ordered, key) for key in KEYS}
        for kind in (*TWO_WIKI_TYPES, UNTYPED):
            mine = [one for one in ordered if _type_of(one) == kind]
            if mine and len(mine) < len(ordered):
                figures |= {f"{kind}_{key}": _mean(mine, key) for key in BY_TYPE}
        figures["unread"] = float(sum(_value(one)["unread"] for one in ordered))
        return figures

    return compute


def _mean(scores: Sequence[SampleScore], key: str) -> float:
    return sum(_value(one)[key] for one in scores) / len(scores) if scores else 0.0


def _value(score: SampleScore) -> dict[str, float]:
    value: Any = score.score.value
    return dict(value)


def _type_of(score: SampleScore) -> str:
    gold = (score.sample_metadata or {}).get("gold", {})
    return gold.get("type") or UNTYPED


@scorer(metrics=[joint_means()])
def joint(aliases: str | None = None, version: str = "1.1", matching: str = "official") -> Scorer:
    """Score a model's text: answer, supporting sentences, triples, and the three together.

    Args:
        aliases: the release's id_aliases.json.
        version: the evaluator's, 1.1 or 1.0.
        matching: official or one_to_one.
    """
    names = no_names if aliases is None else read_aliases(aliases).names_of
    inner = JointScorer(ScoreSettings(version=version, matching=matching), names)
    judge = Judge(inner)

    async def score(state: TaskState, target: Target) -> Score:
        read = parse_llm_output(state.output.completion)
        said: tuple[Any, ...] = (read.answer, read.facts, read.triples)
        prediction = Prediction(*said)
        gold, _ = gold_of(state.metadata["gold"], int(state.sample_id) - 1, TWO_WIKI_TYPES)
        row = inner.score_example(prediction, gold)
        verdict = judge.judge(prediction, gold, row)
        figures = {key: share * 100 for key, share in zip(KEYS, row.figures, strict=True)}
        return Score(
            value={**figures, "unread": float(read.form == UNPARSED)},
            answer=read.answer,
            explanation=f"read as {read.form}; {verdict.outcome}: {', '.join(verdict.signs)}",
            metadata={
                "outcome": verdict.outcome,
                "signs": list(verdict.signs),
                "supporting_facts": read.facts,
                "evidences": read.triples,
            },
        )

    return score


def outputs_of(log: str | PathLike[str]) -> Iterator[dict[str, str]]:
    """Yield a log's raw texts as `twowiki.read_llm_outputs` takes them: id and output.

    Args:
        log: a file that `inspect eval` wrote.
    """
    for sample in read_eval_log(str(log)).samples or ():
        yield {"id": sample.metadata["gold"]["id"], "output": sample.output.completion}
