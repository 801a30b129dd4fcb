"""Commands on generated data: generate, world, verify, explain."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twowiki.data.configs import GENERATED_CONFIG, WORLD_CONFIG
from twowiki.errors import DataError, existing_file
from twowiki.generation.settings import GenerateConfig, Resources
from twowiki.io.arguments import argument, positional, settings_of
from twowiki.io.failures import damage_named
from twowiki.io.files import check_no_pipes
from twowiki.io.ownership import check_owner
from twowiki.io.records import collector_patient
from twowiki.worlds.settings import WorldConfig, WorldRequest, parse_world

TIERS = (
    "of the gold pages' types, within the 50 nearest",
    "of the gold pages' types, beyond the 50 nearest",
    "of other types as well: too few of the gold pages' types",
)


@dataclass(frozen=True, kw_only=True)
class GenerateCommand(GenerateConfig, Resources):
    """Generate a 2WikiMultiHopQA-style data set from a Wikidata dump and Wikipedia summaries.

      twowiki generate --wikidata latest-all.json.gz --paragraphs para_with_hyperlink.zip --out DIR
      twowiki generate --world "people=2000,films=1500,seed=7" --out DIR

    DIR gets train.json, dev.json and test.json in the authors' format, id_aliases.json,
    report.html, report.json, provenance.jsonl and a Parquet folder. Run it again after an
    interruption: it continues. Files of others in DIR are never replaced: DIR is refused.
    """

    world: str | None = argument(
        None,
        "a fictional world instead of dumps: people, films, seed and the others of `twowiki world "
        "--help`, and settings of the questions (limit_per_type, mix, ...)",
        metavar="SETTINGS",
    )
    seed: str = argument(
        "", "what every draw depends on (default: the world's seed, otherwise 0)", metavar="SEED"
    )
    out: Path = argument(help="the folder to write", metavar="DIR", role="output_folder")

    @collector_patient()
    def run(self) -> int:
        from twowiki.builder.dataset_card import write_dataset_card
        from twowiki.builder.dataset_origin import render_origin
        from twowiki.builder.generate import PARQUET, generate_files

        check_owner(self.out, "generate")
        request = None if self.world is None else parse_world(self.world)
        world = None if request is None else request.world
        wikidata, paragraphs = self._dumps(world)
        settings = {"seed": "0"} | self._questions(request)
        config = settings_of(
            GenerateConfig, self, wikidata=wikidata, paragraphs=paragraphs, **settings
        )
        name = GENERATED_CONFIG if world is None else WORLD_CONFIG
        report = generate_files(config, self.out, settings_of(Resources, self), name)
        _print_counts(config, report)
        if "like" in report:
            from twowiki.generation.profiles import render_distances

            print(render_distances(report["like"]))
        if world is not None and report["samples"]:
            from twowiki.generation.difficulty import render_difficulty
            from twowiki.worlds.dataset import add_difficulty

            measured = add_difficulty(world, self.out, report)
            print(render_difficulty(measured))
            full = {**report, "world": world.to_dict(), **measured}
            write_dataset_card(self.out / PARQUET, render_origin(full))
        print(f"report: {self.out / 'report.html'}")
        if not report["samples"]:
            print("no sample passed: the report has the reasons", file=sys.stderr)
        return 0 if report["samples"] else 1

    def _questions(self, request: WorldRequest | None) -> dict[str, Any]:
        """Return the settings of a world's text; a flag that says otherwise is refused."""
        settings = dict(request.questions) if request is not None else {}
        if self.seed:
            settings["seed"] = self.seed
        for name in settings.keys() - {"seed"}:
            default = getattr(GenerateConfig, name)
            if getattr(self, name) not in (default, settings[name]):
                raise DataError(
                    "stands in --world and in a flag, with different values",
                    field=name,
                    remedy="Give it once",
                )
        return settings

    def _dumps(self, world: WorldConfig | None) -> tuple[Path, Path]:
        """Return the dumps; those of a world are written first."""
        if world is not None:
            from twowiki.generation.run import stages_folder
            from twowiki.worlds.dataset import prepare_dumps

            if self.wikidata or self.paragraphs:
                raise DataError("--world and dumps exclude each other", remedy="Use one of them")
            return prepare_dumps(world, stages_folder(self.out, self.work) / "world")
        if self.wikidata is None or self.paragraphs is None:
            remedy = "Set --wikidata and --paragraphs, or --world for a fictional world"
            raise DataError("there are no dumps", remedy=remedy)
        return self.wikidata, self.paragraphs


def _print_counts(config: GenerateConfig, report: Mapping[str, Any]) -> None:
    for kind, row in report["types"].items():
        print(f"{kind:18} {row['samples']:>9,}")
    for kind, row in report["types"].items() if config.mix == "paper" else ():
        limit = config.limit_of(kind) or 0
        if row["samples"] < 0.8 * limit:
            print(
                f"--mix paper: {row['samples']:,} of {limit:,} {kind} samples; lower "
                "--limit-per-type, or use larger dumps",
                file=sys.stderr,
            )
    for name, kinds in report["lacking"].items():
        print(
            f"{name} has no {', '.join(kinds)} sample; try --splits paper, or another limit",
            file=sys.stderr,
        )
    splits = {name: sum(counts.values()) for name, counts in report["splits"].items()}
    print(", ".join(f"{name} {count:,}" for name, count in splits.items()))


@dataclass(frozen=True, kw_only=True)
class WorldCommand(WorldConfig):
    """Write a fictional world: a Wikidata dump and Wikipedia summaries of invented people.

      twowiki world --people 2000 --films 1500 --seed 7 --out DIR

    DIR gets wikidata.json (one entity per line, as in the dumps), paragraphs.jsonl (sentences and
    links) and world.json (settings and counts); `twowiki generate` makes questions from them. The
    same settings give the same bytes everywhere. With --difficulty DATA it measures a data
    set: how many questions shortcuts answer.
    """

    out: Path | None = argument(None, "the folder to write", metavar="DIR", role="output_folder")
    difficulty: Path | None = argument(
        None, "measure this folder or file of questions instead", metavar="DATA"
    )
    profile: str = argument(
        "", "print the profile of this data, for `generate --like`, instead", metavar="DATA"
    )
    config: str | None = argument(
        None, "with --difficulty: the data's config, e.g. hotpotqa", metavar="NAME"
    )

    def run(self) -> int:
        if self.profile:
            import msgspec

            from twowiki.generation.profiles import load_profile

            profile = msgspec.to_builtins(load_profile(self.profile))
            print(json.dumps(profile, indent=1, ensure_ascii=False))
            return 0
        if self.difficulty is not None:
            from twowiki.generation.difficulty import (
                measure_difficulty,
                read_gold_examples,
                render_difficulty,
            )

            examples = read_gold_examples(self.difficulty, config=self.config)
            print(render_difficulty(measure_difficulty(examples)))
            return 0
        from twowiki.worlds.dataset import write_dumps

        if self.out is None:
            raise DataError("--out is required", remedy="Name the folder: --out DIR")
        report = write_dumps(settings_of(WorldConfig, self), self.out)
        counts = report["counts"]
        print(
            f"{counts['entities']:,} entities, {counts['pages']:,} pages, "
            f"{counts['statements']:,} statements, {counts['sentences']:,} sentences"
        )
        wikidata, paragraphs = self.out / "wikidata.json", self.out / "paragraphs.jsonl"
        print(f"now: twowiki generate --wikidata {wikidata} --paragraphs {paragraphs} --out DIR")
        return 0


@dataclass(frozen=True, kw_only=True)
class VerifyCommand:
    """Compare two generated data sets: every file, and the tables of every stage.

      twowiki verify A B

    A and B are the --out folders of two `twowiki generate` runs, on whatever engine or number of
    workers. The exit code is 0 if everything is equal, 1 if anything differs.
    """

    one: Path = positional("the first run's folder", metavar="A")
    two: Path = positional("the second run's folder", metavar="B")
    quiet: bool = argument(False, "print only differences")

    def run(self) -> int:
        from twowiki.generation.run_comparison import compare_runs
        from twowiki.generation.tables import GENERATE_AGAIN

        different = 0
        for folder in (self.one, self.two):
            check_no_pipes(folder)
        with damage_named(Path(f"{self.one} or {self.two}"), GENERATE_AGAIN):
            for what, equal, detail in compare_runs(self.one, self.two):
                different += not equal
                if not equal or not self.quiet:
                    print(f"{'equal    ' if equal else 'DIFFERENT'} {what}")
                if detail:
                    print("  " + detail.replace("\n", "\n  "))
        print(f"{different} differences" if different else "the runs are equal")
        return 1 if different else 0


@dataclass(frozen=True, kw_only=True)
class ExplainCommand:
    """Show where a generated sample comes from, or why expected samples are missing.

      twowiki explain ID --run DIR            statements, pages, rule, template, split of a sample
      twowiki explain --run DIR --against expected.jsonl
                                              which of these samples the run has, and for each
                                              missing one the reason that dropped it

    DIR is the --out of `twowiki generate`.
    """

    sample_id: str | None = positional("a sample's _id, or the start of it", None, metavar="ID")
    run_dir: Path = argument(Path(), "the run (default: this folder)", flag="run", metavar="DIR")
    against: Path | None = argument(None, "expected samples to look for")
    work: Path | None = argument(None, "the run's --work, if it was not DIR/work", metavar="DIR")
    json: bool = argument(False, "print JSON")

    def run(self) -> int:
        if (self.sample_id is None) == (self.against is None):
            raise DataError("needs a sample's id or --against FILE, and not both")
        from twowiki.generation.tables import GENERATE_AGAIN

        check_no_pipes(self.run_dir)
        with damage_named(self.run_dir, GENERATE_AGAIN):
            return self._explain() if self.against is None else self._recover(self.against)

    def _explain(self) -> int:
        from twowiki.generation.outputs import PROVENANCE
        from twowiki.generation.sampling import read_json_lines

        remedy = "Name the --out of `twowiki generate` with --run"
        path = existing_file(self.run_dir / PROVENANCE, remedy)
        start = str(self.sample_id)
        rows = [row for row in read_json_lines(path, dict) if row["_id"].startswith(start)]
        if not rows:
            raise DataError(f"no sample {start!r}", file=path, remedy="Look its _id up in a split")
        for row in rows:
            text = json.dumps(row, ensure_ascii=False, indent=2)
            print(text if self.json else _render_provenance(row))
        return 0

    def _recover(self, expected: Path) -> int:
        from twowiki.generation.run_comparison import Recovered, missing_lines

        existing_file(expected, "Name records in the authors' form with --against")
        recovery = Recovered(self.run_dir, self.work).check(expected)
        reasons = Counter(missing.reason for missing in recovery.missing)
        if self.json:
            report = {
                "expected": recovery.expected,
                "found": recovery.found,
                "exact_question": recovery.worded,
                "reasons": dict(sorted(reasons.items())),
                "missing": {one.record["_id"]: one.reason for one in recovery.missing},
                "other_wording": [record["_id"] for record in recovery.unworded],
            }
            print(json.dumps(report, indent=2))
            return 0
        for line in missing_lines(recovery):
            print(line)
        share = 100 * recovery.found / max(1, recovery.expected)
        print(f"found {recovery.found:,} of {recovery.expected:,} ({share:.1f}%)")
        worded = 100 * recovery.worded / max(1, recovery.found)
        print(f"exact question among our wordings: {recovery.worded:,} of these ({worded:.1f}%)")
        for reason, count in reasons.most_common():
            print(f"{count:>6,}  {reason}")
        return 0


def _render_provenance(row: Mapping[str, Any]) -> str:
    """Return the text of one sample's provenance."""
    lines = [
        f"{row['_id']}  {row['type']}  {row['split']}",
        f"question   {row['question']}",
        f"answer     {row['answer']}",
        f"template   {row['template']}",
    ]
    if "rule" in row:
        rule = " + ".join(row["relations"])
        lines.append(f"rule       {row['rule']}: {rule} = {row['inferred']} ({row['check']})")
    for (subject, relation, target), statement in zip(
        row["evidences"], row["statements"], strict=True
    ):
        lines.append(f"statement  {subject} | {relation} | {target}   [{statement}]")
    for entity, page in zip(row["entities"], row["pages"], strict=True):
        lines.append(f"page       {page}  {entity}")
    for title, sent_id in row["supporting_facts"]:
        lines.append(f"support    {title} [{sent_id}]")
    lines.append(f"distractors {TIERS[row['distractor_tier']]}")
    lines.append(f"single-hop probe F1 {row['probe_f1']}")
    lines.append("other wordings:")
    lines += [f"  {text}" for text in row["wordings"] if text != row["question"]]
    return "\n".join(lines) + "\n"
