"""From candidates to samples with contexts and splits: three stages.

In: the `selected_*` tables. Out: `samples.jsonl`, `examples.jsonl` (with contexts) and
`splits.json` in the stages' folders, and what was dropped by reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pyarrow as pa

from twowiki.generation.contexts import (
    FAR,
    NEAR,
    Contexts,
    gold_tables,
    hits_table,
    nearest_pages,
)
from twowiki.generation.entities import Entities
from twowiki.generation.queries import CONTEXTS, WANTED, run_queries
from twowiki.generation.run import GenerationRun
from twowiki.generation.samples import GeneratedSample, QuestionInContext, Style
from twowiki.generation.selection import (
    DroppedCandidate,
    read_candidates,
    select_samples,
    table_of_type,
)
from twowiki.generation.settings import GenerateConfig
from twowiki.generation.single_hop import (
    lexical_scores,
    read_scores,
    with_best_paragraph,
    word_rarity,
)
from twowiki.generation.splits import assign_splits
from twowiki.generation.tables import write_part
from twowiki.io.files import replacing, write_json
from twowiki.io.stages import fingerprint_of

BALANCED = ("comparison", "bridge_comparison")
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

    def make(folder: Path) -> Mapping[str, Any]:
        samples, dropped, entities = _select(run, folder)
        write_lines(folder / "samples.jsonl", samples)
        write_lines(folder / "dropped.jsonl", dropped)
        write_lines(folder / "aliases.jsonl", _aliases(samples, entities))
        reasons = Counter(f"{entry.type}/{entry.reason}" for entry in dropped)
        return {"samples": len(samples), "dropped": dict(sorted(reasons.items()))}

    run.stage("samples", make, settings=settings, queries=WANTED)


def _select(
    run: GenerationRun, folder: Path
) -> tuple[list[GeneratedSample], list[DroppedCandidate], Entities]:
    """Return samples, dropped candidates and the entities that the candidates name."""
    config = run.config
    # Contexts may drop a sample: 20 more are made, and the surplus is cut at the end.
    most = {
        kind: None if limit is None else limit + 20
        for kind, limit in ((kind, config.limit_of(kind)) for kind in config.types)
    }
    candidates = {
        kind: read_candidates(run.tables[table_of_type(kind)], kind, most[kind])
        for kind in config.types
    }
    qids = {qid for rows in candidates.values() for row in rows for qid in row.entities}
    wanted = pa.table({"qid": pa.array(sorted(qids), pa.int64())})
    write_part(folder / "wanted", "part-00000", wanted)
    run_queries(run.engine, WANTED, dict(run.tables) | {"wanted": folder / "wanted"}, folder)
    entities = Entities(folder)
    style = Style(config.title_case, config.seed)
    known_questions: set[str] = set()
    samples: list[GeneratedSample] = []
    dropped: list[DroppedCandidate] = []
    for kind in config.types:
        balanced = kind in BALANCED and not config.exhaustive
        selection = select_samples(
            candidates[kind],
            kind,
            entities,
            style,
            most=most[kind],
            yes_share=config.yes_share if balanced else None,
            known_questions=known_questions,
        )
        samples += selection.samples
        dropped += selection.dropped
    return samples, dropped, entities


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

    limits = [config.limit_of(kind) for kind in config.types]
    run.stage("contexts", make, settings=limits, queries=CONTEXTS)


def _find_distractors(run: GenerationRun, folder: Path, samples: list[GeneratedSample]) -> Contexts:
    """Take distractors from the 50 nearest pages; samples that fall short from 200, any type."""
    ranked = nearest_pages(samples, run.tables["linked"])
    contexts = Contexts()
    numbers: Iterable[int] = range(len(samples))
    for name, depth in (("near", NEAR), ("far", FAR)):
        tables = dict(run.tables)
        rows = gold_tables(samples, numbers, typed_only=depth == NEAR)
        for table, found in (rows | {"hits": hits_table(ranked, numbers, depth)}).items():
            write_part(folder / name / table, "part-00000", found)
            tables[table] = folder / name / table
        run_queries(run.engine, CONTEXTS, tables, folder / name)
        contexts.add(folder / name / "distractors", folder / name / "context_pages")
        numbers = contexts.short(samples)
        if not numbers:
            break
    return contexts


def _single_hop_scores(
    config: GenerateConfig, samples: list[QuestionInContext]
) -> dict[str, float]:
    """Score the samples by the single-hop reader of the settings."""
    if config.probe == "lexical":
        return lexical_scores(samples, config.seed)
    if config.probe.startswith("file:"):
        return read_scores(Path(config.probe.removeprefix("file:")), samples)
    from twowiki.generation.single_hop_encoder import encoder_scores

    return encoder_scores(samples, config.seed, config.probe)


def make_splits(run: GenerationRun) -> None:
    """Score every sample by the single-hop reader and assign the samples to splits."""
    config = run.config
    path = run.work / "contexts" / "examples.jsonl"

    def make(folder: Path) -> Mapping[str, Any]:
        rarity = word_rarity(sample.question for sample in read_json_lines(path, QuestionInContext))
        samples = list(with_best_paragraph(read_json_lines(path, QuestionInContext), rarity))
        scores = _single_hop_scores(config, samples)
        splits = assign_splits(samples, scores, config.seed, keep_all=config.exhaustive)
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
    run.stage("splits", make, settings=[config.probe, known])
