"""`twowiki.score`: predictions and gold from wherever they lie, scored into a `Report`.

In: official files or structures, rows, `datasets` objects. Out: a `Report`. The pure parts are in
`scoring` and `report`; here data is read, ids are matched, and what looks odd is put into words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from difflib import get_close_matches
from typing import Any

from twowiki.data.aliases import Aliases, AliasTable, read_aliases
from twowiki.data.schema import Prediction
from twowiki.errors import DataError
from twowiki.io.json_files import Source, collector_paused
from twowiki.metric.diagnostics import Inspector, explain
from twowiki.metric.gold import IN_MEMORY, GoldSet, refuse_hidden
from twowiki.metric.gold_sources import GoldSource, only, read_gold, read_subset
from twowiki.metric.hashing import GoldHash, hash_of_predictions, hash_of_texts, hashed
from twowiki.metric.predictions import PredictionSet, PredictionSource, extra_ids, read_predictions
from twowiki.metric.report import Comparison, Report, compare
from twowiki.metric.results import Gold, Row, no_names
from twowiki.metric.scoring import Scorer
from twowiki.metric.settings import ScoreSettings, signature_of


def score(
    predictions: PredictionSource | PredictionSet,
    gold: GoldSource,
    aliases: Aliases | AliasTable | None = None,
    *,
    compare_with: PredictionSource | PredictionSet | None = None,
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
        aliases: `id_aliases.json`, or names by Wikidata id; without it the gold strings alone
            count.
        compare_with: another system's predictions, for the paired test.
        command: the command line to keep in the report.
        settings: the options, as one object.
        options: fields of `ScoreSettings`, such as `version`, `matching`, `confidence`, `config`;
            they replace those of `settings`.

    Returns:
        The report; `report.metrics` holds the 16 unrounded percentages.

    Raises:
        DataError: input that cannot be used; file, record and field are named.
        TypeError: an unknown option.
    """
    settings = _merged(settings, options)
    with collector_paused():
        return score_sets(
            read_predictions(predictions),
            read_gold(gold, config=settings.config, split=settings.split),
            settings,
            names=None if aliases is None else read_aliases(aliases),
            other=None if compare_with is None else read_predictions(compare_with),
            command=command,
        )


def _merged(settings: ScoreSettings | None, options: Mapping[str, Any]) -> ScoreSettings:
    known = [field.name for field in fields(ScoreSettings)]
    for name in options:
        if name not in known:
            near = get_close_matches(name, known, 1) or known
            raise TypeError(f"score() has no option {name!r}. Did you mean {' or '.join(near)}?")
    return replace(settings or ScoreSettings(), **options)


def score_sets(
    said: PredictionSet,
    true: GoldSet,
    settings: ScoreSettings,
    *,
    names: AliasTable | None,
    other: PredictionSet | None,
    command: str | None,
) -> Report:
    """Score what has been read: match ids, make rows, and put them into a report."""
    extra = extra_ids(said, true)
    chosen = None if settings.subset is None else read_subset(settings.subset)
    if chosen is not None:
        true = only(true, chosen)
    refuse_hidden(true)
    scorer = Scorer(settings, no_names if names is None else names.names_of)
    inspector, content = Inspector(coerce=settings.coerce_indices), GoldHash()
    rows = []
    for prediction, gold, row, context in _scored(scorer, said, true):
        rows.append(row)
        inspector.look(prediction, gold, row, context)
        content.add(gold)
    compared = None if other is None else _compared(scorer, rows, other, true)
    return assemble(
        said,
        true,
        settings,
        rows,
        inspector,
        gold_hash=content.hexdigest(),
        extra=extra,
        names=names,
        chosen=chosen,
        comparison=compared,
        command=command,
    )


def assemble(
    said: PredictionSet,
    true: GoldSet,
    settings: ScoreSettings,
    rows: list[Row],
    inspector: Inspector,
    *,
    gold_hash: str,
    extra: tuple[str, ...],
    names: AliasTable | None,
    chosen: tuple[str, ...] | None,
    comparison: Comparison | None = None,
    command: str | None = None,
) -> Report:
    """Put scored rows into a report: the signature, the sources, and what a reader should know.

    Args:
        said: the predictions.
        true: the gold that was scored; its ids and what is said of it count here, no contexts.
        settings: the variant of the metric.
        rows: the scored examples, in the gold's order.
        inspector: what has looked at each of them.
        gold_hash: hash of the scored gold.
        extra: the predicted ids that the gold does not know.
        names: other names by Wikidata id.
        chosen: the ids that were scored alone.
        comparison: another system on the same gold.
        command: the command line to keep.
    """
    missing = tuple([row.id for row in rows if row.missing])
    return Report(
        rows=rows,
        settings=settings,
        signature=signature_of(
            settings,
            aliases=names is not None,
            missing=len(missing),
            n=len(rows),
            gold=gold_hash,
            subset=None if chosen is None else hash_of_texts(sorted(chosen)),
        ),
        predictions=hashed(said.source, lambda: hash_of_predictions(said)),
        gold=hashed(true.source, lambda: gold_hash),
        aliases=None if names is None else (names.source or Source(IN_MEMORY, "")),
        missing_ids=missing,
        extra_ids=extra,
        subset=chosen,
        comparison=comparison,
        warnings=tuple(explain(settings, said, true, names is not None, rows, extra, inspector)),
        command=command,
    )


def _scored(
    scorer: Scorer, said: PredictionSet, true: GoldSet
) -> Iterator[tuple[Prediction, Gold, Row, Any]]:
    """Yield each gold example with what is said of it, its row and its context."""
    try:
        for gold, context in zip(true.golds, true.contexts, strict=True):
            prediction = said.of(gold.id)
            yield prediction, gold, scorer.score_example(prediction, gold), context
    except DataError as error:
        raise error.at(true.source.name) from None


def _compared(scorer: Scorer, rows: list[Row], other: PredictionSet, true: GoldSet) -> Comparison:
    theirs = [row for _, _, row, _ in _scored(scorer, other, true)]
    source = hashed(other.source, lambda: hash_of_predictions(other))
    return compare(rows, theirs, source, scorer.settings)
