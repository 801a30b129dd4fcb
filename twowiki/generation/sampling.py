"""From candidates to samples with contexts and splits: three stages.

In: the `selected_*` tables. Out: `samples.jsonl`, `examples.jsonl` (with contexts) and
`splits.json` in the stages' folders, and what was dropped by reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pyarrow as pa

from twowiki.generation.balancing import (
    ALL_SHORTCUTS,
    DROPPED_FOR_BALANCE,
    Signs,
    dropped_for_balance,
    signs_of,
)
from twowiki.generation.contexts import Contexts, gold_tables, hits_table
from twowiki.generation.depth import Chain, deep_samples, entities_of, find_deep_chains
from twowiki.generation.drawing import Drawing
from twowiki.generation.entities import Entities
from twowiki.generation.listed import Candidates, entities_of_lists, find_listed, listed_samples
from twowiki.generation.profiles import distances, profile_of
from twowiki.generation.queries import CONTEXTS, WANTED, run_queries
from twowiki.generation.ranking import FAR, NEAR, nearest_pages
from twowiki.generation.review import Reviewer
from twowiki.generation.run import GenerationRun
from twowiki.generation.samples import Candidate, GeneratedSample, QuestionInContext, Style
from twowiki.generation.selection import (
    DroppedCandidate,
    read_candidates,
    select_samples,
    table_of_type,
)
from twowiki.generation.settings import GenerateConfig
from twowiki.generation.single_hop import with_best_paragraph, word_rarity
from twowiki.generation.single_hop_encoder import probe_scores
from twowiki.generation.splits import SampleSplits, assign_splits, paper_splits
from twowiki.generation.tables import write_part
from twowiki.io.files import replacing, write_json
from twowiki.io.stages import fingerprint_of

BALANCED = ("comparison", "bridge_comparison")
_SURPLUS = 20
_T = TypeVar("_T")


def read_json_lines(path: Path, shape: type[_T]) -> Iterator[_T]:
    """Read the lines of a file that a stage wrote, each in the given shape."""
    decoder = msgspec.json.Decoder(shape)
    with open(path, "rb") as stream:
        for line in stream:
            yield decoder.decode(line)


def write_lines(path: Path, records: Iterable[Any]) -> int:
    """Write records as JSON lines in one step; return the number of lines."""
    encoder = msgspec.json.Encoder()
    count = 0
    with replacing(path, "wb") as stream:
        for record in records:
            stream.write(encoder.encode(record) + b"\n")
            count += 1
    return count


def _template_texts() -> list[str]:
    folder = files("twowiki.generation") / "templates"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".yaml"))
    return [(folder / name).read_text("utf-8") for name in names]


def make_samples(run: GenerationRun) -> None:
    """Word the candidates; keep the number of each type that the settings ask for."""
    config = run.config
    settings = config.to_dict() | {"templates": _template_texts()}
    if config.profile is not None:
        settings["like"] = msgspec.to_builtins(config.profile)

    def make(folder: Path) -> Mapping[str, Any]:
        samples, dropped, entities, counts = _select(run, folder)
        write_lines(folder / "samples.jsonl", samples)
        write_lines(folder / "dropped.jsonl", dropped)
        write_lines(folder / "aliases.jsonl", _aliases(samples, entities))
        reasons = Counter(f"{entry.type}/{entry.reason}" for entry in dropped)
        return {"samples": len(samples), "dropped": dict(sorted(reasons.items()))} | counts

    run.stage("samples", make, settings=settings, queries=WANTED)


def _select(
    run: GenerationRun, folder: Path
) -> tuple[list[GeneratedSample], list[DroppedCandidate], Entities, dict[str, Any]]:
    """Return samples, dropped candidates, the entities that the candidates name, and counts."""
    config = run.config
    # Contexts may drop a sample: some more are made, and the surplus is cut at the end.
    most = {
        kind: None if limit is None else limit + _SURPLUS
        for kind, limit in ((kind, config.limit_of(kind)) for kind in config.types)
    }
    chosen = config.balanced or config.profile is not None  # needs many to choose from
    candidates = {
        kind: read_candidates(
            run.tables[table_of_type(kind)],
            kind,
            None if limit is None or chosen else 3 * limit + 50,
        )
        for kind, limit in most.items()
    }
    qids = {qid for rows in candidates.values() for row in rows for qid in row.entities}
    deep: dict[int, list[Chain]] = {}
    each = 0
    if config.hops > 2 and (wanted_chains := most.get("compositional")) is not None:
        each = wanted_chains // (config.hops - 1)
        most["compositional"] = wanted_chains - each * (config.hops - 2)
        deep = find_deep_chains(run.tables["grounded"], config.hops, each, config.seed)
        qids |= entities_of(deep)
    listed: Candidates = {}
    listed_limit = (config.limit_per_type or 0) + _SURPLUS
    if config.sets:
        listed = find_listed(run.tables, listed_limit, config.seed)
        qids |= entities_of_lists(listed)
    wanted = pa.table({"qid": pa.array(sorted(qids), pa.int64())})
    write_part(folder / "wanted", "part-00000", wanted)
    run_queries(run.engine, WANTED, dict(run.tables) | {"wanted": folder / "wanted"}, folder)
    entities = Entities(folder)
    samples, dropped = _draw(config, candidates, entities, most)
    style = Style(config.title_case, config.seed)
    if deep:
        samples = _by_turns([*samples, *deep_samples(deep, entities, style, each)])
    reviewer = Reviewer(entities, config.allowed, worded=config.support == "worded")
    samples += listed_samples(listed, entities, style, listed_limit, reviewer)
    if config.profile is None:
        return samples, dropped, entities, {}
    plain = replace(config, like="", balanced=False)
    before, _ = _draw(plain, candidates, entities, most)
    found = distances(config.profile, profile_of(before, "before"))
    return samples, dropped, entities, {"like_before": found}


def _by_turns(samples: Iterable[GeneratedSample]) -> list[GeneratedSample]:
    """Order samples so that a limit cuts as many compositional ones of each number of hops."""
    seen: Counter[tuple[str, int]] = Counter()
    ranked = []
    for sample in samples:
        chain = sample.type == "compositional"
        ranked.append((seen[sample.type, len(sample.evidences)] if chain else -1, sample))
        seen[sample.type, len(sample.evidences)] += 1
    return [sample for _, sample in sorted(ranked, key=lambda one: one[0])]


def _draw(
    config: GenerateConfig,
    candidates: Mapping[str, Sequence[Candidate]],
    entities: Entities,
    most: Mapping[str, int | None],
) -> tuple[list[GeneratedSample], list[DroppedCandidate]]:
    reviewer = Reviewer(entities, config.allowed, worded=config.support == "worded")
    known_questions: set[str] = set()
    samples: list[GeneratedSample] = []
    dropped: list[DroppedCandidate] = []
    for kind in config.types:
        even = kind in BALANCED and not config.exhaustive
        drawing = Drawing(
            kind,
            entities,
            most=most[kind],
            yes_share=config.yes_share if even else None,
            balanced=config.balanced and not config.exhaustive,
            profile=config.profile.types.get(kind) if config.profile else None,
        )
        selection = select_samples(
            candidates[kind],
            kind,
            entities,
            Style(config.title_case, config.seed),
            most=most[kind],
            drawing=drawing,
            known_questions=known_questions,
            reviewer=reviewer,
        )
        samples += selection.samples
        dropped += selection.dropped
    return samples, dropped


def _aliases(samples: Iterable[GeneratedSample], entities: Entities) -> Iterator[dict[str, Any]]:
    """Return the alias line of every entity that is an answer or part of an evidence."""
    named: set[str | None] = set()
    for sample in samples:
        named.add(sample.answer_id)
        for triple in sample.evidences_id:
            named |= {triple.subject_id, triple.object_id}
    for qid in sorted(int(name[1:]) for name in named if name and name[0] == "Q"):
        if qid not in entities:
            continue
        names = entities.names(qid)
        demonyms = sorted({name.text for name in names if name.kind == "demonym"})
        others = sorted({name.text for name in names if name.kind != "demonym"})
        yield {"Q_id": f"Q{qid}", "aliases": others, "demonyms": demonyms}


def make_contexts(run: GenerationRun) -> None:
    """Add distractors to the gold paragraphs of every sample, up to ten paragraphs."""
    config = run.config
    path = run.work / "samples" / "samples.jsonl"
    samples = list(read_json_lines(path, GeneratedSample))

    def make(folder: Path) -> Mapping[str, Any]:
        contexts = _find_distractors(run, folder, samples)
        counts: Counter[str] = Counter()
        kept: Counter[str] = Counter()

        def examples() -> Iterator[GeneratedSample]:
            for number, sample in enumerate(samples):
                limit = config.limit_of(sample.type)
                found = contexts.of(number, sample, config.seed)
                if found is None:
                    counts[f"{sample.type}/too_few_distractors"] += 1
                elif limit is not None and kept[sample.type] >= limit:
                    counts[f"{sample.type}/beyond_the_limit"] += 1
                else:
                    kept[sample.type] += 1
                    context, tier = found
                    yield msgspec.structs.replace(sample, context=context, tier=tier)

        total = write_lines(folder / "examples.jsonl", examples())
        return {"examples": total, "dropped": dict(sorted(counts.items()))}

    limits = [config.limit_of(kind) for kind in config.all_types]
    settings = [*limits, config.paragraphs_wanted]
    run.stage("contexts", make, settings=settings, queries=CONTEXTS)


def _find_distractors(run: GenerationRun, folder: Path, samples: list[GeneratedSample]) -> Contexts:
    """Take distractors from the 50 nearest pages; samples that fall short from 200, any type."""
    linked, workers = run.tables["linked"], run.resources.workers
    ranked = nearest_pages(samples, linked, workers=workers, folder=folder)
    size = run.config.paragraphs_wanted
    contexts = Contexts(size)
    numbers: Iterable[int] = range(len(samples))
    for name, depth in (("near", NEAR), ("far", FAR)):
        tables = dict(run.tables)
        rows = gold_tables(samples, numbers, size, typed_only=depth == NEAR)
        for table, found in (rows | {"hits": hits_table(ranked, numbers, depth)}).items():
            write_part(folder / name / table, "part-00000", found)
            tables[table] = folder / name / table
        run_queries(run.engine, CONTEXTS, tables, folder / name)
        contexts.add(folder / name / "distractors", folder / name / "context_pages")
        numbers = contexts.short(samples)
        if not numbers:
            break
    return contexts


def _balance(config: GenerateConfig, path: Path, splits: SampleSplits) -> None:
    """Drop samples from the splits until no named shortcut is right, or wrong, too often."""
    signs: dict[str, dict[str, Signs]] = {kind: {} for kind in BALANCED}
    for sample in read_json_lines(path, QuestionInContext):
        if sample.type in BALANCED and splits.of[sample.id]:
            profile = config.profile.types.get(sample.type) if config.profile else None
            share = profile.yes if profile and config.yes_share is not None else config.yes_share
            even = share in (None, 0.5)
            signs[sample.type][sample.id] = signs_of(
                sample, sample.answer, ALL_SHORTCUTS, even=even
            )
    for found in signs.values():
        for sample_id in dropped_for_balance(found):
            splits.of[sample_id] = ""
            splits.dropped[DROPPED_FOR_BALANCE] += 1


def make_splits(run: GenerationRun) -> None:
    """Score every sample by the single-hop reader and assign the samples to splits."""
    config = run.config
    path = run.work / "contexts" / "examples.jsonl"

    def make(folder: Path) -> Mapping[str, Any]:
        rarity = word_rarity(sample.question for sample in read_json_lines(path, QuestionInContext))
        samples = list(with_best_paragraph(read_json_lines(path, QuestionInContext), rarity))
        scores = probe_scores(samples, config.seed, config.probe)
        if config.splits == "paper":
            splits = paper_splits(samples, scores, config.seed)
        else:
            splits = assign_splits(samples, scores, config.seed, keep_all=config.exhaustive)
        if config.balanced and not config.exhaustive:
            _balance(config, path, splits)
        write_json(folder / "splits.json", splits.of, indent=0)
        write_json(folder / "scores.json", scores, indent=0)
        mean = round(100 * sum(scores.values()) / max(1, len(scores)), 2)
        return {
            "probe_f1": mean,
            "level": splits.level,
            "leaks": splits.leaks,
            "dropped": dict(splits.dropped),
        }

    own = Path(config.probe.removeprefix("file:"))
    known = fingerprint_of(own) if own.is_file() else None
    run.stage("splits", make, settings=[config.probe, known, config.splits])
