"""From candidates to samples with contexts and splits: three stages.

In: the `selected_*` tables. Out: `samples.jsonl`, `examples.jsonl` (with contexts) and
`splits.json` in the stages' folders, and what was dropped by reason.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

import msgspec
import numpy as np
import pyarrow as pa

from twowiki.generation.balancing import Balance
from twowiki.generation.contexts import Contexts
from twowiki.generation.depth import Chain, deep_samples, entities_of, find_deep_chains
from twowiki.generation.distractors import SAMPLES_AT_ONCE, write_inputs
from twowiki.generation.drawing import Drawing
from twowiki.generation.entities import Entities, named_entities
from twowiki.generation.listed import Candidates, entities_of_lists, find_listed, listed_samples
from twowiki.generation.profiles import distances, profile_of
from twowiki.generation.queries import CONTEXTS, WANTED, run_queries
from twowiki.generation.ranking import FAR, NEAR, write_nearest
from twowiki.generation.review import Reviewer
from twowiki.generation.run import GenerationRun
from twowiki.generation.samples import Candidate, GeneratedSample, QuestionInContext, Style
from twowiki.generation.selection import (
    DroppedCandidate,
    candidate_of_type,
    read_candidates,
    select_samples,
    table_of_type,
)
from twowiki.generation.settings import GenerateConfig
from twowiki.generation.shortcuts import TWO_WAY
from twowiki.generation.single_hop import QuestionText, with_best_paragraph, word_rarity
from twowiki.generation.single_hop_encoder import probe_scores
from twowiki.generation.splits import assign_splits, paper_splits
from twowiki.generation.tables import write_part
from twowiki.generation.text import normalize
from twowiki.io.files import replacing, write_json
from twowiki.io.processes import numbered_parts
from twowiki.io.stages import fingerprint_of

NEAREST = ".nearest"
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
        drawn = _plan(run, folder)
        counts: Counter[str] = Counter()
        named = array("q")

        def samples(dropped: IO[bytes]) -> Iterator[GeneratedSample]:
            for one in drawn.samples():
                if isinstance(one, DroppedCandidate):
                    counts[f"{one.type}/{one.reason}"] += 1
                    dropped.write(msgspec.json.encode(one) + b"\n")
                else:
                    named.extend(_named(one))
                    yield one

        with replacing(folder / "dropped.jsonl", "wb") as dropped:
            total = write_lines(folder / "samples.jsonl", samples(dropped))
        write_lines(folder / "aliases.jsonl", _aliases(named, drawn.entities))
        found = drawn.distances()
        return {"samples": total, "dropped": dict(sorted(counts.items()))} | found

    run.stage("samples", make, settings=settings, queries=WANTED, keep_partial=True)


class _Plan(NamedTuple):
    """Which candidates become samples, with the entities that they name."""

    run: GenerationRun
    folder: Path
    entities: Entities
    limits: Mapping[str, int | None]
    most: Mapping[str, int | None]
    deep: Mapping[int, list[Chain]]
    each: int
    listed: Candidates
    listed_most: int

    def samples(self) -> Iterator[GeneratedSample | DroppedCandidate]:
        """Yield samples, and the candidates that give none."""
        config, entities = self.run.config, self.entities
        style = Style(config.title_case, config.seed)
        if self.deep:
            drawn: list[GeneratedSample] = []
            for one in _draw(self, config):
                if isinstance(one, GeneratedSample):
                    drawn.append(one)
                else:
                    yield one
            yield from _by_turns([*drawn, *deep_samples(self.deep, entities, style, self.each)])
        else:
            yield from _draw(self, config)
        reviewer = Reviewer(entities, config.allowed, worded=config.support == "worded")
        yield from listed_samples(self.listed, entities, style, self.listed_most, reviewer)

    def distances(self) -> dict[str, Any]:
        """Return how far samples that are drawn without the profile are from it."""
        config = self.run.config
        if config.profile is None:
            return {}
        drawn = _draw(self, replace(config, like="", balanced=False))
        before = profile_of((one for one in drawn if isinstance(one, GeneratedSample)), "before")
        return {"like_before": distances(config.profile, before)}


def _plan(run: GenerationRun, folder: Path) -> _Plan:
    """Gather the entities that the candidates name, and what is known of them."""
    config = run.config
    # Contexts may drop a sample: some more are made, and the surplus is cut at the end.
    limits = {
        kind: None if limit is None else limit + _SURPLUS
        for kind, limit in ((kind, config.limit_of(kind)) for kind in config.types)
    }
    most = dict(limits)
    qids = array("q")
    for kind, limit in limits.items():
        for named in named_entities(run.tables[table_of_type(kind)], kind, _surplus(run, limit)):
            qids.extend(named)
    deep: dict[int, list[Chain]] = {}
    each = 0
    if config.hops > 2 and (wanted_chains := most.get("compositional")) is not None:
        each = wanted_chains // (config.hops - 1)
        most["compositional"] = wanted_chains - each * (config.hops - 2)
        deep = find_deep_chains(run.tables["grounded"], config.hops, each, config.seed, folder)
        qids.extend(entities_of(deep))
    listed: Candidates = {}
    listed_most = (config.limit_per_type or 0) + _SURPLUS
    if config.sets:
        listed = find_listed(run.tables, listed_most, config.seed)
        qids.extend(entities_of_lists(listed))
    wanted = pa.table({"qid": pa.array(np.unique(np.array(qids, dtype=np.int64)), pa.int64())})
    write_part(folder / "wanted", "part-00000", wanted)
    run_queries(run.engine, WANTED, dict(run.tables) | {"wanted": folder / "wanted"}, folder)
    return _Plan(run, folder, Entities(folder), limits, most, deep, each, listed, listed_most)


def _by_turns(samples: Iterable[GeneratedSample]) -> list[GeneratedSample]:
    """Order samples so that a limit cuts as many compositional ones of each number of hops."""
    seen: Counter[tuple[str, int]] = Counter()
    ranked = []
    for sample in samples:
        chain = sample.type == "compositional"
        ranked.append((seen[sample.type, len(sample.evidences)] if chain else -1, sample))
        seen[sample.type, len(sample.evidences)] += 1
    return [sample for _, sample in sorted(ranked, key=lambda one: one[0])]


def _candidates(run: GenerationRun, kind: str, limit: int | None) -> Iterator[Candidate]:
    return read_candidates(run.tables[table_of_type(kind)], kind, _surplus(run, limit))


def _surplus(run: GenerationRun, limit: int | None) -> int | None:
    """Return how many candidates are read for a number of samples; None for all."""
    chosen = run.config.balanced or run.config.profile is not None  # needs many to choose from
    return None if limit is None or chosen else 3 * limit + 50


def _draw(plan: _Plan, config: GenerateConfig) -> Iterator[GeneratedSample | DroppedCandidate]:
    entities = plan.entities
    reviewer = Reviewer(entities, config.allowed, worded=config.support == "worded")
    known_questions: set[str] = set()
    for kind in config.types:
        even = kind in TWO_WAY and not config.exhaustive
        drawing = Drawing(
            kind,
            candidate_of_type(kind),
            entities,
            folder=plan.folder,
            most=plan.most[kind],
            yes_share=config.yes_share if even else None,
            balanced=config.balanced and not config.exhaustive,
            profile=config.profile.types.get(kind) if config.profile else None,
        )
        yield from select_samples(
            _candidates(plan.run, kind, plan.limits[kind]),
            kind,
            entities,
            Style(config.title_case, config.seed),
            most=plan.most[kind],
            drawing=drawing,
            known_questions=known_questions,
            reviewer=reviewer,
        )


def _named(sample: GeneratedSample) -> Iterator[int]:
    """Yield the entities that are the answer of a sample or part of its evidences."""
    ids = (one for triple in sample.evidences_id for one in (triple.subject_id, triple.object_id))
    for name in (sample.answer_id, *ids):
        if name and name[0] == "Q":
            yield int(name[1:])


def _aliases(named: array[int], entities: Entities) -> Iterator[dict[str, Any]]:
    """Yield the alias line of each of some entities."""
    for qid in np.unique(np.array(named, dtype=np.int64)).tolist():
        if qid not in entities:
            continue
        names = entities.names(qid)
        demonyms = sorted({name.text for name in names if name.kind == "demonym"})
        others = sorted({name.text for name in names if name.kind != "demonym"})
        yield {"Q_id": f"Q{qid}", "aliases": others, "demonyms": demonyms}


def make_contexts(run: GenerationRun) -> None:
    """Add distractors to the gold paragraphs of every sample, up to ten paragraphs."""
    config = run.config

    def make(folder: Path) -> Mapping[str, Any]:
        contexts = _find_distractors(run, folder)
        counts: Counter[str] = Counter()
        kept: Counter[str] = Counter()

        def examples() -> Iterator[GeneratedSample]:
            for sample, found in contexts.all(config.seed):
                limit = config.limit_of(sample.type)
                if found is None:
                    counts[f"{sample.type}/too_few_distractors"] += 1
                elif limit is not None and kept[sample.type] >= limit:
                    counts[f"{sample.type}/beyond_the_limit"] += 1
                else:
                    kept[sample.type] += 1
                    context, tier = found
                    yield msgspec.structs.replace(sample, context=context, tier=tier)

        total = write_lines(folder / "examples.jsonl", examples())
        (folder / NEAREST).unlink()
        return {"examples": total, "dropped": dict(sorted(counts.items()))}

    limits = [config.limit_of(kind) for kind in config.all_types]
    settings = [*limits, config.paragraphs_wanted]
    run.stage("contexts", make, settings=settings, queries=CONTEXTS, keep_partial=True)


def _find_distractors(run: GenerationRun, folder: Path) -> Contexts:
    """Take distractors from the 50 nearest pages; samples that fall short from 200, any type."""

    def samples() -> Iterator[GeneratedSample]:
        return read_json_lines(run.work / "samples" / "samples.jsonl", GeneratedSample)

    ranked = folder / NEAREST
    if not ranked.exists():
        questions = [normalize(sample.question) for sample in samples()]
        write_nearest(questions, run.tables["linked"], ranked, run=run.engine.map)
    size = run.config.paragraphs_wanted
    contexts = Contexts(size, samples, folder)
    chosen: Iterable[tuple[int, GeneratedSample]] = enumerate(samples())
    for name, depth in (("near", NEAR), ("far", FAR)):
        place = folder / name
        some = False
        for _, part in numbered_parts(chosen, SAMPLES_AT_ONCE):
            write_inputs(part, ranked, place, size, depth=depth, typed_only=depth == NEAR)
            some = True
        if not some and name == "far":
            break
        if not some:
            write_inputs((), ranked, place, size, depth=depth, typed_only=True)
        inputs = {table: place / table for table in ("golds", "needs", "named", "answers", "hits")}
        tables = dict(run.tables) | inputs
        run_queries(run.engine, CONTEXTS, tables, place)
        contexts.add(place / "distractors", place / "context_pages")
        chosen = contexts.short()
    return contexts


def make_splits(run: GenerationRun) -> None:
    """Score every sample by the single-hop reader and assign the samples to splits."""
    config = run.config
    path = run.work / "contexts" / "examples.jsonl"

    def make(folder: Path) -> Mapping[str, Any]:
        rarity = word_rarity(sample.question for sample in read_json_lines(path, QuestionText))
        balance = Balance(config) if config.balanced and not config.exhaustive else None
        read: Iterable[QuestionInContext] = read_json_lines(path, QuestionInContext)
        samples = list(with_best_paragraph(balance.noted(read) if balance else read, rarity))
        scores = probe_scores(samples, config.seed, config.probe)
        if config.splits == "paper":
            splits = paper_splits(samples, scores, config.seed)
        else:
            splits = assign_splits(samples, scores, config.seed, keep_all=config.exhaustive)
        if balance:
            balance.drop(splits)
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
