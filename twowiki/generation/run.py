"""One run: its engine, its stages in order, their keys and their tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from twowiki.generation.disk import DUMP_STAGES, check_room, needed_for, needed_for_dump
from twowiki.generation.engines import DuckDBEngine, QueryEngine, SparkEngine, query, spark_settings
from twowiki.generation.queries import Tables, tables_in
from twowiki.generation.settings import GENERATION_VERSION, GenerateConfig, Resources
from twowiki.generation.tables import read_rows, table_sizes
from twowiki.io.ownership import OWN, OwnedFolder, open_folder
from twowiki.io.stages import key_of, run_stage


def stages_folder(out: Path, work: Path | None) -> Path:
    """Return the folder of a run's stages: ours alone, in its work folder."""
    return (work or out / "work") / OWN


def make_engine(resources: Resources, work: Path) -> QueryEngine:
    """Return the engine of the resources; it starts with its first query."""
    scratch = work / "scratch"
    OwnedFolder(work).claim("scratch/")
    if resources.engine == "spark":
        return SparkEngine(
            scratch,
            master=resources.master,
            memory=resources.memory,
            settings=spark_settings(resources.spark_conf),
        )
    return DuckDBEngine(scratch, memory=resources.memory, threads=resources.workers)


class GenerationRun:
    """One run over one work folder, with the keys of its stages and their tables."""

    def __init__(
        self, config: GenerateConfig, resources: Resources, work: Path, engine: QueryEngine
    ) -> None:
        self.config, self.resources, self.work, self.engine = config, resources, work, engine
        self.tables: Tables = {}
        self.counts: dict[str, Any] = {}
        self.key = ""

    def stage(
        self,
        name: str,
        make: Callable[[Path], Mapping[str, Any]],
        *,
        settings: Any = None,
        queries: Mapping[str, str] | None = None,
        after: str | None = None,
        keep_partial: bool = False,
        dumps: Iterable[Path] = (),
    ) -> str:
        """Run a stage after another one; return its key.

        Args:
            name: the stage's folder.
            make: writes the folder and returns counts.
            settings: what else it depends on.
            queries: the steps it runs; their texts are part of its key.
            after: the key that it follows; by default the last stage's.
            keep_partial: whether it can continue where it stopped.
            dumps: the files that it reads; by default it reads the tables of earlier stages.
        """
        texts = {step: query(step) for step in queries or ()}
        parts = {
            "version": GENERATION_VERSION,
            "stage": name,
            "settings": settings,
            "queries": texts,
        }
        self.key = key_of(parts | {"after": self.key if after is None else after})
        folder = self.work / name
        OwnedFolder(self.work).claim(f"{name}/")
        files = list(dumps)

        def checked(place: Path) -> Mapping[str, Any]:
            earlier = [self.work / stage for stage in DUMP_STAGES]
            needed = needed_for_dump(name, files) if files else needed_for(name, earlier)
            check_room(name, place, needed)
            return make(place)

        self.counts[name] = run_stage(
            folder, self.key, checked, keep_partial=keep_partial, describe=self._describe
        )
        self.tables |= tables_in([folder])
        return self.key

    def _describe(self, folder: Path) -> dict[str, Any]:
        return {"engine": self.engine.name, "tables": table_sizes(folder)}

    def answer_classes(self) -> dict[str, str]:
        """Return the label of the first class of each wanted entity, by Q-id."""
        classes: dict[str, str] = {}
        for row in read_rows(self.work / "samples" / "wanted_classes"):
            classes.setdefault(f"Q{row['qid']}", row["label"])
        return classes


@contextmanager
def started_run(
    config: GenerateConfig, out: Path, resources: Resources, inputs: Iterable[Path]
) -> Iterator[GenerationRun]:
    """Hold the folder of a run's stages, and start its engine."""
    work = stages_folder(out, resources.work)
    with (
        open_folder(work, "generate", {}, restart=resources.restart, inputs=inputs),
        closing(make_engine(resources, work)) as engine,
    ):
        yield GenerationRun(config, resources, work, engine)
