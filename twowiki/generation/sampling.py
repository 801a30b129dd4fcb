"""From candidates to samples with contexts and splits: three stages.

In: the `chosen_*` tables. Out: `samples.jsonl`, `examples.jsonl` (with contexts) and
`splits.json` in the stages' folders, and what was dropped by reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from twowiki.generation.contexts import (
    FAR,
    NEAR,
    PARAGRAPHS,
    Contexts,
    gold_tables,
    hits_table,
    nearest,
)
from twowiki.generation.entities import World
from twowiki.generation.queries import CONTEXTS, WANTED, run_queries
from twowiki.generation.run import Run
from twowiki.generation.samples import Sample, Style
from twowiki.generation.selection import TABLE_OF, Row, candidates, choose, entities_of, fault_of
from twowiki.generation.settings import GenerateConfig
from twowiki.generation.single_hop import probe_scores, rarity_of, read_scores, with_best_paragraph
from twowiki.generation.splits import assign_splits
from twowiki.generation.tables import write_part
from twowiki.io.files import replacing, write_json
from twowiki.io.stages import fingerprint_of

BALANCED = ("comparison", "bridge_comparison")


def read_json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Read the lines of one of our own files."""
    with open(path, "rb") as stream:
        for line in stream:
            yield orjson.loads(line)


def write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> int:
    """Write one of our own files in one step; give the number of lines."""
    count = 0
    with replacing(path, "wb") as stream:
        for record in records:
            stream.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
            count += 1
    return count


def _template_texts() -> list[str]:
    folder = files("twowiki.generation") / "templates"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".yaml"))
    return [(folder / name).read_text("utf-8") for name in names]


def make_samples(run: Run) -> None:
    """Word the candidates; keep as many of each type as were asked for."""
    config = run.config
    settings = config.said() | {"templates": _template_texts()}
    # Contexts may yet drop a sample: some more are made, and the surplus goes at the end.
    most = {
        kind: None if limit is None else limit + 20
        for kind, limit in ((kind, config.limit_of(kind)) for kind in config.types)
    }

    def make(folder: Path) -> Mapping[str, Any]:
        rows: dict[str, list[Row]] = {
            kind: candidates(run.tables[TABLE_OF[kind]], kind, most[kind]) for kind in config.types
        }
        qids = sorted({qid for found in rows.values() for qid in entities_of(found)})
        _write_wanted(run, folder, qids)
        world = World(folder)
        style = Style(config.title_case, config.seed)
        asked: set[str] = set()
        records: list[dict[str, Any]] = []
        dropped: list[tuple[str, Row, str]] = []
        for kind in config.types:
            share = config.yes_share if kind in BALANCED and not config.every else None
            chosen = choose(
                rows[kind], kind, world, style, most=most[kind], yes_share=share, asked=asked
            )
            records += [_record(sample) for sample in chosen.samples]
            dropped += chosen.dropped
        write_lines(folder / "samples.jsonl", records)
        write_lines(
            folder / "dropped.jsonl",
            ({"type": kind, "reason": reason, "candidate": row} for kind, row, reason in dropped),
        )
        write_lines(folder / "aliases.jsonl", _aliases(records, world))
        kinds = Counter(f"{kind}/{reason}" for kind, _, reason in dropped)
        return {"samples": len(records), "dropped": dict(sorted(kinds.items()))}

    run.stage("samples", make, settings=settings, queries=WANTED)


def _write_wanted(run: Run, folder: Path, qids: list[int]) -> None:
    write_part(folder / "wanted", "part-00000", pa.table({"qid": pa.array(qids, pa.int64())}))
    tables = dict(run.tables) | {"wanted": folder / "wanted"}
    run_queries(run.engine, WANTED, tables, folder)


def _record(sample: Sample) -> dict[str, Any]:
    record = sample._asdict()
    return record | {"_id": record["id"]}


def _aliases(records: list[dict[str, Any]], world: World) -> Iterator[dict[str, Any]]:
    """Give the alias lines of every entity that is an answer or stands in an evidence."""
    named = {record["answer_id"] for record in records}
    for record in records:
        for subject, _, target in record["evidences_id"]:
            named |= {subject, target}
    for qid in sorted(int(name[1:]) for name in named if name and name[0] == "Q"):
        if qid not in world:
            continue
        names = world.names(qid)
        demonyms = sorted({name.text for name in names if name.kind == "demonym"})
        others = sorted({name.text for name in names if name.kind != "demonym"})
        yield {"Q_id": f"Q{qid}", "aliases": others, "demonyms": demonyms}


def make_contexts(run: Run) -> None:
    """Give every sample nine or so neighbours of its gold paragraphs, ten in all."""
    config = run.config
    samples = list(read_json_lines(run.resources.work / "samples" / "samples.jsonl"))

    def make(folder: Path) -> Mapping[str, Any]:
        contexts = _place(run, folder, samples)
        counts: Counter[str] = Counter()
        left: Counter[str] = Counter()

        def examples() -> Iterator[dict[str, Any]]:
            for number, sample in enumerate(samples):
                kind = sample["type"]
                limit = config.limit_of(kind)
                found = contexts.of(number, sample, config.seed)
                if found is None:
                    counts[f"{kind}/too_few_distractors"] += 1
                elif limit is not None and left[kind] >= limit:
                    counts[f"{kind}/beyond_the_limit"] += 1
                else:
                    context, tier = found
                    finished = sample | {"context": context, "tier": tier}
                    fault = fault_of(finished, PARAGRAPHS)
                    if fault:
                        counts[f"{kind}/{fault}"] += 1
                        continue
                    left[kind] += 1
                    yield finished

        total = write_lines(folder / "examples.jsonl", examples())
        return {"examples": total, "dropped": dict(sorted(counts.items()))}

    limits = [config.limit_of(kind) for kind in config.types]
    run.stage("contexts", make, settings=limits, queries=CONTEXTS)


def _place(run: Run, folder: Path, samples: list[dict[str, Any]]) -> Contexts:
    """Find distractors among the 50 nearest; for samples that fall short among 200, any type."""
    ranked = nearest(samples, run.tables["linked"])
    near = Contexts()
    numbers: Iterable[int] = range(len(samples))
    for name, depth in (("near", NEAR), ("far", FAR)):
        tables = dict(run.tables)
        rows = gold_tables(samples, numbers, typed_only=depth == NEAR)
        for table, found in (rows | {"hits": hits_table(ranked, numbers, depth)}).items():
            write_part(folder / name / table, "part-00000", found)
            tables[table] = folder / name / table
        run_queries(run.engine, CONTEXTS, tables, folder / name)
        near.add(folder / name / "distractors", folder / name / "context_pages")
        numbers = near.short(samples)
        if not numbers:
            break
    return near


def _single_hop(config: GenerateConfig, samples: list[dict[str, Any]]) -> dict[str, float]:
    """Score the samples by the reader that was asked for."""
    if config.probe == "lexical":
        return probe_scores(samples, config.seed)
    if config.probe.startswith("file:"):
        return read_scores(Path(config.probe.removeprefix("file:")), samples)
    from twowiki.generation.single_hop_encoder import encoder_scores

    return encoder_scores(samples, config.seed, config.probe)


def make_splits(run: Run) -> None:
    """Score every sample by the single-hop reader and deal the samples out."""
    config = run.config
    path = run.resources.work / "contexts" / "examples.jsonl"

    def make(folder: Path) -> Mapping[str, Any]:
        rarity = rarity_of(sample["question"] for sample in read_json_lines(path))
        samples = list(with_best_paragraph(read_json_lines(path), rarity))
        scores = _single_hop(config, samples)
        splits = assign_splits(samples, scores, config.seed, keep_all=config.every)
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
