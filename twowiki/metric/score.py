"""`twowiki.score`: predictions and gold from any source, scored into a `Report`.

In: official files or structures, rows, `datasets` objects; or, for `score_examples`, typed
predictions and examples. Out: a `Report`. The pure parts are in `scoring` and `report`; here data
is read, ids are matched, and what a reader should know is collected.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import msgspec

from twowiki.data.aliases import Aliases, AliasTable, read_aliases
from twowiki.data.amendments import read_amendments
from twowiki.data.schema import HOTPOT_CONFIG, Example, Prediction
from twowiki.errors import DataError, nearest
from twowiki.io.records import DataSource, collector_paused
from twowiki.metric.diagnostics import Diagnostics, collect_warnings
from twowiki.metric.gold import IN_MEMORY, GoldReader, GoldRecord, is_blank
from twowiki.metric.gold_sources import GoldSource, open_gold, read_subset
from twowiki.metric.parts import GoldForm, present_names, without_absent
from twowiki.metric.people import PeopleScores
from twowiki.metric.predictions import PredictionSet, PredictionSource, read_predictions
from twowiki.metric.report import (
    Comparison,
    Report,
    compare_rows,
    make_signature,
    metric_names,
    summarize,
    type_order,
)
from twowiki.metric.results import ExampleResult, Gold, no_aliases
from twowiki.metric.scoring import Scorer
from twowiki.metric.settings import ScoreSettings

if TYPE_CHECKING:
    from twowiki.metric.blame import BlameCounter, Ranked
    from twowiki.metric.sub_answers import HopScores

_encode = msgspec.json.Encoder().encode

Scored = tuple[Gold, GoldRecord | Example, Prediction, ExampleResult]


def score(
    predictions: PredictionSource | PredictionSet,
    gold: GoldSource,
    aliases: Aliases | AliasTable | None = None,
    *,
    compare_with: PredictionSource | PredictionSet | None = None,
    ranked: Ranked | None = None,
    sub_answers: PredictionSource | PredictionSet | None = None,
    command: str | None = None,
    settings: ScoreSettings | None = None,
    **options: Any,
) -> Report:
    """Score answers, supporting facts and evidence, and the three together.

    The defaults return what the authors' evaluator 1.1 returns, to the last digit; where that one
    fails, this scores, or names the record. The arguments are not changed.

    Args:
        predictions: the official file or dict, rows (a list, JSON lines, a `datasets` object or
            column), or `{id: Prediction}`.
        gold: an official file or list, rows, a `datasets` object, an exported or hub-style
            folder (its validation split, unless `split` names another one), or a hub name.
        aliases: `id_aliases.json`, or aliases by Wikidata id; without them the gold texts alone
            count.
        compare_with: another system's predictions, for the paired test.
        ranked: the titles that each question was asked with, or its ranking, by its id; for
            `report.blame`.
        sub_answers: predictions for the sub-questions (`export --format sub-questions`), for
            `report.hops`.
        command: the command line to keep in the report.
        settings: the options, as one object.
        options: fields of `ScoreSettings`, such as `version`, `matching`, `confidence`, `config`;
            they replace those of `settings`.

    Returns:
        The report; `report.metrics` holds the 16 unrounded percentages, None for a part that the
        gold does not have, and for joint where it has one part alone.

    Raises:
        DataError: input that cannot be used; file, record and field are named.
        TypeError: an unknown option.
    """
    settings = _merged(settings, options)
    with collector_paused():
        run = ScoreRun(
            read_predictions(predictions),
            open_gold(gold, config=settings.config, split=settings.split),
            settings,
            aliases=aliases,
            other=None if compare_with is None else read_predictions(compare_with),
            ranked=ranked,
            sub_answers=None if sub_answers is None else read_predictions(sub_answers),
        )
        return run.finish(command)


def score_examples(
    predictions: Mapping[str, Prediction],
    examples: Iterable[Example],
    settings: ScoreSettings | None = None,
    *,
    aliases: Aliases | AliasTable | None = None,
    compare_with: Mapping[str, Prediction] | None = None,
    command: str | None = None,
) -> Report:
    """Score typed predictions of typed examples, as `score` does, without reading anything.

    Args:
        predictions: by question id.
        examples: the questions with their gold.
        settings: the options; `split` does not apply, and `config` decides which parts there are.
        aliases: as in `score`.
        compare_with: another system's predictions, for the paired test.
        command: the command line to keep in the report.

    Raises:
        DataError: no examples, or one without a gold answer.
    """
    run = ScoreRun(
        PredictionSet.of_typed(predictions),
        GoldReader(examples, form=GoldForm.of_config((settings or ScoreSettings()).config)),
        settings or ScoreSettings(),
        aliases=aliases,
        other=None if compare_with is None else PredictionSet.of_typed(compare_with),
    )
    return run.finish(command)


def _merged(settings: ScoreSettings | None, options: Mapping[str, Any]) -> ScoreSettings:
    known = [field.name for field in fields(ScoreSettings)]
    for name in options:
        if name not in known:
            hint = nearest(name, known) or f"one of {', '.join(known)}"
            raise TypeError(f"score() has no option {name!r}. Did you mean {hint}?")
    return replace(settings or ScoreSettings(), **options)


class ScoreRun:
    """One pass over the gold: it scores example after example, then makes the report.

    Iterating yields the gold, its record, the prediction and the result of each example;
    `finish` goes through the rest and returns the report.

    Args:
        predictions: the predictions.
        gold: the gold.
        settings: the options of the score.
        aliases: aliases by Wikidata id, or their file.
        other: another system's predictions, for the paired test.
        ranked: the titles that each question was asked with, by its id.
        sub_answers: predictions for the sub-questions.
    """

    def __init__(
        self,
        predictions: PredictionSet,
        gold: GoldReader,
        settings: ScoreSettings,
        *,
        aliases: Aliases | AliasTable | None = None,
        other: PredictionSet | None = None,
        ranked: Ranked | None = None,
        sub_answers: PredictionSet | None = None,
    ) -> None:
        self.predictions, self.gold, self.settings, self.other = predictions, gold, settings, other
        self.aliases = None if aliases is None else read_aliases(aliases)
        self.subset = None if settings.subset is None else read_subset(settings.subset)
        self.people = None if settings.people is None else PeopleScores(settings.people)
        self.amendments = None if settings.amend is None else read_amendments(settings.amend)
        names = no_aliases if self.aliases is None else self.aliases.aliases_of
        self.scorer = Scorer(settings, names)
        self.results: list[ExampleResult] = []
        self._other_results: list[ExampleResult] = []
        self._blame = None if ranked is None else _blame_counter(ranked)
        self._hops = None if sub_answers is None else _hop_scores(sub_answers)
        self._diagnostics = Diagnostics(coerce=settings.coerce_indices)
        self._hash = GoldHash()
        self._blank: list[str] = []
        self._examples = self._score_all()

    def __iter__(self) -> Iterator[Scored]:
        return self._examples

    def finish(self, command: str | None = None) -> Report:
        """Score what is left and return the report, with the command line to keep in it."""
        deque(self._examples, maxlen=0)
        return self._report(command)

    def _score_all(self) -> Iterator[Scored]:
        settings, wanted = self.settings, None if self.subset is None else set(self.subset)
        try:
            for gold, record in self.gold:
                if wanted is not None and gold.id not in wanted:
                    continue
                if self.amendments is not None:
                    amended = self.amendments.apply(gold, gold.id)
                    if amended is None:
                        continue
                    gold = amended
                if is_blank(gold, record) and not gold.answer:
                    self._blank.append(gold.id)
                if not self.results and self.gold.form is not None:
                    self.scorer.adopt(self.gold.form.restricted(settings.parts))
                prediction = self.predictions.of(gold.id)
                result = self.scorer.score_example(prediction, gold)
                self.results.append(result)
                self._diagnostics.add(prediction, gold, result, record.context)
                self._hash.add(gold)
                if self.people is not None:
                    self.people.add(gold, self.scorer, result)
                if self._blame is not None:
                    self._blame.add(gold, prediction, result)
                if self._hops is not None:
                    self._hops.add(gold, record, result, self.scorer)
                if self.other is not None:
                    other = self.scorer.score_example(self.other.of(gold.id), gold)
                    self._other_results.append(other)
                yield gold, record, prediction, result
            self._check()
        except DataError as error:
            source = self.gold.source.name
            raise error.at(source) if source != IN_MEMORY else error from None

    def _check(self) -> None:
        """Raise if the subset has unknown ids."""
        unknown = [
            example_id for example_id in self.subset or () if example_id not in self.gold.ids
        ]
        if unknown:
            raise DataError(
                f"{len(unknown)} of the subset's {len(self.subset or ())} ids are not in the gold",
                record=unknown[0],
                remedy="The subset belongs to another split, or to another data set",
            )

    def _report(self, command: str | None) -> Report:
        settings, aliases, results = self.settings, self.aliases, self.results
        gold_hash, names = self._hash.hexdigest(), metric_names(settings)
        missing = tuple([result.id for result in results if result.missing])
        extra = tuple([one for one in self.predictions.ids() if one not in self.gold.ids])
        warnings = collect_warnings(
            settings,
            self.predictions,
            self.gold,
            results,
            extra,
            self._blank,
            aliases=aliases is not None,
            parts=self.scorer.form.parts,
            amendments=self.amendments,
        )
        return Report(
            results=results,
            settings=settings,
            form=self.scorer.form,
            people=None if self.people is None else self.people.summary(names, self.scorer.form),
            amendments=None if self.amendments is None else self.amendments.to_dict(),
            signature=self._signature(len(missing), gold_hash),
            predictions=_hashed(self.predictions),
            gold=hashed(self.gold.source, lambda: gold_hash),
            aliases=None if aliases is None else (aliases.source or DataSource(IN_MEMORY, "")),
            missing_ids=missing,
            extra_ids=extra,
            subset=self.subset,
            comparison=None if self.other is None else self._comparison(self.other),
            hops=self._hops,
            blame=None if self._blame is None else self._blame.finish(type_order),
            warnings=(*warnings, *self._diagnostics.warnings()),
            command=command,
        )

    def _signature(self, missing: int, gold_hash: str) -> str:
        """Name all that can change the score; variants that are off are not named."""
        settings, subset, form = self.settings, self.subset, self.scorer.form
        aliases = self.aliases is not None and settings.version != "1.0"
        return make_signature(
            "twowiki_joint",
            f"evaluator:{HOTPOT_CONFIG if form.hotpotqa else settings.version}",
            f"joint:{form.words}",
            *([f"matching:{settings.matching}"] if "evidence" in form.parts else []),
            f"aliases:{'yes' if aliases else 'no'}",
            *(f"{option}:yes" for option in settings.options),
            f"missing:{missing}",
            f"n:{len(self.results)}",
            f"gold:{gold_hash[:6]}",
            *([] if subset is None else [f"subset:{hash_of_texts(sorted(subset))[:6]}"]),
            *([] if self.amendments is None else [f"amended:{self.amendments.hash[:6]}"]),
        )

    def _comparison(self, other: PredictionSet) -> Comparison:
        ours, theirs = (
            [one.metrics for one in part] for part in (self.results, self._other_results)
        )
        names, settings, form = metric_names(self.settings), self.settings, self.scorer.form
        found = compare_rows(ours, theirs, names, rounds=settings.rounds, seed=settings.seed)
        return Comparison(
            _hashed(other),
            without_absent(summarize(theirs, names).metrics, form),
            {name: found[name] for name in present_names(form, names)},
            sum(bool(one.missing) for one in self._other_results),
        )


def _blame_counter(ranked: Ranked) -> BlameCounter:
    from twowiki.metric.blame import BlameCounter  # with numpy, which a score does not need

    return BlameCounter(ranked)


def _hashed(predictions: PredictionSet) -> DataSource:
    return hashed(predictions.source, lambda: hash_of_predictions(predictions))


class GoldHash:
    """Hashes what the 16 metrics depend on, record by record, whatever the records' order."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []

    def add(self, gold: Gold) -> None:
        """Add a record; its question type and context do not affect the metrics."""
        more = [list(gold.answer_aliases)] if gold.answer_aliases else []
        self._lines.append(
            _json([gold.id, gold.answer, gold.answer_id, *gold[2:4], gold[6], *more])
        )

    def hexdigest(self) -> str:
        """Return the hash of all records added."""
        return hashlib.sha256(b"\n".join(sorted(self._lines))).hexdigest()


def hash_of_predictions(predictions: PredictionSet) -> str:
    """Return the hash of predictions as they were read."""
    parts = [predictions.answers, predictions.facts, predictions.triples]
    return hashlib.sha256(_json(parts)).hexdigest()


def hash_of_texts(texts: Iterable[str]) -> str:
    """Return the hash of texts in the given order."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()


def hashed(source: DataSource, hash_of: Callable[[], str]) -> DataSource:
    """Return a source with a hash of its content where it has none, because it was not a file."""
    return source if source.sha256 else source._replace(sha256=hash_of())


def _json(value: Any) -> bytes:
    """Encode a value; what JSON cannot hold is written as Python shows it."""
    try:
        return _encode(value)
    except (TypeError, ValueError, OverflowError):
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=repr)
        return text.encode("utf-8", "surrogatepass")


def _hop_scores(sub_answers: PredictionSet) -> HopScores:
    from twowiki.metric.sub_answers import HopScores  # with numpy, which a score does not need

    return HopScores(sub_answers)
