"""`twowiki.score`: predictions and gold from wherever they lie, scored into a `Report`.

In: official files or structures, rows, `datasets` objects. Out: a `Report`. The pure parts are in
`scoring` and `report`; here data is read, ids are matched, and what looks odd is put into words.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from twowiki.data.aliases import Aliases, AliasTable, read_aliases
from twowiki.data.schema import Prediction
from twowiki.errors import DataError
from twowiki.io.json_files import Source, collector_paused
from twowiki.metric.diagnostics import Inspector, explain
from twowiki.metric.gold import IN_MEMORY, GoldSet, refuse_hidden
from twowiki.metric.gold_sources import GoldSource, Subset, only, read_gold, read_subset
from twowiki.metric.hashing import GoldHash, hash_of_predictions, hash_of_texts, hashed
from twowiki.metric.predictions import PredictionSet, PredictionSource, extra_ids, read_predictions
from twowiki.metric.report import Comparison, Report, Resampling, compare, keys_of
from twowiki.metric.results import Gold, Row, no_names
from twowiki.metric.scoring import Scorer
from twowiki.metric.settings import Settings, signature_of


def score(
    predictions: PredictionSource | PredictionSet,
    gold: GoldSource,
    aliases: Aliases | AliasTable | None = None,
    version: str = "1.1",
    matching: str = "official",
    *,
    strict: bool = False,
    strip_titles: bool = False,
    coerce_indices: bool = False,
    unicode: bool = False,
    contains: bool = False,
    subset: Subset | None = None,
    compare_with: PredictionSource | PredictionSet | None = None,
    by_type: bool = False,
    confidence: float | None = None,
    resamples: int = 1000,
    rounds: int = 10_000,
    seed: int = 0,
    config: str | None = None,
    split: str | None = None,
    command: str | None = None,
) -> Report:
    """Score answers, supporting facts and evidence, and the three together.

    The defaults give what the authors' evaluator 1.1 gives, to the last digit; where it dies,
    this scores, or names the record. Nothing given is changed.

    Args:
        predictions: the official file or dict, rows (a list, JSON lines, a `datasets` object or
            column), or `{id: Prediction}`.
        gold: an official file or list, rows, a `datasets` object, an exported or hub-style
            folder (its validation split, unless `split` says otherwise), or a hub name.
        aliases: `id_aliases.json`, or names by Wikidata id; without it the gold strings alone
            count.
        version: the evaluator's: "1.1" (ids and names) or "1.0".
        matching: "official" or "one_to_one" (each gold triple matched at most once).
        strict: both sides empty gives f1, precision and recall 100, not 0.
        strip_titles: ignore blanks at the ends of titles.
        coerce_indices: read sentence ids given as text as numbers.
        unicode: make typographic variants equal first.
        contains: add the figure `contains`.
        subset: ids to score alone: an iterable, or a file (one id a line, or a JSON list).
        compare_with: another system's predictions, for the paired test.
        by_type: put the means by question type into the output.
        confidence: of bootstrap intervals, between 0 and 1; None leaves them out.
        resamples: of the bootstrap.
        rounds: of the paired randomization test.
        seed: of both.
        config: of a folder or hub data set.
        split: of a folder, a zip, a dict of splits or a hub data set.
        command: the command line to keep in the report.

    Returns:
        The report; `report.metrics` holds the 16 unrounded percentages.

    Raises:
        DataError: input that cannot be used; file, record and field are named.
    """
    settings = Settings(
        version=version,
        matching=matching,
        strict=strict,
        strip_titles=strip_titles,
        coerce_indices=coerce_indices,
        unicode=unicode,
        contains=contains,
    )
    with collector_paused():
        return score_sets(
            read_predictions(predictions),
            read_gold(gold, config=config, split=split),
            settings,
            names=None if aliases is None else read_aliases(aliases),
            chosen=None if subset is None else read_subset(subset),
            other=None if compare_with is None else read_predictions(compare_with),
            resampling=resampling_of(confidence, resamples, rounds, seed),
            by_type=by_type,
            command=command,
        )


def score_sets(
    said: PredictionSet,
    true: GoldSet,
    settings: Settings,
    *,
    names: AliasTable | None,
    chosen: tuple[str, ...] | None,
    other: PredictionSet | None,
    resampling: Resampling,
    by_type: bool,
    command: str | None,
) -> Report:
    """Score what has been read: match ids, make rows, and put them into a report."""
    extra = extra_ids(said, true)
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
    compared = None if other is None else _compared(scorer, rows, other, true, resampling)
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
        resampling=resampling,
        by_type=by_type,
        comparison=compared,
        command=command,
    )


def assemble(
    said: PredictionSet,
    true: GoldSet,
    settings: Settings,
    rows: list[Row],
    inspector: Inspector,
    *,
    gold_hash: str,
    extra: tuple[str, ...],
    names: AliasTable | None,
    chosen: tuple[str, ...] | None,
    resampling: Resampling,
    by_type: bool,
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
        resampling: how chance is drawn.
        by_type: put the means by question type into the output.
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
        resampling=resampling,
        by_type=by_type,
        comparison=comparison,
        warnings=tuple(explain(settings, said, true, names is not None, rows, extra, inspector)),
        command=command,
    )


def resampling_of(confidence: float | None, resamples: int, rounds: int, seed: int) -> Resampling:
    """Check how chance is to be drawn."""
    if confidence is not None and not 0 < confidence < 1:
        raise DataError(
            f"confidence is {confidence}", remedy="Give a share between 0 and 1, such as 0.95"
        )
    for name, value in (("resamples", resamples), ("rounds", rounds)):
        if value < 1:
            raise DataError(f"{name} is {value}", remedy="Give at least 1")
    return Resampling(confidence, resamples, rounds, seed)


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


def _compared(
    scorer: Scorer, rows: list[Row], other: PredictionSet, true: GoldSet, resampling: Resampling
) -> Comparison:
    theirs = [row for _, _, row, _ in _scored(scorer, other, true)]
    source = hashed(other.source, lambda: hash_of_predictions(other))
    return compare(rows, theirs, source, keys_of(scorer.settings), resampling)
